//! Data both ways over two connections: a session with netserver for each direction.

use std::borrow::Cow;

use netperf_engine::{Client, EndReport, TestEnd};
use netperf_model::{Address, Duplex, EndPlan, EndResult, EndSetup, Flow, Hosts, TestId, TestPlan};
use netperf_session::offer::{self, Agreement, LocalEnd};

use super::session::{data_address, results};
use super::{TestRun, failure};
use crate::output::Failure;

/// A direction, as netperf sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionDirection {
    /// To netserver.
    There,
    /// From it.
    Back,
}

/// Directions that use separate sessions.
pub(super) fn ways(plan: &TestPlan) -> &'static [SessionDirection] {
    if plan.flow.duplex == Some(Duplex::Separate) {
        &[SessionDirection::There, SessionDirection::Back]
    } else {
        &[SessionDirection::There]
    }
}

/// The plan requested from a session: the whole test, or one direction of it. The session of
/// the direction to netserver measures CPU utilisation for both.
pub(super) fn asked(plan: &TestPlan, way: SessionDirection) -> Cow<'_, TestPlan> {
    if plan.flow.duplex != Some(Duplex::Separate) {
        return Cow::Borrowed(plan);
    }
    let mut plan = plan.clone();
    // Whatever the test: no classic request has this direction, too.
    plan.test = TestId::Omni;
    match way {
        SessionDirection::There => {
            plan.flow = Flow::SEND;
            // netperf ends this direction by itself.
            plan.remote.until = false;
        }
        SessionDirection::Back => {
            plan.flow = Flow::RECEIVE;
            plan.remote = EndPlan {
                cpu: None,
                ..plan.remote
            };
        }
    }
    Cow::Owned(plan)
}

/// Source address of netserver's data.
pub(super) fn address(agreement: &Agreement, hosts: &Hosts) -> Address {
    let port = u16::try_from(agreement.data_port).unwrap_or(0);
    data_address(Some(agreement), hosts, port)
}

/// netserver's end as both sessions have it.
pub(super) fn setup(there: &Agreement, back: Option<&Agreement>) -> EndSetup {
    match back {
        None => there.setup,
        Some(back) => EndSetup {
            send_buffer: back.setup.send_buffer,
            send_size: back.setup.send_size,
            send_width: back.setup.send_width,
            ..there.setup
        },
    }
}

impl TestRun<'_> {
    /// Prepares netserver for the direction from it, if that has a separate session.
    pub(super) fn agree_beside(
        &mut self,
        end: &TestEnd<Client>,
        hosts: &Hosts,
    ) -> Result<Option<Agreement>, Failure> {
        let plan = self.plan();
        if plan.flow.duplex != Some(Duplex::Separate) {
            return Ok(None);
        }
        self.open_beside(2)?;
        let local = LocalEnd {
            family: hosts.remote.family(),
            address: self.own_address(hosts),
            socket: end.second_address().cloned(),
            data_port: 0,
            send_size: None,
            facts_of: None,
            all_flows: false,
        };
        let request = offer::request(&asked(plan, SessionDirection::Back), &local);
        let Some(talk) = self.beside.first_mut() else {
            return Ok(None);
        };
        let agreed = request.and_then(|request| talk.agree(request));
        agreed
            .map(Some)
            .map_err(|error| failure::refused(&error, plan, &hosts.remote.name))
    }

    /// The results of both sessions, where there are two.
    pub(super) fn with_results_beside(
        &mut self,
        there: EndResult,
        ran: &EndReport,
    ) -> Result<EndResult, Failure> {
        let plan = self.plan();
        if plan.flow.duplex != Some(Duplex::Separate) {
            return Ok(there);
        }
        let Some(talk) = self.beside.first_mut() else {
            return Ok(there);
        };
        Ok(match results(plan, talk, ran)? {
            Some(back) => EndResult {
                tally: there.tally.plus(&back.tally),
                elapsed: there.elapsed.max(back.elapsed),
                send_buffer_end: back.send_buffer_end,
                retransmissions: back.retransmissions,
                congestion: back.congestion,
                ..there
            },
            None => there,
        })
    }
}
