//! The command line of `netperf history`: what to do, and with which results.

mod options;

use netperf_arguments::long::shown;

pub use self::options::HistoryArgs;
use self::options::TABLE;
use super::spec::{SubcommandSpec, VerbRow, names_given};
use crate::entry::Operands;

/// Subcommand of `netperf history`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryVerb {
    /// Keep results.
    Add,
    /// List results.
    List,
    /// Print the document of one.
    Show,
    /// A figure over time.
    Trend,
    /// When a figure changed, and what else did.
    Change,
    /// Delete results.
    Forget,
    /// Write results for other programs.
    Export,
    /// Read everything, and tell what is damaged.
    Check,
}

/// Options that select results.
const WHICH: [&str; 6] = ["test", "host", "label", "configuration", "since", "before"];

const fn verb(
    verb: HistoryVerb,
    word: &'static str,
    about: &'static str,
    takes: &'static [&'static [&'static str]],
) -> (HistoryVerb, VerbRow) {
    let row = VerbRow {
        word,
        about,
        usage: "",
        takes,
        files: matches!(verb, HistoryVerb::Add),
    };
    (verb, row)
}

/// All verbs.
static VERBS: &[(HistoryVerb, VerbRow)] = &[
    verb(
        HistoryVerb::Add,
        "add",
        "keep results",
        &[&["db", "label", "json"]],
    ),
    verb(
        HistoryVerb::List,
        "list",
        "list the newest results",
        &[&WHICH, &["db", "limit", "json"]],
    ),
    verb(
        HistoryVerb::Show,
        "show",
        "print the document of a result",
        &[&["db"]],
    ),
    verb(
        HistoryVerb::Trend,
        "trend",
        "show a metric over time",
        &[&WHICH, &["db", "limit", "metric", "last", "json"]],
    ),
    verb(
        HistoryVerb::Change,
        "change",
        "show when a metric and other facts changed",
        &[&WHICH, &["db", "metric", "last", "false-alarms", "json"]],
    ),
    verb(
        HistoryVerb::Forget,
        "forget",
        "delete results and campaigns",
        &[
            &WHICH,
            &["db", "keep-last", "older-than", "dry-run", "json"],
        ],
    ),
    verb(
        HistoryVerb::Export,
        "export",
        "write results for other programs",
        &[&WHICH, &["db", "csv"]],
    ),
    verb(
        HistoryVerb::Check,
        "check",
        "read everything and report damage",
        &[&["db"]],
    ),
];

/// `netperf history`.
pub(super) static HISTORY: SubcommandSpec<HistoryArgs, (HistoryVerb, HistoryArgs)> =
    SubcommandSpec {
        word: "history",
        about: "store results and find changes",
        table: TABLE,
        usage: "Usage: netperf history add file [file ...]   store; - is standard input
       netperf history list                   the newest results
       netperf history show result            its document, byte for byte
       netperf history trend                  a metric over time
       netperf history change                 when its level changed
       netperf history forget result ...      delete; --keep-last, --older-than
       netperf history export --csv file
       netperf history check                  read all and report damage

Stores results of netperf --json and --json-stream, iperf3 -J and flent. The
number of a result, or six or more digits of its digest, identifies it. Results
with the same settings are a configuration; trends and changes refer to one
configuration. forget also deletes campaigns, by six or more digits of their
identifiers.

  netperf -H db1 -t TCP_RR --json | netperf history add -
  netperf history trend --test TCP_RR --host db1
  netperf history change --since 90d
",
        verbs: || VERBS.iter().map(|(_, row)| row).collect(),
        operands: Operands::Verb,
        command: history,
    };

fn history(
    mut args: HistoryArgs,
    words: Vec<String>,
) -> Result<(HistoryVerb, HistoryArgs), String> {
    let mut words = words.into_iter();
    let verb = words.next();
    args.words = words.collect();
    let verb = understood(verb.as_deref(), &args).map_err(|why| format!("netperf history{why}"))?;
    Ok((verb, args))
}

fn understood(verb: Option<&str>, args: &HistoryArgs) -> Result<HistoryVerb, String> {
    let all: Vec<&str> = VERBS.iter().map(|(_, row)| row.word).collect();
    let all = all.join(", ");
    let Some(word) = verb else {
        return Err(format!(": missing command: {all}"));
    };
    let Some((verb, row)) = VERBS.iter().find(|(_, row)| row.word == word) else {
        return Err(format!(
            ": '{}' is unknown; the verbs are {all}",
            shown(word)
        ));
    };
    if let Some(name) = args.given().into_iter().find(|name| !row.has(name)) {
        return Err(format!(" {word}: --{name} does not apply"));
    }
    match enough(*verb, args) {
        Some(lack) => Err(format!(" {word}: {lack}")),
        None => Ok(*verb),
    }
}

/// Problem with the number of arguments.
fn enough(verb: HistoryVerb, args: &HistoryArgs) -> Option<&'static str> {
    let words = args.words.len();
    match verb {
        HistoryVerb::Add => (words == 0).then_some("no file to add; - is standard input"),
        HistoryVerb::Show => {
            (words != 1).then_some("one result is needed, by its number or digest")
        }
        HistoryVerb::Forget => {
            let ways = [
                words > 0,
                args.keep_last.is_some(),
                args.older_than.is_some(),
            ];
            let ways = ways.into_iter().filter(|way| *way).count();
            (ways != 1).then_some("one of results, --keep-last and --older-than is needed")
        }
        HistoryVerb::Export if args.csv.is_none() => Some("--csv file is needed"),
        HistoryVerb::List
        | HistoryVerb::Trend
        | HistoryVerb::Change
        | HistoryVerb::Export
        | HistoryVerb::Check => {
            (words > 0).then_some("unexpected word: options select the results")
        }
    }
}

