//! Stage 1: what was typed, letter by letter. No look at the machine.

use std::path::PathBuf;
use std::time::Duration;

use netperf_model::{
    Arrival, CpuMethod, DataPeers, Duplex, Family, IoMethod, Limit, Limits, Network, OnePort,
    Placement, Policy, Require, Secret, Stamper, Unit,
};

use crate::grammar::Direction;
use crate::operations::Operations;

/// A value for netperf's end and one for netserver's; `None` was not typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends<T> {
    /// netperf's.
    pub local: Option<T>,
    /// netserver's.
    pub remote: Option<T>,
}

/// A value for sending and one for receiving; `None` was not typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ways<T> {
    /// For sending.
    pub send: Option<T>,
    /// For receiving.
    pub recv: Option<T>,
}

/// A host and a family, as `-H` and `-L` take them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostArg {
    /// The name or address.
    pub host: Option<String>,
    /// Prefix length behind a `/` (OMNI options only).
    pub random_bits: Option<u8>,
    /// The family in force after `-4`, `-6` and every `-H`.
    pub family: Option<Family>,
}

/// How often CPU measurement was asked for, and with which rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuArg {
    /// Whether it was asked for.
    pub wanted: bool,
    /// The calibration rate.
    pub rate: Option<f64>,
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

/// Global `-D`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterimArg {
    /// Seconds between two lines; negative looks at the clock after each operation.
    pub seconds: f64,
    /// First guess of the work units in between.
    pub units: Option<i32>,
}

/// How bytes are moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoArgs {
    /// `--io`; `None` inside is `auto`.
    pub method: Ends<Option<IoMethod>>,
    /// `--zerocopy`.
    pub zerocopy: bool,
    /// `--discard`.
    pub discard: bool,
    /// `--batch`: messages per call.
    pub batch: Ends<i32>,
    /// `--segment-offload`.
    pub segments: Ends<bool>,
    /// `--splice`.
    pub splice: bool,
    /// `--busy-poll`: microseconds.
    pub busy_poll: Ends<i32>,
    /// `--quickack`.
    pub quickack: Ends<bool>,
    /// `--notsent-lowat`: bytes.
    pub notsent_lowat: Ends<i32>,
    /// `--bind-device`: name of an interface.
    pub device: Ends<String>,
    /// `--mark`.
    pub mark: Ends<i32>,
    /// `--flow-label`.
    pub flow_label: Ends<i32>,
    /// `--remote-pacing-rate`: bytes per second.
    pub remote_pacing: Option<i32>,
    /// `--sequence`.
    pub sequence: bool,
    /// `--one-port`.
    pub one_port: bool,
}

/// The options in front of `--`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GlobalArgs {
    /// `--history`: where the result is kept, empty for the usual place.
    pub history: Option<String>,
    /// `-a`: alignment of netperf's buffers.
    pub align: Ways<i32>,
    /// `-A`: alignment of netserver's buffers.
    pub remote_align: Ways<i32>,
    /// `-o`: offset of netperf's buffers.
    pub offset: Ways<i32>,
    /// `-O`: offset of netserver's buffers.
    pub remote_offset: Ways<i32>,
    /// `-b`: operations per interval.
    pub pace_burst: Ends<i32>,
    /// `-w`: interval.
    pub pace_interval: Ends<Duration>,
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
    /// `-D`: interim results.
    pub interim: Option<InterimArg>,
    /// `--list`: what can run instead of a run.
    pub list: bool,
    /// `--json` or `--json-stream`, the last of them.
    pub json: Option<JsonArg>,
    /// `-f`: unit.
    pub unit: Option<Unit>,
    /// `-F`: fill files.
    pub fill: Ends<String>,
    /// `-H`: netserver's host.
    pub remote: HostArg,
    /// `-L`: netperf's host.
    pub local: HostArg,
    /// `-i`: iterations.
    pub iterations: Option<IterationsArg>,
    /// `-I`: confidence.
    pub confidence: ConfidenceArg,
    /// `--bidirectional`.
    pub bidirectional: Option<Duplex>,
    /// How bytes are moved.
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
    pub port: Ends<String>,
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
    /// `-T`: CPUs; the outer `Option` tells whether `-T` was given at all.
    pub bind: Option<Ends<i32>>,
    /// `-v`: verbosity.
    pub verbosity: Option<i32>,
    /// `-W`: buffers in the rings.
    pub width: Ways<i32>,
    /// `--tls-cipher`: the only cipher suite.
    pub tls_cipher: Option<String>,
    /// `-y`: socket priority.
    pub priority: Ends<i32>,
    /// `-Y`: type of service; the inner `None` is a word that means nothing.
    pub tos: Ends<Option<u8>>,
    /// `--dscp`: that it was given by this name, which promises more than the letter.
    pub dscp: bool,
    /// `--count`: the same.
    pub count: bool,
    /// `-Z`: passphrase.
    pub passphrase: Option<String>,
    /// `--key-file`: the file with the key that netserver has to have.
    pub key_file: Option<PathBuf>,
    /// `--control-keepalive`: how often an idle control connection is probed.
    pub control_keepalive: Option<Duration>,
    /// Many flows at once.
    pub flows: FlowsArgs,
    /// What is written down over time.
    pub series: SeriesArgs,
    /// What a terminal shows meanwhile.
    pub show: Show,
    /// A rate to keep to.
    pub rate: RateArgs,
    /// Going on until figures are known.
    pub until: UntilArgs,
}

