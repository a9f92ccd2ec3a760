//! Access policy of netserver. netserver builds it once and checks every client against it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::address::Address;
use crate::catalog::settings::Setting;
use crate::catalog::transports::{Domain, TransportId};
use crate::end_job::EndJob;
use crate::plan::Limit;
use crate::words::words;

mod budget;
mod features;
mod host_support;
mod network;
mod ports;
mod startups;
mod transports;

pub use budget::{BadBudget, Budget, BudgetArg, EndNeeds};
pub use features::{BadFeatures, GuardedFeature, GuardedFeatures};
pub use host_support::{BadHostSupport, HostSupport};
pub use network::{BadNetwork, Network};
pub use ports::{BadPortRange, PortRange};
pub use startups::{BadStartups, Startups};
pub use transports::{BadTransports, TransportGroup, TransportSet};

words! {
    /// Credential that a client must present.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum Require {
        /// Nothing.
        #[default]
        None = "none",
        /// The passphrase, in the clear, or the key.
        Passphrase = "passphrase",
        /// The key, over an encrypted connection.
        Key = "key",
    }
}

words! {
    /// Data that netserver accepts on the port of the control connection.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum OnePort {
        /// None.
        Off = "off",
        /// Connections only.
        Tcp = "tcp",
        /// Connections and datagrams.
        #[default]
        On = "on",
    }
}

/// Permitted data addresses, besides the peer address of the control connection.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum DataPeers {
    /// None: only the peer address of the control connection.
    #[default]
    Same,
    /// The peer address of the control connection, and these networks.
    Within(Arc<[Network]>),
    /// Any address.
    Any,
}

impl DataPeers {
    /// Returns true if data may go to or come from `address`. `peer` is the peer address of the
    /// control connection; `None` if that does not use IP.
    #[must_use]
    pub fn allow(&self, address: IpAddr, peer: Option<IpAddr>) -> bool {
        let address = address.to_canonical();
        let same = peer.map(|peer| peer.to_canonical()).is_some_and(|peer| {
            // A host may reach itself through any loopback address.
            peer == address || (peer.is_loopback() && address.is_loopback())
        });
        match self {
            _ if same => true,
            Self::Same => false,
            Self::Within(networks) => networks.iter().any(|network| network.contains(address)),
            Self::Any => true,
        }
    }
}

impl FromStr for DataPeers {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Self, BadNetwork> {
        match text {
            "same" => Ok(Self::Same),
            "any" => Ok(Self::Any),
            list => network::list(list).map(|networks| Self::Within(networks.into())),
        }
    }
}

impl fmt::Display for DataPeers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same => f.write_str("same"),
            Self::Any => f.write_str("any"),
            Self::Within(networks) => {
                let words: Vec<String> = networks.iter().map(Network::to_string).collect();
                f.write_str(&words.join(","))
            }
        }
    }
}

/// Permitted data sources of one end of a session: [`DataPeers`] applied to one client.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Sources {
    /// The rule; `None` permits every address.
    only: Option<(DataPeers, IpAddr)>,
}

impl Sources {
    /// Returns true if every address is permitted.
    #[must_use]
    pub const fn is_anybody(&self) -> bool {
        self.only.is_none()
    }

    /// Returns true if this address is permitted.
    #[must_use]
    pub fn allow(&self, address: IpAddr) -> bool {
        match &self.only {
            None => true,
            Some((peers, peer)) => peers.allow(address, Some(*peer)),
        }
    }

    /// Networks of the permitted addresses, each as its first address and the number of its
    /// leading bits; `None` if every address is permitted.
    #[must_use]
    pub fn networks(&self) -> Option<Vec<(IpAddr, u8)>> {
        const LOOPBACK: [(IpAddr, u8); 2] = [
            (IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), 8),
            (IpAddr::V6(Ipv6Addr::LOCALHOST), 128),
        ];
        let (peers, peer) = self.only.as_ref()?;
        let mut all = match peer.to_canonical() {
            peer if peer.is_loopback() => LOOPBACK.to_vec(),
            IpAddr::V4(v4) => vec![(v4.into(), 32)],
            IpAddr::V6(v6) => vec![(v6.into(), 128)],
        };
        match peers {
            DataPeers::Same => {}
            DataPeers::Within(networks) => {
                all.extend(networks.iter().map(|one| (one.address(), one.prefix())));
            }
            DataPeers::Any => return None,
        }
        Some(all)
    }
}

