//! Messages to netserver about a data test: required features, the request, and the results.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use netperf_cli::OutputStream;
use netperf_engine::{EndMark, EndReport, NetperfProgram, PATIENCE, TestEnd};
use netperf_measure::{clock, cpu};
use netperf_model::many::flows_have_sessions;
use netperf_model::{
    Address, ControlPlan, CpuUsage, Denied, EndResult, Feature, Format, Hosts, Limit, ReportPlan,
    TestPlan, Warning,
};
use netperf_os::wait::{Interest, ready};
use netperf_os::{alarm, sockopt, tcp};
use netperf_program::link::{AttendedWait, ControlLink};
use netperf_program::output::{self, Failure};
use netperf_session::SessionError;
use netperf_session::driver::Conversation;
use netperf_session::offer::{self, Agreement, LocalEnd};

use super::both::{self, SessionDirection};
use super::many::{self, FlowSessions, ServerCounts};
use super::{TestRun, check, control, unserved};
use crate::control::ControlConnection;
use crate::hosts::socket_address;
use crate::{failure, foreign, secure};

/// Time limit for netserver's results after a signal from outside. A person is told of a longer
/// wait.
pub(super) const RESULTS: Duration = Duration::from_secs(3);
/// The same after the user has ended a run whose figures are netperf's own.
const IMPATIENT: Duration = Duration::from_millis(500);
/// Additional run time of a netserver that does not learn of the end.
const PAD: Duration = Duration::from_secs(4);
/// Time of a message in queues that data still fills.
const QUEUES: Duration = Duration::from_secs(3);
/// Longest wait for one session's answer before another session is asked.
const IN_TURN: Duration = Duration::from_secs(1);

/// Waits for netserver's answer, at most [`IN_TURN`]; the read of the answer has the deadline.
fn await_answer(talk: &Conversation<'_, ControlLink>) {
    let until = clock::now().plus(IN_TURN);
    let goes_on = || !alarm::stopped_by_user() && !until.left().is_zero();
    while goes_on() && !ready(talk.link().fd(), Interest::Read, until.left()).unwrap_or(true) {}
}

/// Time limit for closing the control connection.
pub(crate) const LEAVE: Duration = Duration::from_secs(2);

/// A conversation with netserver.
pub(crate) type Talk<'a> = Conversation<'a, ControlLink>;

/// Begins a conversation over a control connection.
pub(crate) fn open<'a>(
    plan: &'a TestPlan,
    control: ControlConnection,
) -> Result<Talk<'a>, Failure> {
    let asked = plan.control.as_ref();
    let passphrase = asked.and_then(|asked| asked.passphrase.clone());
    let private = control.private;
    let mut link = ControlLink::new(Rc::new(control.socket));
    link.heed_signals();
    if let Some(peer) = control.peer.filter(|_| !private) {
        link.expect_netserver(foreign::probe(peer));
    }
    link.keep_alive(asked.map_or(ControlPlan::KEEPALIVE, |asked| asked.keepalive));
    if let Some(asked) = asked.filter(|_| !private) {
        if let Some(secret) = &asked.secret {
            secure::enter(&mut link, secret, &asked.remote.host)?;
        }
    }
    Conversation::open(plan, link, passphrase).map_err(|error| failure::session(&error))
}

/// The failure of a request for anything but a test.
pub(crate) fn unanswered(error: SessionError, plan: &TestPlan) -> Failure {
    unserved::explained(&error, plan, failure::session(&error))
}

