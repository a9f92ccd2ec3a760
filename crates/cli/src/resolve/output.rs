//! Output options of the plan.

use std::path::Path;

use netperf_model::{Format, ReportPlan, SelectionSource, TestId};

use super::work;
use crate::CliEnvironment;
use crate::args::{Args, JsonArg, OutputLayout};
use crate::command::{CliError, Notice};
use crate::long::{nearest, shown};

/// A name of this many characters in a selection file is too long.
const NAME_TOO_LONG: usize = 80;
/// Lines of a selection file that count.
const FILE_LINES: usize = 4;

/// The report that `args` ask for.
pub(super) fn report(
    args: &Args,
    test: TestId,
    environment: &CliEnvironment<'_>,
    notices: &mut Vec<Notice>,
) -> Result<ReportPlan, CliError> {
    let global = &args.global;
    Ok(ReportPlan {
        format: format(args, test, environment, notices)?,
        verbosity: global.verbosity.unwrap_or(1),
        headers: global.headers.unwrap_or(1) != 0,
        unit: global.unit,
        brand: global.brand.clone(),
        command_line: args.command_line.clone(),
        cpu_bind_shown: global.bind.is_some(),
        copy_avoidance_shown: args.test.copy_avoidance,
        confidence_shown: work::confidence(global),
        debug: global.debug,
    })
}

fn format(
    args: &Args,
    test: TestId,
    environment: &CliEnvironment<'_>,
    notices: &mut Vec<Notice>,
) -> Result<Format, CliError> {
    match args.global.json {
        Some(JsonArg::Document) => return Ok(Format::Json),
        Some(JsonArg::Stream) => return Ok(Format::JsonStream),
        None => {}
    }
    let Some(output) = &args.test.output else {
        return Ok(if test == TestId::Omni {
            Format::Columns(SelectionSource::Default)
        } else {
            Format::Classic
        });
    };
    let selection = match &output.selection {
        Some(word) => selection(word, args, environment, notices)?,
        None => SelectionSource::Default,
    };
    Ok(match output.layout {
        OutputLayout::Keyval => Format::Keyval(selection),
        OutputLayout::Csv => Format::Csv(selection),
        OutputLayout::Columns => Format::Columns(selection),
    })
}

/// The meaning of the word behind `-k`, `-o` or `-O`: `all`, a list, or a file.
fn selection(
    word: &str,
    args: &Args,
    environment: &CliEnvironment<'_>,
    notices: &mut Vec<Notice>,
) -> Result<SelectionSource, CliError> {
    if word.eq_ignore_ascii_case("all") {
        return Ok(SelectionSource::All);
    }
    let wrong = wrong_names(word, &args.program, environment);
    if word.contains([',', ';']) || (environment.is_selector)(word) {
        // The test runs without what is unknown.
        notices.extend(wrong.map(|line| Notice::hint(&line)));
        return Ok(SelectionSource::List(word.to_owned()));
    }
    let text = (environment.read_file)(Path::new(word)).map_err(|error| {
        notices.extend(wrong.map(|line| Notice::stderr(&line)));
        CliError::SelectionFile {
            name: word.to_owned(),
            errno: error.raw_os_error().unwrap_or(0),
        }
    })?;
    check_names(&text)?;
    Ok(SelectionSource::File(text))
}

/// A line for every name in a list that resembles a selector and is none.
fn wrong_names<'a>(
    list: &'a str,
    program: &'a str,
    environment: &'a CliEnvironment<'a>,
) -> impl Iterator<Item = String> + use<'a> {
    let names = list.split([',', ';', ' ']).filter(|name| !name.is_empty());
    let wrong = names.filter(|name| !(environment.is_selector)(name));
    wrong.filter_map(move |name| {
        let near = nearest(name, environment.selectors.iter().copied())?;
        let name = shown(name);
        Some(format!(
            "{program}: output selector {name} is unknown; did you mean {near}?"
        ))
    })
}

/// Rejects file names that are too long for the original.
fn check_names(text: &str) -> Result<(), CliError> {
    let mut before = 0;
    for (index, line) in text.split_inclusive('\n').take(FILE_LINES).enumerate() {
        let mut length = 0;
        for (offset, letter) in line.chars().enumerate() {
            length = match letter {
                ',' | '\n' => 0,
                _ => length + 1,
            };
            if length == NAME_TOO_LONG {
                return Err(CliError::SelectionName {
                    line: index + 1,
                    column: before + offset + 2,
                });
            }
        }
        before += line.chars().count();
    }
    Ok(())
}
