//! Command lines that programs out there use, by the number of what they rely on.

use std::time::Duration;

use crate::common::{netperf, netperf_with_file, run};
use netperf_cli::{Command, OutputStream, ServerCommand};
use netperf_model::{Family, Flow, Format, Limit, Routing, SelectionSource, TestId, TransportId};

#[test]
fn i3_what_a_script_types_leaves_standard_error_alone() {
    for line in [
        "-P 0 -v 0 -D -0.20 -4 -Y EF,EF -H h -p 12865 -t TCP_STREAM -l 5 -F /dev/urandom -f m",
        "-4 -i 3,3 -I 95,5 -l 30 -f m -D 1 -t UDP_RR -H 127.0.0.1 -- -s 851968 -S 851968",
        "-H h -l 1 -- 42424",
        "-l 1m0s",
    ] {
        for notice in netperf(line).notices {
            assert!(notice.is_hint, "{line}: {}", notice.text);
        }
    }
}

#[test]
fn i12_a_list_is_of_names_and_one_unknown_word_is_a_file() {
    let format = |words: &[&str]| {
        let parsed = netperf_with_file(words, Some(("mine", "THROUGHPUT\n")));
        match parsed.command {
            Ok(Command::Run(run)) => run.report.format,
            other => panic!("{words:?}: {other:?}"),
        }
    };
    for list in [
        "rt_latency,p99_latency",
        "THROUGHPUT, THROUGHPUT_UNITS",
        "throughput",
    ] {
        let wanted = Format::Keyval(SelectionSource::List(list.to_owned()));
        assert_eq!(format(&["netperf", "--", "-k", list]), wanted);
    }
    let file = Format::Keyval(SelectionSource::File("THROUGHPUT\n".to_owned()));
    assert_eq!(format(&["netperf", "--", "-k", "mine"]), file);
    assert_eq!(
        format(&["netperf", "--", "-o", "All"]),
        Format::Csv(SelectionSource::All)
    );
}

#[test]
fn i13_an_optional_argument_does_not_swallow_the_next_option() {
    let run_of = run("-c -C -t TCP_RR -- -k -r 1,1");
    assert_eq!(
        run_of.report.format,
        Format::Keyval(SelectionSource::Default)
    );
    assert_eq!(run_of.plan.request, Some(1));
    assert!(run_of.plan.local.cpu.is_some() && run_of.plan.remote.cpu.is_some());
    let plan = run("-c 0.5 -C 0.5 -t TCP_RR").plan;
    assert_eq!(plan.test, TestId::TcpRr);
    assert_eq!(plan.local.cpu.and_then(|cpu| cpu.rate), Some(0.5));
}

#[test]
fn i18_an_interval_is_a_fraction_and_may_be_negative() {
    for (line, millis) in [("-D -0.20", 200), ("-D 0.5", 500), ("-D 1", 1000)] {
        let interim = run(line).plan.interim;
        assert_eq!(interim, Some(Duration::from_millis(millis)), "{line}");
    }
    let probe = netperf("-l 1 -D -0.2 -- -e 1");
    assert!(probe.notices.is_empty());
    assert!(matches!(probe.command, Ok(Command::Run(_))));
}

#[test]
fn i21_a_length_is_a_number_with_letters_and_a_tail() {
    for (line, limit) in [
        ("-l 90.0", Limit::Time(Duration::from_secs(90))),
        ("-l 10s", Limit::Time(Duration::from_secs(10))),
        ("-l 1k", Limit::Time(Duration::from_secs(1000))),
        ("-l 1K", Limit::Time(Duration::from_secs(1024))),
        ("-l 1m0s", Limit::Time(Duration::from_secs(1_000_000))),
        ("-l -5000", Limit::Units(5000)),
        ("-t TCP_RR -l -1k", Limit::Units(1000)),
    ] {
        assert_eq!(run(line).plan.limit, limit, "{line}");
    }
}

#[test]
fn i22_values_are_read_as_scripts_write_them() {
    let plan = run(
        "-p 12865,12866 -L ,AF_INET6 -I 95% -i 2,1 -T 1,1 -Y CS5,0x20 -F /dev/urandom \
                    -t TCP_RR -- -r 10K,1 -G 1000b -s 16k -S 16k -H 10.0.0.0/24",
    )
    .plan;
    let control = plan.control.expect("there is no -N");
    assert_eq!(
        (&*control.remote.port, &*control.local.port),
        ("12865", "12866")
    );
    assert_eq!(control.local.family, Family::V6);
    let confidence = plan.confidence.expect("-i and -I");
    assert_eq!((confidence.level, confidence.max_iterations), (95, 3));
    assert_eq!((plan.local.bind, plan.remote.bind), (Some(1), Some(1)));
    let tos = (plan.local.socket.tos, plan.remote.socket.tos);
    assert_eq!(tos, (Some(0xa0), Some(0x20)));
    assert_eq!((plan.request, plan.response), (Some(10240), Some(1)));
    assert_eq!(plan.local.socket.segment_size, Some(1000));
    assert_eq!(plan.remote.socket.recv_buffer, Some(16_000));
    assert_eq!(plan.remote_data.random_bits, Some(24));
    let sizes = run("-- -m ,64K -M 1k").plan;
    assert_eq!(
        (sizes.local.send.size, sizes.remote.send.size),
        (None, Some(65536))
    );
    assert_eq!(run("-t TCP_RR -- -r 1024").plan.response, Some(1024));
    assert_eq!(run("-t TCP_RR -- -r80000,80000").plan.request, Some(80000));
}

