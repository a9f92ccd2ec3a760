//! netserver's end of many associations.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_os::Socket;
use netperf_os::io::{self as calls, Source};
use netperf_os::sctp::{self, AssociationChange, MessagePart};

use super::notification::{SctpNotification, part_of};
use crate::endpoint::{Endpoint, Received, Sent, received, stream_sent};
use crate::meeting::{Parted, Parts};
use crate::non_blocking::Unblock;

/// Interval of silence after the first association has ended.
pub(super) const SLICE: Duration = Duration::from_millis(100);
/// Number of silent intervals after which the remaining associations count as ended: longer
/// than the shortest retransmission time-out (RTO.Min, RFC 9260 section 16).
const SLICES: u32 = 15;
/// The same where data is known to be missing: as long as netperf waits for the ends. The
/// time-out doubles when a retransmission is lost, too (RFC 9260 section 6.3.3).
pub(super) const MOST_SLICES: u32 = 60;

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
    /// Expects so many associations. With `whole`, every message is a request.
    pub(super) fn new(socket: Socket, expected: u32, whole: bool) -> Self {
        Self {
            socket,
            source: Source::unknown(),
            notice: SctpNotification::default(),
            whole,
            begun: PartialMessage::new(),
            expected,
            up: 0,
            over: 0,
            silent: 0,
        }
    }

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
}
