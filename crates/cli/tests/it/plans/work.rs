//! The test and its length.

use std::time::Duration;

use netperf_cli::{CliError, Command};
use netperf_model::{ConfidencePlan, EndPlan, Flow, Limit, TestId, TransportId};

use crate::common::{error, netperf, run};

#[test]
fn the_length_is_seconds_units_or_until_stopped() {
    for (line, limit) in [
        ("-l 5", Limit::Time(Duration::from_secs(5))),
        ("-l 90.0", Limit::Time(Duration::from_secs(90))),
        ("-l -1M", Limit::Units(1 << 20)),
        ("-l -1000000 -t TCP_MAERTS", Limit::Units(1_000_000)),
        ("-l 0", Limit::UntilStopped),
        ("-l 3 -l 4", Limit::Time(Duration::from_secs(4))),
    ] {
        assert_eq!(run(line).plan.limit, limit, "{line}");
    }
}

#[test]
fn test_names_match_in_any_case_and_the_last_one_wins() {
    assert_eq!(run("-t tcp_rr").plan.test, TestId::TcpRr);
    assert_eq!(run("-tUdp_Stream").plan.test, TestId::UdpStream);
    assert_eq!(run("-t TCP_STREAM -t omni").plan.test, TestId::Omni);
    assert!(matches!(
        netperf("-t tcp_trr -N -- -Q").command,
        Ok(Command::UnknownTest(unknown)) if unknown.name == "TCP_TRR" && unknown.control.is_none()
    ));
}

#[test]
fn the_direction_of_omni_comes_from_d_or_from_what_sizes_imply() {
    let none = Flow {
        sends: false,
        receives: false,
        connects: true,
        duplex: None,
    };
    for (options, flow) in [
        ("", Flow::SEND),
        ("-d rr", Flow::RR),
        ("-d send|recv", Flow::RR),
        ("-d 0x6", Flow::RR),
        ("-d MAERTS", Flow::RECEIVE),
        ("-d bogus", Flow::SEND),
        ("-m 4K", Flow::SEND),
        ("-m ,4K", Flow::RECEIVE),
        ("-M 8K", Flow::SEND),
        ("-M ,8K", Flow::RECEIVE),
        ("-m 4K,4K", Flow::RR),
        ("-m 1k -M 1k", Flow::SEND),
        ("-r 100,200", Flow::RR),
        ("-d send -r 1,1", Flow::SEND),
        ("-r 1,1 -d send", Flow::SEND),
        ("-c", none),
        ("-c -d 0", none),
        ("-c -d rr", Flow::CRR),
        ("-d CRR", Flow::CRR),
        ("-d cc", none),
    ] {
        let line = format!("-t OMNI -- {options}");
        assert_eq!(run(&line).plan.flow, flow, "{line}");
    }
}

#[test]
fn the_migrated_tests_ignore_d_but_not_c() {
    assert_eq!(run("-t TCP_STREAM -- -d recv").plan.flow, Flow::SEND);
    assert_eq!(run("-t TCP_RR -- -c").plan.flow, Flow::CRR);
    let stream = run("-t TCP_STREAM -- -c -m 1").plan.flow;
    assert_eq!(
        stream,
        Flow {
            connects: true,
            ..Flow::SEND
        }
    );
}

#[test]
fn sizes_of_request_and_response_exist_only_where_both_ways_carry_data() {
    for (line, sizes) in [
        ("-t TCP_RR", (Some(1), Some(1))),
        ("-t TCP_RR -- -r 64,4K", (Some(64), Some(4096))),
        ("-t TCP_RR -- -r128", (Some(128), Some(128))),
        ("-t TCP_RR -- -r ,32", (Some(1), Some(32))),
        ("-t TCP_RR -- -r abc", (Some(0), Some(0))),
        ("-t TCP_CC -- -r 5,6", (Some(5), Some(6))),
        ("-t TCP_STREAM -- -r 5,6", (None, None)),
        ("-t OMNI -- -d rr", (Some(1), Some(1))),
        ("-t OMNI -- -c", (None, None)),
    ] {
        let plan = run(line).plan;
        assert_eq!((plan.request, plan.response), sizes, "{line}");
    }
}

