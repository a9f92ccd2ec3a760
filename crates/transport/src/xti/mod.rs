//! XTI, the X/Open Transport Interface, over sockets (XNS 5.2, The Open Group).
//!
//! Linux has no XTI, so its calls, states, indications and errors are made here of sockets:
//! an endpoint is a socket and a state. What stands between a call of the test and the system
//! call is one look at that state. `/dev/tcp` is the provider with connections and orderly
//! release (`T_COTS_ORD`), `/dev/udp` the one for datagrams (`T_CLTS`). A test that runs over
//! this is not one of a kernel's own XTI, and its protocol says so: `XTI over sockets`.

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
use netperf_os::{SockAddr, Socket};

pub use connection::{XtiConnection, XtiTcp};
pub use datagram::{XtiUdp, XtiUdpRequester, XtiUdpResponder};
pub use error::{Indication, XtiError};
use state::States;
pub use state::{Call, Event, State, TABLE, next};

/// What a provider does, by the device that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// `/dev/tcp`: connections with orderly release.
    Tcp,
    /// `/dev/udp`: datagrams.
    Udp,
}

impl Provider {
    /// The provider that a device's name stands for, with or without its folder.
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

/// Finds out whether a device, where one was asked for, is the provider of this transport.
///
/// # Errors
/// `TBADNAME` as `InvalidInput` when it is another's, or nobody's.
pub fn check(transport: TransportId, device: Option<&str>) -> io::Result<()> {
    let Some(device) = device else {
        return Ok(());
    };
    let wanted = if transport == TransportId::XtiTcp {
        Provider::Tcp
    } else if transport == TransportId::XtiUdp {
        Provider::Udp
    } else {
        // Others have devices of other kinds.
        return Ok(());
    };
    if Provider::named(device)? == wanted {
        Ok(())
    } else {
        Err(XtiError::BadName(device.to_owned()).into())
    }
}

/// A result of XTI.
type XtiResult<T> = Result<T, XtiError>;

/// Somebody who asks for a connection.
#[derive(Debug)]
pub struct Indicated {
    socket: Socket,
    peer: SockAddr,
}

impl Indicated {
    /// Who asks.
    #[must_use]
    pub const fn peer(&self) -> &SockAddr {
        &self.peer
    }
}

/// An endpoint.
#[derive(Debug)]
pub struct Xti<S = Socket> {
    socket: S,
    provider: Provider,
    state: State,
    /// Indications that were listened for and not accepted (`ocnt`).
    indicated: u32,
    /// Why there is no connection, until somebody asks.
    gone: Option<io::Error>,
}

impl<S: Borrow<Socket>> Xti<S> {
    /// `t_open`: an endpoint on a socket with its options set.
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

    /// Whether a call may be made now.
    fn check(&self, call: Call) -> XtiResult<()> {
        if call.allowed().have(self.state) && self.provides(call) {
            Ok(())
        } else {
            Err(self.refusal(call))
        }
    }

    /// Why a call may not be made now.
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

    /// Whether the provider does this at all.
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

    /// Something happened that the table has for this state: the call was checked.
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

    /// `t_bind`: to an address, or to whatever the socket has or its provider will choose;
    /// `queue` is how many may ask for a connection at the same time, 0 for an endpoint that
    /// asks itself or listens already.
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

    /// `t_unbind`. The socket keeps its address until it is closed; a socket knows no other
    /// way to give it back.
    ///
    /// # Errors
    /// `TOUTSTATE`.
    pub fn t_unbind(&mut self) -> XtiResult<()> {
        self.check(Call::Unbind)?;
        self.happened(Event::Unbound);
        Ok(())
    }

    /// `t_close`: nothing can be done with the endpoint any more. The socket is closed with
    /// its owner.
    ///
    /// # Errors
    /// `TBADF` when that was done before.
    pub fn t_close(&mut self) -> XtiResult<()> {
        self.check(Call::Close)?;
        self.happened(Event::Closed);
        Ok(())
    }

    /// `t_look`: what has happened that nobody has taken note of.
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
                self.gone = self.socket().take_error()?;
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
    /// `TLOOK` when there will be no connection, for the reason that [`Self::t_rcvdis`]
    /// tells; `TSYSERR` with `EINTR` when a signal came first: [`Self::t_rcvconnect`] then
    /// waits for the rest. `TOUTSTATE`, `TNOTSUPPORT`.
    pub fn t_connect(&mut self, to: &SockAddr) -> XtiResult<()> {
        self.check(Call::Connect)?;
        match self.socket().connect(to) {
            Ok(()) => {
                self.happened(Event::Connect1);
                Ok(())
            }
            Err(error) => {
                self.happened(Event::Connect2);
                if error.kind() == io::ErrorKind::Interrupted {
                    return Err(error.into());
                }
                self.gone = Some(error);
                Err(XtiError::Look(Indication::Disconnect))
            }
        }
    }

    /// `t_rcvconnect`, waiting for so long.
    ///
    /// # Errors
    /// `TNODATA` when the time is over or a signal came first, `TLOOK` when there will be no
    /// connection, `TOUTSTATE`, `TNOTSUPPORT`.
    pub fn t_rcvconnect(&mut self, within: Duration) -> XtiResult<()> {
        self.check(Call::RcvConnect)?;
        if self.gone.is_none() {
            if !ready(self.fd(), Interest::Write, within)? {
                return Err(XtiError::NoData);
            }
            self.gone = self.socket().take_error()?;
        }
        if self.gone.is_some() {
            return Err(XtiError::Look(Indication::Disconnect));
        }
        self.happened(Event::RcvConnect);
        Ok(())
    }

    /// `t_listen`: waits for somebody who asks for a connection.
    ///
    /// # Errors
    /// `TSYSERR` with what accept(2) reports, `TOUTSTATE`, `TNOTSUPPORT`.
    pub fn t_listen(&mut self) -> XtiResult<Indicated> {
        self.check(Call::Listen)?;
        let (socket, peer) = self.socket().accept()?;
        self.indicated += 1;
        self.happened(Event::Listen);
        Ok(Indicated { socket, peer })
    }

    /// `t_accept`: grants a connection, to an endpoint that is made for it.
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
    /// `TBADDATA` for nothing at all, `TLOOK` when the connection is gone, `TSYSERR`,
    /// `TOUTSTATE`, `TNOTSUPPORT`.
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

    /// Tells a connection that is gone from a call that failed.
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

    /// `t_rcvrel`: takes note that the peer has released its direction.
    ///
    /// # Errors
    /// `TNOREL` when it has not, or data is there that nobody has received; `TOUTSTATE`,
    /// `TNOTSUPPORT`.
    pub fn t_rcvrel(&mut self) -> XtiResult<()> {
        self.check(Call::RcvRel)?;
        if self.look_at_data()? != Some(Indication::OrdRel) {
            return Err(XtiError::NoRel);
        }
        self.happened(Event::RcvRel);
        Ok(())
    }

    /// `t_rcvdis`: takes note that there is no connection; the reason.
    ///
    /// # Errors
    /// `TNODIS` when nobody has said so, `TOUTSTATE`, `TNOTSUPPORT`.
    pub fn t_rcvdis(&mut self) -> XtiResult<io::Error> {
        self.check(Call::RcvDis)?;
        let reason = self.gone.take().ok_or(XtiError::NoDis)?;
        self.happened(Event::RcvDis);
        Ok(reason)
    }

    /// Whether datagrams may be sent and received.
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

    /// `t_sndudata` to where a datagram came from.
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

    /// `t_rcvudata`; where it came from goes to `source`.
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
