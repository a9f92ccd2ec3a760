//! Selectors of operation times, and the family of them that no table can list.
//!
//! The table has a few percentiles in whole microseconds. Beyond those, any
//! percentile can be selected as `P<number>_LATENCY`, such as `P99.99_LATENCY`,
//! with two decimals below 10 us, and every statistic also in nanoseconds, such as `MIN_LATENCY_NS`. They count
//! as names wherever names are read; `all` and `?` do not list them.

use netperf_model::figures::count;
use netperf_model::rate::over_all;
use netperf_model::{Latency, Lateness};

use crate::values::{NOT_KEPT, NOT_MEASURED, Value};
use crate::view::View;

/// Statistics of a distribution of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The shortest time.
    Minimum,
    /// The longest time.
    Maximum,
    /// The mean.
    Mean,
    /// The standard deviation of the population.
    Deviation,
    /// The time that this share of the operations, 0 to 1, does not exceed.
    Quantile(f64),
}

impl Statistic {
    /// True for the mean and the standard deviation, which are not one of the times.
    const fn is_moment(self) -> bool {
        matches!(self, Self::Mean | Self::Deviation)
    }
}

/// The unit a time is printed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeScale {
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

/// Whose times are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Operations; at a rate, from when a request was due to its response.
    Latency,
    /// Delay of sending messages.
    Lateness,
    /// From when a request was really sent to its response.
    Service,
}

impl Subject {
    const ALL: [Self; 3] = [Self::Latency, Self::Lateness, Self::Service];

    /// The end of a selector's name.
    const fn ending(self) -> &'static str {
        match self {
            Self::Latency => "_LATENCY",
            Self::Lateness => "_LATENESS",
            Self::Service => "_SERVICE_TIME",
        }
    }

    /// Its word in a header.
    const fn word(self) -> &'static str {
        match self {
            Self::Latency => "Latency",
            Self::Lateness => "Lateness",
            Self::Service => "Service Time",
        }
    }
}

/// One of the selectors that the table does not list.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyColumn {
    /// Its name as typed, in upper case.
    name: String,
    /// Whose times.
    subject: Subject,
    /// The statistic.
    statistic: Statistic,
    /// In which unit.
    scale: TimeScale,
}

/// The format of times that are whole numbers.
const WHOLE: &str = "%d";
/// The format of moments, and of percentiles and extremes below [`SHORT`].
const FINE: &str = "%.2f";
/// Shorter times in microseconds keep their fraction, unless the table lists the selector.
const SHORT: f64 = 10.0;

