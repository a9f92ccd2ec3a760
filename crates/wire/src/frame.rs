//! The record that everything on the control connection is made of.

use std::fmt;

use crate::codec::{DecodeError, Reader, Writer};
use crate::kind::{RemoteErrno, RequestKind};

/// Bytes in a record (control-protocol.md 1.1).
pub const FRAME_LEN: usize = 656;

/// Bytes of a record before the test-specific data (control-protocol.md 1.1).
pub const HEADER_LEN: usize = 8;

/// Word 1 of a request without a CPU binding for the server.
const NO_AFFINITY: i32 = -1;

/// One record: 656 bytes, no more, no less.
///
/// A new record is all zeros (control-protocol.md 1.6).
#[derive(Clone, PartialEq, Eq)]
pub struct Frame([u8; FRAME_LEN]);

impl Frame {
    /// A record of zeros behind `header`.
    #[must_use]
    pub fn new(header: Header) -> Self {
        let mut frame = Self::default();
        frame.set_header(header);
        frame
    }

    /// The record that has exactly these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; FRAME_LEN]) -> Self {
        Self(bytes)
    }

    /// The bytes, to be sent.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; FRAME_LEN] {
        &self.0
    }

    /// The bytes, to be received into.
    pub const fn as_mut_bytes(&mut self) -> &mut [u8; FRAME_LEN] {
        &mut self.0
    }

    /// Words 0 and 1.
    #[must_use]
    pub const fn header(&self) -> Header {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        Header {
            kind: u32::from_be_bytes([a, b, c, d]),
            word1: i32::from_be_bytes([e, f, g, h]),
        }
    }

    /// Replaces words 0 and 1.
    pub fn set_header(&mut self, header: Header) {
        let mut writer = Writer::new(&mut self.0);
        writer.put(header.kind.to_be_bytes());
        writer.put(header.word1.to_be_bytes());
    }

    /// Word 0 of a client's record, as the request it asks for.
    #[must_use]
    pub const fn request(&self) -> RequestKind {
        RequestKind::from_number(self.header().kind)
    }

    /// Word 1 of a client's record: the CPU the server should bind itself to.
    #[must_use]
    pub const fn affinity(&self) -> Option<i32> {
        match self.header().word1 {
            NO_AFFINITY => None,
            cpu => Some(cpu),
        }
    }

    /// Word 1 of a server's record: whether the request failed, and why.
    #[must_use]
    pub const fn errno(&self) -> RemoteErrno {
        RemoteErrno(self.header().word1)
    }

    /// A cursor at a byte of the record.
    pub(crate) fn at(&self, offset: usize) -> Reader<'_> {
        let rest = self.0.split_at_checked(offset).unwrap_or_default().1;
        Reader::new(rest, offset)
    }

    /// A writing cursor at a byte of the record.
    pub(crate) fn at_mut(&mut self, offset: usize) -> Writer<'_> {
        let rest = self.0.split_at_mut_checked(offset).unwrap_or_default().1;
        Writer::new(rest)
    }

    /// A cursor at the first byte of test-specific data.
    pub(crate) fn body(&self) -> Reader<'_> {
        let body = self.0.split_at(HEADER_LEN).1;
        Reader::new(body, HEADER_LEN)
    }

    /// A writing cursor at the first byte of test-specific data.
    pub(crate) fn body_mut(&mut self) -> Writer<'_> {
        Writer::new(self.0.split_at_mut(HEADER_LEN).1)
    }
}

impl Default for Frame {
    fn default() -> Self {
        Self([0; FRAME_LEN])
    }
}

impl TryFrom<&[u8]> for Frame {
    type Error = DecodeError;

    fn try_from(bytes: &[u8]) -> Result<Self, DecodeError> {
        <[u8; FRAME_LEN]>::try_from(bytes)
            .map(Self)
            .map_err(|_| DecodeError::FrameLength { got: bytes.len() })
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.0.iter().rposition(|byte| *byte != 0);
        f.debug_struct("Frame")
            .field("header", &self.header())
            .field("last_byte_set", &used)
            .finish_non_exhaustive()
    }
}

/// Words 0 and 1 of a record (control-protocol.md 1.3 to 1.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Word 0: the request number, or what the server calls its answer.
    ///
    /// In an answer it means nothing: a client must accept any value.
    pub kind: u32,
    /// Word 1: CPU number (client) or error number (server).
    pub word1: i32,
}

impl Header {
    /// The header of a request that leaves the server on whatever CPU it is.
    #[must_use]
    pub const fn request(kind: RequestKind) -> Self {
        Self {
            kind: kind.number(),
            word1: NO_AFFINITY,
        }
    }

    /// The same request, asking the server to bind itself to a CPU.
    #[must_use]
    pub fn with_affinity(self, cpu: Option<i32>) -> Self {
        Self {
            word1: cpu.unwrap_or(NO_AFFINITY),
            ..self
        }
    }

    /// The header of a first answer that reports success.
    #[must_use]
    pub const fn response(kind: RequestKind) -> Self {
        Self {
            kind: kind.response_number(),
            word1: 0,
        }
    }

    /// The header of results that report success, numbered as a stock server on a
    /// little-endian host numbers them.
    #[must_use]
    pub const fn results(kind: RequestKind) -> Self {
        Self {
            kind: kind.stock_results_number(),
            word1: 0,
        }
    }

    /// The same answer, reporting an error.
    #[must_use]
    pub const fn with_errno(self, errno: RemoteErrno) -> Self {
        Self {
            word1: errno.0,
            ..self
        }
    }

    /// The header of the answer to a request that the server does not know.
    #[must_use]
    pub const fn unknown_request() -> Self {
        Self {
            kind: 0,
            word1: RemoteErrno::UNKNOWN_REQUEST.0,
        }
    }
}
