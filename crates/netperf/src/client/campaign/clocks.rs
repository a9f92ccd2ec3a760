//! The clocks of the agents.

use netperf_campaign::clock::{ClockReading, OffsetInterval};
use netperf_campaign::protocol::{Order, Reply};

use super::run::{ANSWER, CampaignRun, LOOK, now};

/// Readings of each clock.
const READINGS: usize = 16;
/// Clocks that are read at the same time.
const AT_ONCE: usize = 8;
/// Time to connect to all agents and to read all clocks, at least.
const READ_ALL: u64 = 20_000_000_000;

impl CampaignRun<'_> {
    /// Reads the clocks of all agents.
    pub(super) fn read_clocks(&mut self) -> Result<Vec<Option<OffsetInterval>>, String> {
        let mut waiting = self.present();
        waiting.reverse();
        let mut readings: Vec<Vec<ClockReading>> = vec![Vec::new(); self.members.len()];
        // When each was asked.
        let mut asked: Vec<Option<u64>> = vec![None; self.members.len()];
        let until = now() + READ_ALL + ANSWER / 100 * waiting.len() as u64;
        loop {
            while asked.iter().flatten().count() < AT_ONCE {
                let Some(index) = waiting.pop() else { break };
                self.read_clock(index, &mut asked);
            }
            if asked.iter().all(Option::is_none) && waiting.is_empty() {
                break;
            }
            self.beat();
            for (index, reply) in self.replies(LOOK) {
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
                if own.len() < READINGS {
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
