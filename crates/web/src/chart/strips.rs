//! Strips: the values of several sets, one under the other on one axis, each with its quartiles
//! and its median.

use super::frame::LINE;
use super::scale::{AxisScale, Law};
use super::scene::{Anchor, Ink, Scene, SceneItem, TextRole, fitted, width_of};
use super::size::{Size, is_drawable};
use crate::number;
use crate::unit::{Quantity, Unit};

/// The values of a chart of strips.
#[derive(Clone, Debug, PartialEq)]
pub struct Strips {
    /// Their unit.
    pub unit: Unit,
    /// The name of the axis.
    pub x_name: String,
    /// One strip for each set.
    pub strips: Vec<Strip>,
}

/// The values of one set.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// Its name.
    pub name: String,
    /// Which colour.
    pub colour: usize,
    /// A value for each run, with the name of the run.
    pub values: Vec<(String, f64)>,
}

/// Height of a strip below its name.
const HEIGHT: f64 = 24.0;
/// Space between strips.
const GAP: f64 = 8.0;

impl Strip {
    /// Its runs whose values can be drawn.
    fn drawable(&self) -> impl Iterator<Item = &(String, f64)> {
        self.values.iter().filter(|(_, value)| is_drawable(*value))
    }
}

impl Strips {
    pub(super) fn drawn(&self, size: Size) -> Scene {
        let mut scene = Scene {
            width: size.width,
            ..Scene::default()
        };
        let right = size.width - 14.0;
        let scale = self.scale().between(8.0, right - 8.0);
        let row = LINE + HEIGHT + GAP;
        let bottom = row * number::of(self.strips.len()) + 4.0;
        for tick in scale.ticks(size.ticks(), &self.unit) {
            scene.line([(tick.at, LINE), (tick.at, bottom)], Ink::Grid);
            scene.tick_label(tick.at, bottom + LINE - 2.0, &tick.text);
        }
        let (_, sign) = scale.unit(&self.unit);
        let at = (right, bottom + 2.0 * LINE);
        let name = format!("{}, {sign}", self.x_name);
        let name = name.trim_end_matches([' ', ',']);
        scene.text(at, Anchor::End, TextRole::Axis, name);
        for (index, strip) in self.strips.iter().enumerate() {
            let y = row * number::of(index);
            self.strip(&mut scene, &scale, strip, y);
        }
        scene.height = bottom + 2.0 * LINE + 8.0;
        scene
    }

    /// The axis: as far as the values, with a margin, as places are compared and not lengths.
    fn scale(&self) -> AxisScale {
        let runs = || self.strips.iter().flat_map(Strip::drawable);
        let values = || runs().map(|(_, value)| *value);
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        if low > high {
            return AxisScale::over(Law::Linear, &self.unit, std::iter::empty());
        }
        let margin = if high > low {
            (high - low) * 0.06
        } else {
            low.abs() * 0.05
        };
        AxisScale::exactly(low - margin, high + margin)
    }

    fn strip(&self, scene: &mut Scene, scale: &AxisScale, strip: &Strip, y: f64) {
        let values: Vec<f64> = strip.drawable().map(|(_, value)| *value).collect();
        let quartiles = netperf_stats::moments::quartiles(&values);
        let of = |value| Quantity::new(value, self.unit.clone());
        let ink = Ink::Series(strip.colour);
        let (top, base) = (y + LINE + 1.0, y + LINE - 3.0);
        let (middle, bottom) = (top + HEIGHT / 2.0, top + HEIGHT);
        let said = match (quartiles, values.len()) {
            (Some([_, median, _]), 1) => of(median).to_string(),
            (Some([_, median, _]), runs) => format!("median {}, {runs} runs", of(median)),
            (None, _) => "no value".to_owned(),
        };
        let right = scene.width - 14.0;
        let name = fitted(&strip.name, right - width_of(&said) - 12.0);
        scene.text((0.0, base), Anchor::Start, TextRole::Label, name);
        scene.text((right, base), Anchor::End, TextRole::Value, said);
        if let Some([left, median, right]) = quartiles.map(|all| all.map(|at| scale.place(at))) {
            let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
            let places = corners.to_vec();
            scene.items.push(SceneItem::Area { places, ink });
            scene.line([(median, top - 1.0), (median, bottom + 1.0)], ink);
        }
        for (run, value) in strip.drawable() {
            let at = (scale.place(*value), middle);
            let shape = strip.colour;
            scene.items.push(SceneItem::Mark { at, ink, shape });
            let tip = format!("{run}: {}", of(*value));
            scene.items.push(SceneItem::Spot { at, ink, tip });
        }
    }
}
