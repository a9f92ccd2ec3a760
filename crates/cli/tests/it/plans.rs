//! Plans of command lines.

mod ends;
mod hosts;
mod report;
mod work;

use std::path::PathBuf;
use std::time::Duration;

use crate::common::{netperf, run};
use netperf_cli::Command;
use netperf_model::{Flow, Format, Limit, RingPlan, SocketPlan, TestId, TransportId};

#[test]
fn without_options_the_plan_is_ten_seconds_of_tcp_to_this_host() {
    let run = run("");
    let plan = run.plan;
    assert_eq!(plan.test, TestId::TcpStream);
    assert_eq!(plan.transport, TransportId::Tcp);
    assert_eq!(plan.flow, Flow::SEND);
    assert_eq!(plan.limit, Limit::Time(Duration::from_secs(10)));
    assert_eq!((plan.request, plan.response, plan.burst), (None, None, 0));
    assert_eq!(plan.port_range, None);
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
fn misplaced_words_and_options_do_not_fail() {
    for line in [
        "-H x TCP_STREAM -- -m 63000 -m 87380 -l 120 -i 5,1",
        "-H ip -l 1 -- 42424",
        "-H x -l 1 foo bar -t TCP_RR",
        "-H x -t TCP_RR -r 1,1",
        "-Y CS5,CS5 -- -G 1000b -s 16k -S 16k",
        "-F /dev/urandom -T 1,1 -p 12865,12866 -L ,AF_INET6",
        "-H x -- -- -h",
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
    let version = Ok(Command::Version("Netperf version 2.7.0\n".to_owned()));
    assert_eq!(netperf("-V").command, version);
    assert_eq!(netperf("-t BOGUS -V -Q").command, version);
}
