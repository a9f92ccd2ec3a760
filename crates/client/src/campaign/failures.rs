//! What a coordinator does without a member, and at an early end.

use std::time::Duration;

use netperf_campaign::plan::OnFailure;
use netperf_campaign::protocol::{HEARTBEAT, Order, Reply};
use netperf_campaign::signs::silence_limit;
use netperf_os::signals::Signal;
use netperf_os::wait::ready_of;

use super::run::{CampaignRun, LOOK, Member, now};

/// Longest time for agents to close their connections, nanoseconds.
const PARTING: u64 = 10_000_000_000;
/// Time for agents to stop, beyond the silence of one, nanoseconds.
const STOPPING: u64 = 1_000_000_000;

impl CampaignRun<'_> {
    /// Goes on without a member, whose connection ends.
    pub(super) fn lose(&mut self, index: usize, why: String) {
        if let Some(member) = self.members.get_mut(index) {
            if let Some(peer) = member.peer.take() {
                peer.reset();
            }
            if member.lost.is_none() && !self.parting {
                // Before the first load the campaign ends, and its error names the member.
                if self.begin > 0 {
                    self.progress
                        .line(&format!("{} is lost: {why}", member.entry.name));
                }
                member.lost = Some((why, now()));
                self.losses += 1;
                self.close_loads(index);
            }
        }
    }

    /// Finds the members that give no sign of life.
    pub(super) fn find_silent(&mut self) {
        if now() < self.next_look {
            return;
        }
        self.next_look = now() + LOOK;
        let limit = silence_limit(self.silence, self.members.len());
        let all = self.members.iter().enumerate();
        let peers = all.filter_map(|(index, member)| Some((index, member.peer.as_ref()?)));
        let silent = peers.filter(|(_, peer)| peer.is_silent(limit));
        let silent: Vec<_> = silent.map(|(index, peer)| (index, peer.fd())).collect();
        if silent.is_empty() {
            return;
        }
        // What has come and was not read yet is no silence.
        let fds: Vec<_> = silent.iter().map(|(_, fd)| (*fd, false)).collect();
        let readable = ready_of(&fds, Duration::ZERO).unwrap_or_default();
        let silent = silent
            .iter()
            .zip(readable)
            .filter(|(_, readable)| !readable);
        let silent: Vec<usize> = silent.map(|((index, _), _)| *index).collect();
        for index in silent {
            let seconds = Duration::from_nanos(limit).as_secs_f64();
            self.lose(index, format!("it is silent for {seconds} s"));
        }
    }

    /// The first member that was lost, in one line.
    pub(super) fn first_loss(&self) -> Option<String> {
        if self.losses == 0 {
            return None;
        }
        let lost = |member: &Member| {
            let (why, _) = member.lost.as_ref()?;
            Some(format!("{} is lost: {why}", member.entry.name))
        };
        self.members.iter().find_map(lost)
    }

    /// Sends a heartbeat to all greeted agents when it is due, and returns true then.
    pub(super) fn beat(&mut self) -> bool {
        if now() < self.next_beat {
            return false;
        }
        self.next_beat = now() + HEARTBEAT;
        let greeted = |index: &usize| self.members.get(*index).is_some_and(Member::is_greeted);
        let greeted: Vec<usize> = self.present().into_iter().filter(greeted).collect();
        for index in greeted {
            self.tell(index, &Order::Alive);
        }
        true
    }

    /// Ends the loads of the others to members that were lost.
    pub(super) fn exclude_lost(&mut self) {
        if self.losses == self.excluded.len() {
            return;
        }
        let lost = |(index, member): (usize, &Member)| member.lost.as_ref().map(|_| index);
        let lost: Vec<usize> = self.members.iter().enumerate().filter_map(lost).collect();
        let order = Order::Without {
            members: lost.clone(),
        };
        self.excluded = lost;
        for index in self.present() {
            self.tell(index, &order);
        }
    }

    /// Lets all agents go, and waits until they have closed their connections: the end of this
    /// process would cut off orders that they have not read.
    pub(super) fn part(&mut self) {
        for index in self.present() {
            self.tell(index, &Order::Bye);
        }
        self.parting = true;
        let until = now() + self.silence.min(PARTING);
        while now() < until && !self.present().is_empty() {
            self.replies(HEARTBEAT / 5);
        }
    }

    /// Gives the campaign up before its first load.
    ///
    /// # Errors
    /// The line, where no document is to be written: the command line, the plan or a host is
    /// wrong.
    pub(super) fn give_up(&mut self, why: String) -> Result<(), String> {
        if self.first_loss().is_none() && self.ended.is_none() {
            return Err(why);
        }
        self.progress.line(&format!("ending: {why}"));
        self.ended = Some(why);
        Ok(())
    }

    /// Why the campaign ends now, if it does.
    pub(super) fn reason_to_end(&self, signal: Option<Signal>) -> Option<String> {
        if signal.is_some() {
            return Some("interrupted".to_owned());
        }
        if self.broken.is_some() || self.losses == 0 {
            return self.broken.clone();
        }
        let lost = self.members.iter().find(|one| one.lost.is_some())?;
        let name = &lost.entry.name;
        if self.plan.on_failure() == OnFailure::Abort {
            return Some(format!("{name} is lost"));
        }
        let there = self.members.iter().filter(|one| one.lost.is_none()).count();
        let least = self.plan.min_members;
        (there < least).then(|| {
            let left = if there == 1 {
                "member is"
            } else {
                "members are"
            };
            format!("{there} {left} left, fewer than {least}")
        })
    }

    /// Ends all load.
    pub(super) fn abort(&mut self, why: &str) {
        self.progress.line(&format!("ending: {why}"));
        self.ended = Some(why.to_owned());
        let mut waiting = self.present();
        for index in waiting.clone() {
            self.tell(index, &Order::Abort);
        }
        let until = now() + self.silence + STOPPING;
        while !waiting.is_empty() && now() < until {
            for (index, reply) in self.replies(HEARTBEAT / 5) {
                if reply == Reply::Stopped {
                    waiting.retain(|one| *one != index);
                } else {
                    self.take(index, reply);
                }
            }
            self.beat();
            self.find_silent();
            let present = self.present();
            waiting.retain(|one| present.contains(one));
        }
    }
}
