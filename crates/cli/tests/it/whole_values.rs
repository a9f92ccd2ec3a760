//! Values that are read whole, and words that are no values.

use std::time::Duration;

use crate::common::{argv, error, netperf, netperf_with_file, run};
use netperf_cli::{CliError, ServerCommand, Subcommand};
use netperf_model::Limit;

#[test]
fn an_empty_word_is_no_default() {
    let netperf = |words: &[&str]| {
        let words: Vec<&str> = std::iter::once("netperf")
            .chain(words.iter().copied())
            .collect();
        netperf_with_file(&words, None).command
    };
    for word in ["", ",", " ", ", ,"] {
        for options in [
            &["-H", word][..],
            &["-H", word, "-p", "4000"],
            &["--host", word],
            &["-p", word],
            &["-t", word],
            &["-L", word],
            &["-F", word],
            &["-a", "1", "-H", word],
            &["--passphrase", word],
            &["--key-file", word],
            &["--history", "x", "-H", word],
            &["--", "-H", word],
            &["--", "-P", word],
            &["--keyval", word],
            &["--", "-K", word],
            &["--", "-T", word],
            &["--", "-u", word],
        ] {
            match netperf(options) {
                Err(error) => {
                    assert_eq!(error.exit(), 2, "{options:?}");
                    assert!(!error.to_string().contains('\n'), "{options:?}: {error}");
                }
                Ok(_) => panic!("{options:?} is accepted"),
            }
        }
    }
    assert!(netperf(&["-H", ",4"]).is_err());
    assert!(netperf(&["-B", ""]).is_ok());
    assert!(netperf(&["-L", ",4"]).is_ok());
    assert!(netperf(&["-H", "db1", "--", "-H", ",4"]).is_ok());
}

#[test]
fn numbers_are_read_whole() {
    // Long names: what people mean, or an error.
    for (option, digits) in [
        ("--send-size 1e6", "1000000"),
        ("--send-size 1.5K", "1536"),
        ("--send-size 64k", "64000"),
        ("--count 2.5e3", "2500"),
        ("--burst 1e3", "1000"),
        ("-t TCP_RR --rate 1e3", "1000"),
        ("--rate 1.5e6", "1500000"),
        ("--rate 1e3k", "1000000"),
        ("--pacing-rate 1e9", "1000000000"),
        ("--remote-pacing-rate 1e9", "1000000000"),
        ("--time 5e-1", "0.5"),
        ("--time 1e3ms", "1"),
        ("--interim 5e-1", "0.5"),
        ("--until 1e-1%", "0.1%"),
    ] {
        let (name, _) = option.rsplit_once(' ').expect("a value");
        let (typed, plain) = (run(option).plan, run(&format!("{name} {digits}")).plan);
        assert_eq!(typed, plain, "{option}");
    }
    assert_eq!(
        run("--time 1h").plan.limit,
        Limit::Time(Duration::from_secs(3600))
    );
    for option in [
        "--send-size 16Q",
        "--send-size 64,000",
        "--send-size 10bytes",
        "--send-size 1.0001K",
        "--count 1,000",
        "--time 1x",
        "--burst 10x",
        "--rate 1e",
        "--rate e3",
        "--time 1e99",
        "--time 1e+-1",
        "--interim 1,5x",
    ] {
        assert_eq!(error(option).exit(), 2, "{option}");
    }
}

#[test]
fn numbers_of_letters_are_read_as_by_netperf_with_a_warning() {
    for (options, said) in [
        ("-- -m 1e6", "read as 1"),
        ("-- -m 1.5K", "read as 1024"),
        ("-- -m 64,000", "read as 64 and 000"),
        ("-- -m 16Q", "read as 16"),
        ("-D 500ms", "read as 500"),
        ("-- -b 1e3", "read as 1"),
        ("-s 1h", "read as 1"),
        ("-P 0x", "read as 0"),
        ("-P 1x", "read as 1"),
        ("-T 0x", "read as 0"),
        ("-T 0,1x", "read as 1"),
        ("-I 99x,5", "read as 99 and 5"),
        ("-I 95,5x", "read as 95 and 5"),
        ("-- -q 1M", "read as 1"),
    ] {
        let garbled = run(options).garbled;
        assert!(
            garbled
                .iter()
                .any(|line| line.ends_with(&format!("; {said}"))),
            "{options}: {garbled:?}"
        );
    }
    // What published scripts give, and what the letters read whole.
    for options in [
        "-P 0",
        "-P 1",
        "-T 0,1",
        "-T ,1",
        "-T 0",
        "-I 99,5",
        "-I 95,2.5",
        "-I 99",
        "-I 99,5%",
        "-T 0-3:4-7",
        "-- -q 12500000",
    ] {
        assert!(run(options).garbled.is_empty(), "{options}");
    }
    let garbled = run("-- -q 1M").garbled.concat();
    assert!(
        garbled.contains("bytes per second such as 12500000")
            && garbled.contains("--pacing-rate takes bits per second"),
        "{garbled}"
    );
    for (options, said) in [
        ("-l 1h", "-l 1h is read as 1 second,"),
        ("-l 1m", "-l 1m is read as 1000000 seconds,"),
    ] {
        let notices = netperf(options).notices;
        assert!(
            notices
                .iter()
                .any(|one| one.text.contains(said) && !one.is_hint),
            "{options}: {notices:?}"
        );
    }
}

