//! The agreement of a coordinator and its agents about loads and their begin.

use super::question::{BeginAttempt, Question, QuestionTopic};
use super::shares::{LoadShares, pairs_with_token, token_bytes};
use super::{
    AfterStop, CampaignCoordinator, CoordinatorAction, CoordinatorPhase, LOOK, TokenBytes,
};
use crate::protocol::{OPENING, Start};

/// Least time from the commitment to the first opening of connections.
const LEAST_LEAD: u64 = 250_000_000;
/// Time that the opening of the connections of one load may take on a busy host.
const PER_LOAD: u64 = 30_000_000;
/// Time for the queues of a round to empty.
const DRAIN: u64 = 300_000_000;
/// Largest number of attempts to agree about the begin.
const ATTEMPTS: u64 = 3;

impl CampaignCoordinator {
    /// Asks agents, one after the other, and waits for an answer of each.
    pub(super) fn ask(&mut self, mut question: Question, now: u64) -> CoordinatorPhase {
        self.watch(now);
        let lost = self.members.loss_after(question.losses());
        if let Some(why) = question.failure.take().or(lost) {
            return self.not_agreed(&question.topic, why);
        }
        if std::mem::take(&mut self.interrupted) {
            let why = "interrupted".to_owned();
            self.ended = Some(why.clone());
            return self.not_agreed(&question.topic, why);
        }
        if question.is_answered() {
            return self.answered(question, now);
        }
        self.beat(now);
        if let Some((index, order)) = question.next_order() {
            self.tell(index, order);
            self.hurry(now);
        } else {
            let until = *question.until.get_or_insert(now + self.answer());
            if now >= until {
                let names: Vec<String> = question
                    .waiting()
                    .map(|one| self.members.name(one))
                    .collect();
                let (seconds, names) = (self.answer() / 1_000_000_000, names.join(", "));
                let why = format!("no answer within {seconds} s from {names}");
                return self.not_agreed(&question.topic, why);
            }
            self.next_tick = until.min(now + LOOK);
        }
        CoordinatorPhase::Asking(question)
    }

    fn answered(&mut self, question: Question, now: u64) -> CoordinatorPhase {
        match question.topic {
            QuestionTopic::Hello(_) => self.greeted(now),
            QuestionTopic::Prepare(_, attempt) => self.commit(attempt, now),
            QuestionTopic::Commit(_, attempt) => match question.late {
                None => self.agreed(attempt.again, now),
                Some(late) => {
                    let then = AfterStop::Retry(attempt, late);
                    self.abort("a begin that was too early", then, now)
                }
            },
        }
    }

    fn not_agreed(&mut self, topic: &QuestionTopic, why: String) -> CoordinatorPhase {
        match topic {
            QuestionTopic::Hello(_) => {
                self.unmet = Some(why);
                CoordinatorPhase::Resting
            }
            QuestionTopic::Prepare(_, attempt) | QuestionTopic::Commit(_, attempt) => {
                self.no_begin(*attempt, why)
            }
        }
    }

    /// Ends the attempts to agree about a begin.
    fn no_begin(&mut self, attempt: BeginAttempt, why: String) -> CoordinatorPhase {
        if attempt.again {
            self.line(format!("not measured again: {why}"));
        } else {
            self.give_up(why);
        }
        CoordinatorPhase::Resting
    }

    /// Agrees about the loads of the stage and their begin.
    pub(super) fn agree(&mut self, again: bool) -> CoordinatorPhase {
        self.attempt(BeginAttempt {
            number: 1,
            slack: 0,
            again,
            losses: self.members.losses(),
        })
    }

    fn attempt(&mut self, attempt: BeginAttempt) -> CoordinatorPhase {
        self.early = Some(Vec::new());
        let pairs = pairs_with_token(&self.members, &self.cells);
        self.act(CoordinatorAction::DrawTokens(token_bytes(pairs.len())));
        CoordinatorPhase::Drawing(attempt)
    }

