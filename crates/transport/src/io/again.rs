//! Non-blocking calls that are repeated until they succeed.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_model::IoCounts;
use netperf_os::Socket;
use netperf_os::alarm;
use netperf_os::epoll::SocketEpoll;
use netperf_os::io::set_nonblocking;
use netperf_os::wait::Countdown;

use crate::endpoint::{Endpoint, Received, Sent};
use crate::meeting::{OnSocket, Parted, Parts};
use crate::socket::SocketFacts;

/// Result of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// Repeat the call.
    Again,
    /// The alarm fired.
    Interrupted,
    /// The receive time-out expired.
    TimedOut,
}

/// Method of waiting before a call is repeated.
pub trait WaitMethod {
    /// Starts the time-out of a receive.
    fn begin(&mut self);

    /// Waits, or returns at once when spinning.
    ///
    /// # Errors
    /// Whatever the system call reports.
    fn wait(&mut self) -> io::Result<Waited>;
}

/// Number of calls without data after which a spinning wait sleeps between calls: some 0.1 s.
const IDLE_CALLS: u32 = 200_000;
/// Time of a sleep between calls.
const IDLE_SLEEP: Duration = Duration::from_micros(100);

/// Busy polling: the next call is made at once, and after a short sleep when no data has moved for
/// a while, so that a test without data leaves the CPU to others.
#[derive(Debug)]
pub struct Spin {
    idle: u32,
    fired: u32,
    patience: Option<Duration>,
    left: Option<Countdown>,
}

impl Spin {
    /// Creates a spinning wait; a receive gives up after `patience`.
    #[must_use]
    pub fn new(patience: Option<Duration>) -> Self {
        Self {
            idle: 0,
            fired: alarm::fired(),
            patience,
            left: None,
        }
    }
}

impl WaitMethod for Spin {
    #[inline]
    fn begin(&mut self) {
        self.idle = 0;
        if let Some(patience) = self.patience {
            self.left = Some(Countdown::from_now(patience));
        }
    }

    /// A signal does not interrupt calls that never block, so the alarm's counter is compared.
    #[inline]
    fn wait(&mut self) -> io::Result<Waited> {
        let fired = alarm::fired();
        if fired != self.fired {
            self.fired = fired;
            return Ok(Waited::Interrupted);
        }
        if self.left.as_ref().is_some_and(Countdown::is_over) {
            return Ok(Waited::TimedOut);
        }
        if self.idle < IDLE_CALLS {
            self.idle += 1;
        } else {
            std::thread::sleep(IDLE_SLEEP);
        }
        Ok(Waited::Again)
    }
}

/// Sleeps in epoll_wait(2).
#[derive(Debug)]
pub struct Sleep {
    epoll: SocketEpoll,
    fired: u32,
    milliseconds: i32,
}

impl Sleep {
    /// Creates a wait for a socket; a receive gives up after `patience`.
    ///
    /// # Errors
    /// Whatever epoll_create1(2) and epoll_ctl(2) report.
    pub fn new(fd: BorrowedFd<'_>, patience: Option<Duration>) -> io::Result<Self> {
        let milliseconds = patience.map_or(-1, |patience| {
            i32::try_from(patience.as_millis().max(1)).unwrap_or(i32::MAX)
        });
        Ok(Self {
            epoll: SocketEpoll::new(fd)?,
            fired: alarm::fired(),
            milliseconds,
        })
    }
}

impl WaitMethod for Sleep {
    #[inline]
    fn begin(&mut self) {}

    #[inline]
    fn wait(&mut self) -> io::Result<Waited> {
        // The alarm may have fired outside a call that it could interrupt.
        let fired = alarm::fired();
        if fired != self.fired {
            self.fired = fired;
            return Ok(Waited::Interrupted);
        }
        match self.epoll.wait(self.milliseconds) {
            Ok(true) => Ok(Waited::Again),
            Ok(false) => Ok(Waited::TimedOut),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                self.fired = alarm::fired();
                Ok(Waited::Interrupted)
            }
            Err(error) => Err(error),
        }
    }
}

/// Time of busy polling before a sleep.
const BRIEF: Duration = Duration::from_micros(20);
/// Most waits without busy polling between two with it.
const MOST_SKIPPED: u32 = 255;

/// Busy polling for 20 microseconds, then sleep in epoll_wait(2). Where data comes in shorter times,
/// its sender does not pay for waking the receiver up. Where it does not, most waits only sleep.
#[derive(Debug)]
pub struct BriefSpin {
    sleep: Sleep,
    /// The end of busy polling, while there is some.
    left: Option<Countdown>,
    /// Waits without busy polling: those that follow, and those after the last one in vain.
    skipped: u32,
    skips: u32,
}

