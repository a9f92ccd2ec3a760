//! The command line of `netperf check`.

use crate::args::CheckArgs;
use crate::getopt::{Getopt, GetoptStep};
use crate::kind::ValueKind;
use crate::long::shown;
use crate::options::check::TABLE;
use crate::options::global;
use crate::subcommand::{Subcommand, SubcommandSpec};
use crate::table::{by_letter, by_name};

/// `netperf check`.
pub(crate) const CHECK: SubcommandSpec<CheckArgs> = SubcommandSpec {
    word: "check",
    about: "measure the path to a host and print a summary",
    program: "netperf check",
    table: TABLE,
    usage: "\
Usage: netperf check host [options] [-- netperf-options]

Measures the path to a host with netserver, in about 15 seconds, and prints a
summary: idle latency, throughput in both directions with the latency during
each, datagrams, CPU utilisation, doubts, and changes since the last check.
Options behind -- are added to every measurement.

  netperf check server
  netperf check server --time 10s --json
  netperf check server -- --key-file netserver.key --one-port

Exit status: 0 everything was measured, 1 a measurement failed, 2 the command
line is invalid; if nothing was measured, that of the first measurement.
",
    verbs: &[],
    command: check,
};

/// Options of netperf that a check sets itself, and that its results depend on.
const OWN: [&str; 14] = [
    "host",
    "port",
    "test",
    "human",
    "json",
    "json-stream",
    "format",
    "keyval",
    "csv",
    "columns",
    "verbosity",
    "no-control",
    "help",
    "list",
];

/// The names of the options among words of netperf, in front of their `--`.
fn given(words: &[String]) -> Vec<&'static str> {
    let table = global::table();
    let mut getopt = Getopt::new(words);
    let mut names = Vec::new();
    while let Some(step) = getopt.step(|letter| Some(by_letter(table, letter)?.action.argument())) {
        let row = match step {
            GetoptStep::Option(letter, _) => by_letter(table, letter),
            GetoptStep::Long(text) => by_name(table, text.split('=').next().unwrap_or_default()),
            GetoptStep::Unknown(_) | GetoptStep::MissingArgument(_) => None,
        };
        names.extend(row.map(|row| row.long));
    }
    names
}

fn check(mut args: CheckArgs, words: Vec<String>) -> Result<Subcommand, String> {
    let mut words = words.into_iter().peekable();
    if args.host.is_empty() {
        let host = words.next_if(|word| !word.starts_with('-'));
        args.host = host.ok_or("netperf check: the host is required: netperf check host")?;
    }
    if ValueKind::RemoteHost.read(&args.host).is_none() {
        let (host, expected) = (shown(&args.host), ValueKind::RemoteHost.expected());
        return Err(format!("netperf check: '{host}' is not {expected}"));
    }
    if let Some(word) = words.next_if(|word| !word.starts_with('-')) {
        return Err(format!(
            "netperf check: '{}' is unexpected: one host is measured, and options of netperf stand \
             behind --",
            shown(&word)
        ));
    }
    args.words = words.collect();
    if let Some(option) = given(&args.words)
        .into_iter()
        .find(|name| OWN.contains(name))
    {
        return Err(format!(
            "netperf check: --{option} behind -- is not possible: each measurement of a check has \
             its own"
        ));
    }
    // A test without an end would never have a summary.
    let endless = |time: &String| time.parse().is_ok_and(|seconds: f64| seconds <= 0.0);
    if args.time.as_ref().is_some_and(endless) {
        return Err("netperf check: --time has to be above 0".to_owned());
    }
    Ok(Subcommand::Check(Box::new(args)))
}
