//! The streams of a server, and when they have rows.

mod lines;
mod rows;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use netperf_engine::iperf2::Transfer;
use netperf_iperf2::options::Iperf2Args;
use netperf_iperf2::rows::enhanced::SenderState;
use netperf_iperf2::rows::{
    CountedInterval, DirectionKind, IntervalCounts, MovedCounts, PrintedTitles, id, sent_line,
};
use netperf_measure::clock::{self, Moment};
use netperf_model::iperf2::BLOCK;
use netperf_os::Socket;
use netperf_os::events::Wakeup;
use netperf_program::iperf2::{DirectionIntervals, ShownCounts, sender_state};
use netperf_program::output::out;

pub(crate) use self::lines::StreamLine;

/// Largest buffer for reads that are counted by size, bytes.
const MOST_READ: usize = 64 << 20;

/// A direction of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShownDirection {
    /// Number of the stream.
    pub(crate) number: u32,
    /// The server sends, on a stream that the client also uses or on a separate one.
    pub(crate) is_marked: bool,
    pub(crate) own: SocketAddr,
    pub(crate) client: SocketAddr,
    pub(crate) kind: DirectionKind,
    /// It has further columns (`-e`, `--trip-times`).
    pub(crate) is_enhanced: bool,
    /// Both ends have one clock.
    pub(crate) has_one_clock: bool,
    /// The stream has another direction.
    pub(crate) is_pair: bool,
}

/// A direction that runs.
#[derive(Debug)]
struct RunningDirection {
    direction: ShownDirection,
    since: Moment,
    intervals: DirectionIntervals,
    /// The last row is not part of a sum yet.
    is_new: Option<MovedCounts>,
    /// The connection over which the server sends, for further columns.
    socket: Option<Socket>,
}

impl RunningDirection {
    /// Counts so far.
    fn counted(&self) -> MovedCounts {
        let counted = self.intervals.counts.now();
        let state = self.sender_state();
        MovedCounts {
            datagrams: if self.direction.kind == DirectionKind::SendsDatagrams {
                counted.calls
            } else {
                counted.datagrams
            },
            retransmits: state.map_or(0, |(_, retransmits)| retransmits),
            ..counted
        }
    }

    fn sender_state(&self) -> Option<(SenderState, u64)> {
        sender_state(self.socket.as_ref()?.as_fd())
    }
}

/// Streams of a client that overlap in time.
#[derive(Debug, Default)]
struct ClientGroup {
    running: u32,
    streams: u32,
    directions: u32,
    total: MovedCounts,
    /// Intervals that have a sum.
    sums: IntervalCounts,
    longest: Duration,
    has_datagrams: bool,
    /// Datagrams go both ways on one flow.
    is_two_way: bool,
    /// The server sends.
    sends: bool,
}

#[derive(Debug, Default)]
struct BoardState {
    next: u32,
    ended: u32,
    shown: Vec<RunningDirection>,
    groups: HashMap<IpAddr, ClientGroup>,
    /// Rows of a direction whose stream has another one, by number and end of the interval (`None`
    /// for the whole), until the other has that row.
    halves: HashMap<(u32, Option<Duration>), CountedInterval>,
    /// Intervals that have a sum of both directions of a stream, by its number.
    pairs: HashMap<u32, IntervalCounts>,
    /// Flows for which the server sends on a separate one, now or later.
    backs: u32,
    /// Those that were printed since no stream ran.
    titles: PrintedTitles,
}

/// A connection whose stream has not begun.
pub(crate) struct AcceptedStream<'a> {
    board: &'a Iperf2Board,
    client: IpAddr,
}

impl Drop for AcceptedStream<'_> {
    fn drop(&mut self) {
        let mut state = self.board.state();
        self.board.leave(&mut state, self.client);
    }
}

/// Prints the rows of all streams.
#[derive(Debug)]
pub(crate) struct Iperf2Board {
    args: Iperf2Args,
    state: Mutex<BoardState>,
    /// Rung when a connection is accepted, and when a direction begins.
    news: Wakeup,
}

impl Iperf2Board {
    pub(super) fn new(args: &Iperf2Args) -> io::Result<Self> {
        Ok(Self {
            args: args.clone(),
            state: Mutex::default(),
            news: Wakeup::new()?,
        })
    }

