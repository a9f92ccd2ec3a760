//! Going on until figures are known: another thread looks at the loop's counts, and ends the
//! run when they have said enough.

mod feed;
mod sections;
mod settled;

use std::ops::ControlFlow;
use std::time::Duration;

use netperf_engine::live::Live;
use netperf_measure::clock::{self, Moment};
use netperf_model::intervals::Intervals;
use netperf_model::{
    Duplex, EndSetup, Iteration, Limit, Tally, TestPlan, ThroughputUnit, Until, UntilEnd,
    UntilPlan, Warning,
};
use netperf_os::alarm;
use netperf_report::interim_work;

pub(super) use settled::settle;

use super::ticker;
use feed::Feed;

/// The time from one value to the next, and its limits: a judgement takes so many values
/// that a run of two seconds has to be looked at more often.
const EVERY: Duration = Duration::from_millis(10);
const MOST_OFTEN: Duration = Duration::from_millis(1);
/// Values that the longest run shall have at least, and at most.
const VALUES: (u32, u32) = (1_200, 200_000);
/// Assumed size of an operation without a known size, bytes.
const CHUNK: u32 = 16_384;

/// Interval at which the counters are read, for a run of this maximum length.
fn every(limit: Limit) -> Duration {
    let Limit::Time(longest) = limit else {
        return EVERY;
    };
    let often = (longest / VALUES.0).clamp(MOST_OFTEN, EVERY);
    let every = often.max(longest / VALUES.1).as_micros() / 100 * 100;
    u64::try_from(every).map_or(EVERY, Duration::from_micros)
}

/// The work of one operation, so that values with few operations are not taken for levels.
fn operation(plan: &TestPlan, setup: &EndSetup) -> f64 {
    if plan.flow.counts_transactions() {
        1.0
    } else {
        f64::from(setup.send_size.unwrap_or(CHUNK))
    }
}

/// Upper limit of the connections whose `TCP_INFO` is read at every interval.
const MOST_CONNECTIONS: u32 = 256;

/// The number of connections on which acknowledged bytes are counted instead of sent ones.
/// Sends into a buffer tell its size and when it has space, which on a slow link is no rate.
/// `None` if netperf's end does not send a stream over TCP, or over too many connections.
fn acknowledging(plan: &TestPlan) -> Option<u32> {
    let flow = &plan.flow;
    let sends = flow.sends && !flow.counts_transactions() && flow.duplex != Some(Duplex::Separate);
    let connections = plan.many.as_ref().map_or(1, |many| many.flows);
    (sends && netperf_model::tells_of_tcp(plan.transport) && connections <= MOST_CONNECTIONS)
        .then_some(connections)
}

/// Adds observation of the connections whose acknowledged bytes are counted.
pub(super) fn live(plan: &TestPlan, live: Live) -> Live {
    match acknowledging(plan).filter(|_| plan.until.is_some()) {
        None => live,
        Some(flows) if plan.many.is_some() => live.with_flows(flows),
        Some(_) => live.with_tcp(),
    }
}

/// Reads the counts of a run and judges them.
struct Watcher<'a> {
    plan: &'a TestPlan,
    /// The connections on which acknowledged bytes are counted.
    connections: Option<u32>,
    /// The kernel has told acknowledged bytes.
    acknowledges: bool,
    unit: ThroughputUnit,
    live: &'a Live,
    intervals: Intervals<Moment, Tally>,
    feed: Feed<'a>,
}

