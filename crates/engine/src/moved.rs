//! State of a data connection when its loop is over.

use std::time::Duration;

use netperf_model::TransportId;
use netperf_transport::meeting::{EndMark, OnSocket};
use netperf_transport::socket::{self, SocketFacts};

use crate::finish::Drained;
use crate::stop::Ended;

/// State of the data connection when the loop was over, before the clock stopped.
#[derive(Debug)]
pub(crate) struct Moved {
    pub(crate) ended: Ended,
    pub(crate) facts: Option<SocketFacts>,
    pub(crate) seen: ConnectionFacts,
    /// End of the connection at netperf.
    pub(crate) drained: Drained,
    /// Time without progress while netperf waited for that end.
    pub(crate) rest: Duration,
    /// Time for which netserver had read nothing at the end of the loop, if it is long.
    pub(crate) held_back: Option<Duration>,
    /// Bytes that TCP had received at the end of the loop.
    pub(crate) arrived: Option<u64>,
    /// Bytes that the other end of a connection had acknowledged then.
    pub(crate) acknowledged: Option<u64>,
    pub(crate) end_mark: Option<EndMark>,
    /// Time at the end that does not count: netserver only waited, or what arrived is not
    /// counted.
    pub(crate) idle: Duration,
}

impl Moved {
    pub(crate) fn nothing(ended: Ended) -> Self {
        Self {
            ended,
            facts: None,
            seen: ConnectionFacts::default(),
            drained: Drained::Closed,
            rest: Duration::ZERO,
            held_back: None,
            arrived: None,
            acknowledged: None,
            end_mark: None,
            idle: Duration::ZERO,
        }
    }
}

/// Properties of a connection that are read while it is open.
#[derive(Debug, Default)]
pub(crate) struct ConnectionFacts {
    pub(crate) segment_size: Option<u32>,
    pub(crate) cipher: Option<String>,
    /// Messages that the kernel dropped because the receive buffer was full.
    pub(crate) overflowed: Option<u32>,
}

impl ConnectionFacts {
    pub(crate) fn of(transport: TransportId, endpoint: &impl OnSocket) -> Self {
        Self {
            segment_size: socket::segment_size(transport, endpoint.fd()),
            cipher: endpoint.cipher(),
            overflowed: None,
        }
    }
}
