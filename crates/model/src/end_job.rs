//! What netserver is asked to do, whichever request asked for it.

use std::net::IpAddr;

use crate::address::Address;
use crate::catalog::transports::TransportId;
use crate::host::FactsWanted;
use crate::io::Feature;
use crate::many::Workers;
use crate::plan::{EndPlan, Family, Flow, Limit};
use crate::policy::Sources;
use crate::token::Token;

/// One test as netserver sees it. [`Flow`] stays netperf's view.
#[derive(Clone, Debug, PartialEq)]
pub struct EndJob {
    /// What data travels over.
    pub transport: TransportId,
    /// IPv4 or IPv6.
    pub family: Family,
    /// What moves in which direction, as seen by netperf.
    pub flow: Flow,
    /// When netserver's end of the run is over, its own grace not included.
    pub limit: Limit,
    /// Request size in bytes; `None` outside request/response.
    pub request: Option<u32>,
    /// Response size in bytes; `None` outside request/response.
    pub response: Option<u32>,
    /// netserver's socket, buffers and CPU measurement.
    pub end: EndPlan,
    /// The address to bind the data socket to; `None` is the wildcard.
    pub bind: Option<IpAddr>,
    /// The port to bind it to, 0 for any; another is taken when it is not free.
    pub port: u16,
    /// Where to send messages before any has arrived.
    pub peer: Option<Address>,
    /// Associations that netperf opens (SCTP one-to-many), as far as it said so.
    pub associations: u32,
    /// How the run ends, where requests differ.
    pub ending: Ending,
    /// Whether the facts of netserver's host are wanted.
    pub facts: Option<FactsWanted>,
    /// Many flows at once, on these threads; `None` is one, moved by the plain loop.
    pub many: Option<(u32, Workers)>,
    /// Who data is taken from.
    pub sources: Sources,
    /// Bits per second that netserver may send at most, where its loop has to see to that.
    pub most_bits: Option<u64>,
    /// What data connections begin with, where they come in by the port of the control
    /// connection.
    pub token: Option<Token>,
}

impl EndJob {
    /// A job of which nothing else was said: one flow from anybody, on any port.
    #[must_use]
    pub fn new(transport: TransportId, family: Family, flow: Flow, limit: Limit) -> Self {
        Self {
            transport,
            family,
            flow,
            limit,
            request: None,
            response: None,
            end: EndPlan::default(),
            bind: None,
            port: 0,
            peer: None,
            associations: 1,
            ending: Ending::Omni,
            facts: None,
            many: None,
            sources: Sources::default(),
            most_bits: None,
            token: None,
        }
    }

    /// Whether netserver sends to where the client says that it is, and not to where something
    /// came from: messages without a connection, in answer to none. Both ways at once is such a
    /// case, too, as what has come is only taken for a sign that it can begin.
    #[must_use]
    pub fn sends_where_told(&self) -> bool {
        let answers = self.flow.sends && self.flow.duplex.is_none();
        self.flow.receives && !answers && !self.transport.is_connected()
    }
}

/// What a netserver of ours can do on its host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// The transports that its kernel has.
    pub transports: Vec<TransportId>,
    /// The most flows at once; `None` where only one is known.
    pub flows: Option<u32>,
    /// What it can do besides.
    pub features: Vec<Feature>,
}

/// How netserver's end of a run is brought to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// An empty datagram or the end of the connection.
    Omni,
    /// The first datagram whose length is not this one, in bytes (classic UDP_STREAM).
    OddDatagram(u32),
    /// In a run that has a time: a while without anything once it is over, where nothing
    /// need tell of the end. Or, if there is a length, a message of another one, in bytes.
    Silence(Option<u32>),
}
