//! Long options: where they may stand, what they mean, and what is said about wrong ones.

use std::time::Duration;

use crate::common::{error, netperf, run};
use netperf_cli::{CliError, Command, Misuse, OptionProblem, OutputStream, ServerCommand};
use netperf_model::{Family, Flow, Format, Limit, RateUnit, SelectionSource, TestId, TransportId};

#[test]
fn a_value_is_attached_or_the_next_word() {
    for line in [
        "--test tcp_rr --host db1 --time 5",
        "--test=TCP_RR --host=db1 --time=5s",
        "-t TCP_RR --host=db1 -l 5",
    ] {
        let plan = run(line).plan;
        assert_eq!(plan.test, TestId::TcpRr, "{line}");
        assert_eq!(plan.limit, Limit::Time(Duration::from_secs(5)), "{line}");
        assert_eq!(plan.remote_data.host, "db1", "{line}");
    }
}

#[test]
fn a_time_has_units_and_may_be_less_than_a_second() {
    for (line, limit) in [
        ("--time 500ms", Limit::Time(Duration::from_millis(500))),
        ("--time 1m30s", Limit::Time(Duration::from_secs(90))),
        ("--time 0.5", Limit::Time(Duration::from_millis(500))),
        ("--time 2m", Limit::Time(Duration::from_secs(120))),
        ("-l 2m", Limit::Time(Duration::from_secs(2_000_000))),
        ("--time -1M", Limit::Units(1 << 20)),
        ("--count 1M", Limit::Units(1 << 20)),
        ("--time 0", Limit::UntilStopped),
        ("--time 5 -l 3", Limit::Time(Duration::from_secs(3))),
        ("-l 3 --time 5", Limit::Time(Duration::from_secs(5))),
    ] {
        assert_eq!(run(line).plan.limit, limit, "{line}");
    }
}

#[test]
fn times_of_tests_where_netserver_sends_have_fractions_of_seconds() {
    for (line, milliseconds) in [
        ("--time 1500ms --test tcp_maerts", 1500),
        ("--time 2s --test tcp_maerts", 2000),
        ("--test omni --direction recv --time 0.1", 100),
    ] {
        let limit = Limit::Time(Duration::from_millis(milliseconds));
        assert_eq!(run(line).plan.limit, limit, "{line}");
    }
}

#[test]
fn units_behind_the_letter_of_the_length_have_a_warning() {
    for (line, hints) in [
        ("-l 1m30s", 1),
        ("-l 1m", 1),
        ("-l 2.5", 1),
        ("-l 0.5", 0),
        ("-l 0", 0),
        ("-l 10s", 0),
        ("-l 10", 0),
        ("-l 0", 0),
        ("-l -1m", 0),
        ("-l 1k", 0),
        ("--time 1m", 0),
    ] {
        let notices = netperf(line).notices;
        assert_eq!(notices.len(), hints, "{line}");
        // A program that prints times as Go does has a clean standard error (I21).
        let of_go = line == "-l 1m30s";
        assert!(
            notices.iter().all(|notice| notice.is_hint == of_go),
            "{line}"
        );
    }
}

#[test]
fn a_length_without_a_number_is_refused() {
    for length in ["abc", "-abc"] {
        let error = error(&format!("-l {length}")).to_string();
        let start = format!("netperf: option -l: '{length}' is not a number of seconds such as 10");
        assert!(error.starts_with(&start), "{error}");
        assert!(error.ends_with("are for --time"), "{error}");
    }
    assert_eq!(self::run("-l 90.0").garbled, [""; 0]);
}

#[test]
fn test_options_stand_anywhere_by_name_and_the_last_one_wins() {
    for line in [
        "--test tcp_rr --request-size 1,64K --no-delay",
        "--request-size 1,64K --test tcp_rr --no-delay",
        "--request-size=1,64K -t tcp_rr -- --no-delay",
        "-t tcp_rr -- --request-size 1,64K -D",
        "--request-size 7 -t tcp_rr -- -D -r 1,64K",
    ] {
        let plan = run(line).plan;
        assert_eq!(
            (plan.request, plan.response),
            (Some(1), Some(65536)),
            "{line}"
        );
        assert!(plan.local.socket.nodelay, "{line}");
    }
}

#[test]
fn global_options_stand_behind_the_dashes_by_name() {
    let plan = run("-t TCP_RR -- -r 7 --time 3 --host=db1 -D").plan;
    assert_eq!(plan.limit, Limit::Time(Duration::from_secs(3)));
    assert_eq!(plan.remote_data.host, "db1");
    assert_eq!((plan.request, plan.local.socket.nodelay), (Some(7), true));
}

