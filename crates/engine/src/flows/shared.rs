//! State shared by the threads of a run: stage, gate, and counts.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use netperf_measure::clock;
use netperf_model::RunPart;
use netperf_os::events::Wakeup;

use crate::finish::SILENCE;

/// Stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RunStage {
    /// It goes on, and does not count yet.
    Warm = 0,
    /// It goes on and counts.
    Count = 2,
    /// It goes on, and does not count any more.
    Cool = 4,
    /// Begin nothing new, finish what was begun.
    Finish = 6,
    /// Stop where you are.
    Abandon = 8,
}

impl RunStage {
    /// The part of the run, while operations are begun.
    pub(crate) fn part(self) -> Option<RunPart> {
        match self {
            Self::Warm => Some(RunPart::WarmUp),
            Self::Count => Some(RunPart::Measured),
            Self::Cool => Some(RunPart::CoolDown),
            Self::Finish | Self::Abandon => None,
        }
    }

    /// Returns whether operations may be begun.
    #[inline]
    pub(crate) fn goes_on(self) -> bool {
        self < Self::Finish
    }
}

/// Bit of the stage of a run that pauses.
const PAUSED: u8 = 1;

/// A stage, and whether the run pauses in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StageBits(u8);

impl StageBits {
    /// A stage without a pause.
    pub(crate) const fn of(stage: RunStage) -> Self {
        Self(stage as u8)
    }

    /// The stage.
    pub(crate) const fn stage(self) -> RunStage {
        const WARM: u8 = RunStage::Warm as u8;
        const COUNT: u8 = RunStage::Count as u8;
        const COOL: u8 = RunStage::Cool as u8;
        const FINISH: u8 = RunStage::Finish as u8;
        match self.0 & !PAUSED {
            WARM => RunStage::Warm,
            COUNT => RunStage::Count,
            COOL => RunStage::Cool,
            FINISH => RunStage::Finish,
            _ => RunStage::Abandon,
        }
    }

    /// Returns whether operations may be begun.
    #[inline]
    pub(crate) const fn goes_on(self) -> bool {
        self.0 < RunStage::Finish as u8
    }

    /// Returns whether the run pauses.
    pub(crate) const fn pauses(self) -> bool {
        self.0 & PAUSED != 0
    }
}

/// The stage, on a cache line that is written a few times in a run.
#[derive(Debug)]
#[repr(align(128))]
struct StageCell(AtomicU8);

/// State shared by the coordinator and the workers.
#[derive(Debug)]
pub(crate) struct SharedRun {
    /// Rings when the run enters another stage.
    pub(super) wakeup: Wakeup,
    stage: StageCell,
    lost: AtomicBool,
    /// Round trip to the other host, which is silent and must answer, in microseconds and at
    /// least 1; 0 unless it must.
    silent: AtomicU64,
    /// When the other host was heard on the flows of any worker, nanoseconds of the clock.
    heard: AtomicU64,
    /// Reading of `CLOCK_MONOTONIC` when data was seen before all connections were accepted; 0
    /// without such data.
    data_since: AtomicU64,
    /// True if a control connection reveals the loss of the other host.
    has_control: AtomicBool,
    gate: Mutex<Gate>,
    changed: Condvar,
    workers: usize,
}

/// Progress of the workers. Locked before the loops and behind them, never in them.
#[derive(Clone, Copy, Debug, Default)]
struct Gate {
    ready: usize,
    done: usize,
    open: bool,
}

/// Event that the coordinator waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateEvent {
    /// Every worker is ready to begin, or has given up.
    Ready,
    /// Every worker is done.
    Done,
}

impl SharedRun {
    /// For this many workers; the run begins with `stage`.
    ///
    /// # Errors
    /// When there are too many open files.
    pub(crate) fn new(workers: usize, stage: RunStage) -> io::Result<Self> {
        Ok(Self {
            wakeup: Wakeup::new()?,
            stage: StageCell(AtomicU8::new(stage as u8)),
            lost: AtomicBool::new(false),
            silent: AtomicU64::new(0),
            heard: AtomicU64::new(0),
            data_since: AtomicU64::new(0),
            has_control: AtomicBool::new(false),
            gate: Mutex::default(),
            changed: Condvar::new(),
            workers,
        })
    }

    /// The stage.
    #[inline]
    pub(crate) fn stage(&self) -> RunStage {
        self.bits().stage()
    }

    /// The stage and whether the run pauses: one relaxed load, meant for the timed loops.
    #[inline]
    pub(crate) fn bits(&self) -> StageBits {
        StageBits(self.stage.0.load(Ordering::Relaxed))
    }

