//! Link-level connections: the kernel's LLC type 2 (IEEE 802.2).
//!
//! LLC2 sockets are byte streams without half-close. A close discards data that the peer has
//! not received, and an overflow of the receive buffer stops a connection for seconds or for
//! ever. So data is sent in records, one for each frame: a length of two bytes, and the data.
//! An empty record marks the end; its sender waits for the peer to close before it closes. The
//! receiver reports the number of frames that it has read, and the sender keeps at most one
//! window of frames in flight (docs/decisions).

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait::Deadline;
use netperf_os::{SockAddr, Socket, io as calls, link, parts};

use crate::endpoint::{Endpoint, Received, Sent, received, stream_sent};
use crate::meeting::{AcceptFilter, Connects, GiveUp, Met, Parting, accept, connect, on_socket};

/// Destination and source service access point and two control bytes of each frame.
const LLC_HEADER: usize = 4;
/// Length field of a record, bytes.
const HEADER: usize = 2;
/// Default limit of unacknowledged frames: equal to the limit of unread frames. The kernel's
/// default of 2 waits after every second frame; with the maximum of 127 an acknowledgement
/// sometimes waits for a timer of one second.
pub const DEFAULT_WINDOW: u32 = MOST_FRAMES as u32;
/// Flag in the length of a record: the record has no data and reports how many frames were
/// read.
const CREDIT: u16 = 0x8000;
/// Lengths of records are below [`CREDIT`].
const LARGEST_RECORD: usize = 32_767;
/// Limit of unread data in flight: well below the default receive buffer, including the
/// kernel's overhead for each frame.
const WINDOW_BYTES: usize = 65_536;
/// Largest window, frames.
const MOST_FRAMES: u16 = 32;
/// Smallest window, frames.
const FEWEST_FRAMES: u16 = 4;
/// Capacity of the buffer for data that arrives while an end only sends, in windows.
const STASHED_WINDOWS: usize = 8;
/// Time limit for the peer to receive the rest and to close.
const SETTLE: Duration = Duration::from_secs(2);
/// Interval between checks of that time limit.
const LOOK: Duration = Duration::from_millis(200);

/// The transport.
#[derive(Clone, Copy, Debug)]
pub struct Llc2;

impl Connects for Llc2 {
    type Endpoint = Llc2Endpoint;

    const PARTING: Parting = Parting::EndRecord;

    fn connect(
        &self,
        socket: Socket,
        to: &SockAddr,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<Llc2Endpoint>> {
        connect(&socket, to, give_up)?.and_then(|()| {
            // An interrupted connect that was refused leaves no socket error.
            socket.peer_addr()?;
            let window = LlcWindow::on(&socket)?;
            Ok(Met::Connected(Llc2Endpoint::new(socket, window)?))
        })
    }

    fn accept(&self, gate: AcceptFilter<'_>, give_up: GiveUp<'_>) -> io::Result<Met<Llc2Endpoint>> {
        let listener = gate.listener;
        accept(gate, give_up)?.and_then(|socket| {
            // An accepted socket does not inherit the listener's options.
            for window in [IntOption::LlcSendWindow, IntOption::LlcRecvWindow] {
                let frames = sockopt::fetch(listener.as_fd(), window)?;
                sockopt::set(socket.as_fd(), window, frames)?;
            }
            socket.set_send_buffer_size(listener.send_buffer_size()? / 2)?;
            socket.set_recv_buffer_size(listener.recv_buffer_size()? / 2)?;
            Ok(Met::Connected(Llc2Endpoint::new(
                socket,
                LlcWindow::on(listener)?,
            )?))
        })
    }
}

/// Sets the limits of frames in flight. Call before connect or listen.
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

/// Limit of data in flight. The kernel's LLC loses data that does not fit into the receive
/// buffer, for seconds or for ever.
#[derive(Clone, Copy, Debug)]
struct LlcWindow {
    /// Largest record, bytes of data.
    largest: usize,
    /// Limit of unread frames in flight.
    frames: u16,
}

impl LlcWindow {
    /// Window for an MTU.
    fn of(mtu: usize) -> Self {
        let mtu = mtu.min(LARGEST_RECORD);
        Self {
            largest: mtu.saturating_sub(LLC_HEADER + HEADER).max(1),
            frames: u16::try_from(WINDOW_BYTES / mtu.max(1))
                .unwrap_or(MOST_FRAMES)
                .clamp(FEWEST_FRAMES, MOST_FRAMES),
        }
    }

    /// Window for the interface that a socket is bound to.
    fn on(socket: &Socket) -> io::Result<Self> {
        let device = socket.device()?.ok_or(io::ErrorKind::AddrNotAvailable)?;
        let mtu = link::mtu(&String::from_utf8_lossy(&device))?;
        Ok(Self::of(usize::try_from(mtu).unwrap_or(usize::MAX)))
    }

    /// Data of a full window, bytes.
    fn bytes(self) -> usize {
        self.largest * usize::from(self.frames)
    }

