//! Charts as PNG pictures, in the colours of the light theme.
//!
//! `tiny-skia` draws lines and areas, and the outlines of letters.

use std::fmt;

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};

use super::Chart;
use super::letters::{self, SIZE};
use super::palette::{DASHES, LIGHT, Rgb, bytes};
use super::scene::{Anchor, Ink, Place, Scene, SceneItem, TextRole};
use super::svg::mark;
use crate::number;

/// Space around a scene, and above it for the title, in CSS pixels.
const MARGIN: f64 = 12.0;
const HEAD: f64 = 38.0;
/// Dots for each CSS pixel.
const DENSITY: f64 = 2.0;
/// Limits of a picture in dots.
const WIDEST: u32 = 8192;
const HIGHEST: u32 = 32_768;

/// A chart that is too large for a PNG picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PngTooLarge {
    /// Width in dots.
    pub width: u32,
    /// Height in dots.
    pub height: u32,
}

impl fmt::Display for PngTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { width, height } = self;
        write!(
            f,
            "{width} x {height} dots; a PNG picture has {WIDEST} x {HIGHEST} at most"
        )
    }
}

impl std::error::Error for PngTooLarge {}

/// Draws a scene.
///
/// # Errors
/// The chart is too large for a picture: it is never cut.
pub fn file(scene: &Scene, chart: &Chart) -> Result<Vec<u8>, PngTooLarge> {
    let dots = |length: f64| {
        let dots = number::floor(length * DENSITY).max(1);
        u32::try_from(dots).unwrap_or(u32::MAX)
    };
    let width = dots(scene.width + 2.0 * MARGIN);
    let height = dots(scene.height + HEAD + MARGIN);
    let too_large = PngTooLarge { width, height };
    if width > WIDEST || height > HIGHEST {
        return Err(too_large);
    }
    let mut pixels = Pixmap::new(width, height).ok_or(too_large)?;
    pixels.fill(colour(LIGHT.ground, 255));
    let mut canvas = Canvas { pixels };
    canvas.text((0.0, -16.0), 15.0, 0.0, LIGHT.text, &chart.title);
    for item in &scene.items {
        canvas.draw(item);
    }
    canvas.pixels.encode_png().map_err(|_| too_large)
}

fn colour(colour: Rgb, alpha: u8) -> Color {
    let [red, green, blue] = bytes(colour);
    Color::from_rgba8(red, green, blue, alpha)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a hundredth of a dot is precise enough"
)]
fn single(value: f64) -> f32 {
    value as f32
}

/// A picture. Places are those of the scene.
struct Canvas {
    pixels: Pixmap,
}

