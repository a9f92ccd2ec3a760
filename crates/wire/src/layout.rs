//! Messages: structs whose fields have a position in the record.

use crate::codec::{DecodeError, Reader, Writer};
use crate::double::LowWordFirst;
use crate::frame::{FRAME_LEN, Frame, HEADER_LEN, Header};
use crate::text::{FixedStr, SwappedBytes, SwappedStr};
use crate::values::{Direction, OmniFlags, WireFamily, WireProtocol, WireSocketType};

/// The test-specific data of one kind of record.
///
/// Words 0 and 1 are not part of it: see [`Header`].
pub trait Message: Sized {
    /// The name of the struct.
    const NAME: &'static str;
    /// Position of each field, without gaps.
    const LAYOUT: &'static [FieldLayout];
    /// End of the message, in bytes from the start of the record.
    const END: usize;

    /// Reads every field, also those that no stock program sets.
    ///
    /// Word 0 is not looked at: which message a record holds follows from the order of
    /// records alone (control-protocol.md 1.5).
    ///
    /// # Errors
    ///
    /// A field lies outside of the record. No layout allows it.
    fn decode(frame: &Frame) -> Result<Self, DecodeError>;

    /// Writes every field, and leaves header and bytes behind the end as they are.
    fn encode_over(&self, base: &mut Frame);

    /// Every field by name, for a trace of the exchange.
    fn values(&self) -> Values;

    /// The record with this message, made from zeros.
    #[must_use]
    fn encode(&self, header: Header) -> Frame {
        let mut frame = Frame::new(header);
        self.encode_over(&mut frame);
        frame
    }
}

/// One row of a message's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLayout {
    /// The name in the wire document.
    pub name: &'static str,
    /// The first byte, from the start of the record.
    pub offset: usize,
    /// Length in bytes.
    pub len: usize,
    /// Encoding of the bytes.
    pub kind: FieldKind,
}

impl FieldLayout {
    /// Writes a value in the encoding of the field: a count as a word, which wraps, or as a
    /// float. Bytes that do not fit are left out.
    pub(crate) fn put(&self, value: &FieldValue, frame: &mut Frame) {
        let mut writer = frame.at_mut(self.offset);
        match (value, self.kind) {
            (FieldValue::Counter(count), FieldKind::Word) => wrapped(*count).write(&mut writer),
            (FieldValue::Counter(count), FieldKind::Double) => rounded(*count).write(&mut writer),
            (FieldValue::Counter(count), FieldKind::DoubleLowWordFirst) => {
                LowWordFirst(rounded(*count)).write(&mut writer);
            }
            (FieldValue::Counter(count), _) => count.write(&mut writer),
            (FieldValue::Signed(number), _) => number.write(&mut writer),
            (FieldValue::Unsigned(number), _) => number.write(&mut writer),
            (FieldValue::Single(number), _) => number.write(&mut writer),
            (FieldValue::Double(number), FieldKind::DoubleLowWordFirst) => {
                LowWordFirst(*number).write(&mut writer);
            }
            (FieldValue::Double(number), _) => number.write(&mut writer),
            (FieldValue::Address(words), _) => words.write(&mut writer),
            (FieldValue::Text(bytes) | FieldValue::Bytes(bytes), kind) => {
                let mut bytes = bytes.clone();
                bytes.resize(self.len, 0);
                if kind != FieldKind::Text {
                    bytes.chunks_mut(4).for_each(<[u8]>::reverse);
                }
                writer.put_all(&bytes);
            }
        }
    }
}

/// The low 32 bits of a count.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the field wraps by definition"
)]
const fn wrapped(count: u64) -> u32 {
    count as u32
}

/// A count as a float.
const fn rounded(count: u64) -> f64 {
    count as f64
}

/// Encoding of the bytes of a field (control-protocol.md 1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A 32-bit integer, big-endian.
    Word,
    /// A 64-bit integer in two words, high word first, each big-endian.
    Counter,
    /// A 32-bit float, big-endian.
    Single,
    /// A 64-bit float, big-endian.
    Double,
    /// A 64-bit float in two big-endian words, low word first.
    DoubleLowWordFirst,
    /// Four words that carry an IP address.
    Address,
    /// Text in reading order.
    Text,
    /// Text with each group of four bytes reversed.
    SwappedText,
    /// Bytes with each group of four reversed, as many as another field says.
    SwappedBytes,
}

/// The value of a field whose type does not matter.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    /// A signed word.
    Signed(i32),
    /// An unsigned word: a number, a code or a set of bits.
    Unsigned(u32),
    /// A 64-bit count.
    Counter(u64),
    /// A 32-bit float.
    Single(f32),
    /// A 64-bit float.
    Double(f64),
    /// The words of an IP address.
    Address([u32; 4]),
    /// The text before the first NUL.
    Text(Vec<u8>),
    /// Bytes in reading order; another field says how many of them count.
    Bytes(Vec<u8>),
}

