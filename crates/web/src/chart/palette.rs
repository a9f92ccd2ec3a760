//! Colours, told apart by people with any kind of colour vision, by day and by night.
//! Lines of text and of values have a contrast of at least 3 to 1 with what is behind.

use super::scene::Ink;

/// A colour as red, green and blue.
pub type Rgb = [u8; 3];

/// The colours of one theme.
#[derive(Debug)]
pub struct Theme {
    /// Behind everything.
    pub ground: Rgb,
    /// Text.
    pub text: Rgb,
    /// Text that matters less.
    pub quiet: Rgb,
    /// Lines behind everything.
    pub grid: Rgb,
    /// The axis.
    pub axis: Rgb,
    /// Results, tracks and parts.
    pub series: [Rgb; 6],
    /// From little to much.
    pub heat: [Rgb; 6],
}

/// By day.
pub static LIGHT: Theme = Theme {
    ground: [0xff, 0xff, 0xff],
    text: [0x1b, 0x21, 0x28],
    quiet: [0x5a, 0x65, 0x72],
    grid: [0xe3, 0xe7, 0xec],
    axis: [0x8a, 0x94, 0xa0],
    series: [
        [0x00, 0x67, 0xa5],
        [0xc8, 0x4e, 0x00],
        [0x00, 0x7f, 0x5c],
        [0xa4, 0x3f, 0x86],
        [0x8a, 0x65, 0x00],
        [0x6b, 0x75, 0x82],
    ],
    heat: [
        [0xd3, 0xe6, 0xf5],
        [0xa6, 0xcb, 0xe8],
        [0x6d, 0xaa, 0xd7],
        [0x38, 0x85, 0xbd],
        [0x12, 0x5f, 0x98],
        [0x08, 0x36, 0x66],
    ],
};

/// By night.
pub static DARK: Theme = Theme {
    ground: [0x15, 0x19, 0x1f],
    text: [0xe8, 0xec, 0xf1],
    quiet: [0x9d, 0xa8, 0xb5],
    grid: [0x2a, 0x31, 0x3a],
    axis: [0x6d, 0x78, 0x85],
    series: [
        [0x5a, 0xb4, 0xf0],
        [0xff, 0x8f, 0x50],
        [0x43, 0xcf, 0xa0],
        [0xe8, 0x8f, 0xcb],
        [0xe0, 0xb8, 0x40],
        [0x9a, 0xa5, 0xb2],
    ],
    heat: [
        [0x1b, 0x33, 0x47],
        [0x1f, 0x4c, 0x70],
        [0x2a, 0x6d, 0x9e],
        [0x4a, 0x93, 0xc8],
        [0x86, 0xbd, 0xe6],
        [0xd2, 0xea, 0xfb],
    ],
};

impl Theme {
    /// The colour for something.
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

    /// All colours by the names that style sheets use.
    #[must_use]
    pub fn named(&self) -> Vec<(String, Rgb)> {
        let own = [
            ("ground", self.ground),
            ("text", self.text),
            ("quiet", self.quiet),
            ("grid", self.grid),
            ("axis", self.axis),
        ];
        let numbered = |letter: &'static str, colours: [Rgb; 6]| {
            let numbers = colours.into_iter().enumerate();
            numbers.map(move |(index, colour)| (format!("{letter}{index}"), colour))
        };
        let own = own
            .into_iter()
            .map(|(name, colour)| (name.to_owned(), colour));
        own.chain(numbered("s", self.series))
            .chain(numbered("h", self.heat))
            .collect()
    }
}

/// As style sheets write it.
#[must_use]
pub fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
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
            let linear = colour.map(|part| {
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
    fn everything_stands_out_from_its_ground_by_day_and_by_night() {
        for theme in [&LIGHT, &DARK] {
            assert!(contrast(theme.text, theme.ground) > 12.0);
            assert!(contrast(theme.quiet, theme.ground) > 4.5);
            for colour in theme.series {
                assert!(contrast(colour, theme.ground) > 3.0, "{}", hex(colour));
            }
            for pair in theme.heat.windows(2) {
                assert!(contrast(pair[0], pair[1]) > 1.2, "{}", hex(pair[1]));
            }
        }
    }
}
