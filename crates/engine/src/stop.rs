//! Stop conditions of a loop.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

pub(crate) use netperf_measure::recorder::GRACE;
use netperf_model::Tally;
pub use netperf_os::alarm::Phase;
use netperf_os::wait::{Interest, is_hung_up, ready};

/// End of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The limit was reached.
    Complete,
    /// The peer finished first.
    ByPeer,
    /// The time was over, and nothing was left half done.
    TimeOver,
    /// The time was over and what was begun did not finish within the grace.
    Abandoned,
    /// The peer is gone or does nothing any more.
    Lost(Lost),
}

/// Sign of the loss of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The control connection ended during the run.
    ControlEnded,
    /// The control connection broke during the run, with this number of the system's.
    ControlBroke(i32),
    /// Nothing moved for this long.
    Stalled(Duration),
    /// The host sent nothing for this long while datagrams went to it.
    Silent(Duration),
    /// Data that was sent is not acknowledged.
    NotAcknowledged {
        /// Bytes still waiting for their acknowledgement.
        bytes: u32,
    },
    /// The peer does not close its end of the data connection.
    NotClosed,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ControlEnded => f.write_str("the control connection ended during the test"),
            Self::ControlBroke(number) => {
                let words = netperf_model::text_of_errno(*number);
                write!(f, "the control connection broke during the test: {words}")
            }
            Self::Stalled(time) => {
                write!(f, "no data moved for {} seconds", time.as_secs())
            }
            Self::Silent(time) => {
                write!(f, "the host sent nothing for {} seconds", time.as_secs())
            }
            Self::NotAcknowledged { bytes } => {
                write!(f, "{bytes} bytes that were sent are not acknowledged")
            }
            Self::NotClosed => f.write_str("the data connection is not closed by the peer"),
        }
    }
}

/// Asked by a loop whether to go on.
pub trait Stop {
    /// Phase of the run. Asked in every pass, so it must cost nothing.
    fn phase(&self) -> Phase;

    /// Something moved. Told in every pass, so it must cost next to nothing.
    fn progress(&self, tally: &Tally);

    /// A call was interrupted: the reason to end right here, if there is one.
    fn interrupted(&mut self, tally: &Tally) -> Option<Ended>;

    /// A receiver finds that the run does not go on: the reason to end right here, if there is
    /// one.
    fn overtime(&mut self, _tally: &Tally) -> Option<Ended> {
        (self.phase() == Phase::Abandon).then_some(Ended::Abandoned)
    }
}

/// Returns whether the control connection is closed or broken.
pub(crate) fn control_has_ended(control: BorrowedFd<'_>) -> bool {
    control_end(control).is_some()
}

/// End of the control connection, if it ended. Data waiting there is not the end, unless the
/// connection is broken: it may be the next request, or the results.
pub(crate) fn control_end(control: BorrowedFd<'_>) -> Option<Lost> {
    if !ready(control.as_fd(), Interest::Read, Duration::ZERO).unwrap_or(true) {
        return None;
    }
    match netperf_os::io::peek(control) {
        Ok(0) => Some(Lost::ControlEnded),
        Ok(_) => is_hung_up(control)
            .unwrap_or(false)
            .then_some(Lost::ControlEnded),
        Err(error) => Some(match error.raw_os_error() {
            Some(number) => Lost::ControlBroke(number),
            None => Lost::ControlEnded,
        }),
    }
}

/// Returns whether the other end has closed or reset the connection.
pub(crate) fn is_cut(error: &io::Error) -> bool {
    const CUT: [io::ErrorKind; 2] = [io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe];
    CUT.contains(&error.kind())
}

/// Returns whether the connection is closed, or none any more.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    is_cut(error) || error.kind() == io::ErrorKind::NotConnected
}
