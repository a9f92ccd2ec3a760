//! Values of the options of iperf 2.

use std::time::Duration;

use netperf_model::iperf2::Iperf2Rate;

use super::Iperf2Unit;

/// A number with k, m, g (powers of 1000) or K, M, G (of 1024).
pub(super) fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor: u32 = match text.get(digits.len()..)? {
        "" | "b" | "B" => 1,
        "k" => 1000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    let number: f64 = digits.parse().ok()?;
    let product = number * f64::from(factor);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked"
    )]
    (0.0..1e18).contains(&product).then_some(product as u64)
}

pub(super) fn rate(text: &str) -> Option<Iperf2Rate> {
    let rate = match text.strip_suffix("pps") {
        Some(packets) => Iperf2Rate::Packets(size(packets)?),
        None => Iperf2Rate::Bits(size(text)?),
    };
    let (Iperf2Rate::Bits(number) | Iperf2Rate::Packets(number)) = rate;
    Some(rate).filter(|_| number > 0)
}

pub(super) fn time(text: &str) -> Option<Duration> {
    let seconds: f64 = text.parse().ok()?;
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    Some(time).filter(|time| !time.is_zero() && seconds < 1e7)
}

pub(super) fn port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port > 0)
}

pub(super) fn tos(text: &str) -> Option<u8> {
    match text.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

pub(super) fn unit(text: &str) -> Option<Iperf2Unit> {
    Some(match text {
        "a" => Iperf2Unit::Bits,
        "A" => Iperf2Unit::Bytes,
        "b" => Iperf2Unit::BitsOf(0),
        "k" => Iperf2Unit::BitsOf(1),
        "m" => Iperf2Unit::BitsOf(2),
        "g" => Iperf2Unit::BitsOf(3),
        "t" => Iperf2Unit::BitsOf(4),
        "B" => Iperf2Unit::BytesOf(0),
        "K" => Iperf2Unit::BytesOf(1),
        "M" => Iperf2Unit::BytesOf(2),
        "G" => Iperf2Unit::BytesOf(3),
        "T" => Iperf2Unit::BytesOf(4),
        _ => return None,
    })
}

/// A number of connections; one, unless it is given.
pub(super) fn connections(text: &str) -> Option<u32> {
    let text = if text.is_empty() { "1" } else { text };
    let number = text.parse().ok();
    number.filter(|number| (1..=1_000_000).contains(number))
}

/// The time of an interval.
pub(super) fn interval(text: &str) -> Result<Duration, String> {
    let interval = time(text).filter(|time| time.as_millis() >= 5);
    interval.ok_or_else(|| format!("Invalid value of '{text}' for -i interval"))
}

/// The value of an option as it is typed.
pub(super) struct TypedValue<'a> {
    /// Name of the option without its dashes.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl TypedValue<'_> {
    /// Reads the value; `expected` describes those that are valid.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&str) -> Option<T>,
        expected: &str,
    ) -> Result<T, String> {
        let (name, text) = (self.name, self.text);
        read(text).ok_or_else(|| format!("Invalid value of '{text}' for -{name}: {expected}"))
    }

    /// Reads the value, and sets a field to it.
    pub(super) fn set<T, F: From<T>>(
        &self,
        field: &mut F,
        read: impl FnOnce(&str) -> Option<T>,
        expected: &str,
    ) -> Result<(), String> {
        *field = self.read(read, expected)?.into();
        Ok(())
    }

    /// Sets a field to the text.
    #[expect(clippy::unnecessary_wraps, reason = "options set their fields so")]
    pub(super) fn put(&self, field: &mut String) -> Result<(), String> {
        self.text.clone_into(field);
        Ok(())
    }

    /// A number of bytes, or of bits per second.
    pub(super) fn size(&self) -> Result<u64, String> {
        self.read(size, "a number with k, m, g, K, M or G")
    }

    /// Sets a field to a number of bytes.
    pub(super) fn set_bytes(&self, field: &mut Option<usize>) -> Result<(), String> {
        *field = Some(usize::try_from(self.size()?).unwrap_or(usize::MAX));
        Ok(())
    }
}
