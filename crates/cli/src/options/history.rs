//! The options of `netperf history`.

use std::path::PathBuf;

use super::help_row;
use crate::args::{GlobalArgs, HistoryArgs};
use crate::group::Group;
use crate::kind::{ValueKind, percent};
use crate::table::{Action, OptionRow};

type Opt = OptionRow<HistoryArgs>;

/// The most of anything that can be asked for at once.
const MANY: ValueKind = ValueKind::Within(1, 1_000_000);

/// Keeps the result of a run.
pub(super) const KEEP: OptionRow<GlobalArgs> = OptionRow::<GlobalArgs>::without_letter(
    "[place]",
    "keep the result in a history, once it is printed",
    Action::NextUnlessDash(|a, word| {
        a.history = Some(word.unwrap_or_default().to_owned());
        None
    }),
)
.long("history", Group::Output, ValueKind::Text)
.more(
    "As `netperf history add` would the document of --json, whatever is printed. A file, or \
     postgres://user@host/database; the usual one unless given. A history that cannot be \
     opened is told about before the run; a run that fails is not kept.",
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
        "What the environment variable NETPERF_HISTORY names unless given, and \
         $XDG_DATA_HOME/netperf/history.sqlite (~/.local/share/netperf/history.sqlite) where \
         that is not set either.",
    ),
    Opt::without_letter(
        "name",
        "only results of this test",
        Action::Value(|a, text| a.test = Some(text.to_owned())),
    )
    .long("test", Group::History, ValueKind::Text),
    Opt::without_letter(
        "name",
        "only results with this host at the other end",
        Action::Value(|a, text| a.host = Some(text.to_owned())),
    )
    .long("host", Group::History, ValueKind::Text),
    Opt::without_letter(
        "text",
        "only results called so; with add, what to call them",
        Action::Value(|a, text| a.label = Some(text.to_owned())),
    )
    .long("label", Group::History, ValueKind::Text)
    .more("A result that nobody calls anything else has the text of netperf's -B for a label."),
    Opt::without_letter(
        "key",
        "only results of this configuration",
        Action::Value(|a, text| a.configuration = Some(text.to_owned())),
    )
    .long("configuration", Group::History, ValueKind::Text)
    .more("As trend shows it, or the first letters of it."),
    Opt::without_letter(
        "time",
        "only what began at this time or later",
        Action::Value(|a, text| a.since = Some(text.to_owned())),
    )
    .long("since", Group::History, ValueKind::Text)
    .more(
        "A date such as 2026-11-21, with a time of day in UTC such as 2026-11-21T18:00, or an \
         age such as 12h, 30d, 4w or 1y.",
    ),
    Opt::without_letter(
        "time",
        "only what began before this time",
        Action::Value(|a, text| a.before = Some(text.to_owned())),
    )
    .long("before", Group::History, ValueKind::Text)
    .more("As for --since."),
    Opt::without_letter(
        "number",
        "show so many",
        Action::Value(|a, text| a.limit = text.parse().ok()),
    )
    .long("limit", Group::Output, MANY)
    .more("20 when nothing is asked for."),
    Opt::without_letter(
        "name",
        "this figure in place of the result itself",
        Action::Value(|a, text| a.figure = Some(text.to_owned())),
    )
    .long("figure", Group::Statistics, ValueKind::Text)
    .more("As `netperf compare` calls them, such as \"latency p99\"."),
    Opt::without_letter(
        "number",
        "look at so many results of a configuration, the last ones",
        Action::Value(|a, text| a.last = text.parse().ok()),
    )
    .long("last", Group::Statistics, MANY)
    .more("5000 when nothing is asked for."),
    Opt::without_letter(
        "percent",
        "chance of a false alarm, for each cut of a series",
        Action::Value(|a, text| a.chance = percent(text)),
    )
    .long("false-alarms", Group::Statistics, ValueKind::Percent)
    .more("1% when nothing is asked for."),
    Opt::without_letter(
        "number",
        "forget all but so many results of each configuration, the newest",
        Action::Value(|a, text| a.keep_last = text.parse().ok()),
    )
    .long("keep-last", Group::History, MANY),
    Opt::without_letter(
        "age",
        "forget what is older",
        Action::Value(|a, text| a.older_than = Some(text.to_owned())),
    )
    .long("older-than", Group::History, ValueKind::Text)
    .more("Such as 90d, 26w or 2y."),
    Opt::without_letter(
        "",
        "only tell what would be forgotten",
        Action::Flag(|a| a.dry_run = true),
    )
    .long("dry-run", Group::History, ValueKind::Nothing),
    Opt::without_letter(
        "file",
        "write results as comma separated values; - is standard output",
        Action::Value(|a, text| a.csv = Some(PathBuf::from(text))),
    )
    .long("csv", Group::Output, ValueKind::File),
    Opt::without_letter(
        "file",
        "write results as Apache Parquet",
        Action::Value(|a, text| a.parquet = Some(PathBuf::from(text))),
    )
    .long("parquet", Group::Output, ValueKind::File)
    .more("Only a netperf that was built with the feature parquet can."),
    Opt::without_letter("", "print a JSON document", Action::Flag(|a| a.json = true)).long(
        "json",
        Group::Output,
        ValueKind::Nothing,
    ),
    OptionRow {
        kind: ValueKind::Nothing,
        help: "show this help and exit",
        more: "",
        ..help_row()
    },
];
