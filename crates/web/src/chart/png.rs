//! Charts as PNG pictures, in the colours of the light theme.
//!
//! `tiny-skia` draws lines and areas, and the outlines of letters that `ttf-parser` finds in a
//! font.

use thiserror::Error;
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};
use ttf_parser::{Face, OutlineBuilder};

use super::Chart;
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
const WIDEST: u64 = 8192;
const HIGHEST: u64 = 32_768;

/// The font cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a font of the TrueType or OpenType kind")]
pub struct BadFont;

/// Draws a scene with letters from `font`, the bytes of a TrueType or OpenType file.
///
/// # Errors
///
/// If `font` is not a font.
pub fn file(scene: &Scene, chart: &Chart, font: &[u8]) -> Result<Vec<u8>, BadFont> {
    let font = Face::parse(font, 0).map_err(|_| BadFont)?;
    let dots = |length: f64, most: u64| {
        let dots = number::floor(length * DENSITY).clamp(1, most);
        u32::try_from(dots).unwrap_or(u32::MAX)
    };
    let width = dots(scene.width + 2.0 * MARGIN, WIDEST);
    let height = dots(scene.height + HEAD + MARGIN, HIGHEST);
    let Some(mut pixels) = Pixmap::new(width, height) else {
        return Ok(Vec::new());
    };
    pixels.fill(colour(LIGHT.ground, 255));
    let mut canvas = Canvas { pixels, font };
    canvas.text((0.0, -16.0), 15.0, 0.0, LIGHT.text, &chart.title);
    for item in &scene.items {
        canvas.draw(item);
    }
    Ok(canvas.pixels.encode_png().unwrap_or_default())
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

/// A picture, and the font of its texts. Places are those of the scene.
struct Canvas<'f> {
    pixels: Pixmap,
    font: Face<'f>,
}

impl Canvas<'_> {
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
        let scale = single(size / f64::from(self.font.units_per_em()));
        let mut line = TextPath {
            path: PathBuilder::new(),
            at: (0.0, 0.0),
            scale,
        };
        for letter in text.chars() {
            let glyph = self.font.glyph_index(letter).unwrap_or_default();
            // A blank has no outline.
            let _bounds = self.font.outline_glyph(glyph, &mut line);
            line.at.0 += f32::from(self.font.glyph_hor_advance(glyph).unwrap_or(0)) * scale;
        }
        let begin = single(at.0) - line.at.0 * single(before);
        let Some(path) = line.path.finish() else {
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

/// The outlines of letters in a row. `at` is the place of the next one, and `scale` the size
/// of a unit of the font, whose y axis points up.
struct TextPath {
    path: PathBuilder,
    at: (f32, f32),
    scale: f32,
}

impl TextPath {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (self.at.0 + x * self.scale, self.at.1 - y * self.scale)
    }
}

impl OutlineBuilder for TextPath {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2)) = (self.place(x1, y1), self.place(x2, y2));
        let (x, y) = self.place(x, y);
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
