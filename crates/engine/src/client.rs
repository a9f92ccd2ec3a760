//! netperf's end: prepare it, run it, say what was measured.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_measure::clock;
use netperf_model::{
    Address, CpuUsage, Domain, Duplex, EndResult, EndSetup, Family, Flows, Hosts, IoCounts,
    Latency, Limit as LimitPlan, Meeting, Paced, Quality, Stamps, Tally, TestId, TestPlan, Token,
    TransportId,
};
use netperf_os::alarm::{self, Alarm, Outside, Schedule};
use netperf_os::tcp::TcpInfo;
use netperf_os::{SockAddr, Socket};
pub use netperf_transport::meeting::EndMark;
use netperf_transport::one_port;
use netperf_transport::place::{self, PlaceRequest, Placed};
use netperf_transport::socket::{self, Side, SocketFacts};

use crate::dispatch::{self, Keeping};
use crate::due::queue::DueQueue;
use crate::end::{self, Carries, Rings};
use crate::error::{EngineError, Operation, refused};
use crate::finish;
use crate::live::Live;
use crate::paths;
use crate::record;
use crate::sendfile;
use crate::series::{self, Watched};
use crate::stop::{ByBell, Ended, Lost, control_has_ended};

/// How long what was begun may take to finish once the time is over.
pub(crate) const GRACE: Duration = Duration::from_millis(500);
/// How often a run looks around.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// How long nothing may move in a run without a time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// netperf's end, ready to run once.
#[derive(Debug)]
pub struct Client<'a> {
    work: Work<'a>,
    socket: Socket,
    placed: Placed,
    /// Where data that comes has a socket of its own.
    beside: Option<Beside>,
}

/// A second data socket, and where it is to connect to.
#[derive(Debug)]
struct Beside {
    socket: Socket,
    placed: Placed,
    remote: Option<Address>,
}

/// What the loops need to know of netperf's end.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    pub(crate) plan: &'a TestPlan,
    pub(crate) family: Family,
    pub(crate) local: SocketAddr,
    pub(crate) rings: Rings,
    pub(crate) setup: EndSetup,
    /// What TCP_SENDFILE sends.
    pub(crate) file: Option<File>,
    /// What went on underneath the messages.
    pub(crate) counts: Option<IoCounts>,
    /// The account of requests that are sent at times of their own.
    pub(crate) due: Option<DueQueue>,
    /// What keeping to a rate came to.
    pub(crate) paced: Option<Paced>,
    /// What the numbers in datagrams told.
    pub(crate) quality: Option<Quality>,
    /// The moments of transactions.
    pub(crate) stamps: Option<Stamps>,
    /// What keeps the kernel stamping.
    pub(crate) stamping: Option<std::net::UdpSocket>,
    /// The socket of data that comes, where it has one of its own, and where it connects to.
    pub(crate) beside: Option<(Socket, SockAddr)>,
    /// What data begins with, where it goes to the port of the control connection.
    pub(crate) token: Option<Token>,
}

/// What a run came to at netperf's end.
#[derive(Debug)]
pub struct Run {
    /// What was measured.
    pub result: EndResult,
    /// Length of the run, seconds.
    pub elapsed: f64,
    /// Of that, time spent waiting for a turn, seconds.
    pub paused: f64,
    /// How long operations took, where that was to be kept.
    pub latency: Option<Latency>,
    /// Segment size of the data connection, bytes.
    pub segment_size: Option<u32>,
    /// What encrypted the data, version and cipher suite.
    pub cipher: Option<String>,
    /// Whether a signal from outside ended it.
    pub stopped_by_user: bool,
    /// Whether netserver must have noticed the end of the run by now.
    pub ended_cleanly: bool,
    /// The peer was lost on the way.
    pub lost: Option<Lost>,
    /// What broke the data connection once something had moved: everything else is of the
    /// time until then.
    pub broke: Option<EngineError>,
    /// `TCP_INFO` when the data connection ended.
    pub tcp_info: Option<TcpInfo>,
    /// Smoothed round trip when the data connection ended.
    pub round_trip: Option<Duration>,
    /// Whether Multipath TCP fell back to TCP; `None` for every other transport.
    pub fallback: Option<bool>,
    /// A datagram socket that is still open, to repeat the end mark with.
    pub end_mark: Option<EndMark>,
    /// What each of many flows did.
    pub many: Option<Flows>,
}

