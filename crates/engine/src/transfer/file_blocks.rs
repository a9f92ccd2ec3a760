//! Data of a file, or of another source that is read, for a connection.

use std::io::{self, Read};

/// Reads a source in blocks and keeps what a connection has not taken yet.
#[derive(Debug)]
pub struct FileBlocks<R> {
    source: R,
    /// The last data read.
    block: Box<[u8]>,
    /// Bytes of it.
    filled: usize,
    /// Bytes of it that were sent.
    sent: usize,
}

impl<R: Read> FileBlocks<R> {
    /// For blocks of at most this size.
    pub fn new(source: R, size: usize) -> Self {
        Self {
            source,
            block: vec![0; size].into_boxed_slice(),
            filled: 0,
            sent: 0,
        }
    }

    /// The source of the blocks.
    pub const fn source_mut(&mut self) -> &mut R {
        &mut self.source
    }

    /// True if the next data have to be read.
    pub const fn is_sent(&self) -> bool {
        self.sent == self.filled
    }

    /// The next data to send, of at most `most` bytes: the rest of the last read, or a new one.
    ///
    /// # Errors
    /// Whatever the source reports; `UnexpectedEof` at its end.
    pub fn next_data(&mut self, most: usize) -> io::Result<&[u8]> {
        if self.is_sent() {
            let most = most.min(self.block.len());
            (self.filled, self.sent) = (0, 0);
            self.filled = self.source.read(&mut self.block[..most])?;
            if self.filled == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let end = self.filled.min(self.sent + most);
        Ok(&self.block[self.sent..end])
    }

    /// So many bytes of the data were sent.
    pub const fn advance(&mut self, count: usize) {
        self.sent += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_blocks_give_unsent_data_before_they_read_on() {
        let mut blocks = FileBlocks::new(&b"0123456789"[..], 4);
        assert_eq!(blocks.next_data(3).unwrap(), b"012");
        blocks.advance(1);
        assert!(!blocks.is_sent());
        assert_eq!(blocks.next_data(1).unwrap(), b"1");
        blocks.advance(1);
        assert_eq!(blocks.next_data(9).unwrap(), b"2");
        blocks.advance(1);
        assert!(blocks.is_sent());
        assert_eq!(blocks.next_data(9).unwrap(), b"3456");
        blocks.advance(4);
        assert_eq!(blocks.next_data(9).unwrap(), b"789");
        blocks.advance(3);
        let end = blocks.next_data(9).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }
}
