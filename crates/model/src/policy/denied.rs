//! Reasons for refusing a client or its request.

use std::net::IpAddr;
use std::time::Duration;

use thiserror::Error;

use super::features::GuardedFeature;
use super::transports::TransportGroup;
use crate::catalog::transports::TransportId;

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
    /// netserver has read its settings again since the client began.
    #[error("it has just read its settings again: try again")]
    Reloaded,
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
    #[error(
        "datagrams go only where the control connection comes from, or where a client with its key \
         asks for them, not to {0} (--data-peers)"
    )]
    DataPeer(IpAddr),
    /// The data address is unverified.
    #[error("datagrams go only where a control connection over IP comes from (--data-peers)")]
    DataPeerUnknown,
    /// Users may not choose this algorithm of congestion control on netserver's host.
    #[error(
        "its host does not permit users the congestion control '{0}' (-K; \
         net.ipv4.tcp_allowed_congestion_control)"
    )]
    Congestion(String),
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
        "reloaded",
        "penalty",
        "passphrase",
        "key-required",
        "wrong-key",
        "key-role",
        "key-sessions",
        "test-time",
        "transport",
        "feature",
        "congestion",
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
            Self::Reloaded => "reloaded",
            Self::Penalty(_) => "penalty",
            Self::Passphrase => "passphrase",
            Self::KeyRequired => "key-required",
            Self::WrongKey => "wrong-key",
            Self::KeyRole => "key-role",
            Self::KeySessions(_) => "key-sessions",
            Self::TestTime(_) | Self::TestWithoutTime(_) => "test-time",
            Self::Transport(_) => "transport",
            Self::Feature(_) => "feature",
            Self::Congestion(_) => "congestion",
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
            | Self::Congestion(_)
            | Self::DataGroup
            | Self::DataFile
            | Self::OnePort
            | Self::OnePortDatagrams
            | Self::Token => EACCES,
            // As from a netserver that cannot open such a socket.
            Self::Transport(_) => EPROTONOSUPPORT,
            Self::Sessions(..) | Self::Startups | Self::Busy | Self::Reloaded => EUSERS,
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
