//! The way in: what becomes of a connection from its first byte to its session.

use std::net::IpAddr;
use std::os::fd::AsFd;

use netperf_cli::LogLevel;
use netperf_model::{Crowd, Denied, OnePort};
use netperf_os::{SockAddr, Socket};

use super::{Hall, MOST_SESSIONS, described};
use crate::server::door;
use crate::server::guests::{self, Said, Stage, Waiting};
use crate::server::log::Value;
use crate::server::one_port::Astray;
use crate::server::porter::Who;
use crate::server::running::Running;

/// Connections accepted in one round, so that a flood does not starve the rest.
const AT_ONCE: usize = 64;

impl Hall {
    /// Accepts what came to a listener, some of it.
    pub(super) fn welcome(&mut self, number: u64) {
        let Ok(index) = usize::try_from(number) else {
            return;
        };
        for _ in 0..AT_ONCE {
            let Some(listener) = self.listeners.get(index) else {
                return;
            };
            match listener.accept() {
                Ok((control, peer)) => self.seat(control, peer),
                Err(error) => {
                    self.survive(&error);
                    return;
                }
            }
        }
    }

    fn seat(&mut self, control: Socket, peer: SockAddr) {
        if control.set_nonblocking(false).is_err() {
            return;
        }
        let one = Waiting::new(control, peer);
        if !self.door.policy().admits(door::address_of(&one.peer)) {
            return self.turn_away(one, &Denied::Network);
        }
        self.hear(one, false);
    }

    /// Hears what a client has said so far, and does what is to be done about it.
    pub(super) fn hear(&mut self, one: Waiting, ended: bool) {
        match guests::said(&one.control) {
            Said::Whole => self.begin(one),
            Said::Data => {
                let Self { arrivals, .. } = self;
                let astray = arrivals.take(one, ended, &mut self.sessions, &self.porter);
                self.lose(astray);
            }
            Said::Nothing => self.keep(one, Stage::Silent),
            Said::Part if ended => self.unspoken(&one.peer, "cut"),
            Said::Part => self.keep(one, Stage::Begun),
            Said::Nonsense => self.unspoken(&one.peer, "nonsense"),
            Said::Finished => self.unspoken(&one.peer, "finished"),
            Said::Cut => self.unspoken(&one.peer, "cut"),
        }
    }

    /// Has one wait, and hears of it.
    fn keep(&mut self, one: Waiting, stage: Stage) {
        while self.guests.len() >= self.most_waiting {
            self.make_room();
        }
        let before = one.at();
        let number = self.guests.keep(one, stage);
        let Some(one) = self.guests.get(stage, number) else {
            return;
        };
        let (fd, who) = (one.control.as_fd(), Who::Waiting(number));
        let heard = match (before, stage) {
            (Some(same), _) if same == (stage, number) => Ok(()),
            // All that there is to say has been said.
            (Some(_), Stage::Whole) => {
                self.porter.forget(fd);
                Ok(())
            }
            (None, Stage::Whole) => Ok(()),
            (Some(_), Stage::Silent | Stage::Begun) => self.porter.rename(fd, who),
            (None, Stage::Silent | Stage::Begun) => self.porter.listen_to(fd, who),
        };
        let gone = heard.err().and_then(|_| self.guests.take(number));
        if let Some(one) = gone {
            // The kernel has no memory for more.
            self.unspoken(&one.peer, "crowded");
        }
    }

    /// Tells a client why it cannot come in, and the log.
    fn turn_away(&mut self, one: Waiting, denied: &Denied) {
        self.note_denied(described(&one.peer), denied);
        self.porter.forget(one.control.as_fd());
        self.door.turn_away(one.control, denied, &self.porter);
    }

    fn note_denied(&mut self, peer: String, denied: &Denied) {
        let fields = [
            ("peer", Value::Text(peer)),
            ("denied", Value::from(denied.word())),
            ("reason", Value::Text(denied.to_string())),
        ];
        self.metrics.denied(denied.word());
        self.log.deny(&fields);
    }

    /// The sessions that a client at this address meets.
    fn crowd(&self, peer: Option<IpAddr>) -> Crowd {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let own = self.sessions.iter().filter(|one| one.address == peer);
        Crowd {
            all: number(self.sessions.len()),
            of_peer: number(own.count()),
        }
    }

    /// Whoever has got nowhere for longest goes: one that means to be served speaks at once.
    fn make_room(&mut self) {
        let Some(one) = self.guests.take_stalest() else {
            return;
        };
        let place = self.sessions.len() < MOST_SESSIONS;
        match guests::said(&one.control) {
            // It has spoken, and nobody has listened yet.
            Said::Whole if place => self.begin(one),
            Said::Data => self.hear(one, false),
            Said::Nothing
            | Said::Part
            | Said::Whole
            | Said::Nonsense
            | Said::Finished
            | Said::Cut => self.unspoken(&one.peer, "crowded"),
        }
    }

    /// A client that did not say what it wants is gone.
    pub(super) fn unspoken(&mut self, peer: &SockAddr, why: &str) {
        self.metrics.unspoken(why);
        if self.log.wants(LogLevel::Debug) {
            self.note_unspoken(described(peer), why);
        }
    }

    fn note_unspoken(&mut self, peer: String, why: &str) {
        let fields = [("peer", Value::Text(peer)), ("end", Value::from(why))];
        self.log.say(LogLevel::Debug, "unspoken", &fields);
    }

    /// The first message of a client is there.
    pub(super) fn begin(&mut self, one: Waiting) {
        if self.sessions.len() >= MOST_SESSIONS {
            return self.keep(one, Stage::Whole);
        }
        let address = door::address_of(&one.peer);
        let admitted = self.door.policy().admit(address, self.crowd(address));
        if let Err(denied) = admitted {
            return self.turn_away(one, &denied);
        }
        // From here on somebody else has it.
        self.porter.forget(one.control.as_fd());
        guests::expect_anything(&one.control);
        let (control, peer) = (one.control, described(&one.peer));
        if self.args.no_fork {
            return self.serve_here(control, peer);
        }
        self.begun += 1;
        let (number, one_port) = (self.begun, self.one_port());
        let started = Running::start(number, (control, peer), &self.args, one_port);
        match started {
            Ok(session) => {
                if let Some(fd) = session.fd() {
                    // What it says is read when it is over, at the latest.
                    let _late = self.porter.listen_to(fd, Who::Session(number));
                }
                self.sessions.push(session);
            }
            Err(error) => self.complain("session", &error),
        }
    }

    /// What data comes in by the port.
    pub(super) fn one_port(&self) -> OnePort {
        self.arrivals.possible(self.args.one_port())
    }

    /// Tells the sessions of datagrams that have arrived for them.
    pub(super) fn answer_knocks(&mut self) {
        let policy = self.door.policy();
        let admits = |address| policy.admits(Some(address));
        let astray = self.arrivals.answer_knocks(&mut self.sessions, admits);
        self.lose(astray);
    }

    /// Writes down what got to no session.
    pub(super) fn lose(&mut self, astray: impl IntoIterator<Item = Astray>) {
        for astray in astray {
            match astray {
                Astray::Unspoken(peer, why) => {
                    self.metrics.unspoken(why);
                    self.note_unspoken(peer, why);
                }
                Astray::Datagram => self.metrics.denied(Denied::Token.word()),
                Astray::Unknown(peer) => self.note_denied(peer, &Denied::Token),
            }
        }
    }
}
