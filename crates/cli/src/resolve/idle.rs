//! Options that name something which the test at hand does not have.

use netperf_arguments::args::{Args, HumanArg, PerEnd};
use netperf_arguments::command::CliError;
use netperf_model::in_force::Substitution;
use netperf_model::{Domain, TestId, TestPlan, TransportId};

use super::work;
use crate::applies;

/// Rejects long options that have no effect in this test or with its transport.
pub(super) fn refuse(args: &Args, test: TestId, transport: TransportId) -> Result<(), CliError> {
    let (global, typed) = (&args.global, &args.test);
    let domain = transport.row().domain;
    let series = &global.series.every;
    let is_sampled = series.local.is_some() || series.remote.is_some();
    let encrypts = matches!(transport, TransportId::Tls | TransportId::Ktls);
    let has_devices = matches!(domain, Domain::Link | Domain::Atm);
    // The device of an XTI transport is its provider.
    let has_providers = matches!(transport, TransportId::XtiTcp | TransportId::XtiUdp);
    let device = typed.device.local.is_some() || typed.device.remote.is_some();
    let unit = typed.unit.local.is_some() || typed.unit.remote.is_some();
    // With the letter it goes on until a signal, as it ever did.
    let counts = !matches!(test, TestId::DgStream | TestId::DlclStream);
    let options = [
        (
            args.is_named("iperf2") && args.is_named("iperf3"),
            "--iperf2",
            "a server has one protocol: leave out either this option or --iperf3",
        ),
        (
            global.count && !counts,
            "--count",
            "this test is ended by a time: give --time, or OMNI with -- -T unix-dgram -d send",
        ),
        (
            global.tls_cipher.is_some() && !encrypts,
            "--tls-cipher",
            "only TLS has one: choose it with -T tls or -T ktls after --",
        ),
        (
            global.service_option.is_some() && !transport.is_inet(),
            global.service_option.unwrap_or_default(),
            "only IP has it",
        ),
        (
            global.series.flows.is_some() && !is_sampled,
            "--series-flows",
            "it is for --series: give --series as well",
        ),
        (
            device && !has_devices && !has_providers,
            "--device",
            "only LLC, ATM and XTI have one: --bind-device is for the others",
        ),
        (
            unit && !has_devices,
            "--device-unit",
            "only LLC and ATM have one",
        ),
        (
            typed.sap.is_some() && domain != Domain::Link,
            "--sap",
            "only LLC has one: IP has ports, and -P after --",
        ),
    ];
    match options.into_iter().find(|(idle, _, _)| *idle) {
        Some((_, option, why)) => Err(CliError::OutOfPlace { option, why }),
        None => Ok(()),
    }
}

/// Named options that have no effect in some tests, and no other check.
const IDLE: &[&str] = &[
    "send-size",
    "recv-size",
    "request-size",
    "burst",
    "port-range",
    "retry-connect",
    "connected",
    "remote-connected",
    "packet-info",
];

