//! Data both ways over two connections: a session with netserver for each direction.

use std::borrow::Cow;

use netperf_model::{Duplex, EndPlan, EndSetup, Flow, TestId, TestPlan};
use netperf_session::offer::Agreement;

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
            plan.remote.io = plan.remote.io.of_receiver();
            // netperf ends this direction by itself.
            plan.remote.until = false;
        }
        SessionDirection::Back => {
            plan.flow = Flow::RECEIVE;
            plan.remote = EndPlan {
                cpu: None,
                io: plan.remote.io.of_sender(),
                ..plan.remote
            };
        }
    }
    Cow::Owned(plan)
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
