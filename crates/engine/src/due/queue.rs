//! The queue of due requests, and the account of what became of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_measure::latency::Recording;
use netperf_model::{Latency, Lateness, Paced, RatePlan};

use super::arrivals::{Arrivals, SECOND};
use super::clock::AHEAD;
use crate::live::Live;

/// The most requests in flight at the same time. A request that is due beyond that waits for
/// a response, and its latency includes the wait.
pub const MOST_IN_FLIGHT: usize = 65_536;

/// Time after which a full queue without readiness events is tried again, nanoseconds.
pub(crate) const AGAIN: u64 = 50_000;

/// No slot.
const NONE: u32 = u32::MAX;

/// A request in flight, its times in nanoseconds since the beginning.
#[derive(Clone, Copy, Debug)]
struct DueRequest {
    due: u64,
    sent: u64,
    /// The next request of the same flow, or the next free slot.
    next: u32,
}

/// The requests of one flow in flight, in the order in which they were sent.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    oldest: u32,
    latest: u32,
}

const EMPTY: InFlight = InFlight {
    oldest: NONE,
    latest: NONE,
};

/// The due requests of a thread, of one flow or of many: what is due next, what is in flight,
/// and how long it took. Allocates only when it is made.
#[derive(Debug)]
pub struct DueQueue {
    began: Moment,
    /// One for each flow, or one that all flows share.
    arrivals: Box<[Arrivals]>,
    /// Arrivals by the time of their next look.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    slots: Box<[DueRequest]>,
    free: u32,
    flows: Box<[InFlight]>,
    in_flight: usize,
    /// Arrivals with requests left to send.
    open: usize,
    /// The time of the last request.
    closed: Option<u64>,
    account: Paced,
    latency: Recording,
    service: Recording,
    lateness: Recording,
}

impl DueQueue {
    /// A queue for this many flows, with one of the given arrivals each; a single one is
    /// shared by all flows.
    fn new(arrivals: Vec<Arrivals>, flows: usize) -> Self {
        let last = slot(MOST_IN_FLIGHT - 1);
        let free = |index: usize| DueRequest {
            due: 0,
            sent: 0,
            next: if slot(index) == last {
                NONE
            } else {
                slot(index) + 1
            },
        };
        Self {
            began: clock::now(),
            next: BinaryHeap::with_capacity(arrivals.len()),
            open: arrivals.len(),
            arrivals: arrivals.into_boxed_slice(),
            slots: (0..MOST_IN_FLIGHT).map(free).collect(),
            free: 0,
            flows: vec![EMPTY; flows].into_boxed_slice(),
            in_flight: 0,
            closed: None,
            account: Paced::default(),
            latency: Recording::new(),
            service: Recording::new(),
            lateness: Recording::new(),
        }
    }

    /// A queue for the only flow of a run.
    #[must_use]
    pub fn of_one(rate: &RatePlan) -> Self {
        Self::new(vec![Arrivals::new(rate)], 1)
    }

    /// A queue for the flows of a thread: those at `thread`, `thread + threads` and so on of
    /// `all`.
    pub(crate) fn of_thread(rate: &RatePlan, all: u32, thread: u32, threads: u32) -> Self {
        let step = usize::try_from(threads.max(1)).unwrap_or(1);
        let arrivals: Vec<Arrivals> = (thread..all)
            .step_by(step)
            .map(|flow| Arrivals::of_part(rate, flow, all))
            .collect();
        let flows = arrivals.len();
        Self::new(arrivals, flows)
    }

    /// A queue that the flows of a thread share; `part` is the thread's number and the number
    /// of threads.
    pub(crate) fn shared(rate: &RatePlan, part: (u32, u32), flows: usize) -> Self {
        Self::new(vec![Arrivals::of_part(rate, part.0, part.1)], flows)
    }

    /// Lets other threads read the latency.
    pub(crate) fn show(&self, live: Option<&Live>) {
        if let Some(live) = live {
            live.keeps(self.latency.watched());
        }
    }

    /// Starts the clock: the first requests are due from now on.
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

    /// When the next request of an arrival is due.
    #[inline]
    pub(crate) fn next_due(&self, arrival: usize) -> u64 {
        self.arrivals
            .get(arrival)
            .map_or(u64::MAX, Arrivals::next_due)
    }

    /// Takes an arrival that is due now. It comes back with [`DueQueue::put_off`].
    #[inline]
    pub(crate) fn due(&mut self, now: u64) -> Option<usize> {
        let Reverse((at, token)) = self.next.peek()?;
        let token = (*at <= now).then_some(*token)?;
        self.next.pop();
        Some(token)
    }

    /// Puts an arrival back until its next request is due.
    #[inline]
    pub(crate) fn put_off(&mut self, token: usize) {
        if let Some(arrivals) = self.arrivals.get(token) {
            self.next.push(Reverse((arrivals.next_due(), token)));
        }
    }

