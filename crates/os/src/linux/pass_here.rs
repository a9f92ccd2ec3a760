//! Handing a descriptor to another thread of this process, on a system without `SCM_RIGHTS`.
//!
//! A duplicate waits in a list; the message has a tag behind its text that says which one it is.
//! Another process has no such list: it takes the tag for text.

use std::collections::BTreeMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{io, process};

type Waiting = (u64, BTreeMap<u64, OwnedFd>);
static WAITING: Mutex<Waiting> = Mutex::new((0, BTreeMap::new()));

/// Number of this process, which no message contains by chance.
fn own_number() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    static NUMBER: OnceLock<(u32, u64)> = OnceLock::new();
    let random = || (process::id(), RandomState::new().build_hasher().finish());
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
}
