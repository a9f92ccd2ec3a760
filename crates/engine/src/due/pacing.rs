//! Pacing: bursts at an interval (`-b`, `-w`), or messages evenly spaced at a rate (`--rate`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use netperf_measure::latency::Recording;
use netperf_measure::schedule::{SECOND, nanos};
use netperf_model::{EndPlan, IoMethod, Lateness, PacePlan, Paced, RatePlan, RateUnit, Tally};
use netperf_os::wait;

use super::clock::DueClock;
use crate::stop::{Ended, Phase, Stop};

/// Of the time that a sender was held up, so much is made up for, nanoseconds: a longer one
/// does not end in a long rush.
const MADE_UP: u64 = 1_000_000_000;

/// When the unit is due that follows so many at a constant rate, nanoseconds since the first.
#[expect(
    clippy::cast_precision_loss,
    reason = "exact up to 2^53 bits, a petabyte"
)]
#[inline]
pub(crate) const fn due_at_rate(units: u64, per_second: f64) -> u64 {
    nanos(units as f64 * SECOND / per_second)
}

/// The part of a hold-up that is not made up for, nanoseconds.
#[inline]
pub(crate) const fn not_made_up(late: u64) -> u64 {
    late.saturating_sub(MADE_UP)
}

/// When the operations of a flow are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PaceRule {
    /// A number of operations at each tick of a fixed grid.
    Bursts(PacePlan),
    /// Each message when all that was sent before it should have been; the rate of one flow.
    Rate(RatePlan),
}

impl PaceRule {
    /// The rule that an end is asked to keep to when it sends; `None` for none.
    pub(crate) fn of(end: &EndPlan) -> Option<Self> {
        let spaced = |rate: &RatePlan| rate.unit != RateUnit::Transactions;
        let rate = end.rate.filter(spaced).map(Self::Rate);
        rate.or_else(|| Self::bursts(end))
    }

    /// The bursts that an end is asked for; `None` for none.
    pub(crate) fn bursts(end: &EndPlan) -> Option<Self> {
        end.pace
            .filter(|pace| pace.burst > 0 && !pace.interval.is_zero())
            .map(Self::Bursts)
    }
}

/// The flows of a thread that share a rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sharing {
    /// The number of the thread's first flow among all.
    pub(crate) first: u32,
    /// The distance to the number of its next flow.
    pub(crate) step: u32,
    /// The number of all flows.
    pub(crate) all: u32,
    /// Bytes of a message.
    pub(crate) size: u32,
}

/// Releases the operations of a thread's flows when they are due. Allocates only when it is
/// made.
#[derive(Debug)]
pub(crate) struct Pacing {
    rule: Option<PaceRule>,
    clock: DueClock,
    begun: bool,
    over: Option<u64>,
    flows: Box<[Position]>,
    /// Flows that wait, by the time of their next operation.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    /// Lateness of messages at a rate.
    lateness: Option<Recording>,
}

/// Progress of a flow. Times are nanoseconds since the beginning.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    /// Operations, bits or messages so far.
    units: u64,
    /// When the first operation is due; `None` until it is tried.
    first: Option<u64>,
    /// Time that is not made up for.
    given_up: u64,
}

impl Pacing {
    /// Pacing for so many flows. Bursts of a flow begin with its first operation.
    pub(crate) fn new(rule: Option<PaceRule>, flows: usize) -> Self {
        let rate = matches!(rule, Some(PaceRule::Rate(_)));
        let flows = if rule.is_some() { flows } else { 0 };
        let position = Position {
            first: rate.then_some(0),
            ..Position::default()
        };
        Self {
            rule,
            clock: DueClock::new(IoMethod::Blocking),
            begun: false,
            over: None,
            flows: vec![position; flows].into_boxed_slice(),
            waiting: BinaryHeap::with_capacity(flows),
            lateness: rate.then(Recording::new),
        }
    }

