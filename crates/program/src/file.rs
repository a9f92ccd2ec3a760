//! Files that are written whole or not at all, and files of others that are read whole.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use netperf_model::escape::escaped_bytes;

use crate::output::system_text;

/// Mode of a file for all users that the umask permits.
const USUAL: u32 = 0o666;

/// Most bytes of a file that is read whole. A short file can seem to be longer than any memory.
const MOST_READ: u64 = 512 << 20;

/// Reads a file, or standard input if its name is `-`.
///
/// # Errors
/// Whatever the system reports, and a file that is too long.
pub fn read(name: &str) -> io::Result<Vec<u8>> {
    if name == "-" {
        return read_whole(io::stdin().lock(), MOST_READ);
    }
    read_whole(File::open(name)?, MOST_READ)
}

fn read_whole(file: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let count = file.take(most + 1).read_to_end(&mut bytes)?;
    if u64::try_from(count).is_ok_and(|count| count <= most) {
        return Ok(bytes);
    }
    let why = format!("it has more than {} MiB", most >> 20);
    Err(io::Error::other(why))
}

/// Writes a document or picture: beside its place, synced, and renamed, so that an older file stays whole until the
/// new one is. A device or a pipe is written to.
///
/// # Errors
/// Whatever the system reports; the older file is as it was.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_for(path, bytes, USUAL)
}

/// Writes such a file with a mode, if it is a new one.
///
/// # Errors
/// As [`write`].
pub fn write_for(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let bytes = &*escaped_bytes(bytes);
    let mode = match std::fs::metadata(path) {
        Ok(known) if !known.is_file() => return std::fs::write(path, bytes),
        Ok(known) => known.permissions().mode() & 0o7777,
        Err(error) if error.kind() == ErrorKind::NotFound => mode,
        Err(error) => return Err(error),
    };
    // A link stays, and its file is replaced.
    let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let part = beside(&place);
    match written(&part, bytes, mode) {
        // The folder is another user's, and the file may be ours to write.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && place.exists() => {
            return std::fs::write(&place, bytes);
        }
        written => written,
    }
    .and_then(|()| std::fs::rename(&part, &place))
    .inspect_err(|_| drop(std::fs::remove_file(&part)))?;
    match place.parent().map(File::open) {
        // Not every file system can sync a folder.
        Some(Ok(folder)) => folder.sync_all().or(Ok(())),
        Some(Err(_)) | None => Ok(()),
    }
}

/// Why a file was not written, with the way out of a full disk.
#[must_use]
pub fn why_unwritten(error: &io::Error) -> String {
    let why = system_text(error);
    let full = [
        ErrorKind::StorageFull,
        ErrorKind::QuotaExceeded,
        ErrorKind::FileTooLarge,
    ];
    if full.contains(&error.kind()) {
        format!("{why}; free space, or name a place on another disk")
    } else {
        why
    }
}

/// A name in the same folder that no other process uses.
fn beside(place: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(place.file_name().unwrap_or_default());
    name.push(format!(".{}.part", std::process::id()));
    place.with_file_name(name)
}

fn written(part: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(mode);
    let mut file = options.open(part)?;
    if mode != USUAL {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_seems_to_be_longer_than_any_memory_is_not_read() {
        const MIB: u64 = 1 << 20;
        let error = read_whole(io::repeat(0), MIB).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 1 MiB");
        let whole = read_whole(io::repeat(0).take(MIB), MIB).unwrap();
        assert_eq!(u64::try_from(whole.len()).unwrap(), MIB);
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_keeps_its_mode_and_link() {
        let scratch = netperf_testkit::Scratch::new();
        let folder = scratch.path();
        let (file, link) = (folder.join("file"), folder.join("link"));
        write_for(&file, b"old", 0o600).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        let names = std::fs::read_dir(folder).unwrap().count();
        assert_eq!(names, 2, "a part is left");
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_the_old_one_whole() {
        let scratch = netperf_testkit::Scratch::new();
        let folder = scratch.path();
        let file = folder.join("file");
        write(&file, b"old").unwrap();
        // The place of the new file is taken by a folder, which cannot be opened for writing.
        std::fs::create_dir(beside(&file)).unwrap();
        assert!(write(&file, b"new").is_err());
        assert_eq!(std::fs::read(&file).unwrap(), b"old");
    }

    #[test]
    fn a_device_is_written_to() {
        write(Path::new("/dev/null"), b"text").unwrap();
    }
}
