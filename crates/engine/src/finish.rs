//! Bringing a data connection to its end at netperf (control-protocol.md 3.4).

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_os::sctp::{self, AssociationId};
use netperf_os::wait::{Interest, ready};
use netperf_os::{SockRef, Socket, alarm, sockopt, tcp};
use netperf_transport::llc2;
use netperf_transport::meeting::Parting;

use crate::stop::{Lost, control_end};

/// Time for which a netserver that is not heard at the end of a test is waited for: a link or a
/// host may be back by then. Not after a signal from outside, because the user waits.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// Time without progress of the send queue that counts as a loss, where nothing is waited for.
pub(crate) const NO_PROGRESS: Duration = Duration::from_millis(2000);
/// The same after a signal from outside, where the round trip is short.
pub(crate) const AFTER_SIGNAL: Duration = Duration::from_millis(600);
/// The same of a transport whose round trip is unknown.
const AFTER_SIGNAL_BLIND: Duration = Duration::from_secs(1);
/// Time limit for data on its way to netperf when the time is over.
pub(crate) const DRAIN: Duration = Duration::from_millis(250);
/// Bytes per second of a path whose queues are short. Data that is late there waits for a loaded
/// host, and its queues are empty soon.
const FAST: f64 = 25e6;
/// Silence on such a path after which nothing more is waited for.
pub(crate) const FAST_SILENCE: Duration = Duration::from_secs(1);

/// Time limit for data on its way, for a run that received so much within this time.
pub(crate) fn drain_within(received: u64, time: Duration) -> Duration {
    if received as f64 >= FAST * time.as_secs_f64() {
        AT_MOST
    } else {
        DRAIN
    }
}

/// The same for a netserver session with separate sending connections: it sends until they are
/// closed, while the user who has ended the run waits.
pub(crate) fn drain_apart_within(received: u64, time: Duration) -> Duration {
    impatient(drain_within(received, time), DRAIN)
}

/// A time limit, or this one where it is shorter and the user has ended the run.
pub(crate) fn impatient(within: Duration, impatience: Duration) -> Duration {
    if alarm::stopped_by_user() {
        within.min(impatience)
    } else {
        within
    }
}

/// Silence of the peer's host after which signs of life are demanded. Acknowledgements of full
/// segments are 1.2 s apart at 10 kbit/s.
pub(crate) const SILENCE: Duration = Duration::from_millis(1200);
/// Time or round trip since data has come, at most, of a sender that has more in queues.
const RECENT: Duration = Duration::from_millis(400);
/// Time that netserver continues after the time is over, with a margin.
pub(crate) const AT_MOST: Duration = Duration::from_secs(6);
/// Interval between looks at the send queue.
const LOOK: Duration = Duration::from_millis(50);
/// Interval between looks at a queue without notifications.
const QUEUE_LOOK: Duration = Duration::from_millis(1);

/// Longest time without progress of a connection that is not lost. It includes retransmissions,
/// of which some may be lost; not after a signal from outside, because the user waits.
pub(crate) fn longest_rest(data: BorrowedFd<'_>) -> Duration {
    if alarm::stopped_by_user() {
        return AFTER_SIGNAL + round_trip(data) * 2;
    }
    let after = tcp::info(data).map_or(Duration::ZERO, |info| info.retransmits_after());
    NO_PROGRESS + after * 2
}

/// Time for which the host of the peer has acknowledged nothing of what waits on any of these
/// connections, where the user who has ended the run waits; zero without such data.
pub(crate) fn unheard_of<'a>(sockets: impl IntoIterator<Item = BorrowedFd<'a>>) -> Duration {
    if !alarm::stopped_by_user() {
        return Duration::ZERO;
    }
    // The end of a connection counts as one byte.
    let waits = |data: &BorrowedFd<'_>| tcp::unacknowledged(*data).is_ok_and(|bytes| bytes > 1);
    let waiting = sockets.into_iter().filter(waits);
    let times = waiting.filter_map(tcp::silence);
    times.min().unwrap_or_default()
}

/// Longest time without progress before a loss, of a connection that rests this long by itself:
/// longer where a control connection says whether the host is gone.
pub(crate) fn longest_outage(rest: Duration, has_control: bool) -> Duration {
    if has_control && !alarm::stopped_by_user() {
        rest.max(PATIENCE)
    } else {
        rest
    }
}

/// When the wait for the end of connections is over, by the time since it began: something moves
/// past the point where netserver stops by itself. An outage does not count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndLimit(Duration);

impl EndLimit {
    pub(crate) const fn new() -> Self {
        Self(AT_MOST)
    }

