//! Data that takes another way than the control connection: a netserver of this program
//! takes it only where it was told to (`--data-peers`), and otherwise all that netperf
//! sees is that nobody listens.

use netperf_model::{Iteration, TestPlan, Warning};

/// A stranger's connection is closed as soon as it is there.
const SOON: f64 = 1.0;

const WHY: &str = "the data takes another way than the control connection, and a netserver of \
                   this program takes it from other addresses only with --data-peers";

/// Whether something was asked for that has the data leave from another address.
fn takes_another_way(plan: &TestPlan) -> bool {
    let Some(control) = &plan.control else {
        return false;
    };
    let (remote, local) = (&plan.remote_data, &plan.local_data);
    remote.host != control.remote.host
        || remote.family != control.remote.family
        || remote.random_bits.is_some()
        || (local.named && local.host != control.local.host)
}

/// A line about a run whose connection broke as soon as it stood; nothing where that has
/// other reasons.
pub(super) fn hint(plan: &TestPlan, partial: Option<&Iteration>) -> String {
    let at_once = partial.is_some_and(|partial| partial.elapsed < SOON);
    if at_once && takes_another_way(plan) {
        format!("netperf: {WHY}\n")
    } else {
        String::new()
    }
}

/// What is doubtful where datagrams were sent and netserver heard none.
pub(super) fn doubt(plan: &TestPlan, runs: &[Iteration]) -> Option<Warning> {
    let unheard = |run: &Iteration| {
        let heard = run.remote.as_ref().map(|end| end.tally.bytes_received);
        run.local.tally.bytes_sent > 0 && heard == Some(0)
    };
    let all = !runs.is_empty() && runs.iter().all(unheard);
    (all && takes_another_way(plan)).then(|| Warning::Unheard(WHY.to_owned()))
}