/// Resource limits of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of concurrent sessions.
    pub sessions: Option<u32>,
    /// Maximum number of concurrent sessions of one source.
    pub peer_sessions: Option<u32>,
    /// Clients that have not proven the key.
    pub startups: Startups,
    /// Maximum number of sessions that start per second, of each source and of all.
    pub session_rate: Budget,
    /// Maximum number of flows of a test.
    pub flows: u32,
    /// Maximum number of threads of a test.
    pub threads: u32,
    /// Maximum memory of the buffers of a session, and of all, bytes.
    pub memory: Budget,
    /// Maximum number of data ports of a session, and of all.
    pub ports: Budget,
    /// Number of leading bits of IPv6 addresses that identify a source.
    pub source_bits: u8,
    /// Maximum length of a test.
    pub test_time: Option<Duration>,
    /// Maximum rate at which netserver sends in one test, bits per second.
    pub send_rate: Option<u64>,
    /// Idle time-out of a client.
    pub idle_time: Duration,
}

impl Limits {
    /// Default idle time-out of a client.
    pub const IDLE_TIME: Duration = Duration::from_secs(300);
    /// Default number of leading bits of IPv6 addresses that identify a source: a host usually
    /// has all addresses of its link.
    pub const SOURCE_BITS: u8 = 64;

    /// Default of `session_rate`.
    pub const SESSION_RATE: Budget = Budget {
        each: 100,
        all: 400,
    };
    /// Default of `flows`.
    pub const FLOWS: u32 = 10_000;
    /// Default of `threads`.
    pub const THREADS: u32 = 256;
    /// Default of `memory`.
    pub const MEMORY: Budget = Budget {
        each: 128 << 20,
        all: 160 << 20,
    };
    /// Default of `ports`: a quarter of the ephemeral ports of Linux.
    pub const PORTS: Budget = Budget {
        each: 1024,
        all: 7168,
    };

    /// Checks the time of a test; `None` if it has none.
    ///
    /// # Errors
    /// The reason for a refusal.
    pub fn permit_time(&self, time: Option<Duration>) -> Result<(), Denied> {
        match (self.test_time, time) {
            (Some(most), Some(time)) if time > most => Err(Denied::TestTime(most)),
            (Some(most), None) => Err(Denied::TestWithoutTime(most)),
            (Some(_), Some(_)) | (None, _) => Ok(()),
        }
    }

    /// Checks what a test needs against the limits of a session.
    ///
    /// # Errors
    /// The reason for a refusal.
    pub const fn bear(&self, needs: EndNeeds) -> Result<(), Denied> {
        if needs.memory > self.memory.each {
            return Err(Denied::Memory(self.memory.each));
        }
        if needs.ports > self.ports.each {
            return Err(Denied::Ports(self.ports.each));
        }
        Ok(())
    }

    /// The network that a client at this address is counted by.
    #[must_use]
    pub fn source(&self, address: Option<IpAddr>) -> Option<Network> {
        address.map(|address| Network::of_source(address, self.source_bits))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: None,
            peer_sessions: None,
            startups: Startups::default(),
            session_rate: Self::SESSION_RATE,
            flows: Self::FLOWS,
            threads: Self::THREADS,
            memory: Self::MEMORY,
            ports: Self::PORTS,
            source_bits: Self::SOURCE_BITS,
            test_time: None,
            send_rate: None,
            idle_time: Self::IDLE_TIME,
        }
    }
}

/// Access policy of netserver.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Policy {
    /// Networks that may connect.
    pub allow: Vec<Network>,
    /// Networks that may not connect.
    pub deny: Vec<Network>,
    /// Required credential; `None` is the strongest credential that netserver was given.
    pub require: Option<Require>,
    /// Transports that tests may use.
    pub transports: TransportSet,
    /// Guarded features that the client may ask for.
    pub features: GuardedFeatures,
    /// Permitted data addresses.
    pub data_peers: DataPeers,
    /// Data accepted on the port of the control connection.
    pub one_port: OnePort,
    /// Data ports of netserver; `None` lets the kernel choose.
    pub data_ports: Option<PortRange>,
    /// Resource limits.
    pub limits: Limits,
}

