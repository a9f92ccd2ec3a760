//! Errors of decoding.

use netperf_wire::codec::DecodeError;
use thiserror::Error;

/// Reason why bytes are not a message of iperf 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Iperf2Error {
    /// The message ends inside a field.
    #[error(transparent)]
    Cut(#[from] DecodeError),
    /// The client header announces a length that no version sends.
    #[error("the client header announces {0} bytes; 24 to 512 are possible")]
    HeaderLength(usize),
    /// The permit key is longer than any that is accepted.
    #[error("the client header announces a permit key of {0} bytes; at most 256 are possible")]
    KeyLength(usize),
    /// A message of request and response has a size that is not returned.
    #[error("a message of request and response has {0} bytes; 60 to 1048576 are possible")]
    Bounceback(u32),
    /// Neither position of the flags holds those of a report.
    #[error("a datagram of {0} bytes is not a server report")]
    NoReport(usize),
    /// The answer to the client header has another type or length.
    #[error("the answer to the client header has type {kind} and length {length}")]
    Answer {
        /// Type.
        kind: u32,
        /// Length in bytes.
        length: u32,
    },
}