impl Watcher<'_> {
    /// Ends the run early once everything is known, or the user has ended it, so that the
    /// other end learns of it.
    fn watch(&mut self) -> ControlFlow<()> {
        if self.look() || alarm::stopped_by_user() {
            self.live.end_early();
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// The counts, with acknowledged bytes for sent ones where the kernel tells. `None` when it
    /// does so no longer, because connections end.
    fn tally(&mut self) -> Option<Tally> {
        let tally = self.live.read();
        let Some(connections) = self.connections else {
            return Some(tally);
        };
        match self.live.acknowledged(connections) {
            Some(bytes_sent) => {
                self.acknowledges = true;
                Some(Tally {
                    bytes_sent,
                    ..tally
                })
            }
            None => (!self.acknowledges).then_some(tally),
        }
    }

    /// Takes in what happened since the last look; whether everything is known now.
    fn look(&mut self) -> bool {
        let now = clock::now();
        let tally = self.tally();
        // Values after the end of the run are not representative.
        if self.live.is_ending() {
            return false;
        }
        let Some(tally) = tally else { return false };
        let (then, before) = self.intervals.finish(now, tally);
        let work = interim_work(self.plan, self.unit, &before, &tally);
        self.feed.add(work, now.since(then));
        if self.feed.wants_times() {
            self.feed.times(&self.live.latencies());
        }
        self.feed.is_enough()
    }
}

/// Runs `work` with a thread beside it that ends it once its figures are known, where that
/// is asked for.
pub(super) fn beside<T>(
    plan: &TestPlan,
    (unit, setup): (ThroughputUnit, &EndSetup),
    live: &Live,
    found: &mut Option<Until>,
    work: impl FnOnce() -> T,
) -> T {
    let Some(wanted) = &plan.until else {
        return work();
    };
    let every = every(plan.limit);
    let mut watcher = Watcher {
        plan,
        connections: acknowledging(plan),
        acknowledges: false,
        unit,
        live,
        intervals: Intervals::begin(clock::now(), Tally::default()),
        feed: Feed::new(wanted, every, operation(plan, setup)),
    };
    let grid = (watcher.intervals.end(), every);
    let done = ticker::beside(grid, || watcher.watch(), work);
    *found = Some(watcher.feed.found());
    done
}

/// Warning for a run that ended before it reached the requested accuracy, and for datagrams that
/// were judged by what was sent.
pub(super) fn doubt(plan: &TestPlan, found: Option<&Until>, runs: &[Iteration]) -> Option<Warning> {
    let (wanted, found) = (plan.until.as_ref()?, found?);
    let text = settled::lost(plan, wanted, runs.last()?).or_else(|| {
        let failed = found.end != UntilEnd::Reached;
        failed.then(|| words(plan, wanted, found))
    });
    text.map(Warning::Imprecise)
}

fn words(plan: &TestPlan, wanted: &UntilPlan, found: &Until) -> String {
    let asked = netperf_report::percent(wanted.precision);
    let seconds = found.looked_at().as_secs_f64();
    if found.end == UntilEnd::TooShort {
        return format!(
            "--until: {asked} was not reached: {seconds:.1} s are too short to judge, \
             give a longest time with -l"
        );
    }
    let reached = found.worst().map_or_else(
        || "no interval".to_owned(),
        |share| format!("+/-{}", netperf_report::percent(share)),
    );
    let rest = found.would_take.map_or_else(String::new, |time| {
        let seconds = time.as_secs_f64().ceil();
        // The amount that arrives is not known before the end, and cannot lengthen the run.
        let how = if settled::sends_datagrams(plan) {
            format!(" (-l {seconds:.0} without --until)")
        } else {
            String::new()
        };
        format!("; about {seconds:.0} s would do{how}")
    });
    format!(
        "--until: {asked} was not reached: too noisy: {reached} after {seconds:.1} s, {}{rest}",
        found.course.label()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_is_looked_at_more_often_and_one_of_days_less() {
        let of = |seconds| every(Limit::Time(Duration::from_secs(seconds)));
        assert_eq!(of(1), MOST_OFTEN);
        assert_eq!(of(6), Duration::from_millis(5));
        assert_eq!(of(600), EVERY);
        assert_eq!(of(86_400), Duration::from_millis(432));
        assert_eq!(every(Limit::UntilStopped), EVERY);
    }
}
