//! netserver's session receives arbitrary records, and its engine succeeds or fails at any
//! point. The session ends when the client does, answers each request once, has a deadline
//! for every wait, and does nothing for a client without the passphrase.

#![no_main]

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use netperf_model::{Abilities, CpuMethod, Denied, EndJob, EndResult, EndSetup, Policy};
use netperf_session::dialect::Ready;
use netperf_session::driver::{Link, LinkEvent, NotPrepared, SessionHost, serve};
use netperf_session::server::Facts;
use netperf_wire::{FRAME_LEN, Frame, RemoteErrno};

/// Maximum wait of a session.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// Maximum number of records in the answer to a request: pages of an appendix.
const MOST_ANSWERS: usize = 64;

fuzz_target!(|bytes: &[u8]| {
    let Some((&choices, records)) = bytes.split_first() else {
        return;
    };
    let locked = choices & 1 != 0;
    let mut client = Client {
        records,
        heard: 0,
        answers: 0,
    };
    let mut host = Engine {
        choices,
        jobs: 0,
        prepared: 0,
    };
    let passphrase = locked.then(|| "sesame".into());
    serve(&mut client, &mut host, &facts(), passphrase);
    assert!(host.jobs <= client.heard, "more jobs than requests");
    if locked && !contains(records, b"sesame") {
        assert_eq!((host.jobs, client.answers), (0, 0), "served a stranger");
    }
});

fn facts() -> Facts {
    Facts {
        cpu_method: CpuMethod::ProcStat,
        cpu_rate: 100.0,
        cpus: 2,
        peer: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        here: false,
        policy: Policy::default(),
    }
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// A client that sends the fuzz input and closes the connection.
struct Client<'a> {
    records: &'a [u8],
    heard: usize,
    answers: usize,
}

impl Link for Client<'_> {
    fn send(&mut self, _: &Frame) -> io::Result<()> {
        self.answers += 1;
        assert!(self.answers <= self.heard * MOST_ANSWERS, "nobody asked");
        Ok(())
    }

    fn receive(&mut self, within: Duration) -> io::Result<LinkEvent> {
        assert!(within <= LONGEST_WAIT, "waits for {within:?}");
        let Some((record, rest)) = self.records.split_at_checked(FRAME_LEN) else {
            return Ok(LinkEvent::Closed(self.records.len()));
        };
        self.records = rest;
        self.heard += 1;
        let frame = Frame::try_from(record).expect("a record's length");
        Ok(LinkEvent::Frame(Box::new(frame)))
    }

    fn hurry(&mut self, within: Option<Duration>) {
        assert!(within.is_none_or(|within| within <= LONGEST_WAIT));
    }

    fn half_close(&mut self) {}
}

/// An engine that measures nothing, and fails as the input determines.
struct Engine {
    choices: u8,
    jobs: usize,
    prepared: usize,
}

impl Engine {
    fn fails_at(&self, bit: u8) -> bool {
        self.choices & (1 << bit) != 0
    }
}

impl SessionHost for Engine {
    type Prepared = usize;

    fn prepare(&mut self, job: EndJob) -> Result<(usize, Ready), NotPrepared> {
        self.jobs += 1;
        if self.fails_at(1) {
            return Err(RemoteErrno(22).into());
        }
        self.prepared += 1;
        let ready = Ready {
            setup: EndSetup::default(),
            transport: job.transport,
            data_port: 4242,
            address: None,
            ports: Vec::new(),
            as_asked: self.fails_at(3),
            cpu_rate: 100.0,
            host: None,
            token: None,
            numbers: None,
        };
        Ok((self.prepared, ready))
    }

    fn run(&mut self, prepared: usize) -> Result<EndResult, RemoteErrno> {
        assert_eq!(prepared, self.prepared, "ran what was prepared before");
        if self.fails_at(2) {
            return Err(RemoteErrno(104));
        }
        Ok(EndResult::default())
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

    fn note(&mut self, _: &Denied) {}
}
