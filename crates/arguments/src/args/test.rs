//! The options behind `--`, of all suites.

use std::time::Duration;

use super::test_direction::TestDirection;
use super::{HostArg, PerDirection, PerEnd};

/// The options behind `--`, of all suites.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestArgs {
    /// `-T` of the sctp suite: associations at the same time.
    pub associations: Option<u32>,
    /// `-a`: defer accept.
    pub defer_accept: bool,
    /// `-a` of the fore suite: the adaptation layer.
    pub adaptation_layer: Option<i32>,
    /// `-b`: extra requests in flight.
    pub burst: i32,
    /// `-B`: answer from the address that was asked.
    pub packet_info: bool,
    /// `-c`: connection test.
    pub connect: bool,
    /// `-C`: cork.
    pub cork: bool,
    /// `-d`: direction.
    pub direction: Option<TestDirection>,
    /// The direction that `-m`, `-M` and `-r` imply where no `-d` came before.
    pub implied: TestDirection,
    /// `-D`: no delay.
    pub nodelay: bool,
    /// `-D` of the dlpi and hippi suites, `-X` of the xti suite, `-d` of the fore suite:
    /// the devices.
    pub device: PerEnd<String>,
    /// `-p` of the unix suite: where netperf's socket file is.
    pub directory: Option<String>,
    /// `-e`: receive time-out.
    pub recv_timeout: Option<Duration>,
    /// `-f`: no fragmentation.
    pub no_fragmentation: bool,
    /// `-F`: TCP fast open.
    pub fast_open: bool,
    /// `-g`: debug flag on the data socket.
    pub debug: bool,
    /// `-G`: segment size.
    pub segment_size: Option<i32>,
    /// `-H`: netserver's data host.
    pub remote: HostArg,
    /// `-L`: netperf's data host.
    pub local: HostArg,
    /// `-i`: asked for something that is gone.
    pub removed_interval: bool,
    /// `-I`: write instead of send.
    pub use_write: bool,
    /// `-k`, `-o`, `-O`: the last one.
    pub output: Option<OutputArg>,
    /// `-K`: congestion control.
    pub congestion: PerEnd<String>,
    /// `-N` of the sctp suite: messages or transactions.
    pub messages: Option<i32>,
    /// `-l`: multicast TTL.
    pub multicast_ttl: Option<i32>,
    /// `-m`: send sizes.
    pub send_size: PerEnd<i32>,
    /// `-M`: receive sizes.
    pub recv_size: PerEnd<i32>,
    /// `-n`: connected datagram socket at netperf.
    pub connected: bool,
    /// `-N`: connected datagram socket at netserver.
    pub remote_connected: bool,
    /// `-B` of the sctp suite.
    pub non_blocking: bool,
    /// `-p`: local ports of connection tests.
    pub port_range: (Option<i32>, Option<i32>),
    /// `-P`: data ports.
    pub port: PerEnd<String>,
    /// `-q`: socket pacing in bytes per second.
    pub pacing_rate: Option<i32>,
    /// `-r`: request and response size.
    pub request: (Option<i32>, Option<i32>),
    /// `-R`: routing.
    pub routing: Option<i32>,
    /// `-s`: netperf's socket buffers.
    pub buffers: PerDirection<i32>,
    /// `-S`: netserver's socket buffers.
    pub remote_buffers: PerDirection<i32>,
    /// `-s` of the dlpi and hippi suites: service access point.
    pub sap: Option<i32>,
    /// `-t`, `-T`: transport.
    pub transport: TransportArg,
    /// `-T` of the sockets suite, which has only TCP.
    pub unused_transport: Option<String>,
    /// `-p` of the dlpi and hippi suites: numbers of the devices.
    pub unit: PerEnd<i32>,
    /// `-u`: identifier.
    pub uuid: Option<String>,
    /// `-U`: keep retrying.
    pub retry_connects: bool,
    /// `-V`: copy avoidance.
    pub copy_avoidance: bool,
    /// `-W`: buffers in the send ring.
    pub send_width: Option<i32>,
    /// `-w` of the dlpi suite: netperf's windows.
    pub windows: PerDirection<i32>,
    /// `-W` of the dlpi suite: netserver's windows.
    pub remote_windows: PerDirection<i32>,
}

/// The shape of selector output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputLayout {
    /// `-k`.
    Keyval,
    /// `-o`.
    Csv,
    /// `-O`.
    Columns,
}

/// The last of `-k`, `-o` and `-O`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputArg {
    /// Which of the three.
    pub layout: OutputLayout,
    /// The selection: a list, `all` or a file name.
    pub selection: Option<String>,
}

/// Kind of socket that `-t` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketKindArg {
    /// A byte stream.
    Stream,
    /// Datagrams.
    Datagram,
    /// Messages over a connection.
    SeqPacket,
    /// A word that names no kind.
    Unknown(String),
}

/// Transport selection: the last `-T`, and any `-t` after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransportArg {
    /// `-T`: protocol name.
    pub protocol: Option<String>,
    /// `-t` after `-T`, or alone.
    pub kind: Option<SocketKindArg>,
}
