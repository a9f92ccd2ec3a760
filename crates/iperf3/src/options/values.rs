//! Values of options of iperf3.

use std::time::Duration;

use super::{Iperf3RateLimit, problem};

pub(super) fn bad(name: &str, value: &str) -> String {
    problem(&format!("--{name} {value}: a number is expected"))
}

pub(super) fn real(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

pub(super) fn whole(name: &str, text: &str, (least, most): (u64, u64)) -> Result<u64, String> {
    let number = text.parse().ok();
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| {
            problem(&format!(
                "--{name} {text}: a number from {least} to {most} is expected"
            ))
        })
}

pub(super) fn number_of_any_base(text: &str) -> Option<u32> {
    if let Some(digits) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        u32::from_str_radix(digits, 16).ok()
    } else if text.len() > 1 && text.starts_with('0') {
        u32::from_str_radix(text, 8).ok()
    } else {
        text.parse().ok()
    }
}

/// A number with a letter for powers of `base`.
pub(super) fn size(text: &str, base: u32) -> Option<u64> {
    let power = |letter: char| match letter.to_ascii_lowercase() {
        'k' => Some(1),
        'm' => Some(2),
        'g' => Some(3),
        't' => Some(4),
        _ => None,
    };
    let last = text.chars().last()?;
    let (digits, factor) = match power(last) {
        Some(power) => (text.strip_suffix(last)?, f64::from(base).powi(power)),
        None => (text, 1.0),
    };
    let number = real(digits)? * factor;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "checked"
    )]
    (number < u64::MAX as f64).then_some(number as u64)
}

/// A rate, and perhaps a number of blocks behind a slash.
pub(super) fn burst(name: &str, text: &str) -> Result<(u64, u32), String> {
    let (rate, count) = text.split_once('/').unwrap_or((text, ""));
    let rate = size(rate, 1000).ok_or_else(|| bad(name, rate))?;
    if count.is_empty() {
        return Ok((rate, 0));
    }
    let count: Option<u32> = count.parse().ok();
    let count = count.filter(|count| (1..=1000).contains(count));
    Ok((
        rate,
        count.ok_or_else(|| problem("invalid burst count (maximum = 1000)"))?,
    ))
}

/// A code point of differentiated services: a number, or a name of RFC 2474, 2597, 3246, 5865 and
/// 8622.
pub(super) fn code_point(text: &str) -> Option<u8> {
    if let Some(number) = number_of_any_base(text) {
        return u8::try_from(number).ok().filter(|number| *number <= 63);
    }
    let name = text.to_ascii_lowercase();
    let digits = |prefix: &str| {
        let digits = name.strip_prefix(prefix)?;
        let numbers = digits.chars().map(|digit| digit.to_digit(10));
        numbers.collect::<Option<Vec<u32>>>()
    };
    let known = match name.as_str() {
        "ef" => Some(46),
        "va" | "voice-admit" => Some(44),
        "le" => Some(1),
        _ => None,
    };
    let of_class = || match digits("cs")?.as_slice() {
        [class @ 0..=7] => Some(class * 8),
        _ => None,
    };
    let assured = || match digits("af")?.as_slice() {
        [class @ 1..=4, drop @ 1..=3] => Some(class * 8 + drop * 2),
        _ => None,
    };
    let number = known.or_else(of_class).or_else(assured)?;
    u8::try_from(number).ok()
}

/// A rate, and perhaps seconds behind a slash.
pub(super) fn rate_limit(name: &str, text: &str) -> Result<Iperf3RateLimit, String> {
    let (rate, seconds) = text.split_once('/').unwrap_or((text, "5"));
    let bits = size(rate, 1000).filter(|bits| *bits > 0);
    let over = real(seconds).filter(|seconds| (0.1..=1000.0).contains(seconds));
    let over = over.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let limit = bits
        .zip(over)
        .map(|(bits, over)| Iperf3RateLimit { bits, over });
    limit.ok_or_else(|| {
        problem(&format!(
            "--{name} {text}: a rate, and 0.1 to 1000 seconds behind a slash, are expected"
        ))
    })
}
