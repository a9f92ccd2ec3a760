//! The command line of `netperf check`.

use super::spec::SubcommandSpec;
use crate::entry::Operands;
use crate::getopt::{Getopt, GetoptStep};
use crate::group::Group;
use crate::kind::ValueKind;
use crate::long::shown;
use crate::options::{global, plain_help_row};
use crate::table::{OptionSpec, by_letter, by_name};

/// The options of `netperf check`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckArgs {
    /// The host with netserver.
    pub host: String,
    /// Options of netperf for every measurement.
    pub words: Vec<String>,
    /// `-p`: the control port.
    pub port: Option<String>,
    /// `-4` or `-6`.
    pub family: Option<char>,
    /// `--time`: the length of a measurement in seconds; `None` is the default.
    pub time: Option<String>,
    /// `--db`: where the history is.
    pub place: Option<String>,
    /// `--no-history`.
    pub forget: bool,
    /// `--json`: print a document.
    pub json: bool,
}

type Opt = OptionSpec<CheckArgs>;

/// Every option.
static TABLE: &[Opt] = &[
    Opt::lettered('H', "host", Group::Hosts)
        .takes("host", ValueKind::RemoteHost)
        .set(|a, text| text.clone_into(&mut a.host))
        .help("the host, where it is not the first word"),
    Opt::lettered('p', "port", Group::Hosts)
        .takes("port", ValueKind::Port)
        .set(|a, text| a.port = Some(text.to_owned()))
        .help("control port of netserver (default 12865)"),
    Opt::lettered('4', "ipv4", Group::Hosts)
        .flag(|a| a.family = Some('4'))
        .help("use IPv4"),
    Opt::lettered('6', "ipv6", Group::Hosts)
        .flag(|a| a.family = Some('6'))
        .help("use IPv6"),
    Opt::named("time", Group::Test)
        .takes("time", ValueKind::Interval)
        .set(|a, text| a.time = Some(text.to_owned()))
        .help("length of each measurement (default 3s)"),
    Opt::named("human", Group::Output)
        .flag(|a| a.json = false)
        .help("print the summary as text (default)"),
    Opt::named("json", Group::Output)
        .flag(|a| a.json = true)
        .help("print the summary as JSON"),
    Opt::named("db", Group::History)
        .takes("place", ValueKind::Text)
        .set(|a, text| a.place = Some(text.to_owned()))
        .help("location of the history, as in netperf history"),
    Opt::named("no-history", Group::History)
        .flag(|a| a.forget = true)
        .help("neither store the results nor compare them with the last ones"),
    plain_help_row(),
];

/// `netperf check`.
pub(super) static CHECK: SubcommandSpec<CheckArgs, CheckArgs> = SubcommandSpec {
    word: "check",
    about: "measure the path to a host and print a summary",
    table: TABLE,
    usage: "\
Usage: netperf check host [options] [-- netperf-options]

Measures the path to a host with netserver, in about 15 seconds, and prints a
summary: idle latency, throughput in both directions with the latency during
each, datagrams, CPU utilisation, warnings, and changes since the last check.
Options behind -- are added to every measurement.

  netperf check server
  netperf check server --time 10s --json
  netperf check server -- --key-file netserver.key --one-port

Exit status: 0 everything was measured, 1 a measurement failed, 2 the command
line is invalid; if nothing was measured, that of the first measurement.
",
    verbs: Vec::new,
    operands: Operands::Line(None),
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

fn check(mut args: CheckArgs, words: Vec<String>) -> Result<CheckArgs, String> {
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
    Ok(args)
}
