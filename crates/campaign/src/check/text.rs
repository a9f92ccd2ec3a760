//! The summary as lines for a person, at most 80 columns wide.

use netperf_web::escape;
use netperf_web::unit::{Unit, figure};

use super::{BusyCpus, CheckSummary, Datagrams, Load, PathEnd, ProbeLatency, SinceLast, quantity};
use crate::percent;
use crate::progress::plural;

/// A blank at which no line ends: between a number and its unit.
const NO_BREAK: &str = "\u{a0}";
/// Columns of a line.
const WIDTH: usize = 80;
/// Columns of the titles of lines.
const TITLE: usize = 10;
/// Columns of a series of bars.
const BARS: usize = 20;

/// Characters that the terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// Unicode.
    Unicode,
    /// ASCII alone.
    Ascii,
}

impl CheckSummary {
    /// The summary in lines.
    #[must_use]
    pub fn text(&self, letters: Letters) -> String {
        let mut text = String::new();
        let mut line = |title: &str, words: &str| text.push_str(&titled(title, words));
        let host = escape::line(&self.host);
        let address = self.remote.as_ref().and_then(|end| end.address.as_deref());
        let address = address.filter(|address| *address != self.host);
        line(
            "Host",
            &address.map_or_else(
                || host.clone(),
                |at| format!("{host} ({})", escape::line(at)),
            ),
        );
        if let Some(end) = &self.local {
            line("This end", &end.words(end.address.as_deref()));
        }
        if let Some(end) = &self.remote {
            // The line of the host has its address.
            line("That end", &end.words(None));
        }
        if let Some(idle) = &self.idle {
            line("Idle", &idle.words(None));
        }
        for (title, load) in [("Send", &self.send), ("Receive", &self.receive)] {
            if let Some(load) = load {
                line(title, &load.words(letters));
                if let Some(latency) = &load.latency {
                    line("  latency", &latency.words(self.idle.as_ref()));
                }
                if let Some(cpus) = load.cpus() {
                    line("  CPU", &cpus);
                }
            }
        }
        if let Some(datagrams) = &self.datagrams {
            line("UDP", &datagrams.words());
        }
        for failure in &self.failures {
            let reason = escape::line(failure.reason.lines().next().unwrap_or_default());
            line("Failed", &format!("{}: {reason}", failure.run.label()));
        }
        for warning in &self.warnings {
            line("Doubt", &escape::line(&warning.message));
        }
        if let Some(when) = self.last_unix_seconds.and_then(netperf_text::date::date) {
            let changes: Vec<String> = self.changes.iter().map(SinceLast::words).collect();
            line("Change", &format!("since {when}: {}", changes.join(", ")));
        }
        in_letters(&text, letters)
    }
}

/// A title and words, wrapped.
pub(crate) fn titled(title: &str, words: &str) -> String {
    let mut text = format!("{title:TITLE$}");
    let mut column = TITLE;
    for (at, word) in words.split(' ').enumerate() {
        let width = word.chars().count();
        if at > 0 && column + 1 + width > WIDTH {
            text = text.trim_end().to_owned();
            text.push('\n');
            text.push_str(&" ".repeat(TITLE));
            column = TITLE;
        } else if at > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += width;
    }
    let mut text = text.trim_end().to_owned();
    text.push('\n');
    text
}

