//! A test from its beginning to its result.

mod both;
pub(crate) mod many;
pub(super) mod trial;

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use netperf_cli::Run;
use netperf_engine::client::{Client, Run as Ran};
use netperf_measure::clock;
use netperf_measure::confidence::{Series, assess};
use netperf_measure::cpu;
use netperf_model::{
    Address, Agreed, Confidence, ControlPlan, CpuUsage, EndResult, Feature, HostFacts, Hosts,
    Iteration, Latency, OneWay, Outcome, TcpFacts, TestId, TestPlan, Unit, Warning, figures, rate,
};
use netperf_os::bell;
use netperf_os::tcp::TcpInfo;
use netperf_report::control::{Whose, cpu_rate, uuid};
use netperf_report::format::json;
use netperf_session::SessionError;
use netperf_session::driver::Conversation;
use netperf_session::offer::{self, Agreement, LocalEnd};

use super::control::{self, Control};
use super::hosts::{data_hosts, drawn, socket_address};
use super::{Begun, Done, facts, failure, hosts, interim, keep, secure, show, stamps, until};
use crate::link::ControlLink;
use crate::output::{Failure, err, out, system_text};

/// How long netserver may take to send its results when nothing is left to wait for.
const RESULTS: Duration = Duration::from_secs(3);
/// How long it goes on by itself where nothing tells it of the end.
const PAD: Duration = Duration::from_secs(4);
/// How long to wait for results that the user did not wait for.
const IMPATIENT: Duration = Duration::from_millis(500);
/// How long netserver may take its leave.
pub(super) const LEAVE: Duration = Duration::from_secs(2);

pub(super) type Talk<'a> = Conversation<'a, ControlLink>;

pub(super) fn open<'a>(plan: &'a TestPlan, control: Control) -> Result<Talk<'a>, Failure> {
    let asked = plan.control.as_ref();
    let passphrase = asked.and_then(|asked| asked.passphrase.clone());
    let private = control.private;
    let mut link = ControlLink::new(Rc::new(control.socket));
    link.keep_alive(asked.map_or(ControlPlan::KEEPALIVE, |asked| asked.keepalive));
    if let Some(asked) = asked.filter(|_| !private) {
        if let Some(secret) = &asked.secret {
            secure::enter(&mut link, secret, &asked.remote.host)?;
        }
    }
    Conversation::open(plan, link, passphrase).map_err(|error| failure::session(&error))
}

/// LOC_CPU, REM_CPU and UUID: a control connection and no data.
pub(super) fn without_data(run: &Run, begun: Begun) -> Result<(), Failure> {
    let plan = &run.plan;
    let control = plan.control.as_ref().map(control::establish).transpose()?;
    let mut talk = control.map(|control| open(plan, control)).transpose()?;
    let answer = Answer { run, begun };
    match (plan.test, &mut talk) {
        (TestId::RemCpu, Some(talk)) => {
            let (rate, cpus) = talk.calibrate().map_err(|error| failure::session(&error))?;
            let cpus = u32::try_from(cpus).unwrap_or(0);
            answer.rate(Whose::Remote, f64::from(rate), cpus);
        }
        (TestId::RemCpu, None) => {
            return Err(Failure::stderr(
                1,
                "send_request: send call failure: Bad file descriptor",
            ));
        }
        (TestId::Uuid, _) => answer.identifier(&identifier(plan)),
        _ => {
            let rate = calibration(plan)?;
            answer.rate(Whose::Local, rate, cpu::count());
        }
    }
    if let Some(talk) = talk {
        talk.finish(LEAVE);
    }
    Ok(())
}

/// Prints what a test without data found out.
#[derive(Clone, Copy)]
struct Answer<'a> {
    run: &'a Run,
    begun: Begun,
}

impl Answer<'_> {
    fn rate(self, whose: Whose, rate: f64, cpus: u32) {
        let plain = cpu_rate(whose, rate, cpus, self.run.report.verbosity);
        self.print(json::Answer::Rate { whose, rate, cpus }, &plain);
    }

    fn identifier(self, identifier: &str) {
        self.print(json::Answer::Identifier(identifier), &uuid(identifier));
    }

    fn print(self, answer: json::Answer<'_>, plain: &str) {
        if self.run.report.format.is_json() {
            out(&json::answer(self.begun.frame(self.run), answer));
        } else {
            out(plain);
        }
    }
}

