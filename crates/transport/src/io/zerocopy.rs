//! Zero-copy sends on a byte stream, with counts of completions and copies.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_model::IoCounts;
use netperf_os::Socket;
use netperf_os::io as calls;
use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait::{Interest, ready};
use netperf_os::zerocopy::completion;

use crate::endpoint::{Endpoint, Received, Sent, received, stream_sent};
use crate::meeting::on_socket;

/// Time-out of one wait for outstanding completions after the run.
const LOOK: Duration = Duration::from_millis(50);
/// Number of such waits without progress before giving up.
const LOOKS: u32 = 40;

/// A TCP connection that sends with `MSG_ZEROCOPY`.
///
/// The kernel owns the bytes of a send until it reports completion. At most as many sends are
/// outstanding as there are buffers in the ring, so no buffer is reused early.
#[derive(Debug)]
pub struct ZeroCopy {
    socket: Socket,
    window: u64,
    /// Waits for completions; otherwise a full window is like a full socket.
    waits: bool,
    sent: u64,
    done: u64,
    copied: u64,
}

impl ZeroCopy {
    /// Sends from a ring of `width` buffers.
    ///
    /// # Errors
    /// When the transport does not support zero-copy.
    pub fn new(socket: Socket, width: u32) -> io::Result<Self> {
        sockopt::set(socket.as_fd(), IntOption::ZeroCopy, 1)?;
        Ok(Self {
            socket,
            // The buffer of the next send must not be in use.
            window: u64::from(width.saturating_sub(1).max(1)),
            waits: true,
            sent: 0,
            done: 0,
            copied: 0,
        })
    }

    /// The same for one of many sockets of a thread, none of which may hold up the others.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn beside_others(socket: Socket, width: u32) -> io::Result<Self> {
        let mut one = Self::new(socket, width)?;
        one.waits = false;
        Ok(one)
    }

    /// Reads all pending completions. Returns true if there was one.
    pub(crate) fn reap(&mut self) -> io::Result<bool> {
        let before = self.done;
        while let Some(completed) = completion(self.socket.as_fd())? {
            self.done += u64::from(completed.sends);
            if completed.copied {
                self.copied += u64::from(completed.sends);
            }
        }
        Ok(self.done != before)
    }

    /// Waits until at most `at_most` sends are outstanding. Returns false if a signal
    /// interrupts.
    fn wait_for_room(&mut self, at_most: u64) -> io::Result<bool> {
        if !self.waits {
            self.reap()?;
            return Ok(self.sent - self.done <= at_most);
        }
        while self.sent - self.done > at_most {
            if self.reap()? {
                continue;
            }
            if !ready(self.socket.as_fd(), Interest::Error, Duration::MAX)? {
                return Ok(false);
            }
            if !self.reap()? {
                // The wait ended because the connection ended.
                let gone = || io::ErrorKind::ConnectionReset.into();
                return Err(self.socket.take_error()?.unwrap_or_else(gone));
            }
        }
        Ok(true)
    }

    /// Maps `ENOBUFS`: the kernel's limit of pinned memory is reached (`net.core.optmem_max`,
    /// `RLIMIT_MEMLOCK`).
    #[cold]
    fn held_too_much(&mut self, error: io::Error, buf: &[u8]) -> io::Result<Sent> {
        let under_way = self.sent - self.done;
        if under_way == 0 && !self.waits {
            return self.send_copied(buf);
        } else if under_way == 0 {
            return Err(error);
        }
        self.wait_for_room(under_way - 1)?;
        Ok(Sent::Interrupted)
    }

    /// Sends with a copy, where other sockets of this user have pinned all memory that they may.
    fn send_copied(&mut self, buf: &[u8]) -> io::Result<Sent> {
        let sent = calls::send(self.socket.as_fd(), buf);
        if sent.is_ok() {
            self.sent += 1;
            self.done += 1;
            self.copied += 1;
        }
        stream_sent(sent)
    }
}

impl Endpoint for ZeroCopy {
    const KEEPS_BOUNDARIES: bool = false;
    const ONE_WAY: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        if self.sent - self.done >= self.window && !self.wait_for_room(self.window - 1)? {
            return Ok(Sent::Interrupted);
        }
        let sent = calls::send_zero_copy(self.socket.as_fd(), buf);
        match sent {
            Ok(_) => self.sent += 1,
            Err(error) if calls::is_queue_full(&error) => return self.held_too_much(error, buf),
            // Reports wake the thread up until they are read.
            Err(_) if !self.waits => drop(self.reap()?),
            Err(_) => {}
        }
        stream_sent(sent)
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        received(calls::recv(self.socket.as_fd(), buf))
    }

    fn counts(&self) -> Option<IoCounts> {
        Some(IoCounts {
            send_calls: self.sent,
            recv_calls: 0,
            zerocopy_done: self.done,
            zerocopy_copied: self.copied,
        })
    }

    /// Half-closes the connection and waits for all completions, which come once the peer has
    /// acknowledged the data.
    fn reclaim(&mut self) {
        if !self.waits {
            // The end of the connection follows, and waits for all of them together.
            let _gone = self.reap();
            return;
        }
        // An error means that the connection is gone and no completion follows.
        let _gone = calls::half_close(self.socket.as_fd());
        let mut in_vain = 0;
        while self.done < self.sent && in_vain < LOOKS {
            match self.reap() {
                Ok(true) => in_vain = 0,
                Ok(false) => {
                    in_vain += 1;
                    netperf_os::wait::until_error(self.socket.as_fd(), LOOK);
                }
                Err(_) => return,
            }
        }
    }
}

on_socket!(ZeroCopy: socket);

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    #[test]
    fn every_send_is_accounted_for_and_no_more_are_under_way_than_buffers() {
        netperf_testkit::watchdog::watch_unit();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        let mut client = ZeroCopy::new(client.into(), 4).unwrap();
        let reader = thread::spawn(move || {
            let mut all = Vec::new();
            server.read_to_end(&mut all).unwrap();
            all.len() as u64
        });
        let data = vec![7; 50_000];
        let mut total = 0;
        for _ in 0..100 {
            if let Sent::Bytes(count) = client.send(&data).unwrap() {
                total += count as u64;
            }
            assert!(client.sent - client.done <= 4);
        }
        client.reclaim();
        let counts = client.counts().unwrap();
        assert_eq!((counts.send_calls, counts.zerocopy_done), (100, 100));
        drop(client);
        assert_eq!(reader.join().unwrap(), total);
    }

    #[test]
    fn a_transport_that_cannot_do_it_says_so() {
        let (one, _other) =
            netperf_os::Socket::pair(netperf_os::Domain::UNIX, netperf_os::Type::STREAM, None)
                .unwrap();
        assert!(ZeroCopy::new(one, 2).is_err());
    }
}
