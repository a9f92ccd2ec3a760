//! Shapes on a plane, which know nothing of files. Coordinates are CSS pixels from the
//! upper left corner.

/// A drawing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
    /// What is in it, the lowest first.
    pub items: Vec<Item>,
}

/// A place.
pub type Place = (f64, f64);

/// A shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A line through places.
    Line {
        /// Where it goes.
        places: Vec<Place>,
        /// Its colour.
        ink: Ink,
        /// Which pattern of dashes; 0 is solid.
        dash: usize,
    },
    /// An area within places, which things can be seen through.
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
        /// What is said of it when it is looked at.
        tip: Option<String>,
    },
    /// A place that something is said of.
    Spot {
        /// Where.
        at: Place,
        /// The colour of its line.
        ink: Ink,
        /// What is said.
        tip: String,
    },
    /// A small sign, which tells lines apart without colour.
    Mark {
        /// Where its middle is.
        at: Place,
        /// Its colour.
        ink: Ink,
        /// Which one.
        shape: usize,
    },
    /// A line of text.
    Text {
        /// Where it begins, or ends, or has its middle, on its base line.
        at: Place,
        /// Which of these.
        anchor: Anchor,
        /// What it is.
        role: Role,
        /// What it says.
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

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A number at an axis.
    Tick,
    /// The name of an axis.
    Axis,
    /// A name in a legend or of a bar.
    Label,
    /// A value.
    Value,
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
    /// How much, from 0 on.
    Heat(usize),
}

/// Pixels that a letter takes on average at the one size of letters.
const LETTER: f64 = 6.7;
/// More letters than any chart has room for in a line, however narrow they are.
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

/// The text, shortened in its middle if it would be wider than `room`.
#[must_use]
pub fn fitted(text: &str, room: f64) -> String {
    if width_of(text) <= room {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    // No chart has room for as many.
    let mut keep = letters.len().min(MOST_LETTERS);
    while keep > 2 {
        keep -= 1;
        let front: String = letters.iter().take(keep.div_ceil(2)).collect();
        let back: String = letters.iter().skip(letters.len() - keep / 2).collect();
        let short = format!("{front}…{back}");
        if width_of(&short) <= room {
            return short;
        }
    }
    "…".to_owned()
}
