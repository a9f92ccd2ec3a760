//! Iterations against the server of another program: what those of iperf 2 and iperf3 share.

use std::io;
use std::time::Duration;

use netperf_iperf3::figures::SocketBuffers;
use netperf_measure::clock::{self, Moment};
use netperf_measure::cpu::{self, Meter};
use netperf_model::{
    Agreed, CpuPlan, CpuUsage, EndSetup, FlowCounts, FlowThere, Flows, Format, IperfShape,
    Iteration, TestPlan,
};
use netperf_os::alarm;
use netperf_os::io::CONNECTION_REFUSED;
use netperf_program::output::{Failure, system_text};

use super::IterationResult;

/// The output of iperf that a format is.
pub(super) const fn shape(format: &Format) -> Option<IperfShape> {
    match format {
        Format::Iperf(shape) => Some(*shape),
        Format::Classic
        | Format::Columns(_)
        | Format::Csv(_)
        | Format::Keyval(_)
        | Format::Json
        | Format::JsonStream
        | Format::Human => None,
    }
}

/// Remedy for a refused connection, or one closed by a program that may not be a `server`; empty for
/// other failures.
pub(super) fn not_there(failure: &str, server: &str) -> String {
    if failure == "control socket has closed unexpectedly" {
        return format!(": is it a server of {server}? With netserver no --{server} is needed");
    }
    let refused = system_text(&io::Error::from_raw_os_error(CONNECTION_REFUSED));
    if failure.ends_with(&refused) {
        format!(
            ": no program listens there; start `{server} -s` on that host, or give its port with -p"
        )
    } else {
        String::new()
    }
}

/// Measurement of CPU utilisation from the moment when data may move.
#[derive(Default)]
pub(super) struct PeerMeter(Option<(Moment, Meter)>);

impl PeerMeter {
    /// Prepares a measurement.
    pub(super) fn prepare(plan: Option<&CpuPlan>) -> Result<(), Failure> {
        plan.map_or(Ok(()), cpu::prepare)
            .map_err(|error| cpu_failed(&error))
    }

    pub(super) fn start(plan: Option<&CpuPlan>) -> Self {
        let meter = plan.and_then(|plan| cpu::start(plan).ok());
        Self(meter.map(|meter| (clock::now(), meter)))
    }

    /// The work from now on is not part of the test.
    pub(super) fn note(&self) {
        if let Some((_, meter)) = &self.0 {
            meter.note();
        }
    }

    /// Utilisation in a run of so many seconds.
    pub(super) fn usage(&self, seconds: f64) -> Result<Option<CpuUsage>, Failure> {
        let Some((begun, meter)) = &self.0 else {
            return Ok(None);
        };
        let run = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let usage = meter.usage(begun.elapsed(), run);
        usage.map(Some).map_err(|error| cpu_failed(&error))
    }
}

fn cpu_failed(error: &std::io::Error) -> Failure {
    let text = system_text(error);
    Failure::failed(format_args!("cannot measure CPU utilisation: {text}"))
}

/// Settings of netperf's end, for messages of so many bytes.
pub(super) fn own_setup(buffers: SocketBuffers, length: u32, plan: &TestPlan) -> EndSetup {
    EndSetup {
        send_buffer: buffers.send,
        recv_buffer: buffers.recv,
        send_size: Some(length).filter(|_| plan.flow.sends),
        recv_size: Some(length).filter(|_| plan.flow.receives),
        nodelay: plan.local.socket.nodelay,
        priority: -1,
        tos: -1,
        ..EndSetup::default()
    }
}

/// Adds what the server counted on each flow, in the order of flows.
pub(super) fn pair(flows: &mut Flows, plan: &TestPlan, there: impl Iterator<Item = FlowCounts>) {
    let numbered = (1..).map(Some).zip(there);
    let there: Vec<FlowThere> = numbered
        .map(|(number, counts)| FlowThere {
            number,
            port: 0,
            counts,
        })
        .collect();
    flows.pair(plan.flow, &there);
}

/// Result of an iteration against a server whose settings are unknown.
pub(super) fn of_peer(local: EndSetup, port: u16, iteration: Iteration) -> IterationResult {
    IterationResult {
        agreed: Agreed {
            local,
            remote: None,
            data_port: port.into(),
            remote_cpu: false,
        },
        iteration,
        stopped: alarm::stopped_by_user(),
        discarded: false,
        fell_back: false,
        held_back: None,
        unasked: 0,
        last_arrival: None,
    }
}
