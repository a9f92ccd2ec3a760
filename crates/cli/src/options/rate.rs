//! The options about a rate to keep to, which have names only.

use netperf_model::Arrival;

use crate::args::GlobalArgs;
use crate::grammar;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionSpec};

type Opt = OptionSpec<GlobalArgs>;

pub(super) const RATE: Opt = Opt::without_letter(
    "number",
    "send at this rate: requests per second, or bits per second",
    Action::Value(|a, text| a.rate.rate = grammar::rate(text)),
)
.long("rate", Group::Pacing, ValueKind::Rate)
.more(
    "A number, optionally with a fraction, and k, M or G for 10^3, 10^6 or 10^9. In \
     request/response tests it counts requests: they are sent when they are due, independent of \
     earlier responses, and the latency counts from the due time. In one-way tests it counts \
     bits, or, with the suffix pps, messages of transports that preserve them (20kpps): the \
     sending end spaces them evenly. Many flows (--flows) share the rate; tests that open a \
     connection each time need --flows. netperf warns if it could not keep the rate.",
);

pub(super) const ARRIVAL: Opt = Opt::without_letter(
    "pattern",
    "distribution of requests at a rate: constant or poisson",
    Action::Value(|a, text| a.rate.arrival = Arrival::named(text)),
)
.long("arrival", Group::Pacing, ValueKind::Word(&Arrival::WORDS))
.more(
    "constant has equal intervals, poisson exponentially distributed ones, as for requests from \
     many clients.",
);

pub(super) const SEED: Opt = Opt::without_letter(
    "number",
    "seed of the random times of --arrival poisson",
    Action::Value(|a, text| a.rate.seed = text.parse().ok()),
)
.long("seed", Group::Pacing, ValueKind::Seed)
.more("The same number gives the same times. RATE_SEED and JSON show the seed that was used.");
