//! What long options accept, and what they suggest instead.

use proptest::prelude::*;

use super::*;

const PAIR_OF_SIZES: Kind = Kind::twice(&Kind::Size);

#[test]
fn good_values_reach_the_letters_grammar_in_its_spelling() {
    for (kind, text, word) in [
        (Kind::Size, "64K", "64K"),
        (Kind::Size, "0", "0"),
        (PAIR_OF_SIZES, "1K,2m", "1K,2m"),
        (PAIR_OF_SIZES, ",5", ",5"),
        (PAIR_OF_SIZES, "5,", "5,"),
        (Kind::SizeOrDefault, "-1", "-1"),
        (Kind::Host, "db1,AF_INET6", "db1,inet6"),
        (Kind::Host, ",4", ",4"),
        (Kind::Host, "fe80::1%eth0", "fe80::1%eth0"),
        (Kind::HostWithBits, "10.0.0.0/8,4", "10.0.0.0/8,4"),
        (Kind::Switch, "off", "0"),
        (Kind::Switch, "Yes", "1"),
        (Kind::Interval, "200ms", "0.2"),
        (Kind::Interval, "-0.2", "-0.2"),
        (Kind::Interval, "-500ms", "-0.5"),
        (Kind::WholeSeconds, "5s", "5"),
        (Kind::Test, "tcp_rr", "TCP_RR"),
        (Kind::Protocol, "UDP", "udp"),
        (Kind::Confidence, "95%,5%", "95,5"),
        (Kind::Confidence, "99,", "99,"),
        (Kind::Direction, "send|RECV", "send|RECV"),
        (Kind::Port, "0", "0"),
        (Kind::Port, "telnet", "telnet"),
        (Kind::Tick, "10ms", "10ms"),
        (Kind::Tos, "EF", "EF"),
    ] {
        assert_eq!(kind.read(text).as_deref(), Some(word), "{kind:?} {text}");
    }
}

#[test]
fn bad_values_are_refused_and_the_nearest_good_one_is_named() {
    for (kind, text, near) in [
        (Kind::Size, "10KB", Some("10K")),
        (Kind::Size, "1Kk", None),
        (Kind::Size, "abc", None),
        (Kind::Size, "", None),
        (Kind::Size, "-1", None),
        (Kind::Size, "5G", None),
        (PAIR_OF_SIZES, "64KB,32KB", Some("64K,32K")),
        (PAIR_OF_SIZES, ",", None),
        (PAIR_OF_SIZES, "1,2,3", Some("1,2")),
        (Kind::Host, "", None),
        (Kind::Host, "a b", None),
        (Kind::Host, "x,7", None),
        (Kind::Host, "x/24", None),
        (Kind::Port, "65536", None),
        (Kind::Port, "-1", None),
        (Kind::Unit, "Mb", Some("M")),
        (Kind::Test, "TCP_STREM", Some("TCP_STREAM")),
        (Kind::Test, "xyzzy", None),
        (Kind::Protocol, "tpc", Some("tcp")),
        (Kind::Confidence, "99", None),
        (Kind::Confidence, "90,5", None),
        (Kind::Direction, "sned", Some("send")),
        (Kind::Within(3, 30), "2", None),
        (Kind::Length, "5 sec", Some("5s")),
        (Kind::Length, "2min", Some("2m")),
        (Kind::Length, "ten", None),
        (Kind::Tos, "af14", Some("af11")),
        (Kind::Switch, "maybe", None),
        (Kind::WholeSeconds, "1.5", None),
    ] {
        assert_eq!(kind.read(text), None, "{kind:?} {text}");
        assert_eq!(kind.nearest(text).as_deref(), near, "{kind:?} {text}");
    }
}

#[test]
fn a_time_adds_up_its_parts() {
    for (text, micros) in [
        ("5", Some(5_000_000)),
        ("0.25", Some(250_000)),
        ("5s", Some(5_000_000)),
        ("500ms", Some(500_000)),
        ("250us", Some(250)),
        ("2m", Some(120_000_000)),
        ("1m30s", Some(90_000_000)),
        ("1.5h", Some(5_400_000_000)),
        ("0", Some(0)),
        ("", None),
        ("s", None),
        ("5x", None),
        ("5s5", None),
        ("1.2.3s", None),
        ("99999999h", None),
    ] {
        assert_eq!(
            duration(text),
            micros.map(Duration::from_micros),
            "{text:?}"
        );
    }
}

#[test]
fn a_length_is_a_time_or_minus_an_amount() {
    assert_eq!(length("1m"), Some(Length::Time(Duration::from_secs(60))));
    assert_eq!(length("-1m"), Some(Length::Amount(1_000_000)));
    assert_eq!(length("-0"), None);
    assert_eq!(length("--1"), None);
}

fn any_kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![
        Kind::Text,
        Kind::Selection,
        Kind::File,
        Kind::Host,
        Kind::HostWithBits,
        Kind::Port,
        Kind::Test,
        Kind::Length,
        Kind::Interval,
        Kind::WholeSeconds,
        Kind::Tick,
        Kind::Number,
        Kind::Integer,
        Kind::Count,
        Kind::Within(3, 30),
        Kind::Size,
        Kind::SizeOrDefault,
        Kind::Unit,
        Kind::Switch,
        Kind::Tos,
        Kind::Direction,
        Kind::Protocol,
        Kind::Word(&["stream", "dgram"]),
        Kind::Confidence,
        PAIR_OF_SIZES,
        Kind::twice(&Kind::Tos),
        Kind::twice(&Kind::Port),
        Kind::twice(&Kind::Tick),
    ])
}

proptest! {
    #[test]
    fn what_is_suggested_is_accepted(kind in any_kind(), text in ".{0,12}|[-0-9KMGkmgsu,.%]{0,12}") {
        if kind.read(&text).is_none() {
            if let Some(near) = kind.nearest(&text) {
                prop_assert!(kind.read(&near).is_some(), "{near}");
            }
        }
    }

    #[test]
    fn a_size_that_is_accepted_did_not_wrap(value in 0..i64::from(u32::MAX) * 4, letter in "[KMGkmg]?") {
        let text = format!("{value}{letter}");
        if let Some(accepted) = size(&text) {
            prop_assert_eq!(accepted, grammar::size(&text));
            prop_assert!(i64::from(accepted) >= value);
        }
    }
}
