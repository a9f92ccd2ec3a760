//! Values of letters that are not used as they were typed.
//!
//! Letters accept any text, because scripts rely on it. A line on standard error then names the
//! value and its effect.

use crate::foreign;
use crate::grammar::{c_number, dscp, int, is_cut, is_cut_size, size};
use crate::kind::{ValueKind, is_direction, length};
use crate::long::shown;

/// The line about a value; `None` for a value that is used as it was typed.
pub(crate) fn remark(letter: char, kind: ValueKind, text: &str) -> Option<String> {
    let effect = effect(kind, text)?;
    // Scripts take -b for a rate and give 10G (I24 in docs/consumers.md).
    if letter == 'b' && begins_with_number(text) && is_cut_size(text) {
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
pub(crate) fn expected(kind: ValueKind) -> String {
    if kind == ValueKind::Length {
        return "a number of seconds such as 10, or minus an amount such as -1M; times such as 500ms \
                or 1m30s are for --time"
            .to_owned();
    }
    kind.expected()
}

/// True for the length of a test without a number, with which netperf 2.7 never ends.
pub(crate) fn is_no_length(kind: ValueKind, text: &str) -> bool {
    kind == ValueKind::Length && length(text).is_none() && !begins_with_number(text)
}

/// The effect of a value that does not make sense.
#[expect(clippy::wildcard_enum_match_arm, reason = "most kinds take any text")]
fn effect(kind: ValueKind, text: &str) -> Option<String> {
    let unless = |good: bool, effect: &str| (!good).then(|| effect.to_owned());
    match kind {
        _ if text.is_empty() => None,
        ValueKind::Pair(first, second) => {
            let (one, other) = text.split_once(',').unwrap_or((text, ""));
            effect(*first, one).or_else(|| effect(*second, other))
        }
        ValueKind::Unit => {
            let letter = text.chars().next().map(String::from).unwrap_or_default();
            unless(kind.choices().contains(&letter.as_str()), "read as K")
        }
        ValueKind::Tos => unless(dscp(text).is_some() || int(text) == -1, "not set"),
        ValueKind::Direction => {
            // The letter takes the bits of netperf 2.7, too.
            let known = |part| is_direction(part) || c_number(part).is_some();
            unless(text.split('|').all(known), "read as none")
        }
        ValueKind::Protocol => unless(kind.read(text).is_some(), "read as the default of IP"),
        // The numbers of -i are raised to 3 and lowered to 30.
        ValueKind::Within(0, _) => unless(kind.read(text).is_some(), "not set"),
        ValueKind::Switch => match int(text) {
            0 => unless(begins_with_number(text), "read as 0"),
            number => unless(number == 1, "read as 1"),
        },
        ValueKind::Count | ValueKind::ByteRate => {
            let digits = text.trim_end_matches(|letter| "KMGkmg".contains(letter));
            let shortened = digits.len() < text.len() && digits.parse::<u32>().is_ok();
            let kept = begins_with_number(text) && !shortened && !is_cut(text);
            unless(kept, &read_as(text))
        }
        ValueKind::CpusOfEnds => {
            let mut ends = text.split([',', ':']).filter(|end| !end.is_empty());
            unless(ends.all(begins_with_number), "read as 0")
        }
        ValueKind::Within(_, most) if c_number(text).is_some_and(|number| number > most) => {
            Some(format!("read as {most}"))
        }
        ValueKind::Size | ValueKind::SizeOrDefault | ValueKind::Length if is_cut_size(text) => {
            Some(format!("read as {}", size(text)))
        }
        ValueKind::Integer | ValueKind::WholeSeconds if is_cut_size(text) => {
            Some(format!("read as {}", size(text)))
        }
        ValueKind::Within(..)
        | ValueKind::Size
        | ValueKind::SizeOrDefault
        | ValueKind::Integer
        | ValueKind::WholeSeconds
        | ValueKind::Interval
        | ValueKind::Span
        | ValueKind::Tick
        | ValueKind::Number => unless(begins_with_number(text), "read as 0"),
        _ => None,
    }
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
