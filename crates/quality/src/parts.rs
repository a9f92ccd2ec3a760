//! Parts of a summary for a person: the ends of a path, CPUs and datagrams.

use std::net::IpAddr;

use netperf_report::document::{Document, EndDocument, IterationDocument, MeasuredEnd};
use netperf_text::escape;
use netperf_text::unit::{NO_BREAK, Unit, figure, quantity};
use serde::Serialize;

/// An end of the path.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathEnd {
    /// Its address on the path. Null if unknown.
    pub(crate) address: Option<String>,
    /// Its interface on the path. Null if unknown.
    interface: Option<String>,
    /// Maximum size of a packet on that interface. Null if unknown.
    mtu_bytes: Option<u32>,
    /// Speed of the interface. Null if the kernel does not know it.
    speed_bits_per_second: Option<f64>,
    /// Version of netperf or netserver. Null of a stock netserver.
    program_version: Option<String>,
    /// Kernel and its release.
    system: Option<String>,
    /// Processor architecture, such as x86_64.
    machine: Option<String>,
    /// Congestion control of the TCP connection on which this host sends.
    congestion_control: Option<String>,
}

/// CPU utilisation of a host.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BusyCpus {
    /// Utilisation of all CPUs together.
    pub(crate) busy_percent: f64,
    /// The busiest CPU. Null if unknown.
    peak_cpu: Option<i32>,
    /// Its utilisation.
    peak_busy_percent: Option<f64>,
}

/// Datagrams.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Datagrams {
    /// The requested rate.
    asked_bits_per_second: Option<f64>,
    /// The rate that was sent.
    sent_bits_per_second: Option<f64>,
    /// The rate that was received.
    pub(crate) received_bits_per_second: Option<f64>,
    /// Datagrams that were sent in a second.
    sent_packets_per_second: Option<f64>,
    /// Datagrams that were received in a second.
    received_packets_per_second: Option<f64>,
    /// Mean bytes of a datagram.
    size_bytes: Option<f64>,
    /// Datagrams that were sent.
    sent: Option<u64>,
    /// Of these, those that were not received.
    lost: Option<u64>,
    /// The same as a share.
    pub(crate) lost_percent: Option<f64>,
    /// Of the lost ones, those that the receive buffer of the socket had no space for. Null if
    /// unknown.
    dropped_by_socket: Option<u64>,
    /// Datagrams that a full queue of the sending host refused; they do not count as sent.
    not_sent: Option<u64>,
    /// Datagrams that arrived behind later ones. Null if netserver does not number datagrams.
    reordered: Option<u64>,
    /// Datagrams that arrived again. Null likewise.
    duplicated: Option<u64>,
    /// Interarrival jitter (RFC 3550, section 6.4.1). Null if unknown.
    jitter_seconds: Option<f64>,
}

fn iteration(document: &Document) -> Option<&IterationDocument> {
    document.iterations.first()
}

/// Both ends of the path, from the first run and from those that know a congestion control.
pub(crate) fn ends(
    first: &Document,
    send: Option<&Document>,
    receive: Option<&Document>,
) -> (PathEnd, PathEnd) {
    let sender = send.and_then(iteration);
    let receiver = receive
        .and_then(iteration)
        .and_then(|run| run.remote.as_ref());
    let local = sender.and_then(|run| run.local.congestion_control.clone());
    let remote = receiver.and_then(|end| end.congestion_control.clone());
    (
        PathEnd::of(&first.local, local),
        PathEnd::of(&first.remote, remote),
    )
}

impl PathEnd {
    fn of(end: &EndDocument, congestion_control: Option<String>) -> Self {
        let host = end.host.as_ref();
        Self {
            // A socket that is bound to no address has one for each path.
            address: end.address.clone().filter(|address| {
                let parsed = address.parse::<IpAddr>();
                !parsed.is_ok_and(|address| address.is_unspecified())
            }),
            interface: host.and_then(|host| host.interface.name.clone()),
            mtu_bytes: end.interface_mtu(),
            program_version: end.setting("netperf_version").map(str::to_owned),
            speed_bits_per_second: end.interface_speed(),
            system: end.system(),
            machine: host.and_then(|host| host.machine.clone()),
            congestion_control,
        }
    }
}

/// CPU utilisation of an end, if it was measured.
pub(crate) fn cpu(end: &MeasuredEnd) -> Option<BusyCpus> {
    let cpu = end.cpu.as_ref()?;
    let known = |value: f64| Some(value).filter(|value| *value >= 0.0);
    Some(BusyCpus {
        busy_percent: known(cpu.busy)?,
        peak_cpu: Some(cpu.peak_id).filter(|id| *id >= 0),
        peak_busy_percent: known(cpu.peak_busy),
    })
}

