//! `netperf run`: two configurations in turn, compared pair by pair.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use netperf_campaign::{Design, Set};
use netperf_cli::{Command, CompareArgs};
use netperf_model::figures::unit_in_force;
use netperf_model::{UnitKind, rate};
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
    comparable(args)?;
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

/// Refuses two configurations whose figures mean different things, before the first run.
fn comparable(args: &CompareArgs) -> Result<(), Failure> {
    // The run of a side that is no test reports it.
    let (Some(first), Some(second)) = (meaning(&args.first), meaning(&args.second)) else {
        return Ok(());
    };
    let differs = first.iter().zip(&second).find(|(a, b)| a != b);
    differs.map_or(Ok(()), |(a, b)| {
        let line = format!("the figures of the two sides cannot be compared: {a} and {b}");
        Err(failure(INVALID, line))
    })
}

/// The meaning of a run's figures, in words: its test, the direction of its data, what is
/// counted, and the time from which latency counts. `None` for words that run no test.
fn meaning(words: &[String]) -> Option<[String; 4]> {
    let words = ["netperf", "--json"]
        .into_iter()
        .chain(words.iter().map(String::as_str));
    let argv: Vec<OsString> = words.map(OsString::from).collect();
    let Ok(Command::Run(run)) = super::parsed(&argv).command else {
        return None;
    };
    let plan = &run.plan;
    let counted = match unit_in_force(plan, run.report.unit).kind() {
        UnitKind::Transactions => "transactions per second",
        UnitKind::Data if plan.transport.row().reliable => "throughput",
        UnitKind::Data => "throughput of datagrams",
    };
    let paced = match rate::asked(plan) {
        Some(_) => "a test with --rate",
        None => "one without",
    };
    Some([
        format!("test {}", plan.test.row().name),
        format!("direction {}", plan.flow.label()),
        counted.to_owned(),
        paced.to_owned(),
    ])
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

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(first: &str, second: &str) -> Option<(String, String)> {
        let words = |line: &str| {
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let of = |line| meaning(&words(line)).expect("a test");
        let (first, second) = (of(first), of(second));
        first.into_iter().zip(second).find(|(a, b)| a != b)
    }

    #[test]
    fn sides_whose_figures_mean_different_things_differ() {
        for (first, second, a, b) in [
            ("-t TCP_RR", "-t TCP_CRR", "test TCP_RR", "test TCP_CRR"),
            (
                "-t OMNI -- -d send",
                "-t OMNI -- -d recv",
                "direction Send",
                "direction Receive",
            ),
            (
                "-t TCP_RR",
                "-t TCP_RR -f m",
                "transactions per second",
                "throughput",
            ),
            (
                "-t OMNI",
                "-t OMNI -- -T udp",
                "throughput",
                "throughput of datagrams",
            ),
            (
                "-t TCP_RR --rate 1k",
                "-t TCP_RR",
                "a test with --rate",
                "one without",
            ),
        ] {
            let found = differ(first, second).expect("a difference");
            assert_eq!(found, (a.to_owned(), b.to_owned()));
        }
    }

    #[test]
    fn sides_that_differ_in_settings_mean_the_same() {
        for (first, second) in [
            ("-t TCP_RR", "-t TCP_RR -- -r 100,100"),
            ("-t TCP_STREAM -f m", "-t TCP_STREAM -f g --flows 4"),
            ("-t TCP_RR --rate 1k", "-t TCP_RR --rate 2k"),
            ("-t TCP_STREAM", "-t TCP_STREAM -- -K reno"),
        ] {
            assert_eq!(differ(first, second), None);
        }
    }
}
