//! The streams of a test while they run: intervals, the part that counts, and the results.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use netperf_engine::streams::{StreamReading, StreamSocket, Streams, StreamsPlan};
use netperf_iperf3::figures::{
    DataFile, Extremes, SocketBuffers, StreamFigures, StreamInfo, StreamInterval, Totals, amount,
    block, wanted,
};
use netperf_iperf3::messages::{Counter, Parameters, Protocol};
use netperf_measure::clock::{self, Moment};
use netperf_measure::tcp::tcp_facts;
use netperf_model::intervals::Intervals;
use netperf_model::{ProcessCpu, Tally};
use netperf_os::net::addresses;
use netperf_os::tcp::{self, TcpDetail};
use netperf_os::{Socket, process};
use netperf_transport::socket::congestion;

use super::Iperf3Numbers;
use super::socket::buffers_of;

/// The plan of the streams of one end.
pub fn plan(parameters: &Parameters) -> StreamsPlan<Iperf3Numbers> {
    let counter = if parameters.counters_64bit {
        Counter::Wide
    } else {
        Counter::Narrow
    };
    let rate = parameters.bandwidth;
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no 64 bits")]
    StreamsPlan {
        size: usize::try_from(block(parameters)).unwrap_or(usize::MAX),
        rate: (rate > 0).then_some(rate as f64),
        burst: parameters.burst,
        datagrams: (parameters.protocol == Protocol::Udp).then_some(Iperf3Numbers(counter)),
        zerocopy: parameters.zerocopy,
        digits: parameters.repeating_payload,
    }
}

/// Running streams.
#[derive(Debug)]
pub struct Run {
    streams: Streams,
    /// Second descriptors, for `TCP_INFO`.
    watched: Vec<Option<Socket>>,
    /// Addresses and direction of each stream.
    pub infos: Vec<StreamInfo>,
    /// Socket buffers of the first stream.
    pub buffers: SocketBuffers,
    udp: bool,
    is_client: bool,
    /// Client's end, which an amount ends.
    by_amount: bool,
    /// Source or sink of the data.
    file: Option<String>,
    /// Start of the part that counts, and the readings at it.
    begun: u64,
    base: Vec<StreamSample>,
    intervals: Intervals<u64, Vec<StreamSample>>,
    extremes: Vec<Extremes>,
    cpu: (Duration, Duration),
    started: u64,
    /// When the senders of a client stopped.
    stopped: Option<u64>,
}

/// Counts of a stream and what TCP knows.
#[derive(Clone, Copy, Debug, Default)]
struct StreamSample {
    counts: StreamReading,
    tcp: Option<TcpDetail>,
    pmtu: u32,
}

impl Run {
    /// Prepares the streams of one end, given in the order in which they were opened.
    ///
    /// With a file, its contents are sent, or what arrives is stored in it.
    ///
    /// # Errors
    /// As [`Streams::prepare`].
    pub fn prepare(
        parameters: &Parameters,
        is_client: bool,
        sockets: Vec<Socket>,
        data: Option<(File, String)>,
    ) -> std::io::Result<Self> {
        let udp = parameters.protocol == Protocol::Udp;
        let mut infos = Vec::new();
        let mut watched = Vec::new();
        let mut all = Vec::new();
        let buffers = buffers_of(sockets.first());
        let (data, file) = data.unzip();
        for (position, socket) in (0..).zip(sockets) {
            let sends = parameters.client_sends(position) == is_client;
            let (local, remote) = addresses(&socket);
            infos.push(StreamInfo {
                id: Parameters::stream_id(position),
                sends,
                local,
                remote,
            });
            watched.push((!udp).then(|| socket.try_clone().ok()).flatten());
            // A client that lacks lost datagrams waits for more of them, and says when it has enough.
            let is_limited = sends && (is_client || !udp);
            let amount = amount(parameters, position).filter(|_| is_limited);
            all.push(StreamSocket {
                socket,
                sends,
                amount,
                file: data.as_ref().map(File::try_clone).transpose()?,
            });
        }
        let count = all.len();
        Ok(Self {
            streams: Streams::prepare(plan(parameters), all)?,
            watched,
            infos,
            buffers,
            udp,
            is_client,
            by_amount: is_client && (parameters.num > 0 || parameters.blockcount > 0),
            file,
            begun: 0,
            base: vec![StreamSample::default(); count],
            intervals: Intervals::begin(0, vec![StreamSample::default(); count]),
            extremes: vec![Extremes::default(); count],
            cpu: (Duration::ZERO, Duration::ZERO),
            started: 0,
            stopped: None,
        })
    }

    /// Starts the streams. Their time began when their first data came, if that is known.
    pub fn start(&mut self, first_data: Option<Moment>) {
        self.cpu = process::cpu_times().unwrap_or_default();
        let readings = self.readings();
        self.base.clone_from(&readings);
        let now = clock::monotonic();
        let begun = first_data.map_or(now, Moment::monotonic);
        (self.begun, self.started) = (begun, now);
        self.intervals = Intervals::begin(begun, readings);
        self.streams.start();
    }

