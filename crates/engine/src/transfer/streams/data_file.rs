//! A connection whose data comes from a file, or goes to one.

use std::fs::File;
use std::io::{self, Write as _};

use netperf_transport::{Endpoint, Received, Sent};

use crate::transfer::file_blocks::FileBlocks;

/// Sends the contents of a file, and stores in it what arrives. The end of the file ends the stream
/// as the error `UnexpectedEof`.
pub(super) struct FileData<E> {
    endpoint: E,
    blocks: FileBlocks<File>,
}

impl<E> FileData<E> {
    /// For blocks of at most this size.
    pub(super) fn new(endpoint: E, file: File, size: usize) -> Self {
        let blocks = FileBlocks::new(file, size);
        Self { endpoint, blocks }
    }
}

impl<E: Endpoint> Endpoint for FileData<E> {
    const KEEPS_BOUNDARIES: bool = E::KEEPS_BOUNDARIES;

    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        let sent = self.endpoint.send(self.blocks.next_data(buf.len())?)?;
        if let Sent::Bytes(count) = sent {
            self.blocks.advance(count);
        }
        Ok(sent)
    }

    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let received = self.endpoint.recv(buf)?;
        if let Received::Bytes(count) = received {
            self.blocks.source_mut().write_all(&buf[..count])?;
        }
        Ok(received)
    }
}

#[cfg(test)]
mod tests {
    use netperf_testkit::Scratch;
    use netperf_transport::scripted::Scripted;

    use super::*;

    #[test]
    fn file_is_sent_whole_in_blocks_and_its_end_ends_the_stream() {
        let scratch = Scratch::new();
        let name = scratch.path().join("data");
        std::fs::write(&name, b"0123456789").unwrap();
        let wire = Scripted::new(
            [
                Sent::Bytes(4),
                Sent::Bytes(2),
                Sent::Bytes(2),
                Sent::Bytes(2),
            ],
            [],
        );
        let mut data = FileData::new(wire, File::open(&name).unwrap(), 4);
        for count in [4, 2, 2, 2] {
            assert_eq!(data.send(&[0; 4]).unwrap(), Sent::Bytes(count));
        }
        let end = data.send(&[0; 4]).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(data.endpoint.offered, [4, 4, 2, 2]);
    }

    #[test]
    fn file_stores_what_arrives() {
        let scratch = Scratch::new();
        let name = scratch.path().join("data");
        let wire = Scripted::new(
            [],
            [Received::Bytes(3), Received::TimedOut, Received::Bytes(2)],
        );
        let mut data = FileData::new(wire, File::create(&name).unwrap(), 4);
        let mut buffer = *b"abcd";
        for _ in 0..3 {
            data.recv(&mut buffer).unwrap();
        }
        assert_eq!(std::fs::read(&name).unwrap(), b"abcab");
    }
}
