//! Data that arrived at netserver in parts of the run.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::figures::count;
use netperf_model::{
    ArrivalSample, Arrivals, ArrivedAmount, Feature, Flows, Interim, Iteration, MonotonicOffset,
    TestPlan, Warning,
};
use netperf_os::tcp;
use netperf_program::output::Failure;
use netperf_session::{SessionError, offer};

use super::TestRun;
use crate::failure;

const WHY: &str = "the amount that arrived in the measured time is unknown: a netserver of this \
 program's version reports it with its results, and TCP knows it otherwise";

/// Number of readings of netserver's clock.
const READINGS: usize = 16;
/// The least number where the kernel does not tell how long a round trip takes.
const FEW: usize = 4;
/// Time after which no further reading is begun, and that where each one so far took a
/// retransmission.
const LONGEST: Duration = Duration::from_millis(300);
const LONGEST_WITH_LOSS: Duration = Duration::from_secs(3);
/// The most that two clocks drift apart: one nanosecond in this many.
const DRIFT: u64 = 30_000;

/// Offset of netserver's clock and the moment of its measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeasuredOffset {
    offset: MonotonicOffset,
    at: Moment,
}

impl MeasuredOffset {
    /// The offset, with what the clocks may have drifted apart until now.
    fn now(self) -> MonotonicOffset {
        let age = clock::now().nanos_since(self.at);
        MonotonicOffset {
            error: self.offset.error.saturating_add(age / DRIFT),
            ..self.offset
        }
    }
}

impl TestRun<'_> {
    /// Measures the offset of netserver's clock over the idle control connection, if parts of
    /// the run are to be cut from what netserver receives.
    pub(super) fn clock_offset(&mut self) -> Result<Option<MeasuredOffset>, Failure> {
        let plan = self.plan();
        let margins = plan.many.as_ref().is_some_and(|many| many.has_margins());
        let parts = margins || plan.interim.is_some();
        let arrivals = self.optional.contains(&Feature::Arrivals);
        let Some(talk) = self.talk.as_mut().filter(|_| arrivals && parts) else {
            return Ok(None);
        };
        let begun = clock::now();
        let mut readings = Vec::with_capacity(READINGS);
        while reads_again(&readings, begun.elapsed(), talk.link().fd()) {
            let before = clock::now().nanos();
            let Some(there) = talk.clock().map_err(|error| failure::session(&error))? else {
                let malformed = "no reading of netserver's clock".to_owned();
                return Err(failure::session(&SessionError::Malformed(malformed)));
            };
            readings.push((before, there, clock::now().nanos()));
        }
        Ok(MonotonicOffset::of(readings).map(|offset| MeasuredOffset { offset, at: begun }))
    }
}

/// Returns whether the clock is read once more after these readings, which took so long.
fn reads_again(readings: &[(u64, u64, u64)], elapsed: Duration, control: BorrowedFd<'_>) -> bool {
    let took = readings.iter().map(|(before, _, after)| after - before);
    let Some(best) = took.min() else {
        return true;
    };
    let all_late = || {
        let least = least_round_trip(control);
        least.map_or(readings.len() < FEW, |least| best > least * 2)
    };
    let is_time = elapsed < LONGEST || elapsed < LONGEST_WITH_LOSS && all_late();
    readings.len() < READINGS && is_time
}

/// The shortest round trip of a connection that the kernel has seen, nanoseconds.
fn least_round_trip(control: BorrowedFd<'_>) -> Option<u64> {
    let micros = tcp::detail(control).ok()?.min_rtt?;
    Some(u64::from(micros) * 1000)
}

/// Warning for a part of a run in which the arrived amount is unknown.
pub(super) fn doubt(plan: &TestPlan, runs: &[Iteration]) -> Option<Warning> {
    let unknown = |run: &Iteration| run.window().is_some_and(|window| window.arrived.is_none());
    let any = offer::wants_arrivals(plan) && runs.iter().any(unknown);
    any.then(|| Warning::Imprecise(WHY.to_owned()))
}

