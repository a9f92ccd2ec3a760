//! Who may use netserver, and for what: one value, made once and asked for every client.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::catalog::settings::Setting;
use crate::catalog::transports::Domain;
use crate::end_job::EndJob;
use crate::plan::Limit;

mod network;

pub use network::{BadNetwork, Network};

/// What a client has to show before it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Require {
    /// Nothing.
    #[default]
    None,
    /// The passphrase, in the clear, or the key.
    Passphrase,
    /// The key, over an encrypted connection.
    Key,
}

impl Require {
    /// The words for it, in the order of what they demand.
    pub const WORDS: &'static [&'static str] = &["none", "passphrase", "key"];

    /// The one of this name.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "none" => Some(Self::None),
            "passphrase" => Some(Self::Passphrase),
            "key" => Some(Self::Key),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Passphrase => "passphrase",
            Self::Key => "key",
        }
    }
}

/// What data may come in by the port of the control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnePort {
    /// None.
    Off,
    /// Connections, and no datagrams.
    Tcp,
    /// Both.
    #[default]
    On,
}

impl OnePort {
    /// The words for it.
    pub const WORDS: &'static [&'static str] = &["off", "tcp", "on"];

    /// The one of this name.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "off" => Some(Self::Off),
            "tcp" => Some(Self::Tcp),
            "on" => Some(Self::On),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Tcp => "tcp",
            Self::On => "on",
        }
    }
}

/// Where data may go to and come from, apart from where the control connection does.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum DataPeers {
    /// Only there.
    #[default]
    Same,
    /// There, and these networks.
    Within(Arc<[Network]>),
    /// Anywhere.
    Any,
}

impl DataPeers {
    /// Whether data may go to `address` or come from there, where the control connection
    /// comes from `peer`; that is `None` where it does not come over IP.
    #[must_use]
    pub fn allow(&self, address: IpAddr, peer: Option<IpAddr>) -> bool {
        let address = address.to_canonical();
        let same = peer.map(|peer| peer.to_canonical()).is_some_and(|peer| {
            // A host that talks to itself may do so by any of its names for that.
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

/// Who one end of a session takes data from: [`DataPeers`] as they are for one client.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Sources {
    /// The rule; `None` is anybody.
    only: Option<(DataPeers, IpAddr)>,
}

impl Sources {
    /// Whether anybody may send or connect.
    #[must_use]
    pub const fn is_anybody(&self) -> bool {
        self.only.is_none()
    }

    /// Whether this address may.
    #[must_use]
    pub fn allow(&self, address: IpAddr) -> bool {
        match &self.only {
            None => true,
            Some((peers, peer)) => peers.allow(address, Some(*peer)),
        }
    }
}

/// How much a client may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sessions at the same time.
    pub sessions: Option<u32>,
    /// The same, of one address.
    pub peer_sessions: Option<u32>,
    /// The longest test.
    pub test_time: Option<Duration>,
    /// Bits per second that netserver sends in one test.
    pub send_rate: Option<u64>,
    /// How long a client may say nothing.
    pub idle_time: Duration,
}

impl Limits {
    /// How long a client may say nothing, unless the operator says otherwise.
    pub const IDLE_TIME: Duration = Duration::from_secs(300);
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: None,
            peer_sessions: None,
            test_time: None,
            send_rate: None,
            idle_time: Self::IDLE_TIME,
        }
    }
}

/// Who may use netserver, and for what.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Policy {
    /// Networks that may connect.
    pub allow: Vec<Network>,
    /// Networks that may not.
    pub deny: Vec<Network>,
    /// What they have to show; without a word from the operator, the strongest of what
    /// netserver was given.
    pub require: Option<Require>,
    /// Where data may go.
    pub data_peers: DataPeers,
    /// What data may come in by the port of the control connection.
    pub one_port: OnePort,
    /// How much.
    pub limits: Limits,
}

/// Sessions that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SessionLoad {
    /// All of them.
    pub all: u32,
    /// Those of the client's address.
    pub of_peer: u32,
}

