//! Accepted values of long options, and suggestions for wrong ones.

use proptest::prelude::*;

use super::*;

const PAIR_OF_SIZES: ValueKind = ValueKind::twice(&ValueKind::Size);

#[test]
fn good_values_reach_the_letters_grammar_in_its_spelling() {
    for (kind, text, word) in [
        (ValueKind::Size, "64K", "64K"),
        (ValueKind::Size, "0", "0"),
        (PAIR_OF_SIZES, "1K,2m", "1K,2m"),
        (PAIR_OF_SIZES, ",5", ",5"),
        (PAIR_OF_SIZES, "5,", "5,"),
        (ValueKind::SizeOrDefault, "-1", "-1"),
        (ValueKind::Host, "db1,AF_INET6", "db1,inet6"),
        (ValueKind::Host, ",4", ",4"),
        (ValueKind::Host, "fe80::1%eth0", "fe80::1%eth0"),
        (ValueKind::HostWithBits, "10.0.0.0/8,4", "10.0.0.0/8,4"),
        (ValueKind::Switch, "off", "0"),
        (ValueKind::Switch, "Yes", "1"),
        (ValueKind::Interval, "200ms", "0.2"),
        (ValueKind::Interval, "-0.2", "-0.2"),
        (ValueKind::Interval, "-500ms", "-0.5"),
        (ValueKind::WholeSeconds, "5s", "5"),
        (ValueKind::Test, "tcp_rr", "TCP_RR"),
        (ValueKind::Protocol, "UDP", "udp"),
        (ValueKind::Confidence, "95%,5%", "95,5"),
        (ValueKind::Confidence, "99,", "99,"),
        (ValueKind::Direction, "send|RECV", "send|RECV"),
        (ValueKind::Port, "0", "0"),
        (ValueKind::Port, "telnet", "telnet"),
        (ValueKind::Tick, "10ms", "10ms"),
        (ValueKind::Tos, "EF", "EF"),
    ] {
        assert_eq!(kind.read(text).as_deref(), Some(word), "{kind:?} {text}");
    }
}

#[test]
fn bad_values_are_refused_and_the_nearest_good_one_is_named() {
    for (kind, text, near) in [
        (ValueKind::Size, "10KB", Some("10K")),
        (ValueKind::Size, "1Kk", None),
        (ValueKind::Size, "abc", None),
        (ValueKind::Size, "", None),
        (ValueKind::Size, "-1", None),
        (ValueKind::Size, "5G", None),
        (PAIR_OF_SIZES, "64KB,32KB", Some("64K,32K")),
        (PAIR_OF_SIZES, ",", None),
        (PAIR_OF_SIZES, "1,2,3", Some("1,2")),
        (ValueKind::Host, "", None),
        (ValueKind::Host, "a b", None),
        (ValueKind::Host, "x,7", None),
        (ValueKind::Host, "x/24", None),
        (ValueKind::Port, "65536", None),
        (ValueKind::Port, "-1", None),
        (ValueKind::Unit, "Mb", Some("M")),
        (ValueKind::Test, "TCP_STREM", Some("TCP_STREAM")),
        (ValueKind::Test, "xyzzy", None),
        (ValueKind::Protocol, "tpc", Some("tcp")),
        (ValueKind::Confidence, "99", None),
        (ValueKind::Confidence, "90,5", None),
        (ValueKind::Direction, "sned", Some("send")),
        (ValueKind::Within(3, 30), "2", None),
        (ValueKind::Length, "5 sec", Some("5s")),
        (ValueKind::Length, "2min", Some("2m")),
        (ValueKind::Length, "ten", None),
        (ValueKind::Tos, "af14", Some("af11")),
        (ValueKind::Switch, "maybe", None),
        (ValueKind::WholeSeconds, "1.5", None),
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
    assert_eq!(length("1m"), Some(Limit::Time(Duration::from_secs(60))));
    assert_eq!(length("-1m"), Some(Limit::Units(1_000_000)));
    assert_eq!(length("-0"), None);
    assert_eq!(length("--1"), None);
}

fn any_kind() -> impl Strategy<Value = ValueKind> {
    prop::sample::select(vec![
        ValueKind::Text,
        ValueKind::Selection,
        ValueKind::File,
        ValueKind::Host,
        ValueKind::HostWithBits,
        ValueKind::Port,
        ValueKind::Test,
        ValueKind::Length,
        ValueKind::Interval,
        ValueKind::WholeSeconds,
        ValueKind::Tick,
        ValueKind::Number,
        ValueKind::Integer,
        ValueKind::Count,
        ValueKind::Within(3, 30),
        ValueKind::Size,
        ValueKind::SizeOrDefault,
        ValueKind::Unit,
        ValueKind::Switch,
        ValueKind::Tos,
        ValueKind::Direction,
        ValueKind::Protocol,
        ValueKind::Word(&["stream", "dgram"]),
        ValueKind::Confidence,
        PAIR_OF_SIZES,
        ValueKind::twice(&ValueKind::Tos),
        ValueKind::twice(&ValueKind::Port),
        ValueKind::twice(&ValueKind::Tick),
    ])
}

proptest! {
    #[test]
    fn suggested_values_are_accepted(kind in any_kind(), text in ".{0,12}|[-0-9KMGkmgsu,.%]{0,12}") {
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
