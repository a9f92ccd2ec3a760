//! Rates in bits and bytes per second.

use netperf_model::units::without_exponent;

use crate::grammar;

/// Bits per second, at least one: digits, perhaps a fraction, K, M or G for powers of ten, and
/// perhaps the unit.
pub fn bit_rate(text: &str) -> Option<u64> {
    let (number, power) = grammar::power_of_ten(grammar::without_bits(text).unwrap_or(text));
    let number = without_exponent(number)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > power as usize {
        return None;
    }
    let zeros = "0".repeat(power as usize - fraction.len());
    let bits: u64 = format!("{whole}{fraction}{zeros}").parse().ok()?;
    (bits > 0).then_some(bits)
}

/// Bits per second as a number of bytes.
pub(super) fn pacing_rate(text: &str) -> Option<String> {
    let bytes = i32::try_from(bit_rate(text)?.div_ceil(8)).ok()?;
    Some(bytes.to_string())
}
