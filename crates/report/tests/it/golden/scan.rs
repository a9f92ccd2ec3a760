//! Reads figures back out of printed text, with the templates that print it.

use netperf_report::fmt::{Arg, Piece, Spec, pieces, printf};

/// A figure as read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Read {
    Int(i64),
    Float(f64),
    Char(char),
    Text(String),
}

impl Read {
    pub(crate) fn arg(&self) -> Arg<'_> {
        match self {
            Self::Int(value) => Arg::Int(*value),
            Self::Float(value) => Arg::Float(*value),
            Self::Char(value) => Arg::Char(*value),
            Self::Text(value) => Arg::Text(value),
        }
    }

    pub(crate) fn float(&self) -> f64 {
        match self {
            Self::Int(value) => i32::try_from(*value)
                .map_or_else(|_| value.to_string().parse().expect("digits"), f64::from),
            Self::Float(value) => *value,
            Self::Char(_) | Self::Text(_) => panic!("{self:?} is not a number"),
        }
    }

    pub(crate) fn int(&self) -> i64 {
        match self {
            Self::Int(value) => *value,
            Self::Float(_) | Self::Char(_) | Self::Text(_) => panic!("{self:?} is not an integer"),
        }
    }

    pub(crate) fn char(&self) -> char {
        match self {
            Self::Char(value) => *value,
            Self::Int(_) | Self::Float(_) | Self::Text(_) => panic!("{self:?} is not a letter"),
        }
    }
}

/// The figures of a line, if printing them with the template gives the line again.
pub(crate) fn scan(template: &str, line: &str) -> Option<Vec<Read>> {
    let mut rest = line;
    let mut found = Vec::new();
    for piece in pieces(template) {
        match piece {
            Piece::Literal(text) => {
                // Blanks may have been taken for the padding of the field in front.
                let text = text.trim_start();
                rest = rest.trim_start_matches(' ').strip_prefix(text.trim_end())?;
            }
            Piece::Field(spec) => {
                let (read, after) = field(spec, rest)?;
                found.push(read);
                rest = after;
            }
        }
    }
    let args: Vec<Arg<'_>> = found.iter().map(Read::arg).collect();
    (printf(template, &args) == line).then_some(found)
}

fn field(spec: Spec, text: &str) -> Option<(Read, &str)> {
    match spec.conversion {
        's' => Some((Read::Text(text.trim_start_matches(' ').to_owned()), "")),
        'c' => {
            let text = text.trim_start_matches(' ');
            let letter = text.chars().next()?;
            Some((Read::Char(letter), &text[letter.len_utf8()..]))
        }
        _ => number(spec, text.trim_start_matches(' ')),
    }
}

fn number(spec: Spec, text: &str) -> Option<(Read, &str)> {
    let end = text
        .find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e'))
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let read = if spec.conversion == 'd' {
        Read::Int(digits.parse().ok()?)
    } else {
        Read::Float(digits.parse().ok()?)
    };
    Some((read, rest))
}

#[test]
fn a_scanned_line_prints_again_or_is_refused() {
    let template = "%6d  %6d   %-7.2f   %7d %6d    %7.2f";
    let line = "212992   65507   1.00       142950      0    74908.79";
    let found = scan(template, line).expect("the row");
    assert_eq!(found[1], Read::Int(65507));
    assert_eq!(scan(template, &line.replace("   65507", "  65507")), None);
}
