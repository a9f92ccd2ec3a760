//! The control connection over a socket.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::time::Duration;

use netperf_engine::client::EndMark;
use netperf_measure::clock;
use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait::{Interest, ready};
use netperf_os::{Socket, tcp};
use netperf_session::driver::{Arrival, Link};
use netperf_wire::{FRAME_LEN, Frame};

/// How long a peer may take to accept one message.
const SEND_WITHIN: Duration = Duration::from_secs(20);
/// How long a message that has begun may take to be complete.
const WHOLE_WITHIN: Duration = Duration::from_secs(20);
/// How often an end mark is repeated while netserver has not answered.
const REPEAT: Duration = Duration::from_millis(50);

/// A control connection.
#[derive(Debug)]
pub(crate) struct ControlLink {
    socket: Rc<Socket>,
    end_mark: Option<EndMark>,
}

impl ControlLink {
    pub(crate) fn new(socket: Rc<Socket>) -> Self {
        // Without it a peer that vanished is never missed.
        let _best_effort = socket.set_keepalive(true);
        Self {
            socket,
            end_mark: None,
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_ref().as_fd()
    }

    /// While waiting, repeats the datagram that tells netserver of the end.
    pub(crate) fn repeat_while_waiting(&mut self, end_mark: Option<EndMark>) {
        self.end_mark = end_mark;
    }

    /// From now on the peer's host must show signs of life: a host that is gone
    /// is noticed after about two round trips, and two seconds at least.
    pub(crate) fn demand_signs_of_life(&self, round_trip: Duration) {
        let seconds = i32::try_from(round_trip.as_secs() * 2)
            .unwrap_or(i32::MAX)
            .max(1);
        let fd = self.socket.as_ref().as_fd();
        for (option, value) in [
            (IntOption::KeepInterval, seconds),
            (IntOption::KeepCount, 2),
            (IntOption::KeepIdle, 1),
        ] {
            // Stacks without these options go by the deadline of the wait alone.
            let _best_effort = sockopt::set(fd, option, value);
        }
    }

    /// The smoothed round trip of the connection, as far as it is known.
    pub(crate) fn round_trip(&self) -> Duration {
        tcp::info(self.socket.as_ref().as_fd()).map_or(Duration::ZERO, |info| info.round_trip())
    }
}

impl Link for ControlLink {
    fn send(&mut self, frame: &Frame) -> io::Result<()> {
        let deadline = clock::now().plus(SEND_WITHIN);
        let mut rest: &[u8] = frame.as_bytes();
        while !rest.is_empty() {
            if deadline.left().is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            if !ready(
                self.socket.as_ref().as_fd(),
                Interest::Write,
                deadline.left(),
            )? {
                continue;
            }
            match netperf_os::io::send(self.socket.as_ref().as_fd(), rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive(&mut self, within: Duration) -> io::Result<Arrival> {
        let mut deadline = clock::now().plus(within);
        let mut bytes = [0; FRAME_LEN];
        let mut got = 0;
        while got < FRAME_LEN {
            let left = deadline.left();
            if left.is_zero() {
                return Ok(Arrival::TimedOut);
            }
            let wait = if self.end_mark.is_some() {
                left.min(REPEAT)
            } else {
                left
            };
            // Rounded up: a wait of less than a millisecond must not become a busy loop.
            if !ready(
                self.socket.as_ref().as_fd(),
                Interest::Read,
                wait + Duration::from_millis(1),
            )? {
                if let Some(mark) = &mut self.end_mark {
                    mark.send();
                }
                continue;
            }
            match netperf_os::io::recv(self.socket.as_ref().as_fd(), &mut bytes[got..]) {
                Ok(0) => return Ok(Arrival::Closed(got)),
                Ok(count) => {
                    if got == 0 {
                        deadline = deadline.min(clock::now().plus(WHOLE_WITHIN));
                    }
                    got += count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Arrival::Frame(Box::new(Frame::from_bytes(bytes))))
    }

    fn half_close(&mut self) {
        // A connection that is gone already needs no half-close.
        let _gone = self.socket.shutdown(Shutdown::Write);
    }
}
