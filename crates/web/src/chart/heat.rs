//! Heat maps: how many operations took how long, over time.

use std::collections::BTreeMap;

use super::frame::{Axis, framed};
use super::scale::{AxisScale, Law};
use super::scene::{Anchor, Ink, Scene, SceneItem, TextRole, width_of};
use super::size::{Size, is_drawable};
use crate::number;
use crate::record::Range;
use crate::unit::{Quantity, Unit};

/// Levels of colour.
const LEVELS: usize = 6;

/// The values of a heat map.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// Begin and end of each interval in seconds, and the times seen in it.
    pub columns: Vec<(f64, f64, Vec<Range>)>,
}

impl HeatMap {
    pub(super) fn drawn(&self, size: Size) -> Scene {
        let mut scene = Scene::default();
        let narrow = size.width < 500.0;
        let (most, rows) = if narrow { (40, 16) } else { (90, 22) };
        let middles = || {
            self.columns
                .iter()
                .flat_map(|(_, _, ranges)| ranges.iter().map(|range| range.middle()))
        };
        let x = Axis {
            scale: AxisScale::exactly(
                0.0,
                self.columns
                    .iter()
                    .map(|column| column.1)
                    .filter(|end| is_drawable(*end))
                    .fold(0.0, f64::max),
            ),
            law: Law::Linear,
            unit: &Unit::Seconds,
            name: "time",
        };
        let y = Axis {
            scale: AxisScale::over(Law::Log, &Unit::Seconds, middles()),
            law: Law::Log,
            unit: &Unit::Seconds,
            name: "time of an operation",
        };
        let cells = self.cells(&y.scale, most, rows);
        let greatest = cells
            .iter()
            .flat_map(|(_, _, counts)| counts.values())
            .copied()
            .fold(0.0, f64::max);
        let top = key(&mut scene, greatest, size.width);
        let frame = framed(&mut scene, size, top, (x, &[]), y);
        let height = (frame.bottom - frame.top) / number::of(rows);
        for (from, to, counts) in &cells {
            let (left, right) = (frame.x.place(*from), frame.x.place(*to));
            for (row, count) in counts {
                let lower = frame.bottom - height * number::of(*row);
                scene.items.push(SceneItem::Rect {
                    at: (left, lower - height),
                    size: ((right - left).max(0.5), height),
                    ink: Ink::Heat(level(*count, greatest)),
                    tip: Some(tip(&frame.y, *from, *to, *row, rows, *count)),
                });
            }
        }
        scene
    }

    /// Columns, merged if they do not fit, each with the number of operations per row.
    fn cells(
        &self,
        y: &AxisScale,
        most: usize,
        rows: usize,
    ) -> Vec<(f64, f64, BTreeMap<usize, f64>)> {
        let drawable =
            |column: &&(f64, f64, Vec<Range>)| is_drawable(column.0) && is_drawable(column.1);
        let columns: Vec<_> = self.columns.iter().filter(drawable).collect();
        let each = columns.len().div_ceil(most).max(1);
        let groups = columns.chunks(each).filter_map(|group| {
            let (first, last) = (group.first()?, group.last()?);
            let mut counts = BTreeMap::new();
            for range in group.iter().flat_map(|column| &column.2) {
                let share = y.share(range.middle());
                if share.is_finite() && is_drawable(range.count) {
                    let row = number::index(share.clamp(0.0, 1.0) * number::of(rows)).min(rows - 1);
                    *counts.entry(row).or_insert(0.0) += range.count;
                }
            }
            Some((first.0, last.1, counts))
        });
        groups.collect()
    }
}

/// The level of a count, on a logarithmic scale.
fn level(count: f64, greatest: f64) -> usize {
    let share = (1.0 + count).ln() / (1.0 + greatest).ln().max(f64::MIN_POSITIVE);
    number::index((share * number::of(LEVELS)).ceil() - 1.0).min(LEVELS - 1)
}

fn tip(y: &AxisScale, from: f64, to: f64, row: usize, rows: usize, count: f64) -> String {
    let share = |row: usize| number::of(row) / number::of(rows);
    let seconds = |value| Quantity::new(value, Unit::Seconds);
    let (low, high) = (y.value_at(share(row)), y.value_at(share(row + 1)));
    let count = crate::unit::whole(count);
    format!(
        "{count} operations of {} to {}, from {} to {}",
        seconds(low),
        seconds(high),
        seconds(from),
        seconds(to)
    )
}

/// The largest count of a level: the inverse of [`level`].
fn largest_of(level: usize, greatest: f64) -> f64 {
    if level + 1 == LEVELS {
        return greatest;
    }
    let share = number::of(level + 1) / number::of(LEVELS);
    let exact = (share * (1.0 + greatest).ln()).exp() - 1.0;
    (exact * (1.0 + 1e-12)).floor()
}

/// Draws the key of the colours, each with the largest count that has it; returns its height.
fn key(scene: &mut Scene, greatest: f64, width: f64) -> f64 {
    let name = "operations up to";
    scene.text((0.0, 14.0), Anchor::Start, TextRole::Label, name);
    let left = width_of(name) + 8.0;
    let each = ((width - left - 14.0) / number::of(LEVELS)).clamp(18.0, 56.0);
    let mut free = 0.0;
    let mut before = 0.0;
    for level in 0..LEVELS {
        let largest = largest_of(level, greatest);
        // Fewer operations than colours.
        if largest <= before {
            continue;
        }
        before = largest;
        let x = left + each * number::of(level);
        scene.items.push(SceneItem::Rect {
            at: (x, 4.0),
            size: (each, 12.0),
            ink: Ink::Heat(level),
            tip: None,
        });
        let text = crate::unit::whole(largest);
        let (end, begin) = (x + each, x + each - width_of(&text));
        if begin >= free || level + 1 == LEVELS {
            scene.text((end, 30.0), Anchor::End, TextRole::Tick, text);
            free = end + 4.0;
        }
    }
    40.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_count_of_a_level_is_the_last_that_has_its_colour() {
        for greatest in [1.0, 6.0, 100.0, 15_009.0, 2e6] {
            for each in 0..LEVELS {
                let largest = largest_of(each, greatest);
                assert!(largest < 1.0 || level(largest, greatest) <= each);
                assert!(largest + 1.0 > greatest || level(largest + 1.0, greatest) > each);
            }
            assert_eq!(largest_of(LEVELS - 1, greatest), greatest);
        }
    }
}
