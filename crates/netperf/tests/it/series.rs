//! Records of `--series` at both ends, and its refusals.

use netperf_testkit::{Finished, Invocation, Netserver, Place, Programs, Scratch, Values, ours};
use serde_json::Value;

/// Exit status for what an end cannot do.
const UNSUPPORTED: i32 = 3;

fn run(server: &Netserver, words: &str) -> Finished {
    ours!()
        .client_of(server)
        .args(["--time", "300ms"])
        .args(words.split_whitespace())
        .run()
}

/// The connections that an end watched, in the first iteration.
fn flows<'v>(document: &'v Value, end: &str) -> &'v [Value] {
    let series = &document["iterations"][0][end]["series"];
    let flows = series["flows"].as_array();
    flows.unwrap_or_else(|| panic!("{end} has no series: {series}"))
}

fn samples(flow: &Value) -> &[Value] {
    flow["samples"].as_array().expect("samples")
}

/// One connection from its beginning to its end, in the order of time.
fn in_order(flow: &Value) {
    let samples = samples(flow);
    assert!(samples.len() >= 2, "{flow}");
    let times: Vec<f64> = samples
        .iter()
        .map(|sample| sample["at_seconds"].as_f64().expect("a time"))
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    // The first is of the beginning, and the last of the end.
    assert!(times[times.len() - 1] >= 0.05, "{times:?}");
    for sample in samples {
        assert!(sample["congestion_window_segments"].as_u64() > Some(0));
        assert!(sample["send_segment_bytes"].as_u64() > Some(0));
    }
}

#[test]
fn both_ends_write_down_the_same_connection_from_its_beginning_to_its_end() {
    let server = ours!().serve();
    for test in ["TCP_STREAM", "TCP_MAERTS", "TCP_RR"] {
        let finished = run(&server, &format!("-t {test} --series 20ms --json")).expect_clean();
        let document = finished.document();
        let [local] = flows(&document, "local") else {
            panic!("{test}: one connection")
        };
        let [remote] = flows(&document, "remote") else {
            panic!("{test}: one connection")
        };
        for flow in [local, remote] {
            in_order(flow);
            assert_eq!(flow["flow"], 1, "{test}");
        }
        assert_eq!(local["netperf_port"], remote["netperf_port"], "{test}");
        // Whichever end sends has a round trip.
        let sender = if test == "TCP_MAERTS" { remote } else { local };
        let last = samples(sender).last().expect("a sample");
        assert!(last["round_trip_microseconds"].as_u64() > Some(0), "{last}");
        assert!(
            last["delivery_bytes_per_second"].as_u64() > Some(0),
            "{last}"
        );
        let asked = &document["remote"]["requested"]["series"];
        assert_eq!(asked["interval_seconds"], 0.02);
    }
}

#[test]
fn either_end_alone_writes_down_its_own() {
    let server = ours!().serve();
    for (ends, local, remote) in [("20ms,0", true, false), ("0,20ms", false, true)] {
        let finished = run(&server, &format!("-t TCP_RR --series {ends} --json")).expect_clean();
        let iteration = &finished.document()["iterations"][0];
        for (end, has) in [("local", local), ("remote", remote)] {
            assert_eq!(iteration[end]["series"].is_null(), !has, "{ends}, {end}");
        }
    }
}

#[test]
fn of_many_flows_both_ends_take_the_same() {
    let server = ours!().serve();
    for test in ["TCP_STREAM", "TCP_MAERTS", "TCP_RR"] {
        let words =
            format!("-t {test} --flows 7 --threads 2 --series 20ms --series-flows 3 --json");
        let document = run(&server, &words).expect_clean().document();
        let (local, remote) = (flows(&document, "local"), flows(&document, "remote"));
        assert_eq!(local.len(), 3, "{test}");
        let named = |flows: &[Value]| -> Vec<(Value, Value)> {
            let name = |flow: &Value| (flow["flow"].clone(), flow["netperf_port"].clone());
            flows.iter().map(name).collect()
        };
        assert_eq!(named(local), named(remote), "{test}");
        local.iter().chain(remote).for_each(in_order);
    }
}

