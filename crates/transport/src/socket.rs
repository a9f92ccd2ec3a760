//! Opening data sockets, setting their options, and reading back what the kernel made of them.

mod create;
mod facts;
mod protocol;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use netperf_model::{Family, Routing, Setting, SocketPlan, TransportId};
use netperf_os::sockopt::{self, IntOption};
use netperf_os::{SockAddr, Socket, flow_label, rights, without};

pub use create::{any, create};
pub(crate) use facts::association_facts;
pub use facts::{SocketFacts, buffers, congestion, facts, segment_size};
use protocol::{IPPROTO_DEFAULT, IPPROTO_MPTCP, IPPROTO_SCTP, IPPROTO_TCP};

pub use crate::settings::{Side, in_force, set_extras, set_on_connection};

/// Asked for and refused by the kernel: how `*_SOCKET_PRIO` and `*_SOCKET_TOS` say so.
const REFUSED: i32 = -2;
/// Not asked for.
const NOT_ASKED: i32 = -1;

/// A data socket with its options set, and what the kernel made of them.
#[derive(Debug)]
pub struct OpenedSocket {
    /// The socket.
    pub socket: Socket,
    /// `SO_SNDBUF` read back, bytes.
    pub send_buffer: Option<u32>,
    /// `SO_RCVBUF` read back, bytes.
    pub recv_buffer: Option<u32>,
    /// `SO_PRIORITY` in force, or why not.
    pub priority: i32,
    /// Type of service in force, or why not.
    pub tos: i32,
    /// `TCP_NODELAY` or `SCTP_NODELAY` read back.
    pub nodelay: bool,
}

