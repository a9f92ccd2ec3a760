//! Data through the port of the control connection (docs/spec/extension.md, One port).
//!
//! netserver's listener accepts everything that arrives at its port. Data begins with a
//! preamble; the session that issued the token in it receives the socket through a *hand-off
//! socket*, a socket pair between listener and session. From then on it is an ordinary data
//! socket.

mod datagrams;
mod handoff;
mod passed;
mod preamble;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netperf_model::Token;
use netperf_os::{SockAddr, Socket};

pub use datagrams::{Cancelled, FoundPeer, await_first, meet, probe};
pub use handoff::{
    HandoffInput, HandoffMessage, Probe, recv_message, send_connection, send_message,
};
pub use passed::Passed;
pub use preamble::{PREAMBLE, Preamble, PreambleKind, begins_preamble};

use crate::meeting::{self, GiveUp};

/// Creates a random token.
///
/// # Errors
/// When the system has no random numbers.
pub fn fresh() -> io::Result<Token> {
    let mut bytes = [0; Token::BYTES];
    netperf_os::system::random(&mut bytes)?;
    Ok(Token::new(bytes))
}

/// netperf's side: sends the preamble over a new connection. It is the first data, so there is
/// space for it.
///
/// # Errors
/// When the connection is broken.
pub fn present(fd: BorrowedFd<'_>, token: &Token) -> io::Result<()> {
    let bytes = Preamble::connection(*token).bytes();
    match netperf_os::io::send(fd, &bytes)? {
        PREAMBLE => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// netperf's side: connects and sends the preamble. A later [`meeting::connect`] finds the
/// socket connected.
///
/// # Errors
/// Whatever connect(2) reports, immediately or later.
pub fn enter(
    socket: &Socket,
    to: &SockAddr,
    token: &Token,
    give_up: GiveUp<'_>,
) -> io::Result<meeting::Met<()>> {
    meeting::connect(socket, to, give_up)?
        .and_then(|()| present(socket.as_fd(), token).map(meeting::Met::Connected))
}
