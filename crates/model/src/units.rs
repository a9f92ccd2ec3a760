//! Units: those of throughput that global `-f` can ask for (output.md, units), and letters of sizes.

use std::borrow::Cow;
use std::time::Duration;

/// Letters of sizes, and their factors.
pub const SIZE_LETTERS: [(&str, u32); 6] = [
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("k", 1_000),
    ("m", 1_000_000),
    ("g", 1_000_000_000),
];

/// A time in whole seconds, rounded up.
#[must_use]
pub fn whole_seconds(time: Duration) -> Duration {
    let begun = u64::from(time.subsec_nanos() > 0);
    Duration::from_secs(time.as_secs().saturating_add(begun))
}

/// A number with its exponent carried out: `1500` of `1.5e3`, `0.5` of `5e-1`; the text itself
/// without an exponent, and `None` for one that is no power of ten from -12 to 12.
#[must_use]
pub fn without_exponent(text: &str) -> Option<Cow<'_, str>> {
    const MOST: usize = 12;
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else {
        return Some(Cow::Borrowed(text));
    };
    let (is_negative, power) = match exponent.strip_prefix('-') {
        Some(power) => (true, power),
        None => (false, exponent.strip_prefix('+').unwrap_or(exponent)),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || power.is_empty() || ![&*digits, power].into_iter().all(is_digits) {
        return None;
    }
    let power = power.parse().ok().filter(|power| *power <= MOST)?;
    let zeros = "0".repeat(power);
    let (padded, point) = if is_negative {
        (format!("{zeros}{digits}"), whole.len())
    } else {
        (format!("{digits}{zeros}"), whole.len() + power)
    };
    let (whole, fraction) = padded.split_at_checked(point)?;
    Some(Cow::Owned(match (whole, fraction.trim_end_matches('0')) {
        ("", fraction) => format!("0.{fraction}0"),
        (whole, "") => whole.to_owned(),
        (whole, fraction) => format!("{whole}.{fraction}"),
    }))
}

/// The part of a size before its letter, and the factor of the letter; 1 if there is none.
#[must_use]
pub fn without_size_letter(text: &str) -> (&str, u32) {
    SIZE_LETTERS
        .iter()
        .find_map(|(letter, factor)| Some((text.strip_suffix(letter)?, *factor)))
        .unwrap_or((text, 1))
}

/// A unit of throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThroughputUnit {
    /// `G`: 2^30 bytes per second.
    GibiBytes,
    /// `M`: 2^20 bytes per second.
    MebiBytes,
    /// `K`, and any letter that is not known: 2^10 bytes per second.
    KibiBytes,
    /// `B`: bytes per second.
    Bytes,
    /// `g`: 10^9 bits per second.
    GigaBits,
    /// `m`: 10^6 bits per second.
    MegaBits,
    /// `k`: 10^3 bits per second.
    KiloBits,
    /// `b`: labelled bits but counted in bytes, as the original does.
    LabelledBits,
    /// `x`: transactions per second.
    Transactions,
    /// `u`: microseconds per byte or transaction.
    Microseconds,
    /// A letter that is not a unit: counted in KBytes, with a warning in places.
    Unknown(char),
}

/// Kind of quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnitKind {
    /// Bytes or bits.
    Data,
    /// Transactions.
    Transactions,
}

impl ThroughputUnit {
    /// The unit that a `-f` letter names. Never fails: see [`ThroughputUnit::Unknown`].
    #[must_use]
    pub const fn from_letter(letter: char) -> Self {
        match letter {
            'G' => Self::GibiBytes,
            'M' => Self::MebiBytes,
            'K' => Self::KibiBytes,
            'B' => Self::Bytes,
            'g' => Self::GigaBits,
            'm' => Self::MegaBits,
            'k' => Self::KiloBits,
            'b' => Self::LabelledBits,
            'x' => Self::Transactions,
            'u' => Self::Microseconds,
            other => Self::Unknown(other),
        }
    }

    /// The text that titles and selectors print, without `/s`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::GibiBytes => "GBytes",
            Self::MebiBytes => "MBytes",
            Self::KibiBytes | Self::Unknown(_) => "KBytes",
            Self::Bytes => "Bytes",
            Self::GigaBits => "10^9bits",
            Self::MegaBits => "10^6bits",
            Self::KiloBits => "10^3bits",
            Self::LabelledBits => "10^0bits",
            Self::Transactions => "Trans",
            Self::Microseconds => "Usec",
        }
    }

    /// The name of a rate in this unit. Microseconds are a time for each byte or transaction.
    #[must_use]
    pub fn rate_label(self) -> String {
        let label = self.label();
        if self == Self::Microseconds {
            label.to_owned()
        } else {
            format!("{label}/s")
        }
    }

    /// The kind of quantity that the unit counts.
    #[must_use]
    pub const fn kind(self) -> UnitKind {
        match self {
            Self::Transactions => UnitKind::Transactions,
            Self::GibiBytes
            | Self::MebiBytes
            | Self::KibiBytes
            | Self::Bytes
            | Self::GigaBits
            | Self::MegaBits
            | Self::KiloBits
            | Self::LabelledBits
            | Self::Microseconds
            | Self::Unknown(_) => UnitKind::Data,
        }
    }

    /// The rate of `count` bytes (or transactions) in `seconds`, in this unit.
    ///
    /// Zero when no time passed: a rate that was not measured is never infinite.
    #[must_use]
    pub fn rate(self, count: f64, seconds: f64) -> f64 {
        if seconds <= 0.0 {
            return 0.0;
        }
        let per_second = count / seconds;
        match self {
            Self::GibiBytes => per_second / 1_073_741_824.0,
            Self::MebiBytes => per_second / 1_048_576.0,
            Self::KibiBytes | Self::Unknown(_) => per_second / 1024.0,
            Self::Bytes | Self::LabelledBits | Self::Transactions => per_second,
            Self::GigaBits => per_second * 8.0 / 1e9,
            Self::MegaBits => per_second * 8.0 / 1e6,
            Self::KiloBits => per_second * 8.0 / 1e3,
            Self::Microseconds if count > 0.0 => seconds * 1e6 / count,
            Self::Microseconds => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_megabit_is_a_million_bits() {
        assert!((ThroughputUnit::MegaBits.rate(125_000.0, 1.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn no_elapsed_time_gives_zero_and_not_infinity() {
        assert!(ThroughputUnit::MegaBits.rate(5.0, 0.0).abs() < f64::EPSILON);
    }
}
