//! netserver's session with an arbitrary policy receives arbitrary records: every job that it
//! prepares keeps to the policy, and data goes only where the policy permits.
//!
//! The input is the text of a settings file, a zero byte, and records.

#![no_main]

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use netperf_cli::{ServerCommand, netserver};
use netperf_model::{
    Abilities, Address, CpuMethod, DataPeers, Denied, EndJob, EndResult, Limit, OnePort, Policy,
};
use netperf_session::dialect::Ready;
use netperf_session::driver::{Link, LinkEvent, NotPrepared, SessionHost, serve};
use netperf_session::server::Facts;
use netperf_wire::{FRAME_LEN, Frame, RemoteErrno};

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == 0);
    let (text, records) = bytes.split_at(end.unwrap_or(0));
    let records = records.get(1..).unwrap_or_default();
    let Some(policy) = policy_of(&String::from_utf8_lossy(text)) else {
        return;
    };
    let mut host = Host(policy.clone());
    let facts = Facts {
        cpu_method: CpuMethod::ProcStat,
        cpu_rate: 100.0,
        cpus: 2,
        peer: Some(PEER),
        here: false,
        policy,
    };
    serve(&mut Client(records), &mut host, &facts, None);
});

/// The policy of a settings file.
fn policy_of(text: &str) -> Option<Policy> {
    let argv = ["netserver", "--config", "netserver.toml"].map(OsString::from);
    match netserver(&argv, &|_| Ok(text.to_owned())).command {
        Ok(ServerCommand::Serve(args)) => Some(args.policy()),
        Ok(_) | Err(_) => None,
    }
}

/// A client that sends the records and closes the connection.
struct Client<'a>(&'a [u8]);

impl Link for Client<'_> {
    fn send(&mut self, _: &Frame) -> io::Result<()> {
        Ok(())
    }

    fn receive(&mut self, _: Duration) -> io::Result<LinkEvent> {
        let Some((record, rest)) = self.0.split_at_checked(FRAME_LEN) else {
            return Ok(LinkEvent::Closed(self.0.len()));
        };
        self.0 = rest;
        let frame = Frame::try_from(record).expect("a record's length");
        Ok(LinkEvent::Frame(Box::new(frame)))
    }

    fn hurry(&mut self, _: Option<Duration>) {}

    fn half_close(&mut self) {}
}

/// Checks every job against the policy and prepares none.
struct Host(Policy);

impl Host {
    fn check(&self, job: &EndJob) {
        let policy = &self.0;
        assert!(policy.transports.contains(job.transport), "{job:?}");
        assert_eq!(policy.features.lacking(&job.end), None, "{job:?}");
        assert!(job.flow_count() <= policy.limits.flows, "{job:?}");
        if let Some(most) = policy.limits.test_time {
            assert!(matches!(job.limit, Limit::Time(time) if time <= most));
        }
        assert!(!job.end.one_port || policy.one_port != OnePort::Off);
        assert_eq!(job.data_ports, policy.data_ports);
        if let Some(most) = policy.limits.send_rate.filter(|_| job.sends) {
            let paced = job
                .end
                .socket
                .settings
                .number(netperf_model::Setting::PacingRate);
            let bits = job.most_bits.or(paced.map(|bytes| u64::from(bytes) * 8));
            assert!(bits.is_some_and(|bits| bits <= most.max(8)), "{job:?}");
        }
        self.check_addresses(job);
    }

    fn check_addresses(&self, job: &EndJob) {
        if self.0.data_peers == DataPeers::Any {
            return;
        }
        if job.transport.is_inet() {
            assert!(!job.sources.is_anybody(), "data from everywhere: {job:?}");
        }
        if !job.sends_where_told() {
            return;
        }
        match &job.peer {
            Some(Address::Inet(to)) => {
                assert!(self.0.data_peers.allow(to.ip(), Some(PEER)), "{job:?}");
            }
            Some(Address::Link { station, .. }) => {
                assert_eq!(station[0] & 1, 0, "a group: {job:?}");
            }
            Some(Address::Unix(_)) => panic!("a file of this host: {job:?}"),
            Some(_) | None => {}
        }
    }
}

impl SessionHost for Host {
    type Prepared = ();

    fn prepare(&mut self, job: EndJob) -> Result<((), Ready), NotPrepared> {
        self.check(&job);
        Err(RemoteErrno(22).into())
    }

    fn run(&mut self, (): ()) -> Result<EndResult, RemoteErrno> {
        Err(RemoteErrno(22))
    }

    fn calibrate(&mut self, _: CpuMethod) -> f32 {
        100.0
    }

    fn abilities(&mut self) -> Abilities {
        Abilities::default()
    }

    fn clock(&mut self) -> u64 {
        77
    }

    fn bind_to_cpu(&mut self, _: u32) {}

    fn note(&mut self, denied: &Denied) {
        let line = denied.to_string();
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}