/// A transport that is off, and the option that permits it.
fn off(transport: TransportId) -> String {
    let row = transport.row();
    let list = match TransportGroup::of(row) {
        TransportGroup::Link => "ip,local,link",
        TransportGroup::Ip | TransportGroup::Local => row.option,
    };
    format!(
        "it serves no tests over {}: netserver --transports {list} permits them",
        row.option
    )
}

/// Advice when to try again.
fn again(end: &Option<Duration>) -> String {
    end.map_or_else(
        || ": try again when one has ended".to_owned(),
        |end| format!(": try again in about {} s", end.as_secs() + 1),
    )
}

/// Numbers of current sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SessionLoad {
    /// All sessions.
    pub all: u32,
    /// Sessions of the client's address.
    pub of_peer: u32,
    /// Time until a running test of the sessions ends; `None` if it is unknown or confidential.
    pub until_end: Option<Duration>,
    /// The same for sessions of the client's address.
    pub until_peer_end: Option<Duration>,
}

/// Reason for refusing a client or its request. `Display` is the message to the client.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Denied {
    /// The client's network may not connect.
    #[error("your address is not allowed here (--allow, --deny)")]
    Network,
    /// The number of sessions is at this limit; the time until a test of one of them ends.
    #[error("all its sessions are in use (--max-sessions {0}){again}", again = again(.1))]
    Sessions(u32, Option<Duration>),
    /// The number of sessions of the client's address is at this limit; the time until a test of
    /// one of them ends.
    #[error(
        "your address uses all sessions that it may have (--max-peer-sessions {0}){again}",
        again = again(.1)
    )]
    PeerSessions(u32, Option<Duration>),
    /// The client's source started more sessions than this per second.
    #[error("your address may start {0} sessions a second (--max-session-rate): try again")]
    SessionRate(u64),
    /// All clients together started more sessions than this per second.
    #[error("it starts at most {0} sessions a second (--max-session-rate): try again")]
    SessionRateOfAll(u64),
    /// A test has more flows than this.
    #[error("a test may have {0} flows (--max-flows)")]
    Flows(u32),
    /// A test has more threads than this.
    #[error("a test may have {0} threads of netserver (--max-threads)")]
    Threads(u32),
    /// The buffers of a test are larger than this, bytes.
    #[error("the buffers of a session may take {0} bytes (--max-memory)")]
    Memory(u64),
    /// The buffers of all sessions would be larger than this, bytes.
    #[error("the buffers of all sessions may take {0} bytes (--max-memory): try again later")]
    MemoryOfAll(u64),
    /// A test needs more data ports than this.
    #[error("a session may have {0} data ports (--max-ports)")]
    Ports(u64),
    /// All sessions would have more data ports than this.
    #[error("all sessions may have {0} data ports (--max-ports): try again later")]
    PortsOfAll(u64),
    /// Too many clients have not proven the key yet.
    #[error("too many clients are proving its key (--max-startups): try again")]
    Startups,
    /// The listener did not answer its session in time.
    #[error("its host is too busy to start a test: try again later")]
    Busy,
    /// Clients of this source failed to prove the key too often. The time until one may try
    /// again.
    #[error(
        "clients at your address did not prove its key: try again in {} s",
        .0.as_secs() + 1
    )]
    Penalty(Duration),
    /// The client must present the passphrase.
    #[error("it serves only clients that send its passphrase (-Z)")]
    Passphrase,
    /// The client must present the key.
    #[error("it serves only clients that prove its key (--require): use --key-file")]
    KeyRequired,
    /// The client does not have the key.
    #[error("that is not its key (--key-file)")]
    WrongKey,
    /// The key has a role for which netserver does nothing.
    #[error("its key file permits no tests with this key (role agent)")]
    KeyRole,
    /// The key has as many sessions as its line permits.
    #[error("this key uses all sessions that it may have (max-sessions {0} in the key file)")]
    KeySessions(u32),
    /// The test takes longer than this limit.
    #[error("a test may take {} s at most (--max-test-time)", .0.as_secs_f64())]
    TestTime(Duration),
    /// The test has no time to compare with this limit.
    #[error(
        "a test needs a time (-l), of {} s at most (--max-test-time)",
        .0.as_secs_f64()
    )]
    TestWithoutTime(Duration),
    /// The data address differs from the peer address of the control connection.
    #[error("data goes only where the control connection comes from, not to {0} (--data-peers)")]
    DataPeer(IpAddr),
    /// The data address is unverified.
    #[error("datagrams go only where a control connection over IP comes from (--data-peers)")]
    DataPeerUnknown,
    /// Tests over this transport are off.
    #[error("{}", off(*.0))]
    Transport(TransportId),
    /// A stranger may not ask for this feature.
    #[error("{}", .0.only_for())]
    Feature(GuardedFeature),
    /// The frames would go to a group of stations.
    #[error("frames go only to one station, not to a group of them (--data-peers)")]
    DataGroup,
    /// The data would go to a socket file, and the client is on another host.
    #[error("datagrams go to a socket file only for a client on the same host (--data-peers)")]
    DataFile,
    /// The transport cannot be limited to this rate, bits per second.
    #[error("this test cannot be held to {0} bits per second (--max-send-rate)")]
    SendRate(u64),
    /// The port of the control connection accepts no data.
    #[error("no data comes in by its port (--one-port off)")]
    OnePort,
    /// The port of the control connection accepts connections and no datagrams.
    #[error("no datagrams come in by its port (--one-port tcp)")]
    OnePortDatagrams,
    /// Too few ports of the range are free.
    #[error(
        "not enough free ports in its range (--data-ports): wait until other tests end, or use \
         fewer flows"
    )]
    DataPorts,
    /// Data on that port matches no session. netserver sends no reply.
    #[error("data with a token that no session has given out")]
    Token,
}

