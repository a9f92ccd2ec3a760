//! Many flows in one process: both ends count the same, results are those of all flows,
//! and whatever happens ends in time.

use std::time::Duration;

use netperf_testkit::process::signal;
use netperf_testkit::{
    Finished, Invocation, Netserver, Place, Programs, Running, Scratch, Values, eventually,
    machine, ours, require,
};
use serde_json::Value;

/// Exit status for what an end cannot do.
const UNSUPPORTED: i32 = 3;
/// More than a stock netserver sends in one call.
const LARGEST_SEND: i64 = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(60);

const SELECTION: &str = "THROUGHPUT,ELAPSED_TIME,FLOWS,LOCAL_THREADS,REMOTE_THREADS,FAIRNESS,\
    START_SKEW_USEC,SETUP_USEC,LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD,LOCAL_BYTES_RECVD,\
    REMOTE_BYTES_SENT,LOCAL_SEND_CALLS,REMOTE_RECV_CALLS";

/// netperf of ours against a netserver at an address of this host.
fn client(server: &Netserver, address: &str, words: &str) -> Invocation {
    Invocation::new(&ours!().netperf)
        .args(["-H", address, "-p", &server.port().to_string()])
        .args(words.split_whitespace())
        .patience(PATIENCE)
}

fn run(server: &Netserver, words: &str) -> Finished {
    client(server, "127.0.0.1", words).run()
}

/// A run that netserver has a session for, and that moves data.
fn under_way(server: &Netserver, words: &str) -> Running {
    let mut running = client(server, "127.0.0.1", words).spawn();
    assert!(running.works(Duration::from_secs(60)));
    assert!(!server.sessions().is_empty());
    running
}

/// True if the sessions of a netserver end soon.
fn no_session_is_served(server: &Netserver) -> bool {
    eventually(Duration::from_secs(30), || server.sessions().is_empty())
}

/// Both ends counted the same bytes, and some.
fn agree(values: &Values, sends: bool, receives: bool, account: &str) {
    for (used, sent, received) in [
        (sends, "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD"),
        (receives, "REMOTE_BYTES_SENT", "LOCAL_BYTES_RECVD"),
    ] {
        let (sent, received) = (values.count(sent), values.count(received));
        assert_eq!(sent, received, "{account}");
        assert_eq!(sent > 0, used, "{account}");
    }
}

const TESTS: [(&str, bool, bool); 3] = [
    ("TCP_STREAM", true, false),
    ("TCP_MAERTS", false, true),
    ("TCP_RR", true, true),
];

/// An amount of which 2,000 flows have a share.
fn amount(test: &str) -> &'static str {
    match test {
        "TCP_RR" => "-4000",
        _ => "-4000000",
    }
}

#[test]
fn both_ends_count_the_same_whatever_the_number_of_flows_and_threads() {
    let server = ours!().serve();
    for (test, sends, receives) in TESTS {
        for flows in [1, 7, 64] {
            for threads in [1, 2] {
                let words = format!(
                    "-t {test} -l {} --flows {flows} --threads {threads} -- -k {SELECTION}",
                    amount(test)
                );
                let finished = run(&server, &words).expect_clean();
                let (values, account) = (finished.values(), finished.account());
                agree(&values, sends, receives, &account);
                assert_eq!(values.count("FLOWS"), flows, "{account}");
                let threads = threads.min(flows);
                assert_eq!(values.count("LOCAL_THREADS"), threads, "{account}");
                assert_eq!(values.count("REMOTE_THREADS"), threads, "{account}");
                assert!(values.number("THROUGHPUT") > 0.0, "{account}");
                let skew = values.number("START_SKEW_USEC");
                assert_eq!(skew > 0.0, flows > 1, "{account}");
                let fairness = values.number("FAIRNESS");
                assert!(fairness > 0.0 && fairness <= 1.0, "{account}");
            }
        }
    }
}

/// True if this host has the loopback address of IPv6.
fn ipv6() -> bool {
    let present = std::net::UdpSocket::bind("[::1]:0").is_ok();
    require::require(present, "IPv6", "enable it (net.ipv6.conf.lo.disable_ipv6)")
}

