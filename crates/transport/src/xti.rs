//! XTI, the X/Open Transport Interface, over sockets (XNS 5.2, The Open Group).
//!
//! Linux has no XTI, so this module implements its calls, states, indications and errors on
//! sockets. An endpoint is a socket and a state; each call checks the state and makes one
//! system call. `/dev/tcp` is the connection-oriented provider with orderly release
//! (`T_COTS_ORD`), `/dev/udp` the connectionless one (`T_CLTS`). Results name the protocol `XTI
//! over sockets` to distinguish it from a kernel's own XTI.

mod connection;
mod datagram;
mod error;
mod state;

#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netperf_model::TransportId;
use netperf_os::io::{self as calls, Source};
use netperf_os::wait::{Interest, ready};
use netperf_os::{SockAddr, Socket, without};

pub use connection::{XtiConnection, XtiTcp};
pub use datagram::{XtiUdp, XtiUdpRequester, XtiUdpResponder};
pub use error::{Indication, XtiError};
use state::States;
pub use state::{Call, Event, State, TABLE, next};

/// Transport provider, selected by device name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// `/dev/tcp`: connections with orderly release.
    Tcp,
    /// `/dev/udp`: datagrams.
    Udp,
}

impl Provider {
    /// The provider with this device name, with or without its directory.
    ///
    /// # Errors
    /// `TBADNAME` for every other name.
    pub fn named(device: &str) -> Result<Self, XtiError> {
        match device.strip_prefix("/dev/").unwrap_or(device) {
            "tcp" => Ok(Self::Tcp),
            "udp" => Ok(Self::Udp),
            _ => Err(XtiError::BadName(device.to_owned())),
        }
    }
}

/// Checks that the requested device, if any, is the provider of this transport.
///
/// # Errors
/// `TBADNAME` as `InvalidInput` when it is another provider or unknown.
pub fn check(transport: TransportId, device: Option<&str>) -> io::Result<()> {
    let Some(device) = device else {
        return Ok(());
    };
    let wanted = if transport == TransportId::XtiTcp {
        Provider::Tcp
    } else if transport == TransportId::XtiUdp {
        Provider::Udp
    } else {
        // Transports outside XTI use devices of another kind.
        return Ok(());
    };
    if Provider::named(device)? == wanted {
        Ok(())
    } else {
        Err(XtiError::BadName(device.to_owned()).into())
    }
}

/// Result of an XTI call.
type XtiResult<T> = Result<T, XtiError>;

/// An incoming connection request.
#[derive(Debug)]
pub struct Indicated {
    socket: Socket,
    peer: SockAddr,
}

impl Indicated {
    /// Address of the requester.
    #[must_use]
    pub const fn peer(&self) -> &SockAddr {
        &self.peer
    }
}

/// An XTI endpoint.
#[derive(Debug)]
pub struct Xti<S = Socket> {
    socket: S,
    provider: Provider,
    state: State,
    /// Connection requests received by `t_listen` and not yet accepted (`ocnt`).
    indicated: u32,
    /// Reason of a disconnection, until `t_rcvdis` reads it.
    gone: Option<io::Error>,
}

impl<S: Borrow<Socket>> Xti<S> {
    /// `t_open`: creates an endpoint for a configured socket.
    pub const fn t_open(provider: Provider, socket: S) -> Self {
        Self {
            socket,
            provider,
            state: State::Unbound,
            indicated: 0,
            gone: None,
        }
    }

    fn socket(&self) -> &Socket {
        self.socket.borrow()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }

    /// Checks that a call is permitted in the current state.
    fn check(&self, call: Call) -> XtiResult<()> {
        if call.allowed().have(self.state) && self.provides(call) {
            Ok(())
        } else {
            Err(self.refusal(call))
        }
    }

    /// Error for a call that is not permitted.
    #[cold]
    fn refusal(&self, call: Call) -> XtiError {
        if self.state == State::Uninit {
            XtiError::BadF(call)
        } else if self.provides(call) {
            XtiError::OutState(call, self.state)
        } else {
            XtiError::NotSupport(call)
        }
    }

