//! A rate that was kept to: what was asked for, and what came of it.

use netperf_model::rate::{Points, asked, over_all};
use netperf_model::{Iteration, Lateness, Paced, TestPlan};

use super::finite;
use super::latency::Latency;

/// The rate that an end kept to.
#[derive(Debug)]
pub(super) struct Rate {
    kept_by: &'static str,
    unit: &'static str,
    asked_per_second: f64,
    arrival: &'static str,
    seed: Option<u64>,
    due: Option<u64>,
    sent: Option<u64>,
    sending_seconds: Option<f64>,
    sent_per_second: Option<f64>,
    held_back_requests: Option<u64>,
    unanswered_requests: Option<u64>,
    most_in_flight_requests: Option<u64>,
}

object!(Rate {
    kept_by,
    unit,
    asked_per_second,
    arrival,
    seed,
    due,
    sent,
    sending_seconds,
    sent_per_second,
    held_back_requests,
    unanswered_requests,
    most_in_flight_requests,
});

/// The three objects of a document that are about a rate.
#[derive(Debug, Default)]
pub(super) struct Rated {
    pub(super) rate: Option<Rate>,
    pub(super) service_time: Option<Latency>,
    pub(super) lateness: Option<Latency>,
}

impl Rated {
    /// What is known of a plan with these iterations.
    pub(super) fn of(plan: &TestPlan, runs: &[Iteration]) -> Self {
        let paced = over_all(runs);
        let of_paced = |pick: fn(&Paced) -> u64| paced.as_ref().map(pick);
        let requests = |pick: fn(&Paced) -> u64| {
            let own = paced.as_ref().filter(|paced| paced.service.is_some());
            own.map(pick)
        };
        Self {
            rate: asked(plan).map(|rate| Rate {
                kept_by: if plan.local.rate.is_some() {
                    "local"
                } else {
                    "remote"
                },
                unit: rate.unit.label(),
                asked_per_second: rate.per_second,
                arrival: rate.arrival.label(),
                seed: rate.seed,
                due: of_paced(|paced| paced.due),
                sent: of_paced(|paced| paced.sent),
                sending_seconds: paced.as_ref().and_then(|paced| finite(paced.seconds)),
                sent_per_second: paced.as_ref().and_then(|paced| finite(paced.rate()?)),
                held_back_requests: requests(|paced| paced.held_back),
                unanswered_requests: requests(|paced| paced.unanswered),
                most_in_flight_requests: requests(|paced| paced.most_in_flight),
            }),
            service_time: paced
                .as_ref()
                .and_then(|paced| paced.service.as_ref())
                .map(Latency::of),
            lateness: paced.as_ref().map(|paced| match &paced.lateness {
                Lateness::Whole(times) => Latency::of(times),
                Lateness::Told(points) => told(points, &paced.lateness),
            }),
        }
    }
}

/// What is known of a distribution of which only a few points are.
fn told(points: &Points, lateness: &Lateness) -> Latency {
    let known = points.count > 0;
    Latency::of_points(
        points.count,
        known.then_some(points.max),
        lateness.mean().and_then(finite),
        |share| lateness.quantile(share),
    )
}