/// Shortest time without arrivals that is a stall.
const STALL: f64 = 0.3;
/// The same where only netserver's samples show it, which are up to a quarter of a second apart, and
/// the shortest run of which it is said: a busy host stops a process for parts of a second.
const SAMPLED_STALL: f64 = 0.75;
const SAMPLED_RUN: f64 = 1.5;
/// A pause of so many mean times from one datagram to the next, or of so many intervals between
/// bursts, is a stall.
const PAUSES: f64 = 10.0;

/// Warning about a time in which netperf sent datagrams and none arrived at netserver.
pub(super) fn stalled(
    plan: &TestPlan,
    intervals: &[Interim],
    runs: &[Iteration],
) -> Option<Warning> {
    let datagrams = !plan.transport.row().reliable && plan.flow.duplex.is_none();
    if !datagrams || plan.flow.counts_transactions() {
        return None;
    }
    // Without loss, delayed data has arrived in the end: no result is lower.
    if !runs.iter().any(lost_some) {
        return None;
    }
    let longest = longest_interval(intervals).filter(|longest| *longest >= STALL);
    let sampled = || {
        let each = runs.iter().filter_map(|run| longest_gap(plan, run));
        each.reduce(f64::max)
    };
    let longest = longest.or_else(sampled)?;
    Some(stall(plan, longest))
}

/// Warning about so many seconds without arrivals.
pub(super) fn stall(plan: &TestPlan, seconds: f64) -> Warning {
    Warning::Stalled(match (plan.flow.sends, plan.flow.receives) {
        (true, true) => format!(
            "nothing arrived at either end for {seconds:.1} s: netserver was stopped, or the path \
             lost everything"
        ),
        (true, false) => format!(
            "nothing arrived at netserver for {seconds:.1} s while netperf sent: netserver was \
             stopped, or the path lost everything"
        ),
        (false, _) => format!(
            "nothing arrived from netserver for {seconds:.1} s: netserver was stopped, or the path \
             lost everything"
        ),
    })
}

/// Returns whether datagrams that left netperf's host did not arrive.
fn lost_some(run: &Iteration) -> bool {
    let arrived = run.remote.as_ref().map(|end| end.tally.bytes_received);
    arrived.is_some_and(|arrived| arrived < run.local.tally.bytes_sent)
}

/// Longest time of intervals in which netperf sent and nothing arrived, seconds.
fn longest_interval(intervals: &[Interim]) -> Option<f64> {
    // While netserver is stopped, it takes no samples: what arrives meanwhile is unknown.
    let starves = |one: &Interim| one.arrived.unwrap_or(0) == 0 && one.counts.bytes_sent > 0;
    let are_known = intervals.iter().any(|one| one.arrived > Some(0));
    let (mut longest, mut now) = (0.0_f64, 0.0);
    for one in intervals {
        now = if starves(one) { now + one.seconds } else { 0.0 };
        longest = longest.max(now);
    }
    are_known.then_some(longest)
}

/// Longest time of a run in which netserver took no sample, or nothing arrived, seconds; `None` if
/// it is no stall.
fn longest_gap(plan: &TestPlan, run: &Iteration) -> Option<f64> {
    let remote = run.remote.as_ref()?;
    let samples = remote.arrivals.as_ref()?.samples.as_slice();
    // The data begins between the last sample without it and the first one with it.
    let first = samples.iter().position(|sample| sample.bytes > 0)?;
    let [before, with] = [first.saturating_sub(1), first].map(|at| samples.get(at));
    let begin = (count(before?.nanos) + count(with?.nanos)) / 2e9;
    let end = begin + run.elapsed;
    let gap = |pair: &[ArrivalSample]| match pair {
        [from, to] => (count(to.nanos) / 1e9).min(end) - count(from.nanos) / 1e9,
        _ => 0.0,
    };
    let samples = samples.get(first.saturating_sub(1)..)?;
    let longest = samples.windows(2).map(gap).fold(0.0, f64::max);
    let between = run.elapsed / count(remote.tally.recv_calls.max(1));
    let paused = plan
        .local
        .pace
        .map_or(0.0, |pace| pace.interval.as_secs_f64());
    let least = SAMPLED_STALL.max(PAUSES * between.max(paused));
    (longest >= least && run.elapsed >= SAMPLED_RUN).then_some(longest)
}

