//! Outliers of a campaign: what looks wrong is measured again before it is reported.
//!
//! [`suspects`] finds outliers by median polish, and the cells to measure again; [`judged`] says
//! which of them hold.

use netperf_stats::moments::median;
use netperf_stats::polish::{Outlier, OutlierPlace, Polish, Repetition, polish};
use serde::{Deserialize, Serialize};

use crate::matrix::{CellValue, Matrix, RACK};
use crate::outcome::{CellFigures, FIGURES};
use crate::pattern::Cell;

/// Most cells of a sender, a receiver or a pair of racks that are measured again.
const MOST_OF_LINE: usize = 5;
/// Most cells that are measured again.
const MOST_CELLS: usize = 1000;

/// Kind of an outlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutlierKind {
    /// All cells of a sender: `from` is its index.
    Sender,
    /// All cells of a receiver: `to` is its index.
    Receiver,
    /// One cell.
    Path,
    /// The cells between two racks: `from` and `to` are their numbers in the order of members.
    RackPair,
}

/// An outlier in a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignOutlier {
    /// Name of the metric, such as `throughput`.
    #[serde(rename = "metric")]
    pub figure: String,
    /// Its kind.
    pub kind: OutlierKind,
    /// The sender; null for a receiver.
    pub from: Option<usize>,
    /// The receiver; null for a sender.
    pub to: Option<usize>,
    /// Its value or values against those expected: a ratio, for losses a difference in
    /// percentage points.
    pub effect: f64,
    /// The effect in robust standard deviations; null if the other cells do not vary.
    pub deviations: Option<f64>,
    /// False discovery rate at which it is an outlier.
    pub rate: f64,
    /// The first value of the cells that were measured again, their median; null if none was.
    pub first: Option<f64>,
    /// Their second value.
    pub again: Option<f64>,
    /// True if the second measurement shows it as well; null if there was none.
    pub confirmed: Option<bool>,
}

impl CampaignOutlier {
    /// False if the second measurement does not show it.
    #[must_use]
    pub fn is_reported(&self) -> bool {
        self.confirmed != Some(false)
    }

    /// It as an outlier of a matrix; `None` if the document has no such place.
    #[must_use]
    pub fn outlier(&self) -> Option<Outlier> {
        let place = match self.kind {
            OutlierKind::Sender => OutlierPlace::Row(self.from?),
            OutlierKind::Receiver => OutlierPlace::Column(self.to?),
            OutlierKind::Path => OutlierPlace::Cell(self.from?, self.to?),
            OutlierKind::RackPair => OutlierPlace::Block(self.from?, self.to?),
        };
        let infinite = if self.effect < 1.0 { -1.0 } else { 1.0 } * f64::INFINITY;
        Some(Outlier {
            place,
            effect: self.effect,
            score: self.deviations.unwrap_or(infinite),
            rate: self.rate,
        })
    }

    /// Result of the second measurement, such as `again 9.50 Mbit/s`.
    #[must_use]
    pub fn note(&self, matrix: &Matrix) -> String {
        match self.again {
            Some(again) => format!("again {}", matrix.quantity(again)),
            None => "not measured again".to_owned(),
        }
    }

    /// Both values of the cells that were measured again, such as `9.51 Mbit/s, 9.50 Mbit/s`.
    #[must_use]
    pub fn values(&self, matrix: &Matrix) -> String {
        match (self.first, self.again) {
            (Some(first), Some(again)) => {
                format!("{}, {}", matrix.quantity(first), matrix.quantity(again))
            }
            _ => "not measured again".to_owned(),
        }
    }

    /// True if its place is one of this matrix.
    #[must_use]
    pub fn is_of(&self, matrix: &Matrix) -> bool {
        let most = match self.kind {
            OutlierKind::RackPair => matrix.group_names(RACK).len(),
            OutlierKind::Sender | OutlierKind::Receiver | OutlierKind::Path => matrix.members.len(),
        };
        let mut places = self.from.iter().chain(&self.to);
        self.figure == matrix.figure.name && places.all(|place| *place < most)
    }
}

/// Something that looks wrong, and the cells that are to be measured again.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// Number of the matrix.
    pub matrix: usize,
    /// The outlier.
    pub outlier: Outlier,
    /// Its cells, or some of many.
    pub cells: Vec<Cell>,
}

