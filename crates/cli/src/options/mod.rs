//! The option tables: one row per letter, one table per parser.

pub(crate) mod global;
pub(crate) mod omni;
pub(crate) mod server;
pub(crate) mod sockets;

use netperf_model::Family;

use crate::args::{Ends, HostArg, Ways};
use crate::command::Notice;
use crate::grammar::{Halves, both_halves, cut, family, first_half, size};
use crate::table::{Action, Row, Status};

/// Characters that count of a port's name and of a family's.
const SHORT_NAME: usize = 10;

/// A row whose feature exists.
const fn ready<A>(
    letter: char,
    value: &'static str,
    help: &'static str,
    action: Action<A>,
) -> Row<A> {
    Row {
        letter,
        value,
        help,
        status: Status::Ready,
        action,
    }
}

/// A row whose feature is not in this version.
const fn later<A>(
    letter: char,
    value: &'static str,
    help: &'static str,
    feature: &'static str,
    action: Action<A>,
) -> Row<A> {
    Row {
        letter,
        value,
        help,
        status: Status::Later(feature),
        action,
    }
}

/// Records the halves that were given.
fn set<T>(first: &mut Option<T>, second: &mut Option<T>, halves: Halves<'_>, read: fn(&str) -> T) {
    if let Some(text) = halves.0 {
        *first = Some(read(text));
    }
    if let Some(text) = halves.1 {
        *second = Some(read(text));
    }
}

/// A sizespec of sizes for sending and receiving.
fn set_ways(ways: &mut Ways<i32>, text: &str) {
    set(&mut ways.send, &mut ways.recv, both_halves(text), size);
}

/// A sizespec for both ends.
fn set_both_ends<T>(ends: &mut Ends<T>, text: &str, read: fn(&str) -> T) {
    set(&mut ends.local, &mut ends.remote, both_halves(text), read);
}

/// An optionspec for both ends: alone, a value is netperf's.
fn set_ends<T>(ends: &mut Ends<T>, text: &str, read: fn(&str) -> T) {
    set(&mut ends.local, &mut ends.remote, first_half(text), read);
}

/// A sizespec of sizes for a pair that is no pair of ends or ways.
fn set_pair(pair: &mut (Option<i32>, Option<i32>), text: &str, read: fn(&str) -> i32) {
    set(&mut pair.0, &mut pair.1, both_halves(text), read);
}

/// A host, and a family behind a comma.
fn set_host(host: &mut HostArg, text: &str, notices: &mut Vec<Notice>) {
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
fn set_host_with_bits(host: &mut HostArg, text: &str, notices: &mut Vec<Notice>) {
    set_host(host, text, notices);
    let Some((name, bits)) = host.host.as_deref().and_then(|name| name.split_once('/')) else {
        return;
    };
    host.random_bits = u8::try_from(size(bits)).ok();
    host.host = Some(name.to_owned());
}

fn family_or_warn(word: &str, notices: &mut Vec<Notice>) -> Family {
    family(word).unwrap_or_else(|| {
        notices.push(Notice::stdout(&format!(
            "WARNING! {word} not recognized as an address family, using AF_UNPSEC\n\
             Are you sure netperf was configured for that address family?"
        )));
        Family::Unspecified
    })
}

/// `-4` and `-6` for both ends.
fn set_families(local: &mut HostArg, remote: &mut HostArg, family: Family) {
    local.family = Some(family);
    remote.family = Some(family);
}

/// A port, of whose name only a part counts.
fn port_name(text: &str) -> String {
    cut(text, SHORT_NAME).to_owned()
}

/// The row of `-h`.
const fn help_row<A>() -> Row<A> {
    ready(
        'h',
        "",
        "show this help and exit",
        Action::Halt(crate::table::Halt::Help),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The letters of a table the way `getopt` is told them.
    fn letters<A>(table: &[Row<A>]) -> Vec<String> {
        let letters = table.iter().map(|row| {
            let colon = match row.action {
                Action::Value(_) | Action::Checked(_) => ":",
                Action::Flag(_)
                | Action::NextIfNumber(_)
                | Action::NextUnlessDash(_)
                | Action::Halt(_) => "",
            };
            format!("{}{colon}", row.letter)
        });
        sorted(letters)
    }

    fn sorted(letters: impl Iterator<Item = String>) -> Vec<String> {
        let mut letters: Vec<String> = letters.collect();
        letters.sort();
        letters
    }

    fn known(letters: &str) -> Vec<String> {
        sorted(letters.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn the_tables_know_the_letters_of_the_original_and_no_others() {
        let global = "A: a: b: B: C c d D: f: F: H: h i: I: j k: K: l: L: n: N O: o: \
                      P: p: r S s: t: T: v: V W: w: y: Y: Z: 4 6";
        let omni = "a B b: c C d: D e: f F g G: h H: i: I j: k K: l: L: m: M: n N o \
                    O p: P: q: r: R: s: S: t: T: u: U V w: W: 4 6";
        let sockets = "a A b: C D N n h H: L: m: M: p: P: r: R: s: S: T: V w: W: z 4 6";
        let server = "D d f h L: n: N p: v: V Z: 4 6";
        assert_eq!(letters(global::TABLE), known(global));
        assert_eq!(letters(omni::TABLE), known(omni));
        assert_eq!(letters(sockets::TABLE), known(sockets));
        assert_eq!(letters(server::TABLE), known(server));
    }

    #[test]
    fn every_row_with_an_argument_names_it_and_every_row_has_help() {
        fn check<A>(table: &[Row<A>]) {
            for row in table {
                let takes = !matches!(row.action, Action::Flag(_) | Action::Halt(_));
                assert_eq!(takes, !row.value.is_empty(), "-{}", row.letter);
                assert!(!row.help.is_empty(), "-{}", row.letter);
            }
        }
        check(global::TABLE);
        check(omni::TABLE);
        check(sockets::TABLE);
        check(server::TABLE);
    }
}
