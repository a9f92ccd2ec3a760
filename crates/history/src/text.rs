//! Answers of a history as text and as JSON.

use netperf_comparison::percent;
use netperf_stats::moments::{median, range};
use netperf_text::bars::{between, groups};
use netperf_text::unit::{Quantity, Unit};
use serde_json::{Value, json};

use crate::change::{Changes, LevelChange};
use crate::store::{Configuration, FigureKind, Listed, TrendPoint};
use crate::time;

/// The schema of documents about a history.
pub const SCHEMA: &str = "netperf-history-1";
/// Letters of a digest in tables.
const DIGEST: usize = 8;
/// Columns of a line of bars.
const BARS: usize = 60;
/// Columns of a line of bars in a table.
const SHORT_BARS: usize = 16;

/// Results in a table, in lines of at most this width.
#[must_use]
pub fn list(results: &[Listed], width: Option<usize>) -> String {
    if results.is_empty() {
        return "No result.\n".to_owned();
    }
    let head = [
        "id",
        "digest",
        "started (UTC)",
        "test",
        "host",
        "result",
        "label",
    ];
    let rows = results.iter().map(|result| {
        vec![
            result.id.to_string(),
            result.digest.chars().take(DIGEST).collect(),
            time::shown(result.started),
            result.test.clone(),
            result.host.clone(),
            marked(result),
            result.label.clone(),
        ]
    });
    aligned(&head, rows, &[0, 5], width)
}

/// The value of a result, with a mark if the run was cut short.
fn marked(result: &Listed) -> String {
    let value = value(result.value, &result.unit);
    if result.complete {
        value
    } else {
        format!("{value} (incomplete)")
    }
}

/// The same as a document.
#[must_use]
pub fn list_json(results: &[Listed]) -> Value {
    json!({"schema": SCHEMA, "results": results})
}

/// A figure of a configuration over time.
#[derive(Clone, Debug)]
pub struct Trend {
    /// Its configuration.
    pub configuration: Configuration,
    /// The figure.
    pub kind: FigureKind,
    /// Its values, the oldest first.
    pub points: Vec<TrendPoint>,
}

impl Trend {
    /// All of it: bars, and the last `rows` values.
    #[must_use]
    pub fn text(&self, rows: usize) -> String {
        let values: Vec<f64> = self.points.iter().map(|point| point.value).collect();
        let shown = |number: f64| value(number, &self.kind.unit);
        let mut text = heading(&self.configuration, &self.kind, &self.points);
        if let Some((low, high)) = range(&values) {
            text.push_str(&format!(
                "{}\nfrom {} to {}, median {}\n\n",
                bars(&values, BARS),
                shown(low),
                shown(high),
                median(&values).map_or_else(String::new, shown),
            ));
        }
        let skipped = self.points.len().saturating_sub(rows);
        let head = ["id", "started (UTC)", &self.kind.name, "change"];
        let last = self
            .points
            .iter()
            .enumerate()
            .skip(skipped)
            .map(|(at, point)| {
                let before = at.checked_sub(1).and_then(|at| values.get(at));
                vec![
                    point.result.to_string(),
                    time::shown(point.started),
                    shown(point.value),
                    before.map_or_else(String::new, |before| percent(point.value / before)),
                ]
            });
        text.push_str(&aligned(&head, last, &[0, 2, 3], None));
        if skipped > 0 {
            text.push_str(&format!("{skipped} earlier ones are not shown.\n"));
        }
        text
    }

    /// As a document.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "configuration": self.configuration,
            "metric": self.kind,
            "points": self.points,
        })
    }
}

/// Several configurations in a table, in lines of at most this width.
#[must_use]
pub fn trends(trends: &[Trend], width: Option<usize>) -> String {
    let head = [
        "configuration",
        "test",
        "host",
        "label",
        "results",
        "last",
        "",
    ];
    let rows = trends.iter().map(|trend| {
        let values: Vec<f64> = trend.points.iter().map(|point| point.value).collect();
        let of = &trend.configuration;
        vec![
            of.key.clone(),
            of.test.clone(),
            of.host.clone(),
            of.label.clone(),
            of.results.to_string(),
            values
                .last()
                .map_or_else(String::new, |last| value(*last, &trend.kind.unit)),
            bars(&values, SHORT_BARS),
        ]
    });
    aligned(&head, rows, &[4, 5], width)
}

