//! Completion for fish.

use std::fmt::Write as _;

use super::commands::{DocumentedCommand, Takes, commands};
use super::{MADE_BY, Offer, test_options};
use netperf_cli::catalog::{self, Argument, OptionEntry};

/// A script for both programs.
pub(super) fn script(selectors: &[&str]) -> String {
    let mut text =
        format!("# Completion of netperf and netserver for fish.\n# {MADE_BY}\n{COMMON}");
    let commands = commands();
    parts(&mut text, &commands);
    _ = write!(
        text,
        "\nfunction __netperf_selectors\n    string join \\n all {}\nend\n\n",
        selectors.join(" ")
    );
    for entry in catalog::global() {
        _ = writeln!(text, "{}", option("netperf", FRONT, &entry, true));
        inside(&mut text, "inner", &entry, true);
        inside(&mut text, "behind", &entry, false);
    }
    for entry in &test_options() {
        _ = writeln!(text, "{}", option("netperf", FRONT, entry, false));
        inside(&mut text, "inner", entry, false);
        inside(&mut text, "behind", entry, true);
    }
    first(&mut text, &commands, "first");
    for command in &commands {
        subcommand(&mut text, command.word, command);
    }
    for entry in catalog::server() {
        _ = writeln!(text, "{}", option("netserver", "", &entry, true));
    }
    text
}

/// Parts of the line with netperf's own options.
const FRONT: &str = "first front";

/// fish does not complete options behind `--`, so they are offered as words. Behind the first
/// `--` of some subcommands there is a complete netperf command line, which may contain another
/// `--`.
const COMMON: &str = "
function __netperf_in
    contains -- (__netperf_part) $argv
end

function __netperf_of
    set -l words (commandline -opc)
    test \"$words[2]\" = $argv[1]
end

function __netperf_value
    set -l words (commandline -opc)
    contains -- $words[-1] $argv
end

complete -c netperf -f
complete -c netserver -f
";

/// The function that tells which part of a line the cursor is in: `first`, `front` and
/// `behind` (of `--`) of netperf alone, the name of a command, and `inner` for what is
/// `front` behind the `--` of one.
fn parts(text: &mut String, commands: &[DocumentedCommand]) {
    let (mut words, mut arms) = (Vec::new(), String::new());
    for command in commands {
        let word = command.word;
        words.push(word);
        match &command.takes {
            Takes::Commands(own) => {
                let own: Vec<String> = own
                    .iter()
                    .map(|one| format!("'{word} {word} {}'", one.word))
                    .collect();
                let own = own.join(" ");
                _ = writeln!(arms, "{ARM}case {own}\n{ARM}    set part $part-$word");
            }
            Takes::Line { again } => {
                _ = write!(arms, "{ARM}case '{word} {word} --'");
                if let Some(again) = again {
                    _ = write!(arms, " '{word} inner {again}' '{word} behind {again}'");
                }
                _ = writeln!(arms, "\n{ARM}    set part inner");
            }
            Takes::Files | Takes::Nothing => {}
        }
    }
    let words = words.join(" ");
    _ = write!(
        text,
        "
function __netperf_part
    set -l words (commandline -opc)
    set -l part front
    test (count $words) -gt 1; or set part first
    switch \"$words[2]\"
        case {words}
            set part $words[2]
    end
    for word in $words[2..]
        switch \"$words[2] $part $word\"
{arms}{ARM}case '* inner --' '* front --'
{ARM}    set part behind
        end
    end
    echo $part
end
"
    );
}

/// Indentation of an arm of the second switch.
const ARM: &str = "            ";

/// A list with commas between, or a file.
const SELECTORS: &str = "-a '(__fish_complete_list , __netperf_selectors)'";

/// An option in these parts of a line; anywhere unless told.
fn option(program: &str, parts: &str, entry: &OptionEntry, with_letter: bool) -> String {
    let mut line = format!("complete -c {program}");
    if !parts.is_empty() {
        _ = write!(line, " -n '__netperf_in {parts}'");
    }
    let start = line.clone();
    // A letter that takes no value cannot share the line of a name that does.
    let shared = entry.argument != Argument::Nothing || entry.value.is_empty();
    let letter = entry.letter.filter(|_| with_letter);
    match letter {
        Some(letter) if shared => _ = write!(line, " -s {letter}"),
        Some(letter) => {
            let help = quoted(entry.help);
            line = format!("{start} -s {letter} -d {help}\n{line}");
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

/// The same where fish offers no options, and what follows it there.
fn inside(text: &mut String, part: &str, entry: &OptionEntry, with_letter: bool) {
    let forms = super::forms(entry, with_letter).join(" ");
    let help = quoted(entry.help);
    _ = writeln!(
        text,
        "complete -c netperf -n '__netperf_in {part}' -a {} -d {help}",
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
    let condition = quoted(&format!("__netperf_in {part}; and __netperf_value {forms}"));
    _ = writeln!(text, "complete -c netperf -n {condition} {offered}");
}

/// Commands that may stand here, with what they do.
fn first(text: &mut String, commands: &[DocumentedCommand], part: &str) {
    for command in commands {
        let about = quoted(command.about);
        _ = writeln!(
            text,
            "complete -c netperf -n '__netperf_in {part}' -a {} -d {about}",
            command.word,
        );
    }
}

/// Completions in the part of the line that belongs to a subcommand.
fn subcommand(text: &mut String, part: &str, command: &DocumentedCommand) {
    for entry in &command.entries {
        _ = writeln!(text, "{}", option("netperf", part, entry, true));
    }
    match &command.takes {
        Takes::Files => _ = writeln!(text, "complete -c netperf -n '__netperf_in {part}' -F"),
        Takes::Nothing => {}
        Takes::Commands(own) => {
            first(text, own, part);
            for command in own {
                subcommand(text, &format!("{part}-{}", command.word), command);
            }
        }
        Takes::Line { again } => {
            if let Some(word) = again {
                _ = writeln!(
                    text,
                    "complete -c netperf -n '__netperf_in inner behind; and \
                     __netperf_of {part}' -a {word} -d 'the other command line'"
                );
            }
        }
    }
}

fn values(entry: &OptionEntry) -> String {
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
