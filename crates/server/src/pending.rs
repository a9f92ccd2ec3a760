//! Connections of all ports that no session has yet: their state, time limits, and eviction when there
//! are too many, or too many of a source (docs/decisions/0026-first-message.md).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::Network;
use netperf_os::io::{is_no_progress, peek_at};
use netperf_os::sockopt;
use netperf_os::{SockAddr, Socket};
use netperf_program::link::WHOLE_WITHIN;
use netperf_transport::one_port::{PREAMBLE, begins_preamble};
use netperf_wire::{FRAME_LEN, Frame};

use super::proofs::ProofSource;
use super::served_protocol::ServedProtocol;

/// Bytes that identify the kind of a message.
const WORD: usize = 4;
/// Time limit for the preamble of data, for its session to take it, and for a cookie of iperf3.
pub(super) const PREFIX_WITHIN: Duration = Duration::from_secs(5);

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
    /// For a stage, and the reason to log when it is over.
    fn of(self, stage: PendingStage) -> (Duration, &'static str) {
        match stage {
            PendingStage::Silent => (self.silent, "silent"),
            PendingStage::Partial => (self.silent.min(WHOLE_WITHIN), "slow"),
            PendingStage::Preamble => (PREFIX_WITHIN, "silent"),
            PendingStage::Cookie => (PREFIX_WITHIN, "slow"),
            PendingStage::Complete => (self.place, "crowded"),
        }
    }
}

