//! The help texts, as snapshots.

use crate::common;
use netperf_cli::{Command, OutputStream, ServerCommand};

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
    insta::assert_snapshot!("by_name", help("--help"));
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