/// The calibration rate of this host.
fn calibration(plan: &TestPlan) -> Result<f64, Failure> {
    let method = plan.local.cpu.unwrap_or_default().method;
    cpu::calibrate(method).map_err(|error| {
        let why = system_text(&error);
        Failure::stderr(1, &format!("netperf: cannot calibrate the CPUs: {why}"))
    })
}

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
pub(super) fn test(run: &Run, begun: Begun, done: &mut Done) -> Result<(), Failure> {
    let plan = &run.plan;
    if plan.flow.connects && !plan.transport.is_connected() {
        return Err(failure::no_connections(plan.transport));
    }
    many::check(plan)?;
    can_be(plan)?;
    let trace = Trace::of(run);
    let control = plan.control.as_ref().map(control::establish).transpose()?;
    if let Some(plan) = &plan.control {
        trace.say(&format!(
            "remotehost is {} and port {}",
            plan.remote.host, plan.remote.port
        ));
    }
    let hosts = data_hosts(plan, control.as_ref())?;
    trace.hosts(plan, &hosts);
    if hosts.remote.vsock.is_some() && plan.transport.is_inet() {
        return Err(failure::only_vsock(&hosts.remote.name, plan.transport));
    }
    let _switched_back_at_the_end = stamps::switched(plan, hosts.remote.address)?;
    // Whoever reads the banner may send a signal at once.
    bell::catch_signals()
        .map_err(|error| Failure::stderr(1, &format!("netperf: cannot catch signals: {error}")))?;
    if let Some(banner) = netperf_report::banner(plan, &run.report, &hosts) {
        out(&banner);
    }
    let control_peer = control.as_ref().and_then(|control| control.peer);
    one_port(plan, control_peer)?;
    let control_local = control
        .as_ref()
        .and_then(|control| control.local)
        .map(|local| local.ip());
    let talk = control.map(|control| open(plan, control)).transpose()?;
    let mut test = Test {
        run,
        hosts,
        talk,
        beside: Vec::new(),
        served: many::Served::Together,
        control_local,
        control_peer,
        trace,
        begun,
        done,
        data_port: None,
        facts: facts::wanted(run),
        remote_host: None,
    };
    test.greet()?;
    let outcome = test.iterate()?;
    let text = netperf_report::final_report(&outcome, &run.report).map_err(|error| {
        Failure::stdout(netperf_report::SelectionError::EXIT, &error.to_string())
    })?;
    show::close();
    out(&text);
    for talk in test.talk.into_iter().chain(test.beside) {
        talk.finish(LEAVE);
    }
    done.unkept = keep::keep(run, &outcome).err();
    Ok(())
}

/// Whether a test has a place for all that it is asked for, and this host can do its part.
fn can_be(plan: &TestPlan) -> Result<(), Failure> {
    if let Some(refusal) = netperf_model::refusal(plan) {
        return Err(failure::out_of_place(refusal));
    }
    let asked = plan.local.features();
    if asked.is_empty() {
        return Ok(());
    }
    let known = netperf_transport::io::features();
    match asked.into_iter().find(|feature| !known.contains(feature)) {
        Some(feature) => Err(failure::unable(feature, None)),
        None => Ok(()),
    }
}

/// Whether data may go where the control connection does, when that is asked for.
fn one_port(plan: &TestPlan, control: Option<SocketAddr>) -> Result<(), Failure> {
    let Some(asked) = plan.control.as_ref().filter(|_| plan.remote.one_port) else {
        return Ok(());
    };
    let data = &plan.remote_data;
    let elsewhere = data.host != asked.remote.host || data.random_bits.is_some();
    let why = if control.is_none() {
        "the control connection is not one of IP"
    } else if elsewhere {
        "data goes where the control connection does: name no other host for it (--data-host)"
    } else if data.port != "0" {
        "data goes where the control connection does: name no port for it (--data-port)"
    } else {
        return Ok(());
    };
    let option = Feature::OnePort.option();
    Err(failure::out_of_place(netperf_model::Refusal {
        option,
        why,
    }))
}