/// The options about going on until figures are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UntilArgs {
    /// `--until`.
    pub until: Option<UntilArg>,
    /// `--until-confidence`: percent.
    pub level: Option<u32>,
}

/// How well figures must be known.
#[derive(Clone, Debug, PartialEq)]
pub struct UntilArg {
    /// As a share, above 0.
    pub precision: f64,
    /// Percentiles of the latency, as shares.
    pub percentiles: Vec<f64>,
}

/// What a terminal shows while a test runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Show {
    /// `--live`: the whole screen.
    pub live: bool,
    /// `--progress`: a line.
    pub progress: Progress,
}

/// When a line of progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// Where it is in nobody's way.
    #[default]
    Auto,
    /// Never.
    Never,
    /// Wherever there is a terminal.
    Always,
}

/// What is written down over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesArgs {
    /// `--series`: how often; never where it is zero.
    pub every: Ends<Duration>,
    /// `--series-flows`: of how many connections.
    pub flows: Option<u32>,
    /// `--timestamps`.
    pub stamps: Option<Stamper>,
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
    /// Whether it counts packets; otherwise requests or bits, as the test has it.
    pub packets: bool,
}

/// The options about many flows; any of them asks for the engine that has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowsArgs {
    /// `--flows`: how many.
    pub flows: Option<u32>,
    /// `--threads`: on how many threads.
    pub threads: Ends<u32>,
    /// `--cpus` and `--remote-cpus`: on these CPUs.
    pub cpus: Ends<Vec<u32>>,
    /// `--place`: placed by this rule, at both ends.
    pub place: Option<Placement>,
    /// `--warmup`: time before the flows count.
    pub warmup: Option<Duration>,
    /// `--cooldown`: time when they do not count any more.
    pub cooldown: Option<Duration>,
}

/// The shape of selector output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `-k`.
    Keyval,
    /// `-o`.
    Csv,
    /// `-O`.
    Columns,
}

/// How JSON is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonArg {
    /// `--json`: one document.
    Document,
    /// `--json-stream`: one event per line.
    Stream,
}

/// The last of `-k`, `-o` and `-O`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputArg {
    /// Which of the three.
    pub layout: Layout,
    /// The selection: a list, `all` or a file name.
    pub selection: Option<String>,
}

/// What kind of socket `-t` asks for.
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

/// What data is to travel over: the last word of `-T`, and of `-t` after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransportArg {
    /// `-T`: protocol name.
    pub protocol: Option<String>,
    /// `-t` when it stands after `-T`, or alone.
    pub kind: Option<SocketKindArg>,
}

