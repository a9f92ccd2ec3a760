//! Median polish of a table, and its outliers.
//!
//! A table of senders (rows) and receivers (columns) is the sum of an overall level, an effect
//! of each row, an effect of each column, and a residual of each cell (J. W. Tukey: Exploratory
//! Data Analysis, 1977, chapter 11). Medians are taken out of rows and columns in turn; up to
//! half of the cells of a row may be wrong without moving its effect. A slow sender is a row
//! effect, a slow receiver a column effect, a slow path a residual, and a slow pair of racks a
//! block of residuals.

use crate::discovery::discovery_rates;
use crate::moments::{count, mean, median, t_probability};

/// The rule for outliers: at most this false discovery rate, in each kind of outlier.
const RATE: f64 = 0.01;
/// At least this many robust standard deviations (B. Iglewicz, D. C. Hoaglin: How to Detect and
/// Handle Outliers, 1993).
const FEWEST_DEVIATIONS: f64 = 3.5;
/// Standard deviation of normal values, in median absolute deviations.
const OF_MEDIAN_DEVIATION: f64 = 1.4826;
/// Standard deviation of normal values, in mean absolute deviations.
const OF_MEAN_DEVIATION: f64 = 1.2533;
/// Asymptotic efficiency of the median absolute deviation with normal values: the deviation of
/// n values is known as well as their standard deviation from 0.37 n.
pub(crate) const EFFICIENCY: f64 = 0.37;
/// Standard error of a median of normal values, in standard errors of their mean.
const OF_MEDIAN: f64 = 1.2533;
/// Passes over rows and columns. Two or three suffice for most tables.
const PASSES: usize = 50;
/// A pass that changes nothing by more than this part of the spread of values is the last.
const SMALL: f64 = 1e-9;
/// Fewest values of a row, a column or a block with an effect that can be judged.
const FEWEST_VALUES: usize = 3;
/// Fewest rows, or columns, among which one can be an outlier.
const FEWEST_LINES: usize = 4;

/// Combination of the effects of rows and columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EffectScale {
    /// By ratios, for rates and times: values above 0 alone are used.
    Ratio {
        /// Smaller effects are ignored: 0.05 for 5 %.
        least: f64,
    },
    /// By differences, for values that may be 0, such as shares of lost datagrams.
    Difference {
        /// Smaller effects are ignored; in the unit of the values.
        least: f64,
    },
}

impl EffectScale {
    /// A value on the scale on which effects add up; `None` if it cannot be used.
    pub(crate) fn to_scale(self, value: Option<f64>) -> Option<f64> {
        let value = value.filter(|value| value.is_finite())?;
        match self {
            Self::Ratio { .. } => (value > 0.0).then(|| value.ln()),
            Self::Difference { .. } => Some(value),
        }
    }

    /// An effect as a ratio, or as a difference.
    pub(crate) fn effect(self, value: f64) -> f64 {
        match self {
            Self::Ratio { .. } => value.exp(),
            Self::Difference { .. } => value,
        }
    }

    /// True if an effect is not to be ignored. Ratios are judged alike in both directions:
    /// half as much is as large an effect as twice as much.
    pub(crate) fn matters(self, value: f64) -> bool {
        match self {
            Self::Ratio { least } => value.abs() > least.ln_1p(),
            Self::Difference { least } => value.abs() > least,
        }
    }

    /// Robust standard deviations of an effect.
    pub(crate) fn score(self, value: f64, spread: f64) -> f64 {
        if spread > 0.0 {
            value / spread
        } else if self.matters(value) {
            value.signum() * f64::INFINITY
        } else {
            0.0
        }
    }
}

/// The robust standard deviation of values around 0: from their median absolute deviation, or
/// from the mean one if more than half of them are 0.
pub(crate) fn spread_of(values: &[f64]) -> f64 {
    let sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    match median(&sizes) {
        Some(middle) if middle > 0.0 => OF_MEDIAN_DEVIATION * middle,
        _ => OF_MEAN_DEVIATION * mean(&sizes).unwrap_or(0.0),
    }
}

