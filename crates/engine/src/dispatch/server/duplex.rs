//! Bulk data both ways at once over one connection or socket.

use std::os::fd::AsFd;

use netperf_model::Limit as LimitPlan;
use netperf_os::Socket;
use netperf_os::wait::{Interest, ready};
use netperf_transport::Endpoint;
use netperf_transport::duplex::{DatagramHalf, StreamHalf};
use netperf_transport::meeting::{Connects, OnSocket};

use super::{Going, peer};
use crate::dispatch::client::{blamed, wake_up};
use crate::dispatch::needed;
use crate::duplex::{self, BothEnded, Inward, LOOK, Patience};
use crate::error::{EngineError, Operation};
use crate::limit::Limit;
use crate::server::{PAD, PATIENCE, Served, Work};
use crate::stop::{Ended, Phase, Stop};
use crate::workload;

impl Going<'_, '_> {
    /// Over one connection. It is closed when both directions are over, and that tells
    /// netperf that all has been read.
    pub(super) fn both_ways<C: Connects>(
        mut self,
        how: &C,
        listener: Socket,
    ) -> Result<Served, EngineError> {
        let endpoint = match self.accepted(how, listener)? {
            Ok(endpoint) => endpoint,
            Err(ended) => return Ok(Served::without_facts(ended)),
        };
        self.begin(&endpoint)?;
        let data = endpoint.into_socket();
        wake_up(&data)?;
        let halves = (StreamHalf(data.as_fd()), StreamHalf(data.as_fd()));
        let ended = self.both(halves, |_| {})?;
        Ok(self.served(ended.receiving, &data))
    }

    /// Over one socket, once the first datagram has come: netperf is there then.
    pub(super) fn both_ways_in_datagrams(mut self, data: &Socket) -> Result<Served, EngineError> {
        let to = peer(&self.work.job)?;
        if let Some(ended) = self.wait_for_first(data)? {
            return Ok(Served::without_facts(ended));
        }
        self.begin_on(data.as_fd())?;
        wake_up(data)?;
        let sources = self.work.job.sources.clone();
        let half = DatagramHalf {
            socket: data.as_fd(),
            to: &to,
            sources: (!sources.is_anybody()).then_some(&sources),
        };
        let ended = self.both((half, half), |half| half.mark_the_end())?;
        Ok(Served::without_facts(ended.receiving))
    }

    /// Waits until something has come, and leaves it there; how it ended where nothing came.
    fn wait_for_first(&mut self, data: &Socket) -> Result<Option<Ended>, EngineError> {
        let failed = Operation::Receive.failed();
        let looked = loop {
            match ready(data.as_fd(), Interest::Read, LOOK) {
                Ok(true) => break Ok(None),
                Ok(false) => {}
                Err(error) => break Err(error),
            }
            if let Some(ended) = self.stop.interrupted(self.tally) {
                break Ok(Some(ended));
            }
            if self.stop.phase() == Phase::Abandon {
                break Ok(Some(Ended::Abandoned));
            }
        };
        looked.map_err(failed)
    }

    fn both<H: Endpoint + Send>(
        &mut self,
        (mut outward, inward): (H, H),
        tell: impl FnOnce(&H),
    ) -> Result<BothEnded, EngineError> {
        let Work {
            job, rings, setup, ..
        } = &mut *self.work;
        let timed = matches!(job.limit, LimitPlan::Time(_));
        let inward = Inward {
            endpoint: inward,
            ring: needed(&mut rings.recv)?,
            plan: &job.end,
            setup,
            patience: Patience {
                untimed: (!timed).then_some(PATIENCE),
                silence: PAD,
                at_most: PAD,
                impatience: PAD,
            },
            // netperf's end ends what has no other end: not an amount.
            ends_both: timed || job.limit == LimitPlan::UntilStopped,
            amount: Limit::NONE,
        };
        let run = workload::Run {
            limit: self.limit,
            stop: &mut *self.stop,
            tally: &mut *self.tally,
            recorder: &mut *self.recorder,
            hooks: &mut *self.hooks,
        };
        let outward = (&mut outward, needed(&mut rings.send)?);
        let ended = duplex::both(outward, inward, run, tell).map_err(blamed)?;
        self.work.quality = ended.quality;
        Ok(ended)
    }
}
