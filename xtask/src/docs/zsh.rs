//! Completion for zsh.

use std::fmt::Write as _;

use super::commands::{DocumentedCommand, Takes, commands};
use super::{MADE_BY, Offer, test_options};
use netperf_cli::catalog::{self, Argument, OptionEntry};

/// A function for both programs.
pub(super) fn script(selectors: &[&str]) -> String {
    let mut text = format!("#compdef netperf netserver\n# {MADE_BY}\n");
    _ = writeln!(
        text,
        "\nlocal -a selectors\nselectors=({})\n{SELECTORS}",
        selectors.join(" ")
    );
    for (name, entries) in [
        ("front", catalog::global()),
        ("behind", test_options()),
        ("server", catalog::server()),
    ] {
        specifications(&mut text, &format!("{name}_letters"), &entries, letter);
        specifications(&mut text, &format!("{name}_names"), &entries, |entry| {
            Some(long(entry))
        });
    }
    text.push_str(LINE);
    let commands = commands();
    described(&mut text, "commands", &commands);
    text.push_str("\n_netperf_command() {\n    case $1 in\n");
    for command in &commands {
        subcommand(&mut text, command.word, command);
    }
    text.push_str("    esac\n}\n");
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

/// A netperf command line. The part before `--` does not determine the letters behind it.
const LINE: &str = r#"
_netperf_line() {
    if (( ${words[(I)--]} && ${words[(i)--]} < CURRENT )); then
        local -i end=${words[(i)--]}
        words=("$words[1]" "${(@)words[end + 1,-1]}")
        (( CURRENT -= end - 1 ))
        _arguments -s $behind_letters $behind_names $front_names "$@"
    else
        _arguments -s $front_letters $front_names $behind_names "$@"
    fi
}

# What stands behind the `--` of a command, or behind the last of this word.
_netperf_inner() {
    local -a before=("${(@)words[1,CURRENT - 1]}")
    local -i start=${before[(i)--]} last=0
    (( start < CURRENT )) || return 1
    [[ -n $1 ]] && last=${before[(I)$1]}
    (( last > start )) && start=last
    words=("$words[1]" "${(@)words[start + 1,-1]}")
    (( CURRENT -= start - 1 ))
    _netperf_line ${1:+"$1[the other command line]"}
}
"#;

const MAIN: &str = r#"
if [[ $service == netserver ]]; then
    _arguments -s $server_letters $server_names
elif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    _describe command commands
elif (( CURRENT > 2 && ${commands[(I)${words[2]}:*]} )); then
    local command=$words[2]
    words=("$words[1]" "${(@)words[3,-1]}")
    (( CURRENT -= 1 ))
    _netperf_command $command
else
    _netperf_line
fi
"#;

/// An array of words, with what they are.
fn described(text: &mut String, name: &str, commands: &[DocumentedCommand]) {
    _ = writeln!(text, "\nlocal -a {name}\n{name}=(");
    for command in commands {
        let about = command.about.replace('\'', "'\\''");
        _ = writeln!(text, "    '{}:{about}'", command.word);
    }
    text.push_str(")\n");
}

/// Completions behind a subcommand, which is no longer among the words then.
fn subcommand(text: &mut String, word: &str, command: &DocumentedCommand) {
    let mut arguments = String::from("_arguments -s");
    for entry in &command.entries {
        for specification in letter(entry).into_iter().chain([long(entry)]) {
            _ = write!(arguments, " \\\n            '{specification}'");
        }
    }
    if matches!(command.takes, Takes::Files) {
        arguments.push_str(" \\\n            '*:file:_files'");
    }
    match &command.takes {
        Takes::Files | Takes::Nothing => {
            _ = writeln!(text, "    {word})\n        {arguments} ;;");
        }
        Takes::Line { again } => {
            let again = again.unwrap_or_default();
            _ = writeln!(
                text,
                "    {word})\n        _netperf_inner '{again}' || {arguments} ;;"
            );
        }
        Takes::Commands(own) => {
            let words: Vec<&str> = own.iter().map(|one| one.word).collect();
            _ = writeln!(
                text,
                "    {word})\n        local -i at=${{words[(I)({})]}}\n        \
                 if (( at && at < CURRENT )); then\n            \
                 local part={word}-$words[at]\n            \
                 words[at]=()\n            (( CURRENT -= 1 ))\n            \
                 _netperf_command $part\n            return\n        fi",
                words.join("|"),
            );
            let own_words = own
                .iter()
                .map(|one| format!("{}\\:\"{}\"", one.word, quoted(one.about)));
            let own_words: Vec<String> = own_words.collect();
            _ = writeln!(
                text,
                "        {arguments} \\\n            '1:what to do:(({}))' ;;",
                own_words.join(" ")
            );
            for command in own {
                subcommand(text, &format!("{word}-{}", command.word), command);
            }
        }
    }
}

fn specifications(
    text: &mut String,
    name: &str,
    entries: &[OptionEntry],
    specification: impl Fn(&OptionEntry) -> Option<String>,
) {
    _ = writeln!(text, "\nlocal -a {name}\n{name}=(");
    for specification in entries.iter().filter_map(specification) {
        _ = writeln!(text, "    '{specification}'");
    }
    text.push_str(")\n");
}

fn letter(entry: &OptionEntry) -> Option<String> {
    let (letter, help) = (entry.letter?, quoted(entry.help));
    Some(match entry.argument {
        Argument::Nothing => format!("-{letter}[{help}]"),
        Argument::Required => format!("-{letter}+[{help}]{}", value(entry)),
        Argument::NextIfNumber | Argument::NextUnlessDash => {
            format!("-{letter}[{help}]{}", value(entry))
        }
    })
}

fn long(entry: &OptionEntry) -> String {
    let (name, help) = (entry.long, quoted(entry.help));
    if entry.value.is_empty() {
        format!("--{name}[{help}]")
    } else {
        format!("--{name}=[{help}]{}", value(entry))
    }
}

fn value(entry: &OptionEntry) -> String {
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
