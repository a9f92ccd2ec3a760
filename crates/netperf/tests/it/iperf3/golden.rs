//! Output of our client and server called as iperf3 against transcripts of iperf3 3.12
//! (`golden_iperf/iperf3.json`): lines with figures masked, and keys of documents with types.

use std::collections::BTreeSet;

use netperf_testkit::congestion;

use super::served::{Alone, lines};
use super::shape::paths;
use super::*;
use crate::iperf2_golden::expect_no_difference;

/// The lines of [`lines`] without commas at the ends of words.
fn comparable(text: &str) -> Vec<String> {
    let words = |line: &String| {
        let words: Vec<&str> = line
            .split(' ')
            .map(|word| word.trim_end_matches(','))
            .collect();
        words.join(" ")
    };
    lines(text).iter().map(words).collect()
}

fn words(case: &Value, key: &str, port: &str) -> Vec<String> {
    let list = case[key].as_array().expect("words");
    let words = list.iter().filter_map(Value::as_str);
    words
        .map(|word| congestion::instead_of_cubic(word).replace("PORT", port))
        .collect()
}

/// Keys and types, without intervals: their number depends on the load of the host, and a server
/// that received nothing in time has none.
fn keys(document: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    paths(document, "", &mut found);
    found.retain(|path| !path.contains("intervals[]"));
    found
}

/// Runs both ends, and returns what differs.
fn difference(program: &Path, case: &Value) -> Option<String> {
    let name = case["name"].as_str().expect("a name");
    let server = Alone::start_by(program, |port| words(case, "server", port));
    let client = Invocation::new(program)
        .args(words(case, "client", &server.port.to_string()))
        .patience(PATIENCE)
        .run();
    let port = server.port.to_string();
    let server = server.running.finish();
    let mut wrong = String::new();
    for (end, finished) in [("client", &client), ("server", &server)] {
        if let Some(text) = case[format!("{end}_text")].as_str() {
            let expected = comparable(&text.replace("PORT", &port));
            let ours = comparable(&finished.stdout);
            // A server that has received nothing before the end prints no rows, or few.
            let short = end == "server" && expected.len() < ours.len();
            let missing = expected.iter().any(|line| !ours.contains(line));
            if ours != expected && (missing || !short) {
                let account = finished.account();
                wrong.push_str(&format!(
                    "{name}, {end}: {ours:#?}\nexpected {expected:#?}\n{account}\n"
                ));
            }
        } else {
            let ours: Value = serde_json::from_str(&finished.stdout).unwrap_or_default();
            let [ours, theirs] = [keys(&ours), keys(&case[format!("{end}_json")])];
            if ours != theirs {
                let [lacks, adds]: [Vec<&String>; 2] = [
                    theirs.difference(&ours).collect(),
                    ours.difference(&theirs).collect(),
                ];
                wrong.push_str(&format!(
                    "{name}, {end}: lacks {lacks:#?}, adds {adds:#?}\n"
                ));
            }
        }
    }
    (!wrong.is_empty()).then_some(wrong)
}

#[test]
fn lines_and_keys_are_those_of_the_transcripts() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let text = include_str!("../golden_iperf/iperf3.json");
    expect_no_difference(text, |case| difference(&own, case));
}
