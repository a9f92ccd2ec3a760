//! Bulk data both ways at once over one flow.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netperf_measure::clock;
use netperf_model::{Duplex, Limit as LimitPlan};
use netperf_os::io::{half_close, set_nonblocking};
use netperf_os::wait::{Interest, ready};
use netperf_os::{SockAddr, Socket, without};
use netperf_transport::meeting::{Addresses, Connects, OnSocket};
use netperf_transport::open::{self, OpenStep, Opened, PairVisitor, PathDirection};
use netperf_transport::udp::{Aimed, ToPeer, Udp};
use netperf_transport::{Endpoint, Sent};

use super::{OneFlow, Work, needed};
use crate::direction::{self, LOOK};
use crate::duplex::{self, BothEnded, Failed, Inward, Patience};
use crate::error::{EngineError, Operation};
use crate::finish::{self, AT_MOST, Drained};
use crate::limit::RunLimit;
use crate::moved::Moved;
use crate::path::PathClass;
use crate::program::Program;
use crate::stop::GRACE;
use crate::stop::{Ended, Phase, Stop};
use crate::timing::{self, PAD, patience};
use crate::workload;

impl<P: Program> OneFlow<'_, '_, P> {
    /// Over one connection, or over two at netperf. netserver closes it when both directions
    /// are over, and that tells netperf that all has been read.
    pub(super) fn both_ways<C: Connects>(
        mut self,
        how: &C,
        data: Socket,
    ) -> Result<Moved, EngineError> {
        let second = self.work.second.take();
        let (endpoint, seen) = match self.open(how, data)? {
            Ok(opened) => opened,
            Err(ended) => return Ok(Moved::nothing(ended)),
        };
        let inward = match second {
            None => None,
            Some((socket, to)) => match self.connect(how, socket, &to)? {
                Some(inward) => Some(inward.into_socket()),
                None => return Ok(Moved::nothing(Ended::Abandoned)),
            },
        };
        if let Some(inward) = &inward {
            self.stop.live().stops_on(inward.as_fd());
        }
        let outward = endpoint.into_socket();
        let receives = inward.as_ref().unwrap_or(&outward);
        wake_up(receives)?;
        let (one, netperf) = (inward.is_none(), self.is_netperf());
        let patience = self.patience(AT_MOST, AT_MOST);
        let cut_by = netperf.then(|| outward.as_fd());
        let limits = (patience, self.most_received(), cut_by);
        let tell = || {
            if netperf {
                // A connection that is gone already needs no end.
                let _gone = half_close(outward.as_fd());
            }
        };
        let directions = direction::both(&self.work.job, PathClass::Stream, &self.work.setup);
        let sockets = (own(&outward)?, own(receives)?);
        let ended = self.both::<false>(directions, sockets, None, limits, tell)?;
        wait_again(&outward);
        if !netperf {
            return Ok(self.close(outward, ended.receiving, C::PARTING, seen));
        }
        let receiving = ended.receiving;
        if let (Some(inward), Ended::Abandoned) = (&inward, receiving) {
            finish::reset(std::iter::once(inward.as_fd()));
        }
        let outcome = if one { receiving } else { ended.sending };
        let mut moved = self.close(outward, outcome, C::PARTING, seen);
        moved.idle = ended.over.map_or(Duration::ZERO, |over| over.elapsed());
        if let (false, Ended::Lost(lost)) = (one, receiving) {
            if !matches!(moved.drained, Drained::Lost(_)) {
                moved.drained = Drained::Lost(lost);
            }
        }
        Ok(moved)
    }

    /// Over one socket, or over two at netperf. netserver begins when the first datagram has
    /// come.
    pub(super) fn both_ways_in_datagrams<E: Aimed>(
        mut self,
        how: &Udp<E>,
        data: Socket,
    ) -> Result<Moved, EngineError> {
        let to = self.target()?;
        let netperf = self.is_netperf();
        let inward = match self.work.second.take() {
            Some((socket, back)) => {
                self.stop.live().aimed(socket.as_fd(), &back);
                Some(socket)
            }
            None => None,
        };
        let outward = if netperf {
            let endpoint = how.asking(data, to.clone());
            endpoint
                .map_err(Operation::Connect.failed())?
                .into_parts()
                .0
        } else {
            if let Some(ended) = self.wait_for_first(&data)? {
                return Ok(Moved::nothing(ended));
            }
            self.begin_on(data.as_fd())?;
            data
        };
        let receives = inward.as_ref().unwrap_or(&outward);
        wake_up(receives)?;
        // The end may be lost, like any datagram.
        let patience = self.patience(GRACE, GRACE);
        // A stock netserver does not send an end.
        let amount = match self.work.job.limit {
            LimitPlan::Units(bytes) if inward.is_some() => RunLimit::exactly(bytes),
            LimitPlan::Units(_)
            | LimitPlan::Time(_)
            | LimitPlan::Messages(_)
            | LimitPlan::UntilStopped => self.most_received(),
        };
        let limits = (patience, amount, None);
        let sockets = (own(&outward)?, own(receives)?);
        let mut marks = ToPeer {
            socket: own(&outward)?,
            to: to.clone(),
        };
        let tell = || {
            // An end mark must be able to wait for space in a full queue.
            wait_again(&outward);
            let until = clock::now().plus(GRACE);
            // A signal ends that wait. A peer that is gone needs no mark.
            let mut interrupted = || matches!(marks.send(&[]), Ok(Sent::Interrupted));
            while interrupted() && !until.left().is_zero() {}
        };
        let directions = direction::both(&self.work.job, PathClass::Datagrams, &self.work.setup);
        let ended = self.both::<true>(directions, sockets, Some(&to), limits, tell)?;
        if !netperf {
            return Ok(Moved::nothing(ended.receiving));
        }
        let endpoint = E::aim(outward, to.clone()).map_err(Operation::Connect.failed())?;
        Ok(self.parted(endpoint, ended.receiving))
    }

