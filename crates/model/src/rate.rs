//! Rate control: the requested rate, the outcome, and warnings about the outcome.

use std::fmt;

use crate::catalog::tests::TestId;
use crate::figures::{count, whole};
use crate::latency::Latency;
use crate::outcome::{Iteration, Warning};
use crate::plan::TestPlan;
use crate::words::words;

words! {
    /// Unit of a rate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum RateUnit {
        /// Requests sent, in request/response tests.
        Transactions = "transactions",
        /// Bits of data, in one-way tests.
        Bits = "bits",
        /// Messages, in one-way tests with messages.
        Packets = "packets",
    }
}

impl RateUnit {
    /// Number in control messages; `None` for a unit that only netperf itself uses.
    #[must_use]
    pub const fn code(self) -> Option<u8> {
        match self {
            Self::Transactions => None,
            Self::Bits => Some(1),
            Self::Packets => Some(2),
        }
    }

    /// Unit with this number.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Bits),
            2 => Some(Self::Packets),
            _ => None,
        }
    }
}

words! {
    /// Distribution of the intervals between requests.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Arrival {
        /// Constant intervals.
        #[default]
        Constant = "constant",
        /// Exponentially distributed intervals, as between independent requests.
        Poisson = "poisson",
    }
}

/// Send rate of an end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatePlan {
    /// Number of units per second; above 0.
    pub per_second: f64,
    /// Unit of the rate.
    pub unit: RateUnit,
    /// Distribution of the intervals between requests.
    pub arrival: Arrival,
    /// Seed of the random intervals; `None` until netperf or netserver draws one.
    pub seed: Option<u64>,
}

/// Summary of a distribution that the other end measured, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Points {
    /// Number of measured times.
    pub count: u64,
    /// Mean of the times.
    pub mean: f64,
    /// The quantiles of [`Points::SHARES`].
    pub quantiles: [u64; 4],
    /// The longest time.
    pub max: u64,
}

impl Points {
    /// Shares of the reported quantiles.
    pub const SHARES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

    /// Summary of a distribution.
    #[must_use]
    pub fn of(times: &Latency) -> Self {
        Self {
            count: times.count,
            mean: times.mean().unwrap_or(0.0),
            quantiles: Self::SHARES.map(|share| times.quantile(share).map_or(0, whole)),
            max: times.max,
        }
    }
}

/// Lateness of messages: the time from the due time of a message to the moment when the kernel
/// gets its first byte.
#[derive(Clone, Debug, PartialEq)]
pub enum Lateness {
    /// Full distribution, as netperf measured it.
    Whole(Latency),
    /// Summary that netserver reported.
    Told(Points),
}

impl Default for Lateness {
    fn default() -> Self {
        Self::Whole(Latency::default())
    }
}

impl Lateness {
    /// Number of messages in the distribution.
    #[must_use]
    pub const fn count(&self) -> u64 {
        match self {
            Self::Whole(times) => times.count,
            Self::Told(points) => points.count,
        }
    }

    /// Time that a share `p` (0 to 1) of all messages does not exceed, nanoseconds; `None` if
    /// it was not measured or not reported.
    #[must_use]
    pub fn quantile(&self, p: f64) -> Option<f64> {
        match self {
            Self::Whole(times) => times.quantile(p),
            Self::Told(points) => {
                let told = Points::SHARES.iter().zip(points.quantiles);
                let mut told = told.chain(std::iter::once((&1.0, points.max)));
                let found = told.find(|(share, _)| (**share - p).abs() < 1e-9)?;
                (points.count > 0).then(|| count(found.1))
            }
        }
    }

    /// Mean, nanoseconds.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        match self {
            Self::Whole(times) => times.mean(),
            Self::Told(points) => (points.count > 0).then_some(points.mean),
        }
    }
}

/// Outcome of rate control at the sending end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paced {
    /// Amount due during the sending time, in the unit of the rate.
    pub due: u64,
    /// Amount sent, in the unit of the rate.
    pub sent: u64,
    /// Sending time, seconds.
    pub seconds: f64,
    /// Requests that waited: for space in the socket, or for a free place among those in
    /// flight.
    pub held_back: u64,
    /// Requests without a response at the end of the run.
    pub unanswered: u64,
    /// Those of them that were lost on the way, as later requests had a response; `None` if
    /// responses do not tell which requests they belong to.
    pub lost: Option<u64>,
    /// Maximum number of requests in flight at once; with many flows, of one thread.
    pub most_in_flight: u64,
    /// Lateness of messages.
    pub lateness: Lateness,
    /// Times from the actual send of a request to its response; `None` for tests without
    /// responses.
    pub service: Option<Latency>,
}

impl RatePlan {
    /// Share of the rate for each of `flows` flows.
    #[must_use]
    pub fn of_each(self, flows: u32) -> Self {
        Self {
            per_second: self.per_second / f64::from(flows.max(1)),
            ..self
        }
    }
}

