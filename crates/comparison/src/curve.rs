//! The runs of a sweep together: medians over what was varied.

use netperf_stats::moments::{median, range};
use netperf_text::{csv, escape};
use netperf_web::Record;
use netperf_web::curve::{Curve, CurveLine, Drawing, Spot};
use netperf_web::table::Table;
use netperf_web::unit::{Quantity, Unit};

use crate::figures;
use crate::sweep::Plan;

/// Percentiles of times of operations that share a chart.
const PERCENTILES: [&str; 2] = ["p50", "p99"];
/// Lines of one chart at most, so that they can be told apart.
const COLOURS: usize = 6;

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct SweepRun {
    /// Which point, from 0.
    pub point: usize,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// Its result, or why there is none.
    pub record: Result<Record, String>,
    /// Settings that are not in force as they were asked for.
    pub warnings: Vec<String>,
}

/// The values of one figure, point by point.
struct SweepColumn {
    name: String,
    unit: Unit,
    values: Vec<Vec<f64>>,
}

impl SweepColumn {
    /// True for times of operations.
    fn is_time(&self) -> bool {
        self.unit == Unit::Seconds && !self.is_cpu()
    }

    fn is_cpu(&self) -> bool {
        netperf_web::is_of_cpu(&self.name)
    }
}

/// The columns of [`PERCENTILES`]: what took that time, the percentile, and its column. Kinds of
/// operations with separate names have none.
fn percentiles(columns: &[SweepColumn]) -> Vec<(&str, &'static str, &SweepColumn)> {
    let of = |percentile: &'static str| {
        let mut times = columns.iter().filter(|column| column.is_time());
        times.find_map(|column| {
            let what = column.name.strip_suffix(percentile)?.trim_end();
            (!what.contains(", ")).then_some((what, percentile, column))
        })
    };
    PERCENTILES.into_iter().filter_map(of).collect()
}

/// All figures of all points.
fn columns(points: usize, runs: &[SweepRun]) -> Vec<SweepColumn> {
    let mut columns: Vec<SweepColumn> = Vec::new();
    for run in runs {
        let Ok(record) = &run.record else { continue };
        for figure in figures::of(record) {
            let quantity = figure.quantity;
            let same =
                |column: &SweepColumn| column.name == figure.name && column.unit == quantity.unit;
            let at = columns.iter().position(same).unwrap_or_else(|| {
                columns.push(SweepColumn {
                    name: figure.name.clone(),
                    unit: quantity.unit.clone(),
                    values: vec![Vec::new(); points],
                });
                columns.len() - 1
            });
            let values = columns
                .get_mut(at)
                .and_then(|one| one.values.get_mut(run.point));
            if let Some(values) = values.filter(|_| quantity.value.is_finite()) {
                values.push(quantity.value);
            }
        }
    }
    columns
}

fn spot(values: &[f64]) -> Option<Spot> {
    let (low, high) = range(values)?;
    Some(Spot {
        median: median(values)?,
        low,
        high,
        runs: values.len(),
    })
}

/// Results of a sweep.
#[must_use]
pub fn curve(plan: &Plan, runs: &[SweepRun]) -> Curve {
    let points = plan.points();
    let columns = columns(points.len(), runs);
    let Some(axis) = plan.over.first() else {
        return Curve::default();
    };
    let failed = runs.iter().filter_map(|run| {
        let why = run.record.as_ref().err()?;
        let name = plan.name_of(points.get(run.point)?);
        Some(escape::line(&format!(
            "{name}, run {}: {why}",
            run.repetition
        )))
    });
    Curve {
        x_name: named_axis(plan, &axis.name),
        places: axis.values.clone(),
        numbers: axis.numbers(),
        drawings: drawings(plan, &points, &columns),
        summary: summary(plan, &points, &columns),
        failures: failed.collect(),
    }
}

/// The name of the axis: the option that has the value, with the name that the user gave to it
/// where that says more.
fn named_axis(plan: &Plan, name: &str) -> String {
    let place = format!("{{{name}}}");
    let option = plan.command.iter().enumerate().find_map(|(at, word)| {
        let (before, _) = word.split_once(&place)?;
        let word = match before.strip_suffix('=') {
            Some(long) => long,
            None if before.is_empty() => plan.command.get(at.checked_sub(1)?)?,
            None => before,
        };
        word.starts_with('-').then_some(word)
    });
    match option {
        Some(option) if option.trim_start_matches('-') == name => option.to_owned(),
        Some(option) => format!("{name} ({option})"),
        None => name.to_owned(),
    }
}

