//! Plans of the options of the unix, sctp, sdp, xti, dlpi, fore and hippi suites.

use std::path::PathBuf;
use std::time::Duration;

use crate::common::{error, netperf, run};
use netperf_cli::{CliError, Command, OutputStream};
use netperf_model::catalog::tests::TESTS;
use netperf_model::catalog::transports::TRANSPORTS;
use netperf_model::{Limit, PlacePlan, Suite, TransportId};

/// The tests of a suite.
fn tests_of(suite: Suite) -> Vec<&'static str> {
    let rows = TESTS.iter().filter(|row| row.suite == suite);
    rows.map(|row| row.name).collect()
}

#[test]
fn every_test_runs_over_its_transport_without_options() {
    for row in TESTS.iter().filter(|row| row.suite != Suite::Control) {
        let plan = run(&format!("-t {}", row.name)).plan;
        assert_eq!((plan.test, plan.transport), (row.id, row.transport));
        assert_eq!(plan.associations, 1);
        assert_eq!(plan.local.place, PlacePlan::default(), "{}", row.name);
        assert_eq!(plan.remote.place, PlacePlan::default(), "{}", row.name);
    }
}

#[test]
fn sizes_are_read_as_in_the_older_tests() {
    for suite in [
        Suite::Unix,
        Suite::Sctp,
        Suite::Sdp,
        Suite::Xti,
        Suite::Fore,
    ] {
        for name in tests_of(suite) {
            let plan = run(&format!(
                "-t {name} -- -m 4K -M 8K -r 2K,3K -s 64K -S 1K,2K"
            ))
            .plan;
            assert_eq!(plan.local.send.size, Some(4096), "{name}");
            assert_eq!(plan.remote.recv.size, Some(8192), "{name}");
            assert_eq!(plan.local.socket.send_buffer, Some(65536), "{name}");
            assert_eq!(plan.local.socket.recv_buffer, Some(65536), "{name}");
            assert_eq!(plan.remote.socket.send_buffer, Some(1024), "{name}");
            assert_eq!(plan.remote.socket.recv_buffer, Some(2048), "{name}");
            if plan.flow.is_request_response() {
                assert_eq!((plan.request, plan.response), (Some(2048), Some(3072)));
            }
        }
    }
}

#[test]
fn the_remote_buffers_of_the_unix_tests_are_the_systems_own_unless_given() {
    let plan = run("-t STREAM_STREAM").plan;
    assert_eq!(plan.remote.socket.send_buffer, None);
    assert_eq!(plan.remote.socket.recv_buffer, None);
}

#[test]
fn a_unix_socket_file_has_a_directory_at_netperfs_end() {
    let plan = run("-t DG_RR -- -p /run/user").plan;
    assert_eq!(plan.local.place.directory, Some(PathBuf::from("/run/user")));
    assert_eq!(plan.remote.place.directory, None);
    let named = run("-t DG_RR --socket-directory /run/user").plan;
    assert_eq!(named.local.place, plan.local.place);
}

#[test]
fn sctp_counts_messages_one_way_and_transactions_both_ways() {
    let limit = |line: &str| run(line).plan.limit;
    assert_eq!(limit("-t SCTP_STREAM -- -N 1k"), Limit::Messages(1000));
    assert_eq!(
        limit("-t SCTP_STREAM_MANY -l 5 -- -N 7"),
        Limit::Messages(7)
    );
    assert_eq!(limit("-t SCTP_RR -- -N 7"), Limit::Units(7));
    let seconds = Limit::Time(Duration::from_secs(5));
    assert_eq!(limit("-t SCTP_RR -l 5 -- -N 0"), seconds);
    assert_eq!(limit("-t SCTP_STREAM -l 5 -- -N -3"), seconds);
    assert_eq!(limit("-t SCTP_STREAM -l -1K"), Limit::Units(1024));
}

#[test]
fn one_association_is_as_good_as_many_and_none_is_refused() {
    let associations = |line: &str| run(line).plan.associations;
    assert_eq!(associations("-t SCTP_RR_MANY -- -T 1"), 1);
    assert_eq!(associations("-t SCTP_STREAM_MANY -- -T 24"), 24);
    for none in ["0", "-2", "abc"] {
        let error = error(&format!("-t SCTP_RR_MANY -- -T {none}"));
        assert_eq!(error, CliError::Associations);
        assert_eq!(
            error.to_string(),
            "Number of SCTP associations must be >= 1"
        );
        assert_eq!((error.stream(), error.exit()), (OutputStream::Stdout, 1));
    }
}

