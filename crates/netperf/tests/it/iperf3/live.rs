//! Tests between all pairs: the counts of both ends agree.

use super::*;
use crate::live_cells::LiveCell;

impl LiveCell {
    fn iperf3_options(&self) -> Vec<String> {
        let length = if self.udp { "500" } else { "8K" };
        let rate = if self.udp { "200K" } else { "1M" };
        let mut options = vec!["-J", "-t", "1", "-l", length, "-b", rate];
        if self.udp {
            options.push("-u");
        }
        options.extend(Some(self.direction).filter(|direction| !direction.is_empty()));
        let mut options: Vec<String> = options.into_iter().map(str::to_owned).collect();
        options.extend(["-P".to_owned(), self.streams.to_string()]);
        options
    }

    /// The receiver lacks what was under way at the end of the time, which depends on the load of the
    /// host. Amounts arrive whole, as another test checks.
    fn check(&self, document: &Value) {
        let mut sums = vec![("/end/sum_sent", "/end/sum_received")];
        if self.direction == "--bidir" {
            sums.push((
                "/end/sum_sent_bidir_reverse",
                "/end/sum_received_bidir_reverse",
            ));
        }
        let block = if self.udp { 500 } else { 8192 };
        for (sent, received) in sums {
            let [sent_bytes, received_bytes] =
                [sent, received].map(|sum| count(document, &format!("{sum}/bytes")));
            assert!(
                sent_bytes > 0 && received_bytes > 0,
                "{self:?} {document:#}"
            );
            if self.udp {
                let packets = count(document, &format!("{received}/packets"));
                let lost = count(document, &format!("{received}/lost_packets"));
                let sent_packets = count(document, &format!("{sent}/packets"));
                assert_eq!(sent_packets * block, sent_bytes, "{self:?} {document:#}");
                let arrived = (packets - lost) * block;
                assert_eq!(arrived, received_bytes, "{self:?} {document:#}");
                assert!(packets <= sent_packets, "{self:?} {document:#}");
            } else {
                let fit = received_bytes <= sent_bytes;
                assert!(fit, "{self:?} {sent_bytes} {received_bytes}");
            }
        }
        let streams = document.pointer("/end/streams").and_then(Value::as_array);
        let both = 1 + u64::from(self.direction == "--bidir");
        let expected = usize::try_from(self.streams * both).unwrap();
        assert_eq!(streams.map(Vec::len), Some(expected), "{self:?}");
    }
}

const DIRECTIONS: [&str; 3] = ["", "-R", "--bidir"];

#[test]
fn counts_agree_for_each_protocol_family_direction_and_number_of_streams() {
    // Another process may take the UDP port of the original, which then ends with an error.
    let is_certain = |cell: &LiveCell| cell.our_server || !cell.udp;
    let cells = LiveCell::all(&DIRECTIONS).into_iter();
    counts_agree(LiveCell::pairwise(cells.filter(is_certain).collect()));
}

#[test]
#[ignore = "nightly: 72 cells, and the original needs a free UDP port and a machine that is not busy"]
fn counts_agree_for_all_combinations_of_protocol_family_direction_and_streams() {
    counts_agree(LiveCell::all(&DIRECTIONS));
}

fn counts_agree(cells: Vec<LiveCell>) {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    // Many clients at once are what our server is for; the original serves one.
    let shared = Server::ours(&[]);
    LiveCell::run_all(cells, |cell| {
        let program = if cell.our_client { &own } else { &stock };
        let options = cell.iperf3_options();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let alone = (!cell.our_server).then(|| Server::stock(&stock));
        let server = alone.as_ref().unwrap_or(&shared);
        cell.check(&document(
            &client(program, server, cell.host, &options).run(),
        ));
    });
}