/// The lines of a column: one for each combination of what else was varied.
fn lines(
    plan: &Plan,
    points: &[Vec<String>],
    column: &SweepColumn,
    (own, dash): (&str, usize),
) -> Vec<CurveLine> {
    // The first parameter changes slowest, so that the others go round within it.
    let axis = plan.over.first().map_or(1, |axis| axis.values.len().max(1));
    let others = points.len() / axis;
    let line = |other: usize| {
        let spots = (0..axis).map(|at| spot(column.values.get(at * others + other)?));
        let spots: Vec<Option<Spot>> = spots.collect();
        let mut words = Vec::new();
        let values = points.get(other).into_iter().flatten();
        for (parameter, value) in plan.over.iter().zip(values).skip(1) {
            words.push(format!("{}={value}", parameter.name));
        }
        words.extend((!own.is_empty()).then(|| own.to_owned()));
        CurveLine {
            name: words.join(" "),
            colour: other % COLOURS,
            dash: dash + other / COLOURS,
            spots,
        }
    };
    let lines = (0..others).map(line);
    let lines = lines.filter(|line| line.spots.iter().any(Option::is_some));
    lines.collect()
}

fn drawings(plan: &Plan, points: &[Vec<String>], columns: &[SweepColumn]) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    let drawing = |name: &str, unit: &Unit, lines: Vec<CurveLine>| Drawing {
        title: format!("{} over {}", escape::capital(name), axis_name(plan)),
        y_name: name.to_owned(),
        unit: unit.clone(),
        lines,
    };
    let percentiles = percentiles(columns);
    let mut times = Vec::new();
    for (dash, (_, own, column)) in percentiles.iter().enumerate() {
        times.extend(lines(plan, points, column, (own, dash)));
    }
    for column in columns.iter().filter(|one| !one.is_time()) {
        let lines = lines(plan, points, column, ("", 0));
        drawings.push(drawing(&column.name, &column.unit, lines));
    }
    if let Some((what, _, _)) = percentiles.first() {
        let at = drawings.len().min(1);
        drawings.insert(at, drawing(what, &Unit::Seconds, times));
    }
    drawings
}

fn axis_name(plan: &Plan) -> &str {
    plan.over.first().map_or("", |axis| axis.name.as_str())
}

/// All points with their results and the middle and the end of their latency.
fn summary(plan: &Plan, points: &[Vec<String>], columns: &[SweepColumn]) -> Table {
    let mut head: Vec<&str> = plan.over.iter().map(|one| one.name.as_str()).collect();
    let texts = head.len();
    head.extend(["result", "min", "max", "runs"]);
    let times: Vec<&SweepColumn> = percentiles(columns)
        .into_iter()
        .map(|(_, _, column)| column)
        .collect();
    head.extend(times.iter().map(|column| column.name.as_str()));
    let mut table = Table::new("Points", texts, &head);
    let results = || columns.iter().filter(|one| !one.is_time() && !one.is_cpu());
    for (at, point) in points.iter().enumerate() {
        let mut row = point.clone();
        let of = |column: &SweepColumn| column.values.get(at).and_then(|values| spot(values));
        let text = |value, unit: &Unit| Quantity::new(value, unit.clone()).to_string();
        let found = results().find_map(|column| Some((of(column)?, &column.unit)));
        match found {
            Some((spot, unit)) => {
                row.extend([spot.median, spot.low, spot.high].map(|value| text(value, unit)));
                row.push(spot.runs.to_string());
            }
            None => row.extend(["–", "–", "–", "0"].map(str::to_owned)),
        }
        row.extend(times.iter().map(|column| {
            of(column).map_or_else(|| "–".to_owned(), |spot| text(spot.median, &column.unit))
        }));
        table.rows.push(row);
    }
    table
}