#[test]
fn flows_run_over_ipv6_and_over_other_transports_than_tcp() {
    let server = ours!().serve();
    if ipv6() {
        let words = format!("-t TCP_RR -l -500 --flows 5 -- -k {SELECTION}");
        let finished = client(&server, "::1", &words).run().expect_clean();
        agree(&finished.values(), true, true, &finished.account());
    }
    for transport in ["unix", "unix-seqpacket"] {
        let words = format!(
            "-t OMNI -l -500 --flows 5 -- -T {transport} -d send|recv -r 8,8 -k {SELECTION}"
        );
        let finished = run(&server, &words).expect_clean();
        agree(&finished.values(), true, true, &finished.account());
    }
}

#[test]
fn two_thousand_flows_are_opened_served_and_closed() {
    let _slot = machine::slot();
    let server = ours!().serve();
    for (test, sends, receives) in TESTS {
        let words = format!(
            "-t {test} -l {} --flows 2000 -- -k {SELECTION}",
            amount(test)
        );
        let finished = run(&server, &words).expect_clean();
        agree(&finished.values(), sends, receives, &finished.account());
        assert_eq!(finished.values().count("FLOWS"), 2000);
    }
    let gone = eventually(Duration::from_secs(10), || server.sessions().is_empty());
    assert!(gone, "{:?}", server.sessions());
}

#[test]
fn an_amount_is_for_all_flows_together_and_met_exactly() {
    let server = ours!().serve();
    let amount = |test: &str, limit: &str| {
        let sizes = if test == "TCP_RR" { "-r 10,20" } else { "" };
        let words = format!("-t {test} -l {limit} --flows 7 --threads 2 -- {sizes} -k {SELECTION}");
        let finished = run(&server, &words).expect_clean();
        finished.values()
    };
    let rr = amount("TCP_RR", "-1000");
    assert_eq!(rr.count("LOCAL_BYTES_SENT"), 10_000);
    assert_eq!(rr.count("REMOTE_BYTES_SENT"), 20_000);
    let stream = amount("TCP_STREAM", "-1000003");
    assert_eq!(stream.count("REMOTE_BYTES_RECVD"), 1_000_003);
    let maerts = amount("TCP_MAERTS", "-1000003");
    assert_eq!(maerts.count("LOCAL_BYTES_RECVD"), 1_000_003);
}

#[test]
fn requests_overlap_on_every_flow_with_a_burst() {
    let server = ours!().serve();
    let words =
        format!("-t OMNI -j -l -5000 --flows 4 -- -d send|recv -b 3 -r 2000,3000 -k {SELECTION}");
    let values = run(&server, &words).expect_clean().values();
    assert_eq!(values.count("REMOTE_BYTES_RECVD"), 10_000_000);
    assert_eq!(values.count("LOCAL_BYTES_RECVD"), 15_000_000);
}

#[test]
fn a_netserver_of_another_make_serves_each_flow_over_a_control_connection_of_its_own() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    for (test, sends, receives) in TESTS {
        for flows in [1, 7] {
            // An amount is enough, but for the end of time of a sender that does not count all.
            let limit = match test {
                "TCP_RR" => "-l -700",
                "TCP_MAERTS" if flows > 1 => "-l 1",
                _ => "-l -3000000",
            };
            let words = format!("-t {test} {limit} --flows {flows} --threads 2, -- -k {SELECTION}");
            let finished = run(&server, &words).expect_clean();
            let (values, account) = (finished.values(), finished.account());
            if sends {
                agree(&values, sends, receives, &account);
            } else {
                // It does not count the part of a send that its end of time cut short.
                let uncounted =
                    values.count("LOCAL_BYTES_RECVD") - values.count("REMOTE_BYTES_SENT");
                let most = flows * LARGEST_SEND;
                assert!((0..=most).contains(&uncounted), "{account}");
            }
            assert_eq!(values.count("FLOWS"), flows, "{account}");
            assert_eq!(values.count("REMOTE_THREADS"), -1, "{account}");
        }
    }
    let words = format!("-t TCP_RR -l -1000 --flows 7 -- -k {SELECTION}");
    let values = run(&server, &words).expect_clean().values();
    assert_eq!(values.count("REMOTE_BYTES_RECVD"), 1000);
    let refused = run(&server, "-t TCP_RR -l 1 --flows 2 --remote-cpus 0");
    assert_eq!(
        refused.status.code(),
        Some(UNSUPPORTED),
        "{}",
        refused.account()
    );
    assert!(
        refused.stderr.contains("stock netserver"),
        "{}",
        refused.account()
    );
}

