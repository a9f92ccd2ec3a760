//! `netperf compare`: two sets of results in, a verdict out.

use std::fmt::Display;
use std::process::ExitCode;

use netperf_campaign::{ChangeOutcome, Comparison, Design, Judgement, Set, Wish};
use netperf_cli::CompareArgs;

use super::files;

use crate::output::{Failure, INVALID, out};

/// The exit status when a figure got worse.
const WORSE: u8 = 4;
/// The exit status when neither a difference nor equivalence is shown.
const INCONCLUSIVE: u8 = 5;

fn failure(problem: impl Display) -> Failure {
    Failure::stderr(INVALID, format_args!("netperf compare: {problem}"))
}

/// Runs `netperf compare`.
pub(super) fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let (first, second) = (set(&args.first)?, set(&args.second)?);
    let design = if args.paired {
        Design::Paired
    } else {
        Design::Apart
    };
    let wish = wish(args, design);
    let comparison = netperf_campaign::compare(&first, &second, wish).map_err(failure)?;
    print(&comparison, args);
    Ok(exit(&comparison))
}

/// Comparison parameters, with defaults.
pub(super) fn wish(args: &CompareArgs, design: Design) -> Wish {
    Wish {
        design,
        judgement: Judgement {
            chance: args.chance.unwrap_or(Wish::CHANCE),
            margin: args.margin.unwrap_or(Wish::MARGIN),
        },
    }
}

/// Prints a comparison in the form that was asked for.
pub(super) fn print(comparison: &Comparison, args: &CompareArgs) {
    if args.json {
        out(&format!("{:#}\n", comparison.json()));
    } else if args.markdown {
        out(&comparison.markdown());
    } else {
        out(&comparison.text());
    }
}

/// The exit status that a comparison comes to.
pub(super) fn exit(comparison: &Comparison) -> ExitCode {
    match comparison.outcome() {
        ChangeOutcome::Better | ChangeOutcome::Equivalent => ExitCode::SUCCESS,
        ChangeOutcome::Worse => ExitCode::from(WORSE),
        ChangeOutcome::Inconclusive => ExitCode::from(INCONCLUSIVE),
    }
}

/// The runs of files and of folders.
fn set(names: &[String]) -> Result<Set, Failure> {
    let files = files::with_folders(names).map_err(failure)?;
    let runs = files.iter().map(|name| files::record(name));
    Ok(Set {
        name: netperf_web::escape::line(&set_name(names)),
        runs: runs.collect::<Result<_, _>>().map_err(failure)?,
    })
}

/// One name, or the first and the last of many.
fn set_name(names: &[String]) -> String {
    match names {
        [first, .., last] => format!("{first} ... {last}"),
        _ => names.concat(),
    }
}
