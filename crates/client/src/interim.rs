//! Interim results: another thread looks at the loop's counts and prints.

use std::ops::ControlFlow;
use std::time::Duration;

use netperf_cli::RunCommand;
use netperf_engine::live::Live;
use netperf_measure::clock::{self, Moment};
use netperf_measure::tcp::tcp_facts;
use netperf_model::intervals::Intervals;
use netperf_model::{
    Duplex, Format, Interim, Iteration, Latency, RunPart, Tally, TestPlan, ThroughputUnit,
    TransportId, UnitKind, figures,
};
use netperf_os::system;
use netperf_program::output::{self, out};
use netperf_report::document::interim_packets;
use netperf_report::{interim_line, interim_work};
use netperf_text::unit::{self as text, quantity};

use super::{show, stalls, ticker, until};

/// The interval for a person: local time of day at its end, seconds since the begin of the run, its
/// rate, and of datagrams their number each second.
fn person_line(plan: &TestPlan, interim: &Interim, begin: f64, unit: ThroughputUnit) -> String {
    let time = system::local_time(interim.ended, "%H:%M:%S").unwrap_or_default();
    let per_second = if interim.seconds > 0.0 {
        interim.work / interim.seconds
    } else {
        0.0
    };
    let rate = match unit.kind() {
        UnitKind::Transactions => quantity(per_second, text::Unit::TransactionsPerSecond),
        UnitKind::Data => quantity(per_second * 8.0, text::Unit::BitsPerSecond),
    };
    let stage = interim.stage().map(|stage| format!("  {stage}"));
    let stage = stage.unwrap_or_default();
    let seconds = format!("{begin:.1} to {:.1}", begin + interim.seconds);
    let packets = interim_packets(plan, interim);
    let packets = match packets {
        _ if plan.flow.counts_transactions() => None,
        [sent, received] if plan.flow.duplex.is_none() => {
            sent.filter(|_| plan.flow.sends).or(received)
        }
        _ => None,
    };
    let packets = packets.filter(|_| interim.seconds > 0.0).map(|packets| {
        #[expect(clippy::cast_precision_loss, reason = "datagrams of an interval")]
        let rate = packets as f64 / interim.seconds;
        format!("  {}", quantity(rate, text::Unit::Count("packets/s")))
    });
    let packets = packets.unwrap_or_default();
    format!("{time}  {seconds:12}  {rate}{packets}{stage}\n")
}

/// Parts of an interval after which a line that waits for a transaction looks again.
const LOOKS: u32 = 8;
/// Shortest interval at the end of a run that has a line.
const SHORTEST: Duration = Duration::from_millis(1);

/// Share of an interval below which the rest at the end of a run is no row for a person.
const STUB: f64 = 0.05;

/// State between interim lines.
struct InterimPrinter<'a> {
    run: &'a RunCommand,
    unit: ThroughputUnit,
    iteration: usize,
    kept: &'a mut Vec<Interim>,
    intervals: Intervals<Moment, Tally>,
    /// Begin of the iteration.
    begun: Moment,
    /// The part of the run at the last line, if only one part counts.
    part: Option<RunPart>,
    arrivals: ArrivalCounts,
    /// The times of all operations until then.
    times: Latency,
    /// True if the last one is kept and not printed yet.
    holds: bool,
}

