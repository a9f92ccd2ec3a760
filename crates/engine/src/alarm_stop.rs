//! The stop of a run: the alarm, and what an end sees when it looks around.

use std::cell::Cell;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_measure::activity::ActivityWatch;
use netperf_measure::clock::{self, Moment};
use netperf_measure::counters::Counts;
use netperf_measure::cpu::Meter;
use netperf_model::Tally;
use netperf_os::alarm::{self, Alarm, Schedule};

use crate::early::StopReceiver;
use crate::feedback::FeedbackWatch;
use crate::finish::{self, DRAIN, FAST_SILENCE};
use crate::live::Live;
use crate::stop::{Ended, Lost, Phase, Stop, control_end, control_has_ended};
use crate::timing;

/// Stops by the bell, and by what an end sees when it looks around between rings.
#[derive(Debug)]
pub struct AlarmStop<'a> {
    control: Option<BorrowedFd<'a>>,
    live: &'a Live,
    /// Counts that the loop publishes.
    counts: &'a Counts,
    alarm: &'a Alarm,
    started: Moment,
    /// Data that arrives after the time counts only if all of it arrives within the grace period.
    cuts: bool,
    /// Counts at the end of the time.
    at_end: Option<(Moment, Tally)>,
    /// Time until the run began.
    waited: Cell<Duration>,
    quiet: ActivityWatch,
    patience: Duration,
    silence: Option<Duration>,
    meter: Option<&'a Meter>,
    gone: Cell<Option<Lost>>,
    /// Receives netperf's stop, where it may send one.
    stop_receiver: Option<StopReceiver>,
    /// Watches for signs of life of a host that datagrams are sent to.
    feedback: Option<FeedbackWatch<'a>>,
    /// Last look at the control connection.
    looked: Cell<Moment>,
    /// Rings of the alarm until the last sample after the end of the time.
    fired: u32,
}

impl<'a> AlarmStop<'a> {
    /// Watches `control` for its end, and the tally for signs of life at least
    /// every `patience`, whenever the bell says that it is time to look around.
    #[must_use]
    pub fn new(
        control: Option<BorrowedFd<'a>>,
        alarm: &'a Alarm,
        live: &'a Live,
        patience: Duration,
    ) -> Self {
        let now = clock::now();
        Self {
            control,
            alarm,
            live,
            counts: live.counts(),
            started: now,
            cuts: false,
            at_end: None,
            waited: Cell::new(Duration::ZERO),
            quiet: ActivityWatch::since(now),
            patience,
            silence: None,
            meter: None,
            gone: Cell::new(None),
            stop_receiver: None,
            feedback: None,
            looked: Cell::new(now),
            fired: alarm::fired(),
        }
    }

    /// Ends the run, too, when the time is over and nothing moved for this long.
    pub(crate) fn end_in_silence(&mut self, silence: Duration) {
        self.silence = Some(silence);
    }

    /// Pauses the loop, and then ends the run, while the other host gives no sign of life.
    pub(crate) fn needs_feedback(&mut self, feedback: Option<FeedbackWatch<'a>>) {
        self.feedback = feedback;
    }

    /// Counts what arrives after the end of the time only if all of it arrives within the grace
    /// period.
    pub(crate) fn cut_at_the_end(&mut self) {
        self.cuts = true;
    }

    /// Takes the counts back to the end of the time, where the grace period was not enough;
    /// publishes those that hold.
    pub(crate) fn settle(&mut self, ended: Ended, tally: &mut Tally) {
        match self.at_end {
            Some((_, at_end)) if ended == Ended::Abandoned => *tally = at_end,
            Some(_) => {
                self.at_end = None;
                self.live.publish(tally);
            }
            None => {}
        }
    }

    /// Time since the end of the time, where what arrived after it does not count.
    pub(crate) fn uncounted(&self) -> Option<Duration> {
        self.at_end.map(|(moment, _)| moment.elapsed())
    }

    /// Has `meter` note when something moved last, once the time is over.
    pub(crate) fn metered_by(&mut self, meter: Option<&'a Meter>) {
        self.meter = meter;
    }

    /// The time since the run began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Begins the run now.
    pub(crate) fn begins_anew(&self) {
        self.waited.set(self.elapsed());
    }

    /// The time until the run began, where that was late.
    pub(crate) fn waited(&self) -> Duration {
        self.waited.get()
    }

