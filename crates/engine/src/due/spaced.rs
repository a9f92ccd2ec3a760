//! Flows that send evenly at a rate, by the amount that each has sent.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_measure::latency::Recording;
use netperf_model::{Lateness, Paced, RatePlan, RateUnit};

use crate::due::arrivals::{SECOND, nanos};
use crate::due::rate::{AHEAD, MADE_UP};

/// The pacing of a thread's flows, which share a rate evenly and begin one after the other.
#[derive(Debug)]
pub(crate) struct Spaced {
    /// Of one flow.
    rate: RatePlan,
    began: Moment,
    flows: Box<[Amount]>,
    /// Flows that wait, by the time of their turn. There is room for all of them.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    lateness: Recording,
}

/// What a flow has sent, and from when on it counts.
#[derive(Clone, Copy, Debug)]
struct Amount {
    /// Bits or messages.
    units: u64,
    /// When its first message is due, nanoseconds since the beginning.
    first: u64,
    /// Time that is not made up for, nanoseconds.
    given_up: u64,
}

impl Spaced {
    /// For so many flows of a thread. `first` is the number of its first flow among all,
    /// `step` that of its next one behind; a message has `size` bytes.
    pub(crate) fn new(
        rate: RatePlan,
        flows: usize,
        (first, step, all): (u32, u32, u32),
        size: u32,
    ) -> Self {
        let unit = match rate.unit {
            RateUnit::Bits => f64::from(size) * 8.0,
            RateUnit::Transactions | RateUnit::Packets => 1.0,
        };
        // The messages of all flows together are as even as those of each.
        let interval = unit * SECOND / rate.per_second / f64::from(all.max(1));
        let amount = |number: u32| Amount {
            units: 0,
            first: nanos(f64::from(number) * interval),
            given_up: 0,
        };
        let numbers = (first..).step_by(usize::try_from(step.max(1)).unwrap_or(1));
        Self {
            rate,
            began: clock::now(),
            flows: numbers.take(flows).map(amount).collect(),
            waiting: BinaryHeap::with_capacity(flows),
            lateness: Recording::new(),
        }
    }

    /// The first messages are due from now on.
    pub(crate) fn begin(&mut self) {
        netperf_os::wait::sleep_exactly();
        self.began = clock::now();
    }

    fn now(&self) -> u64 {
        clock::now().nanos_since(self.began)
    }

    /// When a flow's next message is due: when all that it has sent should have been.
    #[expect(
        clippy::cast_precision_loss,
        reason = "exact up to 2^53 bits, a petabyte"
    )]
    fn due_of(&self, amount: Amount) -> u64 {
        amount.first + amount.given_up + nanos(amount.units as f64 * SECOND / self.rate.per_second)
    }

    /// Whether a flow may send now. Where not, [`Spaced::due`] names it later.
    #[inline]
    pub(crate) fn may(&mut self, token: usize) -> bool {
        let Some(amount) = self.flows.get(token).copied() else {
            return true;
        };
        let due = self.due_of(amount);
        if due <= self.now() {
            return true;
        }
        self.waiting.push(Reverse((due, token)));
        false
    }

    /// A flow has sent so many bytes, or lost a message on its way out.
    #[inline]
    pub(crate) fn did(&mut self, token: usize, bytes: usize) {
        let now = self.now();
        let Some(amount) = self.flows.get(token).copied() else {
            return;
        };
        let late = now.saturating_sub(self.due_of(amount));
        self.lateness.record_nanos(late);
        let units = match self.rate.unit {
            RateUnit::Bits => 8 * bytes as u64,
            RateUnit::Transactions | RateUnit::Packets => 1,
        };
        if let Some(amount) = self.flows.get_mut(token) {
            amount.units += units;
            amount.given_up += late.saturating_sub(MADE_UP);
        }
    }

    /// A flow whose turn has come, or any that waits when `all` are to come.
    #[inline]
    pub(crate) fn due(&mut self, all: bool) -> Option<usize> {
        let Reverse((at, token)) = self.waiting.peek()?;
        let token = (all || *at <= self.now()).then_some(*token)?;
        self.waiting.pop();
        Some(token)
    }

    /// The time until the next turn, but for the part that is waited for awake.
    #[inline]
    pub(crate) fn next(&self) -> Option<Duration> {
        let Reverse((at, _)) = self.waiting.peek()?;
        let left = at.saturating_sub(self.now()).saturating_sub(AHEAD);
        Some(Duration::from_nanos(left))
    }

    /// What came of it: `messages` is how many were sent, `bytes` how much.
    pub(crate) fn paced(&self, bytes: u64, messages: u64) -> Paced {
        let now = self.now();
        #[expect(clippy::cast_precision_loss, reason = "2^53 ns are three months")]
        let due = |amount: &Amount| {
            let since = now.saturating_sub(amount.first) as f64;
            let first = u64::from(self.rate.unit == RateUnit::Packets);
            nanos(since / SECOND * self.rate.per_second) + first
        };
        #[expect(clippy::cast_precision_loss, reason = "2^53 ns are three months")]
        let seconds = now as f64 / SECOND;
        Paced {
            due: self.flows.iter().map(due).sum(),
            sent: match self.rate.unit {
                RateUnit::Bits => 8 * bytes,
                RateUnit::Transactions | RateUnit::Packets => messages,
            },
            seconds,
            lateness: Lateness::Whole(self.lateness.latency()),
            ..Paced::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_model::Arrival;

    fn spaced(unit: RateUnit, per_second: f64) -> Spaced {
        let rate = RatePlan {
            per_second,
            unit,
            arrival: Arrival::Constant,
            seed: None,
        };
        Spaced::new(rate, 2, (0, 1, 2), 125)
    }

    #[test]
    fn flows_take_turns_and_what_is_sent_puts_the_next_turn_off() {
        // A message of a flow is due every second, the other flow's half a second later.
        let mut pacing = spaced(RateUnit::Bits, 1000.0);
        pacing.begin();
        assert!(pacing.may(0));
        pacing.did(0, 125);
        assert!(!pacing.may(0));
        assert!(!pacing.may(1));
        assert_eq!(pacing.due(false), None);
        assert!(pacing.next().unwrap() <= Duration::from_millis(500));
        assert_eq!((pacing.due(true), pacing.due(true)), (Some(1), Some(0)));
        let paced = pacing.paced(125, 1);
        assert_eq!((paced.sent, paced.lateness.count()), (1000, 1));
    }

    #[test]
    fn what_was_missed_is_made_up_for_but_for_more_than_a_second() {
        let mut pacing = spaced(RateUnit::Packets, 1000.0);
        pacing.began = pacing.began.minus(Duration::from_secs(5));
        assert!(pacing.may(0));
        pacing.did(0, 1);
        // Of five seconds four are given up, and of the rest a message was sent.
        let now = pacing.now();
        let owed = (0..2000).find(|_| {
            let amount = pacing.flows[0];
            let over = pacing.due_of(amount) > now;
            pacing.flows[0].units += 1;
            over
        });
        assert!((900..=1100).contains(&owed.unwrap()), "{owed:?}");
        // The time that was given up was due all the same, as it is for a single flow.
        assert!(pacing.paced(1, 1).due >= 10_000);
    }
}
