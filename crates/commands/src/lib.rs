//! The subcommands of netperf: `check`, `report`, `compare`, `run`, `counters`, `sweep`, `history` and
//! `campaign`.

mod campaign;
mod check;
mod compare;
mod counters;
mod files;
mod history;
mod itself;
mod report;
mod sweep;
#[cfg(not(feature = "live"))]
mod unbuilt;
mod verdict;
mod versus;

use std::ffi::OsString;
use std::process::ExitCode;

use netperf_cli::Subcommand;
use netperf_client::with_left_out;
use netperf_program::output;

/// Runs a subcommand; `None` if there is none.
#[must_use]
pub fn subcommand(argv: &[OsString]) -> Option<ExitCode> {
    let done = match netperf_cli::subcommand(argv)? {
        Ok(Subcommand::Check(args)) => check::run(&args),
        Ok(Subcommand::Report(args)) => report::run(&args),
        Ok(Subcommand::Compare(args)) => compare::run(&args),
        Ok(Subcommand::Run(args)) => versus::run(&args),
        Ok(Subcommand::Counters(args)) => counters::run(&args),
        Ok(Subcommand::Sweep(args)) => sweep::run(&args),
        Ok(Subcommand::History(verb, args)) => history::run(verb, &args),
        Ok(Subcommand::Campaign(verb, args)) => campaign::run(verb, &args),
        Ok(Subcommand::Usage(usage) | Subcommand::Help(usage)) => {
            Ok(output::usage(&with_left_out(usage)))
        }
        Err(error) => Err(error.into()),
    };
    Some(done.unwrap_or_else(|failure| failure.report()))
}