/// Options that netperf 2.7 ignores in a test, with values that are not those of the test, and
/// named options without an effect.
pub(super) fn ignored(args: &Args, plan: &TestPlan) -> Vec<Substitution> {
    let (typed, test, flow) = (&args.test, plan.test, plan.flow);
    let name = test.row().name;
    let connected = plan.transport.is_connected();
    let without_effect = args.named.iter().filter(|option| {
        let is_idle =
            IDLE.contains(&option.as_str()) && !applies::matters(test, flow, connected, option);
        is_idle && test != TestId::Omni && test.moves_data()
    });
    let without_effect = without_effect.map(|option| Substitution {
        options: &[],
        known: true,
        text: format!("--{option}: not in force, because {name} has no use for it"),
    });
    let direction = typed.direction.filter(|asked| {
        test != TestId::Omni && (asked.sends, asked.receives) != (flow.sends, flow.receives)
    });
    let direction = direction.map(|_| Substitution {
        options: &["direction"],
        known: true,
        text: format!("direction (-d): not in force, because {name} has a fixed direction"),
    });
    let transport = typed.unused_transport.as_ref();
    let transport = transport.filter(|asked| !asked.eq_ignore_ascii_case("tcp"));
    let transport = transport.map(|asked| Substitution {
        options: &["unused-t"],
        known: true,
        text: format!("transport (-T) {asked}: not in force, because {name} runs over TCP"),
    });
    let repeats = work::confidence(&args.global).is_some();
    let once = (repeats && !super::repeats(test)).then(|| Substitution {
        options: &["iterations", "confidence"],
        known: true,
        text: format!("confidence (-i, -I): not in force, because {name} runs once"),
    });
    let directory = typed.directory.is_some() && test != TestId::DgRr;
    let directory = directory.then(|| Substitution {
        options: &["socket-directory"],
        known: true,
        text: format!("socket directory (-p): not in force, because {name} has no use for it"),
    });
    let layer = typed.adaptation_layer.filter(|layer| *layer != 5);
    let layer = layer.map(|layer| Substitution {
        options: &["adaptation-layer"],
        known: true,
        text: format!("ATM adaptation layer (-a): asked for {layer}, in force is 5"),
    });
    let count = args.global.cpu_count.map(|_| Substitution {
        options: &["cpu-count"],
        known: true,
        text: "number of CPUs (-n): not in force, because the system reports it".to_owned(),
    });
    let chooses_units = args.global.human == HumanArg::Yes && args.global.unit.is_some();
    let unit = chooses_units.then(|| Substitution {
        options: &["unit"],
        known: true,
        text: "unit (-f): not in force, because a summary for people has the unit that fits each \
               figure"
            .to_owned(),
    });
    let chosen = direction.into_iter().chain(transport);
    let chosen = chosen
        .chain(unit)
        .chain(once)
        .chain(directory)
        .chain(layer)
        .chain(count);
    chosen
        .chain(idle_letters(args, plan))
        .chain(without_effect)
        .collect()
}

/// Letters with a size or a number that the test does not use.
fn idle_letters(args: &Args, plan: &TestPlan) -> impl Iterator<Item = Substitution> {
    let (global, typed, test) = (&args.global, &args.test, plan.test);
    let connected = plan.transport.is_connected();
    let sizes = |size: &PerEnd<i32>| size.local.is_some() || size.remote.is_some();
    let given: [(&'static [&'static str], _, _); 4] = [
        (&["send-size"], "send size (-m)", sizes(&typed.send_size)),
        (&["recv-size"], "receive size (-M)", sizes(&typed.recv_size)),
        (
            &["request-size"],
            "request and response sizes (-r)",
            typed.request != (None, None),
        ),
        (&["burst"], "burst (-b)", typed.burst != 0),
    ];
    let name = test.row().name;
    let unused = given.into_iter().filter(move |(option, _, is_given)| {
        let is_idle = option.iter().any(|option| {
            // The named option has its own line.
            !args.is_named(option) && !applies::matters(test, plan.flow, connected, option)
        });
        *is_given && is_idle && test != TestId::Omni && test.moves_data()
    });
    let unused = unused.map(move |(options, what, _)| Substitution {
        options,
        known: true,
        text: format!("{what}: not in force, because {name} has no use for it"),
    });
    let (interval, burst) = (&global.pace_interval, &global.pace_burst);
    let is_alone = (interval.local.is_some() && burst.local.is_none())
        || (interval.remote.is_some() && burst.remote.is_none());
    let interval = is_alone.then(|| Substitution {
        options: &["pace-interval"],
        known: true,
        text: "pacing interval (-w): not in force, because an interval needs a number of \
               operations: give -b as well"
            .to_owned(),
    });
    unused.chain(interval).chain(raised_alignments(args))
}

/// Alignments that are no powers of two, which no allocator has.
fn raised_alignments(args: &Args) -> impl Iterator<Item = Substitution> {
    let (local, remote) = (&args.global.align, &args.global.remote_align);
    let ends: [(&'static [&'static str], _, _); 2] = [
        (&["align"], "alignment (-a) at netperf", local),
        (&["remote-align"], "alignment (-A) at netserver", remote),
    ];
    ends.into_iter().filter_map(|(options, name, asked)| {
        let sizes = [asked.send, asked.recv].into_iter().flatten();
        let mut sizes = sizes.filter_map(|size| u32::try_from(size).ok());
        let raised = sizes.find(|size| *size > 0 && !size.is_power_of_two())?;
        let got = raised.next_power_of_two();
        Some(Substitution {
            options,
            known: true,
            text: format!("{name}: asked for {raised}, in force is {got}, a power of two"),
        })
    })
}
