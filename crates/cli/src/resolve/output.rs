//! Output options of the plan.

use std::path::Path;

use netperf_arguments::args::{Args, GlobalArgs, HumanArg, JsonArg, OutputLayout};
use netperf_arguments::command::{CliError, Notice};
use netperf_arguments::long::{OptionProblem, misuse, nearest, shown};
use netperf_model::{Format, IperfShape, Limit, PeerProgram, ReportPlan, SelectionSource, TestId};

use super::work;
use crate::CliEnvironment;

/// A name of this many characters in a selection file is too long.
const NAME_TOO_LONG: usize = 80;
/// Lines of a selection file that count.
const FILE_LINES: usize = 4;

/// Long options that choose the output. Of the last ones, which differ in layout alone, the last
/// counts, as of their letters.
const OUTPUTS: [&[&str]; 5] = [
    &["--human"],
    &["--json"],
    &["--json-stream"],
    &["--output"],
    &["--csv", "--columns", "--keyval"],
];
const ONE_OUTPUT: &str = "a test has one output: leave out all but one of --human, --json, \
                          --json-stream, --keyval, --csv, --columns and --output";

/// Settles whether a summary for a person is printed, and adds what it shows to the requests.
///
/// # Errors
/// When another output is asked for as well.
pub(super) fn for_a_person(args: &mut Args, test: TestId) -> Result<(), CliError> {
    let global = &args.global;
    let is_named = |option: &&&str| args.is_named(option.trim_start_matches('-'));
    let chosen = |options: &[&'static str]| options.iter().find(is_named).copied();
    let mut chosen = OUTPUTS.iter().filter_map(|names| chosen(names));
    if let (Some(option), Some(_)) = (chosen.next(), chosen.next()) {
        return Err(CliError::OutOfPlace {
            option,
            why: ONE_OUTPUT,
        });
    }
    let selected = is_selected(args);
    match global.human {
        HumanArg::Yes if selected => {
            return Err(CliError::OutOfPlace {
                option: "--human",
                why: "a test has one output: leave out either this option, or --json, --json-stream, -k, -o and -O",
            });
        }
        HumanArg::ByDefault if is_plain(args) => args.global.human = HumanArg::Yes,
        HumanArg::ByDefault => args.global.human = HumanArg::No,
        // The picture of a run is followed by its summary.
        HumanArg::No if global.show.live && !selected && !is_bare(global) => {
            args.global.human = HumanArg::Yes;
        }
        HumanArg::No | HumanArg::Yes => {}
    }
    let global = &mut args.global;
    let is_whole = is_modern(global);
    global.prints_interim = global.interim.is_some() && (is_whole || super::has_interims(test));
    if test.moves_data() {
        measure(args, test);
    }
    Ok(())
}

/// Returns true if the output is chosen by another option than `--human`.
fn is_selected(args: &Args) -> bool {
    let (global, typed) = (&args.global, &args.test);
    global.json.is_some() || typed.output.is_some() || global.output.is_some()
}

/// Returns true if the output is JSON or a summary for a person.
pub(super) fn is_not_the_original(args: &Args) -> bool {
    let global = &args.global;
    let is_for_a_person = match global.human {
        HumanArg::Yes => true,
        HumanArg::No => false,
        HumanArg::ByDefault => is_plain(args),
    };
    is_for_a_person || global.json.is_some()
}

/// Returns true if no option has a say in the output, which is then for a person by default.
fn is_plain(args: &Args) -> bool {
    let global = &args.global;
    !is_selected(args) && !is_bare(global) && global.interim.is_none()
}

/// Returns true for a request for output that programs read.
fn is_bare(global: &GlobalArgs) -> bool {
    global.headers.or(global.verbosity).is_some() || global.debug > 0
}

/// Measures what is cheap, unless the output is classic, which shows no more than what is asked
/// for.
fn measure(args: &mut Args, test: TestId) {
    let flow = work::flow(test, &args.test);
    let global = &mut args.global;
    let is_modern = is_modern(global);
    let measures = measures_what_is_cheap(global);
    global.latency |= flow.counts_transactions() && (measures || global.show.live);
    if !measures {
        return;
    }
    global.hides_cpu = !is_modern && !global.cpu.wanted && !global.remote_cpu.wanted;
    if is_modern || global.hides_cpu {
        global.cpu.wanted = true;
        global.remote_cpu.wanted |= !global.no_control;
    }
    let every = if global.human == HumanArg::Yes {
        interval(global.length)
    } else {
        SECOND
    };
    global.interim = global.interim.or(Some(every));
    // Its events are the document while it grows.
    global.prints_interim |= global.json == Some(JsonArg::Stream);
}

/// Returns true if the output is a summary for a person or JSON, once that is settled.
fn is_modern(global: &GlobalArgs) -> bool {
    global.human == HumanArg::Yes || global.json.is_some()
}

/// Returns true if a test measures more than it is asked for, where that is cheap.
pub(super) fn measures_what_is_cheap(global: &GlobalArgs) -> bool {
    is_modern(global) || global.history.is_some()
}

/// Seconds between the intervals of a document.
const SECOND: f64 = 1.0;

/// Seconds from one value of a series to the next: few enough for long runs.
fn interval(length: Option<Limit>) -> f64 {
    const SHORTEST: f64 = 0.1;
    const VALUES: f64 = 200.0;
    match length {
        Some(Limit::Time(time)) => (time.as_secs_f64() / VALUES).max(SHORTEST),
        _ => SHORTEST,
    }
}

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
        hides_cpu: global.hides_cpu,
        prints_interim: global.prints_interim,
        hides_banner: is_csv_by_name(args),
    })
}

