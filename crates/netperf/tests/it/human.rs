//! `--human`: the summary of one test for a person.

use netperf_testkit::{Finished, Invocation, ours};

/// A short test against a server of this build.
fn run(words: &str, environment: &[(&str, &str)]) -> Finished {
    let server = ours!().serve();
    let port = server.port().to_string();
    let start = Invocation::new(&ours!().netperf)
        .args(["-H", "127.0.0.1", "-p", &port, "--time", "300ms"])
        .args(words.split_whitespace());
    let with = |start: Invocation, (name, value): &(&str, &str)| start.env(name, value);
    environment.iter().fold(start, with).run()
}

/// The titles of lines of a summary.
fn titles(finished: &Finished) -> Vec<String> {
    let lines = finished.stdout.lines();
    let lines = lines.filter(|line| !line.starts_with(' '));
    let title = |line: &str| line.chars().take(10).collect::<String>();
    lines
        .map(|line| title(line).trim_end().to_owned())
        .collect()
}

#[test]
fn the_summary_of_a_test_has_what_it_measures_in_80_columns() {
    for (words, expected) in [
        (
            "",
            &[
                "Test", "This end", "That end", "Send", "TCP", "CPU", "Doubt",
            ][..],
        ),
        ("--reverse", &["Test", "Receive", "CPU"]),
        ("-t TCP_RR", &["Test", "Rate", "Latency", "CPU"]),
        ("-t TCP_CC", &["Test", "Rate", "Latency"]),
        (
            "--udp --rate 5M --sequence",
            &["Test", "Arrived", "UDP", "CPU"],
        ),
        (
            "--udp --reverse --rate 5M --sequence",
            &["Test", "Receive", "UDP", "CPU"],
        ),
        (
            "--udp --bidirectional same --sequence",
            &["Test", "Send", "Receive", "UDP out", "UDP in"],
        ),
        ("--flows 2", &["Test", "Send", "Flows"]),
        ("--bidirectional same", &["Test", "Send", "Receive"]),
        ("-t STREAM_STREAM", &["Test", "Send"]),
    ] {
        let finished = run(&format!("{words} --human"), &[]).expect_clean();
        let found = titles(&finished);
        for title in expected {
            assert!(
                found.iter().any(|found| found == title),
                "{title}: {}",
                finished.account()
            );
        }
        for line in finished.stdout.lines() {
            assert!(line.len() <= 80 && line == line.trim_end(), "{line:?}");
        }
        // TCP_INFO has whole microseconds.
        let trip = finished.stdout.split_once("round trip ");
        let number = trip.and_then(|(_, trip)| trip.split_once(" us at the end"));
        let whole = number.is_none_or(|(number, _)| number.parse::<u32>().is_ok());
        assert!(whole, "{}", finished.account());
        // The tests' locale has no Unicode, and no terminal is there.
        assert!(finished.stdout.is_ascii(), "{}", finished.account());
        assert!(!finished.stdout.contains('\x1b'), "{}", finished.account());
    }
}

#[test]
fn a_locale_with_unicode_has_the_course_of_the_rate() {
    let finished = run("--human --time 2s", &[("LC_ALL", "C.UTF-8")]).expect_clean();
    let send = finished
        .stdout
        .lines()
        .find(|line| line.starts_with("Send"));
    let bar = |letter: char| ('▁'..='█').contains(&letter);
    assert!(
        send.is_some_and(|send| send.contains(bar)),
        "{}",
        finished.account()
    );
    let wide = finished
        .stdout
        .lines()
        .find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
}

#[test]
fn the_environment_asks_for_it_by_one_value_and_options_of_output_win() {
    let asked = [("NETPERF_OUTPUT", "human")];
    let is_summary = |finished: &Finished| finished.stdout.starts_with("Test ");
    let summary = run("-t TCP_RR", &asked).expect_clean();
    assert!(is_summary(&summary), "{}", summary.account());
    for value in ["", "Human", "1", "json"] {
        let classic = run("-t TCP_RR", &[("NETPERF_OUTPUT", value)]).expect_clean();
        assert!(
            classic.stdout.starts_with("MIGRATED"),
            "{value}: {}",
            classic.account()
        );
    }
    for words in [
        "-P 0",
        "-v 0",
        "-D 0.1",
        "--json",
        "-- -k THROUGHPUT",
        "-- -o",
        "-- -O all",
    ] {
        let other = run(&format!("-t TCP_RR {words}"), &asked).expect_clean();
        assert!(!is_summary(&other), "{words}: {}", other.account());
    }
}

#[test]
fn another_output_beside_it_is_refused() {
    for words in ["--json", "--json-stream", "-- -k THROUGHPUT", "-- -o"] {
        let refused = run(&format!("--human {words}"), &[]);
        assert_eq!(refused.status.code(), Some(3), "{}", refused.account());
        assert!(
            refused.stderr.contains("--human: "),
            "{}",
            refused.account()
        );
    }
}
