//! The help texts, as snapshots.

use netperf_cli::{Command, OutputStream, ServerCommand, Subcommand};

use crate::common;

fn help(line: &str) -> String {
    match common::netperf(line).command {
        Ok(Command::Usage(usage)) => usage.text,
        other => panic!("{line}: {other:?}"),
    }
}

fn netserver_help(option: &str) -> String {
    match netperf_cli::netserver(
        &common::argv(&["netserver", option]),
        &|_| Ok(String::new()),
    )
    .command
    {
        Ok(ServerCommand::Usage(usage)) => usage.text,
        other => panic!("{option}: {other:?}"),
    }
}

#[test]
fn global_help_lists_every_option_and_test() {
    insta::assert_snapshot!("global", help("-h"));
}

#[test]
fn omni_help_lists_the_options_behind_the_dashes() {
    insta::assert_snapshot!("omni", help("-- -h"));
}

#[test]
fn sockets_help_lists_the_options_behind_the_dashes() {
    insta::assert_snapshot!("sockets", help("-t TCP_CC -- -h"));
}

#[test]
fn help_of_the_other_suites_lists_their_options() {
    for test in [
        "DG_RR",
        "SCTP_RR",
        "SDP_RR",
        "XTI_TCP_RR",
        "DLCO_RR",
        "FORE_RR",
        "HIPPI_RR",
    ] {
        let name = test.to_ascii_lowercase();
        insta::assert_snapshot!(name, help(&format!("-t {test} -- -h")));
    }
}

#[test]
fn netserver_help_lists_every_option() {
    insta::assert_snapshot!("netserver", netserver_help("-h"));
}

#[test]
fn help_by_name_is_everything_under_headings() {
    insta::assert_snapshot!("by_name", help("--help all"));
}

#[test]
fn first_page_has_examples_main_options_and_every_subcommand() {
    let text = help("--help");
    assert!(text.lines().count() <= 33, "{text}");
    let examples = text.lines().filter(|line| line.starts_with("  netperf "));
    assert_eq!(examples.count(), 5, "{text}");
    for option in [
        "-H",
        "-p",
        "--flows",
        "--udp",
        "--rate",
        "--reverse",
        "-D",
        "--bidirectional",
    ] {
        assert!(text.contains(option), "{option}: {text}");
    }
    for word in [
        "check", "report", "compare", "run", "counters", "sweep", "campaign", "history",
    ] {
        let title = format!("\n  {word:9}");
        assert!(text.contains(&title), "{word}: {text}");
        let full = help(&format!("--help {word}"));
        assert!(full.contains(&format!("netperf {word}")), "{full}");
    }
    insta::assert_snapshot!("first_page", text);
}

/// The names at the beginning of lines of a help text.
fn names(text: &str) -> Vec<&str> {
    let heads = text
        .lines()
        .filter_map(|line| line.get(..10.min(line.len())));
    let lines = text.lines().zip(heads);
    let names = lines.filter_map(|(line, head)| {
        let option = head.trim_start().starts_with('-');
        let mut words = line.split_whitespace();
        option.then(|| words.find(|word| word.starts_with("--")))?
    });
    names.collect()
}

#[test]
fn help_classic_has_the_options_that_help_all_leaves_out() {
    let (all, classic) = (help("--help all"), help("--help classic"));
    let (all, classic) = (names(&all), names(&classic));
    assert!((60..=75).contains(&all.len()), "{} {all:?}", all.len());
    for name in [
        "--ring",
        "--cpu-method",
        "--fill-file",
        "--tos",
        "--place",
        "--unused-w",
    ] {
        assert!(classic.contains(&name) && !all.contains(&name), "{name}");
    }
    assert!(help("--help classic").contains("\n  XTI_TCP_RR "));
    assert!(!help("--help all").contains("XTI_TCP_RR"));
    insta::assert_snapshot!("by_name_classic", help("--help classic"));
}

#[test]
fn netserver_help_has_examples_and_every_default() {
    let text = netserver_help("--help");
    let examples = text.lines().filter(|line| line.starts_with("  netserver "));
    assert_eq!(examples.count(), 4, "{text}");
    assert!(!text.contains("--max-sessions"), "{text}");
    let limits = netserver_help("--help=limits");
    assert!(limits.contains("--max-sessions"), "{limits}");
    assert_eq!(limits, help("--help limits"));
    for entry in netperf_cli::catalog::server() {
        let works = entry.group != netperf_cli::catalog::Group::Compatibility;
        if entry.needs_value() && works {
            assert!(
                entry.help.contains("default"),
                "--{}: {}",
                entry.long,
                entry.help
            );
        }
    }
}

#[test]
fn programs_are_topics_of_help() {
    assert_eq!(help("--help netserver"), netserver_help("--help"));
    assert_eq!(
        help("--help iperf3"),
        netperf_iperf3::options::iperf3_help()
    );
    assert!(help("--help iperf").contains("\n  -y, --reportstyle C "));
    assert!(help("--help TCP_RR").contains("any P<number>_LATENCY"));
    assert!(!help("--help TCP_STREAM").contains("_LATENCY"));
}

#[test]
fn help_has_the_words_of_other_programs() {
    for word in ["throughput", "parallel", "retransmit"] {
        assert!(help("--help").contains(word), "{word}");
        assert!(help("--help all").contains(word), "{word}");
    }
}