#[test]
fn confidence_repeats_a_test_of_many_flows_over_the_same_control_connections() {
    let servers = [Some(ours!()), Programs::stock()];
    for programs in servers.iter().flatten() {
        let server = Netserver::start(programs, &Place::Here);
        let words = "-t TCP_RR -l -60 --flows 3 -i 3,3 -I 99,1 --json";
        let finished = run(&server, words).expect_clean();
        let document = finished.document();
        let iterations = document["iterations"].as_array().expect("iterations");
        assert_eq!(iterations.len(), 3);
    }
}

/// Tests whose messages are all answered or all arrive, with what is behind `--`.
const FURTHER: [(&str, &str, bool, bool); 11] = [
    ("UDP_RR", "-r 20,30", true, true),
    ("UDP_RR", "-n -N -r 20,30", true, true),
    ("TCP_CRR", "-r 20,30", true, true),
    ("OMNI", "-T tls -d send", true, false),
    ("OMNI", "-T tls -d recv", false, true),
    ("OMNI", "-T tls -d rr -r 20,30", true, true),
    ("OMNI", "-T unix -c -d rr -r 20,30", true, true),
    ("TCP_RR --io poll", "-r 20,30", true, true),
    ("TCP_STREAM --io epoll", "-m 1000", true, false),
    ("TCP_STREAM --discard", "", true, false),
    ("UDP_STREAM -b 1 -w 20", "-m 1000", true, false),
];

#[test]
fn every_kind_of_test_has_many_flows_and_both_ends_count_the_same() {
    every_kind_has_flows(5);
}

#[test]
#[ignore = "nightly: one flow of each kind of test at full speed"]
fn every_kind_of_test_has_one_flow_of_many_and_both_ends_count_the_same() {
    every_kind_has_flows(1);
}

fn every_kind_has_flows(flows: i64) {
    let server = ours!().serve();
    for (test, behind, sends, receives) in FURTHER {
        let words = format!("-t {test} --time 150ms --flows {flows} -- {behind} -k {SELECTION}");
        let finished = run(&server, &words).expect_clean();
        let (values, account) = (finished.values(), finished.account());
        agree(&values, sends, receives, &account);
        assert_eq!(values.count("FLOWS"), flows, "{account}");
        assert!(values.number("FAIRNESS") > 0.0, "{account}");
    }
}

#[test]
fn datagrams_of_every_flow_arrive_at_a_socket_of_its_own() {
    let server = ours!().serve();
    let words =
        format!("-t UDP_STREAM --time 300ms --flows 40 --threads 2 -- -m 1000 -k {SELECTION}");
    let finished = run(&server, &words).expect_clean();
    let (values, account) = (finished.values(), finished.account());
    let (sent, received) = (
        values.count("LOCAL_BYTES_SENT"),
        values.count("REMOTE_BYTES_RECVD"),
    );
    assert!(received > 0 && received <= sent, "{account}");
    assert_eq!(values.count("REMOTE_THREADS"), 2, "{account}");
    assert!(no_session_is_served(&server));
}

#[test]
fn no_two_flows_of_datagrams_share_a_port() {
    let server = ours!().serve();
    // A flow whose answers reach another flow never ends. The socket buffers have space for this
    // many messages even if no end receives them.
    let words = format!("-t UDP_RR -l -1800 --flows 900 --threads 2 -- -r 100,100 -k {SELECTION}");
    let finished = run(&server, &words).expect_clean();
    assert_eq!(
        finished.values().count("LOCAL_BYTES_RECVD"),
        1800 * 100,
        "{}",
        finished.account()
    );
}

#[test]
fn an_amount_of_transactions_is_met_exactly_by_tests_of_every_kind() {
    let server = ours!().serve();
    for test in ["UDP_RR", "TCP_CRR"] {
        let words = format!("-t {test} -l -500 --flows 7 -- -r 10,20 -k {SELECTION}");
        let values = run(&server, &words).expect_clean().values();
        assert_eq!(values.count("REMOTE_BYTES_RECVD"), 5000);
        assert_eq!(values.count("LOCAL_BYTES_RECVD"), 10_000);
    }
}

