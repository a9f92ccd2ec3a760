//! netserver's end: prepare it, run it, say what was measured.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

use netperf_measure::clock;
use netperf_model::{
    Address, EndJob, EndResult, EndSetup, Ending, IoCounts, Limit as LimitPlan, PacePlan, Paced,
    Quality, Stamps, Tally,
};
use netperf_os::Socket;
use netperf_os::alarm::{self, Alarm, Outside, Schedule};
use netperf_transport::one_port;
use netperf_transport::place::{self, PlaceRequest, Placed};
use netperf_transport::socket::{self, Side, SocketFacts};

use crate::dispatch;
use crate::early;
use crate::end::{self, Carries, Rings};
use crate::error::{EngineError, Operation, refused};
use crate::flows;
use crate::live::Live;
use crate::paths;
use crate::series::{self, Watched};
use crate::stop::{ByBell, Ended, control_has_ended};

/// How long netserver waits for netperf's end of the run past the test's length.
pub const PAD: Duration = Duration::from_secs(4);
/// In some tests nothing tells netserver of the end; this long without a connection, or
/// without anything, once the time is over does.
pub(crate) const IDLE: Duration = Duration::from_secs(1);
/// How often a run looks around.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// How long nothing may move in a run without a time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// netserver's end, ready to run once.
#[derive(Debug)]
pub struct Server {
    pub(crate) work: Work,
    pub(crate) socket: Socket,
    pub(crate) placed: Placed,
    /// Sockets of further flows, where each has one of its own, and the ports of all.
    pub(crate) further: Vec<Socket>,
    ports: Vec<u16>,
    /// Where datagrams are announced that come in by the port of the control connection.
    handoff: Option<Socket>,
}

/// What the loops need to know of netserver's end.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) job: EndJob,
    pub(crate) rings: Rings,
    pub(crate) setup: EndSetup,
    /// What went on underneath the messages.
    pub(crate) counts: Option<IoCounts>,
    /// What keeping to a rate came to.
    pub(crate) paced: Option<Paced>,
    /// What the numbers in datagrams told.
    pub(crate) quality: Option<Quality>,
    /// The moments of transactions.
    pub(crate) stamps: Option<Stamps>,
    /// What keeps the kernel stamping.
    pub(crate) stamping: Option<std::net::UdpSocket>,
}

/// What moved, before the clock stopped.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) ended: Ended,
    pub(crate) facts: Option<SocketFacts>,
    /// Time since anything happened, where only that tells of the end.
    pub(crate) idle: Duration,
}

impl Server {
    /// Opens the data socket, derives sizes, makes the buffers and listens.
    ///
    /// # Errors
    /// When any of that fails; `error.raw_os_error()` is what goes to netperf.
    pub fn prepare(job: EndJob) -> Result<Self, EngineError> {
        Self::prepare_behind(None, job)
    }

    /// The same where data comes through a hatch ([`netperf_transport::one_port`]).
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub fn prepare_behind(handoff: Option<Socket>, mut job: EndJob) -> Result<Self, EngineError> {
        if job.flows.is_some() && !flows::serves(&job) {
            return Err(Operation::Listen.failed()(
                io::ErrorKind::InvalidInput.into(),
            ));
        }
        end::prepare_cpu(&job.end)?;
        place::check(job.transport, &job.end.place).map_err(Operation::Create.failed())?;
        let opened = socket::open(job.transport, job.family, &job.end.socket)
            .map_err(Operation::Create.failed())?;
        socket::set_extras(&opened.socket, &job.end.socket, Side::Answers).map_err(refused)?;
        let placed = match handoff {
            Some(_) => Placed::default(),
            None => bind(&job, &opened.socket)?,
        };
        let sends = only_sends(&job) || job.test_flow().duplex.is_some();
        if sends && end::drops_silently(job.transport) {
            socket::report_send_errors(&opened.socket, job.family)
                .map_err(Operation::Create.failed())?;
        }
        // netserver receives what netperf sends.
        let sends = Carries::of(job.test_flow().receives, job.response);
        let receives = Carries::of(job.test_flow().sends, job.request);
        let peer = match &job.peer {
            Some(Address::Inet(address)) => Some(address.ip()),
            _ => None,
        };
        let largest = socket::largest_message(job.transport, &opened.socket, peer);
        let flows = job.flow_count();
        let end = end::of_flow(&job.end, flows);
        let setup = end::setup(&end, &opened, largest, sends, receives);
        hold_back(&mut job, setup.send_size);
        let rings = end::rings(
            &job.end,
            &setup,
            paths::is_bulk(job.test_flow()),
            job.end.fill.as_deref(),
        )?;
        let (further, ports) = match handoff {
            // Each flow gets one when it is there.
            Some(_) => (Vec::new(), Vec::new()),
            None => flows::server::further(&job, &placed)?,
        };
        let (socket, handoff) = listening(&job, opened.socket, handoff)?;
        Ok(Self {
            work: Work {
                stamping: end::stamping(&job.end),
                job,
                rings,
                setup,
                counts: None,
                paced: None,
                quality: None,
                stamps: None,
            },
            socket,
            placed,
            further,
            ports,
            handoff,
        })
    }

