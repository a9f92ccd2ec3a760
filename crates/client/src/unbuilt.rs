//! Stands in for what a small build leaves out: one line that names the cargo feature.

use netperf_program::output::Failure;

fn missing(what: &str, feature: &str) -> Failure {
    Failure::unsupported(format_args!(
        "{what}: this program is built without the feature '{feature}'"
    ))
}

/// The subcommands that read or keep results, and `--history`.
#[cfg(not(feature = "results"))]
pub(super) mod results {
    use std::ffi::OsString;
    use std::process::ExitCode;

    use netperf_cli::Subcommand;

    use netperf_program::output;

    /// Reports that a subcommand is not built; `None` if there is none.
    pub fn subcommand(argv: &[OsString]) -> Option<ExitCode> {
        if let Ok(Subcommand::Help(usage)) = netperf_cli::subcommand(argv)? {
            return Some(output::usage(&usage));
        }
        let word = argv.get(1)?.to_str()?;
        Some(super::missing(word, "results").report())
    }

    pub(crate) mod human {
        use netperf_cli::RunCommand;
        use netperf_model::{Format, Outcome, ReportPlan};

        use netperf_program::output::Failure;

        /// Refuses `--human`.
        pub(crate) fn check(run: &RunCommand) -> Result<(), Failure> {
            if run.report.format == Format::Human && !run.show.live {
                return Err(super::super::missing("--human", "results"));
            }
            Ok(())
        }

        /// The report of an outcome.
        pub(crate) fn report(outcome: &Outcome, report: &ReportPlan) -> Result<String, Failure> {
            let mut report = report.clone();
            if report.format == Format::Human {
                // Of --live, which this build has.
                report.format = Format::Classic;
            }
            netperf_report::final_report(outcome, &report).map_err(crate::failure::selection)
        }

        /// Prints nothing behind a classic run.
        pub(crate) const fn close(_outcome: &Outcome, _report: &ReportPlan) {}
    }

    pub(crate) mod keep {
        use netperf_cli::RunCommand;
        use netperf_model::Outcome;

        use netperf_program::output::Failure;

        /// Refuses `--history`.
        pub(crate) fn check(run: &RunCommand) -> Result<(), Failure> {
            let asked = run.history.as_ref();
            asked.map_or(Ok(()), |_| {
                Err(super::super::missing("--history", "results"))
            })
        }

        /// Keeps nothing, as [`check`] refuses what would be kept.
        #[expect(clippy::unnecessary_wraps, reason = "the signature of the full build")]
        pub(crate) fn keep(_run: &RunCommand, _outcome: &Outcome) -> Result<(), Failure> {
            Ok(())
        }
    }
}

/// `--live` and `--progress`.
#[cfg(not(feature = "live"))]
pub(super) mod show {
    use netperf_cli::{Progress, RunCommand};
    use netperf_engine::live::Live;

    use netperf_program::output::Failure;

    /// Refuses a view that this build cannot draw.
    pub(crate) fn check(run: &RunCommand) -> Result<(), Failure> {
        if run.show.live {
            return Err(super::missing("--live", "live"));
        }
        match run.show.progress {
            Progress::Always => Err(super::missing("--progress always", "live")),
            Progress::Never | Progress::Auto => Ok(()),
        }
    }

    /// The counts as they are: no view looks at single flows.
    pub(crate) fn live(_run: &RunCommand, live: Live) -> Live {
        live
    }

    /// Runs `work` without a view beside it.
    pub(crate) fn beside<T>(
        _run: &RunCommand,
        _iteration: usize,
        _live: &Live,
        work: impl FnOnce() -> T,
    ) -> T {
        work()
    }

    /// Does nothing, as no view is open.
    pub(crate) const fn close() {}
}
