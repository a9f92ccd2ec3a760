//! Matrices of a campaign: a value of each path, from each sender to each receiver.

mod packed;
mod report;
mod screen;
mod stream;
mod view;

use std::collections::BTreeMap;

use netperf_stats::moments::median;
use netperf_stats::polish::{EffectScale, Outlier, OutlierPlace, polish};
use netperf_web::chart::{MapCell, MatrixMap};
use netperf_web::unit::{Quantity, Unit};
use serde::{Deserialize, Serialize};

pub use report::COMPARED_RATE;
pub use screen::CampaignScreen;
pub use stream::{CELLS_SCHEMA, CellReader, CellWriter, CellsEnd, CellsError};
pub use view::MatrixView;

use packed::{MatrixCell, PackedCell};

use crate::outcome::CellWindow;
use crate::pattern::Cell;
use crate::plan::CampaignPlan;

/// The label of racks in matrices.
pub const RACK: &str = "rack";

/// A member of a campaign, as results name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatrixMember {
    /// Its name.
    pub name: String,
    /// Its labels, such as `rack` and `zone`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// A figure that each cell has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatrixFigure {
    /// Its name, such as `throughput`.
    pub name: String,
    /// The sign of its unit: `bit/s`, `transactions/s`, `s`, `B`, `%`.
    pub unit: String,
    /// `higher` or `lower`.
    pub better_when: String,
}

/// The head of the cells of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellsHead {
    /// [`CELLS_SCHEMA`].
    pub schema: String,
    /// Identifier of the campaign.
    pub campaign: String,
    /// Its title.
    pub title: String,
    /// Its start, in seconds since 1970.
    pub started_unix_seconds: f64,
    /// The members: cells have their numbers, from 0.
    pub members: Vec<MatrixMember>,
    /// The metrics of each cell, in the order of its values.
    #[serde(rename = "metrics")]
    pub figures: Vec<MatrixFigure>,
    /// The plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<CampaignPlan>,
}

/// The result of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// The sender and the receiver.
    #[serde(flatten)]
    pub cell: Cell,
    /// Its round, from 0.
    #[serde(default)]
    pub round: usize,
    /// True if it was measured again, since it looked like an outlier.
    #[serde(default, skip_serializing_if = "is_false")]
    pub again: bool,
    /// The window, by the clocks as they were before the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<CellWindow>,
    /// Its values, or why there are none.
    #[serde(flatten)]
    pub outcome: CellOutcome,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of serde")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// The values of a cell, or why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellOutcome {
    /// A value of each figure; null where there is none.
    Values(Vec<Option<f64>>),
    /// The reason why there is no result.
    Missing(String),
}

/// The values of one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// The figure.
    pub figure: MatrixFigure,
    /// The members.
    pub members: Vec<MatrixMember>,
    /// The cells, row by row: rows are senders.
    cells: Vec<PackedCell>,
    /// Reasons of missing cells, each once.
    reasons: Vec<String>,
    /// All values of the cells that have several.
    several: BTreeMap<usize, Vec<f64>>,
}

/// A cell of a matrix, with the reason of a missing one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellValue<'a> {
    /// It was not asked for, or is that of a member with itself.
    Empty,
    /// Its value.
    Value(f64),
    /// Why it is missing.
    Missing(&'a str),
}

/// Reason of a cell whose record has no value of the figure.
pub const NO_VALUE: &str = "the result has no such metric";

/// Most different reasons of missing cells.
const MOST_REASONS: usize = 1000;
/// The reason in place of further ones.
const OTHER_REASON: &str = "another reason";

impl Matrix {
    /// Memory of a matrix of so many members, bytes.
    pub(crate) const fn memory(members: usize) -> usize {
        members
            .saturating_mul(members)
            .saturating_mul(size_of::<PackedCell>())
    }

    /// A matrix without cells.
    #[must_use]
    pub fn new(figure: MatrixFigure, members: Vec<MatrixMember>) -> Self {
        Self {
            cells: vec![MatrixCell::Empty.into(); members.len() * members.len()],
            figure,
            members,
            reasons: Vec::new(),
            several: BTreeMap::new(),
        }
    }