impl Denied {
    /// Names of the reasons, for logs and metrics.
    pub const WORDS: &'static [&'static str] = &[
        "network",
        "sessions",
        "peer-sessions",
        "session-rate",
        "flows",
        "threads",
        "memory",
        "ports",
        "startups",
        "busy",
        "penalty",
        "passphrase",
        "key-required",
        "wrong-key",
        "key-role",
        "key-sessions",
        "test-time",
        "transport",
        "feature",
        "data-peer",
        "send-rate",
        "one-port",
        "data-ports",
        "token",
    ];

    /// Name of the reason, one of [`Self::WORDS`].
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Sessions(..) => "sessions",
            Self::PeerSessions(..) => "peer-sessions",
            Self::SessionRate(_) | Self::SessionRateOfAll(_) => "session-rate",
            Self::Flows(_) => "flows",
            Self::Threads(_) => "threads",
            Self::Memory(_) | Self::MemoryOfAll(_) => "memory",
            Self::Ports(_) | Self::PortsOfAll(_) => "ports",
            Self::Startups => "startups",
            Self::Busy => "busy",
            Self::Penalty(_) => "penalty",
            Self::Passphrase => "passphrase",
            Self::KeyRequired => "key-required",
            Self::WrongKey => "wrong-key",
            Self::KeyRole => "key-role",
            Self::KeySessions(_) => "key-sessions",
            Self::TestTime(_) | Self::TestWithoutTime(_) => "test-time",
            Self::Transport(_) => "transport",
            Self::Feature(_) => "feature",
            Self::DataPeer(_) | Self::DataPeerUnknown | Self::DataGroup | Self::DataFile => {
                "data-peer"
            }
            Self::SendRate(_) => "send-rate",
            Self::OnePort | Self::OnePortDatagrams => "one-port",
            Self::DataPorts => "data-ports",
            Self::Token => "token",
        }
    }

    /// Error number for a client that reads no other reason (Linux values).
    #[must_use]
    pub const fn errno(&self) -> i32 {
        const EACCES: i32 = 13;
        const ERANGE: i32 = 34;
        const EADDRINUSE: i32 = 98;
        const EUSERS: i32 = 87;
        const EPROTONOSUPPORT: i32 = 93;
        const EDQUOT: i32 = 122;
        const ENOKEY: i32 = 126;
        const EKEYREJECTED: i32 = 129;
        match self {
            Self::Network
            | Self::DataPeer(_)
            | Self::DataPeerUnknown
            | Self::Feature(_)
            | Self::DataGroup
            | Self::DataFile
            | Self::OnePort
            | Self::OnePortDatagrams
            | Self::Token => EACCES,
            // As from a netserver that cannot open such a socket.
            Self::Transport(_) => EPROTONOSUPPORT,
            Self::Sessions(..) | Self::Startups | Self::Busy => EUSERS,
            Self::SessionRate(_)
            | Self::SessionRateOfAll(_)
            | Self::Flows(_)
            | Self::Threads(_)
            | Self::Memory(_)
            | Self::MemoryOfAll(_)
            | Self::Ports(_)
            | Self::PortsOfAll(_)
            | Self::Penalty(_)
            | Self::PeerSessions(..)
            | Self::KeySessions(_)
            | Self::SendRate(_) => EDQUOT,
            Self::DataPorts => EADDRINUSE,
            Self::KeyRequired | Self::Passphrase => ENOKEY,
            Self::WrongKey | Self::KeyRole => EKEYREJECTED,
            Self::TestTime(_) | Self::TestWithoutTime(_) => ERANGE,
        }
    }
}

