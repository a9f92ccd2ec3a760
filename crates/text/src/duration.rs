//! Lengths of time.

use std::time::Duration;

/// A length of time: `1.2 s` below ten seconds, `41 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`.
#[must_use]
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    let parts = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match parts {
        (0, 0, 0) if time < Duration::from_millis(9_950) => {
            format!("{:.1} s", time.as_secs_f64())
        }
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => joined((minutes, "min"), (seconds % 60, "s")),
        (0, hours, minutes) => joined((hours, "h"), (minutes, "min")),
        (days, hours, _) => joined((days, "d"), (hours, "h")),
    }
}

/// Two units, or the first alone if there is nothing of the other.
fn joined(first: (u64, &str), second: (u64, &str)) -> String {
    let (count, unit) = first;
    match second {
        (0, _) => format!("{count} {unit}"),
        (rest, small) => format!("{count} {unit} {rest} {small}"),
    }
}

/// Whole seconds as a length of time.
#[must_use]
pub fn of_seconds(seconds: u64) -> String {
    match seconds {
        0..10 => format!("{seconds} s"),
        _ => duration(Duration::from_secs(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_has_at_most_two_units() {
        let shown = [0.25, 9.94, 9.96, 59.9, 60.0, 100.0, 3661.0, 273_600.0]
            .map(|seconds| duration(Duration::from_secs_f64(seconds)));
        let expected = [
            "0.2 s",
            "9.9 s",
            "9 s",
            "59 s",
            "1 min",
            "1 min 40 s",
            "1 h 1 min",
            "3 d 4 h",
        ];
        assert_eq!(shown, expected);
        assert_eq!([0, 9, 7500].map(of_seconds), ["0 s", "9 s", "2 h 5 min"]);
    }
}
