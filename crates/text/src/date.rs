//! Calendar dates of the system clock.

use std::time::Duration;

/// Date and time of day in UTC, from seconds since 1970; `None` outside the years 1970 to 9999.
#[must_use]
pub fn date(unix: f64) -> Option<String> {
    if !(0.0..253_402_300_800.0).contains(&unix) {
        return None;
    }
    let seconds = Duration::from_secs_f64(unix).as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    Some(format!(
        "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC"
    ))
}

/// The number of days from 1970 to a date; `None` for one that does not exist.
#[must_use]
pub fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let exists = (1970..=9999).contains(&year) && (1..=12).contains(&month);
    let (march_year, from_march) = if month > 2 {
        (year, month.checked_sub(3)?)
    } else {
        (year.checked_sub(1)?, month + 9)
    };
    let day = day.checked_sub(1).filter(|day| exists && *day < 31)?;
    let of_year = (153 * from_march + 2) / 5 + day;
    let leap_days = march_year / 4 - march_year / 100 + march_year / 400;
    let days = (365 * march_year + leap_days + of_year).checked_sub(719_468)?;
    (civil(days) == (year, month, day + 1)).then_some(days)
}

/// Year, month and day of a number of days since 1970. Counts in eras of 400 years that begin
/// in March, so that the leap day ends a year.
#[must_use]
pub fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_to_dates_that_exist() {
        for (date, expected) in [
            ((1970, 1, 1), Some(0)),
            ((2000, 2, 29), Some(11_016)),
            ((9999, 12, 31), Some(2_932_896)),
            ((2026, 2, 29), None),
            ((2026, 13, 1), None),
            ((2026, 1, 0), None),
            ((1969, 12, 31), None),
            ((u64::MAX, 1, 1), None),
            ((2026, u64::MAX, 1), None),
        ] {
            let (year, month, day) = date;
            assert_eq!(days(year, month, day), expected, "{date:?}");
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0.0).as_deref(), Some("1970-01-01 00:00:00 UTC"));
        assert_eq!(
            date(951_782_400.5).as_deref(),
            Some("2000-02-29 00:00:00 UTC")
        );
        assert_eq!(
            date(4_102_444_799.0).as_deref(),
            Some("2099-12-31 23:59:59 UTC")
        );
        assert_eq!(date(-1.0), None);
        assert_eq!(date(f64::NAN), None);
        assert_eq!(date(1e300), None);
    }
}
