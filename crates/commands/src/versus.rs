//! `netperf run`: configurations in turn, compared pair by pair.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use netperf_cli::{CliError, Command, CompareArgs, RunCommand};
use netperf_comparison::sweep::Parameter;
use netperf_comparison::{Design, Set, fewest};
use netperf_model::figures::unit_in_force;
use netperf_model::in_force::UNTOLD;
use netperf_model::{TestId, UnitKind, rate};
use netperf_program::file;
use netperf_program::output::{self, FAILED, Failure, INVALID, UNSUPPORTED, err, out, system_text};
use netperf_web::Record;
use serde_json::{Value, json};

use super::itself::{OwnRuns, RunRemarks};
use super::{compare, itself};

/// Default number of runs of each configuration; the simulation of the statistics uses the same
/// number.
const PAIRS: u32 = 20;

fn failure(exit: u8, problem: impl Display) -> Failure {
    Failure::stderr(exit, format_args!("netperf run: {problem}"))
}

fn io_failure(what: &str, error: &std::io::Error) -> Failure {
    failure(INVALID, format_args!("{what}: {}", system_text(error)))
}

/// Names of the configurations in result files.
const SIDES: std::ops::RangeInclusive<char> = 'a'..='z';

/// A configuration.
struct RunSide {
    /// Its name in reports.
    name: String,
    /// Its command line.
    words: Vec<String>,
}

/// Runs `netperf run`. With `--json`, a failure has a document, too.
pub(super) fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    compared(args).inspect_err(|failure| {
        if args.json {
            let message = failure.stderr.trim_end();
            let document = json!({
                "schema": compare::SCHEMA,
                "complete": false,
                "error": {"message": message, "exit_status": failure.exit},
            });
            out(&format!("{document:#}\n"));
        }
    })
}

fn compared(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let sides = sides(args)?;
    comparable(&sides, args.vary.as_deref())?;
    if let Some(folder) = &args.keep {
        empty(folder)?;
    }
    // An interrupted run ends with what it has, and so does the comparison.
    let runs = OwnRuns::watch().map_err(|error| io_failure("signals", &error))?;
    if let Some(line) = too_few(args, &sides) {
        err(&format!("netperf run: {line}\n"));
    }
    let (sets, warnings) = pairs(args, &sides, &runs)?;
    let wanted = args.pairs.unwrap_or(PAIRS) as usize;
    let is_complete = sets.iter().all(|set| set.runs.len() == wanted);
    compare::show(&sets, args, Design::Paired, (&warnings, is_complete))
        .map_err(|error| failure(INVALID, error))
}

/// The line about fewer pairs than a verdict needs.
fn too_few(args: &CompareArgs, sides: &[RunSide]) -> Option<String> {
    let pairs = args.pairs.unwrap_or(PAIRS);
    let plans = sides.iter().filter_map(|side| planned(&side.words).ok()?);
    // Each side has the same figures, or those are not compared.
    let figures = plans.map(|run| figures_of(&run)).min()?;
    let chance = compare::wish(args, Design::Paired)
        .divided(sides.len().saturating_sub(1))
        .judgement
        .chance;
    let needed = fewest(Design::Paired, figures, chance);
    (pairs < needed).then(|| {
        format!(
            "{pairs} {} can show no difference: at least {needed} are needed for a chance of \
             false alarms of {} % (--pairs {needed})",
            if pairs == 1 { "pair" } else { "pairs" },
            chance * 100.0
        )
    })
}

/// The number of figures of a run that are compared, at least: the result, the mean and four
/// percentiles of latency, and for each end CPU utilisation and CPU time per unit of work.
fn figures_of(run: &RunCommand) -> usize {
    let latency = if run.plan.latency { 5 } else { 0 };
    let ends = [&run.plan.local, &run.plan.remote];
    1 + latency + 2 * ends.iter().filter(|end| end.cpu.is_some()).count()
}