    /// Pauses the run before its end, or has it go on.
    pub(crate) fn pause(&self, pauses: bool) {
        let bits = |bits: u8| {
            let paused = if pauses {
                bits | PAUSED
            } else {
                bits & !PAUSED
            };
            StageBits(bits).goes_on().then_some(paused)
        };
        // A run that ends does not pause.
        let _ends = self
            .stage
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, bits);
    }

    /// The run enters a later stage, and goes on if it paused; an earlier one is ignored.
    pub(crate) fn enter(&self, stage: RunStage) {
        self.stage.0.fetch_max(stage as u8, Ordering::Relaxed);
        self.wakeup.wake();
    }

    /// The peer is gone: nothing needs to be brought to an end with it.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
        self.enter(RunStage::Abandon);
    }

    /// Returns whether the peer is gone.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Data was seen at this reading of `CLOCK_MONOTONIC`, before all connections were accepted.
    pub(crate) fn note_data_since(&self, time: Option<u64>) {
        self.data_since.store(time.unwrap_or(0), Ordering::Relaxed);
    }

    /// Reading of `CLOCK_MONOTONIC` when data was seen before all connections were accepted.
    pub(crate) fn data_since(&self) -> Option<u64> {
        let time = self.data_since.load(Ordering::Relaxed);
        (time > 0).then_some(time)
    }

    /// A control connection tells of the loss of the other host.
    pub(crate) fn note_control(&self) {
        self.has_control.store(true, Ordering::Relaxed);
    }

    /// True if a control connection reveals the loss of the other host.
    pub(crate) fn has_control(&self) -> bool {
        self.has_control.load(Ordering::Relaxed)
    }

    /// The other host was heard on the flows of a worker.
    pub(crate) fn hears(&self) {
        self.heard.store(clock::now().nanos(), Ordering::Relaxed);
    }

    /// Has the control connections probed: their hosts, at this round trip, are silent on the
    /// flows of one worker. Those of another may still hear them.
    pub(crate) fn demand_signs_of_life(&self, round_trip: Duration) {
        let heard = self.heard.load(Ordering::Relaxed);
        let silence = clock::now().nanos().saturating_sub(heard);
        if Duration::from_nanos(silence) < SILENCE {
            return;
        }
        let micros = u64::try_from(round_trip.as_micros()).unwrap_or(u64::MAX);
        self.silent.fetch_max(micros.max(1), Ordering::Relaxed);
    }

    /// Round trip to the silent host, where the control connections are to be probed.
    pub(crate) fn demands(&self) -> Option<Duration> {
        let micros = self.silent.load(Ordering::Relaxed);
        (micros > 0).then(|| Duration::from_micros(micros))
    }

    /// A worker is ready: waits until all are released together. Whether there is
    /// anything to begin.
    pub(crate) fn ready(&self) -> bool {
        let mut gate = self.gate();
        gate.ready += 1;
        self.changed.notify_all();
        while !gate.open {
            gate = self
                .changed
                .wait(gate)
                .unwrap_or_else(PoisonError::into_inner);
        }
        self.stage() != RunStage::Abandon
    }

    /// A worker is done, or has given up before it was ready.
    pub(crate) fn done(&self) {
        self.gate().done += 1;
        self.changed.notify_all();
    }

    /// Releases the workers.
    pub(crate) fn open(&self) {
        self.gate().open = true;
        self.changed.notify_all();
    }

    /// Waits this long for the workers; whether they have come so far.
    pub(crate) fn wait(&self, until: GateEvent, within: Duration) -> bool {
        let come = |gate: &Gate| match until {
            GateEvent::Ready => gate.ready + gate.done >= self.workers,
            GateEvent::Done => gate.done >= self.workers,
        };
        let (gate, _) = self
            .changed
            .wait_timeout_while(self.gate(), within, |gate| !come(gate))
            .unwrap_or_else(PoisonError::into_inner);
        come(&gate)
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_opens_for_all_workers_at_once() {
        let shared = SharedRun::new(2, RunStage::Warm).unwrap();
        let passed = AtomicU8::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    assert!(shared.ready());
                    passed.fetch_add(1, Ordering::Relaxed);
                    shared.done();
                });
            }
            while !shared.wait(GateEvent::Ready, Duration::from_secs(1)) {}
            assert_eq!(passed.load(Ordering::Relaxed), 0);
            assert!(!shared.wait(GateEvent::Done, Duration::from_millis(1)));
            shared.open();
            while !shared.wait(GateEvent::Done, Duration::from_secs(1)) {}
            assert_eq!(passed.load(Ordering::Relaxed), 2);
        });
    }

    #[test]
    fn a_stage_is_never_left_for_an_earlier_one() {
        let shared = SharedRun::new(1, RunStage::Warm).unwrap();
        shared.enter(RunStage::Finish);
        shared.enter(RunStage::Count);
        assert_eq!(shared.stage(), RunStage::Finish);
        shared.lose();
        assert_eq!(shared.stage(), RunStage::Abandon);
        assert!(shared.is_lost());
    }

    #[test]
    fn a_run_pauses_until_it_goes_on_or_enters_another_stage() {
        let shared = SharedRun::new(1, RunStage::Warm).unwrap();
        shared.pause(true);
        assert!(shared.bits().pauses() && shared.bits().goes_on());
        assert_eq!(shared.stage(), RunStage::Warm);
        shared.pause(false);
        assert!(!shared.bits().pauses());
        for stage in [RunStage::Count, RunStage::Cool, RunStage::Finish] {
            shared.pause(true);
            shared.enter(stage);
            assert!(!shared.bits().pauses());
            assert_eq!(shared.stage(), stage);
        }
        shared.pause(true);
        assert!(!shared.bits().pauses(), "the run ends");
    }
}
