//! The part of a test that one end carries out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use crate::address::Address;
use crate::agreed::Hosts;
use crate::catalog::tests::TestId;
use crate::catalog::transports::TransportId;
use crate::host::FactsWanted;
use crate::io::{Feature, IoMethod};
use crate::many::{Workers, tells_address_of_each};
use crate::plan::{Duplex, EndPlan, Family, Flow, Limit, TestPlan};
use crate::policy::{PortRange, Sources};
use crate::token::Token;

/// End of a test that carries out a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndRole {
    /// netperf: it opens the data connection and sends requests.
    Netperf,
    /// netserver: it accepts the data connection and answers requests.
    Netserver,
}

/// Many flows at one end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndFlows {
    /// Number of flows.
    pub count: u32,
    /// Threads of this end.
    pub workers: Workers,
    /// Time before the part of the run that counts.
    pub warmup: Duration,
    /// Time after the part of the run that counts.
    pub cooldown: Duration,
    /// Reading of `CLOCK_MONOTONIC`, nanoseconds, at which this end begins; at once without it.
    pub begin_at: Option<u64>,
    /// The same at which netserver began to send datagrams that wait for this end.
    pub sent_since: Option<u64>,
}

impl EndFlows {
    /// Number of flows on these threads; all of the run counts.
    #[must_use]
    pub fn new(count: u32, workers: Workers) -> Self {
        Self {
            count,
            workers,
            ..Self::default()
        }
    }

    /// Returns true if only a part of the run counts.
    #[must_use]
    pub const fn has_margins(&self) -> bool {
        !self.warmup.is_zero() || !self.cooldown.is_zero()
    }
}

/// The part of a test that one end carries out. Directions are those of this end.
#[derive(Clone, Debug, PartialEq)]
pub struct EndJob {
    /// The role of this end.
    pub role: EndRole,
    /// Transport of the data.
    pub transport: TransportId,
    /// IPv4 or IPv6.
    pub family: Family,
    /// This end sends.
    pub sends: bool,
    /// This end receives.
    pub receives: bool,
    /// Every operation opens and closes a connection.
    pub connects: bool,
    /// Duplex mode, for bulk data in both directions at once.
    pub duplex: Option<Duplex>,
    /// When this end of the run is over, without the grace period.
    pub limit: Limit,
    /// Request size in bytes; `None` outside request/response.
    pub request: Option<u32>,
    /// Response size in bytes; `None` outside request/response.
    pub response: Option<u32>,
    /// Socket, buffers and CPU measurement of this end.
    pub end: EndPlan,
    /// The address to bind the data socket to; `None` is the wildcard.
    pub bind: Option<IpAddr>,
    /// The scope of that address (IPv6 link-local), 0 for none.
    pub scope: u32,
    /// The port to bind the data socket to, 0 for any. netserver takes another one when it is
    /// not free, or not one of `data_ports`.
    pub port: u16,
    /// Ports that netserver may bind data sockets to; `None` permits all.
    pub data_ports: Option<PortRange>,
    /// The address that netperf says its data comes from.
    pub data_from: Option<IpAddr>,
    /// Address of the other end, where it is known. netserver sends messages there before any
    /// has arrived.
    pub peer: Option<Address>,
    /// Associations that netperf opens (SCTP one-to-many), as far as they are known.
    pub associations: u32,
    /// End condition of netserver's part of the run, which differs between kinds of request.
    pub ending: Ending,
    /// Facts of netserver's host that are asked for.
    pub facts: Option<FactsWanted>,
    /// Many flows at once; `None` is one flow, moved by the plain loop.
    pub flows: Option<EndFlows>,
    /// Addresses that data is taken from.
    pub sources: Sources,
    /// Bits per second that netserver may send at most, where its loop has to limit them.
    pub most_bits: Option<u64>,
    /// First bytes of data connections, where they use the port of the control connection.
    pub token: Option<Token>,
    /// Extra requests that netperf keeps in flight.
    pub burst: u32,
    /// Local ports that netperf's connection tests use: from, up to and not including; `None`
    /// leaves the choice to the kernel.
    pub port_range: Option<(u16, u16)>,
    /// Retry after any failed connect in connection tests.
    pub retry_connects: bool,
    /// Use `write(2)` rather than `send(2)`.
    pub use_write: bool,
    /// Time after which a response counts as lost.
    pub recv_timeout: Option<Duration>,
    /// Keep statistics of how long each operation takes.
    pub latency: bool,
    /// Count what each connection of a connection test retransmitted.
    pub retransmissions: bool,
    /// The test, where netperf's end does something that transport and direction do not tell
    /// (TCP_MSS, TCP_SENDFILE); netserver always has OMNI.
    pub test: TestId,
    /// True if the other end is a netserver or a netperf; false with `-N`.
    pub has_peer: bool,
    /// True if this end only receives and may end the run early.
    pub stops_sender: bool,
}

