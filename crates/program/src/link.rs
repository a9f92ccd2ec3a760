//! The control connection over a socket.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

use netperf_cli::OutputStream;
use netperf_engine::EndMark;
use netperf_measure::clock::{self, Moment};
use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait::{Interest, readable_of, ready};
use netperf_os::{Socket, alarm, tcp};
use netperf_session::ForeignProgram;
use netperf_session::driver::{Link, LinkEvent};
use netperf_transport::secure::{Channel, NoChannel};
use netperf_wire::{FRAME_LEN, Frame};

use crate::output;

/// Time limit for sending one message.
const SEND_WITHIN: Duration = Duration::from_secs(20);
/// Time limit for the rest of a message that has begun.
pub const WHOLE_WITHIN: Duration = Duration::from_secs(20);
/// Number of keep-alive probes per idle time after an unanswered first probe; a single lost
/// probe proves nothing.
const PROBES_PER_IDLE: i32 = 5;
/// Number of unanswered probes that end the connection, on average within [`GIVE_UP`].
const PROBES: i32 = 8;
/// Milliseconds without any reply, per second of idle time, after which the connection ends: 40
/// s for an idle time of 15 s.
const GIVE_UP: i32 = 2667;
/// Interval of repeated end marks until netserver answers.
const REPEAT: Duration = Duration::from_millis(50);
/// Time for an answer after a signal from outside.
const AFTER_SIGNAL: Duration = Duration::from_millis(700);
/// Time without a first answer after which the program at the other end is looked at.
const SILENT: Duration = Duration::from_secs(5);
/// Further time for a netserver that is busy.
const AFTER_SILENCE: Duration = Duration::from_secs(10);
/// Limit of waits for an answer that needs no work.
const USUAL_ANSWER: Duration = Duration::from_secs(60);
/// Interval between looks for a signal from outside.
const LOOK: Duration = Duration::from_millis(100);

/// Waits that a signal from outside shortens: a netserver at hand has time to answer, so that the
/// test begins, and ends at once with its result.
#[derive(Debug)]
pub struct AttendedWait {
    after_signal: Duration,
    /// When that is over, once the signal was seen.
    by: Option<Moment>,
    /// Line for a person who waits for longer than this.
    notice: Option<(Duration, String)>,
}

impl AttendedWait {
    /// Waits that last so long after a signal, and the line for a person who waits longer than this.
    pub const fn new(after_signal: Duration, notice: Option<(Duration, String)>) -> Self {
        Self {
            after_signal,
            by: None,
            notice,
        }
    }
}

/// Looks which program is at the other end, if it is not netserver.
pub struct ForeignProbe(pub Box<dyn FnOnce() -> Option<ForeignProgram>>);

impl std::fmt::Debug for ForeignProbe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ForeignProbe")
    }
}

/// A control connection.
#[derive(Debug)]
pub struct ControlLink {
    socket: Rc<Socket>,
    end_mark: Option<EndMark>,
    /// Reaction of waits to a signal from outside.
    attended: Option<AttendedWait>,
    /// Deadline for all messages, if set.
    by: Option<Moment>,
    /// Encryption, if enabled.
    channel: Option<Channel>,
    /// Looks what is at the other end, as long as netserver has not answered.
    unproven: Option<ForeignProbe>,
    /// A message that was put back.
    unread: Option<Box<Frame>>,
}

impl ControlLink {
    /// A connection over this socket, without encryption.
    pub fn new(socket: Rc<Socket>) -> Self {
        Self {
            socket,
            end_mark: None,
            attended: None,
            by: None,
            channel: None,
            unproven: None,
            unread: None,
        }
    }