    /// The ports of all data sockets, where each flow has one of its own.
    #[must_use]
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// What the socket and the buffers really are.
    #[must_use]
    pub const fn setup(&self) -> &EndSetup {
        &self.work.setup
    }

    /// The port that netperf must use, 0 where there is none.
    #[must_use]
    pub fn data_port(&self) -> u32 {
        self.placed.port()
    }

    /// Where the data socket is.
    #[must_use]
    pub const fn address(&self) -> Option<&Address> {
        self.placed.address.as_ref()
    }

    /// Runs the test: to be called right after the response was sent.
    ///
    /// # Errors
    /// When the data connection cannot be accepted or breaks.
    pub fn run(mut self, control: Option<BorrowedFd<'_>>) -> Result<EndResult, EngineError> {
        if let Some(handoff) = self.handoff.take() {
            self = self.found(&handoff, control)?;
        }
        if self.work.job.flows.is_some() {
            return flows::server::run(self, control);
        }
        let Self {
            mut work,
            socket,
            placed: _placed,
            ..
        } = self;
        let alarm = Alarm::new(Outside::Ignored).map_err(Operation::Timer.failed())?;
        let meter = end::meter(&work.job.end)?;
        let live = Live::default();
        // A client that is gone is noticed before the time is over, which may be in years;
        // one that is there may do nothing for as long as it said.
        alarm.check_every(heartbeat(&work.job));
        let patience = match work.job.limit {
            LimitPlan::Time(_) => Duration::MAX,
            LimitPlan::Units(_) | LimitPlan::Messages(_) | LimitPlan::UntilStopped => PATIENCE,
        };
        let mut stop = ByBell::new(control, &alarm, &live, patience);
        if may_end_in_silence(&work.job) {
            stop.end_in_silence(IDLE);
        }
        stop.metered_by(meter.as_ref());
        let mut tally = Tally::default();
        let start = clock::now();
        alarm
            .start(schedule(&work.job))
            .map_err(Operation::Timer.failed())?;
        let watched = live.watch(work.job.end.series, false);
        let served = series::beside(watched, || {
            dispatch::server(&mut work, socket, &mut stop, &mut tally)
        })??;
        alarm.stop();
        drop(work.stamping.take());
        let sampled = start.elapsed();
        let elapsed = sampled.saturating_sub(waited_in_vain(&work.job, &served));
        let cpu = end::usage(meter.as_ref(), sampled, elapsed)?;
        let facts = served.facts.unwrap_or_default();
        Ok(EndResult {
            quality: work.quality,
            series: watched.and_then(Watched::series),
            stamps: work.stamps,
            paced: work.paced,
            ..end::result(
                &work.job.end,
                &work.setup,
                facts,
                tally,
                elapsed,
                (cpu, work.counts),
            )
        })
    }
}

impl Server {
    /// With sockets that netperf's have found, where datagrams come in by the port of the
    /// control connection.
    fn found(
        mut self,
        handoff: &Socket,
        control: Option<BorrowedFd<'_>>,
    ) -> Result<Self, EngineError> {
        let job = &mut self.work.job;
        let open = || socket::open_again(job.transport, job.family, &job.end.socket);
        let mut over = || control.is_some_and(control_has_ended);
        let found = one_port::meet(handoff, job, (self.socket, open), &mut over)
            .map_err(Operation::Accept.failed())?;
        let mut sockets = found.sockets.into_iter();
        let first = sockets.next();
        self.socket =
            first.ok_or_else(|| Operation::Accept.failed()(io::ErrorKind::NotConnected.into()))?;
        self.further = sockets.collect();
        job.peer = Some(Address::Inet(found.peer));
        Ok(self)
    }
}

