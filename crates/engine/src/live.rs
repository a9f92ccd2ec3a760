//! Counts of a run in progress, for displays.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_measure::counters::{Counts, total};
use netperf_measure::latency::HistogramView;
use netperf_measure::series::Watched;
use netperf_model::latency::Bucket;
use netperf_model::{ArrivalSample, Arrivals, RunPart, SeriesPlan, Tally};
use netperf_os::SockAddr;
use netperf_os::alarm;
use netperf_os::tcp::{self, TcpDetail, TcpInfo};

use crate::arrivals::ArrivalSamples;
use crate::early::StopSender;

/// Counts that the code of another program's protocol keeps.
type CountSource = Box<dyn Fn() -> Tally + Send + Sync>;

/// Their source, once the run has begun.
#[derive(Default)]
struct OtherCounts(OnceLock<CountSource>);

impl std::fmt::Debug for OtherCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = self.0.get().map(|source| source());
        f.debug_tuple("OtherCounts").field(&known).finish()
    }
}

/// The counts of a run, and its data connection, for another thread to look at.
#[derive(Debug, Default)]
pub struct Live {
    counts: Counts,
    /// Counts of data that arrives after the end of the time, which are not shown.
    late: Counts,
    /// Those of the workers of many flows.
    workers: OnceLock<Arc<[Counts]>>,
    /// Those of a run without the loops of an end.
    other: OtherCounts,
    /// When the flows began together.
    begun: OnceLock<Moment>,
    over: OnceLock<Moment>,
    /// The current part of a run of which only one part counts.
    part: Mutex<Option<RunPart>>,
    /// The time of the run is over, or its loop is.
    ending: AtomicBool,
    /// The data connection can be read meanwhile.
    watches: bool,
    data: Mutex<Data>,
    /// The other end is told when the run ends before its time.
    tells: bool,
    /// The data connections of which a series is wanted.
    series: OnceLock<Watched>,
    /// Number of connections whose current state is asked for.
    looked_at: Option<u32>,
    /// The times of operations that are kept.
    times: Mutex<Vec<HistogramView>>,
    /// The run is to end before its time.
    enough: AtomicBool,
    /// Counts of received bytes by time.
    arrivals: Option<Mutex<ArrivalSamples>>,
}

/// The data connection of a run, for another thread to look at. Locked before the
/// loop and behind it, never in it.
#[derive(Debug, Default)]
struct Data {
    /// A duplicate descriptor: the loop's may be closed at any time.
    socket: Option<OwnedFd>,
    /// The same, to tell the other end by; of many flows with a session each, all of them.
    told_by: Vec<StopSender>,
    /// `TCP_INFO` at the end of the loop.
    last: Option<TcpInfo>,
    /// Bytes acknowledged at the end of the loop.
    acknowledged: Option<u64>,
    /// Bytes that the peer acknowledges before those of the test.
    before: u64,
}

impl Live {
    /// The counts of a run that has no loops of an end, from now on.
    pub fn reads(&self, counts: impl Fn() -> Tally + Send + Sync + 'static) {
        // A run has one source.
        let _first = self.other.0.set(Box::new(counts));
    }

