//! When the requests of a thread's flows are due, and what became of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_measure::latency::Recording;
use netperf_model::{Latency, Lateness, Paced, RatePlan};

use crate::due::arrivals::{Arrivals, SECOND};
use crate::due::book::MOST_IN_FLIGHT;
use crate::due::rate::AHEAD;
use crate::live::Live;

/// How soon a full queue that nothing tells of is tried again, nanoseconds.
pub(crate) const AGAIN: u64 = 50_000;

/// No request.
const NOBODY: u32 = u32::MAX;

/// A request in flight, its times in nanoseconds since the beginning.
#[derive(Clone, Copy, Debug)]
struct Request {
    due: u64,
    sent: u64,
    /// The next one of the same flow, or the next place that is free.
    next: u32,
}

/// What a flow has in flight, in the order in which it was sent.
#[derive(Clone, Copy, Debug)]
struct Queue {
    oldest: u32,
    latest: u32,
}

const EMPTY: Queue = Queue {
    oldest: NOBODY,
    latest: NOBODY,
};

/// The requests of a thread: each flow's are due at times of their own. Once it is made it
/// allocates nothing.
#[derive(Debug)]
pub(crate) struct DueQueue {
    began: Moment,
    /// Of each flow, or a single one for all.
    arrivals: Box<[Arrivals]>,
    /// When each of those is to be looked at next.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    flight: Box<[Request]>,
    free: u32,
    queues: Box<[Queue]>,
    in_flight: usize,
    /// Arrivals that have not come to their end.
    open: usize,
    /// When no more was sent.
    closed: Option<u64>,
    account: Paced,
    latency: Recording,
    service: Recording,
    lateness: Recording,
}

impl DueQueue {
    /// For this many flows, each with one of the given arrivals; where all share a single
    /// one, that is the first.
    pub(crate) fn new(arrivals: Vec<Arrivals>, flows: usize) -> Self {
        let last = MOST_IN_FLIGHT - 1;
        let place = |index: usize| Request {
            due: 0,
            sent: 0,
            next: if index == last {
                NOBODY
            } else {
                small(index) + 1
            },
        };
        Self {
            began: clock::now(),
            next: BinaryHeap::with_capacity(arrivals.len()),
            open: arrivals.len(),
            arrivals: arrivals.into_boxed_slice(),
            flight: (0..MOST_IN_FLIGHT).map(place).collect(),
            free: 0,
            queues: vec![EMPTY; flows].into_boxed_slice(),
            in_flight: 0,
            closed: None,
            account: Paced::default(),
            latency: Recording::new(),
            service: Recording::new(),
            lateness: Recording::new(),
        }
    }

    /// The arrivals of the flows of a thread: those at `thread`, `thread + threads` and so on.
    pub(crate) fn of_flows(rate: &RatePlan, all: u32, thread: u32, threads: u32) -> Vec<Arrivals> {
        let step = usize::try_from(threads.max(1)).unwrap_or(1);
        let mine = (thread..all).step_by(step);
        mine.map(|flow| Arrivals::of_part(rate, flow, all))
            .collect()
    }

    /// Lets others look at the latency.
    pub(crate) fn show(&self, live: Option<&Live>) {
        if let Some(live) = live {
            live.keeps(self.latency.watched());
        }
    }

    /// The first requests are due from now on.
    pub(crate) fn begin(&mut self) {
        netperf_os::wait::sleep_exactly();
        self.began = clock::now();
        let first = self.arrivals.iter().map(Arrivals::next_due);
        let first = first.enumerate().map(|(token, due)| Reverse((due, token)));
        self.next.extend(first);
    }