/// The options behind `--`, of all suites.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestArgs {
    /// `-T` of the sctp suite: associations at the same time.
    pub associations: Option<u32>,
    /// `-a`: defer accept.
    pub defer_accept: bool,
    /// `-b`: extra requests in flight.
    pub burst: i32,
    /// `-B`: answer from the address that was asked.
    pub packet_info: bool,
    /// `-c`: connection test.
    pub connect: bool,
    /// `-C`: cork.
    pub cork: bool,
    /// `-d`: direction.
    pub direction: Option<Direction>,
    /// The direction that `-m`, `-M` and `-r` imply where no `-d` came before.
    pub implied: Direction,
    /// `-D`: no delay.
    pub nodelay: bool,
    /// `-D` of the dlpi and hippi suites, `-X` of the xti suite, `-d` of the fore suite:
    /// the devices.
    pub device: Ends<String>,
    /// `-p` of the unix suite: where netperf's socket file is.
    pub directory: Option<String>,
    /// `-e`: receive time-out in seconds.
    pub recv_timeout: Option<i32>,
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
    pub congestion: Ends<String>,
    /// `-N` of the sctp suite: messages or transactions.
    pub messages: Option<i32>,
    /// `-l`: multicast TTL.
    pub multicast_ttl: Option<i32>,
    /// `-m`: send sizes.
    pub send_size: Ends<i32>,
    /// `-M`: receive sizes.
    pub recv_size: Ends<i32>,
    /// `-n`: connected datagram socket at netperf.
    pub connected: bool,
    /// `-N`: connected datagram socket at netserver.
    pub remote_connected: bool,
    /// `-B` of the sctp suite.
    pub non_blocking: bool,
    /// `-p`: local ports of connection tests.
    pub port_range: (Option<i32>, Option<i32>),
    /// `-P`: data ports.
    pub port: Ends<String>,
    /// `-q`: socket pacing in bytes per second.
    pub pacing_rate: Option<i32>,
    /// `-r`: request and response size.
    pub request: (Option<i32>, Option<i32>),
    /// `-R`: routing.
    pub routing: Option<i32>,
    /// `-s`: netperf's socket buffers.
    pub buffers: Ways<i32>,
    /// `-S`: netserver's socket buffers.
    pub remote_buffers: Ways<i32>,
    /// `-s` of the dlpi and hippi suites: service access point.
    pub sap: Option<i32>,
    /// `-t`, `-T`: transport.
    pub transport: TransportArg,
    /// `-p` of the dlpi and hippi suites: numbers of the devices.
    pub unit: Ends<i32>,
    /// `-u`: identifier.
    pub uuid: Option<String>,
    /// `-U`: keep retrying.
    pub retry_connects: bool,
    /// `-V`: copy avoidance.
    pub copy_avoidance: bool,
    /// `-W`: buffers in the send ring.
    pub send_width: Option<i32>,
    /// `-w` of the dlpi suite: netperf's windows.
    pub windows: Ways<i32>,
    /// `-W` of the dlpi suite: netserver's windows.
    pub remote_windows: Ways<i32>,
}

/// Everything that was typed.
#[derive(Clone, Debug, PartialEq)]
pub struct Args {
    /// argv\[0\].
    pub program: String,
    /// argv joined by blanks.
    pub command_line: String,
    /// In front of `--`.
    pub global: GlobalArgs,
    /// Behind it.
    pub test: TestArgs,
}

/// The options of `netperf report`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportArgs {
    /// Files with results, in order.
    pub files: Vec<String>,
    /// `-o`: where the page goes.
    pub page: Option<PathBuf>,
    /// `--svg`: a folder for charts.
    pub svg: Option<PathBuf>,
    /// `--png`: a folder for charts.
    pub png: Option<PathBuf>,
    /// `--markdown`: where the tables go.
    pub markdown: Option<PathBuf>,
    /// `--csv`: where the numbers go.
    pub csv: Option<PathBuf>,
}

/// How two sets of runs are compared, and how that is printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparisonArgs {
    /// `--false-alarms`: the chance of one, as a share; `None` is the usual one.
    pub chance: Option<f64>,
    /// `--threshold`: the smallest change that matters, as a share; `None` is the usual
    /// one.
    pub threshold: Option<f64>,
    /// `--json`: print a document.
    pub json: bool,
    /// `--markdown`: print a table of Markdown.
    pub markdown: bool,
}

/// The options of `netperf compare`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareArgs {
    /// Files and folders of the first set.
    pub first: Vec<String>,
    /// Those of the second.
    pub second: Vec<String>,
    /// `--paired`: runs belong together one by one, in the order of their files.
    pub paired: bool,
    /// How they are compared.
    pub comparison: ComparisonArgs,
}

/// The options of `netperf run`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VersusArgs {
    /// What follows `netperf` on the first command line.
    pub first: Vec<String>,
    /// On the second.
    pub second: Vec<String>,
    /// `--pairs`: how many runs of each; `None` is the usual number.
    pub pairs: Option<u32>,
    /// `--keep`: a folder for the results.
    pub keep: Option<PathBuf>,
    /// How they are compared.
    pub comparison: ComparisonArgs,
}

