//! Plans, frames and peers that the tests share.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use netperf_model::plan::{ControlPlan, DataAddress};
use netperf_model::{
    Abilities, CpuMethod, EndPlan, EndResult, EndSetup, Family, Flow, Limit, ServerJob, Tally,
    TestId, TestPlan, TransportId,
};
use netperf_session::dialect::Ready;
use netperf_session::driver::{Arrival, Host, Link};
use netperf_session::offer::LocalEnd;
use netperf_session::server::Facts;
use netperf_wire::{Frame, RemoteErrno};

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
        associations: 1,
        control: Some(ControlPlan {
            remote: address("localhost"),
            local: address("0.0.0.0"),
            explicit: false,
            passphrase: None,
        }),
        local_data: address("0.0.0.0"),
        remote_data: address("localhost"),
        local: EndPlan::default(),
        remote: EndPlan::default(),
        port_range: (5000, 65535),
        retry_connects: false,
        use_write: false,
        recv_timeout: None,
        wait: Duration::ZERO,
        latency: false,
        interim: None,
        confidence: None,
        uuid: None,
        dump_tcp_info: false,
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
        facts_of: None,
    }
}

pub(crate) fn facts() -> Facts {
    Facts {
        cpu_method: CpuMethod::ProcStat,
        cpu_rate: 100.0,
        cpus: 2,
        peer: None,
    }
}

pub(crate) fn ready() -> Ready {
    Ready {
        setup: EndSetup::default(),
        transport: TransportId::Tcp,
        data_port: 4242,
        address: None,
        cpu_rate: 100.0,
        host: None,
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
    pub(crate) arriving: VecDeque<Arrival>,
    pub(crate) sent: Vec<Frame>,
    pub(crate) broken: bool,
    pub(crate) half_closed: bool,
}

impl ScriptedLink {
    pub(crate) fn frames(frames: impl IntoIterator<Item = Frame>) -> Self {
        let arriving = frames
            .into_iter()
            .map(|frame| Arrival::Frame(Box::new(frame)))
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

    fn receive(&mut self, _within: Duration) -> io::Result<Arrival> {
        Ok(self.arriving.pop_front().unwrap_or(Arrival::Closed(0)))
    }

    fn half_close(&mut self) {
        self.half_closed = true;
    }
}

/// An engine that does nothing and remembers what it was asked.
#[derive(Default)]
pub(crate) struct Engine {
    pub(crate) jobs: Vec<ServerJob>,
    pub(crate) runs: usize,
    pub(crate) cpus: Vec<u32>,
    pub(crate) refuses: Option<RemoteErrno>,
    pub(crate) fails: Option<RemoteErrno>,
}

impl Host for Engine {
    type Prepared = ();

    fn prepare(&mut self, job: ServerJob) -> Result<((), Ready), RemoteErrno> {
        self.jobs.push(job);
        self.refuses.map_or(Ok(((), ready())), Err)
    }

    fn run(&mut self, (): ()) -> Result<EndResult, RemoteErrno> {
        self.runs += 1;
        self.fails.map_or(Ok(result()), Err)
    }

    fn calibrate(&mut self, _method: CpuMethod) -> f32 {
        5e8
    }

    fn abilities(&mut self) -> Abilities {
        Abilities {
            transports: vec![TransportId::Tcp, TransportId::UnixStream],
        }
    }

    fn bind_to_cpu(&mut self, cpu: u32) {
        self.cpus.push(cpu);
    }
}
