//! How well figures are known after a run that went on until they were (`--until`).

use serde_json::Value;

use super::super::field::{at, list, number, text, whole};
use crate::record::{KnownFigure, Until};
use crate::unit::{Quantity, Unit, figure};

/// What the document says of it, if anything.
pub(super) fn read(document: &Value) -> Option<Until> {
    let found = at(document, "until")?;
    let unit = text(found, "throughput_unit").unwrap_or_default();
    let mut figures = vec![KnownFigure {
        name: "throughput".to_owned(),
        ..known(at(found, "throughput"), rate(&unit))
    }];
    for percentile in list(found, "percentiles") {
        let percent = number(percentile, "percent").unwrap_or(0.0);
        figures.push(KnownFigure {
            name: format!("latency, {percent}\u{a0}%"),
            ..known(at(percentile, "seconds"), (1.0, Unit::Seconds))
        });
    }
    Some(Until {
        end: text(found, "end")?,
        wanted: number(found, "wanted_percent"),
        confidence: number(found, "confidence_percent"),
        seconds: number(found, "seconds"),
        every: number(found, "interval_seconds"),
        values: whole(found, "values"),
        warm_up: number(found, "warm_up_seconds"),
        course: course(found, rate(&unit)),
        correlation: number(found, "correlation"),
        figures,
        would_take: number(found, "would_take_seconds"),
    })
}

/// The unit that a rate is shown in, and how much of it one of the document's is.
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

fn known(found: Option<&Value>, (factor, unit): (f64, Unit)) -> KnownFigure {
    let part = |name: &str| {
        let value = number(found?, name)?;
        Some(Quantity::new(value * factor, unit.clone()))
    };
    KnownFigure {
        name: String::new(),
        value: part("value"),
        half_width: part("half_width"),
        percent: found.and_then(|found| number(found, "half_width_percent")),
    }
}

/// What the values look like, in a sentence.
fn course(found: &Value, (factor, unit): (f64, Unit)) -> Option<String> {
    let level = |name: &str| {
        let level = Quantity::new(number(found, name)? * factor, unit.clone());
        Some(level.to_string())
    };
    Some(match text(found, "course")?.as_str() {
        "stable" => "stable: the values stay around one level".to_owned(),
        "drifting" => match number(found, "drift_percent") {
            Some(drift) => format!(
                "drifting: {}\u{a0}% of the mean from the beginning to the end",
                figure(drift)
            ),
            None => "drifting: the level changes steadily".to_owned(),
        },
        "bimodal" => {
            let (low, high) = (level("low_throughput"), level("high_throughput"));
            match (low, high, number(found, "high_share_percent")) {
                (Some(low), Some(high), Some(share)) => format!(
                    "bimodal: {high} for {}\u{a0}% of the time, {low} for the rest",
                    figure(share)
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

    fn document() -> Value {
        json!({"until": {
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
        }})
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
    fn a_run_without_it_and_one_with_other_fields_have_none() {
        for document in [
            json!({}),
            json!({"until": null}),
            json!({"until": 3}),
            json!({"until": {"end": 1, "percentiles": {}}}),
        ] {
            assert_eq!(read(&document), None, "{document}");
        }
        let other = json!({"until": {"end": "reached", "throughput": [], "percentiles": [null]}});
        let found = read(&other).unwrap();
        assert_eq!(found.figures[0].percent, None);
        assert_eq!(found.course, None);
    }
}
