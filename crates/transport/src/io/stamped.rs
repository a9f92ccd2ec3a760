//! Requests and responses with kernel transmit and receive timestamps, to show which part of a
//! transaction takes how much time at this end.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use std::time::Duration;

use netperf_model::{DeviceStamp, Stamp, Stamper, Stamps};
use netperf_os::io::Source;
use netperf_os::stamps::{self, Peer, RxStamp, StampSource, TxStamp, now};
use netperf_os::wait::until_error;
use netperf_os::{SockAddr, Socket};

use crate::endpoint::{Endpoint, Received, Sent, datagram_sent, received, stream_sent};
use crate::meeting::{OnSocket, Parted, Parts};
use crate::udp::mark_the_end;

/// Time limit for a device's transmit timestamp.
const DEVICE_SAYS: Duration = Duration::from_millis(5);
/// Number of consecutive missing timestamps after which the endpoint no longer waits for the
/// device.
const MISSES: u32 = 8;

/// Destination of messages.
#[derive(Debug)]
enum StampedDestination {
    /// A byte stream.
    Stream,
    /// The connected peer.
    Connected,
    /// This address.
    To(SockAddr),
    /// The source of the last request.
    Back(Source),
}

/// A socket with timestamped transactions. `WHOLE` is true if it keeps message boundaries.
#[derive(Debug)]
pub struct Stamped<const WHOLE: bool> {
    socket: Socket,
    way: StampedDestination,
    log: StampRecorder,
    /// Id of the next requested transmit timestamp, or the number of bytes sent.
    next_id: u32,
    /// It is one of many flows.
    many: bool,
    /// netperf's port of one of many flows, if it is known from the beginning.
    flow: u32,
}

/// Source of timestamps, and the number of flows that are sampled.
pub type StampedFlows = (Stamper, u32);

impl Stamped<false> {
    /// Creates an endpoint for a connection; `asking` is true at netperf's end.
    ///
    /// # Errors
    /// When the kernel does not support timestamps.
    pub fn stream(socket: Socket, asking: bool, (by, flows): StampedFlows) -> io::Result<Self> {
        Self::new(socket, StampedDestination::Stream, asking, (by, flows))
    }
}

impl Stamped<true> {
    /// Creates netperf's datagram endpoint, for an address or the connected peer.
    ///
    /// # Errors
    /// When the kernel does not support timestamps.
    pub fn asking(socket: Socket, to: Option<SockAddr>, by: StampedFlows) -> io::Result<Self> {
        Self::new(
            socket,
            to.map_or(StampedDestination::Connected, StampedDestination::To),
            true,
            by,
        )
    }

    /// Creates netserver's datagram endpoint, which answers the sender.
    ///
    /// # Errors
    /// When the kernel does not support timestamps.
    pub fn answering(socket: Socket, by: StampedFlows) -> io::Result<Self> {
        Self::new(
            socket,
            StampedDestination::Back(Source::unknown()),
            false,
            by,
        )
    }
}

impl<const WHOLE: bool> Stamped<WHOLE> {
    fn new(
        socket: Socket,
        way: StampedDestination,
        asking: bool,
        (by, flows): StampedFlows,
    ) -> io::Result<Self> {
        let by = match by {
            Stamper::Kernel => StampSource::Kernel,
            Stamper::Device => StampSource::Device,
        };
        stamps::enable(socket.as_fd(), by)?;
        // A connection has no peer any more at its end.
        let address = if asking {
            socket.local_addr()
        } else {
            socket.peer_addr()
        };
        let address = address.ok().and_then(|address| address.as_socket());
        let port = address.map_or(0, |address| address.port().into());
        Ok(Self {
            flow: if flows > 1 { port } else { 0 },
            socket,
            way,
            log: StampRecorder::new(asking, by, Stamps::most(flows)),
            next_id: 0,
            many: flows > 1,
        })
    }

    /// netperf's port of one of many flows.
    fn flow(&self) -> u32 {
        let StampedDestination::Back(source) = &self.way else {
            return self.flow;
        };
        let source = source.address().filter(|_| self.many);
        source.map_or(self.flow, |source| source.port().into())
    }

