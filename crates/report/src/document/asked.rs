//! The request: the test, and each end.

use std::time::Duration;

use netperf_model::fields::MeasuredFigure;
use netperf_model::{
    ConfidencePlan, CpuMethod, DataAddress, Duplex, EndPlan, EndSetup, Family, Host, HostFacts,
    LOCAL_PORTS, Limit, Many, PacePlan, RingPlan, SeriesPlan, SocketPlan, Stamper, TestPlan,
};
use serde::{Deserialize, Serialize};

/// The test that was requested, with all defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "test")]
pub struct AskedTest {
    /// The name of the test.
    pub name: String,
    /// The protocol of the data connection.
    pub protocol: String,
    /// The type of the data socket.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["Stream", "Datagram", "Seqpacket", "DCCP"])))]
    pub socket_type: String,
    /// The direction of data as seen by netperf: the text of the selector DIRECTION.
    pub direction: String,
    /// True if netperf sends.
    pub sends: bool,
    /// True if netperf receives.
    pub receives: bool,
    /// True if every operation opens a connection.
    pub connects: bool,
    /// Data both ways at once: over one connection or socket (same), or over one each way
    /// (separate). Null in every other test.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["same", "separate", null])))]
    pub bidirectional: Option<String>,
    /// The end of an iteration.
    pub limit: AskedLimit,
    /// The size of a request. Null outside request/response tests.
    pub request_bytes: Option<u32>,
    /// The size of a response. Null outside request/response tests.
    pub response_bytes: Option<u32>,
    /// Requests in flight besides the first.
    pub burst_requests: u32,
    /// The control connection. Null with `-N`.
    pub control: Option<AskedControl>,
    /// The requested confidence. Null if the test runs once.
    pub confidence: Option<ConfidencePlan>,
    /// The interval of interim results. Null without `-D`.
    pub interim_interval_seconds: MeasuredFigure,
    /// True if times of operations are kept.
    pub keeps_latency: bool,
    /// The pause between set-up and traffic.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub wait_seconds: f64,
    /// The time-out of receiving datagrams. Null if there is none.
    pub recv_timeout_seconds: MeasuredFigure,
    /// The first local port that connection tests bind to. The kernel chooses ports, as long as it
    /// has any, unless a range or an address was asked for.
    pub first_local_port: u16,
    /// The port after the last one that connection tests bind to.
    pub end_local_port: u16,
    /// True if a connect that failed is tried again.
    pub retries_connects: bool,
    /// True if data is sent by `write` instead of `send`.
    pub uses_write: bool,
    /// Many flows. Null with the plain loop.
    pub many: Option<Many>,
}

/// The end of an iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "limit")]
pub struct AskedLimit {
    /// The quantity that ends it.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["time", "bytes", "transactions", "messages", "signal"])))]
    pub kind: String,
    /// The time, if that ends it.
    pub seconds: MeasuredFigure,
    /// The number of bytes, if that ends it.
    pub bytes: Option<u64>,
    /// The number of transactions or connections, if that ends it.
    pub transactions: Option<u64>,
    /// The number of messages, if that ends it: `-N` of SCTP tests in one direction.
    pub messages: Option<u64>,
}

/// The control connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "control")]
pub struct AskedControl {
    /// netserver's host as given.
    pub host: String,
    /// netserver's port as given.
    pub port: String,
    /// The local host as given.
    pub local_host: String,
    /// The local port as given.
    pub local_port: String,
    /// True if a private netserver may serve the run, because neither host nor port were
    /// given.
    pub private_netserver: bool,
}

/// One end of the data connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "end")]
pub struct EndDocument {
    /// The name of its host, by the resolver. Null if it was not looked up.
    pub name: Option<String>,
    /// Its address. Null if it was not looked up.
    pub address: Option<String>,
    /// The family of the address; families may be added.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = ["ipv4", "ipv6", "vsock"])))]
    pub family: Option<String>,
    /// The port of netserver's data socket in the last iteration. Null at netperf's end.
    pub data_port: Option<u32>,
    /// The request.
    pub requested: AskedEnd,
    /// Settings in force. Null if they are unknown.
    pub agreed: Option<EndSetup>,
    /// Facts about its host. Null if unknown: a stock netserver does not report them.
    pub host: Option<HostFacts>,
}

