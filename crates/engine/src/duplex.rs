//! Bulk data both ways at once: a thread for each direction of an end (decision 0015).
//!
//! The thread that the alarm interrupts sends; the other one receives, wakes up by a time-out of
//! its calls, and ends by the alarm's phase and its own patience.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_measure::counters::Counts;
use netperf_measure::recorder::{NoRecorder, Recorder};
use netperf_model::{EndPlan, EndSetup, IoCounts, Quality, Tally};
use netperf_os::{alarm, tcp};
use netperf_transport::Endpoint;

use crate::alarm_stop::AlarmStop;
use crate::due::hooks::{Hooks, PlannedHooks};
use crate::finish::{LossWatch, drain_within, impatient};
use crate::limit::RunLimit;
use crate::ring::Ring;
use crate::stop::{Ended, Lost, Phase, Stop, control_end, is_gone};
use crate::workload::{LoopContext, stream};

/// Time limits of a receiver that waits for the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Without anything, in a run that no time ends.
    pub(crate) untimed: Option<Duration>,
    /// Without anything, once the time is over.
    pub(crate) silence: Duration,
    /// In all, once the time is over.
    pub(crate) at_most: Duration,
    /// In all, once a signal from outside ended the run.
    pub(crate) impatience: Duration,
}

/// Signals between the two threads of an end.
#[derive(Debug, Default)]
struct DirectionSignals {
    /// Stop sending.
    enough: AtomicBool,
    /// Stop receiving.
    in_vain: AtomicBool,
}

/// Stop conditions of the sender.
#[derive(Debug)]
struct Sending<'a, 's> {
    alarm: &'a mut AlarmStop<'s>,
    between: &'a DirectionSignals,
}

impl Stop for Sending<'_, '_> {
    #[inline]
    fn phase(&self) -> Phase {
        if self.between.enough.load(Ordering::Relaxed) {
            return Phase::Finish;
        }
        self.alarm.phase()
    }

    #[inline]
    fn progress(&self, tally: &Tally) {
        self.alarm.progress(tally);
    }

    fn interrupted(&mut self, tally: &Tally) -> Option<Ended> {
        self.alarm.interrupted(tally)
    }
}

/// Stop conditions of the receiver.
#[derive(Debug)]
struct Receiving<'a> {
    between: &'a DirectionSignals,
    control: Option<BorrowedFd<'a>>,
    /// Counts that the loop publishes.
    counts: Arc<[Counts]>,
    patience: Patience,
    seen: Tally,
    since: Moment,
    /// The connection on which this end sends, where what arrives counts until all that was
    /// sent has arrived at the other end, and later only if all of it arrives within the grace
    /// period.
    cut_by: Option<BorrowedFd<'a>>,
    at_end: Option<(Moment, Tally)>,
    /// Data that arrives after a signal of the user does not count: the other end sends datagrams
    /// until it learns of the signal.
    cuts_at_stop: bool,
    at_stop: Option<Tally>,
    begun: Moment,
    /// The counts that others see, once `counts` are no longer those.
    shown: Arc<[Counts]>,
    losses: LossWatch<'a>,
}

impl Receiving<'_> {
    fn is_too_late(&self) -> bool {
        let over = alarm::overtime();
        let most = if alarm::stopped_by_user() {
            self.patience.impatience
        } else {
            self.patience.at_most
        };
        !over.is_zero() && over >= most
    }

    /// Notes the counts once all that was sent has arrived. What arrives later is not shown.
    fn note(&mut self, tally: &Tally) {
        // The end of the data counts as one byte.
        let arrived = |data| tcp::unacknowledged(data).is_ok_and(|bytes| bytes <= 1);
        if self.at_end.is_none() && self.cut_by.is_some_and(arrived) {
            self.at_end = Some((clock::now(), *tally));
            self.shown = std::mem::replace(&mut self.counts, Arc::new([]));
        }
    }

    /// Takes the counts back to when all that was sent had arrived, where the grace period was
    /// not enough. When what counts was over, where that is not now.
    fn settle(&self, ended: &io::Result<Ended>, tally: &mut Tally) -> Option<Moment> {
        if matches!(ended, Ok(Ended::Lost(_))) {
            return self.losses.moved();
        }
        if let Some(at_stop) = self.at_stop {
            *tally = at_stop;
        }
        let (moment, at_end) = self.at_end?;
        if matches!(ended, Ok(Ended::Abandoned)) {
            *tally = at_end;
            return Some(moment);
        }
        if let [counts] = &*self.shown {
            counts.publish(tally);
        }
        None
    }
}

