//! Latencies: by percentile, and over time.

use super::{Figure, chart, lines, missing, name, or_result};
use crate::chart::{Body, Chart, HeatMap, Lines, Point, Thin, X};
use crate::escape::capital;
use crate::record::{Distribution, Record, TimedOperation};
use crate::table::Table;
use crate::unit::{Quantity, Unit, whole};
use crate::words::shown;

/// Percentiles of the table.
pub(crate) const PERCENTILES: [(f64, &str); 7] = [
    (50.0, "median"),
    (90.0, "90\u{a0}%"),
    (95.0, "95\u{a0}%"),
    (99.0, "99\u{a0}%"),
    (99.9, "99.9\u{a0}%"),
    (99.99, "99.99\u{a0}%"),
    (99.999, "99.999\u{a0}%"),
];

const ADVICE: &str = "netperf keeps the times of operations with -j";

pub(super) fn spectrum(records: &[Record]) -> Figure {
    let mut figure = Figure {
        id: "latency",
        heading: "Latency by percentile".to_owned(),
        about: "How long operations took, the fastest on the left. Each step to the right \
                shows ten times rarer ones: 99 % is one of a hundred, 99.9 % one of a \
                thousand."
            .to_owned(),
        charts: Vec::new(),
        missing: missing(
            records,
            |record| record.spreads.is_empty(),
            "times of operations",
            ADVICE,
        ),
    };
    for operation in TimedOperation::ALL {
        let number = figure.charts.len();
        figure
            .charts
            .extend(by_percentile(records, operation, number));
    }
    let other = |spread: &Distribution| spread.operation != TimedOperation::RoundTrip;
    if records.iter().flat_map(|record| &record.spreads).any(other) {
        figure.heading = "Times by percentile".to_owned();
    }
    figure
}

/// The chart of the times of one operation, and its table. Different operations share none:
/// the time in a send call is no round trip.
fn by_percentile(
    records: &[Record],
    operation: TimedOperation,
    number: usize,
) -> Option<(Chart, Table)> {
    let mut lines = lines(
        records,
        |record| own(record, operation),
        |spread: &Distribution| (spread.name.as_str(), points(spread)),
    );
    lines.retain(|line| !line.points.is_empty());
    if lines.is_empty() {
        return None;
    }
    let mut values = lines.iter().flat_map(|line| &line.points);
    let log = values.all(|point| point.y > 0.0);
    let y_name = if operation == TimedOperation::RoundTrip {
        "time of an operation"
    } else {
        operation.time()
    };
    let lines = Lines {
        x: X::Shares,
        x_name: "share of operations that took no longer".to_owned(),
        unit: Unit::Seconds,
        y_name: y_name.to_owned(),
        log,
        lines,
        thin: Thin::Shape,
        phases: Vec::new(),
    };
    let title = format!("{} by percentile", capital(operation.time()));
    let (chart, _) = chart(("latency", number), &title, lines);
    Some((chart, table(records, operation, &title)))
}

/// The distributions of one operation in a record.
fn own(record: &Record, operation: TimedOperation) -> impl Iterator<Item = &Distribution> {
    let spreads = record.spreads.iter();
    spreads.filter(move |spread| spread.operation == operation)
}

/// The spectrum: a step for each range, from the share of operations seen before it to
/// that seen after it. The last would end at 1, which is nowhere on the axis, so it ends
/// where half of one is left, as Hazen's plotting positions have it.
fn points(spread: &Distribution) -> Vec<Point> {
    let count = spread.count();
    let (mut seen, mut before) = (0.0, 0.0);
    let mut points: Vec<Point> = Vec::new();
    let mut push = |x: f64, y: f64| {
        let joined = !points.is_empty();
        points.push(Point { x, y, joined });
    };
    for range in &spread.ranges {
        if seen == 0.0 {
            push(0.0, spread.shortest.unwrap_or(range.from));
        }
        seen += range.count;
        push(before, range.middle());
        before = (seen / count).min(1.0 - 0.5 / count);
        push(before, range.middle());
    }
    if let Some((last, longest)) = points.last_mut().zip(spread.longest) {
        last.y = longest.max(last.y);
    }
    points
}

