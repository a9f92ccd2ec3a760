//! Going on until figures are known, by the clock of the host: signals, output, what is refused,
//! and data of netserver, whose socket tells it of the end. Other ends before the time are tested
//! in virtual time (`tests/sim`).

use netperf_testkit::documents::{assert_reached, assert_same_at_both_ends, number};
use netperf_testkit::process::PATIENCE;
use netperf_testkit::{Finished, Netserver, Place, eventually, ours};
use serde_json::Value;

/// The longest time: a judgement takes about half of it at least, and more on a busy host.
const LONGEST: &str = "10s";
const LONGEST_SECONDS: f64 = 10.0;

fn server() -> Netserver {
    ours!().serve()
}

/// One that logs each session.
fn logging() -> Netserver {
    Netserver::start_with(&ours!(), &Place::Here, &["-D", "--log", "json"], &[])
}

/// Its log of the first session.
fn session(server: &Netserver) -> Value {
    let line = || {
        let said = server.said().1;
        let whole = said.lines().find(|line| line.contains("\"session\""));
        whole.and_then(|line| serde_json::from_str(line).ok())
    };
    let mut found: Option<Value> = None;
    eventually(PATIENCE, || {
        found = line();
        found.is_some()
    });
    found.unwrap_or_else(|| panic!("no session in {}", server.said().1))
}

fn run(server: &Netserver, words: &str) -> Finished {
    ours!()
        .client_of(server)
        .args(words.split_whitespace())
        .run()
}

fn codes(document: &Value) -> Vec<&str> {
    let all = document["warnings"].as_array().expect("warnings");
    let codes = all.iter().filter_map(|one| one["code"].as_str());
    // Both ends are on this host, which may be busy.
    codes
        .filter(|code| !["one_host", "cpu_bound"].contains(code))
        .collect()
}

/// A run of which so little is asked that it ends as soon as it is judged.
fn reached(server: &Netserver, words: &str) -> Value {
    let finished = run(
        server,
        &format!("--json --time {LONGEST} --until 90% {words}"),
    );
    let document = finished.document();
    assert_reached(&document, LONGEST_SECONDS, &finished.account());
    document
}

#[test]
fn until_ends_a_test_of_netservers_data_early_and_every_byte_arrives() {
    let server = logging();
    let document = reached(&server, "-t TCP_MAERTS --rate 100M");
    assert_same_at_both_ends(&document, "received_bytes", "sent_bytes");
    let elapsed = number(&document["iterations"][0]["remote"]["elapsed_seconds"]);
    assert!(elapsed < LONGEST_SECONDS, "{elapsed}");
    let line = session(&server);
    assert_eq!(line["end"], "finished", "{line}");
    assert_eq!(line["tests"], 1, "{line}");
    assert_eq!(line["failed"], Value::Null, "{line}");
}

#[test]
fn many_flows_that_netserver_alone_sends_end_before_their_time() {
    let document = reached(&server(), "-t TCP_MAERTS --rate 100M --flows 4 --threads 2");
    assert_same_at_both_ends(&document, "received_bytes", "sent_bytes");
}

#[test]
fn data_both_ways_over_two_connections_ends_before_its_time() {
    let server = server();
    for words in ["-t TCP_STREAM", "-t UDP_STREAM -- -m 1000,1000"] {
        let words = words.replace(
            "STREAM",
            "STREAM --bidirectional separate -b 1,1 -w 2ms,2ms",
        );
        let document = reached(&server, &words);
        if words.contains("TCP") {
            assert_same_at_both_ends(&document, "received_bytes", "sent_bytes");
            assert_same_at_both_ends(&document, "sent_bytes", "received_bytes");
        } else {
            // A reader that a busy host holds up loses datagrams.
            let iteration = &document["iterations"][0];
            for (from, to) in [("local", "remote"), ("remote", "local")] {
                let sent = number(&iteration[from]["sent_bytes"]);
                let received = number(&iteration[to]["received_bytes"]);
                assert!(received > 0.0 && received <= sent, "{iteration}");
            }
        }
    }
}

#[test]
fn many_flows_both_ways_over_two_connections_end_before_their_time() {
    let server = server();
    for threads in [1, 2] {
        let words = format!(
            "-t TCP_STREAM --bidirectional separate --flows 3 --threads {threads} -b 1,1 -w 2ms,2ms"
        );
        let document = reached(&server, &words);
        assert_same_at_both_ends(&document, "received_bytes", "sent_bytes");
        assert_same_at_both_ends(&document, "sent_bytes", "received_bytes");
    }
}

#[test]
fn cpu_utilisation_is_that_of_the_time_until_the_end() {
    let words = "--json --time 1s --until 90% -t TCP_STREAM -c -C --rate 100M";
    let document = run(&server(), words).document();
    assert_same_at_both_ends(&document, "sent_bytes", "received_bytes");
    let result = &document["result"];
    for end in ["local", "remote"] {
        let busy = number(&result[format!("{end}_cpu_percent")]);
        assert!(busy > 0.0 && busy <= 100.5, "{busy}");
    }
}