/// Why a client, or what it asks for, is refused. `Display` is what it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// Its network may not connect.
    Network,
    /// There are as many sessions as there may be.
    Sessions(u32),
    /// It has as many sessions as one address may have.
    PeerSessions(u32),
    /// It has to have the key.
    KeyRequired,
    /// It does not have the key.
    WrongKey,
    /// The test takes longer than this.
    TestTime(Duration),
    /// The test has no time to compare with this.
    TestWithoutTime(Duration),
    /// Its data would go somewhere else than the control connection.
    DataPeer(IpAddr),
    /// Its data would go somewhere that nobody has proven to be there.
    DataPeerUnknown,
    /// Its data would go to a socket file of a host that is not its own.
    DataFile,
    /// Data over this transport cannot be held to this rate, bits per second.
    SendRate(u64),
    /// Data does not come in by the port of the control connection.
    OnePort,
    /// Connections do, and datagrams do not.
    OnePortDatagrams,
    /// Data came in by that port, and belongs to no session. Nobody is told.
    Token,
}

impl Denied {
    /// The words for each, for logs and metrics.
    pub const WORDS: &'static [&'static str] = &[
        "network",
        "sessions",
        "peer-sessions",
        "key-required",
        "wrong-key",
        "test-time",
        "data-peer",
        "send-rate",
        "one-port",
        "token",
    ];

    /// The word for it, one of [`Self::WORDS`].
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Sessions(_) => "sessions",
            Self::PeerSessions(_) => "peer-sessions",
            Self::KeyRequired => "key-required",
            Self::WrongKey => "wrong-key",
            Self::TestTime(_) | Self::TestWithoutTime(_) => "test-time",
            Self::DataPeer(_) | Self::DataPeerUnknown | Self::DataFile => "data-peer",
            Self::SendRate(_) => "send-rate",
            Self::OnePort | Self::OnePortDatagrams => "one-port",
            Self::Token => "token",
        }
    }

    /// The error number that says so to a client that reads nothing else (Linux's).
    #[must_use]
    pub const fn errno(&self) -> i32 {
        const EACCES: i32 = 13;
        const ERANGE: i32 = 34;
        const EUSERS: i32 = 87;
        const EDQUOT: i32 = 122;
        const ENOKEY: i32 = 126;
        const EKEYREJECTED: i32 = 129;
        match self {
            Self::Network
            | Self::DataPeer(_)
            | Self::DataPeerUnknown
            | Self::DataFile
            | Self::OnePort
            | Self::OnePortDatagrams
            | Self::Token => EACCES,
            Self::Sessions(_) => EUSERS,
            Self::PeerSessions(_) | Self::SendRate(_) => EDQUOT,
            Self::KeyRequired => ENOKEY,
            Self::WrongKey => EKEYREJECTED,
            Self::TestTime(_) | Self::TestWithoutTime(_) => ERANGE,
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network => f.write_str("your address is not allowed here (--allow, --deny)"),
            Self::Sessions(most) => {
                write!(
                    f,
                    "it has {most} sessions and may have no more (--max-sessions)"
                )
            }
            Self::PeerSessions(most) => write!(
                f,
                "your address has {most} sessions and may have no more (--max-peer-sessions)"
            ),
            Self::KeyRequired => {
                f.write_str("it serves only who has its key (--require): use --key-file")
            }
            Self::WrongKey => f.write_str("that is not its key (--key-file)"),
            Self::TestTime(most) => {
                write!(
                    f,
                    "a test may take {} at most (--max-test-time)",
                    Seconds(*most)
                )
            }
            Self::TestWithoutTime(most) => write!(
                f,
                "a test needs a time (-l), of {} at most (--max-test-time)",
                Seconds(*most)
            ),
            Self::DataPeer(address) => write!(
                f,
                "data goes only where the control connection comes from, not to {address} \
                 (--data-peers)"
            ),
            Self::DataPeerUnknown => f.write_str(
                "datagrams go only where a control connection over IP comes from (--data-peers)",
            ),
            Self::DataFile => f.write_str(
                "datagrams go to a socket file only for a client on the same host (--data-peers)",
            ),
            Self::SendRate(rate) => write!(
                f,
                "this test cannot be held to {rate} bits per second (--max-send-rate)"
            ),
            Self::OnePort => f.write_str("no data comes in by its port (--one-port off)"),
            Self::OnePortDatagrams => {
                f.write_str("no datagrams come in by its port (--one-port tcp)")
            }
            Self::Token => f.write_str("data with a token that no session has given out"),
        }
    }
}

/// A time for a line.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0.as_secs_f64())
    }
}

