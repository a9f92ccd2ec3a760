//! Meaning of an argument's text. Every grammar accepts any text: invalid text is 0 or unset,
//! never an error, because scripts rely on it.

use std::time::Duration;

use netperf_model::Family;
use netperf_model::dscp::{self, CODE_POINTS, SERVICES, value};
use netperf_model::units::{SIZE_LETTERS, without_exponent};

pub use crate::args::TestDirection;
use crate::args::{RateArg, RateCounts};

/// A decimal integer as `atoi(3)` reads it: blanks, a sign, digits; the rest is
/// ignored and no digits are 0. Text too long for 64 bits saturates.
fn atoi_wide(text: &str) -> i64 {
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = digits
        .chars()
        .map_while(|c| c.to_digit(10))
        .fold(0_i64, |value, digit| {
            value.saturating_mul(10).saturating_add(i64::from(digit))
        });
    if negative { -value } else { value }
}

/// Keeps 32 bits, as the original's `int` does.
#[expect(
    clippy::cast_possible_truncation,
    reason = "values are taken modulo 2^32 and then as signed; scripts see 5G become 1G"
)]
const fn wrap(value: i64) -> i32 {
    value as i32
}

/// A plain integer; letters have no effect.
pub fn int(text: &str) -> i32 {
    wrap(atoi_wide(text))
}

/// Returns true if [`int`] keeps only a part of a number.
pub fn is_cut(text: &str) -> bool {
    atoi_wide(text) != i64::from(int(text))
}

/// The factors of the letters in a size.
fn factors(text: &str) -> impl Iterator<Item = i32> + use<'_> {
    let letters = SIZE_LETTERS.iter();
    let found = letters.filter(|(letter, _)| text.contains(letter));
    found.filter_map(|(_, factor)| i32::try_from(*factor).ok())
}

/// A size: an integer times each of the letters `K M G k m g` found anywhere.
pub fn size(text: &str) -> i32 {
    factors(text).fold(int(text), i32::wrapping_mul)
}

/// Returns true if [`size`] keeps only a part of a size.
pub fn is_cut_size(text: &str) -> bool {
    let whole = factors(text).fold(i128::from(atoi_wide(text)), |value, factor| {
        value.saturating_mul(i128::from(factor))
    });
    whole != i128::from(size(text))
}

/// A rate: a number, perhaps with a fraction, a letter for a power of ten, and a unit: `pps` for
/// packets, `bit` or `bps` for bits; `None` for anything else, and for one that is not above 0.
pub fn rate(text: &str) -> Option<RateArg> {
    let (number, counts) = match (text.strip_suffix("pps"), without_bits(text)) {
        (Some(number), _) => (number, RateCounts::Packets),
        (None, Some(number)) => (number, RateCounts::Bits),
        (None, None) => (text, RateCounts::Default),
    };
    let (digits, power) = power_of_ten(number);
    let digits = without_exponent(digits)?;
    let plain = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value: f64 = digits.parse().ok().filter(|_| plain && digits.len() < 20)?;
    let per_second = value * f64::from(10_u32.pow(power));
    (per_second > 0.0).then_some(RateArg { per_second, counts })
}

/// A rate in bits per second, as of `--rate` of data.
#[must_use]
pub fn bits_per_second(text: &str) -> Option<f64> {
    let rate = rate(text)?;
    (rate.counts != RateCounts::Packets).then_some(rate.per_second)
}

