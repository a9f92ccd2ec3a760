//! Ending a run on time.
//!
//! A run blocks in system calls, so checking a clock is not enough: something must interrupt
//! the call. The alarm is a POSIX timer (timer_create(2)) that signals the thread that moves
//! the data. It fires when the time is over and then every [`REPEAT_EVERY`] until it is
//! stopped. A signal that arrives between a check of the phase and the next call is therefore
//! followed by another one. The handler does not restart system calls. On a system without POSIX
//! timers the process' own timer does the same (see [`without`](super::without)).
//!
//! `SIGALRM`, `SIGINT` and `SIGTERM` from outside have the same effect: netperf ends the test and
//! prints the result so far.

use std::io;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, Ordering,
};
use std::time::Duration;

use nix::sys::signal::{self, SaFlags, SigAction, SigHandler, SigSet};

use super::call;
use super::signals::{self, Disposition};
use super::without::{Timer, signal_thread, thread_id};

/// Interval of the alarm after the end of the run time.
pub const REPEAT_EVERY: Duration = Duration::from_millis(5);

/// Longest grace period after a signal from outside, because the user waits.
const GRACE_FOR_USER: Duration = Duration::from_millis(500);

/// Signals within this time count as one request: timeout(1) signals the program and then its
/// group.
const SAME_REQUEST: Duration = Duration::from_millis(200);

/// Phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The run goes on.
    Running,
    /// Start no new operations; finish those in flight.
    Finish,
    /// The grace period is over: stop immediately.
    Abandon,
}

/// Which signals from outside end the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// `SIGALRM`, `SIGINT` and `SIGTERM`.
    Caught,
    /// None: they keep their usual effect.
    Ignored,
}

/// Times of an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Time until [`Phase::Finish`]; `None` leaves that to signals from outside.
    pub finish_after: Option<Duration>,
    /// Time from there to [`Phase::Abandon`], half a second at most where a signal from outside
    /// ended the run.
    pub grace: Duration,
    /// Without `finish_after`: interrupt blocked calls this often, so that their
    /// caller can look around.
    pub heartbeat: Duration,
}

// Only one run at a time moves data in a process. The state is static because a signal handler
// can access nothing else.
static PHASE: AtomicU8 = AtomicU8::new(RUNNING);
static FIRED: AtomicU32 = AtomicU32::new(0);
static OVER: AtomicBool = AtomicBool::new(false);
static STOPPED_BY_USER: AtomicBool = AtomicBool::new(false);
/// When, by the monotonic clock in nanoseconds; 0 before.
static STOPPED_AT: AtomicI64 = AtomicI64::new(0);
static FINISHED_AT: AtomicI64 = AtomicI64::new(0);
static GRACE: AtomicI64 = AtomicI64::new(0);
/// Start of the run and end of its time, by the monotonic clock in nanoseconds.
static BEGUN: AtomicI64 = AtomicI64::new(0);
static DUE: AtomicI64 = AtomicI64::new(0);
/// First and longest interval between checks, nanoseconds; 0 without checks.
static CHECK_FIRST: AtomicI64 = AtomicI64::new(0);
static CHECK_EVERY: AtomicI64 = AtomicI64::new(0);
/// The interval now.
static CHECK_INTERVAL: AtomicI64 = AtomicI64::new(0);
/// Until the interval between checks is the longest, it is this part of the time since the start.
const CHECK_GROWTH: i64 = 8;
// Values of PHASE. A loop that never blocks is never interrupted; CHECK in the phase, which it
// reads on every pass, tells it to run its periodic check.
const RUNNING: u8 = 0;
const FINISH: u8 = 1;
const ABANDON: u8 = 2;
const CHECK: u8 = 3;
// The first timer of a process has the id 0, so a null pointer is a timer, too.
static TIMER: AtomicPtr<libc::c_void> = AtomicPtr::new(std::ptr::null_mut());
static HAS_TIMER: AtomicBool = AtomicBool::new(false);
/// The thread that the timer of the process ([`Timer::OfProcess`]) is for; 0 without such a timer.
static TIMED_THREAD: AtomicI32 = AtomicI32::new(0);