impl TestRun<'_> {
    /// Asks netserver for what a stock one cannot do, before it could take that for
    /// something else.
    pub(super) fn greet(&mut self) -> Result<(), Failure> {
        let plan = self.plan();
        let transport = plan.transport;
        let needed = offer::greets(plan);
        let Some(talk) = self.talk.as_mut().filter(|_| needed) else {
            return Ok(());
        };
        if netperf_transport::registry::missing(transport).is_some() {
            return Err(failure::unsupported(transport, None));
        }
        let abilities = talk.greet().map_err(|error| unanswered(error, plan))?;
        let host = &self.hosts.remote.name;
        if let (None, Some(method)) = (&abilities, offer::unusual_method(plan)) {
            return Err(failure::session(&SessionError::CpuMethod(method)));
        }
        if let Some(many) = &plan.many {
            self.served = many::served(plan, many, abilities.as_ref(), host)?;
        }
        self.optional = offer::optional(plan);
        let has_optional = !self.optional.is_empty();
        self.optional.retain(|feature| {
            let needs_pages = (*feature == Feature::Arrivals).then_some(&Feature::Pages);
            let mut needs = std::iter::once(feature).chain(needs_pages);
            let abilities = abilities.as_ref();
            abilities.is_some_and(|it| needs.all(|feature| it.features.contains(feature)))
        });
        match abilities {
            None if (plan.many.is_some() || has_optional)
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
            Some(abilities) if abilities.off.contains(&transport) => {
                let denied = Denied::Transport(transport);
                Err(failure::session(&SessionError::Denied(denied.to_string())))
            }
            Some(abilities) if !abilities.transports.contains(&transport) => {
                Err(failure::unsupported(transport, Some(host)))
            }
            Some(abilities) => {
                let lacks = |feature: &Feature| !abilities.features.contains(feature);
                let off = |feature: &Feature| abilities.features_off.contains(feature);
                match plan.remote.features().into_iter().find(lacks) {
                    Some(feature) if off(&feature) => Err(failure::not_for_strangers(feature)),
                    Some(feature) => Err(failure::unable(feature, Some(host))),
                    None => {
                        if let Some(many) = &plan.many {
                            many::remark(many, self.served);
                        }
                        Ok(())
                    }
                }
            }
        }
    }

    /// Sessions for each direction of the data.
    pub(super) fn sessions(&self) -> usize {
        match (&self.run.plan.many, self.served) {
            (Some(many), FlowSessions::Apart) => usize::try_from(many.flows).unwrap_or(usize::MAX),
            (Some(_) | None, _) => 1,
        }
    }

    /// Returns true if netserver keeps fractions of a second.
    pub(super) fn has_fractions(&self) -> bool {
        self.optional.contains(&Feature::Fractions)
    }

    /// The time of what netserver alone sends, where it is not the one that was asked for.
    pub(super) fn kept_time(&self) -> Option<Duration> {
        self.talk.as_ref().filter(|_| !self.has_fractions())?;
        offer::kept_time(self.plan())
    }

    /// Warning about that.
    pub(super) fn whole_seconds(&self) -> Option<Warning> {
        let time = self.kept_time()?;
        Some(Warning::Imprecise(format!(
            "--time: {} keeps the time of what it alone sends in whole seconds: {} s",
            self.hosts.remote.name,
            time.as_secs()
        )))
    }

    /// Opens control connections until there are so many.
    fn open_beside(&mut self, sessions: usize) -> Result<(), Failure> {
        let plan = self.plan();
        let Some(control) = &plan.control else {
            return Ok(());
        };
        while self.beside.len() + 1 < sessions {
            self.beside.push(open(plan, control::establish(control)?)?);
        }
        Ok(())
    }

    /// Prepares netserver in every session. Those of the direction to netserver, or of both
    /// directions together, come first.
    pub(super) fn agree(
        &mut self,
        end: &TestEnd<NetperfProgram>,
        hosts: &Hosts,
    ) -> Result<Vec<Agreement>, Failure> {
        let plan = self.plan();
        let many = plan.many.as_ref();
        let apart = self.served == FlowSessions::Apart;
        let (ways, sessions) = (both::ways(plan), self.sessions());
        self.open_beside(sessions.saturating_mul(ways.len()))?;
        let own = self.own_address(hosts);
        let told = flows_have_sessions(plan);
        let mut agreements: Vec<Agreement> = Vec::new();
        let each = ways
            .iter()
            .flat_map(|way| (0..).take(sessions).map(move |index| (*way, index)));
        let has_fractions = self.has_fractions();
        let talks = self.talk.iter_mut().chain(&mut self.beside);
        let before = clock::now();
        // All are asked before the first answer: netserver sends in a session as soon as it has
        // answered, and a flow must not send alone while the other ones are asked for.
        let mut offered: Vec<(_, &mut Conversation<'_, ControlLink>)> = Vec::new();
        for ((way, index), talk) in each.zip(talks) {
            if way == SessionDirection::Back && index == 0 && !plan.transport.row().reliable {
                // Datagrams would fill the queue in front of the answers.
                offered.iter().for_each(|(_, other)| await_answer(other));
            }
            let is_first = offered.is_empty();
            let socket = match way {
                SessionDirection::Back if many.is_none() => end.second_address(),
                SessionDirection::There | SessionDirection::Back => end.flow_address(index),
            };
            let known_port = self.data_port.unwrap_or(hosts.remote.port);
            let local = LocalEnd {
                family: hosts.remote.family(),
                address: own,
                socket: socket.filter(|_| many.is_none() || told).cloned(),
                data_port: if is_first { known_port } else { 0 },
                send_size: end.setup().send_size.filter(|_| is_first && many.is_none()),
                facts_of: (is_first && self.facts).then_some(hosts.remote.address),
                all_flows: many.is_some() && !apart,
            };
            let mut asked = many::asked(plan, way, index, apart);
            let there = way == SessionDirection::There;
            let wanted = |feature: &&Feature| there || **feature != Feature::Arrivals;
            for feature in self.optional.iter().filter(wanted) {
                offer::request_optional(asked.to_mut(), *feature);
            }
            if let Some(time) = offer::kept_time(&asked).filter(|_| !has_fractions) {
                asked.to_mut().limit = Limit::Time(time);
            }
            let request = offer::request(&asked, &local);
            request
                .and_then(|request| talk.offer(request))
                .map_err(|error| refused(&error, plan, hosts))?;
            offered.push((asked, talk));
        }
        for (asked, talk) in offered {
            let answer = talk.agreement();
            self.answered = before.elapsed();
            // It is on its way already, and keeps the other answers waiting.
            if told && plan.flow.receives && !plan.flow.counts_transactions() {
                self.sent_since.get_or_insert_with(clock::monotonic);
            }
            let agreement = answer.map_err(|error| refused(&error, plan, hosts))?;
            if plan.flow.receives
                && !plan.flow.counts_transactions()
                && !plan.transport.row().reliable
            {
                talk.link().give_signs_of_life();
            }
            many::check_ports(plan, apart, &agreement)?;
            many::check_bound(&asked, apart, &agreement, &hosts.remote.name)?;
            if agreements.is_empty() {
                check::data_port(self.run, hosts, &agreement)?;
            }
            agreements.push(agreement);
        }
        if let Some(first) = agreements.first_mut() {
            self.trace.say("remote listen done.");
            self.trace
                .say(&format!("remote port is {}", first.data_port));
            self.remote_host = first.host.take().map(|host| *host);
            let port = u16::try_from(first.data_port).ok();
            self.data_port = port.filter(|_| many.is_none());
        }
        Ok(agreements)
    }

    /// Local address to announce to netserver: that of the bound data socket, else that of the
    /// control connection.
    pub(super) fn own_address(&self, hosts: &Hosts) -> Option<IpAddr> {
        let bound = Some(hosts.local.address).filter(|address| !address.is_unspecified());
        let family = |own: &IpAddr| own.is_ipv4() == hosts.remote.address.is_ipv4();
        bound.or_else(|| self.control_local.filter(family))
    }

    /// Addresses of netserver's data sockets. With `--one-port` it is the peer address of the
    /// control connection.
    pub(super) fn data_addresses(&self, agreements: &[Agreement], hosts: &Hosts) -> Vec<Address> {
        if self.talk.is_none() {
            return vec![Address::Inet(socket_address(
                &hosts.remote,
                hosts.remote.port,
            ))];
        }
        let of_session = |agreement: &Agreement| {
            let one = u16::try_from(agreement.data_port).unwrap_or(hosts.remote.port);
            let ports = match agreement.ports.as_slice() {
                [] => vec![one],
                ports => ports.to_vec(),
            };
            let at = |port| match (agreement.token, self.control_peer) {
                (Some(_), Some(peer)) => Address::Inet(peer),
                (Some(_) | None, _) => data_address(agreement, hosts, port),
            };
            ports.into_iter().map(at).collect::<Vec<_>>()
        };
        agreements.iter().flat_map(of_session).collect()
    }

    /// netserver's results of all sessions put together, and its counters of each of many flows;
    /// none if the user did not wait for them. Its sends are unknown if the user did not wait
    /// for the sessions in which it sends.
    pub(super) fn results(
        &mut self,
        ran: &EndReport,
        end_mark: Option<EndMark>,
    ) -> Result<(Option<EndResult>, Option<ServerCounts>), Failure> {
        let plan = self.plan();
        let is_one = plan.many.is_none();
        // A session of a flow alone counts that flow.
        let apart = self.served == FlowSessions::Apart && !plan.flow.connects;
        let sessions = self.sessions();
        let (mut all, mut counted): (Option<EndResult>, _) = (None, ServerCounts::default());
        // Repeated while the first session is waited for: the mark is that of all flows.
        if let Some(talk) = &mut self.talk {
            talk.link_mut().repeat_while_waiting(end_mark);
        }
        for (index, talk) in self.talk.iter_mut().chain(&mut self.beside).enumerate() {
            let Some(mut result) = results(&self.run.report, plan, talk, ran)? else {
                // The sessions in which netserver receives come first.
                let Some(there) = all.as_mut().filter(|_| index >= sessions) else {
                    return Ok((None, None));
                };
                there.sends_unknown = true;
                // Properties of the connections on which netserver sends.
                (there.retransmissions, there.send_buffer_end) = (None, None);
                there.congestion = None;
                counted.forget_sends();
                break;
            };
            if index < sessions {
                counted.arrivals.push(result.arrivals.clone());
            }
            if is_one && index == 0 {
                result = offer::reconciled(plan, &ran.result.tally, result);
            }
            if let Some(way) = both::ways(plan).get(index / sessions).filter(|_| !is_one) {
                counted.note(*way, index % sessions, apart, &mut result);
            }
            match &mut all {
                Some(all) if index == sessions => {
                    // The first that sends.
                    all.send_buffer_end = result.send_buffer_end;
                    all.congestion = result.congestion.take();
                    if is_one {
                        all.retransmissions = None;
                    }
                    many::add(all, &result);
                }
                Some(all) => many::add(all, &result),
                None => all = Some(with_cpus(result)),
            }
        }
        if all.is_some() {
            self.trace.say("remote results obtained");
        }
        Ok((all, Some(counted)))
    }
}

