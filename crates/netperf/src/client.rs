//! The netperf program.

mod control;
mod facts;
mod failure;
mod hosts;
mod interim;
mod private;
mod run;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use netperf_cli::{CliError, Command, Run, Stream, Surroundings, UnknownTest};
use netperf_model::{ControlPlan, TestId};
use netperf_report::selection::{Listing, all_names};
use netperf_report::selectors::is_selector;

use crate::output::{self, Failure, err, out};

/// Runs netperf.
#[must_use]
pub fn main(argv: &[OsString]) -> ExitCode {
    netperf_os::process::set_name(c"netperf");
    let around = Surroundings {
        read_file: &|path: &Path| std::fs::read_to_string(path),
        is_selector: &is_selector,
        dump_tcp_info: environment_has("DUMP_TCP_INFO"),
    };
    let parsed = netperf_cli::netperf(argv, &around);
    output::notices(&parsed.notices);
    let done = match parsed.command {
        Ok(Command::Run(run)) => test(*run),
        Ok(Command::UnknownTest(unknown)) => unknown_test(&unknown),
        Ok(Command::ListSelectors { one_per_line }) => {
            let listing = if one_per_line {
                Listing::Lines
            } else {
                Listing::Commas
            };
            out(&all_names(listing));
            return ExitCode::FAILURE;
        }
        Ok(Command::Usage(usage)) => {
            match usage.stream {
                Stream::Stdout => out(&usage.text),
                Stream::Stderr => err(&usage.text),
            }
            return ExitCode::from(usage.exit);
        }
        Ok(Command::Version(text)) => {
            out(&text);
            return ExitCode::SUCCESS;
        }
        Err(error) => return cli_failure(&error),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

#[expect(clippy::disallowed_methods, reason = "the mains read the environment")]
fn environment_has(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

/// Prints what is wrong with a command line.
pub(crate) fn cli_failure(error: &CliError) -> ExitCode {
    let text = format!("{error}\n");
    match error.stream() {
        Stream::Stdout => out(&text),
        Stream::Stderr => err(&text),
    }
    ExitCode::from(error.exit())
}

fn test(mut run: Run) -> Result<(), Failure> {
    let needs = netperf_report::needs(&run.plan, &run.report).map_err(|error| {
        Failure::stdout(netperf_report::SelectionError::EXIT, &error.to_string())
    })?;
    run.plan.latency |= needs.latency;
    let run = &run;
    bind_to_cpu(run);
    match run.plan.test {
        TestId::LocCpu | TestId::RemCpu | TestId::Uuid => run::without_data(run),
        TestId::TcpStream
        | TestId::TcpMaerts
        | TestId::TcpSendfile
        | TestId::TcpRr
        | TestId::TcpCrr
        | TestId::TcpCc
        | TestId::TcpMss
        | TestId::UdpStream
        | TestId::UdpRr
        | TestId::Omni => run::test(run),
    }
}

fn bind_to_cpu(run: &Run) {
    if let Some(cpu) = run.plan.local.bind {
        // Scripts bind blindly, so this must not fail them; the result shows where
        // the time went.
        let _no_such_cpu = netperf_os::process::bind_to_cpu(cpu);
    }
}

/// A name that no test has is only noticed once netserver was reached.
fn unknown_test(unknown: &UnknownTest) -> Result<(), Failure> {
    if let Some(plan) = &unknown.control {
        reach(plan)?;
    }
    Err(Failure {
        stdout: unknown.text(),
        stderr: String::new(),
        exit: UnknownTest::EXIT,
    })
}

fn reach(plan: &ControlPlan) -> Result<control::Control, Failure> {
    control::establish(plan)
}
