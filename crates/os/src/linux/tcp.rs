//! TCP connection information (tcp(7), `TCP_INFO`; tcp(7) ioctls).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use super::call::{checked, get_option, zeroed};

/// The figures of `TCP_INFO` that are reported. Times are as the kernel gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Retransmission time-out, microseconds.
    pub rto: u32,
    /// Delayed acknowledgement time-out, microseconds.
    pub ato: u32,
    /// Path MTU, bytes.
    pub pmtu: u32,
    /// Receive slow-start threshold, bytes.
    pub rcv_ssthresh: u32,
    /// Smoothed round trip, microseconds.
    pub rtt: u32,
    /// Its variation, microseconds.
    pub rttvar: u32,
    /// Send slow-start threshold, segments.
    pub snd_ssthresh: u32,
    /// Congestion window, segments.
    pub snd_cwnd: u32,
    /// Reordering seen, segments.
    pub reordering: u32,
    /// Segments retransmitted since the connection was made.
    pub total_retrans: u32,
    /// Send segment size, bytes.
    pub snd_mss: u32,
    /// Round trip as a receiver estimates it, microseconds.
    pub rcv_rtt: u32,
    /// Data in the first segment was accepted (`TCPI_OPT_SYN_DATA`).
    pub data_in_syn: bool,
}

/// `TCPI_OPT_SYN_DATA` (linux/tcp.h).
const SYN_DATA: u8 = 32;

impl TcpInfo {
    /// The longer of the round trips that sending and receiving have shown.
    #[must_use]
    pub fn round_trip(&self) -> Duration {
        Duration::from_micros(self.rtt.max(self.rcv_rtt).into())
    }

    /// Round trip that hardly any segment exceeds, also while a queue fills (RFC 6298).
    #[must_use]
    pub fn longest_round_trip(&self) -> Duration {
        let deviates = Duration::from_micros(self.rttvar.into());
        self.round_trip() + deviates * 4
    }

    /// Retransmission time-out, which doubles with each loss in a row. Where the system does not
    /// tell it, that of a segment lost twice (RFC 6298, 2.1 and 5.5).
    #[must_use]
    pub fn retransmits_after(&self) -> Duration {
        const UNKNOWN: Duration = Duration::from_secs(2);
        if self.tells_time_out() {
            Duration::from_micros(self.rto.into())
        } else {
            UNKNOWN
        }
    }

    /// True if the system reports the retransmission time-out.
    #[must_use]
    pub const fn tells_time_out(&self) -> bool {
        self.rto != 0
    }
}

/// The fields of `TCP_INFO` that libc knows. A kernel that knows fewer leaves the rest zero.
fn fields(fd: BorrowedFd<'_>) -> io::Result<libc::tcp_info> {
    let mut raw = zeroed();
    get_option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut raw)?;
    Ok(raw)
}

/// getsockopt(2) of `TCP_INFO`.
///
/// # Errors
/// `EOPNOTSUPP` or `ENOPROTOOPT` on sockets that are not TCP.
pub fn info(fd: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    let raw = fields(fd)?;
    Ok(TcpInfo {
        rto: raw.tcpi_rto,
        ato: raw.tcpi_ato,
        pmtu: raw.tcpi_pmtu,
        rcv_ssthresh: raw.tcpi_rcv_ssthresh,
        rtt: raw.tcpi_rtt,
        rttvar: raw.tcpi_rttvar,
        snd_ssthresh: raw.tcpi_snd_ssthresh,
        snd_cwnd: raw.tcpi_snd_cwnd,
        reordering: raw.tcpi_reordering,
        total_retrans: raw.tcpi_total_retrans,
        snd_mss: raw.tcpi_snd_mss,
        rcv_rtt: raw.tcpi_rcv_rtt,
        data_in_syn: raw.tcpi_options & SYN_DATA != 0,
    })
}

/// Time since the peer's host was last heard, by data or an acknowledgement; `None` on sockets
/// that are not TCP.
#[must_use]
pub fn silence(fd: BorrowedFd<'_>) -> Option<Duration> {
    let raw = fields(fd).ok()?;
    let millis = raw.tcpi_last_data_recv.min(raw.tcpi_last_ack_recv);
    Some(Duration::from_millis(millis.into()))
}

