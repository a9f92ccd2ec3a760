//! Bulk data over sockets that are open already, each in one direction, with a thread for each:
//! the streams of iperf3.
//!
//! The loops are those of [`crate::workload::stream`]. The counts of a stream are on a separate
//! cache line, which other threads read for intervals. The owner of the streams decides when they
//! end: there is no alarm. Blocked calls return at least every [`PATIENCE`].

mod data_file;
mod hooks;
mod move_data;
mod stop;

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use netperf_measure::clock;
use netperf_measure::counters::{DatagramTally, TransferCounts};
use netperf_os::{Socket, process};
use netperf_transport::open::transfer;

/// Longest time in a blocked call.
pub(crate) const PATIENCE: Duration = Duration::from_millis(4);
/// Longest time in which a receiver reads what has arrived already when it is to finish: its
/// sender has stopped, or it is cut off.
pub(crate) const DRAIN: Duration = Duration::from_secs(2);
/// Stack of a thread, bytes.
const STACK: usize = 128 * 1024;

/// Layout of the number and the time in a datagram.
pub trait DatagramFormat: Copy + Send + 'static {
    /// Writes the number of a datagram and when it is sent, nanoseconds.
    fn write(self, datagram: &mut [u8], number: u64, nanos: u64);

    /// Reads number and time; `None` if the datagram has none.
    fn read(self, datagram: &[u8]) -> Option<(u64, u64)>;
}

/// Plan of all streams of an end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamsPlan<F> {
    /// Bytes of a block or datagram.
    pub size: usize,
    /// Bits per second of each stream that sends.
    pub rate: Option<f64>,
    /// Blocks that are sent together at a rate.
    pub burst: u32,
    /// The streams consist of datagrams of this format.
    pub datagrams: Option<F>,
    /// Send from memory of the kernel (sendfile(2)).
    pub zerocopy: bool,
    /// The payload is digits; otherwise it is random.
    pub digits: bool,
}

/// A stream to be started.
#[derive(Debug)]
pub struct StreamSocket {
    /// The connected socket.
    pub socket: Socket,
    /// This end sends.
    pub sends: bool,
    /// Bytes after which a sender stops.
    pub amount: Option<u64>,
    /// Source or sink of the data of a connection; a sender stops at the end of its source.
    pub file: Option<File>,
}

/// Counts of a stream as they are now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamReading {
    /// Bytes sent or received.
    pub bytes: u64,
    /// Calls, or datagrams, sent or received.
    pub messages: u64,
    /// Counts of received datagrams.
    pub datagrams: DatagramTally,
    /// When it ended by itself, or when data arrived last behind the end of all, by
    /// [`clock::monotonic`]; 0 for neither.
    pub ended: u64,
    /// Error number that ended it; 0 for none.
    pub errno: i32,
}

/// Counters of a stream, and how it ended.
#[derive(Debug, Default)]
pub(crate) struct StreamCounts {
    moved: TransferCounts,
    ended: AtomicU64,
    errno: AtomicI32,
}

impl StreamCounts {
    fn read(&self) -> StreamReading {
        let ended = self.ended.load(Ordering::Acquire);
        let messages = self.moved.calls.load(Ordering::Relaxed);
        StreamReading {
            bytes: self.moved.bytes.load(Ordering::Relaxed),
            messages,
            datagrams: self.moved.datagrams.read(messages),
            ended,
            errno: self.errno.load(Ordering::Relaxed),
        }
    }
}

/// State that the threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    stage: AtomicU8,
    /// True once the streams may start; threads wait for it.
    gate: Mutex<bool>,
    opened: Condvar,
    counts: Box<[StreamCounts]>,
}

const RUNNING: u8 = 0;
/// Senders stop; receivers go on and note when data arrives.
const ENDING: u8 = 1;
/// Receivers take what has arrived already.
const DRAINING: u8 = 2;
const FINISHING: u8 = 3;

impl Shared {
    fn read(&self) -> Vec<StreamReading> {
        self.counts.iter().map(StreamCounts::read).collect()
    }

    /// Returns true while the streams go on.
    #[inline]
    pub(crate) fn goes_on(&self) -> bool {
        self.stage.load(Ordering::Relaxed) == RUNNING
    }

    /// Returns true if receivers go on until they are to finish.
    pub(crate) fn is_ending(&self) -> bool {
        self.stage.load(Ordering::Relaxed) == ENDING
    }

    /// Returns true if receivers take what has arrived already.
    pub(crate) fn drains(&self) -> bool {
        self.stage.load(Ordering::Relaxed) == DRAINING
    }

    /// Waits for the start. Returns false if the streams are to end instead. A receiver that
    /// wakes up when the senders have stopped already takes what they sent.
    fn wait(&self) -> bool {
        let mut open = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        while !*open {
            open = self
                .opened
                .wait(open)
                .unwrap_or_else(PoisonError::into_inner);
        }
        self.stage.load(Ordering::Relaxed) != FINISHING
    }

    fn open(&self) {
        *self.gate.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }
}

