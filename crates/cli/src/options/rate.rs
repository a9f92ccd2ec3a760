//! The options about a rate to keep to, which have names only.

use netperf_model::Arrival;

use crate::args::GlobalArgs;
use crate::grammar;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::OptionSpec;

type Opt = OptionSpec<GlobalArgs>;

pub(super) const RATE: Opt = Opt::named("rate", Group::Pacing)
    .takes("number", ValueKind::Rate)
    .set(|a, text| a.rate.rate = grammar::rate(text))
    .help("send at this rate: requests per second, or bits per second")
    .more(
        "A number, optionally with a fraction, and k, M or G for 10^3, 10^6 or 10^9. In \
         request/response tests it counts requests: they are sent when they are due, independent \
         of earlier responses, and the latency counts from the due time. In one-way tests it \
         counts bits, or, with the suffix pps, messages of transports that preserve them (20kpps): \
         the sending end spaces them evenly. Many flows (--flows) share the rate; tests that open \
         a connection each time need --flows. netperf warns if it could not keep the rate.",
    );

pub(super) const ARRIVAL: Opt = Opt::named("arrival", Group::Pacing)
    .takes("pattern", ValueKind::Word(Arrival::WORDS))
    .set(|a, text| a.rate.arrival = Arrival::named(text))
    .help("distribution of requests at a rate: constant or poisson")
    .more(
        "constant has equal intervals, poisson exponentially distributed ones, as for requests \
         from many clients.",
    );

pub(super) const SEED: Opt = Opt::named("seed", Group::Pacing)
    .takes("number", ValueKind::Seed)
    .set(|a, text| a.rate.seed = text.parse().ok())
    .help("seed of the random times of --arrival poisson")
    .more("The same number gives the same times. RATE_SEED and JSON show the seed that was used.");