/// The number of a rate whose unit is written out: `50M` of `50Mbit`, `50Mbps`, `50Mbit/s` and
/// `50Mb`.
pub fn without_bits(text: &str) -> Option<&str> {
    const UNITS: [&str; 5] = ["bits/s", "bit/s", "bits", "bit", "bps"];
    let has = |unit: &&str| {
        let at = text.len().checked_sub(unit.len());
        let end = at.and_then(|at| text.get(at..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(unit))
    };
    let Some(unit) = UNITS.iter().find(|unit| has(unit)) else {
        return with_short_bits(text);
    };
    text.get(..text.len() - unit.len())
}

/// The number of a rate such as `50Mb` or `50Mb/s`. A capital `B` would be bytes.
fn with_short_bits(text: &str) -> Option<&str> {
    let number = text
        .strip_suffix("b/s")
        .or_else(|| text.strip_suffix('b'))?;
    let (_, power) = power_of_ten(number);
    (power > 0).then_some(number)
}

/// A number without the letter for a power of ten behind it, and the exponent.
pub fn power_of_ten(text: &str) -> (&str, u32) {
    const POWERS: [(&[char], u32); 3] = [(&['k', 'K'], 3), (&['m', 'M'], 6), (&['g', 'G'], 9)];
    let with = |(letters, power): &(&[char], u32)| Some((text.strip_suffix(*letters)?, *power));
    POWERS.iter().find_map(with).unwrap_or((text, 0))
}

/// A number with a fraction as `atof(3)` reads it, without its words and hexadecimal forms.
pub fn seconds(text: &str) -> f64 {
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let bytes = text.as_bytes();
    let digits_from = |from: usize| {
        let run = bytes.iter().skip(from);
        run.take_while(|byte| byte.is_ascii_digit()).count()
    };
    let byte_at = |at: usize| bytes.get(at).copied();
    let sign = usize::from(matches!(byte_at(0), Some(b'-' | b'+')));
    let whole = digits_from(sign);
    let mut end = sign + whole;
    let mut fraction = 0;
    if byte_at(end) == Some(b'.') {
        fraction = digits_from(end + 1);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return 0.0;
    }
    if matches!(byte_at(end), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(byte_at(end + 1), Some(b'-' | b'+')));
        let exponent = digits_from(end + 1 + signed);
        if exponent > 0 {
            end += 1 + signed + exponent;
        }
    }
    let value = text.get(..end).and_then(|number| number.parse().ok());
    value.filter(|value: &f64| value.is_finite()).unwrap_or(0.0)
}

/// A pacing interval, in milliseconds unless the text contains a `u` or an `s` and no `m`.
pub fn time(text: &str) -> Duration {
    let count = u64::try_from(int(text)).unwrap_or(0);
    if text.contains('m') {
        Duration::from_millis(count)
    } else if text.contains('u') {
        Duration::from_micros(count)
    } else if text.contains('s') {
        Duration::from_secs(count)
    } else {
        Duration::from_millis(count)
    }
}

/// The two halves of `A,B`; `None` leaves the earlier value alone.
pub type Halves<'a> = (Option<&'a str>, Option<&'a str>);

/// A *sizespec*: without a comma the one value is for both.
pub fn both_halves(text: &str) -> Halves<'_> {
    if text.contains(',') {
        first_half(text)
    } else {
        let value = non_empty(text);
        (value, value)
    }
}

/// An *optionspec*: without a comma the one value is only the first.
pub fn first_half(text: &str) -> Halves<'_> {
    match text.split_once(',') {
        Some((first, second)) => (non_empty(first), non_empty(second)),
        None => (non_empty(text), None),
    }
}

fn non_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// The first `count` characters of `text`.
pub fn cut(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// An address family; `None` when the word names none.
pub fn family(text: &str) -> Option<Family> {
    if text.contains('6') {
        Some(Family::V6)
    } else if text.contains("inet") || text.contains('4') {
        Some(Family::V4)
    } else if text.contains("unspec") || text.contains('0') {
        Some(Family::Unspecified)
    } else {
        None
    }
}

/// A type-of-service byte by name or number; anything else is unset.
pub fn tos(text: &str) -> Option<u8> {
    let class = value(&CODE_POINTS, text).map(|point| point << 2);
    let named = class.or_else(|| value(&SERVICES, text));
    named.or_else(|| c_number(text).and_then(|value| u8::try_from(value).ok()))
}

/// A code point by name or number, 0 to 63.
pub fn code_point(text: &str) -> Option<u8> {
    let number = || {
        let value = from_digits(text, 10)?;
        u8::try_from(value).ok().filter(|value| *value < 64)
    };
    dscp::code_point(text).or_else(number)
}

/// A whole word in C notation: `0x10`, `020`, `16`.
pub fn c_number(text: &str) -> Option<u32> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        from_digits(digits, 16)
    } else if text.len() > 1 && text.starts_with('0') {
        from_digits(text, 8)
    } else {
        from_digits(text, 10)
    }
}