/// Address of netserver's data socket.
fn data_address(agreement: &Agreement, hosts: &Hosts, port: u16) -> Address {
    match (agreement.address.clone(), hosts.remote.vsock) {
        // By which number this host knows that one is for this host to say.
        (Some(Address::Vsock { port, .. }), Some(cid)) => Address::Vsock { cid, port },
        (Some(address), _) => address,
        (None, _) => Address::Inet(socket_address(&hosts.remote, port)),
    }
}

/// netserver's result with its connections numbered as ours are.
pub(super) fn numbered(own: &EndResult, remote: Option<EndResult>) -> Option<EndResult> {
    let mut remote = remote?;
    if let (Some(theirs), Some(ours)) = (&mut remote.series, &own.series) {
        theirs.number_as_in(ours);
    }
    Some(remote)
}

/// The failure of a request for a test.
fn refused(error: &SessionError, plan: &TestPlan, hosts: &Hosts) -> Failure {
    let failure = failure::refused(error, plan, &hosts.remote.name);
    unserved::explained(error, plan, failure)
}

/// The results of a session; `None` where the user did not wait for the end, and netserver did
/// not notice it in time.
fn results(
    report: &ReportPlan,
    plan: &TestPlan,
    talk: &mut Talk<'_>,
    ran: &EndReport,
) -> Result<Option<EndResult>, Failure> {
    let within = results_within(plan, ran, talk.link());
    sockopt::demand_signs_of_life(talk.link().fd(), probed_at(plan, ran), within);
    let wait = AttendedWait::new(RESULTS, notice(report, within));
    let before = talk.link_mut().attend(Some(wait));
    let results = talk.results(within);
    talk.link_mut().attend(before);
    talk.link_mut().repeat_while_waiting(None);
    match results {
        Ok(result) => Ok(Some(result)),
        Err(_) if alarm::stopped_by_user() => Ok(None),
        // It answered before.
        Err(error @ SessionError::NoAnswer(_)) => Err(Failure::failed(format_args!(
            "{error}: it stopped, or its host or the path to it is gone"
        ))),
        Err(error) => Err(failure::session(&error)),
    }
}

