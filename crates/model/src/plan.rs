//! Resolved plan of a test: explicit defaults, separate settings for each end, no open sockets.

mod confidence;
mod family;
mod flow;
mod report;

use serde::{Deserialize, Serialize};

pub use confidence::ConfidencePlan;
pub use family::Family;
pub use flow::{Duplex, Flow};
pub use report::{Format, IperfShape, ReportPlan, SelectionSource};

use std::path::PathBuf;
use std::time::Duration;

use crate::catalog::settings::Settings;
use crate::catalog::tests::TestId;
use crate::catalog::transports::TransportId;
use crate::cpu::CpuMethod;
use crate::fields::AsSeconds;
use crate::io::{Feature, IoPlan};
use crate::many::Many;
use crate::one_way::Stamper;
use crate::peer::PeerProgram;
use crate::rate::RatePlan;
use crate::secret::{PassphraseText, Secret};
use crate::series::SeriesPlan;
use crate::until::UntilPlan;

/// End condition of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After this long.
    Time(Duration),
    /// After this many bytes (one-way tests) or transactions (all others).
    Units(u64),
    /// After this many whole messages (sctp suite `-N`, one-way tests).
    Messages(u64),
    /// On a signal (`-l 0`).
    UntilStopped,
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

/// Options of the data socket of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// CPU utilisation measurement of one end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuPlan {
    /// Calibration rate that the user gives in place of a calibration; unused with
    /// `/proc/stat`.
    pub rate: Option<f32>,
    /// Measurement method.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// Settings of one end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndPlan {
    /// Options of the data socket.
    pub socket: SocketPlan,
    /// Send buffers.
    pub send: RingPlan,
    /// Receive buffers.
    pub recv: RingPlan,
    /// CPU measurement; `None` if not requested.
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
    /// Data socket location, for transports without IP addresses.
    pub place: PlacePlan,
    /// I/O method and options.
    pub io: IoPlan,
    /// Sampling of `TCP_INFO` over time; `None` disables it.
    pub series: Option<SeriesPlan>,
    /// Source of time stamps for transactions; `None` disables them.
    pub stamps: Option<Stamper>,
    /// Send rate; `None` is unlimited.
    pub rate: Option<RatePlan>,
    /// True if trials select, or have selected, the I/O method.
    pub auto_io: bool,
    /// True if datagrams carry sequence numbers, and loss, order and delay are recorded.
    pub sequence: bool,
    /// True if the single data socket carries bulk data in both directions at once.
    pub duplex: bool,
    /// True if netserver reports the counts of each flow.
    pub flow_counts: bool,
    /// True if netserver reports what it receives by time.
    pub arrivals: bool,
    /// Longest time from one report of them to the next; `None` leaves it to netserver.
    pub arrivals_every: Option<Duration>,
    /// True if netserver reports the number of its failed sends.
    pub failed_sends: bool,
    /// True if data uses the port of the control connection.
    pub one_port: bool,
    /// True if netperf may end the run early where only this end sends.
    pub until: bool,
    /// Bytes of the number of a request, which its response repeats; `None` without numbers.
    pub numbers: Option<u8>,
    /// Part of a second by which the test is shorter than the whole seconds of the request; `None`
    /// if netserver does not hear of it.
    pub short_by: Option<Duration>,
}

impl EndPlan {
    /// Features that this end requests and that the original netserver does not support.
    #[must_use]
    pub fn features(&self) -> Vec<Feature> {
        let io = &self.io;
        let settings = self.socket.settings.iter();
        let asked = [
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
            (Feature::Arrivals, self.arrivals),
            (Feature::FailedSends, self.failed_sends),
            (Feature::Numbers, self.numbers.is_some()),
            (Feature::Fractions, self.short_by.is_some()),
        ];
        let asked = asked
            .into_iter()
            .filter_map(|(feature, asked)| asked.then_some(feature));
        (io.method.feature().into_iter())
            .chain(asked)
            .chain(settings.map(|(setting, _)| Feature::Setting(setting)))
            .collect()
    }
}

/// Data socket location, for transports without IP addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacePlan {
    /// Directory of this end's socket file (unix suite `-p`); `None` is the system's directory
    /// for temporary files.
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
    /// True if the user named the host. An unnamed local host is a wildcard and follows the
    /// family that the remote name resolves to.
    pub named: bool,
}

