//! The main thread's part: it opens the gate, enters the stages, and watches the control
//! connections. It sleeps in between, so it takes no CPU from them.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_measure::activity::ActivityWatch;
use netperf_measure::clock::{self, Moment};
use netperf_measure::counters::{Counts, total};
use netperf_os::wait::{Interest, ready};
use netperf_os::{alarm, sockopt};

use super::shared::{GateEvent, RunStage, SharedRun};
use crate::early::StopReceiverSlot;
use crate::feedback::FeedbackWatch;
use crate::finish::{self, drain_within};
use crate::live::Live;
use crate::stop::{Lost, control_end};

/// Longest sleep between looks around.
const LOOK: Duration = Duration::from_millis(50);

/// When the stages of a run begin, and what else ends it.
#[derive(Default)]
pub(super) struct StagePlan<'a> {
    /// Stages and the time from the gate to them, in order.
    pub(super) stages: Vec<(Duration, RunStage)>,
    /// Reading of `CLOCK_MONOTONIC` at which the gate is opened; at once without it.
    pub(super) begin_at: Option<u64>,
    /// The same at which data began to come that waits for this end, without an agreed begin.
    pub(super) sent_since: Option<u64>,
    /// Socket whose first connection begins the run, and how long it is waited for.
    pub(super) awaits: Option<(BorrowedFd<'a>, Duration)>,
    /// Time without progress that ends a run without a time; `None` with a time.
    pub(super) patience: Option<Duration>,
    /// Grace period after a signal of the user; `None` where signals are ignored.
    pub(super) by_user: Option<Duration>,
    /// After the first time, nothing for the second is the end.
    pub(super) idle: Option<(Duration, Duration)>,
    /// So many transactions of all flows are the end.
    pub(super) enough: Option<u64>,
    /// Source of an early end, and the grace period after it.
    pub(super) early: Option<(&'a Live, Duration)>,
    /// Receiver of the other end's stop, and the grace period after it.
    pub(super) told: Option<(&'a StopReceiverSlot, Duration)>,
    /// Watches for signs of life of a host that datagrams are sent to.
    pub(super) feedback: Option<&'a FeedbackWatch<'a>>,
    /// netperf alone receives: a loaded host may need longer than planned.
    pub(super) drains: bool,
    /// Called when something has moved and the time is over, where only silence is the end.
    pub(super) moved: Option<&'a dyn Fn()>,
}

/// Times and end of a run.
#[derive(Debug)]
pub(super) struct Coordinated {
    /// When the gate was opened, or what counts began before.
    pub(super) opened: Moment,
    /// When nothing new was begun any more; `None` where that was never said.
    pub(super) finished: Option<Moment>,
    /// The counted part has begun.
    pub(super) counted: bool,
    /// Loss of the peer.
    pub(super) lost: Option<Lost>,
    /// Silence at the end, where only silence ends the run.
    pub(super) idle: Duration,
    /// Time since anything moved, at the end.
    pub(super) quiet: Duration,
}

/// Coordinates a run to its end. `turn` is called when a stage begins, the first one just
/// before the gate is opened.
pub(super) fn coordinate(
    shared: &SharedRun,
    counts: &[Counts],
    plan: &StagePlan<'_>,
    controls: &[BorrowedFd<'_>],
    turn: &mut dyn FnMut(RunStage, Option<Moment>),
) -> Coordinated {
    if !controls.is_empty() {
        shared.note_control();
    }
    let mut lost = None;
    let mut look = || {
        if lost.is_none() {
            lost = ended(controls);
            if lost.is_some() {
                shared.lose();
            }
        }
        if plan.by_user.is_some() && alarm::stopped_by_user() {
            shared.enter(RunStage::Abandon);
        }
    };
    while !shared.wait(GateEvent::Ready, LOOK) {
        look();
    }
    let deadline = plan.awaits.map(|(_, within)| clock::now().plus(within));
    while deadline.is_some_and(|deadline| !deadline.left().is_zero())
        && shared.stage() < RunStage::Finish
        && !connection_waits(plan)
    {
        look();
    }
    // Without the rest of the wait after the loss of the peer or a signal.
    while let Some(left) = wait_to_begin(plan).filter(|_| shared.stage() < RunStage::Finish) {
        std::thread::sleep(left.min(LOOK));
        look();
    }
    // The parts of the run count from the agreed begin, also if the gate is opened late, or from
    // when data came. The part that counts may not be over before the gate is opened.
    let since = plan.begin_at.or(plan.sent_since);
    let since = since.or_else(|| shared.data_since());
    let since = since.map(clock::at_monotonic);
    let turn = &mut |stage| turn(stage, since);
    turn(shared.stage());
    let opened = clock::now();
    shared.open();
    let begun = since.unwrap_or(opened);
    let has_margins = plan
        .stages
        .iter()
        .any(|(_, stage)| *stage == RunStage::Cool);
    let is_late = plan.begin_at.is_none() && has_margins;
    let opened = if is_late { opened } else { begun };
    let mut coordinator = Coordinator {
        shared,
        counts,
        plan,
        next: 0,
        counted: shared.stage() != RunStage::Warm,
        finished: None,
        stopped: None,
        idle: Duration::ZERO,
        quiet: ActivityWatch::since(opened),
        probed: false,
    };
    while !shared.wait(GateEvent::Done, coordinator.nap(opened)) {
        coordinator.turn_stages(opened, turn);
        coordinator.look_for_the_end(opened, turn);
        if lost.is_none() {
            lost = coordinator.look_around(controls);
            if lost.is_some() {
                shared.lose();
            }
        }
    }
    coordinator.quiet.look(&total(counts));
    Coordinated {
        opened: begun,
        finished: coordinator.finished,
        counted: coordinator.counted,
        lost,
        idle: coordinator.idle,
        quiet: coordinator.quiet.lasted(),
    }
}

/// Time until the agreed begin; `None` once it has passed.
fn wait_to_begin(plan: &StagePlan<'_>) -> Option<Duration> {
    let left = plan.begin_at?.checked_sub(clock::monotonic())?;
    Some(Duration::from_nanos(left)).filter(|left| !left.is_zero())
}

/// Returns whether there is a connection that begins the run, after a short wait.
fn connection_waits(plan: &StagePlan<'_>) -> bool {
    let waits = |(listener, _)| ready(listener, Interest::Read, LOOK);
    // An error is that of accept(2), too.
    plan.awaits
        .is_none_or(|listener| waits(listener).unwrap_or(true))
}

/// First control connection that ended.
fn ended(controls: &[BorrowedFd<'_>]) -> Option<Lost> {
    controls.iter().find_map(|control| control_end(*control))
}

struct Coordinator<'a> {
    shared: &'a SharedRun,
    counts: &'a [Counts],
    plan: &'a StagePlan<'a>,
    /// The next stage of the plan.
    next: usize,
    counted: bool,
    finished: Option<Moment>,
    /// When the run was ended before its time, and how long until it is abandoned.
    stopped: Option<(Moment, Duration)>,
    idle: Duration,
    quiet: ActivityWatch,
    /// The control connections are probed.
    probed: bool,
}

impl Coordinator<'_> {
    /// Time to sleep: until the next stage, but not long.
    fn nap(&self, opened: Moment) -> Duration {
        let next = self.plan.stages.get(self.next);
        next.map_or(LOOK, |(at, _)| opened.plus(*at).left().min(LOOK))
    }

    fn turn_stages(&mut self, opened: Moment, turn: &mut dyn FnMut(RunStage)) {
        while let Some((at, stage)) = self.plan.stages.get(self.next) {
            if !opened.plus(*at).left().is_zero() {
                break;
            }
            if *stage == RunStage::Abandon && self.drains(opened) {
                break;
            }
            self.next += 1;
            self.enter(*stage, turn);
        }
        if self.stopped.is_none() {
            self.stopped = self.ends_early().map(|grace| (clock::now(), grace));
            if self.stopped.is_some() {
                self.enter(RunStage::Finish, turn);
            }
        }
        let abandons = |(stopped, grace): (Moment, Duration)| stopped.elapsed() >= grace;
        if self.stopped.is_some_and(abandons) {
            self.enter(RunStage::Abandon, turn);
        }
    }

    /// Returns whether data on its way is waited for longer, as on a fast path.
    fn drains(&self, opened: Moment) -> bool {
        let Some(finished) = self.finished.filter(|_| self.plan.drains) else {
            return false;
        };
        let received = total(self.counts).bytes_received;
        finished.elapsed() < drain_within(received, finished.since(opened))
    }

    /// Grace period, if the run ends before its time.
    fn ends_early(&self) -> Option<Duration> {
        let plan = self.plan;
        let by_user = plan.by_user.filter(|_| alarm::stopped_by_user());
        let early = plan.early.filter(|(live, _)| live.is_enough());
        let told = plan.told.filter(|(receivers, _)| receivers.hear_the_end());
        by_user
            .or(early.map(|(_, grace)| grace))
            .or(told.map(|(_, grace)| grace))
    }

    fn enter(&mut self, stage: RunStage, turn: &mut dyn FnMut(RunStage)) {
        let before = self.shared.stage();
        if stage <= before {
            return;
        }
        self.shared.enter(stage);
        self.counted |= stage == RunStage::Count;
        if stage >= RunStage::Finish {
            self.finished.get_or_insert_with(clock::now);
            // The close that follows must be that of the last descriptor.
            if let Some((receivers, _)) = self.plan.told {
                receivers.close();
            }
        }
        turn(stage);
    }

    /// Ends a run by amount or silence.
    fn look_for_the_end(&mut self, opened: Moment, turn: &mut dyn FnMut(RunStage)) {
        if let Some(enough) = self.plan.enough {
            if total(self.counts).transactions >= enough {
                self.enter(RunStage::Finish, turn);
            }
        }
        let Some((after, silence)) = self.plan.idle else {
            self.quiet.look(&total(self.counts));
            return;
        };
        let overtime = opened.elapsed().saturating_sub(after);
        if self.quiet.look(&total(self.counts)) && !overtime.is_zero() {
            self.plan.moved.inspect(|moved| moved());
        }
        let is_end = self.quiet.is_end(overtime, silence);
        if is_end && self.finished.is_none() {
            self.idle = self.quiet.lasted();
            self.enter(RunStage::Finish, turn);
        }
    }

    fn look_around(&mut self, controls: &[BorrowedFd<'_>]) -> Option<Lost> {
        if let Some(lost) = ended(controls) {
            return Some(lost);
        }
        if let Some(feedback) = self.plan.feedback {
            match feedback.is_silent(total(self.counts).bytes_received) {
                Ok(silent) => self.shared.pause(silent),
                Err(lost) => return Some(lost),
            }
        }
        if let Some(round_trip) = self.shared.demands().filter(|_| !self.probed) {
            self.probed = true;
            for control in controls {
                sockopt::demand_signs_of_life(*control, round_trip, finish::patience());
            }
        }
        let patience = self.plan.patience?;
        let stalled = self.quiet.lasted() >= patience;
        stalled.then_some(Lost::Stalled(patience))
    }
}
