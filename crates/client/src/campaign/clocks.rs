//! The clocks of the agents.

use netperf_campaign::clock::{ClockReading, OffsetInterval};
use netperf_campaign::protocol::{Order, Reply};

use super::run::{CampaignRun, LOOK, now};

/// Readings of each clock, at least. A clock is read on until so many readings have not reduced the
/// bound.
const READINGS: usize = 16;
/// Readings of a clock, at most.
const MOST_READINGS: usize = 128;
/// Time after which no clock is read more often than necessary, nanoseconds.
const READ_ON: u64 = 1_000_000_000;
/// Clocks that are read at the same time, at most.
const AT_ONCE: usize = 32;
/// Round trip from which a path is long, nanoseconds.
const LONG: u64 = 2_000_000;
/// Time to read all clocks, at least: so many silences.
const READ_ALL: u64 = 10;

/// True if more readings would hardly reduce the bound.
fn is_settled(readings: &[ClockReading]) -> bool {
    let earlier = readings.len().saturating_sub(READINGS);
    let bound = |count| Some(OffsetInterval::of(readings.get(..count)?)?.bound);
    let (Some(before), Some(after)) = (bound(earlier), bound(readings.len())) else {
        return false;
    };
    readings.len() >= MOST_READINGS || after > before * 0.98
}

/// True if another clock may be read beside those that were asked at these times. Questions that
/// wait for each other make the times of both directions differ: one at a time, and more only where
/// the answers take long.
fn may_read_another(asked: &[Option<u64>]) -> bool {
    let is_long = |at: &u64| now().saturating_sub(*at) >= LONG;
    asked.iter().flatten().count() < AT_ONCE && asked.iter().flatten().all(is_long)
}

impl CampaignRun<'_> {
    /// Reads the clocks of all agents.
    pub(super) fn read_clocks(&mut self) -> Result<Vec<Option<OffsetInterval>>, String> {
        let mut waiting = self.present();
        waiting.reverse();
        let mut readings: Vec<Vec<ClockReading>> = vec![Vec::new(); self.members.len()];
        // When each was asked.
        let mut asked: Vec<Option<u64>> = vec![None; self.members.len()];
        let each = self.answer() / 100 * waiting.len() as u64;
        let until = now() + READ_ALL * self.silence + each;
        let read_on = now() + READ_ON;
        loop {
            while may_read_another(&asked) {
                let Some(index) = waiting.pop() else { break };
                self.read_clock(index, &mut asked);
            }
            if asked.iter().all(Option::is_none) && waiting.is_empty() {
                break;
            }
            self.beat();
            let within = if waiting.is_empty() { LOOK } else { LONG };
            for (index, reply) in self.replies(within) {
                let peer = self.members.get(index).and_then(|one| one.peer.as_ref());
                let answered = peer.map_or_else(now, |peer| peer.came);
                let Reply::Clock { received, sent } = reply else {
                    self.take(index, reply);
                    continue;
                };
                let Some(question) = asked.get_mut(index).and_then(Option::take) else {
                    continue;
                };
                let Some(own) = readings.get_mut(index) else {
                    continue;
                };
                own.push(ClockReading {
                    asked: question,
                    received,
                    sent,
                    answered,
                });
                let is_near = answered.saturating_sub(question) < LONG;
                let reads_on = is_near && now() < read_on && !is_settled(own);
                if own.len() < READINGS || reads_on {
                    self.read_clock(index, &mut asked);
                }
            }
            self.find_silent();
            for (index, asked) in asked.iter_mut().enumerate() {
                if self.members.get(index).is_some_and(|one| !one.is_there()) {
                    *asked = None;
                }
            }
            if now() > until {
                return Err("the clocks of the agents could not be read in time".to_owned());
            }
        }
        Ok(readings.iter().map(|all| OffsetInterval::of(all)).collect())
    }

    pub(super) fn read_clock(&mut self, index: usize, asked: &mut [Option<u64>]) {
        if let Some(asked) = asked.get_mut(index) {
            *asked = Some(now());
        }
        self.tell(index, &Order::Clock);
    }

    /// Reads the clocks before the load.
    ///
    /// # Errors
    /// One line.
    pub(super) fn synchronise(&mut self) -> Result<(), String> {
        self.progress.state("reading the clocks of the agents");
        let offsets = self.read_clocks()?;
        for (member, offset) in self.members.iter_mut().zip(offsets) {
            member.before = offset;
        }
        self.first_loss().map_or(Ok(()), Err)
    }
}