    /// Wakes one that waits for news.
    pub(super) const fn news(&self) -> &Wakeup {
        &self.news
    }

    fn state(&self) -> MutexGuard<'_, BoardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The options of the server.
    pub(crate) const fn args(&self) -> &Iperf2Args {
        &self.args
    }

    /// A direction of a stream begins. `socket` is a connection over which the server sends.
    pub(crate) fn begin(
        &self,
        direction: ShownDirection,
        socket: Option<&Socket>,
    ) -> Arc<ShownCounts> {
        let counts = Arc::new(self.counts(&direction));
        let socket = socket.filter(|_| direction.is_enhanced);
        let socket = socket.and_then(|socket| socket.try_clone().ok());
        let mut state = self.state();
        // The other direction of a connection or flow is no further stream.
        let is_known = |one: &RunningDirection| one.direction.number == direction.number;
        let is_new = !state.shown.iter().any(is_known);
        state.shown.push(RunningDirection {
            direction,
            since: clock::now(),
            intervals: DirectionIntervals::begin(&counts),
            is_new: None,
            socket,
        });
        let group = state.groups.entry(direction.client.ip()).or_default();
        group.running += 1;
        group.streams += u32::from(is_new);
        group.directions += 1;
        group.has_datagrams |= direction.kind == DirectionKind::ReceivesDatagrams;
        group.is_two_way |= !is_new && direction.kind == DirectionKind::SendsDatagrams;
        group.sends |= direction.kind.sends();
        drop(state);
        self.news.wake();
        counts
    }

    /// Counters of a direction.
    fn counts(&self, direction: &ShownDirection) -> ShownCounts {
        match (direction.is_enhanced, direction.kind) {
            (true, DirectionKind::Receives) => ShownCounts::sorting(self.largest_read()),
            (true, DirectionKind::ReceivesBlocks) => {
                ShownCounts::sorting(self.largest_read()).timing()
            }
            (true, DirectionKind::ReceivesDatagrams) => ShownCounts::default().timing(),
            (true, DirectionKind::Sends | DirectionKind::SendsDatagrams) | (false, _) => {
                ShownCounts::default()
            }
        }
    }

    /// Size of the largest read of a connection, bytes.
    pub(super) fn largest_read(&self) -> usize {
        self.args.plan.length.unwrap_or(BLOCK).clamp(1, MOST_READ)
    }

    /// A direction has ended; it has no row if it failed.
    pub(crate) fn end(&self, counts: &Arc<ShownCounts>, transfer: Option<&Transfer>) {
        let mut state = self.state();
        let own = |one: &RunningDirection| Arc::ptr_eq(&one.intervals.counts, counts);
        let Some(at) = state.shown.iter().position(own) else {
            return;
        };
        let shown = state.shown.remove(at);
        let direction = shown.direction;
        state.ended += u32::from(!direction.is_marked);
        let mut all = MovedCounts {
            bytes: transfer.map_or(0, |transfer| transfer.bytes),
            ..shown.counted()
        };
        if let Some(transfer) = transfer.filter(|_| direction.kind == DirectionKind::SendsDatagrams)
        {
            all.datagrams = original_count(transfer);
        }
        if let Some(transfer) = transfer {
            self.last_row(&mut state, &shown, all, transfer);
        }
        let address = direction.client.ip();
        let Some(group) = state.groups.get_mut(&address) else {
            return;
        };
        group.total = group.total.plus(all);
        let elapsed = transfer.map(|transfer| transfer.elapsed);
        group.longest = group.longest.max(elapsed.unwrap_or_default());
        self.leave(&mut state, address);
    }

