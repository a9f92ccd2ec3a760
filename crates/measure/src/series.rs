//! Time series of `TCP_INFO`, recorded by a thread beside the loops.
//!
//! The loops know nothing of it: a connection is handed in before its loop and let go
//! behind it, as a separate descriptor that would keep the connection open otherwise.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{self, Moment};
use netperf_model::{FlowSeries, Series, SeriesPlan, TcpSample};
use netperf_os::tcp::{self, TcpDetail};

use crate::sampler;

/// The most samples that are kept, of all connections together: under 3 MiB.
const MOST_SAMPLES: usize = 16_384;
/// Time limit of a wait for an announced beginning or end.
const LOOK: Duration = Duration::from_secs(1);

/// Connections that are looked at, and what was seen.
#[derive(Debug)]
pub struct Watched {
    plan: SeriesPlan,
    /// Samples are recorded; otherwise connections are only read on request.
    kept: bool,
    /// This is netperf's end.
    asking: bool,
    inner: Mutex<Inner>,
    /// Told of the beginning and of the end.
    turned: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    flows: Vec<WatchedFlow>,
    /// The beginning by both clocks.
    begun: Option<(Moment, Duration)>,
    /// The time from one sample to the next, now.
    every: Duration,
    samples: usize,
    over: bool,
}

/// One connection.
#[derive(Debug)]
struct WatchedFlow {
    /// The thread that moves its data.
    owner: u32,
    /// `None` once its loop is over.
    socket: Option<OwnedFd>,
    /// Bytes acknowledged when its loop was over.
    acknowledged: Option<u64>,
    series: FlowSeries,
}

impl WatchedFlow {
    fn acknowledged(&self) -> Option<u64> {
        match &self.socket {
            Some(socket) => tcp::detail(socket.as_fd()).ok()?.acknowledged(),
            None => self.acknowledged,
        }
    }

    /// Its loop is over.
    fn close(&mut self) {
        self.acknowledged = self.acknowledged();
        self.socket = None;
    }
}

impl Watched {
    /// Connections of an end of which a plan wants a series; `asking` is whether it is netperf's.
    #[must_use]
    pub fn new(plan: SeriesPlan, asking: bool) -> Self {
        Self {
            plan,
            kept: true,
            asking,
            inner: Mutex::new(Inner {
                every: plan.every,
                ..Inner::default()
            }),
            turned: Condvar::new(),
        }
    }

    /// This many connections that are only looked at, at netperf's end.
    pub fn looked_at(flows: u32) -> Self {
        let every = Duration::MAX;
        Self {
            kept: false,
            ..Self::new(SeriesPlan { every, flows }, true)
        }
    }

    /// Current state of the open connections, by number.
    pub fn now(&self) -> Vec<(u32, TcpDetail)> {
        let inner = self.inner();
        let detail = |seen: &WatchedFlow| {
            let socket = seen.socket.as_ref()?;
            Some((seen.series.flow?, tcp::detail(socket.as_fd()).ok()?))
        };
        let mut now: Vec<_> = inner.flows.iter().filter_map(detail).collect();
        now.sort_by_key(|(flow, _)| *flow);
        now
    }