/// Digits only: `from_str_radix` alone would let a sign through.
fn from_digits(digits: &str, radix: u32) -> Option<u32> {
    if digits.starts_with('+') {
        return None;
    }
    u32::from_str_radix(digits, radix).ok()
}

/// The words of `-d`, or'ed together. Unknown words add nothing.
pub fn direction(text: &str) -> TestDirection {
    let mut total = TestDirection::default();
    for part in text.split('|') {
        let (sends, receives, connects) = match part.to_ascii_lowercase().as_str() {
            "xmit" | "send" | "stream" | "transmit" => (true, false, false),
            "recv" | "receive" | "maerts" => (false, true, false),
            "rr" => (true, true, false),
            // Not words of the original, but scripts write them, beside `-c`.
            "crr" => (true, true, true),
            "cc" => (false, false, true),
            number => {
                let bits = c_number(number).unwrap_or(0);
                (bits & 2 != 0, bits & 4 != 0, false)
            }
        };
        total.sends |= sends;
        total.receives |= receives;
        total.connects |= connects;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_size_multiplies_by_each_letter_once() {
        for (text, value) in [
            ("1", 1),
            ("4K", 4096),
            ("4k", 4000),
            ("1M", 1 << 20),
            ("1m", 1_000_000),
            ("1G", 1 << 30),
            ("1g", 1_000_000_000),
            ("1Kk", 1_024_000),
            ("1KK", 1024),
            ("-1M", -(1 << 20)),
            ("5G", 1 << 30),
            ("4K,8K", 4096),
            ("K", 0),
            ("abc", 0),
            ("", 0),
            (" +7", 7),
            ("90.0", 90),
            ("10s", 10),
            ("1m0s", 1_000_000),
            ("10bytes", 10),
            ("4294967297", 1),
            ("2147483648", i32::MIN),
        ] {
            assert_eq!(size(text), value, "{text:?}");
        }
    }

    #[test]
    fn numbers_beyond_32_bits_are_cut() {
        for (text, size, number) in [
            ("3G", true, false),
            ("2G", true, false),
            ("2g", false, false),
            ("2147483647", false, false),
            ("2147483648", true, true),
            ("-2147483648", false, false),
            ("99999999999999999999", true, true),
            ("-1M", false, false),
            ("abc", false, false),
        ] {
            assert_eq!((is_cut_size(text), is_cut(text)), (size, number), "{text}");
        }
    }

    #[test]
    fn letters_have_no_effect_on_a_plain_integer() {
        for (text, value) in [("1000b", 1000), ("4K", 4), ("-3x", -3), ("x", 0)] {
            assert_eq!(int(text), value, "{text:?}");
        }
    }

    #[test]
    fn seconds_stop_at_the_first_odd_character() {
        for (text, value) in [
            ("0.25", 0.25),
            ("-0.2", -0.2),
            ("5%", 5.0),
            (".5", 0.5),
            ("1.", 1.0),
            ("1e2x", 100.0),
            ("1e", 1.0),
            ("x", 0.0),
            (".", 0.0),
            ("", 0.0),
            ("1e999", 0.0),
            ("0.01,2", 0.01),
        ] {
            assert!((seconds(text) - value).abs() < 1e-12, "{text:?}");
        }
    }

    #[test]
    fn a_time_without_a_letter_is_in_milliseconds() {
        for (text, micros) in [
            ("10", 10_000),
            ("10m", 10_000),
            ("10ms", 10_000),
            ("20000us", 20_000),
            ("2s", 2_000_000),
            ("5x", 5_000),
            ("-5", 0),
        ] {
            assert_eq!(time(text), Duration::from_micros(micros), "{text:?}");
        }
    }

    #[test]
    fn an_empty_half_leaves_the_earlier_value_alone() {
        assert_eq!(both_halves("5"), (Some("5"), Some("5")));
        assert_eq!(both_halves("5,"), (Some("5"), None));
        assert_eq!(both_halves(",5"), (None, Some("5")));
        assert_eq!(both_halves("1,2,3"), (Some("1"), Some("2,3")));
        assert_eq!(both_halves(""), (None, None));
        assert_eq!(first_half("5"), (Some("5"), None));
        assert_eq!(first_half(",5"), (None, Some("5")));
    }

    #[test]
    fn families_are_found_as_substrings_six_first() {
        for (text, wanted) in [
            ("6", Some(Family::V6)),
            ("AF_INET6", Some(Family::V6)),
            ("inet6", Some(Family::V6)),
            ("46", Some(Family::V6)),
            ("inet", Some(Family::V4)),
            ("4", Some(Family::V4)),
            ("unspec", Some(Family::Unspecified)),
            ("0", Some(Family::Unspecified)),
            ("AF_INET", None),
            ("bogus", None),
            ("", None),
        ] {
            assert_eq!(family(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn a_code_point_is_a_name_of_an_rfc_or_a_number_of_six_bits() {
        for (text, value) in [
            ("ef", Some(46)),
            ("CS1", Some(8)),
            ("af11", Some(10)),
            ("0", Some(0)),
            ("63", Some(63)),
            ("64", None),
            ("lowdelay", None),
            ("0x10", None),
            ("+1", None),
            ("", None),
        ] {
            assert_eq!(code_point(text), value, "{text}");
        }
    }

    #[test]
    fn a_type_of_service_is_a_name_or_a_c_number() {
        for (text, value) in [
            ("ef", Some(0xb8)),
            ("CS5", Some(0xa0)),
            ("Af11", Some(0x28)),
            ("0x10", Some(16)),
            ("020", Some(16)),
            ("16", Some(16)),
            ("0", Some(0)),
            ("255", Some(255)),
            ("256", None),
            ("-1", None),
            ("+5", None),
            ("08", None),
            ("0x", None),
            ("bogus", None),
            ("", None),
        ] {
            assert_eq!(tos(text), value, "{text:?}");
        }
    }

    #[test]
    fn direction_words_are_ored_and_unknown_ones_add_nothing() {
        for (text, sends, receives, connects) in [
            ("send", true, false, false),
            ("MAERTS", false, true, false),
            ("send|recv", true, true, false),
            ("rr", true, true, false),
            ("0x6", true, true, false),
            ("2", true, false, false),
            ("4", false, true, false),
            ("bogus", false, false, false),
            ("bogus|recv", false, true, false),
            ("CRR", true, true, true),
            ("cc", false, false, true),
            ("", false, false, false),
        ] {
            let wanted = TestDirection {
                sends,
                receives,
                connects,
            };
            assert_eq!(direction(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn a_cut_counts_characters() {
        assert_eq!(cut("nosuchservice", 10), "nosuchserv");
        assert_eq!(cut("ä€x", 2), "ä€");
        assert_eq!(cut("ab", 5), "ab");
    }

    proptest! {
        #[test]
        fn every_grammar_takes_any_text(text in any::<String>()) {
            let _: (i32, i32, f64, Duration) = (size(&text), int(&text), seconds(&text), time(&text));
            let _: (Option<Family>, Option<u8>, TestDirection) = (family(&text), tos(&text), direction(&text));
            let _: (Halves<'_>, Halves<'_>, &str) = (both_halves(&text), first_half(&text), cut(&text, 3));
        }

        #[test]
        fn an_integer_reads_what_it_prints(value in any::<i32>(), tail in "[a-z ]*") {
            let text = format!("{value}{tail}");
            prop_assert_eq!(int(&text), value);
        }

        #[test]
        fn kilobytes_are_1024_times_the_number(value in -2_000_000_i32..2_000_000) {
            let text = format!("{value}K");
            prop_assert_eq!(size(&text), value * 1024);
        }

        #[test]
        fn seconds_read_what_they_print(value in -1e6_f64..1e6) {
            let text = format!("{value}");
            prop_assert!((seconds(&text) - value).abs() < 1e-6);
        }

        #[test]
        fn a_pair_with_a_comma_means_the_same_in_both_grammars(a in "[0-9]*", b in "[0-9,]*") {
            let text = format!("{a},{b}");
            prop_assert_eq!(both_halves(&text), first_half(&text));
        }
    }
}
