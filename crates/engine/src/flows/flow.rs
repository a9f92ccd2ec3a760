//! The state of one flow. Ten thousand of them must stay small.

use netperf_measure::clock::{self, Moment};
use netperf_model::{FlowCounts, Quality};
use netperf_transport::Endpoint;
use netperf_transport::meeting::OnSocket;

use crate::sequence::NumberTrack;

/// An endpoint with a socket.
pub(super) trait FlowEndpoint: Endpoint + OnSocket {}

impl<E: Endpoint + OnSocket> FlowEndpoint for E {}

/// One flow of a worker.
#[derive(Debug)]
pub(super) struct FlowState<E, M> {
    pub(super) endpoint: E,
    /// Bytes of the message under way that were sent.
    pub(super) sent: usize,
    /// Bytes of the message under way that have come.
    pub(super) got: usize,
    /// Units that may still be begun: bytes or transactions.
    pub(super) left: u64,
    /// Requests without a response.
    pub(super) in_flight: usize,
    /// A message could not be sent whole.
    pub(super) blocked: bool,
    /// It waits for its turn, which comes at a fixed time.
    pub(super) parked: bool,
    /// Nothing more happens on it.
    pub(super) over: bool,
    /// The other end was told that there is no more to send, or needs no telling.
    pub(super) told: bool,
    /// The other end has told that there is no more to come.
    pub(super) heard: bool,
    /// Datagrams sent with a number.
    pub(super) numbered: u64,
    /// Account of the numbers that arrive.
    pub(super) track: Option<Box<NumberTrack>>,
    /// When the last request went out, where responses may be lost.
    pub(super) asked_at: Moment,
    /// When the requests in flight went out, in a ring.
    marks: Box<[M]>,
    /// The place of the oldest of them.
    oldest: usize,
    pub(super) counts: FlowCounts,
    /// Counts when the run began to count.
    pub(super) before: FlowCounts,
    /// Counts in the counted part of the run.
    pub(super) within: FlowCounts,
    /// Counts at the end of the time, where later ones may not count.
    pub(super) at_end: FlowCounts,
}

impl<E, M: Copy> FlowState<E, M> {
    /// Makes a flow for this many requests in flight.
    pub(super) fn new(endpoint: E, left: u64, in_flight: usize, mark: M) -> Self {
        Self {
            endpoint,
            sent: 0,
            got: 0,
            left,
            in_flight: 0,
            blocked: false,
            parked: false,
            over: false,
            told: false,
            heard: false,
            asked_at: clock::now(),
            numbered: 0,
            track: None,
            marks: vec![mark; in_flight].into_boxed_slice(),
            oldest: 0,
            counts: FlowCounts::default(),
            before: FlowCounts::default(),
            within: FlowCounts::default(),
            at_end: FlowCounts::default(),
        }
    }

    /// A flow that only receives, and has nothing to tell the other end.
    pub(super) fn that_receives(endpoint: E, mark: M) -> Self {
        Self {
            told: true,
            ..Self::new(endpoint, 0, 0, mark)
        }
    }

    /// A flow that only sends, and hears nothing of the other end.
    pub(super) fn that_sends(self) -> Self {
        Self {
            heard: true,
            ..self
        }
    }

    /// Loss, order and delay of the datagrams of this flow.
    pub(super) fn quality(&self) -> Quality {
        let track = self.track.as_ref();
        Quality {
            sent: self.numbered,
            ended: self.heard,
            ..track.map(|track| track.quality()).unwrap_or_default()
        }
    }

    /// A request goes out now.
    #[inline]
    pub(super) fn asked(&mut self, mark: M) {
        let space = self.marks.len();
        let mut at = self.oldest + self.in_flight;
        if at >= space {
            at -= space;
        }
        if let Some(slot) = self.marks.get_mut(at) {
            *slot = mark;
        }
    }

    /// Gives up the requests in flight; others take their place.
    pub(super) fn forget(&mut self) {
        self.left = self.left.saturating_add(self.in_flight as u64);
        self.in_flight = 0;
    }

    /// The oldest request is answered: when it went out.
    #[inline]
    pub(super) fn answered(&mut self) -> Option<M> {
        let mark = self.marks.get(self.oldest).copied();
        self.in_flight -= 1;
        self.oldest = if self.oldest + 1 == self.marks.len() {
            0
        } else {
            self.oldest + 1
        };
        mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_matched_with_requests_in_order() {
        let mut flow = FlowState::new((), u64::MAX, 2, 0);
        for round in [1, 3, 5] {
            for number in [round, round + 1] {
                flow.asked(number);
                flow.in_flight += 1;
            }
            assert_eq!(flow.answered(), Some(round));
            assert_eq!(flow.answered(), Some(round + 1));
        }
    }

    #[test]
    fn a_flow_is_small() {
        assert!(
            size_of::<FlowState<netperf_transport::tcp::Tcp, netperf_measure::clock::Moment>>()
                <= 256
        );
    }
}
