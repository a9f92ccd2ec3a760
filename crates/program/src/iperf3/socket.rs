//! Sockets of streams: their options, which both ends set alike.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_iperf3::figures::SocketBuffers;
use netperf_iperf3::messages::{Parameters, Protocol, ServerError, StreamOption};
use netperf_measure::clock;
use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait::{Interest, ready};
use netperf_os::{Domain, Socket, flow_label, io as calls, rights, without};

/// Time limit for sending a message.
const SEND: Duration = Duration::from_secs(10);

/// Sets the options of the parameters at a socket of a stream.
///
/// # Errors
/// The first option that the system refuses, or that is not in force.
pub fn equip(socket: &Socket, parameters: &Parameters) -> Result<(), ServerError> {
    let fd = socket.as_fd();
    let set = |option, done: io::Result<()>| done.map_err(|error| refused(option, &error));
    if let Some(bytes) = parameters.window {
        set_buffers(socket, usize::try_from(bytes).unwrap_or(usize::MAX))?;
    }
    if parameters.tos > 0 {
        let tos = i32::from(parameters.tos);
        if without::domain(socket).is_ok_and(|domain| domain == Domain::IPV6) {
            set(
                StreamOption::TrafficClass,
                sockopt::set(fd, IntOption::TrafficClassV6, tos),
            )?;
            // Packets to addresses of IPv4, if the socket has both families.
            let _other_family = sockopt::set(fd, IntOption::TosV4, tos);
        } else {
            set(
                StreamOption::TypeOfService,
                sockopt::set(fd, IntOption::TosV4, tos),
            )?;
        }
    }
    if parameters.fqrate > 0 {
        let done = sockopt::set_pacing_rate(fd, parameters.fqrate / 8);
        set(StreamOption::Pacing, done)?;
    }
    match parameters.protocol {
        Protocol::Tcp => equip_connection(socket, parameters),
        Protocol::Udp if parameters.dont_fragment => {
            let done = sockopt::set(fd, IntOption::MtuDiscoverV4, sockopt::PMTU_DISCOVERY_DO);
            set(StreamOption::DontFragment, done)
        }
        Protocol::Udp | Protocol::Sctp => Ok(()),
    }
}

/// Limits the time for which data of a connection stays unacknowledged (`TCP_USER_TIMEOUT`).
///
/// # Errors
/// Whatever setsockopt(2) reports.
pub fn limit_unacknowledged(socket: &Socket, time: Duration) -> io::Result<()> {
    let millis = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
    sockopt::set(socket.as_fd(), IntOption::UserTimeout, millis)
}

fn refused(option: StreamOption, error: &io::Error) -> ServerError {
    ServerError::option(option, error.raw_os_error().unwrap_or(0))
}

/// Sets both buffers. The kernel grants less than what its limit allows without an error.
fn set_buffers(socket: &Socket, bytes: usize) -> Result<(), ServerError> {
    let set = |done: io::Result<()>| done.map_err(|error| refused(StreamOption::Buffer, &error));
    set(socket.set_send_buffer_size(bytes))?;
    set(socket.set_recv_buffer_size(bytes))?;
    let in_force = [socket.send_buffer_size(), socket.recv_buffer_size()];
    if in_force.into_iter().flatten().any(|size| size < bytes) {
        return Err(ServerError::option(StreamOption::BufferInForce, 0));
    }
    Ok(())
}

fn equip_connection(socket: &Socket, parameters: &Parameters) -> Result<(), ServerError> {
    let fd = socket.as_fd();
    let set = |option, done: io::Result<()>| done.map_err(|error| refused(option, &error));
    if parameters.nodelay {
        let done = sockopt::set(fd, IntOption::NoDelay, 1);
        set(StreamOption::NoDelay, done)?;
    }
    if let Some(bytes) = parameters.mss {
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        let done = sockopt::set(fd, IntOption::SegmentSize, bytes);
        set(StreamOption::SegmentSize, done)?;
    }
    if let Some(name) = &parameters.congestion {
        let done = rights::set_congestion(socket, name.as_bytes());
        set(StreamOption::Congestion, done)?;
    }
    Ok(())
}

/// The address of a peer with the flow label of the parameters, which the socket leases.
///
/// # Errors
/// When the label cannot be leased, as for addresses of IPv4.
pub fn labelled(
    socket: &Socket,
    peer: SocketAddr,
    parameters: &Parameters,
) -> Result<SocketAddr, ServerError> {
    let Some(label) = parameters.flowlabel else {
        return Ok(peer);
    };
    let done = flow_label::lease(socket.as_fd(), label);
    done.map_err(|error| refused(StreamOption::FlowLabel, &error))?;
    Ok(match peer {
        SocketAddr::V6(mut peer) => {
            peer.set_flowinfo(flow_label::flow_info(label));
            SocketAddr::V6(peer)
        }
        SocketAddr::V4(_) => peer,
    })
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
