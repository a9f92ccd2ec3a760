//! Captured output of the original, printed again from the figures in it.
//!
//! For each transcript the command line becomes a plan as in the programs. An
//! outcome is built from the values in the printed text. Banner and report of
//! that outcome must equal the text byte for byte. Titles, widths, blanks and
//! settings are all checked; measured values are free.
//!
//! Parts that we print otherwise, on purpose, are listed in [`exclusions`], and
//! every entry must still be needed; transcripts that hold no report are in
//! [`elsewhere`].

mod cells;
mod elsewhere;
mod exclusions;
mod figures;
mod interims;
mod read;
mod scan;
mod spread;
mod times;

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use netperf_cli::{CliEnvironment, Command, OutputStream, RunCommand};
use netperf_model::{DataAddress, Family, Host, Hosts, Suite, TestId};
use netperf_report::control::{Whose, cpu_rate, uuid};
use netperf_report::selection::{Listing, all_names};
use netperf_report::selectors::is_selector;
use netperf_report::{Selection, banner, final_report};
use serde_json::Value;

use cells::Cells;
use elsewhere::ELSEWHERE;
use exclusions::{EXCLUSIONS, Exclusion};
use figures::Setting;

const TRANSCRIPTS: &str = include_str!("golden/transcripts.jsonl");

/// Every transcript there is.
const TRANSCRIBED: usize = 685;

/// Beginning of the histogram of selector output.
const HISTOGRAM: &str = "\nHistogram of ";

/// One run of the original.
struct Transcript {
    case: String,
    argv: Vec<OsString>,
    stdout: String,
    /// Built as packaged by Debian, without histograms, intervals and dirty data.
    plain_build: bool,
    file: Option<String>,
}

fn transcripts() -> Vec<Transcript> {
    TRANSCRIPTS.lines().map(transcript).collect()
}

fn transcript(line: &str) -> Transcript {
    let json: Value = serde_json::from_str(line).expect("a transcript");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    Transcript {
        case: text(&json["case"]),
        argv: json["argv"]
            .as_array()
            .expect("argv")
            .iter()
            .map(|word| text(word).into())
            .collect(),
        stdout: text(&json["stdout"]),
        plain_build: json["binary"] == "deb",
        file: json["files"]["sel.txt"].as_str().map(str::to_owned),
    }
}

/// Our output and the transcript.
struct Comparison {
    ours: String,
    expected: String,
}

fn compare(transcript: &Transcript, left_out: &[Exclusion]) -> Comparison {
    let read_file = |_: &Path| {
        transcript
            .file
            .clone()
            .ok_or(io::ErrorKind::NotFound.into())
    };
    let around = CliEnvironment {
        read_file: &read_file,
        is_selector: &is_selector,
        selectors: &[],
        is_host: &|_| false,
        dump_tcp_info: false,
    };
    let parsed = netperf_cli::netperf(&transcript.argv, &around);
    let notices = parsed
        .notices
        .iter()
        .filter(|notice| notice.stream == OutputStream::Stdout);
    let notices: String = notices.map(|notice| notice.text.as_str()).collect();
    let expected = without_parts(transcript, left_out);
    match parsed.command.expect("a command line that is understood") {
        Command::Run(run) => compare_run(&run, &notices, &expected, left_out),
        Command::ListSelectors { one_per_line } => {
            let listing = if one_per_line {
                Listing::Lines
            } else {
                Listing::Commas
            };
            Comparison {
                ours: all_names(listing),
                expected,
            }
        }
        other @ (Command::UnknownTest(_)
        | Command::List(_)
        | Command::Usage(_)
        | Command::Version(_)
        | Command::FullVersion) => {
            panic!("{}: not a report: {other:?}", transcript.case)
        }
    }
}

fn compare_run(
    run: &RunCommand,
    notices: &str,
    expected: &str,
    left_out: &[Exclusion],
) -> Comparison {
    let (plan, report) = (&run.plan, &run.report);
    if plan.test.row().suite == Suite::Control || plan.test == TestId::Uuid {
        return compare_control(run, expected);
    }
    let remote = host(&plan.remote_data, Family::Unspecified);
    let hosts = Hosts {
        local: host(&plan.local_data, remote.family()),
        remote,
    };
    let head = notices.to_owned() + &banner(plan, report, &hosts).unwrap_or_default();
    let lines = head.lines().count();
    if left_out.contains(&Exclusion::Fails) || left_out.contains(&Exclusion::Corrected) {
        return Comparison {
            ours: head,
            expected: expected.split_inclusive('\n').take(lines).collect(),
        };
    }
    // A wrong banner must show as such, not as a body that cannot be read.
    let body = expected.splitn(lines + 1, '\n').nth(lines).unwrap_or("");
    let interims = interims::printed_again(run, body);
    let body = body.get(interims.len()..).unwrap_or("");
    let start = expected[..expected.len() - body.len()].to_owned();
    let body = compare_body(run, &hosts, body, left_out);
    Comparison {
        ours: head + &interims + &body.ours,
        expected: start + &body.expected,
    }
}