#[test]
fn sctp_sockets_of_both_ends_do_as_they_are_told() {
    let plan = run("-t SCTP_RR -- -B -D -H db1,6 -P 7,8 -I 9").plan;
    for end in [&plan.local, &plan.remote] {
        assert!(end.socket.non_blocking && end.socket.nodelay);
    }
    assert_eq!(plan.remote_data.host, "db1");
    assert_eq!(
        (&*plan.local_data.port, &*plan.remote_data.port),
        ("7", "8")
    );
    assert!(!run("-t SCTP_RR").plan.local.socket.non_blocking);
}

#[test]
fn sdp_keeps_requests_in_flight_and_xti_names_its_providers() {
    assert_eq!(run("-t SDP_RR -- -b 4").plan.burst, 4);
    let device = |plan: &PlacePlan| plan.device.clone();
    let plan = run("-t XTI_TCP_RR -- -X /dev/a,/dev/b -D -w 3").plan;
    assert_eq!(device(&plan.local.place).as_deref(), Some("/dev/a"));
    assert_eq!(device(&plan.remote.place).as_deref(), Some("/dev/b"));
    assert!(plan.local.socket.nodelay);
}

#[test]
fn frames_come_from_a_device_a_unit_and_a_service_access_point() {
    for name in ["DLCO_RR", "DLCL_STREAM", "HIPPI_RR"] {
        let plan = run(&format!("-t {name} -- -D eth0,eth1 -p 2,3 -s 52 -m 4K")).plan;
        let place = |device: &str, unit| PlacePlan {
            device: Some(device.to_owned()),
            unit: Some(unit),
            sap: Some(52),
            ..PlacePlan::default()
        };
        assert_eq!(plan.local.place, place("eth0", 2), "{name}");
        assert_eq!(plan.remote.place, place("eth1", 3), "{name}");
        // No size letters here.
        assert_eq!(plan.local.send.size, Some(4), "{name}");
    }
    let plan = run("-t DLCO_STREAM -- -D eth0 -w 7 -W 9,11").plan;
    let windows = |place: &PlacePlan| (place.window, place.recv_window);
    assert_eq!(plan.remote.place.device.as_deref(), Some("eth0"));
    assert_eq!(windows(&plan.local.place), (Some(7), Some(7)));
    assert_eq!(windows(&plan.remote.place), (Some(9), Some(11)));
    let plan = run("-t FORE_RR -- -d 0.0.100,1.0.200").plan;
    assert_eq!(plan.local.place.device.as_deref(), Some("0.0.100"));
    assert_eq!(plan.remote.place.device.as_deref(), Some("1.0.200"));
}

#[test]
fn a_request_below_the_network_layer_is_100_bytes_and_its_response_200() {
    for (line, sizes) in [
        ("-t DLCO_RR", (Some(100), Some(200))),
        ("-t DLCL_RR -- -r 5", (Some(5), Some(5))),
        ("-t HIPPI_RR -- -r ,7", (Some(100), Some(7))),
        ("-t FORE_RR", (Some(1), Some(1))),
        ("-t DLCL_STREAM", (None, None)),
    ] {
        let plan = run(line).plan;
        assert_eq!((plan.request, plan.response), sizes, "{line}");
    }
}

#[test]
fn two_tests_know_no_amount_and_run_until_a_signal_instead() {
    for name in ["DG_STREAM", "DLCL_STREAM"] {
        let line = format!("-t {name} -l -1000");
        assert_eq!(run(&line).plan.limit, Limit::UntilStopped, "{name}");
        let line = format!("-t {name} -l 3");
        let seconds = Limit::Time(Duration::from_secs(3));
        assert_eq!(run(&line).plan.limit, seconds, "{name}");
    }
    let stream = run("-t STREAM_STREAM -l -1000").plan.limit;
    assert_eq!(stream, Limit::Units(1000));
}

#[test]
fn unix_and_link_tests_are_never_repeated_and_say_nothing_in_between() {
    for (suite, repeats, interims) in [
        (Suite::Unix, false, false),
        (Suite::Dlpi, false, false),
        (Suite::Fore, false, false),
        (Suite::Hippi, false, false),
        (Suite::Sctp, true, false),
        (Suite::Xti, true, false),
        (Suite::Sdp, true, true),
    ] {
        for name in tests_of(suite) {
            let plan = run(&format!("-t {name} -i 3 -I 99,5 -D 1")).plan;
            assert_eq!(plan.confidence.is_some(), repeats, "{name}");
            assert_eq!(plan.interim.is_some(), interims, "{name}");
            let plan = run(&format!("-t {name} -D 1 --json")).plan;
            assert!(plan.interim.is_some(), "{name}");
        }
    }
}

