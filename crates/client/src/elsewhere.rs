//! Data that uses another path than the control connection. netserver accepts it only with
//! `--data-peers`; otherwise netperf sees only that nothing listens.

use netperf_model::{Iteration, TestPlan};

/// netserver closes a connection that is not permitted at once.
const SOON: f64 = 1.0;

const WHY: &str = "the data uses another path than the control connection, and netserver accepts \
 data from other addresses only with --data-peers";

/// Returns true if an option makes the data leave from another address.
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

/// Why netserver may have closed or ignored the data; `None` if it has no such reason.
pub(super) fn explanation(plan: &TestPlan) -> Option<&'static str> {
    takes_another_way(plan).then_some(WHY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planned::{plan, ran};
    use netperf_model::{EndResult, Tally};

    fn run(sent: u64, heard: u64) -> Iteration {
        let tally = |bytes_sent, bytes_received| EndResult {
            tally: Tally {
                bytes_sent,
                bytes_received,
                ..Tally::default()
            },
            ..EndResult::default()
        };
        ran(0.5, tally(sent, 0), Some(tally(0, heard)))
    }

    #[test]
    fn data_that_takes_another_way_is_explained() {
        assert!(explanation(&plan("netperf -H a")).is_none());
        for words in ["netperf -H a -- -H b", "netperf -H a -- -L c"] {
            assert!(explanation(&plan(words)).is_some(), "{words}");
        }
    }

    #[test]
    fn only_a_connection_that_broke_at_once_was_a_strangers() {
        let there = plan("netperf -H a -- -H b");
        let late = Iteration {
            elapsed: 3.0,
            ..run(9, 0)
        };
        assert!(hint(&there, Some(&run(9, 0))).contains("--data-peers"));
        assert!(hint(&plan("netperf -H a -L c"), Some(&run(9, 0))).is_empty());
        assert!(hint(&there, Some(&late)).is_empty());
        assert!(hint(&there, None).is_empty());
    }
}
