//! Processing of a connection from accept(2) to the start of its session.

use std::net::IpAddr;
use std::os::fd::AsFd;

use netperf_cli::LogLevel;
use netperf_daemon::poller::PollToken;
use netperf_model::{Denied, OnePort, Require, SessionLoad};
use netperf_os::{SockAddr, Socket};

use super::AcceptLoop;
use super::unproven::Credential;
use crate::admission;
use crate::agent::AgentProcess;
use crate::one_port::{ArrivalState, Unclaimed};
use crate::peer::described;
use crate::pending::{self, FirstMessage, PendingConnection, PendingStage};
use crate::served_protocol::ServedProtocol;
use crate::session_process::SessionProcess;

/// Connections accepted per round, so that a flood does not starve other clients.
const AT_ONCE: usize = 64;

impl AcceptLoop {
    /// Accepts connections of a listener, up to a limit per round.
    pub(super) fn accept_from(&mut self, number: u64) {
        let Ok(index) = usize::try_from(number) else {
            return;
        };
        for _ in 0..AT_ONCE {
            let protocol = self.protocols.get(index).copied();
            let Some((listener, protocol)) = self.listeners.get(index).zip(protocol) else {
                return;
            };
            match listener.accept() {
                Ok((control, peer)) => self.admit(control, peer, protocol),
                Err(error) => {
                    self.survive(&error);
                    return;
                }
            }
        }
    }

    fn admit(&mut self, control: Socket, peer: SockAddr, protocol: ServedProtocol) {
        if control.set_nonblocking(false).is_err() {
            return;
        }
        let policy = self.admission.policy();
        let address = admission::address_of(&peer);
        let (admits, source) = (policy.admits(address), policy.limits.source(address));
        let place = self.pending.next_place();
        let one = PendingConnection::new((control, place), (peer, source), protocol);
        if !admits {
            return self.refuse(one, &Denied::Network);
        }
        self.hear(one, false);
    }

    /// Examines the first message of a client and acts on it.
    pub(super) fn hear(&mut self, one: PendingConnection, ended: bool) {
        if one.protocol == ServedProtocol::Iperf3 {
            return self.hear_cookie(one, ended);
        }
        match pending::first_message(&one.control, one.protocol) {
            FirstMessage::Complete => self.begin(one),
            FirstMessage::Preamble => {
                if let Some(one) = self.hear_preamble(one, ended) {
                    self.keep(one, PendingStage::Preamble);
                }
            }
            FirstMessage::Empty => self.keep(one, PendingStage::Silent),
            FirstMessage::Partial if ended => self.drop_silent(&one.peer, "cut"),
            FirstMessage::Partial => self.keep(one, PendingStage::Partial),
            FirstMessage::Invalid => self.drop_silent(&one.peer, "nonsense"),
            FirstMessage::Closed => self.drop_silent(&one.peer, "finished"),
            FirstMessage::Broken => self.drop_silent(&one.peer, "cut"),
        }
    }

    /// Hands data over to its session. Returns the connection while its preamble is incomplete.
    fn hear_preamble(&mut self, one: PendingConnection, ended: bool) -> Option<PendingConnection> {
        match self.data_arrivals.take(one, ended, &self.poller) {
            ArrivalState::AwaitsPreamble(one) => Some(one),
            ArrivalState::Delivered => None,
            ArrivalState::Failed(unclaimed) => {
                self.log_unclaimed([unclaimed]);
                None
            }
        }
    }

    /// Adds a pending connection and registers it with the poller.
    pub(crate) fn keep(&mut self, one: PendingConnection, stage: PendingStage) {
        while let Some(other) = self.pending.take_for(&one, self.most_waiting) {
            self.make_way(other);
        }
        let before = one.at();
        let number = self.pending.keep(one, stage);
        let Some(one) = self.pending.get(stage, number) else {
            return;
        };
        let (fd, token) = (one.control.as_fd(), PollToken::PendingConnection(number));
        let heard = match (before, stage) {
            (Some(same), _) if same == (stage, number) => Ok(()),
            // A complete message needs no more events.
            (Some(_), PendingStage::Complete) => {
                self.poller.remove(fd);
                Ok(())
            }
            (None, PendingStage::Complete) => Ok(()),
            (Some(_), _) => self.poller.change_token(fd, token),
            (None, _) => self.poller.watch_edge(fd, token),
        };
        let gone = heard.err().and_then(|_| self.pending.take(number));
        if let Some(one) = gone {
            // The kernel has no memory for another event.
            self.drop_silent(&one.peer, "crowded");
        }
    }

    /// Refuses a client and logs the reason.
    pub(super) fn refuse(&mut self, one: PendingConnection, denied: &Denied) {
        self.note_denied(described(&one.peer), denied);
        self.poller.remove(one.control.as_fd());
        // iperf 2 has no message for a refusal: the connection is closed.
        if one.protocol == ServedProtocol::Netperf {
            self.admission.refuse(one.control, denied, &self.poller);
        }
    }

    pub(crate) fn note_denied(&mut self, peer: String, denied: &Denied) {
        let fields = [
            ("peer", peer.into()),
            ("denied", denied.word().into()),
            ("reason", denied.to_string().into()),
        ];
        self.metrics.denied(denied.word());
        self.log.deny(LogLevel::Info, "denied", &fields);
    }

