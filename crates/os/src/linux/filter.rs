//! Socket filters: which messages the kernel lets through to a socket (socket(7),
//! `SO_ATTACH_FILTER`; the kernel's documentation of classic BPF).

use std::io;
use std::net::IpAddr;
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
const AND: u16 = 0x54;
/// Offsets from here on begin at the network header (`SKF_NET_OFF`).
const NETWORK: u32 = 0xfff0_0000;
/// Offsets of the source address in the headers of IPv4 and IPv6.
const SOURCE_V4: u32 = 12;
const SOURCE_V6: u32 = 8;
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

/// Lets only datagrams over IP through whose source is in one of these networks, each an address
/// and the number of its leading bits that count.
///
/// # Errors
/// Whatever setsockopt(2) reports; `EINVAL` for more networks than a filter can hold.
pub fn attach_sources(fd: BorrowedFd<'_>, networks: &[(IpAddr, u8)]) -> io::Result<()> {
    let mut program: Vec<_> = networks.iter().flat_map(from_network).collect();
    program.push(instruction(RETURN, 0, 0));
    let filter = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        filter: program.as_mut_ptr(),
    };
    set_option(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)
}

/// Lets a datagram from this network through, and goes on behind itself with others.
fn from_network((address, bits): &(IpAddr, u8)) -> Vec<libc::sock_filter> {
    let (version, offset, octets) = match address {
        IpAddr::V4(v4) => (0x40, SOURCE_V4, v4.octets().to_vec()),
        IpAddr::V6(v6) => (0x60, SOURCE_V6, v6.octets().to_vec()),
    };
    // Loads, masks and compares the version and each word of which some bits count.
    let mut compared = vec![(LOAD_BYTE, NETWORK, 0xf0, version)];
    for (place, word) in (0_u32..).zip(octets.chunks_exact(4)) {
        let counting = u32::from(*bits).saturating_sub(32 * place).min(32);
        let value = word
            .iter()
            .fold(0, |all, octet| all << 8 | u32::from(*octet));
        let mask = u32::MAX.checked_shl(32 - counting).unwrap_or(0);
        if mask != 0 {
            compared.push((LOAD_WORD, NETWORK + offset + 4 * place, mask, value & mask));
        }
    }
    let mut program = Vec::new();
    for (index, (load, at, mask, value)) in compared.iter().enumerate() {
        let to_the_end = u8::try_from(3 * (compared.len() - index) - 2).unwrap_or(u8::MAX);
        program.push(instruction(*load, 0, *at));
        program.push(instruction(AND, 0, *mask));
        program.push(instruction(JUMP_IF_EQUAL, to_the_end, *value));
    }
    program.push(instruction(RETURN, 0, ALL));
    program
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

    #[test]
    fn only_datagrams_from_the_networks_are_let_through() {
        let other = ("2001:db8::".parse().unwrap(), 33);
        for (server, client, network, through) in [
            ("127.0.0.1:0", "127.0.0.1:0", "127.0.0.1/32", true),
            ("127.0.0.1:0", "127.0.0.1:0", "127.0.0.0/31", true),
            ("127.0.0.1:0", "127.0.0.1:0", "126.0.0.0/7", true),
            ("127.0.0.1:0", "127.0.0.1:0", "0.0.0.0/0", true),
            ("127.0.0.1:0", "127.0.0.1:0", "127.0.0.2/32", false),
            ("127.0.0.1:0", "127.0.0.1:0", "::/0", false),
            ("[::]:0", "127.0.0.1:0", "127.0.0.1/32", true),
            ("[::]:0", "[::1]:0", "::1/128", true),
            ("[::1]:0", "[::1]:0", "::/127", true),
            ("[::1]:0", "[::1]:0", "::/0", true),
            ("[::1]:0", "[::1]:0", "::2/127", false),
            ("[::1]:0", "[::1]:0", "0.0.0.0/0", false),
        ] {
            let server = UdpSocket::bind(server).unwrap();
            let client = UdpSocket::bind(client).unwrap();
            let (address, bits) = network.split_once('/').unwrap();
            let network = (address.parse().unwrap(), bits.parse().unwrap());
            attach_sources(server.as_fd(), &[other, network]).unwrap();
            let to = (
                client.local_addr().unwrap().ip(),
                server.local_addr().unwrap().port(),
            );
            client.send_to(b"abc", to).unwrap();
            server.set_nonblocking(true).unwrap();
            // Loopback delivers within sendto(2).
            assert_eq!(server.recv(&mut [0; 8]).is_ok(), through, "{network:?}");
        }
    }
}