#[test]
fn the_report_draws_every_flow_and_verbosity_2_has_a_line_for_each() {
    let server = ours!().serve();
    let json = run(&server, "-t TCP_RR --time 300ms --flows 5 --json").expect_clean();
    let folder = Scratch::new();
    std::fs::write(folder.path().join("rr.json"), &json.stdout).expect("a result");
    Invocation::new(&ours!().netperf)
        .args(["report", "rr.json", "-o", "page.html", "--csv", "page.csv"])
        .folder(folder.path())
        .run()
        .expect_clean();
    let table = std::fs::read_to_string(folder.path().join("page.csv")).expect("a table");
    for flow in 1..=5 {
        assert!(table.contains(&format!("flow {flow}")), "{table}");
    }
    for (flows, wanted) in [
        (3, ["\n1 ", "\n2 ", "\n3 "]),
        (70, ["slowest", "median", "fastest"]),
    ] {
        let words = format!("-t TCP_RR --time 300ms --flows {flows} -v 2");
        let finished = run(&server, &words).expect_clean();
        for word in wanted {
            assert!(finished.stdout.contains(word), "{}", finished.account());
        }
    }
}

#[test]
fn tests_without_a_selection_have_many_flows_as_well() {
    let server = ours!().serve();
    for test in ["TCP_SENDFILE", "TCP_CC"] {
        let words = format!("-t {test} --time 300ms --flows 5 --json");
        let document = run(&server, &words).expect_clean().document();
        let run = &document["iterations"][0];
        let (ours, theirs) = if test == "TCP_CC" {
            (
                &run["local"]["transactions"],
                &run["remote"]["transactions"],
            )
        } else {
            (
                &run["local"]["sent_bytes"],
                &run["remote"]["received_bytes"],
            )
        };
        assert!(ours.as_u64() > Some(0), "{test}");
        // A netserver tells no transactions.
        assert!(theirs == ours || theirs.is_null(), "{test}: {theirs}");
        assert_eq!(run["flows"]["each"].as_array().map(Vec::len), Some(5));
    }
}

#[test]
fn a_pace_is_that_of_every_flow() {
    let server = ours!().serve();
    let (flows, burst, interval) = (4.0, 2.0, 0.02);
    for test in ["TCP_RR", "UDP_RR", "TCP_CRR"] {
        let words = format!(
            "-t {test} -b 2 -w 20 --time 500ms --flows 4 --threads 2 -- \
             -k THROUGHPUT,ELAPSED_TIME"
        );
        let finished = run(&server, &words).expect_clean();
        let values = finished.values();
        let elapsed = values.number("ELAPSED_TIME");
        let done = values.number("THROUGHPUT") * elapsed;
        // A busy host may send less than its pace.
        let most = flows * burst * (elapsed / interval + 2.0);
        assert!(done > 0.0 && done <= most, "{}", finished.account());
    }
}

#[test]
fn a_netserver_of_another_make_serves_further_kinds_as_well() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    for test in ["UDP_RR", "TCP_CRR"] {
        let words = format!("-t {test} -l -200 --flows 4 -- -k {SELECTION}");
        let finished = run(&server, &words).expect_clean();
        agree(&finished.values(), true, true, &finished.account());
    }
    let words = format!("-t UDP_STREAM -l -40000 --flows 4 -- -m 1000 -k {SELECTION}");
    let values = run(&server, &words).expect_clean().values();
    assert!(values.count("REMOTE_BYTES_RECVD") > 0);
}

#[test]
fn json_has_every_flow_and_the_threads_that_served_them() {
    let server = ours!().serve();
    let words = "-t TCP_RR -j --time 100ms --flows 5 --cpus 0 --remote-cpus 0,0 --json -c -C";
    let document = run(&server, words).expect_clean().document();
    let run = &document["iterations"][0];
    let each = run["flows"]["each"].as_array().expect("flows");
    assert_eq!(each.len(), 5);
    let sum: u64 = each
        .iter()
        .filter_map(|flow| flow["transactions"].as_u64())
        .sum();
    assert_eq!(Some(sum), run["local"]["transactions"].as_u64());
    assert!(
        each.iter()
            .all(|flow| flow["transactions"].as_u64() > Some(0))
    );
    assert_eq!(run["local"]["workers"]["threads"], 1);
    assert_eq!(run["local"]["workers"]["cpus"], serde_json::json!([0]));
    assert_eq!(run["remote"]["workers"]["threads"], 2);
    assert_eq!(run["remote"]["workers"]["cpus"], serde_json::json!([0, 0]));
    assert_eq!(document["latency"]["count"].as_u64(), Some(sum));
    assert!(run["remote"]["cpu"]["busy_percent"].is_number());
    assert_eq!(document["test"]["many"]["flows"], 5);
}