#[test]
fn a_test_named_behind_the_dashes_decides_what_the_letters_there_mean() {
    let run_of = run("-- -z -m 1K --test tcp_sendfile");
    assert_eq!(run_of.plan.test, TestId::TcpSendfile);
    assert_eq!(run_of.plan.local.send.size, Some(1024));
    assert!(netperf("-- -z --test tcp_cc").notices.is_empty());
}

#[test]
fn names_keep_a_letters_two_meanings_apart() {
    let plan = run("--ipv4 --data-ipv6 --port 5000 --data-port 6000,7000").plan;
    assert_eq!(plan.remote_data.family, Family::V6);
    assert_eq!(
        (&*plan.local_data.port, &*plan.remote_data.port),
        ("6000", "7000")
    );
    let control = plan.control.expect("there is no --no-control");
    assert_eq!(control.remote.family, Family::V4);
    assert_eq!(control.remote.port, "5000");
}

#[test]
fn two_outputs_or_protocols_by_name_are_refused() {
    for (words, option) in [
        ("--json --csv", "--json"),
        ("--json --json-stream", "--json"),
        ("--human --keyval UUID", "--human"),
        ("--json-stream --columns", "--json-stream"),
        ("--iperf2 --iperf3", "--iperf2"),
    ] {
        let error = error(&format!("-H a {words}")).to_string();
        assert!(
            error.starts_with(&format!("netperf: {option}: a ")),
            "{error}"
        );
        assert!(error.contains("leave out"), "{error}");
    }
}

#[test]
fn omni_takes_its_shape_from_names_as_it_does_from_letters() {
    let plan = run("--test omni --protocol udp --direction recv").plan;
    assert_eq!(
        (plan.transport, plan.flow),
        (TransportId::Udp, Flow::RECEIVE)
    );
    let report = run("--keyval THROUGHPUT,DIRECTION").report;
    let list = SelectionSource::List("THROUGHPUT,DIRECTION".to_owned());
    assert_eq!(report.format, Format::Keyval(list));
    let report = run("--csv --columns --test tcp_rr").report;
    assert_eq!(report.format, Format::Columns(SelectionSource::Default));
}

#[test]
fn a_question_mark_lists_the_selectors_by_name_too() {
    for line in ["--keyval ?", "--csv=?", "-- --keyval ?"] {
        let listed = netperf(line).command;
        assert_eq!(
            listed,
            Ok(Command::ListSelectors {
                one_per_line: false
            }),
            "{line}"
        );
    }
}

#[test]
fn a_letter_that_is_due_a_word_takes_a_long_option_for_it() {
    assert_eq!(
        run("-B --time -l 5").report.brand.as_deref(),
        Some("--time")
    );
}

#[test]
fn version_by_name_tells_more_than_by_letter() {
    for line in ["--version", "-- --version"] {
        assert_eq!(netperf(line).command, Ok(Command::FullVersion), "{line}");
    }
}

/// Error text of an invalid command line: one line, and exit status 2.
#[track_caller]
fn complaint(line: &str) -> String {
    let error = error(line);
    assert!(
        matches!(error, CliError::LongOption(_)),
        "{line}: {error:?}"
    );
    assert_eq!(
        (error.stream(), error.exit()),
        (OutputStream::Stderr, 2),
        "{line}"
    );
    assert!(netperf(line).notices.is_empty(), "{line}");
    error.to_string()
}

#[test]
fn a_wrong_long_option_gets_one_line_with_the_nearest_right_spelling() {
    let lines = [
        "--tiem 5",
        "--remote 5",
        "--no_delay",
        "--duration 5",
        "--runs 3",
        "--json-file x",
        "--until-max 3",
        "--xyzzy",
        "--=5",
        "---time 5",
        "--time",
        "--time --host x",
        "--time=",
        "--time 5 --no-delay=1",
        "--time 10seconds",
        "--time ten",
        "--test tcp_strem",
        "--port 70000",
        "--send-size 64KB,32KB",
        "--tos af14",
        "--unit Mbit",
        "--confidence 99",
        "--iterations 2",
        "--headers maybe",
        "--host db1,7",
        "--protocol tpc",
        "--direction both",
        "--recv-timeout soon",
        "--bind-cpu all",
        "--help tcp_r",
        "-t TCP_CC --congestion cubic",
        "-t TCP_CC -- --congestion cubic",
        "-t LOC_CPU --no-delay",
        "-- --tiem 5",
        "-- --socket-bufer 5",
    ];
    let said: Vec<String> = lines
        .iter()
        .map(|line| format!("{line}\n    {}\n", complaint(line)))
        .collect();
    insta::assert_snapshot!("wrong", said.concat());
}

