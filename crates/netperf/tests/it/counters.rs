//! `netperf counters`: snapshots of counters and their differences.

use std::net::UdpSocket;

use netperf_testkit::{Finished, Invocation, Scratch, ours};

fn counters(scratch: &Scratch, words: &[&str]) -> Finished {
    Invocation::new(&ours!().netperf)
        .folder(scratch.path())
        .arg("counters")
        .args(words)
        .run()
}

fn write(scratch: &Scratch, name: &str, text: &str) {
    std::fs::write(scratch.path().join(name), text).expect("a file");
}

/// The document of a run, which is none of a test.
fn document(found: &Finished) -> serde_json::Value {
    serde_json::from_str(&found.stdout).expect("a document")
}

/// The difference of a counter in a document.
fn difference(found: &Finished, section: &str, name: &str) -> u64 {
    let document = document(found);
    let counters = document["counters"].as_array().expect("a list").iter();
    let mut those = counters.filter(|one| one["section"] == section && one["name"] == name);
    let one = those.next().expect(name);
    one["difference"].as_u64().expect("a count")
}

#[test]
fn counters_count_what_happened_since_a_snapshot() {
    let scratch = Scratch::new();
    let before = counters(&scratch, &[]).expect_clean();
    write(&scratch, "before", &before.stdout);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = socket.local_addr().expect("an address");
    for _ in 0..20 {
        socket.send_to(&[0; 100], to).expect("a datagram");
    }
    let found = counters(&scratch, &["--before", "before", "--json"]).expect_clean();
    assert!(document(&found)["elapsed_seconds"].as_f64() > Some(0.0));
    assert!(difference(&found, "Udp", "OutDatagrams") >= 20);
    assert!(difference(&found, "lo", "tx_packets") >= 20);
    assert!(difference(&found, "lo", "tx_bytes") >= 20 * 128);
    let text = counters(&scratch, &["--before", "before"]).expect_clean();
    let mut lines = text.stdout.lines();
    let first = lines.next().unwrap_or_default();
    assert!(first.ends_with(" s between the snapshots"), "{first}");
    let is_row = |line: &str| line.trim_start().starts_with("OutDatagrams ");
    assert!(lines.any(is_row), "{}", text.account());
}

const ETHTOOL: [&str; 2] = [
    "NIC statistics:\n     rx_packets: 4294967290\n     tx_packets: 7\n     old: 1\n     reset: 900\n",
    "NIC statistics:\n     rx_packets: 4\n     tx_packets: 7\n     fresh: 2\n     reset: 3\n",
];

#[test]
fn counters_of_ethtool_wrap_and_those_that_are_missing_or_reset_have_no_difference() {
    let scratch = Scratch::new();
    write(&scratch, "before", ETHTOOL[0]);
    write(&scratch, "after", ETHTOOL[1]);
    let found = counters(&scratch, &["before", "after"]).expect_exit(0);
    assert_eq!(
        found.stdout,
        "Counter           Difference\n\
         NIC statistics\n\
         \x20 rx_packets    10 (wrapped)\n\
         \x20 fresh                  new\n\
         \x20 reset                 less\n\
         \x20 old                   gone\n"
    );
    assert_eq!(
        found.stderr,
        "netperf counters: no difference of NIC statistics reset: less than before, because they \
         were reset or are no counters\n\
         netperf counters: no difference of NIC statistics old: only in the earlier snapshot\n\
         netperf counters: no difference of NIC statistics fresh: only in the later snapshot\n"
    );
    let words = ["--before", "before", "--after", "after", "--all"];
    let all = counters(&scratch, &words).expect_exit(0);
    let is_unchanged = |line: &str| line.starts_with("  tx_packets") && line.ends_with(" 0");
    assert!(all.stdout.lines().any(is_unchanged), "{}", all.account());
}

#[test]
fn counters_of_netstat_begin_at_zero_where_they_are_left_out() {
    let scratch = Scratch::new();
    let before = "Tcp:\n    5 segments received\nTcpExt:\n    TCPSackShifted: 4\n";
    let after = "Tcp:\n    9 segments received\n    3 segments retransmitted\nTcpExt:\n    \
                 TCPSackShifted: 4\n";
    write(&scratch, "before", before);
    write(&scratch, "after", after);
    let found = counters(&scratch, &["before", "after", "--json"]).expect_clean();
    assert_eq!(difference(&found, "Tcp", "segments received"), 4);
    assert_eq!(difference(&found, "Tcp", "segments retransmitted"), 3);
}

#[test]
fn counters_refuse_files_that_have_none_or_do_not_belong_together() {
    let scratch = Scratch::new();
    write(&scratch, "empty", "");
    write(&scratch, "garbage", "\u{1b}[31m 5 hello\n{\"a\": 5}\n");
    write(&scratch, "large", "eth0:\n    rx: 18446744073709551616\n");
    write(&scratch, "negative", "eth0:\n    rx: -1\n");
    write(&scratch, "cut", "# netperf counters 17\neth0:\n    rx: 1\n");
    write(&scratch, "ethtool", ETHTOOL[0]);
    write(&scratch, "netstat", "Tcp:\n    5 segments received\n");
    let other = "# netperf counters 5.0 11111111-2222\nlo:\n     rx_bytes: 1\n";
    write(&scratch, "other", other);
    let none = "no counters: expected the output of netperf counters, netstat -s or ethtool -S";
    for (words, line) in [
        (&["empty", "ethtool"][..], format!("empty: {none}")),
        (&["garbage", "ethtool"], format!("garbage: {none}")),
        (
            &["large", "ethtool"],
            "large: line 2: 18446744073709551616 is not the value of a counter, from 0 to \
             18446744073709551615"
                .to_owned(),
        ),
        (
            &["ethtool", "negative"],
            "negative: line 2: -1 is not the value of a counter, from 0 to 18446744073709551615"
                .to_owned(),
        ),
        (
            &["--before", "cut"],
            "cut: line 1: no time and no boot identifier, as netperf counters writes them"
                .to_owned(),
        ),
        (
            &["--before", "absent"],
            "absent: No such file or directory".to_owned(),
        ),
        (
            &["netstat", "ethtool"],
            "netstat has no counter that the other snapshot has".to_owned(),
        ),
        (
            &["--before", "other"],
            "other is of another host, or of before this host was started".to_owned(),
        ),
    ] {
        let refused = counters(&scratch, words).expect_exit(2);
        assert_eq!(refused.stderr, format!("netperf counters: {line}\n"));
        assert_eq!(refused.stdout, "");
    }
}