#[test]
fn these_suites_cannot_do_without_netserver() {
    for (suite, text) in [
        (
            Suite::Unix,
            "The UNIX tests do not know how to run with no control connection",
        ),
        (
            Suite::Sctp,
            "The SCTP tests do not know how to deal with no control tests",
        ),
        (
            Suite::Sdp,
            "The SDP tests do not know how to deal with no control tests",
        ),
        (
            Suite::Xti,
            "The XTI tests do not know how to run with no control connection",
        ),
        (
            Suite::Dlpi,
            "The DLPI tests do not know how to run with no control connection",
        ),
        (
            Suite::Fore,
            "The FORE tests do not know how to run with no control connection",
        ),
        (
            Suite::Hippi,
            "The HIPPI tests do not know how to run with no control connection",
        ),
    ] {
        for name in tests_of(suite) {
            let error = error(&format!("-N -t {name}"));
            assert_eq!(error.to_string(), text, "{name}");
            assert_eq!((error.stream(), error.exit()), (OutputStream::Stdout, 255));
        }
    }
}

#[test]
fn a_wrong_letter_stops_some_suites_and_is_only_told_of_in_others() {
    for (suite, stops) in [
        (Suite::Unix, true),
        (Suite::Xti, true),
        (Suite::Dlpi, true),
        (Suite::Fore, true),
        (Suite::Hippi, true),
        (Suite::Sctp, false),
        (Suite::Sdp, false),
    ] {
        for name in tests_of(suite) {
            let parsed = netperf(&format!("-t {name} -- -Q"));
            let said: Vec<_> = parsed.notices.iter().map(|notice| &*notice.text).collect();
            match parsed.command {
                Ok(Command::Usage(usage)) if stops => {
                    assert_eq!(
                        (usage.stream, usage.exit),
                        (OutputStream::Stderr, 1),
                        "{name}"
                    );
                    assert_eq!(
                        usage.text,
                        format!(
                            "netperf: invalid option -- 'Q'; `netperf --help {name}` shows the options\n"
                        )
                    );
                }
                Ok(Command::Run(_)) if !stops => {
                    assert_eq!(said, ["netperf: invalid option -- 'Q'\n"], "{name}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}

#[test]
fn omni_takes_every_transport_by_its_word() {
    for row in TRANSPORTS {
        let plan = run(&format!("-t OMNI -- -T {}", row.option)).plan;
        assert_eq!(plan.transport, row.id, "{}", row.option);
        let named = run(&format!("-t OMNI --protocol {}", row.option)).plan;
        assert_eq!(named.transport, row.id, "{}", row.option);
    }
    for (options, transport) in [
        ("-t seqpacket -T sctp", TransportId::SctpMany),
        ("-T sctp -t seqpacket", TransportId::SctpMany),
        ("-T unix -t dgram", TransportId::UnixDatagram),
        ("-T unix -t seqpacket", TransportId::UnixSeqPacket),
        ("-T vsock -t seqpacket", TransportId::VsockSeqPacket),
        ("-t dgram -T unix", TransportId::UnixStream),
    ] {
        let plan = run(&format!("-t OMNI -- {options}")).plan;
        assert_eq!(plan.transport, transport, "{options}");
    }
    assert_eq!(
        error("-t OMNI -- -T sctp -t dgram").to_string(),
        "netperf: transport SCTP with datagram sockets is not supported"
    );
}

#[test]
fn a_list_asks_another_host_only_when_one_is_named() {
    let list = |line: &str| match netperf(line).command {
        Ok(Command::List(list)) => *list,
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(list("--list").plan.control, None);
    assert!(!list("--list -t nonsense").json);
    assert!(list("--json --list").json);
    assert_eq!(list("-N -H db1 --list").plan.control, None);
    let control = list("--list -H db1").plan.control.expect("a host is named");
    assert_eq!(control.remote.host, "db1");
    let control = list("-p 7777 -- --list")
        .plan
        .control
        .expect("a port is named");
    assert_eq!(control.remote.port, "7777");
}