#[test]
fn an_amount_arrives_whole_at_our_server() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    let server = Server::ours(&[]);
    for program in [&stock, &own] {
        for (options, bytes) in [
            (&["-n", "1000K", "-l", "32K", "-P", "3"][..], 1_048_576),
            (&["-k", "20", "-l", "16K", "-P", "8"], 327_680),
            (&["-n", "200K"], 262_144),
            (
                &["-n", "1M", "-Z", "-N", "-w", "64K", "-M", "1400"],
                1_048_576,
            ),
            (&["-n", "20000", "-u", "-l", "1000", "-b", "10M"], 20_000),
            (
                &["-n", "8000", "-u", "-l", "1000", "--udp-counters-64bit"],
                8000,
            ),
            (&["-k", "7", "-u", "-l", "16", "--repeating-payload"], 112),
        ] {
            let options = [&["-J"], options].concat();
            let finished = client(program, &server, "127.0.0.1", &options).run();
            let document = document(&finished);
            let sent = count(&document, "/end/sum_sent/bytes");
            let received = count(&document, "/end/sum_received/bytes");
            assert_eq!(sent, received, "{}", finished.account());
            // The original may send more than asked for on several streams, and with sendfile(2).
            let exact = program == &own || !(options.contains(&"-P") || options.contains(&"-Z"));
            assert!(!exact || sent == bytes, "{}", finished.account());
            // The rate of the sender, which the original computes with the time of the receiver.
            let keys = ["seconds", "bytes", "bits_per_second"];
            for key in keys
                .iter()
                .filter(|_| program == &own && options.contains(&"-u"))
            {
                let end = &document["end"];
                assert_eq!(end["sum"][key], end["sum_sent"][key], "{end}");
            }
        }
    }
}

#[test]
fn amount_of_a_reverse_test_is_what_our_server_sends() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    let server = Server::ours(&[]);
    for program in [&stock, &own] {
        for amount in [&["-n", "50K"][..], &["-k", "5"]] {
            let options = [&["-J", "-R", "-l", "10K"], amount].concat();
            let finished = client(program, &server, "127.0.0.1", &options).run();
            let document = document(&finished);
            for sum in ["/end/sum_sent/bytes", "/end/sum_received/bytes"] {
                assert_eq!(count(&document, sum), 51_200, "{}", finished.account());
            }
        }
    }
}

#[test]
fn socket_buffers_above_the_limit_of_the_system_are_an_error() {
    let limit = |name| {
        let text = std::fs::read_to_string(format!("/proc/sys/net/core/{name}"));
        text.ok().and_then(|text| text.trim().parse::<u64>().ok())
    };
    let least = limit("wmem_max").min(limit("rmem_max")).expect("limits");
    let scratch = Scratch::new();
    let server = Server::ours(&[]);
    let asked = (least * 2 + 4096).to_string();
    let options = ["-n", "1K", "-w", &asked];
    let finished = client(&link(&scratch), &server, "127.0.0.1", &options).run();
    let text = "error - socket buffer size not set correctly";
    let finished = finished.expect_exit(1);
    assert!(finished.stderr.contains(text), "{}", finished.account());
}

#[test]
fn our_client_ends_an_amount_in_each_direction() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    for server in [Server::ours(&[]), Server::stock(&stock)] {
        for options in [&["-R"][..], &["--bidir"], &["-R", "-u", "-l", "1000"]] {
            let options = [&["-J", "-n", "50K", "-l", "10K"], options].concat();
            let finished = client(&own, &server, "127.0.0.1", &options).run();
            let document = document(&finished);
            // The amount of what it sends ends a test in both directions, and that of what it
            // receives one in reverse.
            let sum = if options.contains(&"--bidir") {
                "/end/sum_sent/bytes"
            } else {
                "/end/sum_received/bytes"
            };
            let moved = count(&document, sum);
            assert!(moved >= 51_200, "{}", finished.account());
        }
    }
}