impl BriefSpin {
    /// Creates a wait for a socket; a receive gives up after `patience`.
    ///
    /// # Errors
    /// Whatever epoll_create1(2) and epoll_ctl(2) report.
    pub fn new(fd: BorrowedFd<'_>, patience: Option<Duration>) -> io::Result<Self> {
        Ok(Self {
            sleep: Sleep::new(fd, patience)?,
            left: None,
            skipped: 0,
            skips: 0,
        })
    }
}

impl WaitMethod for BriefSpin {
    #[inline]
    fn begin(&mut self) {
        // Data ended the last busy polling.
        if self.left.take().is_some() {
            self.skips = 0;
        }
        if self.skipped > 0 {
            self.skipped -= 1;
        } else {
            self.left = Some(Countdown::from_now(BRIEF));
        }
    }

    #[inline]
    fn wait(&mut self) -> io::Result<Waited> {
        if let Some(left) = &self.left {
            if !left.is_over() {
                return Ok(Waited::Again);
            }
            self.left = None;
            self.skips = (2 * self.skips + 1).min(MOST_SKIPPED);
            self.skipped = self.skips;
        }
        self.sleep.wait()
    }
}

/// An endpoint whose non-blocking calls are repeated until they succeed.
#[derive(Debug)]
pub struct Again<E, W> {
    inner: E,
    wait: W,
}

impl<E: OnSocket> Again<E, Spin> {
    /// Busy-polls an endpoint; a receive gives up after `patience`.
    ///
    /// # Errors
    /// Whatever fcntl(2) reports.
    pub fn spinning(inner: E, patience: Option<Duration>) -> io::Result<Self> {
        let wait = Spin::new(patience);
        set_nonblocking(inner.fd(), true)?;
        Ok(Self { inner, wait })
    }
}

impl<E: OnSocket> Again<E, Sleep> {
    /// Waits for an endpoint by epoll(7); a receive gives up after `patience`.
    ///
    /// # Errors
    /// Whatever fcntl(2), epoll_create1(2) and epoll_ctl(2) report.
    pub fn sleeping(inner: E, patience: Option<Duration>) -> io::Result<Self> {
        let wait = Sleep::new(inner.fd(), patience)?;
        set_nonblocking(inner.fd(), true)?;
        Ok(Self { inner, wait })
    }
}

impl<E: OnSocket> Again<E, BriefSpin> {
    /// Busy-polls an endpoint for a short time and then waits by epoll(7); a receive gives up after
    /// `patience`.
    ///
    /// # Errors
    /// Whatever fcntl(2), epoll_create1(2) and epoll_ctl(2) report.
    pub fn spinning_briefly(inner: E, patience: Option<Duration>) -> io::Result<Self> {
        let wait = BriefSpin::new(inner.fd(), patience)?;
        set_nonblocking(inner.fd(), true)?;
        Ok(Self { inner, wait })
    }
}

impl<E: Endpoint, W: WaitMethod> Endpoint for Again<E, W> {
    const KEEPS_BOUNDARIES: bool = E::KEEPS_BOUNDARIES;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        let mut waits = false;
        loop {
            match self.inner.send(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            if !waits {
                waits = true;
                self.wait.begin();
            }
            match self.wait.wait()? {
                // A send has no time-out.
                Waited::Again | Waited::TimedOut => {}
                Waited::Interrupted => return Ok(Sent::Interrupted),
            }
        }
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        // The inner endpoint reports `EWOULDBLOCK` as a time-out.
        let got = self.inner.recv(buf)?;
        if got != Received::TimedOut {
            return Ok(got);
        }
        self.wait.begin();
        loop {
            match self.wait.wait()? {
                Waited::Again => {}
                Waited::Interrupted => return Ok(Received::Interrupted),
                Waited::TimedOut => return Ok(Received::TimedOut),
            }
            let got = self.inner.recv(buf)?;
            if got != Received::TimedOut {
                return Ok(got);
            }
        }
    }

    #[inline]
    fn messages_sent(&self, bytes: usize) -> u64 {
        self.inner.messages_sent(bytes)
    }

    #[inline]
    fn take_dropped(&mut self) -> u64 {
        self.inner.take_dropped()
    }

    #[inline]
    fn each_received(&self, buf: &[u8], bytes: usize, see: impl FnMut(&[u8])) {
        self.inner.each_received(buf, bytes, see);
    }

    #[inline]
    fn messages_received(&self) -> u64 {
        self.inner.messages_received()
    }

    fn counts(&self) -> Option<IoCounts> {
        self.inner.counts()
    }

    fn reclaim(&mut self) {
        self.inner.reclaim();
    }

    fn settle(&mut self) {
        self.inner.settle();
    }
}

/// Switches back to blocking calls. An error means that the socket is gone.
fn block(fd: BorrowedFd<'_>) {
    drop(set_nonblocking(fd, false));
}

impl<E: OnSocket, W> OnSocket for Again<E, W> {
    fn fd(&self) -> BorrowedFd<'_> {
        self.inner.fd()
    }

    fn into_socket(self) -> Socket {
        block(self.inner.fd());
        self.inner.into_socket()
    }
}

