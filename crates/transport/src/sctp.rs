//! SCTP: one association per socket, or many on one socket (RFC 9260, RFC 6458).

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_model::{Family, SocketPlan, TransportId};
use netperf_os::io::{self as calls, Source};
use netperf_os::sctp::{self, AssociationChange, AssociationId, MessagePart, NOTIFICATION_LEN};
use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait::{self, Deadline, Interest};
use netperf_os::{SockAddr, Socket, alarm};

use crate::endpoint::{Endpoint, Received, Sent, received, stream_sent};
use crate::meeting::{
    self, AcceptFilter, Addresses, Connects, GiveUp, Met, Parted, Parting, Parts,
};
use crate::non_blocking::Unblock;
use crate::registry::Asked;
use crate::socket::{self, SocketFacts};
use crate::tcp::Tcp;

/// Time limit for establishing an association.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Time limit for ending all associations.
const PART_WITHIN: Duration = SLICE.saturating_mul(MOST_SLICES);
/// Interval of silence after the first association has ended.
const SLICE: Duration = Duration::from_millis(100);
/// Number of silent intervals after which the remaining associations count as ended: longer
/// than the shortest retransmission time-out (RTO.Min, RFC 9260 section 16).
const SLICES: u32 = 15;
/// The same where data is known to be missing: as long as netperf waits for the ends. The
/// time-out doubles when a retransmission is lost, too (RFC 9260 section 6.3.3).
const MOST_SLICES: u32 = 60;

/// One association per socket. A message may arrive in parts, but a receive never returns parts
/// of two messages.
#[derive(Clone, Copy, Debug)]
pub struct Sctp;

impl Connects for Sctp {
    type Endpoint = Tcp;

    const PARTING: Parting = Parting::Shutdown;

    fn connect(&self, socket: Socket, to: &SockAddr, give_up: GiveUp<'_>) -> io::Result<Met<Tcp>> {
        meeting::connect(&socket, to, give_up)?.and_then(|()| Ok(Met::Connected(Tcp(socket))))
    }

    fn accept(&self, gate: AcceptFilter<'_>, give_up: GiveUp<'_>) -> io::Result<Met<Tcp>> {
        meeting::accept(gate, give_up)?.and_then(|socket| Ok(Met::Connected(Tcp(socket))))
    }
}

impl Unblock for Tcp {
    fn unblock(&self) -> io::Result<()> {
        self.0.set_nonblocking(true)
    }
}

/// SCTP's information about an association; without one, only the buffer sizes.
pub(crate) fn facts(socket: &Socket, association: AssociationId) -> SocketFacts {
    let (send_buffer, recv_buffer) = socket::buffers(socket);
    let fd = socket.as_fd();
    let status = sctp::status(fd, association).ok();
    SocketFacts {
        send_buffer,
        recv_buffer,
        retransmissions: sctp::retransmissions(fd, association)
            .ok()
            .map(|chunks| u32::try_from(chunks).unwrap_or(u32::MAX)),
        round_trip: status.and_then(|status| status.round_trip),
        segment_size: status.map(|status| status.fragmentation_point),
        ..SocketFacts::default()
    }
}

/// Many associations: netperf opens one socket for each, and netserver has all of them on one
/// socket.
#[derive(Clone, Debug)]
pub struct SctpMany {
    plan: SocketPlan,
    associations: u32,
    exchange: bool,
}

impl SctpMany {
    /// Creates the transport. Further sockets get the options of the first.
    #[must_use]
    pub fn new(asked: Asked<'_>) -> Self {
        Self {
            plan: asked.socket.clone(),
            associations: asked.associations.max(1),
            exchange: asked.exchange,
        }
    }

    /// Opens another socket like the first, on the same local host address.
    fn another(&self, first: &Socket) -> io::Result<Socket> {
        let local = first.local_addr()?.as_socket();
        let v6 = local.is_some_and(|local| local.is_ipv6());
        let family = if v6 { Family::V6 } else { Family::V4 };
        let socket = socket::open_again(TransportId::SctpMany, family, &self.plan)?;
        if let Some(mut local) = local.filter(|local| !local.ip().is_unspecified()) {
            local.set_port(0);
            socket::bind(&socket, local)?;
        }
        Ok(socket)
    }
}

