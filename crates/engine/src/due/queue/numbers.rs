//! Responses matched by the numbers of their requests.

use super::in_flight::{DueRequest, NONE, NumberMark, cycle, nearest};
use super::{DueQueue, index};

/// A request counts as lost when responses to requests with numbers so much higher have come.
const REACH: u64 = 128;

impl DueQueue {
    /// Matches responses by numbers of so many bytes.
    pub(crate) fn number(&mut self, bytes: Option<u8>) {
        self.numbers = bytes.map(usize::from);
        self.account.lost = bytes.map(|_| 0);
    }

    /// Writes the number of the next request of a flow.
    #[inline]
    pub(crate) fn write_number(&mut self, flow: usize, request: &mut [u8]) {
        let Some((bytes, own)) = self.numbers.zip(self.flows.get_mut(flow)) else {
            return;
        };
        if matches!(own.mark, NumberMark::Wanted(from) if from <= own.next) {
            own.next += cycle(bytes) / 2;
            own.mark = NumberMark::At(own.next);
            let in_flight = own.next.saturating_sub(own.expected);
            own.seen_within = (in_flight + 2 * cycle(bytes)) << own.failed.min(16);
        }
        let number = own.next.to_le_bytes();
        if let Some((head, number)) = request.get_mut(..bytes).zip(number.get(..bytes)) {
            head.copy_from_slice(number);
        }
    }

    /// Takes the request with the number whose lowest bytes are in a response.
    pub(super) fn take_number(
        &mut self,
        flow: usize,
        lowest: &[u8],
        now: u64,
    ) -> Option<DueRequest> {
        let own = self.flows.get_mut(flow)?;
        if let NumberMark::At(step) = own.mark {
            own.look_for(step, lowest);
        }
        let near = nearest(own.expected, lowest);
        own.heard = near;
        // More requests in flight may have these bytes.
        let ambiguous = own.next.wrapping_sub(near) > cycle(lowest.len());
        let number = if ambiguous && near != own.expected {
            self.resolve(flow, lowest, now)?
        } else {
            near
        };
        let own = self.flows.get_mut(flow)?;
        let (mut before, mut place) = (NONE, own.oldest);
        let request = loop {
            let request = *self.slots.get(index(place))?;
            if request.number > number {
                if ambiguous && own.mark == NumberMark::None {
                    own.doubt();
                }
                return None;
            }
            if request.number == number {
                break request;
            }
            before = std::mem::replace(&mut place, request.next);
        };
        own.answered(&request, (ambiguous, cycle(lowest.len())), now);
        if own.latest == place {
            own.latest = before;
        }
        match self.slots.get_mut(index(before)) {
            Some(before) => before.next = request.next,
            None => own.oldest = request.next,
        }
        self.release(place);
        self.give_up_lost(flow);
        Some(request)
    }

    /// The number of the answered request, where more than one in flight has the lowest bytes of
    /// a response that is out of order: that of the one that took about as long as the request
    /// answered before.
    #[cold]
    fn resolve(&mut self, flow: usize, lowest: &[u8], now: u64) -> Option<u64> {
        let own = self.flows.get_mut(flow)?;
        let near = nearest(own.expected, lowest);
        let mut place = own.oldest;
        let alike = loop {
            let request = self.slots.get(index(place))?;
            let is_younger = now.saturating_sub(request.sent) <= own.service;
            if is_younger || request.next == NONE {
                break request.number;
            }
            place = request.next;
        };
        let mut number = nearest(alike, lowest);
        if number >= own.next {
            number = number.wrapping_sub(cycle(lowest.len()));
        }
        if number != near {
            own.expected = number;
            if own.mark == NumberMark::None {
                own.doubt();
            }
        }
        Some(number)
    }

    /// Gives up the requests that are lost.
    #[inline]
    pub(super) fn give_up_lost(&mut self, flow: usize) {
        while self
            .oldest(flow)
            .is_some_and(|(number, expected)| number + REACH < expected)
        {
            self.take(flow);
            self.lose();
        }
    }

    /// Number of the oldest request of a flow in flight, and the number that is expected next.
    pub(super) fn oldest(&self, flow: usize) -> Option<(u64, u64)> {
        let own = self.flows.get(flow)?;
        let oldest = self.slots.get(index(own.oldest))?;
        Some((oldest.number, own.expected))
    }
}
