//! Addresses of the control and data connections.

use netperf_arguments::args::{Args, GlobalArgs, HostArg};
use netperf_arguments::command::CliError;
use netperf_model::{ControlPlan, DataAddress, Family, Flow, TestId};

use crate::DEFAULT_PORT;

/// A port that the system chooses.
const ANY_PORT: &str = "0";

/// The control connection; `None` with `-N`.
pub(super) fn control(args: &GlobalArgs) -> Option<ControlPlan> {
    if args.no_control {
        return None;
    }
    Some(ControlPlan {
        remote: control_remote(args),
        local: control_local(args),
        explicit: named(&args.remote).is_some()
            || args.port.local.is_some()
            || args.port.remote.is_some(),
        passphrase: args.passphrase.clone(),
        key_file: args.key_file.clone(),
        secret: None,
        keepalive: args.control_keepalive.unwrap_or(ControlPlan::KEEPALIVE),
    })
}

/// The data connection: netperf's end, and netserver's.
pub(super) fn data(args: &Args) -> (DataAddress, DataAddress) {
    let (local, remote) = (&args.test.local, &args.test.remote);
    let control = control_remote(&args.global);
    let remote = DataAddress {
        host: named(remote).map_or(control.host, str::to_owned),
        random_bits: remote.random_bits,
        port: port(args.test.port.remote.as_deref(), ANY_PORT),
        family: remote.family.unwrap_or(control.family),
        named: named(remote).is_some() || control.named,
    };
    // Without `-L` the family stays open, even with a global -4 or -6: that is
    // what SOURCE_FAMILY shows, and the wildcard follows netserver's family.
    let (host, family) = match (named(local), named(&args.global.local)) {
        (Some(host), _) => (Some(host), local.family),
        (None, Some(host)) => (Some(host), local.family.or(args.global.local.family)),
        (None, None) => (None, local.family),
    };
    let family = family.unwrap_or_default();
    let local = DataAddress {
        host: host.map_or_else(|| wildcard(family, &remote), str::to_owned),
        random_bits: local.random_bits,
        port: port(args.test.port.local.as_deref(), ANY_PORT),
        family,
        named: host.is_some(),
    };
    (local, remote)
}

/// The service that a test without netserver talks to.
pub(super) fn default_service(test: TestId, flow: Flow) -> Result<&'static str, CliError> {
    let none = CliError::NoDefaultPort {
        test: test.row().name.to_owned(),
    };
    match (flow.sends, flow.receives) {
        _ if test == TestId::TcpMss => Err(none),
        (true, true) => Ok("echo"),
        (true, false) => Ok("discard"),
        (false, true) => Ok("chargen"),
        (false, false) => Err(none),
    }
}

fn control_remote(args: &GlobalArgs) -> DataAddress {
    let family = args.remote.family.unwrap_or_default();
    let local = args.local.family.unwrap_or_default();
    let default = match (family, local) {
        (Family::V6, _) | (Family::Unspecified, Family::V6) => "::1",
        (Family::V4 | Family::Unspecified, _) => "localhost",
    };
    let host = named(&args.remote);
    DataAddress {
        host: host.unwrap_or(default).to_owned(),
        random_bits: None,
        port: port(args.port.remote.as_deref(), DEFAULT_PORT),
        family,
        named: host.is_some(),
    }
}

fn control_local(args: &GlobalArgs) -> DataAddress {
    let family = args.local.family.unwrap_or_default();
    let host = named(&args.local);
    DataAddress {
        host: host.map_or_else(|| wildcard(family, &control_remote(args)), str::to_owned),
        random_bits: None,
        port: port(args.port.local.as_deref(), ANY_PORT),
        family,
        named: host.is_some(),
    }
}

/// Wildcard address, as the original writes it.
fn wildcard(family: Family, peer: &DataAddress) -> String {
    let six = match family {
        Family::V6 => true,
        Family::V4 => false,
        // A name may still turn out to be IPv6 only; that is for the resolver.
        Family::Unspecified => peer.family == Family::V6 || peer.host.contains(':'),
    };
    if six { "::0" } else { "0.0.0.0" }.to_owned()
}

fn named(arg: &HostArg) -> Option<&str> {
    arg.host.as_deref().filter(|host| !host.is_empty())
}

fn port(typed: Option<&str>, usual: &str) -> String {
    typed.unwrap_or(usual).to_owned()
}
