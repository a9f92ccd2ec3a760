//! No command line makes the parser panic.

use std::ffi::OsString;

use netperf_cli::{CliEnvironment, CliError, Parsed};
use proptest::prelude::*;

fn around() -> CliEnvironment<'static> {
    CliEnvironment {
        read_file: &|_| Ok("THROUGHPUT\n".to_owned()),
        is_selector: &|_| false,
        selectors: &["THROUGHPUT", "UUID"],
        is_host: &|_| false,
        dump_tcp_info: true,
    }
}

/// Words that look like options, values, and neither.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "-[A-Za-z0-9:?-]{1,4}",
        "-[A-Za-z46][0-9,KMGkmg.-]{0,12}",
        "[0-9,KMGkmgus.%-]{0,12}",
        "(tcp_rr|omni|TCP_CC|udp_stream|LOC_CPU|send\\|recv|all|\\?|,6|host/24,4)",
        Just("--".to_owned()),
        "--[a-z=-]{0,10}",
        "--(time|host|test|send-size|direction|keyval|help|port|tos|interim|burst)",
        "--(time|host|test|send-size|direction|keyval|help|listen|tos|interim)=[0-9a-zA-Z,.|-]{0,8}",
        ".{0,8}",
    ]
}

proptest! {
    #[test]
    fn any_words_are_read_without_panic(words in prop::collection::vec(word(), 0..12)) {
        let argv: Vec<OsString> = std::iter::once("netperf".to_owned())
            .chain(words)
            .map(OsString::from)
            .collect();
        let first = netperf_cli::netperf(&argv, &around());
        prop_assert_eq!(&first, &netperf_cli::netperf(&argv, &around()));
        if let Err(error) = first.command {
            prop_assert!(!error.to_string().is_empty());
            if let CliError::LongOption(_) = error {
                prop_assert!(!error.to_string().contains(char::is_control));
            }
            prop_assert!(error.exit() > 0);
        }
    }

    #[test]
    fn any_netserver_words_are_read_without_panic(words in prop::collection::vec(word(), 0..8)) {
        let argv: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        let Parsed { notices, .. } = netperf_cli::netserver(&argv, &|_| Ok(String::new()));
        for notice in notices {
            prop_assert!(notice.text.ends_with('\n'));
        }
    }
}

#[test]
fn an_empty_command_line_runs_the_default_test() {
    let parsed = netperf_cli::netperf(&[], &around());
    assert!(parsed.command.is_ok());
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_utf8_is_refused_by_its_position() {
    use std::os::unix::ffi::OsStringExt;

    let argv = vec![
        "netperf".into(),
        "-B".into(),
        OsString::from_vec(vec![0xff]),
    ];
    let error = netperf_cli::netperf(&argv, &around()).command.unwrap_err();
    assert!(matches!(error, CliError::NotUtf8 { position: 2, .. }));
    assert_eq!(error.to_string(), "netperf: argument 2 is not valid UTF-8");
}
