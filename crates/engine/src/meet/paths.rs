//! The loops over the endpoints of the data paths.

use std::os::fd::AsFd as _;

use netperf_os::Socket;
use netperf_transport::open::{
    self, DatagramVisitor, EndpointOptions, MakeDatagrams, MakeStream, StreamVisitor, WaitMode,
};
use netperf_transport::udp::{Aimed, Udp};

use super::OneFlow;
use crate::early::StopReceiver;
use crate::error::{EngineError, Operation};
use crate::moved::Moved;
use crate::path::DataPath;
use crate::program::Program;
use crate::stop::Ended;

impl<P: Program> OneFlow<'_, '_, P> {
    /// Options of the endpoint of the flow.
    fn opening(&self) -> EndpointOptions<'static> {
        EndpointOptions::of(&self.work.job, &self.work.setup, WaitMode::InCalls(None))
    }

    /// Runs the loop over a connected byte stream.
    pub(super) fn over_stream(
        &mut self,
        path: DataPath,
        data: Socket,
    ) -> Result<(Ended, Socket), EngineError> {
        if path == DataPath::OpenOnly {
            return Ok((Ended::Complete, data));
        }
        let file = self.work.file.take();
        let offset = u64::from(self.work.job.end.send.offset);
        let how = EndpointOptions {
            file: file.as_ref().map(|file| (file, offset)),
            ..self.opening()
        };
        open::stream(path, how, StreamLoops { flow: self, data })?
    }

    /// Runs the loop over datagrams, one by one or many in a call.
    pub(super) fn over_datagrams<E: Aimed>(
        self,
        path: DataPath,
        how: &Udp<E>,
        data: Socket,
    ) -> Result<Moved, EngineError> {
        let job = &self.work.job;
        let asks = P::is_netperf(job) || job.only_sends();
        if P::is_netperf(job) {
            let to = self.target()?;
            self.stop.live().aimed(data.as_fd(), &to);
        } else if asks && job.end.until {
            let receiver = StopReceiver::at(data.as_fd(), job.peer.as_ref());
            let receiver = receiver.map_err(Operation::Create.failed())?;
            self.stop.listen(Some(receiver));
        }
        let opening = self.opening();
        if asks {
            let from = self.asking(how, data)?;
            return open::aimed(path, opening, DatagramLoops { flow: self, from })?;
        }
        let end = (how, job.sources.clone());
        let (flow, from) = (self, data);
        open::answering(path, opening, end, DatagramLoops { flow, from })?
    }
}

/// The loops over a connection.
struct StreamLoops<'f, 'a, 's, P> {
    flow: &'f mut OneFlow<'a, 's, P>,
    data: Socket,
}

impl<P: Program> StreamVisitor for StreamLoops<'_, '_, '_, P> {
    type Out = Result<(Ended, Socket), EngineError>;

    const IS_ONE: bool = true;
    const ASKS: bool = P::ASKS;

    fn is_netperf(&self) -> bool {
        self.flow.is_netperf()
    }

    fn moves<M: MakeStream>(self, make: M) -> Self::Out {
        self.flow.over(make.one(self.data)?)
    }

    fn sends<M: MakeStream>(self, make: M) -> Self::Out {
        self.flow.send(make.one(self.data)?)
    }

    fn receives<M: MakeStream>(self, make: M) -> Self::Out {
        self.flow.receive(make.one(self.data)?)
    }

    fn exchanges<M: MakeStream>(self, make: M) -> Self::Out {
        self.flow.exchange(make.one(self.data)?)
    }

    #[cfg(feature = "paths")]
    fn asks_when_due<M: MakeStream>(self, make: M) -> Self::Out {
        self.flow.open_loop(make.one(self.data)?)
    }
}

/// The loops over datagrams, whose endpoint is made from an `I`.
struct DatagramLoops<'a, 's, P, I> {
    flow: OneFlow<'a, 's, P>,
    from: I,
}

impl<P: Program, I> DatagramVisitor<I> for DatagramLoops<'_, '_, P, I> {
    type Out = Result<Moved, EngineError>;

    const IS_ONE: bool = true;

    fn asks<M: MakeDatagrams<I>>(self, make: M) -> Self::Out {
        self.flow.addressed(make.one(self.from)?)
    }

    fn answers<M: MakeDatagrams<I>>(self, make: M) -> Self::Out {
        self.flow.answers(make.one(self.from)?)
    }

    fn sends<M: MakeDatagrams<I>>(self, make: M) -> Self::Out {
        self.flow.send_messages(make.one(self.from)?)
    }

    fn receives<M: MakeDatagrams<I>>(self, make: M) -> Self::Out {
        self.flow.receive_messages(make.one(self.from)?)
    }

    #[cfg(feature = "paths")]
    fn asks_when_due<M: MakeDatagrams<I>>(self, make: M) -> Self::Out {
        self.flow.open_messages(make.one(self.from)?)
    }
}
