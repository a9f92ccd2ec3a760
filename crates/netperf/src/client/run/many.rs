//! A test with many flows: netperf's end in one process, netserver's in one where it is of
//! this program, and in as many sessions as there are flows where it is not.

use std::io;
use std::os::fd::BorrowedFd;

use netperf_engine::{EndMark, EndReport, TestEnd};
use netperf_measure::cpus;
use netperf_model::many::cpu_list_text;
use netperf_model::{
    Abilities, EndJob, EndResult, FlowCounts, FlowThere, Hosts, Limit, Many, TestPlan, Workers,
    share_of,
};
use netperf_session::offer::{self, Agreement, LocalEnd};
use netperf_transport::registry;
use netperf_wire::messages::ItemKind;

use super::session::{Talk, numbered, open, results, with_cpus};
use super::{IterationResult, TestRun, agreed, both, drawn, failure, interim, until, wait};
use crate::client::control;
use crate::output::{Failure, err};

/// Distribution of many flows over sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowSessions {
    /// All of them in one process, asked for with one request.
    Together,
    /// One session, with a separate control connection, for each flow.
    Apart,
}

fn unsupported(text: &str) -> Failure {
    Failure::unsupported(text)
}

/// Refuses beforehand what this end cannot do.
pub(crate) fn check(plan: &TestPlan) -> Result<(), Failure> {
    let Some(many) = &plan.many else {
        return Ok(());
    };
    if cpu_list_text(&many.remote.cpus).len() > ItemKind::Cpus.room() {
        return Err(unsupported("--remote-cpus: the list is too long"));
    }
    registry::check_flows().map_err(|error| failure::not_built("--flows", &error))?;
    match registry::most_flows() {
        Some(most) if most < many.flows => Err(unsupported(&format!(
            "--flows: this host lets a program have {most} flows at most: raise its limit of open files \
             (ulimit -n)"
        ))),
        Some(_) | None => Ok(()),
    }
}

/// Distribution that this netserver supports.
pub(super) fn served(
    many: &Many,
    abilities: Option<&Abilities>,
    host: &str,
) -> Result<FlowSessions, Failure> {
    let remote = &many.remote;
    match abilities.and_then(|abilities| abilities.flows) {
        Some(0) => Err(unsupported(&format!(
            "--flows: netserver on {host} is built without the feature 'flows'"
        ))),
        Some(most) if most < many.flows => Err(unsupported(&format!(
            "--flows: netserver on {host} can have {most} flows at most: raise its limit of open files \
             (ulimit -n)"
        ))),
        Some(_) => Ok(FlowSessions::Together),
        None if !remote.cpus.is_empty() || remote.place.is_some() => Err(unsupported(
            "a stock netserver cannot place threads: start a netserver of this program there, or \
             omit --remote-cpus and --place",
        )),
        None => Ok(FlowSessions::Apart),
    }
}

/// Says that flows which are served apart are not served by as many threads as was asked for.
pub(super) fn remark(many: &Many, served: FlowSessions) {
    // A flow has a process there in any case.
    let threads = many.remote.threads.filter(|threads| *threads != many.flows);
    if let Some(threads) = threads.filter(|_| served == FlowSessions::Apart) {
        err(&format!(
            "netperf: a stock netserver serves each flow in a separate process, not all of them \
             in {threads} threads: --threads applies to this end only\n"
        ));
    }
}

/// netperf's threads, with CPUs where they are to have some.
fn workers(many: &Many, hosts: &Hosts) -> Result<Workers, Failure> {
    let from = netperf_os::net::source_address((hosts.remote.address, 9).into()).ok();
    placed(&many.local, || from).map_err(|error| {
        let option = if many.local.place.is_some() {
            "--place"
        } else {
            "--cpus"
        };
        unsupported(&format!("{option}: cannot place threads: {error}"))
    })
}

/// Threads with the CPUs that a list or a rule gives them.
pub(crate) fn placed(
    workers: &Workers,
    address: impl FnOnce() -> Option<std::net::IpAddr>,
) -> io::Result<Workers> {
    let mut placed = workers.clone();
    if let Some(rule) = workers.place {
        placed.cpus = cpus::chosen(rule, address())?;
    }
    cpus::check(&placed.cpus)?;
    Ok(placed)
}

