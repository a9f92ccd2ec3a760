//! Completion for zsh.

use std::fmt::Write as _;

use super::{MADE_BY, Offer, test_options};
use crate::entry::{self, Entry};
use crate::getopt::Argument;

/// A function for both programs.
pub(super) fn script(selectors: &[&str]) -> String {
    let mut text = format!("#compdef netperf netserver\n# {MADE_BY}\n");
    _ = writeln!(
        text,
        "\nlocal -a selectors\nselectors=({})\n{SELECTORS}",
        selectors.join(" ")
    );
    // `--help` is among the names in front.
    let test: Vec<Entry> = test_options()
        .into_iter()
        .filter(|entry| entry.long != "help")
        .collect();
    for (name, entries) in [
        ("front", entry::global()),
        ("behind", test),
        ("server", entry::server()),
    ] {
        specifications(&mut text, &format!("{name}_letters"), &entries, letter);
        specifications(&mut text, &format!("{name}_names"), &entries, |entry| {
            Some(long(entry))
        });
    }
    text.push_str(MAIN);
    text
}

/// A list with commas between, or a file.
const SELECTORS: &str = "
_netperf_selectors() {
    _alternative \
        'selectors:output selector:_values -s , \"output selector\" all $selectors' \
        'files:file:_files'
}";

/// What stands in front of `--` says nothing about the letters behind it.
const MAIN: &str = r#"
if [[ $service == netserver ]]; then
    _arguments -s $server_letters $server_names
elif (( ${words[(I)--]} && ${words[(I)--]} < CURRENT )); then
    local -i end=${words[(i)--]}
    words=("$words[1]" "${(@)words[end + 1,-1]}")
    (( CURRENT -= end - 1 ))
    _arguments -s $behind_letters $behind_names $front_names
else
    _arguments -s $front_letters $front_names $behind_names
fi
"#;

fn specifications(
    text: &mut String,
    name: &str,
    entries: &[Entry],
    specification: impl Fn(&Entry) -> Option<String>,
) {
    _ = writeln!(text, "\nlocal -a {name}\n{name}=(");
    for specification in entries.iter().filter_map(specification) {
        _ = writeln!(text, "    '{specification}'");
    }
    text.push_str(")\n");
}

fn letter(entry: &Entry) -> Option<String> {
    let (letter, help) = (entry.letter?, quoted(entry.help));
    Some(match entry.argument {
        Argument::Nothing => format!("-{letter}[{help}]"),
        Argument::Required => format!("-{letter}+[{help}]{}", value(entry)),
        Argument::NextIfNumber | Argument::NextUnlessDash => {
            format!("-{letter}[{help}]{}", value(entry))
        }
    })
}

fn long(entry: &Entry) -> String {
    let (name, help) = (entry.long, quoted(entry.help));
    if entry.value.is_empty() {
        format!("--{name}[{help}]")
    } else {
        format!("--{name}=[{help}]{}", value(entry))
    }
}

fn value(entry: &Entry) -> String {
    let Some(offer) = Offer::of(entry) else {
        return String::new();
    };
    let colons = if entry.needs_value() { ":" } else { "::" };
    let name = quoted(entry.value.trim_matches(['[', ']']));
    let action = match offer {
        Offer::Words(words) => format!("({})", choices(&words)),
        Offer::Hosts => "_hosts".to_owned(),
        Offer::Files => "_files".to_owned(),
        Offer::Selectors => "_netperf_selectors".to_owned(),
        Offer::Nothing => " ".to_owned(),
    };
    format!("{colons}{name}:{action}")
}

/// The words of a choice. Test names match in any case, and are typed in lower case.
fn choices(words: &[&str]) -> String {
    let words = words.join(" ");
    if words.contains(|c: char| c.is_ascii_lowercase()) {
        words
    } else {
        words.to_ascii_lowercase()
    }
}

/// Text inside of a specification inside of single quotes.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for letter in text.chars() {
        match letter {
            '\'' => quoted.push_str("'\\''"),
            '[' | ']' | ':' | '\\' => {
                quoted.push('\\');
                quoted.push(letter);
            }
            other => quoted.push(other),
        }
    }
    quoted
}
