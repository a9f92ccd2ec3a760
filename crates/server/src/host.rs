//! Connects a session to the engine.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::Duration;

use netperf_daemon::record::{Ran, Records, SessionEnd, SessionQuestion, SessionRecord};
use netperf_daemon::sandbox::fill_file;
use netperf_engine::{EngineError, Operation, PrepareServer, PreparedServer};
use netperf_measure::{clock, cpus, device_stamps};
use netperf_model::{
    Abilities, CpuMethod, CpuPlan, Denied, EndJob, EndNeeds, EndResult, EndSetup, FactsWanted,
    Feature, Flow, GuardedFeature, HostSupport, Limit, Policy, Stamper, Token, TransportId,
};
use netperf_os::Socket;
use netperf_os::io::peek;
use netperf_session::dialect::Ready;
use netperf_session::driver::{NotPrepared, SessionHost};
use netperf_transport::one_port::{HandoffMessage, fresh, send_message};
use netperf_wire::RemoteErrno;

static PREPARE: OnceLock<PrepareServer> = OnceLock::new();

/// Has ends of tests prepared so.
pub(super) fn prepare_by(prepare: PrepareServer) {
    let _set_before = PREPARE.set(prepare);
}

/// Runs the tests of a session.
pub(super) struct EngineHost<'a> {
    control: Rc<Socket>,
    local: Option<SocketAddr>,
    handoff: Option<Rc<Socket>>,
    cpu_method: CpuMethod,
    policy: &'a Policy,
    found: Option<&'a HostSupport>,
    files: Option<PathBuf>,
    /// Error number if the last request to bind to a CPU failed.
    cpu_refused: Option<i32>,
    records: &'a mut dyn Records,
}

/// A prepared end with the name of its run.
pub(super) struct Prepared {
    server: Box<dyn PreparedServer>,
    transport: TransportId,
    flow: Flow,
    /// Length of the test; `None` if it has no time.
    time: Option<Duration>,
    /// Token registration, for data through the listener's port.
    pass: Option<Pass>,
    /// Addresses of the interface whose settings belong to the results, if requested.
    settings_at: Option<Vec<IpAddr>>,
}

/// Registration of a token at the listener, until dropped.
#[derive(Debug)]
pub(super) struct Pass {
    token: Token,
    handoff: Rc<Socket>,
}

impl Pass {
    fn handoff(&self) -> Result<Socket, RemoteErrno> {
        self.handoff.try_clone().map_err(|_| RemoteErrno::EIO)
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        // An error is harmless: the next token replaces this one.
        let _unheard = send_message(&self.handoff, &HandoffMessage::Shut);
    }
}

