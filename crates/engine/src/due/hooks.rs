//! What is done around each operation: waiting for its turn, touching its buffer, writing
//! and reading numbers.

use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::plan::TouchPlan;
use netperf_model::{EndPlan, EndSetup, PacePlan, Paced, Quality, Tally};
use netperf_transport::Endpoint;

use crate::due::rate::Rated;
use crate::sequence::Sequence;
use crate::stop::{Ended, Phase, Stop};

/// How much of the time that a paced loop lost it makes up for.
pub(crate) const MADE_UP: Duration = Duration::from_secs(1);

/// Done by a loop around each operation.
pub trait Hooks {
    /// Whether it may take time.
    fn takes_time(&self) -> bool;

    /// Waits for the operation's turn and touches its buffer; the reason to end if
    /// the wait brought one.
    fn before<S: Stop>(&mut self, buffer: &mut [u8], stop: &mut S, tally: &Tally) -> Option<Ended>;

    /// A receive left so many bytes in a buffer.
    #[inline]
    fn arrived<E: Endpoint>(&mut self, endpoint: &E, buffer: &[u8], bytes: usize) {
        let _nobody_looks = (endpoint, buffer, bytes);
    }

    /// The time spent waiting so far.
    fn paused(&self) -> Duration;

    /// The loop is over.
    fn over(&mut self) {}

    /// What keeping to a rate came to; `None` where there was none.
    fn paced(&self, tally: &Tally) -> Option<Paced> {
        let _unpaced = tally;
        None
    }

    /// What the numbers in datagrams told, where they had some; `tally` and `ended` are of
    /// the loop.
    fn quality(&self, tally: &Tally, ended: Ended) -> Option<Quality> {
        let _no_numbers = (tally, ended);
        None
    }
}

/// No work around an operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    #[inline]
    fn takes_time(&self) -> bool {
        false
    }

    #[inline]
    fn before<S: Stop>(&mut self, _: &mut [u8], _: &mut S, _: &Tally) -> Option<Ended> {
        None
    }

    fn paused(&self) -> Duration {
        Duration::ZERO
    }
}

/// Any of pacing, touching and numbering.
#[derive(Debug, Default)]
pub struct PlannedHooks {
    pace: Option<Pace>,
    rate: Option<Box<Rated>>,
    touch: TouchPlan,
    paused: Duration,
    sequence: Option<Sequence>,
}

impl PlannedHooks {
    /// What a plan asks for; `None` when it asks for nothing.
    #[must_use]
    pub fn of(plan: &EndPlan) -> Option<Self> {
        let pace = plan
            .pace
            .filter(|pace| pace.burst > 0 && !pace.interval.is_zero());
        let touch = plan.touch;
        let rate = Rated::of(plan);
        if pace.is_none() && rate.is_none() && touch == TouchPlan::default() {
            return None;
        }
        Some(Self {
            pace: pace.map(Pace::new),
            rate: rate.map(Box::new),
            touch,
            ..Self::default()
        })
    }

    /// The same and numbers in datagrams, at an end that sends or at one that receives.
    #[must_use]
    pub fn of_end(plan: &EndPlan, setup: &EndSetup, sends: bool) -> Option<Self> {
        let hooks = Self::of(plan);
        if !plan.sequence {
            return hooks;
        }
        Some(Self {
            sequence: Some(Sequence::of(setup, sends)),
            ..hooks.unwrap_or_default()
        })
    }
}

impl Hooks for PlannedHooks {
    #[inline]
    fn takes_time(&self) -> bool {
        true
    }

    #[inline]
    fn before<S: Stop>(&mut self, buffer: &mut [u8], stop: &mut S, tally: &Tally) -> Option<Ended> {
        touch(self.touch, buffer);
        if self.pace.is_some() || self.rate.is_some() {
            let start = clock::now();
            let paced = self.pace.as_mut();
            let ended = paced.and_then(|pace| pace.wait(start, stop, tally));
            let rated = self.rate.as_mut().filter(|_| ended.is_none());
            let ended = rated.map_or(ended, |rate| rate.wait(buffer.len(), stop, tally));
            self.paused += start.elapsed();
            if ended.is_some() {
                return ended;
            }
        }
        if let Some(Sequence::Writes(numbers)) = &self.sequence {
            numbers.write(buffer, tally.send_calls);
        }
        None
    }

    #[inline]
    fn arrived<E: Endpoint>(&mut self, endpoint: &E, buffer: &[u8], bytes: usize) {
        if let Some(Sequence::Reads(track)) = &mut self.sequence {
            track.arrived(endpoint, buffer, bytes);
        }
    }

    fn paused(&self) -> Duration {
        self.paused
    }

    fn over(&mut self) {
        if let Some(rate) = &mut self.rate {
            rate.over();
        }
    }

    fn paced(&self, tally: &Tally) -> Option<Paced> {
        self.rate.as_ref().map(|rate| rate.paced(tally))
    }

    fn quality(&self, tally: &Tally, ended: Ended) -> Option<Quality> {
        match self.sequence.as_ref()? {
            Sequence::Writes(_) => Some(Quality {
                sent: tally.send_calls,
                ..Quality::default()
            }),
            Sequence::Reads(track) => Some(Quality {
                ended: ended == Ended::ByPeer,
                ..track.quality()
            }),
        }
    }
}

/// Hooks or none, for loops that serve both.
impl Hooks for Option<PlannedHooks> {
    #[inline]
    fn takes_time(&self) -> bool {
        self.is_some()
    }

    #[inline]
    fn before<S: Stop>(&mut self, buffer: &mut [u8], stop: &mut S, tally: &Tally) -> Option<Ended> {
        self.as_mut()?.before(buffer, stop, tally)
    }

