//! Requests without a response.

use crate::latency::Latency;
use crate::outcome::{Iteration, Warning};
use crate::plan::TestPlan;

/// Times of operations, without those of requests that wait at the end of a test without any
/// response: they tell when the test ended, and nothing of the path.
#[must_use]
pub fn measured(plan: &TestPlan, runs: &[Iteration], times: Latency) -> Latency {
    if plan.flow.counts_transactions() && !any_answered(runs) {
        Latency::default()
    } else {
        times
    }
}

fn any_answered(runs: &[Iteration]) -> bool {
    runs.iter().any(|run| run.local.tally.transactions > 0)
}

/// Warning about requests without a response, in a test that sends the next request after a
/// response; [`crate::rate::doubts`] covers requests at a rate.
#[must_use]
pub fn doubt(plan: &TestPlan, runs: &[Iteration]) -> Option<Warning> {
    let lost: u64 = runs.iter().map(|run| run.local.tally.unanswered).sum();
    let flow = plan.flow;
    if flow.connects && !flow.sends && !flow.receives && lost > 0 {
        let subject = match lost {
            1 => "1 connection is".to_owned(),
            _ => format!("{lost} connections are"),
        };
        return Some(Warning::Unanswered(format!(
            "{subject} not closed {COUNTED}"
        )));
    }
    let counted = if any_answered(runs) { COUNTED } else { AT_END };
    let subject = match lost {
        0 => return None,
        1 => "1 request has".to_owned(),
        _ => format!("{lost} requests have"),
    };
    let explanation = match plan.recv_timeout {
        _ if plan.transport.row().reliable => counted.to_owned(),
        Some(time) => format!("within {} s (-e): lost or late", time.as_secs_f64()),
        None => format!("{counted}; a lost datagram stops the test, unless -e gives up requests"),
    };
    Some(Warning::Unanswered(format!(
        "{subject} no response {explanation}"
    )))
}

const AT_END: &str = "at the end of the test";
/// Account of a request in flight at the end.
const COUNTED: &str = "at the end of the test: latencies include the time until then";
