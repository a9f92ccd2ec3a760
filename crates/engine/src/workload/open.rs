//! Request/response at a given rate: requests are sent when they are due, whether or not
//! responses to earlier ones have come.
//!
//! A client that waits for a response before it sends the next request does not send while
//! the server stalls, and so measures one long response where many clients would have had to
//! wait. Here the time of a response counts from when its request was due, so that whatever
//! held it up, the server, the network or this program, is in the figure.

use std::io;

use netperf_measure::recorder::Recorder;
use netperf_model::Tally;
use netperf_transport::{Endpoint, Received, Sent};

use super::LoopContext;
use crate::due::clock::Ticker;
use crate::due::hooks::Hooks;
use crate::due::queue::{AGAIN, DueQueue};
use crate::ring::Ring;
use crate::stop::{Ended, Phase, Stop};

/// The only flow, and the only arrivals, of the queue.
const ONLY: usize = 0;

/// Result of a look at one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LookResult {
    /// Something moved.
    Moved,
    /// There was nothing to do, or no space.
    Nothing,
    /// The peer has finished.
    End,
}

/// A loop under way.
struct Open<'r, E, P> {
    endpoint: &'r mut E,
    requests: &'r mut Ring,
    responses: &'r mut Ring,
    queue: &'r mut DueQueue,
    tally: &'r mut Tally,
    hooks: &'r mut P,
    /// Bytes of the request under way that the kernel has; `None` when none is under way.
    out: Option<usize>,
    /// Bytes of the response under way that are here.
    got: usize,
    /// The request that is due was seen to have to wait.
    held: bool,
    /// A queue without a notification was full.
    dropped: bool,
}

/// netperf's side: sends requests at the times of `queue`, over an endpoint that never
/// blocks, and keeps account of them there. What is in flight and older than `patience` nanoseconds
/// when nothing comes any more is given up.
///
/// # Errors
/// What the endpoint reports, such as a reset connection.
pub fn client<E, S, R, P, T>(
    endpoint: &mut E,
    (requests, responses): (&mut Ring, &mut Ring),
    queue: &mut DueQueue,
    (ticker, patience): (&mut T, Option<u64>),
    run: LoopContext<'_, S, R, P>,
) -> io::Result<Ended>
where
    E: Endpoint,
    S: Stop,
    R: Recorder,
    P: Hooks,
    T: Ticker,
{
    let LoopContext {
        limit,
        stop,
        tally,
        hooks,
        ..
    } = run;
    let mut open = Open {
        endpoint,
        requests,
        responses,
        queue,
        tally,
        hooks,
        out: None,
        got: 0,
        held: false,
        dropped: false,
    };
    let mut woken = false;
    loop {
        let now = ticker.now();
        if ticker.rang() {
            if let Some(ended) = stop.interrupted(open.tally) {
                open.close(now);
                return Ok(ended);
            }
        }
        let wanted = open.tally.transactions + open.queue.in_flight() as u64;
        if stop.phase() != Phase::Running || limit.reached(wanted) {
            open.close(now);
        } else {
            // Something in flight was given up, and another may be asked for.
            open.queue.reopen();
        }
        let sent = open.send(now, stop)?;
        let received = if open.queue.in_flight() > 0 || woken {
            open.receive(ticker, stop)?
        } else {
            LookResult::Nothing
        };
        if sent == LookResult::End || received == LookResult::End {
            open.close(now);
            return Ok(Ended::ByPeer);
        }
        woken = false;
        if sent == LookResult::Moved || received == LookResult::Moved {
            continue;
        }
        if open.gave_up(now, patience) {
            continue;
        }
        if open.is_over() {
            let complete = limit.reached(open.tally.transactions);
            return Ok(if complete {
                Ended::Complete
            } else {
                Ended::TimeOver
            });
        }
        let until = open.wakes_at(now, patience);
        ticker.wait(now, until, open.out.is_some() && !open.dropped)?;
        woken = true;
    }
}