impl EndDocument {
    /// A setting of its host by name, if it is known.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        let settings = self.host.as_ref()?.settings.as_ref()?;
        let mut named = settings.iter().filter(|(known, _)| known == name);
        named.next().map(|(_, value)| value.as_str())
    }

    /// The MTU of its interface, bytes.
    #[must_use]
    pub fn interface_mtu(&self) -> Option<u32> {
        self.setting("interface_mtu")?.parse().ok()
    }

    /// The speed of its interface, bits per second; `None` if the driver does not know it.
    #[must_use]
    pub fn interface_speed(&self) -> Option<f64> {
        // In Mbit/s, and -1 for an unknown one.
        let speed = self.setting("interface_speed")?.parse::<u32>().ok()?;
        Some(f64::from(speed) * 1e6)
    }

    /// Its system and the release.
    #[must_use]
    pub fn system(&self) -> Option<String> {
        let host = self.host.as_ref()?;
        Some(format!(
            "{} {}",
            host.sysname.as_ref()?,
            host.release.as_ref()?
        ))
    }
}

/// The request to one program, netperf or netserver; null leaves a choice to the system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "requested")]
pub struct AskedEnd {
    /// The host of the data connection as given.
    pub host: String,
    /// The port of the data connection as given.
    pub port: String,
    /// The address family as given.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["unspecified", "ipv4", "ipv6"])))]
    pub family: String,
    /// True if it measures CPU utilisation.
    pub measures_cpu: bool,
    /// The letter of the method. Null if CPU utilisation is not measured.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub cpu_method: Option<CpuMethod>,
    /// The CPU to run on.
    pub bind_cpu: Option<u32>,
    /// The file that fills the buffers.
    pub fill_file: Option<String>,
    /// Bytes of a buffer written before each call.
    pub dirty_bytes: u32,
    /// Bytes of a buffer read before each receive.
    pub clean_bytes: u32,
    /// True if copies are to be avoided.
    pub copy_avoidance: bool,
    /// True if `--sequence` was given.
    pub numbers_datagrams: bool,
    /// The way of moving bytes.
    pub io: AskedIo,
    /// Sampling of TCP connections. Null if there is none.
    pub series: Option<SeriesPlan>,
    /// The clock of message timestamps. Null if there are none.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["software", "hardware", null])))]
    pub timestamps: Option<String>,
    /// Pacing. Null if there is none.
    pub pace: Option<PacePlan>,
    /// The buffers of sends.
    pub send_buffers: RingPlan,
    /// The buffers of receives.
    pub recv_buffers: RingPlan,
    /// Options of the data socket.
    pub socket: SocketPlan,
}

/// The way of moving bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "io")]
pub struct AskedIo {
    /// The method of waiting.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["blocking", "poll", "epoll", "uring"])))]
    pub method: String,
    /// True if trials before the test chose the method (`--io auto`).
    pub chosen_by_trial: bool,
    /// True if sends do not copy (`MSG_ZEROCOPY`).
    pub zero_copy: bool,
    /// True if the kernel discards received data (`MSG_TRUNC`).
    pub discard: bool,
    /// The most messages in one call.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub messages_per_call: u32,
    /// True if the kernel segments and joins datagrams (`UDP_SEGMENT`, `UDP_GRO`).
    pub segment_offload: bool,
    /// True if received data passes through a pipe into the null device (`splice`).
    pub splice: bool,
}

