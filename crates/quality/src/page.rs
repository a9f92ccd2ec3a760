//! A check as a page: the answer, three strips over one axis of time (down, up and latency), and the
//! distribution of the latency in each phase.

use netperf_stats::moments;
use netperf_text::look::TextLook;
use netperf_text::unit::{Quantity, Unit};
use netperf_web::chart::{Body, Chart, Line, LineNotes, Lines, LoadPhase, Point, Thin, X};
use netperf_web::table::Table;
use netperf_web::{Figure, TooLarge};

use crate::documents::CheckSeries;
use crate::profile::ServiceClass;
use crate::summary::CheckSummary;

/// The text of the page.
const LOOK: TextLook = TextLook {
    unicode: true,
    colour: false,
    columns: 120,
};

/// Title, name of the series, unit, and name of the values of each strip.
const STRIPS: [(&str, &str, Unit, &str); 3] = [
    ("From the server", "down", Unit::BitsPerSecond, "throughput"),
    ("To the server", "up", Unit::BitsPerSecond, "throughput"),
    ("Round trip", "round trip", Unit::Seconds, "latency"),
];

impl CheckSummary {
    /// The page: one file that loads nothing from elsewhere.
    ///
    /// # Errors
    /// When it would have more than a million bytes.
    pub fn page(&self) -> Result<String, TooLarge> {
        let title = format!("netperf check {}", self.host);
        let text = self.text(LOOK);
        // The answer stands at the top.
        let numbers = text.split_once("\n\n").map_or("", |(_, rest)| rest);
        let figures = [self.over_time(), self.by_percentile()];
        netperf_web::check_page((&title, &self.answer), &figures, numbers)
    }

    fn over_time(&self) -> Figure {
        let phases = self.phases_of_series();
        let strips = STRIPS.into_iter().filter_map(|(title, of, unit, y_name)| {
            let own: Vec<&CheckSeries> = self.series.iter().filter(|one| one.of == of).collect();
            let lines = Lines {
                x: X::Seconds,
                x_name: "time".to_owned(),
                unit,
                y_name: y_name.to_owned(),
                log: false,
                lines: self.lines_of(&own),
                thin: Thin::Shape,
                phases: phases.clone(),
            };
            let table = table_of(title, &own, &lines);
            (!own.is_empty()).then(|| (chart(&of.replace(' ', "-"), title, lines), table))
        });
        Figure {
            id: "over-time",
            heading: "Over time".to_owned(),
            about: "Throughput in each direction and the round trip of probes, on one axis of \
                    time. Each phase has its own load."
                .to_owned(),
            charts: strips.collect(),
            missing: Vec::new(),
        }
    }

    /// A line for each class, which is interrupted between phases.
    fn lines_of(&self, series: &[&CheckSeries]) -> Vec<Line> {
        let classes = self.settings.classes.iter().enumerate();
        let lines = classes.filter_map(|(number, class)| {
            let own = series.iter().filter(|series| series.class == class.word());
            let points: Vec<Point> = own.flat_map(|series| points(&series.points)).collect();
            (!points.is_empty()).then(|| self.line(class, number, "", points))
        });
        lines.collect()
    }

    /// A line. It is named where there are others.
    fn line(&self, class: &ServiceClass, at: usize, phase: &str, points: Vec<Point>) -> Line {
        let class = Some(class.word()).filter(|_| self.settings.classes.len() > 1);
        let name = match (class, phase) {
            (Some(class), "") => class.to_owned(),
            (Some(class), phase) => format!("{phase}, {class}"),
            (None, phase) => phase.to_owned(),
        };
        Line {
            name,
            colour: at % 6,
            dash: at / 6,
            points,
            spreads: Vec::new(),
            notes: LineNotes::default(),
        }
    }

    /// The phases with their times, from the first to the last value of any series.
    fn phases_of_series(&self) -> Vec<LoadPhase> {
        let mut phases: Vec<LoadPhase> = Vec::new();
        for series in &self.series {
            let times = || series.points.iter().map(|[at, _]| *at);
            let (from, to) = (
                times().fold(f64::INFINITY, f64::min),
                times().fold(f64::NEG_INFINITY, f64::max),
            );
            if from > to {
                continue;
            }
            match phases.iter_mut().find(|phase| phase.name == series.phase) {
                Some(LoadPhase { span, .. }) => *span = (span.0.min(from), span.1.max(to)),
                None => phases.push(LoadPhase {
                    name: series.phase.clone(),
                    span: (from, to),
                }),
            }
        }
        phases
    }

