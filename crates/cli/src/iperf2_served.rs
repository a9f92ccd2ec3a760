//! Options of netperf that `--iperf2` serves. All others are refused: a server of iperf 2 cannot be
//! asked for them, or the client does not serve them yet.

use crate::getopt::{Getopt, GetoptStep};
use crate::options::{SUITES, global};
use crate::parse::in_any_suite;
use crate::table::{ValueShape, by_letter, by_name};

/// Long names of the options in front of `--` that are served.
const SERVED: &[&str] = &[
    "iperf2",
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
    "history",
    "progress",
    "iterations",
    "confidence",
    "result-only",
    "rate",
];
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
    "protocol",
    "direction",
];

/// The first option of a command line that `--iperf2` does not serve, as it was typed.
pub(crate) fn unserved(words: &[String]) -> Option<String> {
    let mut rest = words;
    let mut is_global = true;
    while !rest.is_empty() {
        let mut getopt = Getopt::new(rest);
        if let Some(option) = next_unserved(&mut getopt, is_global) {
            return Some(option);
        }
        rest = getopt.rest();
        is_global = false;
    }
    None
}

fn next_unserved(getopt: &mut Getopt<'_>, is_global: bool) -> Option<String> {
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
                let (name, served) = if is_global {
                    (by_letter(in_front, letter).map(|row| row.long), SERVED)
                } else {
                    (behind(letter).map(|row| row.long), SERVED_BEHIND)
                };
                let name = name.unwrap_or_default();
                if !served.contains(&name) {
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
                let is_alias = matches!(name, "bitrate" | "client");
                if !is_alias && !SERVED.contains(&name) && !SERVED_BEHIND.contains(&name) {
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
        for (typed, named) in [
            ("--iperf2 -H h -t UDP_STREAM -l 5 -- -m 1470", None),
            ("--iperf2 -H h -c -t TCP_STREAM", Some("-c (--local-cpu)")),
            ("--iperf2 --flows 4", Some("--flows")),
            ("--iperf2 --rate=1M -- -D -s 64K -k THROUGHPUT", None),
            ("--iperf2 -- -K cubic", Some("-K (--congestion)")),
            ("--iperf2 -l -1000 -P 0", None),
        ] {
            let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            assert_eq!(unserved(&words).as_deref(), named, "{typed}");
        }
    }
}