impl InterimPrinter<'_> {
    /// Keeps what happened since the last line; [`Self::print`] prints it.
    fn keep(&mut self, now: Moment, tally: Tally, live: &Live) {
        let (then, before) = self.intervals.finish(now, tally);
        let part = live.part();
        let began = std::mem::replace(&mut self.part, part);
        let arrived = self.arrivals.next(live);
        let interim = Interim {
            work: interim_work(
                &self.run.plan,
                self.unit,
                &before,
                &arrived.over(before, tally),
            ),
            seconds: now.since(then).as_secs_f64(),
            ended: clock::since_epoch().saturating_sub(now.elapsed()),
            ended_nanos: now.nanos(),
            iteration: self.iteration,
            parts: part.map(|part| (began.unwrap_or(self.first_part()), part)),
            counts: tally.since(&before),
            arrived: arrived.0,
            tcp: live.tcp().map(tcp_facts),
            times: self.times(live),
        };
        self.kept.push(interim);
        self.holds = true;
    }

    /// Returns whether many flows have not begun, or so lately that the first interval is shorter than
    /// half of the others.
    fn is_early(&mut self, now: Moment, interval: Duration, live: &Live) -> bool {
        self.begin_with(live);
        let last = self.kept.last();
        let is_first = last.is_none_or(|last| last.iteration != self.iteration);
        let begun = live.begun().unwrap_or(now);
        let plan = &self.run.plan;
        plan.many.is_some() && plan.peer.is_none() && is_first && now.since(begun) < interval / 2
    }

    /// The first interval begins when many flows do: after the first of them is opened, or when data
    /// came before they were met.
    fn begin_with(&mut self, live: &Live) {
        let begun = live.begun().filter(|begun| *begun != self.begun);
        if let Some(begun) = begun {
            self.begun = begun;
            self.intervals = Intervals::begin(begun, Tally::default());
        }
    }

    /// Prints the last interval, unless it is printed.
    fn print(&mut self) {
        let held = std::mem::take(&mut self.holds).then(|| self.kept.pop());
        if let Some(interim) = held.flatten() {
            out(&self.line(&interim));
            self.kept.push(interim);
        }
    }

    /// The interval as a line of the output, behind those that are kept.
    fn line(&self, interim: &Interim) -> String {
        let (plan, report) = (&self.run.plan, &self.run.report);
        if !report.prints_interim {
            return String::new();
        }
        if report.format != Format::Human {
            return interim_line(plan, report, self.kept.len(), interim);
        }
        let asked = plan.interim.map_or(0.0, |interval| interval.as_secs_f64());
        if !self.kept.is_empty() && interim.seconds < asked * STUB {
            return String::new();
        }
        let since = self.intervals.end().since(self.begun).as_secs_f64();
        let begin = (since - interim.seconds).max(0.0);
        let line = person_line(plan, interim, begin, self.unit);
        let head = if interim.iteration == 1 && self.kept.is_empty() {
            "Time      Seconds       Rate\n"
        } else {
            ""
        };
        output::look().letters(&format!("{head}{line}"))
    }

    /// The part with which a run begins of which only one part counts.
    fn first_part(&self) -> RunPart {
        match &self.run.plan.many {
            Some(many) if !many.warmup.is_zero() => RunPart::WarmUp,
            Some(_) | None => RunPart::Measured,
        }
    }

    /// Adds to the last interval, which is not printed yet, what happened in no time since.
    fn add_to_the_last(&mut self, tally: Tally, live: &Live) {
        let before = self.intervals.add(tally);
        let arrived = self.arrivals.next(live);
        let Some(last) = self.kept.last_mut() else {
            return;
        };
        let after = arrived.over(before, tally);
        last.work += interim_work(&self.run.plan, self.unit, &before, &after);
        last.counts = last.counts.plus(&tally.since(&before));
        last.arrived = last.arrived.zip(arrived.0).map(|(last, more)| last + more);
    }

    /// Latency of the operations since the last line, if recorded and shown.
    fn times(&mut self, live: &Live) -> Option<Latency> {
        if !(self.run.plan.latency && self.run.report.format.is_json()) {
            return None;
        }
        let all = Latency::of_loops(live.latencies()).unwrap_or_default();
        let before = std::mem::replace(&mut self.times, all);
        Some(self.times.since(&before))
    }
}

/// Upper limit of the connections whose `TCP_INFO` is read at every interval.
const MOST_CONNECTIONS: u32 = 256;

/// The number of connections on which acknowledged bytes are counted instead of sent ones: what a
/// send buffer takes on a slow link is no rate. `None` if netperf's end does not send bulk data
/// over TCP, and over too many connections.
pub(super) fn acknowledging(plan: &TestPlan) -> Option<u32> {
    let flow = &plan.flow;
    let sends = flow.sends && !flow.counts_transactions() && flow.duplex != Some(Duplex::Separate);
    let connections = plan.many.as_ref().map_or(1, |many| many.flows);
    let bulk_over_tcp = sends && !flow.connects && plan.transport == TransportId::Tcp;
    (bulk_over_tcp && connections <= MOST_CONNECTIONS).then_some(connections)
}

/// Bytes that arrive at netserver, from one look to the next.
pub(super) struct ArrivalCounts {
    connections: Option<u32>,
    /// Bytes acknowledged at the last look.
    last: Option<u64>,
}

/// Bytes that have arrived since a look; `None` if unknown.
pub(super) struct ArrivedBytes(Option<u64>);

impl ArrivalCounts {
    pub(super) fn of(plan: &TestPlan) -> Self {
        Self {
            connections: acknowledging(plan),
            last: None,
        }
    }

    /// Bytes since the last look.
    pub(super) fn next(&mut self, live: &Live) -> ArrivedBytes {
        let now = self.connections.and_then(|all| live.acknowledged(all));
        let now = now.or(self.last);
        let before = std::mem::replace(&mut self.last, now).unwrap_or(0);
        ArrivedBytes(now.map(|now| now.saturating_sub(before)))
    }
}

impl ArrivedBytes {
    /// The counts `after` an interval with the bytes that arrived in it, where they are known, as
    /// those that were sent.
    pub(super) fn over(&self, before: Tally, after: Tally) -> Tally {
        let arrived = self.0.map(|bytes| before.bytes_sent + bytes);
        Tally {
            bytes_sent: arrived.unwrap_or(after.bytes_sent),
            ..after
        }
    }
}

/// Counts of a run, and observation of its connections as far as intervals or a display need it.
/// Only JSON shows TCP's view of intervals.
pub(super) fn live(run: &RunCommand) -> Live {
    let mut live = Live::default();
    let shows = run.plan.interim.is_some() || run.show.live;
    let shows = shows || (stalls::is_watched(run));
    match acknowledging(&run.plan).filter(|_| shows) {
        Some(flows) if run.plan.many.is_some() => live = live.with_flows(flows),
        Some(_) => live = live.with_tcp(),
        None => {}
    }
    if run.plan.interim.is_some() && run.report.format.is_json() {
        live = live.with_tcp();
    }
    live = until::live(&run.plan, live);
    if run.plan.remote.until {
        live = live.that_tells();
    }
    show::live(run, live)
}

