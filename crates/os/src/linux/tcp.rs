//! What TCP knows about a connection (tcp(7), `TCP_INFO`; tcp(7) ioctls).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

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
}

impl TcpInfo {
    /// The smoothed round trip.
    #[must_use]
    pub const fn round_trip(&self) -> Duration {
        Duration::from_micros(self.rtt as u64)
    }
}

/// getsockopt(2) of `TCP_INFO`.
///
/// # Errors
/// `EOPNOTSUPP` or `ENOPROTOOPT` on sockets that are not TCP.
pub fn info(fd: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    // SAFETY: tcp_info is plain data for which all zeros is valid; a kernel that
    // knows fewer fields leaves the rest zero.
    let mut raw: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = libc::socklen_t::try_from(size_of::<libc::tcp_info>()).unwrap_or(0);
    // SAFETY: `raw` has room for `len` bytes and both outlive the call.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut raw).cast(),
            &raw mut len,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
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
    })
}

/// Bytes in the send queue that the peer has not acknowledged (`SIOCOUTQ`).
///
/// # Errors
/// Whatever ioctl(2) reports.
pub fn unacknowledged(fd: BorrowedFd<'_>) -> io::Result<u32> {
    let mut queued: libc::c_int = 0;
    // SAFETY: SIOCOUTQ (TIOCOUTQ) writes one int, and `queued` is one.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut queued) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u32::try_from(queued).unwrap_or(0))
}

// From linux/mptcp.h and linux/socket.h, which libc does not have.
const SOL_MPTCP: libc::c_int = 284;
const MPTCP_INFO: libc::c_int = 1;

/// Whether a connection of an MPTCP socket speaks Multipath TCP; `false` when it fell back
/// to TCP (RFC 8684 section 3.7).
///
/// # Errors
/// Whatever getsockopt(2) reports besides.
pub fn is_multipath(fd: BorrowedFd<'_>) -> io::Result<bool> {
    // The beginning of struct mptcp_info: only whether the kernel has one matters.
    let mut begin = [0_u8; 4];
    let mut len: libc::socklen_t = 4;
    // SAFETY: `begin` has room for `len` bytes and both outlive the call.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            SOL_MPTCP,
            MPTCP_INFO,
            begin.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    if result == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ENOPROTOOPT) => Ok(false),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn a_fresh_connection_has_a_segment_size_and_nothing_queued() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(info(client.as_fd()).unwrap().snd_mss > 0);
        assert_eq!(unacknowledged(client.as_fd()).unwrap(), 0);
    }
}
