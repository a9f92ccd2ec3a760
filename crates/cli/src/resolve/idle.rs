//! Options that name something which the test at hand does not have.

use netperf_model::in_force::Substitution;
use netperf_model::{Domain, Flow, TestId, TransportId};

use crate::args::Args;
use crate::command::CliError;

/// Rejects long options that have no effect in this test or with its transport.
pub(super) fn refuse(args: &Args, test: TestId, transport: TransportId) -> Result<(), CliError> {
    let (global, typed) = (&args.global, &args.test);
    let domain = transport.row().domain;
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

/// Options of a test that netperf 2.7 ignores, with values that are not those of the test.
pub(super) fn ignored(args: &Args, test: TestId, flow: Flow) -> Vec<Substitution> {
    let (typed, name) = (&args.test, test.row().name);
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
    direction.into_iter().chain(transport).collect()
}
