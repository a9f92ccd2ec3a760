//! What command lines come to.

mod common;

use std::path::PathBuf;
use std::time::Duration;

use common::{error, netperf, netperf_with_file, run};
use netperf_cli::{CliError, Command, Notice, Stream};
use netperf_model::{
    ConfidencePlan, CpuMethod, CpuPlan, Family, Flow, Format, Limit, RingPlan, Routing,
    SelectionSource, SocketPlan, TestId, TransportId, Unit,
};

#[test]
fn without_options_the_plan_is_ten_seconds_of_tcp_to_this_host() {
    let run = run("");
    let plan = run.plan;
    assert_eq!(plan.test, TestId::TcpStream);
    assert_eq!(plan.transport, TransportId::Tcp);
    assert_eq!(plan.flow, Flow::SEND);
    assert_eq!(plan.limit, Limit::Time(Duration::from_secs(10)));
    assert_eq!((plan.request, plan.response, plan.burst), (None, None, 0));
    assert_eq!(plan.port_range, (5000, 65535));
    assert_eq!(plan.confidence, None);
    for end in [&plan.local, &plan.remote] {
        assert_eq!(end.socket, SocketPlan::default());
        assert_eq!(end.send, RingPlan::default());
        assert_eq!(end.recv, RingPlan::default());
        assert_eq!((end.cpu, end.bind, end.pace), (None, None, None));
    }
    let control = plan.control.expect("there is no -N");
    assert!(!control.explicit);
    assert_eq!(
        (&*control.remote.host, &*control.remote.port),
        ("localhost", "12865")
    );
    assert_eq!(
        (&*control.local.host, &*control.local.port),
        ("0.0.0.0", "0")
    );
    assert_eq!(
        (&*plan.remote_data.host, &*plan.remote_data.port),
        ("localhost", "0")
    );
    assert_eq!(
        (&*plan.local_data.host, &*plan.local_data.port),
        ("0.0.0.0", "0")
    );
    let report = run.report;
    assert_eq!(report.format, Format::Classic);
    assert_eq!(
        (report.verbosity, report.headers, report.unit),
        (1, true, None)
    );
    assert_eq!(report.confidence_shown, None);
    assert_eq!(report.command_line, "netperf");
}

