//! A test with many flows: netperf's end in one process, netserver's in one where it is of
//! this program, and in as many sessions as there are flows where it is not.

use std::borrow::Cow;

use netperf_measure::cpus;
use netperf_model::many::{cpu_list_text, flows_have_sessions};
use netperf_model::{
    Abilities, Arrivals, Duplex, EndResult, Flow, FlowCounts, FlowThere, Flows, Hosts, IoCounts,
    Limit, Many, TestPlan, Workers, share_of_messages,
};
use netperf_program::output::{Failure, err};
use netperf_session::offer::Agreement;
use netperf_transport::{built, registry};
use netperf_wire::messages::ItemKind;

use super::both::{self, SessionDirection};
use crate::failure;

/// Distribution of many flows over sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowSessions {
    /// All of them in one process, asked for with one request.
    Together,
    /// One session, with a separate control connection, for each flow.
    Apart,
}

/// Refuses beforehand what this end cannot do.
pub(crate) fn check(plan: &TestPlan) -> Result<(), Failure> {
    let Some(many) = &plan.many else {
        return Ok(());
    };
    if cpu_list_text(&many.remote.cpus).len() > ItemKind::Cpus.space() {
        return Err(Failure::unsupported("--remote-cpus: the list is too long"));
    }
    built::check_flows().map_err(|error| failure::not_built("--flows", &error))?;
    match registry::most_flows() {
        Some(most) if most < many.flows => Err(Failure::unsupported(format_args!(
            "--flows: this host lets a program have {most} flows at most: raise its limit of open files \
             (ulimit -n)"
        ))),
        Some(_) | None => Ok(()),
    }
}

/// Distribution that this netserver supports.
pub(super) fn served(
    plan: &TestPlan,
    many: &Many,
    abilities: Option<&Abilities>,
    host: &str,
) -> Result<FlowSessions, Failure> {
    if flows_have_sessions(plan) {
        return Ok(FlowSessions::Apart);
    }
    let remote = &many.remote;
    match abilities.and_then(|abilities| abilities.flows) {
        Some(0) => Err(Failure::unsupported(format_args!(
            "--flows: netserver on {host} is built without the feature 'flows'"
        ))),
        Some(most) if most < many.flows => Err(Failure::unsupported(format_args!(
            "--flows: netserver on {host} can have {most} flows at most: raise its limit of open files \
             (ulimit -n)"
        ))),
        Some(_) => Ok(FlowSessions::Together),
        None if !remote.cpus.is_empty() || remote.place.is_some() => Err(Failure::unsupported(
            "a stock netserver cannot place threads: start a netserver of this program there, or \
             omit --remote-cpus and --place",
        )),
        None => Ok(FlowSessions::Apart),
    }
}

/// Says that flows which are served apart are not served by as many threads as was asked for.
pub(super) fn remark(many: &Many, served: FlowSessions) {
    // A flow has a process there in any case; a list of CPUs stands for as many threads.
    let cpus = u32::try_from(many.remote.cpus.len()).unwrap_or(0);
    let threads = many.remote.threads;
    let threads = threads.filter(|threads| ![many.flows, cpus].contains(threads));
    if let Some(threads) = threads.filter(|_| served == FlowSessions::Apart) {
        err(&format!(
            "netperf: netserver serves each of these flows in a separate process, not all of them \
             in {threads} threads: --threads applies to this end only\n"
        ));
    }
}

/// netperf's threads, with CPUs where they are to have some.
pub(super) fn workers(many: &Many, hosts: &Hosts) -> Result<Workers, Failure> {
    let from = netperf_os::net::source_address((hosts.remote.address, 9).into()).ok();
    cpus::placed(&many.local, || from).map_err(|error| {
        let option = if many.local.place.is_some() {
            "--place"
        } else {
            "--cpus"
        };
        Failure::unsupported(format_args!("{option}: cannot place threads: {error}"))
    })
}

/// Checks that netserver has a port for each flow, where each needs one.
pub(super) fn check_ports(
    plan: &TestPlan,
    apart: bool,
    agreement: &Agreement,
) -> Result<(), Failure> {
    let has_token = agreement.token.is_some();
    let Some(many) = plan.many.as_ref().filter(|_| !apart && !has_token) else {
        return Ok(());
    };
    let enough = agreement.ports.len() as u64 == u64::from(many.flows);
    if plan.transport.is_connected() || enough {
        return Ok(());
    }
    Err(Failure::unsupported(
        "netserver has no port for each flow: start one of this program's version there, or ask \
         for fewer",
    ))
}

