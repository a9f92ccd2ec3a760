//! The letters of PNG pictures: outlines of DejaVu Sans 2.37, so that a picture is the same on
//! every host, whatever fonts it has. `letters/make` writes them; `letters/LICENSE` is the
//! font's licence.

use std::collections::HashMap;
use std::str::Split;
use std::sync::LazyLock;

use tiny_skia::PathBuilder;

/// The size of the font, in the units of outlines.
pub(super) const SIZE: f32 = 2048.0;

static OUTLINES: &str = include_str!("../../letters/outlines.txt");

static LETTERS: LazyLock<HashMap<u32, Letter>> =
    LazyLock::new(|| OUTLINES.lines().filter_map(Letter::read).collect());

/// A letter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Letter {
    /// The distance to the next one.
    pub(super) width: f32,
    /// Commands and their numbers.
    outline: &'static str,
}

/// The letter, or the box that stands for one without an outline.
pub(super) fn of(letter: char) -> Letter {
    let found = LETTERS.get(&u32::from(letter));
    found
        .or_else(|| LETTERS.get(&0))
        .copied()
        .unwrap_or_default()
}

impl Letter {
    /// Reads a line of the outlines.
    fn read(line: &'static str) -> Option<(u32, Self)> {
        let mut fields = line.splitn(3, ' ');
        let code = u32::from_str_radix(fields.next()?, 16).ok()?;
        let width = fields.next()?.parse().ok()?;
        let outline = fields.next().unwrap_or_default();
        Some((code, Self { width, outline }))
    }

    /// Adds the outline, whose y axis points up, to a path; `to` says where a place is in it.
    pub(super) fn draw(&self, path: &mut PathBuilder, to: impl Fn(f32, f32) -> (f32, f32)) {
        let mut words = self.outline.split(' ');
        while let Some(command) = words.next() {
            if command == "Z" {
                path.close();
                continue;
            }
            let Some((x, y)) = place(&mut words, &to) else {
                return;
            };
            match command {
                "M" => path.move_to(x, y),
                "L" => path.line_to(x, y),
                _ => match place(&mut words, &to) {
                    Some(end) => path.quad_to(x, y, end.0, end.1),
                    None => return,
                },
            }
        }
    }
}

/// The next place of an outline.
fn place(words: &mut Split<'_, char>, to: impl Fn(f32, f32) -> (f32, f32)) -> Option<(f32, f32)> {
    let mut number = || words.next()?.parse().ok();
    Some(to(number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(letter: Letter) -> Option<tiny_skia::Rect> {
        let mut path = PathBuilder::new();
        letter.draw(&mut path, |x, y| (x, y));
        path.finish().map(|path| path.bounds())
    }

    #[test]
    fn letters_of_charts_have_outlines() {
        let missing = of('\0').outline;
        for letter in
            ('!'..='~').chain("\u{b5}\u{d7}\u{2013}\u{2026}\u{2212}\u{2265}\u{df}\u{416}".chars())
        {
            let letter_read = of(letter);
            assert_ne!(letter_read.outline, missing, "{letter}");
            assert!(bounds(letter_read).is_some(), "{letter}");
        }
        assert!(bounds(of(' ')).is_none() && of(' ').width > 0.0);
    }

    #[test]
    fn letters_without_outlines_are_boxes() {
        let found = bounds(of('\u{4e00}')).expect("a box");
        assert_eq!((found.left(), found.right()), (102.0, 1126.0));
        assert_eq!((found.top(), found.bottom()), (-362.0, 1444.0));
    }

    #[test]
    fn letters_are_read_to_the_end() {
        assert_eq!(LETTERS.len(), OUTLINES.lines().count());
        for (code, letter) in &*LETTERS {
            let mut words = letter.outline.split(' ').filter(|word| !word.is_empty());
            while let Some(command) = words.next() {
                let numbers = match command {
                    "M" | "L" => 2,
                    "Q" => 4,
                    "Z" => 0,
                    _ => panic!("{code:X}: {command} is no command"),
                };
                for word in words.by_ref().take(numbers) {
                    assert!(word.parse::<f32>().is_ok(), "{code:X}: {word} is no number");
                }
            }
        }
    }
}
