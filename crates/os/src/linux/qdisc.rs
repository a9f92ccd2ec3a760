//! Queueing disciplines (rtnetlink(7), tc(8)).

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use super::link;

/// A dump of all disciplines fits many times; more would be no machine to measure on.
const MOST_ANSWERS: usize = 64;
/// Largest netlink answer, bytes (rtnetlink(7)).
const ANSWER: usize = 32 * 1024;
/// `TCA_KIND` (linux/rtnetlink.h): the name of a discipline.
const TCA_KIND: u16 = 1;
/// `TCA_STATS`: struct tc_stats, with the packets dropped behind bytes and packets.
const TCA_STATS: u16 = 3;
const STATS_DROPS: usize = 12;
/// `TC_H_ROOT`: the parent of a root discipline.
const ROOT: u32 = 0xffff_ffff;
/// Bytes of struct nlmsghdr and of struct tcmsg.
const HEADER: usize = 16;
const MESSAGE: usize = 20;

/// The discipline that everything passes which leaves an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RootQdisc {
    name: String,
    /// Packets that it has dropped, modulo 2^32.
    dropped: u32,
}

/// The name of the discipline that everything passes which leaves an interface.
///
/// # Errors
/// `ENODEV` when there is no such interface, `ENOENT` when it has none.
pub fn root_of(interface: &str) -> io::Result<String> {
    root(interface).map(|root| root.name)
}

/// Packets that this discipline has dropped, modulo 2^32.
///
/// # Errors
/// As [`root_of`].
pub fn dropped_by_root_of(interface: &str) -> io::Result<u32> {
    root(interface).map(|root| root.dropped)
}

fn root(interface: &str) -> io::Result<RootQdisc> {
    let index = link::index(interface)?;
    let socket = open()?;
    ask(&socket)?;
    for _ in 0..MOST_ANSWERS {
        let mut answer = vec![0_u8; ANSWER];
        let length = super::io::recv(socket.as_fd(), &mut answer)?;
        match find(answer.get(..length).unwrap_or_default(), index) {
            QdiscReply::Found(root) => return Ok(root),
            QdiscReply::NotYet => {}
            QdiscReply::Nothing => break,
        }
    }
    Err(io::Error::from_raw_os_error(libc::ENOENT))
}

fn open() -> io::Result<Socket> {
    let protocol = Protocol::from(libc::NETLINK_ROUTE);
    let socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(protocol))?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    Ok(socket)
}

/// `RTM_GETQDISC`: requests all disciplines.
fn ask(socket: &Socket) -> io::Result<()> {
    let length = u32::try_from(HEADER + MESSAGE).unwrap_or(0);
    let flags = u16::try_from(libc::NLM_F_REQUEST | libc::NLM_F_DUMP).unwrap_or(0);
    let mut request = Vec::with_capacity(HEADER + MESSAGE);
    request.extend(length.to_ne_bytes());
    request.extend(libc::RTM_GETQDISC.to_ne_bytes());
    request.extend(flags.to_ne_bytes());
    request.resize(HEADER + MESSAGE, 0);
    socket.send(&request).map(drop)
}

/// Parsed netlink answer.
#[derive(Debug, PartialEq, Eq)]
enum QdiscReply {
    /// The discipline that was looked for.
    Found(RootQdisc),
    /// Other disciplines; more will come.
    NotYet,
    /// The end.
    Nothing,
}

fn find(mut answer: &[u8], index: u32) -> QdiscReply {
    while let Some(header) = answer.get(..HEADER) {
        let length = usize::try_from(u32_at(header, 0)).unwrap_or(0);
        let kind = u16_at(header, 4);
        let Some(message) = answer.get(HEADER..length) else {
            return QdiscReply::Nothing;
        };
        if i32::from(kind) == libc::NLMSG_DONE || i32::from(kind) == libc::NLMSG_ERROR {
            return QdiscReply::Nothing;
        }
        if let Some(root) = root_in(message, index) {
            return QdiscReply::Found(root);
        }
        answer = answer.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    QdiscReply::NotYet
}

/// The root discipline of an interface, if a message is about it.
fn root_in(message: &[u8], index: u32) -> Option<RootQdisc> {
    let (fixed, mut attributes) = message.split_at_checked(MESSAGE)?;
    if u32_at(fixed, 4) != index || u32_at(fixed, 12) != ROOT {
        return None;
    }
    let (mut name, mut dropped) = (None, 0);
    while attributes.len() >= 4 {
        let length = usize::from(u16_at(attributes, 0));
        let value = attributes.get(4..length)?;
        match u16_at(attributes, 2) {
            TCA_KIND => {
                let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
                name = Some(String::from_utf8_lossy(text).into_owned());
            }
            TCA_STATS => dropped = u32_at(value, STATS_DROPS),
            _ => {}
        }
        let next = attributes.get(length.max(4).next_multiple_of(4)..);
        attributes = next.unwrap_or_default();
    }
    name.map(|name| RootQdisc { name, dropped })
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map_or(0, u32::from_ne_bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    let two = bytes.get(at..at + 2).and_then(|two| two.try_into().ok());
    two.map_or(0, u16::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_a_discipline_or_says_that_it_has_none() {
        match root_of("lo") {
            Ok(name) => assert!(!name.is_empty()),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ENOENT), "{error}"),
        }
        let error = root_of("no-such").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }

    /// A message about a discipline: of which interface, below what, and its name.
    fn message(index: u32, parent: u32, name: &str) -> Vec<u8> {
        let attribute = 4 + name.len() + 1;
        let stats = HEADER + MESSAGE + attribute.next_multiple_of(4);
        let length = stats + 4 + STATS_DROPS + 4;
        let mut bytes = vec![0; length.next_multiple_of(4)];
        bytes[..4].copy_from_slice(&u32::try_from(length).unwrap().to_ne_bytes());
        bytes[4..6].copy_from_slice(&libc::RTM_NEWQDISC.to_ne_bytes());
        bytes[HEADER + 4..HEADER + 8].copy_from_slice(&index.to_ne_bytes());
        bytes[HEADER + 12..HEADER + 16].copy_from_slice(&parent.to_ne_bytes());
        let at = HEADER + MESSAGE;
        bytes[at..at + 2].copy_from_slice(&u16::try_from(attribute).unwrap().to_ne_bytes());
        bytes[at + 2..at + 4].copy_from_slice(&TCA_KIND.to_ne_bytes());
        bytes[at + 4..at + 4 + name.len()].copy_from_slice(name.as_bytes());
        bytes[stats..stats + 2].copy_from_slice(&20_u16.to_ne_bytes());
        bytes[stats + 2..stats + 4].copy_from_slice(&TCA_STATS.to_ne_bytes());
        bytes[stats + 4 + STATS_DROPS..stats + 20].copy_from_slice(&(index * 7).to_ne_bytes());
        bytes
    }

    #[test]
    fn the_root_of_the_interface_is_found_among_others() {
        let answer = [
            message(1, ROOT, "noqueue"),
            message(2, 0x1_0000, "fq_codel"),
            message(2, ROOT, "mq"),
        ]
        .concat();
        let root = RootQdisc {
            name: "mq".to_owned(),
            dropped: 14,
        };
        assert_eq!(find(&answer, 2), QdiscReply::Found(root));
        assert_eq!(find(&answer, 3), QdiscReply::NotYet);
        assert_eq!(find(&[], 3), QdiscReply::NotYet);
        // Whatever the lengths say, nothing beyond the answer is read.
        for cut in 0..answer.len() {
            let _found = find(&answer[..cut], 2);
        }
    }
}
