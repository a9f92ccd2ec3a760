//! Feedback to datagrams that netserver sends: signs of life of netperf's host.
//!
//! Nothing acknowledges datagrams, so netserver would send them to an address that is gone. Signs
//! of life are segments of the control connection and data of a test in both directions. Without
//! any, sending pauses, and then ends (docs/decisions/0036-flood-needs-a-listener.md).

use std::cell::Cell;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::{Domain, EndJob, Meeting};
use netperf_os::sockopt::{self, IntOption};
use netperf_os::tcp;

use crate::stop::Lost;

/// Interval of looks.
pub(crate) const LOOK: Duration = Duration::from_millis(250);
/// Shortest and longest silence that pauses sending: with the interval of looks the shortest is
/// two seconds.
const SILENCE: (Duration, Duration) = (Duration::from_millis(1750), Duration::from_secs(4));
/// Addition to a silence that ended by itself, which the next one may be as long as.
const MARGIN: Duration = Duration::from_millis(500);
/// Duration of a pause without a sign that ends the run.
const PAUSE: Duration = Duration::from_millis(3250);
/// Interval of looks during a pause.
pub(crate) const PAUSE_LOOK: Duration = Duration::from_millis(10);
/// Time without a sign from which on there is an additional probe every [`LOOK`].
const PROBE_AFTER: Duration = Duration::from_secs(1);
/// Options of the control connection while datagrams go out: a probe each second, whatever their
/// number. This watch decides about a loss, not the kernel.
const OPTIONS: [(IntOption, i32); 5] = [
    (IntOption::KeepAlive, 1),
    (IntOption::KeepIdle, 1),
    (IntOption::KeepInterval, 1),
    (IntOption::KeepCount, 127),
    (IntOption::UserTimeout, 0),
];

/// Signs of life so far.
#[derive(Clone, Copy, Debug)]
struct SignsOfLife {
    count: u64,
    last: Moment,
    /// Silence that is permitted.
    patience: Duration,
}

impl SignsOfLife {
    const fn new(count: u64, now: Moment) -> Self {
        Self {
            count,
            last: now,
            patience: SILENCE.0,
        }
    }

    /// Notes the count of signs at a time. The silence until then.
    fn note(&mut self, count: u64, now: Moment) -> Duration {
        let silence = now.since(self.last);
        if count == self.count {
            return silence;
        }
        self.count = count;
        self.last = now;
        self.patience = self.patience.max(silence + MARGIN).min(SILENCE.1);
        Duration::ZERO
    }
}

/// Watch over the datagrams that netserver sends in a run. Dropping it restores the options of
/// the control connection.
#[derive(Debug)]
pub(crate) struct FeedbackWatch<'a> {
    control: BorrowedFd<'a>,
    signs: Cell<SignsOfLife>,
    /// Time of the last additional probe.
    probed: Cell<Moment>,
    before: [Option<i32>; OPTIONS.len()],
}

impl<'a> FeedbackWatch<'a> {
    /// Watches the first control connection, where netserver sends data that nothing
    /// acknowledges and the connection counts segments.
    pub(crate) fn of(job: &EndJob, controls: &[BorrowedFd<'a>]) -> Option<Self> {
        let control = *controls.first().filter(|_| is_needed(job))?;
        let count = segments(control).filter(|count| *count > 0)?;
        let before = OPTIONS.map(|(option, _)| sockopt::fetch(control, option).ok());
        for (option, value) in OPTIONS {
            let _best_effort = sockopt::set(control, option, value);
        }
        Some(Self {
            control,
            signs: Cell::new(SignsOfLife::new(count, clock::now())),
            probed: Cell::new(clock::now()),
            before,
        })
    }

    /// Silence until now, beyond what is permitted; zero below that. `received` is the amount of
    /// data from netperf.
    fn excess(&self, received: u64) -> Duration {
        let count = segments(self.control).unwrap_or(0).wrapping_add(received);
        let mut signs = self.signs.get();
        let silence = signs.note(count, clock::now());
        self.signs.set(signs);
        if silence >= PROBE_AFTER && self.probed.get().elapsed() >= LOOK {
            self.probed.set(clock::now());
            // Setting the option makes the kernel send the probe that is due.
            let _best_effort = sockopt::set(self.control, IntOption::KeepIdle, 1);
        }
        silence.saturating_sub(signs.patience)
    }

    /// Returns whether sending must pause.
    ///
    /// # Errors
    /// The loss of the host, once its silence has lasted for a pause more than is permitted.
    pub(crate) fn is_silent(&self, received: u64) -> Result<bool, Lost> {
        let excess = self.excess(received);
        if excess >= PAUSE {
            return Err(Lost::Silent(self.signs.get().last.elapsed()));
        }
        Ok(!excess.is_zero())
    }

    /// Waits while the host is silent and the run goes on. Returns its loss if it was lost.
    #[cold]
    pub(crate) fn pause(
        &self,
        received: impl Fn() -> u64,
        goes_on: impl Fn() -> bool,
    ) -> Option<Lost> {
        loop {
            match self.is_silent(received()) {
                Err(lost) => return Some(lost),
                Ok(true) if goes_on() => std::thread::sleep(PAUSE_LOOK),
                Ok(_) => return None,
            }
        }
    }
}

impl Drop for FeedbackWatch<'_> {
    fn drop(&mut self) {
        for ((option, _), before) in OPTIONS.iter().zip(self.before) {
            let _best_effort = before.map(|value| sockopt::set(self.control, *option, value));
        }
    }
}

