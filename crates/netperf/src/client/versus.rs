//! `netperf run`: two configurations in turn, compared pair by pair.

use std::fmt::Display;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use netperf_campaign::{Design, Set};
use netperf_cli::CompareArgs;
use netperf_os::signals::{self, Signal, Signals};
use netperf_web::Record;

use super::{compare, itself};
use crate::output::{Failure, INVALID, err, system_text};

/// Default number of runs of each configuration; the simulation of the statistics uses the same
/// number.
const PAIRS: u32 = 20;

fn failure(exit: u8, problem: impl Display) -> Failure {
    Failure::stderr(exit, format_args!("netperf run: {problem}"))
}

fn io_failure(what: &str, error: &std::io::Error) -> Failure {
    failure(INVALID, format_args!("{what}: {}", system_text(error)))
}

/// Names of the two configurations in result files.
const SIDES: [char; 2] = ['a', 'b'];

/// Runs `netperf run`.
pub(super) fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    if let Some(folder) = &args.keep {
        empty(folder)?;
    }
    // An interrupted run ends with what it has, and so does the comparison.
    let signals = signals::watch(&[Signal::Interrupt, Signal::Terminate])
        .map_err(|error| io_failure("signals", &error))?;
    let (first, second) = pairs(args, &signals)?;
    let wish = compare::wish(args, Design::Paired);
    let comparison = netperf_campaign::compare(&first, &second, wish)
        .map_err(|error| failure(INVALID, error))?;
    compare::print(&comparison, args);
    Ok(compare::exit(&comparison))
}

/// A folder for the results, without those of another comparison: a mixture of both would
/// be compared some day.
fn empty(folder: &Path) -> Result<(), Failure> {
    let name = folder.to_string_lossy();
    let failed = |error| io_failure(&name, &error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let file = entry.map_err(failed)?.file_name();
        let file = file.to_string_lossy();
        if file.ends_with(".json")
            && SIDES
                .iter()
                .any(|side| file.starts_with(&format!("{side}-")))
        {
            let name = netperf_web::escape::line(&name);
            let line = format!("{name} has results already; give another folder to --keep");
            return Err(failure(INVALID, line));
        }
    }
    Ok(())
}

/// Makes the pairs; an interrupted one counts no more.
fn pairs(args: &CompareArgs, signals: &Signals) -> Result<(Set, Set), Failure> {
    let set = |words: &[String]| Set {
        name: netperf_web::escape::line(&words.join(" ")),
        runs: Vec::new(),
    };
    let (mut a, mut b) = (set(&args.first), set(&args.second));
    let wanted = args.pairs.unwrap_or(PAIRS);
    for pair in 1..=wanted {
        let Some((first, second)) = both(args, pair, signals)? else {
            let line = if pair > 1 && std::io::stderr().is_terminal() {
                "\n"
            } else {
                ""
            };
            err(&format!(
                "{line}netperf run: interrupted after {} of {wanted} pairs\n",
                pair - 1
            ));
            break;
        };
        a.runs.push(first);
        b.runs.push(second);
        progress(pair, wanted);
    }
    Ok((a, b))
}

/// A pair; none when a signal came meanwhile, and then no further run is begun.
fn both(
    args: &CompareArgs,
    pair: u32,
    signals: &Signals,
) -> Result<Option<(Record, Record)>, Failure> {
    let [a, b] = SIDES.map(|side| format!("{side}-{pair:03}"));
    // A signal to the process group also ends the current run, which is neither a failure nor a
    // result.
    let first = one(args, &a, &args.first);
    if signals.next().is_some() {
        return Ok(None);
    }
    let first = first?;
    let second = one(args, &b, &args.second);
    if signals.next().is_some() {
        return Ok(None);
    }
    let second = second?;
    keep(args, &a, &first)?;
    keep(args, &b, &second)?;
    Ok(Some((read(&a, &first)?, read(&b, &second)?)))
}

/// Progress, if standard error is a terminal.
fn progress(done: u32, wanted: u32) {
    if std::io::stderr().is_terminal() {
        let end = if done == wanted { "\n" } else { "" };
        err(&format!("\r{done} of {wanted} pairs{end}"));
    }
}

/// One run of this very program, and its document.
fn one(args: &CompareArgs, name: &str, words: &[String]) -> Result<Vec<u8>, Failure> {
    let finished = itself::run(words).map_err(|error| io_failure("netperf", &error))?;
    if finished.status.success() {
        return Ok(finished.stdout);
    }
    keep(args, name, &finished.stdout)?;
    let said = String::from_utf8_lossy(&finished.stderr);
    let exit = finished
        .status
        .code()
        .and_then(|code| u8::try_from(code).ok());
    let line = format!("run {name}.json failed: {}", said.trim_end());
    Err(failure(exit.unwrap_or(INVALID), line))
}

fn keep(args: &CompareArgs, name: &str, document: &[u8]) -> Result<(), Failure> {
    let Some(folder) = &args.keep else {
        return Ok(());
    };
    let path = folder.join(format!("{name}.json"));
    std::fs::write(&path, document).map_err(|error| io_failure(&path.to_string_lossy(), &error))
}

fn read(name: &str, document: &[u8]) -> Result<Record, Failure> {
    netperf_web::read(name, document).map_err(|error| failure(INVALID, error))
}
