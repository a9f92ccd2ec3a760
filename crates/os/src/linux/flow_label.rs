//! Flow labels of IPv6 (RFC 6437; linux/in6.h, net/ipv6/ip6_flowlabel.c).

use std::io;
use std::net::Ipv6Addr;
use std::os::fd::BorrowedFd;

use super::call::set_option;

// linux/in6.h, which libc does not have.
const IPV6_FLOWLABEL_MGR: libc::c_int = 32;
const IPV6_FLOWINFO_SEND: libc::c_int = 33;
/// `IPV6_FL_A_GET`.
const GET: u8 = 0;
/// `IPV6_FL_S_ANY`: other sockets may lease the same label.
const ANYBODY: u8 = 255;
/// `IPV6_FL_F_CREATE`.
const CREATE: u16 = 1;
/// `IPV6_FL_F_REFLECT`.
const REFLECT: u16 = 4;

/// `struct in6_flowlabel_req`.
#[repr(C)]
struct FlowLabelRequest {
    to: [u8; 16],
    label: [u8; 4],
    action: u8,
    share: u8,
    flags: u16,
    expires: u16,
    linger: u16,
    padding: u32,
}

impl FlowLabelRequest {
    fn new(label: u32, flags: u16) -> Self {
        Self {
            // Kept by the kernel, and compared with nothing.
            to: Ipv6Addr::LOCALHOST.octets(),
            label: label.to_be_bytes(),
            action: GET,
            share: ANYBODY,
            flags,
            expires: 0,
            linger: 0,
            padding: 0,
        }
    }
}

/// Leases a flow label, so that a socket can send packets with it to addresses that carry it
/// ([`flow_info`]).
///
/// # Errors
/// `ENOPROTOOPT` for an IPv4 socket, `EPERM` for a label that another process leases
/// exclusively.
pub fn lease(fd: BorrowedFd<'_>, label: u32) -> io::Result<()> {
    set_option(
        fd,
        libc::IPPROTO_IPV6,
        IPV6_FLOWLABEL_MGR,
        &FlowLabelRequest::new(label, CREATE),
    )?;
    set_option(fd, libc::IPPROTO_IPV6, IPV6_FLOWINFO_SEND, &1_i32)
}

/// Makes the connections of a TCP listener send with the label that they received.
///
/// # Errors
/// `EPERM` unless `net.ipv6.flowlabel_consistency` is 0.
pub fn reflect(fd: BorrowedFd<'_>) -> io::Result<()> {
    set_option(
        fd,
        libc::IPPROTO_IPV6,
        IPV6_FLOWLABEL_MGR,
        &FlowLabelRequest::new(0, REFLECT),
    )
}

/// A label as socket addresses have it (`sin6_flowinfo`), in the order of the network.
#[must_use]
pub const fn flow_info(label: u32) -> u32 {
    label.to_be()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::Source;
    use crate::linux::call::first;
    use crate::linux::message::{ControlBuffer, controls, message, received_part};
    use std::net::{SocketAddr, UdpSocket};
    use std::os::fd::AsFd;
    use std::os::fd::AsRawFd;

    const LABEL: u32 = 0x12345;
    const IPV6_FLOWINFO: libc::c_int = 11;

    /// The label of the next packet that arrives.
    fn arriving(fd: BorrowedFd<'_>) -> u32 {
        let (mut control, mut bytes) = (ControlBuffer::<64>::new(), [0_u8; 8]);
        let mut part = [received_part(&mut bytes)];
        let mut message = message(&mut part);
        control.attach(&mut message);
        // SAFETY: every pointer in `message` describes memory that outlives the call.
        let count = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, 0) };
        assert!(count > 0);
        let (_, _, data) = controls(&message).next().unwrap();
        u32::from_be(first(data).unwrap()) & 0xf_ffff
    }

    #[test]
    fn packets_carry_the_label_and_so_does_the_answer() {
        let server = UdpSocket::bind("[::1]:0").unwrap();
        let client = UdpSocket::bind("[::1]:0").unwrap();
        for socket in [&server, &client] {
            lease(socket.as_fd(), LABEL).unwrap();
        }
        let SocketAddr::V6(mut to) = server.local_addr().unwrap() else {
            panic!("an address of IPv6");
        };
        to.set_flowinfo(flow_info(LABEL));
        let (mut buf, mut source) = ([0; 8], Source::unknown());
        let ask = |packet| crate::io::send_to(client.as_fd(), packet, &SocketAddr::V6(to).into());
        ask(b"first").unwrap();
        crate::io::recv_from(server.as_fd(), &mut buf, &mut source).unwrap();
        set_option(server.as_fd(), libc::IPPROTO_IPV6, IPV6_FLOWINFO, &1_i32).unwrap();
        ask(b"second").unwrap();
        assert_eq!(arriving(server.as_fd()), LABEL);
        set_option(client.as_fd(), libc::IPPROTO_IPV6, IPV6_FLOWINFO, &1_i32).unwrap();
        source.set_flow_info(flow_info(LABEL));
        crate::io::send_back(server.as_fd(), b"answer", &source).unwrap();
        assert_eq!(arriving(client.as_fd()), LABEL);
    }

    #[test]
    fn a_socket_of_the_other_family_has_no_label() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(lease(socket.as_fd(), LABEL).is_err());
    }
}