impl<'a> EngineHost<'a> {
    /// The end of `control` ends a running test. Data may also arrive by `handoff`. Fill files
    /// must be in `files`. `policy` is that of this client, `found` what
    /// the listener found on this host.
    /// `records` receives the result of each test.
    pub(super) fn new(
        control: Rc<Socket>,
        handoff: Option<Socket>,
        (policy, found): (&'a Policy, Option<&'a HostSupport>),
        cpu_method: CpuMethod,
        (files, records): (Option<PathBuf>, &'a mut dyn Records),
    ) -> Self {
        let local = control.local_addr().ok();
        Self {
            local: local.and_then(|address| address.as_socket()),
            control,
            handoff: handoff.map(Rc::new),
            cpu_method,
            policy,
            found,
            files,
            cpu_refused: None,
            records,
        }
    }

    /// Applies this netserver's CPU method if the client does not choose one.
    fn with_method(&self, mut job: EndJob) -> EndJob {
        if let Some(cpu) = &mut job.end.cpu {
            if cpu.method == CpuMethod::ProcStat {
                cpu.method = self.cpu_method;
            }
        }
        job
    }

    /// Returns true if the client has closed the connection, so that no result can be
    /// delivered. False for a broken connection, which has no peer.
    fn is_abandoned(&self) -> bool {
        peek(self.control.as_fd()).ok() == Some(0) && self.control.peer_addr().is_ok()
    }

    /// Rate of a CPU method: the client's, or the result of a calibration.
    fn rate(&mut self, cpu: CpuPlan) -> f32 {
        let given = cpu.rate.filter(|rate| *rate > 0.0);
        given.unwrap_or_else(|| self.calibrate(cpu.method))
    }

    /// Addresses of the interface that receives netperf's data. Behind address translation this
    /// is the interface of the control connection.
    fn reached_at(&self, wanted: FactsWanted) -> Vec<IpAddr> {
        let own = self.local.map(|local| local.ip());
        wanted.reached_at.into_iter().chain(own).collect()
    }

    /// Resolves the client's fill file within the permitted folder. Ignores it if its contents
    /// are not sent.
    fn look_at_file(&self, job: &mut EndJob) -> Result<(), RemoteErrno> {
        let Some(name) = job.end.fill.take().filter(|_| job.sends) else {
            return Ok(());
        };
        let file = fill_file(&name, self.files.as_deref()).map_err(|_| RemoteErrno::EACCES)?;
        job.end.fill = Some(file);
        Ok(())
    }

    /// Registers a fresh token at the listener, which then forwards data with that token.
    fn register_token(&self) -> Result<Pass, RemoteErrno> {
        let handoff = self.handoff.as_ref().ok_or(RemoteErrno::EOPNOTSUPP)?;
        let token = fresh().map_err(|_| RemoteErrno::EIO)?;
        send_message(handoff, &HandoffMessage::Open(token)).map_err(|_| RemoteErrno::EIO)?;
        Ok(Pass {
            token,
            handoff: Rc::clone(handoff),
        })
    }

    /// Checks that the network device has timestamps enabled, if the test needs them. A client
    /// may not enable them, because other programs may use the device.
    fn can_stamp(&self, job: &EndJob) -> Result<(), RemoteErrno> {
        if job.end.stamps != Some(Stamper::Device) {
            return Ok(());
        }
        let peer = self.control.peer_addr().ok();
        let peer = peer
            .and_then(|peer| peer.as_socket())
            .ok_or(RemoteErrno::ENODEV)?;
        device_stamps::check(peer.ip()).map_err(|_lacking| RemoteErrno::ENODEV)
    }

    fn make_ready(&mut self, job: EndJob) -> Result<(Prepared, Ready), NotPrepared> {
        permit_congestion(&job)?;
        let reached = job.facts.map(|wanted| self.reached_at(wanted));
        let facts = reached.as_deref().map(netperf_measure::host::facts);
        let settings_at = reached.filter(|_| job.facts.is_some_and(|wanted| wanted.settings));
        let mut job = self.with_method(job);
        let here = self.local.map(|local| local.ip());
        netperf_measure::host::name_interface(&mut job.end.place, job.transport, here);
        self.look_at_file(&mut job)?;
        if let Some(flows) = &mut job.flows {
            let placed = cpus::placed(&flows.workers, || here);
            flows.workers = placed.map_err(|error| cannot_place(&error))?;
        }
        let time = match job.limit {
            Limit::Time(time) => Some(time),
            Limit::Units(_) | Limit::Messages(_) | Limit::UntilStopped => None,
        };
        let cpu = job.end.cpu.unwrap_or_default();
        let (transport, flow) = (job.transport, job.test_flow());
        let numbers = job.end.numbers;
        let as_asked = !job.end.features().is_empty();
        self.can_stamp(&job)?;
        let pass = job
            .end
            .one_port
            .then(|| self.register_token())
            .transpose()?;
        job.token = pass.as_ref().map(|pass| pass.token);
        let token = job.token;
        let handoff = pass.as_ref().map(Pass::handoff).transpose()?;
        let (limits, records) = (&self.policy.limits, &mut *self.records);
        let mut denied = None;
        let mut reserve = |needs| {
            let granted = limits
                .bear(needs)
                .and_then(|()| records.ask(SessionQuestion::Needs(needs), limits));
            denied = None;
            granted.map_err(|reason| {
                denied = Some(reason);
                io::ErrorKind::OutOfMemory.into()
            })
        };
        let prepare = PREPARE
            .get()
            .ok_or(NotPrepared::Failed(RemoteErrno::EOPNOTSUPP))?;
        let server = prepare(handoff, job, &mut reserve)
            .map_err(|error| denied.map_or_else(|| not_prepared(&error), NotPrepared::Denied))?;
        let ready = Ready {
            setup: EndSetup {
                cpu_refused: self.cpu_refused,
                ..*server.setup()
            },
            transport,
            data_port: match token {
                Some(_) => self.local.map_or(0, |local| local.port().into()),
                None => server.data_port(),
            },
            token,
            address: server.address().cloned(),
            ports: server.ports().to_vec(),
            numbers,
            as_asked,
            cpu_rate: self.rate(cpu),
            host: facts.map(Box::new),
        };
        let prepared = Prepared {
            server,
            transport,
            flow,
            time,
            pass,
            settings_at,
        };
        Ok((prepared, ready))
    }
}

impl SessionHost for EngineHost<'_> {
    type Prepared = Prepared;

