//! When the run of an end is over: schedules, grace periods, and the time spent in vain.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_model::{EndJob, Ending, TransportId};
use netperf_os::alarm::{self, Schedule};
use netperf_os::{SockRef, tcp};

use crate::alarm_stop::AlarmStop;
use crate::arrivals;
use crate::early;
use crate::feedback;
use crate::finish;
use crate::moved::Moved;
use crate::stop::{Ended, GRACE};

/// Time that netserver waits for netperf's end of the run past the test's length.
pub const PAD: Duration = Duration::from_secs(4);
/// Silence after the time is over that ends a run in which netperf sends no end.
pub(crate) const IDLE: Duration = Duration::from_secs(1);
/// Time within which a connection must stand for the response to count as the beginning.
pub(crate) const PROMPT: Duration = Duration::from_millis(50);
/// Time that netserver waits for the data connection, unless the test is longer: netperf tries
/// for 15 s, and its first packets are lost where other traffic fills the path.
pub(crate) const CONNECTION: Duration = Duration::from_secs(16);
/// Longest time that the kernel may need to deliver the response; this time does not count.
const DELIVERY: Duration = Duration::from_secs(60);
/// Interval between looks at the control connection.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(1);

/// Time without progress that ends a run without a time.
pub(crate) const fn patience(job: &EndJob) -> Duration {
    Duration::from_secs(if job.is_netperf() { 30 } else { 120 })
}

/// Time that a connection may take to be opened.
pub(crate) fn connects_within(job: &EndJob) -> Duration {
    const AT_LEAST: Duration = Duration::from_secs(15);
    let within = |time| AT_LEAST.max(time + GRACE);
    job.time().map_or(Duration::MAX, within)
}

/// First and longest interval between looks around: short where netperf may end netserver's run,
/// where netserver sends datagrams, and where the loop samples what arrives.
pub(crate) fn heartbeats(job: &EndJob) -> (Duration, Duration) {
    let every = if job.end.until && !job.is_netperf() {
        early::LOOK
    } else if feedback::is_needed(job) {
        feedback::LOOK
    } else {
        HEARTBEAT
    };
    match arrivals::interval(job).filter(|_| job.flows.is_none()) {
        Some(interval) => (arrivals::EVERY, interval.min(every)),
        None => (every, every),
    }
}

/// The silence that ends a run once its time is over; `None` where something else does.
pub(crate) fn silence(job: &EndJob) -> Option<Duration> {
    let netserver = !job.is_netperf();
    (netserver && may_end_in_silence(job)).then_some(IDLE)
}

/// The schedule until the data connection stands.
pub(crate) fn first_schedule(job: &EndJob) -> Schedule {
    let opens = job.transport.is_connected() || job.transport == TransportId::SctpMany;
    if job.is_netperf() && opens && !job.connects {
        // The time begins with the connection.
        return Schedule {
            finish_after: None,
            grace: GRACE,
            heartbeat: HEARTBEAT,
        };
    }
    let mut schedule = schedule(job);
    if job.transport.is_connected() && !job.connects {
        // [`ConnectionWait`] ends the wait.
        schedule.finish_after = None;
    }
    schedule
}

/// Wait of netserver for the data connection. It begins once netperf has the response, which may
/// be lost many times on a path that other traffic fills.
#[derive(Debug)]
pub(crate) struct ConnectionWait {
    limit: Duration,
    /// Time of the wait until the response was delivered, as far as it is known.
    delivered: Duration,
}

impl ConnectionWait {
    /// A wait of this length.
    pub(crate) const fn new(limit: Duration) -> Self {
        Self {
            limit,
            delivered: Duration::ZERO,
        }
    }

    /// The wait of one flow; `None` without a limit.
    pub(crate) fn of(job: &EndJob) -> Option<Self> {
        let limit = schedule(job).finish_after?;
        Some(Self::new(limit.max(CONNECTION)))
    }

    /// Returns whether a wait that has lasted so long is over; `is_underway` tells whether the
    /// response is not acknowledged yet.
    pub(crate) fn is_over(&mut self, waited: Duration, is_underway: bool) -> bool {
        if is_underway {
            self.delivered = waited.min(DELIVERY);
        }
        waited.saturating_sub(self.delivered) >= self.limit
    }
}

/// Returns whether what was sent on the control connection is not acknowledged yet. A connection
/// that was reset has no peer that could acknowledge it.
pub(crate) fn is_underway(control: BorrowedFd<'_>) -> bool {
    tcp::unacknowledged(control).is_ok_and(|bytes| bytes > 0)
        && SockRef::from(&control).peer_addr().is_ok()
}

/// The schedule of a run.
pub(crate) fn schedule(job: &EndJob) -> Schedule {
    let (finish_after, grace) = if job.is_netperf() {
        (job.time(), netperf_grace(job))
    } else {
        job.time().map_or((None, Duration::ZERO), |length| {
            let (finish_after, grace) = netserver_end(job, length);
            (Some(finish_after), grace)
        })
    };
    Schedule {
        finish_after,
        grace,
        heartbeat: heartbeats(job).1,
    }
}

