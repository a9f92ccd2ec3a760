//! Colours, told apart by people with any kind of colour vision, by day and by night.
//! Lines of text and of values have a contrast of at least 3 to 1 with what is behind.

use super::scene::Ink;

/// A colour: red, green and blue in the lower three bytes.
pub type Rgb = u32;

/// The colours of one theme.
#[derive(Debug)]
pub struct Theme {
    /// Background.
    pub ground: Rgb,
    /// Text.
    pub text: Rgb,
    /// Secondary text.
    pub quiet: Rgb,
    /// Grid lines.
    pub grid: Rgb,
    /// The axis.
    pub axis: Rgb,
    /// Results, tracks and parts.
    pub series: [Rgb; 6],
    /// Levels of a heat map, the lowest first.
    pub heat: [Rgb; 6],
}

/// The light theme.
pub static LIGHT: Theme = Theme {
    ground: 0xffffff,
    text: 0x1b2128,
    quiet: 0x5a6572,
    grid: 0xe3e7ec,
    axis: 0x8a94a0,
    series: [0x0067a5, 0xc84e00, 0x007f5c, 0xa43f86, 0x8a6500, 0x6b7582],
    heat: [0xd3e6f5, 0xa6cbe8, 0x6daad7, 0x3885bd, 0x125f98, 0x083666],
};

/// The dark theme.
pub static DARK: Theme = Theme {
    ground: 0x15191f,
    text: 0xe8ecf1,
    quiet: 0x9da8b5,
    grid: 0x2a313a,
    axis: 0x6d7885,
    series: [0x5ab4f0, 0xff8f50, 0x43cfa0, 0xe88fcb, 0xe0b840, 0x9aa5b2],
    heat: [0x1b3347, 0x1f4c70, 0x2a6d9e, 0x4a93c8, 0x86bde6, 0xd2eafb],
};

impl Theme {
    /// The colour for a purpose.
    #[must_use]
    pub fn of(&self, ink: Ink) -> Rgb {
        let among = |colours: &[Rgb; 6], which: usize| colours[which % colours.len()];
        match ink {
            Ink::Grid => self.grid,
            Ink::Axis => self.axis,
            Ink::Series(which) | Ink::Part(which) => among(&self.series, which),
            Ink::Heat(level) => self.heat[level.min(self.heat.len() - 1)],
        }
    }

    /// The colour of text on a level of heat.
    #[must_use]
    pub fn on_heat(&self, level: usize) -> Rgb {
        if is_near_ground(level) {
            self.text
        } else {
            self.ground
        }
    }

    /// All colours, as the variables of style sheets.
    #[must_use]
    pub fn css(&self) -> String {
        let mut css = format!(
            "--ground:#{:06x};--text:#{:06x};--quiet:#{:06x};--grid:#{:06x};--axis:#{:06x}",
            self.ground, self.text, self.quiet, self.grid, self.axis
        );
        for (letter, colours) in [('s', self.series), ('h', self.heat)] {
            for (index, colour) in colours.into_iter().enumerate() {
                css.push_str(&format!(";--{letter}{index}:#{colour:06x}"));
            }
        }
        css
    }
}

/// Red, green and blue.
pub(super) fn bytes(colour: Rgb) -> [u8; 3] {
    let [_, red, green, blue] = colour.to_be_bytes();
    [red, green, blue]
}

/// True if a level of heat is so near the ground that text on it has the colour of text on the
/// ground.
pub(super) const fn is_near_ground(level: usize) -> bool {
    level < 3
}

/// Lengths of dashes and gaps, by pattern; the first is solid.
pub const DASHES: [&[f64]; 5] = [
    &[],
    &[7.0, 4.0],
    &[2.0, 3.0],
    &[9.0, 3.0, 2.0, 3.0],
    &[14.0, 4.0],
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance and contrast as WCAG 2 defines them.
    fn contrast(one: Rgb, other: Rgb) -> f64 {
        let luminance = |colour: Rgb| -> f64 {
            let linear = bytes(colour).map(|part| {
                let part = f64::from(part) / 255.0;
                if part <= 0.040_45 {
                    part / 12.92
                } else {
                    ((part + 0.055) / 1.055).powf(2.4)
                }
            });
            0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        };
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn palette_has_contrast_in_light_and_dark() {
        for theme in [&LIGHT, &DARK] {
            assert!(contrast(theme.text, theme.ground) > 12.0);
            assert!(contrast(theme.quiet, theme.ground) > 4.5);
            for colour in theme.series {
                assert!(contrast(colour, theme.ground) > 3.0, "{colour:06x}");
            }
            for (level, colour) in theme.heat.into_iter().enumerate() {
                let text = theme.on_heat(level);
                assert!(contrast(text, colour) > 3.9, "{colour:06x}");
            }
            for pair in theme.heat.windows(2) {
                assert!(contrast(pair[0], pair[1]) > 1.2, "{:06x}", pair[1]);
            }
        }
    }
}
