//! Bulk data both ways at once.

use std::os::fd::AsFd;
use std::time::Duration;

use netperf_model::{Duplex, Quality};
use netperf_os::Socket;
use netperf_transport::Endpoint;
use netperf_transport::duplex::{DatagramHalf, StreamHalf};
use netperf_transport::meeting::{Addresses, Connects, OnSocket};
use netperf_transport::udp::{Aimed, Udp};

use super::{Going, LimitPlan};
use crate::client::{GRACE, Moved, PATIENCE, Work};
use crate::dispatch::needed;
use crate::duplex::{self, BothEnded, Failed, Inward, LOOK, Patience};
use crate::error::{EngineError, Operation};
use crate::finish::{AT_MOST, NO_PROGRESS};
use crate::limit::Limit;
use crate::stop::{Ended, Lost};
use crate::workload;

impl Going<'_, '_, '_> {
    /// Over one connection, or over two.
    pub(super) fn both_ways<C: Connects>(
        mut self,
        how: &C,
        data: Socket,
    ) -> Result<Moved, EngineError> {
        let beside = self.work.beside.take();
        let Some(endpoint) = self.connect(how, data)? else {
            return Ok(Moved::nothing(Ended::Abandoned));
        };
        let seen = self.connected(&endpoint)?;
        let inward = match beside {
            None => None,
            Some((socket, to)) => {
                let first = std::mem::replace(&mut self.to, to);
                let inward = self.connect(how, socket)?;
                self.to = first;
                match inward {
                    Some(inward) => Some(inward.into_socket()),
                    None => return Ok(Moved::nothing(Ended::Abandoned)),
                }
            }
        };
        let outward = endpoint.into_socket();
        let receives = inward.as_ref().unwrap_or(&outward);
        wake_up(receives)?;
        let halves = (StreamHalf(outward.as_fd()), StreamHalf(receives.as_fd()));
        let one = inward.is_none();
        let patience = self.patience(NO_PROGRESS, AT_MOST);
        let ended = self.both(halves, (patience, Limit::NONE), |half| {
            // A connection that is gone already needs no end.
            let _gone = netperf_os::io::half_close(half.0);
        })?;
        let receiving = lost(ended.receiving);
        let ended = if one { receiving } else { ended.sending };
        let mut moved = self.parted(outward, ended, C::PARTING, seen);
        if let (false, Ended::Lost(lost)) = (one, receiving) {
            moved.lost.get_or_insert(lost);
        }
        Ok(moved)
    }

    /// Over one socket, or over two.
    pub(super) fn both_ways_in_datagrams<E: Aimed>(
        mut self,
        how: &Udp<E>,
        data: Socket,
    ) -> Result<Moved, EngineError> {
        let inward = self.work.beside.take().map(|(socket, _)| socket);
        let to = self.to.clone();
        let endpoint = how.asking(data, to.clone());
        let endpoint = endpoint.map_err(Operation::Connect.failed())?;
        let (outward, _) = endpoint.into_parts();
        let receives = inward.as_ref().unwrap_or(&outward);
        wake_up(receives)?;
        let half = |socket| DatagramHalf {
            socket,
            to: &to,
            sources: None,
        };
        let halves = (half(outward.as_fd()), half(receives.as_fd()));
        // Its end may be lost, like anything else.
        let patience = self.patience(GRACE, GRACE);
        // A netserver of another make does not tell of it at all.
        let amount = match self.work.plan.limit {
            LimitPlan::Units(bytes) if inward.is_some() => Limit::exactly(bytes),
            LimitPlan::Units(_)
            | LimitPlan::Time(_)
            | LimitPlan::Messages(_)
            | LimitPlan::UntilStopped => Limit::NONE,
        };
        let ended = self.both(halves, (patience, amount), |half| half.mark_the_end())?;
        let endpoint = E::aim(outward, to.clone()).map_err(Operation::Connect.failed())?;
        Ok(self.parted_from(endpoint, ended.receiving))
    }

    fn patience(&self, silence: Duration, at_most: Duration) -> Patience {
        let timed = matches!(self.work.plan.limit, LimitPlan::Time(_));
        Patience {
            untimed: (!timed).then_some(PATIENCE),
            silence,
            at_most,
            impatience: if self.work.plan.flow.duplex == Some(Duplex::Same) {
                at_most
            } else {
                // netserver's other session goes on and must feel the end.
                GRACE
            },
        }
    }

    fn both<O: Endpoint, I: Endpoint + Send>(
        &mut self,
        (mut outward, inward): (O, I),
        (patience, amount): (Patience, Limit),
        tell: impl FnOnce(&O),
    ) -> Result<BothEnded, EngineError> {
        let Work {
            plan, rings, setup, ..
        } = &mut *self.work;
        let inward = Inward {
            endpoint: inward,
            ring: needed(&mut rings.recv)?,
            plan: &plan.local,
            setup,
            patience,
            ends_both: false,
            amount,
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

/// What both directions came to, where each datagram had a number.
pub(crate) fn of_both(own: Option<Quality>, got: Option<Quality>) -> Option<Quality> {
    match (own, got) {
        (Some(own), Some(got)) => Some(Quality {
            sent: own.sent,
            ..got
        }),
        (own, got) => own.or(got),
    }
}

/// A receive gives up its wait now and then.
pub(crate) fn wake_up(socket: &Socket) -> Result<(), EngineError> {
    let set = socket.set_read_timeout(Some(LOOK));
    set.map_err(Operation::Create.failed())
}

/// Whose fault it was.
pub(crate) fn blamed(failed: Failed) -> EngineError {
    match failed {
        Failed::Sending(error) => Operation::Send.failed()(error),
        Failed::Receiving(error) => Operation::Receive.failed()(error),
    }
}

/// A connection whose end never came.
fn lost(ended: Ended) -> Ended {
    if ended == Ended::Abandoned && !netperf_os::alarm::stopped_by_user() {
        return Ended::Lost(Lost::NotClosed);
    }
    ended
}
