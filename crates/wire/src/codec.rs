//! The cursors that read and write a record. Neither can panic.

use std::mem;

use thiserror::Error;

use crate::frame::FRAME_LEN;

/// Why bytes are not a record, or a record not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// A record has exactly [`FRAME_LEN`] bytes, these were another number.
    #[error("a control record has {FRAME_LEN} bytes, not {got}")]
    FrameLength {
        /// Number of bytes.
        got: usize,
    },
    /// The bytes ended inside a field.
    #[error("field {field} at byte {offset} needs {needed} bytes, {left} are left")]
    FieldCut {
        /// The field, as the wire document names it.
        field: &'static str,
        /// Start of the field, in bytes from the start of the record.
        offset: usize,
        /// Bytes that the field needs.
        needed: usize,
        /// Bytes that are left.
        left: usize,
    },
}

/// Reads fields one after the other.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// A cursor over `bytes`, which start `offset` bytes into the record.
    #[must_use]
    pub const fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self {
            rest: bytes,
            offset,
        }
    }

    /// The next `N` bytes, which belong to `field`.
    ///
    /// # Errors
    /// When fewer bytes are left.
    pub fn take<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(DecodeError::FieldCut {
                field,
                offset: self.offset,
                needed: N,
                left: self.rest.len(),
            });
        };
        self.rest = rest;
        self.offset += N;
        Ok(*taken)
    }

    /// A cursor over the next `len` bytes, which belong to `field`.
    ///
    /// # Errors
    /// When fewer bytes are left.
    pub fn part(&mut self, len: usize, field: &'static str) -> Result<Self, DecodeError> {
        let Some((part, rest)) = self.rest.split_at_checked(len) else {
            return Err(DecodeError::FieldCut {
                field,
                offset: self.offset,
                needed: len,
                left: self.rest.len(),
            });
        };
        let offset = self.offset;
        self.rest = rest;
        self.offset += len;
        Ok(Self::new(part, offset))
    }

    /// True if nothing is left.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Everything that is left.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

/// Writes fields one after the other.
#[derive(Debug)]
pub struct Writer<'a> {
    rest: &'a mut [u8],
}

impl<'a> Writer<'a> {
    /// A cursor over `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a mut [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Writes the next `N` bytes.
    ///
    /// Bytes that do not fit are left out. No layout gets there: each is checked
    /// against the record's length when it is compiled.
    pub fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        let rest = mem::take(&mut self.rest);
        if let Some((slot, rest)) = rest.split_first_chunk_mut::<N>() {
            *slot = bytes;
            self.rest = rest;
        }
    }

    /// Writes all of `bytes`; those that do not fit are left out.
    pub fn put_all(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.put([*byte]);
        }
    }

    /// Bytes that can still be written.
    #[must_use]
    pub const fn space(&self) -> usize {
        self.rest.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_field_is_named_with_its_offset() {
        let mut reader = Reader::new(&[1, 2, 3, 4, 5, 6], 8);
        assert_eq!(reader.take::<4>("send_size"), Ok([1, 2, 3, 4]));
        let error = reader.take::<4>("send_width").unwrap_err();
        assert_eq!(
            error.to_string(),
            "field send_width at byte 12 needs 4 bytes, 2 are left"
        );
    }

    #[test]
    fn a_cut_field_leaves_the_cursor_where_it_was() {
        let mut reader = Reader::new(&[1, 2, 3], 0);
        assert!(reader.take::<4>("word").is_err());
        assert_eq!(reader.take::<3>("rest"), Ok([1, 2, 3]));
    }

    #[test]
    fn bytes_that_do_not_fit_are_left_out() {
        let mut space = [0; 3];
        let mut writer = Writer::new(&mut space);
        writer.put([1, 2]);
        writer.put([3, 4]);
        assert_eq!(space, [1, 2, 0]);
    }
}
