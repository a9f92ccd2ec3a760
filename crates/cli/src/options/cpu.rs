//! Options about the CPUs: measuring them, and where the programs run.

use std::net::{IpAddr, SocketAddr};

use netperf_arguments::args::{CpuArg, GlobalArgs, PerEnd};
use netperf_arguments::command::CliError;
use netperf_arguments::grammar::{int, seconds, size};
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::places::{Places, places};
use netperf_arguments::table::{Action, OptionSpec};
use netperf_model::CpuMethod;

use super::set_both_ends;

type Opt = OptionSpec<GlobalArgs>;

pub(super) const LOCAL: Opt = Opt::lettered('c', "local-cpu", Group::Cpu)
    .takes("[rate]", ValueKind::Number)
    .action(Action::NextIfNumber(|a, rate| cpu(&mut a.cpu, rate)))
    .help("measure local CPU utilisation")
    .more(
        "A rate is accepted for old scripts; it has no effect if the system counts its idle time.",
    );

pub(super) const REMOTE: Opt = Opt::lettered('C', "remote-cpu", Group::Cpu)
    .takes("[rate]", ValueKind::Number)
    .action(Action::NextIfNumber(|a, rate| cpu(&mut a.remote_cpu, rate)))
    .help("measure CPU utilisation of netserver's host")
    .more("As --local-cpu, for netserver's host.");

pub(super) const METHOD: Opt = Opt::named("cpu-method", Group::Cpu)
    .takes("method", ValueKind::Word(&["procstat", "looper"]))
    .set(|a, text| a.cpu_method = CpuMethod::named(text))
    .help("method of measuring CPU utilisation, on both hosts")
    .more(
        "procstat (default) reads the counters of the kernel. looper runs a loop of the lowest \
         priority on each CPU and counts the remaining time, after a calibration of one second in \
         which the machine should be idle, or with the rate from --local-cpu or --remote-cpu. It \
         disturbs other netperf and netserver processes on the same machine that use the same \
         method. The netserver of netperf 2.7 supports procstat only.",
    );

pub(super) const BIND: Opt = Opt::lettered('T', "bind-cpu", Group::Cpu)
    .takes("cpus", ValueKind::CpusOfEnds)
    .checked(bind)
    .help(
        "bind netperf and netserver to CPUs: 0,1, lists such as 0-3:4-7, or spread, pack, \
           near-irq, node:N",
    )
    .more(
        "One number is for client and server; `0,` binds only netperf, `,1` only netserver. If a \
         program cannot be bound, --bind-cpu fails and -T warns; a stock netserver does not report \
         it. Ranges, lists and rules apply to the threads of --flows, one thread for each CPU of a \
         list unless --threads is given: 0-3 is for client and server; a colon separates netperf's \
         CPUs from netserver's, as in 0-3:4-7, 0,2: or :4-7. spread places threads as far apart as \
         possible, siblings of a core last; pack places them as close together as possible. \
         near-irq places them on the CPUs that handle the interrupts of the interface that carries \
         the data, node:N on the CPUs of that NUMA node.",
    );

pub(super) const COUNT: Opt = Opt::lettered('n', "cpu-count", Group::Compatibility)
    .takes("count", ValueKind::Count)
    .set(|a, text| a.cpu_count = Some(int(text)))
    .help("number of CPUs; no effect: the system reports it");

fn cpu(arg: &mut CpuArg, rate: Option<&str>) {
    arg.wanted = true;
    if let Some(rate) = rate {
        arg.rate = Some(seconds(rate));
        let is_address = rate.parse::<IpAddr>().is_ok() || rate.parse::<SocketAddr>().is_ok();
        arg.address = is_address.then(|| rate.to_owned());
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
        Places::Rule(rule) => args.flows.place = Some(rule),
        Places::Unclear => return Err(CliError::UnclearCpus(text.to_owned())),
    }
    Ok(())
}
