//! Real runs print the output of the original, except for the figures. The tests of `report`
//! check every format.

use crate::golden_subset;
use netperf_model::Suite;
use netperf_testkit::{Invocation, Netserver, Place, Programs, ours};

/// Output of the original for each test, and the layouts its
/// rows have, as printf would be told. Every other line is fixed.
const TRANSCRIPTS: [(&str, &str, &[&str]); 12] = [
    (
        "TCP_STREAM",
        include_str!("../golden/TCP_STREAM.txt"),
        &[STREAM],
    ),
    (
        "TCP_MAERTS",
        include_str!("../golden/TCP_MAERTS.txt"),
        &[STREAM],
    ),
    (
        "TCP_SENDFILE",
        include_str!("../golden/TCP_SENDFILE.txt"),
        &[STREAM],
    ),
    (
        "TCP_RR",
        include_str!("../golden/TCP_RR.txt"),
        &[RR, RR_SECOND],
    ),
    (
        "TCP_CRR",
        include_str!("../golden/TCP_CRR.txt"),
        &[RR, RR_SECOND],
    ),
    (
        "TCP_CC",
        include_str!("../golden/TCP_CC.txt"),
        &[RR, RR_SECOND],
    ),
    ("TCP_MSS", include_str!("../golden/TCP_MSS.txt"), &["%d "]),
    (
        "UDP_STREAM",
        include_str!("../golden/UDP_STREAM.txt"),
        &[UDP, UDP_SECOND],
    ),
    (
        "UDP_RR",
        include_str!("../golden/UDP_RR.txt"),
        &[RR, RR_SECOND],
    ),
    ("OMNI", include_str!("../golden/OMNI.txt"), &[OMNI]),
    ("LOC_CPU", include_str!("../golden/LOC_CPU.txt"), &["%d"]),
    ("REM_CPU", include_str!("../golden/REM_CPU.txt"), &["%d"]),
];

const STREAM: &str = "%6d %6d %6d    %-6.2f   %7.2f   ";
const RR: &str = "%-6d %-6d %-6d   %-6d  %-6.2f   %7.2f   ";
const RR_SECOND: &str = "%-6d %-6d";
const UDP: &str = "%6d  %6d   %-7.2f   %7d %6d    %7.2f";
const UDP_SECOND: &str = "%6d           %-7.2f   %7d           %7.2f";
const OMNI: &str = "%-11d %-11d %-6d %-7.2f %-10.2f 10^6bits/s  ";

/// True if `line` is printf's output for `layout` with any figures.
fn fits(layout: &str, line: &str) -> bool {
    let Some((literal, rest)) = layout.split_once('%') else {
        return layout == line;
    };
    let Some(line) = line.strip_prefix(literal) else {
        return false;
    };
    let end = rest.find(['d', 'f']).expect("only d and f") + 1;
    let (field, layout) = rest.split_at(end);
    figure(field, line).is_some_and(|line| fits(layout, line))
}

/// Takes one figure, padded as `field` (without its %) says, off the line.
fn figure<'a>(field: &str, line: &'a str) -> Option<&'a str> {
    let to_the_left = field.starts_with('-');
    let size = field.trim_matches(['-', 'd', 'f']);
    let (width, decimals) = size.split_once('.').unwrap_or((size, "0"));
    let (width, decimals): (usize, usize) = (width.parse().unwrap_or(0), decimals.parse().ok()?);
    let number = line.trim_start_matches(' ');
    let before = line.len() - number.len();
    let length = number
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != '-')
        .unwrap_or(number.len());
    let (number, rest) = number.split_at(length);
    number.parse::<f64>().ok()?;
    let fraction = number
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    let padding = width.saturating_sub(number.len());
    if fraction != decimals {
        None
    } else if to_the_left {
        rest.strip_prefix(&*" ".repeat(padding))
            .filter(|_| before == 0)
    } else {
        Some(rest).filter(|_| before == padding)
    }
}