    fn prepare(&mut self, job: EndJob) -> Result<(Prepared, Ready), NotPrepared> {
        let ready = self.make_ready(job);
        // The session notes refusals by the policy.
        if let Err(NotPrepared::Failed(errno)) = &ready {
            self.records.tell(SessionRecord::Refused(errno.0));
        }
        ready
    }

    fn run(&mut self, prepared: Prepared) -> Result<EndResult, RemoteErrno> {
        let Prepared {
            server,
            transport,
            flow,
            time,
            pass: _pass,
            settings_at,
        } = prepared;
        if let Some(time) = time {
            self.records.tell(SessionRecord::Runs(time.as_secs_f64()));
        }
        let mut result = server
            .serve(Some(self.control.as_ref().as_fd()))
            .map_err(|error| number(&error));
        if let Ok(result) = &mut result {
            result.settings = settings_at.map(|at| netperf_measure::host::settings(&at));
        }
        // An answer is of no interest: nothing is needed any more.
        let none = SessionQuestion::Needs(EndNeeds::default());
        let _released = self.records.ask(none, &self.policy.limits);
        self.records.tell(match &result {
            Ok(result) => SessionRecord::Ran(Ran {
                transport,
                flow,
                tally: result.tally,
                elapsed: result.elapsed,
            }),
            Err(errno) => SessionRecord::Failed(errno.0),
        });
        if self.is_abandoned() {
            self.records
                .tell(SessionRecord::Ended(SessionEnd::Abandoned));
        }
        result
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the wire has the rate in single precision"
    )]
    fn calibrate(&mut self, method: CpuMethod) -> f32 {
        netperf_measure::cpu::calibrate(method).unwrap_or(0.0) as f32
    }

    fn abilities(&mut self) -> Abilities {
        let mut abilities =
            netperf_transport::registry::abilities(self.policy.transports, self.found);
        let permitted = self.policy.features;
        let is_off = |feature: &Feature| {
            GuardedFeature::of(*feature).is_some_and(|guarded| !permitted.contains(guarded))
        };
        abilities.features_off = Feature::all().filter(is_off).collect();
        abilities.features.retain(|feature| !is_off(feature));
        let features = &mut abilities.features;
        features.retain(|feature| *feature != Feature::OnePort || self.handoff.is_some());
        abilities
    }

    fn clock(&mut self) -> u64 {
        clock::monotonic()
    }

    fn note(&mut self, denied: &Denied) {
        self.records.tell(SessionRecord::denied(denied));
    }

    fn bind_to_cpu(&mut self, cpu: u32) {
        // As in the original, a CPU that does not exist is not an error; a client of ours is told.
        let bound = netperf_os::process::bind_to_cpu(cpu);
        let errno = |error: io::Error| error.raw_os_error().unwrap_or(RemoteErrno::EINVAL.0);
        self.cpu_refused = bound.err().map(errno);
    }
}

/// Error number for threads that cannot be placed as requested: `ENODEV` if the machine has no
/// such CPU or node.
fn cannot_place(error: &io::Error) -> RemoteErrno {
    if error.kind() == io::ErrorKind::NotFound {
        RemoteErrno::ENODEV
    } else {
        RemoteErrno::EINVAL
    }
}

/// Refuses an algorithm of congestion control that this user may not choose. One that the kernel
/// does not know is ignored, as by the original.
fn permit_congestion(job: &EndJob) -> Result<(), NotPrepared> {
    let Some(name) = &job.end.socket.congestion else {
        return Ok(());
    };
    let probe = netperf_transport::socket::any(job.transport);
    let set = probe.and_then(|socket| socket.set_tcp_congestion(name.as_bytes()));
    match set {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(NotPrepared::Denied(Denied::Congestion(name.clone())))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Reason for the client.
fn not_prepared(error: &EngineError) -> NotPrepared {
    if error.operation == Operation::DataPorts {
        return NotPrepared::Denied(Denied::DataPorts);
    }
    NotPrepared::Failed(number(error))
}

/// Error number for the client.
fn number(error: &EngineError) -> RemoteErrno {
    match error.error.raw_os_error() {
        Some(number) => RemoteErrno(number),
        None if error.error.kind() == io::ErrorKind::InvalidInput => RemoteErrno::EINVAL,
        None => RemoteErrno::EIO,
    }
}