/// The configurations: two command lines, or one with several values of an option.
fn sides(args: &CompareArgs) -> Result<Vec<RunSide>, Failure> {
    let Some(vary) = &args.vary else {
        let side = |words: &Vec<String>| RunSide {
            name: netperf_web::escape::line(&netperf_cli::masked_words(words).join(" ")),
            words: words.clone(),
        };
        return Ok(vec![side(&args.first), side(&args.second)]);
    };
    let wrong = |why: String| {
        let why = netperf_web::escape::line(&why);
        failure(INVALID, format_args!("--vary {vary}: {why}"))
    };
    let parameter = Parameter::read("--vary", vary).map_err(|error| failure(INVALID, error))?;
    let most = SIDES.count();
    if !(2..=most).contains(&parameter.values.len()) {
        return Err(wrong(format!("give 2 to {most} different values")));
    }
    let name = &parameter.name;
    // The command may be incomplete without the value.
    let test = planned(&args.first).ok().flatten();
    let test = test.map_or(TestId::TcpStream, |run| run.plan.test);
    let side = |value: &String| {
        let words = netperf_cli::varied(&args.first, name, value, test).map_err(wrong)?;
        let name = netperf_web::escape::line(&format!("{name}={value}"));
        Ok(RunSide { name, words })
    };
    parameter.values.iter().map(side).collect()
}

/// Refuses configurations whose figures mean different things, and values of an option that make
/// the same test, before the first run.
fn comparable(sides: &[RunSide], vary: Option<&str>) -> Result<(), Failure> {
    let mut tests = Vec::new();
    for side in sides {
        let test = planned(&side.words).map_err(|error| {
            let why = error.to_string();
            let first = netperf_web::escape::line(why.lines().next().unwrap_or_default());
            failure(INVALID, format_args!("{}: {first}", side.name))
        })?;
        // The run of a side that is no test reports it.
        tests.extend(test.map(|test| (side, test)));
    }
    let mut tests = tests.into_iter();
    let Some((one, first)) = tests.next() else {
        return Ok(());
    };
    let names_host = |run: &RunCommand| run.plan.control.as_ref().map(|control| control.explicit);
    for (side, other) in tests {
        if names_host(&first) != names_host(&other) {
            let lacks = if names_host(&first) == Some(true) {
                side
            } else {
                one
            };
            let line = format!(
                "{}: names no host, and the other side does: a side is a whole command line (-H in \
                 both)",
                lacks.name
            );
            return Err(failure(INVALID, line));
        }
        let differs = meaning(&first).into_iter().zip(meaning(&other));
        if let Some((a, b)) = differs.into_iter().find(|(a, b)| a != b) {
            let line = format!("the metrics of the two sides cannot be compared: {a} and {b}");
            return Err(failure(INVALID, line));
        }
        let is_same = first.plan == other.plan && first.auto_one_port == other.auto_one_port;
        if vary.is_some() && is_same {
            let line = format!(
                "{} and {} make the same test; is the option also in the command?",
                one.name, side.name
            );
            return Err(failure(INVALID, line));
        }
    }
    Ok(())
}

/// The test that these words run; `None` if they run none.
///
/// # Errors
/// When an option or a value is wrong.
pub(super) fn planned(words: &[String]) -> Result<Option<Box<RunCommand>>, CliError> {
    let words = ["netperf", "--json"]
        .into_iter()
        .chain(words.iter().map(String::as_str));
    let argv: Vec<OsString> = words.map(OsString::from).collect();
    let command = netperf_client::parsed(&argv).command?;
    Ok(if let Command::Run(run) = command {
        Some(run)
    } else {
        None
    })
}

/// The meaning of a run's figures, in words: its test, the direction of its data, what is
/// counted, and the time from which latency counts.
fn meaning(run: &RunCommand) -> [String; 4] {
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
    [
        format!("test {}", plan.test.row().name),
        format!("direction {}", plan.flow.label()),
        counted.to_owned(),
        paced.to_owned(),
    ]
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
                .into_iter()
                .any(|side| file.starts_with(&format!("{side}-")))
        {
            let name = netperf_web::escape::line(&name);
            let line = format!("{name} has results already; give another folder to --keep");
            return Err(failure(INVALID, line));
        }
    }
    Ok(())
}

