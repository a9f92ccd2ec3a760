//! Options about the CPUs: measuring them, and where the programs run.

use netperf_model::CpuMethod;

use super::set_both_ends;
use crate::args::{CpuArg, GlobalArgs, PerEnd};
use crate::command::CliError;
use crate::grammar::{seconds, size};
use crate::group::Group;
use crate::kind::ValueKind;
use crate::places::{Places, places};
use crate::table::{Action, OptionRow};

type Opt = OptionRow<GlobalArgs>;

pub(super) const LOCAL: Opt = Opt::ready(
    'c',
    "[rate]",
    "measure CPU utilisation here",
    Action::NextIfNumber(|a, rate| cpu(&mut a.cpu, rate)),
)
.long("local-cpu", Group::Cpu, ValueKind::Number)
.more(
    "A rate is accepted for old scripts and has no influence where the system \
     counts its idle time.",
);

pub(super) const REMOTE: Opt = Opt::ready(
    'C',
    "[rate]",
    "measure CPU utilisation at netserver",
    Action::NextIfNumber(|a, rate| cpu(&mut a.remote_cpu, rate)),
)
.long("remote-cpu", Group::Cpu, ValueKind::Number)
.more("As --local-cpu, at the other end.");

pub(super) const METHOD: Opt = Opt::without_letter(
    "method",
    "how CPU utilisation is measured, at both ends",
    Action::Value(|a, text| a.cpu_method = CpuMethod::named(text)),
)
.long(
    "cpu-method",
    Group::Cpu,
    ValueKind::Word(&["procstat", "looper"]),
)
.more(
    "procstat, the usual one, takes the counters of the kernel. looper runs a loop of \
     the lowest priority on each CPU and counts what is left to it, after a second of \
     calibration in which the machine should be idle, or with the rate that \
     --local-cpu or --remote-cpu give. It disturbs a netperf or netserver that shares \
     its machine with another one that does the same. A netserver of another make \
     has procstat only.",
);

pub(super) const BIND: Opt = Opt::ready(
    'T',
    "cpu,cpu",
    "run netperf, netserver on these CPUs",
    Action::Checked(|a, text, _| bind(a, text)),
)
.long("bind-cpu", Group::Cpu, ValueKind::CpusOfEnds)
.more(
    "One number is for both ends; `0,` binds only netperf, `,1` only netserver. A \
     failure to bind is silent. Ranges and lists are for the threads of many flows, as \
     with --cpus and --remote-cpus: 0-3 for both ends, or a colon between the ends, as \
     in 0-3:4-7, 0,2: or :4-7.",
);

pub(super) const COUNT: Opt = Opt::ready(
    'n',
    "count",
    "number of CPUs; accepted, the system tells",
    Action::Value(|_, _| {}),
)
.long("cpu-count", Group::Compatibility, ValueKind::Count);

fn cpu(arg: &mut CpuArg, rate: Option<&str>) {
    arg.wanted = true;
    if let Some(rate) = rate {
        arg.rate = Some(seconds(rate));
    }
}

/// `-T`: a CPU for each process, or lists of CPUs for the threads of many flows.
fn bind(args: &mut GlobalArgs, text: &str) -> Result<(), CliError> {
    match places(text) {
        Places::Processes => set_both_ends(args.bind.get_or_insert_default(), text, size),
        Places::Threads(PerEnd { local, remote }) => {
            let cpus = &mut args.flows.cpus;
            cpus.local = local.or(cpus.local.take());
            cpus.remote = remote.or(cpus.remote.take());
        }
        Places::Unclear => return Err(CliError::UnclearCpus(text.to_owned())),
    }
    Ok(())
}
