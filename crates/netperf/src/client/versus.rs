//! `netperf run`: two configurations in turn, compared pair by pair.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use netperf_campaign::{Design, Set};
use netperf_cli::{VersusArgs, VersusCommand};
use netperf_os::signals::{self, Signal, Signals};
use netperf_web::Record;

use super::{compare, itself};
use crate::output::{self, Failure, err, system_text};

/// How many runs of each when nothing is said: what the simulation of the statistics
/// takes.
const PAIRS: u32 = 20;
/// The exit status when something cannot be started or written, or when results cannot
/// be compared.
const FAILED: u8 = 2;

/// Runs `netperf run`.
pub(super) fn main(argv: &[OsString]) -> ExitCode {
    let args = match netperf_cli::versus(argv) {
        Ok(VersusCommand::Run(args)) => args,
        Ok(VersusCommand::Usage(usage)) => {
            output::say(usage.stream, &usage.text);
            return ExitCode::from(usage.exit);
        }
        Err(error) => return super::cli_failure(&error),
    };
    match run(&args) {
        Ok(exit) => exit,
        Err(failure) => failure.report(),
    }
}

fn failure(exit: u8, problem: &str) -> Failure {
    Failure::stderr(exit, &format!("netperf run: {problem}"))
}

fn io_failure(what: &str, error: &std::io::Error) -> Failure {
    failure(FAILED, &format!("{what}: {}", system_text(error)))
}

/// The runs of both configurations so far.
#[derive(Debug)]
struct Pairs {
    first: Set,
    second: Set,
}

fn run(args: &VersusArgs) -> Result<ExitCode, Failure> {
    if let Some(folder) = &args.keep {
        std::fs::create_dir_all(folder)
            .map_err(|error| io_failure(&folder.to_string_lossy(), &error))?;
    }
    // An interrupted run ends with what it has, and so does the comparison.
    let signals = signals::watch(&[Signal::Interrupt, Signal::Terminate])
        .map_err(|error| io_failure("signals", &error))?;
    let pairs = pairs(args, &signals)?;
    let wish = compare::wish(&args.comparison, Design::Paired);
    let comparison = netperf_campaign::compare(&pairs.first, &pairs.second, wish)
        .map_err(|error| failure(FAILED, &error.to_string()))?;
    compare::print(&comparison, &args.comparison);
    Ok(compare::exit(&comparison))
}

/// Makes the pairs; an interrupted one counts no more.
fn pairs(args: &VersusArgs, signals: &Signals) -> Result<Pairs, Failure> {
    let set = |words: &[String]| Set {
        name: netperf_web::escape::line(&words.join(" ")),
        runs: Vec::new(),
    };
    let mut pairs = Pairs {
        first: set(&args.first),
        second: set(&args.second),
    };
    let wanted = args.pairs.unwrap_or(PAIRS);
    for pair in 1..=wanted {
        let Some((first, second)) = both(args, pair, signals)? else {
            err(&format!(
                "netperf run: interrupted after {} of {wanted} pairs\n",
                pair - 1
            ));
            break;
        };
        pairs.first.runs.push(first);
        pairs.second.runs.push(second);
        progress(pair, wanted);
    }
    Ok(pairs)
}

/// A pair; none when a signal came meanwhile, and then no further run is begun.
fn both(
    args: &VersusArgs,
    pair: u32,
    signals: &Signals,
) -> Result<Option<(Record, Record)>, Failure> {
    // A signal to all of a group ends the run under way, too, which is no failure.
    let first = one(args, ('a', pair), &args.first);
    if signals.next().is_some() {
        return Ok(None);
    }
    let first = first?;
    let second = one(args, ('b', pair), &args.second);
    if signals.next().is_some() {
        return Ok(None);
    }
    Ok(Some((first, second?)))
}

/// How far it is, where somebody looks.
fn progress(done: u32, wanted: u32) {
    if std::io::stderr().is_terminal() {
        let end = if done == wanted { "\n" } else { "" };
        err(&format!("\r{done} of {wanted} pairs{end}"));
    }
}

/// One run of this very program, and its result.
fn one(args: &VersusArgs, (side, pair): (char, u32), words: &[String]) -> Result<Record, Failure> {
    let name = format!("{side}-{pair:03}.json");
    let finished = itself::run(words).map_err(|error| io_failure("netperf", &error))?;
    if let Some(folder) = &args.keep {
        let path = folder.join(&name);
        std::fs::write(&path, &finished.stdout)
            .map_err(|error| io_failure(&path.to_string_lossy(), &error))?;
    }
    if !finished.status.success() {
        let said = String::from_utf8_lossy(&finished.stderr);
        let exit = finished
            .status
            .code()
            .and_then(|code| u8::try_from(code).ok());
        let line = format!("run {name} failed: {}", said.trim_end());
        return Err(failure(exit.unwrap_or(FAILED), &line));
    }
    read(&name, &finished.stdout)
}

fn read(name: &str, document: &[u8]) -> Result<Record, Failure> {
    let name = Path::new(name).with_extension("");
    netperf_web::read(&name.to_string_lossy(), document)
        .map_err(|error| failure(FAILED, &error.to_string()))
}
