//! Rows of programs whose data is still in queues at the end of the time.

use netperf_testkit::sim;
use netperf_testkit::{SimLink, SimProcess, Simulation, ours};
use serde_json::Value;

use crate::links::{linked, stock};

const MBIT: u64 = 20;

/// Standard output of our server and of our client of iperf 2.
fn outputs(server: &str, client: &str) -> (String, String) {
    let own = linked(&ours!().netperf, "iperf");
    let run = Simulation::of_two(
        SimLink::lossless(MBIT, 10),
        SimProcess::new(&own, server),
        SimProcess::new(&own, client),
    )
    .run();
    assert_eq!(run.of("client").end.status(), Some(0), "{}", run.account());
    let text = |host: &str| run.of(host).stdout.clone();
    (text("server"), text("client"))
}

/// Rates of all rows, Mbit/s, and whether each is a sum.
fn rates(text: &str) -> Vec<(f64, bool)> {
    let rows = text.lines().filter(|line| line.contains("bits/sec"));
    rows.map(|row| {
        let words: Vec<&str> = row.split_whitespace().collect();
        let unit = words.iter().position(|word| word.ends_with("bits/sec"));
        let at = unit.expect("a unit");
        assert_eq!(words[at], "Mbits/sec", "{row}");
        (
            words[at - 1].parse().expect("a rate"),
            row.starts_with("[SUM"),
        )
    })
    .collect()
}

#[test]
fn iperf2_rows_of_a_server_that_sends_include_the_time_of_its_queue() {
    if !sim::available() {
        return;
    }
    let cases = || {
        let of_client = |is_ours| {
            [
                ("-R -t 2", 1),
                ("-R -n 3M", 1),
                ("-d -t 2", 3),
                ("--full-duplex -t 2", 3),
            ]
            .map(|(words, rows)| (is_ours, words, rows))
        };
        [true, false].into_iter().flat_map(of_client)
    };
    let own = linked(&ours!().netperf, "iperf");
    let pairs = cases().map(|(is_ours, words, _)| {
        let client = if is_ours { own.clone() } else { stock("iperf") };
        (
            SimProcess::new(&own, "-s"),
            SimProcess::new(&client, &format!("-c server -i 0 {words}")),
        )
    });
    let run = Simulation::of_pairs(SimLink::lossless(MBIT, 10), pairs.collect()).run();
    for (index, (is_ours, words, rows)) in cases().enumerate() {
        let both = run.pair(index);
        let [client, server] = both;
        assert_eq!(client.end.status(), Some(0), "{is_ours} {words}: {both:#?}");
        let rates = rates(&server.stdout);
        assert_eq!(rates.len(), rows, "{is_ours} {words}: {both:#?}");
        for (rate, is_sum) in rates {
            // Headers are 5 percent of the link, and TCP has to begin.
            let link = 19.0 * if is_sum { 2.0 } else { 1.0 };
            assert!(
                (link * 0.94..link * 1.04).contains(&rate),
                "{is_ours} {words}: {both:#?}"
            );
        }
    }
}

#[test]
fn iperf2_client_shows_the_deviation_of_delays_that_the_server_reports() {
    if !sim::available() {
        return;
    }
    let client = "-c server -u -e -b 22M -t 3 --trip-times";
    let (server, client) = outputs("-s -u -e", client);
    let deviation = |text: &str| {
        let row = text
            .lines()
            .rfind(|line| line.contains(" pps") && line.contains('%'));
        let delays = row.expect("a row").split_whitespace();
        let mut delays = delays.filter(|word| word.matches('/').count() == 3);
        let last = delays.next_back().expect("delays").rsplit('/').next();
        last.and_then(|word| word.parse::<f64>().ok())
            .expect("a deviation")
    };
    let (there, here) = (deviation(&server), deviation(&client));
    // The queue grows to 60 ms and stays full.
    assert!(there > 5.0, "{server}");
    assert!((here / there - 1.0).abs() < 0.01, "{here}, not {there}");
}

#[test]
fn interim_results_and_ends_of_json_add_up_over_a_queue() {
    if !sim::available() {
        return;
    }
    let own = ours!();
    for test in ["UDP_STREAM", "UDP_STREAM --flows 2"] {
        let words = format!("-4 -H server --json -D 0.5 -l 2 -t {test} -- -m 1400 -s 2M");
        let run = Simulation::of_two(
            SimLink::lossless(MBIT, 10),
            SimProcess::new(&own.netserver, "-D -4"),
            SimProcess::new(&own.netperf, &words),
        )
        .run();
        let client = run.of("client");
        let document: Value = serde_json::from_str(&client.stdout).expect("a document");
        let number = |value: &Value| value.as_f64().expect("a number");
        let remote = &document["iterations"][0]["remote"];
        let received = number(&remote["received_bytes"]);
        let rate = received * 8.0 / number(&remote["elapsed_seconds"]);
        let shown = number(&remote["received_bits_per_second"]);
        assert!((rate / shown - 1.0).abs() < 1e-9, "{remote}");
        let lines = document["intervals"].as_array().expect("intervals");
        let arrived: f64 = lines
            .iter()
            .map(|line| number(&line["arrived_bytes"]))
            .sum();
        assert!(
            (arrived / received - 1.0).abs() < 0.01,
            "{lines:?} {remote}"
        );
    }
}