/// More of what `TCP_INFO` says than [`TcpInfo`]. What this kernel is too old for, and what
/// TCP does not know yet, is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpDetail {
    /// Smoothed round trip, microseconds.
    pub rtt: Option<u32>,
    /// Its variation, microseconds.
    pub rttvar: Option<u32>,
    /// The smallest round trip in the kernel's window for it, microseconds.
    pub min_rtt: Option<u32>,
    /// The round trip as a receiver estimates it, microseconds.
    pub rcv_rtt: Option<u32>,
    /// Congestion window, segments.
    pub snd_cwnd: Option<u32>,
    /// Send slow-start threshold, segments; `None` while it is infinite.
    pub snd_ssthresh: Option<u32>,
    /// Send segment size, bytes.
    pub snd_mss: Option<u32>,
    /// Segments sent and not acknowledged.
    pub unacked: Option<u32>,
    /// Segments known to have arrived out of order.
    pub sacked: Option<u32>,
    /// Segments taken for lost.
    pub lost: Option<u32>,
    /// Segments sent again and not acknowledged.
    pub retrans: Option<u32>,
    /// Segments sent again since the connection was made.
    pub total_retrans: Option<u32>,
    /// Reordering seen, segments.
    pub reordering: Option<u32>,
    /// Bytes that wait to be sent for the first time.
    pub notsent: Option<u32>,
    /// Time since data was sent, milliseconds.
    pub last_sent: Option<u32>,
    /// The window that the peer offers, bytes.
    pub snd_wnd: Option<u32>,
    /// The rate that TCP would pace to, or does, bytes per second; `None` without a bound.
    pub pacing_rate: Option<u64>,
    /// Delivery rate, bytes per second; `None` while nothing was delivered.
    pub delivery_rate: Option<u64>,
    /// Bytes that the peer has acknowledged.
    pub bytes_acked: Option<u64>,
    /// Bytes that came, in order.
    pub bytes_received: Option<u64>,
    /// Segments that arrived, with and without data.
    pub segments_received: Option<u32>,
    /// Time with something to send, microseconds.
    pub busy: Option<u64>,
    /// Time limited by the peer's window, microseconds.
    pub rwnd_limited: Option<u64>,
    /// Time limited by the send buffer, microseconds.
    pub sndbuf_limited: Option<u64>,
}

impl TcpDetail {
    /// Segments on their way, as the kernel counts them (`tcp_packets_in_flight`).
    #[must_use]
    pub fn in_flight(&self) -> Option<u32> {
        let gone = self.sacked?.saturating_add(self.lost?);
        Some(self.unacked?.saturating_sub(gone) + self.retrans?)
    }

    /// Time since the peer's full receive buffer has let nothing be sent; `None` if it does not
    /// hold data back.
    #[must_use]
    pub fn held_back(&self) -> Option<Duration> {
        let waits = self.notsent? > 0 && self.unacked? == 0;
        let closed = self.snd_wnd? < self.snd_mss?;
        let time = Duration::from_millis(self.last_sent?.into());
        (waits && closed).then_some(time)
    }

    /// Bytes that the peer has received, as far as it has acknowledged them, in order or
    /// selectively. Those behind a lost segment are counted when they arrive.
    #[must_use]
    pub fn acknowledged(&self) -> Option<u64> {
        let selectively = u64::from(self.sacked?) * u64::from(self.snd_mss?);
        Some(self.bytes_acked? + selectively)
    }
}

/// Bytes of `struct tcp_info` that are read (linux/tcp.h); later kernels have more.
const INFO_LEN: usize = 232;

/// getsockopt(2) of `TCP_INFO`, with the fields that libc's structure does not have. They
/// are at the same places on every architecture.
///
/// # Errors
/// `EOPNOTSUPP` or `ENOPROTOOPT` on sockets that are not TCP.
pub fn detail(fd: BorrowedFd<'_>) -> io::Result<TcpDetail> {
    let mut raw = [0_u8; INFO_LEN];
    let known = get_option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut raw)?;
    Ok(read(raw.get(..known).unwrap_or(&raw)))
}