/// Makes the pairs, or as many runs of every further configuration; an interrupted round counts
/// no more. Also returns the warnings of the runs, each once.
fn pairs(
    args: &CompareArgs,
    sides: &[RunSide],
    runs: &OwnRuns,
) -> Result<(Vec<Set>, Vec<String>), Failure> {
    let set = |side: &RunSide| Set {
        name: side.name.clone(),
        runs: Vec::new(),
    };
    let mut sets: Vec<Set> = sides.iter().map(set).collect();
    let wanted = args.pairs.unwrap_or(PAIRS);
    let mut remarks = RunRemarks::default();
    let mut warnings = Vec::new();
    for pair in 1..=wanted {
        let Some(round) = round(args, sides, pair, runs)? else {
            if pair == 1 {
                let why = "interrupted in the first pair: there is nothing to compare";
                return Err(failure(FAILED, why));
            }
            let line = if std::io::stderr().is_terminal() {
                "\n"
            } else {
                ""
            };
            let why = format!("interrupted after {} of {wanted} pairs", pair - 1);
            err(&format!("{line}netperf run: {why}\n"));
            warnings.push(why);
            break;
        };
        for ((set, side), (run, stderr)) in sets.iter_mut().zip(sides).zip(round) {
            set.runs.push(run);
            for line in remarks.new_of(&stderr) {
                let line = format!("{}, run {pair}: {line}", side.name);
                err(&format!("netperf run: {line}\n"));
                warnings.push(line);
            }
        }
        progress(pair, wanted);
    }
    Ok((sets, warnings))
}

/// The result of a run, and what it printed on standard error.
type Told = (Record, Vec<u8>);

/// One run of each side, and what it printed on standard error; none when a signal came meanwhile,
/// and then no further run is begun.
fn round(
    args: &CompareArgs,
    sides: &[RunSide],
    pair: u32,
    runs: &OwnRuns,
) -> Result<Option<Vec<Told>>, Failure> {
    let mut done = Vec::new();
    for (letter, side) in SIDES.zip(sides) {
        let name = format!("{letter}-{pair:03}");
        // A signal to the process group also ends the current run, which is neither a failure
        // nor a result.
        let which = format!("{}, run {pair}", side.name);
        let document = one(args, (&name, &which), &side.words, runs);
        if runs.interrupted() {
            return Ok(None);
        }
        done.push((name, document?));
    }
    for (name, (document, _)) in &done {
        keep(args, name, document)?;
    }
    let records = done
        .into_iter()
        .map(|(name, (document, stderr))| Ok((read(&name, &document)?, stderr)));
    records.collect::<Result<_, _>>().map(Some)
}

/// Progress, if standard error is a terminal.
fn progress(done: u32, wanted: u32) {
    if std::io::stderr().is_terminal() {
        let end = if done == wanted { "\n" } else { "" };
        output::progress(&format!("{done} of {wanted} pairs{end}"));
    }
}

/// One run of this very program: its document, and what it printed on standard error. It has a name
/// in files and one in messages.
fn one(
    args: &CompareArgs,
    (name, which): (&str, &str),
    words: &[String],
    runs: &OwnRuns,
) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    let finished = runs
        .run(words)
        .map_err(|error| io_failure("netperf", &error))?;
    if runs.interrupted() {
        return Err(failure(FAILED, "interrupted"));
    }
    if let Some(why) = itself::cut_short(&finished.stdout).filter(|_| finished.status.success()) {
        return Err(failure(FAILED, format_args!("{which}: {why}")));
    }
    if finished.status.success() {
        return match substituted(&finished.stdout) {
            Some(what) => {
                keep(args, name, &finished.stdout)?;
                let line = format!("{which}: not the test that was asked for: {what}");
                Err(failure(UNSUPPORTED, line))
            }
            None => Ok((finished.stdout, finished.stderr)),
        };
    }
    keep(args, name, &finished.stdout)?;
    let said = String::from_utf8_lossy(&finished.stderr);
    let exit = finished
        .status
        .code()
        .and_then(|code| u8::try_from(code).ok());
    let line = format!("{which} failed: {}", said.trim_end());
    Err(failure(exit.unwrap_or(INVALID), line))
}

/// A setting of a run that is known to differ from the one that was asked for. Such a run belongs
/// to no configuration of a comparison.
fn substituted(document: &[u8]) -> Option<String> {
    let document: Value = serde_json::from_slice(document).ok()?;
    let warnings = document["warnings"].as_array()?.iter();
    let messages = warnings
        .filter(|warning| warning["code"] == "not_as_asked")
        .filter_map(|warning| warning["message"].as_str());
    let mut known = messages.filter(|message| !message.ends_with(UNTOLD));
    known.next().map(str::to_owned)
}

fn keep(args: &CompareArgs, name: &str, document: &[u8]) -> Result<(), Failure> {
    let Some(folder) = &args.keep else {
        return Ok(());
    };
    let path = folder.join(format!("{name}.json"));
    file::write(&path, document).map_err(|error| io_failure(&path.to_string_lossy(), &error))
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
        let of = |line| meaning(&planned(&words(line)).unwrap().expect("a test"));
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
