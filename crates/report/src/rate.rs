//! Selectors of a requested rate, which the original does not have: `all` and `?` omit them.

use netperf_model::rate::{asked, over_all};
use netperf_model::{Paced, RatePlan};

use crate::selectors::SelectorValue::Run;
use crate::selectors::{Need, SelectorRow, row};
use crate::values::{Value, text};
use crate::view::View;

/// Every one, in order.
#[rustfmt::skip]
pub(crate) static RATE: &[&[SelectorRow]] = &[
    &[
        row("ASKED_RATE", ["Asked", "Rate", "Per", "Second"], "of RATE_UNIT per second", "%.2f", Need::Nothing,
            Run(|v| plan(v, |rate| Value::Real(rate.per_second))),
            "the requested rate; with --rate, as all of these"),
        row("RATE_UNIT", ["Rate", "Unit", "", ""], "", "%s", Need::Nothing,
            Run(|v| plan(v, |rate| text(rate.unit.label()))),
            "what the rate counts: transactions, bits or packets"),
        row("OFFERED_RATE", ["Offered", "Rate", "Per", "Second"], "of RATE_UNIT per second", "%.2f", Need::Nothing,
            Run(|v| came(v, |paced| paced.rate().into())),
            "the rate at which they were sent, all iterations"),
        row("ARRIVAL", ["Arrival", "", "", ""], "", "%s", Need::Nothing,
            Run(|v| plan(v, |rate| text(rate.arrival.label()))),
            "distribution of requests: constant or poisson"),
        row("RATE_SEED", ["Rate", "Seed", "", ""], "", "%s", Need::Nothing,
            Run(|v| plan(v, |rate| rate.seed.map(|seed| text(&seed.to_string())).into())),
            "seed of the random times of --arrival poisson"),
        row("REQUESTS_HELD_BACK", ["Requests", "Held", "Back", ""], "requests", "%d", Need::Nothing,
            Run(|v| came(v, |paced| whole(paced.held_back))),
            "requests that were due but could not be sent at once, all iterations"),
        row("REQUESTS_UNANSWERED", ["Requests", "Unanswered", "", ""], "requests", "%d", Need::Nothing,
            Run(|v| came(v, |paced| whole(paced.unanswered))),
            "requests without a response when the run was over, all iterations"),
        row("MOST_IN_FLIGHT", ["Most", "Requests", "In", "Flight"], "requests", "%d", Need::Nothing,
            Run(|v| came(v, |paced| whole(paced.most_in_flight))),
            "maximum number of requests in flight, all iterations; with many flows that of one thread"),
    ],
];

fn plan(view: &View<'_>, value: impl Fn(&RatePlan) -> Value) -> Value {
    asked(view.plan()).map(value).into()
}

fn came(view: &View<'_>, value: impl Fn(&Paced) -> Value) -> Value {
    over_all(&view.outcome.iterations)
        .as_ref()
        .map(value)
        .into()
}

fn whole(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}