/// The outliers of all matrices.
#[must_use]
pub fn suspects(matrices: &[Matrix]) -> Vec<Suspect> {
    let of = |(number, matrix): (usize, &Matrix)| -> Vec<Suspect> {
        let outliers = matrix.outliers();
        let suspect = |outlier: Outlier| Suspect {
            matrix: number,
            cells: cells_of(matrix, &outlier),
            outlier,
        };
        outliers.into_iter().map(suspect).collect()
    };
    matrices.iter().enumerate().flat_map(of).collect()
}

/// The cells of an outlier that have a value: of many, some that lie evenly among them.
fn cells_of(matrix: &Matrix, outlier: &Outlier) -> Vec<Cell> {
    let groups = matrix.groups(RACK);
    let all = 0..matrix.members.len();
    let cell = |from: usize, to: usize| Cell { from, to };
    let cells: Vec<Cell> = match outlier.place {
        OutlierPlace::Row(from) => all.map(|to| cell(from, to)).collect(),
        OutlierPlace::Column(to) => all.map(|from| cell(from, to)).collect(),
        OutlierPlace::Cell(from, to) => vec![cell(from, to)],
        OutlierPlace::Block(first, second) => {
            let in_group = |group: usize| {
                let members = groups.iter().enumerate();
                members.filter_map(move |(at, one)| (*one == group).then_some(at))
            };
            let to = |from: usize| in_group(second).map(move |to| cell(from, to));
            in_group(first).flat_map(to).collect()
        }
    };
    let has_value = |cell: &Cell| matches!(matrix.get(*cell), CellValue::Value(_));
    let cells: Vec<Cell> = cells.into_iter().filter(has_value).collect();
    let count = cells.len().min(MOST_OF_LINE);
    let some = (0..count).map(|at| cells[at * cells.len() / count]);
    some.collect()
}

/// The cells to measure again, each once.
#[must_use]
pub fn cells(suspects: &[Suspect]) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for cell in suspects.iter().flat_map(|suspect| &suspect.cells) {
        if cells.len() < MOST_CELLS && known.insert(*cell) {
            cells.push(*cell);
        }
    }
    cells
}

/// Judges what looked wrong by second measurements of cells.
#[must_use]
pub fn judged(
    matrices: &[Matrix],
    suspects: &[Suspect],
    again: &[(Cell, CellFigures)],
) -> Vec<CampaignOutlier> {
    let mut judged = Vec::new();
    for (number, matrix) in matrices.iter().enumerate() {
        let own: Vec<&Suspect> = suspects.iter().filter(|one| one.matrix == number).collect();
        if own.is_empty() {
            continue;
        }
        let Some(polish) = polish(&matrix.table(), matrix.scale()) else {
            continue;
        };
        judged.extend(own.iter().map(|one| judge((matrix, &polish), one, again)));
    }
    judged
}

fn judge(
    (matrix, polish): (&Matrix, &Polish),
    suspect: &Suspect,
    again: &[(Cell, CellFigures)],
) -> CampaignOutlier {
    let outlier = &suspect.outlier;
    let name = &matrix.figure.name;
    let figure = FIGURES.iter().find(|one| one.name == name);
    let is_own = |(cell, _): &&(Cell, CellFigures)| suspect.cells.contains(cell);
    let value = |(cell, figures): &(Cell, CellFigures)| Some((*cell, (figure?.value)(figures)?));
    let values: Vec<(Cell, f64)> = again.iter().filter(is_own).filter_map(value).collect();
    let first = |(cell, _): &(Cell, f64)| match matrix.get(*cell) {
        CellValue::Value(value) => Some(value),
        CellValue::Empty | CellValue::Missing(_) => None,
    };
    let firsts: Vec<f64> = values.iter().filter_map(first).collect();
    let seconds: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    let places: Vec<((usize, usize), f64)> = values
        .iter()
        .map(|(cell, value)| ((cell.from, cell.to), *value))
        .collect();
    let confirmed = match polish.repeated(outlier, &places) {
        Repetition::Confirmed => Some(true),
        Repetition::NotRepeated => Some(false),
        Repetition::Unknown => None,
    };
    let (kind, from, to) = match outlier.place {
        OutlierPlace::Row(from) => (OutlierKind::Sender, Some(from), None),
        OutlierPlace::Column(to) => (OutlierKind::Receiver, None, Some(to)),
        OutlierPlace::Cell(from, to) => (OutlierKind::Path, Some(from), Some(to)),
        OutlierPlace::Block(from, to) => (OutlierKind::RackPair, Some(from), Some(to)),
    };
    CampaignOutlier {
        figure: name.clone(),
        kind,
        from,
        to,
        effect: outlier.effect,
        deviations: Some(outlier.score).filter(|score| score.is_finite()),
        rate: outlier.rate,
        first: median(&firsts),
        again: median(&seconds),
        confirmed,
    }
}

