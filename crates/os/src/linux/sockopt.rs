//! Socket options that `socket2` does not have (socket(7), ip(7), ipv6(7), tcp(7)).

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::call::{get_option, set_option};
use super::tcp;

/// Declares [`IntOption`], so that an option stands in one place: its level and its name.
macro_rules! int_options {
    ($($(#[$doc:meta])* $option:ident = $level:expr, $name:expr;)*) => {
        /// An option whose value is one `int`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum IntOption {
            $($(#[$doc])* $option,)*
        }

        impl IntOption {
            const fn level_and_name(self) -> (libc::c_int, libc::c_int) {
                match self {
                    $(Self::$option => ($level, $name),)*
                }
            }
        }
    };
}

int_options! {
    /// `SO_DONTROUTE`.
    DontRoute = libc::SOL_SOCKET, libc::SO_DONTROUTE;
    /// `SO_DEBUG`.
    Debug = libc::SOL_SOCKET, libc::SO_DEBUG;
    /// `SO_KEEPALIVE`.
    KeepAlive = libc::SOL_SOCKET, libc::SO_KEEPALIVE;
    /// `SO_PRIORITY`.
    Priority = libc::SOL_SOCKET, libc::SO_PRIORITY;
    /// `SO_MAX_PACING_RATE`, bytes per second.
    MaxPacingRate = libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE;
    /// `IP_TOS`.
    TosV4 = libc::IPPROTO_IP, libc::IP_TOS;
    /// `IPV6_TCLASS`.
    TrafficClassV6 = libc::IPPROTO_IPV6, libc::IPV6_TCLASS;
    /// `IP_RECVERR`: report a full local queue to a datagram sender.
    RecvErrV4 = libc::IPPROTO_IP, libc::IP_RECVERR;
    /// `IPV6_RECVERR`.
    RecvErrV6 = libc::IPPROTO_IPV6, libc::IPV6_RECVERR;
    /// `IP_MTU_DISCOVER`.
    MtuDiscoverV4 = libc::IPPROTO_IP, libc::IP_MTU_DISCOVER;
    /// `IPV6_MTU_DISCOVER`.
    MtuDiscoverV6 = libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER;
    /// `IP_PKTINFO`: tell with a datagram which address it was sent to.
    PacketInfoV4 = libc::IPPROTO_IP, libc::IP_PKTINFO;
    /// `IPV6_RECVPKTINFO`.
    PacketInfoV6 = libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO;
    /// `IP_MULTICAST_TTL`.
    MulticastTtlV4 = libc::IPPROTO_IP, libc::IP_MULTICAST_TTL;
    /// `IPV6_MULTICAST_HOPS`.
    MulticastHopsV6 = libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_HOPS;
    /// `TCP_MAXSEG`.
    SegmentSize = libc::IPPROTO_TCP, libc::TCP_MAXSEG;
    /// `TCP_NODELAY`.
    NoDelay = libc::IPPROTO_TCP, libc::TCP_NODELAY;
    /// `TCP_CORK`.
    Cork = libc::IPPROTO_TCP, libc::TCP_CORK;
    /// `TCP_DEFER_ACCEPT`, seconds.
    DeferAccept = libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT;
    /// `TCP_FASTOPEN` on a listener, queue length.
    FastOpen = libc::IPPROTO_TCP, libc::TCP_FASTOPEN;
    /// `TCP_FASTOPEN_CONNECT`: data goes with the connect.
    FastOpenConnect = libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT;
    /// `TCP_QUICKACK`: acknowledge at once what waits to be acknowledged, and soon after.
    QuickAck = libc::IPPROTO_TCP, libc::TCP_QUICKACK;
    /// `TCP_KEEPIDLE`, seconds.
    KeepIdle = libc::IPPROTO_TCP, libc::TCP_KEEPIDLE;
    /// `TCP_KEEPINTVL`, seconds.
    KeepInterval = libc::IPPROTO_TCP, libc::TCP_KEEPINTVL;
    /// `TCP_KEEPCNT`.
    KeepCount = libc::IPPROTO_TCP, libc::TCP_KEEPCNT;
    /// `TCP_USER_TIMEOUT`, milliseconds; 0 for the kernel's own.
    UserTimeout = libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT;
    /// `IP_MTU` of a connected socket, bytes.
    PathMtuV4 = libc::IPPROTO_IP, libc::IP_MTU;
    /// `IPV6_MTU` of a connected socket, bytes.
    PathMtuV6 = libc::IPPROTO_IPV6, libc::IPV6_MTU;
    /// `SCTP_NODELAY` (RFC 6458 section 8.1.5).
    SctpNoDelay = libc::IPPROTO_SCTP, SCTP_NODELAY;
    /// `SCTP_FRAGMENT_INTERLEAVE` (RFC 6458 section 8.1.20).
    SctpFragmentInterleave = libc::IPPROTO_SCTP, SCTP_FRAGMENT_INTERLEAVE;
    /// `DCCP_SOCKOPT_QPOLICY_TXQLEN` of Linux: messages in the send queue, 0 for no limit
    /// but the socket buffer.
    DccpQueueLength = libc::SOL_DCCP, DCCP_SOCKOPT_QPOLICY_TXQLEN;
    /// `DCCP_SOCKOPT_GET_CUR_MPS` of Linux: the largest message now, bytes.
    DccpMessageSize = libc::SOL_DCCP, DCCP_SOCKOPT_GET_CUR_MPS;
    /// `LLC_OPT_TX_WIN`: frames sent before one must be acknowledged.
    LlcSendWindow = SOL_LLC, LLC_OPT_TX_WIN;
    /// `LLC_OPT_RX_WIN`: frames received before one is acknowledged.
    LlcRecvWindow = SOL_LLC, LLC_OPT_RX_WIN;
    /// `SO_BUSY_POLL`, microseconds.
    BusyPoll = libc::SOL_SOCKET, libc::SO_BUSY_POLL;
    /// `SO_MARK`.
    Mark = libc::SOL_SOCKET, libc::SO_MARK;
    /// `TCP_NOTSENT_LOWAT`, bytes.
    NotSentLowAt = libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT;
    /// `SO_RCVLOWAT`: bytes that must be there before a reader is woken up.
    RecvLowAt = libc::SOL_SOCKET, libc::SO_RCVLOWAT;
    /// `SO_ZEROCOPY`: allow `MSG_ZEROCOPY`.
    ZeroCopy = libc::SOL_SOCKET, libc::SO_ZEROCOPY;
    /// `UDP_SEGMENT`: cut what is sent into datagrams of so many bytes.
    Segment = libc::SOL_UDP, libc::UDP_SEGMENT;
    /// `UDP_GRO`: hand over datagrams that belong together in one piece.
    Reassemble = libc::SOL_UDP, libc::UDP_GRO;
}

// From linux/sctp.h and linux/dccp.h, which libc does not have.
const SCTP_NODELAY: libc::c_int = 3;
const SCTP_FRAGMENT_INTERLEAVE: libc::c_int = 18;
const DCCP_SOCKOPT_GET_CUR_MPS: libc::c_int = 5;
const DCCP_SOCKOPT_QPOLICY_TXQLEN: libc::c_int = 17;

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

/// `SO_RCVLOWAT`: the number of bytes at which the kernel reports input. Without support it reports
/// every segment. Returns whether it is in force.
pub fn set_wake_threshold(fd: BorrowedFd<'_>, bytes: usize) -> bool {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    set(fd, IntOption::RecvLowAt, bytes).is_ok()
}

/// `SO_MAX_PACING_RATE`: the rate at which the kernel sends, bytes per second.
///
/// # Errors
/// `EINVAL` above 2^32 - 2 bytes per second on a kernel that has 32 bits for it.
pub fn set_pacing_rate(fd: BorrowedFd<'_>, bytes: u64) -> io::Result<()> {
    let (level, name) = IntOption::MaxPacingRate.level_and_name();
    // All ones mean no limit.
    match u32::try_from(bytes) {
        Ok(bytes) if bytes < u32::MAX => set_option(fd, level, name, &bytes),
        Ok(_) | Err(_) => set_option(fd, level, name, &bytes),
    }
}

/// Unanswered probes that end a connection, at least.
const PROBES: u64 = 3;

/// Probes the host at the other end of a TCP connection: the connection ends once no probe was
/// answered within `patience`, and after three probes at the earliest. Their interval is twice the
/// longer of `round_trip` and the round trip of the connection, and at least a second. Nothing
/// changes on a connection without keep-alive, as `--control-keepalive 0` asks. Best effort:
/// without probes, the deadlines of each wait hold.
pub fn demand_signs_of_life(fd: BorrowedFd<'_>, round_trip: Duration, patience: Duration) {
    if fetch(fd, IntOption::KeepAlive).unwrap_or(0) == 0 {
        return;
    }
    let own = tcp::info(fd).map_or(Duration::ZERO, |info| info.round_trip());
    let interval = probe_interval(own.max(round_trip));
    // A user time-out would override the probe count.
    let options = [
        (IntOption::UserTimeout, 0),
        (IntOption::KeepInterval, interval),
        (IntOption::KeepCount, probes(interval, patience)),
        (IntOption::KeepIdle, 1),
    ];
    for (option, value) in options {
        let _best_effort = set(fd, option, value);
    }
}

/// Interval of probes in whole seconds, as the option takes it.
fn probe_interval(round_trip: Duration) -> i32 {
    /// The option takes no more.
    const LONGEST: i32 = 32_767;
    let seconds = (round_trip * 2).as_millis().div_ceil(1000);
    i32::try_from(seconds).unwrap_or(LONGEST).clamp(1, LONGEST)
}

/// Number of probes at this interval in seconds, as the option takes it.
fn probes(interval: i32, patience: Duration) -> i32 {
    /// The option takes no more.
    const MOST: i32 = 127;
    let interval = u64::from(interval.unsigned_abs()).max(1);
    let count = patience.as_secs().div_ceil(interval).max(PROBES);
    i32::try_from(count).unwrap_or(MOST).min(MOST)
}

/// getsockopt(2) of an `int`.
///
/// # Errors
/// Whatever getsockopt(2) reports.
pub fn fetch(fd: BorrowedFd<'_>, option: IntOption) -> io::Result<i32> {
    let (level, name) = option.level_and_name();
    let mut value: libc::c_int = 0;
    get_option(fd, level, name, &mut value)?;
    Ok(value)
}

/// Datagrams that the kernel dropped because the receive buffer of a socket was full (`SO_MEMINFO`,
/// Linux 4.12).
///
/// # Errors
/// `ENOPROTOOPT` without such a count.
pub fn receive_drops(fd: BorrowedFd<'_>) -> io::Result<u32> {
    /// asm-generic/socket.h.
    const SO_MEMINFO: libc::c_int = 55;
    /// `SK_MEMINFO_DROPS` of linux/sock_diag.h.
    const DROPS: usize = 8;
    let mut counts = [0_u32; DROPS + 1];
    let length = get_option(fd, libc::SOL_SOCKET, SO_MEMINFO, &mut counts)?;
    let all = length == size_of_val(&counts);
    let [.., drops] = counts;
    all.then_some(drops)
        .ok_or(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn probes_wait_for_two_round_trips_and_a_second() {
        let after = |millis| probe_interval(Duration::from_millis(millis));
        assert_eq!([0, 500, 501, 4000].map(after), [1, 1, 2, 8]);
        assert_eq!(probe_interval(Duration::from_secs(1 << 30)), 32_767);
    }

    #[test]
    fn only_a_connection_with_keep_alive_is_probed_sooner() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let fd = stream.as_fd();
        let values = || {
            let of = |option| fetch(fd, option).unwrap();
            (of(IntOption::KeepAlive), of(IntOption::KeepIdle))
        };
        let before = values();
        let patience = Duration::from_secs(30);
        demand_signs_of_life(fd, Duration::ZERO, patience);
        assert_eq!(values(), before, "nothing asked for probes");
        set(fd, IntOption::KeepAlive, 1).unwrap();
        demand_signs_of_life(fd, Duration::ZERO, patience);
        assert_eq!(values(), (1, 1));
        assert_eq!(fetch(fd, IntOption::KeepCount).unwrap(), 30);
    }

    #[test]
    fn probes_last_for_the_patience_and_are_three_at_least() {
        let patience = Duration::from_secs(30);
        assert_eq!(
            [1, 4, 20].map(|interval| probes(interval, patience)),
            [30, 8, 3]
        );
        assert_eq!(probes(1, Duration::from_secs(3600)), 127);
    }

    #[test]
    fn an_option_reads_back_as_it_was_set() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        set(socket.as_fd(), IntOption::TosV4, 0x10).unwrap();
        assert_eq!(fetch(socket.as_fd(), IntOption::TosV4).unwrap(), 0x10);
    }
}