/// Phase of the run. One relaxed load, suitable for the timed loop.
#[inline]
#[must_use]
pub fn phase() -> Phase {
    phase_or(|| Phase::Running)
}

/// The same, where it is time to look around with what `look` says of it. It costs nothing
/// besides.
#[inline]
pub fn phase_or(look: impl FnOnce() -> Phase) -> Phase {
    match PHASE.load(Ordering::Relaxed) {
        RUNNING => Phase::Running,
        FINISH => Phase::Finish,
        ABANDON => Phase::Abandon,
        _ => look(),
    }
}

/// Ends a periodic check until the next one is due.
pub fn checked() {
    // A phase change in the meantime is kept.
    let _other = PHASE.compare_exchange(CHECK, RUNNING, Ordering::Relaxed, Ordering::Relaxed);
}

/// Gives operations in flight this much time after the end of the run time.
pub fn extend_grace(grace: Duration) {
    GRACE.store(nanos(grace), Ordering::Relaxed);
}

/// There is no use in going on: [`Phase::Abandon`] begins now.
pub fn abandon() {
    FINISHED_AT.store(now(), Ordering::Relaxed);
    GRACE.store(0, Ordering::Relaxed);
    DUE.store(0, Ordering::Relaxed);
    OVER.store(true, Ordering::Relaxed);
    PHASE.store(ABANDON, Ordering::Relaxed);
    if HAS_TIMER.load(Ordering::Relaxed) {
        // On failure the phase is still visible.
        let _armed = current_timer().arm(REPEAT_EVERY, REPEAT_EVERY);
    }
}

/// Number of times the alarm has fired. One relaxed load: lets a loop of non-blocking calls
/// detect what would have interrupted a blocking call.
#[inline]
#[must_use]
pub fn fired() -> u32 {
    FIRED.load(Ordering::Relaxed)
}

/// Returns true if a signal from outside ended the run.
#[must_use]
pub fn stopped_by_user() -> bool {
    STOPPED_BY_USER.load(Ordering::Relaxed)
}

/// Time since the end of the run time; zero before.
#[must_use]
pub fn overtime() -> Duration {
    if phase() == Phase::Running {
        return Duration::ZERO;
    }
    let over = now().saturating_sub(FINISHED_AT.load(Ordering::Relaxed));
    Duration::from_nanos(u64::try_from(over).unwrap_or(0))
}

/// Ends the run from any thread, as if its time were over. An alarm must exist for the duration
/// of the call.
pub fn end() {
    DUE.store(0, Ordering::Relaxed);
    OVER.store(true, Ordering::Relaxed);
    if HAS_TIMER.load(Ordering::Relaxed) {
        // A timer that exists can be set; without it the run ends when its time is over.
        let _armed = current_timer().arm(Duration::from_nanos(1), REPEAT_EVERY);
    }
}

/// Makes `SIGALRM`, `SIGINT` and `SIGTERM` end the current run, or the next one before it begins. A second
/// signal at least a fifth of a second later has its usual effect. Must be called before the
/// peer learns that a test has begun, because a caller may then send these signals at once.
///
/// # Errors
/// Whatever sigaction(2) reports.
pub fn catch_signals() -> io::Result<()> {
    install(signal::SIGALRM)?;
    install(signal::SIGINT)?;
    install(signal::SIGTERM)
}

/// Makes SIGHUP end a run as SIGTERM does, unless it is ignored, as under nohup(1).
///
/// # Errors
/// Whatever sigaction(2) reports.
pub fn catch_hangup() -> io::Result<()> {
    if signals::handler(libc::SIGHUP)? == libc::SIG_IGN {
        return Ok(());
    }
    install(signal::SIGHUP)
}

/// The timer and the handlers of one run; dropping it puts them away.
#[derive(Debug)]
pub struct Alarm {
    timer: Timer,
    outside: Outside,
}

