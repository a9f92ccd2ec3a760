//! Whose turn it is, where operations of a flow are released at fixed times (`-b`, `-w`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::{EndPlan, PacePlan};

use super::spaced::Spaced;
use crate::due::hooks::MADE_UP;

/// The pacing of a worker's flows. Each flow has a grid of its own, so that flows which
/// begin together do not stay in step by our doing.
#[derive(Debug)]
pub(crate) struct Pacing {
    paced: Option<Paced>,
    spaced: Option<Spaced>,
}

#[derive(Debug)]
struct Paced {
    plan: PacePlan,
    flows: Box<[Grid]>,
    /// Flows that wait, by the time of their turn. There is room for all of them.
    waiting: BinaryHeap<Reverse<(Moment, usize)>>,
}

/// Where a flow stands on its grid.
#[derive(Clone, Copy, Debug)]
struct Grid {
    left: u32,
    next: Option<Moment>,
}

/// Whether an end is paced.
pub(crate) fn paced(plan: &EndPlan) -> Option<PacePlan> {
    plan.pace
        .filter(|pace| pace.burst > 0 && !pace.interval.is_zero())
}

impl Pacing {
    /// For so many flows; without a pace it is always everybody's turn.
    pub(crate) fn new(pace: Option<PacePlan>, flows: usize) -> Self {
        let paced = pace.map(|plan| {
            let grid = Grid {
                left: plan.burst,
                next: None,
            };
            Paced {
                plan,
                flows: vec![grid; flows].into_boxed_slice(),
                waiting: BinaryHeap::with_capacity(flows),
            }
        });
        Self {
            paced,
            spaced: None,
        }
    }

    /// The same for flows that keep to a rate besides, where they do.
    pub(crate) fn spaced(self, spaced: Option<Spaced>) -> Self {
        Self { spaced, ..self }
    }

    /// The run begins.
    pub(crate) fn begin(&mut self) {
        if let Some(spaced) = &mut self.spaced {
            spaced.begin();
        }
    }

    /// What keeping to a rate came to; `None` where nobody did.
    pub(crate) fn came_to(&self, bytes: u64, messages: u64) -> Option<netperf_model::Paced> {
        self.spaced
            .as_ref()
            .map(|spaced| spaced.paced(bytes, messages))
    }

    /// Whether a flow may begin an operation now. Where not, [`Pacing::due`] names it later.
    #[inline]
    pub(crate) fn may(&mut self, token: usize) -> bool {
        // Asking about a rate takes nothing away.
        if let Some(spaced) = &mut self.spaced {
            if !spaced.may(token) {
                return false;
            }
        }
        match &mut self.paced {
            None => true,
            Some(paced) => paced.may(token),
        }
    }

    /// A flow has sent so many bytes.
    #[inline]
    pub(crate) fn did(&mut self, token: usize, bytes: usize) {
        if let Some(spaced) = &mut self.spaced {
            spaced.did(token, bytes);
        }
    }

    /// A flow whose turn has come, or any that waits when `all` are to come.
    #[inline]
    pub(crate) fn due(&mut self, all: bool) -> Option<usize> {
        if let Some(token) = self.spaced.as_mut().and_then(|spaced| spaced.due(all)) {
            return Some(token);
        }
        let paced = self.paced.as_mut()?;
        let Reverse((at, token)) = paced.waiting.peek()?;
        let token = (all || at.left().is_zero()).then_some(*token)?;
        paced.waiting.pop();
        Some(token)
    }

    /// The time until the next turn, where anybody waits for one.
    #[inline]
    pub(crate) fn next(&self) -> Option<Duration> {
        let spaced = self.spaced.as_ref().and_then(Spaced::next);
        let paced = self.paced.as_ref().and_then(|paced| {
            let Reverse((at, _)) = paced.waiting.peek()?;
            Some(at.left())
        });
        match (spaced, paced) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
}

impl Paced {
    fn may(&mut self, token: usize) -> bool {
        let Some(grid) = self.flows.get_mut(token) else {
            return true;
        };
        if grid.left > 0 && grid.next.is_some() {
            grid.left -= 1;
            return true;
        }
        let now = clock::now();
        let next = *grid
            .next
            .get_or_insert_with(|| now.plus(self.plan.interval));
        if grid.left > 0 {
            grid.left -= 1;
            return true;
        }
        if next > now {
            self.waiting.push(Reverse((next, token)));
            return false;
        }
        grid.left = self.plan.burst.saturating_sub(1);
        // Of a long blockade only this much is made up for, as in the plain loop.
        let too_late = now.since(next).saturating_sub(MADE_UP);
        grid.next = Some(next.plus(too_late).plus(self.plan.interval));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flow_has_its_burst_and_then_waits_for_its_time() {
        let interval = Duration::from_millis(2);
        let mut pacing = Pacing::new(Some(PacePlan { burst: 2, interval }), 2);
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
    fn without_a_pace_it_is_always_everybodys_turn() {
        let mut pacing = Pacing::new(None, 1);
        assert!((0..1000).all(|_| pacing.may(0)));
        assert_eq!((pacing.due(true), pacing.next()), (None, None));
    }

    #[test]
    fn at_the_end_all_that_wait_are_named() {
        let interval = Duration::from_secs(1000);
        let mut pacing = Pacing::new(Some(PacePlan { burst: 1, interval }), 3);
        for flow in 0..3 {
            assert!(pacing.may(flow));
            assert!(!pacing.may(flow));
        }
        assert_eq!(pacing.due(false), None);
        assert_eq!(std::iter::from_fn(|| pacing.due(true)).count(), 3);
    }
}
