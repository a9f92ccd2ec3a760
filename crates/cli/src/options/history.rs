//! The options of `netperf history`.

use std::path::PathBuf;

use super::help_row;
use crate::args::{GlobalArgs, HistoryArgs};
use crate::group::Group;
use crate::kind::{ValueKind, percent};
use crate::table::{Action, OptionSpec};

type Opt = OptionSpec<HistoryArgs>;

/// The most of anything that can be asked for at once.
const MANY: ValueKind = ValueKind::Within(1, 1_000_000);

/// Keeps the result of a run.
pub(super) const KEEP: OptionSpec<GlobalArgs> = OptionSpec::<GlobalArgs>::without_letter(
    "[place]",
    "store the result in a history after the run",
    Action::NextUnlessDash(|a, word| {
        a.history = Some(word.unwrap_or_default().to_owned());
        None
    }),
)
.long("history", Group::Output, ValueKind::Text)
.more(
    "Equivalent to `netperf history add` with the document of --json, for every output format. \
     The value is a file, or postgres://user@host/database; without it the default location is \
     used. netperf reports a history that cannot be opened before the run; a failed run is not \
     stored.",
);

/// Every option.
pub(crate) static TABLE: &[Opt] = &[
    Opt::without_letter(
        "place",
        "the history: a file, or postgres://user@host/database",
        Action::Value(|a, text| a.place = Some(text.to_owned())),
    )
    .long("db", Group::History, ValueKind::File)
    .more(
        "The default is the value of NETPERF_HISTORY, or $XDG_DATA_HOME/netperf/history.sqlite \
         (~/.local/share/netperf/history.sqlite).",
    ),
    Opt::without_letter(
        "name",
        "only results of this test",
        Action::Value(|a, text| a.test = Some(text.to_owned())),
    )
    .long("test", Group::History, ValueKind::Text),
    Opt::without_letter(
        "name",
        "only results with this remote host",
        Action::Value(|a, text| a.host = Some(text.to_owned())),
    )
    .long("host", Group::History, ValueKind::Text),
    Opt::without_letter(
        "text",
        "only results with this label; with add, the label to assign",
        Action::Value(|a, text| a.label = Some(text.to_owned())),
    )
    .long("label", Group::History, ValueKind::Text)
    .more("The default label is the text of netperf's -B."),
    Opt::without_letter(
        "key",
        "only results of this configuration",
        Action::Value(|a, text| a.configuration = Some(text.to_owned())),
    )
    .long("configuration", Group::History, ValueKind::Text)
    .more("The key as trend shows it, or its first letters."),
    Opt::without_letter(
        "time",
        "only results that began at this time or later",
        Action::Value(|a, text| a.since = Some(text.to_owned())),
    )
    .long("since", Group::History, ValueKind::Text)
    .more(
        "A date such as 2026-11-21, with a time of day in UTC such as 2026-11-21T18:00, or an \
         age such as 12h, 30d, 4w or 1y.",
    ),
    Opt::without_letter(
        "time",
        "only results that began before this time",
        Action::Value(|a, text| a.before = Some(text.to_owned())),
    )
    .long("before", Group::History, ValueKind::Text)
    .more("As --since."),
    Opt::without_letter(
        "number",
        "show this many results",
        Action::Value(|a, text| a.limit = text.parse().ok()),
    )
    .long("limit", Group::Output, MANY)
    .more("The default is 20."),
    Opt::without_letter(
        "name",
        "show this figure instead of the result",
        Action::Value(|a, text| a.figure = Some(text.to_owned())),
    )
    .long("figure", Group::Statistics, ValueKind::Text)
    .more("By the names of `netperf compare`, such as \"latency p99\"."),
    Opt::without_letter(
        "number",
        "examine the last results of a configuration, at most this many",
        Action::Value(|a, text| a.last = text.parse().ok()),
    )
    .long("last", Group::Statistics, MANY)
    .more("The default is 5000."),
    Opt::without_letter(
        "percent",
        "probability of a false alarm, for each split of a series",
        Action::Value(|a, text| a.chance = percent(text)),
    )
    .long("false-alarms", Group::Statistics, ValueKind::Percent)
    .more("The default is 1%."),
    Opt::without_letter(
        "number",
        "delete all results except the newest of each configuration",
        Action::Value(|a, text| a.keep_last = text.parse().ok()),
    )
    .long("keep-last", Group::History, MANY),
    Opt::without_letter(
        "age",
        "delete older results",
        Action::Value(|a, text| a.older_than = Some(text.to_owned())),
    )
    .long("older-than", Group::History, ValueKind::Text)
    .more("For instance 90d, 26w or 2y."),
    Opt::without_letter(
        "",
        "only show the results that would be deleted",
        Action::Flag(|a| a.dry_run = true),
    )
    .long("dry-run", Group::History, ValueKind::Nothing),
    Opt::without_letter(
        "file",
        "write results as comma-separated values; - is standard output",
        Action::Value(|a, text| a.csv = Some(PathBuf::from(text))),
    )
    .long("csv", Group::Output, ValueKind::File),
    Opt::without_letter(
        "file",
        "write results as Apache Parquet",
        Action::Value(|a, text| a.parquet = Some(PathBuf::from(text))),
    )
    .long("parquet", Group::Output, ValueKind::File)
    .more("Only if netperf was built with the feature parquet."),
    Opt::without_letter("", "print a JSON document", Action::Flag(|a| a.json = true)).long(
        "json",
        Group::Output,
        ValueKind::Nothing,
    ),
    OptionSpec {
        kind: ValueKind::Nothing,
        help: "show this help and exit",
        more: "",
        ..help_row()
    },
];
