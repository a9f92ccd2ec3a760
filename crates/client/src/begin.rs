//! Waiting for the agreed begin of a test (`--begin-at`).

use std::time::Duration;

use netperf_measure::clock;
use netperf_model::TestPlan;
use netperf_program::output::{Failure, INVALID};

/// Longest wait; more is a reading of another clock.
const LONGEST: Duration = Duration::from_secs(600);
/// Time before the begin at which netserver is asked. It must be shorter than what netserver
/// waits for data beyond the time of the test.
const LEAD: Duration = Duration::from_secs(2);

/// Sleeps until shortly before the begin, and states the rest of the wait in the plan.
///
/// # Errors
/// When the begin is too far ahead, or passed longer ago than the warm-up lasts: parts of the run
/// count from it in any case.
pub(super) fn wait(plan: &mut TestPlan) -> Result<(), Failure> {
    let Some(many) = &mut plan.many else {
        return Ok(());
    };
    let Some(at) = many.begin_at else {
        return Ok(());
    };
    let passed = Duration::from_nanos(clock::monotonic().saturating_sub(at));
    if !passed.is_zero() && passed >= many.warmup {
        return Err(Failure::stderr(
            INVALID,
            format_args!(
                "netperf: --begin-at {at} has passed {:.3} s ago, and the warm-up lasts {:.3} s: it \
                 is a reading of CLOCK_MONOTONIC of this host in the future",
                passed.as_secs_f64(),
                many.warmup.as_secs_f64()
            ),
        ));
    }
    let left = || Duration::from_nanos(at.saturating_sub(clock::monotonic()));
    if left() > LONGEST {
        return Err(Failure::stderr(
            INVALID,
            format_args!(
                "netperf: --begin-at {at} is {:.0} s ahead, more than {} s: it is a reading of \
                 CLOCK_MONOTONIC of this host",
                left().as_secs_f64(),
                LONGEST.as_secs()
            ),
        ));
    }
    std::thread::sleep(left().saturating_sub(LEAD));
    many.lead = left();
    Ok(())
}
