//! The options in front of `--`.

use std::path::PathBuf;
use std::time::Duration;

use netperf_model::{
    Arrival, CpuMethod, Duplex, IoMethod, IperfShape, Limit, PassphraseText, PeerProgram,
    Placement, Settings, Stamper, ThroughputUnit,
};

use super::{HostArg, PerDirection, PerEnd};

/// The options in front of `--`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GlobalArgs {
    /// `--history`: where the result is kept, empty for the usual place.
    pub history: Option<String>,
    /// `-a`: alignment of netperf's buffers.
    pub align: PerDirection<i32>,
    /// `-A`: alignment of netserver's buffers.
    pub remote_align: PerDirection<i32>,
    /// `-o`: offset of netperf's buffers.
    pub offset: PerDirection<i32>,
    /// `-O`: offset of netserver's buffers.
    pub remote_offset: PerDirection<i32>,
    /// `-b`: operations per interval.
    pub pace_burst: PerEnd<i32>,
    /// `-w`: interval.
    pub pace_interval: PerEnd<Duration>,
    /// `-B`: brand.
    pub brand: Option<String>,
    /// `-c`: CPU at netperf.
    pub cpu: CpuArg,
    /// `-C`: CPU at netserver.
    pub remote_cpu: CpuArg,
    /// `--cpu-method`: how both ends measure.
    pub cpu_method: Option<CpuMethod>,
    /// `-d`: how often.
    pub debug: u32,
    /// `-D`: seconds between two interim results; negative has no special meaning.
    pub interim: Option<f64>,
    /// True if `-D` asks for interim results to be printed.
    pub prints_interim: bool,
    /// True if CPU utilisation is measured for a history and has no columns in classic output.
    pub hides_cpu: bool,
    /// `--list`: what can run instead of a run.
    pub list: bool,
    /// `--json` or `--json-stream`, the last of them.
    pub json: Option<JsonArg>,
    /// A summary for a person.
    pub human: HumanArg,
    /// `-f`: unit.
    pub unit: Option<ThroughputUnit>,
    /// `-F`: fill files.
    pub fill: PerEnd<String>,
    /// `-H`: netserver's host.
    pub remote: HostArg,
    /// `-L`: netperf's host.
    pub local: HostArg,
    /// `-n`: number of CPUs.
    pub cpu_count: Option<i32>,
    /// `-i`: iterations.
    pub iterations: Option<IterationsArg>,
    /// `-I`: confidence.
    pub confidence: ConfidenceArg,
    /// `--bidirectional`.
    pub bidirectional: Option<Duplex>,
    /// I/O options.
    pub io: IoArgs,
    /// `-j`: keep latency statistics.
    pub latency: bool,
    /// `-k`: bytes dirtied (first) and read (second) at netperf.
    pub touch: (Option<i32>, Option<i32>),
    /// `-K`: bytes dirtied (first) and read (second) at netserver.
    pub remote_touch: (Option<i32>, Option<i32>),
    /// `-l`: when the test ends.
    pub length: Option<Limit>,
    /// `-N`: no control connection.
    pub no_control: bool,
    /// `-p`: control ports; the remote one is netserver's.
    pub port: PerEnd<String>,
    /// `--iperf2` or `--iperf3`.
    pub peer: Option<PeerProgram>,
    /// `--output`.
    pub output: Option<IperfShape>,
    /// `-P`: banner and titles.
    pub headers: Option<i32>,
    /// `-r`: confidence in the result only.
    pub result_only: bool,
    /// `-s`: seconds between set-up and traffic.
    pub wait: Option<i32>,
    /// `-S`: keep-alive.
    pub keepalive: bool,
    /// `-t`: test name, upper case.
    pub test: Option<String>,
    /// `--udp`: the UDP form of the test.
    pub udp: bool,
    /// `--reverse`: the form of the test in which netserver sends.
    pub reverse: bool,
    /// `-T`: CPUs; the outer `Option` tells whether `-T` was given at all.
    pub bind: Option<PerEnd<i32>>,
    /// `-v`: verbosity.
    pub verbosity: Option<i32>,
    /// `-W`: buffers in the rings.
    pub width: PerDirection<i32>,
    /// `--tls-cipher`: the only cipher suite.
    pub tls_cipher: Option<String>,
    /// `-y`: socket priority.
    pub priority: PerEnd<i32>,
    /// `-Y`: type of service; the inner `None` is a word that means nothing.
    pub tos: PerEnd<Option<u8>>,
    /// The name by which the type of service was given, which promises more than the letter.
    pub service_option: Option<&'static str>,
    /// `--count`: the same.
    pub count: bool,
    /// `-Z`: passphrase.
    pub passphrase: Option<PassphraseText>,
    /// `--key-file`: the file with the key that netserver has to have.
    pub key_file: Option<PathBuf>,
    /// `--control-keepalive`: how often an idle control connection is probed.
    pub control_keepalive: Option<Duration>,
    /// Many flows at once.
    pub flows: FlowsArgs,
    /// Time series options.
    pub series: SeriesArgs,
    /// Terminal display during a test.
    pub show: Show,
    /// A rate to keep to.
    pub rate: RateArgs,
    /// Going on until figures are known.
    pub until: UntilArgs,
}

