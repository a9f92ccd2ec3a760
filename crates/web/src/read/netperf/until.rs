//! The precision that a run with `--until` reached.

use netperf_report::document::{KnownInterval, UntilResult};

use super::text;
use crate::record::{KnownFigure, ReachedPrecision};
use crate::unit::{Quantity, Unit, figure};

/// The precision that was reached.
pub(super) fn read(found: &UntilResult) -> Option<ReachedPrecision> {
    let unit = found.throughput_unit.as_str();
    let mut figures = vec![KnownFigure {
        name: "throughput".to_owned(),
        ..known(found.throughput.as_ref(), rate(unit))
    }];
    figures.extend(found.percentiles.iter().map(|percentile| KnownFigure {
        name: format!("latency, {}\u{a0}%", percentile.percent),
        ..known(percentile.seconds.as_ref(), (1.0, Unit::Seconds))
    }));
    Some(ReachedPrecision {
        end: text(&found.end)?,
        wanted: found.wanted_percent.0,
        confidence: found.confidence_percent.0,
        seconds: Some(found.judged.as_secs_f64()),
        every: Some(found.interval.as_secs_f64()),
        values: u64::try_from(found.values).ok(),
        warm_up: Some(found.warm_up.as_secs_f64()),
        course: course(found, rate(unit)),
        correlation: found.correlation,
        figures,
        would_take: found.would_take_seconds.0,
    })
}

/// The unit that a rate is shown in, and its amount in one of the document's unit.
fn rate(label: &str) -> (f64, Unit) {
    let label = label.trim_end_matches("/s");
    let power = label
        .strip_prefix("10^")
        .and_then(|rest| rest.strip_suffix("bits"));
    match power.and_then(|power| power.parse::<u8>().ok()) {
        Some(power) if power <= 18 => (10_f64.powi(i32::from(power)), Unit::BitsPerSecond),
        _ if label == "Trans" => (1.0, Unit::TransactionsPerSecond),
        _ => (1.0, Unit::Other(format!("{label}/s"))),
    }
}

fn known(found: Option<&KnownInterval>, (factor, unit): (f64, Unit)) -> KnownFigure {
    let quantity = |value: f64| Quantity::new(value * factor, unit.clone());
    KnownFigure {
        name: String::new(),
        value: found.and_then(|known| known.value).map(quantity),
        half_width: found.and_then(|known| known.half_width.0).map(quantity),
        percent: found.and_then(|known| known.half_width_percent.0),
    }
}

/// The course of the values, in a sentence.
fn course(found: &UntilResult, (factor, unit): (f64, Unit)) -> Option<String> {
    let level = |level: f64| Quantity::new(level * factor, unit.clone());
    Some(match found.course.as_str() {
        "stable" => "stable: the values stay around one level".to_owned(),
        "drifting" => match found.drift_percent {
            Some(drift) => format!(
                "drifting: {}\u{a0}% of the mean from the beginning to the end",
                figure(drift)
            ),
            None => "drifting: the level changes steadily".to_owned(),
        },
        "bimodal" => {
            let (low, high) = (found.low_throughput.0, found.high_throughput.0);
            match (low, high, found.high_share_percent.0) {
                (Some(low), Some(high), Some(share)) => format!(
                    "bimodal: {} for {}\u{a0}% of the time, {} for the rest",
                    level(high),
                    figure(share),
                    level(low)
                ),
                _ => "bimodal: there are two levels".to_owned(),
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> UntilResult {
        let document = json!({
            "end": "too noisy", "wanted_percent": 1.0, "confidence_percent": 95.0,
            "seconds": 12.0, "interval_seconds": 0.01, "values": 1200,
            "warm_up_values": 20, "warm_up_seconds": 0.2, "correlation": 0.5,
            "course": "bimodal", "drift_percent": null, "low_throughput": 800.0,
            "high_throughput": 1000.0, "high_share_percent": 40.0,
            "throughput": {"value": 900.0, "half_width": 18.0, "half_width_percent": 2.0,
                "batch_values": 8, "batches": 140},
            "throughput_unit": "10^6bits",
            "percentiles": [{"percent": 99.0, "seconds": null}],
            "would_take_seconds": 48.0
        });
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn everything_it_says_is_read_in_units_of_the_page() {
        let found = read(&document()).unwrap();
        assert_eq!(found.end, "too noisy");
        assert_eq!(found.wanted, Some(1.0));
        let throughput = &found.figures[0];
        let value = throughput.value.clone().unwrap();
        assert_eq!((value.value, value.unit), (9e8, Unit::BitsPerSecond));
        assert_eq!(throughput.half_width.clone().unwrap().value, 1.8e7);
        assert_eq!(found.figures[1].name, "latency, 99\u{a0}%");
        assert_eq!(found.figures[1].value, None);
        let course = found.course.unwrap();
        assert!(
            course.starts_with("bimodal: 1.000\u{a0}Gbit/s for 40"),
            "{course}"
        );
    }

    #[test]
    fn without_an_end_and_without_figures_nothing_is_shown() {
        assert_eq!(read(&UntilResult::default()), None);
        let found = UntilResult {
            end: "reached".to_owned(),
            ..UntilResult::default()
        };
        let found = read(&found).unwrap();
        assert_eq!(found.figures[0].percent, None);
        assert_eq!(found.course, None);
    }
}