/// What the iterations of a test share.
struct Test<'a> {
    run: &'a Run,
    hosts: Hosts,
    talk: Option<Talk<'a>>,
    /// Further control connections, to a netserver that serves one flow over each.
    beside: Vec<Talk<'a>>,
    /// How many flows are served.
    served: many::Served,
    control_local: Option<IpAddr>,
    /// Where the control connection leads to, as it is known here.
    control_peer: Option<SocketAddr>,
    trace: Trace,
    /// When the program began.
    begun: Begun,
    /// What was measured so far.
    done: &'a mut Done,
    /// The port that netserver had in the previous iteration.
    data_port: Option<u16>,
    /// Whether facts about the hosts are wanted.
    facts: bool,
    /// What netserver told of its host.
    remote_host: Option<HostFacts>,
}

/// What one iteration came to.
struct Once {
    agreed: Agreed,
    iteration: Iteration,
    /// Whether the user ended it.
    stopped: bool,
    /// Whether Multipath TCP became plain TCP.
    fell_back: bool,
}

impl<'a> Test<'a> {
    fn plan(&self) -> &'a TestPlan {
        &self.run.plan
    }

    fn unit(&self) -> Unit {
        figures::unit_in_force(self.plan(), self.run.report.unit)
    }

    fn iterate(&mut self) -> Result<Outcome, Failure> {
        let plan = self.plan();
        let unit = self.unit();
        let mut warnings = Vec::new();
        loop {
            let Once {
                agreed,
                iteration,
                stopped,
                fell_back,
            } = self.once(self.done.iterations.len() + 1)?;
            out(&json::iteration(
                plan,
                &self.run.report,
                self.done.iterations.len() + 1,
                &iteration,
                clock::since_epoch(),
            ));
            self.done.iterations.push(iteration);
            if stopped {
                warnings.push(Warning::EndedEarly);
            }
            if fell_back && !warnings.contains(&Warning::FellBackToTcp) {
                warnings.push(Warning::FellBackToTcp);
                err(&format!("netperf: {}\n", json::FELL_BACK));
            }
            let doubtful = self.done.latency.as_ref().is_some_and(Latency::is_doubtful);
            if doubtful && !warnings.contains(&Warning::ClockWentWrong) {
                warnings.push(Warning::ClockWentWrong);
                err(&format!("netperf: {}\n", json::CLOCK_WENT_WRONG));
            }
            let confidence = confidence(plan, unit, &self.done.iterations);
            // A signal may have come after the run, too.
            let stopped = stopped || bell::stopped_by_user();
            if stopped || !wants_more(plan, self.done.iterations.len(), confidence.as_ref()) {
                let mut done = std::mem::take(self.done);
                let remote_host = facts::remote(self.remote_host.take(), &mut done.iterations);
                let doubts = rate::doubts(plan, &done.iterations, done.latency.as_ref());
                let imprecise = until::doubt(plan, done.until.as_ref()).filter(|_| !stopped);
                for doubt in doubts.into_iter().chain(imprecise) {
                    err(&format!("netperf: {}\n", json::words(&doubt)));
                    warnings.push(doubt);
                }
                return Ok(Outcome {
                    plan: plan.clone(),
                    hosts: self.hosts.clone(),
                    agreed,
                    iterations: done.iterations,
                    intervals: done.intervals,
                    latency: done.latency,
                    confidence,
                    until: done.until,
                    local_host: facts::local(self.facts, &self.hosts),
                    remote_host,
                    uuid: identifier(plan),
                    span: self.begun.until_now(),
                    warnings,
                });
            }
        }
    }

    /// One iteration.
    fn once(&mut self, number: usize) -> Result<Once, Failure> {
        let plan = self.plan();
        if let Some(many) = &plan.many {
            return self.once_many(many, number);
        }
        let hosts = drawn(plan, &self.hosts);
        let family = hosts.remote.family();
        let failed = |error| failure::engine(&error, plan.transport, family);
        let mut client = Client::prepare(plan, &hosts).map_err(failed)?;
        let local = *client.setup();
        let agreement = self.agree(&client, &hosts)?;
        let agreement = agreement.as_ref();
        if let Some(token) = agreement.and_then(|agreement| agreement.token) {
            client.goes_with(token);
        }
        let beside = self.agree_beside(&client, &hosts)?;
        self.data_port = agreement.and_then(|agreement| u16::try_from(agreement.data_port).ok());
        let data_port = self.data_port.unwrap_or(hosts.remote.port);
        wait(plan.wait);
        self.trace.timer(plan);
        let remote = self.data_address(agreement, &hosts, data_port);
        if let Some(beside) = &beside {
            client.comes_from(both::address(beside, &hosts));
        }
        let live = interim::live(self.run);
        let control = self.talk.as_ref().map(|talk| talk.link().fd());
        let about = (self.unit(), &local);
        let ran = interim::beside(self.run, number, &mut self.done.intervals, &live, || {
            until::beside(plan, about, &live, &mut self.done.until, || {
                client.run(&remote, control, &live)
            })
        });
        let mut ran = ran.map_err(failed)?;
        dump_tcp_info(plan, &ran);
        let collected = self.collect(&mut ran);
        self.keep(ran.latency.take());
        let remote = match collected {
            Ok(remote) => numbered(&ran.result, remote),
            Err(failure) => return Err(self.broken_off(ran, failure)),
        };
        let agreed = Agreed {
            local,
            remote: agreement.map(|agreement| both::setup(agreement, beside.as_ref())),
            data_port: agreement.map_or(data_port.into(), |agreement| agreement.data_port),
            remote_cpu: agreement.is_some_and(|agreement| agreement.measures_cpu),
        };
        let one_way = stamps::one_way(plan, &ran.result, remote.as_ref())?;
        let (stopped, fell_back) = (ran.stopped_by_user, ran.fallback == Some(true));
        Ok(Once {
            agreed,
            iteration: iteration(ran, remote, one_way),
            stopped,
            fell_back,
        })
    }

    /// Keeps what netperf measured of an iteration that failed.
    fn broken_off(&mut self, ran: Ran, failure: Failure) -> Failure {
        self.done.partial = Some(iteration(ran, None, None));
        failure
    }

    /// Why a run has no results of netserver's, where netperf's end tells.
    fn cut_short(&self, ran: &Ran) -> Option<Failure> {
        let host = &self.hosts.remote;
        let broke = ran.broke.as_ref();
        broke
            .map(|error| failure::engine(error, self.plan().transport, host.family()))
            .or_else(|| Some(failure::lost(ran.lost.as_ref()?, &host.name)))
    }

    /// Asks netserver for what a stock one cannot do, before it could take that for
    /// something else.
    fn greet(&mut self) -> Result<(), Failure> {
        let plan = self.plan();
        let transport = plan.transport;
        let needed = offer::needs_extension(plan);
        let Some(talk) = self.talk.as_mut().filter(|_| needed) else {
            return Ok(());
        };
        if netperf_transport::registry::missing(transport).is_some() {
            return Err(failure::unsupported(transport, None));
        }
        let abilities = talk.greet().map_err(|error| failure::session(&error))?;
        let host = &self.hosts.remote.name;
        if let (None, Some(method)) = (&abilities, offer::unusual_method(plan)) {
            return Err(failure::session(&SessionError::CpuMethod(method)));
        }
        if let Some(many) = &plan.many {
            self.served = many::served(many, abilities.as_ref(), host)?;
        }
        match abilities {
            None if plan.many.is_some()
                && transport.row().stock
                && plan.remote.features().is_empty() =>
            {
                if let Some(many) = &plan.many {
                    many::remark(many, self.served);
                }
                Ok(())
            }
            None => {
                let unknown = SessionError::Unsupported(transport);
                let unable = plan.remote.features().first().copied();
                let error = unable.map_or(unknown, SessionError::Unable);
                Err(failure::session(&error))
            }
            Some(abilities) if !abilities.transports.contains(&transport) => {
                Err(failure::unsupported(transport, Some(host)))
            }
            Some(abilities) => {
                let lacks = |feature: &Feature| !abilities.features.contains(feature);
                match plan.remote.features().into_iter().find(lacks) {
                    Some(feature) => Err(failure::unable(feature, Some(host))),
                    None => Ok(()),
                }
            }
        }
    }

    fn agree(&mut self, client: &Client<'_>, hosts: &Hosts) -> Result<Option<Agreement>, Failure> {
        let plan = self.plan();
        let own = self
            .control_local
            .filter(|own| own.is_ipv4() == hosts.remote.address.is_ipv4());
        let Some(talk) = &mut self.talk else {
            return Ok(None);
        };
        let bound = Some(hosts.local.address).filter(|address| !address.is_unspecified());
        let request = offer::request(
            &both::asked(plan, both::Way::There),
            &LocalEnd {
                family: hosts.remote.family(),
                address: bound.or(own),
                socket: client.address().cloned(),
                data_port: self.data_port.unwrap_or(hosts.remote.port),
                send_size: client.setup().send_size,
                facts_of: self.facts.then_some(hosts.remote.address),
                all_flows: false,
            },
        );
        let mut agreement = talk
            .agree(request)
            .map_err(|error| failure::refused(&error, plan, &hosts.remote.name))?;
        self.trace.say("remote listen done.");
        self.trace
            .say(&format!("remote port is {}", agreement.data_port));
        self.remote_host = agreement.host.take().map(|host| *host);
        Ok(Some(agreement))
    }

    /// Where netserver's data socket is: behind the port of the control connection as it is
    /// known here, where it is to be.
    fn data_address(&self, agreement: Option<&Agreement>, hosts: &Hosts, port: u16) -> Address {
        match (
            agreement.and_then(|agreement| agreement.token),
            self.control_peer,
        ) {
            (Some(_), Some(peer)) => Address::Inet(peer),
            (Some(_) | None, _) => data_address(agreement, hosts, port),
        }
    }

    fn keep(&mut self, latency: Option<Latency>) {
        if let Some(latency) = latency {
            self.done.latency.get_or_insert_default().merge(&latency);
        }
    }

    /// netserver's results, as far as they can be had.
    fn collect(&mut self, ran: &mut Ran) -> Result<Option<EndResult>, Failure> {
        let plan = self.plan();
        let end_mark = ran.end_mark.take();
        if let Some(failure) = self.cut_short(ran) {
            return Err(failure);
        }
        let Some(talk) = &mut self.talk else {
            return Ok(None);
        };
        let within = results_within(plan, ran, talk.link());
        let link = talk.link_mut();
        link.repeat_while_waiting(end_mark);
        link.demand_signs_of_life(ran.round_trip.unwrap_or_default());
        let results = talk.results(within);
        talk.link_mut().repeat_while_waiting(None);
        match results {
            Ok(result) => {
                self.trace.say("remote results obtained");
                let result = offer::reconciled(plan, &ran.result.tally, result);
                let result = self.with_results_beside(result, ran)?;
                Ok(Some(with_cpus(result)))
            }
            // The user did not wait for the end, so netserver may not have noticed it.
            Err(_) if ran.stopped_by_user => Ok(None),
            Err(error) => Err(failure::session(&error)),
        }
    }
}

