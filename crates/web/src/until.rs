//! The precision of a run with `--until`, in words and tables.

use netperf_report::document::{KnownInterval, UntilResult};

use crate::record::known;
use crate::table::Table;
use crate::unit::{Quantity, Unit, figure, whole};
use crate::words::shown;

/// A figure and its precision.
pub(crate) struct KnownFigure {
    /// Its name.
    pub(crate) name: String,
    /// The figure.
    pub(crate) value: Option<Quantity>,
    /// Half the width of the interval around it.
    pub(crate) half_width: Option<Quantity>,
    /// The same in percent of the figure.
    pub(crate) percent: Option<f64>,
}

/// The figures of a run, the throughput first.
pub(crate) fn figures(until: &UntilResult) -> Vec<KnownFigure> {
    let unit = rate(&until.throughput_unit);
    let throughput = until.throughput.as_ref();
    let mut figures = vec![known_figure("throughput".to_owned(), throughput, unit)];
    figures.extend(until.percentiles.iter().map(|percentile| {
        let name = format!("latency, {}\u{a0}%", percentile.percent);
        known_figure(name, percentile.seconds.as_ref(), (1.0, Unit::Seconds))
    }));
    figures
}

fn known_figure(
    name: String,
    found: Option<&KnownInterval>,
    (factor, unit): (f64, Unit),
) -> KnownFigure {
    let quantity = |value: f64| Quantity::new(value * factor, unit.clone());
    KnownFigure {
        name,
        value: found.and_then(|known| known.value).map(quantity),
        half_width: found.and_then(|known| known.half_width.0).map(quantity),
        percent: found.and_then(|known| known.half_width_percent.0),
    }
}

/// The requested precision and the time that it took, each with its name.
pub(crate) fn facts(until: &UntilResult) -> Vec<(String, String)> {
    let seconds = |value: f64| Quantity::new(value, Unit::Seconds).to_string();
    let percent = |value: f64| Quantity::new(value, Unit::Percent).brief();
    let asked = until.wanted_percent.0.map(|wanted| {
        let confidence = until
            .confidence_percent
            .0
            .map_or_else(String::new, |level| {
                format!(" with {} confidence", percent(level))
            });
        format!("±{}{confidence}", percent(wanted))
    });
    let took = format!(
        "{}: {} values of {}",
        seconds(until.judged.as_secs_f64()),
        until.values,
        seconds(until.interval.as_secs_f64())
    );
    let warm_up = until.warm_up.as_secs_f64();
    let warm_up = if warm_up > 0.0 {
        format!("the first {}", seconds(warm_up))
    } else {
        "nothing".to_owned()
    };
    known([
        ("asked for", asked),
        ("judged", Some(took)),
        ("left out as warm-up", Some(warm_up)),
        ("course", course(until)),
        ("correlation of neighbours", until.correlation.map(figure)),
        ("would take", until.would_take_seconds.0.map(long)),
    ])
}

/// A time of which only the size matters.
fn long(seconds: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes")];
    let fits = |(unit, _): &&(f64, &str)| seconds >= 3.0 * unit;
    let (unit, name) = UNITS.iter().find(fits).unwrap_or(&(1.0, "s"));
    format!("about {}\u{a0}{name}", whole((seconds / unit).ceil()))
}

/// The figures of a run with `--until`, and their precision.
pub(crate) fn table(label: &str, until: &UntilResult) -> Table {
    let caption = format!("How well {label} is known");
    let mut table = Table::new(&caption, 1, &["metric", "value", "±", "± in %"]);
    for known in figures(until) {
        table.rows.push(vec![
            known.name,
            shown(known.value),
            shown(known.half_width),
            shown(known.percent.map(figure)),
        ]);
    }
    table
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

/// The course of the values, in a sentence.
fn course(found: &UntilResult) -> Option<String> {
    let (factor, unit) = rate(&found.throughput_unit);
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
    fn until_texts_use_the_units_of_the_page() {
        let until = document();
        let found = figures(&until);
        let throughput = &found[0];
        let value = throughput.value.clone().unwrap();
        assert_eq!((value.value, value.unit), (9e8, Unit::BitsPerSecond));
        assert_eq!(throughput.half_width.clone().unwrap().value, 1.8e7);
        assert_eq!(found[1].name, "latency, 99\u{a0}%");
        assert_eq!(found[1].value, None);
        let course = course(&until).unwrap();
        assert!(
            course.starts_with("bimodal: 1.00\u{a0}Gbit/s for 40"),
            "{course}"
        );
        let facts = facts(&until);
        let fact = |name: &str| facts.iter().find(|(known, _)| known == name).unwrap();
        let asked = fact("asked for").1.replace('\u{a0}', " ");
        assert_eq!(asked, "±1 % with 95 % confidence");
        let judged = fact("judged").1.replace('\u{a0}', " ");
        assert_eq!(judged, "12.0 s: 1200 values of 10.0 ms");
    }

    #[test]
    fn without_figures_nothing_is_shown() {
        let until = UntilResult::default();
        assert_eq!(figures(&until)[0].percent, None);
        assert_eq!(course(&until), None);
    }
}
