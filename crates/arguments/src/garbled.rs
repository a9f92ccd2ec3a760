//! Values of letters that are not used as they were typed.
//!
//! Letters accept any text, because scripts rely on it. A line on standard error then names the
//! value and its effect.

use netperf_model::Limit;

use crate::foreign;
use crate::grammar::{c_number, int, is_cut, is_cut_size, seconds, size, tos};
use crate::kind::{self, ValueKind, has_thousands, is_direction, is_empty_list, length};
use crate::long::shown;

/// The line about a value; `None` for a value that is used as it was typed.
pub fn remark(letter: char, kind: ValueKind, text: &str) -> Option<String> {
    let effect = effect(kind, text)?;
    // Scripts take -b for a rate and give 10G (I24 in docs/consumers.md).
    if letter == 'b' && begins_with_number(text) && is_cut_size(text) {
        return None;
    }
    if kind == ValueKind::Length && is_time_in_units(text) {
        // The option has its own line about units.
        return None;
    }
    if letter == 'P' && kind == ValueKind::Switch && int(text) > 1 {
        return Some(foreign::streams(letter, int(text)));
    }
    Some(format!(
        "-{letter} {}: not {}; {effect}",
        shown(text),
        expected(kind)
    ))
}

/// Description of the values of a letter, which may read less than the name.
pub fn expected(kind: ValueKind) -> String {
    if kind == ValueKind::Length {
        return "a number of seconds such as 10, or minus an amount such as -1M; times such as 500ms \
                or 1m30s are for --time"
            .to_owned();
    }
    kind.expected()
}

/// True for a text that lacks what a letter is about: a host, a file, a name. netperf 2.7 takes it
/// for a default that was not asked for.
pub fn lacks_a_word(kind: ValueKind, text: &str) -> bool {
    if let ValueKind::Pair(first, second) = kind {
        return lacks_a_word(*first, text) && lacks_a_word(*second, text);
    }
    let host = text.split(',').next().unwrap_or_default();
    let no_host = kind == ValueKind::RemoteHost && host.trim().is_empty();
    no_host || (is_a_word(kind) && is_empty_list(text))
}

/// True for kinds whose values are words, not numbers.
const fn is_a_word(kind: ValueKind) -> bool {
    matches!(
        kind,
        ValueKind::Text
            | ValueKind::File
            | ValueKind::Interface
            | ValueKind::Host
            | ValueKind::RemoteHost
            | ValueKind::HostWithBits
            | ValueKind::Port
            | ValueKind::Test
            | ValueKind::Protocol
            | ValueKind::Direction
            | ValueKind::Word(_)
            | ValueKind::Networks
            | ValueKind::DataPeers
            | ValueKind::Features
            | ValueKind::Transports
    )
}

/// True for a time with units, such as `1m`.
fn is_time_in_units(text: &str) -> bool {
    !text.starts_with('-') && length(text).is_some() && text.ends_with(char::is_alphabetic)
}

/// True for the length of a test without a number, with which netperf 2.7 never ends.
pub fn is_no_length(kind: ValueKind, text: &str) -> bool {
    kind == ValueKind::Length && length(text).is_none() && !begins_with_number(text)
}

/// The effect of CPUs of which one is not read as it was meant.
fn cpus_effect(kind: ValueKind, text: &str) -> Option<String> {
    let mut ends = text.split([',', ':']).filter(|end| !end.is_empty());
    let kept = |end: &&str| begins_with_number(end) && is_whole_int(end);
    let garbled = ends.find(|end| !kept(end));
    garbled.filter(|_| kind.read(text).is_none()).map(read_as)
}

/// True for a count that is read as it was meant.
fn is_kept_count(text: &str) -> bool {
    let digits = text.trim_end_matches(|letter| "KMGkmg".contains(letter));
    let shortened = digits.len() < text.len() && digits.parse::<u32>().is_ok();
    let kept = begins_with_number(text) && !shortened && !is_cut(text);
    kept && is_whole(text, int(text).into(), kind::size(text))
}