/// Counts of the streams of an end, also after their end.
#[derive(Clone, Debug)]
pub struct StreamsReader(Arc<Shared>);

impl StreamsReader {
    /// The counts of each stream as they are now.
    #[must_use]
    pub fn read(&self) -> Vec<StreamReading> {
        self.0.read()
    }
}

/// Streams of an end. Dropping them ends them.
#[derive(Debug)]
pub struct Streams {
    shared: Arc<Shared>,
    /// Threads, and whether each sends.
    threads: Vec<(JoinHandle<()>, bool)>,
}

impl Streams {
    /// Memory of so many streams, bytes.
    #[must_use]
    pub fn memory<F>(plan: &StreamsPlan<F>, streams: u32) -> u64 {
        let each = match plan.datagrams {
            Some(_) => transfer::MOST_DATAGRAM_BUFFER,
            None => plan.size,
        };
        (each as u64 + STACK as u64) * u64::from(streams)
    }

    /// Prepares the streams; they wait for [`Self::start`].
    ///
    /// # Errors
    /// Whatever an option of a socket, the buffers or a thread reports.
    pub fn prepare<F: DatagramFormat>(
        plan: StreamsPlan<F>,
        sockets: Vec<StreamSocket>,
    ) -> io::Result<Self> {
        let counts = sockets.iter().map(|_| StreamCounts::default()).collect();
        let mut streams = Self {
            shared: Arc::new(Shared {
                stage: AtomicU8::new(RUNNING),
                gate: Mutex::new(false),
                opened: Condvar::new(),
                counts,
            }),
            threads: Vec::new(),
        };
        let (tell, told) = mpsc::channel();
        // Polling takes a CPU that no other stream of this end needs.
        let cpus = process::allowed_cpus().map_or(1, |cpus| cpus.len());
        let is_eager = sockets.len() <= cpus;
        for (index, stream) in sockets.into_iter().enumerate() {
            let (shared, tell) = (Arc::clone(&streams.shared), tell.clone());
            let sends = stream.sends;
            let thread = std::thread::Builder::new()
                .name("stream".to_owned())
                .stack_size(STACK)
                .spawn(move || run(&shared, index, (plan, is_eager), stream, &tell))?;
            streams.threads.push((thread, sends));
        }
        drop(tell);
        // Each thread tells once, or panics and drops its end.
        for _ in 0..streams.threads.len() {
            told.recv().map_err(io::Error::other)??;
        }
        Ok(streams)
    }

    /// Starts all streams.
    pub fn start(&self) {
        self.shared.open();
    }

    /// The counts of each stream as they are now.
    #[must_use]
    pub fn read(&self) -> Vec<StreamReading> {
        self.shared.read()
    }

    /// The counts, for other threads.
    #[must_use]
    pub fn reader(&self) -> StreamsReader {
        StreamsReader(Arc::clone(&self.shared))
    }

    /// Ends the streams that send, and waits for them. Those that receive go on.
    pub fn stop_sending(&mut self) {
        self.shared.stage.store(ENDING, Ordering::Relaxed);
        let (senders, receivers) = self.threads.drain(..).partition(|(_, sends)| *sends);
        self.threads = receivers;
        join(senders);
    }

    /// Ends the streams and waits for them. With `drains`, a receiver takes what has arrived
    /// already: all senders have stopped.
    pub fn finish(&mut self, drains: bool) -> Vec<StreamReading> {
        let stage = if drains { DRAINING } else { FINISHING };
        self.shared.stage.store(stage, Ordering::Relaxed);
        self.shared.open();
        join(std::mem::take(&mut self.threads));
        self.read()
    }
}

fn join(threads: Vec<(JoinHandle<()>, bool)>) {
    for (thread, _) in threads {
        // A thread that panicked has published its counts before.
        let _ended = thread.join();
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        let _counts = self.finish(false);
    }
}

/// Prepares a stream, tells whether that worked, and moves data from the start on.
fn run<F: DatagramFormat>(
    shared: &Shared,
    index: usize,
    (plan, is_eager): (StreamsPlan<F>, bool),
    stream: StreamSocket,
    tell: &mpsc::Sender<io::Result<()>>,
) {
    let ready = match move_data::ready(plan, stream, is_eager) {
        Ok(ready) => ready,
        Err(error) => {
            // The owner waits until all have told.
            let _told = tell.send(Err(error));
            return;
        }
    };
    let _told = tell.send(Ok(()));
    let Some(counts) = shared.counts.get(index).filter(|_| shared.wait()) else {
        return;
    };
    let (ended, at) = ready.run(shared, counts);
    // Behind the end a peer may close or reset its connections.
    if let Some(error) = ended.err().filter(|_| shared.goes_on()) {
        let errno = error.raw_os_error().unwrap_or(-1);
        counts.errno.store(errno, Ordering::Relaxed);
    }
    let at = if at == 0 && shared.goes_on() {
        clock::monotonic()
    } else {
        at
    };
    counts.ended.store(at, Ordering::Release);
}

#[cfg(test)]
mod tests;