/// Datagrams of a run to netserver.
pub(crate) fn datagrams(run: &Document) -> Option<Datagrams> {
    let iteration = iteration(run)?;
    let (sender, receiver) = (&iteration.local, iteration.remote.as_ref()?);
    let counted = receiver.datagrams.as_ref();
    Some(Datagrams {
        asked_bits_per_second: run
            .rate
            .as_ref()
            .filter(|rate| rate.unit == "bits")
            .map(|rate| rate.asked_per_second),
        sent_bits_per_second: sender.rates.sent_bits_per_second.0,
        received_bits_per_second: receiver.rates.received_bits_per_second.0,
        sent_packets_per_second: sender.rates.sent_packets_per_second.0,
        received_packets_per_second: receiver.rates.received_packets_per_second.0,
        size_bytes: sender.bytes_per_send.0.or(receiver.bytes_per_recv.0),
        sent: sender.counts.send_calls,
        lost: counted.map_or_else(|| unnumbered_lost(sender, receiver), |counted| counted.lost),
        dropped_by_socket: counted.and_then(|counted| counted.dropped_by_socket),
        not_sent: sender.counts.failed_sends,
        lost_percent: counted.map_or_else(
            || unnumbered_loss(sender, receiver),
            |counted| counted.lost_percent.0,
        ),
        reordered: counted.and_then(|counted| counted.reordered),
        duplicated: counted.and_then(|counted| counted.duplicated),
        jitter_seconds: counted
            .and_then(|counted| counted.jitter_microseconds.0)
            .map(|jitter| jitter / 1e6),
    })
}

/// Number of lost datagrams, from the counts of both ends.
fn unnumbered_lost(sender: &MeasuredEnd, receiver: &MeasuredEnd) -> Option<u64> {
    let received = receiver.counts.recv_calls?;
    Some(sender.counts.send_calls?.saturating_sub(received))
}

/// Loss in percent, from the bytes of both ends.
#[expect(clippy::cast_precision_loss, reason = "a share of bytes")]
fn unnumbered_loss(sender: &MeasuredEnd, receiver: &MeasuredEnd) -> Option<f64> {
    let (sent, received) = (sender.counts.sent_bytes?, receiver.counts.received_bytes);
    (sent > 0).then(|| 100.0 * (1.0 - received as f64 / sent as f64).max(0.0))
}

impl PathEnd {
    /// Its interface, perhaps with an address, and its system.
    pub(crate) fn words(&self, address: Option<&str>) -> String {
        let plain = |text: &Option<String>| text.as_deref().map(escape::line);
        let speed = self
            .speed_bits_per_second
            .map(|speed| quantity(speed, Unit::BitsPerSecond));
        let parts = [
            plain(&self.interface),
            address.map(escape::line),
            speed,
            self.mtu_bytes.map(|mtu| format!("MTU {mtu}")),
            plain(&self.congestion_control).map(|name| format!("congestion control {name}")),
            plain(&self.system),
            plain(&self.machine),
            plain(&self.program_version).map(|version| format!("netperf {version}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl Datagrams {
    pub(crate) fn words(&self) -> String {
        let rate = |value: Option<f64>| value.map(|value| quantity(value, Unit::BitsPerSecond));
        let packets =
            |value: Option<f64>| value.map(|value| quantity(value, Unit::Count("packets/s")));
        let parts = [
            self.size_bytes
                .map(|size| format!("{size:.0}{NO_BREAK}bytes each")),
            rate(self.sent_bits_per_second).map(|sent| match rate(self.asked_bits_per_second) {
                Some(asked) if asked != sent => format!("{sent} sent ({asked} asked)"),
                _ => format!("{sent} sent"),
            }),
            rate(self.received_bits_per_second).map(|received| format!("{received} received")),
            packets(self.sent_packets_per_second).map(|sent| format!("{sent} sent")),
            packets(self.received_packets_per_second)
                .map(|received| format!("{received} received")),
            self.lost_percent.map(|share| self.loss(share)),
            self.places_of_loss(),
            self.not_sent.filter(|count| *count > 0).map(|count| {
                format!("{count} more not sent: the queue of the sending host was full")
            }),
            self.reordered.map(|count| format!("{count} reordered")),
            self.jitter_seconds
                .map(|jitter| format!("jitter {}", quantity(jitter, Unit::Seconds))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl Datagrams {
    /// The share that was lost, with the numbers if both are known.
    fn loss(&self, share: f64) -> String {
        let percent = format!("{}{NO_BREAK}% lost", figure(share));
        match (self.lost, self.sent) {
            (Some(lost), Some(sent)) => format!("{percent} ({lost} of {sent})"),
            _ => percent,
        }
    }

    /// Places at which datagrams were lost, if some were and the receiver knows.
    fn places_of_loss(&self) -> Option<String> {
        let lost = self.lost.filter(|lost| *lost > 0)?;
        let by_socket = self.dropped_by_socket?.min(lost);
        let on_path = lost - by_socket;
        Some(format!(
            "of these {by_socket} in the receiver's socket buffer and {on_path} on the path"
        ))
    }
}
