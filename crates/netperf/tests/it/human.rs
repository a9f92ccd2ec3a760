//! `--human`: the summary of one test for a person.

use netperf_testkit::{Finished, Invocation, ours};

/// A short test against a server of this build.
fn run(words: &str, environment: &[(&str, &str)]) -> Finished {
    let server = ours!().serve();
    let port = server.port().to_string();
    let start = Invocation::new(&ours!().netperf)
        .args(["-H", "127.0.0.1", "-p", &port, "--time", "200ms"])
        .args(words.split_whitespace());
    let with = |start: Invocation, (name, value): &(&str, &str)| start.env(name, value);
    environment.iter().fold(start, with).run()
}

#[test]
fn summary_has_the_answer_first_and_what_was_measured_below() {
    for (words, answer, expected) in [
        (
            "",
            "bit/s from client to server (TCP_STREAM to 127.0.0.1, ",
            &[
                "To server",
                "TCP",
                "CPU",
                "Limited by",
                "Warning",
                "Client",
                "Server",
            ][..],
        ),
        (
            "--reverse",
            "bit/s from server to client (TCP_MAERTS to 127.0.0.1, ",
            &["To client", "CPU"],
        ),
        (
            "-t TCP_RR",
            " transactions/s, latency P50 ",
            &["Rate", "CPU", "Latency", "requests"],
        ),
        (
            "-t TCP_CC",
            " connections/s, latency P50 ",
            &["Rate", "Latency"],
        ),
        (
            "--udp --rate 5M --sequence",
            "bit/s from client to server, 0 % lost (UDP_STREAM to ",
            &["To server", "UDP", "CPU", "Limited by"],
        ),
        (
            "--udp --reverse --rate 5M --sequence",
            " from server to client, 0 % lost (",
            &["To client", "UDP", "CPU"],
        ),
        (
            "--udp --bidirectional same --sequence",
            " from client to server, ",
            &["To server", "To client", "UDP out", "UDP in"],
        ),
        ("--flows 2", " flows)", &["To server", "Flow", "2 flows,"]),
        ("--flows 17", " 17 flows)", &["To server", "17 flows:"]),
        (
            "--bidirectional same",
            " from client to server, ",
            &["To server", "To client"],
        ),
        (
            "-t STREAM_STREAM",
            "bit/s from client to server (",
            &["To server"],
        ),
    ] {
        let finished = run(&format!("{words} --human"), &[]).expect_clean();
        let first = finished.stdout.lines().next().unwrap_or_default();
        let second = finished.stdout.lines().nth(1).unwrap_or_default();
        // A long answer continues on the second line.
        let head = format!("{first} {second}");
        assert!(head.contains(answer), "{answer}: {}", finished.account());
        for title in expected {
            let has = |line: &str| line.starts_with(title);
            assert!(
                finished.stdout.lines().any(has),
                "{title}: {}",
                finished.account()
            );
        }
        for line in finished.stdout.lines() {
            assert!(line.len() <= 80 && line == line.trim_end(), "{line:?}");
        }
        // The tests' locale has no Unicode, and no terminal is there.
        assert!(finished.stdout.is_ascii(), "{}", finished.account());
        assert!(!finished.stdout.contains('\x1b'), "{}", finished.account());
        for word in ["10^", "his end", "hat end", "Doubt"] {
            assert!(!finished.stdout.contains(word), "{}", finished.account());
        }
    }
}

#[test]
fn summary_has_hosts_last_and_the_count_of_latencies() {
    let finished = run("--human -t TCP_RR", &[]).expect_clean();
    let lines: Vec<&str> = finished.stdout.lines().collect();
    let last = lines.iter().rposition(|line| line.starts_with("Server  "));
    let client = lines.iter().rposition(|line| line.starts_with("Client  "));
    assert!(client < last, "{}", finished.account());
    let below = lines
        .get(last.unwrap_or_default() + 1..)
        .unwrap_or_default();
    assert!(
        below.iter().all(|line| line.starts_with(' ')),
        "{}",
        finished.account()
    );
    let head = lines.iter().position(|line| line.starts_with("Latency "));
    let heads = lines[head.unwrap_or_default()];
    for head in ["P50", "P90", "P99", "P99.9", "max", "count"] {
        assert!(heads.contains(head), "{}", finished.account());
    }
    let row = lines[head.unwrap_or_default() + 1];
    let count = row.split_whitespace().last().unwrap_or_default();
    assert!(count.parse::<u64>().is_ok(), "{}", finished.account());
}

#[test]
fn summary_is_preceded_by_intervals_that_were_asked_for() {
    let finished = run("--human -D 0.1", &[]).expect_clean();
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert!(
        lines[0].starts_with("Time      Seconds       Rate"),
        "{}",
        finished.account()
    );
    let intervals = lines[1..]
        .iter()
        .take_while(|line| line.contains(" to ") && !line.contains('('));
    let intervals: Vec<&&str> = intervals.collect();
    assert!(!intervals.is_empty(), "{}", finished.account());
    let time = intervals[0].get(..8).unwrap_or_default();
    assert_eq!(time.matches(':').count(), 2, "{time}");
    assert!(
        intervals[0].contains("  0.0 to 0."),
        "{}",
        finished.account()
    );
    assert!(intervals[0].contains("bit/s"), "{}", finished.account());
    let answer = lines.get(intervals.len() + 2);
    assert!(
        answer.is_some_and(|line| line.contains("from client to server (")),
        "{}",
        finished.account()
    );
}

#[test]
fn intervals_of_datagrams_have_their_number_each_second() {
    let finished = run("--human -D 0.1 --udp --rate 1M", &[]).expect_clean();
    let rows = finished.stdout.lines().skip(1);
    let rows: Vec<&str> = rows.take_while(|line| line.contains(" to ")).collect();
    assert!(!rows.is_empty(), "{}", finished.account());
    for row in rows {
        assert!(row.ends_with(" packets/s"), "{}", finished.account());
    }
}

#[test]
fn documents_and_histories_measure_what_summaries_measure() {
    let document = run("--json -t TCP_RR", &[]).expect_clean();
    let document: serde_json::Value = serde_json::from_str(&document.stdout).unwrap();
    assert!(document["latency"]["count"].is_u64(), "{document:#}");
    assert!(
        document["iterations"][0]["local"]["cpu"].is_object(),
        "{document:#}"
    );
    assert!(
        document["iterations"][0]["remote"]["cpu"].is_object(),
        "{document:#}"
    );
    let intervals = document["intervals"].as_array().map(Vec::len);
    assert!(intervals.is_some_and(|count| count > 0), "{document:#}");
    let stream = run("--json", &[]).expect_clean();
    let stream: serde_json::Value = serde_json::from_str(&stream.stdout).unwrap();
    let packets = &stream["iterations"][0]["local"]["sent_packets_per_second"];
    assert!(
        stream["latency"].is_null() && !packets.is_string(),
        "{stream:#}"
    );
}

#[test]
fn summary_in_a_locale_with_unicode_has_the_rate_over_time() {
    let finished = run("--human --time 2s", &[("LC_ALL", "C.UTF-8")]).expect_clean();
    let send = finished
        .stdout
        .lines()
        .find(|line| line.starts_with("To server"));
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
    let is_summary =
        |finished: &Finished| finished.stdout.contains(" transactions/s, latency P50 ");
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