    fn call(&mut self, buf: &[u8], stamped: bool) -> io::Result<usize> {
        let peer = match &self.way {
            StampedDestination::Stream | StampedDestination::Connected => Peer::Connected,
            StampedDestination::To(address) => Peer::At(address),
            StampedDestination::Back(source) => Peer::Source(source),
        };
        let stamped = stamped.then_some(self.log.by);
        stamps::send(self.socket.as_fd(), buf, &peer, stamped)
    }

    /// Id of the transmit timestamp of the message just sent.
    fn id_of(&mut self, bytes: usize, stamped: bool) -> u32 {
        if matches!(self.way, StampedDestination::Stream) {
            let bytes = u32::try_from(bytes).unwrap_or(0);
            self.next_id = self.next_id.wrapping_add(bytes);
            return self.next_id.wrapping_sub(1);
        }
        let id = self.next_id;
        self.next_id = id.wrapping_add(u32::from(stamped));
        id
    }
}

impl<const WHOLE: bool> Stamped<WHOLE> {
    /// A datagram that a full queue drops has taken an id.
    #[cold]
    fn failed(&mut self, error: &io::Error, stamped: bool) {
        let is_stream = matches!(self.way, StampedDestination::Stream);
        if !is_stream && netperf_os::io::is_queue_full(error) {
            self.id_of(0, stamped);
        }
    }
}

impl<const WHOLE: bool> Endpoint for Stamped<WHOLE> {
    const KEEPS_BOUNDARIES: bool = WHOLE;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        let stamped = self.log.before_send(&self.socket);
        let result = self.call(buf, stamped);
        match &result {
            Ok(bytes) => {
                let id = self.id_of(*bytes, stamped);
                self.log.sent(id);
            }
            Err(error) => self.failed(error, stamped),
        }
        match self.way {
            StampedDestination::Stream => stream_sent(result),
            StampedDestination::Connected
            | StampedDestination::To(_)
            | StampedDestination::Back(_) => datagram_sent(result),
        }
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let source = match &mut self.way {
            StampedDestination::Back(source) => Some(source),
            StampedDestination::Stream
            | StampedDestination::Connected
            | StampedDestination::To(_) => None,
        };
        match stamps::recv(self.socket.as_fd(), buf, source) {
            Ok((bytes, arrived)) => {
                if bytes > 0 {
                    self.log.got(arrived, &self.socket);
                }
                received(Ok(bytes))
            }
            Err(error) => {
                if error.kind() == io::ErrorKind::WouldBlock {
                    self.log.take_early(&self.socket);
                }
                received(Err(error))
            }
        }
    }

    fn stamps(&mut self) -> Option<Stamps> {
        let flow = self.flow();
        let mut stamps = self.log.finish(&self.socket);
        for stamp in &mut stamps.each {
            stamp.flow = flow;
        }
        Some(stamps)
    }
}

impl<const WHOLE: bool> OnSocket for Stamped<WHOLE> {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn into_socket(self) -> Socket {
        self.socket
    }
}

impl Parts for Stamped<true> {
    fn part(mut self) -> Parted {
        // An error means that the peer is gone and needs no mark.
        let known = !matches!(&self.way, StampedDestination::Back(source) if !source.is_known());
        mark_the_end(move || {
            if known {
                drop(self.call(&[], false));
            }
        })
    }
}

/// Records the timestamps of sampled transactions.
#[derive(Debug)]
struct StampRecorder {
    asking: bool,
    by: StampSource,
    /// Consecutive missing device timestamps.
    misses: u32,
    every: u32,
    /// Largest number of recorded transactions.
    most: u32,
    incomplete: u32,
    each: Vec<Stamp>,
    /// Number of the current transaction, from 1.
    number: u32,
    /// End of the last receive before a transaction that is sampled.
    last_receive: u64,
    /// True if the last operation was a send; `None` at the beginning.
    sending: Option<bool>,
    /// The current transaction, if it is sampled.
    open: Option<Stamp>,
    /// Id of its transmit timestamp.
    id: u32,
}

impl StampRecorder {
    fn new(asking: bool, by: StampSource, most: u32) -> Self {
        Self {
            asking,
            by,
            misses: 0,
            every: 1,
            most,
            incomplete: 0,
            each: Vec::with_capacity(usize::try_from(most).unwrap_or(0)),
            number: 0,
            last_receive: 0,
            sending: None,
            open: None,
            id: 0,
        }
    }

