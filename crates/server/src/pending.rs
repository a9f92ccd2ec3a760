//! Connections whose first message is not complete: their state, time limits, and eviction when
//! there are too many (docs/decisions/0026-first-message.md).

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_os::io::{is_no_progress, peek_at};
use netperf_os::sockopt;
use netperf_os::{SockAddr, Socket};
use netperf_program::link::WHOLE_WITHIN;
use netperf_transport::one_port::begins_preamble;
use netperf_wire::{FRAME_LEN, Frame};

use super::proofs::ProofSource;
use super::served_protocol::ServedProtocol;

/// Bytes that identify the kind of a message.
const WORD: usize = 4;

/// State of a client's first message, which stays in the socket buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstMessage {
    /// No data.
    Empty,
    /// The beginning of a control message.
    Partial,
    /// A control message.
    Complete,
    /// A data preamble or its beginning.
    Preamble,
    /// Not a netperf message.
    Invalid,
    /// Closed without data.
    Closed,
    /// The connection broke.
    Broken,
}

/// Peeks at a complete first message.
pub(super) fn complete_message(control: &Socket) -> Option<Frame> {
    let mut bytes = [0; FRAME_LEN];
    let count = peek_at(control.as_fd(), &mut bytes).ok()?;
    (count == FRAME_LEN).then(|| Frame::from_bytes(bytes))
}

/// Peeks at the first message of a client.
pub(super) fn first_message(control: &Socket, protocol: ServedProtocol) -> FirstMessage {
    let mut bytes = [0; FRAME_LEN];
    match peek_at(control.as_fd(), &mut bytes) {
        Ok(0) => FirstMessage::Closed,
        // A client of iperf 2 may send anything.
        Ok(_) if protocol != ServedProtocol::Netperf => FirstMessage::Complete,
        Ok(count) => classify(bytes.get(..count).unwrap_or_default()),
        Err(error) if is_no_progress(&error) => FirstMessage::Empty,
        Err(_) => FirstMessage::Broken,
    }
}

/// Classifies the first bytes. A control message begins with a request number, high byte first.
/// All request numbers of netperf have at most three digits, so a number above 16 bits is
/// another protocol.
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

/// Makes accepted connections report input from the first complete word on; TCP sockets inherit
/// the option from the listener.
pub(super) fn wake_on_first_word(listener: &Socket) {
    sockopt::set_wake_threshold(listener.as_fd(), WORD);
}

/// Restores the default.
pub(super) fn reset_wake_threshold(control: &Socket) {
    sockopt::set_wake_threshold(control.as_fd(), 1);
}

/// Time limit of each stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitLimits {
    /// For the first word.
    pub(super) silent: Duration,
    /// For a free session, once the message is complete.
    pub(super) place: Duration,
}

impl WaitLimits {
    /// For the rest of a message.
    fn rest(self) -> Duration {
        self.silent.min(WHOLE_WITHIN)
    }
}

/// A connection without a session.
#[derive(Debug)]
pub(super) struct PendingConnection {
    /// The connection.
    pub(super) control: Socket,
    /// Peer address.
    pub(super) peer: SockAddr,
    /// Protocol of the port.
    pub(super) protocol: ServedProtocol,
    /// Source of a client that waits to prove the key; `None` for others.
    pub(super) unproven: Option<ProofSource>,
    /// Stage and number within the stage.
    at: Option<(PendingStage, u64)>,
    /// Start of the stage.
    since: Moment,
}

impl PendingConnection {
    /// A new connection.
    pub(super) fn new(control: Socket, peer: SockAddr, protocol: ServedProtocol) -> Self {
        Self {
            control,
            peer,
            protocol,
            unproven: None,
            at: None,
            since: clock::now(),
        }
    }

    /// Stage and number, or the last ones after removal. Set once the connection is registered
    /// with the poller.
    pub(super) const fn at(&self) -> Option<(PendingStage, u64)> {
        self.at
    }
}

/// Stage of a pending connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PendingStage {
    /// No data received.
    Silent,
    /// Part of a message received.
    Partial,
    /// Message complete; waits for a free session.
    Complete,
}

/// All pending connections. Numbers increase with time, so the first of each stage is the
/// oldest.
#[derive(Debug, Default)]
pub(super) struct PendingConnections {
    next: u64,
    silent: PendingStageList,
    begun: PendingStageList,
    whole: PendingStageList,
}