    /// A matrix of each figure of a head.
    #[must_use]
    pub fn of_head(head: &CellsHead) -> Vec<Self> {
        let new = |figure: &MatrixFigure| Self::new(figure.clone(), head.members.clone());
        head.figures.iter().map(new).collect()
    }

    /// All cells, row by row.
    fn each(&self) -> impl Iterator<Item = MatrixCell> + '_ {
        self.cells.iter().map(|cell| (*cell).into())
    }

    /// Sets a cell; one outside the matrix is ignored.
    pub fn set(&mut self, cell: Cell, value: Result<f64, &str>) {
        let size = self.members.len();
        if cell.from >= size || cell.to >= size {
            return;
        }
        let value = match value {
            Ok(value) if value.is_finite() => MatrixCell::Value(value),
            Ok(_) => MatrixCell::Missing(self.reason("the value is no number")),
            Err(reason) => MatrixCell::Missing(self.reason(reason)),
        };
        self.cells[cell.from * size + cell.to] = value.into();
    }

    /// The number of a reason.
    fn reason(&mut self, reason: &str) -> usize {
        let place = |reason| self.reasons.iter().position(|known| known == reason);
        let is_many = self.reasons.len() >= MOST_REASONS && place(reason).is_none();
        let reason = if is_many { OTHER_REASON } else { reason };
        place(reason).unwrap_or_else(|| {
            self.reasons.push(reason.to_owned());
            self.reasons.len() - 1
        })
    }

    /// Adds the result of a round to a cell: its value is the median of all, and it is missing
    /// only without any.
    pub fn join(&mut self, cell: Cell, value: Result<f64, &str>) {
        let size = self.members.len();
        let is_inside = cell.from < size && cell.to < size;
        let at = cell.from * size + cell.to;
        let known = self.cells.get(at).filter(|_| is_inside);
        let Some(MatrixCell::Value(first)) = known.map(|cell| MatrixCell::from(*cell)) else {
            return self.set(cell, value);
        };
        if let Some(value) = value.ok().filter(|value| value.is_finite()) {
            let all = self.several.entry(at).or_insert_with(|| vec![first]);
            all.push(value);
            self.cells[at] = MatrixCell::Value(median(all).unwrap_or(value)).into();
        }
    }

    /// Adds the value of figure number `figure` of a record. Second measurements of outliers are
    /// no part of a matrix.
    pub fn add(&mut self, record: &CellRecord, figure: usize) {
        if record.again {
            return;
        }
        match &record.outcome {
            CellOutcome::Values(values) => {
                let value = values.get(figure).copied().flatten();
                self.join(record.cell, value.ok_or(NO_VALUE));
            }
            CellOutcome::Missing(reason) => self.join(record.cell, Err(reason)),
        }
    }

    /// True if a cell has a value.
    #[must_use]
    pub fn has_values(&self) -> bool {
        let is_value = |cell: MatrixCell| matches!(cell, MatrixCell::Value(_));
        self.each().any(is_value)
    }

    /// A value with the unit of the figure.
    #[must_use]
    pub fn quantity(&self, value: f64) -> String {
        Quantity::new(value, self.unit()).to_string()
    }

    /// A cell.
    #[must_use]
    pub fn get(&self, cell: Cell) -> CellValue<'_> {
        let size = self.members.len();
        if cell.from >= size || cell.to >= size {
            return CellValue::Empty;
        }
        match MatrixCell::from(self.cells[cell.from * size + cell.to]) {
            MatrixCell::Empty => CellValue::Empty,
            MatrixCell::Value(value) => CellValue::Value(value),
            MatrixCell::Missing(reason) => {
                CellValue::Missing(self.reasons.get(reason).map_or("", String::as_str))
            }
        }
    }

    /// The value of a cell that has one.
    #[must_use]
    pub fn value(&self, cell: Cell) -> Option<f64> {
        match self.get(cell) {
            CellValue::Value(value) => Some(value),
            CellValue::Empty | CellValue::Missing(_) => None,
        }
    }

    /// The values as a table for statistics: rows are senders.
    #[must_use]
    pub fn table(&self) -> Vec<Vec<Option<f64>>> {
        let value = |cell: &PackedCell| match MatrixCell::from(*cell) {
            MatrixCell::Value(value) => Some(value),
            MatrixCell::Empty | MatrixCell::Missing(_) => None,
        };
        let rows = self.cells.chunks(self.members.len().max(1));
        rows.map(|row| row.iter().map(value).collect()).collect()
    }

    /// The median of all values.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        median(
            &self
                .table()
                .into_iter()
                .flatten()
                .flatten()
                .collect::<Vec<_>>(),
        )
    }

    /// The worst value, and the names of its sender and receiver.
    #[must_use]
    pub fn worst(&self) -> Option<(f64, String)> {
        let least = self.figure.better_when == "higher";
        let value = |(at, cell): (usize, MatrixCell)| match cell {
            MatrixCell::Value(value) => Some((at, value)),
            MatrixCell::Empty | MatrixCell::Missing(_) => None,
        };
        let worse = |a: (usize, f64), b: (usize, f64)| {
            let is_worse = if least { b.1 < a.1 } else { b.1 > a.1 };
            if is_worse { b } else { a }
        };
        let values = self.each().enumerate().filter_map(value);
        let (at, value) = values.reduce(worse)?;
        let name = |member: usize| netperf_web::escape::line(&self.members[member].name);
        let size = self.members.len();
        Some((value, format!("{} to {}", name(at / size), name(at % size))))
    }

    /// The median of each sender's values.
    #[must_use]
    pub fn sender_medians(&self) -> Vec<Option<f64>> {
        let of = |row: Vec<Option<f64>>| median(&row.into_iter().flatten().collect::<Vec<_>>());
        self.table().into_iter().map(of).collect()
    }

    /// The median of each receiver's values.
    #[must_use]
    pub fn receiver_medians(&self) -> Vec<Option<f64>> {
        let table = self.table();
        let of = |column: usize| {
            let values = table.iter().filter_map(|row| *row.get(column)?);
            median(&values.collect::<Vec<_>>())
        };
        (0..self.members.len()).map(of).collect()
    }

    /// Number of cells that are missing for each reason.
    #[must_use]
    pub fn missing(&self) -> Vec<(&str, usize)> {
        let mut counts = vec![0; self.reasons.len()];
        for cell in self.each() {
            if let MatrixCell::Missing(reason) = cell {
                counts[reason] += 1;
            }
        }
        let reasons = self.reasons.iter().map(String::as_str).zip(counts);
        reasons.filter(|(_, count)| *count > 0).collect()
    }

    /// The values of a label of the members as numbers, for blocks of outliers; empty unless
    /// each member has the label.
    #[must_use]
    pub fn groups(&self, label: &str) -> Vec<usize> {
        let names = self.group_names(label);
        let of = |member: &MatrixMember| {
            let value = member.labels.get(label)?;
            names.iter().position(|name| name == value)
        };
        let groups = self.members.iter().map(of);
        groups.collect::<Option<Vec<usize>>>().unwrap_or_default()
    }

    /// The values of a label, in the order of members.
    #[must_use]
    pub fn group_names(&self, label: &str) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for value in self
            .members
            .iter()
            .filter_map(|member| member.labels.get(label))
        {
            if !names.contains(&value.as_str()) {
                names.push(value);
            }
        }
        names
    }

    /// The scale of effects: differences of at least half a percentage point for shares such as
    /// losses, which may be 0, and ratios of at least 5 % for everything else.
    #[must_use]
    pub fn scale(&self) -> EffectScale {
        if self.unit() == Unit::Percent {
            EffectScale::Difference { least: 0.5 }
        } else {
            EffectScale::Ratio { least: 0.05 }
        }
    }

    /// The outliers by median polish, with blocks of the label [`RACK`].
    #[must_use]
    pub fn outliers(&self) -> Vec<Outlier> {
        let polished = polish(&self.table(), self.scale());
        polished.map_or_else(Vec::new, |polish| polish.outliers(&self.groups(RACK)))
    }

    /// An outlier in words, such as `sender h3: 10.00 Mbit/s, -50.0 %`.
    #[must_use]
    pub fn describe(&self, outlier: &Outlier) -> String {
        let name = |member: usize| {
            let member = self.members.get(member);
            member.map_or_else(String::new, |member| {
                netperf_web::escape::line(&member.name)
            })
        };
        let value = |value: Option<f64>| {
            let value = value.map(|value| self.quantity(value));
            value.map_or_else(String::new, |value| format!("{value}, "))
        };
        let (subject, value) = match outlier.place {
            OutlierPlace::Row(row) => {
                let median = self.sender_medians().get(row).copied().flatten();
                (format!("sender {}", name(row)), value(median))
            }
            OutlierPlace::Column(column) => {
                let median = self.receiver_medians().get(column).copied().flatten();
                (format!("receiver {}", name(column)), value(median))
            }
            OutlierPlace::Cell(from, to) => {
                let value = match self.get(Cell { from, to }) {
                    CellValue::Value(number) => value(Some(number)),
                    CellValue::Empty | CellValue::Missing(_) => String::new(),
                };
                (format!("path {} to {}", name(from), name(to)), value)
            }
            OutlierPlace::Block(from, to) => {
                let names = self.group_names(RACK);
                let rack = |at: usize| netperf_web::escape::line(names.get(at).unwrap_or(&""));
                (
                    format!("rack {} to rack {}", rack(from), rack(to)),
                    String::new(),
                )
            }
        };
        let effect = match self.scale() {
            EffectScale::Ratio { .. } => format!("{:+.1} %", 100.0 * (outlier.effect - 1.0)),
            EffectScale::Difference { .. } => {
                format!("{:+.2} {}", outlier.effect, self.figure.unit)
            }
        };
        format!("{subject}: {value}{effect}")
    }

    /// The unit of the values.
    #[must_use]
    pub fn unit(&self) -> Unit {
        let known = [
            Unit::BitsPerSecond,
            Unit::TransactionsPerSecond,
            Unit::Seconds,
            Unit::Bytes,
            Unit::Percent,
        ];
        let unit = known
            .into_iter()
            .find(|unit| unit.sign() == self.figure.unit);
        unit.unwrap_or_else(|| Unit::Other(self.figure.unit.clone()))
    }

    /// The matrix as a chart, with marks at outliers. A block is marked at each of its cells.
    #[must_use]
    pub fn map(&self, outliers: &[Outlier]) -> MatrixMap {
        let groups = self.groups(RACK);
        let size = self.members.len();
        let mut flagged = vec![false; size * size];
        let (mut row_flags, mut column_flags) = (Vec::new(), Vec::new());
        for outlier in outliers {
            match outlier.place {
                OutlierPlace::Row(row) => row_flags.push(row),
                OutlierPlace::Column(column) => column_flags.push(column),
                OutlierPlace::Cell(row, column) => flagged[row * size + column] = true,
                OutlierPlace::Block(from, to) => {
                    for (at, flagged) in flagged.iter_mut().enumerate() {
                        *flagged |= groups[at / size] == from && groups[at % size] == to;
                    }
                }
            }
        }
        let flagged = self.each().zip(flagged);
        let cells = flagged.map(|(cell, is_flagged)| match cell {
            MatrixCell::Empty => MapCell::Empty,
            MatrixCell::Value(value) => MapCell::Value { value, is_flagged },
            MatrixCell::Missing(_) => MapCell::Missing,
        });
        let cells: Vec<MapCell> = cells.collect();
        let names = self.members.iter().map(|member| member.name.clone());
        MatrixMap {
            names: names.collect(),
            unit: self.unit(),
            cells: cells.chunks(size.max(1)).map(<[_]>::to_vec).collect(),
            row_flags,
            column_flags,
            has_tips: true,
        }
    }
}

#[cfg(test)]
mod tests;
