//! A page of an appendix: a record of bytes (docs/spec/extension.md).

use crate::codec::DecodeError;
use crate::frame::{FRAME_LEN, Frame, Header};

/// Neither ASCII nor the same from its end, with a NUL in front of other bytes, and unlike
/// the marks of the extension block in its last byte.
const MARK: [u8; 8] = [0xb5, b'n', b'p', 0, 0xc7, b'r', b's', 0x44];
/// The version that is written; a page of another one is none.
const VERSION: u8 = 1;
/// Position of the mark.
const START: usize = 8;
/// Bytes in front of those that the page is about.
const HEAD: usize = 24;

/// One page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Number of the appendix.
    pub kind: u8,
    /// Which one, from 0.
    pub number: u32,
    /// Its bytes, [`Page::SPACE`] at most.
    pub bytes: Vec<u8>,
}

impl Page {
    /// Bytes of a page, except the last one.
    pub const SPACE: usize = FRAME_LEN - HEAD;

    /// The page in a record; `None` where there is no mark.
    ///
    /// # Errors
    /// When there is a mark, and behind it not what a mark promises.
    pub fn decode(frame: &Frame) -> Result<Option<Self>, DecodeError> {
        let mut reader = frame.at(START);
        if reader.take::<8>("mark")? != MARK || reader.take::<1>("version")? != [VERSION] {
            return Ok(None);
        }
        let [kind] = reader.take::<1>("kind")?;
        let length = u16::from_be_bytes(reader.take::<2>("length")?);
        let number = u32::from_be_bytes(reader.take::<4>("number")?);
        let bytes = reader.part(usize::from(length), "bytes")?;
        Ok(Some(Self {
            kind,
            number,
            bytes: bytes.rest().to_vec(),
        }))
    }

    /// The record of this page. Bytes beyond its length are left out.
    #[must_use]
    pub fn encode(&self, header: Header) -> Frame {
        let bytes = self.bytes.get(..Self::SPACE).unwrap_or(&self.bytes);
        let mut frame = Frame::new(header);
        let mut writer = frame.at_mut(START);
        writer.put(MARK);
        writer.put([VERSION, self.kind]);
        writer.put(u16::try_from(bytes.len()).unwrap_or(0).to_be_bytes());
        writer.put(self.number.to_be_bytes());
        writer.put_all(bytes);
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_page_fills_its_record_and_is_read_as_it_was_written() {
        let page = Page {
            kind: 7,
            number: 70_000,
            bytes: (0..=255).cycle().take(Page::SPACE).collect(),
        };
        let frame = page.encode(Header::default());
        assert_eq!(Page::decode(&frame), Ok(Some(page)));
    }

    #[test]
    fn a_page_never_claims_more_than_its_record_has() {
        let mut frame = Page::default().encode(Header::default());
        frame.as_mut_bytes()[18..20].copy_from_slice(&633_u16.to_be_bytes());
        assert!(Page::decode(&frame).is_err());
        frame.as_mut_bytes()[18..20].copy_from_slice(&632_u16.to_be_bytes());
        assert_eq!(Page::decode(&frame).unwrap().unwrap().bytes.len(), 632);
    }

    #[test]
    fn a_record_without_the_mark_is_no_page() {
        assert_eq!(Page::decode(&Frame::default()), Ok(None));
    }
}