/// A connection without a session.
#[derive(Debug)]
pub(super) struct PendingConnection {
    /// The connection.
    pub(super) control: Socket,
    /// Peer address, and the network that it is counted by.
    pub(super) peer: SockAddr,
    source: Option<Network>,
    /// Place in the order of accept(2).
    pub(super) place: u64,
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
    pub(super) fn new(
        (control, place): (Socket, u64),
        (peer, source): (SockAddr, Option<Network>),
        protocol: ServedProtocol,
    ) -> Self {
        Self {
            control,
            peer,
            source,
            place,
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
    /// Part of the preamble of data received.
    Preamble,
    /// The cookie of a client of iperf3 is incomplete.
    Cookie,
    /// Message complete; waits for a free session.
    Complete,
}

impl PendingStage {
    /// All, in the order in which those that began together give way.
    const ALL: [Self; 5] = [
        Self::Silent,
        Self::Partial,
        Self::Preamble,
        Self::Cookie,
        Self::Complete,
    ];

    /// Bytes from which on input is reported.
    const fn wanted(self) -> Option<usize> {
        match self {
            Self::Partial => Some(FRAME_LEN),
            // The next event comes when it is complete.
            Self::Preamble => Some(PREAMBLE),
            Self::Silent | Self::Cookie | Self::Complete => None,
        }
    }
}

/// Connections of one stage, by number.
pub(super) type PendingStageList = BTreeMap<u64, PendingConnection>;

/// All pending connections of all ports. Numbers increase with time, so the first of each stage, and
/// of each source, is the oldest.
#[derive(Debug, Default)]
pub(super) struct PendingConnections {
    next: u64,
    stages: [PendingStageList; 5],
    /// Numbers of the connections of each source.
    sources: HashMap<Option<Network>, BTreeSet<u64>>,
    len: usize,
}

impl PendingConnections {
    /// Number of connections.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// The place of the connection that was accepted last.
    pub(super) const fn next_place(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn stage(&mut self, stage: PendingStage) -> &mut PendingStageList {
        &mut self.stages[stage as usize]
    }

    /// Adds a connection to a stage and returns its number. A connection that stays in its
    /// stage keeps its start time.
    pub(super) fn keep(&mut self, mut one: PendingConnection, stage: PendingStage) -> u64 {
        let number = match one.at {
            Some((before, number)) if before == stage => number,
            Some(_) | None => {
                one.since = clock::now();
                if let Some(bytes) = stage.wanted() {
                    sockopt::set_wake_threshold(one.control.as_fd(), bytes);
                }
                self.next_place()
            }
        };
        one.at = Some((stage, number));
        self.sources.entry(one.source).or_default().insert(number);
        self.len += 1;
        self.stage(stage).insert(number, one);
        number
    }

    /// A pending connection.
    pub(super) fn get(&mut self, stage: PendingStage, number: u64) -> Option<&PendingConnection> {
        self.stage(stage).get(&number)
    }

    /// The connections of a stage, the oldest first.
    pub(super) fn of_stage(&mut self, stage: PendingStage) -> &PendingStageList {
        self.stage(stage)
    }

    fn remove(&mut self, stage: PendingStage, number: u64) -> Option<PendingConnection> {
        let one = self.stage(stage).remove(&number)?;
        self.len -= 1;
        if let Some(numbers) = self.sources.get_mut(&one.source) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.sources.remove(&one.source);
            }
        }
        Some(one)
    }

    fn remove_first(&mut self, stage: PendingStage) -> Option<PendingConnection> {
        let number = *self.stage(stage).first_key_value()?.0;
        self.remove(stage, number)
    }

    /// Removes the connection with this number, if its message is incomplete.
    pub(super) fn take(&mut self, number: u64) -> Option<PendingConnection> {
        let [incomplete @ .., _] = PendingStage::ALL;
        let mut stages = incomplete.into_iter();
        stages.find_map(|stage| self.remove(stage, number))
    }

    /// Removes the connection that has waited longest for a session, of those that may begin one.
    pub(super) fn take_complete(
        &mut self,
        may_begin: impl Fn(&PendingConnection) -> bool,
    ) -> Option<PendingConnection> {
        let mut waiting = self.stage(PendingStage::Complete).iter();
        let number = *waiting.find(|(_, one)| may_begin(one))?.0;
        self.remove(PendingStage::Complete, number)
    }

    /// Sources of clients that wait to prove the key.
    pub(super) fn unproven(&mut self) -> impl Iterator<Item = ProofSource> {
        let waiting = self.stage(PendingStage::Complete).values();
        waiting.filter_map(|one| one.unproven)
    }

    /// Removes the last connection of a source that waits to prove the key.
    pub(super) fn take_unproven(&mut self, source: ProofSource) -> Option<PendingConnection> {
        let mut waiting = self.stage(PendingStage::Complete).iter().rev();
        let number = *waiting.find(|(_, one)| one.unproven == Some(source))?.0;
        self.remove(PendingStage::Complete, number)
    }

    /// Frees a place for this connection, where there are `most`: of its source, if that has as many as
    /// it leaves to all others, else of all. The one without progress for the longest time goes, so
    /// that silent or slow clients do not block others. Complete ones are removed last.
    pub(super) fn take_for(
        &mut self,
        one: &PendingConnection,
        most: usize,
    ) -> Option<PendingConnection> {
        let own = self.sources.get(&one.source);
        let count = own.map_or(0, BTreeSet::len);
        let left = most.saturating_sub(self.len - count);
        if count > 0 && count >= left.div_ceil(2) {
            let oldest = *own?.first()?;
            let of_stage = |stage| self.remove(stage, oldest);
            return PendingStage::ALL.into_iter().find_map(of_stage);
        }
        (self.len >= most).then(|| self.take_stalest()).flatten()
    }

    /// Removes the connection without progress for the longest time, complete ones last.
    pub(super) fn take_stalest(&mut self) -> Option<PendingConnection> {
        let [incomplete @ .., complete] = PendingStage::ALL;
        let first = |stage: PendingStage| {
            let (_, one) = self.stages[stage as usize].first_key_value()?;
            Some((one.since, stage))
        };
        let firsts = incomplete.into_iter().filter_map(first);
        let stage = firsts.min_by_key(|(since, _)| *since);
        self.remove_first(stage.map_or(complete, |(_, stage)| stage))
    }

    /// The oldest connection of each stage: deadline, stage and the reason to log.
    fn firsts(
        &self,
        limits: WaitLimits,
    ) -> impl Iterator<Item = (Moment, PendingStage, &'static str)> {
        PendingStage::ALL.into_iter().filter_map(move |stage| {
            let (_, one) = self.stages[stage as usize].first_key_value()?;
            let (limit, why) = limits.of(stage);
            Some((one.since.plus(limit), stage, why))
        })
    }

    /// Next deadline.
    pub(super) fn next(&self, limits: WaitLimits) -> Option<Moment> {
        self.firsts(limits).map(|(until, ..)| until).min()
    }

    /// Removes an expired connection and returns it with the reason.
    pub(super) fn take_overdue(
        &mut self,
        limits: WaitLimits,
        now: Moment,
    ) -> Option<(PendingConnection, &'static str)> {
        let (_, stage, why) = self.firsts(limits).find(|(until, ..)| *until <= now)?;
        Some((self.remove_first(stage)?, why))
    }

    /// Removes all connections.
    pub(super) fn clear(&mut self) {
        *self = Self {
            next: self.next,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests;