/// How often a run looks around: soon enough where netperf may end it.
fn heartbeat(job: &EndJob) -> Duration {
    if job.end.until {
        early::LOOK
    } else {
        HEARTBEAT
    }
}

fn schedule(job: &EndJob) -> Schedule {
    let LimitPlan::Time(length) = job.limit else {
        return Schedule {
            finish_after: None,
            grace: Duration::ZERO,
            heartbeat: heartbeat(job),
        };
    };
    let (finish_after, grace) = if job.test_flow().connects || may_end_in_silence(job) {
        (length, PAD)
    } else if only_sends(job) && !job.transport.is_connected() {
        (length, Duration::ZERO)
    } else {
        (length + PAD, Duration::ZERO)
    };
    Schedule {
        finish_after: Some(finish_after),
        grace,
        heartbeat: heartbeat(job),
    }
}

/// How soon a connection must come for the response to count as the beginning.
pub(crate) const PROMPT: Duration = Duration::from_millis(50);

/// The schedule of a sender once the connection stands.
///
/// The time of the original runs from the response, and a client that is late, in a
/// crowd or over a long path, would get that much less than it asked for.
pub(crate) fn sending_schedule(job: &EndJob, waited: Duration) -> Option<Schedule> {
    let LimitPlan::Time(length) = job.limit else {
        return None;
    };
    let late = waited > PROMPT;
    let finish_after = if late {
        length
    } else {
        length.saturating_sub(waited)
    };
    (only_sends(job) || job.test_flow().duplex.is_some()).then_some(Schedule {
        finish_after: Some(finish_after),
        grace: Duration::ZERO,
        heartbeat: heartbeat(job),
    })
}

/// The time at the end of the run in which netserver only waited.
fn waited_in_vain(job: &EndJob, served: &Served) -> Duration {
    if job.test_flow().connects {
        return served.idle;
    }
    match served.ended {
        Ended::Abandoned if may_end_in_silence(job) || job.test_flow().duplex.is_some() => {
            alarm::overtime()
        }
        Ended::Abandoned => alarm::overtime() + PAD,
        Ended::Complete | Ended::ByPeer | Ended::TimeOver | Ended::Lost(_) => served.idle,
    }
}

/// Whether nothing need tell of the end. A run without a time ends in other ways.
fn may_end_in_silence(job: &EndJob) -> bool {
    matches!(job.ending, Ending::Silence(_)) && matches!(job.limit, LimitPlan::Time(_))
}

pub(crate) fn only_sends(job: &EndJob) -> bool {
    job.test_flow().receives && !job.test_flow().sends && !job.test_flow().connects
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

/// What is listened at: the data socket, or the hatch that connections come through. Where
/// it announces datagrams, it is what is left.
fn listening(
    job: &EndJob,
    data: Socket,
    handoff: Option<Socket>,
) -> Result<(Socket, Option<Socket>), EngineError> {
    match handoff {
        Some(handoff) if job.transport.is_connected() => {
            // As it was before the last test.
            handoff
                .set_nonblocking(false)
                .and_then(|()| netperf_os::io::set_patience(handoff.as_fd(), None))
                .map_err(Operation::Listen.failed())?;
            Ok((handoff, None))
        }
        None if job.transport.is_connected() => {
            socket::listen(&data, &job.end.socket).map_err(Operation::Listen.failed())?;
            Ok((data, None))
        }
        handoff => Ok((data, handoff)),
    }
}

/// Binds where the request says. A port that is not free is no reason to fail:
/// only the port that the response reports is authoritative (control-protocol.md 2.5.2).
fn bind(job: &EndJob, data: &Socket) -> Result<Placed, EngineError> {
    let wildcard = socket::wildcard(job.family);
    let address = job.bind.unwrap_or(wildcard);
    let at = |inet| {
        let wanted = PlaceRequest {
            transport: job.transport,
            inet,
            place: &job.end.place,
            asking: false,
        };
        place::bind(data, &wanted)
    };
    let first = at(SocketAddr::new(address, job.port));
    if first.is_ok() || !job.transport.is_inet() {
        return first.map_err(Operation::Bind.failed());
    }
    at(SocketAddr::new(address, 0))
        .or_else(|_| at(SocketAddr::new(wildcard, 0)))
        .map_err(Operation::Bind.failed())
}
