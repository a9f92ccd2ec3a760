//! One stream: its endpoint, its buffers and its loop.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd;

use netperf_measure::recorder::NoRecorder;
use netperf_model::{ArrivalOrder, Jitter, Tally};
use netperf_os::{wait, without};
use netperf_transport::open::transfer::{self, TransferEndpoint};
use netperf_transport::{Endpoint, Received, Sent, payload};

use super::super::pace::TransferPace;
use super::data_file::FileData;
use super::hooks::StreamHooks;
use super::stop::StreamStop;
use super::{DatagramFormat, PATIENCE, Shared, StreamCounts, StreamSocket, StreamsPlan};
use crate::limit::RunLimit;
use crate::ring::{Ring, RingLayout};
use crate::stop::Ended;
use crate::workload::{LoopContext, stream};

/// Time that the datagrams of one call may be apart from their rate, seconds.
const TOGETHER: f64 = 100e-6;
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

/// A stream that can start.
pub(super) struct ReadyStream<F> {
    endpoint: TransferEndpoint,
    ring: Ring,
    sends: bool,
    limit: RunLimit,
    pace: Option<TransferPace>,
    format: Option<F>,
    size: usize,
    /// Source or sink of the data of a connection.
    data: Option<File>,
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
        file: data,
    } = stream;
    without::set_patience(socket.as_fd(), Some(PATIENCE))?;
    let size = plan.size.max(1);
    let (endpoint, buffer) = match (plan.datagrams.is_some(), sends) {
        (true, true) => transfer::datagram_sender(socket, size, together(size, plan.rate))?,
        (true, false) => {
            let polls = is_eager.then_some(PATIENCE);
            transfer::datagram_receiver(socket, size, polls)?
        }
        (false, true) => {
            let zerocopy = plan.zerocopy && data.is_none();
            let file = zerocopy.then(|| payload_file(size, plan.digits));
            (transfer::stream_sender(socket, file.transpose()?), size)
        }
        (false, false) => (transfer::stream_receiver(socket, size), size),
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
        endpoint,
        ring,
        sends,
        limit,
        pace: plan
            .rate
            .filter(|_| sends)
            .map(|rate| TransferPace::new(rate / 8.0, blocks)),
        format: plan.datagrams,
        size,
        data,
    })
}

/// Datagrams of this size that may be sent together at a rate.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a datagram has at most 64 KiB; a large count is as good as the largest"
)]
fn together(size: usize, rate: Option<f64>) -> usize {
    match rate {
        None => usize::MAX,
        Some(rate) => (rate / 8.0 / size as f64 * TOGETHER) as usize,
    }
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
    payload::fill(buffer, netperf_measure::clock::monotonic() | 1);
}

impl<F: DatagramFormat> ReadyStream<F> {
    /// Moves data until the stream ends. Returns when the last data arrived behind the end, 0 if
    /// none did.
    pub(super) fn run(self, shared: &Shared, counts: &StreamCounts) -> (io::Result<Ended>, u64) {
        if self.pace.is_some() {
            let _early = wait::sleep_exactly();
        }
        let Self {
            endpoint,
            mut ring,
            sends,
            limit,
            pace,
            format,
            size,
            data,
        } = self;
        let mut stop = StreamStop::new(shared, &counts.moved, sends);
        let mut hooks = StreamHooks {
            pace,
            format,
            size,
            sends,
            order: ArrivalOrder::default(),
            jitter: Jitter::default(),
            counts: &counts.moved,
        };
        let mut tally = Tally::default();
        let context = LoopContext {
            limit,
            stop: &mut stop,
            tally: &mut tally,
            recorder: &mut NoRecorder,
            hooks: &mut hooks,
        };
        let ring = &mut ring;
        let ended = match (endpoint, data) {
            (TransferEndpoint::Tcp(tcp), Some(file)) => {
                let mut data = Patient(FileData::new(tcp, file, size));
                if sends {
                    stream::send(&mut data, ring, context)
                } else {
                    stream::receive(&mut data, ring, context)
                }
            }
            (TransferEndpoint::Tcp(tcp), None) if sends => {
                stream::send(&mut Patient(tcp), ring, context)
            }
            (TransferEndpoint::Tcp(tcp), None) => stream::receive(&mut Patient(tcp), ring, context),
            (TransferEndpoint::File(file), _) => stream::send(&mut Patient(file), ring, context),
            (TransferEndpoint::Datagrams(udp), _) => stream::send(&mut Patient(udp), ring, context),
            (TransferEndpoint::BatchedSend(sender), _) => {
                stream::send(&mut Patient(sender), ring, context)
            }
            (TransferEndpoint::BatchedRecv(receiver), _) => {
                stream::receive(&mut Patient(receiver), ring, context)
            }
            (TransferEndpoint::EagerRecv(receiver), _) => {
                stream::receive(&mut Patient(receiver), ring, context)
            }
        };
        let ended = match ended {
            // An error of a file: a socket reports none.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Ended::Complete),
            ended => ended,
        };
        let last = stop.last_arrival();
        (ended, last)
    }
}
