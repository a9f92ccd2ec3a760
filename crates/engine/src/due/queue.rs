//! The queue of due requests, and the account of what became of them.

mod in_flight;
mod numbers;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_measure::latency::Recording;
use netperf_measure::schedule::{ArrivalSchedule, SECOND};
use netperf_model::{Latency, Lateness, Paced, RatePlan};

use super::clock::nanos;
use crate::live::Live;
use in_flight::{DueRequest, EMPTY, InFlight, NONE, NumberMark};

/// The most requests in flight at the same time. A request that is due beyond that waits for
/// a response, and its latency includes the wait.
pub const MOST_IN_FLIGHT: usize = 65_536;

/// Time after which a full queue without readiness events is tried again, nanoseconds.
pub(crate) const AGAIN: u64 = 50_000;

/// A numbered request may be given up after this time where the space for requests is used up,
/// nanoseconds.
const STALE: u64 = 1_000_000_000;

/// The due requests of a thread, of one flow or of many: what is due next, what is in flight,
/// and how long it took. Allocates only when it is made.
#[derive(Debug)]
pub struct DueQueue {
    began: Moment,
    /// A sleep ends so long before something is due, nanoseconds. The caller spins for the rest.
    ahead: u64,
    /// One for each flow, or one that all flows share.
    arrivals: Box<[ArrivalSchedule]>,
    /// Arrivals by the time of their next look.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    slots: Box<[DueRequest]>,
    free: u32,
    flows: Box<[InFlight]>,
    in_flight: usize,
    /// Bytes of a number; `None` where responses have the order of their requests.
    numbers: Option<usize>,
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
    fn new(arrivals: Vec<ArrivalSchedule>, flows: usize) -> Self {
        let last = slot(MOST_IN_FLIGHT - 1);
        let free = |index: usize| DueRequest {
            due: 0,
            sent: 0,
            number: 0,
            next: if slot(index) == last {
                NONE
            } else {
                slot(index) + 1
            },
        };
        Self {
            began: clock::now(),
            ahead: nanos(netperf_os::wait::AHEAD),
            next: BinaryHeap::with_capacity(arrivals.len()),
            open: arrivals.len(),
            arrivals: arrivals.into_boxed_slice(),
            slots: (0..MOST_IN_FLIGHT).map(free).collect(),
            free: 0,
            flows: vec![EMPTY; flows].into_boxed_slice(),
            in_flight: 0,
            numbers: None,
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
        Self::new(vec![ArrivalSchedule::new(rate)], 1)
    }

    /// A queue for the flows of a thread: those at `thread`, `thread + threads` and so on of
    /// `all`.
    pub(crate) fn of_thread(rate: &RatePlan, all: u32, thread: u32, threads: u32) -> Self {
        let step = usize::try_from(threads.max(1)).unwrap_or(1);
        let arrivals: Vec<ArrivalSchedule> = (thread..all)
            .step_by(step)
            .map(|flow| ArrivalSchedule::of_part(rate, flow, all))
            .collect();
        let flows = arrivals.len();
        Self::new(arrivals, flows)
    }

    /// A queue that the flows of a thread share; `part` is the thread's number and the number
    /// of threads.
    pub(crate) fn shared(rate: &RatePlan, part: (u32, u32), flows: usize) -> Self {
        Self::new(vec![ArrivalSchedule::of_part(rate, part.0, part.1)], flows)
    }

    /// Lets other threads read the latency.
    pub(crate) fn show(&self, live: Option<&Live>) {
        if let Some(live) = live {
            live.keeps(self.latency.watched());
        }
    }

    /// Starts the clock: the first requests are due from now on.
    pub(crate) fn begin(&mut self) {
        self.ahead = nanos(netperf_os::wait::sleep_exactly());
        self.began = clock::now();
        let first = self.arrivals.iter().map(ArrivalSchedule::next_due);
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
            .map_or(u64::MAX, ArrivalSchedule::next_due)
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

    /// Resumes an arrival that has ended, as requests in flight were given up: a request is due now.
    #[cold]
    pub(crate) fn resume(&mut self, token: usize, now: u64) {
        if let Some(arrivals) = self.arrivals.get_mut(token) {
            arrivals.resume(now);
            self.open += 1;
            self.reopen();
            self.put_off(token);
        }
    }

    /// The longest sleep until the next arrival is due. The caller spins for the rest.
    #[inline]
    pub(crate) fn wait(&self, now: u64) -> Option<Duration> {
        let Reverse((at, _)) = self.next.peek()?;
        let left = at.saturating_sub(now).saturating_sub(self.ahead);
        Some(Duration::from_nanos(left))
    }

    /// Returns whether another request may be in flight.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.free != NONE
    }

    /// Returns whether a flow may send another request. Where there is no space for it, numbered
    /// requests that are old are given up first: if all of them are lost, no response frees it.
    #[inline]
    pub(crate) fn makes_room(&mut self, flow: usize, now: u64) -> bool {
        if self.free == NONE && self.numbers.is_some() {
            self.give_up_stale(flow, now);
        }
        self.has_room()
    }

    #[cold]
    fn give_up_stale(&mut self, flow: usize, now: u64) {
        let stale = now.saturating_sub(STALE);
        while self.oldest_sent(flow).is_some_and(|sent| sent < stale) {
            self.take(flow);
            self.lose();
        }
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

    /// When the requests of a flow in flight are given up (`-e`): so long after the oldest of them
    /// was sent, or after the last response.
    #[inline]
    pub(crate) fn gives_up_at(&self, flow: usize, patience: u64) -> Option<u64> {
        let response_at = self.flows.get(flow)?.response_at;
        let since = self.oldest_sent(flow)?.max(response_at);
        Some(since.saturating_add(patience))
    }

    /// Gives up the requests of a flow in flight if their time is over; returns how many.
    pub(crate) fn give_up(&mut self, flow: usize, patience: u64, now: u64) -> u64 {
        let then = self.gives_up_at(flow, patience);
        if then.is_some_and(|then| then <= now) {
            self.forget(flow)
        } else {
            0
        }
    }

    /// When the oldest request of a flow in flight was sent.
    #[inline]
    fn oldest_sent(&self, flow: usize) -> Option<u64> {
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
            number: own.next,
            next: NONE,
        };
        own.next += 1;
        let before = std::mem::replace(&mut own.latest, place);
        match self.slots.get_mut(index(before)) {
            Some(before) => before.next = place,
            None => own.oldest = place,
        }
        self.in_flight += 1;
        let most = &mut self.account.most_in_flight;
        *most = (*most).max(self.in_flight as u64);
    }

    /// Notes a response: to the oldest request of a flow, or to the request of its number. False
    /// if that was not in flight. `counts` is whether its times are recorded.
    #[inline]
    pub(crate) fn answered(
        &mut self,
        flow: usize,
        response: &[u8],
        now: u64,
        counts: bool,
    ) -> bool {
        if let Some(own) = self.flows.get_mut(flow) {
            own.response_at = now;
        }
        let request = match self.numbers {
            None => self.take(flow),
            Some(bytes) => self.take_number(flow, response.get(..bytes).unwrap_or_default(), now),
        };
        let Some(request) = request else {
            return false;
        };
        if counts {
            self.record(&request, now);
        }
        true
    }

    #[inline]
    fn record(&mut self, request: &DueRequest, now: u64) {
        self.latency.record_nanos(now.saturating_sub(request.due));
        self.service.record_nanos(now.saturating_sub(request.sent));
    }

    fn lose(&mut self) {
        self.account.unanswered += 1;
        self.account.lost = self.account.lost.map(|lost| lost + 1);
    }

    /// Frees the slot of a request.
    #[inline]
    fn release(&mut self, place: u32) {
        if let Some(slot) = self.slots.get_mut(index(place)) {
            slot.next = std::mem::replace(&mut self.free, place);
            self.in_flight -= 1;
        }
    }

    /// Gives up the requests of a flow in flight; returns how many.
    #[cold]
    pub(crate) fn forget(&mut self, flow: usize) -> u64 {
        let mut lost = 0;
        while self.take(flow).is_some() {
            self.lose();
            lost += 1;
        }
        if let Some(own) = self.flows.get_mut(flow) {
            (own.expected, own.mark) = (own.next, NumberMark::None);
        }
        lost
    }

    #[inline]
    fn take(&mut self, flow: usize) -> Option<DueRequest> {
        let own = self.flows.get_mut(flow)?;
        let place = own.oldest;
        let request = *self.slots.get(index(place))?;
        own.oldest = request.next;
        if request.next == NONE {
            own.latest = NONE;
        }
        self.release(place);
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
    /// the account. A request in flight took at least the time until now, which is recorded with
    /// `counts`; one that was lost has no latency.
    #[must_use]
    pub fn balance(mut self, counts: bool) -> (Latency, Paced) {
        let now = self.now();
        for flow in 0..self.flows.len() {
            let numbered = self.numbers.is_some();
            while let Some((number, expected)) = self.oldest(flow) {
                let request = self.take(flow);
                if numbered && number < expected {
                    self.lose();
                    continue;
                }
                self.account.unanswered += 1;
                if let Some(request) = request.filter(|_| counts) {
                    self.record(&request, now);
                }
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "2^53 ns are three months")]
        let seconds = self.closed.unwrap_or_default() as f64 / SECOND;
        let paced = Paced {
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
mod tests;