impl<'a> TestRun<'a> {
    /// One iteration with many flows.
    pub(super) fn once_many(
        &mut self,
        many: &'a Many,
        number: usize,
    ) -> Result<IterationResult, Failure> {
        let plan = self.plan();
        let hosts = drawn(plan, &self.hosts);
        let family = hosts.remote.family();
        let failed = |error| failure::engine(&error, plan.transport, family);
        let job = EndJob::of_plan(plan, &hosts, Some(workers(many, &hosts)?));
        let mut end = TestEnd::prepare(job).map_err(failed)?;
        let local = *end.setup();
        let agreements = self.agree_on_flows(many, &hosts)?;
        if let Some(token) = agreements.first().and_then(|first| first.token) {
            end.set_token(token);
        }
        wait(plan.wait);
        self.trace.timer(plan);
        let address = |agreement: &Agreement| {
            let one = u16::try_from(agreement.data_port).unwrap_or(0);
            let ports = match agreement.ports.as_slice() {
                [] => vec![one],
                ports => ports.to_vec(),
            };
            let at = |port| self.data_address(Some(agreement), &hosts, port);
            ports.into_iter().map(at).collect::<Vec<_>>()
        };
        let (there, back) = agreements.split_at(self.sessions_there(many));
        let remotes: Vec<_> = there.iter().flat_map(address).collect();
        end.set_second_remotes(back.iter().flat_map(address).collect());
        let live = interim::live(self.run);
        let talks = self.talk.iter().chain(&self.beside);
        let controls: Vec<BorrowedFd<'_>> = talks.map(|talk| talk.link().fd()).collect();
        let about = (self.unit(), &local);
        let ran = interim::beside(self.run, number, &mut self.done.intervals, &live, || {
            until::beside(plan, about, &live, &mut self.done.until, || {
                end.run(&remotes, &controls, &live)
            })
        });
        let mut ran = ran.map_err(failed)?;
        self.keep(ran.latency.take());
        let end_mark = ran.end_mark.take();
        let results = match self.cut_short(&ran) {
            None => self.results_of_flows(many, &ran, end_mark),
            Some(failure) => Err(failure),
        };
        let (remote, counted) = match results {
            Ok((results, counted)) => (numbered(&ran.result, results), counted),
            Err(failure) => return Err(self.broken_off(ran, failure)),
        };
        if let (Some(flows), Some(counted)) = (&mut ran.many, counted) {
            match counted.back {
                Some(back) => flows.pair_both(plan.flow, &counted.there, &back),
                None => flows.pair(plan.flow, &counted.there),
            }
        }
        let agreed = agreed(local, there.first(), back.first(), 0);
        Ok(IterationResult::of(agreed, ran, remote, None))
    }

    /// Has netserver ready for every flow.
    fn agree_on_flows(&mut self, many: &Many, hosts: &Hosts) -> Result<Vec<Agreement>, Failure> {
        let together = self.served == FlowSessions::Together;
        let plan = self.plan();
        let ways = both::ways(plan);
        let sessions = if together { 1 } else { many.flows };
        self.open_beside(sessions.saturating_mul(if ways.len() > 1 { 2 } else { 1 }))?;
        let own = self.own_address(hosts);
        let facts_of = self.facts.then_some(hosts.remote.address);
        let mut agreements = Vec::new();
        let each = ways
            .iter()
            .flat_map(|way| (0..sessions).map(move |index| (*way, index)));
        let talks = self.talk.iter_mut().chain(&mut self.beside);
        for ((way, index), talk) in each.zip(talks) {
            let one_way = both::asked(plan, way);
            let asked = plan_of(&one_way, many, index, together);
            let local = LocalEnd {
                family: hosts.remote.family(),
                address: own,
                socket: None,
                data_port: if agreements.is_empty() {
                    hosts.remote.port
                } else {
                    0
                },
                send_size: None,
                facts_of: facts_of.filter(|_| agreements.is_empty()),
                all_flows: together,
            };
            let agreement = offer::request(&asked, &local)
                .and_then(|request| talk.agree(request))
                .map_err(|error| {
                    failure::flows_refused(&error, plan, &many.remote, &hosts.remote.name)
                })?;
            let a_port_each =
                together && !plan.transport.is_connected() && agreement.token.is_none();
            if a_port_each && agreement.ports.len() as u64 != u64::from(many.flows) {
                return Err(unsupported(
                    "netserver has no port for each flow: start one of this program's version \
                     there, or ask for fewer",
                ));
            }
            agreements.push(agreement);
        }
        self.trace.say("remote listen done.");
        if let Some(first) = agreements.first_mut() {
            self.trace
                .say(&format!("remote port is {}", first.data_port));
            self.remote_host = first.host.take().map(|host| *host);
        }
        Ok(agreements)
    }