impl Policy {
    /// Returns true if a client at this address may connect. `None` is a client that does not
    /// use IP and is in no network.
    ///
    /// The smallest network that contains the address decides; a network that is both allowed
    /// and denied is denied. An address in no listed network may connect only if the list of
    /// allowed networks is empty.
    #[must_use]
    pub fn admits(&self, peer: Option<IpAddr>) -> bool {
        let smallest = |networks: &[Network]| {
            let holding = networks
                .iter()
                .filter(|network| peer.is_some_and(|peer| network.contains(peer)));
            holding.map(Network::prefix).max()
        };
        match (smallest(&self.allow), smallest(&self.deny)) {
            (None, None) => self.allow.is_empty(),
            (allowed, denied) => allowed > denied,
        }
    }

    /// Admits one more session.
    ///
    /// # Errors
    /// The reason for a refusal.
    pub fn admit(&self, peer: Option<IpAddr>, load: SessionLoad) -> Result<(), Denied> {
        if !self.admits(peer) {
            return Err(Denied::Network);
        }
        let full = |limit: Option<u32>, count: u32| limit.filter(|most| count >= *most);
        if let Some(most) = full(self.limits.sessions, load.all) {
            return Err(Denied::Sessions(most, load.until_end));
        }
        match full(self.limits.peer_sessions, load.of_peer) {
            Some(most) => Err(Denied::PeerSessions(most, load.until_peer_end)),
            None => Ok(()),
        }
    }

    /// Checks that tests over a transport are served.
    ///
    /// # Errors
    /// The reason for a refusal.
    pub const fn permit_transport(&self, transport: TransportId) -> Result<(), Denied> {
        if self.transports.contains(transport) {
            Ok(())
        } else {
            Err(Denied::Transport(transport))
        }
    }

    /// Returns the job with the limits applied.
    ///
    /// # Errors
    /// The reason for a refusal.
    pub fn permit(&self, peer: Option<IpAddr>, mut job: EndJob) -> Result<EndJob, Denied> {
        self.permit_transport(job.transport)?;
        if let Some(feature) = self.features.lacking(&job.end) {
            return Err(Denied::Feature(feature));
        }
        self.limits.permit_time(match job.limit {
            Limit::Time(time) => Some(time),
            Limit::Units(_) | Limit::Messages(_) | Limit::UntilStopped => None,
        })?;
        if job.flow_count() > self.limits.flows {
            return Err(Denied::Flows(self.limits.flows));
        }
        let threads = job.flows.as_ref().and_then(|flows| flows.workers.threads);
        if threads.is_some_and(|threads| threads > self.limits.threads) {
            return Err(Denied::Threads(self.limits.threads));
        }
        if job.end.one_port {
            self.pass_by_one_port(&mut job)?;
        }
        job.data_ports = self.data_ports;
        self.tie(peer, &mut job)?;
        self.slow_down(&mut job)?;
        Ok(job)
    }

