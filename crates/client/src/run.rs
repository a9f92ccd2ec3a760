//! A test from its beginning to its result.

mod arrivals;
pub(super) mod blocked;
mod both;
mod check;
mod doubts;
mod drops;
mod empty;
mod implausible;
mod iperf2;
mod iperf3;
pub(crate) mod many;
pub(crate) mod peer;
mod series;
mod session;
mod trace;
pub(super) mod trial;
mod unserved;
mod without_data;

pub(super) use session::{LEAVE, open, unanswered};
pub(super) use without_data::without_data;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use netperf_cli::{OutputStream, RunCommand};
use netperf_engine::{EndReport, EngineError, Lost, NetperfProgram, Operation, TestEnd};
use netperf_measure::clock;
use netperf_measure::device_drops::DeviceDrops;
use netperf_measure::host;
use netperf_measure::tcp::tcp_facts;
use netperf_model::{
    Agreed, EndJob, EndResult, EndSetup, Feature, Format, HostFacts, Hosts, Iteration, Latency,
    Limit, OneWay, PeerProgram, TestPlan, figures,
};
use netperf_os::alarm;
use netperf_program::output::{Failure, out, say_styled};
use netperf_session::offer::{self, Agreement};

use self::session::{Talk, numbered};
use self::trace::Trace;
use super::control::{self, ControlConnection};
use super::hosts::{data_hosts, drawn, socket_address};
use super::run_so_far::{RunSoFar, RunStart};
use super::{
    asked, datagram_size, facts, failure, hosts, human, interim, keep, show, stalls, stamps, until,
    way_out,
};

/// The identifier of this run: given by the user, or fresh (RFC 9562, version 1).
fn identifier(plan: &TestPlan) -> String {
    plan.uuid.clone().unwrap_or_else(|| {
        let [node @ .., high, low] = hosts::random().to_be_bytes();
        let clock = uuid::ContextV1::new(u16::from_be_bytes([high, low]));
        let now = netperf_measure::clock::since_epoch();
        let time = uuid::Timestamp::from_unix(&clock, now.as_secs(), now.subsec_nanos());
        uuid::Uuid::new_v1(time, &node).to_string()
    })
}

/// A test that moves data.
pub(super) fn test(
    run: &mut RunCommand,
    begun: RunStart,
    done: &mut RunSoFar,
) -> Result<(), Failure> {
    let plan = &run.plan;
    if plan.flow.connects && !plan.transport.is_connected() {
        return Err(failure::no_connections(plan.transport));
    }
    check::can_be(plan)?;
    let trace = Trace::of(run);
    let control = plan.control.as_ref().map(control::establish).transpose()?;
    if let Some(plan) = &plan.control {
        trace.say(&format!(
            "remotehost is {} and port {}",
            plan.remote.host, plan.remote.port
        ));
    }
    let hosts = data_hosts(plan, control.as_ref())?;
    datagram_size::fit(run, &hosts);
    let run = &*run;
    let plan = &run.plan;
    trace.hosts(plan, &hosts);
    if hosts.remote.vsock.is_some() && plan.transport.is_inet() {
        return Err(failure::only_vsock(&hosts.remote.name, plan.transport));
    }
    let _switched_back_at_the_end = stamps::switched(plan, hosts.remote.address)?;
    // A caller that reads the banner may send a signal at once.
    catch_signals()?;
    let mut banner = netperf_report::banner(plan, &run.report, &hosts);
    // A server of iperf is not reached yet.
    if plan.peer.is_none() {
        print_once(&mut banner);
    }
    let control_peer = control.as_ref().and_then(|control| control.peer);
    check::one_port(plan, control_peer)?;
    let mut test = TestRun::begin(run, begun, hosts, control, done)?;
    test.banner = banner;
    test.greet()?;
    let outcome = test.iterate()?;
    let text = human::report(&outcome, &run.report)?;
    show::close();
    if run.report.format == Format::Human {
        say_styled(OutputStream::Stdout, &text);
    } else {
        out(&text);
    }
    human::close(&outcome, &run.report);
    // A netserver whose result did not come in time says no goodbye, either.
    let is_unheard = outcome
        .iterations
        .last()
        .is_some_and(|run| run.remote.is_none());
    let leave = if is_unheard && alarm::stopped_by_user() {
        Duration::ZERO
    } else {
        LEAVE
    };
    for talk in test.talk.into_iter().chain(test.beside) {
        talk.finish(leave);
    }
    done.failure = match outcome.failure() {
        Some(why) => Some(Failure::failed(why)),
        None => keep::keep(run, &outcome).err(),
    };
    Ok(())
}

