//! An order that several agents have to answer.

use std::collections::{BTreeSet, VecDeque};

use super::member::MemberRun;
use super::shares::LoadShares;
use crate::protocol::{Order, Reply, Start};

/// A question to the agents.
#[derive(Debug)]
pub(super) enum QuestionTopic {
    /// Their identities.
    Hello(Order),
    /// To be ready for their loads.
    Prepare(Box<LoadShares>, BeginAttempt),
    /// To begin at these times.
    Commit(Vec<Vec<Start>>, BeginAttempt),
}

/// An attempt to agree about the begin of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BeginAttempt {
    /// The first is 1.
    pub(super) number: u64,
    /// More time than usual, nanoseconds.
    pub(super) slack: u64,
    /// Cells are measured again.
    pub(super) again: bool,
    /// Members that were lost before: the others go on without them.
    pub(super) losses: usize,
}

/// The question and its answers.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) topic: QuestionTopic,
    /// Members that were not asked yet.
    unasked: VecDeque<usize>,
    /// Members that have not answered.
    waiting: BTreeSet<usize>,
    /// End of the time for answers, once all were asked.
    pub(super) until: Option<u64>,
    /// Why there is no agreement.
    pub(super) failure: Option<String>,
    /// By how much a begin is too early, nanoseconds.
    pub(super) late: Option<u64>,
}

impl Question {
    pub(super) fn new(topic: QuestionTopic, members: Vec<usize>) -> Self {
        Self {
            topic,
            unasked: members.iter().copied().collect(),
            waiting: members.into_iter().collect(),
            until: None,
            failure: None,
            late: None,
        }
    }

    /// Members that were lost before it.
    pub(super) const fn losses(&self) -> usize {
        match &self.topic {
            QuestionTopic::Hello(_) => 0,
            QuestionTopic::Prepare(_, attempt) | QuestionTopic::Commit(_, attempt) => {
                attempt.losses
            }
        }
    }

    /// The next order. They are made one at a time: all of them together are large.
    pub(super) fn next_order(&mut self) -> Option<(usize, Order)> {
        let index = self.unasked.pop_front()?;
        let order = match &mut self.topic {
            QuestionTopic::Hello(hello) => hello.clone(),
            QuestionTopic::Prepare(shares, _) => {
                Order::Prepare(Box::new(shares.preparation(index)))
            }
            QuestionTopic::Commit(starts, _) => Order::Commit {
                starts: starts
                    .get_mut(index)
                    .map(std::mem::take)
                    .unwrap_or_default(),
            },
        };
        Some((index, order))
    }

    pub(super) fn is_answered(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        self.waiting.iter().copied()
    }

    /// Takes a reply; false if it is no answer to this question.
    pub(super) fn take(&mut self, index: usize, member: &mut MemberRun, reply: &Reply) -> bool {
        if self.failure.is_some() {
            return true;
        }
        if let Reply::Refused { reason } = reply {
            let reason = netperf_web::escape::line(reason);
            self.failure = Some(format!("{} refuses: {reason}", member.entry.name));
            return true;
        }
        let done = match &self.topic {
            QuestionTopic::Hello(_) => member.greeted(reply),
            QuestionTopic::Prepare(..) => Ok(*reply == Reply::Prepared),
            QuestionTopic::Commit(..) => Ok(self.committed(reply)),
        };
        match done {
            Ok(false) => return false,
            Ok(true) => drop(self.waiting.remove(&index)),
            Err(why) => self.failure = Some(format!("{}: {why}", member.entry.name)),
        }
        true
    }

    fn committed(&mut self, reply: &Reply) -> bool {
        match reply {
            Reply::Committed { .. } => true,
            Reply::Late { by } => {
                self.late = self.late.max(Some(*by));
                true
            }
            Reply::Hello { .. }
            | Reply::Clock { .. }
            | Reply::Prepared
            | Reply::Alive { .. }
            | Reply::Result(_)
            | Reply::Collected
            | Reply::Stopped
            | Reply::Refused { .. } => false,
        }
    }
}
