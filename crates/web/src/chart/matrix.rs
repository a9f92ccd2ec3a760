//! Matrices of senders and receivers: a square for each path, coloured by its value.

use netperf_stats::moments::median;

use super::legend::{self, Sign};
use super::scene::{Anchor, Ink, Scene, SceneItem, TextRole, fitted, width_of};
use super::size::{Size, WIDE, is_drawable};
use crate::number;
use crate::unit::{Quantity, Unit};

/// Classes of values.
pub const CLASSES: usize = 6;
/// Most rows and columns of a drawing: more members share a square.
const MOST_SQUARES: usize = 96;
/// Side of a square in CSS pixels: the least, the greatest, and the least with its value.
const SIDES: (f64, f64, f64) = (3.0, 54.0, 44.0);
/// Space for names of members.
const NAMES: f64 = 150.0;
/// Space between the squares and their medians, and between a median and its number.
const MEDIAN_GAPS: (f64, f64) = (6.0, 4.0);
/// Space for the signs of rows and columns.
const SIGNS: f64 = 12.0;
/// The name of the medians.
const MEDIAN: &str = "median";
/// Marks of outlying cells, rows, columns and blocks.
pub const CELL_MARK: usize = 1;
const ROW_MARK: usize = 3;
const COLUMN_MARK: usize = 2;
/// The colour of marks.
const MARK: Ink = Ink::Series(1);

/// The values of a matrix. A row has the paths of a sender, a column those of a receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixMap {
    /// Names of the members, in the order of rows and of columns.
    pub names: Vec<String>,
    /// The unit of the values.
    pub unit: Unit,
    /// The cells, row by row.
    pub cells: Vec<Vec<MapCell>>,
    /// Members that are outliers as senders.
    pub row_flags: Vec<usize>,
    /// Members that are outliers as receivers.
    pub column_flags: Vec<usize>,
    /// True if each square has a tooltip with its value, for pages; this takes most of the
    /// size of a large matrix.
    pub has_tips: bool,
}

/// A cell of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MapCell {
    /// A member and itself, or a cell that was not asked for.
    Empty,
    /// There is no value, though one was asked for.
    Missing,
    /// A value.
    Value {
        /// The value.
        value: f64,
        /// True if it is an outlier.
        is_flagged: bool,
    },
}

impl MapCell {
    /// Its value, if that can be drawn.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Value { value, .. } => Some(value).filter(|value| is_drawable(*value)),
            Self::Empty | Self::Missing => None,
        }
    }

    const fn is_flagged(self) -> bool {
        matches!(
            self,
            Self::Value {
                is_flagged: true,
                ..
            }
        )
    }
}

/// Classes of values, from the lowest to the highest: of equal width, or of equal ratio if the
/// values are wide apart.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueClasses {
    /// The ends of the classes: one more than there are classes.
    pub ends: Vec<f64>,
}

/// Values whose ratio is smaller are drawn as about equal.
const NARROW: f64 = 1.1;

impl ValueClasses {
    /// The classes of some values; `None` without a value.
    #[must_use]
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let values = values.filter(|value| is_drawable(*value));
        let low = values.clone().reduce(f64::min)?;
        let high = values.reduce(f64::max)?;
        let is_log = low > 0.0 && high / low >= WIDE;
        let (mut low, mut high) = if is_log {
            (low.ln(), high.ln())
        } else {
            (low, high)
        };
        let middle = f64::midpoint(low, high);
        let least = (NARROW - 1.0) * middle.abs();
        if !is_log && high - low < least {
            (low, high) = (middle - least / 2.0, middle + least / 2.0);
        }
        let step = (high - low) / number::of(CLASSES);
        let end = |at: usize| low + step * number::of(at);
        let ends = (0..=CLASSES).map(|at| if is_log { end(at).exp() } else { end(at) });
        Some(Self {
            ends: ends.collect(),
        })
    }

    /// The class of a value, from 0.
    #[must_use]
    pub fn class(&self, value: f64) -> usize {
        let inner = self.ends.get(1..CLASSES).unwrap_or_default();
        inner.iter().filter(|end| value >= **end).count()
    }

    /// The two ends of a class as texts without a unit, and the unit.
    #[must_use]
    pub fn labels(&self, unit: &Unit) -> (Vec<String>, String) {
        let (factor, sign) = unit.scaled(self.ends.last().copied().unwrap_or(0.0));
        let ends: Vec<String> = self
            .ends
            .iter()
            .map(|end| crate::unit::figure(end / factor))
            .collect();
        let labels = ends
            .windows(2)
            .map(|pair| format!("{} to {}", pair[0], pair[1]));
        (labels.collect(), sign)
    }
}

fn median_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    median(&values.collect::<Vec<_>>())
}

