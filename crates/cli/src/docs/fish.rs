//! Completion for fish.

use std::fmt::Write as _;

use super::{MADE_BY, Offer, test_options};
use crate::entry::{self, Entry};
use crate::getopt::Argument;

/// A script for both programs.
pub(super) fn script(selectors: &[&str]) -> String {
    let mut text =
        format!("# Completion of netperf and netserver for fish.\n# {MADE_BY}\n{COMMON}");
    _ = write!(
        text,
        "\nfunction __netperf_selectors\n    string join \\n all {}\nend\n\n",
        selectors.join(" ")
    );
    for entry in entry::global() {
        _ = writeln!(text, "{}", option("netperf", &entry, true));
        behind(&mut text, &entry, false);
    }
    for entry in test_options().iter().filter(|entry| entry.long != "help") {
        _ = writeln!(text, "{}", option("netperf", entry, false));
        behind(&mut text, entry, true);
    }
    for entry in entry::server() {
        _ = writeln!(text, "{}", option("netserver", &entry, true));
    }
    text
}

/// fish offers no options behind `--`, so there they are offered as words.
const COMMON: &str = "
function __netperf_behind
    contains -- -- (commandline -opc)
end

function __netperf_value
    set -l words (commandline -opc)
    contains -- $words[-1] $argv
end

function __netperf_behind_value
    __netperf_behind; and __netperf_value $argv
end

complete -c netperf -f
complete -c netserver -f
";

/// A list with commas between, or a file.
const SELECTORS: &str = "-a '(__fish_complete_list , __netperf_selectors)'";

/// The option in front of `--`.
fn option(program: &str, entry: &Entry, with_letter: bool) -> String {
    let mut line = format!("complete -c {program}");
    // A letter that takes no value cannot share the line of a name that does.
    let shared = entry.argument != Argument::Nothing || entry.value.is_empty();
    let letter = entry.letter.filter(|_| with_letter);
    match letter {
        Some(letter) if shared => _ = write!(line, " -s {letter}"),
        Some(letter) => {
            let help = quoted(entry.help);
            line = format!("complete -c {program} -s {letter} -d {help}\n{line}");
        }
        None => {}
    }
    _ = write!(
        line,
        " -l {}{} -d {}",
        entry.long,
        values(entry),
        quoted(entry.help)
    );
    line
}

/// The same behind it, and what follows it there.
fn behind(text: &mut String, entry: &Entry, with_letter: bool) {
    let forms = super::forms(entry, with_letter).join(" ");
    let help = quoted(entry.help);
    _ = writeln!(
        text,
        "complete -c netperf -n __netperf_behind -a {} -d {help}",
        quoted(&forms),
    );
    let offered = match Offer::of(entry) {
        Some(Offer::Words(words)) => format!("-x -a {}", quoted(&words.join(" "))),
        Some(Offer::Hosts) => "-x -a '(__fish_print_hostnames)'".to_owned(),
        Some(Offer::Files) => "-F".to_owned(),
        Some(Offer::Selectors) => {
            // The name has the same value in front of `--`, where a value that may be
            // left out is offered, not demanded.
            let condition = quoted(&format!("__netperf_value --{}", entry.long));
            _ = writeln!(text, "complete -c netperf -n {condition} -F {SELECTORS}");
            format!("-F {SELECTORS}")
        }
        Some(Offer::Nothing) | None => return,
    };
    let condition = quoted(&format!("__netperf_behind_value {forms}"));
    _ = writeln!(text, "complete -c netperf -n {condition} {offered}");
}

fn values(entry: &Entry) -> String {
    match Offer::of(entry) {
        None => String::new(),
        // A value that may be left out is offered, not demanded.
        Some(_) if !entry.needs_value() => String::new(),
        Some(Offer::Words(words)) => format!(" -x -a {}", quoted(&words.join(" "))),
        Some(Offer::Hosts) => " -x -a '(__fish_print_hostnames)'".to_owned(),
        Some(Offer::Files) => " -r -F".to_owned(),
        Some(Offer::Selectors) => format!(" -r -F {SELECTORS}"),
        Some(Offer::Nothing) => " -x".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