/// What an iteration came to; `remote` is `None` where netserver's results never came.
fn iteration(ran: Ran, remote: Option<EndResult>, one_way: Option<OneWay>) -> Iteration {
    Iteration {
        one_way,
        elapsed: ran.elapsed,
        paused: ran.paused,
        local: ran.result,
        remote,
        segment_size: ran.segment_size,
        cipher: ran.cipher,
        tcp: ran.tcp_info.map(tcp_facts),
        many: ran.many,
    }
}

/// Where netserver's data socket is.
fn data_address(agreement: Option<&Agreement>, hosts: &Hosts, port: u16) -> Address {
    let told = agreement.and_then(|agreement| agreement.address.clone());
    match (told, hosts.remote.vsock) {
        // By which number this host knows that one is for this host to say.
        (Some(Address::Vsock { port, .. }), Some(cid)) => Address::Vsock { cid, port },
        (Some(address), _) => address,
        (None, _) => Address::Inet(socket_address(&hosts.remote, port)),
    }
}

/// netserver's result with its connections numbered as ours are.
fn numbered(own: &EndResult, remote: Option<EndResult>) -> Option<EndResult> {
    let mut remote = remote?;
    if let (Some(theirs), Some(ours)) = (&mut remote.series, &own.series) {
        theirs.number_as_in(ours);
    }
    Some(remote)
}

