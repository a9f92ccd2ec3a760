//! A transport that plays a script, for tests of every path of a loop.

use std::collections::VecDeque;
use std::io;

use crate::endpoint::{Endpoint, Received, Sent};

/// Returns scripted results; every call past the end of the script fails.
#[derive(Debug, Default)]
pub struct Scripted {
    sends: VecDeque<io::Result<Sent>>,
    receives: VecDeque<io::Result<Received>>,
    /// Length of every buffer passed to `send`.
    pub offered: Vec<usize>,
}

impl Scripted {
    /// A script of sends and receives, each in order.
    pub fn new(
        sends: impl IntoIterator<Item = Sent>,
        receives: impl IntoIterator<Item = Received>,
    ) -> Self {
        Self {
            sends: sends.into_iter().map(Ok).collect(),
            receives: receives.into_iter().map(Ok).collect(),
            offered: Vec::new(),
        }
    }

    /// Returns true if the whole script has been played.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.sends.is_empty() && self.receives.is_empty()
    }
}

fn past_the_end() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "the script is over")
}

impl Endpoint for Scripted {
    const KEEPS_BOUNDARIES: bool = false;

    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        self.offered.push(buf.len());
        self.sends
            .pop_front()
            .unwrap_or_else(|| Err(past_the_end()))
    }

    fn recv(&mut self, _buf: &mut [u8]) -> io::Result<Received> {
        self.receives
            .pop_front()
            .unwrap_or_else(|| Err(past_the_end()))
    }
}
