//! The rows of a server, in the order and form of iperf 2.1.8.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use netperf_cli::Iperf2Args;
use netperf_engine::iperf2::{Transfer, TransferCounts};
use netperf_measure::clock::{self, Moment};
use netperf_model::figures::whole;
use netperf_os::{Socket, tcp};
use netperf_report::iperf2::{
    CsvRow, DATAGRAM_TITLES, Iperf2Figures, SUM_TITLES, TITLES, id, loss, lost_of_sum, rest,
    shown_address,
};
use netperf_session::iperf2::account::DatagramAccount;
use netperf_wire::iperf2::ServerReport;

use crate::iperf2::{figures_of, stamp};
use crate::output::out;

/// Counters of one direction of a stream, which its thread writes.
#[derive(Debug, Default)]
pub(in crate::server) struct ShownCounts {
    pub(in crate::server) moved: TransferCounts,
    lost: AtomicU64,
    /// Number of the last datagram.
    last: AtomicU64,
    out_of_order: AtomicU64,
    /// Jitter, microseconds.
    jitter: AtomicU64,
}

impl ShownCounts {
    /// Takes over the account of a flow.
    pub(in crate::server) fn take(&self, account: &DatagramAccount) {
        self.moved.set(account.bytes, account.order.arrived);
        self.lost.store(account.order.lost, Ordering::Relaxed);
        self.last.store(account.order.highest, Ordering::Relaxed);
        self.out_of_order
            .store(account.order.out_of_order, Ordering::Relaxed);
        self.jitter
            .store(whole(account.jitter()), Ordering::Relaxed);
    }

    fn now(&self) -> Counted {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counted {
            bytes: load(&self.moved.bytes),
            lost: load(&self.lost),
            total: load(&self.last),
            out_of_order: load(&self.out_of_order),
        }
    }
}

/// Counts at a moment, or of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    bytes: u64,
    lost: u64,
    total: u64,
    out_of_order: u64,
}

impl Counted {
    const fn since(self, before: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(before.bytes),
            lost: self.lost.saturating_sub(before.lost),
            total: self.total.saturating_sub(before.total),
            out_of_order: self.out_of_order.saturating_sub(before.out_of_order),
        }
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            lost: self.lost + other.lost,
            total: self.total + other.total,
            out_of_order: self.out_of_order + other.out_of_order,
        }
    }
}

/// Load of a direction of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum Carries {
    /// Bytes of a connection, either way.
    Bytes,
    /// Datagrams of the client.
    Datagrams,
    /// Datagrams of the server.
    OwnDatagrams,
}

/// A direction of a stream.
#[derive(Clone, Copy, Debug)]
pub(in crate::server) struct ShownDirection {
    /// Number of the stream.
    pub(in crate::server) number: u32,
    /// The server sends, on a stream that the client also uses or on one of its own.
    pub(in crate::server) is_marked: bool,
    pub(in crate::server) own: SocketAddr,
    pub(in crate::server) client: SocketAddr,
    pub(in crate::server) carries: Carries,
}

/// A direction that runs.
#[derive(Debug)]
struct RunningDirection {
    direction: ShownDirection,
    counts: Arc<ShownCounts>,
    since: Moment,
    /// Intervals so far, and the counts at the end of the last.
    turn: u32,
    before: Counted,
    /// The last row is not part of a sum yet.
    is_new: Option<Counted>,
}

/// Streams of a client that overlap in time.
#[derive(Debug, Default)]
struct ClientGroup {
    running: u32,
    streams: u32,
    directions: u32,
    total: Counted,
    /// Counts in the sums of intervals, and the number of the last such interval.
    summed: Counted,
    turn: u32,
    longest: Duration,
    has_datagrams: bool,
}

#[derive(Debug, Default)]
struct BoardState {
    next: u32,
    ended: u32,
    shown: Vec<RunningDirection>,
    groups: HashMap<IpAddr, ClientGroup>,
    /// Flows for which the server sends on one of its own, now or later.
    backs: u32,
    /// Titles that were printed since no stream ran.
    titles: Vec<&'static str>,
}

/// A connection whose stream has not begun.
pub(in crate::server) struct AcceptedStream<'a> {
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
pub(in crate::server) struct Iperf2Board {
    args: Iperf2Args,
    figures: Iperf2Figures,
    state: Mutex<BoardState>,
}