#[test]
fn i23_misplaced_words_do_not_fail() {
    let plan = run("-H x TCP_STREAM -- -m 63000 -m 87380 -l 120 -i 5,1").plan;
    assert_eq!(plan.local.send.size, Some(87380));
    assert_eq!(plan.limit, Limit::Time(Duration::from_secs(10)));
    assert!(matches!(
        netperf("-H ip -l 1 -- 42424").command,
        Ok(Command::Run(_))
    ));
    let served = netperf_cli::netserver(
        &crate::common::argv(&["netserver", "-6", "--", "-g"]),
        &|_| Ok(String::new()),
    );
    assert!(matches!(served.command, Ok(ServerCommand::Serve(_))));
}

#[test]
fn i24_pacing_behind_the_test_does_not_fail() {
    assert!(matches!(
        netperf("-t UDP_STREAM -b 10G").command,
        Ok(Command::Run(_))
    ));
    let pace = run("-w 1000 -b 5").plan.local.pace.expect("-b");
    assert_eq!((pace.burst, pace.interval), (5, Duration::from_secs(1)));
    let probe = netperf("-b 1 -w 1 -H 1 -p 1");
    assert!(probe.notices.is_empty() && probe.command.is_ok());
}

#[test]
fn i25_test_names_and_directions_match_in_any_case() {
    for (name, test) in [
        ("tcp_stream", TestId::TcpStream),
        ("Tcp_Rr", TestId::TcpRr),
        ("omni", TestId::Omni),
    ] {
        assert_eq!(run(&format!("-t {name}")).plan.test, test);
    }
    for (direction, flow) in [
        ("RR", Flow::RR),
        ("STREAM", Flow::SEND),
        ("CRR", Flow::CRR),
        ("send", Flow::SEND),
        ("recv", Flow::RECEIVE),
        ("receive", Flow::RECEIVE),
        ("maerts", Flow::RECEIVE),
        ("cc", Flow::CC),
        ("6", Flow::RR),
    ] {
        let plan = run(&format!("-t OMNI -- -T TCP -d {direction}")).plan;
        assert_eq!(
            (plan.flow, plan.transport),
            (flow, TransportId::Tcp),
            "{direction}"
        );
    }
}

#[test]
fn i30_a_passphrase_is_for_both_programs() {
    let control = run("-Z pass").plan.control.expect("there is no -N");
    assert_eq!(control.passphrase, Some("pass".into()));
    let served =
        netperf_cli::netserver(&crate::common::argv(&["netserver", "-Z", "pass"]), &|_| {
            Ok(String::new())
        })
        .command;
    let Ok(ServerCommand::Serve(args)) = served else {
        panic!("{served:?}");
    };
    assert_eq!(args.passphrase, Some("pass".into()));
}

#[test]
fn i31_a_server_in_one_process_is_asked_for_by_letters() {
    let words = ["netserver", "-D", "-f", "-4", "-L", "10.0.0.1"];
    let Ok(ServerCommand::Serve(args)) =
        netperf_cli::netserver(&crate::common::argv(&words), &|_| Ok(String::new())).command
    else {
        panic!("not served");
    };
    assert!(args.foreground && args.no_fork);
    assert_eq!(args.family(), Family::V4);
}

#[test]
fn i32_version_and_usage_are_where_probes_look() {
    let Ok(Command::Version(version)) = netperf("-V").command else {
        panic!("no version");
    };
    assert!(version.starts_with("Netperf version 2.7"));
    let Ok(Command::Usage(usage)) = netperf("-h").command else {
        panic!("no usage");
    };
    assert_eq!((usage.stream, usage.exit), (OutputStream::Stderr, 1));
    assert!(usage.text.contains("Usage"));
}

#[test]
fn i33_routing_is_the_default_and_may_be_asked_for() {
    for line in ["-t UDP_STREAM", "-t UDP_STREAM -- -R 1"] {
        assert_eq!(
            run(line).plan.local.socket.routing,
            Routing::Routed,
            "{line}"
        );
    }
}
