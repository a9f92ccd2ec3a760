//! What will be done: every default explicit, each end separate, no socket touched yet.

mod flow;
mod report;

pub use flow::{Duplex, Flow};
pub use report::{Format, ReportPlan, SelectionSource};

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalog::settings::Settings;
use crate::catalog::tests::TestId;
use crate::catalog::transports::TransportId;
use crate::cpu::CpuMethod;
use crate::fields::{AsPercent, AsSeconds};
use crate::io::{Feature, IoMethod, IoPlan};
use crate::many::Many;
use crate::one_way::Stamper;
use crate::rate::RatePlan;
use crate::secret::Secret;
use crate::series::SeriesPlan;
use crate::until::UntilPlan;

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After this long.
    Time(Duration),
    /// After this many bytes (one-way tests) or transactions (all others).
    Units(u64),
    /// After this many whole messages (sctp suite `-N`, one-way tests).
    Messages(u64),
    /// When a signal says so (`-l 0`).
    UntilStopped,
}

/// An address family as asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Family {
    /// Whatever the name resolves to.
    #[default]
    Unspecified,
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// The name that messages and the banner print.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Unspecified => "AF_UNSPEC",
            Self::V4 => "AF_INET",
            Self::V6 => "AF_INET6",
        }
    }

    /// The number that `SOURCE_FAMILY` and `DEST_FAMILY` print (Linux values).
    #[must_use]
    pub const fn number(self) -> i32 {
        match self {
            Self::Unspecified => 0,
            Self::V4 => 2,
            Self::V6 => 10,
        }
    }
}

/// Routing of data (`SO_DONTROUTE`, socket(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum Routing {
    /// Routed as usual.
    #[default]
    Routed,
    /// Only to directly connected hosts (`-R 0`).
    DirectOnly,
}

impl From<Routing> for bool {
    fn from(routing: Routing) -> Self {
        routing == Routing::Routed
    }
}

impl From<bool> for Routing {
    fn from(routed: bool) -> Self {
        if routed {
            Self::Routed
        } else {
            Self::DirectOnly
        }
    }
}

/// Options of the data socket of one end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename = "socket")]
pub struct SocketPlan {
    /// `SO_SNDBUF`; null leaves the system default.
    #[serde(rename = "send_buffer_bytes")]
    pub send_buffer: Option<u32>,
    /// `SO_RCVBUF`; null leaves the system default.
    #[serde(rename = "recv_buffer_bytes")]
    pub recv_buffer: Option<u32>,
    /// `TCP_MAXSEG`.
    #[serde(rename = "segment_size_bytes")]
    pub segment_size: Option<u32>,
    /// `TCP_NODELAY`.
    pub nodelay: bool,
    /// `TCP_CORK`.
    pub cork: bool,
    /// `SO_KEEPALIVE`.
    pub keepalive: bool,
    /// `SO_DEBUG`.
    pub debug: bool,
    /// True if data may be routed: false sets `SO_DONTROUTE`.
    #[serde(rename = "routed")]
    #[schemars(with = "bool")]
    pub routing: Routing,
    /// `SO_PRIORITY`.
    pub priority: Option<i32>,
    /// `IP_TOS` or `IPV6_TCLASS`.
    #[serde(rename = "type_of_service")]
    pub tos: Option<u8>,
    /// `TCP_CONGESTION`.
    #[serde(rename = "congestion_control")]
    pub congestion: Option<String>,
    /// True if UDP is answered from the address that was asked (`IP_PKTINFO`).
    pub packet_info: bool,
    /// `TCP_DEFER_ACCEPT` on the listener.
    pub defer_accept: bool,
    /// `TCP_FASTOPEN`.
    pub fast_open: bool,
    /// True if the datagram socket is connected to its peer.
    pub connected_datagram: bool,
    /// True if datagrams are never fragmented (path MTU discovery "do").
    pub no_fragmentation: bool,
    /// `IP_MULTICAST_TTL`.
    #[serde(rename = "multicast_ttl_hops")]
    pub multicast_ttl: Option<u8>,
    /// Options that both ends honour.
    #[serde(flatten)]
    pub settings: Settings,
    /// `O_NONBLOCK`: calls return at once and are made again (sctp suite `-B`).
    #[serde(skip)]
    pub non_blocking: bool,
    /// The only cipher suite that TLS may use, by its IANA name; `None` leaves the choice to
    /// the ends.
    #[serde(skip)]
    pub tls_cipher: Option<String>,
}

/// The buffers that calls cycle through in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename = "buffers")]
pub struct RingPlan {
    /// Bytes per call; null derives it from the socket buffer.
    #[serde(rename = "size_bytes")]
    pub size: Option<u32>,
    /// Number of buffers; null derives it.
    #[serde(rename = "count")]
    pub width: Option<u32>,
    /// Alignment of each buffer, a power of two, bytes.
    #[serde(rename = "align_bytes")]
    pub align: u32,
    /// Offset from that alignment, bytes.
    #[serde(rename = "offset_bytes")]
    pub offset: u32,
}