impl MatrixMap {
    /// All values that can be drawn.
    pub fn values(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        self.cells.iter().flatten().filter_map(|cell| cell.value())
    }

    /// The median of each row.
    #[must_use]
    pub fn row_medians(&self) -> Vec<Option<f64>> {
        let of = |row: &Vec<MapCell>| median_of(row.iter().filter_map(|cell| cell.value()));
        self.cells.iter().map(of).collect()
    }

    /// The median of each column.
    #[must_use]
    pub fn column_medians(&self) -> Vec<Option<f64>> {
        let of = |column: usize| {
            let cells = self.cells.iter().filter_map(|row| row.get(column)?.value());
            median_of(cells)
        };
        (0..self.names.len()).map(of).collect()
    }

    /// A matrix of at most so many rows and columns, in which a square is the median of several
    /// neighbours. It is flagged if one of them is, and missing if all are.
    #[must_use]
    pub fn grouped(&self, most: usize) -> Self {
        let each = self.names.len().div_ceil(most.max(1)).max(1);
        if each == 1 {
            return self.clone();
        }
        let square = |rows: &[Vec<MapCell>], from: usize| -> MapCell {
            let cells = || {
                let rows = rows.iter();
                rows.flat_map(move |row| row.iter().skip(from).take(each).copied())
            };
            match median_of(cells().filter_map(MapCell::value)) {
                Some(value) => MapCell::Value {
                    value,
                    is_flagged: cells().any(MapCell::is_flagged),
                },
                None if cells().any(|cell| cell == MapCell::Missing) => MapCell::Missing,
                None => MapCell::Empty,
            }
        };
        let starts = || (0..self.names.len()).step_by(each);
        let row = |rows: &[Vec<MapCell>]| starts().map(|from| square(rows, from)).collect();
        let name = |names: &[String]| match names {
            [first, .., last] => format!("{first} … {last}"),
            names => names.concat(),
        };
        let flags = |flags: &[usize]| {
            let mut groups: Vec<usize> = flags.iter().map(|member| member / each).collect();
            groups.dedup();
            groups
        };
        Self {
            names: self.names.chunks(each).map(name).collect(),
            unit: self.unit.clone(),
            cells: self.cells.chunks(each).map(row).collect(),
            row_flags: flags(&self.row_flags),
            column_flags: flags(&self.column_flags),
            has_tips: self.has_tips,
        }
    }

    /// Number of neighbouring members that share a row or column of the drawing.
    #[must_use]
    pub fn shared(&self) -> usize {
        self.names.len().div_ceil(MOST_SQUARES).max(1)
    }

    pub(super) fn drawn(&self, size: Size) -> Scene {
        if self.names.len() > MOST_SQUARES {
            return self.grouped(MOST_SQUARES).drawn(size);
        }
        let mut scene = Scene {
            width: size.width,
            ..Scene::default()
        };
        let Some(classes) = ValueClasses::of(self.values()) else {
            scene.height = 24.0;
            scene.text((0.0, 14.0), Anchor::Start, TextRole::Label, "no value");
            return scene;
        };
        let top = self.legend(&mut scene, &classes, size.width) + 30.0;
        let widest = self
            .names
            .iter()
            .map(|name| width_of(name))
            .fold(0.0, f64::max);
        let widest_number = width_of(&self.names.len().to_string()) + 8.0;
        let names = widest.min(NAMES).min(size.width / 4.0) + widest_number;
        let names = names.max(width_of(MEDIAN));
        let medians = self.widest_median() + MEDIAN_GAPS.0 + MEDIAN_GAPS.1;
        let room = size.width - names - SIGNS - medians;
        let (least, greatest, _) = SIDES;
        // The medians are squares, too.
        let side = (room / number::of(self.names.len() + 1)).clamp(least, greatest);
        let side = if side > 8.0 { side.floor() } else { side };
        let grid = Grid {
            left: names + SIGNS,
            top: top + SIGNS,
            side,
        };
        self.heads(&mut scene, &grid, names - widest_number);
        if !self.has_tips {
            self.squares(&mut scene, &grid, &classes);
        }
        for (row, cells) in self.cells.iter().enumerate() {
            for (column, cell) in cells.iter().enumerate() {
                self.square(&mut scene, &grid, &classes, (row, column, *cell));
            }
        }
        self.medians(&mut scene, &grid, &classes);
        self.flags(&mut scene, &grid);
        let (right, _) = grid.at(0, self.names.len());
        scene.width = scene.width.max(right + grid.median_side() + medians);
        scene.height = grid.at(self.names.len(), 0).1 + grid.median_side() + 30.0;
        scene
    }

    /// Width of the widest of all medians in numbers.
    fn widest_median(&self) -> f64 {
        let all = self.row_medians().into_iter().chain(self.column_medians());
        let widths = all.flatten().map(|value| width_of(&self.text(value)));
        widths.fold(width_of(MEDIAN), f64::max)
    }