    /// Nanoseconds since the beginning.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        clock::now().nanos_since(self.began)
    }

    /// An arrival that is due now. It is not looked at again before it was put off.
    #[inline]
    pub(crate) fn due(&mut self, now: u64) -> Option<usize> {
        let Reverse((at, token)) = self.next.peek()?;
        let token = (*at <= now).then_some(*token)?;
        self.next.pop();
        Some(token)
    }

    /// Looks at an arrival again when its next request is due.
    #[inline]
    pub(crate) fn put_off(&mut self, token: usize) {
        if let Some(arrivals) = self.arrivals.get(token) {
            self.next.push(Reverse((arrivals.next_due(), token)));
        }
    }

    /// Looks at an arrival again then, as its request could not be sent.
    #[inline]
    pub(crate) fn put_off_until(&mut self, token: usize, then: u64) {
        self.next.push(Reverse((then, token)));
    }

    /// Whether anything is due now.
    #[inline]
    pub(crate) fn is_due(&self, now: u64) -> bool {
        self.next.peek().is_some_and(|Reverse((at, _))| *at <= now)
    }

    /// All that an arrival has to send was sent.
    pub(crate) fn retire(&mut self, token: usize) {
        if let Some(arrivals) = self.arrivals.get_mut(token) {
            arrivals.end();
        }
        self.open = self.open.saturating_sub(1);
        if self.open == 0 {
            self.close();
        }
    }

    /// How long to wait at most: the last of the time until something is due is waited for
    /// awake.
    #[inline]
    pub(crate) fn wait(&self, now: u64) -> Option<Duration> {
        let Reverse((at, _)) = self.next.peek()?;
        let left = at.saturating_sub(now).saturating_sub(AHEAD);
        Some(Duration::from_nanos(left))
    }

    /// Whether one more may be in flight.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.free != NOBODY
    }

    /// Whether a flow has any in flight.
    #[inline]
    pub(crate) fn has_in_flight(&self, flow: usize) -> bool {
        self.queues
            .get(flow)
            .is_some_and(|queue| queue.oldest != NOBODY)
    }

    /// How many are in flight.
    #[inline]
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// A request that is due had to wait for room.
    #[inline]
    pub(crate) fn held_back(&mut self) {
        self.account.held_back += 1;
    }

    /// The request of an arrival goes out now, on a flow.
    #[inline]
    pub(crate) fn sent(&mut self, arrival: usize, flow: usize, now: u64, counts: bool) {
        let Some(arrivals) = self.arrivals.get_mut(arrival) else {
            return;
        };
        let due = arrivals.next_due();
        arrivals.take();
        self.account.sent += 1;
        if counts {
            self.lateness.record_nanos(now.saturating_sub(due));
        }
        let place = self.free;
        let (Some(request), Some(queue)) =
            (self.flight.get_mut(large(place)), self.queues.get_mut(flow))
        else {
            return;
        };
        self.free = request.next;
        *request = Request {
            due,
            sent: now,
            next: NOBODY,
        };
        let before = std::mem::replace(&mut queue.latest, place);
        match self.flight.get_mut(large(before)) {
            Some(before) => before.next = place,
            None => queue.oldest = place,
        }
        self.in_flight += 1;
        let most = &mut self.account.most_in_flight;
        *most = (*most).max(self.in_flight as u64);
    }

    /// The oldest request of a flow is over; false when there was none. `counts` says
    /// whether its times are kept.
    #[inline]
    pub(crate) fn answered(&mut self, flow: usize, now: u64, counts: bool) -> bool {
        let Some(request) = self.take(flow) else {
            return false;
        };
        if counts {
            self.latency.record_nanos(now.saturating_sub(request.due));
            self.service.record_nanos(now.saturating_sub(request.sent));
        }
        true
    }

    /// What a flow has in flight will not be answered any more.
    #[cold]
    pub(crate) fn forget(&mut self, flow: usize) {
        while self.take(flow).is_some() {
            self.account.unanswered += 1;
        }
    }

    #[inline]
    fn take(&mut self, flow: usize) -> Option<Request> {
        let queue = self.queues.get_mut(flow)?;
        let place = queue.oldest;
        let slot = self.flight.get_mut(large(place))?;
        let request = *slot;
        slot.next = std::mem::replace(&mut self.free, place);
        queue.oldest = request.next;
        if request.next == NOBODY {
            *queue = EMPTY;
        }
        self.in_flight -= 1;
        Some(request)
    }

    /// No more requests are sent from now on.
    pub(crate) fn close(&mut self) {
        let now = self.now();
        if self.closed.is_some() {
            return;
        }
        self.closed = Some(now);
        self.next.clear();
        let missed: u64 = self.arrivals.iter().map(|one| one.missed(now)).sum();
        self.account.due = self.account.sent + missed;
    }

    /// Whether no more requests are sent.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// How long responses took from when their requests were due, and the rest of the account.
    pub(crate) fn balance(mut self) -> (Latency, Paced) {
        self.close();
        #[expect(clippy::cast_precision_loss, reason = "2^53 ns are three months")]
        let seconds = self.closed.unwrap_or_default() as f64 / SECOND;
        let paced = Paced {
            unanswered: self.account.unanswered + self.in_flight as u64,
            seconds,
            lateness: Lateness::Whole(self.lateness.latency()),
            service: Some(self.service.latency()),
            ..self.account
        };
        (self.latency.latency(), paced)
    }
}

