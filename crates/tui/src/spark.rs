//! Figures over time as bars of characters, from 0 to the largest.

/// Bars of one character, the lowest first.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The same in ASCII.
const ASCII: [char; 9] = [' ', '_', '.', ':', '-', '=', '+', '*', '#'];
/// Levels of a character.
const LEVELS: usize = 8;

/// Bars with a height of `rows`, the top row first. The largest value, or `full`, has the
/// full height. The value 0 is drawn at the lowest level, a missing value is blank.
pub(crate) fn bars(
    values: &[Option<f64>],
    full: Option<f64>,
    rows: usize,
    unicode: bool,
) -> Vec<String> {
    let glyphs = if unicode { BLOCKS } else { ASCII };
    let largest = values.iter().flatten().copied().fold(0.0, f64::max);
    let largest = full.unwrap_or(largest);
    let heights: Vec<usize> = values
        .iter()
        .map(|value| value.map_or(0, |value| height(value, largest, rows * LEVELS)))
        .collect();
    let row = |row: usize| {
        let below = row * LEVELS;
        let glyph = |height: &usize| glyphs[height.saturating_sub(below).min(LEVELS)];
        heights.iter().map(glyph).collect()
    };
    (0..rows).rev().map(row).collect()
}

/// The height of a value in levels.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of some dozens of levels"
)]
fn height(value: f64, largest: f64, levels: usize) -> usize {
    // The value 0 is drawn as the base line.
    if value <= 0.0 || largest <= 0.0 {
        return 1;
    }
    ((value / largest * levels as f64).round() as usize).clamp(1, levels)
}

/// A bar with a filled share.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a screen's columns"
)]
pub(crate) fn gauge(share: f64, columns: usize, unicode: bool) -> String {
    let filled = (share.clamp(0.0, 1.0) * columns as f64).round() as usize;
    let (full, empty) = if unicode { ("█", "░") } else { ("#", ".") };
    full.repeat(filled) + &empty.repeat(columns.saturating_sub(filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[f64], unicode: bool) -> String {
        let values: Vec<_> = values.iter().copied().map(Some).collect();
        bars(&values, None, 1, unicode).concat()
    }

    #[test]
    fn the_largest_is_full_and_nothing_is_the_lowest() {
        assert_eq!(row(&[0.0, 1.0, 4.0, 8.0], true), "▁▁▄█");
        assert_eq!(row(&[0.0, 1.0, 4.0, 8.0], false), "__-#");
        assert_eq!(row(&[0.0, 0.0], true), "▁▁");
    }

    #[test]
    fn bars_of_several_rows_stand_on_each_other() {
        let values = [Some(1.0), Some(16.0), None, Some(12.0)];
        assert_eq!(bars(&values, None, 2, true), [" █ ▄", "▁█ █"]);
    }

    #[test]
    fn a_gauge_is_as_wide_as_it_is_to_be() {
        assert_eq!(gauge(0.5, 4, false), "##..");
        assert_eq!(gauge(7.0, 3, true), "███");
        assert_eq!(gauge(-1.0, 3, true), "░░░");
    }
}