    #[inline]
    fn arrived<E: Endpoint>(&mut self, endpoint: &E, buffer: &[u8], bytes: usize) {
        if let Some(hooks) = self {
            hooks.arrived(endpoint, buffer, bytes);
        }
    }

    fn paused(&self) -> Duration {
        self.as_ref().map_or(Duration::ZERO, PlannedHooks::paused)
    }

    fn over(&mut self) {
        if let Some(hooks) = self {
            hooks.over();
        }
    }

    fn paced(&self, tally: &Tally) -> Option<Paced> {
        self.as_ref()?.paced(tally)
    }

    fn quality(&self, tally: &Tally, ended: Ended) -> Option<Quality> {
        self.as_ref()?.quality(tally, ended)
    }
}

/// Writes the first bytes of a buffer and reads those that follow, so that they are
/// in this CPU's cache, or dirty there, when the kernel gets them.
fn touch(plan: TouchPlan, buffer: &mut [u8]) {
    let dirty = usize::try_from(plan.dirty).unwrap_or(0).min(buffer.len());
    let (dirtied, rest) = buffer.split_at_mut(dirty);
    for byte in dirtied {
        *byte = byte.wrapping_add(1);
    }
    let clean = usize::try_from(plan.clean).unwrap_or(0).min(rest.len());
    let sum = rest[..clean]
        .iter()
        .fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    std::hint::black_box(sum);
}

/// Releases a number of operations at every tick.
///
/// Ticks lie on a fixed grid, and those that passed while the loop was busy or not
/// running are made up for: the average rate holds on a busy host, too. Of what passed
/// in a longer blockade only [`MADE_UP`] is made up for, so that it does not end in a
/// long rush.
#[derive(Clone, Copy, Debug)]
struct Pace {
    plan: PacePlan,
    left: u32,
    next: Option<Moment>,
}

impl Pace {
    fn new(plan: PacePlan) -> Self {
        Self {
            plan,
            left: plan.burst,
            next: None,
        }
    }

    fn wait<S: Stop>(&mut self, now: Moment, stop: &mut S, tally: &Tally) -> Option<Ended> {
        let next = *self
            .next
            .get_or_insert_with(|| now.plus(self.plan.interval));
        if self.left > 0 {
            self.left -= 1;
            return None;
        }
        self.left = self.plan.burst.saturating_sub(1);
        let too_late = now.since(next).saturating_sub(MADE_UP);
        self.next = Some(next.plus(too_late).plus(self.plan.interval));
        while !next.left().is_zero() {
            if stop.phase() != Phase::Running {
                return Some(Ended::TimeOver);
            }
            // The bell's signals cut the sleep short.
            netperf_os::wait::sleep(next.left());
            if stop.phase() == Phase::Running && !next.left().is_zero() {
                if let Some(ended) = stop.interrupted(tally) {
                    return Some(ended);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::message::testing::Manual;

    #[test]
    fn operations_are_released_in_bursts_on_a_grid() {
        let interval = Duration::from_millis(5);
        let pace = Some(PacePlan { burst: 3, interval });
        let plan = EndPlan {
            pace,
            ..EndPlan::default()
        };
        let mut hooks = PlannedHooks::of(&plan).unwrap();
        let (mut stop, tally) = (Manual::patient(), Tally::default());
        let start = clock::now();
        for _ in 0..10 {
            assert_eq!(hooks.before(&mut [], &mut stop, &tally), None);
        }
        // Three at once, then three at each of three ticks.
        assert!(start.elapsed() >= interval * 3);
        assert!(hooks.paused() <= start.elapsed());
    }

    const SHORT: Duration = Duration::from_micros(10);

    #[test]
    fn missed_ticks_are_made_up_for() {
        let plan = PacePlan {
            burst: 2,
            interval: SHORT,
        };
        let mut pace = Pace::new(plan);
        let (mut stop, tally) = (Manual::patient(), Tally::default());
        let start = clock::now();
        for round in [100, 1000] {
            // Away for hundreds of ticks.
            netperf_os::wait::sleep(SHORT * 500);
            while pace
                .next
                .is_none_or(|next| next < start.plus(SHORT * round))
            {
                assert_eq!(pace.wait(start, &mut stop, &tally), None);
            }
            assert_eq!(pace.next, Some(start.plus(SHORT * round)), "on the grid");
        }
        assert!(start.elapsed() >= SHORT * 999, "not ahead of the grid");
    }

    #[test]
    fn a_blockade_is_made_up_for_by_a_second_at_most() {
        let plan = PacePlan {
            burst: 1,
            interval: SHORT,
        };
        let mut pace = Pace::new(plan);
        let (mut stop, tally) = (Manual::patient(), Tally::default());
        let start = clock::now();
        assert_eq!(pace.wait(start, &mut stop, &tally), None);
        let back = start.plus(Duration::from_secs(5));
        assert_eq!(pace.wait(back, &mut stop, &tally), None);
        let next = start.plus(Duration::from_secs(4)).plus(SHORT);
        assert_eq!(pace.next, Some(next));
    }

    #[test]
    fn dirty_bytes_change_and_clean_bytes_do_not() {
        let touch = TouchPlan {
            dirty: 2,
            clean: 100,
        };
        let plan = EndPlan {
            touch,
            ..EndPlan::default()
        };
        let mut hooks = PlannedHooks::of(&plan).unwrap();
        let mut buffer = [7; 4];
        let (mut stop, tally) = (Manual::patient(), Tally::default());
        assert_eq!(hooks.before(&mut buffer, &mut stop, &tally), None);
        assert_eq!(buffer, [8, 8, 7, 7]);
    }

    #[test]
    fn a_plan_without_chores_has_none() {
        assert!(PlannedHooks::of(&EndPlan::default()).is_none());
    }
}
