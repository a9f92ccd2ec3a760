//! Constructors of option rows, and setters of their values.

use std::time::Duration;

use netperf_model::Family;

use crate::args::{HostArg, PerDirection, PerEnd};
use crate::command::{CliError, Notice};
use crate::grammar::{Halves, both_halves, cut, family, first_half, size};
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionSpec};

/// Characters that count of a port's name and of a family's.
pub const SHORT_NAME: usize = 10;

/// One size or two.
pub const SIZES: ValueKind = ValueKind::twice(&ValueKind::Size);

/// One socket buffer size or two.
pub const BUFFERS: ValueKind = ValueKind::twice(&ValueKind::SizeOrDefault);

/// One port or two.
pub const PORTS: ValueKind = ValueKind::twice(&ValueKind::Port);

/// Two ends of a range of ports.
pub const PORT_NUMBERS: ValueKind = ValueKind::twice(&ValueKind::Within(0, 65_535));

impl<A> OptionSpec<A> {
    /// An option that has only a name, and no effect until an action is set.
    pub const fn named(long: &'static str, group: Group) -> Self {
        Self {
            letter: None,
            long,
            value: "",
            help: "",
            more: "",
            group,
            kind: ValueKind::Nothing,
            letter_kind: None,
            is_idle: false,
            implied: "",
            action: Action::Flag(|_| {}),
        }
    }

    /// An option with a letter.
    pub const fn lettered(letter: char, long: &'static str, group: Group) -> Self {
        Self {
            letter: Some(letter),
            ..Self::named(long, group)
        }
    }

    /// The same option for tests in which its letter is another option.
    pub const fn without_letter(self) -> Self {
        Self {
            letter: None,
            ..self
        }
    }

    /// Sets the name of the value in help, and the values that the long form accepts.
    pub const fn takes(self, value: &'static str, kind: ValueKind) -> Self {
        Self {
            value,
            kind,
            ..self
        }
    }

    /// Sets the value of the long form where none is given, and the values in brackets for help.
    pub const fn implies(self, implied: &'static str, value: &'static str) -> Self {
        Self {
            implied,
            value,
            ..self
        }
    }

    /// Sets the values that the letter accepts.
    pub const fn letter_takes(self, kind: ValueKind) -> Self {
        Self {
            letter_kind: Some(kind),
            ..self
        }
    }

    /// Nothing reads it: its letter has a line, as values that are not used have.
    pub const fn idle(self) -> Self {
        Self {
            is_idle: true,
            ..self
        }
    }

    /// Sets the argument and the way of recording it.
    pub const fn action(self, action: Action<A>) -> Self {
        Self { action, ..self }
    }

    /// Records an option without a value.
    pub const fn flag(self, record: fn(&mut A)) -> Self {
        self.action(Action::Flag(record))
    }

    /// Records the value.
    pub const fn set(self, record: fn(&mut A, &str)) -> Self {
        self.action(Action::Value(record))
    }

    /// Records the value, perhaps with a notice.
    pub const fn noted(self, record: fn(&mut A, &str, &mut Vec<Notice>)) -> Self {
        self.action(Action::Noted(record))
    }

    /// Records the value, or rejects it.
    pub const fn checked(self, record: fn(&mut A, &str) -> Result<(), CliError>) -> Self {
        self.action(Action::Checked(record))
    }

    /// Sets the description in one line.
    pub const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// Adds text for the manual.
    pub const fn more(self, more: &'static str) -> Self {
        Self { more, ..self }
    }
}

/// Records the halves that were given.
pub fn set<T>(
    first: &mut Option<T>,
    second: &mut Option<T>,
    halves: Halves<'_>,
    read: fn(&str) -> T,
) {
    if let Some(text) = halves.0 {
        *first = Some(read(text));
    }
    if let Some(text) = halves.1 {
        *second = Some(read(text));
    }
}

/// A sizespec of sizes for sending and receiving.
pub fn set_ways(ways: &mut PerDirection<i32>, text: &str) {
    set(&mut ways.send, &mut ways.recv, both_halves(text), size);
}

/// A sizespec for both ends.
pub fn set_both_ends<T>(ends: &mut PerEnd<T>, text: &str, read: fn(&str) -> T) {
    set(&mut ends.local, &mut ends.remote, both_halves(text), read);
}

/// An optionspec for both ends: alone, a value is netperf's.
pub fn set_ends<T>(ends: &mut PerEnd<T>, text: &str, read: fn(&str) -> T) {
    set(&mut ends.local, &mut ends.remote, first_half(text), read);
}

/// A sizespec of sizes for a pair that is no pair of ends or ways.
pub fn set_pair(pair: &mut (Option<i32>, Option<i32>), text: &str, read: fn(&str) -> i32) {
    set(&mut pair.0, &mut pair.1, both_halves(text), read);
}

/// A host, and a family behind a comma.
pub fn set_host(host: &mut HostArg, text: &str, notices: &mut Vec<Notice>) {
    let (name, word) = first_half(text);
    if let Some(name) = name {
        host.host = Some(name.to_owned());
        host.random_bits = None;
    }
    if let Some(word) = word {
        host.family = Some(family_or_warn(cut(word, SHORT_NAME), notices));
    }
}

/// A host with an optional prefix length, and a family behind a comma.
pub fn set_host_with_bits(host: &mut HostArg, text: &str, notices: &mut Vec<Notice>) {
    set_host(host, text, notices);
    let Some((name, bits)) = host.host.as_deref().and_then(|name| name.split_once('/')) else {
        return;
    };
    host.random_bits = u8::try_from(size(bits)).ok();
    host.host = Some(name.to_owned());
}

/// Family of addresses that a word names, or any with a notice.
pub fn family_or_warn(word: &str, notices: &mut Vec<Notice>) -> Family {
    family(word).unwrap_or_else(|| {
        notices.push(Notice::stdout(&format!(
            "WARNING! {word} not recognized as an address family, using AF_UNPSEC\n\
             Are you sure netperf was configured for that address family?"
        )));
        Family::Unspecified
    })
}

/// `-4` and `-6` for both ends.
pub fn set_families(local: &mut HostArg, remote: &mut HostArg, family: Family) {
    local.family = Some(family);
    remote.family = Some(family);
}

/// A port, of whose name only a part counts.
pub fn port_name(text: &str) -> String {
    cut(text, SHORT_NAME).to_owned()
}

/// Seconds, as the value kinds of times write them.
pub fn span(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

/// The row of `-h` of a subcommand.
pub const fn plain_help_row<A>() -> OptionSpec<A> {
    OptionSpec::lettered('h', "help", Group::About)
        .action(Action::Help)
        .help("show this help and exit")
}

/// The row of `-h` of a program.
pub const fn help_row<A>() -> OptionSpec<A> {
    plain_help_row().takes("", ValueKind::Topic).more(
        "The letter prints the option letters, with exit status 1 as scripts expect. The name \
         prints examples and the main options on standard output. A topic after the name selects \
         options: all, those in use today; classic, those of old scripts and rare networks; \
         limits, those of netserver; a test or subcommand, its own.",
    )
}