/// The wildcard address of a family.
#[must_use]
pub fn wildcard(family: Family) -> IpAddr {
    match family {
        Family::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        Family::V4 | Family::Unspecified => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

/// Creates a data socket and sets its options, buffer sizes first: they must be
/// known before TCP negotiates its window scale.
///
/// # Errors
/// When the socket cannot be created, or an option that a result would depend on
/// cannot be set.
pub fn open(transport: TransportId, family: Family, plan: &SocketPlan) -> io::Result<OpenedSocket> {
    let socket = create(transport, family)?;
    without::share_port(&socket, true);
    set_options(&socket, transport, family, plan)?;
    let (priority, tos) = set_marks(&socket, family, plan);
    let (send_buffer, recv_buffer) = buffers(&socket);
    let nodelay = match transport.row().protocol {
        _ if !transport.is_inet() => None,
        IPPROTO_SCTP => Some(IntOption::SctpNoDelay),
        _ => Some(IntOption::NoDelay),
    };
    let is_on = |option| sockopt::fetch(socket.as_fd(), option).is_ok_and(|value| value != 0);
    let nodelay = nodelay.is_some_and(is_on);
    Ok(OpenedSocket {
        socket,
        send_buffer,
        recv_buffer,
        priority,
        tos,
        nodelay,
    })
}

/// A further socket like one that [`open`] made: the same options, nothing read back.
///
/// # Errors
/// As [`open`].
pub fn open_again(transport: TransportId, family: Family, plan: &SocketPlan) -> io::Result<Socket> {
    let socket = create(transport, family)?;
    without::share_port(&socket, true);
    set_all(&socket, transport, family, plan, Side::Asks)?;
    Ok(socket)
}

/// A further socket for one connection, whose calls block if it `waits`. It may not have the
/// port of another one: [`without::share_port`] permits that.
///
/// # Errors
/// As [`open`].
pub fn open_to_connect(
    transport: TransportId,
    family: Family,
    plan: &SocketPlan,
    waits: bool,
) -> io::Result<Socket> {
    let socket = if waits {
        create(transport, family)
    } else {
        create::create_nonblocking(transport, family)
    }?;
    set_all(&socket, transport, family, plan, Side::Asks)?;
    Ok(socket)
}

/// Gives a connection that is there already the options of a plan, as a listener that had
/// them would have.
///
/// # Errors
/// When an option that a result would depend on cannot be set.
pub(crate) fn equip(
    socket: &Socket,
    transport: TransportId,
    family: Family,
    plan: &SocketPlan,
) -> io::Result<()> {
    without::share_port(socket, true);
    set_all(socket, transport, family, plan, Side::Answers)
}

fn set_all(
    socket: &Socket,
    transport: TransportId,
    family: Family,
    plan: &SocketPlan,
    side: Side,
) -> io::Result<()> {
    set_options(socket, transport, family, plan)?;
    set_extras(socket, plan, side).map_err(|(_, error)| error)?;
    set_marks(socket, family, plan);
    Ok(())
}

fn set_options(
    socket: &Socket,
    transport: TransportId,
    family: Family,
    plan: &SocketPlan,
) -> io::Result<()> {
    set_buffers(socket, plan);
    match transport.row().protocol {
        _ if !transport.is_inet() => {}
        IPPROTO_SCTP => set_sctp_options(socket, plan)?,
        _ if !transport.is_connected() => set_datagram_options(socket, family, plan)?,
        IPPROTO_DEFAULT | IPPROTO_TCP | IPPROTO_MPTCP => set_tcp_options(socket, plan)?,
        _ => {}
    }
    set_common_options(socket, plan)?;
    #[cfg(feature = "tls")]
    if matches!(transport, TransportId::Tls | TransportId::Ktls) {
        // Better known now than once the other end has connected.
        crate::tls::check(plan.tls_cipher.as_deref())?;
    }
    Ok(())
}

/// Sets the sizes of the buffers. What is in force is read back and reported.
fn set_buffers(socket: &Socket, plan: &SocketPlan) {
    if let Some(bytes) = plan.send_buffer {
        let _read_back = socket.set_send_buffer_size(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
    if let Some(bytes) = plan.recv_buffer {
        let _read_back = socket.set_recv_buffer_size(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
}

fn set_tcp_options(socket: &Socket, plan: &SocketPlan) -> io::Result<()> {
    if plan.nodelay {
        // It is read back and reported, as the buffers are.
        let _read_back = sockopt::set(socket.as_fd(), IntOption::NoDelay, 1);
    }
    if plan.cork {
        named("cork (-C)", set_checked(socket.as_fd(), IntOption::Cork, 1))?;
    }
    if let Some(bytes) = plan.segment_size {
        // The original ignores a size that the kernel refuses; see [`takes_segment_size`].
        let _ignored = sockopt::set(socket.as_fd(), IntOption::SegmentSize, clamp(bytes));
    }
    if let Some(name) = &plan.congestion {
        // The original ignores a name the kernel does not know; what is in force
        // is read back and reported at the end.
        let _ignored = socket.set_tcp_congestion(name.as_bytes());
    }
    Ok(())
}

fn set_sctp_options(socket: &Socket, plan: &SocketPlan) -> io::Result<()> {
    if plan.nodelay {
        set_checked(socket.as_fd(), IntOption::SctpNoDelay, 1)?;
    }
    Ok(())
}

fn set_datagram_options(socket: &Socket, family: Family, plan: &SocketPlan) -> io::Result<()> {
    let fd = socket.as_fd();
    if plan.no_fragmentation {
        let option = by_family(family, IntOption::MtuDiscoverV4, IntOption::MtuDiscoverV6);
        set_checked(fd, option, sockopt::PMTU_DISCOVERY_DO)?;
    }
    if let Some(ttl) = plan.multicast_ttl {
        let option = by_family(
            family,
            IntOption::MulticastTtlV4,
            IntOption::MulticastHopsV6,
        );
        set_checked(fd, option, i32::from(ttl))?;
    }
    Ok(())
}

/// The option of a family; an unspecified one is IPv4.
const fn by_family(family: Family, v4: IntOption, v6: IntOption) -> IntOption {
    match family {
        Family::V4 | Family::Unspecified => v4,
        Family::V6 => v6,
    }
}

/// Sets an option and reads it back. A value that cannot be read is taken for the one set.
fn set_checked(fd: BorrowedFd<'_>, option: IntOption, value: i32) -> io::Result<()> {
    sockopt::set(fd, option, value)?;
    match sockopt::fetch(fd, option) {
        Ok(got) if got != value => Err(io::Error::other(format!(
            "{option:?}: asked for {value}, in force is {got}"
        ))),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Names an option of netperf's end alone in the error of setting it.
fn named(option: &str, set: io::Result<()>) -> io::Result<()> {
    set.map_err(|error| io::Error::new(error.kind(), format!("{option}: {error}")))
}

fn set_common_options(socket: &Socket, plan: &SocketPlan) -> io::Result<()> {
    let fd = socket.as_fd();
    if plan.keepalive {
        set_checked(fd, IntOption::KeepAlive, 1)?;
    }
    if plan.debug {
        named("debug flag (-g)", set_checked(fd, IntOption::Debug, 1))?;
    }
    if plan.routing == Routing::DirectOnly {
        without::route_directly(socket)?;
    }
    Ok(())
}

/// An address whose packets have the flow label of a plan.
#[must_use]
pub fn labelled(to: SockAddr, plan: &SocketPlan) -> SockAddr {
    match (
        plan.settings.number(Setting::FlowLabel),
        to.as_socket_ipv6(),
    ) {
        (Some(label), Some(mut v6)) => {
            v6.set_flowinfo(flow_label::flow_info(label));
            SocketAddr::V6(v6).into()
        }
        _ => to,
    }
}

/// Sets priority and type of service; returns the values in force, or the reason why not.
fn set_marks(socket: &Socket, family: Family, plan: &SocketPlan) -> (i32, i32) {
    let in_force = |option: IntOption, value: Option<i32>| {
        let Some(value) = value else {
            return NOT_ASKED;
        };
        rights::set(socket.as_fd(), option, value)
            .and_then(|()| sockopt::fetch(socket.as_fd(), option))
            .unwrap_or(REFUSED)
    };
    let tos = by_family(family, IntOption::TosV4, IntOption::TrafficClassV6);
    (
        in_force(IntOption::Priority, plan.priority),
        in_force(tos, plan.tos.map(i32::from)),
    )
}

fn clamp(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

/// Lets the first data of a connection go with its first segment (RFC 7413).
///
/// # Errors
/// `EOPNOTSUPP` where the kernel was told not to.
pub fn send_with_connect(socket: &Socket) -> io::Result<()> {
    sockopt::set(socket.as_fd(), IntOption::FastOpenConnect, 1)
}

/// Connections, or associations, that wait to be taken. The kernel cuts it to what it
/// allows (net.core.somaxconn).
pub(crate) const BACKLOG: i32 = 65_535;

/// Makes a listener out of an opened stream socket.
///
/// # Errors
/// Whatever listen(2) reports, such as `EADDRINUSE`.
pub fn listen(socket: &Socket, plan: &SocketPlan) -> io::Result<()> {
    const DEFER_SECONDS: i32 = 10;
    const FAST_OPEN_QUEUE: i32 = 1024;
    if plan.defer_accept {
        sockopt::set(socket.as_fd(), IntOption::DeferAccept, DEFER_SECONDS)?;
    }
    if plan.fast_open {
        sockopt::set(socket.as_fd(), IntOption::FastOpen, FAST_OPEN_QUEUE)?;
    }
    socket.listen(BACKLOG)
}

/// Sets the segment size of a socket.
///
/// # Errors
/// Whatever setsockopt(2) reports of a size that the kernel refuses.
pub fn takes_segment_size(socket: &Socket, bytes: u32) -> io::Result<()> {
    sockopt::set(socket.as_fd(), IntOption::SegmentSize, clamp(bytes))
}

/// The port a socket is bound to, 0 when it is not bound.
#[must_use]
pub fn local_port(socket: &Socket) -> u16 {
    socket
        .local_addr()
        .ok()
        .and_then(|addr| addr.as_socket())
        .map_or(0, |addr| addr.port())
}

/// Binds to an address and port.
///
/// # Errors
/// Whatever bind(2) reports.
pub fn bind(socket: &Socket, at: SocketAddr) -> io::Result<()> {
    rights::bind(socket, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_size_that_was_asked_for_is_read_back_doubled_on_linux() {
        let plan = SocketPlan {
            send_buffer: Some(30_000),
            ..SocketPlan::default()
        };
        let opened = open(TransportId::Tcp, Family::V4, &plan).unwrap();
        assert_eq!(opened.send_buffer, Some(60_000));
        assert_eq!(opened.tos, NOT_ASKED);
    }

    #[test]
    fn every_transport_of_the_catalogue_opens_where_the_kernel_has_it() {
        // Protocol, type, family or device not there, or not allowed.
        const LACKING: [i32; 6] = [93, 94, 97, 19, 1, 13];
        for row in netperf_model::catalog::transports::TRANSPORTS {
            for family in [Family::V4, Family::V6] {
                let opened = open(row.id, family, &SocketPlan::default());
                let lacking = !row.needs.is_empty()
                    && matches!(&opened, Err(error)
                        if error.raw_os_error().is_some_and(|code| LACKING.contains(&code)));
                assert!(
                    opened.is_ok() || lacking,
                    "{} {family:?}: {opened:?}",
                    row.label
                );
            }
        }
    }

    #[test]
    fn a_type_of_service_is_set_on_both_families() {
        let plan = SocketPlan {
            tos: Some(0x20),
            ..SocketPlan::default()
        };
        for family in [Family::V4, Family::V6] {
            assert_eq!(open(TransportId::Udp, family, &plan).unwrap().tos, 0x20);
        }
    }
}
