//! The options about a rate to keep to, which have names only.

use netperf_model::Arrival;

use crate::args::GlobalArgs;
use crate::grammar;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionRow};

type Opt = OptionRow<GlobalArgs>;

pub(super) const RATE: Opt = Opt::without_letter(
    "number",
    "send at this rate: requests per second, or bits per second",
    Action::Value(|a, text| a.rate.rate = grammar::rate(text)),
)
.long("rate", Group::Pacing, ValueKind::Rate)
.more(
    "A number, perhaps with a fraction, and k, M or G behind it for 10^3, 10^6 or 10^9. In \
     request/response tests it counts requests: they are sent when they are due, whether or \
     not earlier responses have come, and the latency counts from when a request was due. In \
     tests that send one way it counts bits, or with pps behind it the messages of transports \
     that keep them whole (20kpps): they are spaced evenly by the end that sends. Many flows \
     (--flows) share the rate, and tests that open a connection each time take it with flows \
     alone. netperf says so when it could not keep to the rate.",
);

pub(super) const ARRIVAL: Opt = Opt::without_letter(
    "pattern",
    "how requests at a rate are spread: constant or poisson",
    Action::Value(|a, text| a.rate.arrival = Arrival::named(text)),
)
.long("arrival", Group::Pacing, ValueKind::Word(&Arrival::WORDS))
.more(
    "constant has the same time between any two, poisson an exponentially distributed one, \
     as requests have that come from many clients.",
);

pub(super) const SEED: Opt = Opt::without_letter(
    "number",
    "where the random times of --arrival poisson start from",
    Action::Value(|a, text| a.rate.seed = text.parse().ok()),
)
.long("seed", Group::Pacing, ValueKind::Seed)
.more("The same number gives the same times. RATE_SEED and JSON tell which one was used.");