    fn text(&self, value: f64) -> String {
        Quantity::new(value, self.unit.clone()).to_string()
    }

    fn legend(&self, scene: &mut Scene, classes: &ValueClasses, width: f64) -> f64 {
        let (labels, sign) = classes.labels(&self.unit);
        let label = |(class, label): (usize, String)| {
            (format!("{label} {sign}"), Ink::Heat(class), Sign::Square)
        };
        let mut entries: Vec<_> = labels.into_iter().enumerate().map(label).collect();
        let mut sign = |name: &str, is_there: bool, ink, sign| {
            entries.extend(is_there.then(|| (name.to_owned(), ink, sign)));
        };
        let cells = || self.cells.iter().flatten();
        let is_missing = cells().any(|cell| *cell == MapCell::Missing);
        sign("missing", is_missing, Ink::Grid, Sign::Hatched);
        let is_flagged = cells().any(|cell| cell.is_flagged());
        sign("outlying path", is_flagged, MARK, Sign::Mark(CELL_MARK));
        let mut lines = |name, flags: &[usize], mark| {
            sign(name, !flags.is_empty(), MARK, Sign::Mark(mark));
        };
        lines("outlying sender", &self.row_flags, ROW_MARK);
        lines("outlying receiver", &self.column_flags, COLUMN_MARK);
        legend::drawn(scene, width, &entries)
    }

    /// Names of rows, and numbers of rows and columns.
    fn heads(&self, scene: &mut Scene, grid: &Grid, room: f64) {
        let (left, top) = (grid.left, grid.top);
        let above = (left, top - SIGNS - 14.0);
        scene.text(above, Anchor::Start, TextRole::Axis, "to (receiver)");
        let beside = (0.0, top - SIGNS);
        scene.text(beside, Anchor::Start, TextRole::Axis, "from (sender)");
        // Texts are 12 pixels high.
        let each_row = number::index(13.0 / grid.side) + 1;
        let widest = width_of(&self.names.len().to_string()) + 2.0;
        let each_column = number::index(widest / grid.side) + 1;
        for (at, name) in self.names.iter().enumerate() {
            let shown = (at + 1).to_string();
            let (x, y) = grid.at(at, at);
            let middle = (x + grid.side / 2.0, y + grid.side / 2.0 + 4.0);
            if at % each_row == 0 {
                let at = (left - SIGNS - 3.0, middle.1);
                scene.text(at, Anchor::End, TextRole::Tick, shown.as_str());
                let name = fitted(name, room);
                scene.text((0.0, middle.1), Anchor::Start, TextRole::Label, name);
            }
            if at % each_column == 0 {
                let at = (middle.0, top - SIGNS - 1.0);
                scene.text(at, Anchor::Middle, TextRole::Tick, shown);
            }
        }
    }

    /// The squares of all values, those of a class as one shape.
    fn squares(&self, scene: &mut Scene, grid: &Grid, classes: &ValueClasses) {
        let mut places = vec![Vec::new(); CLASSES];
        for (row, cells) in self.cells.iter().enumerate() {
            for (column, cell) in cells.iter().enumerate() {
                if let Some(value) = cell.value() {
                    places[classes.class(value)].push(grid.at(row, column));
                }
            }
        }
        let shapes = places.into_iter().enumerate();
        scene
            .items
            .extend(shapes.map(|(class, places)| SceneItem::Rects {
                places,
                size: grid.square(),
                ink: Ink::Heat(class),
            }));
    }

    fn square(
        &self,
        scene: &mut Scene,
        grid: &Grid,
        classes: &ValueClasses,
        (row, column, cell): (usize, usize, MapCell),
    ) {
        let at = grid.at(row, column);
        let size = grid.square();
        let Some(value) = cell.value() else {
            if cell == MapCell::Missing {
                hatched(scene, at, size);
            }
            return;
        };
        let class = classes.class(value);
        if self.has_tips {
            let name = |at: usize| self.names.get(at).map_or("", String::as_str);
            let value = Quantity::new(value, self.unit.clone());
            scene.items.push(SceneItem::Rect {
                at,
                size,
                ink: Ink::Heat(class),
                tip: Some(format!("{} to {}: {value}", name(row), name(column))),
            });
        }
        if grid.side >= SIDES.2 {
            let middle = (at.0 + size.0 / 2.0, at.1 + size.1 / 2.0 + 4.0);
            let (factor, _) = self.unit.scaled(classes.ends[CLASSES]);
            let text = crate::unit::figure(value / factor);
            if width_of(&text) <= size.0 + 6.0 {
                scene.text(middle, Anchor::Middle, TextRole::OnHeat(class), text);
            }
        }
        if cell.is_flagged() {
            let large = grid.side >= SIDES.2;
            let middle = if large {
                (at.0 + size.0 - 7.0, at.1 + 7.0)
            } else {
                (at.0 + size.0 / 2.0, at.1 + size.1 / 2.0)
            };
            mark(scene, middle, CELL_MARK);
        }
    }

