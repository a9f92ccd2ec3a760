//! Curves: figures over a value that was varied.

use std::fmt::Write as _;

use crate::chart::{Bar, Bars, Body, Chart, Line, LineNotes, Lines, Point, Thin, X, is_wide};
use crate::escape::markdown as escaped;
use crate::figure::or_result;
use crate::page::{self, TooLarge};
use crate::record::Record;
use crate::table::Table;
use crate::unit::{Quantity, Unit};

/// Figures over a varied value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// The name of the varied value.
    pub x_name: String,
    /// Its values, as they were written.
    pub places: Vec<String>,
    /// The values as numbers in ascending order, if they are numbers.
    pub numbers: Option<Vec<f64>>,
    /// The figures, one chart for each.
    pub drawings: Vec<Drawing>,
    /// All points with their figures.
    pub summary: Table,
    /// Runs that failed, and why.
    pub failures: Vec<String>,
}

/// One figure of all points.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// The title of the chart.
    pub title: String,
    /// The name of its axis.
    pub y_name: String,
    /// The unit.
    pub unit: Unit,
    /// A line for each combination of what else was varied.
    pub lines: Vec<CurveLine>,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveLine {
    /// Its name in the legend.
    pub name: String,
    /// Which colour.
    pub colour: usize,
    /// Which pattern of dashes.
    pub dash: usize,
    /// A value for each place, where there is one.
    pub spots: Vec<Option<Spot>>,
}

/// The runs of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// Their median.
    pub median: f64,
    /// The least of them.
    pub low: f64,
    /// The greatest.
    pub high: f64,
    /// The number of runs.
    pub runs: usize,
}

impl Curve {
    /// Its charts, each with a table of the same.
    #[must_use]
    pub fn charts(&self) -> Vec<(Chart, Table)> {
        let drawings = self.drawings.iter().enumerate();
        let chart = |(index, drawing): (usize, &Drawing)| {
            let body = match &self.numbers {
                Some(numbers) => Body::Lines(self.lines(drawing, numbers)),
                None => Body::Bars(self.bars(drawing)),
            };
            let id = format!("curve-{}", index + 1);
            let chart = Chart::new(&id, 0, drawing.title.as_str(), body);
            (chart, self.table(drawing))
        };
        drawings.map(chart).collect()
    }

    fn lines(&self, drawing: &Drawing, numbers: &[f64]) -> Lines {
        let wide = is_wide(numbers.iter().copied());
        let values = drawing.lines.iter().flat_map(|line| &line.spots);
        let medians = values.flatten().map(|spot| spot.median);
        let line = |line: &CurveLine| {
            let spots = numbers.iter().zip(&line.spots);
            let mut points = Vec::new();
            let mut spreads = Vec::new();
            let mut joined = false;
            for (x, spot) in spots {
                let Some(spot) = spot else {
                    joined = false;
                    continue;
                };
                points.push(Point {
                    x: *x,
                    y: spot.median,
                    joined,
                });
                spreads.push((spot.low, spot.high, spot.runs));
                joined = true;
            }
            Line {
                name: line.name.clone(),
                colour: line.colour,
                dash: line.dash,
                points,
                spreads,
                notes: LineNotes::default(),
            }
        };
        Lines {
            x: X::Numbers { log: wide },
            x_name: self.x_name.clone(),
            unit: drawing.unit.clone(),
            y_name: drawing.y_name.clone(),
            log: (wide && is_wide(medians.clone()))
                || (drawing.unit == Unit::Seconds && medians.clone().all(|time| time > 0.0)),
            lines: drawing.lines.iter().map(line).collect(),
            thin: Thin::Shape,
            phases: Vec::new(),
        }
    }

    fn bars(&self, drawing: &Drawing) -> Bars {
        let places = self.places.iter().enumerate();
        let bars = places.flat_map(|(at, place)| {
            drawing.lines.iter().filter_map(move |line| {
                let spot = (*line.spots.get(at)?)?;
                let name = if line.name.is_empty() {
                    place.clone()
                } else {
                    format!("{place}, {}", line.name)
                };
                Some(Bar {
                    name,
                    parts: vec![(line.colour, spot.median)],
                    total: spot.median,
                })
            })
        });
        Bars {
            unit: drawing.unit.clone(),
            parts: Vec::new(),
            bars: bars.collect(),
            reach: 0.0,
        }
    }

    fn table(&self, drawing: &Drawing) -> Table {
        let head = ["series", &self.x_name, "median", "min", "max", "runs"];
        let mut table = Table::new(&drawing.title, 1, &head);
        for line in &drawing.lines {
            for (place, spot) in self.places.iter().zip(&line.spots) {
                let Some(spot) = spot else { continue };
                let text = |value| Quantity::new(value, drawing.unit.clone()).to_string();
                table.rows.push(vec![
                    or_result(&line.name),
                    place.clone(),
                    text(spot.median),
                    text(spot.low),
                    text(spot.high),
                    spot.runs.to_string(),
                ]);
            }
        }
        table
    }

    /// One page with everything, `record` being one of the runs.
    ///
    /// # Errors
    /// When it would have more than a million bytes.
    pub fn page(&self, title: &str, record: Option<&Record>) -> Result<String, TooLarge> {
        let mut summary = String::new();
        _ = write!(
            summary,
            "<section id=\"numbers\"><h2>Numbers</h2>\n{}",
            self.summary.html()
        );
        let (class, heading) = ("doubts failed", "Runs that failed");
        page::doubts(&mut summary, class, heading, &self.failures);
        summary.push_str("</section>\n");
        let about = "Each point is the median of its runs; a band goes from the least to the \
                     greatest of them.";
        page::of_curve(title, &summary, (about, &self.charts()), record)
    }

    /// The points and the runs that failed, as Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = self.summary.markdown();
        for failure in &self.failures {
            _ = write!(text, "\n**Failed:** {}\n", escaped(failure));
        }
        text
    }
}
