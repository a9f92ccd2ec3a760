//! The options about many flows, which have names only.

use std::time::Duration;

use netperf_model::Placement;
use netperf_model::many::cpu_list;

use super::{set_both_ends, size};
use crate::args::GlobalArgs;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionRow};

type Opt = OptionRow<GlobalArgs>;

/// The most flows that can be asked for.
const MOST_FLOWS: u32 = 1_000_000;
/// The most threads.
const MOST_THREADS: u32 = 4096;

/// A number of threads, or one for each end.
const THREAD_COUNTS: ValueKind = ValueKind::twice(&ValueKind::Within(1, MOST_THREADS));

pub(super) const FLOWS: Opt = Opt::without_letter(
    "number",
    "this many data connections at the same time",
    Action::Value(|a, text| a.flows.flows = text.parse().ok()),
)
.long("flows", Group::Test, ValueKind::Within(1, MOST_FLOWS))
.more(
    "All are opened first and then released together. Results are those of all of them; \
     JSON has each, and how fairly they shared. A netserver of another make serves them \
     over as many control connections. A limit such as --count is for all together.",
);

pub(super) const THREADS: Opt = Opt::without_letter(
    "local,remote",
    "serve the flows with this many threads at each end",
    Action::Value(|a, text| set_both_ends(&mut a.flows.threads, text, number)),
)
.long("threads", Group::Test, THREAD_COUNTS)
.more(
    "One for each CPU unless given, and never more than there are flows. Given without \
     --flows, one flow is moved by a thread of its own rather than by the usual loop.",
);

pub(super) const WARMUP: Opt = Opt::without_letter(
    "time",
    "run the flows this long before they count",
    Action::Value(|a, text| a.flows.warmup = time(text)),
)
.long("warmup", Group::Test, ValueKind::Span)
.more(
    "The time of the test comes behind it. Rates, times of operations and local CPU \
     utilisation are those of the part that counts, and a sender's rate is then what it \
     sent; the numbers of bytes at each end are those of the whole run.",
);

pub(super) const COOLDOWN: Opt = Opt::without_letter(
    "time",
    "run the flows on this long once they do not count any more",
    Action::Value(|a, text| a.flows.cooldown = time(text)),
)
.long("cooldown", Group::Test, ValueKind::Span)
.more("As --warmup, at the other end of the test.");

pub(super) const CPUS: Opt = Opt::without_letter(
    "list",
    "put the threads of this end on these CPUs, in turn",
    Action::Value(|a, text| a.flows.cpus.local = cpu_list(text)),
)
.long("cpus", Group::Cpu, ValueKind::Cpus)
.more("There are as many threads as CPUs unless --threads says otherwise.");

pub(super) const REMOTE_CPUS: Opt = Opt::without_letter(
    "list",
    "put the threads of netserver on these CPUs, in turn",
    Action::Value(|a, text| a.flows.cpus.remote = cpu_list(text)),
)
.long("remote-cpus", Group::Cpu, ValueKind::Cpus)
.more("As --cpus, at the other end. It takes a netserver of this program.");

pub(super) const PLACE: Opt = Opt::without_letter(
    "rule",
    "put the threads of both ends on CPUs by this rule",
    Action::Value(|a, text| a.flows.place = Placement::named(text)),
)
.long("place", Group::Cpu, ValueKind::Placement)
.more(
    "spread: as far from each other as possible, siblings of a core last; pack: as close \
     as possible; near-irq: on the CPUs that take the interrupts of the interface that \
     the data goes through; node:N: on the CPUs of that NUMA node. A list of CPUs goes \
     before the rule at its end.",
);

fn number(text: &str) -> u32 {
    u32::try_from(size(text)).unwrap_or(0)
}

/// Seconds, as the kind of the option hands them on.
fn time(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}