/// What the data connection left behind, before the clock stopped.
#[derive(Debug)]
pub(crate) struct Moved {
    pub(crate) ended: Ended,
    pub(crate) facts: Option<SocketFacts>,
    pub(crate) segment_size: Option<u32>,
    pub(crate) cipher: Option<String>,
    pub(crate) lost: Option<Lost>,
    /// netserver had not closed the connection when we stopped waiting for it.
    pub(crate) still_moving: bool,
    pub(crate) end_mark: Option<EndMark>,
}

impl<'a> Client<'a> {
    /// Opens the data socket, derives sizes and makes the buffers.
    ///
    /// # Errors
    /// When the socket cannot be opened or bound, or the buffers cannot be made.
    pub fn prepare(plan: &'a TestPlan, hosts: &Hosts) -> Result<Self, EngineError> {
        end::prepare_cpu(&plan.local)?;
        record::prepare(plan.latency);
        let family = hosts.remote.family();
        place::check(plan.transport, &plan.local.place).map_err(Operation::Create.failed())?;
        let opened = socket::open(plan.transport, family, &plan.local.socket)
            .map_err(Operation::Create.failed())?;
        socket::set_extras(&opened.socket, &plan.local.socket, Side::Asks).map_err(refused)?;
        let local = local_address(plan, hosts, family);
        // A connection binds by itself; a datagram socket must have a port to be told of.
        if plan.flow.sends && end::drops_silently(plan.transport) {
            socket::report_send_errors(&opened.socket, family)
                .map_err(Operation::Create.failed())?;
        }
        let placed = placed(plan, local, &opened.socket)?;
        // A message that is lost is waited for no longer than this (`-e`).
        let row = plan.transport.row();
        let may_miss = row.meeting != Meeting::Connection || !row.reliable;
        if let Some(timeout) = plan.recv_timeout.filter(|_| may_miss) {
            opened
                .socket
                .set_read_timeout(Some(timeout))
                .map_err(Operation::Create.failed())?;
        }
        let sends = Carries::of(plan.flow.sends, plan.request);
        let receives = Carries::of(plan.flow.receives, plan.response);
        let peer = Some(hosts.remote.address);
        let largest = socket::largest_message(plan.transport, &opened.socket, peer);
        let setup = end::setup(&plan.local, &opened, largest, sends, receives);
        // A file is sent as it is, and not copied into the buffers.
        let from_file = plan.test == TestId::TcpSendfile;
        let file = from_file
            .then(|| sendfile::source(plan, &setup))
            .transpose()?;
        let fill = plan.local.fill.as_deref().filter(|_| !from_file);
        let rings = end::rings(&plan.local, &setup, paths::is_bulk(plan.flow), fill)?;
        let work = Work {
            plan,
            family,
            local,
            rings,
            setup,
            file,
            counts: None,
            due: paths::due_queue(plan),
            paced: None,
            quality: None,
            stamps: None,
            stamping: end::stamping(&plan.local),
            beside: None,
            token: None,
        };
        let separate = plan.flow.duplex == Some(Duplex::Separate);
        let beside = separate.then(|| beside(plan, family, local)).transpose()?;
        Ok(Self {
            work,
            socket: opened.socket,
            placed,
            beside,
        })
    }

    /// What the socket and the buffers really are.
    #[must_use]
    pub const fn setup(&self) -> &EndSetup {
        &self.work.setup
    }

    /// Where the data socket is; `None` while it is not bound.
    #[must_use]
    pub const fn address(&self) -> Option<&Address> {
        self.placed.address.as_ref()
    }