/// Prints what has not been printed.
fn print_once(text: &mut Option<String>) {
    if let Some(text) = text.take() {
        out(&text);
    }
}

fn catch_signals() -> Result<(), Failure> {
    alarm::catch_signals()
        .map_err(|error| Failure::failed(format_args!("cannot catch signals: {error}")))
}

/// State shared by the iterations of a test.
struct TestRun<'a> {
    run: &'a RunCommand,
    hosts: Hosts,
    /// The banner, until it is printed.
    banner: Option<String>,
    talk: Option<Talk<'a>>,
    /// Further control connections, to a netserver that serves one flow over each.
    beside: Vec<Talk<'a>>,
    /// Distribution of flows over sessions.
    served: many::FlowSessions,
    /// Packets that this host drops.
    drops: Option<DeviceDrops>,
    /// Optional features that netserver has.
    optional: Vec<Feature>,
    control_local: Option<IpAddr>,
    /// Remote address of the control connection.
    control_peer: Option<SocketAddr>,
    trace: Trace,
    /// When the program began.
    begun: RunStart,
    /// Measurements so far.
    done: &'a mut RunSoFar,
    /// The port that netserver had in the previous iteration.
    data_port: Option<u16>,
    /// Time for which netserver's answer to a request was waited for.
    answered: Duration,
    /// When netserver began to send datagrams of the first flow, by `CLOCK_MONOTONIC`, where each
    /// flow has a session.
    sent_since: Option<u64>,
    /// True if facts about the hosts are needed.
    facts: bool,
    /// Host facts from netserver.
    remote_host: Option<HostFacts>,
    /// Version of the program at the other end, if it is not netserver.
    peer_version: Option<String>,
}

/// Result of one iteration.
struct IterationResult {
    agreed: Agreed,
    iteration: Iteration,
    /// True if the user ended it.
    stopped: bool,
    /// True if data that was queued at the end of the time was discarded.
    discarded: bool,
    /// True if Multipath TCP fell back to TCP.
    fell_back: bool,
    /// Time for which netserver had read nothing at the end, if it is long.
    held_back: Option<Duration>,
    /// Bytes of responses that no request asked for.
    unasked: u64,
    /// When netserver received the last data, nanoseconds of this host's clock, if known.
    last_arrival: Option<u64>,
}

impl IterationResult {
    fn of(
        agreed: Agreed,
        (ran, last_arrival): (EndReport, Option<u64>),
        remote: Option<EndResult>,
        one_way: Option<OneWay>,
    ) -> Self {
        Self {
            agreed,
            stopped: ran.stopped_by_user,
            discarded: ran.discarded,
            fell_back: ran.fallback == Some(true),
            held_back: ran.held_back,
            unasked: ran.unasked,
            last_arrival,
            iteration: iteration(ran, remote, one_way),
        }
    }
}

impl<'a> TestRun<'a> {
    /// A test whose conversation with netserver, where it has one, has begun.
    fn begin(
        run: &'a RunCommand,
        begun: RunStart,
        hosts: Hosts,
        control: Option<ControlConnection>,
        done: &'a mut RunSoFar,
    ) -> Result<Self, Failure> {
        let local = control.as_ref().and_then(|control| control.local);
        let control_peer = control.as_ref().and_then(|control| control.peer);
        let drops = drops::counted(&run.plan, hosts.remote.address);
        Ok(Self {
            run,
            hosts,
            talk: control
                .map(|control| open(&run.plan, control))
                .transpose()?,
            beside: Vec::new(),
            served: many::FlowSessions::Together,
            drops,
            optional: Vec::new(),
            control_local: local.map(|local| local.ip()),
            control_peer,
            trace: Trace::of(run),
            begun,
            done,
            banner: None,
            data_port: None,
            answered: Duration::ZERO,
            sent_since: None,
            facts: facts::wanted(run),
            remote_host: None,
            peer_version: None,
        })
    }