#[test]
fn every_iteration_has_a_series_of_its_own() {
    let server = ours!().serve();
    let words = "-t TCP_RR --series 20ms --json -i 3,3 -I 99,50";
    let document = run(&server, words).expect_clean().document();
    let iterations = document["iterations"].as_array().expect("iterations");
    assert_eq!(iterations.len(), 3);
    for end in ["local", "remote"] {
        let started: Vec<f64> = iterations
            .iter()
            .map(|iteration| &iteration[end]["series"]["started_unix_seconds"])
            .map(|started| started.as_f64().expect("a beginning"))
            .collect();
        assert!(started.windows(2).all(|two| two[0] < two[1]), "{started:?}");
    }
}

#[test]
fn selectors_sum_up_what_both_ends_saw() {
    let server = ours!().serve();
    let selection = "LOCAL_TCP_RTT_MIN,LOCAL_TCP_RTT_MAX,LOCAL_TCP_CWND_MAX,\
                     REMOTE_TCP_RTT_MIN,REMOTE_TCP_RTT_MAX,REMOTE_TCP_CWND_MAX";
    let words = format!("-t TCP_RR --series 20ms -- -k {selection}");
    let values = Values::parse(&run(&server, &words).expect_clean().stdout);
    for end in ["LOCAL", "REMOTE"] {
        let value = |what: &str| values.number(&format!("{end}_TCP_{what}"));
        assert!(value("RTT_MIN") >= 1.0, "{values:?}");
        assert!(value("RTT_MAX") >= 1.0, "{values:?}");
        assert!(value("CWND_MAX") >= 1.0, "{values:?}");
    }
    let words = format!("-t TCP_RR -- -k {selection}");
    let values = Values::parse(&run(&server, &words).expect_clean().stdout);
    assert!(values.number("REMOTE_TCP_RTT_MAX") < 0.0, "{values:?}");
}

#[test]
fn series_of_tests_without_one_are_refused_by_name() {
    let server = ours!().serve();
    for (words, reason) in [
        ("-t UDP_STREAM --series 20ms", "only TCP reports it"),
        ("-t STREAM_STREAM --series 20ms", "only TCP reports it"),
        ("-t TCP_CRR --series 20ms", "for every operation"),
    ] {
        let finished = run(&server, words);
        assert_eq!(
            finished.status.code(),
            Some(UNSUPPORTED),
            "{}",
            finished.account()
        );
        assert!(
            finished.stderr.contains("--series"),
            "{}",
            finished.account()
        );
        assert!(finished.stderr.contains(reason), "{}", finished.account());
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.account());
    }
    let finished = run(&server, "-t TCP_RR --series 10us");
    assert_eq!(finished.status.code(), Some(2), "{}", finished.account());
}

#[test]
fn a_stock_netserver_is_not_asked_and_this_end_alone_works_with_it() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    for words in [
        "-t TCP_RR --series 20ms",
        "-t TCP_RR --flows 2 --series 20ms",
    ] {
        let finished = run(&server, words);
        assert_eq!(
            finished.status.code(),
            Some(UNSUPPORTED),
            "{}",
            finished.account()
        );
        assert!(
            finished.stderr.contains("--series"),
            "{}",
            finished.account()
        );
    }
    // It reckons in whole seconds.
    for words in ["-t TCP_RR", "-t TCP_RR --flows 2"] {
        let words = format!("{words} --time 300ms --series 20ms,0 --json");
        let document = run(&server, &words).expect_clean().document();
        flows(&document, "local").iter().for_each(in_order);
        assert!(document["iterations"][0]["remote"]["series"].is_null());
    }
}

#[test]
fn the_report_draws_what_both_ends_saw() {
    let server = ours!().serve();
    let folder = Scratch::new();
    let finished = run(&server, "-t TCP_STREAM --series 20ms --json").expect_clean();
    std::fs::write(folder.path().join("run.json"), &finished.stdout).expect("a file");
    let written = Invocation::new(&ours!().netperf)
        .folder(folder.path())
        .args(["report", "run.json", "-o", "-"])
        .run()
        .expect_clean();
    for chart in ["tcp-window", "tcp-round-trip", "tcp-retransmitted"] {
        let page = &written.stdout;
        assert!(page.contains(&format!("id=\"chart-{chart}\"")), "{chart}");
    }
    for end in ["client", "server"] {
        let escaped = end.replace('\'', "&#39;");
        let lines = written.stdout.matches(end).count() + written.stdout.matches(&escaped).count();
        assert!(lines >= 3, "{end} has {lines} lines");
    }
}