/// A place of the flight, which is small.
fn small(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(NOBODY)
}

fn large(place: u32) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_model::{Arrival, RateUnit};

    fn queue(flows: usize) -> DueQueue {
        let rate = RatePlan {
            per_second: 1000.0,
            unit: RateUnit::Transactions,
            arrival: Arrival::Constant,
            seed: None,
        };
        let all = u32::try_from(flows).unwrap();
        DueQueue::new(DueQueue::of_flows(&rate, all, 0, 1), flows)
    }

    #[test]
    fn flows_come_in_the_order_in_which_they_are_due() {
        let mut queue = queue(3);
        queue.begin();
        let mut order = Vec::new();
        for now in [0, 1_000_000, 2_000_000, 3_000_000] {
            while let Some(token) = queue.due(now) {
                order.push(token);
                queue.sent(token, token, now, true);
                queue.put_off(token);
            }
        }
        assert_eq!(order, [0, 1, 2, 0]);
        assert_eq!(queue.in_flight(), 4);
        assert!(queue.wait(3_000_000).unwrap() <= Duration::from_millis(1));
    }

    #[test]
    fn responses_belong_to_the_requests_of_their_flow() {
        let mut queue = queue(2);
        queue.begin();
        queue.sent(0, 0, 5, true);
        queue.sent(1, 1, 1_000_007, true);
        queue.sent(0, 0, 2_000_000, true);
        assert!(queue.answered(1, 1_000_010, true));
        assert!(!queue.answered(1, 1_000_010, true));
        assert!(queue.answered(0, 100, true));
        assert!(queue.answered(0, 2_000_050, false));
        assert!(!queue.answered(0, 3_000_000, true));
        let (latency, paced) = queue.balance();
        assert_eq!((latency.count, latency.min, latency.max), (2, 10, 100));
        assert_eq!(
            (paced.sent, paced.unanswered, paced.most_in_flight),
            (3, 0, 3)
        );
        let service = paced.service.unwrap();
        assert_eq!((service.min, service.max), (3, 95));
    }

    #[test]
    fn places_are_used_again_and_nothing_is_lost_from_the_account() {
        let mut queue = queue(2);
        queue.begin();
        for round in 0..3 {
            let mut sent = 0;
            while queue.has_room() {
                queue.sent(0, sent % 2, 0, true);
                sent += 1;
            }
            assert_eq!(sent, MOST_IN_FLIGHT, "{round}");
            for index in 0..MOST_IN_FLIGHT {
                assert!(queue.answered(index % 2, 1, true));
            }
        }
        queue.sent(0, 1, 0, true);
        queue.forget(1);
        queue.sent(0, 0, 0, true);
        let (latency, paced) = queue.balance();
        assert_eq!(latency.count, 3 * MOST_IN_FLIGHT as u64);
        assert_eq!(paced.unanswered, 2);
        assert_eq!(paced.sent, 3 * MOST_IN_FLIGHT as u64 + 2);
    }
}