impl Stop for Receiving<'_> {
    #[inline]
    fn phase(&self) -> Phase {
        // A sender that never pauses never lets a receive time out.
        if self.between.in_vain.load(Ordering::Relaxed) {
            return Phase::Abandon;
        }
        alarm::phase().min(Phase::Finish)
    }

    #[inline]
    fn progress(&self, tally: &Tally) {
        if let [counts] = &*self.counts {
            counts.publish(tally);
        }
    }

    #[cold]
    fn overtime(&mut self, tally: &Tally) -> Option<Ended> {
        self.note(tally);
        if self.cuts_at_stop && self.at_stop.is_none() && alarm::stopped_by_user() {
            self.at_stop = Some(*tally);
            self.counts = Arc::new([]);
        }
        let in_vain = self.between.in_vain.load(Ordering::Relaxed);
        let late = match self.at_end {
            Some((moment, at_end)) => {
                let ran = moment.since(self.begun);
                let within = drain_within(at_end.bytes_received, ran);
                moment.elapsed() >= impatient(within, self.patience.impatience)
            }
            None => self.is_too_late(),
        };
        if in_vain || late {
            return Some(Ended::Abandoned);
        }
        let data = self.cut_by?;
        if *tally != self.seen {
            (self.seen, self.since) = (*tally, clock::now());
            self.losses.moves();
        }
        self.losses.look(data).map(Ended::Lost)
    }

    #[cold]
    fn interrupted(&mut self, tally: &Tally) -> Option<Ended> {
        if *tally != self.seen {
            (self.seen, self.since) = (*tally, clock::now());
        }
        let silent = self.since.elapsed();
        if alarm::phase() != Phase::Running {
            let silent = silent.min(alarm::overtime());
            return (silent >= self.patience.silence).then_some(Ended::Abandoned);
        }
        if let Some(lost) = self.control.and_then(control_end) {
            return Some(Ended::Lost(lost));
        }
        let untimed = self.patience.untimed.filter(|longest| silent >= *longest);
        untimed.map(|longest| Ended::Lost(Lost::Stalled(longest)))
    }
}

/// The receiving direction of an end.
pub(crate) struct Inward<'a, F> {
    /// Makes the endpoint of this direction, in the thread that receives: a ring of io_uring
    /// belongs to its thread.
    pub(crate) endpoint: F,
    pub(crate) ring: &'a mut Ring,
    pub(crate) plan: &'a EndPlan,
    pub(crate) setup: &'a EndSetup,
    pub(crate) patience: Patience,
    /// The end of received data ends sending, too.
    pub(crate) ends_both: bool,
    /// Amount that ends receiving, if the other end does not.
    pub(crate) amount: RunLimit,
    /// The connection on which netperf sends.
    pub(crate) cut_by: Option<BorrowedFd<'a>>,
    /// netperf receives datagrams, which count until a signal of the user.
    pub(crate) cuts_at_stop: bool,
    /// netperf resets a connection when its time is over.
    pub(crate) may_be_reset: bool,
}

/// End of both directions.
#[derive(Debug)]
pub(crate) struct BothEnded {
    pub(crate) sending: Ended,
    pub(crate) receiving: Ended,
    /// Quality from the numbers in received datagrams.
    pub(crate) quality: Option<Quality>,
    /// Counts of the calls underneath the messages, of both directions.
    pub(crate) counts: Option<IoCounts>,
    /// When what counts was over, where something arrived later.
    pub(crate) over: Option<Moment>,
}

/// An error and its direction.
#[derive(Debug)]
pub(crate) enum Failed {
    Sending(io::Error),
    Receiving(io::Error),
}