#[test]
fn netserver_has_names_too() {
    let netserver = |words: &[&str]| {
        netperf_cli::netserver(&crate::common::argv(words), &|_| Ok(String::new())).command
    };
    let Ok(ServerCommand::Serve(args)) =
        netserver(&["netserver", "--foreground", "--port=7", "--listen", "::1,6"])
    else {
        panic!("not served");
    };
    assert!(args.foreground && args.standalone);
    assert_eq!((args.port(), args.family()), ("7", Family::V6));
    let error = netserver(&["netserver", "--prot", "7"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "netserver: option --prot is unknown; did you mean --port?"
    );
    assert!(matches!(
        error,
        CliError::LongOption(misuse)
            if matches!(&*misuse, Misuse { problem: OptionProblem::Unknown { near, .. }, .. } if near == &["port"])
    ));
}

#[test]
fn a_word_that_is_a_host_is_the_host() {
    for (line, host) in [
        ("192.0.2.1", "192.0.2.1"),
        ("server.example -t TCP_RR", "server.example"),
        ("box -l 1", "box"),
        ("fd00::1", "fd00::1"),
        ("-l 4 localhost", "localhost"),
        ("-p 4000 192.0.2.1", "192.0.2.1"),
        ("-C ::1", "::1"),
        ("-p 4000 db2", "db2"),
    ] {
        let run = run(line);
        let control = run.plan.control.expect("a control connection");
        assert_eq!(
            (control.remote.host.as_str(), control.explicit),
            (host, true)
        );
        assert_eq!(run.plan.remote_data.host, host, "{line}");
        assert_eq!(netperf(line).notices, [], "{line}");
    }
}

#[test]
fn a_word_like_a_subcommand_is_a_typing_error() {
    for (line, word, meant) in [
        ("10.0.0.1:23000", "10.0.0.1:23000", "-H 10.0.0.1 -p 23000"),
        ("swep", "swep", "`netperf sweep`"),
        ("-l 1 history", "history", "`netperf history`"),
        ("-H db1 chek", "chek", "`netperf check`"),
        ("help", "help", "--help"),
        ("version", "version", "-V"),
        ("-c 192.0.2.1", "192.0.2.1", "-H 192.0.2.1"),
        ("-c 192.0.2.1:5201 -l 1", "192.0.2.1:5201", "-p 5201"),
    ] {
        let refused = error(line);
        assert_eq!(
            (refused.exit(), refused.stream()),
            (2, OutputStream::Stderr)
        );
        let text = refused.to_string();
        let begins = format!("netperf: '{word}' is neither a command nor the value of an option; ");
        assert!(text.starts_with(&begins) && text.contains(meant), "{text}");
    }
}

#[test]
fn a_test_called_help_lists_the_tests() {
    for line in ["-t help", "-t '?'", "-t LIST -H db1", "--list"] {
        let line = line.replace('\'', "");
        assert!(
            matches!(netperf(&line).command, Ok(Command::List(_))),
            "{line}"
        );
    }
}

#[test]
fn words_that_are_left_over_are_ignored_as_in_the_original() {
    for line in [
        "-H db1 -l 1 -- 42424",
        "-H db1 -c 192.0.2.1",
        "-c 100.5 -C 127",
        "-H db1 -c foo",
        "-H db1 -t TCP_STREAM -r 1,1",
        "-H db1 -l 1 foo bar",
    ] {
        assert_eq!(run(line).plan.test, TestId::TcpStream, "{line}");
        let notices = netperf(line).notices;
        assert!(notices.iter().all(|notice| notice.is_hint), "{line}");
    }
    for (line, said) in [
        (
            "-H db1 TCP_RR -l 1",
            "'TCP_RR' is ignored: a test is given as -t TCP_RR",
        ),
        (
            "-H db1 TCP_STREAM -- -m 63000 -l 120",
            "'TCP_STREAM' is ignored: a test is given as -t TCP_STREAM",
        ),
        (
            "foo bar -l 1",
            "'foo', 'bar' are ignored: they are not values of an option",
        ),
        (
            "tcp_rr -l 1",
            "'tcp_rr' is ignored: a test is given as -t tcp_rr",
        ),
        (
            "30",
            "'30' is ignored: a length in seconds is given as -l 30",
        ),
        ("live", "'live' is ignored: did you mean --live?"),
        ("foo", "'foo' is ignored: a host is given as -H foo"),
        (
            "-C cubic",
            "'cubic' is ignored: an algorithm is given as --congestion cubic",
        ),
        (
            "-t TCP_STREAM -- -m 1K 42424",
            "'42424' is ignored: a length in seconds is given as -l 42424",
        ),
    ] {
        assert_eq!(run(line).plan.test, TestId::TcpStream, "{line}");
        let [notice] = &netperf(line).notices[..] else {
            panic!("{line}");
        };
        assert_eq!(notice.text, format!("netperf: {said}\n"));
        assert!(!notice.is_hint, "{line}");
    }
}

#[test]
fn percentiles_are_answered_with_the_selectors() {
    let refused = error("--percentiles 50,99").to_string();
    assert!(
        refused.contains("any P<number>_LATENCY is a selector"),
        "{refused}"
    );
}

#[test]
fn a_count_of_nothing_is_refused_and_less_than_a_second_is_what_it_says() {
    let refused = error("--count 0");
    assert_eq!(refused.exit(), 2);
    assert!(refused.to_string().contains("--count needs an amount"));
    for (line, limit) in [
        ("-l 0.5", Limit::Time(Duration::from_millis(500))),
        ("-l 0", Limit::UntilStopped),
        ("--count 0 -l 3", Limit::Time(Duration::from_secs(3))),
        ("-l 90.7", Limit::Time(Duration::from_secs(90))),
    ] {
        assert_eq!(run(line).plan.limit, limit, "{line}");
    }
}

#[test]
fn words_of_iperf_are_options_here() {
    let same = |theirs: &str, ours: &str| {
        let (theirs, ours) = (run(theirs), run(ours));
        assert_eq!(theirs.plan, ours.plan);
        assert_eq!(theirs.named, ours.named);
    };
    same("--parallel 8", "--flows 8");
    same("--parallel=8", "--flows=8");
    same("--client db1 --interval 1", "--host db1 --interim 1");
    same("--bandwidth 5M", "--rate 5M");
    same("--flows 2 --omit 1s", "--flows 2 --warmup 1s");
    same("--bidir", "--bidirectional separate");
    same("--bidir separate", "--bidirectional separate");
    same("--bidir same", "--bidirectional same");
    same("--bidir=same", "--bidirectional same");
    same("--bidir -l 1", "--bidirectional separate -l 1");
    for (line, test) in [
        ("--udp", TestId::UdpStream),
        ("--udp -t TCP_RR", TestId::UdpRr),
        ("--udp -t UDP_RR", TestId::UdpRr),
        ("--reverse", TestId::TcpMaerts),
        ("-- --reverse", TestId::TcpMaerts),
    ] {
        assert_eq!(run(line).plan.test, test, "{line}");
    }
    let back = run("--udp --reverse").plan;
    let omni = run("-t OMNI -- -T udp -d recv").plan;
    assert_eq!((back.transport, back.flow), (omni.transport, omni.flow));
    for (line, named) in [
        ("--udp -t TCP_CC", "--udp"),
        ("--udp -t OMNI", "--udp"),
        ("--reverse -t TCP_RR", "--reverse"),
    ] {
        let refused = error(line);
        assert_eq!(refused.exit(), 3, "{line}");
        assert!(refused.to_string().contains(named), "{refused}");
    }
}

#[test]
fn a_rate_can_have_its_unit() {
    for text in [
        "50m", "50M", "50Mbit", "50mbit", "50Mbps", "50Mbit/s", "50Mb", "50mb", "50Mb/s",
        "50000Kb", "0.05Gb", "50000k", "0.05G",
    ] {
        for option in ["--rate", "--bitrate"] {
            let plan = run(&format!("--udp {option} {text}")).plan;
            let rate = plan.local.rate.expect("a rate");
            assert_eq!(
                (rate.per_second, rate.unit),
                (50e6, RateUnit::Bits),
                "{text}"
            );
        }
    }
    let pacing = |text: &str| run(&format!("--pacing-rate {text}")).plan.local.socket;
    let letter = run("-- -q 6250000").plan.local.socket;
    for rate in ["50M", "50Mbit", "50000000", "0.05G"] {
        assert_eq!(pacing(rate), letter, "{rate}");
    }
    for text in ["50MB", "50b", "Mb", "Mbit", "5xbit", "-5Mbit", "0bit"] {
        let refused = error(&format!("--rate {text}"));
        assert!(
            refused.to_string().contains("is not a rate"),
            "{text}: {refused}"
        );
    }
}

#[test]
fn options_with_an_obvious_value_need_none() {
    for (alone, meant) in [
        ("--bidirectional", "--bidirectional separate"),
        ("--bidir", "--bidirectional separate"),
        ("--one-port", "--one-port on"),
        ("--interim", "--interim 1"),
        ("--interval", "--interim 1"),
        ("--series", "--series 100ms"),
        ("--until", "--until 1%"),
        ("--confidence", "--confidence 99,5"),
        ("--quickack", "--quickack on"),
        ("--udp --segment-offload", "--udp --segment-offload on"),
        (
            "-t TCP_RR --rate 100 --arrival",
            "-t TCP_RR --rate 100 --arrival poisson",
        ),
        ("-t TCP_RR --timestamps", "-t TCP_RR --timestamps software"),
        ("--progress", "--progress always"),
        ("--route", "--route 1"),
    ] {
        let plans = |line: &str| {
            let run = run(line);
            (run.plan, run.show)
        };
        assert_eq!(plans(alone), plans(meant), "{alone}");
        for behind in ["-l 10", "--time 10"] {
            let (alone, meant) = (format!("{alone} {behind}"), format!("{meant} {behind}"));
            assert_eq!(plans(&alone), plans(&meant), "{alone}");
        }
    }
    assert_eq!(
        run("--until -H db1").plan.control,
        run("--until 1% -H db1").plan.control
    );
    let wrong = error("--bidirectional seperate").to_string();
    assert!(wrong.contains("did you mean separate?"), "{wrong}");
    for line in ["--arrival xyz", "--until db1", "--interim abc"] {
        assert!(error(line).to_string().contains("is not"), "{line}");
    }
}

#[test]
fn dscp_has_tos_as_its_old_name() {
    let tos = |line: &str| run(line).plan.local.socket.tos;
    for line in [
        "--dscp 46",
        "--dscp ef",
        "--tos 184",
        "--tos ef",
        "-Y 0xb8",
        "-Y ef",
    ] {
        assert_eq!(tos(line), tos("--dscp 46"), "{line}");
    }
}

#[test]
fn bind_cpu_takes_lists_and_rules_of_placement() {
    let flows = |line: &str| format!("{:?}", run(&format!("--flows 4 {line}")).plan);
    assert_eq!(flows("--bind-cpu spread"), flows("--place spread"));
    assert_eq!(flows("-T node:0"), flows("--place node:0"));
    assert_eq!(flows("--bind-cpu 0-1:"), flows("--cpus 0-1"));
    assert_eq!(flows("--bind-cpu :0-1"), flows("--remote-cpus 0-1"));
}

#[test]
fn letters_of_iperf_are_answered_with_options() {
    for (line, meant) in [
        ("-u", "--udp"),
        ("-R", "--reverse"),
        ("-J", "--json"),
        ("-m 64", "-- -m 64"),
        ("-G 1400", "after --"),
        ("-s", "netserver"),
        ("-H db1 -l 1 -M 1400", "--segment-size"),
    ] {
        let Ok(Command::Usage(usage)) = netperf(line).command else {
            panic!("{line}");
        };
        assert!(usage.text.contains(meant), "{line}: {}", usage.text);
        assert_eq!(usage.text.lines().count(), 1, "{line}: {}", usage.text);
    }
    let remark = "-P 8: read as 1; did you mean --flows 8?";
    assert_eq!(run("-P 8").garbled, [remark]);
    assert!(run("-P 1").garbled.is_empty());
    let hints = |line| {
        let notices = netperf(line).notices;
        let lines = notices.into_iter().filter(|notice| notice.is_hint);
        lines.map(|notice| notice.text).collect::<Vec<_>>()
    };
    let hint = "-i 1: read as 3 iterations; did you mean --interval 1?\n";
    assert_eq!(hints("-i 1 -l 1"), [hint]);
    for line in ["-i 3", "-i 10,3", "-i 1,3", "--iterations 3"] {
        assert!(hints(line).is_empty(), "{line}");
    }
    for (name, meant) in [
        ("10", "-l 10"),
        ("throughput", "TCP_STREAM"),
        ("udp", "UDP_STREAM"),
    ] {
        let Ok(Command::UnknownTest(unknown)) = netperf(&format!("-t {name}")).command else {
            panic!("{name}");
        };
        assert!(unknown.hint().contains(meant), "{}", unknown.hint());
    }
}