    /// Number of sessions for the direction to netserver, or for everything.
    fn sessions_there(&self, many: &Many) -> usize {
        match self.served {
            FlowSessions::Together => 1,
            FlowSessions::Apart => usize::try_from(many.flows).unwrap_or(usize::MAX),
        }
    }

    /// Opens as many control connections as there are to be.
    pub(super) fn open_beside(&mut self, sessions: u32) -> Result<(), Failure> {
        let plan = self.plan();
        let Some(control) = &plan.control else {
            return Ok(());
        };
        while (self.beside.len() as u64) + 1 < u64::from(sessions) {
            let another: Talk<'a> = open(plan, control::establish(control)?)?;
            self.beside.push(another);
        }
        Ok(())
    }

    /// The results of every session, put together, and what each flow came to there; none
    /// where the user did not wait for them.
    fn results_of_flows(
        &mut self,
        many: &Many,
        ran: &EndReport,
        end_mark: Option<EndMark>,
    ) -> Result<(Option<EndResult>, Option<ServerCounts>), Failure> {
        let plan = self.plan();
        let mut all: Option<EndResult> = None;
        // A session of a flow alone counts that flow.
        let apart = self.served == FlowSessions::Apart && !plan.flow.connects;
        let sessions = self.sessions_there(many);
        let mut counted = [None, None];
        // Repeated while the first session is waited for: the mark is that of all flows.
        if let Some(talk) = &mut self.talk {
            talk.link_mut().repeat_while_waiting(end_mark);
        }
        for (index, talk) in self.talk.iter_mut().chain(&mut self.beside).enumerate() {
            let Some(mut result) = results(plan, talk, ran)? else {
                return Ok((None, None));
            };
            if let Some(way) = counted.get_mut(index / sessions) {
                note(way, index % sessions, apart, &mut result);
            }
            match &mut all {
                Some(all) if index == sessions => {
                    // The first that sends.
                    all.send_buffer_end = result.send_buffer_end;
                    all.congestion = result.congestion.take();
                    add(all, &result);
                }
                Some(all) => add(all, &result),
                None => all = Some(with_cpus(result)),
            }
        }
        self.trace.say("remote results obtained");
        let [there, back] = counted;
        Ok((all, there.map(|there| ServerCounts { there, back })))
    }
}

/// netserver's counters of each flow.
struct ServerCounts {
    there: Vec<FlowThere>,
    /// Data sent over separate connections; `None` if there are none.
    back: Option<Vec<FlowThere>>,
}

/// Takes note of the flows of a session.
fn note(way: &mut Option<Vec<FlowThere>>, index: usize, apart: bool, result: &mut EndResult) {
    if apart {
        way.get_or_insert_default().push(of_session(index, result));
    } else if let Some(flows) = result.flows.take() {
        *way = Some(flows);
    }
}

/// The plan that a session is asked for. With a session for each flow, each has its share,
/// and one of them measures the CPUs of all.
fn plan_of(plan: &TestPlan, many: &Many, index: u32, together: bool) -> TestPlan {
    let mut asked = plan.clone();
    if together {
        return asked;
    }
    if let Limit::Units(units) = plan.limit {
        asked.limit = Limit::Units(share_of(units, many.flows, index));
    }
    if index > 0 {
        asked.remote.cpu = None;
    }
    asked
}

/// Counters of a session with one flow.
fn of_session(index: usize, result: &EndResult) -> FlowThere {
    FlowThere {
        number: u32::try_from(index + 1).ok(),
        port: 0,
        counts: FlowCounts {
            bytes_sent: result.tally.bytes_sent,
            bytes_received: result.tally.bytes_received,
            transactions: result.tally.transactions,
        },
    }
}

/// Adds the results of another session. What there is one of is the first one's.
fn add(all: &mut EndResult, other: &EndResult) {
    all.tally = all.tally.plus(&other.tally);
    all.elapsed = all.elapsed.max(other.elapsed);
    all.retransmissions = match (all.retransmissions, other.retransmissions) {
        (Some(all), Some(other)) => Some(all.saturating_add(other)),
        (one, another) => one.or(another),
    };
    if let (Some(all), Some(other)) = (&mut all.crew, &other.crew) {
        all.threads += other.threads;
        all.cpus.extend(&other.cpus);
    }
}