/// Returns true if netserver sends data that nothing acknowledges and no request asks for.
pub(crate) fn is_needed(job: &EndJob) -> bool {
    let row = job.transport.row();
    let is_unacknowledged = row.meeting != Meeting::Connection
        && !row.reliable
        && matches!(row.domain, Domain::Inet | Domain::Link | Domain::Atm);
    !job.is_netperf() && job.sends && job.is_bulk() && is_unacknowledged
}

/// Segments that have arrived on a TCP connection.
fn segments(control: BorrowedFd<'_>) -> Option<u64> {
    tcp::detail(control).ok()?.segments_received.map(u64::from)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd as _;

    use netperf_model::{Family, Flow, Limit, TransportId};

    use super::*;

    /// Largest silence that pauses, of signs at these times in milliseconds and a look every
    /// quarter of a second.
    fn longest_excess(signs: &[u64], until: u64) -> Duration {
        let start = clock::now();
        let mut state = SignsOfLife::new(1, start);
        let mut longest = Duration::ZERO;
        for now in (0..=until).step_by(250) {
            let count = signs.iter().filter(|at| **at <= now).count() as u64;
            let silence = state.note(1 + count, start.plus(Duration::from_millis(now)));
            longest = longest.max(silence.saturating_sub(state.patience));
        }
        longest
    }

    #[test]
    fn sending_pauses_within_two_seconds_of_the_last_sign_and_ends_within_five() {
        let each_second: Vec<u64> = (1..10).map(|second| second * 1000).collect();
        assert_eq!(longest_excess(&each_second, 10_750), Duration::ZERO);
        assert!(longest_excess(&each_second, 9_000 + 2_000) > Duration::ZERO);
        assert!(longest_excess(&each_second, 9_000 + 4_750) < PAUSE);
        assert!(longest_excess(&each_second, 9_000 + 5_000) >= PAUSE);
    }

    #[test]
    fn signs_that_wait_in_a_queue_pause_once_and_end_nothing() {
        // Each comes back a second and a half after it was due.
        let late: Vec<u64> = (1..20).map(|number| number * 2500).collect();
        assert!(longest_excess(&late[..1], 2500) > Duration::ZERO);
        assert!(longest_excess(&late, 40_000) < MARGIN * 2);
        let mut state = SignsOfLife::new(0, clock::now());
        let second = clock::now().plus(Duration::from_millis(2500));
        state.note(1, second);
        let third = second.plus(Duration::from_millis(2500));
        assert!(state.note(1, third) < state.patience);
        // However long it was, the patience has a limit.
        state.note(2, third.plus(Duration::from_secs(60)));
        assert_eq!(state.patience, SILENCE.1);
    }

    #[test]
    fn options_of_the_control_connection_are_as_before_after_the_run() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let control = listener.accept().unwrap().0;
        let fd = control.as_fd();
        let job = |flow| EndJob::new(TransportId::Udp, Family::V4, flow, Limit::UntilStopped);
        let read = || OPTIONS.map(|(option, _)| sockopt::fetch(fd, option).unwrap());
        let before = read();
        for flow in [Flow::SEND, Flow::RR] {
            assert!(FeedbackWatch::of(&job(flow), &[fd]).is_none());
        }
        let watch = FeedbackWatch::of(&job(Flow::RECEIVE), &[fd]).unwrap();
        assert_eq!(read(), OPTIONS.map(|(_, value)| value));
        drop((watch, client));
        assert_eq!(read(), before);
    }
}
