//! Credentials of clients: what the first message presents, and clients that must still prove the
//! key.

use std::os::fd::AsFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_model::{Denied, Require, Startups};
use netperf_session::access;
use netperf_session::server::unlocks;
use netperf_wire::RequestKind;

use super::AcceptLoop;
use crate::admission;
use crate::peer::described;
use crate::pending::{self, PendingConnection, PendingStage};
use crate::proofs::{PROOF_TIME, ProofPlace, ProofSource};
use crate::session_process::SessionProcess;

/// Time for the start of a session process, besides that for the proof.
const START_TIME: Duration = Duration::from_secs(2);

/// Credential in a first message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Credential {
    /// The client needs no other.
    Enough,
    /// The client of this source is going to prove the key.
    Key(ProofSource),
}

/// Lack of a credential.
#[derive(Clone, Copy, Debug)]
pub(super) enum MissingCredential {
    /// The key.
    Key,
    /// The passphrase; the client asks for the reason.
    Told,
    /// The passphrase.
    Passphrase,
    /// The passphrase, in a message that is not a request of netperf.
    Unknown,
}

impl AcceptLoop {
    /// Limits of clients that have not proven the key.
    pub(super) fn startups(&self) -> Startups {
        self.admission.policy().limits.startups
    }

    /// Examines the credential in the first message of a client.
    pub(super) fn credential(
        &self,
        one: &PendingConnection,
    ) -> Result<Credential, MissingCredential> {
        let require = self.args.require();
        if require == Require::None {
            return Ok(Credential::Enough);
        }
        let Some(frame) = pending::complete_message(&one.control) else {
            return Err(MissingCredential::Unknown);
        };
        if self.args.access.keys.is_some() && access::is_greeting(&frame) {
            let limits = &self.admission.policy().limits;
            let network = limits.source(admission::address_of(&one.peer));
            return Ok(Credential::Key(ProofSource(network)));
        }
        match &self.args.passphrase {
            _ if require == Require::Key => Err(MissingCredential::Key),
            Some(phrase) if unlocks(phrase, &frame) => Ok(Credential::Enough),
            _ if access::wants_reason(&frame) => Err(MissingCredential::Told),
            _ if matches!(frame.request(), RequestKind::Unknown(_)) => {
                Err(MissingCredential::Unknown)
            }
            _ => Err(MissingCredential::Passphrase),
        }
    }

    /// Refuses a client that lacks a credential.
    pub(super) fn reject(&mut self, one: PendingConnection, missing: MissingCredential) {
        match missing {
            MissingCredential::Key => return self.refuse(one, &Denied::KeyRequired),
            MissingCredential::Told => {
                self.poller.remove(one.control.as_fd());
                return self
                    .admission
                    .refuse(one.control, &Denied::Passphrase, &self.poller);
            }
            MissingCredential::Passphrase => {
                self.note_denied(described(&one.peer), &Denied::Passphrase)
            }
            MissingCredential::Unknown => self.drop_silent(&one.peer, "nonsense"),
        }
        // netperf 2.7 closes the connection without an answer.
        self.poller.remove(one.control.as_fd());
        self.admission.close(one.control, &self.poller);
    }

    /// Returns the connection if its session may begin; otherwise the connection waits or is
    /// refused. `source` is that of a client without proof.
    pub(super) fn place(
        &mut self,
        mut one: PendingConnection,
        source: Option<ProofSource>,
    ) -> Option<PendingConnection> {
        let startups = self.startups();
        if let Some(source) = source.filter(|_| one.unproven.is_none()) {
            let waiting: Vec<_> = self.pending.unproven().collect();
            let chance = random_percent();
            let place = self
                .proofs
                .admit((source, &waiting), startups, (clock::now(), chance));
            match place {
                Ok(ProofPlace::Free) => {}
                Ok(ProofPlace::InsteadOf(other)) => {
                    if let Some(dropped) = self.pending.take_unproven(other) {
                        self.refuse(dropped, &Denied::Startups);
                    }
                }
                Err(denied) => {
                    self.refuse(one, &denied);
                    return None;
                }
            }
            one.unproven = Some(source);
        }
        let has_place = source.is_none_or(|source| self.proofs.has_place(source, startups));
        if self.has_room() && has_place {
            return Some(one);
        }
        self.keep(one, PendingStage::Complete);
        None
    }

    /// Counts a session process in which a client proves the key. Returns the time limit.
    pub(super) fn begin_proof(&mut self, source: ProofSource) -> (ProofSource, Moment) {
        self.proofs.begins(source);
        (source, clock::now().plus(PROOF_TIME + START_TIME))
    }

    /// Returns true if the key of this session has as many other sessions as it may have. The
    /// limits are those of the current key file, and names identify keys.
    pub(super) fn key_is_full(&self, index: usize) -> bool {
        let name = |one: &SessionProcess| one.session_log.key().map(|key| key.name.clone());
        let Some(own) = self.sessions.get(index).and_then(name) else {
            return false;
        };
        let mut keys = self.args.access.keys.iter().flat_map(|keys| keys.keys());
        let key = keys.find(|key| key.name == own);
        let Some(most) = key.and_then(|key| key.max_sessions) else {
            return false;
        };
        let others = self.sessions.iter().enumerate().filter(|(other, one)| {
            *other != index && one.unproven.is_none() && name(one).as_ref() == Some(&own)
        });
        others.count() >= usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// Next time limit of a proof.
    pub(super) fn next_proof(&self) -> Option<Moment> {
        let unproven = self.sessions.iter().filter_map(|one| one.unproven);
        unproven.map(|(_, until)| until).min()
    }

    /// Ends the processes of clients that did not prove the key in time.
    pub(super) fn end_proofs(&mut self, now: Moment) {
        let overdue = |until: Moment| until <= now;
        let mut index = 0;
        while let Some(session) = self.sessions.get_mut(index) {
            if session.unproven.is_some_and(|(_, until)| overdue(until)) {
                let end = session.kill();
                self.close(index, end);
            } else {
                index += 1;
            }
        }
    }
}

/// A random number below 100.
fn random_percent() -> u32 {
    let mut bytes = [0; 4];
    // Without random numbers the drop is not random.
    let _fixed = netperf_os::system::random(&mut bytes);
    u32::from_ne_bytes(bytes) % 100
}