#[test]
fn flows_refuse_what_they_cannot_do_in_one_line() {
    let server = ours!().serve_with_rings();
    for (words, why) in [
        (
            "-t UDP_STREAM --sequence --flows 2 --warmup 1",
            "leave out --warmup",
        ),
        ("-t TCP_RR --io uring --flows 3 --threads 2", "--threads 3"),
        ("-t TCP_RR -l -100 --warmup 1", "where a time ends the test"),
        ("-t TCP_MSS --flows 2 --warmup 1", "leave out --warmup"),
        ("-t TCP_RR --cpus 100000", "no CPU 100000"),
        ("-t TCP_RR --place node:4000", "no NUMA node 4000"),
        ("-t TCP_RR --place near-irq", "no interrupts"),
        ("-t TCP_RR --flows 1000000", "limit of open files"),
        (
            "-t OMNI --flows 2 --place pack -- -T udp -d recv",
            "not --place",
        ),
        (
            "-t OMNI --flows 2 -- -T sctp-many -d send",
            "are associations",
        ),
        (
            "-t OMNI --flows 3 --threads 2 -- -T tls -d send",
            "use --threads 3",
        ),
        (
            "-t OMNI --flows 3 --threads 2 -- -T tls -c -d rr",
            "use --threads 3",
        ),
    ] {
        let finished = run(&server, &format!("-l 1 -P 0 {words}"));
        let account = finished.account();
        assert_eq!(finished.status.code(), Some(UNSUPPORTED), "{account}");
        assert!(finished.stderr.contains(why), "{account}");
        assert_eq!(finished.stderr.lines().count(), 1, "{account}");
    }
}

#[test]
fn flows_of_tcp_mss_connect_and_carry_nothing() {
    let server = ours!().serve();
    let one = run(&server, "-t TCP_MSS -P 0").expect_clean().stdout;
    for words in ["", " --threads 2 --cpus 0 --remote-cpus 0", " --rate 1M"] {
        let many = run(&server, &format!("-t TCP_MSS -P 0 --flows 4{words}"));
        assert_eq!(many.expect_clean().stdout, one, "{words}");
    }
    let many = run(&server, "-t TCP_MSS --flows 4 --json");
    let flows = &many.expect_clean().document()["iterations"][0]["flows"];
    let each = flows["each"].as_array().expect("flows");
    let empty = |flow: &Value| flow["sent_bytes"] == 0 && flow["remote_received_bytes"] == 0;
    assert_eq!(each.iter().filter(|flow| empty(flow)).count(), 4);
}

#[test]
fn a_signal_ends_a_run_early_and_prints_what_was_measured() {
    let server = ours!().serve();
    for (test, sends, _) in TESTS {
        let words = format!("-t {test} -l 30 --flows 6 -- -k {SELECTION}");
        let running = under_way(&server, &words);
        signal(running.pid(), "INT");
        let finished = running.finish();
        let account = finished.account();
        assert!(finished.status.success(), "{account}");
        let values = finished.values();
        assert!(values.number("ELAPSED_TIME") < 29.0, "{account}");
        let moved = if sends {
            "LOCAL_BYTES_SENT"
        } else {
            "LOCAL_BYTES_RECVD"
        };
        assert!(values.count(moved) > 0, "{account}");
        assert!(no_session_is_served(&server));
    }
}

#[test]
fn a_killed_session_ends_the_run_with_a_reason() {
    let server = ours!().serve();
    for (test, _, _) in TESTS {
        let words = format!("-t {test} -l 30 --flows 40");
        let running = under_way(&server, &words);
        server
            .sessions()
            .into_iter()
            .for_each(|session| signal(session, "KILL"));
        let finished = running.finish();
        let account = finished.account();
        assert_eq!(finished.status.code(), Some(1), "{account}");
        assert!(!finished.stderr.is_empty(), "{account}");
    }
}

