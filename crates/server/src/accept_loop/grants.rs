//! Seats, memory and ports, which the listener grants to sessions.

use std::collections::HashMap;
use std::net::IpAddr;

use netperf_daemon::record::{Grant, SessionQuestion};
use netperf_daemon::session_log::ProcessEnd;
use netperf_measure::clock;
use netperf_model::{Denied, EndNeeds, Network};

use super::AcceptLoop;
use crate::proofs::ProofSource;
use crate::session_process::SessionProcess;

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
        let number = session.map(|one| one.number);
        let asker = session.and_then(|one| Some((one.address, one.unproven?.0)));
        let Some((address, source)) = asker else {
            return Grant::Granted;
        };
        self.proofs.ends(source, true, clock::now());
        let admitted = self.find_seat(address);
        // The end of another session may have moved this one.
        let index = self
            .sessions
            .iter()
            .position(|one| Some(one.number) == number);
        let Some(index) = index else {
            return Grant::Sessions;
        };
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
        policy.admit(address, load)
    }

    /// Admits one more session of this address; if all seats are taken, instead of an idle session
    /// of the source that has the most.
    pub(crate) fn find_seat(&mut self, address: Option<IpAddr>) -> Result<(), Denied> {
        match self.admit_session(address) {
            Err(Denied::Sessions(..)) if self.end_idle_session(address) => {
                self.admit_session(address)
            }
            admitted => admitted,
        }
    }

    /// Ends an idle session of the source that has the most seats, if it has more than this one
    /// would have.
    fn end_idle_session(&mut self, address: Option<IpAddr>) -> bool {
        let limits = &self.admission.policy().limits;
        let mut counts: HashMap<Option<Network>, usize> = HashMap::new();
        for session in self.sessions.iter().filter(|one| one.unproven.is_none()) {
            *counts.entry(limits.source(session.address)).or_default() += 1;
        }
        let own = counts.get(&limits.source(address)).copied().unwrap_or(0);
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        let Some((source, _)) = most.filter(|(_, count)| *count > own + 1) else {
            return false;
        };
        let of_source = |one: &SessionProcess| limits.source(one.address) == source;
        let idle = self
            .sessions
            .iter()
            .position(|one| of_source(one) && one.is_idle());
        let Some(index) = idle else { return false };
        if let Some(session) = self.sessions.get_mut(index) {
            let _ended = session.kill();
            self.close(index, ProcessEnd::Displaced);
        }
        true
    }

    /// Returns true if one more session process may start: one for each seat, and one for each
    /// client that proves its key.
    pub(crate) fn has_room(&self) -> bool {
        let limits = &self.admission.policy().limits;
        let seats = limits.sessions.unwrap_or(u32::MAX);
        let most = seats.saturating_add(limits.startups.start);
        self.sessions.len() < usize::try_from(most).unwrap_or(usize::MAX)
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