    /// Registers a send. Returns true if it is to be timestamped.
    #[inline]
    fn before_send(&mut self, socket: &Socket) -> bool {
        let begins = self.sending != Some(true);
        if begins && self.asking {
            if self.last_receive == 0 {
                self.last_receive = now();
            }
            self.next(socket);
        }
        self.sending = Some(true);
        if let Some(open) = self.open.as_mut().filter(|_| begins) {
            open.sending = now();
        }
        self.open.is_some()
    }

    #[inline]
    fn sent(&mut self, id: u32) {
        self.id = id;
    }

    /// Registers a receive.
    #[inline]
    fn got(&mut self, arrived: RxStamp, socket: &Socket) {
        if self.sending != Some(false) && !self.asking {
            self.next(socket);
        }
        self.sending = Some(false);
        if let Some(open) = &mut self.open {
            open.received = now();
            open.arrived = arrived.kernel.unwrap_or(0);
            if let Some(device) = &mut open.device {
                device.arrived = arrived.device.unwrap_or(0);
            }
            self.last_receive = open.received;
        } else if self.asking && self.is_sampled(self.number.wrapping_add(1)) {
            self.last_receive = now();
        }
    }

    /// Starts the next transaction. When the sample is full, both ends drop every second
    /// transaction at the same number, and so keep the same ones.
    fn next(&mut self, socket: &Socket) {
        self.close(socket);
        self.number = self.number.wrapping_add(1);
        if self.number / self.every >= self.most {
            self.every = self.every.saturating_mul(2);
            let every = self.every;
            self.each.retain(|stamp| stamp.number % every == 0);
        }
        self.open = self.is_sampled(self.number).then_some(Stamp {
            number: self.number,
            begun: if self.asking { self.last_receive } else { 0 },
            device: (self.by == StampSource::Device).then(DeviceStamp::default),
            ..Stamp::default()
        });
    }

    fn is_sampled(&self, number: u32) -> bool {
        number % self.every == 0
    }

    /// Ends the current transaction.
    fn close(&mut self, socket: &Socket) {
        let Some(mut open) = self.open.take() else {
            return;
        };
        self.take_departures(&mut open, socket);
        let silent = |open: &Stamp| open.device.is_some_and(|device| device.sent == 0);
        if silent(&open) && self.misses < MISSES {
            // The device's timestamp arrives later, in the error queue.
            let since = now();
            let most = u64::try_from(DEVICE_SAYS.as_nanos()).unwrap_or(0);
            while silent(&open) && now().saturating_sub(since) < most {
                until_error(socket.as_fd(), DEVICE_SAYS);
                self.take_departures(&mut open, socket);
            }
            self.misses = if silent(&open) { self.misses + 1 } else { 0 };
        }
        let whole = open
            .device
            .is_none_or(|device| device.sent > 0 && device.arrived > 0);
        if whole && open.sent > 0 && open.arrived > 0 && open.sending > 0 && open.received > 0 {
            self.each.push(open);
        } else {
            self.incomplete += 1;
        }
    }

    /// Reads the transmit timestamps that are there before the response: as long as the error
    /// queue has one, epoll(7) reports the socket.
    #[cold]
    fn take_early(&mut self, socket: &Socket) {
        if let Some(mut open) = self.open.take() {
            self.take_departures(&mut open, socket);
            self.open = Some(open);
        }
    }

    /// Reads the transmit timestamps in the error queue. An unreadable timestamp counts as
    /// missing.
    fn take_departures(&self, open: &mut Stamp, socket: &Socket) {
        while let Ok(Some(tx_stamp)) = stamps::tx_stamp(socket.as_fd()) {
            let TxStamp {
                id,
                nanos,
                by_device,
            } = tx_stamp;
            if id != self.id {
                continue;
            }
            match &mut open.device {
                Some(device) if by_device => device.sent = nanos,
                Some(_) | None => open.sent = nanos,
            }
        }
    }

    fn finish(&mut self, socket: &Socket) -> Stamps {
        self.close(socket);
        Stamps {
            every: self.every,
            incomplete: self.incomplete,
            numbered: false,
            each: std::mem::take(&mut self.each),
        }
    }
}
