//! Numbered datagrams: selectors that the original does not have, and the lines of verbosity 2.
//!
//! `all` and `?` omit the selectors.

use netperf_model::figures::count;
use netperf_model::{Quality, QualityScope};

use crate::selectors::SelectorValue::Run;
use crate::selectors::{Need, SelectorRow, row};
use crate::values::{NOT_MEASURED, Value};
use crate::view::View;

/// Whose reception is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receiver {
    /// netperf.
    Local,
    /// netserver.
    Remote,
    /// netserver where it receives, else netperf.
    Any,
}

/// Datagrams that one end received from the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reception {
    pub(crate) quality: Quality,
    /// The number that the other end sent, if known.
    pub(crate) sent: Option<u64>,
}

impl Reception {
    pub(crate) fn lost(&self) -> u64 {
        self.quality.lost(self.sent)
    }

    /// The share of what should have arrived that did not, percent.
    pub(crate) fn lost_percent(&self) -> Option<f64> {
        let due = self.quality.due(self.sent);
        (due > 0).then(|| count(self.lost()) * 100.0 / count(due))
    }
}

/// Datagrams that an end received in the last iteration; `None` if it receives none, or if
/// unknown.
pub(crate) fn reception(view: &View<'_>, receiver: Receiver) -> Option<Reception> {
    let flow = view.plan().flow;
    let (of_local, of_remote) = (view.local(), view.remote());
    let (end, peer) = match receiver {
        Receiver::Remote => (flow.sends.then_some(of_remote)?, of_local),
        Receiver::Local => (flow.receives.then_some(of_local)?, of_remote),
        Receiver::Any => {
            return reception(view, Receiver::Remote).or_else(|| reception(view, Receiver::Local));
        }
    };
    Some(Reception {
        quality: end.result?.quality?,
        sent: peer
            .result
            .and_then(|result| result.quality)
            .map(|quality| quality.sent),
    })
}

/// Rows for the receiving end, for netperf and for netserver.
macro_rules! of_each_receiver {
    ($(($name:literal, $head:literal, $unit:literal, $format:literal, $value:expr, $meaning:literal),)+) => {
        &[$(
            row(concat!("UDP_", $name), ["Datagrams", $head, "", ""], $unit, $format, Need::Nothing,
                Run(|v| value(v, Receiver::Any, $value)),
                concat!($meaning, ", at the receiver, last iteration; with --sequence")),
            row(concat!("LOCAL_UDP_", $name), ["Local", "Datagrams", $head, ""], $unit, $format, Need::Nothing,
                Run(|v| value(v, Receiver::Local, $value)),
                concat!($meaning, ", at netperf, last iteration; with --sequence")),
            row(concat!("REMOTE_UDP_", $name), ["Remote", "Datagrams", $head, ""], $unit, $format, Need::Nothing,
                Run(|v| value(v, Receiver::Remote, $value)),
                concat!($meaning, ", at netserver, last iteration; with --sequence")),
        )+]
    };
}

/// Every one, in order.
#[rustfmt::skip]
pub(crate) static QUALITY: &[&[SelectorRow]] = &[of_each_receiver![
    ("RECEIVED", "Received", "datagrams", "%lld", |got| Value::Count(got.quality.received),
        "different datagrams that arrived"),
    ("LOST", "Lost", "datagrams", "%lld", |got| Value::Count(got.lost()),
        "datagrams that were sent and never arrived"),
    ("LOST_PERCENT", "Lost %", "%", "%.4f", |got| got.lost_percent().into(),
        "share of the datagrams that never arrived"),
    ("DUPLICATED", "Duplicated", "datagrams", "%lld", |got| counted(got, QualityScope::Full, got.quality.duplicated),
        "duplicate datagrams"),
    ("REORDERED", "Reordered", "datagrams", "%lld", |got| counted(got, QualityScope::Order, got.quality.reordered),
        "datagrams that arrived after one with a higher number"),
    ("REORDER_EXTENT", "Reorder Extent", "datagrams", "%lld", |got| counted(got, QualityScope::Full, got.quality.extent),
        "largest reordering extent"),
    ("TOO_LATE", "Too Late", "datagrams", "%lld", |got| counted(got, QualityScope::Full, got.quality.too_late),
        "datagrams too late to classify; they count as lost"),
    ("SOCKET_DROPS", "Socket Drops", "datagrams", "%lld", |got| got.quality.overflowed.map_or(NOT_MEASURED, Value::Count),
        "datagrams that the receive buffer of the socket had no space for; they count as lost"),
    ("JITTER_USEC", "Jitter us", "microseconds", "%.3f", |got| micros(got.quality.jitter),
        "interarrival jitter (RFC 3550)"),
    ("DELAY_VARIATION_USEC", "Mean Delay Variation us", "microseconds", "%.3f", |got| variation(got, got.quality.mean_variation),
        "additional delay of the average datagram relative to the fastest"),
    ("MAX_DELAY_VARIATION_USEC", "Max Delay Variation us", "microseconds", "%.3f", |got| variation(got, got.quality.most_variation),
        "additional delay of the slowest datagram relative to the fastest"),
], &[
    row("LOCAL_SENT_PACKETS_PER_SECOND", ["Local", "Sent", "Packets", "per sec"], "packets/s", "%.2f", Need::Nothing,
        Run(|v| packets(v, v.local().sends(|tally| tally.send_calls), v.last.elapsed)),
        "datagrams or messages that netperf sent per second, last iteration"),
    row("LOCAL_RECV_PACKETS_PER_SECOND", ["Local", "Recv", "Packets", "per sec"], "packets/s", "%.2f", Need::Nothing,
        Run(|v| packets(v, Some(v.local().count(|end| end.tally.recv_calls)), v.last.elapsed)),
        "datagrams or messages that netperf received per second, last iteration"),
    row("REMOTE_SENT_PACKETS_PER_SECOND", ["Remote", "Sent", "Packets", "per sec"], "packets/s", "%.2f", Need::Nothing,
        Run(|v| packets(v, v.remote().sends(|tally| tally.send_calls), v.last.elapsed)),
        "datagrams or messages that netserver sent per second, last iteration"),
    row("REMOTE_RECV_PACKETS_PER_SECOND", ["Remote", "Recv", "Packets", "per sec"], "packets/s", "%.2f", Need::Nothing,
        Run(|v| packets(v, Some(v.remote().count(|end| end.tally.recv_calls)), v.last.received_in())),
        "datagrams or messages that netserver received per second, last iteration"),
]];