impl Default for RingPlan {
    fn default() -> Self {
        Self {
            size: None,
            width: None,
            align: 8,
            offset: 0,
        }
    }
}

/// Whether and how an end measures its CPU utilisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuPlan {
    /// The calibration rate the user gave, instead of a calibration; it has no influence
    /// with `/proc/stat`.
    pub rate: Option<f32>,
    /// How to measure.
    pub method: CpuMethod,
}

impl Default for CpuPlan {
    fn default() -> Self {
        Self {
            rate: None,
            method: CpuMethod::ProcStat,
        }
    }
}

/// Bytes of each buffer touched around the calls (global `-k`, `-K`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TouchPlan {
    /// Bytes written before each send and each receive.
    pub dirty: u32,
    /// Bytes read before each receive.
    pub clean: u32,
}

/// Operations released per interval (global `-b`, `-w`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename = "pace")]
pub struct PacePlan {
    /// Operations per interval; with 0 nothing is paced, and the interval only shown.
    #[serde(rename = "operations")]
    pub burst: u32,
    /// The interval.
    #[serde(rename = "interval_seconds", with = "AsSeconds")]
    pub interval: Duration,
}

/// A CPU that a process is bound to (global `-T`).
pub type CpuBinding = Option<u32>;

/// Everything one end is asked to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndPlan {
    /// Options of the data socket.
    pub socket: SocketPlan,
    /// Send buffers.
    pub send: RingPlan,
    /// Receive buffers.
    pub recv: RingPlan,
    /// CPU measurement; `None` when not asked for.
    pub cpu: Option<CpuPlan>,
    /// The CPU to run on.
    pub bind: CpuBinding,
    /// File whose contents fill the buffers.
    pub fill: Option<PathBuf>,
    /// Pacing.
    pub pace: Option<PacePlan>,
    /// Bytes touched around the calls.
    pub touch: TouchPlan,
    /// Avoid copying data where the system can (test-specific `-V`).
    pub copy_avoidance: bool,
    /// Where the data socket is, for transports without IP addresses.
    pub place: PlacePlan,
    /// How its bytes are moved.
    pub io: IoPlan,
    /// How often what TCP knows of its connections is written down; `None` does not.
    pub series: Option<SeriesPlan>,
    /// Who stamps the messages of transactions; `None` is nobody.
    pub stamps: Option<Stamper>,
    /// The rate that it keeps to when it sends; `None` is as fast as it goes.
    pub rate: Option<RatePlan>,
    /// The method is the one that trials pick, or have picked.
    pub auto_io: bool,
    /// Whether datagrams carry numbers, and what these tell is kept.
    pub sequence: bool,
    /// Whether its one data socket carries bulk data both ways at once.
    pub duplex: bool,
    /// Whether netserver is to tell what it counted on each of many flows.
    pub flow_counts: bool,
    /// Whether data passes through the port of the control connection.
    pub one_port: bool,
    /// Whether netperf may end the run before its time, where this end alone sends.
    pub until: bool,
}

impl EndPlan {
    /// What this end is asked for that a netserver of another make cannot be.
    #[must_use]
    pub fn features(&self) -> Vec<Feature> {
        let io = &self.io;
        let settings = self.socket.settings.iter();
        let asked = [
            (Feature::Poll, io.method == IoMethod::Poll),
            (Feature::Epoll, io.method == IoMethod::Epoll),
            (Feature::Uring, io.method == IoMethod::Uring),
            (Feature::ZeroCopy, io.zerocopy),
            (Feature::Discard, io.discard),
            (Feature::Batch, io.batch.is_some()),
            (Feature::Segments, io.segments),
            (Feature::Timestamps, self.stamps == Some(Stamper::Kernel)),
            (Feature::DeviceStamps, self.stamps == Some(Stamper::Device)),
            (
                Feature::Pages,
                self.series.is_some() || self.stamps.is_some(),
            ),
            (Feature::Series, self.series.is_some()),
            (Feature::Rate, self.rate.is_some()),
            (Feature::Splice, io.splice),
            (Feature::Sequence, self.sequence),
            (Feature::Duplex, self.duplex),
            (Feature::OnePort, self.one_port),
            (Feature::Until, self.until),
        ];
        asked
            .into_iter()
            .filter_map(|(feature, asked)| asked.then_some(feature))
            .chain(settings.map(|(setting, _)| Feature::Setting(setting)))
            .collect()
    }
}

