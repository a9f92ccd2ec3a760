//! An encrypted, mutually authenticated control connection between two ends that share a key.
//!
//! TLS 1.3 (RFC 8446) encrypts with an ephemeral server key that authenticates nothing.
//! Authentication happens inside: each end sends an HMAC (RFC 2104) with the shared key over
//! fresh nonces of both ends and over the TLS exporter (RFC 9266, tls-exporter). A man in the
//! middle has a different exporter on each side, so a relayed proof is invalid. Data sent
//! before the proofs is not trusted.
//!
//! netperf proves itself first, so that an unauthenticated client gets nothing on which to test
//! keys.

#[cfg_attr(not(feature = "tls"), path = "secure/absent.rs")]
mod channel;

use std::io;

pub use channel::Channel;

/// Failure to establish the encrypted connection.
#[derive(Debug)]
pub enum NoChannel {
    /// The other end does not have the shared key, or rejects ours.
    WrongKey,
    /// The server accepted the client's proof but has no valid proof itself: it is not the real
    /// netserver.
    Impostor,
    /// The connection failed, ended, or did not use TLS.
    Broken(io::Error),
    /// The handshake timed out.
    TooSlow,
}

impl From<io::Error> for NoChannel {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::TimedOut {
            Self::TooSlow
        } else {
            Self::Broken(error)
        }
    }
}
