//! Output of our client against that of the original, with all figures masked.

use std::collections::BTreeSet;

use super::served::lines;
use super::*;
use crate::recorded_lines;

/// Tests whose output is compared.
const SHAPES: [&[&str]; 11] = [
    &["-t", "1", "-b", "1M", "-l", "8K"],
    &["-t", "2", "-b", "1M", "-l", "8K", "-P", "2"],
    &["-t", "1", "-b", "1M", "-l", "8K", "-R"],
    &["-t", "1", "-b", "1M", "-l", "8K", "--bidir", "-P", "2"],
    &["-t", "1", "-b", "1M", "-l", "8K", "-O", "1", "-f", "k"],
    &["-t", "1", "-b", "400K", "-l", "500", "-u"],
    &["-t", "1", "-b", "400K", "-l", "500", "-u", "-R", "-P", "2"],
    &["-t", "1", "-b", "400K", "-l", "500", "-u", "--bidir"],
    &["-n", "64K", "-l", "8K", "-T", "title", "-f", "M"],
    &[
        "-V", "-t", "1", "-b", "1M", "-l", "8K", "--bidir", "-P", "2",
    ],
    &["-V", "-t", "1", "-b", "2M", "-u", "-R", "-P", "2"],
];

const DAYS: [&str; 7] = ["Mon,", "Tue,", "Wed,", "Thu,", "Fri,", "Sat,", "Sun,"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Replaces figures by N, names in dates by DAY and MONTH and prefixes of units by nothing, and reduces
/// blanks between them to one.
pub(super) fn masked(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let mut masked = String::new();
        let trailing = line.len() - line.trim_end_matches(' ').len();
        for word in line.split(' ').filter(|word| !word.is_empty()) {
            let figure = word.starts_with(|c: char| c.is_ascii_digit());
            let word = if figure {
                "N".to_owned()
            } else if DAYS.contains(&word) {
                "DAY,".to_owned()
            } else if MONTHS.contains(&word) {
                "MONTH".to_owned()
            } else {
                let unit = ["Bytes", "bits/sec", "Bytes/sec"]
                    .iter()
                    .find(|unit| word.len() <= unit.len() + 1 && word.ends_with(**unit));
                unit.map_or_else(|| word.to_owned(), |unit| (*unit).to_owned())
            };
            masked.push_str(&word);
            masked.push(' ');
        }
        format!("{}{}", masked.trim_end(), "·".repeat(trailing))
    };
    text.lines().map(line).collect()
}

/// Paths and types of a document.
pub(super) fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                paths(value, &format!("{path}/{key}"), found);
            }
        }
        Value::Array(values) => {
            for value in values {
                paths(value, &format!("{path}[]"), found);
            }
        }
        Value::Null => drop(found.insert(format!("{path} null"))),
        Value::Bool(_) => drop(found.insert(format!("{path} bool"))),
        Value::Number(_) => drop(found.insert(format!("{path} number"))),
        Value::String(_) => drop(found.insert(format!("{path} string"))),
    }
}

/// Differences of the lines and keys of a client of our server from those of the original.
fn differences_of(program: &Path) -> Vec<String> {
    let server = Server::ours(&[]);
    let key = |options: &&[&str]| options.join(" ");
    let of_lines = recorded_lines::differences("iperf3 client", &SHAPES, key, |options| {
        let finished = client(program, &server, "127.0.0.1", options).run();
        let finished = finished.expect_clean();
        (lines(&finished.stdout), finished.account())
    });
    let of_keys = recorded_lines::differences("iperf3 client, keys", &SHAPES, key, |options| {
        let mut options = [&["-J"], *options].concat();
        // The original prints a line of -V in front of the document.
        options.retain(|word| *word != "-V");
        let finished = client(program, &server, "127.0.0.1", &options).run();
        let mut found = BTreeSet::new();
        paths(&document(&finished), "", &mut found);
        (found.into_iter().collect(), finished.account())
    });
    [of_lines, of_keys].concat()
}

#[test]
fn lines_and_keys_are_those_of_the_original() {
    let scratch = Scratch::new();
    recorded_lines::expect_at_most(0, &differences_of(&link(&scratch)));
}

#[test]
#[ignore = "nightly: the original, on a machine that is not busy"]
fn lines_and_keys_are_those_of_the_original_that_runs() {
    let Some(stock) = stock() else { return };
    recorded_lines::expect_at_most(0, &differences_of(&stock));
}

#[test]
fn a_failure_is_one_line_or_a_key_of_the_document_and_status_1() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    let server = Server::ours(&[]);
    for program in [&stock, &own] {
        let options = ["-C", "nosuch", "-t", "1"];
        let finished = client(program, &server, "127.0.0.1", &options).run();
        let finished = finished.expect_exit(1);
        assert_eq!(
            finished.stderr,
            "iperf3: error - unable to set TCP_CONGESTION: Supplied congestion control algorithm \
             not supported on this host\n"
        );
    }
    let gone = Server::ours(&[]);
    let port = gone.port().to_string();
    drop(gone);
    let refused = Invocation::new(&own)
        .args(["-c", "127.0.0.1", "-p", &port, "-J"])
        .patience(PATIENCE)
        .run()
        .expect_exit(1);
    let document: Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!(
        document["error"],
        "unable to connect to server: Connection refused"
    );
    assert_eq!(document["end"], serde_json::json!({}));
    assert_eq!(document["start"]["connected"], serde_json::json!([]));
    let usage = Invocation::new(&own).args(["-c", "h", "--sctp"]).run();
    let usage = usage.expect_exit(1);
    assert_eq!(
        usage.stderr,
        "iperf3: parameter error - --sctp is not served by this program\n"
    );
}
