//! Values over time as bars of characters, and progress as a bar.

/// Bars of one character, the lowest first.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The same in ASCII.
const ASCII: [char; 9] = [' ', '_', '.', ':', '-', '=', '+', '*', '#'];
/// Levels of a character.
const LEVELS: usize = 8;

/// Bars with a height of `rows`, the top row first. The largest value, or `full`, has the
/// full height. The value 0 is drawn at the lowest level, a missing value is blank.
#[must_use]
pub fn bars(values: &[Option<f64>], full: Option<f64>, rows: usize, unicode: bool) -> Vec<String> {
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

/// One row of bars from 0 to the largest, at most `most` of them: means of groups where there are
/// more values.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a number of values in a group")]
pub fn means(values: &[f64], most: usize, unicode: bool) -> String {
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let means: Vec<Option<f64>> = groups(values, most).map(|part| Some(mean(part))).collect();
    bars(&means, None, 1, unicode).concat()
}

/// The values in at most `most` groups.
pub fn groups(values: &[f64], most: usize) -> impl Iterator<Item = &[f64]> {
    values.chunks(values.len().div_ceil(most.max(1)).max(1))
}

/// One row of bars from the smallest value to the largest, which shows small changes.
#[must_use]
pub fn between(values: &[f64], unicode: bool) -> String {
    let low = values.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let high = values.iter().copied().reduce(f64::max).unwrap_or(0.0);
    let glyphs = if unicode { BLOCKS } else { ASCII };
    let bar = |value: &f64| {
        let share = if high > low {
            (value - low) / (high - low)
        } else {
            0.5
        };
        glyphs[1 + rounded(share * 7.0).min(LEVELS - 1)]
    };
    values.iter().map(bar).collect()
}

/// The height of a value in levels.
#[expect(clippy::cast_precision_loss, reason = "some dozens of levels")]
fn height(value: f64, largest: f64, levels: usize) -> usize {
    // The value 0 is drawn as the base line.
    if value <= 0.0 || largest <= 0.0 {
        return 1;
    }
    rounded(value / largest * levels as f64).clamp(1, levels)
}

/// A bar with a filled share.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a number of columns")]
pub fn gauge(share: f64, columns: usize, unicode: bool) -> String {
    let filled = rounded(share.clamp(0.0, 1.0) * columns as f64);
    let (full, empty) = if unicode { ("█", "░") } else { ("#", ".") };
    full.repeat(filled) + &empty.repeat(columns.saturating_sub(filled))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
fn rounded(value: f64) -> usize {
    value.round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[f64], unicode: bool) -> String {
        let values: Vec<_> = values.iter().copied().map(Some).collect();
        bars(&values, None, 1, unicode).concat()
    }

    #[test]
    fn bars_are_full_at_the_largest_and_lowest_at_zero() {
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
    fn bars_of_many_values_are_means_of_groups() {
        assert_eq!(means(&[1.0, 3.0, 4.0, 4.0], 2, true), "▄█");
        assert_eq!(means(&[], 2, true), "");
    }

    #[test]
    fn bars_between_the_extremes_show_the_level() {
        assert_eq!(between(&[2.0], true), "▅");
        assert_eq!(between(&[1.0, 2.0, 8.0], true), "▁▂█");
        assert_eq!(between(&[], true), "");
        let sevenths: Vec<f64> = (0..8).map(f64::from).collect();
        assert_eq!(between(&sevenths, true), "▁▂▃▄▅▆▇█");
    }

    #[test]
    fn gauge_has_the_width_asked_for() {
        assert_eq!(gauge(0.5, 4, false), "##..");
        assert_eq!(gauge(7.0, 3, true), "███");
        assert_eq!(gauge(-1.0, 3, true), "░░░");
    }
}
