//! One stream: its endpoint, its buffers and its loop.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd;

use netperf_model::{ArrivalOrder, Jitter, Tally};
use netperf_os::sockopt::{self, IntOption};
use netperf_os::{Domain, Socket, wait, without};
use netperf_transport::io::batch::Trains;
use netperf_transport::io::{Again, BatchedRecv, BatchedSend, BriefSpin};
use netperf_transport::tcp::{FromFile, Tcp};
use netperf_transport::udp::ConnectedUdp;
use netperf_transport::{Endpoint, Received, Sent};

use super::hooks::{StreamHooks, StreamPace};
use super::stop::StreamStop;
use super::{DatagramFormat, PATIENCE, Shared, StreamCounts, StreamSocket, StreamsPlan};
use crate::limit::RunLimit;
use crate::record::NoRecorder;
use crate::ring::{Ring, RingLayout};
use crate::stop::Ended;
use crate::workload::{LoopContext, stream};

/// Largest buffer of a stream of datagrams, bytes.
pub(super) const MOST_DATAGRAM_BUFFER: usize = TRAINS as usize * 65_536;
/// Trains of datagrams per call.
const TRAINS: u32 = 4;
/// Time that the datagrams of one call may be apart from their rate, seconds.
const TOGETHER: f64 = 100e-6;
/// Most bytes that a receiver of a connection gathers before it wakes up.
const GATHERED: usize = 128 << 10;
/// Headers of IPv6 and UDP, bytes: longer datagrams cannot be cut by the kernel.
const HEADERS: usize = 48;

/// An endpoint whose calls return after [`PATIENCE`]. A peer's closed port is no failure of a
/// stream of datagrams.
struct Patient<E>(E);

impl<E: Endpoint> Endpoint for Patient<E> {
    const KEEPS_BOUNDARIES: bool = E::KEEPS_BOUNDARIES;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        match self.0.send(buf) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Sent::Interrupted),
            Err(error) if E::KEEPS_BOUNDARIES && is_refused(&error) => Ok(Sent::Dropped),
            sent => sent,
        }
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        match self.0.recv(buf) {
            Err(error) if E::KEEPS_BOUNDARIES && is_refused(&error) => Ok(Received::TimedOut),
            received => received,
        }
    }

    #[inline]
    fn messages_sent(&self, bytes: usize) -> u64 {
        self.0.messages_sent(bytes)
    }

    #[inline]
    fn take_dropped(&mut self) -> u64 {
        self.0.take_dropped()
    }

    #[inline]
    fn messages_received(&self) -> u64 {
        self.0.messages_received()
    }

    #[inline]
    fn each_received(&self, buf: &[u8], bytes: usize, see: impl FnMut(&[u8])) {
        self.0.each_received(buf, bytes, see);
    }
}

#[cold]
fn is_refused(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
}

/// How a stream moves its bytes.
enum Mover {
    Tcp(Tcp),
    File(FromFile),
    Datagrams(ConnectedUdp),
    Send(BatchedSend),
    Recv(BatchedRecv),
    /// The same with a CPU of its own.
    EagerRecv(Again<BatchedRecv, BriefSpin>),
}

/// A stream that can start.
pub(super) struct ReadyStream<F> {
    mover: Mover,
    ring: Ring,
    sends: bool,
    limit: RunLimit,
    pace: Option<StreamPace>,
    format: Option<F>,
    size: usize,
}

/// Prepares a stream. `is_eager` is whether a receiver of datagrams polls before it sleeps.
pub(super) fn ready<F: DatagramFormat>(
    plan: StreamsPlan<F>,
    stream: StreamSocket,
    is_eager: bool,
) -> io::Result<ReadyStream<F>> {
    let StreamSocket {
        socket,
        sends,
        amount,
    } = stream;
    without::set_patience(socket.as_fd(), Some(PATIENCE))?;
    let size = plan.size.max(1);
    let (mover, buffer) = match (plan.datagrams.is_some(), sends) {
        (true, true) => datagram_sender(socket, size, plan.rate)?,
        (true, false) => {
            let (receiver, buffer) = datagram_receiver(socket, size)?;
            let mover = if is_eager {
                Mover::EagerRecv(Again::spinning_briefly(receiver, Some(PATIENCE))?)
            } else {
                Mover::Recv(receiver)
            };
            (mover, buffer)
        }
        (false, true) if plan.zerocopy => {
            let file = payload_file(size, plan.digits)?;
            (Mover::File(FromFile::new(socket, file, 0, 1)), size)
        }
        (false, true) => (Mover::Tcp(Tcp(socket)), size),
        (false, false) => {
            // It wakes up for a block, or after [`PATIENCE`], and not for each segment: its sender
            // pays for waking it up.
            sockopt::set_wake_threshold(socket.as_fd(), size.min(GATHERED));
            (Mover::Tcp(Tcp(socket)), size)
        }
    };
    let layout = RingLayout {
        size: u32::try_from(buffer).unwrap_or(u32::MAX),
        width: 1,
        align: 8,
        offset: 0,
    };
    let mut ring = Ring::new(layout, None)?;
    if sends {
        fill(ring.advance(), size, plan.digits);
    }
    let message = u32::try_from(size).unwrap_or(u32::MAX);
    let limit = match (amount, plan.datagrams.is_some()) {
        (None, _) => RunLimit::NONE,
        (Some(bytes), true) => RunLimit::at_least(bytes, message),
        (Some(bytes), false) => RunLimit::exactly(bytes),
    };
    let blocks = u64::from(plan.burst.max(1)) * size as u64;
    Ok(ReadyStream {
        mover,
        ring,
        sends,
        limit,
        pace: plan
            .rate
            .filter(|_| sends)
            .map(|rate| StreamPace::new(rate, blocks)),
        format: plan.datagrams,
        size,
    })
}