    /// Puts an arrival back until then, as its request could not be sent.
    #[inline]
    pub(crate) fn put_off_until(&mut self, token: usize, then: u64) {
        self.next.push(Reverse((then, token)));
    }

    /// Returns whether an arrival is due now.
    #[inline]
    pub(crate) fn is_due(&self, now: u64) -> bool {
        self.next.peek().is_some_and(|Reverse((at, _))| *at <= now)
    }

    /// Ends an arrival: all its requests were sent.
    pub(crate) fn retire(&mut self, token: usize) {
        if let Some(arrivals) = self.arrivals.get_mut(token) {
            arrivals.end();
        }
        self.open = self.open.saturating_sub(1);
        if self.open == 0 {
            self.close(self.now());
        }
    }

    /// The longest sleep until the next arrival is due. The caller spins for the rest.
    #[inline]
    pub(crate) fn wait(&self, now: u64) -> Option<Duration> {
        let Reverse((at, _)) = self.next.peek()?;
        let left = at.saturating_sub(now).saturating_sub(AHEAD);
        Some(Duration::from_nanos(left))
    }

    /// Returns whether another request may be in flight.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.free != NONE
    }

    /// Returns whether a flow has requests in flight.
    #[inline]
    pub(crate) fn has_in_flight(&self, flow: usize) -> bool {
        self.flows.get(flow).is_some_and(|own| own.oldest != NONE)
    }

    /// The number of requests in flight.
    #[inline]
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// When the oldest request of a flow in flight was sent.
    #[inline]
    pub(crate) fn oldest_sent(&self, flow: usize) -> Option<u64> {
        let own = self.flows.get(flow)?;
        self.slots.get(index(own.oldest)).map(|oldest| oldest.sent)
    }

    /// Counts a due request that had to wait.
    #[inline]
    pub(crate) fn held_back(&mut self) {
        self.account.held_back += 1;
    }

    /// Notes that the due request of an arrival is sent now, on a flow. `counts` is whether
    /// its lateness is recorded.
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
        let (Some(request), Some(own)) =
            (self.slots.get_mut(index(place)), self.flows.get_mut(flow))
        else {
            return;
        };
        self.free = request.next;
        *request = DueRequest {
            due,
            sent: now,
            next: NONE,
        };
        let before = std::mem::replace(&mut own.latest, place);
        match self.slots.get_mut(index(before)) {
            Some(before) => before.next = place,
            None => own.oldest = place,
        }
        self.in_flight += 1;
        let most = &mut self.account.most_in_flight;
        *most = (*most).max(self.in_flight as u64);
    }

    /// Notes the response to the oldest request of a flow; false if none was in flight.
    /// `counts` is whether its times are recorded.
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

    /// Gives up the requests of a flow in flight.
    #[cold]
    pub(crate) fn forget(&mut self, flow: usize) {
        while self.take(flow).is_some() {
            self.account.unanswered += 1;
        }
    }

    #[inline]
    fn take(&mut self, flow: usize) -> Option<DueRequest> {
        let own = self.flows.get_mut(flow)?;
        let place = own.oldest;
        let slot = self.slots.get_mut(index(place))?;
        let request = *slot;
        slot.next = std::mem::replace(&mut self.free, place);
        own.oldest = request.next;
        if request.next == NONE {
            *own = EMPTY;
        }
        self.in_flight -= 1;
        Some(request)
    }

    /// Ends sending.
    pub(crate) fn close(&mut self, now: u64) {
        if self.closed.is_some() {
            return;
        }
        self.closed = Some(now);
        self.next.clear();
        let missed: u64 = self.arrivals.iter().map(|one| one.missed(now)).sum();
        self.account.due = self.account.sent + missed;
    }

    /// Resumes sending, where a request in flight was given up and another takes its place.
    #[inline]
    pub(crate) fn reopen(&mut self) {
        self.closed = None;
    }

    /// Returns whether sending has ended.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// The latency of responses, counted from when their requests were due, and the rest of
    /// the account.
    #[must_use]
    pub fn balance(self) -> (Latency, Paced) {
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

/// The number of a slot, which is small.
fn slot(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(NONE)
}

fn index(slot: u32) -> usize {
    usize::try_from(slot).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_model::{Arrival, RateUnit};

    fn queue(flows: u32) -> DueQueue {
        let rate = RatePlan {
            per_second: 1000.0,
            unit: RateUnit::Transactions,
            arrival: Arrival::Constant,
            seed: None,
        };
        DueQueue::of_thread(&rate, flows, 0, 1)
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

    #[test]
    fn a_response_to_nothing_counts_for_nothing() {
        let mut queue = queue(1);
        assert!(!queue.answered(0, 1, true));
        queue.sent(0, 0, 7, true);
        assert_eq!(queue.oldest_sent(0), Some(7));
        queue.forget(0);
        assert_eq!(queue.oldest_sent(0), None);
        assert!(!queue.answered(0, 8, true));
        assert_eq!(queue.balance().0.count, 0);
    }
}
