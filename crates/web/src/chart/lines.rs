//! Lines over an axis.

use super::frame::{Axis, PlotFrame, framed};
use super::legend::{self, Sign};
use super::scale::{AxisScale, Law};
use super::scene::{Anchor, Ink, Place, Scene, SceneItem, TextRole, fitted};
use super::simplify;
use super::size::{Size, is_drawable};
use crate::number;
use crate::unit::{Quantity, Unit};

/// Maximum number of marks on a line; they distinguish lines without colour.
const MARKS: usize = 6;

/// The values of a chart of lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// The kind of x.
    pub x: X,
    /// The name of x.
    pub x_name: String,
    /// The unit of y.
    pub unit: Unit,
    /// The name of y.
    pub y_name: String,
    /// True for a logarithmic y axis.
    pub log: bool,
    /// The lines.
    pub lines: Vec<Line>,
    /// The reduction of points that do not fit.
    pub thin: Thin,
    /// Named parts of the horizontal axis.
    pub phases: Vec<LoadPhase>,
}

/// A named part of the horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPhase {
    /// Its name.
    pub name: String,
    /// Its begin and end.
    pub span: (f64, f64),
}

/// The kind of x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum X {
    /// Seconds from the beginning.
    Seconds,
    /// A share of all operations, laid out by its nines.
    Shares,
    /// Numbers of any kind.
    Numbers {
        /// True for a logarithmic axis.
        log: bool,
    },
}

/// The reduction of several points to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thin {
    /// Their mean, with the least and the greatest around it.
    Mean,
    /// Points without an effect on the shape of the line are left out.
    Shape,
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Which colour.
    pub colour: usize,
    /// Which pattern of dashes.
    pub dash: usize,
    /// Its points in the order of x.
    pub points: Vec<Point>,
    /// The least and the greatest of what each point is the median of, and how many these
    /// are; empty where points are no medians.
    pub spreads: Vec<(f64, f64, usize)>,
    /// Further facts about the run.
    pub notes: LineNotes,
}

/// Marks beside the points of a line over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineNotes {
    /// The mean of the run.
    pub mean: Option<f64>,
    /// Half the width of its confidence interval.
    pub half_width: Option<f64>,
    /// Events: begin and end of an interval, and how many there were.
    pub events: Vec<(f64, f64, f64)>,
    /// Their name.
    pub event: &'static str,
}

impl LineNotes {
    /// The ends of the confidence interval.
    fn interval(&self) -> Option<[f64; 2]> {
        let (mean, half) = (self.mean?, self.half_width?);
        Some([mean - half, mean + half]).filter(|ends| ends.iter().all(|end| is_drawable(*end)))
    }
}

/// The dots of the line of a mean.
const MEAN_DASH: usize = 2;
/// The mark of events.
const EVENT_MARK: usize = 2;
/// Pixels within which events share a mark.
const EVENT_SPACE: f64 = 10.0;

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Its place on the x axis.
    pub x: f64,
    /// Its value.
    pub y: f64,
    /// True if a line connects it with the previous point.
    pub joined: bool,
}

/// A point that may stand for several.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    point: Point,
    low: f64,
    high: f64,
    of: usize,
}

impl Drawn {
    fn place(&self, frame: &PlotFrame) -> Place {
        (frame.x.place(self.point.x), frame.y.place(self.point.y))
    }
}

/// Means of groups of neighbours.
fn means(points: &[Point], most: usize) -> Vec<Drawn> {
    let each = points.len().div_ceil(most.max(1)).max(1);
    let groups = points.chunks(each).filter_map(|group| {
        let count = number::of(group.len());
        let mean = |of: fn(&Point) -> f64| group.iter().map(|point| of(point) / count).sum();
        let values = || group.iter().map(|point| point.y);
        Some(Drawn {
            point: Point {
                x: mean(|point| point.x),
                y: mean(|point| point.y),
                joined: group.first()?.joined,
            },
            low: values().fold(f64::INFINITY, f64::min),
            high: values().fold(f64::NEG_INFINITY, f64::max),
            of: group.len(),
        })
    });
    groups.collect()
}

/// The points that determine the shape of the line.
fn shape(points: &[Point], most: usize, frame: &PlotFrame) -> Vec<Drawn> {
    let alone = |point: &Point| Drawn {
        point: *point,
        low: point.y,
        high: point.y,
        of: 1,
    };
    let runs = points.chunk_by(|_, next| next.joined);
    let drawn = runs.flat_map(|run| {
        let places: Vec<Place> = run.iter().map(|point| alone(point).place(frame)).collect();
        let space = (most * run.len()).div_ceil(points.len()).max(2);
        let kept = simplify::kept(&places, space);
        kept.into_iter()
            .filter_map(|index| run.get(index))
            .map(alone)
            .collect::<Vec<_>>()
    });
    drawn.collect()
}