impl Alarm {
    /// Creates the timer for the calling thread and installs the handlers.
    ///
    /// # Errors
    /// `EAGAIN` when the kernel cannot create another timer.
    pub fn new(outside: Outside) -> io::Result<Self> {
        // A signal that came before the run ends it before it begins.
        if !STOPPED_BY_USER.load(Ordering::Relaxed) {
            PHASE.store(RUNNING, Ordering::Relaxed);
            OVER.store(false, Ordering::Relaxed);
        }
        match outside {
            Outside::Caught => catch_signals()?,
            Outside::Ignored => install(signal::SIGALRM)?,
        }
        let timer = Timer::new()?;
        match timer {
            Timer::OfThread(id) => TIMER.store(id, Ordering::Relaxed),
            Timer::OfProcess => TIMED_THREAD.store(thread_id(), Ordering::Relaxed),
        }
        HAS_TIMER.store(true, Ordering::Relaxed);
        Ok(Self { timer, outside })
    }

    /// Starts the time of the run.
    ///
    /// # Errors
    /// Whatever timer_settime(2) reports.
    pub fn start(&self, schedule: Schedule) -> io::Result<()> {
        GRACE.store(nanos(schedule.grace), Ordering::Relaxed);
        DUE.store(0, Ordering::Relaxed);
        if phase() != Phase::Running {
            return self.timer.arm(REPEAT_EVERY, REPEAT_EVERY);
        }
        if let Some(after) = schedule.finish_after {
            let check_every_nanos = CHECK_EVERY.load(Ordering::Relaxed);
            if check_every_nanos > 0 && nanos(after) > check_every_nanos {
                let begun = now();
                OVER.store(false, Ordering::Relaxed);
                BEGUN.store(begun, Ordering::Relaxed);
                DUE.store(begun.saturating_add(nanos(after)), Ordering::Relaxed);
                CHECK_INTERVAL.store(check_interval(0), Ordering::Relaxed);
                let first = Duration::from_nanos(check_interval(0).unsigned_abs());
                return self.timer.arm(first, first);
            }
            OVER.store(true, Ordering::Relaxed);
            self.timer
                .arm(after.max(Duration::from_nanos(1)), REPEAT_EVERY)
        } else {
            self.timer.arm(schedule.heartbeat, schedule.heartbeat)
        }
    }

    /// Interrupts blocked calls in runs with a time, too, so that their caller can look around:
    /// for the runs that are started from now on. The interval grows from `first` to `longest`.
    pub fn check_every(&self, first: Duration, longest: Duration) {
        CHECK_FIRST.store(nanos(first.min(longest)), Ordering::Relaxed);
        CHECK_EVERY.store(nanos(longest), Ordering::Relaxed);
    }

    /// Stops ringing; the phase stays readable.
    pub fn stop(&self) {
        // Disarming a timer that exists cannot fail.
        let _disarmed = self.timer.stop();
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        HAS_TIMER.store(false, Ordering::Relaxed);
        CHECK_FIRST.store(0, Ordering::Relaxed);
        CHECK_EVERY.store(0, Ordering::Relaxed);
        DUE.store(0, Ordering::Relaxed);
        self.timer.delete();
        TIMED_THREAD.store(0, Ordering::Relaxed);
        if self.outside == Outside::Ignored {
            signals::dispose(libc::SIGALRM, Disposition::Usual);
        }
    }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// The timer of the run. There must be one.
fn current_timer() -> Timer {
    if TIMED_THREAD.load(Ordering::Relaxed) == 0 {
        Timer::OfThread(TIMER.load(Ordering::Relaxed))
    } else {
        Timer::OfProcess
    }
}

fn install(signal: signal::Signal) -> io::Result<()> {
    // No SA_RESTART.
    let action = SigAction::new(
        SigHandler::SigAction(on_signal),
        SaFlags::SA_SIGINFO,
        SigSet::empty(),
    );
    // SAFETY: `on_signal` does only what a signal handler may.
    unsafe { signal::sigaction(signal, &action) }?;
    unblock(signal);
    Ok(())
}

/// A parent may have blocked the signal; the mask survives exec.
pub(super) fn unblock(signal: signal::Signal) {
    // It fails for arguments only that are wrong.
    let _unblocked = SigSet::from(signal).thread_unblock();
}

/// The monotonic clock in nanoseconds, for the handler: clock_gettime(2) is safe there.
#[allow(
    clippy::useless_conversion,
    reason = "both fields have 32 bits on 32-bit architectures"
)]
fn now() -> i64 {
    let time = call::clock(libc::CLOCK_MONOTONIC);
    i64::from(time.tv_sec)
        .saturating_mul(1_000_000_000)
        .saturating_add(i64::from(time.tv_nsec))
}

