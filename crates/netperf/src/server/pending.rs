//! Those who have connected and are not served yet: what each of them has said so far, how
//! long it may take, and who goes when there is no room (docs/decisions/0026-first-message.md).

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_os::io::peek_at;
use netperf_os::sockopt::{self, IntOption};
use netperf_os::{SockAddr, Socket};
use netperf_transport::one_port::begins_preamble;
use netperf_wire::FRAME_LEN;

use crate::link::WHOLE_WITHIN;

/// Bytes that say what kind of message begins.
const WORD: usize = 4;

/// What a client has said, all of which is still in its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstMessage {
    /// Nothing.
    Empty,
    /// The beginning of a control message.
    Partial,
    /// A control message.
    Complete,
    /// What a data connection begins with, or the beginning of it.
    Preamble,
    /// What no netperf says.
    Invalid,
    /// Nothing, and nothing more will come.
    Closed,
    /// The connection broke.
    Broken,
}

/// Looks at what a client has said.
pub(super) fn first_message(control: &Socket) -> FirstMessage {
    let mut bytes = [0; FRAME_LEN];
    match peek_at(control.as_fd(), &mut bytes) {
        Ok(0) => FirstMessage::Closed,
        Ok(count) => classify(bytes.get(..count).unwrap_or_default()),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ) =>
        {
            FirstMessage::Empty
        }
        Err(_) => FirstMessage::Broken,
    }
}

/// What this is the beginning of. A control message begins with the number of a request,
/// high byte first; no netperf has ever had one of more than three digits, so whoever says
/// one that does not fit into sixteen bits speaks of something else.
fn classify(bytes: &[u8]) -> FirstMessage {
    if begins_preamble(bytes) {
        FirstMessage::Preamble
    } else if bytes.iter().take(WORD - 2).any(|byte| *byte != 0) {
        FirstMessage::Invalid
    } else if bytes.len() < FRAME_LEN {
        FirstMessage::Partial
    } else {
        FirstMessage::Complete
    }
}

/// Has the kernel tell of what comes only once there are so many bytes, or the end. Where it
/// does not know that, it tells of each, which costs time and changes nothing else.
fn set_wake_threshold(socket: &Socket, bytes: usize) {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    let _more_often = sockopt::set(socket.as_fd(), IntOption::RecvLowAt, bytes);
}

/// Has a listener's connections begin so that the first word is told of as a whole: each has
/// what the listener has (TCP).
pub(super) fn wake_on_first_word(listener: &Socket) {
    set_wake_threshold(listener, WORD);
}

/// As every socket begins.
pub(super) fn reset_wake_threshold(control: &Socket) {
    set_wake_threshold(control, 1);
}

/// How long each stage may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitLimits {
    /// Until the first word.
    pub(super) silent: Duration,
    /// For a place, with a whole message.
    pub(super) place: Duration,
}

impl WaitLimits {
    /// For the rest of a message.
    fn rest(self) -> Duration {
        self.silent.min(WHOLE_WITHIN)
    }
}

/// A connection whose client is not served yet.
#[derive(Debug)]
pub(super) struct PendingConnection {
    /// The connection.
    pub(super) control: Socket,
    /// Where its client is.
    pub(super) peer: SockAddr,
    /// Its number in the stage that it is in, and that one.
    at: Option<(PendingStage, u64)>,
    /// Since when.
    since: Moment,
}

impl PendingConnection {
    /// One that has just come.
    pub(super) fn new(control: Socket, peer: SockAddr) -> Self {
        Self {
            control,
            peer,
            at: None,
            since: clock::now(),
        }
    }

    /// Where it waits, or did before it was taken out; it is listened to from then on.
    pub(super) const fn at(&self) -> Option<(PendingStage, u64)> {
        self.at
    }
}

/// How far one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PendingStage {
    /// It has said nothing.
    Silent,
    /// It has said a part of a message.
    Partial,
    /// It has said all of it, and there is no place.
    Complete,
}

/// All of them. In each stage numbers go up with time, so that the first is the one that has
/// been there for longest.
#[derive(Debug, Default)]
pub(super) struct PendingConnections {
    next: u64,
    silent: BTreeMap<u64, PendingConnection>,
    begun: BTreeMap<u64, PendingConnection>,
    whole: BTreeMap<u64, PendingConnection>,
}

