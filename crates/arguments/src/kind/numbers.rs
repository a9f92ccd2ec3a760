//! Numbers, sizes and times of long options, read whole.

use std::borrow::Cow;
use std::time::Duration;

use netperf_model::units::{without_exponent, without_size_letter};

/// Returns true for a text without a letter: an empty one, and blanks and commas alone.
pub fn is_empty_list(text: &str) -> bool {
    text.split(',').all(|part| part.trim().is_empty())
}

/// Returns true for a number with a comma between its thousands, which would be two numbers.
pub fn has_thousands(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = text.split(',');
    let first = parts
        .next()
        .is_some_and(|first| digits(first) && first.len() <= 3);
    let others: Vec<&str> = parts.collect();
    let thousands = others.iter().all(|part| digits(part) && part.len() == 3);
    first && thousands && others.iter().any(|part| part.starts_with('0'))
}

/// A value in digits, unless it was typed so.
pub(super) fn spelled(text: &str, value: i64) -> Cow<'_, str> {
    let digits = value.to_string();
    if digits == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(digits)
    }
}

/// A number of digits, perhaps with a fraction and an exponent as in `1.5e3`, times a factor; `None`
/// unless it is whole and fits into the 32 bits that everything is kept in.
fn times(text: &str, factor: u32) -> Option<i64> {
    let number = without_exponent(text).filter(|number| is_decimal(number))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let value = digits.checked_mul(factor.into())?;
    let value = i64::try_from(value / scale)
        .ok()
        .filter(|_| value % scale == 0)?;
    (value <= i64::from(i32::MAX)).then_some(value)
}

/// A whole number from 0.
pub(super) fn count(text: &str) -> Option<i64> {
    times(text, 1)
}

/// Seconds, in any unit of time.
pub(super) fn whole_seconds(text: &str) -> Option<i64> {
    let seconds = match count(text) {
        Some(seconds) => seconds,
        None => {
            let time = duration(text).filter(|time| time.subsec_nanos() == 0)?;
            i64::try_from(time.as_secs()).ok()?
        }
    };
    (seconds <= i64::from(i32::MAX)).then_some(seconds)
}

/// Digits that fit into the 32 bits everything is kept in.
pub(super) fn number(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = text.parse().ok().filter(|_| digits)?;
    (value <= i64::from(i32::MAX)).then_some(value)
}

pub(super) fn integer(text: &str) -> Option<i64> {
    match text.strip_prefix('-') {
        Some(digits) => count(digits).map(|value| -value),
        None => count(text),
    }
}

/// A number with one letter at its end, if it fits.
pub fn size(text: &str) -> Option<i32> {
    let (number, factor) = without_size_letter(text);
    times(number, factor).and_then(|value| i32::try_from(value).ok())
}

pub(super) fn is_decimal(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(fraction) && whole.len() + fraction.len() > 0 && text.len() < 20
}

/// A time: a number of seconds, or numbers with units one after the other.
pub fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    if let Some(number) = without_exponent(text).filter(|number| is_decimal(number)) {
        return Duration::try_from_secs_f64(number.parse().ok()?)
            .ok()
            .filter(fits);
    }
    while !rest.is_empty() {
        let unit = number_length(rest);
        let (number, behind) = rest.split_at_checked(unit)?;
        let end = behind
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(behind.len());
        let (unit, behind) = behind.split_at_checked(end)?;
        let number = without_exponent(number).filter(|number| is_decimal(number))?;
        let seconds: f64 = number.parse().ok()?;
        let part = Duration::try_from_secs_f64(seconds * unit_in_seconds(unit)?).ok()?;
        total = total.checked_add(part)?;
        rest = behind;
    }
    Some(total).filter(|total| !text.is_empty() && fits(total))
}

/// Length of the number that a text begins with, with its exponent.
fn number_length(text: &str) -> usize {
    let digits = |from: usize, also: &str| {
        let rest = text.get(from..).unwrap_or_default();
        let is_part = |c: char| c.is_ascii_digit() || also.contains(c);
        rest.find(|c| !is_part(c)).unwrap_or(rest.len())
    };
    let mantissa = digits(0, ".");
    let behind = text.get(mantissa..).unwrap_or_default();
    let Some(exponent) = behind.strip_prefix(['e', 'E']) else {
        return mantissa;
    };
    let power = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let begin = text.len() - power.len();
    match digits(begin, "") {
        0 => mantissa,
        power => begin + power,
    }
}

/// The control messages have 31 bits for seconds.
fn fits(time: &Duration) -> bool {
    time.as_secs() < i32::MAX.unsigned_abs().into()
}

fn unit_in_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "h" => 3600.0,
        "m" => 60.0,
        "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    })
}
