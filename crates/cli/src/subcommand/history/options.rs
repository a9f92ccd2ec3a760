//! The options of `netperf history`.

use std::path::PathBuf;

use netperf_arguments::group::Group;
use netperf_arguments::kind::{ValueKind, percent};
use netperf_arguments::row::plain_help_row;
use netperf_arguments::table::OptionSpec;

/// The options of `netperf history`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryArgs {
    /// Arguments of the subcommand: files or results.
    pub words: Vec<String>,
    /// `--db`: where the history is.
    pub place: Option<String>,
    /// `--test`.
    pub test: Option<String>,
    /// `--host`.
    pub host: Option<String>,
    /// `--label`.
    pub label: Option<String>,
    /// `--configuration`.
    pub configuration: Option<String>,
    /// `--since`: a date or an age.
    pub since: Option<String>,
    /// `--before`: the same.
    pub before: Option<String>,
    /// `--limit`: how many are shown; `None` is the usual number.
    pub limit: Option<u32>,
    /// `--metric`: its name; `None` is the result itself.
    pub metric: Option<String>,
    /// `--last`: how many results of a configuration are looked at.
    pub last: Option<u32>,
    /// `--false-alarms`: the chance of one, as a share.
    pub chance: Option<f64>,
    /// `--keep-last`: how many results of each configuration stay.
    pub keep_last: Option<u32>,
    /// `--older-than`: an age.
    pub older_than: Option<String>,
    /// `--dry-run`: forget nothing.
    pub dry_run: bool,
    /// `--csv`: where an export goes.
    pub csv: Option<PathBuf>,
    /// `--json`: print a document.
    pub json: bool,
}

type Opt = OptionSpec<HistoryArgs>;

/// The most of anything that can be asked for at once.
const MANY: ValueKind = ValueKind::Within(1, 1_000_000);

/// Every option.
pub(crate) static TABLE: &[Opt] = &[
    Opt::named("db", Group::History)
        .takes("place", ValueKind::File)
        .set(|a, text| a.place = Some(text.to_owned()))
        .help("the history: a file, or postgres://user@host/database")
        .more(
            "The default is the value of NETPERF_HISTORY, or $XDG_DATA_HOME/netperf/history.sqlite \
             (~/.local/share/netperf/history.sqlite).",
        ),
    Opt::named("test", Group::History)
        .takes("name", ValueKind::Text)
        .set(|a, text| a.test = Some(text.to_owned()))
        .help("only results of this test"),
    Opt::named("host", Group::History)
        .takes("name", ValueKind::Text)
        .set(|a, text| a.host = Some(text.to_owned()))
        .help("only results with this remote host"),
    Opt::named("label", Group::History)
        .takes("text", ValueKind::Text)
        .set(|a, text| a.label = Some(text.to_owned()))
        .help("only results with this label; with add, the label to assign")
        .more("The default label is the text of netperf's -B."),
    Opt::named("configuration", Group::History)
        .takes("key", ValueKind::Text)
        .set(|a, text| a.configuration = Some(text.to_owned()))
        .help("only results of this configuration")
        .more("The key as trend shows it, or its first letters."),
    Opt::named("since", Group::History)
        .takes("time", ValueKind::Text)
        .set(|a, text| a.since = Some(text.to_owned()))
        .help("only results that began at this time or later")
        .more(
            "A date such as 2026-11-21, with a time of day in UTC such as 2026-11-21T18:00, or an \
             age such as 12h, 30d, 4w or 1y.",
        ),
    Opt::named("before", Group::History)
        .takes("time", ValueKind::Text)
        .set(|a, text| a.before = Some(text.to_owned()))
        .help("only results that began before this time")
        .more("As --since."),
    Opt::named("limit", Group::Output)
        .takes("number", MANY)
        .set(|a, text| a.limit = text.parse().ok())
        .help("show this many results")
        .more("The default is 20."),
    Opt::named("metric", Group::Statistics)
        .takes("name", ValueKind::Text)
        .set(|a, text| a.metric = Some(text.to_owned()))
        .help("show this metric instead of the result")
        .more("By the names of `netperf compare`, such as \"latency p99\"."),
    Opt::named("last", Group::Statistics)
        .takes("number", MANY)
        .set(|a, text| a.last = text.parse().ok())
        .help("examine the last results of a configuration, at most this many")
        .more("The default is 5000."),
    Opt::named("false-alarms", Group::Statistics)
        .takes("percent", ValueKind::Chance)
        .set(|a, text| a.chance = percent(text))
        .help("probability of a false alarm, for each split of a series")
        .more("The default is 1%."),
    Opt::named("keep-last", Group::History)
        .takes("number", MANY)
        .set(|a, text| a.keep_last = text.parse().ok())
        .help("delete all results except the newest of each configuration"),
    Opt::named("older-than", Group::History)
        .takes("age", ValueKind::Text)
        .set(|a, text| a.older_than = Some(text.to_owned()))
        .help("delete older results")
        .more("For instance 90d, 26w or 2y."),
    Opt::named("dry-run", Group::History)
        .flag(|a| a.dry_run = true)
        .help("only show the results that would be deleted"),
    Opt::named("csv", Group::Output)
        .takes("file", ValueKind::File)
        .set(|a, text| a.csv = Some(PathBuf::from(text)))
        .help("write results as comma-separated values; - is standard output"),
    Opt::named("json", Group::Output)
        .flag(|a| a.json = true)
        .help("print a JSON document"),
    plain_help_row(),
];