/// Text after the banner and the interim results.
fn compare_body(run: &RunCommand, hosts: &Hosts, body: &str, left_out: &[Exclusion]) -> Comparison {
    let (plan, report) = (&run.plan, &run.report);
    let undefined = exclusions::undefined(plan.test, left_out);
    let mut expected = exclusions::masked(undefined, body);
    let figures = match Selection::of(plan, report).expect("a selection") {
        None => read::classic(plan, &expected),
        Some(selection) => {
            let (columns, histogram) = body.split_at(body.find(HISTOGRAM).unwrap_or(body.len()));
            let mut cells = Cells::read(columns, &selection, report);
            if left_out.is_empty() {
                assert_eq!(cells.print(report), columns, "the cells were not read well");
            }
            let mut figures = read::selected(plan, &mut cells);
            figures.times.histogram = times::histogram(body);
            exclusions::edit(&mut cells, left_out);
            if !left_out.contains(&Exclusion::CutOff) {
                expected = cells.print(report) + histogram;
            }
            figures
        }
    };
    let outcome = figures.outcome(&Setting {
        plan,
        report,
        hosts,
    });
    let ours = final_report(&outcome, report).expect("a report");
    let mut ours = exclusions::masked(undefined, &ours);
    if left_out.contains(&Exclusion::CutOff) {
        ours.truncate(expected.trim_end_matches('\n').len());
        ours.push('\n');
    }
    Comparison { ours, expected }
}

fn compare_control(run: &RunCommand, expected: &str) -> Comparison {
    let verbosity = run.report.verbosity;
    let test = run.plan.test;
    let ours = if test == TestId::Uuid {
        uuid(run.plan.uuid.as_deref().unwrap_or(expected))
    } else if test == TestId::LocCpu {
        cpu_rate(Whose::Local, 100.0, 2, verbosity)
    } else {
        cpu_rate(Whose::Remote, 100.0, 2, verbosity)
    };
    Comparison {
        ours,
        expected: expected.to_owned(),
    }
}

/// The host as the resolver of the capturing machine gave it.
fn host(data: &DataAddress, wildcard: Family) -> Host {
    let six = data.family == Family::V6 || (!data.named && wildcard == Family::V6);
    let name = match data.host.as_str() {
        "0.0.0.0" if six && !data.named => "::0",
        name => name,
    };
    let numeric = match name {
        "localhost" if six => "::1",
        "localhost" => "127.0.0.1",
        name => name,
    };
    let port = match data.port.as_str() {
        "echo" => 7,
        "discard" => 9,
        "chargen" => 19,
        port => port.parse().expect("a port"),
    };
    Host {
        name: name.to_owned(),
        address: numeric.parse::<IpAddr>().expect("an address"),
        scope: 0,
        port,
        vsock: None,
    }
}

/// The transcript without the lines that are left out, and with the banner of a
/// build that has everything.
fn without_parts(transcript: &Transcript, left_out: &[Exclusion]) -> String {
    let mut text = transcript.stdout.clone();
    if transcript.plain_build {
        // Those builds lack three features and do not announce them.
        text = text.replacen(" : demo", " : histogram : interval : dirty data : demo", 1);
    }
    for part in left_out {
        text = part.cut(&text);
    }
    text
}

fn left_out(case: &str) -> Vec<Exclusion> {
    let of_case = EXCLUSIONS.iter().filter(|(listed, _)| *listed == case);
    of_case
        .flat_map(|(_, parts)| parts.iter().copied())
        .collect()
}

/// The first line that differs: ours, the transcript's.
fn first_difference(comparison: &Comparison) -> Option<(String, String)> {
    let mut ours = comparison.ours.split('\n');
    let mut expected = comparison.expected.split('\n');
    loop {
        match (ours.next(), expected.next()) {
            (None, None) => return None,
            (ours, expected) if ours == expected => {}
            (ours, expected) => {
                return Some((
                    ours.unwrap_or("(end)").to_owned(),
                    expected.unwrap_or("(end)").to_owned(),
                ));
            }
        }
    }
}

/// Returns true if the output without these parts equals the transcript.
///
/// A command line that is refused counts as printing something else.
fn matches(transcript: &Transcript, left_out: &[Exclusion]) -> bool {
    let comparison = catch_unwind(AssertUnwindSafe(|| compare(transcript, left_out)));
    comparison.is_ok_and(|comparison| comparison.ours == comparison.expected)
}

#[test]
fn captured_output_is_printed_again_byte_for_byte() {
    let mut failed = Vec::new();
    for transcript in transcripts() {
        let parts = left_out(&transcript.case);
        let comparison = compare(&transcript, &parts);
        if let Some((ours, expected)) = first_difference(&comparison) {
            failed.push(format!(
                "{}:\n  ours     {ours:?}\n  expected {expected:?}",
                transcript.case
            ));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_transcript_is_compared_here_or_known_to_hold_no_report() {
    let here = transcripts();
    let mut names: Vec<&str> = here.iter().map(|transcript| &*transcript.case).collect();
    for (_, cases) in ELSEWHERE {
        names.extend(*cases);
    }
    let listed = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!((listed, names.len()), (TRANSCRIBED, TRANSCRIBED));
}

#[test]
fn differences_on_purpose_are_in_the_list_of_differences() {
    let list = include_str!("../../../../docs/differences.md");
    for (case, parts) in EXCLUSIONS {
        let (name, _) = case.split_once("--").expect("a build");
        let on_purpose = parts.iter().any(|part| *part != Exclusion::Fails);
        assert!(!on_purpose || list.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn transcripts_that_can_be_compared_are_compared() {
    let all = transcripts();
    let mut needless = Vec::new();
    for (case, parts) in EXCLUSIONS {
        let Some(transcript) = all.iter().find(|transcript| transcript.case == *case) else {
            needless.push(format!("{case} is not a transcript"));
            continue;
        };
        for part in *parts {
            let others: Vec<Exclusion> = parts
                .iter()
                .copied()
                .filter(|other| other != part)
                .collect();
            if matches(transcript, &others) {
                needless.push(format!("{case} matches with its {part:?}"));
            }
        }
    }
    assert!(needless.is_empty(), "{}", needless.join("\n"));
}