#[test]
fn the_length_is_seconds_units_or_until_stopped() {
    for (line, limit) in [
        ("-l 5", Limit::Time(Duration::from_secs(5))),
        ("-l 90.0", Limit::Time(Duration::from_secs(90))),
        ("-l -1M", Limit::Units(1 << 20)),
        ("-l -1000000 -t TCP_MAERTS", Limit::Units(1_000_000)),
        ("-l 0", Limit::UntilStopped),
        ("-l abc", Limit::UntilStopped),
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
fn udp_is_routed_unless_the_user_forbids_it() {
    for (line, routing) in [
        ("-t UDP_STREAM", Routing::Routed),
        ("-t UDP_STREAM -- -R 1", Routing::Routed),
        ("-t UDP_STREAM -- -R 0", Routing::DirectOnly),
        ("-t TCP_RR -- -R 0", Routing::DirectOnly),
    ] {
        let plan = run(line).plan;
        assert_eq!(plan.local.socket.routing, routing, "{line}");
        assert_eq!(plan.remote.socket.routing, routing, "{line}");
    }
}

#[test]
fn message_sizes_are_local_first_for_m_and_remote_first_for_big_m() {
    let plan = run("-- -m 1K,2K -M 3K,4K").plan;
    assert_eq!(
        (plan.local.send.size, plan.remote.send.size),
        (Some(1024), Some(2048))
    );
    assert_eq!(
        (plan.remote.recv.size, plan.local.recv.size),
        (Some(3072), Some(4096))
    );
    let plan = run("-- -m 0 -M abc").plan;
    assert_eq!((plan.local.send.size, plan.remote.recv.size), (None, None));
    let plan = run("-- -m ,64K").plan;
    assert_eq!(
        (plan.local.send.size, plan.remote.send.size),
        (None, Some(65536))
    );
    let plan = run("-t TCP_SENDFILE -- -m 4K,8K -M 2K").plan;
    assert_eq!(
        (plan.local.send.size, plan.remote.send.size),
        (Some(4096), None)
    );
    assert_eq!(
        (plan.local.recv.size, plan.remote.recv.size),
        (None, Some(2048))
    );
}

#[test]
fn a_socket_buffer_of_zero_is_asked_for_and_a_negative_one_is_not() {
    let socket = |line: &str| run(line).plan.local.socket;
    assert_eq!(socket("-- -s 0").send_buffer, Some(0));
    assert_eq!(socket("-- -s -1").send_buffer, None);
    assert_eq!(socket("-- -s 16K,").recv_buffer, None);
    let plan = run("-- -s 16K,32K -S ,64K").plan;
    assert_eq!(plan.local.socket.recv_buffer, Some(32768));
    assert_eq!(plan.remote.socket.send_buffer, None);
    assert_eq!(plan.remote.socket.recv_buffer, Some(65536));
}

#[test]
fn buffers_are_aligned_offset_and_counted_as_asked() {
    let plan = run("-a 4096,8K -A 16 -o 3 -O 5,7 -W 3,4").plan;
    let ring = |align, offset, width| RingPlan {
        size: None,
        width: Some(width),
        align,
        offset,
    };
    assert_eq!(
        (plan.local.send, plan.local.recv),
        (ring(4096, 3, 3), ring(8192, 3, 4))
    );
    assert_eq!(
        (plan.remote.send, plan.remote.recv),
        (ring(16, 5, 3), ring(16, 7, 4))
    );
    assert_eq!(run("-a 0").plan.local.send.align, 1);
    assert_eq!(run("-a -5 -o -5").plan.local.send.align, 1);
    assert_eq!(run("-a 12").plan.local.send.align, 16);
    let plan = run("-W 3,4 -- -W 5").plan;
    assert_eq!(
        (plan.local.send.width, plan.remote.send.width),
        (Some(5), Some(5))
    );
}

#[test]
fn socket_options_go_to_the_ends_they_are_for() {
    let plan = run(
        "-S -y 3,4 -Y ef,CS1 -t UDP_RR -- -D -C -g -G 1000b -K cubic,ab -l 3 -n \
                    -q 1000000 -B -f -F",
    )
    .plan;
    let local = SocketPlan {
        nodelay: true,
        cork: true,
        keepalive: true,
        debug: true,
        segment_size: Some(1000),
        priority: Some(3),
        tos: Some(0xb8),
        congestion: Some("cubic".to_owned()),
        fast_open: true,
        connected_datagram: true,
        no_fragmentation: true,
        multicast_ttl: Some(3),
        pacing_rate: Some(1_000_000),
        ..SocketPlan::default()
    };
    assert_eq!(plan.local.socket, local);
    let remote = SocketPlan {
        nodelay: true,
        cork: true,
        keepalive: true,
        priority: Some(4),
        tos: Some(0x20),
        congestion: Some("ab".to_owned()),
        packet_info: true,
        fast_open: true,
        no_fragmentation: true,
        ..SocketPlan::default()
    };
    assert_eq!(plan.remote.socket, remote);
    let plan = run("-- -N -a -U -I -V -e 2 -u 0123456789012345678901234567890123456789").plan;
    assert!(plan.remote.socket.connected_datagram && plan.remote.socket.defer_accept);
    assert!(plan.retry_connects && plan.use_write && plan.local.copy_avoidance);
    assert_eq!(plan.recv_timeout, Some(Duration::from_secs(2)));
    assert_eq!(
        plan.uuid.as_deref(),
        Some("0123456789012345678901234567890123456")
    );
    assert_eq!(run("-y 1 -Y bogus").plan.local.socket.tos, None);
    assert_eq!(run("-y 1").plan.remote.socket.priority, Some(1));
}

/// A CPU measurement that was asked for with or without a rate.
fn cpu_plan(rate: Option<f32>) -> Option<CpuPlan> {
    Some(CpuPlan {
        rate,
        method: CpuMethod::ProcStat,
    })
}

#[test]
fn cpu_rates_and_bindings_are_per_end() {
    let plan = run("-c 100 -C 100.5 -T 0,1").plan;
    assert_eq!(plan.local.cpu, cpu_plan(Some(100.0)));
    assert_eq!(plan.remote.cpu, cpu_plan(Some(100.5)));
    assert_eq!((plan.local.bind, plan.remote.bind), (Some(0), Some(1)));
    let run = run("-cC -T ,1 -t TCP_RR");
    assert_eq!(run.plan.local.cpu, cpu_plan(None));
    assert_eq!((run.plan.local.bind, run.plan.remote.bind), (None, Some(1)));
    assert!(run.report.cpu_bind_shown);
}

const ANY: Family = Family::Unspecified;
const FOUR: Family = Family::V4;
const SIX: Family = Family::V6;

/// Hosts and families of: remote control, local control, remote data, local data.
#[track_caller]
fn expect_hosts(line: &str, wanted: [(&str, Family); 4]) {
    let plan = run(line).plan;
    let control = plan.control.expect("there is no -N");
    let ends = [
        &control.remote,
        &control.local,
        &plan.remote_data,
        &plan.local_data,
    ];
    assert_eq!(ends.map(|end| (&*end.host, end.family)), wanted, "{line}");
}

#[test]
fn hosts_and_families_follow_the_last_explicit_setting() {
    let wild = ("0.0.0.0", ANY);
    let lh = ("localhost", ANY);
    let (lh4, lh6) = (("localhost", FOUR), ("::1", SIX));
    expect_hosts("-6", [lh6, ("::0", SIX), lh6, ("::0", ANY)]);
    expect_hosts("-4", [lh4, ("0.0.0.0", FOUR), lh4, wild]);
    expect_hosts("-H ,4", [lh4, wild, lh4, wild]);
    expect_hosts(
        "-H ::1",
        [("::1", ANY), ("::0", ANY), ("::1", ANY), ("::0", ANY)],
    );
    expect_hosts("-H ::1,6", [lh6, ("::0", ANY), lh6, ("::0", ANY)]);
    expect_hosts(
        "-L ,6",
        [("::1", ANY), ("::0", SIX), ("::1", ANY), ("::0", ANY)],
    );
    expect_hosts(
        "-H h,6 -4",
        [("h", FOUR), ("0.0.0.0", FOUR), ("h", FOUR), wild],
    );
    expect_hosts("-6 -H h,4", [("h", FOUR), ("::0", SIX), ("h", FOUR), wild]);
    expect_hosts("-L me,4", [lh, ("me", FOUR), lh, ("me", FOUR)]);
}

#[test]
fn data_hosts_and_families_can_differ_from_those_of_control() {
    let (wild, h, lh) = (("0.0.0.0", ANY), ("h", ANY), ("localhost", ANY));
    expect_hosts("-- -H ::1,6", [lh, wild, ("::1", SIX), ("::0", ANY)]);
    expect_hosts("-H h -- -L me", [h, wild, h, ("me", ANY)]);
    expect_hosts("-H h -- -4", [h, wild, ("h", FOUR), ("0.0.0.0", FOUR)]);
    expect_hosts("-H h -- -6", [h, wild, ("h", SIX), ("::0", SIX)]);
}

#[test]
fn naming_a_host_or_a_port_is_explicit() {
    let explicit = |line: &str| run(line).plan.control.expect("there is no -N").explicit;
    assert!(explicit("-H localhost"));
    assert!(explicit("-p 12865"));
    assert!(!explicit("-4 -L me"));
    assert!(run("-H h").plan.remote_data.named);
    assert!(!run("-L me").plan.remote_data.named);
    assert!(!run("").plan.local_data.named);
}

#[test]
fn a_data_host_may_have_a_prefix_length() {
    let data = run("-- -H 10.0.0.0/8,4 -L ::1/64").plan;
    assert_eq!(
        (&*data.remote_data.host, data.remote_data.random_bits),
        ("10.0.0.0", Some(8))
    );
    assert_eq!(
        (&*data.local_data.host, data.local_data.random_bits),
        ("::1", Some(64))
    );
    assert_eq!(
        run("-- -H 10.0.0.0/8 -H x").plan.remote_data.random_bits,
        None
    );
    assert_eq!(run("-t TCP_CC -- -H x/8").plan.remote_data.host, "x/8");
}

#[test]
fn ports_are_pairs_of_short_names() {
    let control = run("-p 14012,14065").plan.control.expect("there is no -N");
    assert_eq!(
        (&*control.remote.port, &*control.local.port),
        ("14012", "14065")
    );
    let control = run("-p nosuchservice")
        .plan
        .control
        .expect("there is no -N");
    assert_eq!(control.remote.port, "nosuchserv");
    let plan = run("-- -P 7").plan;
    assert_eq!(
        (&*plan.local_data.port, &*plan.remote_data.port),
        ("7", "7")
    );
    let plan = run("-- -P ,14064 -p 14070,14080").plan;
    assert_eq!(
        (&*plan.local_data.port, &*plan.remote_data.port),
        ("0", "14064")
    );
    assert_eq!(plan.port_range, (14070, 14080));
    assert_eq!(run("-- -p 70000").plan.port_range, (65535, 65535));
}

#[test]
fn without_control_the_remote_side_is_out_of_reach_and_a_service_stands_in() {
    for (line, port) in [
        ("-N", "discard"),
        ("-N -t TCP_SENDFILE", "discard"),
        ("-N -t TCP_MAERTS", "chargen"),
        ("-N -t TCP_CRR", "echo"),
        ("-N -t OMNI -- -d recv", "chargen"),
        ("-N -t TCP_MSS -- -P ,9", "9"),
        ("-N -t LOC_CPU", "0"),
    ] {
        let plan = run(line).plan;
        assert_eq!(plan.control, None);
        assert_eq!(plan.remote_data.port, port, "{line}");
    }
    let plan = run("-N -C -A 16 -O 3 -y 1 -Y ef -t TCP_RR -- -S 1K -D -m ,4K").plan;
    assert_eq!(plan.remote.socket, SocketPlan::default());
    assert_eq!(plan.remote.cpu, None);
    assert_eq!((plan.remote.send.align, plan.remote.send.offset), (8, 0));
    assert!(plan.local.socket.nodelay);
    assert_eq!(plan.local.socket.priority, Some(1));
    let sizes = |line: &str| (run(line).plan.request, run(line).plan.response);
    assert_eq!(sizes("-N -t TCP_RR -- -r 8,32"), (Some(8), Some(8)));
    assert_eq!(sizes("-N -t TCP_RR -- -r 8,32 -P ,7"), (Some(8), Some(32)));
    assert!(
        matches!(error("-N -t OMNI -- -c"), CliError::NoDefaultPort { test } if test == "OMNI")
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
fn the_report_says_what_is_shown_and_in_which_unit() {
    let report = run("-P 0 -v 2 -f Mega -B tag -dd -T 1 -- -V").report;
    assert_eq!(
        (report.headers, report.verbosity, report.debug),
        (false, 2, 2)
    );
    assert_eq!(report.unit, Some(Unit::MebiBytes));
    assert_eq!(report.brand.as_deref(), Some("tag"));
    assert!(report.cpu_bind_shown && report.copy_avoidance_shown);
    assert!(!run("-P x").report.headers);
    assert!(run("-P 5").report.headers);
    assert_eq!(run("-v abc").report.verbosity, 0);
    assert_eq!(run("-f z").report.unit, Some(Unit::Unknown('z')));
}

#[test]
fn the_last_of_k_o_and_big_o_decides_format_and_selection() {
    let list = |text: &str| SelectionSource::List(text.to_owned());
    for (line, format) in [
        ("-t OMNI", Format::Columns(SelectionSource::Default)),
        ("-- -k", Format::Keyval(SelectionSource::Default)),
        ("-- -k -r 1,1", Format::Keyval(SelectionSource::Default)),
        ("-- -o ALL", Format::Csv(SelectionSource::All)),
        ("-- -O throughput", Format::Columns(list("throughput"))),
        ("-- -k A;B", Format::Keyval(list("A;B"))),
        ("-- -k THROUGHPUT -o", Format::Csv(SelectionSource::Default)),
        ("-- -k -o THROUGHPUT", Format::Csv(list("THROUGHPUT"))),
        ("-- -o ,", Format::Csv(list(","))),
    ] {
        assert_eq!(run(line).report.format, format, "{line}");
    }
}

#[test]
fn any_other_selection_is_a_file() {
    let text = "THROUGHPUT\nElapsed Time (sec)\n";
    let parsed = netperf_with_file(&["netperf", "--", "-k", "sel.txt"], Some(("sel.txt", text)));
    let Ok(Command::Run(run)) = parsed.command else {
        panic!("no run");
    };
    assert_eq!(
        run.report.format,
        Format::Keyval(SelectionSource::File(text.to_owned()))
    );
    let parsed = netperf_with_file(&["netperf", "--", "-k", ""], None);
    assert_eq!(
        parsed.command.map_err(|error| error.to_string()),
        Err("Could not open output selection file '' errno 2".to_owned())
    );
}

/// What is said about a selection, and to whom: with `?` only to a person.
fn said_of(selection: &str) -> Vec<String> {
    let form = |words: &[&str]| {
        let notices = netperf_with_file(words, None).notices;
        let line = |notice: &Notice| {
            assert_eq!(notice.stream, Stream::Stderr, "scripts read stdout");
            let mark = if notice.terminal_only { "?" } else { "" };
            format!("{mark}{}", notice.text)
        };
        notices.iter().map(line).collect::<Vec<String>>()
    };
    let said = form(&["netperf", "--", "-k", selection]);
    for words in [
        ["netperf", "--keyval", selection].as_slice(),
        &["netperf", "--csv", selection],
        &["netperf", "--", "-O", selection],
        &["netperf", "--", "--columns", selection],
    ] {
        assert_eq!(form(words), said, "{words:?}");
    }
    said
}

#[test]
fn a_wrong_selector_is_answered_with_the_nearest_right_one() {
    let line = |wrong: &str, near: &str| {
        format!("netperf: output selector {wrong} is unknown; did you mean {near}?\n")
    };
    assert_eq!(
        said_of("THROUGHPTU"),
        [line("THROUGHPTU", "THROUGHPUT")],
        "it is no file either, and the run fails"
    );
    let for_a_person = |wrong, near| format!("?{}", line(wrong, near));
    assert_eq!(
        said_of("Thruput,uiud;DIRECTION elapsedtime,BOGUS"),
        [
            for_a_person("uiud", "UUID"),
            for_a_person("elapsedtime", "ELAPSED_TIME"),
        ],
        "the run goes on, so scripts must not see a word"
    );
    for fine in ["all", "UUID", "UUID,direction", "BOGUS", "sel.txt", ""] {
        assert_eq!(said_of(fine), [""; 0], "{fine}");
    }
}

#[test]
fn a_name_of_80_characters_in_a_selection_file_is_too_long() {
    let refused = |text: &str| {
        let parsed = netperf_with_file(&["netperf", "--", "-k", "f"], Some(("f", text)));
        parsed.command.err().map(|error| error.to_string())
    };
    let long = "A".repeat(80);
    assert_eq!(refused(&"A".repeat(79)), None);
    assert_eq!(
        refused(&format!("ok,{}\nx,{long}", "B".repeat(79))).as_deref(),
        Some("Output selection starting column 2 on line 166 is too long")
    );
    assert_eq!(refused(&format!("1\n2\n3\n4\n{long}")), None);
}

#[test]
fn interim_results_latencies_pacing_and_dirty_buffers_are_planned() {
    let plan = run("-D -0.2 -j -b 10,5 -w ,20000us -k 4K,1 -K ,7 -t UDP_STREAM").plan;
    assert_eq!(plan.interim, Some(Duration::from_millis(200)));
    assert!(plan.latency);
    let paced = |end: &netperf_model::EndPlan| end.pace.map(|pace| (pace.burst, pace.interval));
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
    let touched = |end: &netperf_model::EndPlan| (end.touch.dirty, end.touch.clean);
    assert_eq!(
        (touched(&plan.local), touched(&plan.remote)),
        ((4096, 1), (0, 7))
    );
}

#[test]
fn an_unknown_test_option_is_complained_about_and_the_test_runs() {
    let parsed = netperf("-t TCP_RR -- -Q -r 5 -x");
    let said: String = parsed.notices.iter().map(|notice| &*notice.text).collect();
    assert_eq!(
        said,
        "netperf: invalid option -- 'Q'\nnetperf: invalid option -- 'x'\n"
    );
    assert!(matches!(parsed.command, Ok(Command::Run(run)) if run.plan.request == Some(5)));
}

#[test]
fn an_unknown_family_is_warned_about_on_stdout() {
    let notices = netperf("-H 127.0.0.1,bogusfamily").notices;
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].stream, Stream::Stdout);
    assert_eq!(
        notices[0].text,
        "WARNING! bogusfamil not recognized as an address family, using AF_UNPSEC\n\
         Are you sure netperf was configured for that address family?\n"
    );
}

#[test]
fn misplaced_words_and_options_do_not_fail() {
    for line in [
        "-H x TCP_STREAM -- -m 63000 -m 87380 -l 120 -i 5,1",
        "-H ip -l 1 -- 42424",
        "-l 1 foo bar -t TCP_RR",
        "-t TCP_RR -r 1,1",
        "-Y CS5,CS5 -- -G 1000b -s 16k -S 16k",
        "-F /dev/urandom -T 1,1 -p 12865,12866 -L ,AF_INET6",
        "-- -- -h",
    ] {
        run(line);
    }
    let run = run("-F local,/remote/name -s 2 -t UDP_STREAM");
    assert_eq!(run.plan.local.fill, Some(PathBuf::from("local")));
    assert_eq!(run.plan.remote.fill, Some(PathBuf::from("/remote/name")));
    assert_eq!(run.plan.wait, Duration::from_secs(2));
}

#[test]
fn tests_without_test_options_do_not_look_behind_the_dashes() {
    assert_eq!(run("-t LOC_CPU -- -h").plan.test, TestId::LocCpu);
    assert!(matches!(
        netperf("-t BOGUS -- -h").command,
        Ok(Command::UnknownTest(_))
    ));
}

#[test]
fn the_version_is_that_of_the_netperf_whose_options_these_are() {
    let version = Ok(Command::Version("Netperf version 2.7.1\n".to_owned()));
    assert_eq!(netperf("-V").command, version);
    assert_eq!(netperf("-t BOGUS -V -Q").command, version);
}
