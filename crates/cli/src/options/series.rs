//! The options about what is written down over time, which have names only.

use netperf_model::Stamper;

use super::{set_both_ends, span};
use crate::args::GlobalArgs;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::OptionSpec;

type Opt = OptionSpec<GlobalArgs>;

/// One time or two.
const PERIODS: ValueKind = ValueKind::twice(&ValueKind::Period);
/// The most connections that can be watched.
const MOST_FLOWS: u32 = netperf_model::SeriesPlan::MOST_FLOWS;

pub(super) const SERIES: Opt = Opt::named("series", Group::Output)
    .takes("local,remote", PERIODS)
    .set(|a, text| {
        set_both_ends(&mut a.series.every, text, |text| {
            span(text).unwrap_or_default()
        })
    })
    .help("record the TCP state of connections at this interval")
    .more(
        "Round trip, congestion window, retransmissions, pacing and delivery rate and more \
         (TCP_INFO), from the beginning to the end of the connection, by a separate thread. JSON \
         contains all samples, `netperf report` draws them, and selectors such as \
         LOCAL_TCP_RTT_MAX summarise them. One value is for both ends, 0 for neither: `--series \
         100ms,0` excludes netserver, which must otherwise be this program. From 1ms to 1h; beyond \
         16384 samples every second one is dropped.",
    );

pub(super) const FLOWS: Opt = Opt::named("series-flows", Group::Output)
    .takes("number", ValueKind::Within(1, MOST_FLOWS))
    .set(|a, text| a.series.flows = text.parse().ok())
    .help("with many flows, record this many")
    .more("The default is 8. Both ends select the same: those with the smallest netperf ports.");

pub(super) const TIMESTAMPS: Opt = Opt::named("timestamps", Group::Output)
    .takes("clock", ValueKind::Word(Stamper::WORDS))
    .set(|a, text| a.series.stamps = Stamper::named(text))
    .help("split transactions into stack and wire, each way, by the kernel's or the device's clock")
    .more(
        "In TCP_RR and UDP_RR with one transaction at a time. The kernels of both ends timestamp \
         sent and received packets (SO_TIMESTAMPING); the offset of their clocks is estimated from \
         the fastest round trips, and shown with its error. --json, -v 2 and selectors such as \
         WIRE_THERE_USEC show the parts. Both ends must be this program. With hardware the network \
         devices make the timestamps, if they can (ethtool -T): netperf enables them on its own \
         device for the run, netserver's must be enabled beforehand.",
    );
