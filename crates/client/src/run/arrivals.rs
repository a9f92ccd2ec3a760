//! Data that arrived at netserver in parts of the run.

use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::{
    Arrivals, ArrivedAmount, Feature, Flows, Interim, Iteration, MonotonicOffset, TestPlan, Warning,
};
use netperf_program::output::Failure;
use netperf_session::{SessionError, offer};

use super::TestRun;
use crate::failure;

const WHY: &str = "the amount that arrived in the measured time is unknown: a netserver of this \
 program's version reports it with its results, and TCP knows it otherwise";

/// Number of readings of netserver's clock.
const READINGS: usize = 16;
/// Time after which no further reading is begun.
const LONGEST: Duration = Duration::from_millis(300);
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
        while readings.len() < READINGS && (readings.is_empty() || begun.elapsed() < LONGEST) {
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

/// Warning for a part of a run in which the arrived amount is unknown.
pub(super) fn doubt(plan: &TestPlan, runs: &[Iteration]) -> Option<Warning> {
    let unknown = |run: &Iteration| run.window().is_some_and(|window| window.arrived.is_none());
    let any = offer::wants_arrivals(plan) && runs.iter().any(unknown);
    any.then(|| Warning::Imprecise(WHY.to_owned()))
}

/// Shortest time without arrivals that is a stall.
const STALL: f64 = 0.3;

/// Warning about a time in which netperf sent datagrams and none arrived at netserver.
pub(super) fn stalled(plan: &TestPlan, intervals: &[Interim]) -> Option<Warning> {
    let datagrams = !plan.transport.row().reliable && plan.flow.duplex.is_none();
    // While netserver is stopped, it takes no samples: what arrives meanwhile is unknown.
    let starves = |one: &Interim| one.arrived.unwrap_or(0) == 0 && one.counts.bytes_sent > 0;
    let are_known = intervals.iter().any(|one| one.arrived > Some(0));
    let (mut longest, mut now) = (0.0_f64, 0.0);
    for one in intervals.iter().filter(|_| datagrams && are_known) {
        now = if starves(one) { now + one.seconds } else { 0.0 };
        longest = longest.max(now);
    }
    (longest >= STALL).then(|| {
        Warning::Stalled(format!(
            "nothing arrived at netserver for {longest:.1} s while netperf sent: netserver was \
             stopped, or the path lost everything"
        ))
    })
}

/// Cuts what netserver received in its sessions to the part of the run that counts, and to the
/// intervals of this iteration.
pub(super) fn cut(
    sessions: &[Option<Arrivals>],
    offset: Option<MeasuredOffset>,
    many: Option<&mut Flows>,
    intervals: &mut [Interim],
) {
    let sessions: Option<Vec<&Arrivals>> = sessions.iter().map(Option::as_ref).collect();
    let (Some(sessions), Some(offset)) = (sessions, offset.map(MeasuredOffset::now)) else {
        return;
    };
    let within = |begin, length| {
        let each = sessions.iter().map(|one| one.within(begin, length, offset));
        let each: Option<Vec<ArrivedAmount>> = each.collect();
        each?.into_iter().reduce(ArrivedAmount::plus)
    };
    let nanos = |seconds: f64| {
        let length = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
    };
    if let Some(window) = many.and_then(|flows| flows.window.as_mut()) {
        let arrived = within(window.begin_nanos, nanos(window.seconds));
        window.arrived = arrived.or(window.arrived);
    }
    for interval in intervals {
        let length = nanos(interval.seconds);
        let begin = interval.ended_nanos.saturating_sub(length);
        let arrived = within(begin, length);
        interval.arrived = arrived.map(|arrived| arrived.bytes);
    }
}
