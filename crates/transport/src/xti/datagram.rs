//! Datagrams by XTI: `t_sndudata` and `t_rcvudata`.

use std::io;
use std::os::fd::BorrowedFd;

use netperf_model::Sources;
use netperf_os::io::Source;
use netperf_os::{SockAddr, Socket};

use super::{Provider, Xti};
use crate::endpoint::{Endpoint, Received, Sent, datagram_sent, received};
use crate::meeting::{Addresses, OnSocket, Parted, Parts};
use crate::udp::{is_strange, mark_the_end};

/// UDP through XTI. XTI has no connected datagram endpoints.
#[derive(Clone, Copy, Debug, Default)]
pub struct XtiUdp;

/// A bound endpoint.
fn bound(socket: Socket) -> io::Result<Xti> {
    let mut endpoint = Xti::t_open(Provider::Udp, socket);
    endpoint.t_bind(None, 0)?;
    Ok(endpoint)
}

/// An endpoint that sends every datagram to one address.
#[derive(Debug)]
pub struct XtiUdpRequester {
    endpoint: Xti,
    to: SockAddr,
    /// Source of the last datagram; unused.
    source: Source,
}

/// An endpoint that answers the source of the last datagram.
#[derive(Debug)]
pub struct XtiUdpResponder {
    endpoint: Xti,
    source: Source,
    sources: Option<Sources>,
}

impl Addresses for XtiUdp {
    type Asking = XtiUdpRequester;
    type Answering = XtiUdpResponder;

    fn asking(&self, socket: Socket, to: SockAddr) -> io::Result<XtiUdpRequester> {
        Ok(XtiUdpRequester {
            endpoint: bound(socket)?,
            to,
            source: Source::unknown(),
        })
    }

    fn answering(&self, socket: Socket) -> io::Result<XtiUdpResponder> {
        Ok(XtiUdpResponder {
            endpoint: bound(socket)?,
            source: Source::unknown(),
            sources: None,
        })
    }
}

impl Endpoint for XtiUdpRequester {
    const KEEPS_BOUNDARIES: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        let sent = self.endpoint.t_sndudata(&self.to, buf);
        datagram_sent(sent.map_err(io::Error::from))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let got = self.endpoint.t_rcvudata(buf, &mut self.source);
        received(got.map_err(io::Error::from))
    }
}

impl Endpoint for XtiUdpResponder {
    const KEEPS_BOUNDARIES: bool = true;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        let sent = self.endpoint.t_sndudata_back(&self.source, buf);
        datagram_sent(sent.map_err(io::Error::from))
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let got = self.endpoint.t_rcvudata(buf, &mut self.source);
        let got = received(got.map_err(io::Error::from))?;
        match &self.sources {
            Some(sources) if is_strange(&self.source, sources) => {
                self.source = Source::unknown();
                Ok(Received::Interrupted)
            }
            Some(_) | None => Ok(got),
        }
    }
}

impl OnSocket for XtiUdpRequester {
    fn fd(&self) -> BorrowedFd<'_> {
        self.endpoint.fd()
    }

    fn into_socket(self) -> Socket {
        self.endpoint.socket
    }
}

impl OnSocket for XtiUdpResponder {
    fn fd(&self) -> BorrowedFd<'_> {
        self.endpoint.fd()
    }

    fn into_socket(self) -> Socket {
        self.endpoint.socket
    }
}

impl Parts for XtiUdpRequester {
    fn part(mut self) -> Parted {
        // An error here and below means that the peer is gone and needs no mark.
        mark_the_end(move || drop(self.send(&[])))
    }
}

impl Parts for XtiUdpResponder {
    fn take_only_from(&mut self, sources: &Sources) {
        self.sources = (!sources.is_anybody()).then(|| sources.clone());
    }

    fn part(mut self) -> Parted {
        mark_the_end(move || {
            if self.source.is_known() {
                drop(self.send(&[]));
            }
        })
    }
}
