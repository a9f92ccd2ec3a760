//! A requested rate, and the rate that was reached.

use netperf_model::fields::MeasuredFigure;
use netperf_model::rate::{asked, over_all};
use netperf_model::{Iteration, Lateness, Paced, TestPlan};
use serde::{Deserialize, Serialize};

use super::latency::{LatencySummary, percentiles};

/// The rate of a program that sends at a rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "rate")]
pub struct RateResult {
    /// The end that sends and keeps to it.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["local", "remote"])))]
    pub kept_by: String,
    /// The unit of the rate.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["transactions", "bits", "packets"])))]
    pub unit: String,
    /// The requested rate.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub asked_per_second: f64,
    /// The distribution of requests over time.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["constant", "poisson"])))]
    pub arrival: String,
    /// The seed of random times. Null if none are random.
    pub seed: Option<u64>,
    /// The amount that was due while the end was sending, in the unit of the rate. This and
    /// the following are of all iterations, and null if unknown.
    pub due: Option<u64>,
    /// The amount that was sent, in the unit of the rate.
    pub sent: Option<u64>,
    /// The time of sending.
    pub sending_seconds: MeasuredFigure,
    /// The rate that was reached.
    pub sent_per_second: MeasuredFigure,
    /// Requests that were due and waited for space on the connection. This and the following
    /// are null without requests.
    pub held_back_requests: Option<u64>,
    /// Requests without a response at the end of the run; the latency does not include them.
    pub unanswered_requests: Option<u64>,
    /// The most requests in flight at the same time.
    pub most_in_flight_requests: Option<u64>,
}

/// Rate, service time and lateness over all iterations.
pub(super) fn rate_results(
    plan: &TestPlan,
    runs: &[Iteration],
) -> (
    Option<RateResult>,
    Option<LatencySummary>,
    Option<LatencySummary>,
) {
    let paced = over_all(runs);
    let paced = paced.as_ref();
    let requests = |pick: fn(&Paced) -> u64| {
        let paced = paced.filter(|paced| paced.service.is_some());
        paced.map(pick)
    };
    let kept_by = if plan.local.rate.is_some() {
        "local"
    } else {
        "remote"
    };
    let rate = asked(plan).map(|rate| RateResult {
        kept_by: kept_by.to_owned(),
        unit: rate.unit.label().to_owned(),
        asked_per_second: rate.per_second,
        arrival: rate.arrival.label().to_owned(),
        seed: rate.seed,
        due: paced.map(|paced| paced.due),
        sent: paced.map(|paced| paced.sent),
        sending_seconds: MeasuredFigure::of(paced.map(|paced| paced.seconds)),
        sent_per_second: MeasuredFigure::of(paced.and_then(Paced::rate)),
        held_back_requests: requests(|paced| paced.held_back),
        unanswered_requests: requests(|paced| paced.unanswered),
        most_in_flight_requests: requests(|paced| paced.most_in_flight),
    });
    let service = paced.and_then(|paced| paced.service.as_ref());
    (
        rate,
        service.map(LatencySummary::of),
        paced.map(|paced| lateness(&paced.lateness)),
    )
}

/// The distribution, or its known points: netserver reports no histogram.
fn lateness(lateness: &Lateness) -> LatencySummary {
    match lateness {
        Lateness::Whole(times) => LatencySummary::of(times),
        Lateness::Told(points) => LatencySummary {
            count: points.count,
            max_nanoseconds: (points.count > 0).then_some(points.max),
            mean_nanoseconds: MeasuredFigure::of(lateness.mean()),
            percentiles: percentiles(|share| lateness.quantile(share)),
            ..LatencySummary::default()
        },
    }
}