    /// Bytes acknowledged on all connections, until now or until their loop was over; `None`
    /// unless there are so many, and unless the kernel tells.
    pub fn acknowledged(&self, connections: u32) -> Option<u64> {
        let inner = self.inner();
        let all = u32::try_from(inner.flows.len()) == Ok(connections);
        let each = inner.flows.iter().map(WatchedFlow::acknowledged);
        each.sum::<Option<u64>>().filter(|_| all)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connections of one thread, each with its number where that is known. Of more than
    /// are wanted, those with the smallest port of netperf's are taken, so that both ends
    /// take the same.
    pub fn offer<'f>(
        &self,
        owner: u32,
        flows: impl Iterator<Item = (Option<u32>, BorrowedFd<'f>)>,
    ) {
        let known = flows.map(|(flow, socket)| (port(socket, self.asking), flow, socket));
        self.take(owner, known.collect());
    }

    /// Connections of one thread, each with netperf's port.
    fn take(&self, owner: u32, mut known: Vec<(u16, Option<u32>, BorrowedFd<'_>)>) {
        known.sort_by_key(|(port, ..)| *port);
        known.truncate(self.most());
        let mut inner = self.inner();
        for (port, flow, socket) in known {
            // Without a second descriptor there is nothing to tell of it.
            if let Ok(socket) = socket.try_clone_to_owned() {
                inner.flows.push(WatchedFlow {
                    owner,
                    socket: Some(socket),
                    acknowledged: None,
                    series: FlowSeries {
                        flow,
                        port,
                        samples: Vec::new(),
                    },
                });
            }
        }
    }

    /// The number of the next connection of a plain loop.
    pub fn next(&self) -> u32 {
        u32::try_from(self.inner().flows.len()).map_or(1, |known| known.saturating_add(1))
    }

    fn most(&self) -> usize {
        usize::try_from(self.plan.flows).unwrap_or(usize::MAX)
    }

    /// All connections stand: time begins.
    pub fn begin(&self) {
        let mut inner = self.inner();
        if inner.begun.is_none() {
            let most = self.most();
            inner.flows.sort_by_key(|seen| seen.series.port);
            inner.flows.truncate(most);
            inner.begun = Some((clock::now(), clock::since_epoch()));
            self.sample(&mut inner, |_| true);
        }
        self.turned.notify_all();
    }

    /// The loop over the connections of this thread is over: what they are like now is the
    /// last that is seen of them.
    pub fn release(&self, owner: u32) {
        let mut inner = self.inner();
        self.sample(&mut inner, |seen| seen.owner == owner);
        let mine = inner.flows.iter_mut().filter(|seen| seen.owner == owner);
        mine.for_each(WatchedFlow::close);
    }

    /// The run is over.
    pub fn finish(&self) {
        let mut inner = self.inner();
        if !inner.over {
            self.sample(&mut inner, |_| true);
            inner.flows.iter_mut().for_each(WatchedFlow::close);
            inner.over = true;
        }
        self.turned.notify_all();
    }

    /// Writes down what is seen until the run is over, on a grid that keeps its phase.
    fn watch(&self) {
        let mut inner = self.inner();
        let mut due: Option<Moment> = None;
        while !inner.over {
            let first = || inner.begun.map(|(begun, _)| begun.plus(inner.every));
            let next = due.or_else(first);
            let nap = next.map_or(LOOK, Moment::left);
            if let Some(at) = next.filter(|_| nap.is_zero()) {
                inner.sample(|_| true);
                let following = at.plus(inner.every);
                let late = following.left().is_zero();
                due = Some(if late {
                    clock::now().plus(inner.every)
                } else {
                    following
                });
            } else {
                let waited = self.turned.wait_timeout(inner, nap);
                inner = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    fn sample(&self, inner: &mut Inner, wanted: impl Fn(&WatchedFlow) -> bool) {
        if self.kept {
            inner.sample(wanted);
        }
    }

    /// The series, where samples are recorded.
    pub fn series(&self) -> Option<Series> {
        if !self.kept {
            return None;
        }
        let mut inner = self.inner();
        // What was acknowledged is asked for behind this.
        let taken = |seen: &mut WatchedFlow| FlowSeries {
            samples: std::mem::take(&mut seen.series.samples),
            ..seen.series
        };
        Some(Series {
            flows: inner.flows.iter_mut().map(taken).collect(),
            started: inner.begun.map_or(Duration::ZERO, |(_, started)| started),
            every: inner.every,
        })
    }
}

impl Inner {
    /// Looks at the connections that are still used and are `wanted`.
    fn sample(&mut self, wanted: impl Fn(&WatchedFlow) -> bool) {
        let Some((begun, _)) = self.begun else {
            return;
        };
        for seen in self.flows.iter_mut().filter(|seen| wanted(seen)) {
            let detail = seen
                .socket
                .as_ref()
                .and_then(|socket| tcp::detail(socket.as_fd()).ok());
            if let Some(detail) = detail {
                let at = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
                seen.series.samples.push(sample(at, &detail));
                self.samples += 1;
            }
        }
        if self.samples >= MOST_SAMPLES {
            self.thin_out();
        }
    }

    /// Forgets every second sample, and takes half as many from now on.
    fn thin_out(&mut self) {
        self.samples = 0;
        for seen in &mut self.flows {
            let mut keep = false;
            seen.series.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.samples += seen.series.samples.len();
        }
        self.every *= 2;
    }
}

/// netperf's port of a connection, 0 where there is none.
pub fn port(socket: BorrowedFd<'_>, asking: bool) -> u16 {
    let socket = netperf_os::SockRef::from(&socket);
    let address = if asking {
        socket.local_addr()
    } else {
        socket.peer_addr()
    };
    let address = address.ok().and_then(|address| address.as_socket());
    address.map_or(0, |address| address.port())
}

fn sample(at_micros: u64, detail: &TcpDetail) -> TcpSample {
    TcpSample {
        at_micros,
        round_trip_micros: detail.rtt,
        round_trip_variation_micros: detail.rttvar,
        min_round_trip_micros: detail.min_rtt,
        recv_round_trip_micros: detail.rcv_rtt,
        congestion_window_segments: detail.snd_cwnd,
        send_threshold_segments: detail.snd_ssthresh,
        send_segment_bytes: detail.snd_mss,
        in_flight_segments: detail.in_flight(),
        lost_segments: detail.lost,
        retransmitted_segments: detail.total_retrans,
        reordering_segments: detail.reordering,
        not_sent_bytes: detail.notsent,
        send_window_bytes: detail.snd_wnd,
        pacing_rate: detail.pacing_rate,
        delivery_rate: detail.delivery_rate,
        busy_micros: detail.busy,
        window_limited_micros: detail.rwnd_limited,
        buffer_limited_micros: detail.sndbuf_limited,
    }
}

/// Ends the watch whatever becomes of the run.
struct FinishGuard<'a>(&'a Watched);

impl Drop for FinishGuard<'_> {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Runs `work` with a thread beside it that looks at connections, if any are to be watched.
///
/// # Errors
/// When the thread cannot be started; `work` is not begun then.
pub fn beside<T>(watched: Option<&Watched>, work: impl FnOnce() -> T) -> io::Result<T> {
    let watched = watched.filter(|watched| watched.kept);
    std::thread::scope(|scope| {
        if let Some(watched) = watched {
            sampler::start(scope, "series", || watched.watch())?;
        }
        let _ending = watched.map(FinishGuard);
        Ok(work())
    })
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

    fn watched(flows: u32) -> Watched {
        watched_by(true, flows)
    }

    fn watched_by(asking: bool, flows: u32) -> Watched {
        let every = Duration::from_millis(1);
        Watched::new(SeriesPlan { every, flows }, asking)
    }

    #[test]
    fn a_connection_is_seen_at_its_beginning_its_end_and_in_between() {
        let (client, mut server) = pair();
        let seen = watched(1);
        beside(Some(&seen), || {
            seen.offer(0, std::iter::once((Some(1), client.as_fd())));
            seen.begin();
            while seen.inner().samples < 4 {
                std::thread::yield_now();
            }
        })
        .unwrap();
        // Its descriptor is gone with the run: the connection ends when its owner ends it.
        let local = client.local_addr().unwrap().port();
        drop(client);
        assert_eq!(server.read(&mut [0]).unwrap(), 0);
        let acknowledged = seen.acknowledged(1);
        assert!(acknowledged.is_some());
        let series = seen.series().unwrap();
        // The last interval of a run is read behind its series.
        assert_eq!(seen.acknowledged(1), acknowledged);
        let [flow] = series.flows.as_slice() else {
            panic!("{series:?}")
        };
        assert_eq!((flow.flow, flow.port), (Some(1), local));
        assert!(flow.samples.len() >= 5);
        let times: Vec<u64> = flow.samples.iter().map(|sample| sample.at_micros).collect();
        assert!(times.is_sorted(), "{times:?}");
        let known = |sample: &TcpSample| sample.congestion_window_segments.is_some();
        assert!(flow.samples.iter().all(known));
    }

    #[test]
    fn both_ends_take_the_same_of_many_connections() {
        let pairs: Vec<_> = (0..5).map(|_| pair()).collect();
        let (ours, theirs) = (watched(3), watched_by(false, 3));
        // Two threads here and one there, in different orders.
        let client = |index: usize| (None, pairs[index].0.as_fd());
        ours.offer(0, [4, 2].into_iter().map(client));
        ours.offer(1, [0, 1, 3].into_iter().map(client));
        theirs.offer(0, pairs.iter().rev().map(|(_, end)| (None, end.as_fd())));
        let ports = |watched: Watched| -> Vec<u16> {
            watched.begin();
            let flows = watched.series().unwrap().flows;
            flows.iter().map(|flow| flow.port).collect()
        };
        let ours = ports(ours);
        assert_eq!(ours.len(), 3);
        assert_eq!(ours, ports(theirs));
    }

    #[test]
    fn too_many_samples_become_half_as_many_at_twice_the_distance() {
        let (client, _server) = pair();
        let seen = watched(1);
        seen.offer(0, std::iter::once((None, client.as_fd())));
        seen.begin();
        for _ in 1..MOST_SAMPLES {
            seen.inner().sample(|_| true);
        }
        let series = seen.series().unwrap();
        assert_eq!(series.every, Duration::from_millis(2));
        assert_eq!(series.flows[0].samples.len(), MOST_SAMPLES / 2);
    }

    #[test]
    fn a_thread_lets_go_of_its_own_connections_alone() {
        let ((first, _a), (second, mut other)) = (pair(), pair());
        let seen = watched(8);
        seen.offer(0, std::iter::once((None, first.as_fd())));
        seen.offer(1, std::iter::once((None, second.as_fd())));
        seen.begin();
        seen.release(1);
        drop(second);
        assert_eq!(other.read(&mut [0]).unwrap(), 0);
        let held = |inner: &Inner| {
            inner
                .flows
                .iter()
                .filter(|seen| seen.socket.is_some())
                .count()
        };
        assert_eq!(held(&seen.inner()), 1);
    }

    #[test]
    fn connections_that_are_only_looked_at_leave_no_series() {
        let (first, second) = (pair(), pair());
        let seen = Watched::looked_at(8);
        let both = [(Some(2), second.0.as_fd()), (Some(1), first.0.as_fd())];
        seen.offer(0, both.into_iter());
        seen.begin();
        let numbers = |seen: &Watched| seen.now().iter().map(|(flow, _)| *flow).collect::<Vec<_>>();
        assert_eq!(numbers(&seen), [1, 2]);
        seen.finish();
        assert!(numbers(&seen).is_empty());
        assert!(
            seen.inner()
                .flows
                .iter()
                .all(|seen| seen.series.samples.is_empty())
        );
        assert_eq!(seen.series(), None);
    }

    #[test]
    fn a_run_that_panics_ends_the_watch() {
        let seen = watched(1);
        let run = std::panic::AssertUnwindSafe(|| beside(Some(&seen), || panic!("as it should")));
        assert!(std::panic::catch_unwind(run).is_err());
        assert!(seen.inner().over);
    }
}
