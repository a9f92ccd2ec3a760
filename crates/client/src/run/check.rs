//! Checks of a test before netserver is asked.

use std::net::SocketAddr;

use netperf_cli::RunCommand;
use netperf_model::{Feature, Hosts, Refusal, Setting, SettingValue, TestPlan};
use netperf_program::output::{Failure, system_text};
use netperf_session::offer::Agreement;

use crate::failure;

/// Checks that the addresses are valid and that this host supports the test.
pub(super) fn can_be(plan: &TestPlan) -> Result<(), Failure> {
    netperf_model::refusal::check(plan)?;
    let device = plan.local.socket.settings.value(Setting::Device);
    if let Some(SettingValue::Name(device)) = device {
        match netperf_os::link::index(device.as_str()) {
            Err(error) if failure::is_missing(error.raw_os_error().unwrap_or(0)) => {
                return Err(failure::no_interface(&system_text(&error)));
            }
            // On systems without interface numbers, the socket checks the name.
            Ok(_) | Err(_) => {}
        }
    }
    let asked = plan.local.features();
    if asked.is_empty() {
        return Ok(());
    }
    let known = netperf_transport::io::features();
    match asked.into_iter().find(|feature| !known.contains(feature)) {
        Some(feature) => Err(match netperf_transport::built::check_feature(feature) {
            Ok(()) => failure::unable(feature, None),
            Err(error) => failure::not_built(feature.option(), &error),
        }),
        None => Ok(()),
    }
}

/// Checks that `--one-port`, if used, is possible with this control connection.
pub(super) fn one_port(plan: &TestPlan, control: Option<SocketAddr>) -> Result<(), Refusal> {
    let Some(asked) = plan.control.as_ref().filter(|_| plan.remote.one_port) else {
        return Ok(());
    };
    let data = &plan.remote_data;
    let elsewhere = data.host != asked.remote.host || data.random_bits.is_some();
    let why = if control.is_none() {
        "the control connection does not use IP"
    } else if elsewhere {
        "data goes where the control connection does: name no other host for it (--data-host)"
    } else if data.port != "0" {
        "data goes where the control connection does: name no port for it (--data-port)"
    } else {
        return Ok(());
    };
    Err(Refusal {
        option: Feature::OnePort.option(),
        why: why.into(),
    })
}

/// Checks that netserver uses the data port that the user names with `--data-port`, or by the name
/// of a service. A netserver whose port is taken uses another one (control-protocol.md 2.5.2); a
/// number with `-P` gets a warning (`in_force::at_setup`).
pub(super) fn data_port(
    run: &RunCommand,
    hosts: &Hosts,
    agreement: &Agreement,
) -> Result<(), Failure> {
    let (plan, asked) = (&run.plan, hosts.remote.port);
    let is_number = plan.remote_data.port.parse::<u16>().is_ok();
    if is_number && !run.is_named("data-port") {
        return Ok(());
    }
    let elsewhere = agreement.token.is_some() || !plan.transport.is_inet();
    if asked == 0 || elsewhere || agreement.data_port == u32::from(asked) {
        return Ok(());
    }
    let host = &hosts.remote.name;
    Err(Failure::unsupported(format_args!(
        "netserver on {host} cannot bind to data port {asked}: Address already in use, or not in \
         its --data-ports; name another port with -P (--data-port), or none"
    )))
}