#[test]
fn omitted_seconds_are_in_no_total_of_either_end() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    for (program, server) in [
        (&own, Server::ours(&[])),
        (&own, Server::stock(&stock)),
        (&stock, Server::ours(&[])),
    ] {
        let options = ["-J", "-O", "1", "-t", "1", "-b", "800K", "-l", "10K"];
        let finished = client(program, &server, "127.0.0.1", &options).run();
        let document = document(&finished);
        let intervals = document["intervals"].as_array().unwrap();
        let of = |omitted: bool| -> u64 {
            let all = intervals.iter();
            let all = all.filter(|one| one["sum"]["omitted"] == omitted);
            all.map(|one| one["sum"]["bytes"].as_u64().unwrap()).sum()
        };
        // 100 KB a second: the time that counts is one second.
        let sent = count(&document, "/end/sum_sent/bytes");
        assert!(of(true) > 0, "{}", finished.account());
        assert_eq!(of(false), sent, "{}", finished.account());
        let received = count(&document, "/end/sum_received/bytes");
        assert!(received < of(true) + sent, "{}", finished.account());
    }
}

#[test]
fn omitted_datagrams_are_in_no_total_of_either_end() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    let (served, original) = (Server::ours(&[]), Server::stock(&stock));
    for (program, server) in [(&stock, &served), (&own, &original)] {
        for words in ["", "-P 2", "-R", "--bidir"] {
            let options = "-J -u -O 1 -t 1 -b 200K -l 500".split(' ');
            let options: Vec<&str> = options.chain(words.split_whitespace()).collect();
            let finished = client(program, server, "127.0.0.1", &options).run();
            let document = document(&finished);
            let packets = |sum: &str| count(&document, &format!("/end/{sum}/packets"));
            let (sent, received) = (packets("sum_sent"), packets("sum_received"));
            // Fewer datagrams than the socket holds: none is lost. Others may still be under way.
            assert!(received <= sent, "{words}: {}", finished.account());
            if program == &stock && words != "-R" {
                assert_eq!(received, sent, "{words}: {}", finished.account());
            }
            let lost = count(&document, "/end/sum_received/lost_packets");
            assert_eq!(lost, 0, "{words}: {}", finished.account());
        }
    }
}

#[test]
fn the_output_of_the_server_comes_with_the_results() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    let server = Server::ours(&[]);
    for program in [&stock, &own] {
        for udp in [&[][..], &["-u"]] {
            let options = [&["-n", "64K", "-l", "8K", "--get-server-output"], udp].concat();
            let finished = client(program, &server, "127.0.0.1", &options).run();
            let finished = finished.expect_clean();
            let output = finished.stdout.split_once("\nServer output:\n").unwrap().1;
            assert!(output.starts_with("Accepted connection from 127.0.0.1, port "));
            assert!(output.contains(" receiver\n"), "{output}");
        }
    }
}

#[test]
fn an_output_of_the_server_that_was_not_asked_for_is_not_shown() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    // Once asked, the original sends its output in all later tests.
    let server = Server::stock(&stock);
    let amount = ["-n", "64K", "-l", "8K"];
    let asked = [&amount[..], &["--get-server-output"]].concat();
    let run = |options: &[&str]| {
        let test = client(&own, &server, "127.0.0.1", options).run();
        test.expect_clean().stdout
    };
    assert!(run(&asked).contains("\nServer output:\n"));
    assert!(!run(&amount).contains("Server output"));
    assert!(!run(&[&amount[..], &["-J"]].concat()).contains("server_output"));
}

#[test]
fn as_many_streams_as_iperf3_permits_are_served() {
    let Some(stock) = stock() else { return };
    let server = Server::ours(&[]);
    for options in [&["--bidir", "-l", "1K"][..], &["-u", "-l", "500"]] {
        let options = [&["-J", "-P", "128", "-t", "1", "-b", "50K"], options].concat();
        let finished = client(&stock, &server, "127.0.0.1", &options).run();
        let document = document(&finished);
        assert!(count(&document, "/end/sum_received/bytes") > 0);
    }
}
