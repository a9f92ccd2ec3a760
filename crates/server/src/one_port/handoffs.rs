//! Hand-off sockets of the sessions, found by the token of a test.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd as _;
use std::time::Duration;

use netperf_daemon::poller::{PollToken, ServerPoller};
use netperf_model::Token;
use netperf_os::Socket;
use netperf_os::events::{Epoll, Events, Watch};
use netperf_os::pass::PassWait;
use netperf_transport::one_port::{HandoffInput, HandoffMessage, recv_message};

/// Messages of a session per look. A session sends two for each test.
const MESSAGES_AT_ONCE: usize = 8;
/// Sessions per look; the others follow in the next.
const SESSIONS_AT_ONCE: usize = 64;

/// The listener's end of a session's hand-off socket.
#[derive(Debug)]
struct Handoff {
    socket: Socket,
    /// Token that the session registered last.
    token: Option<Token>,
}

/// Hand-off sockets of all sessions. The cost of a search does not depend on their number.
#[derive(Debug)]
pub(super) struct Handoffs {
    /// Reports the sockets with unread messages.
    unread: Epoll,
    events: Events,
    /// Sockets by the number of their session.
    sockets: HashMap<u64, Handoff>,
    /// Sessions by token. The hash has a random key, so that the time of a search tells nothing
    /// about the tokens.
    owners: HashMap<Token, u64>,
    /// Number of sockets that were read.
    #[cfg(test)]
    pub(super) sockets_read: usize,
}

impl Handoffs {
    /// Reports unread messages to `poller`.
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` when there are too many open files.
    pub(super) fn new(poller: &ServerPoller) -> io::Result<Self> {
        let unread = Epoll::new()?;
        poller.watch(unread.as_fd(), PollToken::Handoffs)?;
        Ok(Self {
            unread,
            events: Events::with_room(SESSIONS_AT_ONCE),
            sockets: HashMap::new(),
            owners: HashMap::new(),
            #[cfg(test)]
            sockets_read: 0,
        })
    }

    /// Adds the socket of the session with this number.
    ///
    /// # Errors
    /// Whatever epoll_ctl(2) reports.
    pub(super) fn add(&mut self, number: u64, socket: Socket) -> io::Result<()> {
        self.unread.add(socket.as_fd(), number, Watch::Read)?;
        self.sockets.insert(
            number,
            Handoff {
                socket,
                token: None,
            },
        );
        Ok(())
    }

    /// Removes the socket of a session and its token.
    pub(super) fn remove(&mut self, number: u64) {
        self.register(number, None);
        if let Some(handoff) = self.sockets.remove(&number) {
            // An error means that it is not registered.
            let _unknown = self.unread.remove(handoff.socket.as_fd());
        }
    }

    /// Reads the messages of sessions that have sent some.
    pub(super) fn look(&mut self) {
        // On failure the messages are read later.
        let count = self.unread.wait(&mut self.events, Duration::ZERO);
        for index in 0..count.unwrap_or(0) {
            self.read(self.events.at(index).token);
        }
    }

    fn read(&mut self, number: u64) {
        #[cfg(test)]
        {
            self.sockets_read += 1;
        }
        for _ in 0..MESSAGES_AT_ONCE {
            let Some(handoff) = self.sockets.get(&number) else {
                return;
            };
            match recv_message(&handoff.socket, PassWait::Never) {
                Ok(HandoffInput::Message(HandoffMessage::Open(token))) => {
                    self.register(number, Some(token));
                }
                Ok(HandoffInput::Message(HandoffMessage::Shut)) => self.register(number, None),
                // A session sends no other messages.
                Ok(HandoffInput::Message(_) | HandoffInput::Invalid) => {}
                Ok(HandoffInput::End) => return self.remove(number),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// Replaces the token of a session. A token of another session remains with that.
    fn register(&mut self, number: u64, token: Option<Token>) {
        let Some(handoff) = self.sockets.get_mut(&number) else {
            return;
        };
        if let Some(before) = handoff.token.take() {
            self.owners.remove(&before);
        }
        if let Some(token) = token.filter(|token| !self.owners.contains_key(token)) {
            handoff.token = Some(token);
            self.owners.insert(token, number);
        }
    }

    /// Hand-off socket of the session with a token. A session registers its token before the
    /// client learns it.
    pub(super) fn owner(&mut self, token: &Token) -> Option<&Socket> {
        self.look();
        let number = self.owners.get(token)?;
        Some(&self.sockets.get(number)?.socket)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use netperf_os::pass;
    use netperf_testkit::eventually;
    use netperf_transport::one_port::send_message;

    use super::*;

    fn token(number: u64) -> Token {
        let mut bytes = [0; Token::BYTES];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        Token::new(bytes)
    }

    /// Sessions with a token each, and their ends of the sockets.
    fn sessions(count: u64) -> (Handoffs, Vec<Socket>) {
        let mut handoffs = Handoffs::new(&ServerPoller::new().unwrap()).unwrap();
        let session = |number| {
            let (outside, inside) = pass::pair().unwrap();
            handoffs.add(number, outside).unwrap();
            send_message(&inside, &HandoffMessage::Open(token(number))).unwrap();
            inside
        };
        let inside = (0..count).map(session).collect();
        (handoffs, inside)
    }

    #[test]
    fn an_unknown_token_costs_the_same_with_any_number_of_sessions() {
        for count in [1, 100] {
            let (mut handoffs, inside) = sessions(count);
            while handoffs.sockets_read < inside.len() {
                handoffs.look();
            }
            for unknown in 1000..1100 {
                assert!(handoffs.owner(&token(unknown)).is_none());
            }
            // Every socket was read when it had a message, and never again.
            assert_eq!(handoffs.sockets_read, inside.len());
        }
    }

    #[test]
    fn a_token_is_known_as_soon_as_it_is_registered_and_until_it_is_removed() {
        let (mut handoffs, mut inside) = sessions(3);
        for number in 0..3 {
            assert!(handoffs.owner(&token(number)).is_some(), "{number}");
        }
        send_message(&inside[0], &HandoffMessage::Shut).unwrap();
        assert!(handoffs.owner(&token(0)).is_none());
        send_message(&inside[1], &HandoffMessage::Open(token(9))).unwrap();
        assert!(handoffs.owner(&token(1)).is_none());
        assert!(handoffs.owner(&token(9)).is_some());
        // The end of a session removes its token.
        drop(inside.pop());
        // A process that another test starts has a copy until it runs its program.
        let ends = || handoffs.owner(&token(2)).is_none();
        assert!(eventually(Duration::from_secs(20), ends));
        handoffs.remove(1);
        assert!(handoffs.owner(&token(9)).is_none());
    }

    #[test]
    fn a_session_cannot_take_over_the_token_of_another() {
        let (mut handoffs, inside) = sessions(2);
        let of = |handoffs: &mut Handoffs| {
            let owner = handoffs.owner(&token(0))?;
            send_message(owner, &HandoffMessage::Shut).unwrap();
            inside.iter().position(|inside| {
                matches!(
                    recv_message(inside, PassWait::Never),
                    Ok(HandoffInput::Message(_))
                )
            })
        };
        assert_eq!(of(&mut handoffs), Some(0));
        send_message(&inside[1], &HandoffMessage::Open(token(0))).unwrap();
        assert_eq!(of(&mut handoffs), Some(0));
    }
}