    /// The control connection.
    pub(crate) const fn control(&self) -> Option<BorrowedFd<'a>> {
        self.control
    }

    /// Loss of the peer, if the loop saw it.
    pub(crate) fn gone(&self) -> Option<Lost> {
        self.gone.get()
    }

    /// The counts of the run, for others to look at.
    pub(crate) const fn live(&self) -> &'a Live {
        self.live
    }

    /// Ends the run, too, when netperf says that it has had enough; `None` listens no more,
    /// and lets go of the connection.
    pub(crate) fn listen(&mut self, stop_receiver: Option<StopReceiver>) {
        self.stop_receiver = stop_receiver;
    }

    /// The loop is over.
    pub(crate) fn over(&self, ended: Ended) {
        match self.at_end {
            Some((moment, _)) if ended == Ended::Abandoned => self.live.end_at(moment),
            Some(_) | None => self.live.end(),
        }
    }

    /// Gives the rest of the run another schedule.
    ///
    /// # Errors
    /// Whatever timer_settime(2) reports.
    pub fn reschedule(&self, schedule: Schedule) -> io::Result<()> {
        self.alarm.start(schedule)
    }

    /// For how long nothing has moved, after the time was over.
    pub(crate) fn silent(&self) -> Duration {
        self.quiet.lasted().min(alarm::overtime())
    }

    /// Time since anything moved.
    pub(crate) fn quiet(&self) -> Duration {
        self.quiet.lasted()
    }

    /// Sees the counts at the end of the loop.
    pub(crate) fn look_at_the_end(&mut self, tally: &Tally) {
        self.quiet.look(tally);
    }

    /// Returns whether silence ends the run.
    fn is_silent(&mut self, tally: &Tally) -> bool {
        // Always updated, for [`Self::silent`].
        let silence = self.silence.unwrap_or(Duration::MAX);
        if self.quiet.look(tally) {
            self.meter.inspect(|meter| meter.note());
        }
        self.quiet.is_end(alarm::overtime(), silence)
    }

    /// Looks whether the control connection still stands, in a loop that never blocks.
    #[cold]
    fn look(&self) -> Phase {
        alarm::checked();
        if self.live.samples_arrivals() {
            self.live.sample_arrivals();
            if self.looked.get().elapsed() < timing::HEARTBEAT {
                return alarm::phase();
            }
            self.looked.set(clock::now());
        }
        let silent = self.feedback.as_ref().and_then(|feedback| {
            let goes_on = || alarm::phase() == Phase::Running && !self.ends_early();
            feedback.pause(|| self.live.read().bytes_received, goes_on)
        });
        // Looked at first: who is gone has ended both, and has not had enough.
        let enough = self.has_stopped();
        self.gone
            .set(silent.or_else(|| self.control.and_then(control_end)));
        if self.gone.get().is_some() {
            alarm::abandon();
        } else if enough {
            alarm::end();
        }
        alarm::phase()
    }

    /// Returns whether netperf has sent its stop.
    fn has_stopped(&self) -> bool {
        let receiver = self.stop_receiver.as_ref();
        receiver.is_some_and(StopReceiver::has_stopped)
    }

    /// Returns whether netperf has ended the run.
    fn ends_early(&self) -> bool {
        self.has_stopped() || self.control.is_some_and(control_has_ended)
    }

    fn look_around(&mut self, tally: &Tally) -> Option<Ended> {
        if self.look() != Phase::Running {
            return self.gone().map(Ended::Lost);
        }
        self.quiet.look(tally);
        let stalled = self.quiet.lasted() >= self.patience;
        stalled.then_some(Ended::Lost(Lost::Stalled(self.patience)))
    }
}

impl Stop for AlarmStop<'_> {
    #[inline]
    fn phase(&self) -> Phase {
        alarm::phase_or(|| self.look())
    }

    #[inline]
    fn progress(&self, tally: &Tally) {
        self.counts.publish(tally);
    }

    #[cold]
    fn interrupted(&mut self, tally: &Tally) -> Option<Ended> {
        match alarm::phase() {
            Phase::Running => self.look_around(tally),
            Phase::Finish => {
                self.live.sample_arrivals();
                self.is_silent(tally).then_some(Ended::Abandoned)
            }
            Phase::Abandon => Some(self.gone().map_or(Ended::Abandoned, Ended::Lost)),
        }
    }

    #[cold]
    fn overtime(&mut self, tally: &Tally) -> Option<Ended> {
        if self.cuts && self.at_end.is_none() {
            self.at_end = Some((clock::now(), *tally));
            self.counts = self.live.late_counts();
            self.live.time_is_over();
            let ran = self.elapsed().saturating_sub(self.waited());
            let within = finish::drain_within(tally.bytes_received, ran);
            if within > DRAIN && !alarm::stopped_by_user() {
                alarm::extend_grace(within);
                self.silence = Some(FAST_SILENCE);
            }
            self.meter.inspect(|meter| meter.note());
        }
        if self.fired != alarm::fired() {
            self.fired = alarm::fired();
            self.live.sample_arrivals();
        }
        (alarm::phase() == Phase::Abandon).then_some(Ended::Abandoned)
    }
}