#[test]
fn words_of_a_service_manager_start_no_netserver() {
    let netserver = |words: &[&str]| netperf_cli::netserver(&argv(words), &|_| Ok(String::new()));
    for word in [
        "start", "stop", "status", "restart", "Reload", "help", "shutdown", "run", "daemon",
        "enable", "disable", "install", "version", "quit",
    ] {
        let command = netserver(&["netserver", word]).command;
        let Err(error @ CliError::Order { .. }) = command else {
            panic!("{word}: {command:?}");
        };
        assert_eq!(error.exit(), 2, "{word}");
    }
    assert!(
        netserver(&["netserver", "--max-memory", "1e9"])
            .command
            .is_ok()
    );
    let other = netserver(&["netserver", "somewhere"]);
    assert!(matches!(other.command, Ok(ServerCommand::Serve(_))));
    assert_eq!(other.notices.len(), 1);
    for word in ["", ","] {
        assert!(netserver(&["netserver", "-p", word]).command.is_err());
    }
}

#[test]
fn subcommands_take_no_empty_words_and_a_check_only_options_that_are_not_its_own() {
    let read = |words: &[&str]| match netperf_cli::subcommand(&argv(words)).expect("a subcommand") {
        Ok(Subcommand::Usage(usage)) => Err(usage.exit),
        Ok(command) => Ok(command),
        Err(error) => Err(error.exit()),
    };
    for words in [
        &["netperf", "check", ""][..],
        &["netperf", "check", ","],
        &["netperf", "check", ",4"],
        &["netperf", "check", "-H", ""],
        &["netperf", "check", "db1", "-p", ""],
        &["netperf", "check", "db1", "-p", "1x"],
        &["netperf", "check", "db1", "--db", ""],
        &["netperf", "report", ""],
        &["netperf", "history", "list", "--label", ""],
        &["netperf", "check", "db1", "--", "-t", "UDP_RR"],
        &["netperf", "check", "db1", "--", "-H", "db2"],
        &["netperf", "check", "db1", "--", "--json"],
    ] {
        assert_eq!(read(words).err(), Some(2), "{words:?}");
    }
    let Ok(Subcommand::Check(check)) = read(&["netperf", "check", "db1", "--", "--wait", "1s"])
    else {
        panic!("no check");
    };
    assert_eq!(check.words, ["--wait", "1s"]);
}

#[test]
fn long_names_of_selections_take_no_unknown_selector() {
    for (line, near) in [
        ("--keyval THROUGHPUT,FOOBAR", None),
        ("--csv THROUGHPTU,ELAPSED_TIME", Some("THROUGHPUT")),
        ("--columns nofile", None),
    ] {
        let refused = error(line);
        assert_eq!(refused.exit(), 2, "{line}");
        let text = refused.to_string();
        assert!(text.contains("is not an output selector"), "{text}");
        assert!(near.is_none_or(|near| text.contains(near)), "{text}");
    }
    // The letters skip what is unknown, as in netperf 2.7.
    run("-- -k THROUGHPUT,FOOBAR");
}

#[test]
fn a_datagram_socket_without_a_protocol_is_udp() {
    for line in ["-t OMNI -- -t dgram -d send", "-t OMNI -- -t dgram -T ip"] {
        assert_eq!(
            run(line).plan.transport,
            netperf_model::TransportId::Udp,
            "{line}"
        );
    }
}