/// Draws a few marks at equal distances, shifted from those of the next line.
fn marks(scene: &mut Scene, frame: &PlotFrame, drawn: &[Drawn], line: &Line) {
    let shape = line.mark();
    let places = || drawn.iter().map(|drawn| drawn.place(frame));
    let (Some(first), Some(last)) = (places().next(), places().next_back()) else {
        return;
    };
    let gap = (last.0 - first.0) / number::of(MARKS);
    let begin = first.0 + gap * number::of(shape % 4 * 2 + 1) / 8.0;
    let ink = Ink::Series(line.colour);
    let mut before = None;
    for mark in 0..MARKS {
        let wanted = begin + gap * number::of(mark);
        let off = |place: &Place| (place.0 - wanted).abs();
        let nearest = places().min_by(|one, other| off(one).total_cmp(&off(other)));
        // No mark far from the next point.
        if let Some(at) = nearest.filter(|at| off(at) <= gap / 2.0 && before != Some(*at)) {
            scene.items.push(SceneItem::Mark { at, ink, shape });
            before = Some(at);
        }
    }
}

impl Line {
    /// Its mark, which it has in every chart whatever other lines are there.
    fn mark(&self) -> usize {
        self.colour + self.dash
    }

    /// Its points as they are drawn, `most` or little more.
    fn thinned(&self, thin: Thin, most: usize, frame: &PlotFrame) -> Vec<Drawn> {
        if !self.spreads.is_empty() {
            return self.medians().collect();
        }
        let points: Vec<Point> = self.usable().collect();
        match thin {
            Thin::Mean => means(&points, most),
            Thin::Shape => shape(&points, most, frame),
        }
    }

    /// Points that are medians, all of them.
    fn medians(&self) -> impl Iterator<Item = Drawn> {
        let each = self.points.iter().zip(&self.spreads);
        let drawn = each.map(|(point, (low, high, of))| Drawn {
            point: *point,
            low: *low,
            high: *high,
            of: *of,
        });
        drawn.filter(|drawn| is_drawable(drawn.point.x) && is_drawable(drawn.point.y))
    }

    /// A mark at each point: values were measured there and not between.
    fn dots(&self, scene: &mut Scene, frame: &PlotFrame, drawn: &[Drawn]) {
        let (ink, shape) = (Ink::Series(self.colour), self.mark());
        let marks = drawn.iter().map(|drawn| drawn.place(frame));
        scene
            .items
            .extend(marks.map(|at| SceneItem::Mark { at, ink, shape }));
    }

    /// The mean of the run, with its confidence interval.
    fn mean(&self, scene: &mut Scene, frame: &PlotFrame) {
        let ink = Ink::Series(self.colour);
        let (left, right) = (frame.left, frame.right);
        if let Some([low, high]) = self.notes.interval() {
            let [low, high] = [low, high].map(|end| frame.y.place(end));
            let places = vec![(left, low), (right, low), (right, high), (left, high)];
            scene.items.push(SceneItem::Area { places, ink });
        }
        if let Some(mean) = self.notes.mean.filter(|mean| is_drawable(*mean)) {
            let at = frame.y.place(mean);
            scene.items.push(SceneItem::Line {
                places: vec![(left, at), (right, at)],
                ink,
                dash: MEAN_DASH,
            });
        }
    }

    /// Marks on the axis for the events of each interval. Intervals that are too close to each other
    /// share one mark.
    fn events(&self, scene: &mut Scene, frame: &PlotFrame) {
        let ink = Ink::Series(self.colour);
        let mut all = self.notes.events.iter().copied().peekable();
        while let Some((from, mut to, mut count)) = all.next() {
            let begin = frame.x.place(from);
            while let Some((_, end, more)) =
                all.next_if(|(_, end, _)| frame.x.place(*end) - begin < EVENT_SPACE)
            {
                to = end;
                count += more;
            }
            let at = (f64::midpoint(begin, frame.x.place(to)), frame.bottom - 5.0);
            let shape = EVENT_MARK;
            scene.items.push(SceneItem::Mark { at, ink, shape });
            let [from, to] = [from, to].map(|at| Quantity::new(at, Unit::Seconds));
            let (count, event) = (crate::unit::whole(count), self.notes.event);
            let tip = format!(
                "{}: {count} from {from} to {to}",
                crate::escape::capital(event)
            );
            scene.items.push(SceneItem::Spot { at, ink, tip });
        }
    }

