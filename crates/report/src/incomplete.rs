//! Measurements of a run that failed.

use netperf_model::{Interim, Iteration, Latency, TestPlan};

/// Measurements before a failure.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoFar<'a> {
    /// The iterations that were finished.
    pub iterations: &'a [Iteration],
    /// The interim results of those, and of the one that failed.
    pub intervals: &'a [Interim],
    /// Times of operations, over all of them.
    pub latency: Option<&'a Latency>,
    /// netperf's end of the one that failed, without netserver's; `None` where it failed
    /// before anything was measured.
    pub partial: Option<&'a Iteration>,
}

/// Beginning of the line of [`incomplete`].
pub const INCOMPLETE: &str = "netperf: incomplete: ";

/// The line, for standard error, that tells what netperf measured of an iteration that
/// failed; empty where that is nothing. It is never on standard output: a script must not
/// take it for a result.
#[must_use]
pub fn incomplete(plan: &TestPlan, so_far: SoFar<'_>) -> String {
    let Some(run) = so_far.partial else {
        return String::new();
    };
    let tally = &run.local.tally;
    let mut counted = Vec::new();
    if plan.flow.counts_transactions() {
        let what = if plan.test.counts_connections() {
            "connections"
        } else {
            "transactions"
        };
        counted.push(format!("{} {what}", tally.transactions));
    } else {
        if plan.flow.sends {
            counted.push(format!("{} bytes sent", tally.bytes_sent));
        }
        if plan.flow.receives {
            counted.push(format!("{} bytes received", tally.bytes_received));
        }
    }
    let before = match so_far.iterations.len() {
        0 => String::new(),
        1 => "; the iteration before it was complete".to_owned(),
        several => format!("; the {several} iterations before it were complete"),
    };
    format!(
        "{INCOMPLETE}{} in {:.2} s, counted by the client; the server's counts are \
         unknown{before}\n",
        counted.join(" and "),
        run.elapsed
    )
}