extern "C" fn on_signal(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo.
    let code = unsafe { info.as_ref() }.map(|info| info.si_code);
    let timed_thread = TIMED_THREAD.load(Ordering::Relaxed);
    let from_timer = match code {
        Some(libc::SI_TIMER) => true,
        // setitimer(2), or another thread that its signal came to.
        Some(libc::SI_KERNEL | libc::SI_TKILL) => timed_thread != 0,
        _ => false,
    };
    if from_timer && timed_thread != 0 && thread_id() != timed_thread {
        signal_thread(timed_thread, libc::SIGALRM);
        return;
    }
    if !from_timer {
        on_user_signal(signal);
    } else if DUE.load(Ordering::Relaxed) != 0 {
        request_check();
    }
    if OVER.load(Ordering::Relaxed) {
        fire();
    } else if from_timer {
        // Anything but a run that goes on has no use for it.
        let _other = PHASE.compare_exchange(RUNNING, CHECK, Ordering::Relaxed, Ordering::Relaxed);
    }
    FIRED.fetch_add(1, Ordering::Relaxed);
}

fn on_user_signal(signal: libc::c_int) {
    // Signals may come to two threads at once: one of them is the first.
    let (not_yet, at) = (0, now());
    let before = STOPPED_AT.compare_exchange(not_yet, at, Ordering::Relaxed, Ordering::Relaxed);
    if let Err(first) = before {
        if at.saturating_sub(first) < nanos(SAME_REQUEST) {
            return;
        }
        // Asked twice: whatever is still going on, the user wants out.
        super::terminal::leave();
        signals::raise_usual(signal);
        return;
    }
    STOPPED_BY_USER.store(true, Ordering::Relaxed);
    DUE.store(0, Ordering::Relaxed);
    OVER.store(true, Ordering::Relaxed);
    if HAS_TIMER.load(Ordering::Relaxed) {
        // On failure the phase is still set below; only the grace period is lost.
        let _armed = current_timer().arm(REPEAT_EVERY, REPEAT_EVERY);
    }
}

/// A ring before the end, or the end: the next ring is then at the end at the latest.
fn request_check() {
    let now = now();
    let left = DUE.load(Ordering::Relaxed).saturating_sub(now);
    if left <= 0 {
        DUE.store(0, Ordering::Relaxed);
        OVER.store(true, Ordering::Relaxed);
        let _armed = current_timer().arm(REPEAT_EVERY, REPEAT_EVERY);
        return;
    }
    let interval = check_interval(now.saturating_sub(BEGUN.load(Ordering::Relaxed)));
    let (first, every) = if left < interval {
        (left, REPEAT_EVERY)
    } else if interval == CHECK_INTERVAL.load(Ordering::Relaxed) {
        return;
    } else {
        CHECK_INTERVAL.store(interval, Ordering::Relaxed);
        (interval, Duration::from_nanos(interval.unsigned_abs()))
    };
    // A timer that exists can be set; without it the next ring comes a little late.
    let first = Duration::from_nanos(first.unsigned_abs());
    let _armed = current_timer().arm(first, every);
}

/// Nanoseconds between checks in a run that began this long ago.
fn check_interval(age_nanos: i64) -> i64 {
    let first = CHECK_FIRST.load(Ordering::Relaxed);
    let longest = CHECK_EVERY.load(Ordering::Relaxed);
    (age_nanos / CHECK_GROWTH).max(first).min(longest)
}

fn grace() -> i64 {
    let grace = GRACE.load(Ordering::Relaxed);
    if STOPPED_BY_USER.load(Ordering::Relaxed) {
        grace.min(nanos(GRACE_FOR_USER))
    } else {
        grace
    }
}

