//! Addresses of the ends.

use netperf_cli::{CliError, OutputStream};
use netperf_model::{Family, SocketPlan};

use crate::common::{error, netperf, run};

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
    let control = ("h", ANY);
    expect_hosts("-H h -- -H ,4", [control, wild, ("h", FOUR), wild]);
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
    assert_eq!(plan.port_range, Some((14070, 14080)));
    assert_eq!(run("-- -p 70000").plan.port_range, Some((65535, 65535)));
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
fn an_unknown_family_is_warned_about_on_stdout() {
    let notices = netperf("-H 127.0.0.1,bogusfamily").notices;
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].stream, OutputStream::Stdout);
    assert_eq!(
        notices[0].text,
        "WARNING! bogusfamil not recognized as an address family, using AF_UNPSEC\n\
         Are you sure netperf was configured for that address family?\n"
    );
}
