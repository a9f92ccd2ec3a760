//! The figure of a run that is over: that of the result line, with its interval.

use std::time::Duration;

use netperf_model::figures::{self, count, document_unit};
use netperf_model::{Arrivals, EndSetup, Iteration, TestPlan, Until, UntilEnd, UntilPlan};
use netperf_stats::precision::of_mean;

use super::feed::{Feed, TOLERANCE};
use super::operation;

/// Replaces the mean that was judged by the figure of the result line. The interval includes the
/// distance of the two. Datagrams are judged by what arrived, if netserver has samples of it.
pub(crate) fn settle(
    plan: &TestPlan,
    setup: &EndSetup,
    found: Option<&mut Until>,
    runs: &[Iteration],
) {
    let (Some(wanted), Some(found), Some(run)) = (&plan.until, found, runs.last()) else {
        return;
    };
    let work = figures::work(plan, document_unit(plan), run);
    let rate = work.map_or(0.0, |(work, seconds)| work / seconds);
    if !rate.is_finite() || rate <= 0.0 {
        return;
    }
    if let Some(arrived) = arrived(plan, run) {
        let feed = Feed::new(wanted, arrived.every, operation(plan, setup));
        if let Some(judged) = feed.complete(arrived.values, rate, &found.percentiles) {
            *found = judged;
            return;
        }
    }
    let Some(known) = found.throughput else {
        return;
    };
    let known = known.around(rate);
    found.throughput = Some(known);
    let met = known.half_width <= wanted.precision * rate * TOLERANCE;
    if found.end == UntilEnd::Reached && !met {
        found.end = UntilEnd::TooNoisy;
    }
}

/// True if netperf sends datagrams and nothing answers them.
pub(super) fn sends_datagrams(plan: &TestPlan) -> bool {
    let flow = &plan.flow;
    let one_way = flow.sends && !flow.counts_transactions() && flow.duplex.is_none();
    one_way && !plan.transport.row().reliable
}

/// Rates of what arrived, bytes per second, interval by interval.
#[derive(Debug, Default)]
struct ArrivalRates {
    every: Duration,
    values: Vec<f64>,
}

/// The rates at which datagrams arrived. `None` if netserver has no samples of it.
fn arrived(plan: &TestPlan, run: &Iteration) -> Option<ArrivalRates> {
    let remote = run.remote.as_ref().filter(|_| sends_datagrams(plan))?;
    Some(rates(remote.arrivals.as_ref()?))
}

/// Rates in intervals of equal length between the first and the last sample.
fn rates(arrivals: &Arrivals) -> ArrivalRates {
    // Nothing arrives while the test is set up, and after its end.
    let samples = arrivals.samples.as_slice();
    let total = samples.last().map_or(0, |last| last.bytes);
    let begin = samples.partition_point(|sample| sample.bytes == 0);
    let end = samples.partition_point(|sample| sample.bytes < total);
    let samples = samples.get(begin..=end).unwrap_or_default();
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return ArrivalRates::default();
    };
    let intervals = samples.len() - 1;
    let length =
        count(last.nanos.saturating_sub(first.nanos)) / netperf_stats::moments::count(intervals);
    let at = |index: usize| {
        let then = count(first.nanos) + length * netperf_stats::moments::count(index);
        let behind = samples.partition_point(|sample| count(sample.nanos) <= then);
        let before = samples.get(behind.saturating_sub(1)).unwrap_or(first);
        let after = samples.get(behind).unwrap_or(last);
        let gap = count(after.nanos.saturating_sub(before.nanos)).max(1.0);
        let share = ((then - count(before.nanos)) / gap).clamp(0.0, 1.0);
        count(before.bytes) + count(after.bytes.saturating_sub(before.bytes)) * share
    };
    let ends: Vec<f64> = (0..=intervals).map(at).collect();
    let rate = |pair: &[f64]| match pair {
        [from, to] => (to - from) * 1e9 / length,
        _ => 0.0,
    };
    ArrivalRates {
        every: Duration::try_from_secs_f64(length / 1e9).unwrap_or_default(),
        values: ends.windows(2).map(rate).collect(),
    }
}

/// Warning for datagrams without samples of what arrived, if the share that did not arrive exceeds
/// the precision.
pub(super) fn lost(plan: &TestPlan, wanted: &UntilPlan, run: &Iteration) -> Option<String> {
    let remote = run.remote.as_ref().filter(|_| sends_datagrams(plan))?;
    if arrived(plan, run).is_some_and(|rates| of_mean(&rates.values, wanted.level).is_some()) {
        return None;
    }
    let sent = run.local.tally.bytes_sent;
    let share = count(sent.saturating_sub(remote.tally.bytes_received)) / count(sent.max(1));
    (share > wanted.precision).then(|| {
        let lost = netperf_report::percent(share);
        format!(
            "--until judged what was sent, of which {lost} did not arrive: the precision of \
             the received throughput is unknown"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_model::ArrivalSample;

    fn arrivals(samples: &[(u64, u64)]) -> Arrivals {
        let sample = |&(nanos, bytes)| ArrivalSample { nanos, bytes };
        Arrivals {
            samples: samples.iter().map(sample).collect(),
        }
    }

    #[test]
    fn samples_become_rates_of_equal_intervals_without_the_time_around_them() {
        let second = 1_000_000_000;
        // Set-up, four intervals with a late sample between them, and silence.
        let samples = [
            (0, 0),
            (second, 100),
            (2 * second, 200),
            (4 * second, 400),
            (5 * second, 500),
            (9 * second, 500),
        ];
        let rates = rates(&arrivals(&samples));
        assert_eq!(rates.every, Duration::from_nanos(4 * second / 3));
        assert_eq!(rates.values.len(), 3);
        assert!(
            rates.values.iter().all(|rate| (rate - 100.0).abs() < 1e-6),
            "{rates:?}"
        );
        assert!(super::rates(&arrivals(&[])).values.is_empty());
        assert!(
            super::rates(&arrivals(&[(0, 0), (second, 0)]))
                .values
                .is_empty()
        );
    }
}
