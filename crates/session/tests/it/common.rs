//! Plans, frames and peers that the tests share.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use netperf_model::plan::{ControlPlan, DataAddress};
use netperf_model::{
    Abilities, Address, CpuMethod, CpuShares, CpuUsage, DataPeers, Denied, Domain, EndJob, EndPlan,
    EndResult, EndSetup, Family, Feature, Flow, GuardedFeatures, Limit, Policy, Tally, TestId,
    TestPlan, TransportId, TransportSet,
};
use netperf_session::dialect::Ready;
use netperf_session::driver::{Link, LinkEvent, NotPrepared, SessionHost, serve};
use netperf_session::offer::LocalEnd;
use netperf_session::server::Facts;
use netperf_wire::{Frame, RemoteErrno};
use proptest::prelude::*;

fn address(host: &str) -> DataAddress {
    DataAddress {
        host: host.into(),
        random_bits: None,
        port: "0".into(),
        family: Family::Unspecified,
        named: false,
    }
}

/// A plain TCP_STREAM of ten seconds.
pub(crate) fn plan() -> TestPlan {
    TestPlan {
        test: TestId::TcpStream,
        transport: TransportId::Tcp,
        flow: Flow::SEND,
        limit: Limit::Time(Duration::from_secs(10)),
        request: None,
        response: None,
        burst: 0,
        burst_negative: false,
        associations: 1,
        peer: None,
        control: Some(ControlPlan {
            remote: address("localhost"),
            local: address("0.0.0.0"),
            explicit: false,
            passphrase: None,
            key_file: None,
            secret: None,
            keepalive: ControlPlan::KEEPALIVE,
        }),
        local_data: address("0.0.0.0"),
        remote_data: address("localhost"),
        local: EndPlan::default(),
        remote: EndPlan::default(),
        port_range: None,
        retry_connects: false,
        use_write: false,
        recv_timeout: None,
        wait: Duration::ZERO,
        latency: false,
        retransmissions: true,
        numbers_datagrams: false,
        interim: None,
        confidence: None,
        uuid: None,
        dump_tcp_info: false,
        many: None,
        until: None,
    }
}

/// A request/response plan.
pub(crate) fn rr_plan() -> TestPlan {
    TestPlan {
        test: TestId::TcpRr,
        flow: Flow::RR,
        request: Some(1),
        response: Some(1),
        ..plan()
    }
}

pub(crate) fn local_end() -> LocalEnd {
    LocalEnd {
        family: Family::V4,
        address: None,
        socket: None,
        data_port: 0,
        send_size: None,
        facts_of: None,
        all_flows: false,
    }
}

pub(crate) fn facts() -> Facts {
    Facts {
        cpu_method: CpuMethod::ProcStat,
        cpu_rate: 100.0,
        cpus: 2,
        peer: None,
        here: false,
        policy: Policy {
            transports: TransportSet::all(),
            features: GuardedFeatures::all(),
            data_peers: DataPeers::Any,
            ..Policy::default()
        },
    }
}

pub(crate) fn ready() -> Ready {
    Ready {
        setup: EndSetup::default(),
        transport: TransportId::Tcp,
        data_port: 4242,
        address: None,
        ports: Vec::new(),
        token: None,
        numbers: None,
        as_asked: false,
        cpu_rate: 100.0,
        host: None,
    }
}

/// The path of the engine's data socket in Unix-domain tests.
pub(crate) const PATH: &str = "/tmp/netpeABCDEF";

/// Address of the engine's data socket, when it is more than a port.
pub(crate) fn address_of(transport: TransportId) -> Option<Address> {
    match transport.row().domain {
        Domain::Unix => Some(Address::Unix(PATH.into())),
        Domain::Link => Some(Address::Link {
            station: [2, 0, 0, 0, 0, 7],
            sap: 84,
        }),
        Domain::Inet | Domain::Vsock | Domain::Atm => None,
    }
}

pub(crate) fn result() -> EndResult {
    EndResult {
        tally: Tally {
            bytes_received: 5_000_000_000,
            recv_calls: 7,
            ..Tally::default()
        },
        elapsed: 10.0,
        ..EndResult::default()
    }
}

/// A link that plays what arrives and keeps what was sent.
#[derive(Default)]
pub(crate) struct ScriptedLink {
    pub(crate) arriving: VecDeque<LinkEvent>,
    pub(crate) sent: Vec<Frame>,
    pub(crate) broken: bool,
    pub(crate) half_closed: bool,
    pub(crate) hurried: Vec<Option<Duration>>,
}