impl EndJob {
    /// netserver's end of a test, with defaults for all else: one flow from any address, on
    /// any port. `flow` is netperf's view, as in a request.
    #[must_use]
    pub fn new(transport: TransportId, family: Family, flow: Flow, limit: Limit) -> Self {
        Self {
            role: EndRole::Netserver,
            transport,
            family,
            sends: flow.receives,
            receives: flow.sends,
            connects: flow.connects,
            duplex: flow.duplex,
            limit,
            request: None,
            response: None,
            end: EndPlan::default(),
            bind: None,
            scope: 0,
            port: 0,
            data_ports: None,
            data_from: None,
            peer: None,
            associations: 1,
            ending: Ending::Omni,
            facts: None,
            flows: None,
            sources: Sources::default(),
            most_bits: None,
            token: None,
            burst: 0,
            port_range: None,
            retry_connects: false,
            use_write: false,
            recv_timeout: None,
            latency: false,
            retransmissions: false,
            test: TestId::Omni,
            has_peer: true,
            stops_sender: false,
        }
    }

    /// netperf's end of a test between these hosts. `workers` are the threads of many flows.
    #[must_use]
    pub fn of_plan(plan: &TestPlan, hosts: &Hosts, workers: Option<Workers>) -> Self {
        let family = hosts.remote.family();
        let host = &hosts.local;
        let bound = host.family() == family;
        let flows = plan.many.as_ref().map(|many| EndFlows {
            count: many.flows,
            workers: workers.unwrap_or_default(),
            warmup: many.warmup,
            cooldown: many.cooldown,
            begin_at: many.begin_at,
            sent_since: None,
        });
        Self {
            role: EndRole::Netperf,
            sends: plan.flow.sends,
            receives: plan.flow.receives,
            request: plan.request,
            response: plan.response,
            end: plan.local.clone(),
            bind: bound.then_some(host.address),
            scope: if bound { host.scope } else { 0 },
            // Connection tests use ports of a range.
            port: if bound && plan.flow.connects {
                0
            } else {
                host.port
            },
            peer: Some(Address::Inet(SocketAddr::new(hosts.remote.address, 0))),
            associations: plan.associations,
            flows,
            burst: plan.burst,
            port_range: plan.port_range,
            retry_connects: plan.retry_connects,
            use_write: plan.use_write,
            recv_timeout: plan.recv_timeout,
            latency: plan.latency,
            retransmissions: plan.retransmissions,
            test: plan.test,
            has_peer: plan.control.is_some(),
            stops_sender: plan.remote.until,
            ..Self::new(plan.transport, family, plan.flow, plan.limit)
        }
    }

    /// The directions of the test as netperf sees them.
    #[must_use]
    pub const fn test_flow(&self) -> Flow {
        let (sends, receives) = match self.role {
            EndRole::Netperf => (self.sends, self.receives),
            EndRole::Netserver => (self.receives, self.sends),
        };
        Flow {
            sends,
            receives,
            connects: self.connects,
            duplex: self.duplex,
        }
    }

    /// One direction of data both ways, as the job of an end that does nothing else.
    #[must_use]
    pub fn direction(&self, sends: bool) -> Self {
        let mut job = Self {
            sends,
            receives: !sends,
            duplex: None,
            ..self.clone()
        };
        let io = job.end.io;
        job.end.io = if sends {
            io.of_sender()
        } else {
            io.of_receiver()
        };
        job
    }

    /// Returns true if one flow runs as one of many: the connections of its operations wait as
    /// those of many flows do.
    #[must_use]
    pub const fn waits_as_flow(&self) -> bool {
        let polls = matches!(self.end.io.method, IoMethod::Poll | IoMethod::Epoll);
        self.connects && polls && self.flows.is_none()
    }