/// Decodes `struct tcp_info`, as far as the bytes reach.
fn read(raw: &[u8]) -> TcpDetail {
    let word = |at: usize| {
        let bytes = raw.get(at..)?.first_chunk::<4>()?;
        Some(u32::from_ne_bytes(*bytes))
    };
    let long = |at: usize| {
        let bytes = raw.get(at..)?.first_chunk::<8>()?;
        Some(u64::from_ne_bytes(*bytes))
    };
    /// The kernel's value for "unlimited" (TCP_INFINITE_SSTHRESH).
    const INFINITE: u32 = 0x7fff_ffff;
    let measured = |at| word(at).filter(|micros| *micros > 0);
    TcpDetail {
        rtt: measured(68),
        rttvar: measured(72),
        min_rtt: measured(148).filter(|micros| *micros < u32::MAX),
        rcv_rtt: measured(92),
        snd_cwnd: word(80),
        snd_ssthresh: word(76).filter(|segments| *segments < INFINITE),
        snd_mss: word(16),
        unacked: word(24),
        sacked: word(28),
        lost: word(32),
        retrans: word(36),
        total_retrans: word(100),
        reordering: word(88),
        notsent: word(144),
        last_sent: word(44),
        snd_wnd: word(228),
        pacing_rate: long(104).filter(|rate| (1..u64::MAX).contains(rate)),
        delivery_rate: long(160).filter(|rate| *rate > 0),
        bytes_acked: long(120),
        bytes_received: long(128),
        segments_received: word(140),
        busy: long(168),
        rwnd_limited: long(176),
        sndbuf_limited: long(184),
    }
}

/// Bytes in the send queue that the peer has not acknowledged, or memory of datagrams that wait
/// in this host (`SIOCOUTQ`).
///
/// # Errors
/// Whatever ioctl(2) reports.
pub fn unacknowledged(fd: BorrowedFd<'_>) -> io::Result<u32> {
    let mut queued: libc::c_int = 0;
    // SAFETY: SIOCOUTQ (TIOCOUTQ) writes one int, and `queued` is one.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut queued) })?;
    Ok(u32::try_from(queued).unwrap_or(0))
}

// From linux/mptcp.h and linux/socket.h, which libc does not have.
const SOL_MPTCP: libc::c_int = 284;
const MPTCP_INFO: libc::c_int = 1;

/// Returns true if a connection of an MPTCP socket uses Multipath TCP, and `false` if it fell
/// back to TCP (RFC 8684 section 3.7).
///
/// # Errors
/// Any other error of getsockopt(2).
pub fn is_multipath(fd: BorrowedFd<'_>) -> io::Result<bool> {
    // The beginning of struct mptcp_info: only whether the kernel has one matters.
    let mut begin = [0_u8; 4];
    match get_option(fd, SOL_MPTCP, MPTCP_INFO, &mut begin) {
        Ok(_) => Ok(true),
        Err(error) => match error.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::ENOPROTOOPT) => Ok(false),
            _ => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn both_ways_of_reading_say_the_same() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (few, more) = (
            info(client.as_fd()).unwrap(),
            detail(client.as_fd()).unwrap(),
        );
        assert_eq!(more.snd_mss, Some(few.snd_mss));
        assert_eq!(more.snd_cwnd, Some(few.snd_cwnd));
        assert_eq!(more.rtt, Some(few.rtt));
        assert_eq!(more.rttvar, Some(few.rttvar));
        assert_eq!(more.total_retrans, Some(0));
        assert_eq!(more.in_flight(), Some(0));
    }

    #[test]
    fn an_old_kernel_leaves_unknown_what_it_does_not_have() {
        let old = read(&[1; 104]);
        assert_eq!(old.total_retrans, Some(0x0101_0101));
        assert_eq!(
            (old.pacing_rate, old.notsent, old.snd_wnd),
            (None, None, None)
        );
        assert_eq!(read(&[]), TcpDetail::default());
    }

    #[test]
    fn a_peer_that_does_not_read_holds_data_back() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        assert_eq!(detail(client.as_fd()).unwrap().held_back(), None);
        client.set_nonblocking(true).unwrap();
        let full = vec![0; 1 << 20];
        // The window is used up by and by.
        let held = || detail(client.as_fd()).unwrap().held_back();
        while held().is_none_or(|time| time < Duration::from_millis(50)) {
            let _full = std::io::Write::write(&mut &client, &full);
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(server);
    }

    #[test]
    fn a_fresh_connection_has_a_segment_size_and_nothing_queued() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(info(client.as_fd()).unwrap().snd_mss > 0);
        assert_eq!(unacknowledged(client.as_fd()).unwrap(), 0);
    }
}
