//! Points in time, in microseconds since 1970, as text.

use std::str::FromStr;

/// Microseconds in a second.
const MICROS: i64 = 1_000_000;
/// Seconds in a day.
const DAY: i64 = 86_400;

/// A document's seconds since 1970; `None` outside the years with four digits.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked, and a microsecond is kept"
)]
pub fn micros(unix: f64) -> Option<i64> {
    let known = (0.0..253_402_300_800.0).contains(&unix);
    known.then(|| (unix * 1e6).round() as i64)
}

/// Seconds since 1970, for documents.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "microseconds of this era are below 2^53"
)]
pub fn seconds(micros: i64) -> f64 {
    micros as f64 / 1e6
}

/// Writes seconds since 1970 into a document.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) fn in_seconds<S: serde::Serializer>(micros: &i64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(seconds(*micros))
}

/// Date and time of day in UTC to the second.
#[must_use]
pub fn shown(micros: i64) -> String {
    let date = netperf_text::date::date(seconds(micros - micros.rem_euclid(MICROS)));
    let date = date.unwrap_or_else(|| "not a date".to_owned());
    date.trim_end_matches(" UTC").to_owned()
}

/// The same in the format of RFC 3339, to the microsecond.
#[must_use]
pub fn exact(micros: i64) -> String {
    let fraction = micros.rem_euclid(MICROS);
    format!("{}.{fraction:06}Z", shown(micros).replace(' ', "T"))
}

/// A date such as 2026-11-21, a date and a time of day in UTC separated by `T` or a space,
/// or an age such as 30d before `now`.
#[must_use]
pub fn read(text: &str, now: i64) -> Option<i64> {
    if let Some(age) = age(text) {
        return now.checked_sub(age);
    }
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, ""));
    let days = days(date)?;
    let time = time.strip_suffix('Z').unwrap_or(time);
    let of_day = if time.is_empty() { 0 } else { of_day(time)? };
    (days * DAY + of_day).checked_mul(MICROS)
}

/// An age in microseconds: a whole number and `s`, `m` (minutes), `h`, `d`, `w` or `y`
/// (365 days).
#[must_use]
pub fn age(text: &str) -> Option<i64> {
    let (at, unit) = text.char_indices().last()?;
    let digits = text.get(..at)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => DAY,
        'w' => 7 * DAY,
        'y' => 365 * DAY,
        _ => return None,
    };
    whole::<i64>(digits)?.checked_mul(seconds * MICROS)
}

/// A number of digits alone, without a sign.
fn whole<T: FromStr>(digits: &str) -> Option<T> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

/// Days from 1970 to a date that exists.
fn days(date: &str) -> Option<i64> {
    let parts: Vec<u64> = date
        .split('-')
        .map(|part| whole(part).filter(|_| part.len() >= 2))
        .collect::<Option<_>>()?;
    let &[year, month, day] = parts.as_slice() else {
        return None;
    };
    i64::try_from(netperf_text::date::days(year, month, day)?).ok()
}

/// Seconds since midnight of hh:mm or hh:mm:ss.
fn of_day(text: &str) -> Option<i64> {
    let parts: Vec<i64> = text
        .split(':')
        .map(|part| whole(part).filter(|_| part.len() == 2))
        .collect::<Option<_>>()?;
    let (hour, minute, second) = match *parts.as_slice() {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let inside = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    inside.then_some(hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_read_as_it_is_shown() {
        for text in [
            "1970-01-01 00:00:00",
            "2000-02-29 23:59:59",
            "2026-11-21 20:28:07",
            "2100-03-01 00:00:00",
            "9999-12-31 23:59:59",
        ] {
            let read = read(text, 0).expect(text);
            assert_eq!(shown(read), text);
        }
        assert_eq!(read("2026-11-21", 0), read("2026-11-21T00:00Z", 0));
        assert_eq!(exact(1_500_000), "1970-01-01T00:00:01.500000Z");
        assert_eq!(exact(90_000_001), "1970-01-01T00:01:30.000001Z");
        assert_eq!(shown(1_999_999), "1970-01-01 00:00:01");
        assert_eq!(shown(-1), "not a date");
    }

    #[test]
    fn a_time_of_day_has_hours_minutes_and_perhaps_seconds() {
        let seconds = |text: &str| read(&format!("1970-01-02 {text}"), 0);
        let second = |number: i64| Some((DAY + number) * MICROS);
        assert_eq!(seconds("00:00"), second(0));
        assert_eq!(seconds("23:59"), second(86_340));
        assert_eq!(seconds("01:02:03Z"), second(3723));
        for text in ["24:00", "23:60", "00:00:60", "1:02", "01:02:03:04", "01"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn a_document_has_seconds_and_a_history_microseconds() {
        assert_eq!(micros(1.5), Some(1_500_000));
        assert_eq!(micros(0.0), Some(0));
        assert_eq!((micros(-0.5), micros(f64::NAN)), (None, None));
        assert_eq!(micros(253_402_300_799.5), Some(253_402_300_799_500_000));
        assert_eq!(micros(253_402_300_800.0), None);
        assert_eq!(seconds(2_500_000), 2.5);
        let written = in_seconds(&2_500_000, serde_json::value::Serializer);
        assert_eq!(written.unwrap(), serde_json::json!(2.5));
    }

    #[test]
    fn an_age_counts_back_from_now() {
        assert_eq!(read("2d", 3 * DAY * MICROS), Some(DAY * MICROS));
        assert_eq!(age("1w"), age("7d"));
        assert_eq!(age("1y"), age("365d"));
        assert_eq!(age("1d"), age("24h"));
        assert_eq!((age("1h"), age("1m")), (age("60m"), age("60s")));
        assert_eq!(age("2s"), Some(2_000_000));
        assert_eq!(read("1s", i64::MIN), None);
    }

    #[test]
    fn invalid_dates_are_none() {
        for text in [
            "",
            "d",
            "-1d",
            "+1d",
            "2026",
            "2026-13-01",
            "2026-02-29",
            "2026-11-21T25:00",
            "2026-11-21Tx",
            "yesterday",
            "9999999999999999999d",
            "1é",
            "2026-11-21T1:2",
            "2026-11-21T+1:00",
            "2026-11-21T-0:00",
            "2026-+1-21",
            "2026-1-21",
            "2026-11",
            "2026-11-21-01",
        ] {
            assert_eq!(read(text, 0), None, "{text}");
        }
    }
}