/// The text without characters that ASCII does not have.
fn ascii(text: &str) -> String {
    let replaced = text
        .replace('µ', "u")
        .replace('±', "+-")
        .replace('\u{202f}', " ");
    replaced.chars().filter(char::is_ascii).collect()
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

impl ProbeLatency {
    /// Percentiles, with the increase over those of the idle path.
    pub(crate) fn words(&self, idle: Option<&Self>) -> String {
        if self.requests == 0 {
            return "no response".to_owned();
        }
        let figure = |name: &str, value: Option<f64>, before: Option<f64>| {
            let value = value?;
            let time = quantity(value, Unit::Seconds);
            let increase = before.map(|before| {
                let sign = if value >= before { "+" } else { "-" };
                format!(
                    " ({sign}{})",
                    quantity((value - before).abs(), Unit::Seconds)
                )
            });
            Some(format!("{name} {time}{}", increase.unwrap_or_default()))
        };
        let mut parts: Vec<String> = [
            figure(
                "P50",
                self.p50_seconds,
                idle.and_then(|idle| idle.p50_seconds),
            ),
            figure(
                "P99",
                self.p99_seconds,
                idle.and_then(|idle| idle.p99_seconds),
            ),
            figure("max", self.max_seconds, None),
        ]
        .into_iter()
        .flatten()
        .collect();
        if let Some(lost @ 1..) = self.unanswered_requests {
            parts.push(format!("{} without a response", plural(lost, "request")));
        }
        parts.join(", ")
    }
}

impl Load {
    pub(crate) fn words(&self, letters: Letters) -> String {
        let rate = quantity(self.bits_per_second, Unit::BitsPerSecond);
        let share = self.plus_minus_bits_per_second;
        let share = share.map(|half| 100.0 * half / self.bits_per_second);
        let mut words = course(&rate, share, &self.series_bits_per_second, letters);
        if let Some(count) = self.retransmitted_segments {
            words.push_str(&format!("  {}", retransmitted(count)));
        }
        words
    }

    pub(crate) fn cpus(&self) -> Option<String> {
        cpus(self.local_cpu.as_ref(), self.remote_cpu.as_ref())
    }
}

/// A rate, half the width of its interval in percent, and its course.
pub(crate) fn course(rate: &str, percent: Option<f64>, values: &[f64], letters: Letters) -> String {
    let mut words = rate.to_owned();
    if let Some(percent) = percent {
        words.push_str(&format!(" ± {}{NO_BREAK}%", figure(percent)));
    }
    if letters == Letters::Unicode && values.len() > 1 {
        words.push_str(&format!("  {}", bars(values)));
    }
    words
}

pub(crate) fn retransmitted(count: u32) -> String {
    format!("{} retransmitted", plural(count, "segment"))
}

/// CPU utilisation of the ends that measured it.
pub(crate) fn cpus(local: Option<&BusyCpus>, remote: Option<&BusyCpus>) -> Option<String> {
    let local = local.map(|cpu| format!("this end {}", cpu.words()));
    let remote = remote.map(|cpu| format!("that end {}", cpu.words()));
    let both: Vec<String> = local.into_iter().chain(remote).collect();
    (!both.is_empty()).then(|| both.join("; "))
}

/// The lines with the characters that the terminal has.
pub(crate) fn in_letters(text: &str, letters: Letters) -> String {
    let text = text.replace(NO_BREAK, " ");
    if letters == Letters::Ascii {
        ascii(&text)
    } else {
        text
    }
}

impl BusyCpus {
    fn words(&self) -> String {
        let mut words = format!("{:.0}{NO_BREAK}%", self.busy_percent);
        if let (Some(cpu), Some(busy)) = (self.peak_cpu, self.peak_busy_percent) {
            words.push_str(&format!(" (CPU {cpu}: {busy:.0}{NO_BREAK}%)"));
        }
        words
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

    /// Place of the loss of datagrams, if some were lost and the receiver knows it.
    fn places_of_loss(&self) -> Option<String> {
        let lost = self.lost.filter(|lost| *lost > 0)?;
        let by_socket = self.dropped_by_socket?.min(lost);
        let on_path = lost - by_socket;
        Some(format!(
            "of these {by_socket} in the receiver's socket buffer and {on_path} on the path"
        ))
    }
}

impl SinceLast {
    fn words(&self) -> String {
        let change = percent(self.ratio).replace(' ', NO_BREAK);
        format!("{} {change}", self.figure)
    }
}

/// One bar for each value, or for the means of groups, from 0 to the largest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of seven is a place in a table"
)]
fn bars(values: &[f64]) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let each = values.len().div_ceil(BARS).max(1);
    let means = values
        .chunks(each)
        .map(|part| part.iter().sum::<f64>() / part.len() as f64);
    let means: Vec<f64> = means.collect();
    let largest = means.iter().copied().fold(0.0, f64::max);
    let height = |mean: &f64| {
        let share = if largest > 0.0 { mean / largest } else { 0.0 };
        HEIGHTS
            .get((share * 7.0).round() as usize)
            .copied()
            .unwrap_or(' ')
    };
    means.iter().map(height).collect()
}