    /// Returns true if it is over after this time, with nothing moved for `rest` of it.
    pub(crate) fn is_over(&mut self, elapsed: Duration, rest: Duration) -> bool {
        let outage = rest >= SILENCE && elapsed < PATIENCE && !alarm::stopped_by_user();
        if outage {
            self.0 = elapsed + AT_MOST;
        }
        elapsed >= self.0
    }
}

/// Time in which a host that is not heard has to answer probes.
pub(crate) fn patience() -> Duration {
    longest_outage(Duration::ZERO, true)
}

/// Longest round trip of a connection; zero if unknown.
pub(crate) fn round_trip(data: BorrowedFd<'_>) -> Duration {
    tcp::info(data).map_or(Duration::ZERO, |info| info.longest_round_trip())
}

/// Shortest time without a send that a result does not pass over.
const HELD_BACK: Duration = Duration::from_secs(1);

/// Time for which the other end of a TCP connection has read nothing, so that data waits; `None`
/// if it is short.
pub(crate) fn held_back(data: BorrowedFd<'_>) -> Option<Duration> {
    let time = tcp::detail(data).ok()?.held_back();
    time.filter(|time| *time >= HELD_BACK)
}

/// End of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drained {
    /// netserver closed it.
    Closed,
    /// Data still moves, but past the point where netserver stops by itself.
    StillMoving,
    /// Data that may be queued at a silent sender is discarded.
    Discarded,
    /// Nothing moves any more.
    Lost(Lost),
}

/// Watch for the loss of the other end after the end of the time. Segments of a slow link wait
/// for seconds, so silence is no proof: it makes the control connection probe the host. An end
/// that does nothing is lost after time without progress.
#[derive(Debug)]
pub(crate) struct LossWatch<'a> {
    control: Option<BorrowedFd<'a>>,
    demanded: bool,
    /// The send queue at the last look, and when it changed or data came.
    queued: Option<u32>,
    moved: Option<Moment>,
}

impl<'a> LossWatch<'a> {
    pub(crate) const fn new(control: Option<BorrowedFd<'a>>) -> Self {
        Self {
            control,
            demanded: false,
            queued: None,
            moved: None,
        }
    }

    /// Data came.
    pub(crate) fn moves(&mut self) {
        self.moved = Some(clock::now());
    }

    /// When something moved last; `None` before the first look.
    pub(crate) const fn moved(&self) -> Option<Moment> {
        self.moved
    }

    /// Time since something moved.
    pub(crate) fn rest(&self) -> Duration {
        self.moved.map_or(Duration::ZERO, |moved| moved.elapsed())
    }

    /// Loss of the other end, if it was lost.
    pub(crate) fn look(&mut self, data: BorrowedFd<'_>) -> Option<Lost> {
        let queued = tcp::unacknowledged(data).unwrap_or(0);
        if self.queued.replace(queued) != Some(queued) {
            self.moves();
        }
        let gone = self.control.and_then(|control| {
            let silence = tcp::silence(data).unwrap_or_default();
            if !self.demanded && silence >= SILENCE {
                sockopt::demand_signs_of_life(control, round_trip(data), patience());
                self.demanded = true;
            }
            control_end(control)
        });
        let rest = self.rest().max(unheard_of([data]));
        let has_control = self.control.is_some();
        let stands = || {
            rest >= impatient(NO_PROGRESS, AFTER_SIGNAL)
                && rest >= longest_outage(longest_rest(data), has_control)
        };
        gone.or_else(|| stands().then(|| lost(queued)))
    }
}

/// Brings a connection to its end in the way that its transport knows; closing it and
/// empty messages are left to the caller. The end, and the time without progress before it.
pub(crate) fn bring_to_its_end(
    socket: &Socket,
    parting: Parting,
    control: Option<BorrowedFd<'_>>,
) -> (Drained, Duration) {
    match parting {
        Parting::HalfClose => {
            // A connection that is gone already needs no end, here and below.
            let _gone = socket.shutdown(Shutdown::Write);
            drain(socket, control)
        }
        Parting::EndRecord => {
            let _gone = llc2::send_end(socket);
            drain(socket, control)
        }
        Parting::Shutdown => shut_down(socket, control),
        Parting::Close | Parting::EmptyMessages => {
            empty_the_queue(socket);
            (Drained::Closed, Duration::ZERO)
        }
    }
}

