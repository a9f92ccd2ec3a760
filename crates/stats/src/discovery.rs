//! False discovery rate of many tests, and the comparison of two tables cell by cell.

use crate::moments::{count, median, t_probability};
use crate::polish::{EffectScale, spread_of};

/// The false discovery rate at which each of several tests is just a discovery (Y. Benjamini,
/// Y. Hochberg: Controlling the False Discovery Rate, 1995). Among tests with a rate of at most
/// q, a share of at most q is expected to be false; this holds for independent tests and for
/// those with positive correlation.
#[must_use]
pub fn discovery_rates(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*b].total_cmp(&probabilities[*a]));
    let all = count(probabilities.len());
    let mut rates = vec![1.0; probabilities.len()];
    let mut least: f64 = 1.0;
    // From the largest probability, whose rank is the number of tests.
    for (above, at) in order.iter().enumerate() {
        let rank = count(probabilities.len() - above);
        least = least.min(probabilities[*at] * all / rank);
        rates[*at] = least;
    }
    rates
}

/// A cell that two tables have, compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellChange {
    /// Row and column.
    pub at: (usize, usize),
    /// The change from the first table to the second: a ratio or a difference, by the scale.
    pub change: f64,
    /// The probability of a change as large without a true one.
    pub probability: f64,
    /// The false discovery rate at which the cell is a discovery.
    pub rate: f64,
    /// True if the cell changed.
    pub changed: bool,
}

/// Two tables, compared cell by cell.
#[derive(Clone, Debug, PartialEq)]
pub struct TableChange {
    /// The median change: a ratio or a difference, by the scale.
    pub median: f64,
    /// Robust standard deviation of the changes around their median: of the logarithms of
    /// ratios, or of differences.
    pub spread: f64,
    /// Every cell that both tables have, row by row.
    pub cells: Vec<CellChange>,
    /// Cells that only one of the tables has.
    pub left_out: usize,
}

/// Fewest common cells for a comparison: their spread is not known from fewer.
const FEWEST_CELLS: usize = 8;

/// Compares tables with the same rows and columns; `None` with too few common cells, or if the
/// sizes differ. The spread of all changes around their median is the noise, so that most cells
/// must have the same change. A cell changed if it did so by more than `scale` ignores, and
/// with a false discovery rate of at most `rate` over all cells.
#[must_use]
pub fn compare_tables(
    first: &[Vec<Option<f64>>],
    second: &[Vec<Option<f64>>],
    scale: EffectScale,
    rate: f64,
) -> Option<TableChange> {
    let same = |(a, b): (&Vec<_>, &Vec<_>)| a.len() == b.len();
    if first.len() != second.len() || !first.iter().zip(second).all(same) {
        return None;
    }
    let (mut places, mut changes, mut left_out) = (Vec::new(), Vec::new(), 0);
    for (row, (before, after)) in first.iter().zip(second).enumerate() {
        for (column, (before, after)) in before.iter().zip(after).enumerate() {
            let [before, after] = [before, after].map(|value| scale.to_scale(*value));
            match (before, after) {
                (Some(before), Some(after)) => {
                    places.push((row, column));
                    changes.push(after - before);
                }
                (None, None) => {}
                _ => left_out += 1,
            }
        }
    }
    if changes.len() < FEWEST_CELLS {
        return None;
    }
    let middle = median(&changes)?;
    let around: Vec<f64> = changes.iter().map(|change| change - middle).collect();
    let spread = spread_of(&around);
    let freedom = crate::polish::EFFICIENCY * count(changes.len() - 1);
    let probabilities: Vec<f64> = changes
        .iter()
        .map(|change| t_probability(scale.score(*change, spread), freedom))
        .collect();
    let rates = discovery_rates(&probabilities);
    let cells = places.iter().zip(&changes).zip(&probabilities).zip(&rates);
    let cells = cells.map(|(((at, change), probability), found)| CellChange {
        at: *at,
        change: scale.effect(*change),
        probability: *probability,
        rate: *found,
        changed: *found <= rate && scale.matters(*change),
    });
    Some(TableChange {
        median: scale.effect(middle),
        spread,
        cells: cells.collect(),
        left_out,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_paper() {
        // The example of the paper: fifteen probabilities, four discoveries at 5 %.
        let paper = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let mut mixed = paper;
        mixed.reverse();
        for values in [paper, mixed] {
            let found = discovery_rates(&values);
            let found = found.iter().filter(|rate| **rate <= 0.05).count();
            assert_eq!(found, 4);
        }
        let rates = discovery_rates(&[0.01, 0.02, 0.03, 0.8]);
        let wanted = [0.04, 0.04, 0.04, 0.8];
        let is_close = rates.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(is_close, "{rates:?}");
        assert!(discovery_rates(&[]).is_empty());
    }

    #[test]
    fn tables_without_common_cells_are_not_compared() {
        let some = vec![vec![Some(1.0); 3]; 3];
        let none = vec![vec![None; 3]; 3];
        let scale = EffectScale::Ratio { least: 0.05 };
        assert_eq!(compare_tables(&some, &none, scale, 0.01), None);
        assert_eq!(compare_tables(&some, &some[..2], scale, 0.01), None);
        let same = compare_tables(&some, &some, scale, 0.01).unwrap();
        assert!(same.cells.iter().all(|cell| !cell.changed));
        assert!((same.median - 1.0).abs() < 1e-12);
    }
}