/// The options of `netperf sweep`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepArgs {
    /// `-o`: the folder.
    pub folder: Option<PathBuf>,
    /// `--plan`: a file with the rest.
    pub file: Option<PathBuf>,
    /// What is run; empty where it goes on.
    pub plan: SweepWords,
}

/// What a sweep runs, as it was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepWords {
    /// What follows `netperf`, with places for values.
    pub command: Vec<String>,
    /// `--over`: names and values.
    pub over: Vec<String>,
    /// `--repeat`: how often; `None` is once.
    pub repeat: Option<u32>,
}

/// The options of `netperf history`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryArgs {
    /// What follows the word that says what to do: files, or results.
    pub words: Vec<String>,
    /// `--db`: where the history is.
    pub place: Option<String>,
    /// `--test`.
    pub test: Option<String>,
    /// `--host`.
    pub host: Option<String>,
    /// `--label`.
    pub label: Option<String>,
    /// `--configuration`.
    pub configuration: Option<String>,
    /// `--since`: a date or an age.
    pub since: Option<String>,
    /// `--before`: the same.
    pub before: Option<String>,
    /// `--limit`: how many are shown; `None` is the usual number.
    pub limit: Option<u32>,
    /// `--figure`: its name; `None` is the result itself.
    pub figure: Option<String>,
    /// `--last`: how many results of a configuration are looked at.
    pub last: Option<u32>,
    /// `--false-alarms`: the chance of one, as a share.
    pub chance: Option<f64>,
    /// `--keep-last`: how many results of each configuration stay.
    pub keep_last: Option<u32>,
    /// `--older-than`: an age.
    pub older_than: Option<String>,
    /// `--dry-run`: forget nothing.
    pub dry_run: bool,
    /// `--csv`: where an export goes.
    pub csv: Option<PathBuf>,
    /// `--parquet`: the same.
    pub parquet: Option<PathBuf>,
    /// `--json`: print a document.
    pub json: bool,
}

/// The options of netserver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerArgs {
    /// `-L`, `-4`, `-6`: where to listen; no host means every address.
    pub listen: HostArg,
    /// `-p`: port number or service name.
    pub port: Option<String>,
    /// `-D`: stay in the foreground.
    pub foreground: bool,
    /// `-f`: serve one control connection at a time, in this process.
    pub no_fork: bool,
    /// `-d`: how often.
    pub debug: u32,
    /// `-N`: never write debug output.
    pub quiet: bool,
    /// `-v`: verbosity, without effect.
    pub verbosity: i32,
    /// `-Z`: passphrase that every control connection must begin with.
    pub passphrase: Option<String>,
    /// `--cpu-method`: how to measure CPU utilisation unless the client asks otherwise.
    pub cpu_method: Option<CpuMethod>,
    /// `--config`: a file of settings.
    pub config: Option<PathBuf>,
    /// `--check-config`: a file of settings to look at.
    pub check_config: Option<PathBuf>,
    /// Who may use it, and for what.
    pub access: AccessArgs,
    /// How it is operated.
    pub operations: Operations,
    /// `--control-keepalive`: how often an idle control connection is probed.
    pub control_keepalive: Option<Duration>,
    /// Whether one of `-D -f -L -p` was given: then stdin is not an inetd connection.
    pub standalone: bool,
}

impl ServerArgs {
    /// The port to listen on, as typed or the default.
    #[must_use]
    pub fn port(&self) -> &str {
        self.port.as_deref().unwrap_or(crate::DEFAULT_PORT)
    }

    /// The family to listen on.
    #[must_use]
    pub fn family(&self) -> Family {
        self.listen.family.unwrap_or_default()
    }
}

impl ServerArgs {
    /// Who may use netserver, and for what.
    #[must_use]
    pub fn policy(&self) -> Policy {
        let access = &self.access;
        Policy {
            allow: access.allow.networks.clone(),
            deny: access.deny.networks.clone(),
            require: access.require,
            one_port: self.one_port(),
            data_peers: access.data_peers.clone().unwrap_or_default(),
            limits: Limits {
                sessions: access.sessions,
                peer_sessions: access.peer_sessions,
                test_time: access.test_time,
                send_rate: access.send_rate,
                idle_time: access
                    .idle_time
                    .map_or(Limits::IDLE_TIME, |time| time.max(SHORTEST_IDLE_TIME)),
            },
        }
    }

