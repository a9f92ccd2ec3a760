//! Socket options that `socket2` does not have (socket(7), ip(7), ipv6(7), tcp(7)).

use std::io;
use std::os::fd::BorrowedFd;

use super::call::{get_option, set_option};

/// An option whose value is one `int`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntOption {
    /// `SO_DONTROUTE`.
    DontRoute,
    /// `SO_DEBUG`.
    Debug,
    /// `SO_PRIORITY`.
    Priority,
    /// `SO_MAX_PACING_RATE`, bytes per second.
    MaxPacingRate,
    /// `IP_TOS`.
    TosV4,
    /// `IPV6_TCLASS`.
    TrafficClassV6,
    /// `IP_RECVERR`: report a full local queue to a datagram sender.
    RecvErrV4,
    /// `IPV6_RECVERR`.
    RecvErrV6,
    /// `IP_MTU_DISCOVER`.
    MtuDiscoverV4,
    /// `IPV6_MTU_DISCOVER`.
    MtuDiscoverV6,
    /// `IP_PKTINFO`: tell with a datagram which address it was sent to.
    PacketInfoV4,
    /// `IPV6_RECVPKTINFO`.
    PacketInfoV6,
    /// `IP_MULTICAST_TTL`.
    MulticastTtlV4,
    /// `IPV6_MULTICAST_HOPS`.
    MulticastHopsV6,
    /// `TCP_MAXSEG`.
    SegmentSize,
    /// `TCP_CORK`.
    Cork,
    /// `TCP_DEFER_ACCEPT`, seconds.
    DeferAccept,
    /// `TCP_FASTOPEN` on a listener, queue length.
    FastOpen,
    /// `TCP_FASTOPEN_CONNECT`: data goes with the connect.
    FastOpenConnect,
    /// `TCP_QUICKACK`: acknowledge at once what waits to be acknowledged, and soon after.
    QuickAck,
    /// `TCP_KEEPIDLE`, seconds.
    KeepIdle,
    /// `TCP_KEEPINTVL`, seconds.
    KeepInterval,
    /// `TCP_KEEPCNT`.
    KeepCount,
    /// `TCP_USER_TIMEOUT`, milliseconds; 0 for the kernel's own.
    UserTimeout,
    /// `IP_MTU` of a connected socket, bytes.
    PathMtuV4,
    /// `IPV6_MTU` of a connected socket, bytes.
    PathMtuV6,
    /// `SCTP_NODELAY` (RFC 6458 section 8.1.5).
    SctpNoDelay,
    /// `SCTP_FRAGMENT_INTERLEAVE` (RFC 6458 section 8.1.20).
    SctpFragmentInterleave,
    /// `DCCP_SOCKOPT_QPOLICY_TXQLEN` of Linux: messages in the send queue, 0 for no limit
    /// but the socket buffer.
    DccpQueueLength,
    /// `DCCP_SOCKOPT_GET_CUR_MPS` of Linux: the largest message now, bytes.
    DccpMessageSize,
    /// `LLC_OPT_TX_WIN`: frames sent before one must be acknowledged.
    LlcSendWindow,
    /// `LLC_OPT_RX_WIN`: frames received before one is acknowledged.
    LlcRecvWindow,
    /// `SO_BUSY_POLL`, microseconds.
    BusyPoll,
    /// `SO_MARK`.
    Mark,
    /// `TCP_NOTSENT_LOWAT`, bytes.
    NotSentLowAt,
    /// `SO_RCVLOWAT`: bytes that must be there before a reader is woken up.
    RecvLowAt,
    /// `SO_ZEROCOPY`: allow `MSG_ZEROCOPY`.
    ZeroCopy,
    /// `UDP_SEGMENT`: cut what is sent into datagrams of so many bytes.
    Segment,
    /// `UDP_GRO`: hand over datagrams that belong together in one piece.
    Reassemble,
}

// From linux/sctp.h and linux/dccp.h, which libc does not have.
const SCTP_NODELAY: libc::c_int = 3;
const SCTP_FRAGMENT_INTERLEAVE: libc::c_int = 18;
const DCCP_SOCKOPT_GET_CUR_MPS: libc::c_int = 5;
const DCCP_SOCKOPT_QPOLICY_TXQLEN: libc::c_int = 17;