/// Connections of one stage, by number.
type PendingStageList = BTreeMap<u64, PendingConnection>;

impl PendingConnections {
    /// Number of connections.
    pub(super) fn len(&self) -> usize {
        self.silent.len() + self.begun.len() + self.whole.len()
    }

    const fn stage(&mut self, stage: PendingStage) -> &mut PendingStageList {
        match stage {
            PendingStage::Silent => &mut self.silent,
            PendingStage::Partial => &mut self.begun,
            PendingStage::Complete => &mut self.whole,
        }
    }

    /// Adds a connection to a stage and returns its number. A connection that stays in its
    /// stage keeps its start time.
    pub(super) fn keep(&mut self, mut one: PendingConnection, stage: PendingStage) -> u64 {
        let number = match one.at {
            Some((before, number)) if before == stage => number,
            Some(_) | None => {
                one.since = clock::now();
                if stage == PendingStage::Partial {
                    sockopt::set_wake_threshold(one.control.as_fd(), FRAME_LEN);
                }
                self.next += 1;
                self.next
            }
        };
        one.at = Some((stage, number));
        self.stage(stage).insert(number, one);
        number
    }

    /// A pending connection.
    pub(super) fn get(&mut self, stage: PendingStage, number: u64) -> Option<&PendingConnection> {
        self.stage(stage).get(&number)
    }

    /// Removes the connection with this number, if its message is incomplete.
    pub(super) fn take(&mut self, number: u64) -> Option<PendingConnection> {
        let silent = self.silent.remove(&number);
        silent.or_else(|| self.begun.remove(&number))
    }

    /// Removes the connection that has waited longest for a session, of those that may begin one.
    pub(super) fn take_complete(
        &mut self,
        may_begin: impl Fn(&PendingConnection) -> bool,
    ) -> Option<PendingConnection> {
        let mut waiting = self.whole.iter();
        let (number, _) = waiting.find(|(_, one)| may_begin(one))?;
        let number = *number;
        self.whole.remove(&number)
    }

    /// Sources of clients that wait to prove the key.
    pub(super) fn unproven(&self) -> impl Iterator<Item = ProofSource> {
        self.whole.values().filter_map(|one| one.unproven)
    }

    /// Removes the last connection of a source that waits to prove the key.
    pub(super) fn take_unproven(&mut self, source: ProofSource) -> Option<PendingConnection> {
        let mut waiting = self.whole.iter().rev();
        let (number, _) = waiting.find(|(_, one)| one.unproven == Some(source))?;
        let number = *number;
        self.whole.remove(&number)
    }

    /// Removes the connection without progress for the longest time, so that silent or slow
    /// clients do not block others. Complete ones are removed last.
    pub(super) fn take_stalest(&mut self) -> Option<PendingConnection> {
        let since = |of: &PendingStageList| of.first_key_value().map(|(_, one)| one.since);
        let stage = match (since(&self.silent), since(&self.begun)) {
            (Some(silent), Some(begun)) if begun < silent => PendingStage::Partial,
            (Some(_), _) => PendingStage::Silent,
            (None, Some(_)) => PendingStage::Partial,
            (None, None) => PendingStage::Complete,
        };
        self.stage(stage).pop_first().map(|(_, one)| one)
    }

    /// The oldest connection of each stage: deadline, stage and the reason to log.
    fn firsts(&self, limits: WaitLimits) -> [Option<(Moment, PendingStage, &'static str)>; 3] {
        let first = |of: &PendingStageList, limits, stage, why| {
            let (_, one) = of.first_key_value()?;
            Some((one.since.plus(limits), stage, why))
        };
        [
            first(&self.silent, limits.silent, PendingStage::Silent, "silent"),
            first(&self.begun, limits.rest(), PendingStage::Partial, "slow"),
            first(&self.whole, limits.place, PendingStage::Complete, "crowded"),
        ]
    }

    /// Next deadline.
    pub(super) fn next(&self, limits: WaitLimits) -> Option<Moment> {
        let firsts = self.firsts(limits).into_iter().flatten();
        firsts.map(|(until, ..)| until).min()
    }

    /// Removes an expired connection and returns it with the reason.
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

    /// Removes all connections.
    pub(super) fn clear(&mut self) {
        self.silent.clear();
        self.begun.clear();
        self.whole.clear();
    }
}

#[cfg(test)]
mod tests;
