//! Whole programs in virtual time (`lab/shadow`): what is about time, order and loss.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use netperf_testkit::sim::{self, SimRun};
use netperf_testkit::{SimLink, SimProcess, Simulation, Values, ours};
use serde_json::Value;

const KEYS: &str = "THROUGHPUT,ELAPSED_TIME,LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD";

/// A run of netperf with these words before `--` over a link, with a forking netserver.
fn netperf(link: SimLink, words: &str, test_words: &str) -> Simulation {
    let programs = ours!();
    let server = SimProcess::new(&programs.netserver, "-D -4");
    let words = format!("-4 -H server -P 0 {words} -- {test_words}");
    Simulation::of_two(link, server, SimProcess::new(&programs.netperf, &words))
}

/// A link to netperf with a name that makes it another program. It has the same path in each run,
/// and replaces whatever else is there.
pub(crate) fn linked(netperf: &Path, name: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (link, number) = (folder.join(name), NUMBER.fetch_add(1, Ordering::Relaxed));
    let new = folder.join(format!("{name}-{}-{number}", std::process::id()));
    std::os::unix::fs::symlink(netperf, &new).expect("a link");
    std::fs::rename(&new, &link).expect("a link in place");
    link
}

/// The file of an original.
pub(crate) fn stock(name: &str) -> PathBuf {
    Path::new("/usr/bin").join(name)
}

/// The figures of a run that ended with status 0 and without a message.
#[track_caller]
fn figures(run: &SimRun) -> Values {
    let client = run.of("client");
    assert_eq!(client.end.status(), Some(0), "{}", run.account());
    assert_eq!(client.stderr, "", "{}", run.account());
    Values::parse(&client.stdout)
}

#[track_caller]
fn assert_near(value: f64, expected: f64, part: f64) {
    let error = (value - expected).abs();
    assert!(error <= expected * part, "{value}, not {expected}");
}

#[test]
fn transactions_take_a_round_trip_each() {
    if !sim::available() {
        return;
    }
    for test in ["TCP_RR", "UDP_RR"] {
        let link = SimLink::lossless(100, 10);
        let words = format!("-l 10 -t {test}");
        let run = netperf(link, &words, &format!("-k {KEYS}")).run();
        assert_near(figures(&run).number("THROUGHPUT"), 50.0, 0.01);
    }
}

#[test]
fn streams_fill_the_link() {
    if !sim::available() {
        return;
    }
    for (test, words) in [
        ("TCP_STREAM", ""),
        ("TCP_MAERTS", ""),
        ("UDP_STREAM", "-m 1400"),
        ("TCP_STREAM --flows 4", ""),
        ("TCP_STREAM --warmup 1", ""),
    ] {
        let link = SimLink::lossless(8, 10);
        let run = netperf(
            link,
            &format!("-l 4 -t {test}"),
            &format!("{words} -k {KEYS}"),
        )
        .run();
        assert_near(figures(&run).number("THROUGHPUT"), 7.6, 0.1);
    }
}

#[test]
fn a_part_of_a_second_ends_what_netserver_alone_sends() {
    if !sim::available() {
        return;
    }
    let tests = [
        "-t TCP_MAERTS",
        "-t TCP_MAERTS --flows 2",
        "-t TCP_MAERTS --flows 2 --warmup 200ms",
        "-t OMNI -- -T udp -d recv -m ,1400",
    ];
    let programs = ours!();
    let pairs = tests.map(|test| {
        let words = format!("-4 -H server --json --time 1.3s {test}");
        (
            SimProcess::new(&programs.netserver, "-D -4"),
            SimProcess::new(&programs.netperf, &words),
        )
    });
    let run = Simulation::of_pairs(SimLink::lossless(4, 5), pairs.into()).run();
    for (index, test) in tests.iter().enumerate() {
        let both = run.pair(index);
        let client = both[0];
        let end = (client.end.status(), client.stderr.as_str());
        assert_eq!(end, (Some(0), ""), "{test}: {both:#?}");
        let document: Value = serde_json::from_str(&client.stdout).expect("a document");
        let iteration = &document["iterations"][0];
        let elapsed = iteration["elapsed_seconds"].as_f64().expect("a time");
        let warmup = if test.contains("--warmup") { 0.2 } else { 0.0 };
        assert_near(elapsed, warmup + 1.3, 0.02);
        let rate = iteration["throughput_bits_per_second"].as_f64();
        let share = rate.expect("a rate") / 4e6;
        assert!((0.85..1.0).contains(&share), "{test}: {share}");
    }
}