    /// Returns true if this is netperf's end.
    #[must_use]
    pub const fn is_netperf(&self) -> bool {
        matches!(self.role, EndRole::Netperf)
    }

    /// Returns true if data goes one way and responses go the other.
    #[must_use]
    pub const fn is_request_response(&self) -> bool {
        self.test_flow().is_request_response()
    }

    /// Returns true if an operation is a transaction rather than a number of bytes.
    #[must_use]
    pub const fn counts_transactions(&self) -> bool {
        self.test_flow().counts_transactions()
    }

    /// Returns true if this end only sends.
    #[must_use]
    pub const fn only_sends(&self) -> bool {
        self.sends && !self.receives
    }

    /// Returns true if this end only receives.
    #[must_use]
    pub const fn only_receives(&self) -> bool {
        self.receives && !self.sends
    }

    /// Returns true if this is netperf's end of many flows with a session each: netserver must
    /// know the address of each, or has a separate one for each.
    #[must_use]
    pub fn tells_addresses(&self) -> bool {
        let many = self.is_netperf() && self.flows.is_some();
        many && tells_address_of_each(self.transport, self.test_flow())
    }

    /// Returns true if bulk data goes one way or both, over long-lived connections or sockets.
    #[must_use]
    pub const fn is_bulk(&self) -> bool {
        !self.connects && !self.is_request_response()
    }

    /// Time after which a response counts as lost, over a transport that may lose one.
    #[must_use]
    pub fn response_patience(&self) -> Option<Duration> {
        self.recv_timeout.filter(|_| !self.transport.row().reliable)
    }

    /// Returns true if this end sends requests at their due times, without waiting for earlier
    /// responses.
    #[must_use]
    pub const fn is_open_loop(&self) -> bool {
        self.is_netperf() && self.end.rate.is_some() && self.is_request_response() && !self.connects
    }

    /// Size in bytes of the messages that this end sends; `None` outside request/response.
    #[must_use]
    pub const fn message_sent(&self) -> Option<u32> {
        match self.role {
            EndRole::Netperf => self.request,
            EndRole::Netserver => self.response,
        }
    }

    /// Size in bytes of the messages that this end receives; `None` outside request/response.
    #[must_use]
    pub const fn message_received(&self) -> Option<u32> {
        match self.role {
            EndRole::Netperf => self.response,
            EndRole::Netserver => self.request,
        }
    }

    /// The length of the run; `None` where no time ends it.
    #[must_use]
    pub const fn time(&self) -> Option<Duration> {
        match self.limit {
            Limit::Time(time) => Some(time),
            Limit::Units(_) | Limit::Messages(_) | Limit::UntilStopped => None,
        }
    }

    /// Number of flows.
    #[must_use]
    pub fn flow_count(&self) -> u32 {
        self.flows.as_ref().map_or(1, |flows| flows.count)
    }

    /// Address and port to bind the data socket to.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        let wildcard = match self.family {
            Family::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            Family::V4 | Family::Unspecified => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        };
        let mut address = SocketAddr::new(self.bind.unwrap_or(wildcard), self.port);
        if let SocketAddr::V6(v6) = &mut address {
            v6.set_scope_id(self.scope);
        }
        address
    }

    /// Returns true if netserver sends messages without a connection to the address that
    /// netperf gives, and not to the source of a message. Duplex tests are such a case, because
    /// the first message only serves as a signal to begin.
    #[must_use]
    pub fn sends_where_told(&self) -> bool {
        let answers = self.receives && self.duplex.is_none();
        self.sends && !answers && !self.transport.is_connected()
    }
}

/// Capabilities of a netserver of this project on its host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Transports that its kernel supports and its policy permits.
    pub transports: Vec<TransportId>,
    /// Transports that its policy does not permit.
    pub off: Vec<TransportId>,
    /// Maximum number of concurrent flows; `None` if the netserver supports only one.
    pub flows: Option<u32>,
    /// Optional features.
    pub features: Vec<Feature>,
    /// Features that its policy does not permit to this client.
    pub features_off: Vec<Feature>,
}

/// End condition of netserver's part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// An empty datagram or the end of the connection.
    Omni,
    /// The first datagram whose length is not this one, in bytes (classic UDP_STREAM).
    OddDatagram(u32),
    /// For a run with a time: a period without data after the time is over, where no message is
    /// guaranteed to mark the end. With a length: also a message of a different length, in
    /// bytes.
    Silence(Option<u32>),
}
