//! The exit status of a verdict.

use std::process::ExitCode;

use netperf_comparison::ChangeOutcome;

/// The exit status when a figure got worse.
const WORSE: u8 = 4;
/// The exit status when neither a difference nor equivalence is shown.
const INCONCLUSIVE: u8 = 5;

/// The exit status of a verdict.
pub(crate) fn exit(outcome: ChangeOutcome) -> ExitCode {
    match outcome {
        ChangeOutcome::Better | ChangeOutcome::Equivalent => ExitCode::SUCCESS,
        ChangeOutcome::Worse => ExitCode::from(WORSE),
        ChangeOutcome::Inconclusive => ExitCode::from(INCONCLUSIVE),
    }
}