    /// What a client must have: as it was said, or the strongest of what there is.
    #[must_use]
    pub fn require(&self) -> Require {
        let strongest = match (&self.access.secret, &self.passphrase) {
            (Some(_), _) => Require::Key,
            (None, Some(_)) => Require::Passphrase,
            (None, None) => Require::None,
        };
        self.access.require.unwrap_or(strongest)
    }

    /// What data may come in by the port of the control connection. A netserver that serves
    /// one client at a time has nobody at its port meanwhile.
    #[must_use]
    pub fn one_port(&self) -> OnePort {
        if self.no_fork {
            return OnePort::Off;
        }
        self.access.one_port.unwrap_or_default()
    }

    /// The words with which the process of a session is to start: all that it has to know,
    /// and nothing about connections that are not its own.
    #[must_use]
    pub fn session_words(&self) -> Vec<String> {
        let access = &self.access;
        let seconds = |time: Duration| time.as_secs_f64().to_string();
        let words = [
            ("passphrase", self.passphrase.clone()),
            (
                "cpu-method",
                self.cpu_method.map(|method| method.name().to_owned()),
            ),
            (
                "require",
                access.require.map(|require| require.word().to_owned()),
            ),
            (
                "data-peers",
                access.data_peers.as_ref().map(DataPeers::to_string),
            ),
            ("max-test-time", access.test_time.map(seconds)),
            (
                "max-send-rate",
                access.send_rate.map(|bits| bits.to_string()),
            ),
            ("idle-time", access.idle_time.map(seconds)),
            ("control-keepalive", self.control_keepalive.map(seconds)),
        ];
        let given = words.into_iter();
        given
            .filter_map(|(name, value)| Some(format!("--{name}={}", value?)))
            .collect()
    }

    /// What was said so far comes from a file: what is typed takes its place.
    pub(crate) fn seal(&mut self) {
        self.access.allow.sealed = true;
        self.access.deny.sealed = true;
    }
}

/// A client has this long in any case.
const SHORTEST_IDLE_TIME: Duration = Duration::from_secs(1);

/// The options about who may use netserver, and for what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessArgs {
    /// `--key-file`: the file with the key that clients have to have.
    pub key_file: Option<PathBuf>,
    /// The key itself, once it has been read.
    pub secret: Option<Secret>,
    /// `--require`: what a client must have.
    pub require: Option<Require>,
    /// `--allow`: networks that may connect.
    pub allow: Networks,
    /// `--deny`: networks that may not.
    pub deny: Networks,
    /// `--data-peers`: where data may go.
    pub data_peers: Option<DataPeers>,
    /// `--one-port`: what data may come in by the port of the control connection.
    pub one_port: Option<OnePort>,
    /// `--max-sessions`: at the same time.
    pub sessions: Option<u32>,
    /// `--max-peer-sessions`: of one address.
    pub peer_sessions: Option<u32>,
    /// `--max-test-time`: the longest test.
    pub test_time: Option<Duration>,
    /// `--max-send-rate`: bits per second.
    pub send_rate: Option<u64>,
    /// `--idle-time`: how long a client may say nothing.
    pub idle_time: Option<Duration>,
}

/// Networks, each use of the option adding to them.
#[derive(Clone, Debug, Default)]
pub struct Networks {
    /// The networks.
    pub networks: Vec<Network>,
    /// Whether they come from a file, so that the next ones take their place.
    sealed: bool,
}

impl Networks {
    /// Adds networks, or puts them in the place of those of a file.
    pub(crate) fn add(&mut self, networks: Vec<Network>) {
        if std::mem::take(&mut self.sealed) {
            self.networks.clear();
        }
        self.networks.extend(networks);
    }
}

/// Where they come from makes no difference.
impl PartialEq for Networks {
    fn eq(&self, other: &Self) -> bool {
        self.networks == other.networks
    }
}

impl Eq for Networks {}

impl ServerArgs {
    /// What of the settings does not go together, and the way out.
    pub(crate) fn contradiction(&self) -> Option<String> {
        match self.access.require {
            Some(Require::Passphrase) if self.passphrase.is_none() => Some(
                "require is passphrase, and there is none: give one with passphrase (-Z)"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}
