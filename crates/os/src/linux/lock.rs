//! Locks of files that other processes ask for, too.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// flock(2), `LOCK_EX | LOCK_NB`: locks an open file exclusively. Returns false if another
/// process holds the lock. The kernel releases the lock when the file is closed, however the
/// process ends.
///
/// # Errors
/// `ENOLCK` or `EOPNOTSUPP` when the file system has no locks.
pub fn try_alone(file: BorrowedFd<'_>) -> io::Result<bool> {
    loop {
        // SAFETY: the call takes a descriptor, which is open, and numbers.
        let result = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
        if result == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::WouldBlock {
            return Ok(false);
        }
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn a_file_is_locked_until_it_is_closed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (first, second) = (File::create(&file).unwrap(), File::create(&file).unwrap());
        assert!(try_alone(first.as_fd()).unwrap());
        assert!(try_alone(first.as_fd()).unwrap());
        assert!(!try_alone(second.as_fd()).unwrap());
        drop(first);
        assert!(try_alone(second.as_fd()).unwrap());
    }
}
