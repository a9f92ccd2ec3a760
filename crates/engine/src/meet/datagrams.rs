//! The loops over sockets that send to an address.

use std::io;
use std::time::Duration;

use netperf_model::Ending;
use netperf_transport::meeting::{Parted, Parts};
use netperf_transport::{Endpoint, Received, Sent};

use super::{OneFlow, blame, loops, needed};
use crate::due::hooks::Hooks;
use crate::error::EngineError;
use crate::moved::Moved;
use crate::program::Program;
use crate::stop::Ended;

impl<P: Program> OneFlow<'_, '_, P> {
    /// The loop that the job asks for, over an endpoint that sends to an address.
    pub(super) fn addressed<E: Parts>(mut self, mut endpoint: E) -> Result<Moved, EngineError> {
        let job = &self.work.job;
        if job.is_request_response() {
            let ended = self.request_response(&mut endpoint)?;
            Ok(self.parted(endpoint, ended))
        } else if job.sends {
            self.send_messages(endpoint)
        } else {
            self.receive_messages(endpoint)
        }
    }

    pub(super) fn send_messages<E: Parts>(mut self, mut endpoint: E) -> Result<Moved, EngineError> {
        let (rings, run) = self.parts();
        let ended = loops::send(&mut endpoint, needed(&mut rings.send)?, run);
        self.hooks.over();
        let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        let ended = match ended {
            Err(error) if !self.is_netperf() && refused(&error) => Ended::ByPeer,
            other => other.map_err(blame(&self.work.job))?,
        };
        Ok(self.parted(endpoint, ended))
    }

    /// Messages may be lost, so an end counts for itself what it receives.
    pub(super) fn receive_messages<E: Parts>(
        mut self,
        mut endpoint: E,
    ) -> Result<Moved, EngineError> {
        let (rings, run) = self.parts();
        let ended = loops::receive(&mut endpoint, needed(&mut rings.recv)?, run);
        let ended = ended.map_err(blame(&self.work.job))?;
        Ok(self.parted(endpoint, ended))
    }

    /// netserver's end where it receives.
    pub(super) fn answers<E: Parts>(mut self, answering: E) -> Result<Moved, EngineError> {
        let length = match self.work.job.ending {
            Ending::Omni => None,
            Ending::OddDatagram(length) => usize::try_from(length).ok(),
            Ending::Silence(length) => length.and_then(|length| usize::try_from(length).ok()),
        };
        let mut endpoint = UntilOdd {
            inner: answering,
            length,
        };
        let ended = if self.work.job.is_request_response() {
            self.request_response(&mut endpoint)?
        } else {
            let (rings, run) = self.parts();
            let ended = loops::receive(&mut endpoint, needed(&mut rings.recv)?, run);
            ended.map_err(blame(&self.work.job))?
        };
        Ok(self.parted(endpoint.inner, ended))
    }

    /// Ends a socket without a connection.
    pub(super) fn parted<E: Parts>(self, mut endpoint: E, ended: Ended) -> Moved {
        let job = &self.work.job;
        let (netperf, only_sends) = (P::is_netperf(job), job.only_sends());
        let tells = if netperf {
            // netserver, which alone sends, may not have received the end.
            job.sends || (job.stops_sender && ended != Ended::ByPeer)
        } else {
            // netperf's end marks never came, so it may wait for one.
            only_sends || ended == Ended::Abandoned
        };
        if netperf {
            self.stop.over(ended);
        } else {
            self.stop.listen(None);
        }
        endpoint.reclaim();
        self.tally.failed_sends += endpoint.take_dropped();
        self.work.counts = endpoint.counts().or(self.work.counts);
        self.work.stamps = endpoint.stamps();
        let idle = if only_sends {
            Duration::ZERO
        } else {
            endpoint.waited_in_vain()
        };
        let facts = endpoint.facts().filter(|_| netperf || only_sends);
        let mut moved = Moved::nothing(ended);
        moved.seen.overflowed = endpoint.overflowed();
        moved.seen.segment_size = facts.as_ref().and_then(|facts| facts.segment_size);
        moved.end_mark = tells.then(|| endpoint.part()).and_then(Parted::mark);
        Moved {
            facts,
            idle,
            ..moved
        }
    }
}

/// Ends at the first datagram of another length, where the request asks for that.
struct UntilOdd<E> {
    inner: E,
    length: Option<usize>,
}

impl<E: Endpoint> Endpoint for UntilOdd<E> {
    const KEEPS_BOUNDARIES: bool = E::KEEPS_BOUNDARIES;
    const OWN_LOOPS: bool = E::OWN_LOOPS;

    #[inline]
    fn send(&mut self, buf: &[u8]) -> io::Result<Sent> {
        self.inner.send(buf)
    }

    #[inline]
    fn take_dropped(&mut self) -> u64 {
        self.inner.take_dropped()
    }

    #[inline]
    fn recv(&mut self, buf: &mut [u8]) -> io::Result<Received> {
        let got = self.inner.recv(buf)?;
        let odd = self
            .length
            .is_some_and(|length| got != Received::Bytes(length));
        let is_odd_datagram = odd && matches!(got, Received::Bytes(_));
        Ok(if is_odd_datagram { Received::End } else { got })
    }
}
