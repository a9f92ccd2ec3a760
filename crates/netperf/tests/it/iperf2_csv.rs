//! Comma-separated values of both ends of iperf 2 (`-y C`): the number of fields and the order of
//! the addresses are those of the original.

use netperf_testkit::{Scratch, server::free_port};

use super::iperf2_served::{Served, link, stock};

/// Which end sends what a row counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sender {
    Client,
    Server,
}

/// Senders and numbers of fields of the rows of a test between these programs, at the client and at
/// the server, and the text of both.
fn rows(
    [server, client]: [&std::path::Path; 2],
    options: &[&str],
    back: Option<u16>,
) -> ([Vec<(Sender, usize)>; 2], String) {
    let udp: &[&str] = if options.contains(&"-u") {
        &["-u"]
    } else {
        &[]
    };
    let served = Served::start(server, &[udp, &["-P", "1", "-y", "C"]].concat());
    let port = served.port;
    let done = served.client(client, &[options, &["-y", "C"]].concat());
    let ended = served.running.finish();
    let text = format!("{}\n{}", done.account(), ended.account());
    assert!(done.status.success() && ended.status.success(), "{text}");
    let of = |output: &str| {
        let rows = output.lines().map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let port_of = |at: usize| fields.get(at).and_then(|port| port.parse::<u16>().ok());
            // The sender's address is in front.
            let sender = match (port_of(2), port_of(4)) {
                (Some(from), Some(_)) if from == port => Sender::Server,
                (Some(_), Some(to)) if to == port => Sender::Client,
                (Some(_), to) if back.is_some() && to == back => Sender::Server,
                _ => panic!("{line}: {text}"),
            };
            (sender, fields.len())
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort();
        rows
    };
    ([of(&done.stdout), of(&ended.stdout)], text.clone())
}

#[test]
fn comma_separated_rows_have_the_fields_and_addresses_of_the_original() {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let (forward, reverse) = (Sender::Client, Sender::Server);
    for client in [Some(own.clone()), stock()].into_iter().flatten() {
        for (words, senders) in [
            (&[][..], &[forward][..]),
            (&["-R"], &[reverse]),
            (&["--full-duplex"], &[forward, reverse]),
            (&["-d"], &[forward, reverse]),
        ] {
            for udp in [false, true] {
                let port = free_port();
                let text = port.to_string();
                let (kind, fields): (&[&str], _) = if udp {
                    (&["-u", "-n", "4000", "-l", "1000"], 14)
                } else {
                    (&["-n", "100K"], 9)
                };
                let is_back = words.contains(&"-d");
                let back: &[&str] = if is_back { &["-L", &text] } else { &[] };
                let options = [kind, words, back].concat();
                let back = is_back.then_some(port);
                let ([at_client, at_server], text) = rows([&own, &client], &options, back);
                let expected: Vec<_> = senders.iter().map(|one| (*one, fields)).collect();
                assert_eq!(at_client, expected, "{options:?}: {text}");
                assert_eq!(at_server, expected, "{options:?}: {text}");
            }
        }
    }
}