    fn usable(&self) -> impl Iterator<Item = Point> {
        self.points
            .iter()
            .copied()
            .filter(|point| is_drawable(point.x) && is_drawable(point.y))
    }
}

impl Lines {
    /// The number of values too large to be drawn.
    #[must_use]
    pub fn undrawable(&self) -> usize {
        let points = self
            .lines
            .iter()
            .map(|line| line.points.len() - line.usable().count());
        points.sum()
    }

    pub(super) fn drawn(&self, size: Size) -> Scene {
        let mut scene = Scene::default();
        let top = self.legend(&mut scene, size);
        let all = || self.lines.iter().flat_map(Line::usable);
        let x_unit = match self.x {
            X::Seconds => Unit::Seconds,
            X::Shares => Unit::Percent,
            X::Numbers { .. } => Unit::Other(String::new()),
        };
        let x_law = match self.x {
            X::Shares => Law::Nines,
            X::Numbers { log: true } => Law::Log,
            X::Seconds | X::Numbers { log: false } => Law::Linear,
        };
        let x_scale = if self.x == X::Seconds {
            let ends = self.phases.iter().map(|phase| phase.span.1);
            let ends = all().map(|point| point.x).chain(ends);
            AxisScale::exactly(
                0.0,
                ends.filter(|end| is_drawable(*end)).fold(0.0, f64::max),
            )
        } else {
            AxisScale::over(x_law, &x_unit, all().map(|point| point.x))
        };
        let y_law = if self.log { Law::Log } else { Law::Linear };
        let x = Axis {
            scale: x_scale,
            law: x_law,
            unit: &x_unit,
            name: &self.x_name,
        };
        let spread = self.lines.iter().flat_map(|line| &line.spreads);
        let spread = spread.flat_map(|(low, high, _)| [*low, *high]);
        let notes = || self.lines.iter().map(|line| &line.notes);
        let noted = notes().filter_map(LineNotes::interval).flatten();
        let noted = noted.chain(notes().filter_map(|notes| notes.mean));
        let y = Axis {
            scale: AxisScale::over(
                y_law,
                &self.unit,
                all().map(|point| point.y).chain(spread).chain(noted),
            ),
            law: y_law,
            unit: &self.unit,
            name: &self.y_name,
        };
        let frame = framed(&mut scene, size, top, (x, &self.measured_at()), y);
        self.shade(&mut scene, &frame);
        let thinned: Vec<_> = self
            .lines
            .iter()
            .map(|line| line.thinned(self.thin, size.points, &frame))
            .collect();
        let all = || thinned.iter().zip(&self.lines);
        for (drawn, line) in all() {
            self.stroke(&mut scene, &frame, drawn, line);
        }
        if matches!(self.x, X::Numbers { .. }) {
            for (drawn, line) in all() {
                line.dots(&mut scene, &frame, drawn);
            }
        }
        // Over all lines, so that those on one another are told apart.
        let has_marks = self.lines.len() > 1 && !matches!(self.x, X::Numbers { .. });
        for (drawn, line) in all().filter(|_| has_marks) {
            marks(&mut scene, &frame, drawn, line);
        }
        for (drawn, line) in all() {
            self.spots(&mut scene, &frame, drawn, line);
        }
        for line in &self.lines {
            line.mean(&mut scene, &frame);
            line.events(&mut scene, &frame);
        }
        scene
    }

    /// The values of a number that was varied, in their order; none where they are too many.
    fn measured_at(&self) -> Vec<f64> {
        /// Ticks that fit.
        const MOST: usize = 16;
        let mut values = Vec::new();
        if let X::Numbers { .. } = self.x {
            values.extend(
                self.lines
                    .iter()
                    .flat_map(Line::usable)
                    .map(|point| point.x),
            );
            values.sort_by(f64::total_cmp);
            values.dedup();
            values.truncate(if values.len() > MOST { 0 } else { MOST });
        }
        values
    }

