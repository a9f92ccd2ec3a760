//! `netperf compare`: two sets of results in, a verdict out.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::process::ExitCode;

use netperf_cli::CompareArgs;
use netperf_comparison::{Comparisons, Design, Incomparable, Judgement, Set, Wish, in_turn};
use netperf_program::output::{Failure, INVALID, columns, err, out};

use super::{campaign, files, itself, verdict};

pub(super) use netperf_comparison::compare::SCHEMA;

fn failure(problem: impl Display) -> Failure {
    Failure::stderr(INVALID, format_args!("netperf compare: {problem}"))
}

/// Runs `netperf compare`.
pub(super) fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    if let ([first], [second]) = (args.first.as_slice(), args.second.as_slice()) {
        let are = [first, second].map(|name| campaign::is_campaign(name));
        match are {
            [true, true] => {
                let options = [
                    ("--paired", args.paired),
                    ("--false-alarms", args.chance.is_some()),
                    ("--margin", args.margin.is_some()),
                    ("--markdown", args.markdown),
                ];
                if let Some((name, _)) = options.into_iter().find(|(_, given)| *given) {
                    return Err(failure(format_args!("{name} is not for campaigns")));
                }
                return campaign::compared([first, second], None, args.json).map_err(failure);
            }
            [false, false] => {}
            [is_first, _] => {
                let [campaign, other] = if is_first {
                    [first, second]
                } else {
                    [second, first]
                };
                let [campaign, other] =
                    [campaign, other].map(|name| netperf_web::escape::line(name));
                let line = format!("{campaign} is a campaign and {other} is not");
                return Err(failure(line));
            }
        }
    }
    let files = |names| files::with_folders(names).map_err(failure);
    let (first, second) = (files(&args.first)?, files(&args.second)?);
    if let Some(name) = files::in_both(&first, &second) {
        let name = netperf_web::escape::line(name);
        return Err(failure(format_args!(
            "{name} is on both sides: name it once"
        )));
    }
    let mut warnings = FileWarnings::default();
    let mut set = |names, files: &[String]| -> Result<Set, Failure> {
        let runs = files.iter().map(|name| {
            let bytes = files::read(name)?;
            warnings.add(name, &bytes);
            files::parsed(name, &bytes)
        });
        Ok(Set {
            name: set_name(names),
            runs: runs.collect::<Result<_, _>>().map_err(failure)?,
        })
    };
    let sets = [set(&args.first, &first)?, set(&args.second, &second)?];
    let design = if args.paired || in_turn(&sets[0], &sets[1]) {
        Design::Paired
    } else {
        Design::Apart
    };
    for line in &warnings.lines {
        err(&format!("netperf compare: {line}\n"));
    }
    show(&sets, args, design, (&warnings.lines, true)).map_err(failure)
}

/// Warnings of the runs about settings that are not in force, each once, with the first file.
#[derive(Default)]
struct FileWarnings {
    known: BTreeSet<String>,
    lines: Vec<String>,
}

impl FileWarnings {
    fn add(&mut self, file: &str, document: &[u8]) {
        for warning in itself::warnings(document) {
            if self.known.insert(warning.clone()) {
                let file = netperf_web::escape::line(file);
                self.lines.push(format!("{file}: {warning}"));
            }
        }
    }
}

/// Compares the first set with the others, and prints the result in the form that was asked for.
/// `warnings` of the runs are part of JSON, and whether all runs that were wanted are compared.
pub(super) fn show(
    sets: &[Set],
    args: &CompareArgs,
    design: Design,
    (warnings, complete): (&[String], bool),
) -> Result<ExitCode, Incomparable> {
    let found = Comparisons::with_first(sets, wish(args, design))?;
    if args.json {
        let mut json = found.json();
        if let Some(object) = json.as_object_mut() {
            object.insert("complete".to_owned(), complete.into());
            object.insert("warnings".to_owned(), warnings.into());
        }
        out(&format!("{json:#}\n"));
    } else if args.markdown {
        out(&found.markdown());
    } else {
        out(&found.text(columns()));
    }
    Ok(verdict::exit(found.outcome()))
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

/// Name of a set of files: one name, or the first and the last of many.
pub(super) fn set_name(names: &[String]) -> String {
    netperf_web::escape::line(&match names {
        [first, .., last] => format!("{first} ... {last}"),
        _ => names.concat(),
    })
}