impl Addresses for SctpMany {
    type Asking = SctpRequester;
    type Answering = SctpResponder;

    fn asking(&self, socket: Socket, to: SockAddr) -> io::Result<SctpRequester> {
        let mut others = Vec::new();
        for _ in 1..self.associations {
            others.push(self.another(&socket)?);
        }
        let ends = std::iter::once(socket)
            .chain(others)
            .map(|socket| SctpEnd::connect(socket, &to))
            .collect::<io::Result<_>>()?;
        Ok(SctpRequester {
            ends,
            asks: Turn::default(),
            hears: Turn::default(),
        })
    }

    fn answering(&self, socket: Socket) -> io::Result<SctpResponder> {
        sctp::notify_of_changes(socket.as_fd())?;
        // Delivers messages of other associations while a long message arrives in parts.
        // Otherwise they would fill the shared receive buffer and leave no space for the rest of
        // the long message.
        sockopt::set(socket.as_fd(), IntOption::SctpFragmentInterleave, 1)?;
        Ok(SctpResponder {
            socket,
            source: Source::unknown(),
            notice: SctpNotification::default(),
            whole: self.exchange,
            begun: PartialMessage::new(),
            expected: self.associations,
            up: 0,
            over: 0,
            silent: 0,
        })
    }
}

/// Reassembles a notification, because the message buffer may be too short for it.
#[derive(Debug, Default)]
struct SctpNotification {
    bytes: [u8; NOTIFICATION_LEN],
    len: usize,
}

impl SctpNotification {
    /// Adds a part. Returns the association change once the notification is complete.
    fn take(&mut self, bytes: &[u8], is_last: bool) -> AssociationChange {
        let count = bytes.len().min(NOTIFICATION_LEN - self.len);
        self.bytes[self.len..self.len + count].copy_from_slice(&bytes[..count]);
        self.len += count;
        if !is_last {
            return AssociationChange::Nothing;
        }
        let whole = &self.bytes[..std::mem::take(&mut self.len)];
        AssociationChange::of(whole)
    }
}

/// Part of a message that may be a notification.
fn part_of(part: MessagePart, buf: &[u8]) -> Option<&[u8]> {
    part.is_notification()
        .then(|| buf.get(..part.count).unwrap_or(buf))
}

/// A socket with the one association that netperf opened on it.
#[derive(Debug)]
struct SctpEnd {
    socket: Socket,
    association: AssociationId,
    segment_size: Option<u32>,
    source: Source,
    notice: SctpNotification,
    over: bool,
}

impl SctpEnd {
    fn connect(socket: Socket, to: &SockAddr) -> io::Result<Self> {
        sctp::notify_of_changes(socket.as_fd())?;
        connect(&socket, to)?;
        let association = sctp::only_association(socket.as_fd())?;
        let status = sctp::status(socket.as_fd(), association).ok();
        Ok(Self {
            socket,
            association,
            segment_size: status.map(|status| status.fragmentation_point),
            source: Source::unknown(),
            notice: SctpNotification::default(),
            over: false,
        })
    }