impl HistoryArgs {
    /// The names of the options that were given, but for `--db`.
    fn given(&self) -> Vec<&'static str> {
        let all = [
            ("test", self.test.is_some()),
            ("host", self.host.is_some()),
            ("label", self.label.is_some()),
            ("configuration", self.configuration.is_some()),
            ("since", self.since.is_some()),
            ("before", self.before.is_some()),
            ("limit", self.limit.is_some()),
            ("metric", self.metric.is_some()),
            ("last", self.last.is_some()),
            ("false-alarms", self.chance.is_some()),
            ("keep-last", self.keep_last.is_some()),
            ("older-than", self.older_than.is_some()),
            ("dry-run", self.dry_run),
            ("csv", self.csv.is_some()),
            ("json", self.json),
        ];
        names_given(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::testing::read;

    #[test]
    fn a_verb_stands_in_front_of_what_it_is_done_to() {
        let Subcommand::History(verb, args) = read("netperf history add a --label x b") else {
            panic!("a command");
        };
        assert_eq!(verb, HistoryVerb::Add);
        assert_eq!(args.words, ["a", "b"]);
        let Subcommand::History(verb, args) = read("netperf history --db f list --test tcp_rr")
        else {
            panic!("a command");
        };
        assert_eq!(verb, HistoryVerb::List);
        assert_eq!(args.place.as_deref(), Some("f"));
        assert_eq!(args.test.as_deref(), Some("tcp_rr"));
    }

    #[test]
    fn history_refuses_options_of_other_verbs() {
        for (line, said) in [
            ("netperf history", "missing command"),
            ("netperf history lst", "'lst' is unknown; the verbs are "),
            ("netperf history add", "no file"),
            ("netperf history list x", "unexpected word"),
            ("netperf history list --csv x", "--csv does not apply"),
            ("netperf history add x --since 1d", "--since does not apply"),
            ("netperf history show", "one result"),
            ("netperf history forget", "one of results"),
            ("netperf history forget 1 --keep-last 5", "one of results"),
            ("netperf history forget --test x", "one of results"),
            ("netperf history export", "--csv file"),
            ("netperf history check --json", "--json does not apply"),
        ] {
            let Subcommand::Usage(usage) = read(line) else {
                panic!("{line}");
            };
            assert_eq!(usage.exit, 2, "{line}");
            assert!(usage.text.contains(said), "{line}: {}", usage.text);
        }
    }

    #[test]
    fn every_option_of_the_table_is_known_to_a_verb() {
        for row in TABLE {
            let known = ["db", "help"].contains(&row.long)
                || VERBS.iter().any(|(_, verb)| verb.has(row.long));
            assert!(known, "--{}", row.long);
        }
    }
}
