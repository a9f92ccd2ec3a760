//! A plane of dots, on which shapes are painted with smooth edges.

use ab_glyph::{Font, FontRef, PxScale, ScaleFont, point};
use ab_glyph_rasterizer::Rasterizer;

use crate::chart::palette::{Rgb, bytes};
use crate::chart::scene::Place;
use crate::number;

/// Dots for each CSS pixel.
const DENSITY: f64 = 2.0;

/// The plane.
pub(super) struct Canvas {
    width: usize,
    height: usize,
    origin: Place,
    dots: Vec<[u8; 3]>,
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a hundredth of a dot is precise enough"
)]
fn single(value: f64) -> f32 {
    value as f32
}

impl Canvas {
    /// A plane of one colour, `size` in CSS pixels; places are relative to `origin`.
    pub(super) fn new(size: Place, origin: Place, ground: Rgb) -> Self {
        let width = number::index(size.0 * DENSITY).clamp(1, 8192);
        let height = number::index(size.1 * DENSITY).clamp(1, 32_768);
        let dots = vec![bytes(ground); width * height];
        Self {
            width,
            height,
            origin,
            dots,
        }
    }

    /// Width and height in dots.
    pub(super) fn dots(&self) -> (u32, u32) {
        let side = |side| u32::try_from(side).unwrap_or(u32::MAX);
        (side(self.width), side(self.height))
    }

    /// Rows of bytes.
    pub(super) fn rows(&self) -> impl Iterator<Item = Vec<u8>> {
        self.dots.chunks(self.width).map(<[_]>::concat)
    }

    fn dot(&self, place: Place) -> Place {
        (
            (place.0 + self.origin.0) * DENSITY,
            (place.1 + self.origin.1) * DENSITY,
        )
    }

    fn blend(&mut self, x: usize, y: usize, colour: Rgb, share: f32) {
        if x >= self.width || y >= self.height {
            return;
        }
        let Some(dot) = self.dots.get_mut(y * self.width + x) else {
            return;
        };
        let share = f64::from(share.clamp(0.0, 1.0));
        for (part, own) in dot.iter_mut().zip(bytes(colour)) {
            let mixed = f64::from(*part) * (1.0 - share) + f64::from(own) * share;
            *part = u8::try_from(number::floor(mixed + 0.5)).unwrap_or(u8::MAX);
        }
    }

    /// Fills a polygon.
    pub(super) fn fill(&mut self, corners: &[Place], colour: Rgb, strength: f32) {
        self.paint(&[corners.to_vec()], colour, strength);
    }

    /// Draws a line with a width in CSS pixels and round ends and corners.
    pub(super) fn stroke(&mut self, places: &[Place], width: f64, colour: Rgb) {
        let half = width / 2.0;
        let mut shapes: Vec<Vec<Place>> = Vec::new();
        for pair in places.windows(2) {
            let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
            let length = (to_x - x).hypot(to_y - y);
            if length > 0.0 {
                let (across, down) = (-(to_y - y) / length * half, (to_x - x) / length * half);
                shapes.push(vec![
                    (x + across, y + down),
                    (x - across, y - down),
                    (to_x - across, to_y - down),
                    (to_x + across, to_y + down),
                ]);
            }
        }
        if width > 1.0 {
            // All shapes turn the same way, so overlapping ones add up.
            let round = |(x, y): Place| -> Vec<Place> {
                let angles = (0..10_u32).map(|part| f64::from(part) * std::f64::consts::TAU / 10.0);
                angles
                    .map(|angle| (x + half * angle.cos(), y + half * angle.sin()))
                    .collect()
            };
            shapes.extend(places.iter().map(|place| round(*place)));
        }
        self.paint(&shapes, colour, 1.0);
    }

    fn paint(&mut self, shapes: &[Vec<Place>], colour: Rgb, strength: f32) {
        let shapes: Vec<Vec<Place>> = shapes
            .iter()
            .map(|shape| shape.iter().map(|place| self.dot(*place)).collect())
            .collect();
        let all = || {
            shapes
                .iter()
                .flatten()
                .filter(|place| place.0.is_finite() && place.1.is_finite())
        };
        let left = all()
            .map(|place| place.0)
            .fold(f64::INFINITY, f64::min)
            .max(0.0)
            .floor();
        let top = all()
            .map(|place| place.1)
            .fold(f64::INFINITY, f64::min)
            .max(0.0)
            .floor();
        let right = all()
            .map(|place| place.0)
            .fold(0.0, f64::max)
            .min(number::of(self.width));
        let bottom = all()
            .map(|place| place.1)
            .fold(0.0, f64::max)
            .min(number::of(self.height));
        if right <= left || bottom <= top {
            return;
        }
        let (width, height) = (
            number::index(right - left) + 3,
            number::index(bottom - top) + 3,
        );
        let mut rasterizer = Rasterizer::new(width, height);
        for shape in &shapes {
            let next = shape.iter().cycle().skip(1);
            for (from, to) in shape.iter().zip(next) {
                let near = |place: &Place| point(single(place.0 - left), single(place.1 - top));
                let (from, to) = (near(from), near(to));
                rasterizer.draw_line(
                    ab_glyph_rasterizer::point(from.x, from.y),
                    ab_glyph_rasterizer::point(to.x, to.y),
                );
            }
        }
        let (left, top) = (number::index(left), number::index(top));
        rasterizer.for_each_pixel_2d(|x, y, covered| {
            if covered > 0.0 {
                let (x, y) = (usize_of(x) + left, usize_of(y) + top);
                self.blend(x, y, colour, covered.min(1.0) * strength);
            }
        });
    }

    /// Draws a line of text on its base line; `before` is the share of it before `at`.
    pub(super) fn text(
        &mut self,
        font: &FontRef<'_>,
        at: Place,
        size: f64,
        before: f64,
        colour: Rgb,
        text: &str,
    ) {
        // The height of a font includes descenders; the size of text is that of the em.
        let high =
            f64::from(font.height_unscaled()) / f64::from(font.units_per_em().unwrap_or(1000.0));
        let scale = PxScale::from(single(size * DENSITY * high));
        let scaled = font.as_scaled(scale);
        let advance = |letter| scaled.h_advance(font.glyph_id(letter));
        let width: f32 = text.chars().map(advance).sum();
        let (x, y) = self.dot(at);
        let mut pen = single(x) - width * single(before);
        for letter in text.chars() {
            let glyph = font
                .glyph_id(letter)
                .with_scale_and_position(scale, point(pen, single(y)));
            pen += advance(letter);
            let Some(outline) = font.outline_glyph(glyph) else {
                continue;
            };
            let bounds = outline.px_bounds();
            let corner = (f64::from(bounds.min.x), f64::from(bounds.min.y));
            if corner.0 < 0.0 || corner.1 < 0.0 {
                continue;
            }
            let (left, top) = (number::index(corner.0), number::index(corner.1));
            outline.draw(|x, y, covered| {
                self.blend(usize_of(x) + left, usize_of(y) + top, colour, covered);
            });
        }
    }
}

fn usize_of(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