    /// These are the data connections of such a run, as far as they are observed. The peer
    /// acknowledges `before` bytes that are not data of the test.
    pub fn observes(&self, connections: &[BorrowedFd<'_>], before: u64) {
        if let Some(watched) = self.watch(None, true) {
            let numbers = (1..).map(Some);
            watched.offer(0, numbers.zip(connections.iter().copied()));
            watched.begin();
        }
        let mut data = self.data();
        data.before = before;
        if let ([only], true) = (connections, self.watches) {
            // Without a second descriptor there is nothing to tell of it.
            data.socket = only.try_clone_to_owned().ok();
        }
    }

    /// Counts beside which `TCP_INFO` of the data connection can be read.
    #[must_use]
    pub fn with_tcp(self) -> Self {
        Self {
            watches: true,
            ..self
        }
    }

    /// Counts of an end to which the other one sends, and which tells it when the run ends
    /// before its time.
    #[must_use]
    pub fn that_tells(self) -> Self {
        Self {
            tells: true,
            ..self
        }
    }

    /// Counts of which what arrives is sampled, at most so often.
    pub(crate) fn that_samples(self, every: Duration) -> Self {
        Self {
            arrivals: Some(Mutex::new(ArrivalSamples::every(every))),
            ..self
        }
    }

    /// Samples what has arrived, if that is wanted.
    pub(crate) fn sample_arrivals(&self) {
        if let Some(samples) = &self.arrivals {
            let mut samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
            samples.add(self.arrived());
        }
    }

    /// Returns whether what arrives is sampled.
    pub(crate) const fn samples_arrivals(&self) -> bool {
        self.arrivals.is_some()
    }

    /// The samples, at the end of the run.
    pub(crate) fn arrivals(mut self) -> Option<Arrivals> {
        let samples = self.arrivals.take()?.into_inner();
        let samples = samples.unwrap_or_else(PoisonError::into_inner);
        Some(samples.finish(self.arrived()))
    }

    fn arrived(&self) -> ArrivalSample {
        ArrivalSample {
            bytes: self.read().bytes_received,
            // Sessions of one host have one clock.
            nanos: clock::monotonic(),
        }
    }

    /// Counts beside which so many data connections can be looked at.
    #[must_use]
    pub fn with_flows(self, most: u32) -> Self {
        Self {
            looked_at: self.looked_at.max(Some(most)),
            ..self
        }
    }

    /// The loop is about to use this connection.
    pub(crate) fn connected(&self, data: BorrowedFd<'_>) {
        if self.watches {
            // Without a second descriptor there is nothing to tell of it.
            self.data().socket = data.try_clone_to_owned().ok();
        }
        if self.tells {
            // Without it the other end hears of the end when its own time is over.
            self.data().told_by = StopSender::on(data, None).into_iter().collect();
        }
        if let Some(watched) = self.series.get() {
            watched.offer(0, std::iter::once((Some(watched.next()), data)));
            watched.begin();
        }
    }

    /// Sends the stop over this connection, on which the other end alone sends.
    pub(crate) fn stops_on(&self, data: BorrowedFd<'_>) {
        if self.tells {
            self.data().told_by = StopSender::on(data, None).into_iter().collect();
        }
    }

    /// The loop is about to use this socket, which is not connected to the other end's.
    pub(crate) fn aimed(&self, data: BorrowedFd<'_>, to: &SockAddr) {
        if self.tells {
            // As with a connection.
            self.data()
                .told_by
                .extend(StopSender::on(data, Some(to.clone())));
        }
    }

    /// Has the connections of a run watched, if that is wanted; `asking` says that this
    /// is netperf's end.
    pub(crate) fn watch(&self, plan: Option<SeriesPlan>, asking: bool) -> Option<&Watched> {
        match (plan, self.looked_at) {
            (Some(plan), _) => Some(self.series.get_or_init(|| Watched::new(plan, asking))),
            (None, Some(flows)) => Some(self.series.get_or_init(|| Watched::looked_at(flows))),
            (None, None) => None,
        }
    }

    /// Publishes the counts of the loop.
    pub(crate) fn publish(&self, tally: &Tally) {
        self.counts.publish(tally);
    }

    /// Counts of the loop.
    pub(crate) const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Counts that are not shown.
    pub(crate) const fn late_counts(&self) -> &Counts {
        &self.late
    }

    /// The counts of this many workers are published from now on.
    pub(crate) fn of_workers(&self, number: usize) -> Arc<[Counts]> {
        let fresh = || (0..number).map(|_| Counts::default()).collect();
        Arc::clone(self.workers.get_or_init(fresh))
    }

    /// The run enters a part.
    pub(crate) fn enters(&self, part: RunPart) {
        *self.part.lock().unwrap_or_else(PoisonError::into_inner) = Some(part);
    }

    /// The current part of the run; `None` if all of it counts.
    #[must_use]
    pub fn part(&self) -> Option<RunPart> {
        *self.part.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The loop is over; what follows only ends the connection, which a second
    /// descriptor would keep open.
    pub(crate) fn end(&self) {
        self.end_at(clock::now());
    }

    /// The time of the run is over.
    pub(crate) fn time_is_over(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }

    /// Returns whether the time of the run is over, or its loop is: later intervals would show
    /// the end of the connection.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed) || self.over().is_some()
    }

    /// The same where what counts was over before.
    pub fn end_at(&self, moment: Moment) {
        // A second end would change nothing.
        let _first = self.over.set(moment);
        if let Some(watched) = self.series.get() {
            watched.finish();
        }
        let mut data = self.data();
        data.told_by.clear();
        if let Some(socket) = data.socket.take() {
            data.last = tcp::info(socket.as_fd()).ok();
            data.acknowledged = acknowledged(socket.as_fd());
        }
    }

    fn data(&self) -> MutexGuard<'_, Data> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the run as if its time were over, if it is under way.
    pub fn end_early(&self) {
        // Locked, so that the bell is not put away meanwhile: the run ends behind this.
        let data = self.data();
        if self.over().is_none() {
            data.told_by.iter().for_each(StopSender::send_stop);
            self.enough.store(true, Ordering::Relaxed);
            alarm::end();
        }
    }

    /// Returns true if the run is to end before its time.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.enough.load(Ordering::Relaxed)
    }

    /// A loop keeps the times of its operations here.
    pub(crate) fn keeps(&self, times: HistogramView) {
        self.times().push(times);
    }

    fn times(&self) -> MutexGuard<'_, Vec<HistogramView>> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The times of operations so far, for each loop that keeps some.
    #[must_use]
    pub fn latencies(&self) -> Vec<Vec<Bucket>> {
        self.times().iter().map(HistogramView::buckets).collect()
    }

