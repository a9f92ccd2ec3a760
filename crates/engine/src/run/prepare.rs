//! Preparing one end: its sockets, sizes and buffers, before anything moves.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::path::Path;
use std::time::Duration;

use netperf_measure::recorder;
use netperf_model::{
    Address, Duplex, EndFlows, EndJob, EndNeeds, EndSetup, PacePlan, RingPlan, TestId, Workers,
};
use netperf_os::Socket;
use netperf_transport::place::{self, Placed};
use netperf_transport::{built, largest, payload};

use super::sockets::{bind, listening, open, placed, report_drops};
use super::test_end::{SecondSocket, TestEnd};
use crate::end::{self, DirectionUse, FillTime, Rings};
use crate::error::{EngineError, Operation};
use crate::meet::Work;
use crate::program::Program;
use crate::{flows, path};

impl<P: Program> TestEnd<P> {
    /// Opens the data socket, derives sizes and makes the buffers. netserver listens.
    ///
    /// # Errors
    /// When any of that fails; `error.raw_os_error()` is what netserver sends to netperf.
    pub fn prepare(job: EndJob) -> Result<Self, EngineError> {
        Self::prepare_behind(None, job, &mut |_| Ok(()))
    }

    /// The same where data comes by a handoff socket ([`netperf_transport::one_port`]).
    /// `reserve` permits what the end takes from this host.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub fn prepare_behind(
        handoff: Option<Socket>,
        mut job: EndJob,
        reserve: &mut dyn FnMut(EndNeeds) -> io::Result<()>,
    ) -> Result<Self, EngineError> {
        debug_assert!(P::ASKS || !job.is_netperf(), "an end of another program");
        let netperf = P::is_netperf(&job);
        let alone = job.waits_as_flow();
        if alone {
            job.flows = Some(EndFlows::new(1, Workers::default()));
        }
        if !netperf && job.flows.is_some() && !netperf_model::refusal::serves(&job) {
            return Err(Operation::Listen.failed()(
                io::ErrorKind::InvalidInput.into(),
            ));
        }
        check_built(&job)?;
        end::prepare_cpu(&job.end)?;
        recorder::prepare(job.latency);
        place::check(job.transport, &job.end.place).map_err(Operation::Create.failed())?;
        let mut opened = open(&job)?;
        let placed = if netperf {
            placed(&job, &opened.socket)?
        } else if handoff.is_some() {
            Placed::default()
        } else {
            bind(&job, &mut opened)?
        };
        report_drops(&job, &opened.socket);
        let sends = DirectionUse::of(job.sends, job.message_sent());
        let receives = DirectionUse::of(job.receives, job.message_received());
        let peer = job.peer.as_ref().and_then(Address::inet);
        let peer = peer.map(|address| address.ip());
        let largest = largest::message(job.transport, &opened.socket, peer);
        let share = end::of_flow(&job.end, job.flow_count());
        let mut setup = end::setup(&share, &opened, largest, sends, receives);
        hold_back(&mut job, setup.send_size);
        permitted(&job, &mut setup, handoff.is_some(), reserve)?;
        // A file is sent as it is, and not copied into the buffers.
        let sends_file = job.test == TestId::TcpSendfile;
        let file = sends_file.then(|| sent_file(&job, &setup));
        let file = file.transpose()?;
        let fill = job.end.fill.as_deref().filter(|_| !sends_file);
        let rings = rings(&job, &setup, fill)?;
        let (further, ports) = match handoff {
            None if !netperf => flows::further(&job, &placed)?,
            // Each flow gets one when it is there.
            Some(_) | None => (Vec::new(), Vec::new()),
        };
        let separate = netperf && job.flows.is_none() && job.duplex == Some(Duplex::Separate);
        let second = separate.then(|| SecondSocket::open(&job)).transpose()?;
        let (socket, handoff) = if netperf {
            (opened.socket, None)
        } else {
            listening(&job, opened.socket, handoff)?
        };
        Ok(Self {
            program: PhantomData,
            stamping: end::stamping(&job.end),
            receivers: further_receivers(&job)?,
            work: Work {
                due: path::due_queue(&job),
                job,
                rings,
                setup,
                file,
                to: None,
                second: None,
                counts: None,
                paced: None,
                quality: None,
                stamps: None,
                latency: None,
                paused: Duration::ZERO,
                port_holder: None,
            },
            socket,
            placed,
            alone,
            second,
            second_remotes: Vec::new(),
            further,
            ports,
            handoff,
            tokens: Vec::new(),
        })
    }
}