    /// Where the socket of data that comes is, where it has one of its own and is bound.
    #[must_use]
    pub fn address_beside(&self) -> Option<&Address> {
        self.beside.as_ref()?.placed.address.as_ref()
    }

    /// Data that comes has a socket of its own at the other end, too.
    pub fn comes_from(&mut self, remote: Address) {
        if let Some(beside) = &mut self.beside {
            beside.remote = Some(remote);
        }
    }

    /// Data goes to the port of the control connection, and begins with this.
    pub const fn goes_with(&mut self, token: Token) {
        self.work.token = Some(token);
    }

    /// Runs the test against the data socket at `remote`; `live` can be read
    /// meanwhile.
    ///
    /// # Errors
    /// When the data connection cannot be made or breaks.
    pub fn run(
        self,
        remote: &Address,
        control: Option<BorrowedFd<'_>>,
        live: &Live,
    ) -> Result<Run, EngineError> {
        let Self {
            mut work,
            socket,
            placed: _placed,
            beside,
        } = self;
        let plan = work.plan;
        let at = |remote: &Address| {
            place::sock_addr(plan.transport, remote)
                .map(|remote| socket::labelled(remote, &plan.local.socket))
                .map_err(Operation::Connect.failed())
        };
        // What the binding left in the file system stays until the end.
        let (beside, _placed_beside) = match beside {
            Some(Beside {
                socket,
                placed,
                remote: from,
            }) => (
                Some((socket, at(from.as_ref().unwrap_or(remote))?)),
                Some(placed),
            ),
            None => (None, None),
        };
        work.beside = beside;
        let remote = at(remote)?;
        let token = work.token.filter(|_| !plan.transport.is_connected());
        let reached = token.map_or(Ok(true), |token| {
            probe(plan, &socket, (&remote, &token), control)
        })?;
        let alarm = Alarm::new(Outside::Caught).map_err(Operation::Timer.failed())?;
        let meter = end::meter(&plan.local)?;
        let mut stop = ends_by(plan, control, &alarm, live);
        stop.metered_by(meter.as_ref());
        let mut tally = Tally::default();
        let (mut latency, mut paused) = (None, Duration::ZERO);
        let start = clock::now();
        alarm
            .start(first_schedule(plan))
            .map_err(Operation::Timer.failed())?;
        let keeping = Keeping {
            stop: &mut stop,
            tally: &mut tally,
            latency: &mut latency,
            paused: &mut paused,
        };
        if let Some(due) = &work.due {
            due.show(Some(live));
        }
        let watched = live.watch(plan.local.series, true);
        let moved = series::beside(watched, || {
            if reached {
                dispatch::client(&mut work, socket, remote, keeping)
            } else {
                Ok(Moved::nothing(Ended::Abandoned))
            }
        })?;
        live.end();
        drop(work.stamping.take());
        let (moved, broke) = broken_off(moved, &tally)?;
        alarm.stop();
        let sampled = start.elapsed();
        let elapsed = sampled.saturating_sub(stop.waited() + in_vain(plan, moved.ended, &stop));
        let cpu = end::usage(meter.as_ref(), sampled, elapsed)?;
        if let Some((from_due, paced)) = work.due.take().map(DueQueue::balance) {
            latency = Some(from_due);
            work.paced = Some(paced);
        }
        let mut run = finished(&work, moved, tally, elapsed, cpu);
        run.result.paced = work.paced.take();
        run.result.series = watched.and_then(Watched::series);
        run.result.stamps = work.stamps;
        let lost = stop.gone().or(run.lost);
        Ok(Run {
            lost,
            latency,
            paused: paused.as_secs_f64(),
            broke,
            ..run
        })
    }
}