/// The effect of a value that does not make sense.
#[expect(clippy::wildcard_enum_match_arm, reason = "most kinds take any text")]
fn effect(kind: ValueKind, text: &str) -> Option<String> {
    let unless = |good: bool, effect: &str| (!good).then(|| effect.to_owned());
    match kind {
        _ if text.is_empty() => empty_effect(kind),
        ValueKind::Pair(first, _) if first.is_amount() && has_thousands(text) => {
            let parts: Vec<&str> = text.split(',').collect();
            Some(format!("read as {}", parts.join(" and ")))
        }
        ValueKind::Pair(first, second) if text.contains(',') => {
            let half = |kind: &ValueKind, text: &str| {
                (!text.is_empty()).then(|| effect(*kind, text)).flatten()
            };
            let (one, other) = text.split_once(',').unwrap_or((text, ""));
            half(first, one).or_else(|| half(second, other))
        }
        ValueKind::Pair(first, _) => effect(*first, text),
        ValueKind::Unit => {
            let letter = text.chars().next().map(String::from).unwrap_or_default();
            unless(kind.choices().contains(&letter.as_str()), "read as K")
        }
        ValueKind::Tos => unless(tos(text).is_some() || int(text) == -1, "not set"),
        ValueKind::Direction => {
            // The letter takes the bits of netperf 2.7, too.
            let known = |part| is_direction(part) || c_number(part).is_some();
            unless(text.split('|').all(known), "read as none")
        }
        ValueKind::Protocol => unless(kind.read(text).is_some(), "read as the default of IP"),
        // The numbers of -i are raised to 3 and lowered to 30.
        ValueKind::Within(0, _) => unless(kind.read(text).is_some(), "not set"),
        ValueKind::Switch => match int(text) {
            number @ (0 | 1) => {
                let kept = begins_with_number(text) && is_whole_int(text);
                unless(kept, &format!("read as {number}"))
            }
            _ => Some("read as 1".to_owned()),
        },
        ValueKind::Count | ValueKind::PacingBytes => unless(is_kept_count(text), &read_as(text)),
        ValueKind::CpusOfEnds => cpus_effect(kind, text),
        ValueKind::Confidence => confidence_effect(text),
        ValueKind::Within(_, most) if c_number(text).is_some_and(|number| number > most) => {
            Some(format!("read as {most}"))
        }
        ValueKind::Size
        | ValueKind::SizeOrDefault
        | ValueKind::Length
        | ValueKind::Integer
        | ValueKind::WholeSeconds
            if is_cut_size(text) =>
        {
            Some(format!("read as {}", size(text)))
        }
        ValueKind::Size | ValueKind::SizeOrDefault | ValueKind::Length
            if !is_whole(text, size(text).into(), meant_size(kind, text)) =>
        {
            Some(format!("read as {}", size(text)))
        }
        ValueKind::Integer | ValueKind::WholeSeconds | ValueKind::Within(..)
            if !is_whole(text, int(text).into(), kind::size(text)) =>
        {
            Some(read_as(text))
        }
        ValueKind::Interval | ValueKind::Span | ValueKind::Lasting | ValueKind::Number
            if !is_whole_time(text) =>
        {
            Some(format!("read as {}", seconds(text)))
        }
        ValueKind::Tick if kind.read(text).is_none() && begins_with_number(text) => {
            Some(format!("read as {:?}", crate::grammar::time(text)))
        }
        ValueKind::Within(..)
        | ValueKind::Size
        | ValueKind::SizeOrDefault
        | ValueKind::Integer
        | ValueKind::WholeSeconds
        | ValueKind::Interval
        | ValueKind::Span
        | ValueKind::Lasting
        | ValueKind::Tick
        | ValueKind::Number => unless(begins_with_number(text), "read as 0"),
        _ => None,
    }
}

/// The effect of a level and a width of which a part is not read.
fn confidence_effect(text: &str) -> Option<String> {
    let without_sign = |part: &str| part.strip_suffix('%').unwrap_or(part).to_owned();
    let (level, width) = text.split_once(',').unwrap_or((text, ""));
    let (level, width) = (without_sign(level), without_sign(width));
    let is_cut = begins_with_number(&level) && !is_whole_int(&level)
        || begins_with_number(&width) && !is_whole_time(&width);
    is_cut.then(|| match (level.is_empty(), width.is_empty()) {
        (_, true) => read_as(&level),
        (true, false) => format!("read as {}", seconds(&width)),
        (false, false) => format!("{} and {}", read_as(&level), seconds(&width)),
    })
}

/// The effect of an empty value of a kind that has numbers.
fn empty_effect(kind: ValueKind) -> Option<String> {
    let numbers = if let ValueKind::Pair(first, _) = kind {
        *first
    } else {
        kind
    };
    let is_number = matches!(
        numbers,
        ValueKind::Size
            | ValueKind::SizeOrDefault
            | ValueKind::Integer
            | ValueKind::WholeSeconds
            | ValueKind::Interval
            | ValueKind::Span
            | ValueKind::Lasting
            | ValueKind::Tick
            | ValueKind::Number
            | ValueKind::Count
            | ValueKind::PacingBytes
            | ValueKind::Switch
            | ValueKind::Within(..)
    );
    let text = if matches!(kind, ValueKind::Pair(..)) {
        "not set"
    } else {
        "read as 0"
    };
    is_number.then(|| text.to_owned())
}

/// The number that a person means by a size, or by seconds, which may have units.
fn meant_size(kind: ValueKind, text: &str) -> Option<i32> {
    match (kind, text.strip_prefix('-')) {
        // Less than 1 is read as by the long name.
        (ValueKind::Length, None) if size(text) == 0 && length(text).is_some() => Some(0),
        (ValueKind::Length, None) => match length(text)? {
            Limit::Time(time) if time.subsec_nanos() == 0 => i32::try_from(time.as_secs()).ok(),
            Limit::UntilStopped => Some(0),
            Limit::Time(_) | Limit::Units(_) | Limit::Messages(_) => None,
        },
        (_, Some(amount)) => kind::size(amount).map(|amount| -amount),
        (_, None) => kind::size(text),
    }
}