/// Shortest time in which queues drain behind the last interval that has a line.
const DRAINED: f64 = 0.05;

/// Adds a line of what was still in queues at the end of the time, from the last line of an
/// iteration to its end, where what arrived is known.
pub(super) fn add_drained(
    run: &RunCommand,
    (earlier, kept): (usize, &mut Vec<Interim>),
    ran: &Iteration,
    last_arrival: Option<u64>,
) {
    let plan = &run.plan;
    if plan.interim.is_none() || plan.peer.is_some() {
        return;
    }
    let lines = kept.get(earlier..).unwrap_or_default();
    let is_whole = lines.iter().all(|line| line.parts.is_none());
    let (Some(last), true) = (lines.last(), is_whole) else {
        return;
    };
    let covered: f64 = lines.iter().map(|line| line.seconds).sum();
    let (total, seconds) = match (&ran.remote, last_arrival) {
        _ if acknowledging(plan).is_some() => (ran.local.tally.bytes_sent, ran.elapsed - covered),
        // Lines of text show what was sent.
        (Some(remote), Some(end))
            if run.report.format.is_json() && !plan.transport.row().reliable =>
        {
            let after = end.saturating_sub(last.ended_nanos);
            let after = Duration::from_nanos(after).as_secs_f64();
            (remote.tally.bytes_received, after)
        }
        _ => return,
    };
    let arrived: Option<u64> = lines.iter().map(|line| line.arrived).sum();
    let Some(rest) = arrived.and_then(|arrived| total.checked_sub(arrived)) else {
        return;
    };
    if rest == 0 || seconds < DRAINED.max(last.seconds / 10.0) {
        return;
    }
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let after = Tally {
        bytes_sent: rest,
        ..Tally::default()
    };
    let unit = figures::unit_in_force(plan, run.report.unit);
    let interim = Interim {
        work: interim_work(plan, unit, &Tally::default(), &after),
        seconds,
        ended: last.ended.saturating_add(time),
        ended_nanos: last.ended_nanos + u64::try_from(time.as_nanos()).unwrap_or_default(),
        iteration: last.iteration,
        parts: None,
        counts: Tally::default(),
        arrived: Some(rest),
        tcp: None,
        times: None,
    };
    out(&interim_line(plan, &run.report, kept.len(), &interim));
    kept.push(interim);
}

/// Runs `work` with interim results beside it, if any are wanted; what is left of
/// the last interval gives a last line.
pub(super) fn beside<T>(
    run: &RunCommand,
    iteration: usize,
    kept: &mut Vec<Interim>,
    live: &Live,
    work: impl FnOnce() -> T,
) -> T {
    let work = || show::beside(run, iteration, live, work);
    let Some(interval) = run.plan.interim else {
        return work();
    };
    let unit = figures::unit_in_force(&run.plan, run.report.unit);
    let begun = clock::now();
    let mut printer = InterimPrinter {
        run,
        unit,
        iteration,
        kept,
        intervals: Intervals::begin(begun, Tally::default()),
        begun,
        part: None,
        arrivals: ArrivalCounts::of(&run.plan),
        times: Latency::default(),
        holds: false,
    };
    // A rate of 0 is no round-trip time: flent fails on it. A line of text waits for a
    // transaction, as in netperf 2.7, and its interval is longer.
    let prints = run.report.prints_interim && !run.report.format.is_json();
    let waits = run.plan.flow.counts_transactions() && prints;
    let every = if waits { interval / LOOKS } else { interval };
    let mut due = begun.plus(interval);
    let tick = || {
        // The rest of the run closes the connection.
        if live.is_ending() {
            return ControlFlow::Break(());
        }
        let (now, tally) = (clock::now(), live.read());
        if printer.is_early(now, interval, live) {
            return ControlFlow::Continue(());
        }
        // Parts of an interval are whole nanoseconds, and eight of them a little less than it.
        let early = now.plus(Duration::from_nanos(LOOKS.into())) < due;
        let none = tally.transactions == printer.intervals.counts().transactions;
        if waits && (early || none) {
            return ControlFlow::Continue(());
        }
        printer.keep(now, tally, live);
        due = due.plus(interval).max(now.plus(interval / 2));
        // Data that ends within this time is part of the line.
        std::thread::sleep(SHORTEST);
        if live.is_ending() {
            return ControlFlow::Break(());
        }
        printer.print();
        ControlFlow::Continue(())
    };
    let done = ticker::beside((begun, every), tick, work);
    let tally = live.read();
    printer.begin_with(live);
    if tally != *printer.intervals.counts() {
        let over = live.over().unwrap_or_else(clock::now);
        if printer.holds && over.since(printer.intervals.end()) < SHORTEST {
            printer.add_to_the_last(tally, live);
        } else {
            printer.print();
            printer.keep(over, tally, live);
        }
    }
    printer.print();
    done
}