#[test]
fn a_killed_client_leaves_no_session_behind() {
    let server = ours!().serve();
    for (test, _, _) in TESTS {
        let words = format!("-t {test} -l 30 --flows 40");
        let running = under_way(&server, &words);
        signal(running.pid(), "KILL");
        drop(running.finish());
        assert!(no_session_is_served(&server));
    }
}

#[test]
fn flows_use_the_data_paths_of_one_flow() {
    let server = ours!().serve();
    for (options, sends) in [
        ("-t TCP_STREAM -l -3000000 --zerocopy", true),
        ("-t TCP_STREAM -l -3000000 --splice", true),
        ("-t TCP_MAERTS -l -3000000 --splice", false),
        ("-t TCP_STREAM -l -3000000 --io auto", true),
        ("-t TCP_STREAM -l -3000000 -k 64,64", true),
    ] {
        let words = format!("{options} --flows 3 --threads 2 -- -k {SELECTION}");
        let finished = run(&server, &words).expect_clean_or_copied();
        agree(&finished.values(), sends, !sends, &finished.account());
    }
    for options in ["-V", "-r 10,20"] {
        let words = format!("-t TCP_RR -l -600 --flows 3 -k 64,64 -- {options} -k {SELECTION}");
        let finished = run(&server, &words).expect_clean();
        agree(&finished.values(), true, true, &finished.account());
    }
}

#[test]
fn each_of_many_flows_sends_batches_and_both_ends_count_datagrams() {
    let server = ours!().serve();
    for option in [
        "--batch 8",
        "--segment-offload on",
        "--batch 2 --segment-offload on",
    ] {
        let words = format!("-t UDP_STREAM -l -400000 --flows 2 {option} --json -- -m 1000");
        let finished = run(&server, &words).expect_clean();
        let (document, account) = (document(&finished), finished.account());
        let [local, remote] = ["local", "remote"].map(|end| &document["iterations"][0][end]);
        assert_eq!(local["send_calls"], 400, "{account}");
        assert_eq!(local["sent_bytes"], 400_000, "{account}");
        let calls = local["io"]["send_system_calls"].as_u64();
        assert!(calls.is_some_and(|calls| calls < 400), "{account}");
        let received = [&remote["recv_calls"], &remote["received_bytes"]].map(Value::as_u64);
        let [Some(datagrams @ 1..), Some(bytes)] = received else {
            panic!("{account}");
        };
        assert_eq!(bytes, datagrams * 1000, "{account}");
    }
}

#[test]
fn datagrams_of_many_flows_have_numbers_and_what_is_lost_is_counted() {
    let server = ours!().serve();
    for (options, sent) in [("-l -400000 --batch 8", 400), ("-l -300000 --flows 3", 300)] {
        let words = format!("-t UDP_STREAM --flows 2 --sequence {options} --json -- -m 1000");
        let finished = run(&server, &words).expect_clean();
        let (document, account) = (document(&finished), finished.account());
        let [local, remote] = ["local", "remote"].map(|end| &document["iterations"][0][end]);
        assert_eq!(local["datagrams"]["sent"], sent, "{account}");
        let got = &remote["datagrams"];
        assert_eq!(got["received"], remote["recv_calls"], "{account}");
        let [received, lost] = ["received", "lost"].map(|count| got[count].as_u64());
        assert_eq!(
            received.zip(lost).map(|(a, b)| a + b),
            Some(sent),
            "{account}"
        );
        assert_eq!(got["unnumbered"], 0, "{account}");
    }
}

#[test]
fn both_ends_of_many_flows_have_a_flow_label() {
    if !ipv6() {
        return;
    }
    let server = ours!().serve();
    for test in ["UDP_STREAM -l -200000", "UDP_RR -l -50"] {
        let words = format!("-t {test} --flows 2 --flow-label 74565 --json");
        let finished = client(&server, "::1", &words).run().expect_clean();
        let document = document(&finished);
        for end in ["local", "remote"] {
            let options = &document[end]["agreed"]["socket_options"];
            assert_eq!(options["flow_label"], 74_565, "{}", finished.account());
        }
    }
}

fn document(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).expect("JSON")
}
