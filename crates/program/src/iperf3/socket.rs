//! Sockets of streams: their options, which both ends set alike.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_iperf3::figures::SocketBuffers;
use netperf_iperf3::messages::{Parameters, Protocol};
use netperf_measure::clock;
use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait::{Interest, ready};
use netperf_os::{Socket, io as calls};

/// Time limit for sending a message.
const SEND: Duration = Duration::from_secs(10);

/// An option that could not be set.
#[derive(Debug)]
pub struct OptionError {
    /// Name of the option in iperf3's messages.
    pub name: &'static str,
    /// Cause.
    pub error: io::Error,
}

/// Sets the options of the parameters at a socket of a stream.
///
/// # Errors
/// The first option that the kernel refuses.
pub fn equip(socket: &Socket, parameters: &Parameters) -> Result<(), OptionError> {
    let set = |name, done: io::Result<()>| done.map_err(|error| OptionError { name, error });
    let option = |name, option, value| set(name, sockopt::set(socket.as_fd(), option, value));
    if let Some(bytes) = parameters.window {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        set("SO_SNDBUF", socket.set_send_buffer_size(bytes))?;
        set("SO_RCVBUF", socket.set_recv_buffer_size(bytes))?;
    }
    if parameters.tos > 0 {
        let v6 = socket
            .local_addr()
            .ok()
            .and_then(|at| at.as_socket())
            .is_some_and(|at| at.is_ipv6());
        let tos = i32::from(parameters.tos);
        if v6 {
            option("IPV6_TCLASS", IntOption::TrafficClassV6, tos)?;
        } else {
            option("IP_TOS", IntOption::TosV4, tos)?;
        }
    }
    if parameters.fqrate > 0 {
        let done = sockopt::set_pacing_rate(socket.as_fd(), parameters.fqrate / 8);
        set("SO_MAX_PACING_RATE", done)?;
    }
    if parameters.protocol != Protocol::Tcp {
        return Ok(());
    }
    if parameters.nodelay {
        option("TCP_NODELAY", IntOption::NoDelay, 1)?;
    }
    if let Some(bytes) = parameters.mss {
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        option("TCP_MAXSEG", IntOption::SegmentSize, bytes)?;
    }
    if let Some(name) = &parameters.congestion {
        set("TCP_CONGESTION", socket.set_tcp_congestion(name.as_bytes()))?;
    }
    Ok(())
}

/// Sizes of the buffers of the first stream.
pub fn buffers_of(first: Option<&Socket>) -> SocketBuffers {
    let bytes = |size: io::Result<usize>| u32::try_from(size.ok()?).ok();
    SocketBuffers {
        send: first.and_then(|socket| bytes(socket.send_buffer_size())),
        recv: first.and_then(|socket| bytes(socket.recv_buffer_size())),
    }
}

/// Sends all bytes of a message within the time limit, also over a non-blocking socket.
///
/// # Errors
/// Whatever send(2) reports; `ETIMEDOUT` if the peer does not read.
pub fn send_all(socket: &Socket, mut bytes: &[u8]) -> io::Result<()> {
    let until = clock::now().plus(SEND);
    while !bytes.is_empty() {
        match calls::send_now(socket.as_fd(), bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if calls::is_no_progress(&error) => {
                if until.left().is_zero() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                let wait = until.left() + Duration::from_millis(1);
                let _may_send = ready(socket.as_fd(), Interest::Write, wait)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
