//! Connections by XTI: `t_connect` at netperf, `t_listen` and `t_accept` at netserver.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_os::{SockAddr, Socket};

use super::{Indication, Provider, State, Xti, XtiError, XtiResult};
use crate::endpoint::{Endpoint, Received, Sent, received, stream_sent};
use crate::meeting::{AcceptFilter, Connects, GiveUp, Met, OnSocket};

/// Time-out of `t_rcvconnect` before `give_up` is called.
const LOOK_AROUND: Duration = Duration::from_millis(100);

/// TCP through XTI.
#[derive(Clone, Copy, Debug, Default)]
pub struct XtiTcp;

/// A connection moved by `t_snd` and `t_rcv`.
#[derive(Debug)]
pub struct XtiConnection(pub(super) Xti);

impl XtiConnection {
    /// Interprets a failed call and reads the reason of a disconnection.
    #[cold]
    fn reason(&mut self, error: XtiError) -> io::Error {
        reason(&mut self.0, error)
    }

    /// Interprets a receive without data.
    #[cold]
    fn without_data(&mut self, error: XtiError) -> io::Result<Received> {
        if let XtiError::Look(Indication::OrdRel) = error {
            self.0.t_rcvrel()?;
            return Ok(Received::End);
        }
        // A call after the end.
        if let XtiError::OutState(_, State::InRel | State::Idle) = error {
            return Ok(Received::End);
        }
        received(Err(self.reason(error)))
    }
}

fn reason(endpoint: &mut Xti, error: XtiError) -> io::Error {
    let gone = matches!(error, XtiError::Look(Indication::Disconnect));
    let reason = gone.then(|| endpoint.t_rcvdis().ok()).flatten();
    reason.unwrap_or_else(|| error.into())
}

fn interrupted<T>(outcome: &XtiResult<T>) -> bool {
    matches!(outcome, Err(XtiError::SysErr(error)) if error.kind() == io::ErrorKind::Interrupted)
}

/// The send time-out of the socket ended a `t_connect`, which goes on.
fn goes_on<T>(outcome: &XtiResult<T>) -> bool {
    matches!(outcome, Err(XtiError::SysErr(error)) if netperf_os::io::goes_on(error))
}

/// `t_connect`, and `t_rcvconnect` after every signal and after the send time-out; `false` if
/// `give_up` returned true.
fn connect(endpoint: &mut Xti, to: &SockAddr, give_up: GiveUp<'_>) -> XtiResult<bool> {
    let first = endpoint.t_connect(to);
    if !interrupted(&first) && !goes_on(&first) {
        return first.map(|()| true);
    }
    loop {
        if give_up() {
            return Ok(false);
        }
        match endpoint.t_rcvconnect(LOOK_AROUND) {
            Err(XtiError::NoData) => {}
            other => return other.map(|()| true),
        }
    }
}

impl Connects for XtiTcp {
    type Endpoint = XtiConnection;

    fn connect(
        &self,
        socket: Socket,
        to: &SockAddr,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<XtiConnection>> {
        let mut endpoint = Xti::t_open(Provider::Tcp, socket);
        endpoint.t_bind(None, 0)?;
        match connect(&mut endpoint, to, give_up) {
            Ok(true) => Ok(Met::Connected(XtiConnection(endpoint))),
            Ok(false) => Ok(Met::GivenUp),
            Err(error) => Err(reason(&mut endpoint, error)),
        }
    }

    fn accept(
        &self,
        gate: AcceptFilter<'_>,
        give_up: GiveUp<'_>,
    ) -> io::Result<Met<XtiConnection>> {
        let mut listening = Xti::t_open(Provider::Tcp, gate.listener);
        listening.t_bind(None, 0)?;
        loop {
            let indicated = listening.t_listen();
            if interrupted(&indicated) {
                if give_up() {
                    return Ok(Met::GivenUp);
                }
                continue;
            }
            let responding = listening.t_accept(indicated?)?;
            let stranger = responding
                .socket
                .peer_addr()
                .is_ok_and(|from| !gate.admits(&from));
            if !stranger {
                return Ok(Met::Connected(XtiConnection(responding)));
            }
            if give_up() {
                return Ok(Met::GivenUp);
            }
        }
    }
}

impl Endpoint for XtiConnection {
    const KEEPS_BOUNDARIES: bool = false;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        match self.0.t_snd(buf) {
            Ok(count) => Ok(Sent::Bytes(count)),
            Err(error) => stream_sent(Err(self.reason(error))),
        }
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        match self.0.t_rcv(buf) {
            Ok(count) => Ok(Received::Bytes(count)),
            Err(error) => self.without_data(error),
        }
    }
}

impl OnSocket for XtiConnection {
    fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd()
    }

    fn into_socket(self) -> Socket {
        self.0.socket
    }
}
