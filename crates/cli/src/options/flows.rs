//! The options about many flows, which have names only.

use netperf_arguments::args::GlobalArgs;
use netperf_arguments::grammar::size;
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::table::OptionSpec;
use netperf_model::Placement;
use netperf_model::many::cpu_list;

use super::{set_both_ends, span};

type Opt = OptionSpec<GlobalArgs>;

/// The most flows that can be asked for.
const MOST_FLOWS: u32 = 1_000_000;
/// The most threads.
const MOST_THREADS: u32 = 4096;

/// A number of threads, or one for each end.
const THREAD_COUNTS: ValueKind = ValueKind::twice(&ValueKind::Within(1, MOST_THREADS));

pub(super) const FLOWS: Opt = Opt::named("flows", Group::Test)
    .takes("number", ValueKind::Within(1, MOST_FLOWS))
    .set(|a, text| a.flows.flows = text.parse().ok())
    .help("number of concurrent data connections")
    .more(
        "All connections are opened first; then all flows start together. The results are those of \
         all flows together; JSON contains each flow and the fairness. With the netserver of \
         netperf 2.7, each flow has a separate control connection. A limit such as --count applies \
         to all flows together.",
    );

pub(super) const THREADS: Opt = Opt::named("threads", Group::Test)
    .takes("local,remote", THREAD_COUNTS)
    .set(|a, text| set_both_ends(&mut a.flows.threads, text, number))
    .help("number of threads that serve the flows, at client and server")
    .more(
        "The default is one for each CPU, at most one for each flow. Without --flows, a separate \
         thread serves a single flow.",
    );

pub(super) const WARMUP: Opt = Opt::named("warmup", Group::Test)
    .takes("time", ValueKind::Span)
    .set(|a, text| a.flows.warmup = span(text))
    .help("run the flows this long before the measured time")
    .more(
        "The measured time, of the length in --time, follows the warm-up. Rates, latency and local \
         CPU utilisation cover only the measured time; the throughput counts the bytes that \
         arrived in it. The byte counts of client and server cover the whole run.",
    );

pub(super) const COOLDOWN: Opt = Opt::named("cooldown", Group::Test)
    .takes("time", ValueKind::Span)
    .set(|a, text| a.flows.cooldown = span(text))
    .help("run the flows this long after the measured time")
    .more("As --warmup, at the end of the test.");

pub(super) const BEGIN_AT: Opt = Opt::named("begin-at", Group::Test)
    .takes("nanoseconds", ValueKind::Seed)
    .set(|a, text| a.flows.begin_at = text.parse().ok())
    .help("open the connections, then begin at this reading of CLOCK_MONOTONIC")
    .more(
        "The clock is that of netperf's host (clock_gettime(2)); all processes of a host can so \
         begin together. --warmup and --cooldown count from this time, even if netperf is late. At \
         most ten minutes ahead.",
    );

pub(super) const CPUS: Opt = Opt::named("cpus", Group::Compatibility)
    .takes("list", ValueKind::Cpus)
    .set(|a, text| a.flows.cpus.local = cpu_list(text))
    .help("netperf's half of --bind-cpu, as in --bind-cpu 0-3:");

pub(super) const REMOTE_CPUS: Opt = Opt::named("remote-cpus", Group::Compatibility)
    .takes("list", ValueKind::Cpus)
    .set(|a, text| a.flows.cpus.remote = cpu_list(text))
    .help("netserver's half of --bind-cpu, as in --bind-cpu :0-3");

pub(super) const PLACE: Opt = Opt::named("place", Group::Compatibility)
    .takes("rule", ValueKind::Placement)
    .set(|a, text| a.flows.place = Placement::named(text))
    .help("rule of --bind-cpu: spread, pack, near-irq or node:N")
    .more("A list of CPUs takes precedence over the rule.");

fn number(text: &str) -> u32 {
    u32::try_from(size(text)).unwrap_or(0)
}