impl IntOption {
    const fn level_and_name(self) -> (libc::c_int, libc::c_int) {
        match self {
            Self::DontRoute => (libc::SOL_SOCKET, libc::SO_DONTROUTE),
            Self::Debug => (libc::SOL_SOCKET, libc::SO_DEBUG),
            Self::Priority => (libc::SOL_SOCKET, libc::SO_PRIORITY),
            Self::MaxPacingRate => (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE),
            Self::TosV4 => (libc::IPPROTO_IP, libc::IP_TOS),
            Self::TrafficClassV6 => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
            Self::RecvErrV4 => (libc::IPPROTO_IP, libc::IP_RECVERR),
            Self::RecvErrV6 => (libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
            Self::MtuDiscoverV4 => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER),
            Self::MtuDiscoverV6 => (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER),
            Self::PacketInfoV4 => (libc::IPPROTO_IP, libc::IP_PKTINFO),
            Self::PacketInfoV6 => (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO),
            Self::MulticastTtlV4 => (libc::IPPROTO_IP, libc::IP_MULTICAST_TTL),
            Self::MulticastHopsV6 => (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_HOPS),
            Self::SegmentSize => (libc::IPPROTO_TCP, libc::TCP_MAXSEG),
            Self::Cork => (libc::IPPROTO_TCP, libc::TCP_CORK),
            Self::DeferAccept => (libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT),
            Self::FastOpen => (libc::IPPROTO_TCP, libc::TCP_FASTOPEN),
            Self::FastOpenConnect => (libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT),
            Self::QuickAck => (libc::IPPROTO_TCP, libc::TCP_QUICKACK),
            Self::KeepIdle => (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE),
            Self::KeepInterval => (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL),
            Self::KeepCount => (libc::IPPROTO_TCP, libc::TCP_KEEPCNT),
            Self::UserTimeout => (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT),
            Self::PathMtuV4 => (libc::IPPROTO_IP, libc::IP_MTU),
            Self::PathMtuV6 => (libc::IPPROTO_IPV6, libc::IPV6_MTU),
            Self::SctpNoDelay => (libc::IPPROTO_SCTP, SCTP_NODELAY),
            Self::SctpFragmentInterleave => (libc::IPPROTO_SCTP, SCTP_FRAGMENT_INTERLEAVE),
            Self::DccpQueueLength => (libc::SOL_DCCP, DCCP_SOCKOPT_QPOLICY_TXQLEN),
            Self::DccpMessageSize => (libc::SOL_DCCP, DCCP_SOCKOPT_GET_CUR_MPS),
            Self::LlcSendWindow => (SOL_LLC, LLC_OPT_TX_WIN),
            Self::LlcRecvWindow => (SOL_LLC, LLC_OPT_RX_WIN),
            Self::BusyPoll => (libc::SOL_SOCKET, libc::SO_BUSY_POLL),
            Self::Mark => (libc::SOL_SOCKET, libc::SO_MARK),
            Self::NotSentLowAt => (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT),
            Self::RecvLowAt => (libc::SOL_SOCKET, libc::SO_RCVLOWAT),
            Self::ZeroCopy => (libc::SOL_SOCKET, libc::SO_ZEROCOPY),
            Self::Segment => (libc::SOL_UDP, libc::UDP_SEGMENT),
            Self::Reassemble => (libc::SOL_UDP, libc::UDP_GRO),
        }
    }
}

/// `IP_PMTUDISC_DO` and its IPv6 twin: never fragment.
pub const PMTU_DISCOVERY_DO: i32 = libc::IP_PMTUDISC_DO;

// From linux/llc.h.
const SOL_LLC: libc::c_int = 268;
const LLC_OPT_TX_WIN: libc::c_int = 7;
const LLC_OPT_RX_WIN: libc::c_int = 8;

/// setsockopt(2) with an `int`.
///
/// # Errors
/// Whatever setsockopt(2) reports.
pub fn set(fd: BorrowedFd<'_>, option: IntOption, value: i32) -> io::Result<()> {
    let (level, name) = option.level_and_name();
    set_option(fd, level, name, &value)
}

/// getsockopt(2) of an `int`.
///
/// # Errors
/// Whatever getsockopt(2) reports.
pub fn fetch(fd: BorrowedFd<'_>, option: IntOption) -> io::Result<i32> {
    let (level, name) = option.level_and_name();
    let mut value: libc::c_int = 0;
    // SAFETY: an int is plain data.
    unsafe { get_option(fd, level, name, &mut value) }?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn an_option_reads_back_as_it_was_set() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        set(socket.as_fd(), IntOption::TosV4, 0x10).unwrap();
        assert_eq!(fetch(socket.as_fd(), IntOption::TosV4).unwrap(), 0x10);
    }
}