/// Moves data both ways until each is over. `tell` tells the other end, once there is
/// nothing more to send, where it is to be told.
pub(crate) fn both<O, I, F, R, P>(
    (outward, ring): (&mut O, &mut Ring),
    inward: Inward<'_, F>,
    run: LoopContext<'_, AlarmStop<'_>, R, P>,
    tell: impl FnOnce(),
) -> Result<BothEnded, Failed>
where
    O: Endpoint,
    I: Endpoint,
    F: FnOnce() -> io::Result<I> + Send,
    R: Recorder,
    P: Hooks,
{
    let LoopContext {
        limit,
        stop,
        tally,
        recorder,
        hooks,
    } = run;
    let between = DirectionSignals::default();
    let may_be_reset = inward.may_be_reset;
    let receiving = Receiving {
        between: &between,
        control: stop.control(),
        counts: stop.live().of_workers(1),
        patience: inward.patience,
        seen: Tally::default(),
        since: clock::now(),
        cut_by: inward.cut_by,
        at_end: None,
        cuts_at_stop: inward.cuts_at_stop,
        at_stop: None,
        begun: clock::now(),
        shown: Arc::new([]),
        losses: LossWatch::new(stop.control()),
    };
    let (sent, got) = thread::scope(|scope| {
        let receiver = thread::Builder::new()
            .name("receive".to_owned())
            .spawn_scoped(scope, || {
                netperf_os::without::join_patience();
                receive(inward, receiving)
            })
            .map_err(Failed::Receiving)?;
        let mut sending = Sending {
            alarm: stop,
            between: &between,
        };
        let run = LoopContext {
            limit,
            stop: &mut sending,
            tally: &mut *tally,
            recorder,
            hooks,
        };
        let sent = after_reset(stream::send(outward, ring, run), may_be_reset);
        let lost = matches!(sent, Err(_) | Ok(Ended::Lost(_)));
        if lost || sending.alarm.gone().is_some() {
            between.in_vain.store(true, Ordering::Relaxed);
        } else {
            tell();
        }
        let panicked = || Failed::Receiving(io::Error::other("the receiving thread panicked"));
        let got = receiver.join().map_err(|_| panicked())?;
        Ok((sent, got))
    })?;
    let Got {
        ended,
        tally: got,
        quality,
        counts,
        over,
    } = got;
    outward.reclaim();
    tally.failed_sends += outward.take_dropped();
    let outward = (outward.counts(), IoCounts::of_sends(tally.send_calls));
    let inward = (counts, IoCounts::of_receives(got.recv_calls));
    // Received data counts even if sending failed.
    *tally = tally.plus(&got);
    let sending = sent.map_err(Failed::Sending)?;
    Ok(BothEnded {
        sending,
        receiving: ended.map_err(Failed::Receiving)?,
        quality,
        counts: IoCounts::of_parts(outward, inward),
        over,
    })
}

/// Result of the receiving thread.
struct Got {
    ended: io::Result<Ended>,
    tally: Tally,
    quality: Option<Quality>,
    counts: Option<IoCounts>,
    over: Option<Moment>,
}

/// The end of a connection that the other end has reset, where it may do so.
fn after_reset(ended: io::Result<Ended>, may_be_reset: bool) -> io::Result<Ended> {
    ended.or_else(|error| {
        let over = may_be_reset || alarm::phase() != Phase::Running;
        if over && is_gone(&error) {
            Ok(Ended::ByPeer)
        } else {
            Err(error)
        }
    })
}

/// The receiving thread.
fn receive<I: Endpoint>(
    inward: Inward<'_, impl FnOnce() -> io::Result<I>>,
    mut stop: Receiving<'_>,
) -> Got {
    let plan = EndPlan {
        pace: None,
        ..inward.plan.clone()
    };
    let mut hooks = PlannedHooks::of_end(&plan, inward.setup, false);
    let mut tally = Tally::default();
    let between = stop.between;
    let run = LoopContext {
        limit: inward.amount,
        stop: &mut stop,
        tally: &mut tally,
        recorder: &mut NoRecorder,
        hooks: &mut hooks,
    };
    let mut counts = None;
    let ended = (inward.endpoint)().and_then(|mut endpoint| {
        let ended = stream::receive(&mut endpoint, inward.ring, run);
        counts = endpoint.counts();
        ended
    });
    let ended = after_reset(ended, inward.may_be_reset);
    let known = ended.as_ref().ok();
    // Numbers tell what was lost of all that was sent.
    let quality = known.and_then(|ended| hooks.quality(&tally, *ended));
    let over = stop.settle(&ended, &mut tally);
    let goes_on = matches!(
        ended,
        Ok(Ended::ByPeer | Ended::Abandoned | Ended::Complete)
    ) && !inward.ends_both;
    if !goes_on {
        between.enough.store(true, Ordering::Relaxed);
    }
    Got {
        ended,
        tally,
        quality,
        counts,
        over,
    }
}
