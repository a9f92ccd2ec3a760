//! The netperf program.

mod asked;
mod begin;
mod command_line;
mod control;
mod datagram_size;
mod elsewhere;
mod facts;
mod failure;
mod foreign;
mod hosts;
#[cfg(feature = "results")]
mod human;
mod interim;
#[cfg(feature = "results")]
mod keep;
mod list;
#[cfg(test)]
mod planned;
mod private;
mod run;
mod run_so_far;
pub mod secure;
#[cfg(feature = "live")]
mod show;
mod stalls;
mod stamps;
#[cfg(feature = "results")]
pub mod store;
mod ticker;
#[cfg(not(all(feature = "results", feature = "live")))]
mod unbuilt;
mod until;
mod way_out;

#[cfg(not(feature = "results"))]
use unbuilt::results::{human, keep};
#[cfg(not(feature = "live"))]
use unbuilt::show;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use netperf_cli::{CliError, Command, OutputStream, RunCommand, UnknownTest, Usage};
use netperf_engine::{EngineError, NetperfProgram, PreparedServer, prepare_server};
use netperf_model::{Arrival, EndJob, EndNeeds, Format, TestPlan};
use netperf_os::Socket;
use netperf_program::memory::report_lack_of_memory;
use netperf_program::output::{self, Failure, HintUse, out};
use netperf_report::document::RunError;
use netperf_report::format::json;
use netperf_report::selection::{Listing, all_names};

pub use asked::refused_by_kernel;
pub use command_line::parsed;
#[cfg(feature = "live")]
pub use show::FullScreen;
#[cfg(not(feature = "results"))]
pub use unbuilt::results::subcommand as unbuilt_subcommand;

use run_so_far::{RunSoFar, RunStart};

/// Runs a subcommand that an argument vector names; `None` if it names none.
pub type RunSubcommand = fn(&[OsString]) -> Option<ExitCode>;

/// Runs netperf. `version` is the output of `--version`.
#[must_use]
pub fn main(argv: &[OsString], version: &str, subcommand: RunSubcommand) -> ExitCode {
    netperf_os::process::set_name(c"netperf");
    report_lack_of_memory("netperf");
    output::end_with_reader();
    output::unless_lost("netperf", run_as_asked(argv, version, subcommand))
}

/// Prepares netserver's end of a test in this program, which then contains the loops that both ends
/// have once.
///
/// # Errors
/// As [`netperf_engine::TestEnd::prepare`].
pub fn prepare_server_end(
    handoff: Option<Socket>,
    job: EndJob,
    reserve: &mut dyn FnMut(EndNeeds) -> io::Result<()>,
) -> Result<Box<dyn PreparedServer>, EngineError> {
    prepare_server::<NetperfProgram>(handoff, job, reserve)
}

fn run_as_asked(argv: &[OsString], version: &str, subcommand: RunSubcommand) -> ExitCode {
    if let Some(exit) = subcommand(argv) {
        return exit;
    }
    let parsed = parsed(argv);
    let json = stdout_is_for_json(&parsed.command, argv);
    output::notices(&parsed.notices, json, hints(&parsed.command));
    let done = match parsed.command {
        Ok(Command::Run(run)) => return test(*run),
        Ok(Command::UnknownTest(unknown)) => unknown_test(&unknown),
        Ok(Command::List(mut asked)) => {
            secure::give_key(&mut asked.plan).and_then(|()| list::print(&asked))
        }
        Ok(Command::ListSelectors { one_per_line }) => {
            // The line or lines of the original come first, which scripts read.
            if !output::is_terminal(OutputStream::Stdout) {
                out(&all_names(if one_per_line {
                    Listing::Lines
                } else {
                    Listing::Commas
                }));
            }
            out(&all_names(Listing::Meanings));
            return ExitCode::FAILURE;
        }
        Ok(Command::Usage(usage)) => return output::usage(&with_left_out(usage)),
        Ok(Command::Version(text)) => {
            out(&text);
            return ExitCode::SUCCESS;
        }
        Ok(Command::FullVersion) => {
            out(version);
            return ExitCode::SUCCESS;
        }
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if json => failure.on_stderr().report(),
        Err(failure) => failure.report(),
    }
}