/// Returns true if a letter reads all of a number: its value is the one that is meant, or what
/// follows it changes nothing, as in `10bytes`.
fn is_whole(text: &str, read: i64, meant: Option<i32>) -> bool {
    /// Units that a person may write behind such a number.
    const HARMLESS: [&str; 8] = ["", "b", "B", "bytes", "s", "sec", "secs", "seconds"];
    // Scripts give two values to options that take one; the second was never read.
    let second = !has_thousands(text) && text.contains(',');
    if !begins_with_number(text) || second {
        return true;
    }
    match meant {
        Some(meant) => i64::from(meant) == read,
        None => {
            let text = text.trim();
            let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
            let unit = digits.trim_start_matches(|letter: char| letter.is_ascii_digit());
            // A fraction of seconds is cut, as in `90.0`.
            let unit = unit
                .strip_prefix('.')
                .map_or(unit, |rest| rest.trim_start_matches('0'));
            HARMLESS.contains(&unit)
        }
    }
}

/// The same of a plain integer.
fn is_whole_int(text: &str) -> bool {
    is_whole(text, int(text).into(), kind::size(text))
}

/// Returns true if a letter reads all of a time in seconds.
fn is_whole_time(text: &str) -> bool {
    if !begins_with_number(text) {
        return true;
    }
    let time = text.trim_start().strip_prefix(['+', '-']).unwrap_or(text);
    let meant = kind::duration(time).map(|time| time.as_secs_f64());
    let read = seconds(text).abs();
    meant.map_or_else(
        || time.parse::<f64>().is_ok(),
        |meant| (meant - read).abs() < 1e-9,
    )
}

fn read_as(text: &str) -> String {
    format!("read as {}", int(text))
}

/// True if a text begins with digits, perhaps behind blanks, a sign or a point.
fn begins_with_number(text: &str) -> bool {
    let text = text.trim_start();
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let text = text.strip_prefix('.').unwrap_or(text);
    text.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: ValueKind = ValueKind::twice(&ValueKind::Size);

    #[test]
    fn a_value_that_is_not_used_as_typed_is_named_with_its_effect() {
        for (kind, text, effect) in [
            (SIZES, "abc", "read as 0"),
            (SIZES, "1k,x", "read as 0"),
            (SIZES, "3G", "read as -1073741824"),
            (SIZES, "1k,5G", "read as 1073741824"),
            (
                ValueKind::SizeOrDefault,
                "2147483648",
                "read as -2147483648",
            ),
            (ValueKind::Count, "4294967297", "read as 1"),
            (ValueKind::Length, "4294967297", "read as 1"),
            (ValueKind::Unit, "z", "read as K"),
            (ValueKind::twice(&ValueKind::Tos), "foo", "not set"),
            (ValueKind::Direction, "xyz", "read as none"),
            (ValueKind::Protocol, "quic", "read as the default of IP"),
            (ValueKind::CpusOfEnds, "quic", "read as 0"),
            (ValueKind::Switch, "8", "read as 1"),
            (ValueKind::Switch, "x", "read as 0"),
            (ValueKind::Count, "50M", "read as 50"),
            (ValueKind::Within(0, 255), "300", "not set"),
            (ValueKind::Within(3, 30), "abc", "read as 0"),
            (ValueKind::Within(3, 30), "99", "read as 30"),
        ] {
            let line = remark('x', kind, text).unwrap_or_default();
            assert!(
                line.starts_with(&format!("-x {text}: not ")),
                "{text}: {line}"
            );
            assert!(line.ends_with(&format!("; {effect}")), "{text}: {line}");
        }
    }

    #[test]
    fn values_that_scripts_use_pass_without_a_word() {
        for (kind, text) in [
            (SIZES, ",64K"),
            (SIZES, "16k,"),
            (SIZES, "-1"),
            (SIZES, "10bytes"),
            (ValueKind::Length, "90.0"),
            (ValueKind::Length, "1m0s"),
            (ValueKind::Length, "0"),
            (ValueKind::Length, "-1M"),
            (ValueKind::Count, "1000b"),
            (ValueKind::Unit, "Mega"),
            (ValueKind::twice(&ValueKind::Tos), "CS5,0x20"),
            (ValueKind::twice(&ValueKind::Tos), "-1,ef"),
            (ValueKind::Direction, "send|recv"),
            (ValueKind::Direction, "0"),
            (ValueKind::Direction, "0x6|send"),
            (ValueKind::Protocol, "TCP"),
            (ValueKind::Interval, "-0.20"),
            (ValueKind::Switch, "0"),
            (ValueKind::CpusOfEnds, "0,"),
            (ValueKind::CpusOfEnds, "0-3:4-7"),
            (ValueKind::twice(&ValueKind::Within(3, 30)), "2,1"),
            (ValueKind::Text, "abc"),
        ] {
            assert_eq!(remark('x', kind, text), None, "{text}");
            assert!(!is_no_length(kind, text), "{text}");
        }
        for text in ["", "abc", "-abc", "-"] {
            assert!(is_no_length(ValueKind::Length, text), "{text}");
        }
    }
}
