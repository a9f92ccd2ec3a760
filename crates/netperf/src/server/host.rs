//! The engine, as a session uses it.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::rc::Rc;

use netperf_engine::EngineError;
use netperf_engine::server::Server;
use netperf_model::{
    Abilities, CpuMethod, CpuPlan, Denied, EndResult, FactsWanted, HostFacts, ServerJob,
};
use netperf_os::Socket;
use netperf_session::dialect::Ready;
use netperf_session::driver::Host;
use netperf_session::errno;
use netperf_wire::RemoteErrno;

use super::door::named;
use super::note::note;
use crate::client::placed;

/// Runs what a session asks for.
pub(super) struct EngineHost {
    control: Rc<Socket>,
    local: Option<IpAddr>,
    peer: Option<IpAddr>,
    cpu_method: CpuMethod,
}

impl EngineHost {
    /// `control` is watched while a test runs: when it ends, so does the test. `local`
    /// is its address here, `peer` the client's.
    pub(super) fn new(
        control: Rc<Socket>,
        (local, peer): (Option<IpAddr>, Option<IpAddr>),
        cpu_method: CpuMethod,
    ) -> Self {
        Self {
            control,
            local,
            peer,
            cpu_method,
        }
    }

    /// The job with this netserver's CPU method, where the client has no wish.
    fn with_method(&self, mut job: ServerJob) -> ServerJob {
        if let Some(cpu) = &mut job.end.cpu {
            if cpu.method == CpuMethod::ProcStat {
                cpu.method = self.cpu_method;
            }
        }
        job
    }

    /// The rate of a method: the one that the client knows, or what a calibration gives.
    fn rate(&mut self, cpu: CpuPlan) -> f32 {
        let given = cpu.rate.filter(|rate| *rate > 0.0);
        given.unwrap_or_else(|| self.calibrate(cpu.method))
    }

    /// The facts of this host, and of the interface that netperf's data comes to; where
    /// that is not an address of ours, as behind a translating router, of the one that
    /// the control connection came to.
    fn facts(&self, wanted: FactsWanted) -> HostFacts {
        let addresses: Vec<IpAddr> = wanted.reached_at.into_iter().chain(self.local).collect();
        netperf_measure::host::facts(&addresses)
    }
}

impl Host for EngineHost {
    type Prepared = Server;

    fn prepare(&mut self, job: ServerJob) -> Result<(Server, Ready), RemoteErrno> {
        let facts = job.facts.map(|wanted| Box::new(self.facts(wanted)));
        let mut job = self.with_method(job);
        if let Some((_, workers)) = &mut job.many {
            let placed = placed(workers, || self.local);
            *workers = placed.map_err(|error| cannot_place(&error))?;
        }
        let cpu = job.end.cpu.unwrap_or_default();
        let transport = job.transport;
        let as_asked = !job.end.features().is_empty();
        let server = Server::prepare(job).map_err(|error| number(&error))?;
        let ready = Ready {
            setup: *server.setup(),
            transport,
            data_port: server.data_port(),
            address: server.address().cloned(),
            as_asked,
            cpu_rate: self.rate(cpu),
            host: facts,
        };
        Ok((server, ready))
    }

    fn run(&mut self, prepared: Server) -> Result<EndResult, RemoteErrno> {
        prepared
            .run(Some(self.control.as_ref().as_fd()))
            .map_err(|error| number(&error))
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the wire has the rate in single precision"
    )]
    fn calibrate(&mut self, method: CpuMethod) -> f32 {
        netperf_measure::cpu::calibrate(method).unwrap_or(0.0) as f32
    }

    fn abilities(&mut self) -> Abilities {
        netperf_transport::registry::abilities()
    }

    fn note(&mut self, denied: &Denied) {
        note(&format!("refused a test of {}: {denied}", named(self.peer)));
    }

    fn bind_to_cpu(&mut self, cpu: u32) {
        // A CPU that this machine does not have leaves the session where it is, as
        // the original does; the client asked blindly.
        let _no_such_cpu = netperf_os::process::bind_to_cpu(cpu);
    }
}

/// The number that tells the client why threads cannot be where it wants them: `ENODEV`
/// where the machine has no such place.
fn cannot_place(error: &io::Error) -> RemoteErrno {
    const NO_SUCH_DEVICE: i32 = 19;
    if error.kind() == io::ErrorKind::NotFound {
        RemoteErrno(NO_SUCH_DEVICE)
    } else {
        errno::INVALID
    }
}

/// The number that tells the client why.
fn number(error: &EngineError) -> RemoteErrno {
    match error.error.raw_os_error() {
        Some(number) => RemoteErrno(number),
        None if error.error.kind() == io::ErrorKind::InvalidInput => errno::INVALID,
        None => errno::OTHER,
    }
}