    fn plan(&self) -> &'a TestPlan {
        &self.run.plan
    }

    /// One iteration, with one flow or many.
    fn once(&mut self, number: usize) -> Result<IterationResult, Failure> {
        let plan = self.plan();
        let offset = self.clock_offset()?;
        let earlier = self.done.intervals.len();
        let hosts = drawn(plan, &self.hosts);
        match plan.peer {
            Some(PeerProgram::Iperf2) => return self.once_with_iperf2(number, &hosts),
            Some(PeerProgram::Iperf3) => return self.once_with_iperf3(number, &hosts),
            None => {}
        }
        let family = hosts.remote.family();
        let mut end = TestEnd::<NetperfProgram>::prepare(self.job(&hosts)?)
            .map_err(|error| unprepared(&error, plan, &hosts))?;
        let local = *end.setup();
        // In front of the request: netserver waits only seconds for the data.
        wait(plan.wait);
        let agreements = self.agree(&end, &hosts)?;
        end.began_at(self.sent_since.take());
        end.set_tokens(agreements.iter().filter_map(|one| one.token).collect());
        if let Some(bytes) = agreements.first().and_then(|first| first.numbers) {
            end.set_numbers(bytes);
        } else if plan.local.stamps.is_some() && plan.local.rate.is_some() {
            return Err(Failure::unsupported(
                "--timestamps with --rate: this netserver does not repeat the numbers of requests",
            ));
        }
        self.trace.timer(plan);
        let (there, back) = agreements.split_at(self.sessions().min(agreements.len()));
        let agreed = agreed(local, there.first(), back.first(), hosts.remote.port);
        asked::after(self.run, &agreed, None)?;
        if let Some(why) = empty::connects_to_itself(plan, &hosts, &agreed) {
            return Err(Failure::failed(why));
        }
        let remotes = self.data_addresses(there, &hosts);
        if !back.is_empty() {
            end.set_second_remotes(self.data_addresses(back, &hosts));
        }
        let live = interim::live(self.run);
        let talks = self.talk.iter().chain(&self.beside);
        let controls: Vec<_> = talks.map(|talk| talk.link().fd()).collect();
        let about = (figures::document_unit(plan), &local);
        let begun = clock::now();
        let ran = interim::beside(self.run, number, &mut self.done.intervals, &live, || {
            until::beside(plan, about, &live, &mut self.done.until, || {
                let run = || end.run(&remotes, &controls, &live);
                stalls::beside(self.run, &live, &mut self.done.stall, run)
            })
        });
        let mut ran = ran.map_err(|error| {
            let waited = (self.answered, begun.elapsed());
            let failure = failure::engine(&error, plan.transport, family);
            blocked::explained(failure, &error, plan, &hosts, &remotes, waited)
        })?;
        trace::dump_tcp_info(plan, &ran);
        let latency = ran.latency.take();
        self.keep(latency.filter(|_| number == 1 || !ran.stopped_by_user));
        let end_mark = ran.end_mark.take();
        let results = match self.cut_short(&ran) {
            // What was measured here is the result.
            Some(_) if self.is_unheard(&ran) => Ok((None, None)),
            None => self.results(&ran, end_mark),
            Some(failure) => Err(failure),
        };
        let (remote, mut counted) = match results {
            Ok((results, counted)) => (numbered(&ran.result, results), counted),
            Err(failure) => return Err(self.broken_off(ran, failure)),
        };
        let arrived = counted
            .as_mut()
            .map(|counted| std::mem::take(&mut counted.arrivals));
        if let (Some(flows), Some(counted)) = (&mut ran.many, counted) {
            counted.pair(flows, plan.flow);
        }
        let intervals = self.done.intervals.get_mut(earlier..).unwrap_or_default();
        let arrived = arrived.unwrap_or_default();
        let ended = arrivals::cut(&arrived, offset, ran.many.as_mut(), intervals);
        let one_way = stamps::one_way(plan, &ran.result, remote.as_ref())?;
        Ok(IterationResult::of(agreed, (ran, ended), remote, one_way))
    }

    /// The job of netperf's end between these hosts.
    fn job(&self, hosts: &Hosts) -> Result<EndJob, Failure> {
        let plan = self.plan();
        let many = plan.many.as_ref();
        let workers = many.map(|many| many::workers(many, hosts)).transpose()?;
        let mut job = EndJob::of_plan(plan, hosts, workers);
        if let Some(time) = self.kept_time() {
            job.limit = Limit::Time(time);
        }
        job.end.sequence |= self.optional.contains(&Feature::Sequence);
        job.end.short_by = offer::part_of_a_second(plan).filter(|_| self.has_fractions());
        host::name_interface(&mut job.end.place, job.transport, self.control_local);
        Ok(job)
    }

    /// Keeps what netperf measured of an iteration that failed.
    fn broken_off(&mut self, ran: EndReport, failure: Failure) -> Failure {
        self.done.partial = Some(iteration(ran, None, None));
        failure
    }

    /// Why a run has no results of netserver's, where netperf's end tells.
    fn cut_short(&self, ran: &EndReport) -> Option<Failure> {
        let host = &self.hosts.remote;
        let broke = ran.broke.as_ref();
        broke
            .map(|error| failure::engine(error, self.plan().transport, host.family()))
            .or_else(|| {
                let lost = ran.lost.as_ref()?;
                if ran.stopped_by_user && *lost == Lost::NotClosed && self.moved_nothing(ran) {
                    return Some(Failure::failed(empty::stopped(self.plan())));
                }
                let unsent = empty::unsent(&ran.result.tally).map(Failure::failed);
                Some(unsent.unwrap_or_else(|| failure::lost(lost, &host.name)))
            })
    }

    /// Returns whether a signal ended a run that had measured something, and netserver's host is
    /// silent since.
    fn is_unheard(&self, ran: &EndReport) -> bool {
        let silent = match ran.lost {
            Some(
                Lost::NotAcknowledged { .. } | Lost::NotClosed | Lost::Stalled(_) | Lost::Silent(_),
            ) => true,
            Some(Lost::ControlEnded | Lost::ControlBroke(_)) | None => false,
        };
        silent && ran.stopped_by_user && ran.broke.is_none() && !self.moved_nothing(ran)
    }

    /// Returns whether no data, or no transaction, is in netperf's counts.
    fn moved_nothing(&self, ran: &EndReport) -> bool {
        let tally = &ran.result.tally;
        if self.plan().flow.counts_transactions() {
            tally.transactions == 0
        } else {
            [tally.bytes_sent, tally.bytes_received] == [0, 0]
        }
    }

    fn keep(&mut self, latency: Option<Latency>) {
        if let Some(latency) = latency {
            self.done.latency.get_or_insert_default().merge(&latency);
        }
    }
}

