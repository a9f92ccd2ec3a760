//! The account of requests that are sent at times of their own.

use netperf_measure::latency::{Recording, Watch};
use netperf_model::{Latency, Lateness, Paced};

use crate::due::arrivals::{Arrivals, SECOND};

/// The most requests in flight at the same time. One that is due when there are so many waits
/// until a response has come, and its latency has the wait in it.
pub const MOST_IN_FLIGHT: usize = 65_536;

/// A request in flight, its times in nanoseconds since the beginning.
#[derive(Clone, Copy, Debug, Default)]
struct Request {
    /// When it was due.
    due: u64,
    /// When it was sent.
    sent: u64,
}

/// What was due, sent and answered, and how long that took. It allocates nothing once it is
/// made.
#[derive(Debug)]
pub struct Book {
    /// Requests in flight; responses come in the same order.
    flight: Box<[Request]>,
    oldest: usize,
    in_flight: usize,
    paced: Paced,
    latency: Recording,
    service: Recording,
    lateness: Recording,
}

impl Default for Book {
    fn default() -> Self {
        Self::new()
    }
}

impl Book {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self {
            flight: vec![Request::default(); MOST_IN_FLIGHT].into_boxed_slice(),
            oldest: 0,
            in_flight: 0,
            paced: Paced::default(),
            latency: Recording::new(),
            service: Recording::new(),
            lateness: Recording::new(),
        }
    }

    /// Lets another thread look at the latency.
    #[must_use]
    pub fn watched(&self) -> Watch {
        self.latency.watched()
    }

    /// Requests in flight.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight as u64
    }

    /// Whether one more may be in flight.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.in_flight < MOST_IN_FLIGHT
    }

    /// A request that was due then is sent now.
    #[inline]
    pub(crate) fn sent(&mut self, due: u64, now: u64) {
        let at = (self.oldest + self.in_flight) % MOST_IN_FLIGHT;
        if let Some(slot) = self.flight.get_mut(at) {
            *slot = Request { due, sent: now };
        }
        self.in_flight += 1;
        self.paced.sent += 1;
        self.paced.most_in_flight = self.paced.most_in_flight.max(self.in_flight as u64);
        self.lateness.record_nanos(now.saturating_sub(due));
    }

    /// A request that was due had to wait for room.
    #[inline]
    pub(crate) fn held_back(&mut self) {
        self.paced.held_back += 1;
    }

    /// The response to the oldest request is here; false when there was no such request.
    #[inline]
    pub(crate) fn answered(&mut self, now: u64) -> bool {
        let Some(request) = self.flight.get(self.oldest).filter(|_| self.in_flight > 0) else {
            return false;
        };
        self.latency.record_nanos(now.saturating_sub(request.due));
        self.service.record_nanos(now.saturating_sub(request.sent));
        self.oldest = (self.oldest + 1) % MOST_IN_FLIGHT;
        self.in_flight -= 1;
        true
    }

    /// When the oldest request in flight was sent.
    #[inline]
    pub(crate) fn oldest_sent(&self) -> Option<u64> {
        let oldest = self.flight.get(self.oldest)?;
        (self.in_flight > 0).then_some(oldest.sent)
    }

    /// What is in flight will not be answered any more.
    pub(crate) fn forget(&mut self) {
        self.paced.unanswered += self.in_flight as u64;
        self.oldest = (self.oldest + self.in_flight) % MOST_IN_FLIGHT;
        self.in_flight = 0;
    }

    /// No more requests are sent from now on.
    pub(crate) fn close(&mut self, now: u64, arrivals: &Arrivals) {
        self.paced.due = self.paced.sent + arrivals.missed(now);
        #[expect(clippy::cast_precision_loss, reason = "2^53 ns are three months")]
        let seconds = now as f64 / SECOND;
        self.paced.seconds = seconds;
    }

    /// How long responses took from when their requests were due, and the rest of the account.
    #[must_use]
    pub fn balance(mut self) -> (Latency, Paced) {
        self.forget();
        let paced = Paced {
            lateness: Lateness::Whole(self.lateness.latency()),
            service: Some(self.service.latency()),
            ..self.paced
        };
        (self.latency.latency(), paced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_from_the_account() {
        let mut book = Book::new();
        for at in 0..MOST_IN_FLIGHT as u64 {
            assert!(book.has_room());
            book.sent(at, at + 5);
        }
        assert!(!book.has_room());
        assert!(book.answered(100));
        assert!(book.answered(100));
        book.sent(0, 7);
        let (latency, paced) = book.balance();
        let sent = MOST_IN_FLIGHT as u64 + 1;
        assert_eq!(
            (paced.sent, latency.count, paced.unanswered),
            (sent, 2, sent - 2)
        );
        assert_eq!((latency.min, latency.max), (99, 100));
        assert_eq!(
            paced.service.map(|service| (service.min, service.max)),
            Some((94, 95))
        );
        assert_eq!(paced.most_in_flight, MOST_IN_FLIGHT as u64);
    }

    #[test]
    fn a_response_to_nothing_counts_for_nothing() {
        let mut book = Book::new();
        assert!(!book.answered(1));
        book.sent(0, 0);
        book.forget();
        assert!(!book.answered(1));
        assert_eq!(book.balance().0.count, 0);
    }
}