fn format(
    args: &Args,
    test: TestId,
    environment: &CliEnvironment<'_>,
    notices: &mut Vec<Notice>,
) -> Result<Format, CliError> {
    if let Some(shape) = args.global.output {
        return iperf(args, shape).map(|()| Format::Iperf(shape));
    }
    match args.global.json {
        Some(JsonArg::Document) => return Ok(Format::Json),
        Some(JsonArg::Stream) => return Ok(Format::JsonStream),
        None => {}
    }
    if args.global.human == HumanArg::Yes {
        return Ok(Format::Human);
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

/// Checks that a test can have the output of iperf.
fn iperf(args: &Args, shape: IperfShape) -> Result<(), CliError> {
    let global = &args.global;
    let why = if global.peer != Some(shape.program()) {
        match shape.program() {
            PeerProgram::Iperf2 => "iperf2 and iperf2-csv need --iperf2",
            PeerProgram::Iperf3 => "iperf3 and iperf3-json need --iperf3",
        }
    } else if global.json.is_some() || args.test.output.is_some() {
        "a test has one output: leave out either this option, or --json, --json-stream, -k, -o and -O"
    } else if work::confidence(global).is_some() {
        "iperf runs a test once: leave it out, or -i and -I"
    } else {
        return Ok(());
    };
    Err(CliError::OutOfPlace {
        option: "--output",
        why,
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
    let is_list = word.contains([',', ';']) || (environment.is_selector)(word);
    let file = (!is_list).then(|| (environment.read_file)(Path::new(word)));
    let is_file = file.as_ref().is_some_and(Result::is_ok);
    if let (Some(option), false) = (by_name(args), is_file) {
        known_names(word, option, args, environment)?;
    }
    let wrong = wrong_names(word, &args.program, environment);
    if is_list {
        // The test runs without what is unknown.
        notices.extend(wrong.map(|line| Notice::hint(&line)));
        return Ok(SelectionSource::List(word.to_owned()));
    }
    let read = file.unwrap_or_else(|| (environment.read_file)(Path::new(word)));
    let text = read.map_err(|error| {
        let before = notices.len();
        notices.extend(wrong.map(|line| Notice::stderr(&line)));
        if notices.len() == before {
            notices.push(Notice::stderr(&format!(
                "{}: {} is neither an output selector nor a file; --keyval '?' lists the selectors",
                args.program,
                shown(word)
            )));
        }
        CliError::SelectionFile {
            name: word.to_owned(),
            errno: error.raw_os_error().unwrap_or(0),
        }
    })?;
    check_names(&text)?;
    Ok(SelectionSource::File(text))
}

/// The long option that asks for a selection, if one does.
fn by_name(args: &Args) -> Option<&str> {
    const OPTIONS: [&str; 3] = ["keyval", "csv", "columns"];
    let mut named = args.named.iter().map(String::as_str);
    named.find(|name| OPTIONS.contains(name))
}

/// Returns true for comma-separated values that are not asked for with the letter of netperf 2.7.
fn is_csv_by_name(args: &Args) -> bool {
    let layout = args.test.output.as_ref().map(|output| output.layout);
    layout == Some(OutputLayout::Csv) && args.is_named("csv")
}

/// Refuses a name in a list that no selector has.
fn known_names(
    list: &str,
    option: &str,
    args: &Args,
    environment: &CliEnvironment<'_>,
) -> Result<(), CliError> {
    let mut names = list.split([',', ';', ' ']).filter(|name| !name.is_empty());
    let known = |name: &str| (environment.is_selector)(name) || name.starts_with("OUTPUT_");
    match names.find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => {
            let problem = OptionProblem::Value {
                value: name.to_owned(),
                expected: format!("an output selector (--{option} '?' lists them) or a file"),
                near: nearest(name, environment.selectors.iter().copied()),
            };
            Err(misuse(&args.program, option, problem))
        }
    }
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
