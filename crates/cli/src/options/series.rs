//! The options about what is written down over time, which have names only.

use std::time::Duration;

use netperf_model::Stamper;

use super::set_both_ends;
use crate::args::GlobalArgs;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionSpec};

type Opt = OptionSpec<GlobalArgs>;

/// One time or two.
const PERIODS: ValueKind = ValueKind::twice(&ValueKind::Period);
/// The most connections that can be watched.
const MOST_FLOWS: u32 = netperf_model::SeriesPlan::MOST_FLOWS;

pub(super) const SERIES: Opt = Opt::without_letter(
    "local,remote",
    "record the TCP state of connections at this interval",
    Action::Value(|a, text| set_both_ends(&mut a.series.every, text, time)),
)
.long("series", Group::Output, PERIODS)
.more(
    "Round trip, congestion window, retransmissions, pacing and delivery rate and more \
     (TCP_INFO), from the beginning to the end of the connection, by a separate thread. JSON \
     contains all samples, `netperf report` draws them, and selectors such as LOCAL_TCP_RTT_MAX \
     summarise them. One value is for both ends, 0 for neither: `--series 100ms,0` excludes \
     netserver, which must otherwise be this program. From 1ms to 1h; beyond 16384 samples every \
     second one is dropped.",
);

pub(super) const FLOWS: Opt = Opt::without_letter(
    "number",
    "with many flows, record this many",
    Action::Value(|a, text| a.series.flows = text.parse().ok()),
)
.long(
    "series-flows",
    Group::Output,
    ValueKind::Within(1, MOST_FLOWS),
)
.more("The default is 8. Both ends select the same: those with the smallest netperf ports.");

pub(super) const TIMESTAMPS: Opt = Opt::without_letter(
    "clock",
    "split transactions into stack and wire, each way, by the kernel's or the device's clock",
    Action::Value(|a, text| a.series.stamps = Stamper::named(text)),
)
.long("timestamps", Group::Output, ValueKind::Word(Stamper::WORDS))
.more(
    "In TCP_RR and UDP_RR with one transaction at a time. The kernels of both ends timestamp \
     sent and received packets (SO_TIMESTAMPING); the offset of their clocks is estimated from \
     the fastest round trips, and shown with its error. --json, -v 2 and selectors such as \
     WIRE_THERE_USEC show the parts. Both ends must be this program. With hardware the network \
     devices make the timestamps, if they can (ethtool -T): netperf enables them on its own \
     device for the run, netserver's must be enabled beforehand.",
);

/// Seconds, as the kind of the option hands them on.
fn time(text: &str) -> Duration {
    let seconds = text.parse().unwrap_or(0.0);
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
