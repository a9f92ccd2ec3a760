//! Socket filters: which messages the kernel lets through to a socket (socket(7),
//! `SO_ATTACH_FILTER`; the kernel's documentation of classic BPF).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::call::{checked, set_option};

/// Width of a comparison; big endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One.
    Byte,
    /// Two.
    Half,
    /// Four.
    Word,
}

/// A value that a message must have at a place to be let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Offset from the beginning of the message, bytes.
    pub offset: u32,
    /// Width of the comparison.
    pub width: Width,
    /// The value.
    pub value: u32,
}

const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF: u16 = 0x28;
const LOAD_WORD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
/// Lets a message through whole.
const ALL: u32 = u32::MAX;

impl Width {
    const fn load(self) -> u16 {
        match self {
            Self::Byte => LOAD_BYTE,
            Self::Half => LOAD_HALF,
            Self::Word => LOAD_WORD,
        }
    }

    const fn of_load(code: u16) -> Option<Self> {
        match code {
            LOAD_BYTE => Some(Self::Byte),
            LOAD_HALF => Some(Self::Half),
            LOAD_WORD => Some(Self::Word),
            _ => None,
        }
    }
}

/// Lets only messages through that have every one of these values.
///
/// # Errors
/// Whatever setsockopt(2) reports.
pub fn attach(fd: BorrowedFd<'_>, matches: &[Match]) -> io::Result<()> {
    let mut program = program(matches);
    let filter = libc::sock_fprog {
        len: u16::try_from(program.len()).unwrap_or(u16::MAX),
        filter: program.as_mut_ptr(),
    };
    set_option(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)
}

fn instruction(code: u16, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt: 0, jf, k }
}

/// Loads and compares each value; the first that differs jumps to the end.
fn program(matches: &[Match]) -> Vec<libc::sock_filter> {
    let mut program = Vec::new();
    for (index, one) in matches.iter().enumerate() {
        let to_the_end = 2 * (matches.len() - index) - 1;
        let skip = u8::try_from(to_the_end).unwrap_or(u8::MAX);
        program.push(instruction(one.width.load(), 0, one.offset));
        program.push(instruction(JUMP_IF_EQUAL, skip, one.value));
    }
    program.push(instruction(RETURN, 0, ALL));
    program.push(instruction(RETURN, 0, 0));
    program
}

/// The most instructions that [`attached`] reads.
const MOST: usize = 64;

/// The conditions that [`attach`] set for this socket; empty without such a filter.
///
/// # Errors
/// Whatever getsockopt(2) reports.
pub fn attached(fd: BorrowedFd<'_>) -> io::Result<Vec<Match>> {
    let mut program = [instruction(0, 0, 0); MOST];
    // The kernel counts instructions here, not bytes (SO_GET_FILTER).
    let mut len = libc::socklen_t::try_from(MOST).unwrap_or(0);
    // SAFETY: `program` has space for `len` instructions and both outlive the call.
    checked(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_GET_FILTER,
            program.as_mut_ptr().cast(),
            &raw mut len,
        )
    })?;
    let used = program
        .get(..usize::try_from(len).unwrap_or(0))
        .unwrap_or_default();
    Ok(used.chunks_exact(2).filter_map(matched).collect())
}

/// The pair of instructions that compares one value.
fn matched(pair: &[libc::sock_filter]) -> Option<Match> {
    match pair {
        [load, jump] if jump.code == JUMP_IF_EQUAL => Some(Match {
            offset: load.k,
            width: Width::of_load(load.code)?,
            value: jump.k,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;
    use std::time::Duration;

    /// A filter of a UDP socket sees the message behind its 8 bytes of header.
    const HEADER: u32 = 8;

    #[test]
    fn only_what_matches_everywhere_is_let_through_and_the_filter_reads_back() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        let matches = [
            Match {
                offset: HEADER,
                width: Width::Word,
                value: u32::from_be_bytes(*b"ABCD"),
            },
            Match {
                offset: HEADER + 4,
                width: Width::Half,
                value: u32::from(u16::from_be_bytes(*b"EF")),
            },
            Match {
                offset: HEADER + 6,
                width: Width::Byte,
                value: u32::from(b'G'),
            },
        ];
        assert_eq!(attached(server.as_fd()).unwrap(), []);
        attach(server.as_fd(), &matches).unwrap();
        assert_eq!(attached(server.as_fd()).unwrap(), matches);
        for text in ["xBCDEFG", "ABCDxFG", "ABCDEFx", "ABC", "ABCDEFG-"] {
            client.send(text.as_bytes()).unwrap();
        }
        server
            .set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        let mut buf = [0; 16];
        assert_eq!(server.recv(&mut buf).unwrap(), 8);
        assert!(server.recv(&mut buf).is_err(), "a second one came through");
    }
}