/// CPU measurement: number of options, and the rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuArg {
    /// True if it was asked for.
    pub wanted: bool,
    /// The calibration rate.
    pub rate: Option<f64>,
    /// A rate that has the form of an address, as `-c` of iperf takes it.
    pub address: Option<String>,
}

/// Global `-i`, clamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationsArg {
    /// At least this many.
    pub min: u32,
    /// At most this many.
    pub max: u32,
}

/// Global `-I`, checked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConfidenceArg {
    /// 95 or 99 percent.
    pub level: Option<u32>,
    /// Full width in percent.
    pub width: Option<f64>,
}

/// Form of JSON output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonArg {
    /// `--json`: one document.
    Document,
    /// `--json-stream`: one event per line.
    Stream,
}

/// Request for a summary for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HumanArg {
    /// None.
    #[default]
    No,
    /// `NETPERF_OUTPUT`: unless an option selects the output.
    ByDefault,
    /// `--human`.
    Yes,
}

/// I/O options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoArgs {
    /// `--io`; `None` inside is `auto`.
    pub method: PerEnd<Option<IoMethod>>,
    /// `--zerocopy`.
    pub zerocopy: bool,
    /// `--discard`.
    pub discard: bool,
    /// `--batch`: messages per call.
    pub batch: PerEnd<i32>,
    /// `--segment-offload`.
    pub segments: PerEnd<bool>,
    /// `--splice`.
    pub splice: bool,
    /// Socket options that both ends honour: netperf's.
    pub settings: Settings,
    /// The same of netserver.
    pub remote_settings: Settings,
    /// `--sequence`.
    pub sequence: bool,
    /// `--one-port`.
    pub one_port: Option<OnePortArg>,
}

netperf_model::words! {
    /// Use of the control connection's port for data.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum OnePortArg {
        /// Always.
        #[default]
        On = "on",
        /// When a separate port is blocked.
        Auto = "auto",
    }
}

/// The options about many flows; any of them asks for the engine that has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowsArgs {
    /// `--flows`: how many.
    pub flows: Option<u32>,
    /// `--threads`: on how many threads.
    pub threads: PerEnd<u32>,
    /// `--cpus` and `--remote-cpus`: on these CPUs.
    pub cpus: PerEnd<Vec<u32>>,
    /// `--place`: placed by this rule, at both ends.
    pub place: Option<Placement>,
    /// `--warmup`: time before the flows count.
    pub warmup: Option<Duration>,
    /// `--cooldown`: time when they do not count any more.
    pub cooldown: Option<Duration>,
    /// `--begin-at`: reading of the monotonic clock at which they begin.
    pub begin_at: Option<u64>,
}

/// Time series options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesArgs {
    /// `--series`: how often; never where it is zero.
    pub every: PerEnd<Duration>,
    /// `--series-flows`: of how many connections.
    pub flows: Option<u32>,
    /// `--timestamps`.
    pub stamps: Option<Stamper>,
}

/// Terminal display during a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Show {
    /// `--live`: the whole screen.
    pub live: bool,
    /// `--progress`: a line.
    pub progress: Progress,
}

netperf_model::words! {
    /// When a line of progress is shown.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Progress {
        /// If it does not disturb other output.
        #[default]
        Auto = "auto",
        /// Never.
        Never = "never",
        /// Wherever there is a terminal.
        Always = "always",
    }
}

/// The options about a rate to keep to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateArgs {
    /// `--rate`.
    pub rate: Option<RateArg>,
    /// `--arrival`.
    pub arrival: Option<Arrival>,
    /// `--seed`.
    pub seed: Option<u64>,
}

/// So much a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateArg {
    /// The number, above 0.
    pub per_second: f64,
    /// Its unit.
    pub counts: RateCounts,
}

/// Unit of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateCounts {
    /// Requests of a request/response test, bits elsewhere: a number without a unit.
    Default,
    /// Packets: `pps`.
    Packets,
    /// Bits: `bit`, `bps`.
    Bits,
}

/// The options about going on until figures are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UntilArgs {
    /// `--until`.
    pub until: Option<UntilArg>,
    /// `--until-confidence`: percent.
    pub level: Option<u32>,
}

/// Required accuracy.
#[derive(Clone, Debug, PartialEq)]
pub struct UntilArg {
    /// As a share, above 0.
    pub precision: f64,
    /// Percentiles of the latency, as shares.
    pub percentiles: Vec<f64>,
}
