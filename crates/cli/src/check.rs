//! The command line of `netperf check`.

use crate::args::CheckArgs;
use crate::long::shown;
use crate::options::check::TABLE;
use crate::subcommand::{Subcommand, SubcommandSpec};

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

fn check(mut args: CheckArgs, words: Vec<String>) -> Result<Subcommand, String> {
    let mut words = words.into_iter().peekable();
    if args.host.is_empty() {
        let host = words.next_if(|word| !word.starts_with('-'));
        args.host = host.ok_or("netperf check: the host is required: netperf check host")?;
    }
    if let Some(word) = words.next_if(|word| !word.starts_with('-')) {
        return Err(format!(
            "netperf check: '{}' is unexpected: one host is measured, and options of netperf stand \
             behind --",
            shown(&word)
        ));
    }
    args.words = words.collect();
    // A test without an end would never have a summary.
    let endless = |time: &String| time.parse().is_ok_and(|seconds: f64| seconds <= 0.0);
    if args.time.as_ref().is_some_and(endless) {
        return Err("netperf check: --time has to be above 0".to_owned());
    }
    Ok(Subcommand::Check(Box::new(args)))
}
