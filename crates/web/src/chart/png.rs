//! Scenes as PNG (RFC 2083), in light colours, two dots for each CSS pixel.

mod canvas;

use std::io::Write as _;

use ab_glyph::{FontRef, InvalidFont};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use thiserror::Error;

use super::Chart;
use super::palette::{DASHES, LIGHT};
use super::scene::{Anchor, Ink, Place, Scene, SceneItem, TextRole};
use super::svg::mark;
use canvas::Canvas;

/// Space around a scene, and above it for the title.
const MARGIN: f64 = 12.0;
const HEAD: f64 = 38.0;

/// The font cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a font of the TrueType or OpenType kind")]
pub struct BadFont;

impl From<InvalidFont> for BadFont {
    fn from(_: InvalidFont) -> Self {
        Self
    }
}

/// Draws a scene with letters from `font`, the bytes of a TrueType or OpenType file.
///
/// # Errors
///
/// If `font` is not a font.
pub fn file(scene: &Scene, chart: &Chart, font: &[u8]) -> Result<Vec<u8>, BadFont> {
    let font = FontRef::try_from_slice(font)?;
    let size = (scene.width + 2.0 * MARGIN, scene.height + HEAD + MARGIN);
    let mut canvas = Canvas::new(size, (MARGIN, HEAD), LIGHT.ground);
    canvas.text(&font, (0.0, -16.0), 15.0, 0.0, LIGHT.text, &chart.title);
    for item in &scene.items {
        shape(&mut canvas, &font, item);
    }
    Ok(encoded(&canvas))
}

fn shape(canvas: &mut Canvas, font: &FontRef<'_>, item: &SceneItem) {
    match item {
        SceneItem::Line { places, ink, dash } => {
            let thin = matches!(ink, Ink::Grid | Ink::Axis);
            let width = if thin { 1.0 } else { 1.8 };
            for part in dashed(places, DASHES[dash % DASHES.len()]) {
                canvas.stroke(&part, width, LIGHT.of(*ink));
            }
        }
        SceneItem::Area { places, ink } => canvas.fill(places, LIGHT.of(*ink), 0.17),
        SceneItem::Rect { at, size, ink, .. } => {
            let (right, bottom) = (at.0 + size.0, at.1 + size.1);
            let corners = [*at, (right, at.1), (right, bottom), (at.0, bottom)];
            canvas.fill(&corners, LIGHT.of(*ink), 1.0);
        }
        SceneItem::Mark { at, ink, shape } => canvas.fill(&mark(*at, *shape), LIGHT.of(*ink), 1.0),
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
            };
            canvas.text(font, *at, 12.0, before, colour, text);
        }
        // A picture has no tooltips.
        SceneItem::Spot { .. } => {}
    }
}

/// The visible parts of a dashed line.
fn dashed(places: &[Place], pattern: &[f64]) -> Vec<Vec<Place>> {
    let Some(mut left) = pattern.first().copied() else {
        return vec![places.to_vec()];
    };
    let mut parts = Vec::new();
    let mut part: Vec<Place> = places.first().copied().into_iter().collect();
    let mut index = 0;
    for pair in places.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        loop {
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            if length <= left {
                left -= length;
                part.push(to);
                break;
            }
            let share = left / length;
            from = (
                from.0 + (to.0 - from.0) * share,
                from.1 + (to.1 - from.1) * share,
            );
            part.push(from);
            if index % 2 == 0 {
                parts.push(std::mem::take(&mut part));
            }
            part = vec![from];
            index += 1;
            left = pattern[index % pattern.len()];
        }
    }
    if index % 2 == 0 {
        parts.push(part);
    }
    parts
}

/// The file: header, compressed rows, end.
fn encoded(canvas: &Canvas) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let (width, height) = canvas.dots();
    let mut header = Vec::new();
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    // Eight bits of red, green and blue; deflate; filters; not interlaced.
    header.extend([8, 2, 0, 0, 0]);
    chunk(&mut file, *b"IHDR", &header);
    let mut rows = ZlibEncoder::new(Vec::new(), Compression::best());
    for row in canvas.rows() {
        // Writing to memory cannot fail.
        let _to_memory = rows.write_all(&[0]).and_then(|()| rows.write_all(&row));
    }
    chunk(&mut file, *b"IDAT", &rows.finish().unwrap_or_default());
    chunk(&mut file, *b"IEND", &[]);
    file
}

fn chunk(file: &mut Vec<u8>, kind: [u8; 4], body: &[u8]) {
    let mut sum = flate2::Crc::new();
    sum.update(&kind);
    sum.update(body);
    file.extend(u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes());
    file.extend(kind);
    file.extend(body);
    file.extend(sum.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_and_gaps_take_turns_along_the_whole_line() {
        let line = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)];
        let parts = dashed(&line, &[4.0, 3.0]);
        let wanted = vec![
            vec![(0.0, 0.0), (4.0, 0.0)],
            vec![(7.0, 0.0), (10.0, 0.0), (10.0, 1.0)],
            vec![(10.0, 4.0), (10.0, 8.0)],
        ];
        assert_eq!(parts, wanted);
        assert_eq!(dashed(&line, &[]), vec![line.to_vec()]);
    }
}