/// The pause before the traffic, which a signal ends.
fn wait(pause: Duration) {
    let until = clock::now().plus(pause);
    while !until.left().is_zero() && !bell::stopped_by_user() {
        netperf_os::wait::sleep(until.left());
    }
}

/// How long netserver may take. A path with a long round trip takes longer.
fn results_within(plan: &TestPlan, ran: &Ran, link: &ControlLink) -> Duration {
    let round_trip = ran.round_trip.unwrap_or_default().max(link.round_trip());
    let notices_late = offer::ends_late(plan) || !ran.ended_cleanly;
    if ran.stopped_by_user && notices_late {
        return IMPATIENT + round_trip * 10;
    }
    let pad = if notices_late { PAD } else { Duration::ZERO };
    RESULTS + pad + round_trip * 10
}

/// An old netserver that does not count its CPUs means: as many as here.
fn with_cpus(mut result: EndResult) -> EndResult {
    if let Some(cpu) = &mut result.cpu {
        if cpu.cpus == 0 {
            *cpu = CpuUsage {
                cpus: cpu::count(),
                ..*cpu
            };
        }
    }
    result
}

fn confidence(plan: &TestPlan, unit: Unit, runs: &[Iteration]) -> Option<Confidence> {
    let wanted = plan.confidence.as_ref()?;
    let all: Vec<figures::Figures> = runs
        .iter()
        .map(|run| figures::of_iteration(plan, unit, run))
        .collect();
    let column = |pick: fn(&figures::Figures) -> f64| all.iter().map(pick).collect::<Vec<f64>>();
    let result = column(|figures| figures.throughput);
    let local_cpu = column(|figures| figures.local_cpu);
    let remote_cpu = column(|figures| figures.remote_cpu);
    let series = Series {
        result: &result,
        local_cpu: &local_cpu,
        remote_cpu: &remote_cpu,
    };
    Some(assess(wanted, series))
}