/// Where an end's data socket is, for transports that are not reached at an IP address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacePlan {
    /// Where this end makes its own socket file (unix suite `-p`); `None` is the
    /// system's directory for temporary files.
    pub directory: Option<PathBuf>,
    /// The device: an interface (dlpi suite `-D`), a transport provider (xti suite
    /// `-X`), or interface, path and channel of a circuit (`-d` of FORE tests).
    pub device: Option<String>,
    /// The number of the device (dlpi suite `-p`).
    pub unit: Option<i32>,
    /// The service access point (dlpi suite `-s`); `None` is 84.
    pub sap: Option<u8>,
    /// The window for sending over a link-level connection, frames (dlpi suite `-w`,
    /// `-W`).
    pub window: Option<u32>,
    /// The window for receiving over it, frames (second half of the same options).
    pub recv_window: Option<u32>,
}

/// One end of the data connection as typed, not yet resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataAddress {
    /// Host name or address.
    pub host: String,
    /// Prefix length when the host part beyond it is drawn at random (`-H host/bits`).
    pub random_bits: Option<u8>,
    /// Port number or service name.
    pub port: String,
    /// Family asked for; `Unspecified` follows whatever the control connection resolved to.
    pub family: Family,
    /// Whether the user named the host. A local host that nobody named is a
    /// wildcard and follows the family that the remote name resolves to.
    pub named: bool,
}

/// How the control connection is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlPlan {
    /// Where netserver is.
    pub remote: DataAddress,
    /// Where the connection comes from.
    pub local: DataAddress,
    /// Whether the user named a host or a port: then no private netserver is started.
    pub explicit: bool,
    /// Sent first when given (`-Z`).
    pub passphrase: Option<String>,
    /// The file with the key that netserver has to have (`--key-file`).
    pub key_file: Option<PathBuf>,
    /// The key itself, once it has been read.
    pub secret: Option<Secret>,
    /// How often the connection is probed while nothing is said (`--control-keepalive`);
    /// zero for never.
    pub keepalive: Duration,
}

impl ControlPlan {
    /// How often a control connection is probed unless somebody says otherwise: a NAT may
    /// forget a connection that is idle for longer than some minutes, and short ones for
    /// half a minute.
    pub const KEEPALIVE: Duration = Duration::from_secs(15);
}

/// Confidence intervals (global `-i`, `-I`, `-r`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename = "confidence_wanted")]
pub struct ConfidencePlan {
    /// The level: 95 or 99 percent.
    #[serde(rename = "level_percent")]
    pub level: u32,
    /// Full width of the interval, of the mean.
    #[serde(rename = "width_percent", with = "AsPercent")]
    pub width: f64,
    /// The least number of iterations.
    pub min_iterations: u32,
    /// The greatest number of iterations.
    pub max_iterations: u32,
    /// True if only the result, and not CPU, must meet the width.
    pub result_only: bool,
}

/// What a run does.
#[derive(Clone, Debug, PartialEq)]
pub struct TestPlan {
    /// The test asked for.
    pub test: TestId,
    /// What data travels over.
    pub transport: TransportId,
    /// What moves in which direction.
    pub flow: Flow,
    /// When it ends.
    pub limit: Limit,
    /// Request size in bytes; `None` outside request/response.
    pub request: Option<u32>,
    /// Response size in bytes; `None` outside request/response.
    pub response: Option<u32>,
    /// Extra requests kept in flight (test-specific `-b`).
    pub burst: u32,
    /// Associations at the same time (sctp suite `-T`); 1 for every other transport.
    pub associations: u32,
    /// The control connection; `None` with `-N`.
    pub control: Option<ControlPlan>,
    /// Where netperf's data socket is.
    pub local_data: DataAddress,
    /// Where netserver's data socket is.
    pub remote_data: DataAddress,
    /// netperf's end.
    pub local: EndPlan,
    /// netserver's end.
    pub remote: EndPlan,
    /// Local ports that connection tests walk through: from, up to and not including.
    pub port_range: (u16, u16),
    /// Keep retrying after any failed connect in connection tests (`-U`).
    pub retry_connects: bool,
    /// Use `write(2)` rather than `send(2)` (`-I`).
    pub use_write: bool,
    /// Receive time-out of datagram request/response (`-e`).
    pub recv_timeout: Option<Duration>,
    /// Pause between set-up and traffic (global `-s`).
    pub wait: Duration,
    /// Keep statistics of how long each operation takes.
    pub latency: bool,
    /// Interim results at least this often.
    pub interim: Option<Duration>,
    /// Confidence intervals; `None` runs once, as TCP_CC and TCP_MSS always do.
    pub confidence: Option<ConfidencePlan>,
    /// Identifier given with `-u`; `None` makes a fresh one.
    pub uuid: Option<String>,
    /// Print `tcpi_*` lines when the data connection ends (`DUMP_TCP_INFO`).
    pub dump_tcp_info: bool,
    /// Many flows at once; `None` is one, moved by the plain loop.
    pub many: Option<Many>,
    /// End before the time is over once figures are known this well.
    pub until: Option<UntilPlan>,
}