    /// Makes one more attempt, unless there were enough.
    pub(super) fn retry(&mut self, attempt: BeginAttempt, late: u64) -> CoordinatorPhase {
        self.ended = None;
        if attempt.number == ATTEMPTS {
            let why = "the agents do not answer in time for a common begin".to_owned();
            return self.no_begin(attempt, why);
        }
        self.attempt(BeginAttempt {
            number: attempt.number + 1,
            // No agent needs longer than it may take for an answer.
            slack: attempt.slack + 2 * late.min(self.answer()) + LEAST_LEAD,
            ..attempt
        })
    }

    /// Prepares with the tokens that were drawn.
    pub(super) fn drawn(&mut self, tokens: Result<TokenBytes, String>, now: u64) {
        let CoordinatorPhase::Drawing(attempt) = self.phase else {
            return;
        };
        self.phase = match tokens {
            Err(why) => self.no_begin(attempt, why),
            Ok(tokens) => {
                let shares = LoadShares::new(&self.members, &self.cells, &self.facts.plan, tokens);
                let topic = QuestionTopic::Prepare(Box::new(shares), attempt);
                self.ask(Question::new(topic, self.members.present()), now)
            }
        };
    }

    /// Time from the begin of a round to that of the next.
    pub(super) fn period(&self) -> u64 {
        self.facts.plan.parts().total() + OPENING + DRAIN
    }

    /// Begin of a round of the stage, or of the probes before it.
    pub(super) fn begin_of(&self, slot: u32) -> u64 {
        let stage = self.cells.stage;
        let slot = slot.saturating_sub(stage.first_slot);
        stage.begin + self.period() * u64::from(slot)
    }

    /// End of the stage.
    pub(super) fn end(&self) -> u64 {
        self.begin_of(self.cells.stage.first_slot + self.cells.stage.slots)
    }

    /// Begin of the first load of the stage: not before all agents have everything open.
    fn first_begin(&self, slack: u64, now: u64) -> u64 {
        let first_slot = self.cells.stage.first_slot;
        let first = self.cells.of_stage();
        let first = first
            .take_while(|(_, load, _)| load.slot == first_slot)
            .count() as u64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a time of some seconds"
        )]
        let slowest = self.members.slowest() as u64;
        // No answer took longer than it may.
        let slowest = slowest.min(self.answer());
        let lead = LEAST_LEAD.max(4 * slowest + self.members.len() as u64 * 100_000);
        now + lead + OPENING + first * PER_LOAD + slack
    }

    /// Asks the agents to begin each load at its time.
    fn commit(&mut self, attempt: BeginAttempt, now: u64) -> CoordinatorPhase {
        let begin = self.first_begin(attempt.slack, now);
        self.cells.stage.begin = begin;
        if self.cells.stage.first_load == 0 {
            self.begin = begin;
            self.act(CoordinatorAction::Date(begin));
        }
        let mut starts: Vec<Vec<Start>> = vec![Vec::new(); self.members.len()];
        for (id, load, cell) in self.cells.of_stage() {
            let offset = self.members.get(cell.from).and_then(|one| one.before);
            if let (Some(offset), Some(starts)) = (offset, starts.get_mut(cell.from)) {
                let at = offset.there(self.begin_of(load.slot));
                starts.push(Start { id, at });
            }
        }
        let all = starts.iter().enumerate();
        let senders = all.filter(|(_, starts)| !starts.is_empty());
        let senders = senders.map(|(index, _)| index).collect();
        let topic = QuestionTopic::Commit(starts, attempt);
        self.ask(Question::new(topic, senders), now)
    }

    fn agreed(&mut self, again: bool, now: u64) -> CoordinatorPhase {
        let early = self.early.take().unwrap_or_default();
        self.act(CoordinatorAction::Begin(Box::new(self.head())));
        for (index, id, came) in early {
            self.take_result(index, id, came);
        }
        self.begin_to_follow(again, now)
    }
}