    /// Admits data on the port of the control connection.
    fn pass_by_one_port(&self, job: &mut EndJob) -> Result<(), Denied> {
        match self.one_port {
            OnePort::Off => return Err(Denied::OnePort),
            OnePort::Tcp if !job.transport.is_connected() => return Err(Denied::OnePortDatagrams),
            OnePort::Tcp | OnePort::On => {}
        }
        // The source address of datagrams is visible, so the client's claim is unnecessary.
        job.peer = None;
        Ok(())
    }

    /// Ties data to the peer address of the control connection.
    fn tie(&self, peer: Option<IpAddr>, job: &mut EndJob) -> Result<(), Denied> {
        if self.data_peers == DataPeers::Any {
            return Ok(());
        }
        // The address that a client names matters only if netserver sends there unprompted. A
        // reply to a source address does not use it: behind a NAT, the client sees another
        // address for itself than netserver does.
        let to = job.peer.as_ref().filter(|_| job.sends_where_told());
        match (to, job.transport.row().domain) {
            (None, _) => {}
            (Some(Address::Inet(to)), Domain::Inet) => {
                if !self.data_peers.allow(to.ip(), peer) {
                    return Err(Denied::DataPeer(to.ip().to_canonical()));
                }
            }
            // The first bit of a station's address marks a group (IEEE 802).
            (Some(Address::Link { station, .. }), Domain::Link) => {
                if station[0] & 1 != 0 {
                    return Err(Denied::DataGroup);
                }
            }
            // A circuit has one far end; `keep_from_files` decides about socket files.
            (Some(Address::Atm { .. }), Domain::Atm) | (Some(Address::Unix(_)), Domain::Unix) => {}
            (Some(_), _) => return Err(Denied::DataPeerUnknown),
        }
        if !job.transport.is_inet() {
            return Ok(());
        }
        // The handshake of a connection verifies the address.
        if peer.is_none() && !job.transport.is_connected() {
            return Err(Denied::DataPeerUnknown);
        }
        job.sources = self.sources(peer);
        Ok(())
    }

    /// Permits every feature to a client that is no stranger: one with the key, or on this host,
    /// where `data_peers` keeps its data.
    #[must_use]
    pub fn for_client(mut self, has_key: bool, here: bool) -> Self {
        if has_key || (here && self.data_peers == DataPeers::Same) {
            self.features = GuardedFeatures::all();
        }
        self
    }

    /// Permitted data sources. `peer` is the peer address of the control connection.
    #[must_use]
    pub fn sources(&self, peer: Option<IpAddr>) -> Sources {
        let tied = self.data_peers != DataPeers::Any;
        Sources {
            only: peer
                .filter(|_| tied)
                .map(|peer| (self.data_peers.clone(), peer)),
        }
    }

    /// Permits sending to a socket file only for a client on the same host. A client on another
    /// host has no socket file here, and would reach local services that have one.
    ///
    /// # Errors
    /// The reason for a refusal.
    pub fn keep_from_files(&self, here: bool, job: EndJob) -> Result<EndJob, Denied> {
        let to_a_file = job.transport.row().domain == Domain::Unix && job.sends_where_told();
        if to_a_file && !here && self.data_peers != DataPeers::Any {
            return Err(Denied::DataFile);
        }
        Ok(job)
    }

    /// Limits the send rate of netserver.
    fn slow_down(&self, job: &mut EndJob) -> Result<(), Denied> {
        let Some(bits) = self.limits.send_rate.filter(|_| job.sends) else {
            return Ok(());
        };
        // The start of a connection is unpaced, and the number of connections is unlimited.
        if job.connects {
            return Err(Denied::SendRate(bits));
        }
        let flows = job.flow_count().max(1);
        if job.transport.paces_itself() {
            // Every accepted connection inherits the rate of the listening socket.
            let bytes = (bits / 8 / u64::from(flows)).max(1);
            let most = u32::try_from(bytes).unwrap_or(u32::MAX);
            let settings = &mut job.end.socket.settings;
            let asked = settings.number(Setting::PacingRate);
            let rate = asked.map_or(most, |asked| asked.min(most));
            *settings = settings.with(Setting::PacingRate, rate);
            return Ok(());
        }
        let together = job.end.io.batch.is_some() || job.end.io.segments;
        if flows > 1 || together {
            return Err(Denied::SendRate(bits));
        }
        job.most_bits = Some(bits);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