impl PendingConnections {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.silent.len() + self.begun.len() + self.whole.len()
    }

    const fn stage(&mut self, stage: PendingStage) -> &mut BTreeMap<u64, PendingConnection> {
        match stage {
            PendingStage::Silent => &mut self.silent,
            PendingStage::Partial => &mut self.begun,
            PendingStage::Complete => &mut self.whole,
        }
    }

    /// Has one wait in a stage, and gives its number there. One that was in it already has
    /// got nowhere: its time goes on.
    pub(super) fn keep(&mut self, mut one: PendingConnection, stage: PendingStage) -> u64 {
        let number = match one.at {
            Some((before, number)) if before == stage => number,
            Some(_) | None => {
                one.since = clock::now();
                if stage == PendingStage::Partial {
                    set_wake_threshold(&one.control, FRAME_LEN);
                }
                self.next += 1;
                self.next
            }
        };
        one.at = Some((stage, number));
        self.stage(stage).insert(number, one);
        number
    }

    /// One that waits.
    pub(super) fn get(&self, stage: PendingStage, number: u64) -> Option<&PendingConnection> {
        let of = match stage {
            PendingStage::Silent => &self.silent,
            PendingStage::Partial => &self.begun,
            PendingStage::Complete => &self.whole,
        };
        of.get(&number)
    }

    /// Takes the one with this number out, if its message is still awaited.
    pub(super) fn take(&mut self, number: u64) -> Option<PendingConnection> {
        let silent = self.silent.remove(&number);
        silent.or_else(|| self.begun.remove(&number))
    }

    /// Takes out whoever has waited longest for a place.
    pub(super) fn take_complete(&mut self) -> Option<PendingConnection> {
        self.whole.pop_first().map(|(_, one)| one)
    }

    /// Takes out whoever has got nowhere for longest, so that neither silence nor a message
    /// that never ends keeps others out. Those who have said all go last.
    pub(super) fn take_stalest(&mut self) -> Option<PendingConnection> {
        let since =
            |of: &BTreeMap<u64, PendingConnection>| of.first_key_value().map(|(_, one)| one.since);
        let stage = match (since(&self.silent), since(&self.begun)) {
            (Some(silent), Some(begun)) if begun < silent => PendingStage::Partial,
            (Some(_), _) => PendingStage::Silent,
            (None, Some(_)) => PendingStage::Partial,
            (None, None) => PendingStage::Complete,
        };
        self.stage(stage).pop_first().map(|(_, one)| one)
    }

    /// The firsts of each stage, until when they may wait, and what it is called when they
    /// have.
    fn firsts(&self, limits: WaitLimits) -> [Option<(Moment, PendingStage, &'static str)>; 3] {
        let first = |of: &BTreeMap<u64, PendingConnection>, limits, stage, why| {
            let (_, one) = of.first_key_value()?;
            Some((one.since.plus(limits), stage, why))
        };
        [
            first(&self.silent, limits.silent, PendingStage::Silent, "silent"),
            first(&self.begun, limits.rest(), PendingStage::Partial, "slow"),
            first(&self.whole, limits.place, PendingStage::Complete, "crowded"),
        ]
    }

    /// When the next of them has waited long enough.
    pub(super) fn next(&self, limits: WaitLimits) -> Option<Moment> {
        let firsts = self.firsts(limits).into_iter().flatten();
        firsts.map(|(until, ..)| until).min()
    }

    /// Takes out one that has waited long enough by now, and says what for.
    pub(super) fn take_overdue(
        &mut self,
        limits: WaitLimits,
        now: Moment,
    ) -> Option<(PendingConnection, &'static str)> {
        let firsts = self.firsts(limits).into_iter().flatten();
        let (_, stage, why) = firsts.into_iter().find(|(until, ..)| *until <= now)?;
        let (_, one) = self.stage(stage).pop_first()?;
        Some((one, why))
    }

    /// All go.
    pub(super) fn clear(&mut self) {
        for stage in [
            PendingStage::Silent,
            PendingStage::Partial,
            PendingStage::Complete,
        ] {
            self.stage(stage).clear();
        }
    }
}

#[cfg(test)]
mod tests;