    /// Round trips of each phase and class, the shortest on the left.
    fn by_percentile(&self) -> Figure {
        let title = "Round trip by percentile";
        let head = [
            "phase",
            "probes",
            "min",
            "median",
            "95\u{a0}%",
            "99\u{a0}%",
            "max",
        ];
        let mut table = Table::new(title, 1, &head);
        let mut lines = Vec::new();
        for phase in &self.phases {
            for latency in &phase.latency {
                let probes = latency.probes.as_ref();
                let Some((times, all)) = probes.and_then(sorted).zip(latency.round_trip) else {
                    continue;
                };
                let points = shares(&times);
                let line = self.line(&latency.class, lines.len(), phase.phase.word(), points);
                let of = |value| Quantity::new(value, Unit::Seconds).to_string();
                table.rows.push(vec![
                    line.name.clone(),
                    all.count.to_string(),
                    of(all.min_seconds),
                    of(all.p50_seconds),
                    of(all.p95_seconds),
                    of(all.p99_seconds),
                    of(all.max_seconds),
                ]);
                lines.push(line);
            }
        }
        let has_lines = !lines.is_empty();
        let lines = Lines {
            x: X::Shares,
            x_name: "share of probes that took no longer".to_owned(),
            unit: Unit::Seconds,
            y_name: "round trip".to_owned(),
            log: true,
            lines,
            thin: Thin::Shape,
            phases: Vec::new(),
        };
        Figure {
            id: "percentiles",
            heading: title.to_owned(),
            about: "How long probes took in each phase. 99 % is one of a hundred.".to_owned(),
            charts: has_lines
                .then(|| (chart("percentiles", title, lines), table))
                .into_iter()
                .collect(),
            missing: Vec::new(),
        }
    }
}

fn chart(id: &str, title: &str, lines: Lines) -> Chart {
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        body: Body::Lines(lines),
    }
}

fn points(values: &[[f64; 2]]) -> impl Iterator<Item = Point> + '_ {
    let each = values.iter().enumerate();
    each.map(|(at, &[x, y])| Point {
        x,
        y,
        joined: at > 0,
    })
}

/// The round trips of answered probes in ascending order; `None` without any.
fn sorted(probes: &crate::probes::ProbeSet) -> Option<Vec<f64>> {
    let took = probes
        .round_trips()
        .into_iter()
        .filter_map(|(_, took)| took);
    let mut times: Vec<f64> = took.filter(|time| *time > 0.0).collect();
    times.sort_by(f64::total_cmp);
    (!times.is_empty()).then_some(times)
}

/// Each time at the share of all that took no longer, in the middle of its rank (Hazen).
fn shares(sorted: &[f64]) -> Vec<Point> {
    let count = moments::count(sorted.len());
    let each = sorted.iter().enumerate();
    each.map(|(at, time)| Point {
        x: (moments::count(at) + 0.5) / count,
        y: *time,
        joined: at > 0,
    })
    .collect()
}

/// Values of a strip in a table at most.
const ROWS: usize = 60;

fn table_of(title: &str, series: &[&CheckSeries], lines: &Lines) -> Table {
    let mut table = Table::new(title, 2, &["phase", "class", "time", &lines.y_name]);
    let values: usize = series.iter().map(|series| series.points.len()).sum();
    let every = values.div_ceil(ROWS).max(1);
    for series in series {
        for [at, value] in series.points.iter().step_by(every) {
            let value = Quantity::new(*value, lines.unit.clone());
            table.rows.push(vec![
                series.phase.clone(),
                series.class.clone(),
                lines.x_text(*at),
                value.to_string(),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stand_at_the_middle_of_their_ranks() {
        let places: Vec<f64> = shares(&[1.0, 2.0]).iter().map(|point| point.x).collect();
        assert_eq!(places, [0.25, 0.75]);
    }
}
