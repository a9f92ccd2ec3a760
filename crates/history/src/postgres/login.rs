//! The request for a password, checked before tokio-postgres answers it.
//!
//! tokio-postgres sends a password in clear text, or as MD5, to any server that asks. A
//! server that impersonates the right one would learn the password.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Type, length and code of an authentication request (PostgreSQL manual, 55.7).
const REQUEST: usize = 9;

/// The bytes of a server. Reading fails where the server's first message asks for a password in
/// an unsafe
/// way. Only the first message can ask: tokio-postgres takes no other before it.
pub(super) struct LoginCheck<R> {
    bytes: R,
    /// True if the server cannot be another one: its certificate was verified, or it owns a
    /// socket in a directory of this host.
    is_authenticated: bool,
    has_password: bool,
    /// The first bytes of the server.
    request: Vec<u8>,
}

impl<R> LoginCheck<R> {
    pub(super) fn new(bytes: R, is_authenticated: bool, has_password: bool) -> Self {
        Self {
            bytes,
            is_authenticated,
            has_password,
            request: Vec::with_capacity(REQUEST),
        }
    }

    /// Checks the first message once it is there.
    fn check(&self) -> Result<(), &'static str> {
        let [b'R', _, _, _, _, code @ ..] = self.request.as_slice() else {
            return Ok(());
        };
        match code {
            [0, 0, 0, 3 | 10] if !self.has_password => Err(
                "the server asks for a password: give it in the URL, in PGPASSWORD or in ~/.pgpass",
            ),
            [0, 0, 0, 3] if !self.is_authenticated => Err(
                "the server asks for the password in clear text, and its certificate is not \
                 verified: use sslmode=verify-full, or scram-sha-256",
            ),
            [0, 0, 0, 5] => Err(
                "the server asks for an MD5 proof, which is broken: store the password as \
                 scram-sha-256",
            ),
            _ => Ok(()),
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LoginCheck<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.bytes).poll_read(context, buffer))?;
        let missing = REQUEST - self.request.len();
        if missing > 0 {
            let bytes = buffer.filled().iter().skip(before).take(missing);
            self.request.extend(bytes);
            if let Err(why) = self.check() {
                // An error comes without bytes.
                buffer.set_filled(before);
                return Poll::Ready(Err(io::Error::other(why)));
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    /// The error for a request with this code, which comes in two parts.
    fn refused(code: u8, is_authenticated: bool, has_password: bool) -> Option<String> {
        let (one, other) = (&[b'R', 0, 0, 0, 8, 0][..], [0, 0, code]);
        let bytes = one.chain(other.as_slice());
        let mut checked = LoginCheck::new(bytes, is_authenticated, has_password);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let mut read = Vec::new();
        let error = runtime.block_on(checked.read_to_end(&mut read)).err();
        error.map(|error| error.to_string())
    }

    #[test]
    fn a_password_is_given_only_to_a_server_that_asks_in_a_safe_way() {
        for (code, is_authenticated, has_password, expected) in [
            (0, false, false, None),
            (10, false, true, None),
            (10, false, false, Some("PGPASSWORD")),
            (3, true, true, None),
            (3, false, true, Some("sslmode=verify-full")),
            (5, true, true, Some("MD5")),
        ] {
            let line = refused(code, is_authenticated, has_password);
            let found = line.as_deref().unwrap_or_default();
            assert_eq!(line.is_some(), expected.is_some(), "{code}: {found}");
            assert!(found.contains(expected.unwrap_or_default()), "{found}");
        }
    }
}
