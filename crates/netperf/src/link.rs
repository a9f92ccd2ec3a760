//! The control connection over a socket.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::time::Duration;

use netperf_engine::EndMark;
use netperf_measure::clock::{self, Moment};
use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait::{Interest, ready};
use netperf_os::{Socket, tcp};
use netperf_session::driver::{Arrival, Link};
use netperf_transport::secure::{Channel, NoChannel};
use netperf_wire::{FRAME_LEN, Frame};

/// How long a peer may take to accept one message.
const SEND_WITHIN: Duration = Duration::from_secs(20);
/// How long a message that has begun may take to be complete.
pub(crate) const WHOLE_WITHIN: Duration = Duration::from_secs(20);
/// An idle connection whose first probe is not answered gets so many more in the time after
/// which the first one is sent: one that is lost says nothing.
const PROBES_PER_IDLE: i32 = 5;
/// So many probes without an answer are the end, on average in [`GIVE_UP`].
const PROBES: i32 = 8;
/// Without a sign of life the connection ends after so many milliseconds for each second of
/// being idle: 40 s where that is 15 s.
const GIVE_UP: i32 = 2667;
/// How often an end mark is repeated while netserver has not answered.
const REPEAT: Duration = Duration::from_millis(50);

/// A control connection.
#[derive(Debug)]
pub(crate) struct ControlLink {
    socket: Rc<Socket>,
    end_mark: Option<EndMark>,
    /// When everything must be over, where that is said.
    by: Option<Moment>,
    /// What encrypts it, if anything does.
    channel: Option<Channel>,
    /// Received, and not for whoever received it.
    unread: Option<Box<Frame>>,
}

impl ControlLink {
    pub(crate) fn new(socket: Rc<Socket>) -> Self {
        Self {
            socket,
            end_mark: None,
            by: None,
            channel: None,
            unread: None,
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_ref().as_fd()
    }

    /// When a message must be over that has this much time by itself.
    fn deadline(&self, within: Duration) -> Moment {
        let own = clock::now().plus(within);
        self.by.map_or(own, |by| by.min(own))
    }

    /// Encrypts it from now on.
    ///
    /// # Errors
    /// What keeps the two ends from each other.
    pub(crate) fn encrypt(
        &mut self,
        make: impl FnOnce(BorrowedFd<'_>) -> Result<Channel, NoChannel>,
    ) -> Result<(), NoChannel> {
        self.channel = Some(make(self.fd())?);
        Ok(())
    }

    /// Gives a message back, to be received again.
    pub(crate) fn put_back(&mut self, frame: Box<Frame>) {
        self.unread = Some(frame);
    }

    /// Receives what there is, once there is something; 0 at the end.
    fn take(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        let fd = self.socket.as_ref().as_fd();
        let Some(channel) = &mut self.channel else {
            return netperf_os::io::recv(fd, buf).map(Some);
        };
        channel.take_in(fd)?;
        channel.read(buf)
    }

    /// Waits for something to receive; meanwhile repeats what is to be repeated.
    fn await_more(&mut self, left: Duration) -> io::Result<bool> {
        let wait = if self.end_mark.is_some() {
            left.min(REPEAT)
        } else {
            left
        };
        // Rounded up: a wait of less than a millisecond must not become a busy loop.
        let wait = wait + Duration::from_millis(1);
        let more = ready(self.socket.as_ref().as_fd(), Interest::Read, wait)?;
        if let Some(mark) = self.end_mark.as_mut().filter(|_| !more) {
            mark.send();
        }
        Ok(more)
    }

    /// What has been decrypted before.
    fn decrypted(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        match &mut self.channel {
            Some(channel) => channel.read(buf),
            None => Ok(None),
        }
    }

    /// While waiting, repeats the datagram that tells netserver of the end.
    pub(crate) fn repeat_while_waiting(&mut self, end_mark: Option<EndMark>) {
        self.end_mark = end_mark;
    }

    /// Has the kernel probe the connection when nothing has been said for this long, and end
    /// it when the peer's host has shown no sign of life for nearly three times as long,
    /// whatever is on its way. Zero has it do neither.
    pub(crate) fn keep_alive(&self, idle: Duration) {
        if idle.is_zero() {
            return;
        }
        let seconds = i32::try_from(idle.as_secs()).unwrap_or(i32::MAX).max(1);
        // Without it a peer that vanished is never missed.
        let _best_effort = self.socket.set_keepalive(true);
        let fd = self.socket.as_ref().as_fd();
        for (option, value) in [
            (IntOption::KeepIdle, seconds),
            (IntOption::KeepInterval, (seconds / PROBES_PER_IDLE).max(1)),
            // Where there is no time-out for all of it.
            (IntOption::KeepCount, PROBES),
            (IntOption::UserTimeout, seconds.saturating_mul(GIVE_UP)),
        ] {
            // Stacks without these options go by the deadlines of each wait alone, and so
            // do sockets that are none of TCP.
            let _best_effort = sockopt::set(fd, option, value);
        }
    }

    /// From now on the peer's host must show signs of life: a host that is gone
    /// is noticed after about two round trips, and two seconds at least.
    pub(crate) fn demand_signs_of_life(&self, round_trip: Duration) {
        let seconds = i32::try_from(round_trip.as_secs() * 2)
            .unwrap_or(i32::MAX)
            .max(1);
        let _best_effort = self.socket.set_keepalive(true);
        let fd = self.socket.as_ref().as_fd();
        for (option, value) in [
            // It would be in the place of the count.
            (IntOption::UserTimeout, 0),
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
        let deadline = self.deadline(SEND_WITHIN);
        if let Some(channel) = &mut self.channel {
            let fd = self.socket.as_ref().as_fd();
            return channel.send(fd, frame.as_bytes(), deadline.left());
        }
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
        if let Some(frame) = self.unread.take() {
            return Ok(Arrival::Frame(frame));
        }
        let mut deadline = self.deadline(within);
        let mut bytes = [0; FRAME_LEN];
        let mut got = 0;
        while got < FRAME_LEN {
            let mut taken = self.decrypted(&mut bytes[got..])?;
            if taken.is_none() {
                let left = deadline.left();
                if left.is_zero() {
                    return Ok(Arrival::TimedOut);
                }
                if !self.await_more(left)? {
                    continue;
                }
                taken = match self.take(&mut bytes[got..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
                    other => other?,
                };
            }
            match taken {
                Some(0) => return Ok(Arrival::Closed(got)),
                Some(count) => {
                    if got == 0 {
                        deadline = deadline.min(clock::now().plus(WHOLE_WITHIN));
                    }
                    got += count;
                }
                None => {}
            }
        }
        Ok(Arrival::Frame(Box::new(Frame::from_bytes(bytes))))
    }

    fn hurry(&mut self, within: Option<Duration>) {
        self.by = within.map(|within| clock::now().plus(within));
    }

    fn half_close(&mut self) {
        // A connection that is gone already needs no half-close.
        let _gone = self.socket.shutdown(Shutdown::Write);
    }
}