    /// Connections over which this end receives.
    pub fn receiving(&self) -> Vec<BorrowedFd<'_>> {
        self.connections(false)
    }

    fn connections(&self, send: bool) -> Vec<BorrowedFd<'_>> {
        let pairs = self.watched.iter().zip(&self.infos);
        let chosen = pairs.filter(|(_, info)| info.sends == send);
        chosen
            .filter_map(|(socket, _)| socket.as_ref().map(AsFd::as_fd))
            .collect()
    }

    fn readings(&self) -> Vec<StreamSample> {
        self.with(self.streams.read())
    }

    fn with(&self, counts: Vec<StreamReading>) -> Vec<StreamSample> {
        let all = counts.into_iter().zip(&self.watched);
        all.map(|(counts, socket)| {
            let fd = socket.as_ref().map(AsFd::as_fd);
            StreamSample {
                counts,
                tcp: fd.and_then(|fd| tcp::detail(fd).ok()),
                pmtu: fd
                    .and_then(|fd| tcp::info(fd).ok())
                    .map_or(0, |info| info.pmtu),
            }
        })
        .collect()
    }

    /// Counts of all streams, for other threads.
    pub fn counter(&self) -> impl Fn() -> Tally + Send + Sync + 'static {
        let reader = self.streams.reader();
        let sends: Vec<bool> = self.infos.iter().map(|info| info.sends).collect();
        move || {
            let mut tally = Tally::default();
            for (one, sends) in reader.read().iter().zip(&sends) {
                if *sends {
                    tally.bytes_sent += one.bytes;
                    tally.send_calls += one.messages;
                } else {
                    tally.bytes_received += one.bytes;
                    tally.recv_calls += one.messages;
                }
            }
            tally
        }
    }

    /// The connections over which this end sends.
    pub fn sending(&self) -> Vec<BorrowedFd<'_>> {
        self.connections(true)
    }

    /// Returns true if the amount of a client's test has been moved, or a stream failed.
    pub fn is_over(&self, parameters: &Parameters) -> bool {
        let readings = self.streams.read();
        let failed = readings.iter().any(|one| one.errno != 0);
        let by_file = self.file.is_some() && !self.receives_only();
        if failed || !(self.by_amount || by_file) {
            return failed;
        }
        let mut senders = readings.iter().zip(&self.infos);
        if self.infos.iter().any(|info| info.sends) {
            return senders.all(|(one, info)| !info.sends || one.ended > 0);
        }
        let received: u64 = readings.iter().map(|one| one.bytes).sum();
        received >= wanted(parameters).max(parameters.num)
    }

    /// Error number of a stream that failed.
    pub fn failed(&self) -> Option<i32> {
        let readings = self.streams.read();
        readings
            .iter()
            .map(|one| one.errno)
            .find(|errno| *errno != 0)
    }

    /// True if the amount that a client sends over connections has not arrived whole. It says that
    /// its test is over on another connection, which may be faster.
    pub fn lacks(&self, parameters: &Parameters) -> bool {
        let amount = wanted(parameters).max(parameters.num);
        !self.udp && self.receives_only() && self.failed().is_none() && self.bytes() < amount
    }

    /// True if this end sends over no stream.
    pub fn receives_only(&self) -> bool {
        self.infos.iter().all(|info| !info.sends)
    }

    /// Bytes over connections that wait for their acknowledgement.
    pub fn unacknowledged(&self) -> u64 {
        let each = self
            .sending()
            .into_iter()
            .filter_map(|fd| tcp::unacknowledged(fd).ok());
        each.map(u64::from).sum()
    }

    /// Bytes of all streams so far.
    pub fn bytes(&self) -> u64 {
        self.streams.read().iter().map(|one| one.bytes).sum()
    }

    /// Ends an interval.
    pub fn interval(&mut self, omitted: bool) -> StreamInterval {
        let now = clock::monotonic();
        let readings = self.readings();
        self.interval_of(now, readings, omitted)
    }

    fn interval_of(
        &mut self,
        now: u64,
        readings: Vec<StreamSample>,
        omitted: bool,
    ) -> StreamInterval {
        let (before, last) = self.intervals.finish(now, readings);
        let pairs = last.iter().zip(self.intervals.counts()).zip(&self.infos);
        let streams: Vec<StreamFigures> = pairs
            .map(|((last, now), info)| figures(last, now, info.sends, self.udp))
            .collect();
        for (figures, extremes) in streams.iter().zip(&mut self.extremes) {
            if !omitted {
                extremes.add(figures);
            }
        }
        StreamInterval {
            start: seconds(before.saturating_sub(self.begun)),
            end: seconds(now.saturating_sub(self.begun)),
            omitted,
            streams,
        }
    }

    /// True once data may move.
    pub const fn has_begun(&self) -> bool {
        self.started > 0
    }

    /// The part that does not count is over.
    pub fn counts_from_now(&mut self) {
        let (now, readings) = (clock::monotonic(), self.readings());
        self.begun = now;
        self.base.clone_from(&readings);
        self.intervals = Intervals::begin(now, readings);
        self.cpu = process::cpu_times().unwrap_or_default();
        self.started = now;
    }

    /// Ends the streams over which this end sends.
    pub fn stop_sending(&mut self) {
        self.stopped = Some(clock::monotonic());
        self.streams.stop_sending();
    }

    /// Ends the streams. Gives the last interval, if something moved in it or it is the only one,
    /// and the totals.
    pub fn finish(&mut self, intervals_before: bool) -> (Option<StreamInterval>, Totals) {
        let now = self.stopped.unwrap_or_else(clock::monotonic);
        // The peer sends no more if this end is a server that was told of the end of the test, or
        // a client that was asked for its results: what has arrived already counts.
        let told = !self.is_client || self.stopped.is_some();
        let counts = self.streams.finish(told);
        let cpu = process::cpu_times().unwrap_or_default();
        let readings = self.with(counts);
        // Data that arrived after the end counts, and so does the time until then.
        let late = readings.iter().map(|one| one.counts.ended);
        let last_byte = late.fold(now, u64::max);
        let last = self.interval_of(last_byte, readings, false);
        let moved = last.streams.iter().any(|figures| figures.bytes > 0);
        let readings = self.intervals.counts();
        let omitted = self.base.iter().zip(&self.infos);
        let omitted = omitted.map(|(base, info)| datagrams(base, info.sends));
        let pairs = self.base.iter().zip(readings).zip(&self.infos);
        let streams = pairs.map(|((base, now), info)| figures(base, now, info.sends, self.udp));
        let ends = readings.iter().map(|one| {
            let end = if one.counts.ended > self.begun {
                one.counts.ended
            } else {
                now
            };
            seconds(end - self.begun)
        });
        let elapsed = clock::monotonic().saturating_sub(self.started);
        let cpu = ProcessCpu::between(self.cpu, cpu, Duration::from_nanos(elapsed));
        let first = self.watched.iter().flatten().next();
        let totals = Totals {
            streams: streams.collect(),
            omitted: omitted.collect(),
            ends: ends.collect(),
            extremes: self.extremes.clone(),
            seconds: seconds(now.saturating_sub(self.begun)),
            cpu: [cpu.total, cpu.user, cpu.system],
            congestion: first.and_then(congestion),
            tcp: first
                .and_then(|socket| tcp::info(socket.as_fd()).ok())
                .map(tcp_facts),
            file: self.file.as_deref().map(|name| DataFile {
                name: name.to_owned(),
                size: std::fs::metadata(name).map_or(0, |file| file.len()),
            }),
        };
        ((moved || !intervals_before).then_some(last), totals)
    }

    /// Closes the second descriptors of the streams, whose own are closed already.
    pub fn close(&mut self) {
        self.watched.clear();
    }
}

