//! Units, and numbers as people read them: three significant digits and the prefix that fits.

/// The unit of a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// bit/s.
    BitsPerSecond,
    /// Transactions or connections per second.
    TransactionsPerSecond,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Hundredths.
    Percent,
    /// Things that are counted, by their name.
    Count(&'static str),
    /// As the file has it.
    Other(String),
}

impl Unit {
    /// Its sign, without a prefix.
    #[must_use]
    pub fn sign(&self) -> &str {
        match self {
            Self::BitsPerSecond => "bit/s",
            Self::TransactionsPerSecond => "transactions/s",
            Self::Seconds => "s",
            Self::Bytes => "B",
            Self::Percent => "%",
            Self::Count(name) => name,
            Self::Other(name) => name,
        }
    }

    /// The quantity, for the title of an axis.
    #[must_use]
    pub fn quantity(&self) -> &'static str {
        match self {
            Self::BitsPerSecond => "throughput",
            Self::TransactionsPerSecond => "rate",
            Self::Seconds => "time",
            Self::Bytes => "size",
            Self::Percent => "share",
            Self::Count(_) => "number",
            Self::Other(_) => "value",
        }
    }

    fn prefixes(&self) -> &'static [(f64, &'static str)] {
        const LARGE: &[(f64, &str)] = &[
            (1e15, "P"),
            (1e12, "T"),
            (1e9, "G"),
            (1e6, "M"),
            (1e3, "k"),
            (1.0, ""),
        ];
        const BINARY: &[(f64, &str)] = &[
            (1_099_511_627_776.0, "Ti"),
            (1_073_741_824.0, "Gi"),
            (1_048_576.0, "Mi"),
            (1024.0, "Ki"),
            (1.0, ""),
        ];
        const SMALL: &[(f64, &str)] = &[(1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];
        const NONE: &[(f64, &str)] = &[(1.0, "")];
        match self {
            Self::BitsPerSecond | Self::TransactionsPerSecond => LARGE,
            Self::Count(name) if name.ends_with("/s") => LARGE,
            Self::Bytes => BINARY,
            Self::Seconds => SMALL,
            Self::Percent | Self::Count(_) | Self::Other(_) => NONE,
        }
    }

    /// Text between a prefix and the sign: things that are counted have names, and a prefix belongs
    /// to their number.
    fn joint(&self, prefix: &str) -> &'static str {
        let is_name = matches!(self, Self::TransactionsPerSecond | Self::Count(_));
        if is_name && !prefix.is_empty() {
            NO_BREAK
        } else {
            ""
        }
    }

    /// The factor and the sign in which `size` reads best.
    #[must_use]
    pub fn scaled(&self, size: f64) -> (f64, String) {
        let prefixes = self.prefixes();
        let fits = prefixes
            .iter()
            .find(|(factor, _)| size.abs() >= factor * 0.9995);
        // Nothing at all has no prefix; what is smaller than the smallest has that.
        let unit = (1.0, "");
        let least = if size == 0.0 {
            unit
        } else {
            *prefixes.last().unwrap_or(&unit)
        };
        let (factor, prefix) = *fits.unwrap_or(&least);
        let joint = self.joint(prefix);
        (factor, format!("{prefix}{joint}{}", self.sign()))
    }
}

/// A blank at which no line is broken.
pub const NO_BREAK: &str = "\u{a0}";

/// A number with its unit, such as `9.42 Gbit/s` or `82.9k transactions/s`.
#[must_use]
pub fn quantity(value: f64, unit: Unit) -> String {
    Quantity::new(value, unit).to_string()
}

/// A number with its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}

impl Quantity {
    /// A number with a unit.
    #[must_use]
    pub fn new(value: f64, unit: Unit) -> Self {
        Self { value, unit }
    }

    /// Without trailing zeros, for a value that the user gave.
    #[must_use]
    pub fn brief(&self) -> String {
        let (factor, sign) = self.unit.scaled(self.value);
        joined(&short(self.value / factor), &sign)
    }
}

impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (factor, sign) = self.unit.scaled(self.value);
        if matches!(self.unit, Unit::Count(_)) && factor == 1.0 && self.value.fract() == 0.0 {
            let one = sign.strip_suffix('s').filter(|_| self.value == 1.0);
            return write!(f, "{}\u{a0}{}", whole(self.value), one.unwrap_or(&sign));
        }
        f.write_str(&joined(&figure(self.value / factor), &sign))
    }
}

/// A number and its unit; the prefix of a name stands at the number.
fn joined(number: &str, sign: &str) -> String {
    let has_prefix = sign.contains(NO_BREAK);
    let blank = if has_prefix { "" } else { NO_BREAK };
    format!("{number}{blank}{sign}")
}

/// Three significant digits, those of a larger number apart in groups.
#[must_use]
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "not a number".to_owned();
    }
    let size = value.abs();
    let text = match size {
        _ if size == 0.0 => return "0".to_owned(),
        _ if !(1e-4..1e15).contains(&size) => return format!("{value:.2e}"),
        _ if size >= 99.95 => format!("{value:.0}"),
        _ if size >= 9.995 => format!("{value:.1}"),
        _ if size >= 0.9995 => format!("{value:.2}"),
        _ if size >= 0.09995 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    };
    apart(&text)
}

/// A whole number in full.
#[must_use]
pub fn whole(value: f64) -> String {
    if value.abs() < 1e15 {
        apart(&format!("{value:.0}"))
    } else {
        figure(value)
    }
}

/// A round number, as short as it can be written.
#[must_use]
pub fn short(value: f64) -> String {
    let size = value.abs();
    if size >= 1e6 || (size < 1e-3 && size > 0.0) {
        return format!("{value:e}");
    }
    let text = format!("{value:.4}");
    apart(text.trim_end_matches('0').trim_end_matches('.'))
}

/// Digits in front of the point in groups of three, from five on.
#[must_use]
pub fn apart(text: &str) -> String {
    let (sign, digits) = text
        .strip_prefix('-')
        .map_or(("", text), |rest| ("-", rest));
    let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
    let mut grouped = String::from(sign);
    for (index, digit) in before.chars().enumerate() {
        let left = before.len() - index;
        if index > 0 && left % 3 == 0 && before.len() > 4 {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    if !after.is_empty() {
        grouped.push('.');
        grouped.push_str(after);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_of_one_is_singular() {
        let segments = |count| Quantity::new(count, Unit::Count("segments")).to_string();
        assert_eq!(segments(1.0), "1\u{a0}segment");
        assert_eq!(segments(0.0), "0\u{a0}segments");
    }

    #[test]
    fn quantity_has_three_digits_and_the_prefix_that_fits() {
        for (value, unit, expected) in [
            (51_433_971_552.6, Unit::BitsPerSecond, "51.4 Gbit/s"),
            (999_999.0, Unit::BitsPerSecond, "1.00 Mbit/s"),
            (
                82_944.76,
                Unit::TransactionsPerSecond,
                "82.9k transactions/s",
            ),
            (999.4, Unit::TransactionsPerSecond, "999 transactions/s"),
            (1_250_000.0, Unit::Count("packets/s"), "1.25M packets/s"),
            (90.0, Unit::Count("packets/s"), "90 packets/s"),
            (82_944.0, Unit::Count("segments"), "82 944 segments"),
            (0.000_012_211_5, Unit::Seconds, "12.2 µs"),
            (0.000_000_332, Unit::Seconds, "332 ns"),
            (5e-13, Unit::Seconds, "0.0005 ns"),
            (0.0, Unit::Seconds, "0 s"),
            (1_047_728.0, Unit::Bytes, "1023 KiB"),
            (0.8219, Unit::Percent, "0.822 %"),
            (f64::NAN, Unit::Bytes, "not a number B"),
            (-1e300, Unit::Percent, "-1.00e300 %"),
        ] {
            let shown = quantity(value, unit).replace(['\u{a0}', '\u{202f}'], " ");
            assert_eq!(shown, expected);
        }
    }
}