    /// Enlarges the receive buffer of a socket to hold a full window.
    fn make_room(self, socket: &Socket) -> io::Result<()> {
        // Kernel overhead of a frame, doubled for rounding.
        let needed = usize::from(self.frames) * 2 * (self.largest + 512);
        if socket.recv_buffer_size()? < needed {
            // The kernel doubles the value.
            socket.set_recv_buffer_size(needed / 2)?;
        }
        Ok(())
    }
}

/// A connection whose bytes are sent in records.
#[derive(Debug)]
pub struct Llc2Endpoint {
    socket: Socket,
    window: LlcWindow,
    incoming: RecordReader,
    /// Frames sent that the peer has not reported as read.
    on_the_way: u16,
    /// Data received during a wait for credit.
    stash: Vec<u8>,
    /// Offset of the first unread byte in `stash`.
    stashed_from: usize,
}

impl Llc2Endpoint {
    fn new(socket: Socket, window: LlcWindow) -> io::Result<Self> {
        window.make_room(&socket)?;
        Ok(Self {
            socket,
            window,
            incoming: RecordReader::default(),
            on_the_way: 0,
            stash: Vec::with_capacity(STASHED_WINDOWS * window.bytes()),
            stashed_from: 0,
        })
    }

    /// Reports the number of frames read, once it is large enough to be worth a frame and there
    /// is space for the data that may follow.
    #[inline]
    fn give_credit(&mut self) -> io::Result<()> {
        let due = self.incoming.frames >= self.window.frames / 2;
        if !due || self.stash.len() + self.window.bytes() > self.stash.capacity() {
            return Ok(());
        }
        let record = (CREDIT | self.incoming.frames).to_be_bytes();
        match calls::send(self.socket.as_fd(), &record).map_err(again) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            // A peer that no longer reads needs no credit.
            Ok(_) | Err(_) => {
                self.incoming.frames = 0;
                Ok(())
            }
        }
    }

    /// Waits until the peer has read part of the data in flight.
    #[cold]
    fn wait_for_credit(&mut self) -> io::Result<()> {
        while self.on_the_way >= self.window.frames {
            if self.incoming.over {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.give_credit()?;
            let used = self.stash.len();
            // Within the capacity, so no allocation.
            self.stash.resize(self.stash.capacity(), 0);
            let got = self.incoming.recv(&self.socket, &mut self.stash[used..]);
            self.stash
                .truncate(used + got.as_ref().map_or(0, |data| *data));
            got?;
            self.take_credit();
        }
        Ok(())
    }

    #[inline]
    fn take_credit(&mut self) {
        let credit = std::mem::take(&mut self.incoming.credit);
        self.on_the_way = self.on_the_way.saturating_sub(credit);
    }

    /// Reads data from the stash.
    #[cold]
    fn unstash(&mut self, buf: &mut [u8]) -> usize {
        let stashed = &self.stash[self.stashed_from..];
        let data = stashed.len().min(buf.len());
        buf[..data].copy_from_slice(&stashed[..data]);
        self.stashed_from += data;
        if self.stashed_from == self.stash.len() {
            self.stash.clear();
            self.stashed_from = 0;
        }
        data
    }
}

impl Endpoint for Llc2Endpoint {
    const KEEPS_BOUNDARIES: bool = false;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        if self.on_the_way >= self.window.frames {
            if let Err(error) = self.wait_for_credit() {
                return stream_sent(Err(error));
            }
        }
        let data = &buf[..buf.len().min(self.window.largest)];
        let sent = stream_sent(send_record(&self.socket, data))?;
        if matches!(sent, Sent::Bytes(_)) {
            self.on_the_way += 1;
        }
        Ok(sent)
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        if !self.stash.is_empty() {
            return Ok(Received::Bytes(self.unstash(buf)));
        }
        loop {
            if self.incoming.over {
                return Ok(Received::End);
            }
            if let Err(error) = self.give_credit() {
                return received(Err(error));
            }
            let got = self.incoming.recv(&self.socket, buf);
            self.take_credit();
            match got {
                Ok(0) => {}
                other => return received(other),
            }
        }
    }

