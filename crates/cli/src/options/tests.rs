//! The tables as a whole: letters, names, and that both mean the same.

use std::collections::BTreeSet;
use std::fmt::Debug;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use netperf_arguments::command::Notice;
use netperf_arguments::kind::{ValueKind, has_thousands};
use netperf_arguments::table::Action;

use super::*;

/// Letters of a table in the notation of `getopt`.
fn letters<A>(table: &[OptionSpec<A>]) -> Vec<String> {
    let lettered = table.iter().filter_map(|row| Some((row, row.letter?)));
    let letters = lettered.map(|(row, letter)| {
        let colon = match row.action {
            Action::Value(_)
            | Action::Setting(..)
            | Action::LetterAndName(..)
            | Action::Noted(_)
            | Action::Checked(_) => ":",
            Action::Flag(_)
            | Action::NextIfNumber(_)
            | Action::NextUnlessDash(_)
            | Action::Help
            | Action::Version => "",
        };
        format!("{letter}{colon}")
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
    assert_eq!(letters(global::table()), known(global));
    assert_eq!(letters(omni::TABLE), known(omni));
    assert_eq!(letters(sockets::TABLE), known(sockets));
    assert_eq!(letters(server::TABLE), known(server));
    assert_eq!(letters(unix::TABLE), known("h m: M: p: r: s: S:"));
    let sctp = "B D h H: I: L: m: M: P: r: s: S: V N: T: 4 6";
    assert_eq!(letters(sctp::TABLE), known(sctp));
    let sdp = "b: D h H: I: L: m: M: P: r: s: S: V 4 6";
    assert_eq!(letters(sdp::TABLE), known(sdp));
    // The addresses and the burst of the other suites, which the manual gives XTI, too.
    let xti = "b: D h H: L: m: M: p: P: r: s: S: V w: W: X: 4 6";
    assert_eq!(letters(xti::TABLE), known(xti));
    assert_eq!(letters(link::DLPI), known("D: h M: m: p: r: s: W: w:"));
    // netperf 2.7 has these two no more: the manual of 2.4 and the dlpi suite.
    assert_eq!(
        letters(link::FORE),
        known("a: b: d: h m: M: p: P: r: s: S:")
    );
    assert_eq!(letters(link::HIPPI), known("D: h M: m: p: r: s:"));
}

#[test]
fn every_test_with_options_has_them_in_one_table() {
    use netperf_model::catalog::tests::TESTS;

    for row in TESTS {
        let tables = SUITES.iter().filter(|suite| suite.suite == row.suite);
        let expected = usize::from(row.suite != Suite::Control);
        assert_eq!(tables.count(), expected, "{}", row.name);
    }
}

#[test]
fn every_row_with_an_argument_names_it_and_every_row_has_help() {
    fn check<A>(table: &[OptionSpec<A>]) {
        for row in table {
            let takes = !matches!(row.action, Action::Flag(_) | Action::Help | Action::Version);
            assert_eq!(takes, !row.value.is_empty(), "--{}", row.long);
            assert!(!row.help.is_empty(), "--{}", row.long);
        }
    }
    check(global::table());
    check(server::TABLE);
    SUITES.iter().for_each(|suite| check(suite.table));
}

/// Every name, table by table, those of netperf in front of `--` first.
fn names() -> Vec<Vec<&'static str>> {
    fn of<A>(table: &'static [OptionSpec<A>]) -> Vec<&'static str> {
        table.iter().map(|row| row.long).collect()
    }
    let suites = SUITES.iter().map(|suite| of(suite.table));
    [of(global::table()), of(server::TABLE)]
        .into_iter()
        .chain(suites)
        .collect()
}

#[test]
fn every_option_has_a_name_that_only_it_has_in_its_table() {
    for table in names() {
        let unique: BTreeSet<_> = table.iter().copied().collect();
        assert_eq!(unique.len(), table.len());
        for name in table {
            let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(name.len() > 1 && name.chars().all(good), "{name:?}");
        }
    }
}

#[test]
fn a_name_of_a_test_option_is_never_that_of_a_global_one() {
    for row in SUITES.iter().flat_map(|suite| suite.table) {
        assert!(
            row.long == "help"
                || netperf_arguments::table::by_name(global::table(), row.long).is_none(),
            "{}",
            row.long
        );
    }
}

#[test]
fn a_name_in_several_suites_has_its_letter_and_its_value_in_the_same_place() {
    let all = || SUITES.iter().flat_map(|suite| suite.table);
    for row in all() {
        for other in all().filter(|other| other.long == row.long) {
            // If the letter has another meaning, only the name is offered.
            let letters = row.letter.zip(other.letter);
            assert!(
                letters.is_none_or(|(one, two)| one == two),
                "--{}",
                row.long
            );
            assert_eq!(
                row.action.argument(),
                other.action.argument(),
                "--{}",
                row.long
            );
        }
    }
}

#[test]
fn a_value_has_a_kind_and_a_flag_has_none() {
    fn check<A>(table: &[OptionSpec<A>]) {
        for row in table {
            let flag = row.value.is_empty();
            assert!(
                flag == (row.kind == ValueKind::Nothing) || row.long == "help",
                "--{}",
                row.long
            );
        }
    }
    check(global::table());
    check(server::TABLE);
    SUITES.iter().for_each(|suite| check(suite.table));
}

/// Values that mean the same by letter and by name.
fn values(kind: ValueKind) -> BoxedStrategy<String> {
    let pattern =
        |pattern: &str| proptest::string::string_regex(pattern).expect("a regular expression");
    match kind {
        ValueKind::Nothing => Just(String::new()).boxed(),
        ValueKind::FreeText | ValueKind::Text | ValueKind::File | ValueKind::Interface => {
            pattern("[a-z0-9]{1,12}").boxed()
        }
        ValueKind::Selection => pattern("([A-Z_]{1,9},[A-Z_;]{0,9}|all|\\?)").boxed(),
        ValueKind::RemoteHost => pattern("[a-z0-9.:]{1,9}(,(4|6|inet6?|unspec))?").boxed(),
        ValueKind::Host => pattern("([a-z0-9.:]{1,9}|[a-z0-9.:]{0,9},(4|6|inet6?|unspec))").boxed(),
        ValueKind::HostWithBits => pattern("[a-z0-9.:]{1,9}(/[0-9]{1,2})?(,(4|6))?").boxed(),
        ValueKind::Port => pattern("([1-5]?[0-9]{1,4}|[a-z]{1,9})").boxed(),
        ValueKind::Length => pattern("([0-9]{1,6}s?|-[1-9][0-9]{0,2}[KMkm]?)").boxed(),
        ValueKind::Interval => pattern("-?([0-9]{1,3}(\\.[0-9]{1,3})?)").boxed(),
        ValueKind::Period => pattern("(0|0\\.[1-9]|[1-9][0-9]{0,2})").boxed(),
        ValueKind::Span => pattern("[0-9]{1,3}(\\.[0-9]{1,3})?").boxed(),
        ValueKind::Lasting => pattern("[1-9][0-9]{0,2}(\\.[0-9]{1,3})?").boxed(),
        ValueKind::Rate => pattern("[1-9][0-9]{0,3}(\\.[0-9]{1,3})?[kMG]?(pps)?").boxed(),
        ValueKind::Seed => pattern("[0-9]{1,19}").boxed(),
        ValueKind::Cpus => pattern("[0-9]{1,3}(-9[0-9]{3})?(,[0-9]{1,3}){0,2}").boxed(),
        ValueKind::CpusOfEnds => pattern(
            "([0-9]{1,5}(,[0-9]{1,5})?|[0-9]{1,5},|,[0-9]{1,5}|[0-9]{1,2}-9[0-9]{3}|\
             [0-9]{0,3}:[0-9]{1,3}(,[0-9]{1,3}){0,2})",
        )
        .prop_filter("no thousands", |text| !has_thousands(text))
        .boxed(),
        ValueKind::Precision => pattern("[1-9](\\.[0-9])?%?(,p[1-9][0-9]?){0,3}").boxed(),
        ValueKind::Percent => pattern("[0-9]{1,2}(\\.[0-9])?%?").boxed(),
        ValueKind::Chance => pattern("[1-4][0-9]?(\\.[0-9])?%?").boxed(),
        ValueKind::WholeSeconds => pattern("[0-9]{1,5}s?").boxed(),
        ValueKind::Tick => pattern("[0-9]{1,5}(m|ms|u|us|s)?").boxed(),
        ValueKind::Number => pattern("[0-9]{1,5}(\\.[0-9]{1,3})?").boxed(),
        ValueKind::Integer => pattern("-?[0-9]{1,5}").boxed(),
        ValueKind::Count | ValueKind::PacingBytes => pattern("(0|[1-9][0-9]{0,4})").boxed(),
        ValueKind::Within(from, to) => (from..=to).prop_map(|value| value.to_string()).boxed(),
        ValueKind::Size => pattern("(0|[1-9][0-9]{0,2})[KMkm]?").boxed(),
        ValueKind::SizeOrDefault => pattern("((0|[1-9][0-9]{0,2})[KMkm]?|-1)").boxed(),
        ValueKind::Switch => pattern("[01]").boxed(),
        ValueKind::Confidence => pattern("(95|99)?%?,[0-9]{1,2}")
            .prop_filter("a level", |text| ValueKind::Confidence.read(text).is_some())
            .boxed(),
        ValueKind::Test
        | ValueKind::Topic
        | ValueKind::Unit
        | ValueKind::Tos
        | ValueKind::CodePoint
        | ValueKind::Direction
        | ValueKind::Protocol
        | ValueKind::Placement
        | ValueKind::Word(_) => prop::sample::select(kind.choices())
            .prop_map(str::to_owned)
            .boxed(),
        ValueKind::Budget => pattern("[1-9][0-9]{0,2}[KMG]?").boxed(),
        ValueKind::Startups => pattern("[1-9]:[1-9][0-9]:[1-9][0-9]{2}").boxed(),
        ValueKind::Ports => pattern("[1-9][0-9]{0,3}-[1-5][0-9]{4}").boxed(),
        ValueKind::Features => pattern("none|all|(mark|priority)(,io-uring)?").boxed(),
        ValueKind::Transports => pattern("(ip|local|link|tcp|packet)(,udp|,llc1)?").boxed(),
        ValueKind::Networks => pattern("10\\.0\\.0\\.0/8(,192\\.168\\.[0-9]\\.0/24)?").boxed(),
        ValueKind::DataPeers => pattern("(same|any|10\\.0\\.0\\.0/8)").boxed(),
        ValueKind::PacingRate => pattern("[0-9]{1,5}").boxed(),
        ValueKind::BitRate => pattern("[1-9][0-9]{0,3}[KMGkmg]?").boxed(),
        ValueKind::Pair(first, second) => {
            let halves = (values(*first), values(*second), 0..4);
            let join = |(first, second, form): (String, String, i32)| match form {
                0 => first,
                1 => format!("{first},"),
                2 => format!(",{second}"),
                _ => format!("{first},{second}"),
            };
            halves.prop_map(join).boxed()
        }
    }
}

/// Parsed arguments, the reason for an early end, and notices.
type Came<A> = (A, Option<netperf_arguments::table::Halt>, Vec<Notice>);

fn check_all<A: Default + Debug + PartialEq>(table: &'static [OptionSpec<A>]) {
    let mut checked = 0;
    for row in table {
        let Some(letter) = row.letter else {
            continue;
        };
        if matches!(row.action, Action::Help | Action::Version) || row.letter_kind.is_some() {
            continue;
        }
        checked += 1;
        let mut runner = TestRunner::new(Config::with_cases(64));
        let same = runner.run(&values(row.kind), |value| {
            let value = (!row.value.is_empty()).then_some(value);
            prop_assert_eq!(
                by_letter(table, letter, value.as_deref()),
                by_name(row, value.as_deref())
            );
            Ok(())
        });
        assert!(same.is_ok(), "--{}: {same:?}", row.long);
    }
    assert!(checked > 5);
}

fn by_letter<A: Default>(
    table: &'static [OptionSpec<A>],
    letter: char,
    value: Option<&str>,
) -> Came<A> {
    let words: Vec<String> = std::iter::once(format!("-{letter}"))
        .chain(value.map(str::to_owned))
        .collect();
    read(table, &words)
}

fn by_name<A: Default>(row: &'static OptionSpec<A>, value: Option<&str>) -> Came<A> {
    let word = match value {
        Some(value) => format!("--{}={value}", row.long),
        None => format!("--{}", row.long),
    };
    read(std::slice::from_ref(row), &[word])
}

fn read<A: Default>(table: &'static [OptionSpec<A>], words: &[String]) -> Came<A> {
    let mut reader = netperf_arguments::table::OptionReader {
        table,
        program: "netperf",
        on_complaint: netperf_arguments::table::OnComplaint::Stop,
        strict: false,
        elsewhere: crate::subcommand::PlainWords::default(),
        garbled: Vec::new(),
    };
    let (mut args, mut notices) = (A::default(), Vec::new());
    match reader.read(words, &mut args, &mut notices).unwrap() {
        netperf_arguments::table::TableEnd::Done(_) => (args, None, notices),
        netperf_arguments::table::TableEnd::Halted(halt) => (args, Some(halt), notices),
        netperf_arguments::table::TableEnd::Complaint(line) => panic!("{words:?}: {line}"),
    }
}

#[test]
fn every_name_means_what_its_letter_means() {
    check_all(global::table());
    check_all(server::TABLE);
    SUITES.iter().for_each(|suite| check_all(suite.table));
}