    /// Returns true if the association ended before the deadline.
    fn is_over_by(&mut self, deadline: &Deadline) -> io::Result<bool> {
        let mut scrap = [0; 65_536];
        while !self.over {
            if !deadline.ready(self.socket.as_fd(), Interest::Read)? {
                return Ok(false);
            }
            match sctp::recv(self.socket.as_fd(), &mut scrap, &mut self.source) {
                Ok(part) => self.notice_of(part, &scrap),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    #[cold]
    fn notice_of(&mut self, part: MessagePart, buf: &[u8]) {
        if let Some(bytes) = part_of(part, buf) {
            self.over |= self.notice.take(bytes, part.is_last()) == AssociationChange::Over;
        }
    }
}

/// connect(2) on a one-to-many socket. An interrupted connect continues in the background; the
/// call is repeated to get its result. The association may already be established by then.
fn connect(socket: &Socket, to: &SockAddr) -> io::Result<()> {
    const ASK_EVERY: Duration = Duration::from_millis(5);
    let deadline = Deadline::after(CONNECT_WITHIN);
    loop {
        let error = match socket.connect(to) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if calls::is_connected_already(&error) {
            return Ok(());
        }
        let under_way = error.kind() == io::ErrorKind::Interrupted || calls::is_under_way(&error);
        if !under_way {
            return Err(error);
        }
        if deadline.left().is_zero() || alarm::phase() != alarm::Phase::Running {
            return Err(io::ErrorKind::TimedOut.into());
        }
        wait::sleep(ASK_EVERY);
    }
}

/// Round-robin position.
#[derive(Debug, Default)]
struct Turn {
    index: usize,
    count: u64,
}

impl Turn {
    #[inline]
    fn next(&mut self, of: usize) {
        self.count += 1;
        self.index += 1;
        if self.index >= of {
            self.index = 0;
        }
    }
}

/// netperf's end. Requests go to the associations in turn.
#[derive(Debug)]
pub struct SctpRequester {
    ends: Vec<SctpEnd>,
    asks: Turn,
    hears: Turn,
}

impl Endpoint for SctpRequester {
    // Long messages arrive in parts.
    const KEEPS_BOUNDARIES: bool = false;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        let end = &self.ends[self.asks.index];
        let sent = stream_sent(sctp::send(end.socket.as_fd(), buf, end.association))?;
        if let Sent::Bytes(_) = sent {
            self.asks.next(self.ends.len());
        }
        Ok(sent)
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        loop {
            let end = &mut self.ends[self.hears.index];
            let part = match sctp::recv(end.socket.as_fd(), buf, &mut end.source) {
                Ok(part) => part,
                Err(error) => return received(Err(error)),
            };
            if part.is_notification() {
                end.notice_of(part, buf);
                if end.over {
                    return Ok(Received::End);
                }
                continue;
            }
            // In a test without requests only one association sends.
            if part.is_last() && self.hears.count < self.asks.count {
                self.hears.next(self.ends.len());
            }
            return received(Ok(part.count));
        }
    }
}

impl Parts for SctpRequester {
    /// Ends every association and waits until each has ended, so that all data has arrived.
    fn part(mut self) -> Parted {
        for end in self.ends.iter().filter(|end| !end.over) {
            // An error means that the association is gone, or that its queue is full; closing
            // then ends it.
            let _gone = sctp::end(end.socket.as_fd(), end.association);
        }
        let deadline = Deadline::after(PART_WITHIN);
        for end in &mut self.ends {
            if !matches!(end.is_over_by(&deadline), Ok(true)) {
                break;
            }
        }
        Parted::Done
    }

    fn facts(&self) -> Option<SocketFacts> {
        let mut all = self.ends.iter();
        let first = all.next()?;
        let mut sum = facts(&first.socket, first.association);
        // The kernel has no information about an association that has ended.
        sum.segment_size = sum.segment_size.or(first.segment_size);
        for end in all {
            let more = facts(&end.socket, end.association).retransmissions;
            sum.retransmissions = sum
                .retransmissions
                .zip(more)
                .map(|(sum, more)| sum.saturating_add(more));
        }
        Some(sum)
    }
}

impl Unblock for SctpRequester {
    fn unblock(&self) -> io::Result<()> {
        self.ends
            .iter()
            .try_for_each(|end| end.socket.set_nonblocking(true))
    }
}

/// Partly received messages. Parts of several associations may be interleaved.
#[derive(Debug)]
struct PartialMessage {
    /// One more than the bytes received so far, by remote port of the association; 0 where no
    /// message has begun.
    parts: Vec<usize>,
    /// Messages that have begun.
    begun: usize,
    /// Buffer for the rest of a request.
    scrap: Vec<u8>,
}

impl PartialMessage {
    fn new() -> Self {
        Self {
            parts: vec![0; usize::from(u16::MAX) + 1],
            begun: 0,
            scrap: vec![0; 65_536],
        }
    }

    /// Returns true if no message has begun without its end.
    fn is_empty(&self) -> bool {
        self.begun == 0
    }

    /// Adds a part. Returns the length of the message if this part ends it.
    fn take(&mut self, port: u16, count: usize, is_last: bool) -> Option<usize> {
        let part = &mut self.parts[usize::from(port)];
        let known = *part > 0;
        if is_last {
            self.begun -= usize::from(known);
            return Some(std::mem::take(part).saturating_sub(1) + count);
        }
        self.begun += usize::from(!known);
        *part = (*part).max(1) + count;
        None
    }
}

/// Number of silent intervals that count as the end, after so many associations have ended.
fn patience(over: u32, begun: &PartialMessage) -> u32 {
    if over > 1 || !begun.is_empty() {
        MOST_SLICES
    } else {
        SLICES
    }
}

/// netserver's end: answers every request until all associations have ended.
///
/// The original netperf ends only the first association and keeps the others open. After the
/// first end, silence on the others therefore counts as their end, unless a message has begun or
/// a second association has ended: then the others end, too.
#[derive(Debug)]
pub struct SctpResponder {
    socket: Socket,
    source: Source,
    notice: SctpNotification,
    /// Set if every message is a request, which is received whole.
    whole: bool,
    begun: PartialMessage,
    expected: u32,
    up: u32,
    over: u32,
    /// Consecutive silent intervals since the first association ended.
    silent: u32,
}

impl SctpResponder {
    /// Receives the next part of a message, or another event.
    #[inline]
    fn next(&mut self, buf: &mut [u8]) -> io::Result<Result<MessagePart, Received>> {
        loop {
            match sctp::recv(self.socket.as_fd(), buf, &mut self.source) {
                Ok(part) if part.is_notification() => {
                    if self.is_over_with(part, buf)? {
                        return Ok(Err(Received::End));
                    }
                }
                Ok(part) => {
                    self.silent = 0;
                    return Ok(Ok(part));
                }
                Err(error) => {
                    if let Some(outcome) = self.failed(error)? {
                        return Ok(Err(outcome));
                    }
                }
            }
        }
    }

    /// Receives until a request is complete.
    #[cold]
    fn rest(&mut self) -> io::Result<Result<usize, Received>> {
        let mut scrap = std::mem::take(&mut self.begun.scrap);
        let rest = loop {
            match self.next(&mut scrap) {
                Ok(Ok(part)) => {
                    if let Some(count) = self.add(part) {
                        break Ok(Ok(count));
                    }
                }
                Ok(Err(outcome)) => break Ok(Err(outcome)),
                Err(error) => break Err(error),
            }
        };
        self.begun.scrap = scrap;
        rest
    }

    /// Adds a part. Returns the length of the message if this part ends it.
    #[inline]
    fn add(&mut self, part: MessagePart) -> Option<usize> {
        let port = self.source.port();
        self.begun.take(port, part.count, part.is_last())
    }

    /// Handles a notification. Returns true if the last association has ended.
    #[cold]
    fn is_over_with(&mut self, part: MessagePart, buf: &[u8]) -> io::Result<bool> {
        let Some(bytes) = part_of(part, buf) else {
            return Ok(false);
        };
        match self.notice.take(bytes, part.is_last()) {
            AssociationChange::Up => self.up += 1,
            AssociationChange::Over => self.over += 1,
            AssociationChange::Nothing => return Ok(false),
        }
        if self.over == 1 {
            // From now on the socket blocks, with a time-out that detects silence.
            self.socket.set_nonblocking(false)?;
            self.socket.set_read_timeout(Some(SLICE))?;
        }
        Ok(self.over > 0 && self.over >= self.up.max(self.expected))
    }

    #[cold]
    fn failed(&mut self, error: io::Error) -> io::Result<Option<Received>> {
        let outcome = received(Err(error))?;
        if outcome != Received::TimedOut || self.over == 0 {
            return Ok(Some(outcome));
        }
        self.silent += 1;
        Ok(self.is_silent().then_some(Received::End))
    }

    /// Returns true if the silence counts as the end of the remaining associations.
    fn is_silent(&self) -> bool {
        self.silent >= patience(self.over, &self.begun)
    }
}

impl Endpoint for SctpResponder {
    // Long messages arrive in parts, except requests.
    const KEEPS_BOUNDARIES: bool = false;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        stream_sent(calls::send_back(self.socket.as_fd(), buf, &self.source))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let part = match self.next(buf)? {
            Ok(part) => part,
            Err(outcome) => return Ok(outcome),
        };
        let whole = self.add(part);
        if !self.whole {
            return received(Ok(part.count));
        }
        let count = match whole {
            Some(count) => count,
            None => match self.rest()? {
                Ok(count) => count,
                Err(outcome) => return Ok(outcome),
            },
        };
        // A request longer than the buffer counts with the buffer's length: the end-of-record
        // flag ends it, not its length.
        received(Ok(count.min(buf.len())))
    }
}

impl Parts for SctpResponder {
    /// Closing the socket ends all remaining associations.
    fn part(self) -> Parted {
        Parted::Done
    }

