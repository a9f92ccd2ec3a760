//! `netperf check`: one command, and a summary for a person or as JSON.

use netperf_testkit::{Finished, Invocation, Programs, Scratch, ours};
use serde_json::Value;

fn check(folder: &Scratch, words: &[&str]) -> Invocation {
    Invocation::new(&ours!().netperf)
        .arg("check")
        .args(words)
        .folder(folder.path())
        .env("XDG_DATA_HOME", folder.path())
}

/// A check of short measurements.
fn short(folder: &Scratch, port: u16, words: &[&str]) -> Finished {
    let port = port.to_string();
    let words = [&["127.0.0.1", "-p", &port, "--time", "300ms"], words].concat();
    check(folder, &words).run()
}

/// The lines with this title.
fn lines<'a>(text: &'a str, title: &str) -> Vec<&'a str> {
    let of =
        |line: &&str| line.starts_with(title) && line.as_bytes().get(title.len()) == Some(&b' ');
    text.lines().filter(of).collect()
}

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{}", finished.account()))
}

#[test]
fn the_summary_has_every_measurement_fits_a_terminal_and_the_second_one_the_change() {
    let (folder, server) = (Scratch::new(), ours!().serve());
    let first = short(&folder, server.port(), &[]).expect_clean();
    for title in [
        "Host",
        "This end",
        "That end",
        "Idle",
        "Send",
        "Receive",
        "UDP",
        "  latency",
    ] {
        assert!(
            !lines(&first.stdout, title).is_empty(),
            "{title}: {}",
            first.stdout
        );
    }
    let [this_end] = lines(&first.stdout, "This end")[..] else {
        panic!("{}", first.stdout)
    };
    assert!(this_end.contains("127.0.0.1"), "{this_end}");
    assert!(
        lines(&first.stdout, "Change").is_empty(),
        "{}",
        first.stdout
    );
    assert!(
        first.stdout.lines().all(|line| line.len() <= 80),
        "{}",
        first.stdout
    );
    // The tests' locale has no Unicode, and no terminal is there for colours.
    assert!(first.stdout.is_ascii(), "{}", first.stdout);
    assert!(!first.stdout.contains('\u{1b}'), "{}", first.stdout);

    let second = short(&folder, server.port(), &["--json"]).expect_clean();
    let summary = json(&second);
    assert_eq!(summary["schema"], "netperf-check-1");
    for direction in ["send", "receive"] {
        let load = &summary[direction];
        assert!(load["bits_per_second"].as_f64() > Some(0.0), "{load}");
        assert!(load["latency"]["requests"].as_u64() > Some(0), "{load}");
        assert!(load["local_cpu"]["busy_percent"].is_number(), "{load}");
        assert!(load["local_cpu"]["peak_cpu"].is_number(), "{load}");
    }
    for end in ["local", "remote"] {
        assert!(summary[end]["program_version"].is_string(), "{summary}");
        assert_eq!(summary[end]["address"], "127.0.0.1", "{summary}");
    }
    let datagrams = &summary["datagrams"];
    assert!(datagrams["reordered"].is_number(), "{datagrams}");
    assert_eq!(
        summary["changes"].as_array().map(Vec::len),
        Some(5),
        "{summary}"
    );
    assert!(summary["last_unix_seconds"].is_number());
    assert_eq!(summary["failures"], Value::Array(Vec::new()));
}

#[test]
fn a_check_without_history_leaves_nothing_and_a_stock_netserver_numbers_no_datagrams() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let (folder, server) = (Scratch::new(), stock.serve());
    let finished = short(&folder, server.port(), &["--json", "--no-history"]);
    let summary = json(&finished);
    let datagrams = &summary["datagrams"];
    assert!(
        datagrams["sent_bits_per_second"].as_f64() > Some(0.0),
        "{}",
        finished.account()
    );
    assert_eq!(datagrams["reordered"], Value::Null);
    assert_eq!(summary["remote"]["program_version"], Value::Null);
    assert_eq!(summary["changes"], Value::Array(Vec::new()));
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 0);
}

#[test]
fn a_host_without_netserver_fails_as_netperf_does_and_wrong_words_are_named() {
    let folder = Scratch::new();
    let nothing = short(&folder, 1, &[]);
    assert_eq!(nothing.status.code(), Some(255), "{}", nothing.account());
    assert!(
        nothing.stderr.contains("127.0.0.1") && nothing.stdout.is_empty(),
        "{}",
        nothing.account()
    );
    for (words, named) in [
        (&[][..], "the host is required"),
        (&["127.0.0.1", "--tim", "1"], "--time"),
        (&["127.0.0.1", "--time", "0"], "--time"),
    ] {
        let wrong = check(&folder, words).run();
        assert_eq!(wrong.status.code(), Some(2), "{}", wrong.account());
        assert!(wrong.stderr.contains(named), "{}", wrong.account());
    }
}
