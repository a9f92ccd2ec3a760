//! Character and byte arrays of fixed size.

use std::borrow::Cow;
use std::fmt;

/// A NUL-padded character array that lies in a record as it is read.
///
/// Bytes behind the NUL are kept: a stock server leaves residue there, and an
/// encoded record must be the one that was decoded (control-protocol.md 1.6).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedStr<const N: usize>([u8; N]);

impl<const N: usize> FixedStr<N> {
    /// An array that has exactly these bytes.
    #[must_use]
    pub const fn from_array(bytes: [u8; N]) -> Self {
        Self(bytes)
    }

    /// The beginning of `text` that fits with a NUL.
    #[must_use]
    pub fn from_str_truncated(text: &str) -> Self {
        Self::from_bytes_truncated(text.as_bytes())
    }

    /// The beginning of `bytes` that fits with a NUL.
    #[must_use]
    pub fn from_bytes_truncated(bytes: &[u8]) -> Self {
        let mut array = [0; N];
        let space = N.saturating_sub(1);
        for (slot, byte) in array.iter_mut().take(space).zip(bytes) {
            *slot = *byte;
        }
        Self(array)
    }

    /// Every byte of the array, also those behind the NUL.
    #[must_use]
    pub const fn as_array(&self) -> &[u8; N] {
        &self.0
    }

    /// The bytes before the first NUL; all of them if there is none.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// The text before the first NUL, with a mark in place of what is not UTF-8.
    #[must_use]
    pub fn as_str_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.as_bytes())
    }

    /// True if there is no text, or only residue behind a NUL.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }
}

impl<const N: usize> Default for FixedStr<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> fmt::Debug for FixedStr<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_str_lossy(), f)
    }
}

/// A NUL-padded character array inside the converted part of a record.
///
/// A little-endian stock program reverses each group of four bytes on the wire,
/// because its word conversion does not know that there is text
/// (control-protocol.md 1.2). The value here is in reading order.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SwappedStr<const N: usize>(pub FixedStr<N>);

impl<const N: usize> SwappedStr<N> {
    /// From the bytes in the record.
    #[must_use]
    pub fn from_wire(bytes: [u8; N]) -> Self {
        Self(FixedStr(swap_words(bytes)))
    }

    /// The bytes in the record.
    #[must_use]
    pub fn to_wire(&self) -> [u8; N] {
        swap_words(self.0.0)
    }

    /// The beginning of `bytes` that fits with a NUL.
    #[must_use]
    pub fn from_bytes_truncated(bytes: &[u8]) -> Self {
        Self(FixedStr::from_bytes_truncated(bytes))
    }

    /// The bytes before the first NUL; all of them if there is none.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl<const N: usize> fmt::Debug for SwappedStr<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// A byte string inside the converted part of a record, with its length in a separate field: the
/// address of a DLPI station (control-protocol.md 2.7.8).
///
/// Each group of four bytes is reversed on the wire, as in [`SwappedStr`]; the value
/// here is in reading order. A NUL is a byte like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SwappedBytes<const N: usize>([u8; N]);

impl<const N: usize> SwappedBytes<N> {
    /// From the bytes in the record.
    #[must_use]
    pub fn from_wire(bytes: [u8; N]) -> Self {
        Self(swap_words(bytes))
    }

    /// The bytes in the record.
    #[must_use]
    pub fn to_wire(&self) -> [u8; N] {
        swap_words(self.0)
    }

    /// The beginning of `bytes` that fits, followed by zeros.
    #[must_use]
    pub fn from_bytes_truncated(bytes: &[u8]) -> Self {
        let mut array = [0; N];
        for (slot, byte) in array.iter_mut().zip(bytes) {
            *slot = *byte;
        }
        Self(array)
    }

    /// Every byte of the array, also those behind the string.
    #[must_use]
    pub const fn as_array(&self) -> &[u8; N] {
        &self.0
    }

    /// The string, of as many bytes as the field for its length says.
    ///
    /// A length below 0 is none, one beyond the array is all of it.
    #[must_use]
    pub fn prefix(&self, len: i32) -> &[u8] {
        let len = usize::try_from(len).unwrap_or(0);
        self.0.get(..len).unwrap_or(&self.0)
    }
}

impl<const N: usize> Default for SwappedBytes<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

/// Reverses each group of four bytes; the same both ways.
fn swap_words<const N: usize>(mut bytes: [u8; N]) -> [u8; N] {
    for word in bytes.chunks_exact_mut(4) {
        word.reverse();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_too_long_keeps_room_for_the_nul() {
        let text = FixedStr::<4>::from_str_truncated("cubic");
        assert_eq!(text.as_array(), b"cub\0");
        assert_eq!(text.as_str_lossy(), "cub");
    }

    #[test]
    fn text_ends_at_the_first_nul_but_the_rest_is_kept() {
        let text = FixedStr::from_array(*b"bbr\0no\0\0");
        assert_eq!(text.as_str_lossy(), "bbr");
        assert_eq!(text.as_array(), b"bbr\0no\0\0");
    }

    #[test]
    fn an_array_without_a_nul_is_text_to_its_end() {
        assert_eq!(FixedStr::from_array(*b"reno").as_bytes(), b"reno");
        assert!(FixedStr::<4>::default().is_empty());
        assert!(FixedStr::<0>::default().is_empty());
    }

    #[test]
    fn a_byte_string_is_as_long_as_its_length_says_within_the_array() {
        let bytes = SwappedBytes::<8>::from_bytes_truncated(&[1, 0, 3]);
        assert_eq!(bytes.prefix(3), [1, 0, 3]);
        assert!(bytes.prefix(-1).is_empty());
        assert_eq!(bytes.prefix(9), [1, 0, 3, 0, 0, 0, 0, 0]);
        assert_eq!(bytes.to_wire(), [0, 3, 0, 1, 0, 0, 0, 0]);
    }
}
