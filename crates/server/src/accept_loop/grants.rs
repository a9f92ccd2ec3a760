//! Seats, memory and ports, which the listener grants to sessions.

use std::net::IpAddr;

use netperf_measure::clock;
use netperf_model::{Denied, EndNeeds};

use super::AcceptLoop;
use crate::proofs::ProofSource;
use crate::record::{Grant, SessionQuestion};
use crate::session_limit::{SEATS, leaves_seats};

impl AcceptLoop {
    /// Answers the question with this number of a session.
    pub(super) fn grant(&mut self, session: u64, (number, asked): (u32, SessionQuestion)) {
        let Some(index) = self.sessions.iter().position(|one| one.number == session) else {
            return;
        };
        let grant = match asked {
            SessionQuestion::Proven => self.seat(index),
            SessionQuestion::Needs(needs) => self.reserve(index, needs),
        };
        if let Some(session) = self.sessions.get_mut(index) {
            session.answer(number, grant);
        }
        if asked == SessionQuestion::Proven {
            self.begin_waiting();
        }
    }

    /// Gives a seat to a client that has proven the key.
    fn seat(&mut self, index: usize) -> Grant {
        let session = self.sessions.get(index);
        let asker = session.and_then(|one| Some((one.address, one.unproven?.0)));
        let Some((address, source)) = asker else {
            return Grant::Granted;
        };
        self.proofs.ends(source, true, clock::now());
        let admitted = self.admit_session(address);
        if let Some(session) = self.sessions.get_mut(index) {
            session.unproven = None;
        }
        let reloads = self.sessions.get(index).map(|one| one.reloads);
        match admitted {
            // Its limits and its permissions are those from before.
            _ if reloads != Some(self.reloads) => Grant::Outdated,
            Ok(()) if self.key_is_full(index) => Grant::KeySessions,
            Ok(()) => Grant::Granted,
            Err(Denied::PeerSessions(..)) => Grant::PeerSessions,
            Err(_) => Grant::Sessions,
        }
    }

    /// Admits one more session of this address.
    pub(crate) fn admit_session(&self, address: Option<IpAddr>) -> Result<(), Denied> {
        let (policy, load) = (self.admission.policy(), self.load(address));
        policy.admit(address, load)?;
        if policy.limits.peer_sessions.is_none() && !leaves_seats(load, SEATS) {
            return Err(Denied::PeerSessions(load.of_peer, load.until_peer_end));
        }
        Ok(())
    }

    /// Reserves memory and ports for a test of a session, instead of those of the test before.
    fn reserve(&mut self, index: usize, needs: EndNeeds) -> Grant {
        let limits = &self.admission.policy().limits;
        let others = || {
            let all = self.sessions.iter().enumerate();
            all.filter(|(other, _)| *other != index)
        };
        let memory: u64 = others().map(|(_, one)| one.needs.memory).sum();
        let ports: u64 = others().map(|(_, one)| one.needs.ports).sum();
        let grant = if memory.saturating_add(needs.memory) > limits.memory.all {
            Grant::Memory
        } else if ports.saturating_add(needs.ports) > limits.ports.all {
            Grant::Ports
        } else {
            Grant::Granted
        };
        if let Some(session) = self.sessions.get_mut(index) {
            session.needs = if grant == Grant::Granted {
                needs
            } else {
                EndNeeds::default()
            };
        }
        grant
    }

    /// Counts the start of a session process of this address.
    pub(crate) fn count_start(&mut self, address: Option<IpAddr>) -> Result<(), Denied> {
        let limits = &self.admission.policy().limits;
        let source = ProofSource(limits.source(address));
        let rate = limits.session_rate;
        self.starts.count(source, rate, clock::now())
    }
}