impl<E: Endpoint, P: Hooks> Open<'_, E, P> {
    /// Sends the request that is due, or goes on with one that the kernel has not all of.
    #[inline]
    fn send<S: Stop>(&mut self, now: u64, stop: &mut S) -> io::Result<LookResult> {
        if self.out.is_none() {
            if self.queue.is_closed() || self.queue.next_due(ONLY) > now {
                return Ok(LookResult::Nothing);
            }
            if !self.queue.makes_room(ONLY, now) {
                self.hold();
                return Ok(LookResult::Nothing);
            }
            // Pacing belongs to this loop: what is done before only touches the buffer.
            let _never_ends = self.hooks.before(self.requests.advance(), stop, self.tally);
            self.queue.write_number(ONLY, self.requests.latest_mut());
            self.out = Some(0);
        }
        let done = self.out.unwrap_or(0);
        let request = self.requests.latest();
        match self.endpoint.send(&request[done..]) {
            Ok(Sent::Bytes(count)) => {
                self.tally.bytes_sent += count as u64;
                self.tally.send_calls += 1;
                let whole = done + count >= request.len();
                self.out = (!whole).then_some(done + count);
                self.dropped = false;
                if done == 0 {
                    self.queue.sent(ONLY, ONLY, now, true);
                    self.held = false;
                }
                Ok(LookResult::Moved)
            }
            Ok(Sent::Dropped) => {
                self.tally.failed_sends += 1;
                self.dropped = true;
                self.hold();
                Ok(LookResult::Nothing)
            }
            Ok(Sent::Interrupted) => Ok(LookResult::Nothing),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.hold();
                Ok(LookResult::Nothing)
            }
            Err(error) => Err(error),
        }
    }

    /// The request that is due must wait; a request of which a part is gone is not late.
    fn hold(&mut self) {
        if !self.held && self.out.is_none_or(|done| done == 0) {
            self.held = true;
            self.queue.held_back();
        }
    }

    /// Receives what there is of the response to the oldest request.
    #[inline]
    fn receive<S: Stop>(&mut self, ticker: &mut impl Ticker, stop: &S) -> io::Result<LookResult> {
        match self
            .endpoint
            .recv(&mut self.responses.latest_mut()[self.got..])?
        {
            Received::Bytes(count) => {
                self.tally.bytes_received += count as u64;
                self.tally.recv_calls += 1;
                self.got += count;
                if self.got >= self.responses.size() || E::KEEPS_BOUNDARIES {
                    self.got = 0;
                    let response = self.responses.latest();
                    let answered = self.queue.answered(ONLY, response, ticker.now(), true);
                    self.responses.advance();
                    if answered {
                        self.tally.transactions += 1;
                        stop.progress(self.tally);
                    }
                }
                Ok(LookResult::Moved)
            }
            Received::End => Ok(LookResult::End),
            Received::Interrupted | Received::TimedOut => Ok(LookResult::Nothing),
        }
    }

    /// No more requests are sent; one of which nothing is gone is dropped.
    fn close(&mut self, now: u64) {
        self.queue.close(now);
        if self.out == Some(0) {
            self.out = None;
        }
    }

    fn is_over(&self) -> bool {
        self.queue.is_closed() && self.out.is_none() && self.queue.in_flight() == 0
    }

    /// Gives up requests in flight after a time without a response (`-e`).
    fn gave_up(&mut self, now: u64, patience: Option<u64>) -> bool {
        patience.is_some_and(|patience| self.queue.give_up(ONLY, patience, now) > 0)
    }

    fn gives_up_at(&self, patience: Option<u64>) -> Option<u64> {
        self.queue.gives_up_at(ONLY, patience?)
    }

    /// When there will be something to do, if nothing comes.
    fn wakes_at(&self, now: u64, patience: Option<u64>) -> u64 {
        let sends = match self.out {
            Some(_) if self.dropped => now + AGAIN,
            None if !self.queue.is_closed() && self.queue.has_room() => self.queue.next_due(ONLY),
            Some(_) | None => u64::MAX,
        };
        sends.min(self.gives_up_at(patience).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::RunLimit;
    use crate::ring::RingLayout;
    use crate::workload::message::testing::{Manual, plain};
    use netperf_model::{Arrival, Latency, Lateness, Paced, RatePlan, RateUnit};
    use std::cell::Cell;
    use std::collections::VecDeque;
    use std::rc::Rc;

    /// A server and a clock that are worked by hand: each response comes a while after its
    /// request, and all sends block in between two moments.
    struct Wire {
        now: Rc<Cell<u64>>,
        takes: u64,
        blocked: std::ops::Range<u64>,
        lost: Vec<u64>,
        sent: u64,
        pieces: usize,
        part: usize,
        answers: VecDeque<u64>,
    }

    impl Wire {
        fn new(now: &Rc<Cell<u64>>, takes: u64) -> Self {
            Self {
                now: Rc::clone(now),
                takes,
                blocked: 0..0,
                lost: Vec::new(),
                sent: 0,
                pieces: 1,
                part: 0,
                answers: VecDeque::new(),
            }
        }
    }

    impl Endpoint for Wire {
        const KEEPS_BOUNDARIES: bool = false;

        fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
            if self.blocked.contains(&self.now.get()) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.part += 1;
            if self.part < self.pieces {
                return Ok(Sent::Bytes(1));
            }
            self.part = 0;
            if !self.lost.contains(&self.sent) {
                self.answers.push_back(self.now.get() + self.takes);
            }
            self.sent += 1;
            Ok(Sent::Bytes(buf.len()))
        }

        fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
            match self.answers.front() {
                Some(then) if *then <= self.now.get() => {
                    self.answers.pop_front();
                    Ok(Received::Bytes(buf.len()))
                }
                Some(_) | None => Ok(Received::TimedOut),
            }
        }
    }

    /// Moves in steps of a microsecond; away from `away.start` until `away.end`.
    struct Clock {
        now: Rc<Cell<u64>>,
        away: std::ops::Range<u64>,
    }

    const STEP: u64 = 1000;

    impl Ticker for Clock {
        fn now(&mut self) -> u64 {
            if self.away.contains(&self.now.get()) {
                self.now.set(self.away.end);
            }
            self.now.get()
        }

        fn rang(&mut self) -> bool {
            false
        }

        fn wait(&mut self, now: u64, until: u64, _room: bool) -> io::Result<()> {
            assert!(until > now, "waiting for what is due");
            self.now.set(now + STEP);
            Ok(())
        }
    }

    fn ring(size: u32) -> Ring {
        let layout = RingLayout {
            size,
            width: 2,
            align: 8,
            offset: 0,
        };
        Ring::new(layout, None).unwrap()
    }

    /// A request every ten microseconds.
    fn queue() -> DueQueue {
        DueQueue::of_one(&RatePlan {
            per_second: 100_000.0,
            unit: RateUnit::Transactions,
            arrival: Arrival::Constant,
            seed: None,
        })
    }

    fn run(
        wire: &mut Wire,
        away: std::ops::Range<u64>,
        (limit, mut stop): (RunLimit, Manual),
        patience: Option<u64>,
    ) -> (Ended, Tally, Latency, Paced) {
        let mut clock = Clock {
            now: Rc::clone(&wire.now),
            away,
        };
        let (mut queue, mut tally) = (queue(), Tally::default());
        let ended = client(
            wire,
            (&mut ring(4), &mut ring(6)),
            &mut queue,
            (&mut clock, patience),
            plain(limit, &mut stop, &mut tally),
        )
        .unwrap();
        let (latency, paced) = queue.balance(true);
        (ended, tally, latency, paced)
    }

    fn lateness(paced: &Paced) -> &Latency {
        match &paced.lateness {
            Lateness::Whole(times) => times,
            Lateness::Told(_) => panic!("netperf measured it itself"),
        }
    }

    #[test]
    fn requests_go_out_when_they_are_due_whatever_responses_do() {
        let now = Rc::new(Cell::new(0));
        let mut wire = Wire::new(&now, 35_000);
        let (ended, tally, latency, paced) = run(
            &mut wire,
            0..0,
            (RunLimit::exactly(5), Manual::patient()),
            None,
        );
        assert_eq!((ended, tally.transactions), (Ended::Complete, 5));
        assert_eq!((latency.min, latency.max), (35_000, 35_000));
        assert_eq!(paced.most_in_flight, 4);
        assert_eq!(lateness(&paced).max, 0);
        assert_eq!((paced.unanswered, paced.held_back), (0, 0));
    }

    #[test]
    fn a_generator_that_was_away_has_its_lateness_in_the_latency_and_not_in_the_service_time() {
        let now = Rc::new(Cell::new(0));
        let mut wire = Wire::new(&now, 2000);
        let (_, _, latency, paced) = run(
            &mut wire,
            15_000..65_000,
            (RunLimit::exactly(10), Manual::patient()),
            None,
        );
        // Due at 20, 30, 40, 50 and 60, and sent at 65 one after the other.
        assert_eq!((latency.max, lateness(&paced).max), (47_000, 45_000));
        assert_eq!(paced.service.as_ref().map(|times| times.max), Some(2000));
        assert_eq!(latency.count, 10);
    }

    #[test]
    fn a_request_in_parts_is_one_and_is_held_back_once_while_there_is_no_room() {
        let now = Rc::new(Cell::new(0));
        let mut wire = Wire::new(&now, 1000);
        wire.pieces = 3;
        wire.blocked = 10_000..38_000;
        let (_, tally, latency, paced) = run(
            &mut wire,
            0..0,
            (RunLimit::exactly(4), Manual::patient()),
            None,
        );
        assert_eq!(
            (tally.transactions, tally.bytes_sent, tally.send_calls),
            (4, 16, 12)
        );
        assert_eq!((paced.held_back, latency.count), (1, 4));
        assert_eq!(lateness(&paced).max, 28_000);
    }

    #[test]
    fn requests_in_flight_at_the_end_are_collected_and_due_ones_are_reported() {
        let now = Rc::new(Cell::new(0));
        let mut wire = Wire::new(&now, 3000);
        wire.blocked = 20_000..u64::MAX;
        let (ended, tally, latency, paced) = run(
            &mut wire,
            0..0,
            (RunLimit::NONE, Manual::stopping_after(100)),
            None,
        );
        assert_eq!(ended, Ended::TimeOver);
        assert_eq!((tally.transactions, latency.count, paced.sent), (2, 2, 2));
        assert!(paced.due >= 9, "{}", paced.due);
    }

    #[test]
    fn lost_requests_are_given_up_after_silence() {
        let now = Rc::new(Cell::new(0));
        let mut wire = Wire::new(&now, 1000);
        wire.lost = vec![3, 4];
        let (ended, tally, latency, paced) = run(
            &mut wire,
            0..0,
            (RunLimit::exactly(3), Manual::patient()),
            Some(50_000),
        );
        assert_eq!(ended, Ended::Complete);
        assert_eq!(
            (tally.transactions, latency.count, paced.unanswered),
            (3, 3, 0)
        );
        let mut wire = Wire::new(&now, 1000);
        now.set(0);
        wire.lost = vec![2];
        let (ended, tally, latency, paced) = run(
            &mut wire,
            0..0,
            (RunLimit::exactly(3), Manual::patient()),
            Some(50_000),
        );
        assert_eq!((ended, tally.transactions), (Ended::Complete, 3));
        assert_eq!((latency.count, paced.unanswered, paced.sent), (3, 1, 4));
    }
}
