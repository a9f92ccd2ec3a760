//! Formatting of figures.

use std::time::Duration;

/// A rate, with its significant digits.
pub(crate) fn figure(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 1e9 => return format!("{value:.3e}"),
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// A time in nanoseconds, formatted in the best unit.
pub(crate) fn nanos(value: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")];
    let fits = |(size, _): &&(f64, &str)| value >= *size * 0.9995;
    let (size, unit) = UNITS.iter().find(fits).copied().unwrap_or((1.0, "ns"));
    let value = value / size;
    let digits = match value {
        _ if size <= 1.0 => 0,
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

/// A length of time: seconds to a tenth, or minutes and hours.
pub(crate) fn length(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 100 {
        return format!("{:.1} s", time.as_secs_f64());
    }
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{rest:02} h")
    } else {
        format!("{minutes}:{rest:02} min")
    }
}

/// Text without control characters.
pub(crate) fn harmless(text: &str) -> String {
    let shown = |letter: char| {
        if letter.is_ascii_graphic() || letter == ' ' {
            letter
        } else {
            '?'
        }
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_suits_them() {
        let shown = [
            7.0, 850.0, 9_990.0, 12_340.0, 99_960.0, 999_900.0, 12.3e6, 2.5e9,
        ]
        .map(nanos);
        let wanted = [
            "7 ns", "850 ns", "9.99 us", "12.3 us", "100 us", "1.00 ms", "12.3 ms", "2.50 s",
        ];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn lengths_are_seconds_then_minutes_then_hours() {
        let shown = [0.25, 99.94, 100.0, 3600.0 + 61.0].map(|s| length(Duration::from_secs_f64(s)));
        assert_eq!(shown, ["0.2 s", "99.9 s", "1:40 min", "1:01:01 h"]);
    }

    #[test]
    fn a_host_cannot_steer_the_terminal() {
        assert_eq!(harmless("a\x1b[2Jb\n"), "a?[2Jb?");
    }
}