#[test]
fn a_rate_is_kept() {
    if !sim::available() {
        return;
    }
    let link = SimLink::lossless(100, 10);
    let run = netperf(
        link,
        "-l 4 -t UDP_STREAM --rate 10M",
        &format!("-m 1400 -k {KEYS}"),
    )
    .run();
    assert_near(figures(&run).number("THROUGHPUT"), 10.0, 0.01);
}

#[test]
fn an_iperf2_test_ends_when_its_figure_is_known() {
    if !sim::available() {
        return;
    }
    let programs = ours!();
    for direction in ["", "--reverse"] {
        let iperf = linked(&programs.netperf, "iperf");
        let words = format!(
            "--iperf2 -4 -H server --json --until 20% -l 30 --rate 8M {direction} -- -m 8K"
        );
        let client = SimProcess::new(&programs.netperf, &words);
        let run = Simulation::of_two(
            SimLink::lossless(20, 10),
            SimProcess::new(&iperf, "-s"),
            client,
        )
        .run();
        let client = run.of("client");
        let document: Value = serde_json::from_str(&client.stdout).expect("a document");
        assert_eq!(document["until"]["end"], "reached", "{}", run.account());
        let seconds = document["iterations"][0]["elapsed_seconds"].as_f64();
        assert!(seconds < Some(25.0), "{}", run.account());
    }
}

#[test]
fn until_judges_datagrams_by_what_arrives() {
    if !sim::available() {
        return;
    }
    for (options, end) in [
        ("", "reached"),
        ("--flows 2", "reached"),
        ("--until 0.01%", "too noisy"),
    ] {
        let link = SimLink {
            loss: 0.05,
            ..SimLink::lossless(100, 10)
        };
        let words = format!("--json --until 5% --time 20s -t UDP_STREAM --rate 4M {options}");
        let run = netperf(link, &words, "-m 1000").run();
        let client = run.of("client");
        assert_eq!(client.end.status(), Some(0), "{}", run.account());
        let document: Value = serde_json::from_str(&client.stdout).expect("a document");
        let (until, result) = (&document["until"], &document["result"]);
        assert_eq!(until["end"], end, "{until}");
        assert_eq!(until["course"], "stable", "{until}");
        // Netserver's samples are 20 ms apart, netperf's own at most 10.
        let interval = until["interval_seconds"].as_f64().expect("an interval");
        assert!(interval > 0.015, "{until}");
        let throughput = until["throughput"]["value"].as_f64().expect("a value");
        assert_near(throughput, 3.8, 0.03);
        assert_near(
            throughput,
            result["throughput"].as_f64().expect("a value"),
            1e-9,
        );
        if end != "reached" {
            let half = until["throughput"]["half_width_percent"].as_f64();
            let advice = until["would_take_seconds"].as_f64();
            assert!(half > Some(0.01) && advice > Some(20.0), "{until}");
            assert!(
                client.stderr.contains("without --until"),
                "{}",
                client.stderr
            );
        }
    }
}