/// The line for a person who waits; programs that run netperf on a terminal ask for bare output.
fn notice(report: &ReportPlan, within: Duration) -> Option<(Duration, String)> {
    let is_for_people =
        matches!(report.format, Format::Classic | Format::Human) && !report.is_bare();
    let is_attended = is_for_people && output::is_terminal(OutputStream::Stderr);
    let line = format!(
        "netperf: waiting up to {} s for netserver's result; Ctrl-C ends the wait\n",
        within.as_secs()
    );
    is_attended.then_some((RESULTS, line))
}

/// Time limit for netserver's results, which grows with the round-trip time.
fn results_within(plan: &TestPlan, ran: &EndReport, link: &ControlLink) -> Duration {
    let round_trip = ran.round_trip.unwrap_or_default().max(link.round_trip());
    let notices_late = offer::ends_late(plan) || !ran.ended_cleanly;
    if ran.stopped_by_user && notices_late {
        let sent = ran.result.tally.bytes_sent > 0 && !plan.flow.counts_transactions();
        // A second signal ends the program at once.
        return if sent { RESULTS } else { IMPATIENT } + round_trip * 10;
    }
    let or_none = |holds: bool, time| if holds { time } else { Duration::ZERO };
    let late = or_none(notices_late, PAD) + or_none(ran.queued, QUEUES);
    let usual = RESULTS + late + round_trip * 10 + retransmitted_within(link);
    // An outage over the end of a test.
    if ran.stopped_by_user {
        usual
    } else {
        usual.max(PATIENCE)
    }
}

/// Time in which a message of netserver comes again that was lost twice. Elsewhere the system
/// probes the host and sends soon, because it knows the round trip.
fn retransmitted_within(link: &ControlLink) -> Duration {
    match tcp::info(link.fd()) {
        Ok(info) if !info.tells_time_out() => info.retransmits_after() * 3,
        Ok(_) | Err(_) => Duration::ZERO,
    }
}

/// Round trip of probes, which includes queues that data still fills, or datagrams may fill.
fn probed_at(plan: &TestPlan, ran: &EndReport) -> Duration {
    let measured = ran.round_trip.unwrap_or_default();
    let is_bulk = plan.flow.sends && !plan.flow.counts_transactions();
    let unknown = ran.round_trip.is_none() && is_bulk;
    if (ran.queued || unknown) && !ran.stopped_by_user {
        measured.max(QUEUES)
    } else {
        measured
    }
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