    /// Returns true if the provider supports the call.
    const fn provides(&self, call: Call) -> bool {
        match call {
            Call::Open | Call::Bind | Call::Unbind | Call::Close | Call::Look | Call::GetState => {
                true
            }
            Call::SndUData | Call::RcvUData => matches!(self.provider, Provider::Udp),
            Call::Connect
            | Call::RcvConnect
            | Call::Listen
            | Call::Accept
            | Call::Snd
            | Call::Rcv
            | Call::SndRel
            | Call::RcvRel
            | Call::RcvDis => matches!(self.provider, Provider::Tcp),
        }
    }

    /// Applies an event. The preceding check guarantees that the table has it for this state.
    fn happened(&mut self, event: Event) {
        self.state = next(self.state, event).unwrap_or(self.state);
    }

    /// `t_getstate`.
    ///
    /// # Errors
    /// `TBADF` when the endpoint is closed.
    pub fn t_getstate(&self) -> XtiResult<State> {
        self.check(Call::GetState)?;
        Ok(self.state)
    }

    /// `t_bind`: binds to an address, or keeps the socket's or the provider's choice. `queue`
    /// is the backlog of connection requests, 0 for an endpoint that connects or already
    /// listens.
    ///
    /// # Errors
    /// `TOUTSTATE`, `TADDRBUSY`, `TSYSERR`.
    pub fn t_bind(&mut self, address: Option<&SockAddr>, queue: i32) -> XtiResult<()> {
        self.check(Call::Bind)?;
        if let Some(address) = address {
            self.socket().bind(address).map_err(|error| {
                if error.kind() == io::ErrorKind::AddrInUse {
                    XtiError::AddrBusy
                } else {
                    error.into()
                }
            })?;
        }
        if queue > 0 && self.provider == Provider::Tcp {
            self.socket().listen(queue)?;
        }
        self.happened(Event::Bound);
        Ok(())
    }

    /// `t_unbind`. The socket keeps its address until it is closed, because sockets cannot be
    /// unbound.
    ///
    /// # Errors
    /// `TOUTSTATE`.
    pub fn t_unbind(&mut self) -> XtiResult<()> {
        self.check(Call::Unbind)?;
        self.happened(Event::Unbound);
        Ok(())
    }

    /// `t_close`: makes the endpoint unusable. Dropping the owner closes the socket.
    ///
    /// # Errors
    /// `TBADF` when the endpoint is already closed.
    pub fn t_close(&mut self) -> XtiResult<()> {
        self.check(Call::Close)?;
        self.happened(Event::Closed);
        Ok(())
    }

    /// `t_look`: the pending event, if any.
    ///
    /// # Errors
    /// `TBADF`, `TSYSERR`.
    pub fn t_look(&mut self) -> XtiResult<Option<Indication>> {
        self.check(Call::Look)?;
        if self.gone.is_some() {
            return Ok(Some(Indication::Disconnect));
        }
        let there = |interest| ready(self.fd(), interest, Duration::ZERO);
        match self.state {
            State::Uninit | State::Unbound | State::InRel => Ok(None),
            State::Idle | State::InCon => {
                let indication = match self.provider {
                    Provider::Tcp => Indication::Listen,
                    Provider::Udp => Indication::Data,
                };
                let may = self.provider == Provider::Udp || self.socket().is_listener()?;
                Ok((may && there(Interest::Read)?).then_some(indication))
            }
            State::OutCon if !there(Interest::Write)? => Ok(None),
            State::OutCon => {
                self.gone = without::connect_error(self.socket());
                let refused = self.gone.is_some();
                Ok(Some(if refused {
                    Indication::Disconnect
                } else {
                    Indication::Connect
                }))
            }
            State::DataXfer | State::OutRel => self.look_at_data(),
        }
    }