/// Tests, options that have a place in them, and options that have none.
const PLACES: [(&str, &str, &str); 6] = [
    (
        "TCP_RR",
        "--rate --until --latency --flows --request-size --timestamps",
        "--sequence --bidirectional --reverse --send-size --direction",
    ),
    (
        "TCP_STREAM",
        "--rate --until --flows --send-size --bidirectional --series",
        "--request-size --burst --sequence --arrival --timestamps",
    ),
    (
        "UDP_STREAM",
        "--rate --sequence --segment-offload --flows --connected",
        "--series --segment-size --no-delay --congestion --request-size",
    ),
    (
        "TCP_CRR",
        "--flows --rate --port-range --fast-open --request-size",
        "--series --sequence --bidirectional",
    ),
    (
        "OMNI",
        "--direction --sequence --tls-cipher --burst",
        "--unused-w",
    ),
    ("LOC_CPU", "--host --json", "--rate --flows --latency"),
];

#[test]
fn help_about_a_test_has_what_applies_and_nothing_else() {
    for (test, has, lacks) in PLACES {
        let text = help(&format!("--help {test}"));
        let named = |option: &str| text.split_whitespace().any(|word| word == option);
        for option in has.split(' ') {
            assert!(named(option), "{test} lacks {option}: {text}");
        }
        for option in lacks.split(' ') {
            assert!(!named(option), "{test} has {option}: {text}");
        }
    }
}

#[test]
fn help_about_a_test_is_that_tests_options() {
    assert_eq!(help("--help tcp_cc"), help("-t TCP_CC -- --help"));
    assert_eq!(help("--help=tcp_cc"), help("--test tcp_cc -- --help"));
    insta::assert_snapshot!("by_name_tcp_cc", help("--help tcp_cc"));
    insta::assert_snapshot!("by_name_loc_cpu", help("--help LOC_CPU"));
}

#[test]
fn help_about_netserver_by_name() {
    insta::assert_snapshot!("by_name_netserver", netserver_help("--help"));
}

#[test]
fn help_by_name_fits_into_80_columns() {
    let texts = [
        help("--help"),
        help("--help all"),
        help("--help check"),
        help("--help run"),
        help("--help compare"),
        help("--help sweep"),
        help("--help report"),
        help("--help history"),
        help("--help OMNI"),
        help("--help TCP_CC"),
        help("--help DG_RR"),
        help("--help SCTP_RR_MANY"),
        help("--help SDP_RR"),
        help("--help XTI_UDP_RR"),
        help("--help DLCO_RR"),
        help("--help FORE_RR"),
        help("--help HIPPI_RR"),
        netserver_help("--help"),
    ];
    for line in texts.iter().flat_map(|text| text.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
        assert_eq!(line.trim_end(), line);
    }
}

#[test]
fn help_by_name_is_no_failure_and_help_by_letter_still_is() {
    for (line, stream, exit) in [
        ("--help", OutputStream::Stdout, 0),
        ("--help all", OutputStream::Stdout, 0),
        ("--help sweep", OutputStream::Stdout, 0),
        ("-- --help", OutputStream::Stdout, 0),
        ("-h", OutputStream::Stderr, 1),
        ("-- -h", OutputStream::Stdout, 1),
    ] {
        let Ok(Command::Usage(usage)) = common::netperf(line).command else {
            panic!("{line}");
        };
        assert_eq!((usage.stream, usage.exit), (stream, exit), "{line}");
    }
}

#[test]
fn the_word_help_is_as_good_as_the_option() {
    for (words, line) in [
        (&["netperf", "help"][..], "--help"),
        (&["netperf", "help", "all"], "--help all"),
        (&["netperf", "help", "sweep"], "--help sweep"),
        (&["netperf", "help", "tcp_rr"], "--help TCP_RR"),
    ] {
        let Some(Ok(Subcommand::Help(usage))) = netperf_cli::subcommand(&common::argv(words))
        else {
            panic!("{words:?}");
        };
        assert_eq!(usage.text, help(line));
    }
    let wrong = netperf_cli::subcommand(&common::argv(&["netperf", "help", "swep"]));
    let Some(Err(error)) = wrong else {
        panic!("{wrong:?}");
    };
    let text = error.to_string();
    assert!(
        text.contains("'swep' is not all, classic, limits, a subcommand"),
        "{text}"
    );
    assert!(text.contains("did you mean sweep?"), "{text}");
    let other = netperf_cli::subcommand(&common::argv(&["netperf", "help", "throughput"]));
    let text = other.map(|read| read.unwrap_err().to_string());
    assert!(
        text.as_ref()
            .is_some_and(|text| text.ends_with("did you mean TCP_STREAM?")),
        "{text:?}"
    );
    let option = common::argv(&["netperf", "help", "-H", "db1"]);
    assert!(netperf_cli::subcommand(&option).is_none());
}

#[test]
fn check_takes_its_host_as_a_word_or_as_netperf_does() {
    let check = |words: &[&str]| {
        let words = [&["netperf", "check"], words].concat();
        match netperf_cli::subcommand(&common::argv(&words)) {
            Some(Ok(Subcommand::Check(args))) => Ok((args.host, args.words.join(" "))),
            Some(Ok(Subcommand::Usage(usage))) => Err(usage.text),
            other => panic!("{other:?}"),
        }
    };
    for words in [
        &["db1", "--human", "--", "-L", "a"][..],
        &["-H", "db1", "--", "-L", "a"],
        &["--client", "db1", "--", "-L", "a"],
    ] {
        let read = check(words);
        assert_eq!(read, Ok(("db1".to_owned(), "-L a".to_owned())), "{words:?}");
    }
    assert!(check(&["--", "-L", "a"]).is_err_and(|text| text.contains("the host is required")));
}