    /// A connection of a client was accepted. Until the guard is dropped, its stream may begin, and
    /// the client has no sum.
    pub(super) fn accepted(&self, client: IpAddr) -> AcceptedStream<'_> {
        self.state().groups.entry(client).or_default().running += 1;
        self.news.wake();
        AcceptedStream {
            board: self,
            client,
        }
    }

    /// One thing less runs for a client. The last has the sum.
    fn leave(&self, state: &mut BoardState, client: IpAddr) {
        let Some(group) = state.groups.get_mut(&client) else {
            return;
        };
        group.running = group.running.saturating_sub(1);
        if group.running > 0 {
            return;
        }
        let group = state.groups.remove(&client).unwrap_or_default();
        if !self.has_sum(&group) {
            return;
        }
        let rest = group
            .sums
            .rest(self.args.interval, group.longest, group.total);
        let has_rest = !group.sums.end().is_zero() && !self.args.plan.udp;
        if let Some(rest) = rest.filter(|_| has_rest) {
            self.sum(state, &group, &rest);
        }
        let whole = CountedInterval {
            times: (Duration::ZERO, group.longest),
            counts: group.total,
        };
        self.sum(state, &group, &whole);
    }

    /// True if a group has a sum at its end. Both directions of one stream have none beside rows of
    /// intervals.
    const fn has_sum(&self, group: &ClientGroup) -> bool {
        if self.args.sum_only {
            return group.directions > 0;
        }
        group.directions > 1 && (group.streams > 1 || self.args.interval.is_none())
    }

    fn last_row(
        &self,
        state: &mut BoardState,
        shown: &RunningDirection,
        all: MovedCounts,
        transfer: &Transfer,
    ) {
        let direction = shown.direction;
        let every = self.args.interval;
        let (whole, rest) = shown.intervals.end(every, transfer.elapsed, all);
        if let Some(rest) = rest.filter(|_| direction.kind != DirectionKind::SendsDatagrams) {
            self.row(state, shown, &rest);
        }
        self.row(state, shown, &whole);
        if direction.kind == DirectionKind::SendsDatagrams && self.args.shows_rows() {
            out(&sent_line(&id(direction.number, false), all.datagrams));
        }
        self.both_ways(state, &direction, None, whole.interval);
    }

    /// Number of streams that have ended.
    pub(super) fn ended(&self) -> u32 {
        self.state().ended
    }

    /// True if no stream runs.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.state();
        state.shown.is_empty() && state.backs == 0
    }

    /// A flow for which the server sends on a separate one begins, or is over.
    pub(super) fn awaits_back(&self, begins: bool) {
        let mut state = self.state();
        state.backs = if begins {
            state.backs + 1
        } else {
            state.backs.saturating_sub(1)
        };
    }

    /// When the next interval ends.
    pub(super) fn due(&self) -> Option<Moment> {
        let every = self.args.interval?;
        let state = self.state();
        let all = state.shown.iter();
        all.map(|one| one.since.plus(one.intervals.ended().next_end(every)))
            .min()
    }

    /// Prints the rows of intervals that are over.
    pub(super) fn tick(&self) {
        let Some(every) = self.args.interval else {
            return;
        };
        let mut state = self.state();
        let mut all = std::mem::take(&mut state.shown);
        let mut changed = Vec::new();
        for shown in &mut all {
            let end = shown.intervals.ended().next_end(every);
            if !shown.since.plus(end).left().is_zero() {
                continue;
            }
            let part = shown.intervals.finish(every, shown.counted());
            self.row(&mut state, shown, &part);
            self.both_ways(&mut state, &shown.direction, Some(end), part.interval);
            let earlier = shown.is_new.unwrap_or_default();
            shown.is_new = Some(earlier.plus(part.interval.counts));
            changed.push(shown.direction.client.ip());
        }
        changed.dedup();
        for address in changed {
            let of_group = |one: &&mut RunningDirection| one.direction.client.ip() == address;
            let group: Vec<&mut RunningDirection> = all.iter_mut().filter(of_group).collect();
            let complete = group.iter().all(|one| one.is_new.is_some());
            let streams = state.groups.get(&address).map_or(0, |group| group.streams);
            let is_sum = self.args.sum_only || (streams > 1 && group.len() > 1);
            if !is_sum || !complete {
                continue;
            }
            let end = group.first().map(|one| one.intervals.ended().end());
            let end = end.unwrap_or_default();
            let mut total = MovedCounts::default();
            for one in group {
                total = total.plus(one.is_new.take().unwrap_or_default());
            }
            let mut group = state.groups.remove(&address).unwrap_or_default();
            let summed = group.sums.counts().plus(total);
            let interval = CountedInterval {
                times: (end.saturating_sub(every), end),
                ..group.sums.finish(end, summed)
            };
            self.sum(&mut state, &group, &interval);
            state.groups.insert(address, group);
        }
        state.shown = all;
    }
}

/// Number of datagrams that the original prints: the final one counts, and one more.
const fn original_count(transfer: &Transfer) -> u64 {
    transfer.calls + 2
}
