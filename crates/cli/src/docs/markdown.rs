//! The manual's option reference.

use std::fmt::Write as _;

use netperf_model::catalog::tests::TESTS;
use netperf_model::catalog::transports::TRANSPORTS;
use netperf_model::{Suite, TestId};

use super::{MADE_BY, about, sentence};
use crate::entry::{self, OptionEntry};
use crate::group::Group;
use crate::help;
use crate::kind::ValueKind;

/// `options.md`.
pub(super) fn options() -> String {
    let mut text = format!("<!-- {MADE_BY} -->\n\n{INTRODUCTION}");
    text.push_str("\n## netperf\n\nIn front of `--` the letters, anywhere the names.\n");
    groups(&mut text, &entry::global());
    for suite in super::suites() {
        _ = writeln!(text, "\n## {}\n", super::title(suite.tests));
        text.push_str(if suite.alike.is_empty() {
            "Behind `--` the letters, anywhere the names.\n"
        } else {
            "Instead of the ones above.\n"
        });
        groups(&mut text, &suite.own);
        alike(&mut text, &suite.alike);
    }
    text.push_str("\n## netserver\n");
    groups(&mut text, &entry::server());
    meanings(&mut text);
    text
}

/// `tests.md`.
pub(super) fn tests() -> String {
    let mut text = format!("<!-- {MADE_BY} -->\n\n{TESTS_INTRODUCTION}");
    text.push_str("\n## Tests\n\n| test | what it does | transport |\n|---|---|---|\n");
    for row in TESTS {
        let moves = row.suite != Suite::Control && row.id != TestId::Uuid;
        let transport = match row.transport.row().option {
            option if moves => format!("`{option}`"),
            _ => String::new(),
        };
        let what = sentence(&help::sentence(row));
        _ = writeln!(text, "| {} | {what} | {transport} |", row.name);
    }
    text.push_str(
        "\n## Transports\n\n| word | protocol | sockets | with a stock peer | needs |\n\
         |---|---|---|---|---|\n",
    );
    for row in TRANSPORTS {
        let stock = if row.stock { "OMNI" } else { "" };
        _ = writeln!(
            text,
            "| `{}` | {} | {} | {stock} | {} |",
            row.option,
            row.label,
            row.kind.label().to_lowercase(),
            row.needs,
        );
    }
    text
}

const TESTS_INTRODUCTION: &str = "\
# Tests and transports

Every test that `-t` knows, in any case, and every transport that `-T` of OMNI knows.
`netperf --list` says which of them can run on this host and, with `-H`, on that one.

A stock netserver takes OMNI with the transports marked so; with the others both ends
are ours. The older tests it takes as far as it was built with them.
";

const INTRODUCTION: &str = "\
# Options

Every option has a name, and nearly every one a letter.

Letters are read as `getopt` reads them: they may be clustered (`-cC`), a value may
be attached (`-tTCP_RR`) or be the next word, and a value that makes no sense is 0,
never an error. Letters behind `--` belong to the test, and many of them mean
something else there than in front; [a table](#letters-that-mean-two-things) has
both.

Names may stand on either side of `--`, because no two are the same, as
`--name value` or `--name=value`. They cannot be shortened. A name that is not known
or a value that makes no sense is an error: one line on standard error says what was
expected and what is nearest to it, and the exit status is 2.

Of two values with a comma between them either may be left out, and then stays what
it was.
";

fn groups(text: &mut String, entries: &[OptionEntry]) {
    for (group, entries) in entry::by_group(entries) {
        // The same `-h` everywhere would be the same text everywhere.
        let only_help = group == Group::About && entries.len() == 1;
        if only_help {
            continue;
        }
        _ = writeln!(text, "\n### {}", group.title());
        for entry in entries {
            option(text, &entry);
        }
    }
}

fn option(text: &mut String, entry: &OptionEntry) {
    let value = match entry.value {
        "" => String::new(),
        value => format!(" {value}"),
    };
    let letter = entry.letter.map(|letter| format!("`-{letter}{value}`, "));
    _ = writeln!(
        text,
        "\n#### {}`--{}{value}`\n\n{}",
        letter.unwrap_or_default(),
        entry.long,
        about(entry),
    );
    let obvious = matches!(
        entry.kind,
        ValueKind::Nothing | ValueKind::Text | ValueKind::Selection
    );
    if !obvious && entry.needs_value() {
        _ = writeln!(text, "\n*By name:* {}", sentence(&entry.kind.expected()));
    }
}

/// Options that are word for word those of a suite above.
fn alike(text: &mut String, entries: &[OptionEntry]) {
    if entries.is_empty() {
        return;
    }
    let form = |entry: &OptionEntry| {
        let value = match entry.value {
            "" => String::new(),
            value => format!(" {value}"),
        };
        let letter = entry.letter.map(|letter| format!("`-{letter}{value}`, "));
        format!("{}`--{}`", letter.unwrap_or_default(), entry.long)
    };
    text.push_str("\n### As above\n\n");
    for entry in entries {
        _ = writeln!(text, "- {}: {}", form(entry), entry.help);
    }
}

fn meanings(text: &mut String) {
    text.push_str(
        "\n## Letters that mean two things\n\n\
         | letter | in front of `--` | behind it |\n|---|---|---|\n",
    );
    for twice in entry::twice() {
        let (front, behind) = (twice.front.long, twice.behind.long);
        _ = writeln!(text, "| `-{}` | `--{front}` | `--{behind}` |", twice.letter);
    }
}
