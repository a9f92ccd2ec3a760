//! The file that TCP_SENDFILE sends from (control-protocol.md 3.17).

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use netperf_model::{EndJob, EndSetup};

use crate::error::{EngineError, Operation};

/// The user's file, or an unnamed one.
///
/// # Errors
/// When the file cannot be opened, or is too short for every ring element to be sent.
pub(crate) fn source(job: &EndJob, setup: &EndSetup) -> Result<File, EngineError> {
    let size = u64::from(setup.send_size.unwrap_or(0));
    let needed = size * u64::from(setup.send_width);
    match job.end.fill.as_deref() {
        Some(path) => open(path, needed).map_err(Operation::SendFile(path.into()).failed()),
        None => make(needed + u64::from(job.end.send.offset)).map_err(Operation::Buffers.failed()),
    }
}

fn open(path: &Path, needed: u64) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.len() < needed {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the file is too small",
        ));
    }
    Ok(file)
}

/// A file without a name in the current folder, or in memory where that cannot
/// have one. Its contents do not repeat, so that nothing on the way can compress them.
fn make(len: u64) -> io::Result<File> {
    let mut file = match netperf_os::process::unnamed_file(Path::new(".")) {
        Ok(file) => file,
        Err(_) => netperf_os::without::file_in_memory(c"netperf-sendfile")?.into(),
    };
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut left = len;
    let mut block = Vec::with_capacity(65_536);
    while left > 0 {
        block.clear();
        while block.len() < 65_536 {
            // xorshift64 (Marsaglia 2003): fast, and random enough not to compress.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            block.extend_from_slice(&state.to_ne_bytes());
        }
        let take = usize::try_from(left).map_or(block.len(), |left| left.min(block.len()));
        file.write_all(&block[..take])?;
        left -= take as u64;
    }
    Ok(file)
}
