//! Files that the command line names. No output replaces an input or another output.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use netperf_program::file;
use netperf_program::output::{out_document, system_text};
use netperf_web::{Record, escape};

/// Standard input or standard output, in place of a file.
const STANDARD: &str = "-";

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

/// Refuses a file whose folder does not exist, or that is a folder, before anything is measured.
///
/// # Errors
/// One line that names the output.
pub(super) fn expect_place(path: &Path) -> Result<(), String> {
    let name = escape::line(&path.to_string_lossy());
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if path.is_dir() {
        return Err(format!("{name}: is a folder; give the name of a file"));
    }
    if folder.is_none_or(Path::is_dir) {
        return Ok(());
    }
    Err(format!("{name}: its folder does not exist"))
}

/// The first input of the second list that is also in the first, under any name.
pub(super) fn in_both<'n>(first: &[String], second: &'n [String]) -> Option<&'n String> {
    let identity = |name: &String| FileIdentity::input(Path::new(name));
    let first: Vec<FileIdentity> = first.iter().filter_map(identity).collect();
    let is_known = |name: &&String| identity(name).is_some_and(|file| first.contains(&file));
    second.iter().find(is_known)
}

/// Writes to a file, or to standard output.
///
/// # Errors
/// One line that names the file and says what the system said.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if path == Path::new(STANDARD) {
        out_document(bytes);
        return Ok(());
    }
    file::write(path, bytes).map_err(|why| unwritten(path, &why))
}

/// A line about a file that cannot be written.
pub(super) fn unwritten(path: &Path, error: &io::Error) -> String {
    let name = escape::line(&path.to_string_lossy());
    format!("{name}: {}", file::why_unwritten(error))
}

/// A line about a file that cannot be read.
pub(super) fn error(name: &str, error: &io::Error) -> String {
    format!("{}: {}", escape::line(name), system_text(error))
}

/// Contents of a file; `-` is standard input.
///
/// # Errors
/// One line that names the file.
pub(super) fn read(name: &str) -> Result<Vec<u8>, String> {
    file::read(name).map_err(|why| error(name, &why))
}

/// The result in a file.
///
/// # Errors
/// One line that names the file.
pub(super) fn record(name: &str) -> Result<Record, String> {
    parsed(name, &read(name)?)
}

/// The result in the contents of a file.
///
/// # Errors
/// One line that names the file.
pub(super) fn parsed(name: &str, bytes: &[u8]) -> Result<Record, String> {
    netperf_web::read(name, bytes).map_err(|error| error.to_string())
}

/// The files that are named, each folder replaced by those in it that may be results, by name.
///
/// # Errors
/// One line that names the folder that cannot be read.
pub(super) fn with_folders(names: &[String]) -> Result<Vec<String>, String> {
    let mut files = Vec::new();
    for name in names {
        if Path::new(name).is_dir() {
            files.extend(folder(name).map_err(|why| error(name, &why))?);
        } else {
            files.push(name.clone());
        }
    }
    Ok(files)
}

fn folder(name: &str) -> io::Result<Vec<String>> {
    let paths = std::fs::read_dir(name)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files = paths.collect::<io::Result<Vec<_>>>()?;
    files.retain(|path| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        path.is_file() && ending.is_some_and(|ending| matches!(ending, "json" | "jsonl" | "gz"))
    });
    files.sort();
    let names = files.iter().map(|path| path.to_string_lossy().into_owned());
    Ok(names.collect())
}