/// Ends an association: what was sent arrives, and then both directions are over.
///
/// Everything has then arrived at the other host; netserver reads it to the end.
fn shut_down(socket: &Socket, control: Option<BorrowedFd<'_>>) -> (Drained, Duration) {
    let fd = socket.as_fd();
    // Without the notification the end is seen a little later.
    let _unheard = sctp::notify_of_changes(fd);
    // An association that is gone already needs no end.
    let _gone = socket.shutdown(Shutdown::Write);
    let start = clock::now();
    let mut last_progress = start;
    let mut before = None;
    let mut scrap = [0; 65_536];
    let (mut limit, mut demanded) = (EndLimit::new(), false);
    while !limit.is_over(start.elapsed(), last_progress.elapsed()) {
        let Ok(status) = sctp::status(fd, AssociationId::OWN) else {
            return (Drained::Closed, Duration::ZERO);
        };
        if before.replace(status) != Some(status) {
            last_progress = clock::now();
        }
        let rest = last_progress.elapsed();
        if let Some(control) = control.filter(|_| rest >= SILENCE && !demanded) {
            sockopt::demand_signs_of_life(control, Duration::ZERO, patience());
            demanded = true;
        }
        let stands = impatient(NO_PROGRESS, AFTER_SIGNAL_BLIND);
        let is_over = rest >= longest_outage(stands, control.is_some());
        let lost = is_over.then_some(Lost::NotClosed);
        if let Some(lost) = control.and_then(control_end).or(lost) {
            return (Drained::Lost(lost), rest);
        }
        if matches!(ready(fd, Interest::Read, LOOK), Ok(true)) {
            // A notification, or the rest of what netserver sent; the status tells the end.
            let _scrap = netperf_os::io::recv(fd, &mut scrap);
        }
    }
    (Drained::StillMoving, last_progress.elapsed())
}

/// Waits until what was sent has left, as closing throws away what has not.
fn empty_the_queue(socket: &Socket) {
    let start = clock::now();
    let mut last_progress = start;
    let mut queued = unacknowledged(socket);
    let rest = || impatient(NO_PROGRESS, AFTER_SIGNAL_BLIND);
    while queued > 0 && last_progress.elapsed() < rest() && start.elapsed() < AT_MOST {
        netperf_os::wait::sleep(QUEUE_LOOK);
        let now_queued = unacknowledged(socket);
        if now_queued != queued {
            queued = now_queued;
            last_progress = clock::now();
        }
    }
}

/// Returns whether the other host of a TCP connection was heard within this time.
pub(crate) fn is_heard(socket: BorrowedFd<'_>, within: Duration) -> bool {
    tcp::silence(socket).is_some_and(|silence| silence < within)
}

/// Discards what is queued at the senders: the close that follows resets the connections.
pub(crate) fn reset<'a>(sockets: impl Iterator<Item = BorrowedFd<'a>>) -> Drained {
    let mut heard = false;
    for socket in sockets {
        heard |= is_heard(socket, RECENT.max(round_trip(socket)));
        // A transport without a reset closes the connection.
        let _best_effort = SockRef::from(&socket).set_linger(Some(Duration::ZERO));
    }
    if heard {
        Drained::StillMoving
    } else {
        Drained::Discarded
    }
}

/// Waits for netserver to close its direction, once ours has ended.
///
/// For a sender this is when everything has been read at the other end. The control connection
/// tells of the loss of the other host, and time without progress of an end that does nothing.
fn drain(socket: &Socket, control: Option<BorrowedFd<'_>>) -> (Drained, Duration) {
    let closed = (Drained::Closed, Duration::ZERO);
    let start = clock::now();
    let mut watch = LossWatch::new(control);
    let mut scrap = [0; 65_536];
    let mut limit = EndLimit::new();
    while !limit.is_over(start.elapsed(), watch.rest()) {
        match ready(socket.as_fd(), Interest::Read, LOOK) {
            Ok(true) => match netperf_os::io::recv(socket.as_fd(), &mut scrap) {
                Ok(0) => return closed,
                Ok(_) => watch.moves(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A reset is an end, too: netserver counts what it read before.
                Err(_) => return closed,
            },
            Ok(false) => {}
            Err(_) => return closed,
        }
        if let Some(lost) = watch.look(socket.as_fd()) {
            return (Drained::Lost(lost), watch.rest());
        }
    }
    (Drained::StillMoving, watch.rest())
}

/// The end that was sent is one of those that are `queued`, and is no data.
fn lost(queued: u32) -> Lost {
    match queued {
        0 | 1 => Lost::NotClosed,
        _ => Lost::NotAcknowledged { bytes: queued - 1 },
    }
}

fn unacknowledged(socket: &Socket) -> u32 {
    tcp::unacknowledged(socket.as_fd()).unwrap_or(0)
}