impl<E: Parts + OnSocket, W: WaitMethod> Parts for Again<E, W> {
    /// An end mark must be able to wait for space in a full queue.
    fn part(self) -> Parted {
        block(self.inner.fd());
        self.inner.part()
    }

    fn facts(&self) -> Option<SocketFacts> {
        self.inner.facts()
    }

    fn overflowed(&self) -> Option<u32> {
        self.inner.overflowed()
    }

    fn waited_in_vain(&self) -> Duration {
        self.inner.waited_in_vain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Tcp;
    use crate::udp::ConnectedUdp;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::thread;

    fn pair() -> (Tcp, Tcp) {
        netperf_testkit::watchdog::watch_unit();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = listener.accept().unwrap().0;
        (Tcp(client.into()), Tcp(server.into()))
    }

    /// Sends a message in each direction, the first after a pause, and then the end.
    fn crosses<A: Endpoint, B: Endpoint + Send + 'static>(mut here: A, mut there: B) {
        let other = thread::spawn(move || {
            let mut buf = [0; 8];
            assert_eq!(there.recv(&mut buf).unwrap(), Received::Bytes(3));
            assert_eq!(there.send(b"de").unwrap(), Sent::Bytes(2));
        });
        thread::sleep(Duration::from_millis(20));
        assert_eq!(here.send(b"abc").unwrap(), Sent::Bytes(3));
        let mut buf = [0; 8];
        assert_eq!(here.recv(&mut buf).unwrap(), Received::Bytes(2));
        other.join().unwrap();
        assert_eq!(here.recv(&mut buf).unwrap(), Received::End);
    }

    #[test]
    fn brief_polling_in_vain_is_left_out_for_more_and_more_waits() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let patience = Some(Duration::from_millis(1));
        let mut wait = BriefSpin::new(std::os::fd::AsFd::as_fd(&socket), patience).unwrap();
        for skips in [1, 3, 7] {
            wait.begin();
            assert!(wait.left.is_some());
            while wait.wait().unwrap() == Waited::Again {}
            for _ in 0..skips {
                wait.begin();
                assert!(wait.left.is_none());
            }
        }
        // Data comes within the time.
        wait.begin();
        assert_eq!(wait.skips, 7);
        wait.begin();
        assert!(wait.left.is_some() && wait.skips == 0);
    }

    #[test]
    fn messages_cross_with_brief_polling() {
        let (here, there) = pair();
        let [here, there] = [here, there].map(|tcp| Again::spinning_briefly(tcp, None).unwrap());
        crosses(here, there);
    }

    #[test]
    fn threat_model_a_spinning_wait_without_data_sleeps_between_calls() {
        let mut spin = Spin::new(None);
        spin.begin();
        for _ in 0..IDLE_CALLS {
            spin.wait().unwrap();
        }
        let over = Countdown::from_now(IDLE_SLEEP * 20);
        for _ in 0..20 {
            spin.wait().unwrap();
        }
        assert!(over.is_over());
        spin.begin();
        assert_eq!(spin.idle, 0);
    }

    #[test]
    fn bytes_cross_whoever_spins_or_sleeps() {
        let (client, server) = pair();
        crosses(
            Again::spinning(client, None).unwrap(),
            Again::spinning(server, None).unwrap(),
        );
        let (client, server) = pair();
        crosses(
            Again::sleeping(client, None).unwrap(),
            Again::sleeping(server, None).unwrap(),
        );
    }

    #[test]
    fn a_full_queue_is_waited_for_and_a_socket_given_back_blocks() {
        let (client, mut server) = pair();
        let mut client = Again::sleeping(client, None).unwrap();
        let reader = thread::spawn(move || {
            let mut buf = vec![0; 1 << 20];
            let mut total = 0;
            while let Received::Bytes(count) = server.recv(&mut buf).unwrap() {
                total += count;
                thread::sleep(Duration::from_millis(1));
            }
            total
        });
        let mut total = 0;
        for _ in 0..64 {
            if let Sent::Bytes(count) = client.send(&[0; 1 << 18]).unwrap() {
                total += count;
            }
        }
        let socket = client.into_socket();
        assert!(!socket.nonblocking().unwrap());
        drop(socket);
        assert_eq!(reader.join().unwrap(), total);
    }

    #[test]
    fn a_silent_peer_is_given_up_after_the_time_that_was_set() {
        let silent = || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(socket.local_addr().unwrap()).unwrap();
            ConnectedUdp(socket.into())
        };
        let soon = Some(Duration::from_millis(5));
        let mut spinning = Again::spinning(silent(), soon).unwrap();
        let mut sleeping = Again::sleeping(silent(), soon).unwrap();
        for _ in 0..2 {
            assert_eq!(spinning.recv(&mut [0]).unwrap(), Received::TimedOut);
            // The first wait may end because there is space to send.
            assert_eq!(sleeping.recv(&mut [0]).unwrap(), Received::TimedOut);
        }
    }
}
