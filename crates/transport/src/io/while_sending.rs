//! A byte stream that is read while it is sent.
//!
//! With many requests in flight both ends may otherwise block in send(2), each with full buffers
//! that the other does not read.

use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
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
}

on_socket!(ReadWhileSending: socket);

impl ReadWhileSending {
    /// Wraps a connection; `most` is the size of all responses in flight in bytes.
    ///
    /// # Errors
    /// `OutOfMemory` if there is no memory for them.
    pub fn new(socket: Socket, most: usize) -> io::Result<Self> {
        let mut early = VecDeque::new();
        let room = early.try_reserve(most.saturating_add(PIECE));
        room.map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            socket,
            early,
            piece: vec![0; PIECE],
            fired: alarm::fired(),
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

    /// True if the alarm has fired since the last call.
    fn is_interrupted(&mut self) -> bool {
        std::mem::replace(&mut self.fired, alarm::fired()) != self.fired
    }
}

impl Endpoint for ReadWhileSending {
    const KEEPS_BOUNDARIES: bool = false;

    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        loop {
            match calls::send_now(self.socket.as_fd(), buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return stream_sent(done),
            }
            if self.is_interrupted() {
                return Ok(Sent::Interrupted);
            }
            wait::readable_within(self.socket.as_fd(), true, LOOK)?;
            self.keep()?;
        }
    }

    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        if self.early.is_empty() {
            return received(calls::recv(self.socket.as_fd(), buf));
        }
        received(self.early.read(buf))
    }
}