/// Finds netserver's socket, where datagrams go to the port of the control connection;
/// `false` when the user ended the test first.
fn probe(
    plan: &TestPlan,
    socket: &Socket,
    (to, token): (&SockAddr, &Token),
    control: Option<BorrowedFd<'_>>,
) -> Result<bool, EngineError> {
    let mut over = || alarm::stopped_by_user() || control.is_some_and(control_has_ended);
    let met = one_port::probe(std::slice::from_ref(socket), to, token, &mut over).and_then(|()| {
        if plan.flow.sends {
            return Ok(());
        }
        one_port::await_first(socket, to, token, &mut over)
    });
    match met {
        Err(error)
            if error.kind() == io::ErrorKind::ConnectionAborted && alarm::stopped_by_user() =>
        {
            Ok(false)
        }
        other => other.map(|()| true).map_err(Operation::Probe.failed()),
    }
}

/// What ends a run besides its limit: the end of the control connection; where there is no
/// time to end it, a stall; and, of data that comes, a silence once the time is over.
fn ends_by<'a>(
    plan: &TestPlan,
    control: Option<BorrowedFd<'a>>,
    alarm: &'a Alarm,
    live: &'a Live,
) -> ByBell<'a> {
    alarm.check_every(HEARTBEAT);
    let timed = matches!(plan.limit, LimitPlan::Time(_));
    let patience = if timed { Duration::MAX } else { PATIENCE };
    let mut stop = ByBell::new(control, alarm, live, patience);
    if receives_to_the_end(plan) {
        stop.end_in_silence(finish::NO_PROGRESS);
    }
    stop
}

/// A connection that breaks ends the run; what had moved until then was measured.
fn broken_off(
    moved: Result<Moved, EngineError>,
    tally: &Tally,
) -> Result<(Moved, Option<EngineError>), EngineError> {
    match moved {
        Ok(moved) => Ok((moved, None)),
        Err(error) if *tally == Tally::default() => Err(error),
        Err(error) => Ok((Moved::nothing(Ended::Abandoned), Some(error))),
    }
}

/// The socket of data that comes, beside that of data that goes.
fn beside(plan: &TestPlan, family: Family, mut local: SocketAddr) -> Result<Beside, EngineError> {
    let opened = socket::open(plan.transport, family, &plan.local.socket)
        .map_err(Operation::Create.failed())?;
    socket::set_extras(&opened.socket, &plan.local.socket, Side::Asks).map_err(refused)?;
    // The other one has the port that was asked for.
    local.set_port(0);
    Ok(Beside {
        placed: placed(plan, local, &opened.socket)?,
        socket: opened.socket,
        remote: None,
    })
}

/// Binds the data socket where it must be: a connection binds by itself, unless it is to
/// come from somewhere, and a socket without one must have an address to be told of.
pub(crate) fn placed(
    plan: &TestPlan,
    local: SocketAddr,
    socket: &Socket,
) -> Result<Placed, EngineError> {
    let transport = plan.transport;
    let chosen = local.port() != 0 || !local.ip().is_unspecified();
    let must_bind = match transport.row().domain {
        Domain::Inet => !transport.is_connected() || (chosen && !plan.flow.connects),
        Domain::Unix => !transport.is_connected() && plan.flow.receives,
        Domain::Vsock => false,
        Domain::Link | Domain::Atm => true,
    };
    if !must_bind {
        return Ok(Placed::default());
    }
    let wanted = PlaceRequest {
        transport,
        inet: local,
        place: &plan.local.place,
        asking: true,
    };
    place::bind(socket, &wanted).map_err(Operation::Bind.failed())
}

/// Whether netserver alone sends, and ends the connection: what it sent before that may be a
/// while on its way, through a long queue or to a slow host, and all of it counts.
fn receives_to_the_end(plan: &TestPlan) -> bool {
    let flow = plan.flow;
    let only_receives = flow.receives && !flow.sends && !flow.connects;
    only_receives && plan.transport.row().reliable && plan.control.is_some()
}