#[test]
fn the_transport_comes_from_the_test_and_from_big_and_small_t() {
    for (options, transport) in [
        ("-t OMNI -- -T UDP", TransportId::Udp),
        ("-H vsock:3 -t OMNI", TransportId::Vsock),
        ("-H vsock:3 -t OMNI -- -H server", TransportId::Tcp),
        ("-H vsock:3 -t OMNI -- -T unix", TransportId::UnixStream),
        ("-t OMNI -- -T udplite", TransportId::UdpLite),
        ("-t OMNI -- -T bogus", TransportId::IpDefault),
        ("-t OMNI -- -t dgram -T udp", TransportId::Udp),
        ("-t OMNI -- -T bogus -t dgram", TransportId::Udp),
        ("-t UDP_RR -- -T bogus", TransportId::Udp),
        ("-t UDP_RR", TransportId::Udp),
        ("-t TCP_CC -- -T 5", TransportId::Tcp),
    ] {
        assert_eq!(run(options).plan.transport, transport, "{options}");
    }
    assert!(matches!(error("-- -t raw"), CliError::SocketKind { .. }));
    assert_eq!(error("-- -t raw").exit(), 2);
    assert_eq!(
        error("-t OMNI -- -T tcp -t dgram").to_string(),
        "netperf: transport TCP with datagram sockets is not supported"
    );
}

#[test]
fn confidence_is_clamped_and_a_level_alone_is_the_width_too() {
    let asked = |level, percent: f64, min_iterations, max_iterations| ConfidencePlan {
        level,
        width: percent / 100.0,
        min_iterations,
        max_iterations,
        result_only: false,
    };
    for (line, wanted) in [
        ("-i 3", asked(99, 5.0, 3, 3)),
        ("-i 10", asked(99, 5.0, 10, 10)),
        ("-i 10,3", asked(99, 5.0, 3, 10)),
        ("-i 2,1", asked(99, 5.0, 3, 3)),
        ("-i 100,50", asked(99, 5.0, 30, 30)),
        ("-i ,7", asked(99, 5.0, 7, 7)),
        ("-I 99,2", asked(99, 2.0, 3, 10)),
        ("-I 95%,2", asked(95, 2.0, 3, 10)),
        ("-I 95", asked(95, 95.0, 3, 10)),
        ("-I 99,0.01 -i 4,3", asked(99, 0.01, 3, 4)),
        ("-i 4,3 -I ,2", asked(99, 2.0, 3, 4)),
    ] {
        let run = run(line);
        assert_eq!(run.plan.confidence, Some(wanted), "{line}");
        assert_eq!(run.report.confidence_shown, Some(wanted), "{line}");
    }
    let run = run("-t TCP_CC -i 3 -r");
    assert_eq!(run.plan.confidence, None);
    assert!(
        run.report
            .confidence_shown
            .expect("the banner says so")
            .result_only
    );
    assert_eq!(error("-I 90"), CliError::ConfidenceLevel);
    assert_eq!(error("-I ,5 -i 3"), CliError::ConfidenceLevel);
}

#[test]
fn interim_results_latencies_pacing_and_dirty_buffers_are_planned() {
    let plan = run("-D -0.2 -j -b 10,5 -w ,20000us -k 4K,1 -K ,7 -t UDP_STREAM").plan;
    assert_eq!(plan.interim, Some(Duration::from_millis(200)));
    assert!(plan.latency);
    let paced = |end: &EndPlan| end.pace.map(|pace| (pace.burst, pace.interval));
    assert_eq!(paced(&plan.local), Some((10, Duration::from_millis(1))));
    assert_eq!(paced(&plan.remote), Some((5, Duration::from_millis(20))));
    // An interval alone is only shown.
    assert_eq!(
        paced(&run("-w 2s").plan.local),
        Some((0, Duration::from_secs(2)))
    );
    assert_eq!(paced(&run("-w 0").plan.local), None);
    // Of 10G 32 bits are left, and as a number with a sign: no pacing at all.
    assert_eq!(paced(&run("-t UDP_STREAM -b 10G").plan.local), None);
    let touched = |end: &EndPlan| (end.touch.dirty, end.touch.clean);
    assert_eq!(
        (touched(&plan.local), touched(&plan.remote)),
        ((4096, 1), (0, 7))
    );
}