/// Documents of so many clients, each with a server, on a link that loses a fifth of the packets, and
/// what they said.
fn documents_with_loss(words: &str) -> Vec<(Value, String)> {
    const PAIRS: usize = 20;
    let programs = ours!();
    let words = format!("-4 -H server --json {words}");
    let pair = || {
        (
            SimProcess::new(&programs.netserver, "-D -4"),
            SimProcess::new(&programs.netperf, &words),
        )
    };
    let link = SimLink {
        loss: 0.2,
        ..SimLink::lossless(5, 10)
    };
    let pairs: Vec<_> = std::iter::repeat_with(pair).take(PAIRS).collect();
    let run = Simulation::of_pairs(link, pairs).run();
    let of = |index| {
        let [client, _] = run.pair(index);
        let document = serde_json::from_str(&client.stdout).expect("a document");
        (document, client.stderr.clone())
    };
    (0..PAIRS).map(of).collect()
}

#[test]
fn a_clock_that_lost_messages_kept_from_being_read_gives_no_false_interval() {
    if !sim::available() {
        return;
    }
    let words = "-D 0.5 -l 2 -t UDP_STREAM --rate 1M -- -m 1000";
    for (document, said) in documents_with_loss(words) {
        let all = document["iterations"][0]["remote"]["received_bytes"].as_u64();
        // So much loss may keep the data or the result from arriving.
        if all.unwrap_or(0) < 150_000 {
            continue;
        }
        for interval in document["intervals"].as_array().expect("intervals") {
            let sent = interval["sent_bytes"].as_f64().expect("what was sent");
            let Some(arrived) = interval["arrived_bytes"].as_f64() else {
                continue;
            };
            let share = arrived / sent;
            assert!((0.4..1.05).contains(&share), "{interval}: {said}");
        }
        assert!(!said.contains("nothing arrived"), "{said}");
    }
}

#[test]
fn datagrams_that_came_long_before_netperf_knew_of_them_are_told() {
    if !sim::available() {
        return;
    }
    for (document, said) in documents_with_loss("-l 2 -t OMNI -- -T udp -d recv -m ,1400") {
        let Some(throughput) = document["result"]["throughput"].as_f64() else {
            continue;
        };
        let told = said.contains("when its answer to the request arrived");
        assert!(told || throughput < 5.0, "{throughput}: {said}");
    }
}

#[test]
fn warm_up_leaves_the_rate_of_what_arrived_and_not_of_what_was_sent() {
    if !sim::available() {
        return;
    }
    for options in ["--warmup 0.5", "--warmup 0.5 --cooldown 0.5 --flows 2"] {
        let link = SimLink {
            loss: 0.05,
            ..SimLink::lossless(10, 10)
        };
        let words = format!("--time 4s -t UDP_STREAM --rate 4M {options}");
        let run = netperf(link, &words, &format!("-m 1000 -k {KEYS}")).run();
        // The rate is that of all flows.
        assert_near(figures(&run).number("THROUGHPUT"), 3.8, 0.03);
    }
}

#[test]
fn until_has_the_rate_of_the_link_and_not_that_of_the_send_buffer() {
    if !sim::available() {
        return;
    }
    // The buffer takes half a minute of the first link's data, which netperf does not wait for.
    for (mbit, test, test_words) in [
        (1_u32, "TCP_STREAM", "-m 128K"),
        (1, "UDP_STREAM", "-m 1400"),
        (10, "TCP_STREAM", "-m 128K"),
    ] {
        let words = format!("-l 60 --until 10% -t {test}");
        let link = SimLink::lossless(mbit.into(), 20);
        let run = netperf(link, &words, &format!("{test_words} -k {KEYS}")).run();
        let client = run.of("client");
        assert_eq!(client.end.status(), Some(0), "{}", run.account());
        let rate = Values::parse(&client.stdout).number("THROUGHPUT");
        assert_near(rate, f64::from(mbit) * 0.97, 0.1);
    }
}