/// Log of netserver for a run without a longest time that SIGINT ends.
fn interrupted() -> Value {
    let server = logging();
    let words = "-t TCP_MAERTS --until 1% -l 0 --rate 10M -D 0.05 --json-stream";
    let client = ours!().client_of(&server);
    let mut running = client.args(words.split_whitespace()).spawn();
    assert!(running.prints("\"interval\"", PATIENCE));
    running.signal("INT");
    let finished = running.finish();
    assert!(finished.status.success(), "{}", finished.account());
    session(&server)
}

// Tolerance: netperf waits for half a second for netserver to hear of it, which may be too little on
// a machine that does something else.
#[test]
#[ignore = "nightly: netserver has half a second, judged by time"]
fn a_signal_ends_what_netserver_alone_sends_as_if_it_were_enough() {
    let line = interrupted();
    let is_clean = line["tests"] == 1 && line["failed"] == Value::Null;
    assert!(is_clean, "netserver was never told: {line}");
}

#[test]
fn a_netperf_that_goes_away_has_not_had_enough() {
    let server = logging();
    // So slow that nothing is unread when it goes: its connection ends as it would by itself.
    let words = "-t TCP_MAERTS --until 1% -l 60 --rate 1M -D 0.05 --json-stream";
    let client = ours!().client_of(&server);
    let mut running = client.args(words.split_whitespace()).spawn();
    assert!(running.prints("\"interval\"", PATIENCE));
    running.signal("KILL");
    let line = session(&server);
    assert_ne!(line["end"], "finished", "{line}");
}

#[test]
fn a_run_that_is_over_too_soon_says_so_and_has_its_result_all_the_same() {
    let server = server();
    let finished = run(&server, "--time 100ms -t TCP_RR --until 1%");
    assert!(finished.status.success(), "{}", finished.account());
    let said = "netperf: --until: 1% was not reached: ";
    assert!(finished.stderr.starts_with(said), "{}", finished.account());
    assert!(finished.stderr.contains("too short to judge"));
    assert!(
        finished
            .stdout
            .contains("Until 1% @ 95% conf.: too short after ")
    );
    assert!(
        finished.stdout.contains(" Trans/s +/-?\n"),
        "{}",
        finished.account()
    );
    let finished = run(
        &server,
        "--json --time 100ms -t TCP_RR --until 1% --until-confidence 99",
    );
    let document = finished.document();
    assert_eq!(codes(&document), ["imprecise"]);
    assert_eq!(document["until"]["end"], "too short");
    // Nothing is judged: looks that came late would make the narrowest of intervals.
    let throughput = &document["until"]["throughput"];
    assert!(throughput["half_width"].is_null(), "{throughput}");
    assert!(throughput["half_width_percent"].is_null(), "{throughput}");
    assert_eq!(document["until"]["confidence_percent"], 99.0);
}

#[test]
fn scripts_that_want_one_number_get_one_number() {
    let server = server();
    let finished = run(&server, "-P 0 -v 0 --time 100ms -t TCP_STREAM --until 1%");
    let words: Vec<&str> = finished.stdout.split_whitespace().collect();
    assert_eq!(words.len(), 1, "{}", finished.account());
    let finished = run(&server, "-P 0 --time 100ms -t TCP_STREAM --until 1%");
    assert!(!finished.stdout.contains("Until"), "{}", finished.account());
    let finished = run(
        &server,
        "-P 0 --time 100ms -t TCP_RR --until 1% -- -k UNTIL_END,UNTIL_CONFIDENCE,UNTIL_COURSE",
    );
    assert_eq!(
        finished.stdout,
        "UNTIL_END=too short\nUNTIL_CONFIDENCE=95\nUNTIL_COURSE=unknown\n",
        "{}",
        finished.account()
    );
}

#[test]
fn until_refuses_other_options_for_the_length() {
    let server = server();
    for (words, why) in [
        ("-t TCP_RR --count 100", "no amount"),
        ("-t TCP_RR -I 95,5", "leave out -i and -I"),
        ("-t TCP_STREAM --flows 2 --warmup 1", "leave out --warmup"),
        ("-t OMNI -- -d recv -T sctp", "before its time is over"),
        ("-t TCP_CRR", "for every operation"),
        ("-t DG_STREAM", "before its time is over"),
    ] {
        let finished = run(&server, &format!("--until 1% {words}")).expect_exit(3);
        let said = finished.stderr.as_str();
        assert!(said.starts_with("netperf: --until: "), "{said}");
        assert!(said.contains(why) && said.lines().count() == 1, "{said}");
    }
    let alone = run(&server, "--until-confidence 99").expect_exit(2);
    assert!(alone.stderr.contains("give --until as well"));
}
