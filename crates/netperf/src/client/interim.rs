//! Interim results: another thread looks at the loop's counts and prints.

use std::ops::ControlFlow;
use std::time::Duration;

use netperf_cli::RunCommand;
use netperf_engine::live::Live;
use netperf_measure::clock::{self, Moment};
use netperf_model::{Interim, Latency, RunPart, Tally, Unit, figures};
use netperf_report::{interim_line, interim_work};

use super::run::tcp_facts;
use super::{show, ticker, until};
use crate::output::out;

/// Parts of an interval after which a line that waits for a transaction looks again.
const LOOKS: u32 = 8;

/// State between interim lines.
struct InterimPrinter<'a> {
    run: &'a RunCommand,
    unit: Unit,
    iteration: usize,
    kept: &'a mut Vec<Interim>,
    last: (Moment, Tally),
    /// The part of the run at the last line, if only one part counts.
    part: Option<RunPart>,
    /// The times of all operations until then.
    times: Latency,
}

impl InterimPrinter<'_> {
    /// Prints what happened since the last line, and keeps it.
    fn print(&mut self, now: Moment, tally: Tally, live: &Live) {
        let (then, before) = std::mem::replace(&mut self.last, (now, tally));
        let part = live.part();
        let began = std::mem::replace(&mut self.part, part);
        let interim = Interim {
            work: interim_work(&self.run.plan, self.unit, &before, &tally),
            seconds: now.since(then).as_secs_f64(),
            ended: clock::since_epoch(),
            ended_nanos: now.nanos(),
            iteration: self.iteration,
            parts: part.map(|part| (began.unwrap_or(self.first_part()), part)),
            counts: tally.since(&before),
            arrived: None,
            tcp: live.tcp().map(tcp_facts),
            times: self.times(live),
        };
        out(&interim_line(
            &self.run.plan,
            &self.run.report,
            self.kept.len(),
            &interim,
        ));
        self.kept.push(interim);
    }

    /// The part with which a run begins of which only one part counts.
    fn first_part(&self) -> RunPart {
        match &self.run.plan.many {
            Some(many) if !many.warmup.is_zero() => RunPart::WarmUp,
            Some(_) | None => RunPart::Measured,
        }
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

/// Counts of a run, and observation of its connections as far as interim results in JSON,
/// `--until` or a display need it.
pub(super) fn live(run: &RunCommand) -> Live {
    let mut live = Live::default();
    if run.plan.interim.is_some() && run.report.format.is_json() {
        live = live.with_tcp();
    }
    live = until::live(&run.plan, live);
    if run.plan.remote.until {
        live = live.that_tells();
    }
    show::live(run, live)
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
    let last = (clock::now(), Tally::default());
    let mut printer = InterimPrinter {
        run,
        unit,
        iteration,
        kept,
        last,
        part: None,
        times: Latency::default(),
    };
    // A rate of 0 is no round-trip time: flent fails on it. A line of text waits for a
    // transaction, as in netperf 2.7, and its interval is longer.
    let waits = run.plan.flow.counts_transactions() && !run.report.format.is_json();
    let every = if waits { interval / LOOKS } else { interval };
    let mut due = last.0.plus(interval);
    let tick = || {
        let (now, tally) = (clock::now(), live.read());
        // Parts of an interval are whole nanoseconds, and eight of them a little less than it.
        let early = now.plus(Duration::from_nanos(LOOKS.into())) < due;
        let none = tally.transactions == printer.last.1.transactions;
        if waits && (early || none) {
            return ControlFlow::Continue(());
        }
        printer.print(now, tally, live);
        due = due.plus(interval).max(now.plus(interval / 2));
        ControlFlow::Continue(())
    };
    let done = ticker::beside((last.0, every), tick, work);
    let tally = live.read();
    if tally != printer.last.1 {
        printer.print(live.over().unwrap_or_else(clock::now), tally, live);
    }
    done
}