    /// Number of sessions, in total and of this client's address.
    pub(super) fn load(&self, peer: Option<IpAddr>) -> SessionLoad {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let limits = &self.admission.policy().limits;
        let source = limits.source(peer);
        // Clients without proof have no seat.
        let all = || self.sessions.iter().filter(|one| one.unproven.is_none());
        let own = || all().filter(|one| limits.source(one.address) == source);
        // Only clients that need no credential may know about tests of others.
        let told = self.args.require() == Require::None;
        let first_end = |sessions: &mut dyn Iterator<Item = &SessionProcess>| {
            let ends = sessions.filter_map(|one| one.session_log.until_end());
            ends.min().filter(|_| told)
        };
        SessionLoad {
            all: number(all().count()),
            of_peer: number(own().count()),
            until_end: first_end(&mut all()),
            until_peer_end: first_end(&mut own()),
        }
    }

    /// Drops a connection for another; a legitimate client sends at once.
    fn make_way(&mut self, one: PendingConnection) {
        if one.protocol == ServedProtocol::Iperf3 {
            return self.drop_silent(&one.peer, "crowded");
        }
        let place = self.has_room();
        match pending::first_message(&one.control, one.protocol) {
            // Its message arrived in the meantime.
            FirstMessage::Complete if place => self.begin(one),
            FirstMessage::Preamble => {
                if let Some(one) = self.hear_preamble(one, false) {
                    self.drop_silent(&one.peer, "crowded");
                }
            }
            FirstMessage::Empty
            | FirstMessage::Partial
            | FirstMessage::Complete
            | FirstMessage::Invalid
            | FirstMessage::Closed
            | FirstMessage::Broken => self.drop_silent(&one.peer, "crowded"),
        }
    }

    /// Counts and logs a connection that ended before its first message was complete.
    pub(crate) fn drop_silent(&mut self, peer: &SockAddr, why: &str) {
        self.metrics.unspoken(why);
        if self.log.wants(LogLevel::Debug) {
            self.note_silent(described(peer), why);
        }
    }

    fn note_silent(&mut self, peer: String, why: &str) {
        let fields = [("peer", peer.into()), ("end", why.into())];
        self.log.say(LogLevel::Debug, "unspoken", &fields);
    }

    /// Starts the session of a client whose first message is complete.
    pub(super) fn begin(&mut self, one: PendingConnection) {
        let address = admission::address_of(&one.peer);
        if let Err(denied) = self.find_seat(address) {
            return self.refuse(one, &denied);
        }
        let credential = match one.unproven {
            Some(source) => Ok(Credential::Key(source)),
            None if one.protocol != ServedProtocol::Netperf => Ok(Credential::Enough),
            None => self.credential(&one),
        };
        let source = match credential {
            Ok(Credential::Enough) => None,
            Ok(Credential::Key(source)) => Some(source),
            Err(missing) => return self.reject(one, missing),
        };
        let Some(one) = self.place(one, source) else {
            return;
        };
        if let Err(denied) = self.count_start(address) {
            return self.refuse(one, &denied);
        }
        // The session process shares the socket from here on.
        self.poller.remove(one.control.as_fd());
        pending::reset_wake_threshold(&one.control);
        let (control, peer) = (one.control, described(&one.peer));
        let protocol = one.protocol;
        if self.args.no_fork {
            return self.serve_here(control, peer);
        }
        self.started += 1;
        let of_netperf = protocol == ServedProtocol::Netperf;
        let one_port = if of_netperf {
            self.one_port()
        } else {
            OnePort::Off
        };
        let number = self.started;
        let door = self.agent.as_ref().filter(|_| of_netperf);
        let door = door.map(AgentProcess::door);
        let data = (one_port, door);
        self.starter.note_sessions(self.sessions.len());
        let starter = of_netperf.then_some(&mut self.starter);
        let args = &self.args;
        let started = SessionProcess::start(number, (control, peer), args, data, protocol, starter);
        match started {
            Ok((mut session, handoff)) => {
                session.reloads = self.reloads;
                if let Some(source) = source {
                    session.unproven = Some(self.begin_proof(source));
                }
                let added = handoff.map(|handoff| self.data_arrivals.add_session(number, handoff));
                if let Some(Err(error)) = added {
                    self.complain("session", &error);
                }
                if let Some(fd) = session.fd() {
                    // On failure the records are read at the end of the session.
                    let _late = self.poller.watch_edge(fd, PollToken::Session(number));
                }
                self.sessions.push(session);
            }
            Err(error) => self.complain("session", &error),
        }
    }

    /// Kinds of data that the port accepts.
    pub(super) fn one_port(&self) -> OnePort {
        self.data_arrivals.possible(self.args.one_port())
    }

    /// Forwards probes to their sessions.
    pub(super) fn answer_probes(&mut self) {
        let policy = self.admission.policy();
        let admits = |address| policy.admits(Some(address));
        let unclaimed = self.data_arrivals.answer_probes(admits);
        self.log_unclaimed(unclaimed);
    }

    /// Logs data that belongs to no session.
    pub(super) fn log_unclaimed(&mut self, unclaimed: impl IntoIterator<Item = Unclaimed>) {
        for unclaimed in unclaimed {
            match unclaimed {
                Unclaimed::Unspoken(peer, why) => {
                    self.metrics.unspoken(why);
                    self.note_silent(peer, why);
                }
                Unclaimed::Datagram => self.metrics.denied(Denied::Token.word()),
                Unclaimed::Unknown(peer) => self.note_denied(peer, &Denied::Token),
            }
        }
    }
}