    fn waited_in_vain(&self) -> Duration {
        if self.over > 0 && self.is_silent() {
            SLICE * self.silent
        } else {
            Duration::ZERO
        }
    }
}

impl Unblock for SctpResponder {
    fn unblock(&self) -> io::Result<()> {
        self.socket.set_nonblocking(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_that_comes_byte_by_byte_is_read_when_it_is_whole() {
        let mut notice = SctpNotification::default();
        let mut bytes = [0_u8; NOTIFICATION_LEN];
        bytes[..2].copy_from_slice(&0x8001_u16.to_ne_bytes());
        for _ in 0..2 {
            for (index, byte) in bytes.iter().enumerate() {
                let is_last = index + 1 == bytes.len();
                let expected = if is_last {
                    AssociationChange::Up
                } else {
                    AssociationChange::Nothing
                };
                assert_eq!(notice.take(&[*byte], is_last), expected);
            }
        }
    }

    #[test]
    fn a_notification_longer_than_any_that_matters_does_no_harm() {
        let mut notice = SctpNotification::default();
        assert_eq!(notice.take(&[7; 300], false), AssociationChange::Nothing);
        assert_eq!(notice.take(&[7; 300], true), AssociationChange::Nothing);
        assert_eq!(notice.len, 0);
    }

    #[test]
    fn requests_that_arrive_mixed_are_put_together_each_for_itself() {
        let mut begun = PartialMessage::new();
        assert_eq!(begun.take(1, 100, false), None);
        assert_eq!(begun.take(2, 50, true), Some(50));
        assert_eq!(begun.take(2, 10, false), None);
        assert_eq!(begun.take(1, 100, false), None);
        assert_eq!(begun.take(1, 5, true), Some(205));
        assert_eq!(begun.take(2, 1, true), Some(11));
        assert!(begun.is_empty());
    }

    #[test]
    fn silence_is_no_end_while_data_is_known_to_be_missing() {
        let mut begun = PartialMessage::new();
        assert_eq!(patience(1, &begun), SLICES);
        begun.take(1, 65_484, false);
        assert_eq!(patience(1, &begun), MOST_SLICES);
        begun.take(1, 52, true);
        assert_eq!(patience(1, &begun), SLICES);
        assert_eq!(patience(2, &begun), MOST_SLICES);
    }

    #[test]
    fn turns_go_round() {
        let mut turn = Turn::default();
        let seen: Vec<usize> = (0..5)
            .map(|_| {
                let index = turn.index;
                turn.next(3);
                index
            })
            .collect();
        assert_eq!(seen, [0, 1, 2, 0, 1]);
    }
}