    /// Pacing for flows that share a rate: their first messages are due one after the other,
    /// so that all flows together are as even as each.
    pub(crate) fn shared(rate: RatePlan, flows: usize, sharing: Sharing) -> Self {
        let all = sharing.all.max(1);
        let each = rate.of_each(all);
        let unit = match rate.unit {
            RateUnit::Bits => f64::from(sharing.size) * 8.0,
            RateUnit::Transactions | RateUnit::Packets => 1.0,
        };
        let interval = unit * SECOND / rate.per_second;
        let step = usize::try_from(sharing.step.max(1)).unwrap_or(1);
        let mut pacing = Self::new(Some(PaceRule::Rate(each)), flows);
        for (position, number) in pacing.flows.iter_mut().zip((sharing.first..).step_by(step)) {
            position.first = Some(nanos(f64::from(number) * interval));
        }
        pacing
    }

    /// Pacing for the only flow of a run; `None` where its end keeps to no rule.
    pub(crate) fn of_one(end: &EndPlan) -> Option<Self> {
        let rule = PaceRule::of(end)?;
        let mut pacing = Self::new(Some(rule), 1);
        if matches!(rule, PaceRule::Rate(_)) {
            pacing.clock = DueClock::new(end.io.method);
        }
        Some(pacing)
    }

    /// Starts the clock.
    pub(crate) fn begin(&mut self) {
        self.begun = true;
        if self.lateness.is_some() {
            self.clock.begin();
        }
    }

    /// When the next operation of a flow is due.
    #[inline]
    fn due_at(&self, position: Position) -> Option<u64> {
        let after = match self.rule? {
            PaceRule::Bursts(plan) => {
                let ticks = position.units / u64::from(plan.burst.max(1));
                ticks.saturating_mul(u64::try_from(plan.interval.as_nanos()).unwrap_or(u64::MAX))
            }
            PaceRule::Rate(rate) => due_at_rate(position.units, rate.per_second),
        };
        let first = position.first? + position.given_up;
        Some(first.saturating_add(after))
    }

    /// The present time if a flow may begin an operation; the time when it may if not.
    #[inline]
    fn ready(&mut self, token: usize) -> Result<u64, u64> {
        let Some(position) = self.flows.get(token).copied() else {
            return Ok(0);
        };
        let now = self.clock.now();
        let due = self.due_at(position).unwrap_or(now);
        if due > now {
            return Err(due);
        }
        if let (Some(PaceRule::Bursts(plan)), Some(position)) =
            (self.rule, self.flows.get_mut(token))
        {
            if position.units % u64::from(plan.burst.max(1)) == 0 {
                position.first.get_or_insert(now);
                position.given_up += not_made_up(now - due);
            }
            position.units += 1;
        }
        Ok(now)
    }

    /// Records how late a flow begins, or has begun, a message.
    #[inline]
    fn begins(&mut self, token: usize, now: u64) {
        let due = self
            .flows
            .get(token)
            .and_then(|position| self.due_at(*position));
        let late = now.saturating_sub(due.unwrap_or(now));
        if let (Some(lateness), Some(position)) = (&mut self.lateness, self.flows.get_mut(token)) {
            lateness.record_nanos(late);
            position.given_up += not_made_up(late);
        }
    }

    /// Returns whether a flow may begin an operation now. If not, [`Pacing::due`] names it later.
    #[inline]
    pub(crate) fn may(&mut self, token: usize) -> bool {
        match self.ready(token) {
            Ok(_) => true,
            Err(due) => {
                self.waiting.push(Reverse((due, token)));
                false
            }
        }
    }

    /// Notes that a flow has sent so many bytes, or lost them on their way out.
    #[inline]
    pub(crate) fn did(&mut self, token: usize, bytes: usize) {
        let Some(PaceRule::Rate(rate)) = self.rule else {
            return;
        };
        self.begins(token, self.clock.now());
        if let Some(position) = self.flows.get_mut(token) {
            position.units += match rate.unit {
                RateUnit::Bits => 8 * bytes as u64,
                RateUnit::Transactions | RateUnit::Packets => 1,
            };
        }
    }

