//! Interim results, and what is said beside the result.

use netperf_testkit::ours;

use super::{client, is_decimal, run, run_all, seconds, server, words};

/// `<seconds since 1970>.<three digits>`.
fn is_time(word: &str) -> bool {
    is_decimal(word)
        && word
            .split_once('.')
            .is_some_and(|(_, part)| part.len() == 3)
}

#[test]
fn i17_interim_lines_have_their_words_and_keys_in_order() {
    let server = server();
    let finished = run_all(
        &server,
        &[
            "-l 1 -D 0.2",
            "-l 1 -P 0 -D 0.2 -- -o THROUGHPUT",
            "-l 1 -P 0 -D 0.2 -- -k THROUGHPUT",
        ],
    );
    let human = finished[0].stdout.lines().nth(1).expect("an interim line");
    let fields = words(human);
    assert_eq!(fields[..2], ["Interim", "result:"], "{human}");
    assert!(is_decimal(fields[2]) && fields[3] == "10^6bits/s" && fields[4] == "over");
    assert!(is_decimal(fields[5]) && fields[6..9] == ["seconds", "ending", "at"]);
    assert!(is_time(fields[9]) && fields.len() == 10, "{human}");
    let csv = finished[1].stdout.lines().next().expect("an interim line");
    let fields: Vec<&str> = csv.split(',').collect();
    assert!(
        fields.len() == 4 && is_decimal(fields[0].trim()) && is_time(fields[3]),
        "{csv}"
    );
    let keys = finished[2].stdout.lines().take(8).map(|line| {
        let (key, _) = line.split_once('=').expect("a key");
        key.to_owned()
    });
    let names = ["INTERIM_RESULT", "UNITS", "INTERVAL", "ENDING"];
    let expected = [0, 1].map(|at| names.map(|name| format!("NETPERF_{name}[{at}]")));
    assert_eq!(keys.collect::<Vec<_>>(), expected.concat());
}

#[test]
fn i18_an_interval_is_a_fraction_and_may_be_negative() {
    let server = server();
    let asked = ["-l 1 -D -0.20", "-l 1 -D 0.5", "-l 2 -D 1"];
    // Pauses spare the processors.
    let asked = asked.map(|words| format!("{words} -t TCP_RR -w 20 -b 1"));
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    for finished in run_all(&server, &asked) {
        let text = &finished.stdout;
        assert!(text.contains("Interim result:"), "{}", finished.account());
    }
    // Probe by which flent finds out what netperf can do.
    let mut probe = client(&server, "-l 1 -D -0.2 -- -e 1").spawn();
    assert!(probe.prints("MIGRATED", super::seconds(10)));
    probe.signal("KILL");
    let probe = probe.finish();
    assert!(!probe.stdout.contains("Demo Mode not configured"));
    assert!(
        !probe.stderr.contains("invalid option"),
        "{}",
        probe.account()
    );
}

#[test]
fn i19_dump_tcp_info_prints_pairs_on_standard_error() {
    let server = server();
    let finished = client(&server, "-l -1M").env("DUMP_TCP_INFO", "1").run();
    assert!(finished.status.success(), "{}", finished.account());
    let lines: Vec<&str> = finished.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{}", finished.account());
    for line in &lines {
        assert!(line.starts_with("tcpi_"), "{line}");
        for pair in words(line).chunks(2) {
            assert!(pair[1].parse::<u64>().is_ok(), "{line}");
        }
    }
    assert!(
        lines[1].contains(" tpci_snd_cwnd "),
        "the name scripts know"
    );
}

#[test]
fn i20_debug_output_has_the_lines_that_scripts_look_for() {
    let server = server();
    let finished = run(&server, "-d -t TCP_RR -l -20");
    for text in ["remote port is ", "complete_addrinfo"] {
        assert!(finished.stdout.contains(text), "{}", finished.account());
    }
    let mut debugging = netperf_testkit::Invocation::new(&ours!().netserver)
        .args(["-D", "-d", "-p"])
        .arg(netperf_testkit::server::free_port().to_string())
        .spawn();
    assert!(
        debugging.prints("check_if_inetd", seconds(5)),
        "{}",
        debugging.stdout()
    );
}
