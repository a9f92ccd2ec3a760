//! Information of the kernel about a connection.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netperf_model::TransportId;
use netperf_os::sctp::{self, AssociationId};
use netperf_os::sockopt::{self, IntOption};
use netperf_os::{Socket, tcp};

use super::protocol::{IPPROTO_MPTCP, IPPROTO_SCTP};

/// `SO_SNDBUF` and `SO_RCVBUF` as they are now, bytes.
#[must_use]
pub fn buffers(socket: &Socket) -> (Option<u32>, Option<u32>) {
    let known = |size: io::Result<usize>| size.ok().and_then(|size| u32::try_from(size).ok());
    (
        known(socket.send_buffer_size()),
        known(socket.recv_buffer_size()),
    )
}

/// Information of the transport and the socket at the end of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketFacts {
    /// `SO_SNDBUF`, bytes.
    pub send_buffer: Option<u32>,
    /// `SO_RCVBUF`, bytes.
    pub recv_buffer: Option<u32>,
    /// Segments (TCP) or chunks (SCTP) retransmitted; `None` where the transport does not say.
    pub retransmissions: Option<u32>,
    /// Longest round trip of both directions; `None` where the transport does not say.
    pub round_trip: Option<std::time::Duration>,
    /// Segment size, bytes, of a transport that can tell it no earlier; see
    /// [`segment_size`] for all others.
    pub segment_size: Option<u32>,
    /// Congestion control; `None` where the transport is not TCP.
    pub congestion: Option<String>,
    /// All of `TCP_INFO`; `None` where the transport is not TCP.
    pub tcp: Option<tcp::TcpInfo>,
    /// True if Multipath TCP fell back to TCP; `None` for every other transport.
    pub fallback: Option<bool>,
    /// True if the first segment of a connection had data (RFC 7413); `None` where the transport
    /// is not TCP.
    pub fast_open: Option<bool>,
    /// Messages that the kernel dropped because the receive buffer was full; `None` where the
    /// kernel does not count them.
    pub overflowed: Option<u32>,
}

/// Asks a connection's socket what it knows.
#[must_use]
pub fn facts(transport: TransportId, socket: &Socket) -> SocketFacts {
    match transport.row().protocol {
        IPPROTO_SCTP => association_facts(socket, AssociationId::OWN),
        IPPROTO_MPTCP => SocketFacts {
            fallback: tcp::is_multipath(socket.as_fd()).ok().map(|is| !is),
            ..tcp_facts(socket)
        },
        _ => tcp_facts(socket),
    }
}

fn tcp_facts(socket: &Socket) -> SocketFacts {
    let (send_buffer, recv_buffer) = buffers(socket);
    let tcp = tcp::info(socket.as_fd()).ok();
    SocketFacts {
        send_buffer,
        recv_buffer,
        retransmissions: tcp.map(|info| info.total_retrans),
        round_trip: tcp.map(|info| info.round_trip()),
        segment_size: None,
        congestion: congestion(socket),
        tcp,
        fallback: None,
        fast_open: tcp.map(|info| info.data_in_syn),
        overflowed: sockopt::receive_drops(socket.as_fd()).ok(),
    }
}

/// Congestion control of a socket; `None` where it is not one of TCP.
#[must_use]
pub fn congestion(socket: &Socket) -> Option<String> {
    let name = socket.tcp_congestion().ok()?;
    let end = name.iter().position(|byte| *byte == 0);
    let name = name.get(..end.unwrap_or(name.len()))?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// SCTP's information about an association; without one, only the buffer sizes.
pub(crate) fn association_facts(socket: &Socket, association: AssociationId) -> SocketFacts {
    let (send_buffer, recv_buffer) = buffers(socket);
    let fd = socket.as_fd();
    let status = sctp::status(fd, association).ok();
    SocketFacts {
        send_buffer,
        recv_buffer,
        retransmissions: sctp::retransmissions(fd, association)
            .ok()
            .map(|chunks| u32::try_from(chunks).unwrap_or(u32::MAX)),
        round_trip: status.and_then(|status| status.round_trip),
        segment_size: status.map(|status| status.fragmentation_point),
        ..SocketFacts::default()
    }
}

/// The segment size of a connection, bytes; `None` where the transport has none.
#[must_use]
pub fn segment_size(transport: TransportId, fd: BorrowedFd<'_>) -> Option<u32> {
    match transport.row().protocol {
        IPPROTO_SCTP => sctp::status(fd, AssociationId::OWN)
            .ok()
            .map(|status| status.fragmentation_point),
        // An MPTCP socket has no TCP_MAXSEG (Linux 6.1), but its first path has one.
        IPPROTO_MPTCP => tcp::info(fd).ok().map(|info| info.snd_mss),
        _ => sockopt::fetch(fd, IntOption::SegmentSize)
            .ok()
            .and_then(|size| u32::try_from(size).ok()),
    }
}
