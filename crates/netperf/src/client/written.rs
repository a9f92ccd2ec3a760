//! Files that are asked for by name: none is written over what was read, or over another.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use netperf_web::escape;

use crate::output::{out_bytes, system_text};

/// Standard input or standard output, in place of a file.
pub(super) const STANDARD: &str = "-";

/// Identity of a file, to compare two names.
#[derive(Debug, PartialEq, Eq)]
enum FileIdentity {
    Standard,
    /// Device and number of a file that is there.
    File(u64, u64),
    /// Absolute path of a file that does not exist yet.
    Name(PathBuf),
}

impl FileIdentity {
    /// The place of a name; none where anything may be written, as to a device or a pipe.
    fn of(path: &Path) -> Option<Self> {
        match std::fs::metadata(path) {
            Ok(there) if there.is_file() => Some(Self::File(there.dev(), there.ino())),
            Ok(_) => None,
            Err(_) => std::path::absolute(path).ok().map(Self::Name),
        }
    }

    fn output(path: &Path) -> Option<Self> {
        if path == Path::new(STANDARD) {
            return Some(Self::Standard);
        }
        Self::of(path)
    }

    fn input(path: &Path) -> Option<Self> {
        let standard = path == Path::new(STANDARD);
        Self::of(if standard {
            Path::new("/dev/stdin")
        } else {
            path
        })
    }
}

/// Refuses outputs that would destroy what is read, or each other.
///
/// # Errors
/// One line that names the output.
pub(super) fn apart<P: AsRef<Path>>(outputs: &[Option<&Path>], inputs: &[P]) -> Result<(), String> {
    let inputs: Vec<FileIdentity> = inputs
        .iter()
        .filter_map(|path| FileIdentity::input(path.as_ref()))
        .collect();
    let mut written: Vec<FileIdentity> = Vec::new();
    for path in outputs.iter().flatten() {
        let Some(place) = FileIdentity::output(path) else {
            continue;
        };
        let name = escape::line(&path.to_string_lossy());
        if inputs.contains(&place) {
            return Err(format!(
                "{name}: is an input and would be overwritten; give another name"
            ));
        }
        if written.contains(&place) {
            return Err(format!(
                "{name}: is used twice; give each output a different name"
            ));
        }
        written.push(place);
    }
    Ok(())
}

/// Writes to a file, or to standard output.
///
/// # Errors
/// One line that names the file and says what the system said.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if path == Path::new(STANDARD) {
        out_bytes(bytes);
        return Ok(());
    }
    std::fs::write(path, bytes).map_err(|error| unwritable(path, &error))
}

/// A line about what cannot be written.
pub(super) fn unwritable(path: &Path, error: &std::io::Error) -> String {
    let name = escape::line(&path.to_string_lossy());
    format!("{name}: {}", system_text(error))
}
