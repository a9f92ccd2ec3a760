//! Doubts about a run that follow from the hosts: a busy CPU, and a single host.

use std::net::IpAddr;

use netperf_cli::OutputStream;
use netperf_model::{Hosts, Iteration, Warning};
use netperf_program::output::{self, err};
use netperf_report::document::WarningText;

/// Utilisation from which on a CPU may be the limit, percent.
const FULL: f64 = 95.0;

/// All of them. `control` is netperf's address on the control connection: that of the data is
/// the wildcard unless the user names it.
pub(super) fn of_hosts(hosts: &Hosts, control: Option<IpAddr>, runs: &[Iteration]) -> Vec<Warning> {
    let remote = hosts.remote.address.to_canonical();
    let is_ours = |local: IpAddr| local.to_canonical() == remote;
    let one_host =
        remote.is_loopback() || is_ours(hosts.local.address) || control.is_some_and(is_ours);
    let local = runs.iter().map(|run| (&run.local, "the client"));
    let remote = runs.iter().filter_map(|run| run.remote.as_ref());
    let remote = remote.map(|end| (end, "the server"));
    // The CPUs of a single host are the same at both ends.
    let ends = local.chain(remote.filter(|_| !one_host));
    let busy = ends.filter_map(|(end, host)| {
        let cpu = end.cpu.as_ref()?;
        let known = cpu.peak_id >= 0 && cpu.peak_busy >= FULL;
        known.then_some((cpu.peak_busy, cpu.peak_id, host))
    });
    let busiest = busy.max_by(|one, other| one.0.total_cmp(&other.0));
    let cpu_bound = busiest.map(|(busy, cpu, host)| {
        Warning::CpuBound(format!(
            "CPU {cpu} of {host} was {busy:.0} % busy: it, not the network, may have been the limit"
        ))
    });
    let one_host = one_host.then_some(Warning::OneHost);
    cpu_bound.into_iter().chain(one_host).collect()
}

/// Prints on a terminal what JSON has, and what scripts for netperf 2.7 would take for a failure.
pub(super) fn show(doubts: &[Warning]) {
    if output::is_terminal(OutputStream::Stderr) {
        for doubt in doubts {
            err(&format!("netperf: {}\n", WarningText::of(doubt).message));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::planned::ran;
    use netperf_model::{CpuUsage, EndResult, Host};

    use super::*;

    fn hosts(local: &str, remote: &str) -> Hosts {
        let host = |address: &str| Host {
            name: address.to_owned(),
            address: address.parse().unwrap(),
            scope: 0,
            port: 0,
            vsock: None,
        };
        Hosts {
            local: host(local),
            remote: host(remote),
        }
    }

    fn run(local: f64, remote: f64) -> Iteration {
        let end = |peak_busy| EndResult {
            cpu: Some(CpuUsage {
                peak_id: 3,
                peak_busy,
                ..CpuUsage::default()
            }),
            ..EndResult::default()
        };
        ran(1.0, end(local), Some(end(remote)))
    }

    fn said(hosts: &Hosts, runs: &[Iteration]) -> Vec<String> {
        let doubts = of_hosts(hosts, None, runs);
        doubts
            .iter()
            .map(|doubt| WarningText::of(doubt).message)
            .collect()
    }

    #[test]
    fn a_full_cpu_at_either_end_is_a_doubt() {
        let network = hosts("0.0.0.0", "192.0.2.1");
        assert_eq!(of_hosts(&network, None, &[run(94.0, 50.0)]), []);
        let full = said(&network, &[run(10.0, 20.0), run(10.0, 99.7)]);
        let wanted = "CPU 3 of the server was 100 % busy: it, not the network, may have \
                      been the limit";
        assert_eq!(full, [wanted]);
    }

    #[test]
    fn a_single_host_is_a_doubt_and_has_its_cpus_once() {
        for (local, control, remote) in [
            ("0.0.0.0", "127.0.0.1", "127.0.0.1"),
            ("192.0.2.1", "192.0.2.7", "192.0.2.1"),
            ("0.0.0.0", "192.0.2.1", "192.0.2.1"),
            ("::", "::ffff:192.0.2.1", "192.0.2.1"),
            ("::", "::1", "::ffff:127.0.0.1"),
        ] {
            let control = control.parse().ok();
            let doubts = of_hosts(&hosts(local, remote), control, &[run(96.0, 99.0)]);
            let [Warning::CpuBound(busy), Warning::OneHost] = &doubts[..] else {
                panic!("{doubts:?}");
            };
            assert!(
                busy.starts_with("CPU 3 of the client was 96 % busy"),
                "{busy}"
            );
        }
    }
}