    fn look_at_data(&mut self) -> XtiResult<Option<Indication>> {
        match calls::peek(self.fd()) {
            Ok(0) => Ok(Some(Indication::OrdRel)),
            Ok(_) => Ok(Some(Indication::Data)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => {
                let failure = self.failed(error);
                if self.gone.is_some() {
                    Ok(Some(Indication::Disconnect))
                } else {
                    Err(failure)
                }
            }
        }
    }

    /// `t_connect`.
    ///
    /// # Errors
    /// `TLOOK` when the connection failed, with the reason from [`Self::t_rcvdis`]; `TSYSERR`
    /// with `EINTR` when a signal interrupts, and with `EINPROGRESS` after the send time-out:
    /// [`Self::t_rcvconnect`] then waits for the connection. `TOUTSTATE`, `TNOTSUPPORT`.
    pub fn t_connect(&mut self, to: &SockAddr) -> XtiResult<()> {
        self.check(Call::Connect)?;
        match self.socket().connect(to) {
            Ok(()) => {
                self.happened(Event::Connect1);
                Ok(())
            }
            Err(error) => {
                self.happened(Event::Connect2);
                if error.kind() == io::ErrorKind::Interrupted || calls::goes_on(&error) {
                    return Err(error.into());
                }
                self.gone = Some(error);
                Err(XtiError::Look(Indication::Disconnect))
            }
        }
    }

    /// `t_rcvconnect` with a time-out.
    ///
    /// # Errors
    /// `TNODATA` after the time-out or a signal, `TLOOK` when the connection failed,
    /// `TOUTSTATE`, `TNOTSUPPORT`.
    pub fn t_rcvconnect(&mut self, within: Duration) -> XtiResult<()> {
        self.check(Call::RcvConnect)?;
        if self.gone.is_none() {
            if !ready(self.fd(), Interest::Write, within)? {
                return Err(XtiError::NoData);
            }
            self.gone = without::connect_error(self.socket());
        }
        if self.gone.is_some() {
            return Err(XtiError::Look(Indication::Disconnect));
        }
        self.happened(Event::RcvConnect);
        Ok(())
    }

    /// `t_listen`: waits for a connection request.
    ///
    /// # Errors
    /// `TSYSERR` with the error of accept(2), `TOUTSTATE`, `TNOTSUPPORT`.
    pub fn t_listen(&mut self) -> XtiResult<Indicated> {
        self.check(Call::Listen)?;
        let (socket, peer) = self.socket().accept()?;
        self.indicated += 1;
        self.happened(Event::Listen);
        Ok(Indicated { socket, peer })
    }

    /// `t_accept`: accepts a request and returns a new endpoint.
    ///
    /// # Errors
    /// `TOUTSTATE`, `TNOTSUPPORT`.
    pub fn t_accept(&mut self, indicated: Indicated) -> XtiResult<Xti> {
        self.check(Call::Accept)?;
        let mut responding = Xti::t_open(self.provider, indicated.socket);
        responding.happened(Event::PassCon);
        self.indicated -= 1;
        self.happened(if self.indicated == 0 {
            Event::Accept2
        } else {
            Event::Accept3
        });
        Ok(responding)
    }

    /// `t_snd`.
    ///
    /// # Errors
    /// `TBADDATA` for 0 bytes, `TLOOK` when the connection is gone, `TSYSERR`, `TOUTSTATE`,
    /// `TNOTSUPPORT`.
    #[inline]
    pub fn t_snd(&mut self, buf: &[u8]) -> XtiResult<usize> {
        const IN: States = Call::Snd.allowed();
        if !IN.have(self.state) {
            return Err(self.refusal(Call::Snd));
        }
        if buf.is_empty() {
            return Err(XtiError::BadData);
        }
        calls::send(self.fd(), buf).map_err(|error| self.failed(error))
    }

    /// `t_rcv`.
    ///
    /// # Errors
    /// `TLOOK` when the peer has released its direction or the connection is gone,
    /// `TSYSERR`, `TOUTSTATE`, `TNOTSUPPORT`.
    #[inline]
    pub fn t_rcv(&mut self, buf: &mut [u8]) -> XtiResult<usize> {
        const IN: States = Call::Rcv.allowed();
        if !IN.have(self.state) {
            return Err(self.refusal(Call::Rcv));
        }
        match calls::recv(self.fd(), buf) {
            Ok(0) => Err(XtiError::Look(Indication::OrdRel)),
            Ok(count) => Ok(count),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Distinguishes a lost connection from a failed call.
    #[cold]
    fn failed(&mut self, error: io::Error) -> XtiError {
        let kind = error.kind();
        let gone = kind == io::ErrorKind::ConnectionReset
            || kind == io::ErrorKind::ConnectionAborted
            || kind == io::ErrorKind::BrokenPipe;
        if !gone {
            return error.into();
        }
        self.gone = Some(error);
        XtiError::Look(Indication::Disconnect)
    }

    /// `t_sndrel`: releases our direction.
    ///
    /// # Errors
    /// `TLOOK` when the connection is gone, `TSYSERR`, `TOUTSTATE`, `TNOTSUPPORT`.
    pub fn t_sndrel(&mut self) -> XtiResult<()> {
        self.check(Call::SndRel)?;
        calls::half_close(self.fd())?;
        self.happened(Event::SndRel);
        Ok(())
    }

    /// `t_rcvrel`: acknowledges that the peer has released its direction.
    ///
    /// # Errors
    /// `TNOREL` when it has not, or unread data remains; `TOUTSTATE`, `TNOTSUPPORT`.
    pub fn t_rcvrel(&mut self) -> XtiResult<()> {
        self.check(Call::RcvRel)?;
        if self.look_at_data()? != Some(Indication::OrdRel) {
            return Err(XtiError::NoRel);
        }
        self.happened(Event::RcvRel);
        Ok(())
    }

    /// `t_rcvdis`: acknowledges a disconnection and returns the reason.
    ///
    /// # Errors
    /// `TNODIS` when none is pending, `TOUTSTATE`, `TNOTSUPPORT`.
    pub fn t_rcvdis(&mut self) -> XtiResult<io::Error> {
        self.check(Call::RcvDis)?;
        let reason = self.gone.take().ok_or(XtiError::NoDis)?;
        self.happened(Event::RcvDis);
        Ok(reason)
    }

    /// Checks that datagrams may be sent and received.
    #[inline]
    fn exchanges_datagrams(&self) -> bool {
        self.state == State::Idle && self.provider == Provider::Udp
    }

    /// `t_sndudata`. A datagram may be empty (`T_SENDZERO`).
    ///
    /// # Errors
    /// `TSYSERR`, `TOUTSTATE`, `TNOTSUPPORT`.
    #[inline]
    pub fn t_sndudata(&mut self, to: &SockAddr, buf: &[u8]) -> XtiResult<usize> {
        if !self.exchanges_datagrams() {
            return Err(self.refusal(Call::SndUData));
        }
        Ok(calls::send_to(self.fd(), buf, to)?)
    }

    /// `t_sndudata` to the source of a datagram.
    ///
    /// # Errors
    /// As [`Self::t_sndudata`].
    #[inline]
    pub fn t_sndudata_back(&mut self, to: &Source, buf: &[u8]) -> XtiResult<usize> {
        if !self.exchanges_datagrams() {
            return Err(self.refusal(Call::SndUData));
        }
        Ok(calls::send_back(self.fd(), buf, to)?)
    }

    /// `t_rcvudata`; stores the sender's address in `source`.
    ///
    /// # Errors
    /// `TSYSERR`, `TOUTSTATE`, `TNOTSUPPORT`.
    #[inline]
    pub fn t_rcvudata(&mut self, buf: &mut [u8], source: &mut Source) -> XtiResult<usize> {
        if !self.exchanges_datagrams() {
            return Err(self.refusal(Call::RcvUData));
        }
        Ok(calls::recv_from(self.fd(), buf, source)?)
    }
}