/// netserver's counters of each flow.
#[derive(Default)]
pub(super) struct ServerCounts {
    there: Option<Vec<FlowThere>>,
    /// Data sent over separate connections; `None` if there are none.
    back: Option<Vec<FlowThere>>,
    /// Arrivals over time in each session in which netserver receives.
    pub(super) arrivals: Vec<Option<Arrivals>>,
}

impl ServerCounts {
    /// Takes note of the flows in the result of session `index` of a direction. A session
    /// `apart` has one flow.
    pub(super) fn note(
        &mut self,
        way: SessionDirection,
        index: usize,
        apart: bool,
        result: &mut EndResult,
    ) {
        let counts = match way {
            SessionDirection::There => &mut self.there,
            SessionDirection::Back => &mut self.back,
        };
        if apart {
            counts
                .get_or_insert_default()
                .push(of_session(index, result));
        } else if let Some(flows) = result.flows.take() {
            *counts = Some(flows);
        }
    }

    /// Drops the counters of the sessions in which netserver sends.
    pub(super) fn forget_sends(&mut self) {
        self.back = None;
    }

    /// Adds the counters to netperf's flows.
    pub(super) fn pair(self, flows: &mut Flows, flow: Flow) {
        match (self.there, self.back) {
            (Some(there), Some(back)) => flows.pair_both(flow, &there, &back),
            (Some(there), None) => {
                flows.pair(flow, &there);
                if flow.duplex == Some(Duplex::Separate) {
                    // It includes what netserver sent, which is unknown.
                    flows.fairness_there = None;
                }
            }
            (None, _) => {}
        }
    }
}

/// The plan that a session is asked for. With a session for each flow, each has its share of
/// an amount and of a rate, and its CPU in turn; one of them measures the CPUs of all.
pub(super) fn asked(
    plan: &TestPlan,
    way: SessionDirection,
    index: u32,
    apart: bool,
) -> Cow<'_, TestPlan> {
    let mut asked = both::asked(plan, way);
    if let Some(many) = plan.many.as_ref().filter(|_| apart) {
        let own = asked.to_mut();
        if let Limit::Units(units) = plan.limit {
            let whole = plan.transport.keeps_boundaries() && !plan.flow.counts_transactions();
            let message = plan.remote.send.size.filter(|_| whole).unwrap_or(1);
            own.limit = Limit::Units(share_of_messages(units, message, many.flows, index));
        }
        own.remote.rate = plan.remote.rate.map(|rate| rate.of_each(many.flows));
        let place = usize::try_from(index).unwrap_or(0);
        if let Some(cpu) = many.remote.cpus.iter().cycle().nth(place) {
            own.remote.bind = Some(*cpu);
        }
        if index > 0 {
            own.remote.cpu = None;
        }
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

/// Checks that the process of a session `apart` has the CPU that it was asked for.
pub(super) fn check_bound(
    asked: &TestPlan,
    apart: bool,
    agreement: &Agreement,
    host: &str,
) -> Result<(), Failure> {
    let placed = asked
        .many
        .as_ref()
        .is_some_and(|many| !many.remote.cpus.is_empty());
    match (asked.remote.bind, agreement.setup.cpu_refused) {
        (Some(cpu), Some(_)) if apart && placed => Err(Failure::unsupported(format_args!(
            "--remote-cpus: netserver on {host} cannot bind the process of a flow to CPU {cpu}: use \
             CPUs of its host"
        ))),
        _ => Ok(()),
    }
}

/// The calls of an end that makes one for each message.
fn calls(result: &EndResult) -> IoCounts {
    let tally = &result.tally;
    IoCounts::of_sends(tally.send_calls).plus(IoCounts::of_receives(tally.recv_calls))
}

/// Adds the results of another session. What there is one of is the first one's.
pub(super) fn add(all: &mut EndResult, other: &EndResult) {
    all.io = IoCounts::of_parts((all.io, calls(all)), (other.io, calls(other)));
    all.tally = all.tally.plus(&other.tally);
    all.elapsed = all.elapsed.max(other.elapsed);
    all.failed_sends_unknown |= other.failed_sends_unknown;
    if let (Some(all), Some(other)) = (&mut all.quality, &other.quality) {
        *all = all.beside(other);
    }
    all.retransmissions = match (all.retransmissions, other.retransmissions) {
        (Some(all), Some(other)) => Some(all.saturating_add(other)),
        (one, another) => one.or(another),
    };
    if let (Some(all), Some(other)) = (&mut all.paced, &other.paced) {
        all.merge_beside(other);
    }
    if let (Some(all), Some(other)) = (&mut all.worker_threads, &other.worker_threads) {
        all.threads += other.threads;
        all.cpus.extend(&other.cpus);
    }
}