fn fire() {
    let now = now();
    if phase() == Phase::Running {
        FINISHED_AT.store(now, Ordering::Relaxed);
        PHASE.store(FINISH, Ordering::Relaxed);
    }
    let waited = now.saturating_sub(FINISHED_AT.load(Ordering::Relaxed));
    if waited >= grace() {
        PHASE.store(ABANDON, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    // One test, because the alarm's state belongs to the process.
    #[test]
    fn the_bell_interrupts_a_blocked_call_and_reaches_abandon_after_the_grace() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let alarm = Alarm::new(Outside::Ignored).unwrap();
        alarm
            .start(Schedule {
                finish_after: Some(Duration::from_millis(20)),
                grace: Duration::from_millis(30),
                heartbeat: Duration::from_secs(1),
            })
            .unwrap();
        let mut buf = [0; 1];
        assert_eq!(
            socket.recv(&mut buf).unwrap_err().kind(),
            io::ErrorKind::Interrupted
        );
        assert!(phase() >= Phase::Finish);
        while phase() != Phase::Abandon {
            assert_eq!(
                socket.recv(&mut buf).unwrap_err().kind(),
                io::ErrorKind::Interrupted
            );
        }
        assert!(!stopped_by_user());
        drop(alarm);
        another_thread_ends_a_run();
        rings_before_the_end_do_not_end_it();
        an_alarm_from_outside_rings_on_until_abandon();
    }

    fn another_thread_ends_a_run() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let alarm = Alarm::new(Outside::Ignored).unwrap();
        alarm
            .start(Schedule {
                finish_after: Some(Duration::from_secs(600)),
                grace: Duration::from_secs(600),
                heartbeat: Duration::from_secs(1),
            })
            .unwrap();
        std::thread::scope(|scope| {
            scope.spawn(end);
            while phase() == Phase::Running {
                let interrupted = socket.recv(&mut [0; 1]).unwrap_err();
                assert_eq!(interrupted.kind(), io::ErrorKind::Interrupted);
            }
        });
        assert_eq!(phase(), Phase::Finish);
        assert!(!stopped_by_user());
    }

    fn rings_before_the_end_do_not_end_it() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let alarm = Alarm::new(Outside::Ignored).unwrap();
        alarm.check_every(Duration::from_millis(1), Duration::from_millis(40));
        let intervals = [0, 80_000_000, 400_000_000].map(check_interval);
        assert_eq!(intervals, [1_000_000, 10_000_000, 40_000_000]);
        let due = now() + 310_000_000;
        alarm
            .start(Schedule {
                finish_after: Some(Duration::from_millis(310)),
                grace: Duration::ZERO,
                heartbeat: Duration::from_secs(1),
            })
            .unwrap();
        let mut early = 0;
        while phase() == Phase::Running {
            let interrupted = socket.recv(&mut [0; 1]).unwrap_err();
            assert_eq!(interrupted.kind(), io::ErrorKind::Interrupted);
            if phase() == Phase::Running {
                early += 1;
                let asked = std::cell::Cell::new(0);
                let look = || {
                    asked.set(asked.get() + 1);
                    Phase::Running
                };
                phase_or(look);
                checked();
                phase_or(look);
                assert_eq!(
                    asked.get(),
                    1,
                    "said until somebody has looked, and no longer"
                );
            }
        }
        assert!(now() >= due, "it rang before its time");
        assert!(early >= 1, "nobody could look around");
    }

    fn an_alarm_from_outside_rings_on_until_abandon() {
        let alarm = Alarm::new(Outside::Caught).unwrap();
        alarm
            .start(Schedule {
                finish_after: Some(Duration::from_secs(60)),
                grace: Duration::from_millis(30),
                heartbeat: Duration::from_secs(1),
            })
            .unwrap();
        assert_eq!(phase(), Phase::Running);
        signal::raise(signal::SIGALRM).unwrap();
        assert!(stopped_by_user());
        signal::raise(signal::SIGALRM).unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        while phase() != Phase::Abandon {
            let interrupted = socket.recv(&mut [0; 1]).unwrap_err();
            assert_eq!(interrupted.kind(), io::ErrorKind::Interrupted);
        }
    }
}