    /// Descriptor of the socket.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_ref().as_fd()
    }

    /// Deadline of a message with this time limit.
    fn deadline(&self, within: Duration) -> Moment {
        let own = clock::now().plus(within);
        self.by.map_or(own, |by| by.min(own))
    }

    /// Encrypts the connection from now on.
    ///
    /// # Errors
    /// Any failure of the handshake.
    pub fn encrypt(
        &mut self,
        make: impl FnOnce(BorrowedFd<'_>) -> Result<Channel, NoChannel>,
    ) -> Result<(), NoChannel> {
        self.channel = Some(make(self.fd())?);
        Ok(())
    }

    /// The encryption, for a connection that carries other messages from now on.
    pub fn into_channel(self) -> Option<Channel> {
        self.channel
    }

    /// Puts a message back, to be received again.
    pub fn put_back(&mut self, frame: Box<Frame>) {
        self.unread = Some(frame);
    }

    /// Waits for input and receives it; 0 at the end.
    fn take(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        let fd = self.socket.as_ref().as_fd();
        let Some(channel) = &mut self.channel else {
            return netperf_os::io::recv(fd, buf).map(Some);
        };
        channel.take_in(fd)?;
        channel.read(buf)
    }

    /// Waits for input and repeats the end mark meanwhile.
    fn await_more(&mut self, left: Duration) -> io::Result<bool> {
        let wait = if self.end_mark.is_some() {
            left.min(REPEAT)
        } else if self.attended.is_some() {
            left.min(LOOK)
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

    /// Data that has already been decrypted.
    fn decrypted(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        match &mut self.channel {
            Some(channel) => channel.read(buf),
            None => Ok(None),
        }
    }

    /// Repeats the datagram that marks the end while waiting for netserver.
    pub fn repeat_while_waiting(&mut self, end_mark: Option<EndMark>) {
        self.end_mark = end_mark;
    }

    /// Lets a signal from outside end each wait from now on.
    pub fn heed_signals(&mut self) {
        let after_signal = AFTER_SIGNAL + self.round_trip() * 2;
        self.attended = Some(AttendedWait::new(after_signal, None));
    }

    /// Takes the next message for the first one, which tells netserver from other programs. One that
    /// is silent is looked at with `probe`.
    pub fn expect_netserver(&mut self, probe: ForeignProbe) {
        self.unproven = Some(probe);
    }

    /// Has waits attended in another way; returns how they were.
    pub fn attend(&mut self, how: Option<AttendedWait>) -> Option<AttendedWait> {
        std::mem::replace(&mut self.attended, how)
    }

    /// Returns true if a signal from outside ends a wait since `began`; reports a long wait on a
    /// terminal.
    fn is_interrupted(&mut self, began: Moment) -> bool {
        let Some(wait) = &mut self.attended else {
            return false;
        };
        let long = |(after, _): &mut (Duration, String)| began.elapsed() >= *after;
        if let Some((_, line)) = wait.notice.take_if(long) {
            output::say(OutputStream::Stderr, &line);
        }
        if !alarm::stopped_by_user() {
            return false;
        }
        let by = clock::now().plus(wait.after_signal);
        wait.by.get_or_insert(by).left().is_zero()
    }

    /// Enables keep-alive probes after this idle time. The kernel ends the connection if the
    /// peer's host does not reply for almost three times as long, even with data in flight.
    /// Zero disables both.
    pub fn keep_alive(&self, idle: Duration) {
        if idle.is_zero() {
            return;
        }
        let seconds = i32::try_from(idle.as_secs()).unwrap_or(i32::MAX).max(1);
        self.probe(&[
            (IntOption::KeepIdle, seconds),
            (IntOption::KeepInterval, (seconds / PROBES_PER_IDLE).max(1)),
            // Used when there is no user time-out.
            (IntOption::KeepCount, PROBES),
            (IntOption::UserTimeout, seconds.saturating_mul(GIVE_UP)),
        ]);
    }

    /// Probes netserver's host each second from now on, if the connection is probed at all:
    /// netserver sends datagrams only while it hears from this host.
    pub fn give_signs_of_life(&self) {
        if self.socket.keepalive().unwrap_or(false) {
            self.probe(&[(IntOption::KeepIdle, 1), (IntOption::KeepInterval, 1)]);
        }
    }

    /// Enables keep-alive probes with these options. Best effort: stacks without the options,
    /// and sockets other than TCP, rely on the deadlines of each wait.
    fn probe(&self, options: &[(IntOption, i32)]) {
        let _best_effort = self.socket.set_keepalive(true);
        for (option, value) in options {
            let _best_effort = sockopt::set(self.fd(), *option, *value);
        }
    }

    /// Forwards between the encrypted connection and another one until either ends, or nothing came
    /// for this time.
    ///
    /// # Errors
    /// Those of either connection.
    pub fn forward(&mut self, inside: &UnixStream, silence: Duration) -> io::Result<()> {
        let outside = Rc::clone(&self.socket);
        let outside = outside.as_ref().as_fd();
        let mut buf = vec![0; 65_536];
        loop {
            while let Some(count) = self.decrypted(&mut buf)? {
                if count == 0 {
                    return Ok(());
                }
                (&*inside).write_all(buf.get(..count).unwrap_or_default())?;
            }
            let wait = silence + Duration::from_millis(1);
            match readable_of([outside, inside.as_fd()], wait)? {
                [false, false] => return Err(io::ErrorKind::TimedOut.into()),
                [from_outside, from_inside] => {
                    if from_inside {
                        let count = (&*inside).read(&mut buf)?;
                        if count == 0 {
                            return Ok(());
                        }
                        let part = buf.get(..count).unwrap_or_default();
                        match &mut self.channel {
                            Some(channel) => channel.send(outside, part, SEND_WITHIN)?,
                            None => return Ok(()),
                        }
                    }
                    let open = match &mut self.channel {
                        Some(channel) if from_outside => channel.take_in(outside)?,
                        Some(_) => true,
                        None => false,
                    };
                    if !open {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Round-trip time of the connection; zero if unknown.
    pub fn round_trip(&self) -> Duration {
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

    fn receive(&mut self, within: Duration) -> io::Result<LinkEvent> {
        if let Some(frame) = self.unread.take() {
            return Ok(LinkEvent::Frame(frame));
        }
        let began = clock::now();
        let mut deadline = self.deadline(within);
        let mut bytes = [0; FRAME_LEN];
        let mut got = 0;
        let first = self.unproven.take().filter(|_| self.channel.is_none());
        let is_first = first.is_some();
        let mut probe = first;
        let silent_until = began.plus(SILENT + self.round_trip() * 4);
        while got < FRAME_LEN {
            if got == 0 && silent_until.left().is_zero() {
                if let Some(ForeignProbe(look)) = probe.take() {
                    // The look is a part of the time for a netserver that is busy. A calibration
                    // takes longer.
                    if within <= USUAL_ANSWER {
                        deadline = deadline.min(clock::now().plus(AFTER_SILENCE));
                    }
                    if let Some(program) = look() {
                        return Ok(LinkEvent::Foreign(program));
                    }
                }
            }
            let mut taken = self.decrypted(&mut bytes[got..])?;
            if taken.is_none() {
                let left = deadline.left();
                if left.is_zero() {
                    return Ok(LinkEvent::TimedOut(began.elapsed(), got));
                }
                if !self.await_more(left)? {
                    if self.is_interrupted(began) {
                        return Err(io::ErrorKind::Interrupted.into());
                    }
                    continue;
                }
                taken = match self.take(&mut bytes[got..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
                    other => other?,
                };
            }
            match taken {
                Some(0) => return Ok(LinkEvent::Closed(got)),
                Some(count) => {
                    if got == 0 {
                        // Of a netserver the first message comes as one.
                        let rest = if is_first { SILENT } else { WHOLE_WITHIN };
                        let rest = rest + self.round_trip() * 4;
                        deadline = deadline.min(clock::now().plus(rest));
                    }
                    got += count;
                    let start = bytes.get(..got).filter(|_| is_first).unwrap_or_default();
                    if let Some(program) = ForeignProgram::of_answer(start) {
                        return Ok(LinkEvent::Foreign(program));
                    }
                }
                None => {}
            }
        }
        Ok(LinkEvent::Frame(Box::new(Frame::from_bytes(bytes))))
    }

    fn hurry(&mut self, within: Option<Duration>) {
        self.by = within.map(|within| clock::now().plus(within));
    }

    fn half_close(&mut self) {
        // An error means that the connection is already gone.
        let _gone = self.socket.shutdown(Shutdown::Write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_was_waited_is_told_where_it_is_shorter_than_the_limit() {
        let (one, mut other) = UnixStream::pair().unwrap();
        let mut link = ControlLink::new(Rc::new(Socket::from(one)));
        // Half an answer.
        std::io::Write::write_all(&mut other, &[0; FRAME_LEN / 2]).unwrap();
        link.hurry(Some(Duration::from_millis(50)));
        let limit = Duration::from_secs(60);
        match link.receive(limit).unwrap() {
            LinkEvent::TimedOut(waited, got) => {
                assert_eq!(got, FRAME_LEN / 2);
                assert!(
                    waited >= Duration::from_millis(50) && waited < limit,
                    "{waited:?}"
                );
            }
            event @ (LinkEvent::Frame(_) | LinkEvent::Closed(_) | LinkEvent::Foreign(_)) => {
                panic!("{event:?}")
            }
        }
    }
}