/// The fields of a message by name, in the order of the record.
pub type Values = Vec<(&'static str, FieldValue)>;

/// A type that a field can have.
pub(crate) trait Field: Sized {
    /// Bytes in the record.
    const LEN: usize;
    /// Encoding of the bytes.
    const KIND: FieldKind;
    fn read(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError>;
    fn write(&self, writer: &mut Writer<'_>);
    fn value(&self) -> FieldValue;
}

/// Fields that are a number in big-endian order. The bytes of a float are kept as
/// they are, whatever they mean: residue is often NaN.
macro_rules! number_fields {
    ($($type:ty: $kind:ident $value:ident,)*) => {$(
        impl Field for $type {
            const LEN: usize = size_of::<$type>();
            const KIND: FieldKind = FieldKind::$kind;

            fn read(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
                reader.take(name).map(Self::from_be_bytes)
            }

            fn write(&self, writer: &mut Writer<'_>) {
                writer.put(self.to_be_bytes());
            }

            fn value(&self) -> FieldValue {
                FieldValue::$value(*self)
            }
        }
    )*};
}

number_fields! {
    i32: Word Signed,
    u32: Word Unsigned,
    u64: Counter Counter,
    f32: Single Single,
    f64: Double Double,
}

/// Fields that are a name for an unsigned word.
macro_rules! code_fields {
    ($($type:ty: $from:ident $to:ident,)*) => {$(
        impl Field for $type {
            const LEN: usize = u32::LEN;
            const KIND: FieldKind = FieldKind::Word;

            fn read(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
                u32::read(reader, name).map(Self::$from)
            }

            fn write(&self, writer: &mut Writer<'_>) {
                self.$to().write(writer);
            }

            fn value(&self) -> FieldValue {
                FieldValue::Unsigned(self.$to())
            }
        }
    )*};
}

code_fields! {
    WireFamily: from_code code,
    WireSocketType: from_code code,
    WireProtocol: from_code code,
    Direction: from_bits bits,
    OmniFlags: from_bits bits,
}

impl Field for [u32; 4] {
    const LEN: usize = 16;
    const KIND: FieldKind = FieldKind::Address;

    fn read(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        Ok([
            u32::read(reader, name)?,
            u32::read(reader, name)?,
            u32::read(reader, name)?,
            u32::read(reader, name)?,
        ])
    }

    fn write(&self, writer: &mut Writer<'_>) {
        for word in self {
            word.write(writer);
        }
    }

    fn value(&self) -> FieldValue {
        FieldValue::Address(*self)
    }
}

impl<const N: usize> Field for FixedStr<N> {
    const LEN: usize = N;
    const KIND: FieldKind = FieldKind::Text;

    fn read(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        reader.take(name).map(Self::from_array)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.put(*self.as_array());
    }

    fn value(&self) -> FieldValue {
        FieldValue::Text(self.as_bytes().to_vec())
    }
}

impl<const N: usize> Field for SwappedStr<N> {
    const LEN: usize = N;
    const KIND: FieldKind = FieldKind::SwappedText;

    fn read(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        reader.take(name).map(Self::from_wire)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.put(self.to_wire());
    }

    fn value(&self) -> FieldValue {
        FieldValue::Text(self.as_bytes().to_vec())
    }
}

impl<const N: usize> Field for SwappedBytes<N> {
    const LEN: usize = N;
    const KIND: FieldKind = FieldKind::SwappedBytes;

    fn read(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        reader.take(name).map(Self::from_wire)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.put(self.to_wire());
    }

    fn value(&self) -> FieldValue {
        FieldValue::Bytes(self.as_array().to_vec())
    }
}

impl Field for LowWordFirst {
    const LEN: usize = 8;
    const KIND: FieldKind = FieldKind::DoubleLowWordFirst;

    fn read(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        reader.take(name).map(Self::from_wire)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.put(self.to_wire());
    }

    fn value(&self) -> FieldValue {
        FieldValue::Double(self.0)
    }
}

/// True if fields follow each other from the header to `end`, inside the record.
///
/// Reading and writing go through a cursor and never look at an offset; this is what
/// makes the offsets in the declarations true.
pub(crate) const fn is_contiguous(mut fields: &[FieldLayout], end: usize) -> bool {
    let mut at = HEADER_LEN;
    while let [first, rest @ ..] = fields {
        if first.offset != at {
            return false;
        }
        at += first.len;
        fields = rest;
    }
    at == end && end <= FRAME_LEN
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn word(name: &'static str, offset: usize) -> FieldLayout {
        FieldLayout {
            name,
            offset,
            len: 4,
            kind: FieldKind::Word,
        }
    }

    #[test]
    fn a_layout_with_a_gap_is_refused() {
        assert!(is_contiguous(&[word("a", 8), word("b", 12)], 16));
        assert!(!is_contiguous(&[word("a", 8), word("b", 16)], 20));
        assert!(!is_contiguous(&[word("a", 12)], 16));
    }

    #[test]
    fn a_layout_with_another_end_is_refused() {
        assert!(!is_contiguous(&[word("a", 8)], 16));
    }
}