/// A banner up to the list of what the build can do.
fn banner(line: &str) -> &str {
    line.split(" : ").next().unwrap_or(line)
}

/// The first line that differs, if any does.
fn difference(golden: &str, stdout: &str, layouts: &[&str]) -> Option<String> {
    let (golden, stdout): (Vec<&str>, Vec<&str>) =
        (golden.split('\n').collect(), stdout.split('\n').collect());
    if golden.len() != stdout.len() {
        return Some(format!("{} lines, not {}", stdout.len(), golden.len()));
    }
    golden.iter().zip(&stdout).find_map(|(golden, line)| {
        let same = golden == line
            || (golden.contains(" TEST from ") && banner(golden) == banner(line))
            || layouts
                .iter()
                .any(|layout| fits(layout, golden) && fits(layout, line));
        (!same).then(|| format!("`{line}` is not like\n`{golden}`"))
    })
}

#[test]
fn every_test_prints_what_the_original_prints() {
    let programs = ours!();
    let server = Netserver::start(&programs, &Place::Here);
    let port = server.port().to_string();
    let runs = TRANSCRIPTS.map(|(test, golden, layouts)| {
        let length = match test {
            "UDP_STREAM" | "LOC_CPU" | "REM_CPU" => ["--time", "300ms"],
            _ if test.ends_with("RR") || test == "TCP_CC" => ["-l", "-20"],
            _ => ["-l", "-256K"],
        };
        let words = [&["-H", "127.0.0.1", "-p", &port, "-t", test], &length[..]].concat();
        (
            golden,
            layouts,
            Invocation::new(&programs.netperf).args(words).spawn(),
        )
    });
    let mut failures = Vec::new();
    for (golden, layouts, running) in runs {
        let finished = running.finish().expect_clean();
        if let Some(why) = difference(golden, &finished.stdout, layouts) {
            failures.push(format!("{why}\n{}", finished.account()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn a_layout_fits_only_what_printf_makes_of_it() {
    assert!(fits(STREAM, "131072  16384  16384    1.00     49748.96   "));
    assert!(!fits(STREAM, "131072  16384  16384    1.00     49748.96  "));
    assert!(!fits(STREAM, "131072 16384  16384    1.00     49748.96   "));
    assert!(!fits(
        STREAM,
        "131072  16384  16384    1.0      49748.96   "
    ));
    assert!(fits(RR_SECOND, "16384  131072") && !fits(RR_SECOND, "16384 131072"));
}

/// At least so many of the transcripts run again.
const LIVE: usize = 150;

/// Runs transcripts against the server of `programs` and fails on what differs.
fn same_as_captured(server: &Programs, transcripts: &[golden_subset::Transcript]) {
    let ours = ours!();
    let server = Netserver::start(server, &Place::Here);
    let failures = golden_subset::differences(&ours.netperf, &server, transcripts);
    assert!(
        failures.is_empty(),
        "{} of {} differ:\n{}",
        failures.len(),
        transcripts.len(),
        failures.join("\n\n")
    );
}

#[test]
fn at_least_150_captured_command_lines_print_what_the_original_printed() {
    let third: Vec<_> = golden_subset::transcripts()
        .into_iter()
        .step_by(3)
        .collect();
    assert!(third.len() >= LIVE, "only {}", third.len());
    same_as_captured(&ours!(), &third);
}

#[test]
#[ignore = "nightly: all transcripts, 15 s of processor time"]
fn every_captured_command_line_prints_what_the_original_printed() {
    same_as_captured(&ours!(), &golden_subset::transcripts());
}

#[test]
fn every_fourth_captured_command_line_prints_the_same_against_a_stock_server() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    // Debian builds the original without the Unix-domain suite.
    let fourth: Vec<_> = golden_subset::transcripts()
        .into_iter()
        .filter(|transcript| !transcript.is_of(Suite::Unix))
        .step_by(4)
        .collect();
    same_as_captured(&stock, &fourth);
}