impl LatencyColumn {
    /// The selector of the family called `name`, in any case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_uppercase();
        let (base, scale) = match name.strip_suffix("_NS") {
            Some(base) => (base, TimeScale::Nanos),
            None => (name.as_str(), TimeScale::Micros),
        };
        let of = |subject: Subject| Some((subject, base.strip_suffix(subject.ending())?));
        let (subject, word) = Subject::ALL.into_iter().find_map(of)?;
        // The table has these of operations in microseconds.
        let listed = subject == Subject::Latency && scale == TimeScale::Micros;
        let statistic = match word {
            "MIN" if !listed => Statistic::Minimum,
            "MAX" if !listed => Statistic::Maximum,
            "MEAN" if !listed => Statistic::Mean,
            "STDDEV" if !listed => Statistic::Deviation,
            other => Statistic::Quantile(share(other)?),
        };
        Some(Self {
            name,
            subject,
            statistic,
            scale,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if times of operations must be kept for it; the others are always kept.
    #[must_use]
    pub(crate) const fn needs_latency(&self) -> bool {
        matches!(self.subject, Subject::Latency)
    }

    /// Its header lines, in the words of the table.
    #[must_use]
    pub fn header(&self) -> [String; 4] {
        let unit = match self.scale {
            TimeScale::Micros => "Microseconds",
            TimeScale::Nanos => "Nanoseconds",
        };
        let first = match self.statistic {
            Statistic::Minimum => "Minimum",
            Statistic::Maximum => "Maximum",
            Statistic::Mean => "Mean",
            Statistic::Deviation => "Stddev",
            Statistic::Quantile(_) => {
                let lines = [&self.ordinal(), "Percentile", self.subject.word(), unit];
                return lines.map(str::to_owned);
            }
        };
        [first, self.subject.word(), unit, ""].map(str::to_owned)
    }

    /// Its value as printed.
    #[must_use]
    pub fn print(&self, view: &View<'_>) -> Option<String> {
        let paced = || over_all(&view.outcome.iterations);
        let which = self.statistic;
        let value = match self.subject {
            Subject::Latency => of_operations(view, which, self.scale),
            Subject::Lateness => {
                let time = paced().and_then(|paced| lateness(&paced.lateness, which));
                scaled(time, self.scale)
            }
            Subject::Service => {
                let time = paced().and_then(|paced| nanos(paced.service.as_ref()?, which));
                scaled(time, self.scale)
            }
        };
        let is_short =
            self.scale == TimeScale::Micros && matches!(value, Value::Real(time) if time < SHORT);
        if is_short || which.is_moment() {
            value.print(FINE)
        } else {
            whole(value).print(WHOLE)
        }
    }

    /// The percentile as an ordinal: `95th`, `99.9th`, `1st`.
    fn ordinal(&self) -> String {
        let digits = self.name.split_once('_').map_or("", |(word, _)| &word[1..]);
        let ending = match digits.as_bytes() {
            _ if digits.contains('.') => "th",
            [.., b'1', _] => "th",
            [.., b'1'] => "st",
            [.., b'2'] => "nd",
            [.., b'3'] => "rd",
            _ => "th",
        };
        format!("{digits}{ending}")
    }
}

/// The share that a word such as `P99.9` stands for.
fn share(word: &str) -> Option<f64> {
    let digits = word.strip_prefix('P')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(whole) || !plain(fraction) {
        return None;
    }
    let percent: f64 = digits.parse().ok()?;
    (percent <= 100.0).then_some(percent / 100.0)
}

/// A statistic of the times of operations.
fn of_operations(view: &View<'_>, statistic: Statistic, scale: TimeScale) -> Value {
    let latency = view.outcome.latency.as_ref();
    latency.map_or(NOT_KEPT, |latency| scaled(nanos(latency, statistic), scale))
}

fn lateness(lateness: &Lateness, statistic: Statistic) -> Option<f64> {
    match (lateness, statistic) {
        (Lateness::Whole(times), which) => nanos(times, which),
        (Lateness::Told(_), Statistic::Mean) => lateness.mean(),
        (Lateness::Told(_), Statistic::Maximum) => lateness.quantile(1.0),
        (Lateness::Told(_), Statistic::Quantile(share)) => lateness.quantile(share),
        (Lateness::Told(_), Statistic::Minimum | Statistic::Deviation) => None,
    }
}

/// A time in its unit.
fn scaled(nanos: Option<f64>, scale: TimeScale) -> Value {
    let Some(nanos) = nanos.filter(|nanos| nanos.is_finite()) else {
        return NOT_MEASURED;
    };
    Value::Real(match scale {
        TimeScale::Micros => nanos / 1000.0,
        TimeScale::Nanos => nanos,
    })
}

/// In microseconds, for the table: whole numbers for what is one of the times, with the
/// fraction dropped as the original drops it.
pub(crate) fn micros(view: &View<'_>, which: Statistic) -> Value {
    let value = of_operations(view, which, TimeScale::Micros);
    if which.is_moment() {
        value
    } else {
        whole(value)
    }
}

fn nanos(latency: &Latency, statistic: Statistic) -> Option<f64> {
    let any = latency.count > 0;
    match statistic {
        Statistic::Minimum => any.then(|| count(latency.min)),
        Statistic::Maximum => any.then(|| count(latency.max)),
        Statistic::Mean => latency.mean(),
        Statistic::Deviation => latency.standard_deviation(),
        Statistic::Quantile(share) => latency.quantile(share),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "dropping the fraction is what is wanted; 2^63 ns are three centuries"
)]
fn whole(value: Value) -> Value {
    if let Value::Real(time) = value {
        Value::Int(time as i64)
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_decimal_percentile_is_a_name_in_any_case() {
        for (name, percent) in [
            ("P95_LATENCY", 95.0),
            ("p99.9_Latency", 99.9),
            ("P99.999_LATENCY", 99.999),
            ("P0_LATENCY", 0.0),
            ("P100_LATENCY", 100.0),
            ("P050_LATENCY_NS", 50.0),
        ] {
            let column = LatencyColumn::named(name).expect(name);
            assert_eq!(column.name(), name.to_ascii_uppercase());
            let Statistic::Quantile(share) = column.statistic else {
                panic!("{name} is {column:?}");
            };
            assert!((share * 100.0 - percent).abs() < 1e-9, "{name}");
        }
    }

    #[test]
    fn percentile_names_are_decimals_up_to_a_hundred() {
        for name in [
            "P_LATENCY",
            "P.5_LATENCY",
            "P5._LATENCY",
            "P101_LATENCY",
            "P100.1_LATENCY",
            "P-1_LATENCY",
            "P1E1_LATENCY",
            "PNAN_LATENCY",
            "PINF_LATENCY",
            "P99.9.9_LATENCY",
            "P99",
            "_LATENCY",
            "LATENCY_NS",
            "MIN_LATENCY_US",
            "P+9_LATENCY",
            "RT_LATENCY",
        ] {
            assert_eq!(LatencyColumn::named(name), None, "{name}");
        }
    }

    #[test]
    fn lateness_and_service_time_have_every_statistic_in_both_units() {
        for ending in ["LATENESS", "SERVICE_TIME"] {
            for word in ["MIN", "MAX", "MEAN", "STDDEV", "P50", "P99.9"] {
                for unit in ["", "_NS"] {
                    let name = format!("{word}_{ending}{unit}");
                    assert!(LatencyColumn::named(&name).is_some(), "{name}");
                }
            }
        }
        assert_eq!(LatencyColumn::named("MEAN_LATENCY"), None, "of the table");
    }

    #[test]
    fn headers_name_the_percentile_and_the_unit() {
        let header = |name| LatencyColumn::named(name).map(|column| column.header().join("|"));
        let expect = |text: &str| Some(text.to_owned());
        assert_eq!(
            header("p99.9_latency"),
            expect("99.9th|Percentile|Latency|Microseconds")
        );
        assert_eq!(
            header("P1_LATENCY_NS"),
            expect("1st|Percentile|Latency|Nanoseconds")
        );
        assert_eq!(
            header("P92_LATENCY"),
            expect("92nd|Percentile|Latency|Microseconds")
        );
        assert_eq!(
            header("P13_LATENCY"),
            expect("13th|Percentile|Latency|Microseconds")
        );
        assert_eq!(
            header("MEAN_LATENCY_NS"),
            expect("Mean|Latency|Nanoseconds|")
        );
    }
}