    fn legend(&self, scene: &mut Scene, size: Size) -> f64 {
        let lonely = self.lines.len() == 1;
        let named = |line: &&Line| !lonely || !line.name.is_empty();
        let mut entries: Vec<_> = Vec::new();
        for line in self.lines.iter().filter(named) {
            let sign = Sign::Line {
                dash: line.dash,
                shape: Some(line.mark()),
            };
            entries.push((line.name.clone(), Ink::Series(line.colour), sign));
        }
        let notes = || self.lines.iter().map(|line| (line, &line.notes));
        for (line, notes) in notes() {
            let Some(mean) = notes.mean.filter(|mean| is_drawable(*mean)) else {
                continue;
            };
            let of = |value| Quantity::new(value, self.unit.clone());
            let half = notes.half_width.map(|half| format!(" ± {}", of(half)));
            let text = format!("mean {}{}", of(mean), half.unwrap_or_default());
            let ink = Ink::Series(line.colour);
            let (dash, shape) = (MEAN_DASH, None);
            entries.push((text, ink, Sign::Line { dash, shape }));
        }
        let has_events = |(_, notes): &(&Line, &LineNotes)| !notes.events.is_empty();
        if let Some((line, notes)) = notes().find(has_events) {
            let ink = Ink::Series(line.colour);
            entries.push((notes.event.to_owned(), ink, Sign::Mark(EVENT_MARK)));
        }
        legend::drawn(scene, size.width, &entries)
    }

    /// Every other phase on a darker ground, with the names of all that fit.
    fn shade(&self, scene: &mut Scene, frame: &PlotFrame) {
        for (number, phase) in self.phases.iter().enumerate() {
            let (left, right) = (frame.x.place(phase.span.0), frame.x.place(phase.span.1));
            let (top, bottom) = (frame.top, frame.bottom);
            if number % 2 == 1 {
                scene.items.push(SceneItem::Area {
                    places: vec![(left, top), (right, top), (right, bottom), (left, bottom)],
                    ink: Ink::Grid,
                });
            }
            let name = fitted(&phase.name, right - left);
            scene.text(
                (left + 2.0, top + 12.0),
                Anchor::Start,
                TextRole::Axis,
                name,
            );
        }
    }

    /// The line itself, and a band where a point stands for several.
    fn stroke(&self, scene: &mut Scene, frame: &PlotFrame, drawn: &[Drawn], line: &Line) {
        let shape = line.mark();
        let ink = Ink::Series(line.colour);
        let at = |x: f64, y: f64| (frame.x.place(x), frame.y.place(y));
        for run in drawn.chunk_by(|_, next| next.point.joined) {
            let banded = self.thin == Thin::Mean || !line.spreads.is_empty();
            if run.iter().any(|drawn| drawn.of > 1) && banded {
                let upper = run.iter().map(|drawn| at(drawn.point.x, drawn.high));
                let lower = run.iter().rev().map(|drawn| at(drawn.point.x, drawn.low));
                let places = upper.chain(lower).collect();
                scene.items.push(SceneItem::Area { places, ink });
            }
            let places: Vec<_> = run.iter().map(|drawn| drawn.place(frame)).collect();
            let dash = line.dash;
            scene.items.push(match places[..] {
                [at] => SceneItem::Mark { at, ink, shape },
                _ => SceneItem::Line { places, ink, dash },
            });
        }
    }

    fn spots(&self, scene: &mut Scene, frame: &PlotFrame, drawn: &[Drawn], line: &Line) {
        let named = self.lines.len() > 1;
        scene
            .items
            .extend(drawn.iter().map(|drawn| SceneItem::Spot {
                at: drawn.place(frame),
                ink: Ink::Series(line.colour),
                tip: self.tip(line, drawn, named),
            }));
    }

    fn tip(&self, line: &Line, drawn: &Drawn, named: bool) -> String {
        let value = Quantity::new(drawn.point.y, self.unit.clone());
        let place = self.x_text(drawn.point.x);
        let name = if named {
            format!("{}: ", line.name)
        } else {
            String::new()
        };
        let medians = !line.spreads.is_empty();
        let spread = if drawn.of > 1 && (medians || self.thin == Thin::Mean) {
            let of = |value| Quantity::new(value, self.unit.clone());
            let middle = if medians { "median" } else { "mean" };
            let (low, high) = (of(drawn.low), of(drawn.high));
            format!(" ({middle} of {}, from {low} to {high})", drawn.of)
        } else {
            String::new()
        };
        format!("{name}{value} at {place}{spread}")
    }

    /// The text of a value of x.
    #[must_use]
    pub fn x_text(&self, x: f64) -> String {
        match self.x {
            X::Shares => percent(x),
            X::Seconds => Quantity::new(x, Unit::Seconds).to_string(),
            X::Numbers { .. } => crate::unit::short(x),
        }
    }
}

/// A share in percent, with as many digits as its nines need.
fn percent(share: f64) -> String {
    let left = (1.0 - share).max(1e-12);
    let decimals = number::index((-left.log10()).max(0.0)).min(10);
    format!("{:.decimals$} %", share * 100.0)
}