/// A rate of packets, of a transport that keeps the boundaries of messages.
fn packets(view: &View<'_>, number: Option<u64>, seconds: f64) -> Value {
    let plan = view.plan();
    let has_messages = plan.transport.keeps_boundaries() && !plan.flow.connects;
    let number = number.filter(|_| has_messages && seconds > 0.0);
    number.map_or(NOT_MEASURED, |number| Value::Real(count(number) / seconds))
}

fn value(view: &View<'_>, receiver: Receiver, of: fn(&Reception) -> Value) -> Value {
    reception(view, receiver).map_or(NOT_MEASURED, |got| of(&got))
}

fn counted(got: &Reception, scope: QualityScope, count: u64) -> Value {
    let count = got.quality.within(scope, count);
    count.map_or(NOT_MEASURED, Value::Count)
}

fn variation(got: &Reception, nanoseconds: u64) -> Value {
    let known = got.quality.within(QualityScope::Full, nanoseconds);
    known.map_or(NOT_MEASURED, micros)
}

fn micros(nanoseconds: u64) -> Value {
    Value::Real(count(nanoseconds) / 1e3)
}

/// The lines of verbosity 2; empty if datagrams had no numbers.
pub(crate) fn print(view: &View<'_>) -> String {
    let ends = [
        (Receiver::Remote, "to netserver"),
        (Receiver::Local, "to netperf"),
    ];
    let lines = ends.into_iter().filter_map(|(receiver, way)| {
        let got = reception(view, receiver)?;
        Some(line(way, &got))
    });
    let lines: String = lines.collect();
    if lines.is_empty() || !view.report.headers {
        return lines;
    }
    TITLES.to_owned() + &lines
}

const TITLES: &str = concat!(
    "\n",
    "Datagrams                                                              Jitter  Delay variation\n",
    "Way           Sent        Received    Lost      Lost     Dupl. Reord.  RFC3550 mean      max\n",
    "              #           #           #         %        #     #       us      us        us\n",
    "\n",
);

fn line(way: &str, got: &Reception) -> String {
    let quality = &got.quality;
    let sent = got
        .sent
        .map_or_else(|| "?".to_owned(), |sent| sent.to_string());
    let micros = |nanoseconds: u64| count(nanoseconds) / 1e3;
    let known = |scope, text: String| {
        let text = quality.within(scope, text);
        text.unwrap_or_else(|| "?".to_owned())
    };
    let variation = |nanoseconds| known(QualityScope::Full, format!("{:.1}", micros(nanoseconds)));
    format!(
        "{way:<13} {sent:<11} {:<11} {:<9} {:<8.4} {:<5} {:<7} {:<7.1} {:<9} {}\n",
        quality.received,
        got.lost(),
        got.lost_percent().unwrap_or(0.0),
        known(QualityScope::Full, quality.duplicated.to_string()),
        known(QualityScope::Order, quality.reordered.to_string()),
        micros(quality.jitter),
        variation(quality.mean_variation),
        variation(quality.most_variation),
    )
}
