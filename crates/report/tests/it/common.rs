//! Plans from command lines and outcomes for them.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;

use netperf_cli::{CliEnvironment, Command, RunCommand};
use netperf_model::{
    Agreed, CpuMethod, CpuShares, CpuUsage, EndResult, EndSetup, Host, HostFacts, Hosts, Iteration,
    Outcome, Span,
};
use netperf_report::selectors::is_selector;

/// The command line as a run.
pub(crate) fn run(words: &str) -> RunCommand {
    let argv: Vec<OsString> = words.split(' ').map(OsString::from).collect();
    let around = CliEnvironment {
        read_file: &|_| Err(io::ErrorKind::NotFound.into()),
        is_selector: &is_selector,
        selectors: &[],
        is_host: &|_| false,
        dump_tcp_info: false,
    };
    match netperf_cli::netperf(&argv, &around).command {
        Ok(Command::Run(run)) => *run,
        other => panic!("{words}: {other:?}"),
    }
}

/// Wildcard and a documentation address.
pub(crate) fn hosts() -> Hosts {
    let host = |address: &str| Host {
        name: address.to_owned(),
        address: address.parse::<IpAddr>().expect("an address"),
        scope: 0,
        port: 0,
        vsock: None,
    };
    Hosts {
        local: host("0.0.0.0"),
        remote: host("192.0.2.1"),
    }
}

/// One iteration in which every measured figure is `figure` and every count 0.
pub(crate) fn outcome(run: &RunCommand, figure: f64) -> Outcome {
    let cpu = CpuUsage {
        method: CpuMethod::ProcStat,
        busy: figure,
        shares: CpuShares::default(),
        cpus: 2,
        peak_id: 0,
        peak_busy: figure,
    };
    let end = |asked: bool| EndResult {
        elapsed: figure,
        cpu: asked.then_some(cpu),
        ..EndResult::default()
    };
    let plan = &run.plan;
    let has_peer = plan.control.is_some();
    Outcome {
        plan: plan.clone(),
        hosts: hosts(),
        agreed: Agreed {
            local: EndSetup::default(),
            remote: has_peer.then(EndSetup::default),
            data_port: 0,
            remote_cpu: plan.remote.cpu.is_some(),
        },
        iterations: vec![Iteration {
            elapsed: figure,
            paused: 0.0,
            local: end(plan.local.cpu.is_some()),
            remote: has_peer.then(|| end(plan.remote.cpu.is_some())),
            segment_size: None,
            cipher: None,
            tcp: None,
            many: None,
            one_way: None,
        }],
        confidence: None,
        until: None,
        intervals: Vec::new(),
        latency: None,
        local_host: HostFacts::default(),
        remote_host: None,
        peer_version: None,
        uuid: "id".to_owned(),
        span: Span::default(),
        warnings: Vec::new(),
    }
}
