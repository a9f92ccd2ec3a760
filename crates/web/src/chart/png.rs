//! Scenes as PNG: the SVG in light colours, two dots for each CSS pixel.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use thiserror::Error;

use super::Chart;
use super::scene::Scene;
use super::svg;

/// Dots for each CSS pixel.
const DENSITY: f32 = 2.0;

/// Why a picture cannot be drawn.
#[derive(Debug, Error)]
pub enum PngError {
    /// The font cannot be read.
    #[error("not a font of the TrueType or OpenType kind")]
    Font,
    /// The SVG cannot be read back.
    #[error("{0}")]
    Svg(#[from] resvg::usvg::Error),
    /// The picture needs more memory than there is.
    #[error("the picture is too large")]
    Size,
    /// The dots cannot be written as PNG.
    #[error("{0}")]
    Encoding(String),
}

/// Draws a scene with letters from `font`, the bytes of a TrueType or OpenType file.
///
/// # Errors
///
/// When `font` is no font, or the picture is too large.
pub fn file(scene: &Scene, chart: &Chart, font: &[u8]) -> Result<Vec<u8>, PngError> {
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(font.to_vec());
    let face = fonts.faces().next().ok_or(PngError::Font)?;
    let (family, _) = face.families.first().ok_or(PngError::Font)?;
    let family = family.clone();
    fonts.set_sans_serif_family(&family);
    let tree = Tree::from_str(&svg::light(scene, chart), &options)?;
    let size = tree.size().to_int_size().scale_by(DENSITY);
    let size = size.ok_or(PngError::Size)?;
    let mut dots = Pixmap::new(size.width(), size.height()).ok_or(PngError::Size)?;
    let scale = Transform::from_scale(DENSITY, DENSITY);
    resvg::render(&tree, scale, &mut dots.as_mut());
    let file = dots.encode_png();
    file.map_err(|error| PngError::Encoding(error.to_string()))
}
