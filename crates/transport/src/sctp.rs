//! SCTP: one association per socket, or many on one socket (RFC 9260, RFC 6458).

mod notification;
mod requester;
mod responder;

use std::io;
use std::os::fd::AsFd;

use netperf_model::{Family, SocketPlan, TransportId};
use netperf_os::sctp;
use netperf_os::sockopt::{self, IntOption};
use netperf_os::{SockAddr, Socket};

pub use requester::SctpRequester;
pub use responder::SctpResponder;

use crate::meeting::{self, AcceptFilter, Addresses, Connects, GiveUp, Met, Parting};
use crate::non_blocking::Unblock;
use crate::registry::Asked;
use crate::socket;
use crate::tcp::Tcp;

/// One association per socket. A message may arrive in parts, but a receive never returns parts
/// of two messages.
#[derive(Clone, Copy, Debug)]
pub struct Sctp;

impl Connects for Sctp {
    type Endpoint = Tcp;

    const PARTING: Parting = Parting::Shutdown;

    fn connect(&self, socket: Socket, to: &SockAddr, give_up: GiveUp<'_>) -> io::Result<Met<Tcp>> {
        meeting::connect(&socket, to, give_up)?.and_then(|()| Ok(Met::Connected(Tcp(socket))))
    }

    fn accept(&self, gate: AcceptFilter<'_>, give_up: GiveUp<'_>) -> io::Result<Met<Tcp>> {
        meeting::accept(gate, give_up)?.and_then(|socket| Ok(Met::Connected(Tcp(socket))))
    }
}

impl Unblock for Tcp {
    fn unblock(&self) -> io::Result<()> {
        self.0.set_nonblocking(true)
    }
}

/// Many associations: netperf opens one socket for each, and netserver has all of them on one
/// socket.
#[derive(Clone, Debug)]
pub struct SctpMany {
    plan: SocketPlan,
    associations: u32,
    exchange: bool,
}

impl SctpMany {
    /// Creates the transport. Further sockets get the options of the first.
    #[must_use]
    pub fn new(asked: Asked<'_>) -> Self {
        Self {
            plan: asked.socket.clone(),
            associations: asked.associations.max(1),
            exchange: asked.exchange,
        }
    }

    /// Opens another socket like the first, on the same local host address.
    fn another(&self, first: &Socket) -> io::Result<Socket> {
        let local = first.local_addr()?.as_socket();
        let v6 = local.is_some_and(|local| local.is_ipv6());
        let family = if v6 { Family::V6 } else { Family::V4 };
        let socket = socket::open_again(TransportId::SctpMany, family, &self.plan)?;
        if let Some(mut local) = local.filter(|local| !local.ip().is_unspecified()) {
            local.set_port(0);
            socket::bind(&socket, local)?;
        }
        Ok(socket)
    }
}

impl Addresses for SctpMany {
    type Asking = SctpRequester;
    type Answering = SctpResponder;

    fn asking(&self, socket: Socket, to: SockAddr) -> io::Result<SctpRequester> {
        let mut others = Vec::new();
        for _ in 1..self.associations {
            others.push(self.another(&socket)?);
        }
        SctpRequester::connect(std::iter::once(socket).chain(others), &to)
    }

    fn answering(&self, socket: Socket) -> io::Result<SctpResponder> {
        sctp::notify_of_changes(socket.as_fd())?;
        // Delivers messages of other associations while a long message arrives in parts.
        // Otherwise they would fill the shared receive buffer and leave no space for the rest of
        // the long message.
        sockopt::set(socket.as_fd(), IntOption::SctpFragmentInterleave, 1)?;
        Ok(SctpResponder::new(socket, self.associations, self.exchange))
    }
}