    /// WaitMode until something has come, and leaves it there; how it ended where nothing came.
    fn wait_for_first(&mut self, data: &Socket) -> Result<Option<Ended>, EngineError> {
        loop {
            match ready(data.as_fd(), Interest::Read, LOOK) {
                Ok(true) => return Ok(None),
                Ok(false) => {}
                Err(error) => return Err(Operation::Receive.failed()(error)),
            }
            if let Some(ended) = self.stop.interrupted(self.tally) {
                return Ok(Some(ended));
            }
            if self.stop.phase() == Phase::Abandon {
                return Ok(Some(Ended::Abandoned));
            }
        }
    }

    /// Amount that netperf receives at most: a netserver of another kind may never stop.
    fn most_received(&self) -> RunLimit {
        let counted = matches!(self.work.job.limit, LimitPlan::Units(_));
        if self.is_netperf() && counted {
            self.limit.exceeded()
        } else {
            RunLimit::NONE
        }
    }

    /// Time limits of the receiver; `silence` and `at_most` are netperf's.
    fn patience(&self, silence: Duration, at_most: Duration) -> Patience {
        let job = &self.work.job;
        let untimed = job.time().is_none().then(|| patience(job));
        if !P::is_netperf(job) {
            return Patience {
                untimed,
                silence: PAD,
                at_most: PAD,
                impatience: PAD,
            };
        }
        Patience {
            untimed,
            silence,
            at_most,
            impatience: if job.duplex == Some(Duplex::Same) || job.stops_sender {
                at_most
            } else {
                // netserver's other session goes on until the socket is closed.
                GRACE
            },
        }
    }

    /// Moves data both ways, each direction on its data path.
    fn both<const WHOLE: bool>(
        &mut self,
        directions: [PathDirection<'_>; 2],
        sockets: (Socket, Socket),
        to: Option<&SockAddr>,
        limits: Limits<'_>,
        tell: impl FnOnce(),
    ) -> Result<BothEnded, EngineError> {
        let method = directions[0].method();
        let loops = BothLoops {
            flow: self,
            limits,
            tell,
        };
        open::pair::<WHOLE, _>(directions, sockets, to, loops).map_err(|error| {
            match error.step {
                OpenStep::Socket => error.into(),
                OpenStep::Buffers
                | OpenStep::Ring
                | OpenStep::Send
                | OpenStep::Receive
                | OpenStep::Stamps(_) => direction::failed(method)(error),
            }
        })?
    }
}

/// The loops of both directions of a flow.
struct BothLoops<'f, 'a, 's, P, T> {
    flow: &'f mut OneFlow<'a, 's, P>,
    limits: Limits<'f>,
    tell: T,
}

impl<P: Program, T: FnOnce()> PairVisitor for BothLoops<'_, '_, '_, P, T> {
    type Out = Result<BothEnded, EngineError>;

    fn pair<O: Endpoint, I: Endpoint>(
        self,
        mut outward: O,
        inward: impl FnOnce() -> Opened<I> + Send,
    ) -> Self::Out {
        let Self { flow, limits, tell } = self;
        let (patience, amount, cut_by) = limits;
        let Work {
            job, rings, setup, ..
        } = &mut *flow.work;
        let inward = Inward {
            endpoint: move || inward().map_err(|error| error.error),
            ring: needed(&mut rings.recv)?,
            plan: &job.end,
            setup,
            patience,
            // At netserver netperf's end ends what has no other end: not an amount.
            ends_both: !P::is_netperf(job)
                && matches!(job.limit, LimitPlan::Time(_) | LimitPlan::UntilStopped),
            amount,
            cut_by,
            cuts_at_stop: timing::netperf_receives_datagrams(job),
            may_be_reset: !P::is_netperf(job),
        };
        let run = workload::LoopContext {
            limit: flow.limit,
            stop: &mut *flow.stop,
            tally: &mut *flow.tally,
            recorder: &mut *flow.recorder,
            hooks: &mut *flow.hooks,
        };
        let outward = (&mut outward, needed(&mut rings.send)?);
        let ended = duplex::both(outward, inward, run, tell).map_err(|failed| match failed {
            Failed::Sending(error) => Operation::Send.failed()(error),
            Failed::Receiving(error) => Operation::Receive.failed()(error),
        })?;
        flow.work.quality = ended.quality;
        flow.work.counts = ended.counts;
        Ok(ended)
    }
}

/// Patience and amount of the receiver, and the connection that ends its count.
type Limits<'a> = (Patience, RunLimit, Option<BorrowedFd<'a>>);

/// Has calls wait after a run whose calls may not. A socket that is gone needs none.
fn wait_again(socket: &Socket) {
    drop(set_nonblocking(socket.as_fd(), false));
}

/// Sets a receive time-out, so that a receive returns now and then.
fn wake_up(socket: &Socket) -> Result<(), EngineError> {
    let set = without::set_read_patience(socket.as_fd(), LOOK);
    set.map_err(Operation::Create.failed())
}

/// A descriptor of a direction's own.
fn own(socket: &Socket) -> Result<Socket, EngineError> {
    socket.try_clone().map_err(Operation::Create.failed())
}
