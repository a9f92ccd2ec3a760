//! Requests without a response.

use crate::outcome::{Iteration, Warning};
use crate::plan::TestPlan;

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
    let subject = match lost {
        0 => return None,
        1 => "1 request has".to_owned(),
        _ => format!("{lost} requests have"),
    };
    let explanation = match plan.recv_timeout {
        _ if plan.transport.row().reliable => COUNTED.to_owned(),
        Some(time) => format!("within {} s (-e): lost or late", time.as_secs_f64()),
        None => format!("{COUNTED}; a lost datagram stops the test, unless -e gives up requests"),
    };
    Some(Warning::Unanswered(format!(
        "{subject} no response {explanation}"
    )))
}

/// Account of a request in flight at the end.
const COUNTED: &str = "at the end of the test: latency figures include the time until then";