    /// Many flows are opened, and begin now, or began when the first data came.
    pub(crate) fn begin(&self, since: Option<Moment>) {
        let _first = self.begun.set(since.unwrap_or_else(clock::now));
    }

    /// When many flows began together, which were opened before; `None` until then.
    #[must_use]
    pub fn begun(&self) -> Option<Moment> {
        self.begun.get().copied()
    }

    /// When the loop was over; `None` while it runs.
    #[must_use]
    pub fn over(&self) -> Option<Moment> {
        self.over.get().copied()
    }

    /// The counts as they are now. Each is right; together they may be one
    /// operation apart.
    #[must_use]
    pub fn read(&self) -> Tally {
        let mut tally = self
            .workers
            .get()
            .map_or_else(Tally::default, |workers| total(workers));
        self.counts.add_to(&mut tally);
        match self.other.0.get() {
            Some(source) => tally.plus(&source()),
            None => tally,
        }
    }

    /// The counts of each worker of many flows, as they are now.
    #[must_use]
    pub fn of_each_worker(&self) -> Vec<Tally> {
        let workers = self
            .workers
            .get()
            .map_or(&[] as &[Counts], |workers| workers);
        let tally = |counts: &Counts| total(std::slice::from_ref(counts));
        workers.iter().map(tally).collect()
    }

    /// The data connections that are still used, by their number from 1, as they are now:
    /// as many as [`Live::with_flows`] says, or of which a series is wanted. Empty for
    /// what is not TCP.
    #[must_use]
    pub fn flows(&self) -> Vec<(u32, TcpDetail)> {
        self.series.get().map(Watched::now).unwrap_or_default()
    }

    /// Bytes that the peer has acknowledged on this many data connections: as they are now, or as
    /// they were when a loop was over. `None` unless all of them are observed
    /// ([`Live::with_tcp`], [`Live::with_flows`]), and unless the kernel tells.
    #[must_use]
    pub fn acknowledged(&self, connections: u32) -> Option<u64> {
        let watched = self.series.get();
        let all = match watched {
            Some(watched) => watched.acknowledged(connections),
            None => {
                let data = self.data();
                match &data.socket {
                    Some(socket) => acknowledged(socket.as_fd()),
                    None => data.acknowledged,
                }
            }
        };
        // The kernel counts the SYN, too (RFC 4898, tcpEStatsAppHCThruOctetsAcked).
        let others = self.data().before + u64::from(connections);
        Some(all?.saturating_sub(others))
    }

    /// `TCP_INFO` of the data connection: as it is now, or as it was when the loop
    /// was over. `None` unless asked for ([`Live::with_tcp`]), and in a run that has
    /// not one TCP connection but many or none.
    #[must_use]
    pub fn tcp(&self) -> Option<TcpInfo> {
        let data = self.data();
        match &data.socket {
            Some(socket) => tcp::info(socket.as_fd()).ok(),
            None => data.last,
        }
    }
}

fn acknowledged(data: BorrowedFd<'_>) -> Option<u64> {
    tcp::detail(data).ok()?.acknowledged()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (TcpStream, TcpStream) {
        netperf_testkit::watchdog::watch_unit();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn tcp_is_seen_from_the_connection_to_the_end_of_the_loop_and_kept() {
        let (data, _peer) = pair();
        let live = Live::default().with_tcp();
        assert_eq!(live.tcp(), None);
        live.connected(data.as_fd());
        assert!(live.tcp().is_some_and(|tcp| tcp.snd_mss > 0));
        live.end();
        drop(data);
        assert!(live.tcp().is_some_and(|tcp| tcp.snd_mss > 0));
    }

    #[test]
    fn a_watched_connection_closes_with_the_loop() {
        let (data, mut peer) = pair();
        let live = Live::default().with_tcp();
        live.connected(data.as_fd());
        live.end();
        drop(data);
        assert_eq!(peer.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn acknowledged_bytes_are_known_during_the_loop_and_kept() {
        use std::io::Write;
        let (mut data, mut peer) = pair();
        let live = Live::default().with_tcp();
        assert_eq!(live.acknowledged(1), None);
        live.connected(data.as_fd());
        let before = live.acknowledged(1).unwrap();
        data.write_all(&[0; 1000]).unwrap();
        peer.read_exact(&mut [0; 1000]).unwrap();
        while tcp::unacknowledged(data.as_fd()).unwrap() > 0 {
            std::thread::yield_now();
        }
        assert_eq!(live.acknowledged(1), Some(before + 1000));
        live.end();
        assert_eq!(live.acknowledged(1), Some(before + 1000));
    }

    #[test]
    fn live_counts_watch_no_connection_unasked() {
        let (data, _peer) = pair();
        let live = Live::default();
        live.connected(data.as_fd());
        assert_eq!(live.tcp(), None);
    }
}
