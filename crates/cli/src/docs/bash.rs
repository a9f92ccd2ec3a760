//! Completion for bash.

use std::fmt::Write as _;

use super::{MADE_BY, Offer, forms, test_options};
use crate::entry::{self, Entry};

/// A script for both programs.
pub(super) fn script(selectors: &[&str]) -> String {
    let mut text =
        format!("# Completion of netperf and netserver for bash.\n# {MADE_BY}\n{COMMON}");
    let names = selectors.join(" ");
    _ = writeln!(text, "\n_netperf_selector_names='all {names}'");
    let global = entry::global();
    let test: Vec<Entry> = test_options()
        .into_iter()
        .filter(|entry| entry.long != "help")
        .collect();
    text.push_str("\n_netperf_value() {\n    case $1 in\n");
    cases(&mut text, &global, "-");
    cases(&mut text, &test, "behind -");
    text.push_str("    *) return 1 ;;\n    esac\n}\n");
    text.push_str("\n_netserver_value() {\n    case $1 in\n");
    cases(&mut text, &entry::server(), "-");
    text.push_str("    *) return 1 ;;\n    esac\n}\n");
    program(&mut text, "netperf", global.iter().chain(&test));
    program(&mut text, "netserver", entry::server().iter());
    text
}

/// What is the same for both programs. Bash makes a word of the `=` in `--name=value`.
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
    [[ $cur == -* ]] && _netperf_words "$names"
    return 0
}
"#;

/// One arm for each option with a value; `dash` is what the letter has in front.
fn cases(text: &mut String, entries: &[Entry], dash: &str) {
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
        let same = entry.argument != crate::getopt::Argument::Nothing;
        if let Some(letter) = entry.letter.filter(|_| same) {
            patterns.insert(0, format!("'{dash}{letter}'"));
        }
        _ = writeln!(text, "    {}) {action} ;;", patterns.join(" | "));
    }
}

fn program<'e>(text: &mut String, name: &str, entries: impl Iterator<Item = &'e Entry>) {
    let mut names: Vec<String> = entries.flat_map(|entry| forms(entry, false)).collect();
    names.sort();
    names.dedup();
    _ = write!(
        text,
        "\n_{name}() {{\n    _netperf_complete {name} '{}'\n}}\n\ncomplete -F _{name} {name}\n",
        names.join(" "),
    );
}
