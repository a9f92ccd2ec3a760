//! The frame of a plot: axes with numbers and names, and grid lines.

use super::scale::{AxisScale, Law, Tick};
use super::scene::{Anchor, Ink, Plot, Scene, TextRole, lines_within, width_of};
use super::size::Size;
use crate::unit::Unit;

/// Height of a line of text.
pub(super) const LINE: f64 = 18.0;

/// Ticks of the vertical axis, about.
const ROWS: usize = 5;

/// The geometry of a frame.
#[derive(Clone, Debug)]
pub(super) struct PlotFrame {
    /// The horizontal axis.
    pub(super) x: AxisScale,
    /// The vertical axis.
    pub(super) y: AxisScale,
    /// Edges of the plot.
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// An axis before its layout.
pub(super) struct Axis<'a> {
    /// Its values.
    pub(super) scale: AxisScale,
    /// Their law.
    pub(super) law: Law,
    /// Their unit.
    pub(super) unit: &'a Unit,
    /// Their name.
    pub(super) name: &'a str,
}

impl Axis<'_> {
    /// Its name with the unit of its numbers, where they have one in common.
    fn title(&self) -> String {
        match self.law {
            Law::Linear => {
                let (_, sign) = self.scale.unit(self.unit);
                if self.name.is_empty() {
                    sign
                } else if sign.is_empty() {
                    self.name.to_owned()
                } else {
                    format!("{}, {sign}", self.name)
                }
            }
            Law::Log => format!("{}, logarithmic", self.name),
            Law::Nines => self.name.to_owned(),
        }
    }
}

/// Draws axes below `top`; returns their geometry. The horizontal axis has ticks at the values
/// `measured_at`, or at round numbers without any.
pub(super) fn framed(
    scene: &mut Scene,
    size: Size,
    top: f64,
    (x, measured_at): (Axis<'_>, &[f64]),
    y: Axis<'_>,
) -> PlotFrame {
    let [x_title, y_title] = [x.title(), y.title()].map(|title| lines_within(&title, size.width));
    let y_unit = y.unit;
    let measured = y.scale.clone().between(0.0, 1.0).ticks(ROWS, y_unit);
    let widest = measured
        .iter()
        .map(|tick| width_of(&tick.text))
        .fold(0.0, f64::max);
    let height_of = |title: &[String]| title.iter().map(|_| LINE).sum::<f64>();
    let top = top + height_of(&y_title) + 6.0;
    let frame = PlotFrame {
        left: widest + 10.0,
        right: size.width - 14.0,
        top,
        bottom: top + size.height,
        x: x.scale.clone().between(widest + 10.0, size.width - 14.0),
        y: y.scale.between(top + size.height, top),
    };
    scene.width = size.width;
    scene.height = frame.bottom + LINE + height_of(&x_title) + 8.0;
    let mut y_at = top - 10.0 - height_of(&y_title);
    for line in y_title {
        y_at += LINE;
        scene.text((0.0, y_at), Anchor::Start, TextRole::Axis, line);
    }
    for tick in frame.y.ticks(ROWS, y_unit) {
        scene.line([(frame.left, tick.at), (frame.right, tick.at)], Ink::Grid);
        let at = (frame.left - 7.0, tick.at + 4.0);
        scene.text(at, Anchor::End, TextRole::Tick, tick.text);
    }
    let begin = scene.items.len();
    x_ticks(scene, &frame, size, &x, measured_at);
    let ticks = begin..scene.items.len();
    let base = [(frame.left, frame.bottom), (frame.right, frame.bottom)];
    scene.line(base, Ink::Axis);
    let mut x_at = frame.bottom + LINE + 2.0;
    for line in x_title {
        x_at += LINE;
        scene.text((frame.right, x_at), Anchor::End, TextRole::Axis, line);
    }
    scene.plot = Some(Plot {
        edges: [frame.left, frame.top, frame.right, frame.bottom],
        ends: frame.x.values(),
        law: x.law.name(),
        factor: match x.law {
            Law::Linear => frame.x.unit(x.unit).0,
            Law::Log | Law::Nines => 1.0,
        },
        measured_at: measured_at.to_vec(),
        ticks,
        values: scene.items.len(),
    });
    frame
}

/// Draws the ticks of the horizontal axis, those of shares with lines up to the top.
fn x_ticks(scene: &mut Scene, frame: &PlotFrame, size: Size, x: &Axis<'_>, measured_at: &[f64]) {
    let ticks = if measured_at.is_empty() {
        frame.x.ticks(size.ticks(), x.unit)
    } else {
        let texts = measured_at.iter().map(|value| crate::unit::short(*value));
        let ticks = measured_at.iter().zip(texts);
        ticks
            .map(|(value, text)| frame.x.tick(*value, text))
            .collect()
    };
    for tick in apart(ticks) {
        if x.law == Law::Nines {
            scene.line([(tick.at, frame.top), (tick.at, frame.bottom)], Ink::Grid);
        }
        scene.line(
            [(tick.at, frame.bottom), (tick.at, frame.bottom + 5.0)],
            Ink::Axis,
        );
        scene.tick_label(tick.at, frame.bottom + LINE, &tick.text);
    }
}

/// Ticks whose texts do not run into one another.
fn apart(ticks: Vec<Tick>) -> Vec<Tick> {
    let mut kept: Vec<Tick> = Vec::new();
    for tick in ticks {
        let space = |before: &Tick| {
            tick.at - before.at >= (width_of(&tick.text) + width_of(&before.text)) / 2.0 + 8.0
        };
        if kept.last().is_none_or(space) {
            kept.push(tick);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::scene::SceneItem;
    use super::*;

    #[test]
    fn titles_of_axes_take_more_lines_where_one_is_too_wide() {
        let unit = Unit::Seconds;
        let name = "median CPU time per transaction of the server";
        let axis = || Axis {
            scale: AxisScale::over(Law::Log, &unit, [1.0, 1000.0].into_iter()),
            law: Law::Log,
            unit: &unit,
            name,
        };
        let heights = [Size::wide(8), Size::narrow(8)].map(|size| {
            let mut scene = Scene::default();
            framed(&mut scene, size, 0.0, (axis(), &[]), axis());
            let mut titles = Vec::new();
            for item in &scene.items {
                if let SceneItem::Text { at, role, text, .. } = item {
                    assert!(at.1 > 0.0 && at.1 < scene.height, "{text}");
                    assert!(width_of(text) <= size.width, "{text}");
                    titles.extend((*role == TextRole::Axis).then(|| text.clone()));
                }
            }
            let title = format!("{name}, logarithmic");
            assert_eq!(titles.join(" "), format!("{title} {title}"));
            scene.height - size.height
        });
        assert!(
            (heights[1] - heights[0] - 2.0 * LINE).abs() < 1e-9,
            "{heights:?}"
        );
    }
}
