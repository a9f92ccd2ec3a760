//! Rates and times as text.

use netperf_model::{ThroughputUnit, UnitKind};
use netperf_text::unit::{self, quantity};

/// Work per second, bytes or transactions, in the best unit.
pub(crate) fn rate(unit: ThroughputUnit, per_second: f64) -> String {
    let is_bytes = matches!(
        unit,
        ThroughputUnit::GibiBytes
            | ThroughputUnit::MebiBytes
            | ThroughputUnit::KibiBytes
            | ThroughputUnit::Bytes
    );
    if is_bytes {
        quantity(per_second, unit::Unit::Bytes) + "/s"
    } else if unit.kind() == UnitKind::Transactions {
        quantity(per_second, unit::Unit::TransactionsPerSecond)
    } else {
        quantity(per_second * 8.0, unit::Unit::BitsPerSecond)
    }
}

/// Packets per second.
pub(crate) fn packets(per_second: f64) -> String {
    quantity(per_second, unit::Unit::Count("packets/s"))
}

/// A time in nanoseconds.
pub(crate) fn nanos(value: f64) -> String {
    quantity(value / 1e9, unit::Unit::Seconds)
}

/// Whole microseconds.
pub(crate) fn micros(time: u32) -> String {
    nanos(f64::from(time) * 1000.0)
}

/// A number and its noun.
pub(crate) fn plural(count: u64, name: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {name}{ending}")
}

/// The text with blanks of one kind, and ASCII letters alone where the terminal has no others.
pub(crate) fn in_letters(text: &str, unicode: bool) -> String {
    let text = text.replace(['\u{a0}', '\u{202f}'], " ");
    if unicode {
        return text;
    }
    let ascii = |letter: char| if letter.is_ascii() { letter } else { '?' };
    text.replace('µ', "u").chars().map(ascii).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_in_the_unit_of_the_run() {
        let shown = [
            rate(ThroughputUnit::MegaBits, 125e6),
            rate(ThroughputUnit::MebiBytes, 1_048_576.0),
            rate(ThroughputUnit::Transactions, 82_944.0),
        ];
        let shown = shown.map(|rate| in_letters(&rate, true));
        assert_eq!(shown, ["1.00 Gbit/s", "1.00 MiB/s", "82.9k transactions/s"]);
    }

    #[test]
    fn letters_that_a_terminal_lacks_are_replaced() {
        assert_eq!(in_letters("12\u{a0}µs 東", false), "12 us ?");
        assert_eq!(in_letters("12\u{a0}µs 東", true), "12 µs 東");
    }
}