impl Iperf2Board {
    pub(super) fn new(args: &Iperf2Args) -> Self {
        Self {
            args: args.clone(),
            figures: figures_of(args.unit),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, BoardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leaves_out(&self, letter: char) -> bool {
        self.args.csv || self.args.left_out.contains(letter)
    }

    /// An address, perhaps with its last part only.
    pub(super) fn address(&self, address: SocketAddr) -> String {
        shown_address(address.ip(), self.args.hides_addresses)
    }

    /// The form of the head.
    pub(super) const fn figures(&self) -> Iperf2Figures {
        self.figures
    }

    /// Prints the line of a stream and returns its number.
    pub(in crate::server) fn connected(
        &self,
        (own, client): (SocketAddr, SocketAddr),
        is_marked: bool,
        notes: &str,
        socket: Option<&Socket>,
    ) -> u32 {
        let mut state = self.state();
        if state.shown.is_empty() {
            state.titles.clear();
        }
        state.next += 1;
        let number = state.next;
        if self.leaves_out('C') || self.args.sum_only {
            return number;
        }
        let tcp = socket.and_then(|socket| tcp::info(socket.as_fd()).ok());
        let tcp = tcp.map_or_else(String::new, |tcp| {
            let window = u64::from(tcp.snd_cwnd) * u64::from(tcp.snd_mss) / 1024;
            let (segment, time) = (tcp.snd_mss, tcp.rtt);
            format!(" (icwnd/mss/irtt={window}/{segment}/{time})")
        });
        out(&format!(
            "{} local {} port {} connected with {} port {}{notes}{tcp}\n",
            id(number, is_marked),
            self.address(own),
            own.port(),
            self.address(client),
            client.port(),
        ));
        number
    }

    /// A direction of a stream begins.
    pub(in crate::server) fn begin(&self, direction: ShownDirection) -> Arc<ShownCounts> {
        let counts = Arc::new(ShownCounts::default());
        let mut state = self.state();
        // The other direction of a connection or flow is no further stream.
        let is_known = |one: &RunningDirection| one.direction.number == direction.number;
        let is_new = !state.shown.iter().any(is_known);
        state.shown.push(RunningDirection {
            direction,
            counts: Arc::clone(&counts),
            since: clock::now(),
            turn: 0,
            before: Counted::default(),
            is_new: None,
        });
        let group = state.groups.entry(direction.client.ip()).or_default();
        group.running += 1;
        group.streams += u32::from(is_new);
        group.directions += 1;
        group.has_datagrams |= direction.carries == Carries::Datagrams;
        counts
    }

    /// A direction has ended; it has no row if it failed.
    pub(in crate::server) fn end(&self, counts: &Arc<ShownCounts>, transfer: Option<&Transfer>) {
        let mut state = self.state();
        let own = |one: &RunningDirection| Arc::ptr_eq(&one.counts, counts);
        let Some(at) = state.shown.iter().position(own) else {
            return;
        };
        let shown = state.shown.remove(at);
        let direction = shown.direction;
        state.ended += u32::from(!direction.is_marked);
        let all = Counted {
            bytes: transfer.map_or(0, |transfer| transfer.bytes),
            ..counts.now()
        };
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
        let rest = rest(self.args.interval, group.turn, group.longest);
        if let Some(times) = rest.filter(|_| group.turn > 0 && !self.args.plan.udp) {
            self.sum(state, &group, times, group.total.since(group.summed));
        }
        let whole = (Duration::ZERO, group.longest);
        self.sum(state, &group, whole, group.total);
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
        all: Counted,
        transfer: &Transfer,
    ) {
        let direction = shown.direction;
        let whole = (Duration::ZERO, transfer.elapsed);
        let rest = rest(self.args.interval, shown.turn, transfer.elapsed);
        if let Some(times) = rest.filter(|_| direction.carries != Carries::OwnDatagrams) {
            self.row(state, shown, times, all.since(shown.before));
        }
        self.row(state, shown, whole, all);
        if direction.carries == Carries::OwnDatagrams && !self.leaves_out('D') {
            // The final one, and one more as the original counts.
            let sent = transfer.calls + 2;
            let name = id(direction.number, false);
            out(&format!("{name} Sent {sent} datagrams\n"));
        }
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

    /// A flow for which the server sends on one of its own begins, or is over.
    pub(super) fn awaits_back(&self, begins: bool) {
        let mut state = self.state();
        state.backs = if begins {
            state.backs + 1
        } else {
            state.backs.saturating_sub(1)
        };
    }

    /// What a client reports of datagrams of the server.
    pub(super) fn report(&self, number: u32, report: &ServerReport) {
        if self.leaves_out('V') || self.args.sum_only {
            return;
        }
        let time = Duration::from_micros(report.duration.micros());
        let jitter = Duration::from_micros(report.jitter.micros());
        let (name, whole) = (id(number, true), (Duration::ZERO, time));
        let row = self.figures.row(&name, whole.0, whole.1, report.bytes);
        let loss = loss(jitter, report.lost, report.datagrams);
        let counted = Counted {
            out_of_order: report.out_of_order,
            ..Counted::default()
        };
        let number = id(number, false);
        let late = late(&name, whole, counted);
        out(&format!(
            "{number} Server Report:\n{DATAGRAM_TITLES}{row}{loss}\n{late}"
        ));
    }

    /// True if heads are printed.
    pub(super) fn shows_settings(&self) -> bool {
        !self.leaves_out('S')
    }

    /// When the next interval ends.
    pub(super) fn due(&self) -> Option<Moment> {
        let every = self.args.interval?;
        let state = self.state();
        let all = state.shown.iter();
        all.map(|one| one.since.plus(every * (one.turn + 1))).min()
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
            let from = every * shown.turn;
            if !shown.since.plus(from + every).left().is_zero() {
                continue;
            }
            let now = shown.counts.now();
            let new = now.since(shown.before);
            (shown.before, shown.turn) = (now, shown.turn + 1);
            self.row(&mut state, shown, (from, from + every), new);
            let earlier = shown.is_new.unwrap_or_default();
            shown.is_new = Some(earlier.plus(new));
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
            let turn = group.first().map_or(0, |one| one.turn);
            let to = every * turn;
            let mut total = Counted::default();
            for one in group {
                total = total.plus(one.is_new.take().unwrap_or_default());
            }
            let from = to.saturating_sub(every);
            let mut group = state.groups.remove(&address).unwrap_or_default();
            self.sum(&mut state, &group, (from, to), total);
            (group.summed, group.turn) = (group.summed.plus(total), turn);
            state.groups.insert(address, group);
        }
        state.shown = all;
    }

    /// Prints titles, unless they were printed since no stream ran.
    fn title(&self, state: &mut BoardState, titles: &'static str) {
        if self.leaves_out('D') || state.titles.contains(&titles) {
            return;
        }
        state.titles.push(titles);
        out(titles);
    }

    fn row(
        &self,
        state: &mut BoardState,
        shown: &RunningDirection,
        (from, to): (Duration, Duration),
        counted: Counted,
    ) {
        let direction = shown.direction;
        let jitter = shown.counts.jitter.load(Ordering::Relaxed);
        let quality = (direction.carries == Carries::Datagrams).then_some([
            jitter,
            counted.lost,
            counted.total,
            counted.out_of_order,
        ]);
        if self.args.csv {
            let row = CsvRow {
                stamp: &stamp(false),
                near: (&self.address(direction.client), direction.client.port()),
                far: (&self.address(direction.own), direction.own.port()),
                number: direction.number,
                times: (from, to),
                bytes: counted.bytes,
                quality,
            };
            if !self.args.left_out.contains('D') {
                out(&row.text());
            }
            return;
        }
        if self.args.sum_only || self.leaves_out('D') {
            return;
        }
        self.title(
            state,
            if quality.is_some() {
                DATAGRAM_TITLES
            } else {
                TITLES
            },
        );
        let name = id(direction.number, direction.is_marked);
        let mut row = self.figures.row(&name, from, to, counted.bytes);
        if quality.is_some() {
            let jitter = Duration::from_micros(jitter);
            row.push_str(&loss(jitter, counted.lost, counted.total));
        }
        row.push('\n');
        if quality.is_some() {
            row.push_str(&late(&name, (from, to), counted));
        }
        out(&row);
    }

    fn sum(
        &self,
        state: &mut BoardState,
        group: &ClientGroup,
        (from, to): (Duration, Duration),
        total: Counted,
    ) {
        if self.leaves_out('D') {
            return;
        }
        let name = if self.args.sum_only {
            self.title(state, SUM_TITLES);
            format!("[SUM-{}]", group.directions)
        } else {
            self.title(state, TITLES);
            "[SUM]".to_owned()
        };
        let mut row = self.figures.row(&name, from, to, total.bytes);
        if group.has_datagrams {
            row.push_str(&lost_of_sum(total.lost, total.total));
        }
        row.push('\n');
        if group.has_datagrams {
            row.push_str(&late(&name, (from, to), total));
        }
        out(&row);
    }
}

/// The line of datagrams that came late, behind a row.
fn late(name: &str, (from, to): (Duration, Duration), counted: Counted) -> String {
    if counted.out_of_order == 0 {
        return String::new();
    }
    format!(
        "{name} {:.4}-{:.4} sec  {} datagrams received out-of-order\n",
        from.as_secs_f64(),
        to.as_secs_f64(),
        counted.out_of_order
    )
}
