//! Hooks around each operation of a loop over one flow: pacing, touching buffers, numbers in
//! datagrams.

use std::time::Duration;

use netperf_measure::clock;
use netperf_model::plan::TouchPlan;
use netperf_model::{EndPlan, EndSetup, Paced, Quality, Tally};
use netperf_transport::Endpoint;

use crate::due::pacing::Pacing;
use crate::ring::touch;
use crate::sequence::Sequence;
use crate::stop::{Ended, Stop};

/// Work around each operation of a loop.
pub trait Hooks {
    /// Returns whether the hooks may take time.
    fn takes_time(&self) -> bool;

    /// Waits until the operation is due and touches its buffer. Gives the reason to end if
    /// the wait brought one.
    fn before<S: Stop>(&mut self, buffer: &mut [u8], stop: &mut S, tally: &Tally) -> Option<Ended>;

    /// Looks at a received message of so many bytes.
    #[inline]
    fn arrived<E: Endpoint>(&mut self, endpoint: &E, buffer: &[u8], bytes: usize) {
        let _unused = (endpoint, buffer, bytes);
    }

    /// The time spent waiting so far.
    fn paused(&self) -> Duration;

    /// The loop is over.
    fn over(&mut self) {}

    /// The account of a rate; `None` without one.
    fn paced(&self, tally: &Tally) -> Option<Paced> {
        let _unused = tally;
        None
    }

    /// The account of numbers in datagrams; `None` without them. `tally` and `ended` are the
    /// results of the loop.
    fn quality(&self, tally: &Tally, ended: Ended) -> Option<Quality> {
        let _unused = (tally, ended);
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

/// The hooks that a plan asks for, if any.
#[derive(Debug, Default)]
pub struct PlannedHooks {
    /// The plan asks for some.
    active: bool,
    pacing: Option<Box<Pacing>>,
    touch: TouchPlan,
    paused: Duration,
    sequence: Option<Sequence>,
}

impl PlannedHooks {
    /// The hooks that a plan asks for.
    #[must_use]
    pub fn of(plan: &EndPlan) -> Self {
        let (pacing, touch) = (Pacing::of_one(plan), plan.touch);
        Self {
            active: pacing.is_some() || touch != TouchPlan::default(),
            pacing: pacing.map(Box::new),
            touch,
            ..Self::default()
        }
    }

    /// The same with numbers in datagrams, at an end that sends or receives.
    #[must_use]
    pub fn of_end(plan: &EndPlan, setup: &EndSetup, sends: bool) -> Self {
        let hooks = Self::of(plan);
        Self {
            active: hooks.active || plan.sequence,
            sequence: plan.sequence.then(|| Sequence::of(setup, sends)),
            ..hooks
        }
    }
}

impl Hooks for PlannedHooks {
    #[inline]
    fn takes_time(&self) -> bool {
        self.active
    }

    #[inline]
    fn before<S: Stop>(&mut self, buffer: &mut [u8], stop: &mut S, tally: &Tally) -> Option<Ended> {
        if !self.active {
            return None;
        }
        touch(self.touch, buffer);
        if let Some(pacing) = &mut self.pacing {
            let start = clock::now();
            let ended = pacing.wait(buffer.len(), stop, tally);
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
        if let Some(pacing) = &mut self.pacing {
            pacing.over();
        }
    }

    fn paced(&self, tally: &Tally) -> Option<Paced> {
        let pacing = self.pacing.as_ref()?;
        pacing.paced(tally.bytes_sent, tally.send_calls)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::message::testing::Manual;
    use netperf_model::PacePlan;

    #[test]
    fn operations_are_released_in_bursts_on_a_grid() {
        let interval = Duration::from_millis(5);
        let pace = Some(PacePlan { burst: 3, interval });
        let plan = EndPlan {
            pace,
            ..EndPlan::default()
        };
        let mut hooks = PlannedHooks::of(&plan);
        let (mut stop, tally) = (Manual::patient(), Tally::default());
        let start = clock::now();
        for _ in 0..10 {
            assert_eq!(hooks.before(&mut [], &mut stop, &tally), None);
        }
        // Three at once, then three at each of three ticks.
        assert!(start.elapsed() >= interval * 3);
        assert!(hooks.paused() <= start.elapsed());
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
        let mut hooks = PlannedHooks::of(&plan);
        let mut buffer = [7; 4];
        let (mut stop, tally) = (Manual::patient(), Tally::default());
        assert_eq!(hooks.before(&mut buffer, &mut stop, &tally), None);
        assert_eq!(buffer, [8, 8, 7, 7]);
    }

    #[test]
    fn a_plan_that_asks_for_nothing_has_no_hooks() {
        assert!(!PlannedHooks::of(&EndPlan::default()).takes_time());
    }
}
