//! Options that name something which the test at hand does not have.

use netperf_model::in_force::Substitution;
use netperf_model::{Domain, TestId, TestPlan, TransportId};

use crate::applies;
use crate::args::Args;
use crate::command::CliError;

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
            global.count && !counts,
            "--count",
            "this test is ended by a time: give --time, or OMNI with -- -T unix-dgram -d send",
        ),
        (
            global.tls_cipher.is_some() && !encrypts,
            "--tls-cipher",
            "only TLS has one: choose it with -T tls or -T ktls behind --",
        ),
        (
            global.dscp && !transport.is_inet(),
            "--dscp",
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
            "only LLC has one: IP has ports, and -P behind --",
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
    let chosen = direction.into_iter().chain(transport);
    chosen.chain(without_effect).collect()
}