/// The changes of one configuration.
#[must_use]
pub fn changes(found: &Changes) -> String {
    let mut text = heading(&found.configuration, &found.kind, &found.points);
    if found.changes.is_empty() {
        let chance = 100.0 * found.chance;
        text.push_str(&format!(
            "No change of level that chance explains with less than {chance} %.\n"
        ));
    }
    for change in &found.changes {
        text.push_str(&one_change(change, &found.kind));
    }
    text
}

fn one_change(change: &LevelChange, kind: &FigureKind) -> String {
    let level = |level: crate::change::Level| {
        let results = level.results;
        format!("{} ({results} results)", value(level.median, &kind.unit))
    };
    let mut text = format!(
        "{}, result {}: {} -> {}, {}, {}, p {}\n",
        time::shown(change.first.started),
        change.first.result,
        level(change.before),
        level(change.after),
        percent(change.ratio()),
        change.word(&kind.better),
        change.probability,
    );
    if change.differences.is_empty() {
        text.push_str("    Nothing that the manifests tell differs between both.\n");
    }
    for difference in &change.differences {
        let side = |side: &Option<String>| {
            let text = side.as_deref().map(netperf_web::escape::line);
            text.unwrap_or_else(|| "(not told, or off)".to_owned())
        };
        text.push_str(&format!(
            "    {}: {} -> {}\n",
            netperf_web::escape::line(&difference.name),
            side(&difference.before),
            side(&difference.after)
        ));
    }
    text
}

/// The same as a document.
#[must_use]
pub fn changes_json(found: &Changes) -> Value {
    let changes = found.changes.iter().map(|change| {
        json!({
            "first": change.first,
            "results_before": change.before.results,
            "results_after": change.after.results,
            "median_before": change.before.median,
            "median_after": change.after.median,
            "ratio": change.ratio(),
            "probability": change.probability,
            "outcome": change.word(&found.kind.better),
            "differences": change.differences,
        })
    });
    json!({
        "configuration": found.configuration,
        "metric": found.kind,
        "results": found.points.len(),
        "false_alarm_chance": found.chance,
        "changes": changes.collect::<Vec<_>>(),
    })
}

fn heading(of: &Configuration, kind: &FigureKind, points: &[TrendPoint]) -> String {
    let mut text = of.test.clone();
    for (word, name) in [("to", &of.host), ("called", &of.label)] {
        if !name.is_empty() {
            text.push_str(&format!(" {word} {name}"));
        }
    }
    text.push_str(&format!(
        ", configuration {}: {}, {} results",
        of.key,
        kind.name,
        points.len()
    ));
    if let (Some(first), Some(last)) = (points.first(), points.last()) {
        text.push_str(&format!(
            "\n{} to {} UTC",
            time::shown(first.started),
            time::shown(last.started)
        ));
    }
    format!("{text}\n{}\n\n", of.command)
}

/// The unit that a sign stands for.
fn unit(sign: &str) -> Unit {
    let known = [
        Unit::BitsPerSecond,
        Unit::TransactionsPerSecond,
        Unit::Seconds,
        Unit::Bytes,
        Unit::Percent,
    ];
    let found = known.into_iter().find(|unit| unit.sign() == sign);
    found.unwrap_or_else(|| Unit::Other(sign.to_owned()))
}

/// A value in its best unit.
#[must_use]
pub fn value(value: f64, sign: &str) -> String {
    Quantity::new(value, unit(sign)).to_string()
}

/// A bar for each value, or for the medians of groups so that there are not more.
fn bars(values: &[f64], most: usize) -> String {
    let medians: Vec<f64> = groups(values, most).filter_map(median).collect();
    between(&medians, true)
}

