//! Whole messages over an endpoint that may move them in parts.

use std::io;

use netperf_model::Tally;
use netperf_transport::{Endpoint, Received, Sent};

use crate::stop::{Ended, Phase, Stop};

/// Result of moving a whole message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageResult {
    /// All of it moved.
    Whole,
    /// The peer finished first.
    End,
    /// It did not arrive within the socket's receive time-out.
    TimedOut,
    /// The loop must end.
    Ended(Ended),
}

/// Sends a message whole.
///
/// # Errors
/// What the endpoint reports.
#[inline]
pub fn send_all<E: Endpoint, S: Stop>(
    endpoint: &mut E,
    message: &[u8],
    stop: &mut S,
    tally: &mut Tally,
) -> io::Result<MessageResult> {
    let first = endpoint.send(message)?;
    if first == Sent::Bytes(message.len()) {
        tally.bytes_sent += message.len() as u64;
        tally.send_calls += 1;
        return Ok(MessageResult::Whole);
    }
    send_rest(endpoint, message, first, stop, tally)
}

#[cold]
fn send_rest<E: Endpoint, S: Stop>(
    endpoint: &mut E,
    message: &[u8],
    first: Sent,
    stop: &mut S,
    tally: &mut Tally,
) -> io::Result<MessageResult> {
    let mut rest = message;
    let mut last = first;
    loop {
        match last {
            Sent::Bytes(count) => {
                tally.bytes_sent += count as u64;
                tally.send_calls += 1;
                rest = &rest[count..];
            }
            Sent::Dropped => {
                tally.failed_sends += 1;
                if stop.phase() == Phase::Abandon {
                    return Ok(MessageResult::Ended(Ended::Abandoned));
                }
            }
            Sent::Interrupted => {
                if let Some(ended) = stop.interrupted(tally) {
                    return Ok(MessageResult::Ended(ended));
                }
            }
        }
        if rest.is_empty() {
            return Ok(MessageResult::Whole);
        }
        last = endpoint.send(rest)?;
    }
}

/// Receives a message whole. A datagram is whole however long it is.
///
/// # Errors
/// What the endpoint reports.
#[inline]
pub fn recv_all<E: Endpoint, S: Stop>(
    endpoint: &mut E,
    message: &mut [u8],
    stop: &mut S,
    tally: &mut Tally,
) -> io::Result<MessageResult> {
    let first = endpoint.recv(message)?;
    if first == Received::Bytes(message.len()) {
        tally.bytes_received += message.len() as u64;
        tally.recv_calls += 1;
        return Ok(MessageResult::Whole);
    }
    recv_rest(endpoint, message, first, stop, tally)
}

#[cold]
fn recv_rest<E: Endpoint, S: Stop>(
    endpoint: &mut E,
    message: &mut [u8],
    first: Received,
    stop: &mut S,
    tally: &mut Tally,
) -> io::Result<MessageResult> {
    let mut rest = message;
    let mut last = first;
    loop {
        match last {
            Received::Bytes(count) => {
                tally.bytes_received += count as u64;
                tally.recv_calls += 1;
                rest = &mut rest[count..];
                if rest.is_empty() || E::KEEPS_BOUNDARIES {
                    return Ok(MessageResult::Whole);
                }
            }
            Received::End => return Ok(MessageResult::End),
            Received::TimedOut => return Ok(MessageResult::TimedOut),
            Received::Interrupted => {
                if let Some(ended) = stop.interrupted(tally) {
                    return Ok(MessageResult::Ended(ended));
                }
            }
        }
        last = endpoint.recv(rest)?;
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::due::hooks::NoHooks;
    use crate::limit::RunLimit;
    use crate::workload::LoopContext;
    use netperf_measure::recorder::NoRecorder;

    /// A stop that is worked by hand.
    pub(crate) struct Manual {
        passes: std::cell::Cell<usize>,
        then: Phase,
        gives_up: bool,
    }

    impl Manual {
        /// Ends the time after this many passes of the loop.
        pub(crate) fn stopping_after(passes: usize) -> Self {
            Self {
                passes: std::cell::Cell::new(passes),
                then: Phase::Finish,
                gives_up: false,
            }
        }

        /// Ends the grace after this many passes of the loop.
        pub(crate) fn abandoned_after(passes: usize) -> Self {
            Self {
                then: Phase::Abandon,
                ..Self::stopping_after(passes)
            }
        }

        /// Never ends anything.
        pub(crate) fn patient() -> Self {
            Self::stopping_after(usize::MAX)
        }

        /// Ends the loop at the first interruption.
        pub(crate) fn impatient() -> Self {
            Self {
                gives_up: true,
                ..Self::patient()
            }
        }
    }

    /// A run that keeps and does nothing besides counting.
    pub(crate) fn plain<'a>(
        limit: RunLimit,
        stop: &'a mut Manual,
        tally: &'a mut Tally,
    ) -> LoopContext<'a, Manual, NoRecorder, NoHooks> {
        netperf_testkit::watchdog::watch_unit();
        let recorder = Box::leak(Box::new(NoRecorder));
        let hooks = Box::leak(Box::new(NoHooks));
        LoopContext {
            limit,
            stop,
            tally,
            recorder,
            hooks,
        }
    }

    impl Stop for Manual {
        fn phase(&self) -> Phase {
            let left = self.passes.get();
            self.passes.set(left.saturating_sub(1));
            if left == 0 { self.then } else { Phase::Running }
        }

        fn progress(&self, _tally: &Tally) {}

        fn interrupted(&mut self, _tally: &Tally) -> Option<Ended> {
            self.gives_up.then_some(Ended::Abandoned)
        }
    }
}