impl ScriptedLink {
    pub(crate) fn frames(frames: impl IntoIterator<Item = Frame>) -> Self {
        let arriving = frames
            .into_iter()
            .map(|frame| LinkEvent::Frame(Box::new(frame)))
            .collect();
        Self {
            arriving,
            ..Self::default()
        }
    }
}

impl Link for ScriptedLink {
    fn send(&mut self, frame: &Frame) -> io::Result<()> {
        if self.broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.sent.push(frame.clone());
        Ok(())
    }

    fn receive(&mut self, _within: Duration) -> io::Result<LinkEvent> {
        Ok(self.arriving.pop_front().unwrap_or(LinkEvent::Closed(0)))
    }

    fn hurry(&mut self, within: Option<Duration>) {
        self.hurried.push(within);
    }

    fn half_close(&mut self) {
        self.half_closed = true;
    }
}

/// An engine that does nothing and remembers what it was asked.
#[derive(Default)]
pub(crate) struct Engine {
    pub(crate) jobs: Vec<EndJob>,
    pub(crate) runs: usize,
    pub(crate) cpus: Vec<u32>,
    pub(crate) refuses: Option<RemoteErrno>,
    pub(crate) fails: Option<RemoteErrno>,
    /// Result of a run, if it is not [`result`].
    pub(crate) ran: Option<EndResult>,
    /// Settings it was to record.
    pub(crate) denied: Vec<Denied>,
}

impl SessionHost for Engine {
    type Prepared = ();

    fn prepare(&mut self, job: EndJob) -> Result<((), Ready), NotPrepared> {
        let ready = Ready {
            transport: job.transport,
            address: address_of(job.transport),
            ..ready()
        };
        self.jobs.push(job);
        self.refuses
            .map_or(Ok(((), ready)), |errno| Err(errno.into()))
    }

    fn run(&mut self, (): ()) -> Result<EndResult, RemoteErrno> {
        self.runs += 1;
        let ran = self.ran.clone().unwrap_or_else(result);
        self.fails.map_or(Ok(ran), Err)
    }

    fn calibrate(&mut self, _method: CpuMethod) -> f32 {
        5e8
    }

    fn abilities(&mut self) -> Abilities {
        Abilities {
            transports: vec![TransportId::Tcp, TransportId::UnixStream],
            off: vec![TransportId::Llc1, TransportId::Packet],
            flows: Some(4000),
            features: vec![Feature::Poll, Feature::Discard],
            features_off: vec![Feature::Uring],
        }
    }

    fn clock(&mut self) -> u64 {
        77
    }

    fn note(&mut self, denied: &Denied) {
        self.denied.push(denied.clone());
    }

    fn bind_to_cpu(&mut self, cpu: u32) {
        self.cpus.push(cpu);
    }
}

/// netserver's answers, and the job it was given.
pub(crate) fn served(frame: Frame, ran: Option<EndResult>) -> (Vec<Frame>, Option<EndJob>) {
    let mut link = ScriptedLink::frames([frame]);
    let mut engine = Engine {
        ran,
        ..Engine::default()
    };
    serve(&mut link, &mut engine, &facts(), None);
    (link.sent, engine.jobs.pop())
}

/// Everything counted, and more than 32 bits hold.
pub(crate) fn much() -> EndResult {
    EndResult {
        tally: Tally {
            bytes_sent: 3_000_000_000,
            bytes_received: 5_000_000_000,
            send_calls: 11,
            recv_calls: 7,
            failed_sends: 0,
            transactions: 13,
            unanswered: 0,
        },
        elapsed: 10.0,
        cpu: Some(CpuUsage {
            method: CpuMethod::ProcStat,
            busy: 50.0,
            shares: CpuShares::default(),
            cpus: 4,
            peak_id: 0,
            peak_busy: 90.0,
        }),
        ..EndResult::default()
    }
}

/// Words of which many are what breaks arithmetic.
pub(crate) fn any_frame() -> impl Strategy<Value = Frame> {
    let words = prop_oneof![
        any::<u32>(),
        0_u32..100,
        Just(u32::MAX),
        Just(0x8000_0000),
        Just(f32::NAN.to_bits()),
    ];
    proptest::collection::vec(words, 164).prop_map(|words| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        Frame::try_from(bytes.as_slice()).unwrap()
    })
}