impl Canvas {
    fn draw(&mut self, item: &SceneItem) {
        match item {
            SceneItem::Line { places, ink, dash } => {
                let pattern = DASHES[dash % DASHES.len()];
                self.stroke(places, pattern, *ink);
            }
            SceneItem::Area { places, ink } => self.fill(polygon(places), LIGHT.of(*ink), 43),
            SceneItem::Rect { at, size, ink, .. } => {
                self.rectangle(*at, *size, *ink);
            }
            SceneItem::Rects { places, size, ink } => {
                for at in places {
                    self.rectangle(*at, *size, *ink);
                }
            }
            SceneItem::Mark { at, ink, shape } => {
                self.fill(polygon(&mark(*at, *shape)), LIGHT.of(*ink), 255);
            }
            SceneItem::Text {
                at,
                anchor,
                role,
                text,
            } => {
                let before = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => 0.5,
                    Anchor::End => 1.0,
                };
                let colour = match role {
                    TextRole::Tick | TextRole::Axis => LIGHT.quiet,
                    TextRole::Label | TextRole::Value => LIGHT.text,
                    TextRole::OnHeat(level) => LIGHT.on_heat(*level),
                };
                self.text(*at, 12.0, before, colour, text);
            }
            // A picture has no tooltips.
            SceneItem::Spot { .. } => {}
        }
    }

    fn rectangle(&mut self, at: Place, size: Place, ink: Ink) {
        let (right, bottom) = (at.0 + size.0, at.1 + size.1);
        let corners = [at, (right, at.1), (right, bottom), (at.0, bottom)];
        self.fill(polygon(&corners), LIGHT.of(ink), 255);
    }

    fn fill(&mut self, mut path: PathBuilder, ink: Rgb, alpha: u8) {
        path.close();
        if let Some(path) = path.finish() {
            let (paint, rule) = (paint(ink, alpha), FillRule::Winding);
            self.pixels.fill_path(&path, &paint, rule, to_dots(), None);
        }
    }

    fn stroke(&mut self, places: &[Place], pattern: &[f64], ink: Ink) {
        let is_thin = matches!(ink, Ink::Grid | Ink::Axis);
        let dashes = pattern.iter().map(|length| single(*length));
        let stroke = Stroke {
            width: if is_thin { 1.0 } else { 1.8 },
            line_cap: if is_thin {
                LineCap::Butt
            } else {
                LineCap::Round
            },
            line_join: LineJoin::Round,
            dash: StrokeDash::new(dashes.collect(), 0.0),
            ..Stroke::default()
        };
        if let Some(path) = polygon(places).finish() {
            let paint = paint(LIGHT.of(ink), 255);
            self.pixels
                .stroke_path(&path, &paint, &stroke, to_dots(), None);
        }
    }

    /// Draws a line of text on its base line; `before` is the share of it before `at`.
    fn text(&mut self, at: Place, size: f64, before: f64, ink: Rgb, text: &str) {
        let scale = single(size) / SIZE;
        let mut path = PathBuilder::new();
        let mut width = 0.0;
        for letter in text.chars() {
            let letter = letters::of(letter);
            letter.draw(&mut path, |x, y| (width + x * scale, -y * scale));
            width += letter.width * scale;
        }
        let begin = single(at.0) - width * single(before);
        let Some(path) = path.finish() else {
            return;
        };
        let moved = to_dots().pre_translate(begin, single(at.1));
        let paint = paint(ink, 255);
        self.pixels
            .fill_path(&path, &paint, FillRule::Winding, moved, None);
    }
}

/// From places of the scene to dots of the picture.
fn to_dots() -> Transform {
    let origin = Transform::from_translate(single(MARGIN), single(HEAD));
    origin.post_scale(single(DENSITY), single(DENSITY))
}

fn paint(ink: Rgb, alpha: u8) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color(colour(ink, alpha));
    paint
}

/// A line through places.
fn polygon(places: &[Place]) -> PathBuilder {
    let mut path = PathBuilder::new();
    for (index, place) in places.iter().enumerate() {
        let (x, y) = (single(place.0), single(place.1));
        if index == 0 {
            path.move_to(x, y);
        } else {
            path.line_to(x, y);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Body;
    use crate::chart::bars::Bars;
    use crate::unit::Unit;

    fn drawn(width: f64, height: f64) -> Result<Vec<u8>, PngTooLarge> {
        let bars = Bars {
            unit: Unit::Seconds,
            parts: Vec::new(),
            bars: Vec::new(),
            reach: 0.0,
        };
        let chart = Chart {
            id: "id".to_owned(),
            title: "Title".to_owned(),
            body: Body::Bars(bars),
        };
        let scene = Scene {
            width,
            height,
            ..Scene::default()
        };
        file(&scene, &chart)
    }

    #[test]
    fn png_of_a_chart_that_is_too_large_is_an_error_and_no_part_of_it() {
        assert!(drawn(100.0, 50.0).unwrap().starts_with(b"\x89PNG"));
        let too_large = |width, height| Err(PngTooLarge { width, height });
        assert_eq!(drawn(5000.0, 50.0), too_large(10_048, 200));
        assert_eq!(drawn(100.0, 20_000.0), too_large(248, 40_100));
        let line = drawn(100.0, 20_000.0).unwrap_err().to_string();
        assert_eq!(
            line,
            "248 x 40100 dots; a PNG picture has 8192 x 32768 at most"
        );
        assert_eq!(drawn(1e300, 50.0), too_large(u32::MAX, 200));
    }
}