#[cfg(test)]
mod tests {
    use netperf_stats::testing::Dice;

    use super::*;
    use crate::matrix::MatrixMember;

    /// Ten members, of which one sender is slow, and one path seems to be.
    fn matrix() -> Matrix {
        let member = |at: usize| MatrixMember {
            name: format!("h{at}"),
            ..MatrixMember::default()
        };
        let mut matrix = Matrix::new(FIGURES[0].of_matrix(), (0..10).map(member).collect());
        let mut dice = Dice::new(5);
        for from in 0..10 {
            for to in (0..10).filter(|to| *to != from) {
                let slow = from == 3 || (from, to) == (1, 2);
                let rate = 20e6 * (0.01 * dice.normal()).exp() * if slow { 0.5 } else { 1.0 };
                matrix.set(Cell { from, to }, Ok(rate));
            }
        }
        matrix
    }

    fn rate(bits: f64) -> CellFigures {
        CellFigures {
            bits_per_second: Some(bits),
            ..CellFigures::default()
        }
    }

    #[test]
    fn only_what_holds_is_reported() {
        let matrices = [matrix()];
        let suspects = suspects(&matrices);
        assert_eq!(suspects.len(), 2, "{suspects:?}");
        let cells = cells(&suspects);
        assert_eq!(cells.len(), MOST_OF_LINE + 1);
        assert!(cells.contains(&Cell { from: 1, to: 2 }));
        // The sender is as slow as before, the path is not.
        let second = |cell: &Cell| {
            let bits = if cell.from == 3 { 10.1e6 } else { 20.2e6 };
            (*cell, rate(bits))
        };
        let again: Vec<_> = cells.iter().map(second).collect();
        let found = judged(&matrices, &suspects, &again);
        assert_eq!(
            (found[0].kind, found[0].from, found[0].confirmed),
            (OutlierKind::Sender, Some(3), Some(true))
        );
        assert_eq!(found[0].again, Some(10.1e6));
        assert!(found[0].first.is_some_and(|first| first < 11e6));
        assert_eq!(
            (found[1].kind, found[1].from, found[1].to),
            (OutlierKind::Path, Some(1), Some(2))
        );
        assert_eq!(found[1].confirmed, Some(false));
        assert!(found[0].is_reported() && !found[1].is_reported());
        assert_eq!(found[0].note(&matrices[0]), "again 10.1\u{a0}Mbit/s");
        let values = found[0].values(&matrices[0]).replace('\u{a0}', " ");
        assert!(values.ends_with("Mbit/s, 10.1 Mbit/s"), "{values}");
        assert_eq!(found[0].outlier(), Some(suspects[0].outlier));
    }

    #[test]
    fn without_a_second_measurement_nothing_is_confirmed() {
        let matrices = [matrix()];
        let suspects = suspects(&matrices);
        for one in judged(&matrices, &suspects, &[]) {
            assert_eq!((one.confirmed, one.again), (None, None));
            assert!(one.is_reported());
            assert_eq!(one.note(&matrices[0]), "not measured again");
            assert_eq!(one.values(&matrices[0]), "not measured again");
        }
    }

    #[test]
    fn a_document_with_other_places_has_none_in_the_matrix() {
        let matrices = [matrix()];
        let suspects = suspects(&matrices);
        let mut one = judged(&matrices, &suspects, &[]).remove(0);
        assert!(one.is_of(&matrices[0]));
        one.from = Some(10);
        assert!(!one.is_of(&matrices[0]));
    }
}