    /// The medians of rows at the right, and of columns below, with their numbers.
    fn medians(&self, scene: &mut Scene, grid: &Grid, classes: &ValueClasses) {
        let count = self.names.len();
        let (gap, side) = (MEDIAN_GAPS.0, grid.median_side());
        let mut strip = |at: (f64, f64), value: f64, name: &str| {
            let tip = format!("{name}: median {}", self.text(value));
            scene.items.push(SceneItem::Rect {
                at,
                size: (side - 1.0, side - 1.0),
                ink: Ink::Heat(classes.class(value)),
                tip: self.has_tips.then_some(tip),
            });
        };
        let mut texts = Vec::new();
        for (row, median) in self.row_medians().into_iter().enumerate() {
            let (x, y) = grid.at(row, count);
            let Some(value) = median else { continue };
            strip((x + gap, y), value, &format!("from {}", self.names[row]));
            let at = (x + gap + side + MEDIAN_GAPS.1, y + grid.side / 2.0 + 4.0);
            if grid.side >= 12.0 {
                texts.push((at, Anchor::Start, self.text(value)));
            }
        }
        let mut free = f64::NEG_INFINITY;
        let (_, below) = grid.at(count, 0);
        for (column, median) in self.column_medians().into_iter().enumerate() {
            let (x, y) = grid.at(count, column);
            let Some(value) = median else { continue };
            strip((x, y + gap), value, &format!("to {}", self.names[column]));
            let (factor, _) = self.unit.scaled(classes.ends[CLASSES]);
            let text = crate::unit::figure(value / factor);
            let (middle, half) = (x + side / 2.0, width_of(&text) / 2.0);
            // As many numbers as fit beside one another, in the unit of the classes.
            if grid.side >= 4.0 && middle - half >= free {
                free = middle + half + 4.0;
                texts.push(((middle, below + gap + side + 14.0), Anchor::Middle, text));
            }
        }
        for (at, anchor, text) in texts {
            scene.text(at, anchor, TextRole::Tick, text);
        }
        let (x, y) = grid.at(count, 0);
        let below = (x - SIGNS - 3.0, y + gap + side.max(8.0) / 2.0 + 4.0);
        scene.text(below, Anchor::End, TextRole::Tick, MEDIAN);
        let (x, y) = grid.at(0, count);
        scene.text((x + gap, y - 4.0), Anchor::Start, TextRole::Tick, MEDIAN);
    }

    fn flags(&self, scene: &mut Scene, grid: &Grid) {
        let half = grid.side / 2.0;
        for row in &self.row_flags {
            let (x, y) = grid.at(*row, 0);
            mark(scene, (x - SIGNS / 2.0, y + half), ROW_MARK);
        }
        for column in &self.column_flags {
            let (x, y) = grid.at(0, *column);
            mark(scene, (x + half, y - SIGNS / 2.0), COLUMN_MARK);
        }
    }
}

/// Positions of squares.
struct Grid {
    left: f64,
    top: f64,
    side: f64,
}

impl Grid {
    /// The size of a square.
    fn square(&self) -> (f64, f64) {
        let gap = if self.side > 8.0 { 1.0 } else { 0.0 };
        (self.side - gap, self.side - gap)
    }

    /// The side of the square of a median.
    const fn median_side(&self) -> f64 {
        self.side.max(4.0)
    }

    /// The upper left corner of a square.
    fn at(&self, row: usize, column: usize) -> (f64, f64) {
        let place = |start: f64, at: usize| start + self.side * number::of(at);
        (place(self.left, column), place(self.top, row))
    }
}

fn mark(scene: &mut Scene, at: (f64, f64), shape: usize) {
    scene.items.push(SceneItem::Mark {
        at,
        ink: MARK,
        shape,
    });
}

/// Draws a hatched rectangle.
pub(super) fn hatched(scene: &mut Scene, (x, y): (f64, f64), (width, height): (f64, f64)) {
    scene.items.push(SceneItem::Rect {
        at: (x, y),
        size: (width, height),
        ink: Ink::Grid,
        tip: None,
    });
    let (right, bottom) = (x + width, y + height);
    scene.line([(x, bottom), (right, y)], Ink::Axis);
    let (middle, centre) = (x + width / 2.0, y + height / 2.0);
    if width >= 8.0 {
        scene.line([(x, centre), (middle, y)], Ink::Axis);
        scene.line([(middle, bottom), (right, centre)], Ink::Axis);
    }
}

#[cfg(test)]
mod tests;
