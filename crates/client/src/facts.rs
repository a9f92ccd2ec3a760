//! Facts about both hosts, where the report says something of them.

use std::net::IpAddr;

use netperf_cli::RunCommand;
use netperf_measure::host;
use netperf_model::{HostFacts, Hosts, Iteration};

use super::hosts::socket_address;

/// Returns true if the report needs facts about the hosts. Otherwise nothing is collected, and
/// the request is the one that a stock client would send.
pub(super) fn wanted(run: &RunCommand) -> bool {
    run.history.is_some()
        || netperf_report::needs(&run.plan, &run.report).is_ok_and(|needs| needs.hosts)
}

/// Facts about this host and the interface that data to netserver leaves through; none
/// where they are not wanted.
pub(super) fn local(wanted: bool, hosts: &Hosts) -> HostFacts {
    if !wanted {
        return HostFacts::default();
    }
    let bound = Some(hosts.local.address).filter(|address| !address.is_unspecified());
    let address = bound.or_else(|| route(hosts));
    host::facts_and_settings(address.as_slice())
}

/// Facts about netserver's host with the settings that came behind its results, the last ones.
pub(super) fn remote(host: Option<HostFacts>, iterations: &mut [Iteration]) -> Option<HostFacts> {
    let told = iterations
        .iter_mut()
        .filter_map(|iteration| iteration.remote.as_mut()?.settings.take());
    let settings = told.last();
    host.map(|host| HostFacts { settings, ..host })
}

/// The address that the kernel gives to what goes to netserver.
fn route(hosts: &Hosts) -> Option<IpAddr> {
    let remote = socket_address(&hosts.remote, hosts.remote.port);
    netperf_os::net::source_address(remote).ok()
}
