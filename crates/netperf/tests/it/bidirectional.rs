//! Bulk data both ways at once: both ends count the same in each direction, and what cannot
//! be is refused.

use std::time::Duration;

use netperf_testkit::{
    Finished, Invocation, Netserver, Place, Programs, Values, eventually, ours, procfs,
};

/// Selectors that every test reads.
const SELECTED: &str = "THROUGHPUT,ELAPSED_TIME,BIDIRECTIONAL,\
                        LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD,REMOTE_BYTES_SENT,\
                        LOCAL_BYTES_RECVD,REMOTE_RECV_THROUGHPUT,LOCAL_RECV_THROUGHPUT,\
                        LOCAL_CPU_UTIL,REMOTE_CPU_UTIL,LOCAL_UDP_RECEIVED,LOCAL_UDP_LOST,\
                        REMOTE_UDP_RECEIVED,REMOTE_UDP_LOST,LOCAL_SEND_CALLS,\
                        REMOTE_SEND_CALLS,LOCAL_RECV_CALLS,REMOTE_RECV_CALLS";

fn invocation(server: &Netserver, over: &str, words: &str) -> Invocation {
    ours!()
        .client_of(server)
        .args(["--bidirectional", over])
        .args(words.split_whitespace())
}

fn run(server: &Netserver, over: &str, words: &str) -> Finished {
    invocation(server, over, words).run()
}

/// Values of a run, with options in front of `--` and behind it.
fn measured(server: &Netserver, over: &str, options: &str) -> Values {
    let (front, behind) = options.split_once(" -- ").unwrap_or((options, ""));
    let words = format!("{front} -- -k {SELECTED} {behind}");
    run(server, over, &words).expect_clean().values()
}

/// In each direction something was sent, and all of it arrived.
#[track_caller]
fn all_arrived(values: &Values) {
    values.arrived_both_ways();
    the_sum_is_of_both(values);
}

#[track_caller]
fn the_sum_is_of_both(values: &Values) {
    let parts = values.number("REMOTE_RECV_THROUGHPUT") + values.number("LOCAL_RECV_THROUGHPUT");
    let sum = values.number("THROUGHPUT");
    assert!((sum - parts).abs() <= 0.02 + sum * 1e-6, "{values:?}");
}

#[test]
fn both_ends_count_the_same_in_each_direction_of_one_connection() {
    let server = ours!().serve_with_rings();
    for options in [
        "-t TCP_MAERTS --count 2000000",
        "-t TCP_STREAM --count 20000 -- -m 100 -M 1000",
        "-t OMNI --count 2000000",
        "-t TCP_STREAM --time 1 -b 3 -w 1ms -c -C",
        "-t STREAM_STREAM --count 2000000",
    ] {
        // The Unix-domain tests have no selectors.
        if options.contains("STREAM_STREAM") {
            let words = "-t OMNI --count 2000000 -- -T unix";
            all_arrived(&measured(&server, "same", words));
            let text = run(&server, "same", options).expect_clean().stdout;
            assert!(text.contains("from netserver"), "{text}");
            continue;
        }
        let values = measured(&server, "same", options);
        assert_eq!(values.text("BIDIRECTIONAL"), "same");
        all_arrived(&values);
        if options.contains("-c -C") {
            assert!((0.0..=100.5).contains(&values.number("LOCAL_CPU_UTIL")));
            assert!((0.0..=100.5).contains(&values.number("REMOTE_CPU_UTIL")));
        }
    }
}

#[test]
fn an_amount_is_met_in_each_direction() {
    let server = ours!().serve_with_rings();
    for over in ["same", "separate"] {
        let values = measured(&server, over, "-t TCP_STREAM --count 5000001");
        all_arrived(&values);
        assert_eq!(values.count("LOCAL_BYTES_SENT"), 5_000_001);
        assert_eq!(values.count("REMOTE_BYTES_SENT"), 5_000_001);
    }
}

