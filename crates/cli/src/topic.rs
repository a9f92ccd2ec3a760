//! Topics of `--help` and `netperf help`.

use std::ffi::OsString;

use netperf_arguments::command::{CliError, Usage};
use netperf_arguments::foreign;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::long::{OptionProblem, misuse, nearest};
use netperf_iperf2::options as iperf2;
use netperf_iperf3::options as iperf3;
use netperf_model::TestId;
use netperf_model::catalog::tests::TESTS;

use crate::{help, subcommand};

/// The help of the subcommands.
pub(crate) const HELP: &str = "help";

/// A word and its page.
type Page = (&'static str, fn() -> String);

/// Pages that are about neither a test nor a subcommand.
static PAGES: [Page; 6] = [
    ("all", help::all),
    ("classic", help::classic),
    ("limits", help::netserver_limits),
    ("netserver", help::netserver),
    ("iperf3", iperf3::iperf3_help),
    ("iperf", iperf2::help),
];

/// All topics.
pub fn words() -> impl Iterator<Item = &'static str> {
    let pages = PAGES.iter().map(|(word, _)| *word);
    let tests = TESTS.iter().map(|row| row.name);
    pages.chain(subcommand::words()).chain(tests)
}

/// The help text of a topic, in any case; the first page without one.
pub(crate) fn text(program: &str, topic: &str) -> Result<String, CliError> {
    text_of_verb(program, topic, None)
}

/// The help text of a topic of netserver.
pub(crate) fn text_of_netserver(program: &str, topic: &str) -> Result<String, CliError> {
    match topic {
        "" | "all" => Ok(help::netserver()),
        "limits" => Ok(help::netserver_limits()),
        _ => Err(misuse(
            program,
            HELP,
            OptionProblem::Value {
                value: topic.to_owned(),
                expected: "all or limits".to_owned(),
                near: nearest(topic, ["all", "limits"]),
            },
        )),
    }
}

/// The same, for a verb of a subcommand.
fn text_of_verb(program: &str, topic: &str, verb: Option<&str>) -> Result<String, CliError> {
    if topic.is_empty() {
        return Ok(help::start());
    }
    let same = |known: &&str| known.eq_ignore_ascii_case(topic);
    let page = PAGES.iter().find(|(word, _)| same(word));
    let subcommand = subcommand::words().find(same);
    match (page, subcommand, TestId::from_name(topic)) {
        (Some((_, page)), ..) => Ok(page()),
        (None, Some(word), _) => Ok(subcommand::help(word, verb)),
        (None, None, Some(test)) => Ok(help::test(test)),
        (None, None, None) => Err(misuse(program, HELP, unknown(topic))),
    }
}

/// The problem with a word that is no topic.
fn unknown(topic: &str) -> OptionProblem {
    let test = foreign::test(topic).map(str::to_owned);
    OptionProblem::Value {
        value: topic.to_owned(),
        expected: ValueKind::Topic.expected(),
        near: test.or_else(|| nearest(topic, words())),
    }
}

/// Reads `netperf help topic`; `None` if an option follows.
pub(crate) fn explained(argv: &[OsString]) -> Option<Result<Usage, CliError>> {
    let word = |at| argv.get(at).map(|word: &OsString| word.to_string_lossy());
    let program = word(0).unwrap_or_default();
    let topic = word(2).unwrap_or_default();
    if topic.starts_with('-') {
        return None;
    }
    let text = text_of_verb(&program, &topic, word(3).as_deref());
    Some(text.map(Usage::help))
}
