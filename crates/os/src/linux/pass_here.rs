//! Handing over a descriptor on a system without `SCM_RIGHTS`: a short file to another process, and
//! anything to another thread of this one.
//!
//! The message has the contents of a file behind its text, of which the receiver makes a file
//! without a name. Of anything else a duplicate waits in a list; a tag behind the text says which
//! one it is. Another process has no such list: it takes the tag for text.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{io, process};

use super::system::unlike;
use super::without::file_in_memory;

/// Bytes of a tag.
const TAG: usize = 16;
/// Bytes of a file that is copied, at most.
const LONGEST_FILE: usize = 65_536;
/// Bytes behind the text of a message, at most.
pub(super) const LONGEST: usize = LONGEST_FILE + TAG;
/// Tag of a message that contains a file, before the length of its text.
const FILE: [u8; 8] = *b"\0netfile";

type Waiting = (u64, BTreeMap<u64, OwnedFd>);
static WAITING: Mutex<Waiting> = Mutex::new((0, BTreeMap::new()));

/// Number of this process, which no message contains by chance.
fn own_number() -> u64 {
    static NUMBER: OnceLock<(u32, u64)> = OnceLock::new();
    let random = || (process::id(), unlike());
    let (chosen_by, number) = *NUMBER.get_or_init(random);
    // A process that was forked has no list.
    number ^ u64::from(chosen_by ^ process::id())
}

/// Leaves a duplicate of a descriptor for the receiver of a message; returns the message with its
/// tag.
pub(super) fn leave(bytes: &[u8], fd: BorrowedFd<'_>) -> io::Result<(Vec<u8>, u64)> {
    let fd = fd.try_clone_to_owned()?;
    let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    waiting.0 += 1;
    let place = waiting.0;
    waiting.1.insert(place, fd);
    let tagged = [bytes, &own_number().to_ne_bytes(), &place.to_ne_bytes()].concat();
    Ok((tagged, place))
}

/// A message with the contents of a short file behind its text, and their tag; `None` for any other
/// descriptor.
///
/// # Errors
/// Whatever the file reports.
pub(super) fn copy(bytes: &[u8], fd: BorrowedFd<'_>) -> io::Result<Option<Vec<u8>>> {
    let file = File::from(fd.try_clone_to_owned()?);
    // Such systems may not have fstat(2) for a socket.
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file);
    let length = length.and_then(|meta| usize::try_from(meta.len()).ok());
    let Some(length) = length.filter(|length| *length <= LONGEST_FILE) else {
        return Ok(None);
    };
    let mut contents = vec![0; length];
    file.read_exact_at(&mut contents, 0)?;
    let text = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    Ok(Some(
        [bytes, &contents, &FILE, &text.to_ne_bytes()].concat(),
    ))
}

/// The file that a message contains, and the length of its text.
///
/// # Errors
/// When there are too many open files.
pub(super) fn take_copied(message: &[u8]) -> io::Result<Option<(usize, OwnedFd)>> {
    let parts = || {
        let (rest, text) = message.split_last_chunk::<8>()?;
        let (rest, tag) = rest.split_last_chunk::<8>()?;
        let text = usize::try_from(u64::from_ne_bytes(*text)).ok()?;
        (*tag == FILE).then_some((text, rest.get(text..)?))
    };
    let Some((text, contents)) = parts() else {
        return Ok(None);
    };
    let mut file = File::from(file_in_memory(c"passed")?);
    file.write_all(contents)?;
    file.rewind()?;
    Ok(Some((text, file.into())))
}

/// Takes the descriptor of a place in the list.
pub(super) fn take(place: u64) -> Option<OwnedFd> {
    let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    waiting.1.remove(&place)
}

/// Takes the descriptor that a message is tagged with; returns the length of the text, too.
pub(super) fn take_tagged(message: &[u8]) -> Option<(usize, OwnedFd)> {
    let (rest, place) = message.split_last_chunk::<8>()?;
    let (text, number) = rest.split_last_chunk::<8>()?;
    let is_own = u64::from_ne_bytes(*number) == own_number();
    let fd = is_own.then(|| take(u64::from_ne_bytes(*place))).flatten()?;
    Some((text.len(), fd))
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, AsRawFd};

    use super::*;

    #[test]
    fn a_descriptor_is_taken_once_with_the_text_of_its_message() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let (message, _) = leave(b"text", file.as_fd()).unwrap();
        assert_eq!(message.len(), 4 + 16);
        let (length, fd) = take_tagged(&message).unwrap();
        assert_eq!(length, 4);
        assert_ne!(fd.as_raw_fd(), file.as_raw_fd());
        assert!(take_tagged(&message).is_none());
        assert!(take_tagged(b"text").is_none());
        assert!(take_tagged(&[0; 40]).is_none());
    }

    #[test]
    fn a_short_file_is_copied_into_its_message() {
        let mut file = File::from(file_in_memory(c"file").unwrap());
        file.write_all(b"contents").unwrap();
        let message = copy(b"text", file.as_fd()).unwrap().unwrap();
        let (length, fd) = take_copied(&message).unwrap().unwrap();
        let mut text = String::new();
        io::Read::read_to_string(&mut File::from(fd), &mut text).unwrap();
        assert_eq!((length, text.as_str()), (4, "contents"));
        let device = File::open("/dev/null").unwrap();
        assert!(copy(b"text", device.as_fd()).unwrap().is_none());
        for other in [&b"text"[..], &[0; 40], &message[..message.len() - 1]] {
            assert!(take_copied(other).unwrap().is_none(), "{other:?}");
        }
    }
}