impl AskedTest {
    pub(crate) fn of(plan: &TestPlan) -> Self {
        let transport = plan.transport.row();
        Self {
            name: plan.test.row().name.to_owned(),
            protocol: transport.label.to_owned(),
            socket_type: transport.kind.label().to_owned(),
            direction: plan.flow.label().to_owned(),
            sends: plan.flow.sends,
            receives: plan.flow.receives,
            connects: plan.flow.connects,
            bidirectional: plan.flow.duplex.map(Duplex::label).map(str::to_owned),
            limit: AskedLimit::of(plan),
            request_bytes: plan.request,
            response_bytes: plan.response,
            burst_requests: plan.burst,
            // Without the passphrase: results are published.
            control: plan.control.as_ref().map(|control| AskedControl {
                host: control.remote.host.clone(),
                port: control.remote.port.clone(),
                local_host: control.local.host.clone(),
                local_port: control.local.port.clone(),
                private_netserver: !control.explicit,
            }),
            confidence: plan.confidence,
            interim_interval_seconds: seconds(plan.interim),
            keeps_latency: plan.latency,
            wait_seconds: plan.wait.as_secs_f64(),
            recv_timeout_seconds: seconds(plan.recv_timeout),
            first_local_port: plan.port_range.unwrap_or(LOCAL_PORTS).0,
            end_local_port: plan.port_range.unwrap_or(LOCAL_PORTS).1,
            retries_connects: plan.retry_connects,
            uses_write: plan.use_write,
            many: plan.many.clone(),
        }
    }
}

fn seconds(time: Option<Duration>) -> MeasuredFigure {
    MeasuredFigure::of(time.map(|time| time.as_secs_f64()))
}

impl AskedLimit {
    fn of(plan: &TestPlan) -> Self {
        let mut limit = Self::default();
        let kind = match plan.limit {
            Limit::Time(time) => {
                limit.seconds = seconds(Some(time));
                "time"
            }
            Limit::Units(bytes) if !plan.flow.counts_transactions() => {
                limit.bytes = Some(bytes);
                "bytes"
            }
            Limit::Units(transactions) => {
                limit.transactions = Some(transactions);
                "transactions"
            }
            Limit::Messages(messages) => {
                limit.messages = Some(messages);
                "messages"
            }
            Limit::UntilStopped => "signal",
        };
        kind.clone_into(&mut limit.kind);
        limit
    }
}

impl EndDocument {
    /// An end of which only the request is known.
    pub(super) fn asked(plan: &EndPlan, data: &DataAddress) -> Self {
        Self {
            requested: AskedEnd::of(plan, data),
            ..Self::default()
        }
    }

    /// Adds facts about host and socket.
    pub(super) fn set_facts(
        &mut self,
        host: &Host,
        setup: Option<EndSetup>,
        facts: Option<&HostFacts>,
    ) {
        self.name = Some(host.name.clone());
        let (address, family) = match host.vsock {
            Some(cid) => (cid.to_string(), "vsock"),
            None => (host.address.to_string(), family(host.family())),
        };
        self.address = Some(address);
        self.family = Some(family.to_owned());
        self.agreed = setup;
        self.host = facts.cloned();
    }
}

const fn family(family: Family) -> &'static str {
    match family {
        Family::Unspecified => "unspecified",
        Family::V4 => "ipv4",
        Family::V6 => "ipv6",
    }
}

impl AskedEnd {
    fn of(plan: &EndPlan, data: &DataAddress) -> Self {
        let io = &plan.io;
        Self {
            host: data.host.clone(),
            port: data.port.clone(),
            family: family(data.family).to_owned(),
            measures_cpu: plan.cpu.is_some(),
            cpu_method: plan.cpu.map(|cpu| cpu.method),
            bind_cpu: plan.bind,
            fill_file: plan
                .fill
                .as_ref()
                .map(|path| path.to_string_lossy().into_owned()),
            dirty_bytes: plan.touch.dirty,
            clean_bytes: plan.touch.clean,
            copy_avoidance: plan.copy_avoidance,
            numbers_datagrams: plan.sequence,
            io: AskedIo {
                method: io.method.label().to_owned(),
                chosen_by_trial: plan.auto_io,
                zero_copy: io.zerocopy,
                discard: io.discard,
                messages_per_call: io.batch.unwrap_or(1),
                segment_offload: io.segments,
                splice: io.splice,
            },
            series: plan.series,
            timestamps: plan.stamps.map(Stamper::label).map(str::to_owned),
            pace: plan.pace.filter(|pace| pace.burst > 0),
            send_buffers: plan.send,
            recv_buffers: plan.recv,
            socket: plan.socket.clone(),
        }
    }
}