/// Time after the end in which netperf finishes what it has begun.
fn netperf_grace(job: &EndJob) -> Duration {
    // Datagrams have no end, so there is nothing to wait for.
    let one_way_datagrams = !job.transport.row().reliable && !job.counts_transactions();
    if one_way_datagrams && !awaits_a_datagram_end(job) {
        Duration::ZERO
    } else if receives_to_the_end(job) {
        finish::DRAIN
    } else {
        GRACE
    }
}

/// When netserver begins nothing new, and the grace after that.
fn netserver_end(job: &EndJob, length: Duration) -> (Duration, Duration) {
    if job.connects || may_end_in_silence(job) {
        (length, PAD)
    } else if job.only_sends() && !job.transport.is_connected() {
        (length, Duration::ZERO)
    } else {
        (length + PAD, Duration::ZERO)
    }
}

/// The schedule of netserver once the connection stands; `None` without a time.
///
/// The time of the original begins with the response. A client that connects late, because of
/// load or a long path, would get a shorter test than it asked for.
pub(crate) fn connected_schedule(job: &EndJob, waited: Duration) -> Option<Schedule> {
    let length = job.time()?;
    let sends = (job.only_sends() && !job.connects) || job.duplex.is_some();
    let (finish_after, grace) = if sends {
        let late = waited > PROMPT;
        let counted = if late { Duration::ZERO } else { waited };
        (length.saturating_sub(counted), Duration::ZERO)
    } else {
        let (end, grace) = netserver_end(job, length);
        // A client that is late still has all its time.
        (end.saturating_sub(waited.min(PAD - GRACE)), grace)
    };
    Some(Schedule {
        finish_after: Some(finish_after),
        grace,
        heartbeat: heartbeats(job).1,
    })
}

/// Returns whether netserver alone sends, over a reliable transport, and ends the connection: all
/// that it sent counts, if it arrives within the grace period.
pub(crate) fn receives_to_the_end(job: &EndJob) -> bool {
    job.only_receives() && !job.connects && job.transport.row().reliable && job.has_peer
}

/// Returns whether datagrams of bulk data arrive at netperf. After a signal of the user they go on
/// to arrive until netserver hears of it.
pub(crate) fn netperf_receives_datagrams(job: &EndJob) -> bool {
    job.is_netperf() && job.receives && !job.is_request_response() && !job.transport.is_connected()
}

/// Returns whether netperf stops netserver, which alone sends datagrams: data sent before the stop,
/// and then an end, still arrive.
fn awaits_a_datagram_end(job: &EndJob) -> bool {
    job.stops_sender && job.only_receives() && !job.transport.row().reliable
}

/// Returns whether netperf may send no end to netserver. A run without a time ends in other ways.
fn may_end_in_silence(job: &EndJob) -> bool {
    matches!(job.ending, Ending::Silence(_)) && job.time().is_some()
}

/// The part of the time behind that of the run for which netserver waited in vain before it gave up.
/// Data of a stream may have come until then, from a queue of some seconds.
pub(crate) fn given_up(job: &EndJob, quiet: Duration, behind: Duration) -> Duration {
    if job.transport.row().reliable {
        quiet.min(behind)
    } else {
        behind
    }
}

/// The time at the end of the run in which this end only waited.
pub(crate) fn in_vain(job: &EndJob, moved: &Moved, stop: &AlarmStop<'_>) -> Duration {
    let abandoned = moved.ended == Ended::Abandoned;
    if !job.is_netperf() {
        return match abandoned {
            _ if job.connects => moved.idle,
            true if may_end_in_silence(job) || job.duplex.is_some() => alarm::overtime(),
            true => given_up(job, stop.quiet(), alarm::overtime() + PAD),
            false => moved.idle,
        };
    }
    if let Some(uncounted) = stop.uncounted() {
        return uncounted;
    }
    let is_cut = netperf_receives_datagrams(job) && alarm::stopped_by_user();
    // A transaction that did not finish took time but was not counted.
    if job.duplex.is_some() && job.transport.is_connected() {
        moved.idle
    } else if job.duplex.is_some() && is_cut || abandoned && job.counts_transactions() {
        alarm::overtime()
    } else if abandoned && (job.duplex.is_some() || awaits_a_datagram_end(job)) {
        stop.silent()
    } else {
        moved.rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    /// The second at which a wait of 16 s ends if the response is delivered at this second.
    fn end_of_wait(delivered: u64) -> u64 {
        let mut wait = ConnectionWait::new(CONNECTION);
        let mut is_over =
            |second: u64| wait.is_over(Duration::from_secs(second), second < delivered);
        (0..200).find(|second| is_over(*second)).unwrap()
    }

    #[test]
    fn netserver_waits_for_a_connection_from_the_delivery_of_its_response_on() {
        assert_eq!(end_of_wait(0), 16);
        // A response whose loss took longer than the wait.
        assert_eq!(end_of_wait(21), 20 + 16);
        // A netperf that never acknowledges.
        assert_eq!(end_of_wait(u64::MAX), 60 + 16);
    }

    #[test]
    fn a_response_is_under_way_until_the_peer_has_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        assert!(!is_underway(server.as_fd()));
        // The windows are full: the rest waits in the queue.
        server.set_nonblocking(true).unwrap();
        while std::io::Write::write(&mut &server, &[0; 65_536]).is_ok() {}
        assert!(is_underway(server.as_fd()));
        drop(client);
    }
}
