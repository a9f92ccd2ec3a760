//! Access policy of netserver. netserver builds it once and checks every client against it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;

use crate::address::Address;
use crate::catalog::settings::Setting;
use crate::catalog::transports::{Domain, TransportId};
use crate::end_job::EndJob;
use crate::plan::Limit;
use crate::words::words;

mod budget;
mod denied;
mod features;
mod host_support;
mod network;
mod ports;
mod startups;
mod transports;

pub use budget::{BadBudget, Budget, BudgetArg, EndNeeds};
pub use denied::Denied;
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

/// True for the address of one host.
const fn is_one_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !(v4.is_multicast() || v4.is_broadcast() || v4.is_unspecified()),
        IpAddr::V6(v6) => !(v6.is_multicast() || v6.is_unspecified()),
    }
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
    /// An address besides.
    also: Option<IpAddr>,
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
            Some(_) if self.also == Some(address.to_canonical()) => true,
            Some((peers, peer)) => peers.allow(address, Some(*peer)),
        }
    }

    /// The same with one more address.
    fn with(mut self, also: Option<IpAddr>) -> Self {
        self.also = also.map(|address| address.to_canonical());
        self
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
        let host = |address| (address, IpNet::from(address).prefix_len());
        let mut all = match peer.to_canonical() {
            peer if peer.is_loopback() => LOOPBACK.to_vec(),
            peer => vec![host(peer)],
        };
        all.extend(self.also.map(host));
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
    /// The client has proven the key.
    pub has_key: bool,
    /// Permitted data addresses.
    pub data_peers: DataPeers,
    /// Data accepted on the port of the control connection.
    pub one_port: OnePort,
    /// Data ports of netserver; `None` lets the kernel choose.
    pub data_ports: Option<PortRange>,
    /// Resource limits.
    pub limits: Limits,
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
                let proven = self.has_key && is_one_host(to.ip());
                if !(proven || self.data_peers.allow(to.ip(), peer)) {
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
        job.sources = self.sources_of(peer, job);
        Ok(())
    }

    /// Permitted sources of the data of a test. A connection has consented by its handshake, and
    /// datagrams that netserver only receives are harmless: a client that names an address of
    /// either end for its data gets data from there.
    fn sources_of(&self, peer: Option<IpAddr>, job: &EndJob) -> Sources {
        let receives_only = job.receives && !job.sends;
        let harmless = job.transport.is_connected() || receives_only;
        // A connection through the port of the control connection shows the test's token.
        let has_token = job.end.one_port && job.transport.is_connected();
        if has_token || harmless && job.bind.is_some() {
            return Sources::default();
        }
        let named = job.data_from.filter(|_| harmless || self.has_key);
        self.sources(peer).with(named)
    }

    /// Permits every feature to a client that is no stranger: one with the key, or on this host,
    /// where `data_peers` keeps its data.
    #[must_use]
    pub fn for_client(mut self, has_key: bool, here: bool) -> Self {
        self.has_key = has_key;
        if has_key || (here && self.data_peers == DataPeers::Same) {
            self.features = self.features.for_known();
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
            also: None,
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