impl Paced {
    /// Amount sent per second, in the unit of the rate; `None` if the sending time is zero.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| count(self.sent) / self.seconds)
    }

    /// Adds the outcome of another thread that ran at the same time.
    pub fn merge_beside(&mut self, other: &Self) {
        let seconds = self.seconds.max(other.seconds);
        self.merge(other);
        self.seconds = seconds;
    }

    /// Adds the outcome of another iteration.
    pub fn merge(&mut self, other: &Self) {
        self.due += other.due;
        self.sent += other.sent;
        self.seconds += other.seconds;
        self.held_back += other.held_back;
        self.unanswered += other.unanswered;
        self.lost = self.lost.zip(other.lost).map(|(own, more)| own + more);
        self.most_in_flight = self.most_in_flight.max(other.most_in_flight);
        match (&mut self.lateness, &other.lateness) {
            (Lateness::Whole(all), Lateness::Whole(more)) => all.merge(more),
            // Summaries of two distributions cannot be merged into one: the worse one stands.
            (Lateness::Told(own), Lateness::Told(other)) if own.max >= other.max => {}
            (own, other) => *own = other.clone(),
        }
        match (&mut self.service, &other.service) {
            (Some(all), Some(more)) => all.merge(more),
            (own @ None, Some(more)) => *own = Some(more.clone()),
            (_, None) => {}
        }
    }
}

/// Rate of the end of a test that has one.
#[must_use]
pub fn asked(plan: &TestPlan) -> Option<&RatePlan> {
    plan.local.rate.as_ref().or(plan.remote.rate.as_ref())
}

/// Outcome of rate control over all iterations; `None` without a rate, or without a report from
/// the end that sent.
#[must_use]
pub fn over_all(runs: &[Iteration]) -> Option<Paced> {
    let mut each = runs.iter().filter_map(|run| {
        let remote = run.remote.as_ref().and_then(|remote| remote.paced.as_ref());
        run.local.paced.as_ref().or(remote)
    });
    let mut all = each.next()?.clone();
    each.for_each(|more| all.merge(more));
    Some(all)
}

/// Returns true if data was sent at the rate asked for, which is then what limited it.
#[must_use]
pub fn limits_data(plan: &TestPlan, runs: &[Iteration]) -> bool {
    let asked = asked(plan).filter(|asked| asked.unit != RateUnit::Transactions);
    let reached = |(asked, paced): (&RatePlan, Paced)| !is_short(plan, asked, &paced);
    asked.zip(over_all(runs)).is_some_and(reached)
}

/// Largest acceptable share of the sender's lateness in a percentile of the latency.
const MATTERS: f64 = 0.1;
/// Percentiles at which the latency is compared with and without the sender's lateness.
const TAIL: [f64; 3] = [0.999, 0.99, 0.9];
/// Smallest acceptable share of the amount due that was sent.
const ENOUGH: f64 = 0.99;

/// Warnings about a run with a rate.
#[must_use]
pub fn doubts(plan: &TestPlan, runs: &[Iteration], latency: Option<&Latency>) -> Vec<Warning> {
    // The flows of TCP_MSS send nothing.
    let asked = asked(plan).filter(|_| plan.test != TestId::TcpMss);
    let (Some(asked), Some(paced)) = (asked, over_all(runs)) else {
        return Vec::new();
    };
    let late = latency
        .filter(|_| asked.unit == RateUnit::Transactions)
        .and_then(|latency| lateness_matters(&paced, latency));
    let slow = is_short(plan, asked, &paced).then(|| {
        let (sent, due, unit) = (paced.sent, paced.due, asked.unit.label());
        Warning::RateMissed(format!(
            "only {} % of the requested rate was sent ({sent} of {due} {unit}): it is too high for \
             this path or this host",
            share(sent as f64 / due as f64 * 100.0)
        ))
    });
    let unanswered = unanswered(plan, &paced);
    late.into_iter().chain(slow).chain(unanswered).collect()
}

/// Warning about requests at a rate that had no response.
fn unanswered(plan: &TestPlan, paced: &Paced) -> Option<Warning> {
    let lost = paced.lost.unwrap_or(0);
    let waiting = paced.unanswered.saturating_sub(lost);
    let lost = match lost {
        0 => None,
        1 => Some("1 request was lost and is not in the latency".to_owned()),
        _ => Some(format!(
            "{lost} requests were lost and are not in the latency"
        )),
    };
    let confused = if plan.transport.row().reliable || paced.lost.is_some() {
        ""
    } else {
        ", and what was lost on the way makes later responses look late"
    };
    let waiting = (waiting > 0).then(|| {
        let requests = if waiting == 1 { "request" } else { "requests" };
        format!(
            "{waiting} {requests} had no response when the run was over: the latency includes the \
             time until then{confused}"
        )
    });
    let texts: Vec<String> = lost.into_iter().chain(waiting).collect();
    (!texts.is_empty()).then(|| Warning::Unanswered(texts.join("; ")))
}