#[test]
fn flows_count_only_the_middle_between_warm_up_and_cool_down() {
    if !sim::available() {
        return;
    }
    for (test, work) in [
        ("TCP_RR", "transactions"),
        ("TCP_STREAM", "sent_bytes"),
        ("TCP_MAERTS", "received_bytes"),
    ] {
        let link = SimLink::lossless(20, 1);
        let words = format!("-t {test} -j --time 2 --flows 4 --warmup 500ms --cooldown 0.5 --json");
        let simulated = netperf(link, &words, "-s 32768 -S 32768").run();
        let client = simulated.of("client");
        assert_eq!(client.end.status(), Some(0), "{}", simulated.account());
        let document: Value = serde_json::from_str(&client.stdout).expect("a document");
        let run = &document["iterations"][0];
        let whole = run["local"][work].as_u64().expect("a count");
        let each = run["flows"]["each"].as_array().expect("flows");
        let counted: u64 = each.iter().filter_map(|flow| flow[work].as_u64()).sum();
        assert!(
            counted > 0 && counted < whole,
            "{test}: {counted} of {whole}"
        );
        let seconds = run["flows"]["counted_seconds"].as_f64().expect("a time");
        assert_near(seconds, 2.0, 0.01);
        assert!(run["elapsed_seconds"].as_f64() > Some(2.9), "{test}");
        let rate = document["result"]["throughput"].as_f64().expect("a rate");
        let expected = if test == "TCP_RR" { 4.0 * 500.0 } else { 19.0 };
        assert_near(rate, expected, 0.1);
        let (sent, received) = (
            &run["local"]["sent_bytes"],
            &run["remote"]["received_bytes"],
        );
        assert_eq!(sent, received, "{test}");
    }
}

#[test]
fn an_interrupted_run_has_the_rate_of_the_link() {
    if !sim::available() {
        return;
    }
    for mbit in [1_u32, 10] {
        for (at, options) in [
            (2500, ""),
            (4700, ""),
            (3300, "--flows 2"),
            (4700, "--warmup 0.5"),
        ] {
            let link = SimLink::lossless(mbit.into(), 20);
            let words = format!("-l 10 -t UDP_STREAM {options}");
            let mut simulated = netperf(link, &words, &format!("-m 1400 -k {KEYS}"));
            let client = &mut simulated.hosts[0].processes[0];
            client.signal = Some((Duration::from_millis(at), "SIGINT"));
            let run = simulated.run();
            // Headers are 2 percent of it.
            assert_near(
                figures(&run).number("THROUGHPUT"),
                f64::from(mbit) * 0.98,
                0.025,
            );
        }
    }
}

#[test]
fn a_run_whose_server_does_not_answer_after_a_signal_has_no_figure() {
    if !sim::available() {
        return;
    }
    // The queue of the link has data of many seconds before the server's end.
    let link = SimLink {
        bits_per_second: 100_000,
        ..SimLink::lossless(1, 20)
    };
    let mut simulated = netperf(link, "-l 10 -t UDP_STREAM", &format!("-m 1400 -k {KEYS}"));
    let client = &mut simulated.hosts[0].processes[0];
    client.signal = Some((Duration::from_millis(5000), "SIGINT"));
    let run = simulated.run();
    let client = run.of("client");
    assert_eq!(client.end.status(), Some(0), "{}", run.account());
    let said = "what arrived there is unknown";
    assert!(client.stderr.contains(said), "{}", run.account());
    let rate = Values::parse(&client.stdout).number("THROUGHPUT");
    assert!(rate < 0.0, "{}", run.account());
}

#[test]
fn a_session_whose_client_is_killed_ends_and_one_of_a_client_that_runs_does_not() {
    if !sim::available() {
        return;
    }
    for (signal, left) in [(None, 1), (Some((Duration::from_secs(2), "SIGKILL")), 0)] {
        let mut simulated = netperf(SimLink::lossless(10, 10), "-l 60 -t UDP_RR", "");
        simulated.hosts[0].processes[0].signal = signal;
        simulated.length = Duration::from_secs(8);
        simulated.notes_left = true;
        let run = simulated.run();
        assert_eq!(run.left_at("server").len(), left, "{}", run.account());
    }
}