/// Cuts what netserver received in its sessions to the part of the run that counts, and to the
/// intervals of this iteration. Returns when the last of it arrived, nanoseconds of netperf's clock,
/// if known.
pub(super) fn cut(
    sessions: &[Option<Arrivals>],
    offset: Option<MeasuredOffset>,
    many: Option<&mut Flows>,
    intervals: &mut [Interim],
) -> Option<u64> {
    let sessions: Option<Vec<&Arrivals>> = sessions.iter().map(Option::as_ref).collect();
    let (sessions, offset) = (sessions?, offset?.now());
    let within = |begin, length, farthest| {
        let amount = |one: &&Arrivals| one.within(begin, length, farthest, offset);
        let each: Option<Vec<ArrivedAmount>> = sessions.iter().map(amount).collect();
        each?.into_iter().reduce(ArrivedAmount::plus)
    };
    let nanos = |seconds: f64| {
        let length = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
    };
    if let Some(window) = many.and_then(|flows| flows.window.as_mut()) {
        let length = nanos(window.seconds);
        let arrived = within(window.begin_nanos, length, length / 4);
        window.arrived = arrived.or(window.arrived);
    }
    // Their amounts are printed without an error: edges that may be off by much tell nothing. What is
    // left of the last one may be short.
    let whole = intervals.iter().map(|one| nanos(one.seconds)).max();
    let farthest = whole.unwrap_or_default() / 4;
    for interval in intervals {
        let length = nanos(interval.seconds);
        let begin = interval.ended_nanos.saturating_sub(length);
        let arrived = within(begin, length, farthest).filter(|_| offset.error <= farthest);
        interval.arrived = arrived.map(|arrived| arrived.bytes);
    }
    let ends = sessions.iter().map(|one| one.last_arrival(offset));
    ends.max().flatten()
}

#[cfg(test)]
mod tests {
    use netperf_model::{EndResult, Tally};

    use super::*;
    use crate::planned::{plan, ran};

    /// The gap of a run of 2 s whose samples are at these milliseconds with these bytes.
    fn gap(words: &str, samples: &[(u64, u64)]) -> Option<f64> {
        let sample = |&(millis, bytes): &(u64, u64)| ArrivalSample {
            nanos: millis * 1_000_000,
            bytes,
        };
        let remote = EndResult {
            tally: Tally {
                recv_calls: 1000,
                ..Tally::default()
            },
            arrivals: Some(Arrivals {
                samples: samples.iter().map(sample).collect(),
            }),
            ..EndResult::default()
        };
        let run = ran(2.0, EndResult::default(), Some(remote));
        longest_gap(&plan(&format!("netperf -H a -t UDP_STREAM {words}")), &run)
    }

    #[test]
    fn stall_at_the_end_is_the_time_to_the_end_of_the_test_and_no_longer() {
        let steady: Vec<(u64, u64)> = (0..50).map(|at| (at * 40, at * 100)).collect();
        assert_eq!(gap("", &steady), None);
        // A netserver that learns late of the end has taken no sample meanwhile.
        let late = [&steady[..], &[(5000, 5000)]].concat();
        assert_eq!(gap("", &late), None);
        // Stopped from 1.12 s on; the data began between 0 and 0.04 s.
        let stopped = [&steady[..29], &[(2100, 2900)]].concat();
        let longest = gap("", &stopped).expect("a stall");
        assert!((longest - 0.9).abs() < 0.01, "{longest}");
        // A path that loses everything for a second.
        let lossy = [&steady[..20], &[(1760, 1900)], &steady[45..]].concat();
        assert!(gap("", &lossy) > Some(0.95));
        assert_eq!(gap("-b 1 -w 500", &lossy), None);
    }
}