    /// Takes a flow whose next operation is due, or any that waits with `all`.
    #[inline]
    pub(crate) fn due(&mut self, all: bool) -> Option<usize> {
        let Reverse((at, token)) = self.waiting.peek()?;
        let token = (all || *at <= self.clock.now()).then_some(*token)?;
        self.waiting.pop();
        Some(token)
    }

    /// The longest sleep until the next flow is due; `None` where none waits.
    #[inline]
    pub(crate) fn next(&self) -> Option<Duration> {
        let Reverse((at, _)) = self.waiting.peek()?;
        let ahead = self.lateness.as_ref().map_or(0, |_| self.clock.ahead());
        let left = at.saturating_sub(self.clock.now()).saturating_sub(ahead);
        Some(Duration::from_nanos(left))
    }

    /// Waits until the only flow may begin an operation with a buffer of so many bytes. Gives
    /// the reason to end if the wait brought one.
    pub(crate) fn wait<S: Stop>(
        &mut self,
        size: usize,
        stop: &mut S,
        tally: &Tally,
    ) -> Option<Ended> {
        const ONLY: usize = 0;
        if !self.begun {
            self.begin();
        }
        if let (Some(PaceRule::Rate(rate)), Some(only)) = (self.rule, self.flows.get_mut(ONLY)) {
            only.units = units(rate.unit, size, tally);
        }
        loop {
            match self.ready(ONLY) {
                Ok(now) => {
                    self.begins(ONLY, now);
                    return None;
                }
                Err(_) if stop.phase() != Phase::Running => return Some(Ended::TimeOver),
                Err(due) => self.sleep(due),
            }
            if self.clock.rang() && stop.phase() == Phase::Running {
                if let Some(ended) = stop.interrupted(tally) {
                    return Some(ended);
                }
            }
        }
    }

    /// Sleeps or spins once on the way to this time. A signal ends the sleep.
    fn sleep(&self, due: u64) {
        let left = due.saturating_sub(self.clock.now());
        let sleep = match self.lateness {
            Some(_) => self.clock.sleep(left),
            None => Some(Duration::from_nanos(left)),
        };
        match sleep {
            Some(time) => wait::sleep(time),
            None => std::hint::spin_loop(),
        }
    }

    /// Notes that the loop is over.
    pub(crate) fn over(&mut self) {
        let now = self.clock.now();
        self.over.get_or_insert(now);
    }

    /// The account of a rate: `bytes` and `messages` were sent. `None` without a rate.
    pub(crate) fn paced(&self, bytes: u64, messages: u64) -> Option<Paced> {
        let Some(PaceRule::Rate(rate)) = self.rule else {
            return None;
        };
        let over = self.over.unwrap_or_else(|| self.clock.now());
        let over = if self.begun { over } else { 0 };
        #[expect(clippy::cast_precision_loss, reason = "2^53 ns are three months")]
        let due = |position: &Position| {
            let since = over.saturating_sub(position.first.unwrap_or(over)) as f64;
            let first = u64::from(rate.unit == RateUnit::Packets);
            nanos(since / SECOND * rate.per_second) + first
        };
        #[expect(clippy::cast_precision_loss, reason = "2^53 ns are three months")]
        let seconds = over as f64 / SECOND;
        Some(Paced {
            due: self.flows.iter().map(due).sum(),
            sent: match rate.unit {
                RateUnit::Bits => 8 * bytes,
                RateUnit::Transactions | RateUnit::Packets => messages,
            },
            seconds,
            lateness: Lateness::Whole(self.lateness.as_ref()?.latency()),
            ..Paced::default()
        })
    }
}

