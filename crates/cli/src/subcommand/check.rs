//! The command line of `netperf check`.

use std::path::PathBuf;

use netperf_arguments::getopt::{Getopt, GetoptStep};
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::long::shown;
use netperf_arguments::row::plain_help_row;
use netperf_arguments::table::{OptionSpec, by_letter, by_name};

use super::spec::SubcommandSpec;
use crate::entry::Operands;
use crate::options::global;

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
    /// `--profile`: the name of what is measured; `None` is the default.
    pub profile: Option<String>,
    /// `--length`: the length of a phase with a load in seconds; `None` is that of the profile.
    pub length: Option<String>,
    /// `--up`: flows to netserver.
    pub up: Option<u32>,
    /// `--down`: flows from netserver.
    pub down: Option<u32>,
    /// `--classes`: classes of service.
    pub classes: Option<String>,
    /// `--interval`: time between probes in seconds.
    pub interval: Option<String>,
    /// `--congestion`: congestion control of loads.
    pub congestion: Option<String>,
    /// `--load`: what loads the path instead of TCP.
    pub load: Option<String>,
    /// `--page`: where the page goes.
    pub page: Option<PathBuf>,
    /// `--export`: the format of a further file, and where it goes.
    pub export: Option<(String, PathBuf)>,
    /// `--expect`: the worst grade that is not a failure.
    pub expect: Option<String>,
    /// `--db`: where the history is.
    pub place: Option<String>,
    /// `--no-history`.
    pub forget: bool,
    /// `--json`: print a document.
    pub json: bool,
    /// `--live`: a full screen while it goes on.
    pub live: bool,
}

type Opt = OptionSpec<CheckArgs>;

/// Names of the profiles.
const PROFILES: &[&str] = &["quick", "responsiveness", "rrul", "rrul_be", "phases"];
/// Grades, best first.
const GRADES: &[&str] = &["A+", "A", "B", "C", "D", "F"];
/// The most flows of a direction.
const FLOWS: u32 = 1024;

/// Every option.
static TABLE: &[Opt] = &[
    Opt::lettered('H', "host", Group::Hosts)
        .takes("host", ValueKind::RemoteHost)
        .set(|a, text| text.clone_into(&mut a.host))
        .help("the host, if it is not the first word"),
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
    Opt::named("profile", Group::Test)
        .takes("name", ValueKind::Word(PROFILES))
        .set(|a, text| a.profile = Some(text.to_owned()))
        .help("the measured phases (default quick)")
        .more(
            "quick: idle, down, up, both, datagrams, in about 15 seconds. responsiveness: idle, \
             down, up, 20 seconds each. rrul: both for 30 seconds in the classes be, cs1, cs5 and \
             ef, as flent's rrul. rrul_be: the same with four flows of be. phases: idle, down, up, \
             both, 10 seconds each.",
        ),
    Opt::named("length", Group::Test)
        .takes("time", ValueKind::Interval)
        .set(|a, text| a.length = Some(text.to_owned()))
        .help("length of each phase with a load (default 3s with quick)"),
    Opt::named("up", Group::Test)
        .takes("flows", ValueKind::Within(1, FLOWS))
        .set(|a, text| a.up = text.parse().ok())
        .help("flows to netserver, of all classes together (default 4)"),
    Opt::named("down", Group::Test)
        .takes("flows", ValueKind::Within(1, FLOWS))
        .set(|a, text| a.down = text.parse().ok())
        .help("flows from netserver, of all classes together (default 4)"),
    Opt::named("classes", Group::Test)
        .takes("list", ValueKind::Text)
        .set(|a, text| a.classes = Some(text.to_owned()))
        .help("classes of service of loads and probes: be,cs1,cs5,ef (default be)"),
    Opt::named("interval", Group::Test)
        .takes("time", ValueKind::Interval)
        .set(|a, text| a.interval = Some(text.to_owned()))
        .help("time between the probes of a class, from 1ms to 1s (default 10ms)"),
    Opt::named("congestion", Group::Test)
        .takes("name", ValueKind::Text)
        .set(|a, text| a.congestion = Some(text.to_owned()))
        .help("congestion control of loads over TCP, at client and server"),
    Opt::named("load", Group::Test)
        .takes("what", ValueKind::Text)
        .set(|a, text| a.load = Some(text.to_owned()))
        .help("load the path with datagrams at this rate instead of TCP: udp:50M"),
    Opt::named("expect", Group::Test)
        .takes("grade", ValueKind::Word(GRADES))
        .set(|a, text| a.expect = Some(text.to_owned()))
        .help("fail with status 1 if the grade is worse than this, or unknown"),
    Opt::named("page", Group::Output)
        .takes("file", ValueKind::File)
        .set(|a, text| a.page = Some(text.into()))
        .help("write a page with the rates and latencies over time to this file"),
    Opt::named("export", Group::Output)
        .takes("flent:file", ValueKind::Text)
        .set(|a, text| {
            let (format, file) = text.split_once(':').unwrap_or((text, ""));
            a.export = Some((format.to_owned(), file.into()));
        })
        .help("write a file that flent reads: flent:FILE.flent.gz"),
    Opt::named("human", Group::Output)
        .flag(|a| a.json = false)
        .help("print the summary as text (default)"),
    Opt::named("json", Group::Output)
        .flag(|a| a.json = true)
        .help("print the summary as JSON"),
    Opt::named("live", Group::Output)
        .flag(|a| a.live = true)
        .help("show rates and latencies on a full screen while they are measured"),
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

Measures the path to a host with netserver, idle and under load, in about 15
seconds: rates in both directions, the latency that each adds, the direction of
the queue, loss of each direction, a grade, and changes since the last check.
Options after -- are added to every measurement.

  netperf check server
  netperf check server --profile rrul --page rrul.html
  netperf check server --length 10s --json --expect B
  netperf check server -- --key-file netserver.key --one-port

Exit status: 0 everything was measured, 1 a measurement failed or the grade is
worse than --expect, 2 the command line is invalid; if nothing was measured,
that of the first measurement.
",
    verbs: Vec::new,
    operands: Operands::Line(None),
    command: check,
};

/// Options of netperf that a check sets itself, and that its results depend on.
const OWN: [&str; 17] = [
    "host",
    "time",
    "count",
    "rate",
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
            "netperf check: '{}' is unexpected: one host is measured, and options of netperf go \
             after --",
            shown(&word)
        ));
    }
    args.words = words.collect();
    if let Some(option) = given(&args.words)
        .into_iter()
        .find(|name| OWN.contains(name))
    {
        return Err(format!(
            "netperf check: --{option} after -- is not possible: each measurement of a check has \
             its own"
        ));
    }
    // A phase without an end would never have a summary.
    let seconds = |time: &Option<String>| time.as_ref()?.parse::<f64>().ok();
    if seconds(&args.length).is_some_and(|length| length <= 0.0) {
        return Err("netperf check: --length: expected more than 0".to_owned());
    }
    let intervals = 0.001..=1.0;
    if seconds(&args.interval).is_some_and(|interval| !intervals.contains(&interval)) {
        return Err("netperf check: --interval: expected 1ms to 1s".to_owned());
    }
    let exported = args.export.as_ref();
    if exported.is_some_and(|(format, file)| format != "flent" || file.as_os_str().is_empty()) {
        return Err("netperf check: --export: expected flent:FILE".to_owned());
    }
    Ok(args)
}
