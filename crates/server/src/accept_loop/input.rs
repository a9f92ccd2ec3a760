//! Standard input, with which netserver ends (`--exit-on-eof`).

use std::io::{self, Read as _};
use std::os::fd::AsFd as _;

use netperf_daemon::poller::{PollToken, ServerPoller};
use netperf_measure::clock;

use super::AcceptLoop;

/// Watches standard input.
///
/// # Errors
/// When it is a file or a device such as /dev/null, which epoll(7) does not watch.
pub(super) fn watch(poller: &ServerPoller) -> io::Result<()> {
    let watched = poller.watch(io::stdin().as_fd(), PollToken::Input);
    let text = "--exit-on-eof needs a pipe, a socket or a terminal as standard input";
    watched.map_err(|_| io::Error::other(text))
}

impl AcceptLoop {
    /// Reads standard input, and ends netserver at its end. That is success: the program that
    /// started netserver has closed it.
    pub(super) fn hear_input(&mut self) {
        let mut ignored = [0; 4096];
        if !matches!(io::stdin().read(&mut ignored), Ok(count) if count > 0) {
            self.poller.remove(io::stdin().as_fd());
            self.drain();
            self.draining = Some(clock::now());
            self.input_ended = true;
        }
    }
}