/// Settings of the control connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlPlan {
    /// Address of netserver.
    pub remote: DataAddress,
    /// Local address of the connection.
    pub local: DataAddress,
    /// True if the user named a host or a port; netperf then starts no private netserver.
    pub explicit: bool,
    /// Passphrase to send first, if any (`-Z`).
    pub passphrase: Option<PassphraseText>,
    /// File with the key that netserver must have (`--key-file`).
    pub key_file: Option<PathBuf>,
    /// The key, after netperf has read it.
    pub secret: Option<Secret>,
    /// Keepalive interval of an idle connection (`--control-keepalive`); zero disables probes.
    pub keepalive: Duration,
}

impl ControlPlan {
    /// Default keepalive interval of the control connection. A NAT may drop an idle connection
    /// after some minutes, and a short connection after half a minute.
    pub const KEEPALIVE: Duration = Duration::from_secs(15);
}

/// Local ports that connection tests bind to unless others are asked for: from, up to and not
/// including.
pub const LOCAL_PORTS: (u16, u16) = (5000, 65_535);

/// Plan of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct TestPlan {
    /// The requested test.
    pub test: TestId,
    /// Transport of the data.
    pub transport: TransportId,
    /// Directions of the data.
    pub flow: Flow,
    /// End condition.
    pub limit: Limit,
    /// Request size in bytes; `None` outside request/response.
    pub request: Option<u32>,
    /// Response size in bytes; `None` outside request/response.
    pub response: Option<u32>,
    /// Extra requests kept in flight (test-specific `-b`).
    pub burst: u32,
    /// The number was given as a negative one, as it is printed again.
    pub burst_negative: bool,
    /// Associations at the same time (sctp suite `-T`); 1 for every other transport.
    pub associations: u32,
    /// The program at the other end; `None` for netserver, and with `-N`.
    pub peer: Option<PeerProgram>,
    /// The control connection; `None` with `-N`.
    pub control: Option<ControlPlan>,
    /// Address of netperf's data socket.
    pub local_data: DataAddress,
    /// Address of netserver's data socket.
    pub remote_data: DataAddress,
    /// netperf's end.
    pub local: EndPlan,
    /// netserver's end.
    pub remote: EndPlan,
    /// Local port range of connection tests: from, up to and not including; `None` leaves the
    /// choice to the kernel.
    pub port_range: Option<(u16, u16)>,
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
    /// Count what each connection of a connection test retransmitted.
    pub retransmissions: bool,
    /// Number the datagrams, as with `--sequence`, if netserver can.
    pub numbers_datagrams: bool,
    /// Interim results at least this often.
    pub interim: Option<Duration>,
    /// Confidence intervals; `None` runs once, as TCP_CC and TCP_MSS always do.
    pub confidence: Option<ConfidencePlan>,
    /// Identifier given with `-u`; `None` makes a fresh one.
    pub uuid: Option<String>,
    /// Print `tcpi_*` lines when the data connection ends (`DUMP_TCP_INFO`).
    pub dump_tcp_info: bool,
    /// Many flows at once; `None` is one flow, moved by the plain loop.
    pub many: Option<Many>,
    /// Early end of the run, once figures reach this precision.
    pub until: Option<UntilPlan>,
}

impl TestPlan {
    /// The burst as it is asked for: negative for one that is sent at the beginning.
    #[must_use]
    pub fn asked_burst(&self) -> i64 {
        let burst = i64::from(self.burst);
        if self.burst_negative { -burst } else { burst }
    }

    /// True if the program at the other end cannot be asked for anything (`-N`).
    #[must_use]
    pub const fn has_no_peer(&self) -> bool {
        self.control.is_none() && self.peer.is_none()
    }

    /// True if datagrams of UDP or UDP-Lite carry bulk data one way or both ways, between our own
    /// ends.
    #[must_use]
    pub const fn sends_datagrams_in_bulk(&self) -> bool {
        let datagrams = matches!(self.transport, TransportId::Udp | TransportId::UdpLite);
        datagrams && self.peer.is_none() && !self.flow.counts_transactions()
    }
}
