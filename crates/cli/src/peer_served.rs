//! Options of netperf that `--iperf2` and `--iperf3` serve. All others are refused: a server of iperf
//! cannot be asked for them, or the client does not serve them.

use netperf_arguments::getopt::{Getopt, GetoptStep};
use netperf_arguments::table::{ValueShape, by_letter, by_name};
use netperf_model::PeerProgram;

use crate::options::{SUITES, global};
use crate::parse::asked_test::in_any_suite;

/// Long names of the options in front of `--` that are served.
const SERVED: &[&str] = &[
    "iperf2",
    "iperf3",
    "test",
    "udp",
    "reverse",
    "time",
    "count",
    "wait",
    "host",
    "port",
    "ipv4",
    "ipv6",
    "unit",
    "headers",
    "verbosity",
    "brand",
    "debug",
    "json",
    "json-stream",
    "human",
    "output",
    "interim",
    "history",
    "progress",
    "iterations",
    "confidence",
    "result-only",
    "until",
    "until-confidence",
    "rate",
    "flows",
    "local-cpu",
    "cpu-method",
];
/// Those that only iperf3 serves.
const SERVED_BY_IPERF3: &[&str] = &["bidirectional"];
/// Those behind `--`.
const SERVED_BEHIND: &[&str] = &[
    "keyval",
    "csv",
    "columns",
    "uuid",
    "send-size",
    "socket-buffer",
    "no-delay",
    "segment-size",
    "congestion",
    "protocol",
    "direction",
];

/// Returns true if a peer serves an option in front of `--`.
fn serves(peer: PeerProgram, name: &str) -> bool {
    SERVED.contains(&name) || (peer == PeerProgram::Iperf3 && SERVED_BY_IPERF3.contains(&name))
}

/// Why a peer does not serve an option, if that is not plain.
pub(crate) fn why(peer: PeerProgram, option: &str) -> &'static str {
    match (peer, option) {
        (PeerProgram::Iperf3, "--warmup") => {
            ", whose protocol omits bytes at the begin (-O under the name iperf3), but not the \
             calls that sent them"
        }
        (PeerProgram::Iperf2, "--warmup") => ", whose protocol counts from the first byte",
        (_, "--cooldown") => ", whose protocol counts to the last byte",
        (PeerProgram::Iperf2, "--bidirectional") => {
            ", whose server reports one direction (-d, -r and --full-duplex under the name iperf)"
        }
        (_, _) => "",
    }
}

/// The first option of a command line that a peer does not serve, as it was typed.
pub(crate) fn unserved(peer: PeerProgram, words: &[String]) -> Option<String> {
    let mut rest = words;
    let mut is_global = true;
    while !rest.is_empty() {
        let mut getopt = Getopt::new(rest);
        if let Some(option) = next_unserved(peer, &mut getopt, is_global) {
            return Some(option);
        }
        rest = getopt.rest();
        is_global = false;
    }
    None
}

fn next_unserved(peer: PeerProgram, getopt: &mut Getopt<'_>, is_global: bool) -> Option<String> {
    let in_front = global::table();
    let behind = |letter| {
        let mut tables = SUITES.iter().map(|suite| suite.table);
        tables.find_map(|table| by_letter(table, letter))
    };
    let argument = |letter| {
        if is_global {
            by_letter(in_front, letter).map(|row| row.action.argument())
        } else {
            behind(letter).map(|row| row.action.argument())
        }
    };
    loop {
        match getopt.step(argument)? {
            GetoptStep::Option(letter, _) => {
                let row = if is_global {
                    by_letter(in_front, letter).map(|row| row.long)
                } else {
                    behind(letter).map(|row| row.long)
                };
                let name = row.unwrap_or_default();
                let served = if is_global {
                    serves(peer, name)
                } else {
                    SERVED_BEHIND.contains(&name)
                };
                if !served {
                    return Some(format!("-{letter} (--{name})"));
                }
            }
            GetoptStep::Long(text) => {
                let (name, attached) = match text.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (text, None),
                };
                let own = by_name(in_front, name).map(|row| row.shape());
                let shape: Option<ValueShape> =
                    own.or_else(|| in_any_suite(name).map(|row| row.shape()));
                let _value = shape.map(|shape| shape.word("", name, attached, getopt));
                let name = netperf_arguments::foreign::alias(name).unwrap_or(name);
                if !serves(peer, name) && !SERVED_BEHIND.contains(&name) {
                    return Some(format!("--{name}"));
                }
            }
            GetoptStep::Unknown(_) | GetoptStep::MissingArgument(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_are_not_served_are_named() {
        use PeerProgram::{Iperf2, Iperf3};
        for (peer, typed, named) in [
            (Iperf2, "--iperf2 -H h -t UDP_STREAM -l 5 -- -m 1470", None),
            (Iperf2, "--iperf2 -H h -C", Some("-C (--remote-cpu)")),
            (Iperf2, "--iperf2 --flows 4 -c --interim 1", None),
            (Iperf2, "--iperf2 --parallel 4", None),
            (Iperf2, "--iperf2 --bidir", Some("--bidirectional")),
            (
                Iperf2,
                "--iperf2 --rate=1M -- -D -s 64K -k THROUGHPUT",
                None,
            ),
            (Iperf2, "--iperf2 -- -a", Some("-a (--defer-accept)")),
            (Iperf2, "--iperf2 -l -1000 -P 0", None),
            (Iperf3, "--iperf3 --bidirectional separate", None),
            (Iperf3, "--iperf3 --warmup 2", Some("--warmup")),
        ] {
            let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            assert_eq!(unserved(peer, &words).as_deref(), named, "{typed}");
        }
    }

    #[test]
    fn the_reason_names_what_the_protocol_lacks() {
        use PeerProgram::{Iperf2, Iperf3};
        let refused = |peer: PeerProgram, line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let option = unserved(peer, &words).expect(line);
            let error = crate::CliError::NotServedByPeer {
                why: why(peer, &option),
                option,
                peer: peer.option(),
            };
            format!("{}: {error}", error.exit())
        };
        let lines = [
            refused(Iperf3, "--iperf3 --warmup 2"),
            refused(Iperf2, "--iperf2 --omit 2"),
            refused(Iperf2, "--iperf2 --cooldown 1"),
            refused(Iperf2, "--iperf2 --bidirectional separate"),
            refused(Iperf3, "--iperf3 -C"),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r"
        3: netperf: --warmup: not served with --iperf3, whose protocol omits bytes at the begin (-O under the name iperf3), but not the calls that sent them; leave it out
        3: netperf: --warmup: not served with --iperf2, whose protocol counts from the first byte; leave it out
        3: netperf: --cooldown: not served with --iperf2, whose protocol counts to the last byte; leave it out
        3: netperf: --bidirectional: not served with --iperf2, whose server reports one direction (-d, -r and --full-duplex under the name iperf); leave it out
        3: netperf: -C (--remote-cpu): not served with --iperf3; leave it out
        ");
    }
}
