//! Data to send that nothing on the way can compress, and files of it.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// First state of the generator for a file, so that all files have the same contents.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// Bytes of a file that are made at once.
const BLOCK: usize = 65_536;

/// Fills a buffer from this state, which is not 0, and returns the next one.
pub fn fill(buffer: &mut [u8], mut state: u64) -> u64 {
    for bytes in buffer.chunks_mut(size_of::<u64>()) {
        // xorshift64 (Marsaglia 2003): fast, and random enough not to compress.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        for (to, from) in bytes.iter_mut().zip(state.to_ne_bytes()) {
            *to = from;
        }
    }
    state
}

/// Opens a file of at least so many bytes.
///
/// # Errors
/// Whatever open(2) reports, and `UnexpectedEof` for a file that is too short.
pub fn open(path: &Path, needed: u64) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.len() < needed {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the file is too small",
        ));
    }
    Ok(file)
}

/// A file of so many bytes without a name in the current folder, or in memory where that cannot
/// have one.
///
/// # Errors
/// Whatever memfd_create(2) or write(2) reports.
pub fn file(len: u64) -> io::Result<File> {
    let mut file = match netperf_os::process::unnamed_file(Path::new(".")) {
        Ok(file) => file,
        Err(_) => netperf_os::without::file_in_memory(c"netperf-sendfile")?.into(),
    };
    let (mut state, mut left, mut block) = (SEED, len, vec![0; BLOCK]);
    while left > 0 {
        state = fill(&mut block, state);
        let take = usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK));
        file.write_all(&block[..take])?;
        left -= take as u64;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_differs_in_each_part_and_goes_on_from_a_state() {
        let (mut whole, mut first, mut second) = ([0; 20], [0; 16], [0; 4]);
        fill(&mut whole, SEED);
        let state = fill(&mut first, SEED);
        fill(&mut second, state);
        assert_eq!(whole.as_slice(), [first.as_slice(), &second].concat());
        assert_ne!(first[..8], first[8..]);
    }

    #[test]
    fn file_has_the_bytes_that_were_asked_for() {
        let file = file(70_000).expect("a file");
        assert_eq!(file.metadata().expect("metadata").len(), 70_000);
    }
}