/// The buffers of an end. A client of netserver that opens no data connection costs none.
fn rings(job: &EndJob, setup: &EndSetup, fill: Option<&Path>) -> Result<Rings, EngineError> {
    let time = if job.is_netperf() {
        FillTime::Now
    } else {
        FillTime::Connected
    };
    if job.is_netperf() && job.flows.is_some() {
        // Each thread makes its own.
        return Ok(Rings {
            send: None,
            recv: None,
        });
    }
    end::rings(&job.end, setup, job.is_bulk(), (fill, time))
}

/// Asks for what netserver's end takes from this host; where that is too much, with one buffer for
/// each direction whose number of buffers is not asked for. Data that comes by a handoff socket
/// needs no port.
fn permitted(
    job: &EndJob,
    setup: &mut EndSetup,
    handed: bool,
    reserve: &mut dyn FnMut(EndNeeds) -> io::Result<()>,
) -> Result<(), EngineError> {
    if job.is_netperf() {
        return Ok(());
    }
    let ports = if job.transport.is_connected() {
        1
    } else {
        job.flow_count()
    };
    let needs = |setup: &EndSetup| {
        let memory = end::memory(job, setup, netperf_measure::cpu::count())?;
        let ports = if handed { 0 } else { ports.into() };
        Ok::<_, EngineError>(EndNeeds { memory, ports })
    };
    let Err(error) = reserve(needs(setup)?) else {
        return Ok(());
    };
    let fewer = EndSetup {
        send_width: one_unless_asked(&job.end.send, setup.send_width),
        recv_width: one_unless_asked(&job.end.recv, setup.recv_width),
        ..*setup
    };
    if fewer == *setup {
        return Err(Operation::Buffers.failed()(error));
    }
    *setup = fewer;
    reserve(needs(setup)?).map_err(Operation::Buffers.failed())
}

fn one_unless_asked(plan: &RingPlan, width: u32) -> u32 {
    if plan.width.is_some() {
        width
    } else {
        width.min(1)
    }
}

/// netperf's sockets of further flows with a session each.
fn further_receivers(job: &EndJob) -> Result<Vec<SecondSocket>, EngineError> {
    let flows = 1..job.flow_count();
    let further = flows.filter(|_| job.tells_addresses());
    further.map(|_| SecondSocket::open(job)).collect()
}

/// Refuses what this build does not contain.
fn check_built(job: &EndJob) -> Result<(), EngineError> {
    for feature in job.end.features() {
        built::check_feature(feature).map_err(Operation::Extra(feature).failed())?;
    }
    let flows = job.flows.as_ref().map_or(Ok(()), |_| built::check_flows());
    flows.map_err(Operation::Create.failed())
}

/// Has the loop wait between messages, where netserver may send only so much and nothing in
/// the kernel sees to that. A client that asks for less still gets it.
fn hold_back(job: &mut EndJob, size: Option<u32>) {
    let (Some(bits), Some(size)) = (job.most_bits, size) else {
        return;
    };
    let rate = |pace: &PacePlan| f64::from(pace.burst) / pace.interval.as_secs_f64();
    let held = pace_of(bits, size);
    let slower = |asked: &PacePlan| asked.burst > 0 && rate(asked) <= rate(&held);
    job.end.pace = Some(job.end.pace.filter(slower).unwrap_or(held));
}

/// Messages of this many bytes, so that no more than that many bits go out per second: one at
/// a time, or as many as go in a millisecond.
fn pace_of(bits: u64, size: u32) -> PacePlan {
    let bits_each = u64::from(size.max(1)) * 8;
    let in_a_millisecond = bits / (1000 * bits_each);
    let burst = u32::try_from(in_a_millisecond).unwrap_or(u32::MAX).max(1);
    let nanos = u128::from(bits_each) * u128::from(burst) * 1_000_000_000 / u128::from(bits.max(1));
    PacePlan {
        burst,
        interval: Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)),
    }
}

/// The file that TCP_SENDFILE sends from (control-protocol.md 3.17): the user's file, or one without
/// a name.
///
/// # Errors
/// When the file cannot be opened, or is too short for every ring element to be sent.
fn sent_file(job: &EndJob, setup: &EndSetup) -> Result<File, EngineError> {
    let size = u64::from(setup.send_size.unwrap_or(0));
    let needed = size * u64::from(setup.send_width);
    let made = needed + u64::from(job.end.send.offset);
    match job.end.fill.as_deref() {
        Some(path) => {
            payload::open(path, needed).map_err(Operation::SendFile(path.into()).failed())
        }
        None => payload::file(made).map_err(Operation::Buffers.failed()),
    }
}
