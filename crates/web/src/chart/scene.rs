//! Shapes on a plane, independent of file formats. Coordinates are CSS pixels from the
//! upper left corner.

use std::ops::Range;

/// A drawing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
    /// Its items, the lowest first.
    pub items: Vec<SceneItem>,
    /// Its plot, if a part of the horizontal axis can be shown alone.
    pub plot: Option<Plot>,
}

/// The area of a drawing where values are, and its horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Its left, upper, right and lower edge.
    pub edges: [f64; 4],
    /// The values at the left and at the right edge.
    pub ends: (f64, f64),
    /// The scaling between them: `linear`, `log` or `nines`.
    pub law: &'static str,
    /// The divisor of the numbers at the ticks.
    pub factor: f64,
    /// The values that have a tick each; empty if ticks are at round numbers.
    pub measured_at: Vec<f64>,
    /// The items that are ticks of the axis.
    pub ticks: Range<usize>,
    /// The first item that shows values; all items after it do.
    pub values: usize,
}

impl Scene {
    /// Adds a solid line.
    pub(super) fn line(&mut self, places: [Place; 2], ink: Ink) {
        self.items.push(SceneItem::Line {
            places: places.to_vec(),
            ink,
            dash: 0,
        });
    }

    /// Adds a line of text.
    pub(super) fn text(
        &mut self,
        at: Place,
        anchor: Anchor,
        role: TextRole,
        text: impl Into<String>,
    ) {
        self.items.push(SceneItem::Text {
            at,
            anchor,
            role,
            text: text.into(),
        });
    }

    /// Adds the label of a tick on a horizontal axis. It stays within the picture.
    pub(super) fn tick_label(&mut self, x: f64, y: f64, text: &str) {
        let half = width_of(text) / 2.0;
        let middle = x.min(self.width - half).max(half);
        self.text((middle, y), Anchor::Middle, TextRole::Tick, text);
    }
}

/// A place.
pub type Place = (f64, f64);

/// A shape.
#[derive(Clone, Debug, PartialEq)]
pub enum SceneItem {
    /// A line through places.
    Line {
        /// Its points.
        places: Vec<Place>,
        /// Its colour.
        ink: Ink,
        /// Which pattern of dashes; 0 is solid.
        dash: usize,
    },
    /// A translucent area within places.
    Area {
        /// Its corners.
        places: Vec<Place>,
        /// Its colour.
        ink: Ink,
    },
    /// A rectangle.
    Rect {
        /// Its upper left corner.
        at: Place,
        /// Its width and height.
        size: Place,
        /// Its colour.
        ink: Ink,
        /// Its tooltip.
        tip: Option<String>,
    },
    /// Rectangles of one size and colour.
    Rects {
        /// Their upper left corners.
        places: Vec<Place>,
        /// Their width and height.
        size: Place,
        /// Their colour.
        ink: Ink,
    },
    /// A point with a tooltip.
    Spot {
        /// Its centre.
        at: Place,
        /// The colour of its line.
        ink: Ink,
        /// Its tooltip.
        tip: String,
    },
    /// A small sign, which tells lines apart without colour.
    Mark {
        /// Its centre.
        at: Place,
        /// Its colour.
        ink: Ink,
        /// Which one.
        shape: usize,
    },
    /// A line of text.
    Text {
        /// The anchor point on its base line.
        at: Place,
        /// The part of the text at that point.
        anchor: Anchor,
        /// Its role.
        role: TextRole,
        /// The text.
        text: String,
    },
}

/// Which part of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// The role of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRole {
    /// A number at an axis.
    Tick,
    /// The name of an axis.
    Axis,
    /// A name in a legend or of a bar.
    Label,
    /// A value.
    Value,
    /// A value on a rectangle of this level of heat.
    OnHeat(usize),
}

/// A colour by what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Lines behind everything.
    Grid,
    /// The axis that values stand on.
    Axis,
    /// One of several results or tracks.
    Series(usize),
    /// A part of a whole.
    Part(usize),
    /// A level, from 0.
    Heat(usize),
}

/// Pixels that a letter takes on average at the one size of letters.
const LETTER: f64 = 6.7;
/// Maximum number of letters in a line of any chart.
const MOST_LETTERS: usize = 400;

/// About how wide a text is; rather too wide than too narrow, as fonts differ.
#[must_use]
pub fn width_of(text: &str) -> f64 {
    let letters = text.chars().map(|letter| match letter {
        '.' | ',' | ':' | ';' | 'i' | 'l' | 'j' | '|' | '\'' | '\u{202f}' | '\u{a0}' | ' '
        | '/' => 0.6,
        'm' | 'w' | 'M' | 'W' | '%' | 'G' | '_' | '@' => 1.7,
        letter if letter.is_ascii_digit() => 1.15,
        letter if letter.is_ascii() => 1.08,
        // Letters of other scripts may be as wide as high.
        letter if u32::from(letter) >= 0x1100 => 2.0,
        _ => 1.1,
    });
    letters.sum::<f64>() * LETTER
}

/// The text in lines that are not wider than `space`, unless a single word is.
#[must_use]
pub fn lines_within(text: &str, space: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match (lines.last_mut(), longer) {
            (Some(line), Some(longer)) if width_of(&longer) <= space => *line = longer,
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The text, shortened in the middle if it is wider than `space`.
#[must_use]
pub fn fitted(text: &str, space: f64) -> String {
    if width_of(text) <= space {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    // More never fit into a chart.
    let mut keep = letters.len().min(MOST_LETTERS);
    while keep > 2 {
        keep -= 1;
        let front: String = letters.iter().take(keep.div_ceil(2)).collect();
        let back: String = letters.iter().skip(letters.len() - keep / 2).collect();
        let short = format!("{front}…{back}");
        if width_of(&short) <= space {
            return short;
        }
    }
    "…".to_owned()
}