/// Settings in force at both ends; `port` is the data port if netserver does not report one.
fn agreed(
    local: EndSetup,
    there: Option<&Agreement>,
    back: Option<&Agreement>,
    port: u16,
) -> Agreed {
    Agreed {
        local,
        remote: there.map(|there| both::setup(there, back)),
        data_port: there.map_or(port.into(), |there| there.data_port),
        remote_cpu: there.is_some_and(|there| there.measures_cpu),
    }
}

/// Result of an iteration; `remote` is `None` if netserver's results did not arrive.
fn iteration(ran: EndReport, remote: Option<EndResult>, one_way: Option<OneWay>) -> Iteration {
    Iteration {
        one_way,
        elapsed: ran.result.elapsed,
        paused: ran.paused,
        local: ran.result,
        remote,
        segment_size: ran.segment_size,
        cipher: ran.cipher,
        tcp: ran.tcp_info.map(tcp_facts),
        many: ran.many,
    }
}

/// The pause before the traffic, which a signal ends.
fn wait(pause: Duration) {
    let _is_over = clock::sleep_until(clock::now().plus(pause));
}

/// The failure of an end that could not be prepared.
fn unprepared(error: &EngineError, plan: &TestPlan, hosts: &Hosts) -> Failure {
    if error.operation == Operation::Bind && plan.transport.is_inet() {
        let at = socket_address(&hosts.local, hosts.local.port);
        return Failure::failed(way_out::binding_data(at, &error.error));
    }
    failure::engine(error, plan.transport, hosts.remote.family())
}