/// Every run with its figures, as CSV: one row for each.
#[must_use]
pub fn runs(plan: &Plan, runs: &[SweepRun]) -> String {
    let points = plan.points();
    let mut names: Vec<(String, String)> = Vec::new();
    for record in runs.iter().filter_map(|run| run.record.as_ref().ok()) {
        for figure in figures::of(record) {
            let own = (figure.name, figure.quantity.unit.sign().to_owned());
            if !names.contains(&own) {
                names.push(own);
            }
        }
    }
    let mut head: Vec<String> = plan.over.iter().map(|one| csv::text(&one.name)).collect();
    head.extend(["run", "failed"].map(str::to_owned));
    head.extend(
        names
            .iter()
            .map(|(name, unit)| csv::text(&format!("{name} [{unit}]"))),
    );
    head.push("warnings".to_owned());
    let mut text = csv::line(head.into_iter());
    for run in runs {
        let values = points.get(run.point).into_iter().flatten();
        let mut row: Vec<String> = values.map(|value| csv::text(value)).collect();
        row.push(run.repetition.to_string());
        let figures = match &run.record {
            Ok(record) => figures::of(record),
            Err(_) => Vec::new(),
        };
        let why = run.record.as_ref().err().map_or("", String::as_str);
        row.push(csv::text(&escape::line(why)));
        row.extend(names.iter().map(|(name, unit)| {
            let own = figures
                .iter()
                .find(|figure| figure.name == *name && figure.quantity.unit.sign() == *unit);
            own.map_or_else(String::new, |figure| csv::number(figure.quantity.value))
        }));
        row.push(csv::text(&escape::line(&run.warnings.join("; "))));
        text.push_str(&csv::line(row.into_iter()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(over: &[&str]) -> Plan {
        let over: Vec<String> = over.iter().map(|&text| text.to_owned()).collect();
        let command = ["-m", "{m}", "-b", "{b}"].map(str::to_owned).to_vec();
        Plan::new(command, &over, 2).unwrap()
    }

    fn run(point: usize, repetition: u32, rate: Option<f64>) -> SweepRun {
        let record = rate.map(|rate| Record {
            headline: Some(Quantity::new(rate, Unit::BitsPerSecond)),
            ..Record::default()
        });
        SweepRun {
            point,
            repetition,
            record: record.ok_or_else(|| "no netserver".to_owned()),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn axis_has_the_name_of_the_option_that_is_varied() {
        for (command, over, wanted) in [
            (&["-m", "{m}"][..], "m=1,2", "-m"),
            (&["-m", "{size}"], "size=1,2", "size (-m)"),
            (&["--rate={r}"], "r=1,2", "r (--rate)"),
            (&["-m{m}"], "m=1,2", "-m"),
            (&["-H", "host", "a{m}"], "m=1,2", "m"),
        ] {
            let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
            let plan = Plan::new(command, &[over.to_owned()], 1).unwrap();
            assert_eq!(curve(&plan, &[]).x_name, wanted);
        }
    }

    #[test]
    fn each_combination_of_the_others_has_a_line_of_medians() {
        let plan = plan(&["m=1,2", "b=0,8"]);
        let runs: Vec<SweepRun> = [(0, 10.0), (1, 20.0), (2, 30.0), (3, 40.0), (0, 14.0)]
            .into_iter()
            .map(|(point, rate)| run(point, 1, Some(rate)))
            .chain([run(1, 2, None)])
            .collect();
        let curve = curve(&plan, &runs);
        assert_eq!(curve.numbers, Some(vec![1.0, 2.0]));
        let [drawing] = curve.drawings.as_slice() else {
            panic!("{curve:?}")
        };
        assert_eq!(drawing.title, "Throughput over m");
        let names: Vec<&str> = drawing
            .lines
            .iter()
            .map(|line| line.name.as_str())
            .collect();
        assert_eq!(names, ["b=0", "b=8"]);
        let first = drawing.lines[0].spots[0].unwrap();
        assert_eq!(
            (first.median, first.low, first.high, first.runs),
            (12.0, 10.0, 14.0, 2)
        );
        assert_eq!(drawing.lines[1].spots[1].unwrap().median, 40.0);
        assert_eq!(curve.failures, ["m=1 b=8, run 2: no netserver"]);
        assert_eq!(curve.summary.rows.len(), 4);
        assert_eq!(curve.summary.rows[0][..2], ["1", "0"]);
        let table = super::runs(&plan, &runs);
        let begins =
            "\"m\",\"b\",run,failed,\"throughput [bit/s]\",warnings\n\"1\",\"0\",1,\"\",10,\"\"\n";
        assert!(table.starts_with(begins), "{table}");
        let ends = "\"1\",\"8\",2,\"no netserver\",,\"\"\n";
        assert!(table.ends_with(ends), "{table}");
    }

    #[test]
    fn words_on_the_axis_make_bars() {
        let plan = plan(&["m=b,a", "b=0"]);
        let runs = [run(0, 1, Some(5.0)), run(1, 1, Some(6.0))];
        let curve = curve(&plan, &runs);
        assert_eq!(curve.numbers, None);
        let charts = curve.charts();
        assert_eq!(charts.len(), 1);
        assert!(matches!(
            charts[0].0.body,
            netperf_web::chart::Body::Bars(_)
        ));
    }
}
