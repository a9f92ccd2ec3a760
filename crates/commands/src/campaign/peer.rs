//! Connections of a coordinator to the agents.

use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::rc::Rc;
use std::time::Duration;

use netperf_campaign::inventory::host_and_port;
use netperf_campaign::protocol::{Inbox, Order, Reply, encode};
use netperf_measure::clock;
use netperf_model::{KeyRing, KeyRole, Secret};
use netperf_os::Socket;
use netperf_program::link::{ControlLink, ForeignProbe};
use netperf_program::output::system_text;
use netperf_session::access;
use netperf_session::driver::Link as _;
use netperf_transport::secure::Channel;
use netperf_wire::{FRAME_LEN, Frame};

use netperf_client::secure;

/// Time to connect to one address, and for the first answer.
const CONNECT: Duration = Duration::from_secs(5);

/// A connection to an agent.
#[derive(Debug)]
pub(super) struct AgentLink {
    socket: Socket,
    channel: Channel,
    inbox: Inbox,
    /// When it was connected, or the bytes of the last replies had come, nanoseconds of the own
    /// clock.
    pub(super) came: u64,
}

impl AgentLink {
    /// Connects to an agent and proves the key.
    ///
    /// # Errors
    /// One line.
    pub(super) fn connect(control: &str, secret: &Secret) -> Result<Self, String> {
        let (host, port) = host_and_port(control);
        let number = port
            .parse::<u16>()
            .map_err(|_| format!("{port} is not a port"))?;
        let found = (host.as_str(), number).to_socket_addrs();
        let found = found.map_err(|error| format!("{host}: {}", system_text(&error)))?;
        let mut last = "it has no address".to_owned();
        for address in found {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(stream) => return Self::enter(stream, secret, &host),
                Err(error) => {
                    let is_closed = error.kind() == io::ErrorKind::ConnectionRefused;
                    let hint = if is_closed {
                        "; does netserver --agent run there?"
                    } else {
                        ""
                    };
                    last = format!("{address}: {}{hint}", system_text(&error));
                }
            }
        }
        Err(last)
    }

    fn enter(stream: TcpStream, secret: &Secret, host: &str) -> Result<Self, String> {
        let nodelay = stream.set_nodelay(true);
        nodelay.map_err(|error| system_text(&error))?;
        let socket = Rc::new(Socket::from(stream));
        let mut link = ControlLink::new(Rc::clone(&socket));
        // Another program is known by its first words; one that is silent is not asked again.
        link.expect_netserver(ForeignProbe(Box::new(|| None)));
        link.hurry(Some(CONNECT));
        secure::enter(&mut link, secret, host)
            .map_err(|failure| failure.lines().trim_end().to_owned())?;
        Self::of(socket, link)
    }

    /// Takes the connection of an agent that has dialled (`--join`).
    ///
    /// # Errors
    /// One line.
    pub(super) fn accept(stream: TcpStream, keys: &KeyRing) -> Result<Self, String> {
        let nodelay = stream.set_nodelay(true);
        nodelay.map_err(|error| system_text(&error))?;
        let socket = Rc::new(Socket::from(stream));
        let mut link = ControlLink::new(Rc::clone(&socket));
        let mut used = 0;
        let entered = link.encrypt(|fd| {
            let (channel, index) = Channel::accept(fd, keys, CONNECT)?;
            used = index;
            Ok(channel)
        });
        entered.map_err(|_| "it does not prove the key".to_owned())?;
        let role = keys.keys().get(used).map(|key| key.role);
        if role != Some(KeyRole::Agent) {
            return Err("its key does not have the role agent".to_owned());
        }
        Self::of(socket, link)
    }

    fn of(socket: Rc<Socket>, link: ControlLink) -> Result<Self, String> {
        let lost = || "the connection is not encrypted".to_owned();
        let channel = link.into_channel().ok_or_else(lost)?;
        let socket = Rc::into_inner(socket).ok_or_else(lost)?;
        socket
            .set_nonblocking(true)
            .map_err(|error| system_text(&error))?;
        Ok(Self {
            socket,
            channel,
            inbox: Inbox::default(),
            came: clock::monotonic(),
        })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Ends the connection at once: nothing of it stays in this kernel, also if the agent's host is
    /// gone.
    pub(super) fn reset(self) {
        let _best_effort = self.socket.set_linger(Some(Duration::ZERO));
    }

    /// IP address of the agent.
    pub(super) fn address(&self) -> Option<String> {
        let peer = self.socket.peer_addr().ok()?.as_socket()?;
        Some(peer.ip().to_canonical().to_string())
    }

    /// Sends an order, which the agent has to take within this time.
    ///
    /// # Errors
    /// One line.
    pub(super) fn tell(&mut self, order: &Order, within: Duration) -> Result<(), String> {
        let bytes = encode(order).map_err(|bad| bad.to_string())?;
        let sent = self.channel.send(self.socket.as_fd(), &bytes, within);
        sent.map_err(|error| {
            if error.kind() == io::ErrorKind::TimedOut {
                "it does not accept messages".to_owned()
            } else {
                system_text(&error)
            }
        })
    }

    /// The refusal of a netserver that is no agent, in a record of the control protocol.
    fn refusal(&self) -> Option<String> {
        let bytes = self.inbox.rest().first_chunk::<FRAME_LEN>()?;
        let refused = access::is_answer(&Frame::from_bytes(*bytes)).err()?;
        Some(format!("{refused}; is it started with --agent?"))
    }

    /// Reads what is there.
    ///
    /// # Errors
    /// One line, at the end of the connection as well.
    pub(super) fn hear(&mut self) -> Result<Vec<Reply>, String> {
        let fd = self.socket.as_fd();
        let mut open = match self.channel.take_in(fd) {
            Ok(open) => open,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
            Err(error) => return Err(system_text(&error)),
        };
        self.came = clock::monotonic();
        let mut buf = vec![0; 4096];
        loop {
            match self.channel.read(&mut buf) {
                Ok(Some(0)) => {
                    open = false;
                    break;
                }
                Ok(Some(count)) => self.inbox.add(buf.get(..count).unwrap_or_default()),
                Ok(None) => break,
                Err(error) => return Err(system_text(&error)),
            }
        }
        let mut replies = Vec::new();
        loop {
            match self.inbox.take() {
                Ok(Some(reply)) => replies.push(reply),
                Ok(None) => break,
                Err(bad) => {
                    let reason = self.refusal().ok_or_else(|| bad.to_string())?;
                    return Ok(vec![Reply::Refused { reason }]);
                }
            }
        }
        if replies.is_empty() && !open {
            return Err("it closed the connection".to_owned());
        }
        Ok(replies)
    }
}
