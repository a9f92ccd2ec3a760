//! netperf's end of many associations.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_os::io::{self as calls, Source};
use netperf_os::sctp::{self, AssociationChange, AssociationId, MessagePart};
use netperf_os::wait::{self, Deadline, Interest};
use netperf_os::{SockAddr, Socket, alarm};

use super::notification::{SctpNotification, part_of};
use super::responder::{MOST_SLICES, SLICE};
use crate::endpoint::{Endpoint, Received, Sent, received, stream_sent};
use crate::meeting::{Parted, Parts};
use crate::non_blocking::Unblock;
use crate::socket::{SocketFacts, association_facts};

/// Time limit for establishing an association.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Time limit for ending all associations.
const PART_WITHIN: Duration = SLICE.saturating_mul(MOST_SLICES);

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

impl SctpRequester {
    /// Opens an association on each socket.
    pub(super) fn connect(
        sockets: impl Iterator<Item = Socket>,
        to: &SockAddr,
    ) -> io::Result<Self> {
        let ends = sockets
            .map(|socket| SctpEnd::connect(socket, to))
            .collect::<io::Result<_>>()?;
        Ok(Self {
            ends,
            asks: Turn::default(),
            hears: Turn::default(),
        })
    }
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
        let mut sum = association_facts(&first.socket, first.association);
        // The kernel has no information about an association that has ended.
        sum.segment_size = sum.segment_size.or(first.segment_size);
        for end in all {
            let more = association_facts(&end.socket, end.association).retransmissions;
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

#[cfg(test)]
mod tests {
    use super::*;

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