/// Amount sent so far, with messages that a full queue dropped: they are not sent again.
fn units(unit: RateUnit, size: usize, tally: &Tally) -> u64 {
    let dropped = tally.failed_sends;
    match unit {
        RateUnit::Bits => 8 * (tally.bytes_sent + dropped * size as u64),
        RateUnit::Transactions | RateUnit::Packets => tally.send_calls + dropped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::message::testing::Manual;
    use netperf_measure::clock;
    use netperf_model::Arrival;

    fn bursts(burst: u32, interval: Duration, flows: usize) -> Pacing {
        Pacing::new(Some(PaceRule::Bursts(PacePlan { burst, interval })), flows)
    }

    fn rate(per_second: f64, unit: RateUnit) -> RatePlan {
        RatePlan {
            per_second,
            unit,
            arrival: Arrival::Constant,
            seed: None,
        }
    }

    fn of_one(per_second: f64, unit: RateUnit) -> Pacing {
        Pacing::of_one(&EndPlan {
            rate: Some(rate(per_second, unit)),
            ..EndPlan::default()
        })
        .unwrap()
    }

    fn two(unit: RateUnit, per_second: f64) -> Pacing {
        let sharing = Sharing {
            first: 0,
            step: 1,
            all: 2,
            size: 125,
        };
        Pacing::shared(rate(per_second, unit), 2, sharing)
    }

    fn nanos_of(time: Duration) -> u64 {
        u64::try_from(time.as_nanos()).unwrap()
    }

    #[test]
    fn without_a_rule_every_flow_may_go_on() {
        let mut pacing = Pacing::new(None, 1);
        assert!((0..1000).all(|_| pacing.may(0)));
        assert_eq!((pacing.due(true), pacing.next()), (None, None));
    }

    #[test]
    fn each_flow_has_its_burst_and_then_waits_for_its_time() {
        let interval = Duration::from_millis(2);
        let mut pacing = bursts(2, interval, 2);
        let start = clock::now();
        for flow in [0, 1] {
            assert_eq!([pacing.may(flow), pacing.may(flow)], [true, true]);
            assert!(!pacing.may(flow) || start.elapsed() >= interval);
        }
        while start.elapsed() < interval * 4 {}
        let mut came = Vec::new();
        while let Some(flow) = pacing.due(false) {
            assert!(pacing.may(flow));
            came.push(flow);
        }
        came.sort_unstable();
        came.dedup();
        assert!(!came.is_empty() && came.len() <= 2);
    }

    #[test]
    fn at_the_end_all_that_wait_are_named() {
        let mut pacing = bursts(1, Duration::from_secs(1000), 3);
        for flow in 0..3 {
            assert!(pacing.may(flow));
            assert!(!pacing.may(flow));
        }
        assert_eq!(pacing.due(false), None);
        assert_eq!(std::iter::from_fn(|| pacing.due(true)).count(), 3);
    }

    #[test]
    fn missed_ticks_are_made_up_for_on_the_grid() {
        const SHORT: Duration = Duration::from_micros(10);
        let mut pacing = bursts(2, SHORT, 1);
        let (mut stop, tally) = (Manual::patient(), Tally::default());
        let start = clock::now();
        for round in [100, 1000] {
            // Away for hundreds of ticks.
            wait::sleep(SHORT * 500);
            while pacing.flows[0].units < round * 2 {
                assert_eq!(pacing.wait(0, &mut stop, &tally), None);
            }
            let first = pacing.flows[0].first.unwrap();
            let next = pacing.due_at(pacing.flows[0]).unwrap();
            assert_eq!(next - first, round * nanos_of(SHORT), "on the grid");
        }
        assert!(start.elapsed() >= SHORT * 999, "not ahead of the grid");
    }

    #[test]
    fn a_hold_up_of_bursts_is_made_up_for_by_a_second_at_most() {
        let mut pacing = bursts(1, Duration::from_micros(10), 1);
        assert!(pacing.may(0));
        pacing.clock.put_back(Duration::from_secs(5));
        assert!(pacing.may(0));
        let given_up = pacing.flows[0].given_up;
        assert!(
            (3_999_000_000..4_500_000_000).contains(&given_up),
            "{given_up}"
        );
    }

    #[test]
    fn messages_are_not_sent_before_they_are_due() {
        let mut pacing = of_one(8_000.0, RateUnit::Bits);
        let (mut stop, mut tally) = (Manual::patient(), Tally::default());
        let start = clock::now();
        for _ in 0..4 {
            assert_eq!(pacing.wait(5, &mut stop, &tally), None);
            tally.bytes_sent += 5;
        }
        // 5 bytes are due every 5 milliseconds, the first at once.
        assert!(start.elapsed() >= Duration::from_millis(15));
        pacing.over();
        let paced = pacing.paced(tally.bytes_sent, tally.send_calls).unwrap();
        assert_eq!((paced.sent, paced.lateness.count()), (160, 4));
    }

    #[test]
    fn partial_send_is_due_by_its_bytes_and_a_dropped_message_is_not_repeated() {
        let tally = Tally {
            bytes_sent: 3,
            failed_sends: 2,
            ..Tally::default()
        };
        assert_eq!(units(RateUnit::Bits, 10, &tally), 8 * 23);
        assert_eq!(units(RateUnit::Packets, 10, &tally), 2);
    }

    #[test]
    fn a_hold_up_of_messages_is_made_up_for_by_a_second_at_most() {
        let mut pacing = of_one(1000.0, RateUnit::Packets);
        let (mut stop, mut tally) = (Manual::patient(), Tally::default());
        assert_eq!(pacing.wait(1, &mut stop, &tally), None);
        pacing.clock.put_back(Duration::from_secs(5));
        tally.send_calls = 1;
        assert_eq!(pacing.wait(1, &mut stop, &tally), None);
        let given_up = pacing.flows[0].given_up;
        assert!(given_up >= 3_999_000_000, "{given_up}");
        // The next 900 are due already.
        pacing.flows[0].units = 900;
        assert!(pacing.ready(0).is_ok());
    }

    #[test]
    fn a_wait_ends_with_the_time() {
        let mut pacing = of_one(0.1, RateUnit::Packets);
        let (mut stop, mut tally) = (Manual::stopping_after(0), Tally::default());
        let first = pacing.wait(1, &mut stop, &tally);
        assert_eq!(first, None, "the first is due at once");
        tally.send_calls = 1;
        assert_eq!(pacing.wait(1, &mut stop, &tally), Some(Ended::TimeOver));
    }

    #[test]
    fn flows_take_turns_and_what_is_sent_puts_the_next_message_off() {
        // A message of a flow is due every second, the other flow's half a second later.
        let mut pacing = two(RateUnit::Bits, 2000.0);
        pacing.begin();
        assert!(pacing.may(0));
        pacing.did(0, 125);
        assert!(!pacing.may(0));
        assert!(!pacing.may(1));
        assert_eq!(pacing.due(false), None);
        assert!(pacing.next().unwrap() <= Duration::from_millis(500));
        assert_eq!((pacing.due(true), pacing.due(true)), (Some(1), Some(0)));
        let paced = pacing.paced(125, 1).unwrap();
        assert_eq!((paced.sent, paced.lateness.count()), (1000, 1));
    }

    #[test]
    fn a_hold_up_of_flows_is_made_up_for_by_a_second_at_most_and_was_due() {
        let mut pacing = two(RateUnit::Packets, 2000.0);
        pacing.begin();
        pacing.clock.put_back(Duration::from_secs(5));
        assert!(pacing.may(0));
        pacing.did(0, 1);
        pacing.flows[0].units = 900;
        assert!(pacing.may(0));
        pacing.flows[0].units = 2000;
        assert!(!pacing.may(0));
        assert!(pacing.paced(1, 1).unwrap().due >= 10_000);
    }
}