#[test]
fn each_way_to_wait_moves_data_both_ways() {
    // A time ends some of them.
    let timed = [("poll", "same"), ("epoll", "separate"), ("uring", "same")];
    each_way_to_wait(|method, over| timed.contains(&(method, over)).then_some("300ms"));
}

#[test]
#[ignore = "nightly: a second at full speed for each of ten cases"]
fn each_way_to_wait_moves_data_both_ways_until_a_time_is_over() {
    each_way_to_wait(|_, _| Some("1"));
}

fn each_way_to_wait(time: impl Fn(&str, &str) -> Option<&'static str>) {
    let server = ours!().serve_with_rings();
    let rings = netperf_os::uring::Uring::new(1, None).is_ok();
    for method in ["poll", "epoll", "uring", "uring,poll", "epoll,"] {
        if method.contains("uring") && !rings {
            // refused_by_kernel.rs has the refusal.
            continue;
        }
        for over in ["same", "separate"] {
            let count = format!("-t TCP_STREAM --count 5000001 --io {method}");
            let values = measured(&server, over, &count);
            all_arrived(&values);
            assert_eq!(values.count("LOCAL_BYTES_SENT"), 5_000_001);
            assert_eq!(values.count("REMOTE_BYTES_SENT"), 5_000_001);
            if let Some(time) = time(method, over) {
                let timed = format!("-t TCP_STREAM --time {time} --io {method}");
                all_arrived(&measured(&server, over, &timed));
            }
            let datagrams = format!("-t UDP_STREAM --count 60000 --io {method} -- -m 1000");
            let values = measured(&server, over, &datagrams);
            assert!(values.count("REMOTE_BYTES_RECVD") > 0, "{values:?}");
            assert!(values.count("LOCAL_BYTES_RECVD") > 0, "{values:?}");
            the_sum_is_of_both(&values);
        }
        if method == "uring" {
            let words = format!("--io uring -t OMNI --count 2000000 -- -T unix -k {CALLS}");
            let values = run(&server, "same", &words).expect_clean().values();
            for end in ["LOCAL", "REMOTE"] {
                // One call of the kernel for each message.
                let each = values.number(&format!("{end}_MESSAGES_PER_CALL"));
                assert!(each > 0.0 && each <= 1.0, "{values:?}");
                assert_eq!(values.text(&format!("{end}_IO_METHOD")), "uring");
            }
        }
    }
}

/// Selectors of the calls underneath.
const CALLS: &str =
    "LOCAL_MESSAGES_PER_CALL,REMOTE_MESSAGES_PER_CALL,LOCAL_IO_METHOD,REMOTE_IO_METHOD";

#[test]
fn each_direction_may_have_a_connection_of_its_own() {
    let server = ours!().serve_with_rings();
    let values = measured(
        &server,
        "separate",
        "-t TCP_STREAM --time 1 -b 3 -w 1ms -c -C",
    );
    assert_eq!(values.text("BIDIRECTIONAL"), "separate");
    all_arrived(&values);
    let values = measured(
        &server,
        "separate",
        "-t UDP_STREAM --count 60000 -- -m 1000",
    );
    assert!(values.count("REMOTE_BYTES_RECVD") > 0, "{values:?}");
    assert!(values.count("LOCAL_BYTES_RECVD") > 0, "{values:?}");
    the_sum_is_of_both(&values);
}

#[test]
fn datagrams_go_both_ways_over_one_socket_and_what_is_lost_is_told_for_each() {
    let server = ours!().serve_with_rings();
    let options = "-t UDP_STREAM --count 300000 --sequence -- -m 1000";
    let values = measured(&server, "same", options);
    for (sender, receiver) in [("LOCAL", "REMOTE"), ("REMOTE", "LOCAL")] {
        let count = |end: &str, name: &str| values.count(&format!("{end}_{name}"));
        let received = count(receiver, "UDP_RECEIVED");
        assert!(received > 0, "{values:?}");
        assert_eq!(received, count(receiver, "RECV_CALLS"), "{values:?}");
        let all = received + count(receiver, "UDP_LOST");
        // An end that did not see the other's end knows of none behind its last.
        assert!(all <= count(sender, "SEND_CALLS"), "{values:?}");
    }
    the_sum_is_of_both(&values);
}

