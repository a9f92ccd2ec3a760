//! A byte stream that is read while it is sent.
//!
//! With many requests in flight both ends may otherwise block in send(2), each with full buffers
//! that the other does not read.

use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

use netperf_os::{Socket, alarm, io as calls, wait};

use crate::endpoint::{Endpoint, Received, Sent, received, stream_sent};
use crate::meeting::on_socket;

/// Bytes of one receive between sends.
const PIECE: usize = 64 << 10;
/// Longest wait before the alarm is looked at again.
const LOOK: Duration = Duration::from_millis(10);

/// A connection whose arrivals are kept while a send has to wait.
#[derive(Debug)]
pub struct ReadWhileSending {
    socket: Socket,
    /// Arrivals before they are received; its memory is there beforehand.
    early: VecDeque<u8>,
    piece: Vec<u8>,
    fired: u32,
    /// Longest wait for space or arrivals.
    look: Duration,
}

on_socket!(ReadWhileSending: socket);

impl ReadWhileSending {
    /// Wraps a connection; `most` is the size of all responses in flight in bytes. A send that
    /// `spins` never sleeps.
    ///
    /// # Errors
    /// `ENOMEM` if there is no memory for them.
    pub fn new(socket: Socket, most: usize, spins: bool) -> io::Result<Self> {
        let mut early = VecDeque::new();
        netperf_os::memory::attempt(|| early.try_reserve(most.saturating_add(PIECE)))?;
        Ok(Self {
            socket,
            early,
            piece: vec![0; PIECE],
            fired: alarm::fired(),
            look: if spins { Duration::ZERO } else { LOOK },
        })
    }

    /// Keeps what has arrived.
    fn keep(&mut self) -> io::Result<()> {
        match received(calls::recv_now(self.socket.as_fd(), &mut self.piece))? {
            Received::Bytes(count) => self.early.extend(self.piece.iter().take(count)),
            Received::End => return Err(io::ErrorKind::ConnectionReset.into()),
            Received::Interrupted | Received::TimedOut => {}
        }
        Ok(())
    }

    /// Repeats a send that does not wait, and keeps what arrives before there is space.
    pub(super) fn send_with(
        &mut self,
        mut send: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> io::Result<Sent> {
        loop {
            match send(self.socket.as_fd()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return stream_sent(done),
            }
            if self.is_interrupted() {
                return Ok(Sent::Interrupted);
            }
            wait::readable_within(self.socket.as_fd(), true, self.look)?;
            self.keep()?;
        }
    }

    /// Takes what has arrived, by `recv` if nothing was kept.
    pub(super) fn recv_with(
        &mut self,
        buf: &mut [u8],
        recv: impl FnOnce(BorrowedFd<'_>, &mut [u8]) -> io::Result<usize>,
    ) -> io::Result<Received> {
        received(if self.early.is_empty() {
            recv(self.socket.as_fd(), buf)
        } else {
            self.early.read(buf)
        })
    }

    /// True if the alarm has fired since the last call.
    fn is_interrupted(&mut self) -> bool {
        std::mem::replace(&mut self.fired, alarm::fired()) != self.fired
    }
}

impl Endpoint for ReadWhileSending {
    const KEEPS_BOUNDARIES: bool = false;

    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        self.send_with(|socket| calls::send_now(socket, buf))
    }

    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        self.recv_with(buf, calls::recv)
    }
}