/// Cells in columns; those at `right` are numbers.
fn aligned(
    head: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
    right: &[usize],
    width: Option<usize>,
) -> String {
    let head = head.iter().map(|&cell| cell.to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    netperf_web::table::aligned_within(&rows, right, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_fill_a_line_at_most_and_show_the_level() {
        assert_eq!(bars(&[], BARS), "");
        assert_eq!(bars(&[2.0], BARS), "▅");
        assert_eq!(bars(&[1.0, 2.0, 8.0], BARS), "▁▂█");
        let many: Vec<f64> = (0..1000).map(f64::from).collect();
        assert!(bars(&many, BARS).chars().count() <= BARS);
    }

    #[test]
    fn a_bar_is_the_median_of_as_many_values_as_needed() {
        assert_eq!(bars(&[1.0, 1.0, 5.0, 9.0], 2), "▁█");
        assert_eq!(bars(&[1.0, 1.0, 5.0, 9.0, 9.0], 3), "▁▆█");
        assert_eq!(bars(&[4.0, 4.0], BARS), "▅▅");
    }

    fn configuration(host: &str, label: &str) -> Configuration {
        Configuration {
            id: 1,
            key: "0123456789ab".to_owned(),
            test: "TCP_RR".to_owned(),
            host: host.to_owned(),
            label: label.to_owned(),
            command: "netperf -t TCP_RR".to_owned(),
            results: 30,
            first: 0,
            last: 0,
        }
    }

    /// A rate of 100, 110 and 99 on the first days of 1970.
    fn trend() -> Trend {
        let points = [100.0, 110.0, 99.0].into_iter().zip(0_i64..);
        let points = points.map(|(value, day)| TrendPoint {
            started: day * 86_400_000_000,
            result: 7 + day,
            manifest: 1,
            value,
        });
        Trend {
            configuration: configuration("db1", "nightly"),
            kind: FigureKind {
                id: 1,
                name: "rate".to_owned(),
                unit: "transactions/s".to_owned(),
                better: "higher".to_owned(),
            },
            points: points.collect(),
        }
    }

    /// With ordinary blanks.
    fn plain(text: &str) -> String {
        text.replace('\u{a0}', " ")
    }

    #[test]
    fn a_trend_has_a_heading_bars_and_its_last_values() {
        let heading = "TCP_RR to db1 called nightly, configuration 0123456789ab: rate, 3 results\n\
                       1970-01-01 00:00:00 to 1970-01-03 00:00:00 UTC\n\
                       netperf -t TCP_RR\n\n";
        let expected = "▂█▁\n\
                        from 99.0 transactions/s to 110 transactions/s, median 100 transactions/s\n\n";
        let text = plain(&trend().text(2));
        let rows = "id  started (UTC)                       rate    change\n \
                    8  1970-01-02 00:00:00   110 transactions/s  +10.00 %\n \
                    9  1970-01-03 00:00:00  99.0 transactions/s  -10.00 %\n\
                    1 earlier ones are not shown.\n";
        assert_eq!(text, format!("{heading}{expected}{rows}"));
        let all = plain(&trend().text(3));
        assert!(all.ends_with("-10.00 %\n"), "{all}");
        // The first one has none to compare with.
        assert!(
            all.contains(" 7  1970-01-01 00:00:00   100 transactions/s\n"),
            "{all}"
        );
    }

    #[test]
    fn a_heading_names_a_host_and_a_label_only_where_there_are_some() {
        let trend = Trend {
            configuration: configuration("", ""),
            points: Vec::new(),
            ..trend()
        };
        let heading = "TCP_RR, configuration 0123456789ab: rate, 0 results\nnetperf -t TCP_RR\n\n";
        assert_eq!(
            trend.text(5),
            format!("{heading}id  started (UTC)  rate  change\n")
        );
    }

    #[test]
    fn several_trends_have_a_line_each() {
        let empty = Trend {
            configuration: configuration("db2", ""),
            points: Vec::new(),
            ..trend()
        };
        let table = "configuration  test    host  label    results                 last\n\
                     0123456789ab   TCP_RR  db1   nightly       30  99.0 transactions/s  ▂█▁\n\
                     0123456789ab   TCP_RR  db2                 30\n";
        assert_eq!(plain(&trends(&[trend(), empty], None)), table);
        let document = trend().json();
        assert_eq!(document["configuration"]["key"], "0123456789ab");
        assert_eq!(document["metric"]["name"], "rate");
        assert_eq!(document["points"][1]["value"], 110.0);
    }

    fn listed() -> Listed {
        Listed {
            id: 12,
            digest: "abcdef0123456789".to_owned(),
            started: 86_400_000_000,
            configuration: "0123456789ab".to_owned(),
            test: "TCP_RR".to_owned(),
            host: "db1".to_owned(),
            label: "nightly".to_owned(),
            command: "netperf -t TCP_RR".to_owned(),
            value: 2500.0,
            unit: "transactions/s".to_owned(),
            complete: true,
        }
    }

    #[test]
    fn a_list_has_a_line_for_each_result() {
        let table = "id  digest    started (UTC)        test    host                result  label\n\
                     12  abcdef01  1970-01-02 00:00:00  TCP_RR  db1   2.50k transactions/s  nightly\n";
        assert_eq!(plain(&list(&[listed()], None)), table);
        assert_eq!(list(&[], None), "No result.\n");
        let document = list_json(&[listed()]);
        assert_eq!(document["schema"], SCHEMA);
        assert_eq!(document["results"][0]["digest"], "abcdef0123456789");
    }

    fn found(better: &str, changes: Vec<LevelChange>) -> Changes {
        let mut trend = trend();
        trend.kind.better = better.to_owned();
        Changes {
            configuration: trend.configuration,
            kind: trend.kind,
            chance: 0.01,
            points: trend.points,
            changes,
        }
    }

    fn level_change() -> LevelChange {
        let level = |results, median| crate::change::Level { results, median };
        let difference = |name: &str, before, after| crate::manifest::Difference {
            name: name.to_owned(),
            before,
            after,
        };
        let text = |text: &str| Some(text.to_owned());
        LevelChange {
            first: trend().points[2],
            before: level(20, 200.0),
            after: level(10, 300.0),
            probability: 0.004,
            differences: vec![
                difference("kernel", text("6.1"), text("6.\n2")),
                difference("turbo", None, text("on")),
            ],
        }
    }

    #[test]
    fn a_change_is_told_with_both_levels_and_what_differs() {
        let change = "1970-01-03 00:00:00, result 9: 200 transactions/s (20 results) -> \
                      300 transactions/s (10 results), +50.00 %, better, p 0.004\n";
        let facts = "    kernel: 6.1 -> 6.\u{fffd}2\n    turbo: (not told, or off) -> on\n";
        let text = plain(&changes(&found("higher", vec![level_change()])));
        assert!(text.starts_with("TCP_RR to db1"), "{text}");
        assert!(text.ends_with(&format!("\n\n{change}{facts}")), "{text}");
        let alike = LevelChange {
            differences: Vec::new(),
            ..level_change()
        };
        let text = changes(&found("lower", vec![alike]));
        let end = "worse, p 0.004\n    Nothing that the manifests tell differs between both.\n";
        assert!(text.ends_with(end), "{text}");
        let none = changes(&found("higher", Vec::new()));
        let end = "\n\nNo change of level that chance explains with less than 1 %.\n";
        assert!(none.ends_with(end), "{none}");
    }

    #[test]
    fn a_document_of_changes_has_the_same() {
        let document = changes_json(&found("lower", vec![level_change()]));
        assert_eq!(document["results"], 3);
        assert_eq!(document["false_alarm_chance"], 0.01);
        let change = &document["changes"][0];
        assert_eq!(change["outcome"], "worse");
        assert_eq!(
            (&change["ratio"], &change["probability"]),
            (&json!(1.5), &json!(0.004))
        );
        let levels = [
            "results_before",
            "results_after",
            "median_before",
            "median_after",
        ];
        let expected = [json!(20), json!(10), json!(200.0), json!(300.0)];
        assert_eq!(levels.map(|name| change[name].clone()), expected);
        assert_eq!(change["differences"][1]["name"], "turbo");
    }

    #[test]
    fn a_value_is_shown_by_the_sign_of_its_unit() {
        assert_eq!(value(2.5e9, "bit/s").replace('\u{a0}', " "), "2.50 Gbit/s");
        assert_eq!(
            value(3.0, "furlongs").replace('\u{a0}', " "),
            "3.00 furlongs"
        );
    }
}