impl Policy {
    /// Whether a client at this address may connect; `None` is one that does not come
    /// over IP, and is in no network.
    ///
    /// The smallest network that holds the address decides; where one is both allowed and
    /// denied, it is denied. An address in none of them may connect unless some are
    /// allowed by name.
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

    /// Whether a client may have a session besides those there are.
    ///
    /// # Errors
    /// Why not.
    pub fn admit(&self, peer: Option<IpAddr>, load: SessionLoad) -> Result<(), Denied> {
        if !self.admits(peer) {
            return Err(Denied::Network);
        }
        let full = |limit: Option<u32>, count: u32| limit.filter(|most| count >= *most);
        if let Some(most) = full(self.limits.sessions, load.all) {
            return Err(Denied::Sessions(most));
        }
        match full(self.limits.peer_sessions, load.of_peer) {
            Some(most) => Err(Denied::PeerSessions(most)),
            None => Ok(()),
        }
    }

    /// What a client may have of what it asks for: the same within the limits.
    ///
    /// # Errors
    /// Why it may have nothing.
    pub fn permit(&self, peer: Option<IpAddr>, mut job: EndJob) -> Result<EndJob, Denied> {
        if let Some(most) = self.limits.test_time {
            match job.limit {
                Limit::Time(time) if time <= most => {}
                Limit::Time(_) => return Err(Denied::TestTime(most)),
                Limit::Units(_) | Limit::Messages(_) | Limit::UntilStopped => {
                    return Err(Denied::TestWithoutTime(most));
                }
            }
        }
        if job.end.one_port {
            self.pass_by_one_port(&mut job)?;
        }
        self.tie(peer, &mut job)?;
        self.slow_down(&mut job)?;
        Ok(job)
    }

    /// Lets data in by the port of the control connection.
    fn pass_by_one_port(&self, job: &mut EndJob) -> Result<(), Denied> {
        match self.one_port {
            OnePort::Off => return Err(Denied::OnePort),
            OnePort::Tcp if !job.transport.is_connected() => return Err(Denied::OnePortDatagrams),
            OnePort::Tcp | OnePort::On => {}
        }
        // Where datagrams come from is seen, whatever the client says.
        job.peer = None;
        Ok(())
    }

    /// Ties data to where the control connection comes from.
    fn tie(&self, peer: Option<IpAddr>, job: &mut EndJob) -> Result<(), Denied> {
        if !job.transport.is_inet() || self.data_peers == DataPeers::Any {
            return Ok(());
        }
        // Where a client says that it is matters only if something goes there, and not to where
        // something came from: behind a translating router that is another address than ours
        // for it.
        let to = job.peer.as_ref().filter(|_| job.sends_where_told());
        let to = to.and_then(|to| to.inet());
        if let Some(to) = to.map(|to| to.ip()) {
            if !self.data_peers.allow(to, peer) {
                return Err(Denied::DataPeer(to.to_canonical()));
            }
        }
        // Connections prove themselves.
        if peer.is_none() && !job.transport.is_connected() {
            return Err(Denied::DataPeerUnknown);
        }
        job.sources = self.sources(peer);
        Ok(())
    }

    /// Who data is taken from, where the control connection comes from `peer`.
    #[must_use]
    pub fn sources(&self, peer: Option<IpAddr>) -> Sources {
        let tied = self.data_peers != DataPeers::Any;
        Sources {
            only: peer
                .filter(|_| tied)
                .map(|peer| (self.data_peers.clone(), peer)),
        }
    }

    /// Lets netserver send to a socket file only for a client on the same host: another one can
    /// have none there, and would reach the services that have.
    ///
    /// # Errors
    /// Why not.
    pub fn keep_from_files(&self, here: bool, job: EndJob) -> Result<EndJob, Denied> {
        let to_a_file = job.transport.row().domain == Domain::Unix && job.sends_where_told();
        if to_a_file && !here && self.data_peers != DataPeers::Any {
            return Err(Denied::DataFile);
        }
        Ok(job)
    }

    /// Holds what netserver sends to a rate.
    fn slow_down(&self, job: &mut EndJob) -> Result<(), Denied> {
        let Some(bits) = self.limits.send_rate.filter(|_| job.sends) else {
            return Ok(());
        };
        // What a connection begins with goes out unpaced, and there are as many as one likes.
        if job.connects {
            return Err(Denied::SendRate(bits));
        }
        let flows = job.flow_count().max(1);
        if job.transport.paces_itself() {
            // Every connection takes it over from the socket that listens.
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