/// A table without its medians, on the scale on which effects add up.
#[derive(Clone, Debug, PartialEq)]
pub struct Polish {
    scale: EffectScale,
    overall: f64,
    rows: Vec<f64>,
    columns: Vec<f64>,
    residuals: Vec<Vec<Option<f64>>>,
    spread: f64,
    values: usize,
}

/// An outlier of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// Its position.
    pub place: OutlierPlace,
    /// Its effect: a ratio to the expected value (0.5 is half of it), or a difference, by the
    /// scale.
    pub effect: f64,
    /// Its effect in robust standard deviations, with its sign.
    pub score: f64,
    /// The false discovery rate at which it is an outlier.
    pub rate: f64,
}

/// Position of an outlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutlierPlace {
    /// A row: a sender.
    Row(usize),
    /// A column: a receiver.
    Column(usize),
    /// The rows of a group and the columns of a group: a pair of racks.
    Block(usize, usize),
    /// A cell, by row and column: a path.
    Cell(usize, usize),
}

/// The outcome of more measurements of an outlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// Their median is as far off, in the same direction.
    Confirmed,
    /// Their median is not.
    NotRepeated,
    /// There are no more measurements.
    Unknown,
}

/// Takes the medians out of rows and columns. Missing values, such as those of the diagonal, are
/// `None`. Rows may have different lengths; `None` for a table without any value.
#[must_use]
pub fn polish(table: &[Vec<Option<f64>>], scale: EffectScale) -> Option<Polish> {
    let scaled = |row: &Vec<Option<f64>>| -> Vec<Option<f64>> {
        row.iter().map(|value| scale.to_scale(*value)).collect()
    };
    let mut residuals: Vec<Vec<Option<f64>>> = table.iter().map(scaled).collect();
    let width = residuals.iter().map(Vec::len).max()?;
    residuals.iter_mut().for_each(|row| row.resize(width, None));
    let all: Vec<f64> = residuals.iter().flatten().flatten().copied().collect();
    let overall = median(&all)?;
    let size = all.iter().map(|value| (value - overall).abs()).sum::<f64>();
    let small = SMALL * size / count(all.len());
    let mut polish = Polish {
        scale,
        overall,
        rows: vec![0.0; residuals.len()],
        columns: vec![0.0; width],
        residuals,
        spread: 0.0,
        values: all.len(),
    };
    for value in polish.residuals.iter_mut().flatten().flatten() {
        *value -= overall;
    }
    for _ in 0..PASSES {
        let moved = polish.pass();
        if moved <= small {
            break;
        }
    }
    let left = polish.residuals.iter().flatten().flatten();
    let mut sizes: Vec<f64> = left.map(|value| value.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    // A median makes a residual of its line 0, or two of them small.
    let lines = polish.rows.len() + polish.columns.len() - 1;
    polish.spread = spread_of(sizes.get(lines..).unwrap_or_default());
    Some(polish)
}

impl Polish {
    /// Takes the median out of each row, and then out of each column; returns the largest.
    fn pass(&mut self) -> f64 {
        let mut largest: f64 = 0.0;
        for (row, effect) in self.residuals.iter_mut().zip(&mut self.rows) {
            let values: Vec<f64> = row.iter().flatten().copied().collect();
            let Some(middle) = median(&values) else {
                continue;
            };
            row.iter_mut().flatten().for_each(|value| *value -= middle);
            *effect += middle;
            largest = largest.max(middle.abs());
        }
        for (column, effect) in self.columns.iter_mut().enumerate() {
            let values: Vec<f64> = self
                .residuals
                .iter()
                .filter_map(|row| row[column])
                .collect();
            let Some(middle) = median(&values) else {
                continue;
            };
            for row in &mut self.residuals {
                if let Some(value) = &mut row[column] {
                    *value -= middle;
                }
            }
            *effect += middle;
            largest = largest.max(middle.abs());
        }
        for effects in [&mut self.rows, &mut self.columns] {
            let middle = median(effects).unwrap_or(0.0);
            effects.iter_mut().for_each(|effect| *effect -= middle);
            self.overall += middle;
        }
        largest
    }

    /// The overall level, in the unit of the values.
    #[must_use]
    pub fn overall(&self) -> f64 {
        self.scale.effect(self.overall)
    }

    /// The effect of a row: a ratio to the other rows, or a difference.
    #[must_use]
    pub fn row(&self, row: usize) -> Option<f64> {
        self.rows.get(row).map(|effect| self.scale.effect(*effect))
    }

    /// The effect of a column: a ratio to the other columns, or a difference.
    #[must_use]
    pub fn column(&self, column: usize) -> Option<f64> {
        let effect = self.columns.get(column)?;
        Some(self.scale.effect(*effect))
    }

    /// The value that a cell would have without a residual, in the unit of the values.
    #[must_use]
    pub fn expected(&self, row: usize, column: usize) -> Option<f64> {
        let effects = self.rows.get(row)? + self.columns.get(column)?;
        Some(self.scale.effect(self.overall + effects))
    }

    /// Robust standard deviation of the residuals: of logarithms of ratios, or of differences.
    #[must_use]
    pub fn spread(&self) -> f64 {
        self.spread
    }

    /// The outliers: rows and columns first, then blocks of `groups`, then cells, each kind in
    /// order. An outlier has a false discovery rate of at most 1 % among those of its kind, at
    /// least 3.5 robust standard deviations, and an effect that the scale does not ignore.
    ///
    /// `groups` has the rack of each member, which is both a row and a column; empty without
    /// racks. A cell of an outlying block is one only if it deviates from the block.
    ///
    /// A rack whose members differ from all others appears as rows or columns, and less than
    /// half of a row or column can be in outlying blocks: with two or three racks, none is found.
    #[must_use]
    pub fn outliers(&self, groups: &[usize]) -> Vec<Outlier> {
        let mut found = self.lines(&self.rows, OutlierPlace::Row);
        found.extend(self.lines(&self.columns, OutlierPlace::Column));
        let blocks = self.blocks(groups);
        let cells = self.outlying_cells(groups, &blocks);
        found.extend(blocks.into_iter().map(|(outlier, _)| outlier));
        found.extend(cells);
        found
    }

    /// Cells that deviate, from their block if that is an outlier. There may be a million cells:
    /// nothing but their probabilities is kept.
    fn outlying_cells(&self, groups: &[usize], blocks: &[(Outlier, f64)]) -> Vec<Outlier> {
        let group = |member: usize| groups.get(member).copied();
        let effect = |row: usize, column: usize, value: f64| {
            let of_block = blocks.iter().find(|(block, _)| {
                matches!(block.place, OutlierPlace::Block(from, to)
                    if group(row) == Some(from) && group(column) == Some(to))
            });
            value - of_block.map_or(0.0, |(_, effect)| *effect)
        };
        let cells = || {
            let rows = self.residuals.iter().enumerate();
            rows.flat_map(move |(row, values)| {
                let values = values.iter().enumerate();
                let known = values.filter_map(|(column, value)| Some((column, (*value)?)));
                known.map(move |(column, value)| (row, column, value))
            })
        };
        let freedom = EFFICIENCY * count(self.freedom());
        let probability = |(row, column, value): (usize, usize, f64)| {
            let score = self.scale.score(effect(row, column, value), self.spread);
            t_probability(score, freedom)
        };
        let probabilities: Vec<f64> = cells().map(probability).collect();
        let rates = discovery_rates(&probabilities);
        let judged = cells()
            .zip(rates)
            .filter_map(|((row, column, value), rate)| {
                let effect = effect(row, column, value);
                let place = OutlierPlace::Cell(row, column);
                self.judge(place, (effect, self.spread), rate)
            });
        judged.collect()
    }

    /// Values that are not used up by medians.
    fn freedom(&self) -> usize {
        let lines = self.rows.len() + self.columns.len();
        self.values.saturating_sub(lines).max(1)
    }

    /// Rows or columns that differ from the others by more than these differ among themselves,
    /// and by more than the noise of their cells.
    fn lines(&self, effects: &[f64], place: fn(usize) -> OutlierPlace) -> Vec<Outlier> {
        let is_row = matches!(place(0), OutlierPlace::Row(_));
        let values = |at: usize| {
            if is_row {
                self.residuals[at].iter().flatten().count()
            } else {
                self.residuals.iter().filter_map(|row| row[at]).count()
            }
        };
        let sizes: Vec<usize> = (0..effects.len()).map(values).collect();
        let usable = |at: &usize| sizes[*at] >= FEWEST_VALUES;
        let known: Vec<usize> = (0..effects.len()).filter(usable).collect();
        if known.len() < FEWEST_LINES {
            return Vec::new();
        }
        let some: Vec<f64> = known.iter().map(|at| effects[*at]).collect();
        let middle = median(&some).unwrap_or(0.0);
        let around: Vec<f64> = some.iter().map(|effect| effect - middle).collect();
        let among = spread_of(&around);
        let tests: Vec<_> = known
            .iter()
            .zip(&around)
            .map(|(at, effect)| {
                let noise = OF_MEDIAN * self.spread / count(sizes[*at]).sqrt();
                let (spread, values) = if among > noise {
                    (among, known.len() - 1)
                } else {
                    (noise, self.freedom())
                };
                (place(*at), *effect, spread, EFFICIENCY * count(values))
            })
            .collect();
        self.judged(&tests)
            .into_iter()
            .map(|(outlier, _)| outlier)
            .collect()
    }

    /// Blocks of residuals with their effects.
    fn blocks(&self, groups: &[usize]) -> Vec<(Outlier, f64)> {
        let most = groups.iter().max().map_or(0, |group| group + 1);
        let members = |group: usize| -> Vec<usize> {
            (0..groups.len())
                .filter(|at| groups[*at] == group)
                .collect()
        };
        let members: Vec<Vec<usize>> = (0..most).map(members).collect();
        let mut tests = Vec::new();
        for (from, rows) in members.iter().enumerate() {
            for (to, columns) in members.iter().enumerate() {
                // One row or column of a block is a part of a line.
                if rows.len() < 2 || columns.len() < 2 {
                    continue;
                }
                let cell = |row: &usize, column: &usize| *self.residuals.get(*row)?.get(*column)?;
                let values: Vec<f64> = rows
                    .iter()
                    .flat_map(|row| columns.iter().filter_map(move |column| cell(row, column)))
                    .collect();
                let enough = values.len() >= FEWEST_VALUES;
                let Some(middle) = median(&values).filter(|_| enough) else {
                    continue;
                };
                let spread = OF_MEDIAN * self.spread / count(values.len()).sqrt();
                let freedom = EFFICIENCY * count(self.freedom());
                tests.push((OutlierPlace::Block(from, to), middle, spread, freedom));
            }
        }
        if tests.len() < FEWEST_LINES {
            return Vec::new();
        }
        self.judged(&tests)
    }

    /// The outliers among tests of one kind: place, effect, its standard deviation, and the
    /// degrees of freedom of that.
    fn judged(&self, tests: &[(OutlierPlace, f64, f64, f64)]) -> Vec<(Outlier, f64)> {
        let score = |effect: f64, spread: f64| self.scale.score(effect, spread);
        let probabilities: Vec<f64> = tests
            .iter()
            .map(|(_, effect, spread, freedom)| t_probability(score(*effect, *spread), *freedom))
            .collect();
        let rates = discovery_rates(&probabilities);
        let judged = tests.iter().zip(rates).filter_map(|(test, rate)| {
            let (place, effect, spread, _) = *test;
            Some((self.judge(place, (effect, spread), rate)?, effect))
        });
        judged.collect()
    }

    /// An effect with its standard deviation and false discovery rate, if it is an outlier.
    fn judge(
        &self,
        place: OutlierPlace,
        (effect, spread): (f64, f64),
        rate: f64,
    ) -> Option<Outlier> {
        let score = self.scale.score(effect, spread);
        let is_outlier =
            rate <= RATE && score.abs() >= FEWEST_DEVIATIONS && self.scale.matters(effect);
        is_outlier.then_some(Outlier {
            place,
            effect: self.scale.effect(effect),
            score,
            rate,
        })
    }

    /// Judges more measurements of the cells of an outlier: `again` has values with their row
    /// and column.
    #[must_use]
    pub fn repeated(&self, outlier: &Outlier, again: &[((usize, usize), f64)]) -> Repetition {
        let residual = |((row, column), value): &((usize, usize), f64)| {
            let column_effect = self.columns.get(*column)?;
            let row_effect = self.rows.get(*row)?;
            // The effect of a line is what is tested, so that it stays in.
            let effects = match outlier.place {
                OutlierPlace::Row(_) => *column_effect,
                OutlierPlace::Column(_) => *row_effect,
                OutlierPlace::Block(..) | OutlierPlace::Cell(..) => column_effect + row_effect,
            };
            let value = self.scale.to_scale(Some(*value))?;
            Some(value - self.overall - effects)
        };
        let residuals: Vec<f64> = again.iter().filter_map(residual).collect();
        let Some(middle) = median(&residuals) else {
            return Repetition::Unknown;
        };
        let far = self.scale.matters(middle)
            && middle.abs() >= FEWEST_DEVIATIONS * self.spread / count(residuals.len()).sqrt();
        if far && (middle > 0.0) == (outlier.score > 0.0) {
            Repetition::Confirmed
        } else {
            Repetition::NotRepeated
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATIO: EffectScale = EffectScale::Ratio { least: 0.05 };
    const DIFFERENCE: EffectScale = EffectScale::Difference { least: 0.0 };

    fn table(rows: &[&[f64]]) -> Vec<Vec<Option<f64>>> {
        let some = |row: &&[f64]| row.iter().map(|value| Some(*value)).collect();
        rows.iter().map(some).collect()
    }

    #[test]
    fn sums_of_rows_and_columns_are_found_exactly() {
        let rows = [0.0, 1.0, 5.0, 2.0];
        let columns = [10.0, 10.0, 20.0, 11.0, 13.0];
        let mut values: Vec<Vec<Option<f64>>> = rows
            .iter()
            .map(|row| columns.iter().map(|column| Some(row + column)).collect())
            .collect();
        values[1][2] = None;
        values[3][0] = Some(112.0);
        let found = polish(&values, DIFFERENCE).unwrap();
        assert!((found.expected(0, 0).unwrap() - 10.0).abs() < 1e-9);
        assert!((found.expected(1, 2).unwrap() - 21.0).abs() < 1e-9);
        assert!((found.residuals[3][0].unwrap() - 100.0).abs() < 1e-9);
        let step = found.row(2).unwrap() - found.row(0).unwrap();
        assert!((step - 5.0).abs() < 1e-9);
        let step = found.column(2).unwrap() - found.column(0).unwrap();
        assert!((step - 10.0).abs() < 1e-9);
        assert_eq!(found.expected(9, 0), None);
    }

    #[test]
    fn a_table_without_values_has_no_polish() {
        assert_eq!(polish(&[], RATIO), None);
        assert_eq!(polish(&[vec![None, None]], RATIO), None);
        // Ratios have no zero and no negative values.
        assert_eq!(polish(&table(&[&[0.0, -1.0, f64::NAN]]), RATIO), None);
    }

    #[test]
    fn a_few_members_have_no_outlying_lines() {
        let found = polish(&table(&[&[1.0, 5.0], &[1.0, 1.0]]), RATIO).unwrap();
        assert_eq!(found.outliers(&[]), []);
    }

    #[test]
    fn equal_values_but_one_have_one_outlier() {
        let mut values = vec![vec![Some(20e6); 6]; 6];
        for (at, row) in values.iter_mut().enumerate() {
            row[at] = None;
        }
        assert_eq!(polish(&values, RATIO).unwrap().outliers(&[]), []);
        values[2][4] = Some(10e6);
        let found = polish(&values, RATIO).unwrap();
        let outliers = found.outliers(&[]);
        assert_eq!(outliers.len(), 1, "{outliers:?}");
        assert_eq!(outliers[0].place, OutlierPlace::Cell(2, 4));
        assert!((outliers[0].effect - 0.5).abs() < 1e-9);
        let again = |value| found.repeated(&outliers[0], &[((2, 4), value)]);
        assert_eq!(again(10.2e6), Repetition::Confirmed);
        assert_eq!(again(19.9e6), Repetition::NotRepeated);
        assert_eq!(again(40e6), Repetition::NotRepeated);
        assert_eq!(found.repeated(&outliers[0], &[]), Repetition::Unknown);
    }
}