fn wants_more(plan: &TestPlan, done: usize, reached: Option<&Confidence>) -> bool {
    let (Some(wanted), Some(reached)) = (&plan.confidence, reached) else {
        return false;
    };
    let done = u32::try_from(done).unwrap_or(u32::MAX);
    done < wanted.min_iterations || (!reached.met && done < wanted.max_iterations)
}

/// What TCP knew, for whoever prints it.
pub(super) const fn tcp_facts(info: TcpInfo) -> TcpFacts {
    TcpFacts {
        round_trip_micros: info.rtt,
        round_trip_variation_micros: info.rttvar,
        retransmission_timeout_micros: info.rto,
        ack_timeout_micros: info.ato,
        path_mtu_bytes: info.pmtu,
        send_segment_bytes: info.snd_mss,
        congestion_window_segments: info.snd_cwnd,
        send_threshold_segments: info.snd_ssthresh,
        recv_threshold_bytes: info.rcv_ssthresh,
        reordering_segments: info.reordering,
        retransmitted_segments: info.total_retrans,
    }
}

/// What `DUMP_TCP_INFO` asks for, misspelt name included: scripts parse it.
fn dump_tcp_info(plan: &TestPlan, ran: &Ran) {
    let Some(info) = ran.tcp_info.filter(|_| plan.dump_tcp_info) else {
        return;
    };
    err(&format!(
        "tcpi_rto {} tcpi_ato {} tcpi_pmtu {} tcpi_rcv_ssthresh {}\n\
         tcpi_rtt {} tcpi_rttvar {} tcpi_snd_ssthresh {} tpci_snd_cwnd {}\n\
         tcpi_reordering {} tcpi_total_retrans {}\n",
        info.rto,
        info.ato,
        info.pmtu,
        info.rcv_ssthresh,
        info.rtt,
        info.rttvar,
        info.snd_ssthresh,
        info.snd_cwnd,
        info.reordering,
        info.total_retrans
    ));
}

/// What `-d` prints: the lines that scripts look for (output.md, debug output).
struct Trace(Option<fn(&str)>);

impl Trace {
    /// On standard output, unless that is for JSON alone.
    fn of(run: &Run) -> Self {
        let print = if run.report.format.is_json() {
            err
        } else {
            out
        };
        Self((run.debug_level > 0).then_some(print))
    }

    fn say(&self, line: &str) {
        if let Some(print) = self.0 {
            print(&format!("{line}\n"));
        }
    }

    fn hosts(&self, plan: &TestPlan, hosts: &Hosts) {
        for (asked, host) in [
            (&plan.remote_data, &hosts.remote),
            (&plan.local_data, &hosts.local),
        ] {
            let address: SocketAddr = hosts::socket_address(host, host.port);
            self.say(&format!(
                "complete_addrinfo using hostname {} port {} family {} found {address}",
                asked.host,
                asked.port,
                host.family_label()
            ));
        }
    }

    fn timer(&self, plan: &TestPlan) {
        if let netperf_model::Limit::Time(time) = plan.limit {
            self.say(&format!(
                "About to start a timer for {} seconds.",
                time.as_secs()
            ));
        }
    }
}