/// The use of hints: only tests that netperf 2.7 could run keep standard error clean.
fn hints(command: &Result<Command, CliError>) -> HintUse {
    match command {
        Ok(Command::Run(run)) if run.is_classic() && run.report.is_bare() => HintUse::Never,
        Ok(Command::Run(run)) if run.is_classic() => HintUse::OnTerminals,
        Ok(_) | Err(_) => HintUse::Always,
    }
}

/// Adds to help what it describes and this build does not have.
#[must_use]
pub fn with_left_out(mut usage: Usage) -> Usage {
    if !cfg!(feature = "postgres") && usage.exit == 0 && usage.text.contains("postgres://") {
        usage.text.push_str(
            "\npostgres:// is not in this program, which is built without the feature 'postgres'.\n",
        );
    }
    usage
}

/// Returns true if only JSON may go to standard output.
fn stdout_is_for_json(command: &Result<Command, CliError>, argv: &[OsString]) -> bool {
    match command {
        Ok(Command::Run(run)) => run.report.format.is_json(),
        Ok(Command::UnknownTest(unknown)) => unknown.in_short,
        Ok(Command::List(list)) => list.json,
        Ok(
            Command::ListSelectors { .. }
            | Command::Usage(_)
            | Command::Version(_)
            | Command::FullVersion,
        ) => false,
        Err(_) => netperf_cli::asks_for_json(argv),
    }
}

/// Runs a test and reports the result.
fn test(mut run: RunCommand) -> ExitCode {
    let begun = RunStart::now();
    let mut done = RunSoFar::default();
    let measured = measure(&mut run, begun, &mut done);
    show::close();
    let Err(failure) = measured else {
        let failure = done.failure.as_ref();
        return failure.map_or(ExitCode::SUCCESS, Failure::report);
    };
    let incomplete = netperf_report::incomplete(&run.plan, done.so_far())
        + &elsewhere::hint(&run.plan, done.partial.as_ref());
    if run.report.format.is_json() {
        let failure = failure.on_stderr();
        let error = RunError {
            message: failure.stderr.trim_end().to_owned(),
            exit_status: failure.exit,
            unreached: failure.unreached,
        };
        out(&json::failure(begun.frame(&run), done.so_far(), error));
        return failure.and(&incomplete).report();
    }
    if run.report.format == Format::Human {
        return failure.on_stderr().and(&incomplete).report();
    }
    failure.and(&incomplete).report()
}

fn measure(run: &mut RunCommand, begun: RunStart, done: &mut RunSoFar) -> Result<(), Failure> {
    secure::give_key(&mut run.plan)?;
    let needs = netperf_report::needs(&run.plan, &run.report).map_err(failure::selection)?;
    run.plan.latency |= needs.latency;
    draw_seed(&mut run.plan);
    show::check(run)?;
    keep::check(run)?;
    human::check(run)?;
    done.unmet = asked::before(run)?;
    run::many::check(&run.plan)?;
    begin::wait(&mut run.plan)?;
    done.unmet.extend(run::blocked::settle(run, begun)?);
    run::trial::settle(run, begun)?;
    out(&json::start(begun.frame(run)));
    if run.plan.test.moves_data() {
        run::test(run, begun, done)
    } else {
        run::without_data(run, begun)
    }
}

/// Chooses the random seed that the result reports.
fn draw_seed(plan: &mut TestPlan) {
    let random = plan.local.rate.as_mut();
    if let Some(rate) = random.filter(|rate| rate.arrival == Arrival::Poisson) {
        rate.seed.get_or_insert_with(hosts::random);
    }
}

/// Reports an unknown test name, after connecting to netserver as the original does.
fn unknown_test(unknown: &UnknownTest) -> Result<(), Failure> {
    if let Some(plan) = &unknown.control {
        control::establish(plan)?;
    }
    Err(Failure {
        stdout: unknown.text(),
        in_short: Some(unknown.line()),
        hint: unknown.hint(),
        exit: UnknownTest::EXIT,
        ..Failure::default()
    })
}