/// Opens the file whose contents are sent, or in which what arrives is stored. All streams share
/// it.
///
/// # Errors
/// Whatever open(2) reports.
pub fn data_file(name: &str, sends: bool) -> std::io::Result<File> {
    if sends {
        return File::open(name);
    }
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true);
    options.mode(0o600).open(name)
}

#[expect(clippy::cast_precision_loss, reason = "2^53 ns are three months")]
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Datagrams from the start: sent, or expected by the receiver.
const fn datagrams(sample: &StreamSample, sends: bool) -> u64 {
    if sends {
        sample.counts.messages
    } else {
        sample.counts.datagrams.order.highest
    }
}

fn figures(before: &StreamSample, now: &StreamSample, sends: bool, udp: bool) -> StreamFigures {
    let (old, new) = (&before.counts, &now.counts);
    let packets = datagrams(now, sends).saturating_sub(datagrams(before, sends));
    let lost = if sends {
        0
    } else {
        let (old, new) = (&old.datagrams.order, &new.datagrams.order);
        new.lost.saturating_sub(old.lost)
    };
    let tcp = now.tcp.unwrap_or_default();
    let mss = u64::from(tcp.snd_mss.unwrap_or(0));
    let total = |tcp: Option<TcpDetail>| Some(u64::from(tcp?.total_retrans?));
    StreamFigures {
        bytes: new.bytes.saturating_sub(old.bytes),
        packets: if udp { packets } else { 0 },
        lost,
        out_of_order: new
            .datagrams
            .order
            .out_of_order
            .saturating_sub(old.datagrams.order.out_of_order),
        jitter: new.datagrams.jitter,
        retransmits: (sends && !udp)
            .then(|| {
                let before = total(before.tcp).unwrap_or(0);
                total(now.tcp).map(|now| now.saturating_sub(before))
            })
            .flatten(),
        cwnd: u64::from(tcp.snd_cwnd.unwrap_or(0)) * mss,
        window: tcp.snd_wnd.unwrap_or(0).into(),
        rtt: (tcp.rtt.unwrap_or(0), tcp.rttvar.unwrap_or(0)),
        pmtu: now.pmtu,
    }
}
