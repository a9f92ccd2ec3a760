//! The endpoints of iperf's transfers.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_os::sockopt::{self, IntOption};
use netperf_os::{Domain, Socket, without};

use crate::io::batch::Trains;
use crate::io::{Again, BatchedRecv, BatchedSend, BriefSpin};
use crate::tcp::{FromFile, Tcp};
use crate::udp::ConnectedUdp;

/// Trains of datagrams per call.
const TRAINS: u32 = 4;
/// Largest buffer of datagrams, bytes.
pub const MOST_DATAGRAM_BUFFER: usize = TRAINS as usize * 65_536;
/// Most bytes that a receiver of a connection gathers before it wakes up.
const GATHERED: usize = 128 << 10;
/// Headers of IPv6 and UDP, bytes: longer datagrams cannot be cut by the kernel.
const HEADERS: usize = 48;

/// Endpoint of a direction of iperf.
#[derive(Debug)]
pub enum TransferEndpoint {
    /// A connection.
    Tcp(Tcp),
    /// A connection that sends from memory of the kernel.
    File(FromFile),
    /// Datagrams, one per call.
    Datagrams(ConnectedUdp),
    /// Many datagrams per call to send.
    BatchedSend(BatchedSend),
    /// Many datagrams per call to receive.
    BatchedRecv(BatchedRecv),
    /// The same with its own CPU.
    EagerRecv(Again<BatchedRecv, BriefSpin>),
}

/// Opens a connection that sends blocks, from the file if there is one.
#[must_use]
pub fn stream_sender(socket: Socket, file: Option<File>) -> TransferEndpoint {
    match file {
        Some(file) => TransferEndpoint::File(FromFile::new(socket, file, 0, 1)),
        None => TransferEndpoint::Tcp(Tcp(socket)),
    }
}

/// Opens a connection that receives blocks of this size. It wakes up for a block, or after the
/// time-out of the socket, and not for each segment: its sender pays for waking it up.
#[must_use]
pub fn stream_receiver(socket: Socket, size: usize) -> TransferEndpoint {
    sockopt::set_wake_threshold(socket.as_fd(), size.min(GATHERED));
    TransferEndpoint::Tcp(Tcp(socket))
}

/// Opens a sender of datagrams of this size, `together` of which may be sent in a call: in trains
/// that the kernel cuts where they fit into packets. Returns the bytes of a call, too.
///
/// # Errors
/// Whatever the kernel reports.
pub fn datagram_sender(
    socket: Socket,
    size: usize,
    together: usize,
) -> io::Result<(TransferEndpoint, usize)> {
    if together < 2 {
        return Ok((TransferEndpoint::Datagrams(ConnectedUdp(socket)), size));
    }
    let trains = Trains {
        messages: TRAINS,
        segments: size + HEADERS <= path_mtu(&socket),
    };
    let count = together.min(trains.send_buffer(size) / size).max(1);
    let again = socket.try_clone()?;
    let sender = BatchedSend::new(socket, None, trains, size).or_else(|_| {
        // A kernel before Linux 4.18 does not cut datagrams.
        let trains = Trains {
            segments: false,
            ..trains
        };
        BatchedSend::new(again, None, trains, size)
    })?;
    Ok((TransferEndpoint::BatchedSend(sender), count * size))
}

fn path_mtu(socket: &Socket) -> usize {
    let option = match without::domain(socket) {
        Ok(domain) if domain == Domain::IPV6 => IntOption::PathMtuV6,
        _ => IntOption::PathMtuV4,
    };
    let mtu = sockopt::fetch(socket.as_fd(), option).unwrap_or(0);
    usize::try_from(mtu).unwrap_or(0)
}

/// Opens a receiver of datagrams of this size. With a time, it polls before it sleeps, for that time
/// at most. Returns the bytes of a call, too.
///
/// # Errors
/// Whatever the kernel reports.
pub fn datagram_receiver(
    socket: Socket,
    size: usize,
    polls: Option<Duration>,
) -> io::Result<(TransferEndpoint, usize)> {
    let again = socket.try_clone()?;
    let trains = |segments| Trains {
        messages: TRAINS,
        segments,
    };
    let (receiver, trains) = match BatchedRecv::new(socket, trains(true), size, false) {
        Ok(receiver) => (receiver, trains(true)),
        // A kernel before Linux 5.0 does not put datagrams together.
        Err(_) => (
            BatchedRecv::new(again, trains(false), size, false)?,
            trains(false),
        ),
    };
    let endpoint = match polls {
        Some(patience) => {
            TransferEndpoint::EagerRecv(Again::spinning_briefly(receiver, Some(patience))?)
        }
        None => TransferEndpoint::BatchedRecv(receiver),
    };
    Ok((endpoint, trains.recv_buffer(size)))
}