    /// Waits for the peer to close, which it does once it has received everything.
    fn settle(&mut self) {
        if self.incoming.over {
            return;
        }
        // An error means that the connection is gone and there is nothing to wait for.
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

on_socket!(Llc2Endpoint: socket);

/// Sends an empty record, which marks the end of data. Blocks while earlier frames fill the
/// window.
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

/// Sends a record in one frame. The kernel accepts all of it or nothing.
#[inline]
fn send_record(socket: &Socket, data: &[u8]) -> io::Result<usize> {
    let length = u16::try_from(data.len()).map_err(io::Error::other)?;
    let count = parts::send(socket.as_fd(), &length.to_be_bytes(), data).map_err(again)?;
    if count == HEADER + data.len() {
        Ok(data.len())
    } else {
        Err(io::Error::other("a frame was cut"))
    }
}

/// Maps `EBUSY` to an interruption: the kernel's LLC reports it when the state changes during a
/// blocked send. Nothing was sent, so the call is repeated.
fn again(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::ResourceBusy {
        io::ErrorKind::Interrupted.into()
    } else {
        error
    }
}

/// Parser state for incoming records.
#[derive(Debug, Default)]
struct RecordReader {
    /// Bytes of the current record that are still to come.
    left: usize,
    /// Length field of the next record, as far as received.
    header: [u8; HEADER],
    /// Number of valid bytes in `header`.
    have: usize,
    /// Frames received since the last report to the peer.
    frames: u16,
    /// Frames that the peer has reported as read, not yet accounted for.
    credit: u16,
    /// The end mark was received.
    over: bool,
}

impl RecordReader {
    /// Receives once and leaves only data in `buf`. Returns the number of data bytes, which may
    /// be 0.
    #[inline]
    fn recv(&mut self, socket: &Socket, buf: &mut [u8]) -> io::Result<usize> {
        let header = self.header_room();
        let headed = header.len();
        let count = parts::recv(socket.as_fd(), header, buf)?;
        if count == 0 {
            self.over = true;
        }
        Ok(self.take(count, headed, buf))
    }

    /// Missing part of the length field; empty in the middle of a record.
    #[inline]
    fn header_room(&mut self) -> &mut [u8] {
        let missing = if self.left == 0 {
            self.have..HEADER
        } else {
            0..0
        };
        &mut self.header[missing]
    }

    /// Processes `count` received bytes, of which the first fill `headed` bytes of the length
    /// field and the rest is in `buf`. Leaves only data in `buf` and returns its length.
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
                match u16::from_be_bytes(self.header) {
                    0 => {
                        self.over = true;
                        return to;
                    }
                    credit if credit & CREDIT != 0 => {
                        self.credit += credit & !CREDIT;
                        continue;
                    }
                    length => {
                        self.left = length.into();
                        self.frames += 1;
                    }
                }
            }
            let data = self.left.min(came - from);
            if data == 0 {
                return to;
            }
            // Needed only when one receive returned several records.
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

    fn ends_of(stream: UnixStream, mtu: usize) -> Llc2Endpoint {
        netperf_testkit::watchdog::watch_unit();
        Llc2Endpoint::new(Socket::from(stream), LlcWindow::of(mtu)).unwrap()
    }

    /// Writes records of these lengths to a Unix stream and returns it with a reader.
    fn records(lengths: &[u16]) -> (UnixStream, Llc2Endpoint) {
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
        (writer, ends_of(reader, 1500))
    }

    fn read_all(records: &mut Llc2Endpoint, size: usize) -> Vec<u8> {
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
    fn llc2_delivers_data_both_ways_and_settles_with_the_close() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut one, mut other) = (ends_of(one, 16), ends_of(other, 16));
        assert_eq!(one.send(&[7; 25]).unwrap(), Sent::Bytes(10));
        assert_eq!(one.send(&[8; 5]).unwrap(), Sent::Bytes(5));
        let reader = std::thread::spawn(move || read_all(&mut other, 100).len());
        one.settle();
        assert!(one.incoming.over, "the other end did not close");
        assert_eq!(reader.join().unwrap(), 15);
    }

    #[test]
    fn a_sender_waits_when_a_window_is_unread_and_goes_on_when_it_was_read() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut one, mut other) = (ends_of(one, 1500), ends_of(other, 1500));
        one.socket.set_read_timeout(Some(LOOK)).unwrap();
        for _ in 0..32 {
            assert_eq!(one.send(&[7; 2000]).unwrap(), Sent::Bytes(1494));
        }
        let unread = one.send(&[7; 2000]).unwrap_err();
        assert_eq!(unread.kind(), io::ErrorKind::WouldBlock);
        let mut buf = [0; 1494];
        for _ in 0..17 {
            assert_eq!(other.recv(&mut buf).unwrap(), Received::Bytes(1494));
        }
        for _ in 0..16 {
            assert_eq!(one.send(&[7; 2000]).unwrap(), Sent::Bytes(1494));
        }
        assert!(one.send(&[7; 2000]).is_err());
    }

    #[test]
    fn llc2_keeps_data_in_order_that_arrives_while_a_sender_waits() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut one, mut other) = (ends_of(one, 1500), ends_of(other, 1500));
        let peer = std::thread::spawn(move || {
            // A credit report that the sender does not expect yet.
            for byte in 0..20 {
                other.send(&[byte; 100]).unwrap();
            }
            let mut buf = [0; 1494];
            for _ in 0..40 {
                assert_ne!(other.recv(&mut buf).unwrap(), Received::End);
            }
            other
        });
        for _ in 0..40 {
            one.send(&[7; 2000]).unwrap();
        }
        let mut got = Vec::new();
        let mut buf = [0; 33];
        while let Received::Bytes(count) = one.recv(&mut buf).unwrap() {
            got.extend_from_slice(&buf[..count]);
            if got.len() >= 2000 {
                break;
            }
        }
        let expected: Vec<u8> = (0..20).flat_map(|byte| [byte; 100]).collect();
        assert_eq!(got, expected);
        drop(peer.join().unwrap());
    }
}