/// The time at the end of the run in which netperf only waited.
fn in_vain(plan: &TestPlan, ended: Ended, stop: &ByBell<'_>) -> Duration {
    if ended != Ended::Abandoned {
        return Duration::ZERO;
    }
    // A transaction that did not finish took time but was not counted.
    if plan.flow.counts_transactions() || plan.flow.duplex.is_some() {
        alarm::overtime()
    } else if awaits_an_end_that_may_be_lost(plan) {
        stop.silent()
    } else {
        Duration::ZERO
    }
}

/// Whether netserver, which alone sends datagrams, is told when they are enough: what it sent
/// until it heard of that is still to come, and then its own end.
fn awaits_an_end_that_may_be_lost(plan: &TestPlan) -> bool {
    plan.remote.until && !plan.transport.row().reliable
}

/// Until there is a connection, the time that is to begin with it cannot end.
fn first_schedule(plan: &TestPlan) -> Schedule {
    let has_one = plan.transport.is_connected() || plan.transport == TransportId::SctpMany;
    if !has_one || plan.flow.connects {
        return schedule(plan);
    }
    Schedule {
        finish_after: None,
        grace: GRACE,
        heartbeat: HEARTBEAT,
    }
}

/// How long a connection may take to come about in a run with a time.
pub(crate) fn connects_within(plan: &TestPlan) -> Duration {
    const AT_LEAST: Duration = Duration::from_secs(15);
    match plan.limit {
        LimitPlan::Time(time) => AT_LEAST.max(time + GRACE),
        LimitPlan::Units(_) | LimitPlan::Messages(_) | LimitPlan::UntilStopped => Duration::MAX,
    }
}

pub(crate) fn schedule(plan: &TestPlan) -> Schedule {
    let finish_after = match plan.limit {
        LimitPlan::Time(time) => Some(time),
        LimitPlan::Units(_) | LimitPlan::Messages(_) | LimitPlan::UntilStopped => None,
    };
    // What may be lost has no end: when the time is over there is nothing to wait for.
    let row = plan.transport.row();
    let receives_datagrams = !row.reliable && !plan.flow.counts_transactions();
    let grace = if receives_datagrams && !awaits_an_end_that_may_be_lost(plan) {
        Duration::ZERO
    } else if receives_to_the_end(plan) {
        finish::AT_MOST
    } else {
        GRACE
    };
    Schedule {
        finish_after,
        grace,
        heartbeat: HEARTBEAT,
    }
}

fn finished(
    work: &Work<'_>,
    moved: Moved,
    tally: Tally,
    elapsed: Duration,
    cpu: Option<CpuUsage>,
) -> Run {
    let facts = moved.facts.unwrap_or_default();
    let lost = moved.lost.or(match moved.ended {
        Ended::Lost(lost) => Some(lost),
        Ended::Complete | Ended::ByPeer | Ended::TimeOver | Ended::Abandoned => None,
    });
    Run {
        elapsed: elapsed.as_secs_f64(),
        paused: 0.0,
        latency: None,
        segment_size: moved.segment_size,
        cipher: moved.cipher,
        stopped_by_user: alarm::stopped_by_user(),
        ended_cleanly: moved.ended != Ended::Abandoned && !moved.still_moving,
        lost,
        broke: None,
        tcp_info: facts.tcp,
        round_trip: facts.round_trip,
        fallback: facts.fallback,
        end_mark: moved.end_mark,
        many: None,
        result: EndResult {
            quality: work.quality,
            ..end::result(
                &work.plan.local,
                &work.setup,
                facts,
                tally,
                elapsed,
                (cpu, work.counts),
            )
        },
    }
}

/// Where the data socket is bound: as asked, in the family of the peer.
pub(crate) fn local_address(plan: &TestPlan, hosts: &Hosts, family: Family) -> SocketAddr {
    let host = &hosts.local;
    if host.family() != family {
        return SocketAddr::new(socket::wildcard(family), host.port);
    }
    let mut address = SocketAddr::new(host.address, host.port);
    if let SocketAddr::V6(v6) = &mut address {
        v6.set_scope_id(host.scope);
    }
    if plan.flow.connects {
        // Connection tests walk through ports of their own.
        address.set_port(0);
    }
    address
}