#[test]
fn a_signal_ends_both_directions_in_an_orderly_way() {
    let server = ours!().serve_with_rings();
    // Little is under way when the signal comes, so that all of it arrives.
    let words = format!("-t TCP_STREAM -l 60 -D 0.05 -- -s 65536 -S 65536 -k {SELECTED}");
    let mut running = invocation(&server, "same", &words).spawn();
    let patience = netperf_testkit::process::PATIENCE;
    assert!(running.prints("INTERIM_RESULT", patience));
    // The result is netperf's alone: netserver sends once it has worked for a while from now on.
    let work = || -> Duration {
        server
            .sessions()
            .iter()
            .map(|session| procfs::processor_time(*session))
            .sum()
    };
    let enough = work() + Duration::from_millis(50);
    assert!(
        eventually(patience, || work() >= enough),
        "{}",
        running.stderr()
    );
    running.signal("INT");
    let finished = running.finish();
    let values = Values::parse(&finished.stdout);
    all_arrived(&values);
    assert!(values.number("ELAPSED_TIME") < 59.0, "{values:?}");
}

#[test]
fn a_signal_leaves_the_sends_of_netserver_unknown_and_not_zero() {
    let server = ours!().serve_with_rings();
    let words = format!("-t TCP_STREAM -l 60 -D 0.05 -- -k {SELECTED}");
    let mut running = invocation(&server, "separate", &words).spawn();
    let patience = netperf_testkit::process::PATIENCE;
    assert!(running.prints("INTERIM_RESULT[3]", patience));
    running.signal("INT");
    let values = Values::parse(&running.finish().stdout);
    values.sends_of_netserver_are_known_or_missing();
    the_sum_is_of_both(&values);
}

#[test]
fn bidirectional_refuses_tests_that_have_one_direction() {
    let server = ours!().serve_with_rings();
    for (options, reason) in [
        ("-t TCP_RR", "only in stream tests"),
        ("-t TCP_CRR", "only in stream tests"),
        ("-t TCP_SENDFILE", "only in stream tests"),
        ("-t DG_STREAM", "only over TCP"),
        ("-t TCP_STREAM --flows 2 --rate 1G", "--bidirectional"),
        ("-t TCP_STREAM --threads 2 -N", "only with a netserver"),
        ("-t UDP_STREAM -- -n", "not together with -n"),
        ("-t TCP_STREAM -N", "only with a netserver"),
    ] {
        for over in ["same", "separate"] {
            let refused = run(&server, over, options).expect_exit(3);
            let said = &refused.stderr;
            assert!(said.contains(reason), "{options}: {said}");
        }
    }
    let refused = run(&server, "separate", "-t UDP_STREAM --sequence").expect_exit(3);
    assert!(refused.stderr.contains("give same"), "{}", refused.stderr);
}

#[test]
fn a_stock_netserver_takes_two_connections_and_is_not_asked_for_one() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    let refused = run(&server, "same", "-t TCP_STREAM").expect_exit(3);
    assert!(
        refused.stderr.contains("--bidirectional"),
        "{}",
        refused.stderr
    );
    let values = measured(&server, "separate", "-t TCP_STREAM --time 1");
    let count = |name| values.count(name);
    assert_eq!(count("LOCAL_BYTES_SENT"), count("REMOTE_BYTES_RECVD"));
    // It does not count a send that the end of time cuts short (decision 0004).
    let uncounted = count("LOCAL_BYTES_RECVD") - count("REMOTE_BYTES_SENT");
    assert!((0..1 << 20).contains(&uncounted), "{values:?}");
    the_sum_is_of_both(&values);
}
