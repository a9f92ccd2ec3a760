//! The layout of iperf3's documents, which is that of the cJSON library.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

/// The text of a document: a key per line behind tabs, arrays in one line.
#[must_use]
pub fn document<T: Serialize>(value: &T) -> String {
    text(value, DocumentLayout::default())
}

/// The text of a value in one line.
pub(super) fn line<T: Serialize>(value: &T) -> String {
    text(value, LineLayout)
}

fn text<T: Serialize>(value: &T, layout: impl Formatter) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, layout);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8(bytes).unwrap_or_default(),
        Err(_) => String::new(),
    }
}

/// Writes a number without a fraction where it is whole, as programs expect that read it as an
/// integer.
fn write_number<W: ?Sized + Write>(to: &mut W, value: f64) -> io::Result<()> {
    /// From here on the original writes an exponent.
    const LARGE: f64 = 1e15;
    if value == 0.0 {
        to.write_all(b"0")
    } else if value.fract() == 0.0 && value.abs() < LARGE {
        write!(to, "{value:.0}")
    } else {
        write!(to, "{value:?}")
    }
}

/// One line.
struct LineLayout;

impl Formatter for LineLayout {
    fn write_f64<W: ?Sized + Write>(&mut self, to: &mut W, value: f64) -> io::Result<()> {
        write_number(to, value)
    }
}

/// Several lines.
#[derive(Default)]
struct DocumentLayout {
    depth: usize,
}

impl DocumentLayout {
    fn tabs<W: ?Sized + Write>(&self, to: &mut W) -> io::Result<()> {
        (0..self.depth).try_for_each(|_| to.write_all(b"\t"))
    }
}

impl Formatter for DocumentLayout {
    fn write_f64<W: ?Sized + Write>(&mut self, to: &mut W, value: f64) -> io::Result<()> {
        write_number(to, value)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        to.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth -= 1;
        to.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        to.write_all(if first { b"" } else { b", " })
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        to.write_all(b"{")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        to.write_all(if first { b"\n" } else { b",\n" })?;
        self.tabs(to)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b":\t")
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth -= 1;
        // Behind an object without keys as well.
        to.write_all(b"\n")?;
        self.tabs(to)?;
        to.write_all(b"}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn document_has_a_key_per_line_and_whole_numbers_without_fraction() {
        let value = json!({"a": {"b": 0.0, "c": 1.5}, "d": [{"e": 3}, {}], "f": [], "g": 4e9});
        let text = "{\n\t'a':\t{\n\t\t'b':\t0,\n\t\t'c':\t1.5\n\t},\n\t'd':\t[{\n\t\t\t'e':\t3\n\t\t}, {\n\t\t}],\n\t\
                    'f':\t[],\n\t'g':\t4000000000\n}";
        assert_eq!(document(&value).replace('"', "'"), text);
        assert_eq!(line(&json!([0.0, -1.0, 0.25])), "[0,-1,0.25]");
    }
}
