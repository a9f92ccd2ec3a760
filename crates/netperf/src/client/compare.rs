//! `netperf compare`: two sets of results in, a verdict out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use netperf_campaign::{ChangeOutcome, Comparison, Design, Judgement, Set, Wish};
use netperf_cli::CompareArgs;
use netperf_web::Record;

use crate::output::{Failure, out, system_text};

/// The exit status when a file is no result, or results cannot be compared.
const UNREADABLE: u8 = 2;
/// The exit status when a figure got worse.
const WORSE: u8 = 4;
/// The exit status when there are too few runs to tell.
const UNKNOWN: u8 = 5;

fn failure(problem: &str) -> Failure {
    Failure::stderr(UNREADABLE, &format!("netperf compare: {problem}"))
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
    let comparison = netperf_campaign::compare(&first, &second, wish)
        .map_err(|error| failure(&error.to_string()))?;
    print(&comparison, args);
    Ok(exit(&comparison))
}

/// Comparison parameters, with defaults.
pub(super) fn wish(args: &CompareArgs, design: Design) -> Wish {
    Wish {
        design,
        judgement: Judgement {
            chance: args.chance.unwrap_or(Wish::CHANCE),
            threshold: args.threshold.unwrap_or(Wish::THRESHOLD),
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
        ChangeOutcome::Better | ChangeOutcome::Same => ExitCode::SUCCESS,
        ChangeOutcome::Worse => ExitCode::from(WORSE),
        ChangeOutcome::Unknown => ExitCode::from(UNKNOWN),
    }
}

/// The runs of files and of folders.
fn set(names: &[String]) -> Result<Set, Failure> {
    let mut runs = Vec::new();
    for name in names {
        if Path::new(name).is_dir() {
            for file in files(Path::new(name))? {
                runs.push(record(&file.to_string_lossy())?);
            }
        } else {
            runs.push(record(name)?);
        }
    }
    Ok(Set {
        name: netperf_web::escape::line(&set_name(names)),
        runs,
    })
}

/// One name, or the first and the last of many.
fn set_name(names: &[String]) -> String {
    match names {
        [first, .., last] => format!("{first} ... {last}"),
        _ => names.concat(),
    }
}

fn record(name: &str) -> Result<Record, Failure> {
    let bytes = super::report::bytes(name).map_err(|error| unreadable(name, &error))?;
    netperf_web::read(name, &bytes).map_err(|error| failure(&error.to_string()))
}

fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    let name = netperf_web::escape::line(name);
    failure(&format!("{name}: {}", system_text(error)))
}

/// The files of a folder that may be results, by name.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let name = folder.to_string_lossy();
    let listed = std::fs::read_dir(folder).map_err(|error| unreadable(&name, &error))?;
    let paths = listed.map(|entry| entry.map(|entry| entry.path()));
    let mut files = paths
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unreadable(&name, &error))?;
    files.retain(|path| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        path.is_file() && ending.is_some_and(|ending| matches!(ending, "json" | "jsonl" | "gz"))
    });
    files.sort();
    Ok(files)
}
