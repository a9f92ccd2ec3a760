//! Completion for bash.

use std::fmt::Write as _;

use super::commands::{DocumentedCommand, Takes, commands};
use super::{MADE_BY, Offer, forms, test_options};
use netperf_cli::catalog::{self, Argument, OptionEntry};

/// A script for both programs.
pub(super) fn script(selectors: &[&str]) -> String {
    let mut text =
        format!("# Completion of netperf and netserver for bash.\n# {MADE_BY}\n{COMMON}");
    let of_selectors = selectors.join(" ");
    _ = writeln!(text, "\n_netperf_selector_names='all {of_selectors}'");
    let global = catalog::global();
    let test = test_options();
    values(&mut text, "netperf", &[(&global, "-"), (&test, "behind -")]);
    values(&mut text, "netserver", &[(&catalog::server(), "-")]);
    let commands = commands();
    for command in &commands {
        let name = format!("netperf_{}", command.word);
        values(&mut text, &name, &[(&command.entries, "-")]);
    }
    let all: Vec<OptionEntry> = global.into_iter().chain(test).collect();
    _ = writeln!(text, "\n_netperf_names='{}'", names(&all));
    subcommands(&mut text, &commands);
    text.push_str(NETPERF);
    _ = write!(
        text,
        "\n_netserver() {{\n    _netperf_complete netserver '{}'\n}}\n\n\
         complete -F _netperf netperf\ncomplete -F _netserver netserver\n",
        names(&catalog::server()),
    );
    text
}

/// Part common to both programs. Bash treats the `=` in `--name=value` as a separate word.
const COMMON: &str = r#"
_netperf_offer() {
    local IFS=$'\n'
    COMPREPLY=($(compgen "$@" -- "$cur"))
}

_netperf_words() {
    local words=$1
    [[ $cur == [a-z]* && $words != *[a-z]* ]] && words=${words,,}
    _netperf_offer -W "${words// /$'\n'}"
}

# A list with commas between, or a file.
_netperf_selectors() {
    local IFS=$'\n' last=${cur##*[,;]} names=${_netperf_selector_names// /$'\n'}
    [[ $last == [a-z]* ]] && names=${names,,}
    COMPREPLY=($(compgen -P "${cur%"$last"}" -W "$names" -- "$last"))
    [[ $last == "$cur" ]] && COMPREPLY+=($(compgen -f -- "$cur"))
}

_netperf_complete() {
    local program=$1 names=$2 cur prev front word
    cur=${COMP_WORDS[COMP_CWORD]}
    prev=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    front=
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ $word == -- ]] && front="behind "
    done
    [[ $prev == --?* ]] && front=
    COMPREPLY=()
    "_${program}_value" "$front$prev" && return
    if [[ $cur == -* ]]; then
        _netperf_words "$names"
    elif (($# > 2)); then
        _netperf_offer "${@:3}"
    fi
    return 0
}
"#;

/// A command comes first. Behind the `--` of some of them there is a line as netperf alone
/// would have it.
const NETPERF: &str = r#"
_netperf_line() {
    local again=$1 start='' at
    for ((at = 2; at < COMP_CWORD; at++)); do
        case ${COMP_WORDS[at]} in
        --) [[ $start ]] || start=$at ;;
        "$again") start=$at ;;
        esac
    done
    [[ $start ]] || return 1
    local words=(netperf "${COMP_WORDS[@]:start+1}") at=$((COMP_CWORD - start))
    local COMP_WORDS=("${words[@]}") COMP_CWORD=$at
    _netperf_complete netperf "$_netperf_names${again:+ $again}"
}

_netperf() {
    local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} word
    if ((COMP_CWORD == 1)) && [[ $cur != -* ]]; then
        _netperf_offer -W "${_netperf_commands// /$'\n'}"
        return
    fi
    for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
        [[ " $_netperf_commands_of " == *" $command/$word "* ]] && command=$command/$word
    done
    ((COMP_CWORD > 1)) && _netperf_command "$command" && return
    _netperf_complete netperf "$_netperf_names"
}
"#;

/// One arm for each option with a value; `dash` is what the letter has in front.
fn cases(text: &mut String, entries: &[OptionEntry], dash: &str) {
    for entry in entries {
        let Some(offer) = Offer::of(entry) else {
            continue;
        };
        let action = match offer {
            Offer::Words(words) => format!("_netperf_words '{}'", words.join(" ")),
            Offer::Hosts => "_netperf_offer -A hostname".to_owned(),
            Offer::Files => "_netperf_offer -f".to_owned(),
            Offer::Selectors => "_netperf_selectors".to_owned(),
            // The value is for the user to think of, unless it may be left out.
            Offer::Nothing if entry.needs_value() => ":".to_owned(),
            Offer::Nothing => continue,
        };
        let mut patterns = vec![format!("--{}", entry.long)];
        // In front of `--` the letter of `--help` takes no topic.
        let same = entry.argument != Argument::Nothing;
        if let Some(letter) = entry.letter.filter(|_| same) {
            patterns.insert(0, format!("'{dash}{letter}'"));
        }
        _ = writeln!(text, "    {}) {action} ;;", patterns.join(" | "));
    }
}

/// The function that offers values for the options of `name`.
fn values(text: &mut String, name: &str, options: &[(&[OptionEntry], &str)]) {
    _ = writeln!(text, "\n_{name}_value() {{\n    case $1 in");
    for (entries, dash) in options {
        cases(text, entries, dash);
    }
    text.push_str("    *) return 1 ;;\n    esac\n}\n");
}

/// Completions of each subcommand.
fn subcommands(text: &mut String, commands: &[DocumentedCommand]) {
    let words = |commands: &[DocumentedCommand], front: &str| {
        let words = commands.iter().map(|one| format!("{front}{}", one.word));
        words.collect::<Vec<_>>().join(" ")
    };
    let mut parts = Vec::new();
    let mut arms = String::new();
    for command in commands {
        let word = command.word;
        arm(&mut arms, word, word, command);
        if let Takes::Commands(own) = &command.takes {
            parts.push(words(own, &format!("{word}/")));
            for part in own {
                arm(&mut arms, &format!("{word}/{}", part.word), word, part);
            }
        }
    }
    let (first, parts) = (words(commands, ""), parts.join(" "));
    _ = write!(
        text,
        "_netperf_commands='{first}'\n_netperf_commands_of='{parts}'\n\n\
         _netperf_command() {{\n    case $1 in\n{arms}    *) return 1 ;;\n    esac\n}}\n",
    );
}

/// The arm of one; `family` has the values of its options.
fn arm(text: &mut String, word: &str, family: &str, command: &DocumentedCommand) {
    let names = names(&command.entries);
    let complete = format!("_netperf_complete netperf_{family} '{names}'");
    let action = match &command.takes {
        Takes::Files => format!("{complete} -f"),
        Takes::Nothing => complete,
        Takes::Commands(own) => {
            let words: Vec<&str> = own.iter().map(|one| one.word).collect();
            format!("{complete} -W $'{}'", words.join("\\n"))
        }
        Takes::Line { again } => {
            format!(
                "_netperf_line '{}' || {complete}",
                again.unwrap_or_default()
            )
        }
    };
    _ = writeln!(text, "    {word}) {action} ;;");
}

fn names(entries: &[OptionEntry]) -> String {
    let mut names: Vec<String> = entries
        .iter()
        .flat_map(|entry| forms(entry, false))
        .collect();
    names.sort();
    names.dedup();
    names.join(" ")
}
