//! Messages to netserver about a data test: required features, the request, and the results.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use netperf_engine::{Client, EndReport, TestEnd};
use netperf_measure::cpu;
use netperf_model::{Address, ControlPlan, CpuUsage, EndResult, Feature, Hosts, TestPlan};
use netperf_session::SessionError;
use netperf_session::driver::Conversation;
use netperf_session::offer::{self, Agreement, LocalEnd};

use super::{TestRun, both, many};
use crate::client::control::ControlConnection;
use crate::client::hosts::socket_address;
use crate::client::{failure, secure};
use crate::link::ControlLink;
use crate::output::Failure;

/// Time limit for netserver's results after the end of the run.
const RESULTS: Duration = Duration::from_secs(3);
/// Additional run time of a netserver that does not learn of the end.
const PAD: Duration = Duration::from_secs(4);
/// Time limit for results after the user has ended the run.
const IMPATIENT: Duration = Duration::from_millis(500);
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
    link.keep_alive(asked.map_or(ControlPlan::KEEPALIVE, |asked| asked.keepalive));
    if let Some(asked) = asked.filter(|_| !private) {
        if let Some(secret) = &asked.secret {
            secure::enter(&mut link, secret, &asked.remote.host)?;
        }
    }
    Ok(Conversation::open(plan, link, passphrase)?)
}

impl TestRun<'_> {
    /// Asks netserver for what a stock one cannot do, before it could take that for
    /// something else.
    pub(super) fn greet(&mut self) -> Result<(), Failure> {
        let plan = self.plan();
        let transport = plan.transport;
        let needed = offer::needs_extension(plan);
        let Some(talk) = self.talk.as_mut().filter(|_| needed) else {
            return Ok(());
        };
        if netperf_transport::registry::missing(transport).is_some() {
            return Err(failure::unsupported(transport, None));
        }
        let abilities = talk.greet()?;
        let host = &self.hosts.remote.name;
        if let (None, Some(method)) = (&abilities, offer::unusual_method(plan)) {
            return Err(SessionError::CpuMethod(method).into());
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
                Err(error.into())
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

    pub(super) fn agree(
        &mut self,
        end: &TestEnd<Client>,
        hosts: &Hosts,
    ) -> Result<Option<Agreement>, Failure> {
        let plan = self.plan();
        let own = self.own_address(hosts);
        let Some(talk) = &mut self.talk else {
            return Ok(None);
        };
        let request = offer::request(
            &both::asked(plan, both::SessionDirection::There),
            &LocalEnd {
                family: hosts.remote.family(),
                address: own,
                socket: end.address().cloned(),
                data_port: self.data_port.unwrap_or(hosts.remote.port),
                send_size: end.setup().send_size,
                facts_of: self.facts.then_some(hosts.remote.address),
                all_flows: false,
            },
        );
        let mut agreement = request
            .and_then(|request| talk.agree(request))
            .map_err(|error| failure::refused(&error, plan, &hosts.remote.name))?;
        self.trace.say("remote listen done.");
        self.trace
            .say(&format!("remote port is {}", agreement.data_port));
        self.remote_host = agreement.host.take().map(|host| *host);
        Ok(Some(agreement))
    }

    /// Local address to announce to netserver: that of the bound data socket, else that of the
    /// control connection.
    pub(super) fn own_address(&self, hosts: &Hosts) -> Option<IpAddr> {
        let bound = Some(hosts.local.address).filter(|address| !address.is_unspecified());
        let family = |own: &IpAddr| own.is_ipv4() == hosts.remote.address.is_ipv4();
        bound.or_else(|| self.control_local.filter(family))
    }

    /// Address of netserver's data socket. With `--one-port` it is the peer address of the
    /// control connection.
    pub(super) fn data_address(
        &self,
        agreement: Option<&Agreement>,
        hosts: &Hosts,
        port: u16,
    ) -> Address {
        match (
            agreement.and_then(|agreement| agreement.token),
            self.control_peer,
        ) {
            (Some(_), Some(peer)) => Address::Inet(peer),
            (Some(_) | None, _) => data_address(agreement, hosts, port),
        }
    }

    /// netserver's results, as far as they can be had.
    pub(super) fn collect(&mut self, ran: &mut EndReport) -> Result<Option<EndResult>, Failure> {
        let plan = self.plan();
        let end_mark = ran.end_mark.take();
        if let Some(failure) = self.cut_short(ran) {
            return Err(failure);
        }
        let Some(talk) = &mut self.talk else {
            return Ok(None);
        };
        talk.link_mut().repeat_while_waiting(end_mark);
        let Some(result) = results(plan, talk, ran)? else {
            return Ok(None);
        };
        self.trace.say("remote results obtained");
        let result = offer::reconciled(plan, &ran.result.tally, result);
        let result = self.with_results_beside(result, ran)?;
        Ok(Some(with_cpus(result)))
    }
}

/// Address of netserver's data socket.
pub(super) fn data_address(agreement: Option<&Agreement>, hosts: &Hosts, port: u16) -> Address {
    let told = agreement.and_then(|agreement| agreement.address.clone());
    match (told, hosts.remote.vsock) {
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

/// The results of a session; `None` where the user did not wait for the end, so that
/// netserver may not have noticed it.
pub(super) fn results(
    plan: &TestPlan,
    talk: &mut Talk<'_>,
    ran: &EndReport,
) -> Result<Option<EndResult>, Failure> {
    let within = results_within(plan, ran, talk.link());
    talk.link_mut()
        .demand_signs_of_life(ran.round_trip.unwrap_or_default());
    let results = talk.results(within);
    talk.link_mut().repeat_while_waiting(None);
    match results {
        Ok(result) => Ok(Some(result)),
        Err(_) if ran.stopped_by_user => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Time limit for netserver's results, which grows with the round-trip time.
fn results_within(plan: &TestPlan, ran: &EndReport, link: &ControlLink) -> Duration {
    let round_trip = ran.round_trip.unwrap_or_default().max(link.round_trip());
    let notices_late = offer::ends_late(plan) || !ran.ended_cleanly;
    if ran.stopped_by_user && notices_late {
        return IMPATIENT + round_trip * 10;
    }
    let pad = if notices_late { PAD } else { Duration::ZERO };
    RESULTS + pad + round_trip * 10
}

/// An old netserver that does not count its CPUs means: as many as here.
pub(super) fn with_cpus(mut result: EndResult) -> EndResult {
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
