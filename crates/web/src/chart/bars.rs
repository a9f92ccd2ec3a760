//! Horizontal bars, each under its name, so that both fit on a narrow screen.

use super::frame::LINE;
use super::legend::{self, Sign};
use super::scale::{AxisScale, Law};
use super::scene::{Anchor, Ink, Scene, SceneItem, TextRole, fitted, width_of};
use super::size::{Size, is_drawable};
use crate::unit::{Quantity, Unit};

/// The values of a chart of bars.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Their unit.
    pub unit: Unit,
    /// The names of parts; empty where bars have none.
    pub parts: Vec<String>,
    /// The bars.
    pub bars: Vec<Bar>,
    /// The axis includes this value.
    pub reach: f64,
}

/// A bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// Its parts, each with its colour: one with no name where the chart has no parts.
    pub parts: Vec<(usize, f64)>,
    /// Its total.
    pub total: f64,
}

/// Height of a bar.
const THICK: f64 = 16.0;

impl Bars {
    pub(super) fn drawn(&self, size: Size) -> Scene {
        let mut scene = Scene {
            width: size.width,
            ..Scene::default()
        };
        let entries = self.parts.iter().enumerate();
        let entries = entries.map(|(index, name)| (name.clone(), Ink::Part(index), Sign::Square));
        let top = legend::drawn(&mut scene, size.width, &entries.collect::<Vec<_>>());
        let ends = self.bars.iter().map(|bar| bar.total).chain([self.reach]);
        let right = size.width - 14.0;
        let scale = AxisScale::over(Law::Linear, &self.unit, ends).between(1.0, right);
        let row = LINE + THICK + 12.0;
        let bottom = top + row * crate::number::of(self.bars.len()) + 4.0;
        self.axis(&mut scene, &scale, top, bottom, size);
        for (index, bar) in self.bars.iter().enumerate() {
            let y = top + row * crate::number::of(index);
            self.bar(&mut scene, &scale, bar, y, size.width);
        }
        scene.height = bottom + 2.0 * LINE + 8.0;
        scene
    }

    fn axis(&self, scene: &mut Scene, scale: &AxisScale, top: f64, bottom: f64, size: Size) {
        for tick in scale.ticks(size.ticks(), &self.unit) {
            scene.line([(tick.at, top), (tick.at, bottom)], Ink::Grid);
            scene.tick_label(tick.at, bottom + LINE - 2.0, &tick.text);
        }
        let (_, sign) = scale.unit(&self.unit);
        let at = (size.width - 14.0, bottom + 2.0 * LINE);
        let name = format!("{}, {sign}", self.unit.quantity());
        scene.text(at, Anchor::End, TextRole::Axis, name);
    }

    fn bar(&self, scene: &mut Scene, scale: &AxisScale, bar: &Bar, y: f64, width: f64) {
        let total = Quantity::new(bar.total, self.unit.clone()).to_string();
        let space = width - width_of(&total) - 24.0;
        let base = y + LINE - 3.0;
        let name = fitted(&bar.name, space);
        scene.text((1.0, base), Anchor::Start, TextRole::Label, name);
        scene.text((width - 14.0, base), Anchor::End, TextRole::Value, total);
        let mut begin = 0.0;
        for (colour, value) in bar
            .parts
            .iter()
            .filter(|(_, value)| is_drawable(*value) && *value > 0.0)
        {
            let (from, to) = (scale.place(begin), scale.place(begin + value));
            begin += value;
            let part = self.parts.get(*colour).map(|name| format!(", {name}"));
            let value = Quantity::new(*value, self.unit.clone());
            let tip = format!("{}{}: {value}", bar.name, part.unwrap_or_default());
            let ink = if self.parts.is_empty() {
                Ink::Series(*colour)
            } else {
                Ink::Part(*colour)
            };
            // An invisibly small part is not drawn.
            if to - from < 0.4 {
                continue;
            }
            // Parts are told apart by a gap, too.
            let gap = if self.parts.is_empty() { 0.0 } else { 1.0 };
            scene.items.push(SceneItem::Rect {
                at: (from, y + LINE + 1.0),
                size: ((to - from - gap).max(0.5), THICK),
                ink,
                tip: Some(tip),
            });
        }
    }
}