/// The endpoint of a sender, and the bytes of one call: as many datagrams as the rate allows to
/// be sent together, in trains that the kernel cuts where they fit into packets.
fn datagram_sender(socket: Socket, size: usize, rate: Option<f64>) -> io::Result<(Mover, usize)> {
    let most = Trains {
        messages: TRAINS,
        segments: true,
    };
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a datagram has at most 64 KiB; a large count is as good as the largest"
    )]
    let together = match rate {
        None => usize::MAX,
        Some(rate) => (rate / 8.0 / size as f64 * TOGETHER) as usize,
    };
    if together < 2 {
        return Ok((Mover::Datagrams(ConnectedUdp(socket)), size));
    }
    let segments = size + HEADERS <= path_mtu(&socket);
    let trains = Trains { segments, ..most };
    let count = together.min(trains.send_buffer(size) / size).max(1);
    let again = socket.try_clone()?;
    let sender = BatchedSend::new(socket, None, trains, size).or_else(|_| {
        // A kernel before Linux 4.18 does not cut datagrams.
        let segments = false;
        BatchedSend::new(again, None, Trains { segments, ..most }, size)
    })?;
    Ok((Mover::Send(sender), count * size))
}

fn path_mtu(socket: &Socket) -> usize {
    let option = match without::domain(socket) {
        Ok(domain) if domain == Domain::IPV6 => IntOption::PathMtuV6,
        _ => IntOption::PathMtuV4,
    };
    let mtu = sockopt::fetch(socket.as_fd(), option).unwrap_or(0);
    usize::try_from(mtu).unwrap_or(0)
}

fn datagram_receiver(socket: Socket, size: usize) -> io::Result<(BatchedRecv, usize)> {
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
    Ok((receiver, trains.recv_buffer(size)))
}

/// A file in memory with the payload of one block.
fn payload_file(size: usize, digits: bool) -> io::Result<File> {
    let mut block = vec![0; size];
    fill(&mut block, size, digits);
    let mut file = File::from(without::file_in_memory(c"payload")?);
    file.write_all(&block)?;
    Ok(file)
}

/// Fills a buffer of blocks with digits that begin anew in each block, or with bytes that do not
/// compress.
fn fill(buffer: &mut [u8], size: usize, digits: bool) {
    if digits {
        for block in buffer.chunks_mut(size) {
            for (byte, digit) in block.iter_mut().zip((b'0'..=b'9').cycle()) {
                *byte = digit;
            }
        }
        return;
    }
    // Marsaglia's xorshift generator.
    let mut state = netperf_measure::clock::monotonic() | 1;
    for byte in buffer {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let [_, _, _, top, ..] = state.to_ne_bytes();
        *byte = top;
    }
}

impl<F: DatagramFormat> ReadyStream<F> {
    /// Moves data until the stream ends. Returns when the last data arrived behind the end, 0 if
    /// none did.
    pub(super) fn run(self, shared: &Shared, counts: &StreamCounts) -> (io::Result<Ended>, u64) {
        if self.pace.is_some() {
            let _early = wait::sleep_exactly();
        }
        let Self {
            mover,
            mut ring,
            sends,
            limit,
            pace,
            format,
            size,
        } = self;
        let mut stop = StreamStop::new(shared, counts, sends);
        let mut hooks = StreamHooks {
            pace,
            format,
            size,
            sends,
            order: ArrivalOrder::default(),
            jitter: Jitter::default(),
            counts,
        };
        let mut tally = Tally::default();
        let context = LoopContext {
            limit,
            stop: &mut stop,
            tally: &mut tally,
            recorder: &mut NoRecorder,
            hooks: &mut hooks,
        };
        let ended = match (mover, sends) {
            (Mover::Tcp(tcp), true) => stream::send(&mut Patient(tcp), &mut ring, context),
            (Mover::Tcp(tcp), false) => stream::receive(&mut Patient(tcp), &mut ring, context),
            (Mover::File(file), _) => stream::send(&mut Patient(file), &mut ring, context),
            (Mover::Datagrams(udp), _) => stream::send(&mut Patient(udp), &mut ring, context),
            (Mover::Send(sender), _) => stream::send(&mut Patient(sender), &mut ring, context),
            (Mover::Recv(receiver), _) => {
                stream::receive(&mut Patient(receiver), &mut ring, context)
            }
            (Mover::EagerRecv(receiver), _) => {
                stream::receive(&mut Patient(receiver), &mut ring, context)
            }
        };
        let last = stop.last_arrival();
        (ended, last)
    }
}
