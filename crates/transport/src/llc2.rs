//! Connections of the link level: the kernel's LLC type 2 (IEEE 802.2).
//!
//! Its sockets are byte streams that cannot be half-closed, and closing one takes away
//! what the peer has not received yet. So data goes in records, one to a frame: two bytes
//! that say how much follows, and the data. A record of nothing is the end, and whoever
//! sent it waits for the other end to close before closing itself (docs/decisions).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait::Deadline;
use netperf_os::{SockAddr, Socket, link, parts};

use crate::endpoint::{Endpoint, Received, Sent, received, stream_sent};
use crate::meeting::{Connects, GiveUp, Met, OnSocket, Parting, accept, connect};

/// Destination and source service access point and two bytes of control in each frame.
const LLC_HEADER: usize = 4;
/// The length in front of a record.
const HEADER: usize = 2;
/// Frames in flight where nothing else was asked for: the most that LLC has. The kernel's
/// own default of 2 makes every second frame wait for an acknowledgement.
pub const DEFAULT_WINDOW: u32 = 127;
/// How long the other end may take to receive the rest and to close.
const SETTLE: Duration = Duration::from_secs(2);
/// How often to look whether that time is over.
const LOOK: Duration = Duration::from_millis(200);

/// The transport.
#[derive(Clone, Copy, Debug)]
pub struct Llc2;

impl Connects for Llc2 {
    type Endpoint = Records;

    const PARTING: Parting = Parting::EndRecord;

    fn connect(
        &self,
        socket: Socket,
        to: &SockAddr,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<Records>> {
        connect(&socket, to, give_up)?.and_then(|()| {
            // A refused connection that a signal interrupted leaves no error behind.
            socket.peer_addr()?;
            let largest = largest(&socket)?;
            Ok(Met::Connected(Records::new(socket, largest)))
        })
    }

    fn accept(&self, listener: &Socket, give_up: GiveUp<'_>) -> io::Result<Met<Records>> {
        accept(listener, give_up)?.and_then(|socket| {
            // An accepted socket has none of the listener's options.
            for window in [IntOption::LlcSendWindow, IntOption::LlcRecvWindow] {
                let frames = sockopt::fetch(listener.as_fd(), window)?;
                sockopt::set(socket.as_fd(), window, frames)?;
            }
            Ok(Met::Connected(Records::new(socket, largest(listener)?)))
        })
    }
}

/// Sets how many frames may be in flight; before a socket connects or listens.
///
/// # Errors
/// `EINVAL` for more than 127.
pub fn set_windows(socket: &Socket, sends: Option<u32>, receives: Option<u32>) -> io::Result<()> {
    for (window, frames) in [
        (IntOption::LlcSendWindow, sends),
        (IntOption::LlcRecvWindow, receives),
    ] {
        let frames = i32::try_from(frames.unwrap_or(DEFAULT_WINDOW)).unwrap_or(i32::MAX);
        sockopt::set(socket.as_fd(), window, frames)?;
    }
    Ok(())
}

/// The most data of one record on the interface that a socket is bound to.
fn largest(socket: &Socket) -> io::Result<usize> {
    let device = socket.device()?.ok_or(io::ErrorKind::AddrNotAvailable)?;
    let mtu = link::mtu(&String::from_utf8_lossy(&device))?;
    let mtu = usize::try_from(mtu)
        .unwrap_or(usize::MAX)
        .min(u16::MAX.into());
    Ok(mtu.saturating_sub(LLC_HEADER + HEADER).max(1))
}

/// A connection whose bytes go in records.
#[derive(Debug)]
pub struct Records {
    socket: Socket,
    largest: usize,
    incoming: Incoming,
}

impl Records {
    fn new(socket: Socket, largest: usize) -> Self {
        Self {
            socket,
            largest,
            incoming: Incoming::default(),
        }
    }
}

impl Endpoint for Records {
    const KEEPS_BOUNDARIES: bool = false;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        let data = &buf[..buf.len().min(self.largest)];
        stream_sent(send_record(&self.socket, data))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        loop {
            if self.incoming.over {
                return Ok(Received::End);
            }
            let fd = self.socket.as_fd();
            let header = self.incoming.header_room();
            let headed = header.len();
            let count = match parts::recv(fd, header, buf) {
                Ok(0) => {
                    self.incoming.over = true;
                    continue;
                }
                Ok(count) => count,
                Err(error) => return received(Err(error)),
            };
            let data = self.incoming.take(count, headed, buf);
            if data > 0 {
                return Ok(Received::Bytes(data));
            }
        }
    }

    /// Waits for the other end to close: it does once it has received everything.
    fn settle(&mut self) {
        if self.incoming.over {
            return;
        }
        // A connection that is gone has nothing left to wait for.
        if send_end(&self.socket).is_ok() && self.socket.set_read_timeout(Some(LOOK)).is_ok() {
            let deadline = Deadline::after(SETTLE);
            let mut scrap = [0; 2048];
            while !deadline.left().is_zero() {
                match self.recv(&mut scrap) {
                    Ok(Received::Bytes(_) | Received::Interrupted | Received::TimedOut) => {}
                    Ok(Received::End) | Err(_) => return,
                }
            }
        }
    }
}

