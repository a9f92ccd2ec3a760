//! Heat maps: how many operations took how long, over time.

use std::collections::BTreeMap;

use super::frame::{Axis, framed};
use super::scale::{AxisScale, Law};
use super::scene::{Anchor, Ink, Scene, SceneItem, TextRole, width_of};
use super::{Size, is_drawable};
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
        let top = key(&mut scene);
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
        let frame = framed(&mut scene, size, top, (x, &[]), y);
        let cells = self.cells(&frame.y, most, rows);
        let greatest = cells
            .iter()
            .flat_map(|(_, _, counts)| counts.values())
            .copied()
            .fold(0.0, f64::max);
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

/// Draws the key of the colours; returns its height.
fn key(scene: &mut Scene) -> f64 {
    let few = "few operations";
    scene.text((0.0, 14.0), Anchor::Start, TextRole::Label, few);
    let left = width_of(few) + 8.0;
    for level in 0..LEVELS {
        let at = (left + 18.0 * number::of(level), 4.0);
        scene.items.push(SceneItem::Rect {
            at,
            size: (18.0, 12.0),
            ink: Ink::Heat(level),
            tip: None,
        });
    }
    let right = left + 18.0 * number::of(LEVELS) + 8.0;
    scene.text((right, 14.0), Anchor::Start, TextRole::Label, "many");
    24.0
}
