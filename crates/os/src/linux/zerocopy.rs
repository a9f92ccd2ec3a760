//! Sending without a copy: completions in the error queue (`MSG_ZEROCOPY`, the kernel's
//! Documentation/networking/msg_zerocopy.rst).

use std::io;
use std::os::fd::BorrowedFd;

use super::error_queue;

/// Completed zero-copy sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// Number of sends.
    pub sends: u32,
    /// True if the kernel copied their bytes.
    pub copied: bool,
}

/// `SO_EE_ORIGIN_ZEROCOPY` (linux/errqueue.h).
const ZEROCOPY: u8 = 5;
/// `SO_EE_CODE_ZEROCOPY_COPIED` (linux/errqueue.h).
const COPIED: u8 = 1;

/// recvmsg(2) of one message of the error queue; `None` when it is empty. Never blocks.
///
/// # Errors
/// Whatever recvmsg(2) reports, and the error that the message tells of when it is no
/// completion.
pub fn completion(fd: BorrowedFd<'_>) -> io::Result<Option<Completed>> {
    let Some(said) = error_queue::take(fd)? else {
        return Ok(None);
    };
    if said.ee_origin != ZEROCOPY {
        let number = i32::try_from(said.ee_errno).unwrap_or(0);
        return Err(io::Error::from_raw_os_error(number));
    }
    // A range of sends, both ends included; the numbers wrap.
    Ok(Some(Completed {
        sends: said.ee_data.wrapping_sub(said.ee_info).wrapping_add(1),
        copied: said.ee_code & COPIED != 0,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sockopt::{self, IntOption};
    use crate::wait::{Interest, ready};
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::time::Duration;

    #[test]
    fn every_send_without_a_copy_is_completed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        let fd = client.as_fd();
        sockopt::set(fd, IntOption::ZeroCopy, 1).unwrap();
        assert_eq!(completion(fd).unwrap(), None);
        let data = vec![7; 20_000];
        for _ in 0..2 {
            assert_eq!(crate::io::send_zero_copy(fd, &data).unwrap(), data.len());
        }
        server.read_exact(&mut vec![0; 2 * data.len()]).unwrap();
        let mut sends = 0;
        while sends < 2 {
            assert!(ready(fd, Interest::Error, Duration::from_secs(5)).unwrap());
            sends += completion(fd).unwrap().map_or(0, |done| done.sends);
        }
        assert_eq!(sends, 2);
    }
}