impl OnSocket for Records {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn into_socket(self) -> Socket {
        self.socket
    }
}

/// Sends a record of nothing, which tells the other end that there is no more; waits as
/// long as the frames before it fill the window.
///
/// # Errors
/// When the connection is gone, and `TimedOut` when the window stays full.
pub fn send_end(socket: &Socket) -> io::Result<()> {
    let deadline = Deadline::after(SETTLE);
    loop {
        match send_record(socket, &[]) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            Err(_) if deadline.left().is_zero() => return Err(io::ErrorKind::TimedOut.into()),
            Err(_) => {}
        }
    }
}

/// Sends a record in one frame: the kernel takes all of it or nothing.
#[inline]
fn send_record(socket: &Socket, data: &[u8]) -> io::Result<usize> {
    let length = u16::try_from(data.len()).map_err(io::Error::other)?;
    let count = parts::send(socket.as_fd(), &length.to_be_bytes(), data)?;
    if count == HEADER + data.len() {
        Ok(data.len())
    } else {
        Err(io::Error::other("a frame was cut"))
    }
}

/// How far the records that arrive were understood.
#[derive(Debug, Default)]
struct Incoming {
    /// Bytes of the current record that have not been received.
    left: usize,
    /// The length of the next record, as far as it is here.
    header: [u8; HEADER],
    /// How far that is.
    have: usize,
    /// There is no more.
    over: bool,
}

impl Incoming {
    /// Where the missing part of a record's length goes; empty in the middle of a record.
    #[inline]
    fn header_room(&mut self) -> &mut [u8] {
        let missing = if self.left == 0 {
            self.have..HEADER
        } else {
            0..0
        };
        &mut self.header[missing]
    }

    /// `count` bytes came, the first of them to fill `headed` bytes of the header and the
    /// rest into `buf`: leaves only data in `buf`, and says how much.
    #[inline]
    fn take(&mut self, count: usize, headed: usize, buf: &mut [u8]) -> usize {
        let in_header = count.min(headed);
        self.have += in_header;
        let came = count - in_header;
        let (mut from, mut to) = (0, 0);
        loop {
            if self.left == 0 {
                while self.have < HEADER && from < came {
                    self.header[self.have] = buf[from];
                    self.have += 1;
                    from += 1;
                }
                if self.have < HEADER {
                    return to;
                }
                self.have = 0;
                self.left = u16::from_be_bytes(self.header).into();
                if self.left == 0 {
                    self.over = true;
                    return to;
                }
            }
            let data = self.left.min(came - from);
            if data == 0 {
                return to;
            }
            // Only where several records came together.
            if from != to {
                buf.copy_within(from..from + data, to);
            }
            from += data;
            to += data;
            self.left -= data;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    /// Records of these lengths over a byte stream of another kind, and the reader.
    fn records(lengths: &[u16]) -> (UnixStream, Records) {
        let (mut writer, reader) = UnixStream::pair().unwrap();
        let mut data: u8 = 0;
        for length in lengths {
            let mut bytes = length.to_be_bytes().to_vec();
            for _ in 0..*length {
                bytes.push(data);
                data = data.wrapping_add(1);
            }
            std::io::Write::write_all(&mut writer, &bytes).unwrap();
        }
        (writer, Records::new(Socket::from(reader), 1494))
    }

    fn read_all(records: &mut Records, size: usize) -> Vec<u8> {
        let mut all = Vec::new();
        let mut buf = vec![0; size];
        while let Received::Bytes(count) = records.recv(&mut buf).unwrap() {
            all.extend_from_slice(&buf[..count]);
        }
        all
    }

    #[test]
    fn data_comes_out_of_records_whole_and_in_order_whatever_the_buffers() {
        let expected: Vec<u8> = (0..=u8::MAX).cycle().take(318).collect();
        for size in [1, 2, 3, 7, 100, 1000] {
            let (_writer, mut reader) = records(&[1, 300, 2, 15, 0]);
            assert_eq!(read_all(&mut reader, size), expected, "buffers of {size}");
            assert_eq!(reader.recv(&mut [0; 4]).unwrap(), Received::End);
        }
    }

    #[test]
    fn a_connection_that_is_closed_without_an_end_ends_too() {
        let (writer, mut reader) = records(&[3]);
        drop(writer);
        assert_eq!(read_all(&mut reader, 16), [0, 1, 2]);
    }

    #[test]
    fn what_one_end_sends_the_other_receives_and_settling_ends_with_its_close() {
        let (one, other) = UnixStream::pair().unwrap();
        let mut one = Records::new(Socket::from(one), 10);
        let mut other = Records::new(Socket::from(other), 10);
        assert_eq!(one.send(&[7; 25]).unwrap(), Sent::Bytes(10));
        assert_eq!(one.send(&[8; 5]).unwrap(), Sent::Bytes(5));
        let reader = std::thread::spawn(move || read_all(&mut other, 100).len());
        one.settle();
        assert!(one.incoming.over, "the other end did not close");
        assert_eq!(reader.join().unwrap(), 15);
    }
}