/// The same percentile of the same requests is compared, from the time they were due and from the
/// time they left. The lateness of all requests does not tell which of them had a long latency.
fn lateness_matters(paced: &Paced, latency: &Latency) -> Option<Warning> {
    let service = paced.service.as_ref()?;
    let late = |share: &f64| {
        let (all, own) = (latency.quantile(*share)?, service.quantile(*share)?);
        (all - own > MATTERS * all).then_some((*share, all, own))
    };
    let (share, all, own) = TAIL.iter().find_map(late)?;
    let cause = match paced.held_back {
        0 => String::new(),
        1 => "; 1 request waited for space on the connection".to_owned(),
        held => format!("; {held} requests waited for space on the connection"),
    };
    Some(Warning::GeneratorLate(format!(
        "load generator fell behind (P{} {} from due time, {} from send{cause}): tail latency is \
         overstated",
        share * 100.0,
        Millis(all),
        Millis(own)
    )))
}

/// Returns true if too little was sent. One missing message is acceptable: the last one may be
/// due as the time ends.
fn is_short(plan: &TestPlan, asked: &RatePlan, paced: &Paced) -> bool {
    let message = match asked.unit {
        RateUnit::Transactions | RateUnit::Packets => 1.0,
        RateUnit::Bits => {
            let end = if plan.local.rate.is_some() {
                &plan.local
            } else {
                &plan.remote
            };
            f64::from(end.send.size.unwrap_or(0)) * 8.0
        }
    };
    let flows = plan.many.as_ref().map_or(1, |many| many.flows);
    let missing = count(paced.due.saturating_sub(paced.sent));
    missing > message * f64::from(flows) && count(paced.sent) < ENOUGH * count(paced.due)
}

/// A share in percent that is below 100 and not 0.
fn share(percent: f64) -> String {
    if percent < 1.0 {
        format!("{percent:.2}")
    } else {
        format!("{:.0}", percent.min(99.0))
    }
}

/// Nanoseconds, formatted as milliseconds.
struct Millis(f64);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0 / 1e6;
        let digits = match millis {
            _ if millis >= 100.0 => 0,
            _ if millis >= 10.0 => 1,
            _ if millis >= 1.0 => 2,
            _ => 3,
        };
        write!(f, "{millis:.digits$} ms")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::Bucket;

    fn times(count: u64, nanos: u64) -> Latency {
        Latency {
            buckets: vec![Bucket {
                from: nanos,
                to: nanos,
                count,
            }],
            count,
            min: nanos,
            max: nanos,
            sum: nanos as f64 * count as f64,
            sum_of_squares: 0.0,
            clock_error: 0.0,
        }
    }

    #[test]
    fn a_lateness_of_a_tenth_of_the_latency_matters_and_less_does_not() {
        let paced = |service| Paced {
            service: Some(times(1000, service)),
            ..Paced::default()
        };
        assert!(lateness_matters(&paced(8_999), &times(1000, 10_000)).is_some());
        assert!(lateness_matters(&paced(9_001), &times(1000, 10_000)).is_none());
    }

    #[test]
    fn late_requests_that_others_outlast_do_not_matter() {
        // A hundredth of the requests left 5 us late, and others took 40 us.
        let mut late = times(990, 0);
        late.merge(&times(10, 5_000));
        let mut latency = times(900, 10_000);
        latency.merge(&times(100, 40_000));
        let paced = Paced {
            lateness: Lateness::Whole(late),
            service: Some(latency.clone()),
            ..Paced::default()
        };
        assert_eq!(lateness_matters(&paced, &latency), None);
    }

    #[test]
    fn a_told_distribution_knows_only_its_points() {
        let told = Lateness::Told(Points {
            count: 10,
            mean: 2.0,
            quantiles: [1, 2, 3, 4],
            max: 9,
        });
        assert_eq!(told.quantile(0.99), Some(3.0));
        assert_eq!(told.quantile(1.0), Some(9.0));
        assert_eq!(told.quantile(0.75), None);
        assert_eq!(Lateness::Told(Points::default()).quantile(0.5), None);
    }

    #[test]
    fn iterations_add_up() {
        let one = Paced {
            due: 10,
            sent: 9,
            seconds: 1.0,
            most_in_flight: 4,
            lateness: Lateness::Whole(times(9, 5)),
            service: Some(times(9, 7)),
            ..Paced::default()
        };
        let mut all = one.clone();
        all.merge(&one);
        assert_eq!((all.due, all.sent, all.most_in_flight), (20, 18, 4));
        assert_eq!(all.lateness.count(), 18);
        assert_eq!(all.service.as_ref().map(|times| times.count), Some(18));
        assert_eq!(all.rate(), Some(9.0));
    }
}