fn table(records: &[Record], operation: TimedOperation, title: &str) -> Table {
    let mut head = vec!["of", "operations", "shortest", "mean"];
    head.extend(PERCENTILES.map(|(_, name)| name));
    head.push("longest");
    let mut table = Table::new(title, 1, &head);
    for record in records {
        for spread in own(record, operation) {
            let own = name(records, record, &spread.name);
            let mut row = vec![or_result(&own)];
            row.push(whole(spread.count()));
            row.push(seconds(spread.shortest));
            row.push(seconds(spread.mean));
            row.extend(PERCENTILES.map(|(percent, _)| seconds(spread.percentile(percent))));
            row.push(seconds(spread.longest));
            table.rows.push(row);
        }
    }
    table
}

fn seconds(value: Option<f64>) -> String {
    shown(value.map(|value| Quantity::new(value, Unit::Seconds)))
}

/// The identifier of the heat maps of a page.
const HEAT: &str = "latency-over-time";

/// Removes the heat maps from a page that would be too large with them.
pub(crate) fn leave_out_heat(figures: &mut [Figure]) {
    let heat = figures.iter_mut().find(|figure| figure.id == HEAT);
    if let Some(figure) = heat.filter(|figure| !figure.charts.is_empty()) {
        figure.charts.clear();
        figure.missing = vec![
            "No latency over time: with that of so many results the page would be too large. \
             Report fewer at once, or take the numbers from --csv."
                .to_owned(),
        ];
    }
}

pub(super) fn heat(records: &[Record]) -> Figure {
    let mut charts = Vec::new();
    for record in records {
        for heat in &record.heat {
            let own = name(records, record, &heat.name);
            let of = if own.is_empty() {
                String::new()
            } else {
                format!(": {own}")
            };
            let body = Body::Heat(HeatMap {
                columns: heat.columns.clone(),
            });
            let title = format!("{} over time{of}", capital(heat.operation.time()));
            let chart = Chart::new(HEAT, charts.len(), title, body);
            let table = heat_table(&chart.title, heat);
            charts.push((chart, table));
        }
    }
    let all = || records.iter().flat_map(|record| &record.heat);
    let is_latency = all().all(|heat| heat.operation == TimedOperation::RoundTrip);
    let advice = "netperf keeps them in intervals with -j and -D";
    Figure {
        id: HEAT,
        heading: if is_latency {
            "Latency over time"
        } else {
            "Times over time"
        }
        .to_owned(),
        about: "Each column is an interval of the run, each row a range of times. The further the \
                colour of a field is from the background, the more operations it counts: as many \
                as the number below the colour says, at most."
            .to_owned(),
        charts,
        missing: missing(
            records,
            |record| record.heat.is_empty(),
            "times of operations over time",
            advice,
        ),
    }
}

fn heat_table(title: &str, heat: &crate::record::Heat) -> Table {
    let every = heat.columns.len().div_ceil(super::ROWS).max(1);
    let mut table = Table::new(title, 1, &["until", "operations", "median", "longest"]);
    for group in heat.columns.chunks(every) {
        let mut ranges: Vec<_> = group
            .iter()
            .flat_map(|column| column.2.iter().copied())
            .collect();
        ranges.sort_by(|one, other| one.from.total_cmp(&other.from));
        let longest = ranges.last().map(|range| range.to);
        let spread = Distribution {
            ranges,
            ..Distribution::default()
        };
        let end = group.last().map(|column| column.1);
        let median = spread.percentile(50.0);
        table.rows.push(vec![
            seconds(end),
            whole(spread.count()),
            seconds(median),
            seconds(longest),
        ]);
    }
    table
}
