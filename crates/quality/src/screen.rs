//! The summary for a person: the answer, a table of the phases, the hosts, and what limits them.

use netperf_stats::moments;
use netperf_text::columns::{self, titled};
use netperf_text::date::date;
use netperf_text::escape;
use netperf_text::look::TextLook;
use netperf_text::unit::{NO_BREAK, Unit};

use crate::side::{FlowQueueing, QueueSide};
use crate::summary::{CheckSummary, ClassLatency, LoadSummary, PhaseSummary};

/// A cell without a value.
pub(crate) const NONE: &str = "-";
/// Round trips per minute from which their time is that of timers.
const TIMERS: f64 = 60_000.0;
/// Columns of the titles of lines.
const TITLE: usize = 10;

/// Two digits of a number, three from 100 on.
fn digits(value: f64) -> String {
    let size = value.abs();
    if size >= 9.95 || size == 0.0 {
        format!("{value:.0}")
    } else if size >= 0.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A number with the prefix and the sign of its unit that fit it best.
fn scaled(value: f64, unit: &Unit) -> String {
    let (factor, sign) = unit.scaled(value);
    format!("{}{NO_BREAK}{sign}", digits(value / factor))
}

pub(crate) fn rate(bits: f64) -> String {
    scaled(bits, &Unit::BitsPerSecond)
}

pub(crate) fn time(seconds: f64) -> String {
    scaled(seconds, &Unit::Seconds)
}

/// A share in percent.
fn share(part: f64) -> String {
    format!("{}{NO_BREAK}%", digits(part * 100.0))
}

/// A change as a ratio, in percent.
fn ratio_of(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let sign = if percent < 0.0 { "" } else { "+" };
    format!("{sign}{}{NO_BREAK}%", digits(percent))
}

/// A column of the table: its title, and whether a terminal of 60 or 80 columns has it.
struct TableColumn {
    title: &'static str,
    narrowest: usize,
}

const COLUMNS: [TableColumn; 10] = [
    column("", 0),
    column("rate", 0),
    column("±", 80),
    column("P50", 0),
    column("P99", 0),
    column("max", 80),
    column("x idle", 0),
    column("loss", 0),
    column("retrans", 100),
    column("CPU client/server", 100),
];

const fn column(title: &'static str, narrowest: usize) -> TableColumn {
    TableColumn { title, narrowest }
}

/// A row of the table: a direction of a phase.
fn row(
    phase: &PhaseSummary,
    name: &str,
    load: Option<&LoadSummary>,
    with_times: bool,
) -> [String; 10] {
    let first = phase.latency.first().filter(|_| with_times);
    let times = first.and_then(|first| first.round_trip);
    let none = || NONE.to_owned();
    let or_none = |text: Option<String>| text.unwrap_or_else(none);
    let datagrams = phase.datagrams.as_ref();
    let received = datagrams.and_then(|datagrams| datagrams.received_bits_per_second);
    let lost = datagrams.and_then(|datagrams| datagrams.lost_percent);
    let plus_minus = load.and_then(|load| {
        let half = load.plus_minus_bits_per_second?;
        Some(share(half / load.bits_per_second))
    });
    let cpu = |cpu: Option<f64>| cpu.map_or_else(none, |busy| format!("{busy:.0}"));
    let busy = [&phase.local_cpu, &phase.remote_cpu];
    let busy = busy.map(|cpu| cpu.as_ref().map(|cpu| cpu.busy_percent));
    [
        name.to_owned(),
        or_none(load.map(|load| load.bits_per_second).or(received).map(rate)),
        or_none(plus_minus),
        or_none(times.map(|times| time(times.p50_seconds))),
        or_none(times.map(|times| time(times.p99_seconds))),
        or_none(times.map(|times| time(times.max_seconds))),
        or_none(first.and_then(|first| first.times_idle).map(digits)),
        or_none(
            lost.map(|lost| lost / 100.0)
                .or_else(|| first.and_then(probe_loss))
                .map(share),
        ),
        or_none(
            load.and_then(|load| load.retransmitted_segments)
                .map(|count| count.to_string()),
        ),
        if busy == [None, None] {
            NONE.to_owned()
        } else {
            format!("{}/{}{NO_BREAK}%", cpu(busy[0]), cpu(busy[1]))
        },
    ]
}

/// The share of probes of a class that were lost on either way.
fn probe_loss(latency: &ClassLatency) -> Option<f64> {
    let (up, down) = (latency.up_loss?, latency.down_loss?);
    let lost = moments::count(up.lost + down.lost);
    (up.sent > 0).then(|| lost / moments::count(up.sent))
}

/// The rows of a phase: both directions of one that loads both.
fn rows(phase: &PhaseSummary) -> Vec<[String; 10]> {
    let name = phase.phase.word();
    match (&phase.down, &phase.up) {
        (Some(down), Some(up)) => vec![
            row(phase, &format!("{name} down"), Some(down), true),
            row(phase, &format!("{name} up"), Some(up), false),
        ],
        (load, None) | (None, load) => vec![row(phase, name, load.as_ref(), true)],
    }
}

impl CheckSummary {
    /// The summary for a terminal. Colours are none: words say everything.
    #[must_use]
    pub fn text(&self, look: TextLook) -> String {
        let width = look.columns;
        let mut text = columns::wrapped(&self.answer, width).join("\n");
        text.push('\n');
        text.push('\n');
        text.push_str(&self.table(width));
        text.push('\n');
        let mut line =
            |title: &str, words: &str| text.push_str(&titled(title, TITLE, words, width));
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
            line("Client", &end.words(end.address.as_deref()));
        }
        if let Some(end) = &self.remote {
            line("Server", &end.words(None));
        }
        for (title, words) in self.details() {
            line(title, &words);
        }
        look.letters(&text)
    }

    /// The table of the phases, with the columns for which there is space.
    fn table(&self, width: usize) -> String {
        let titles = COLUMNS.map(|column| column.title.to_owned());
        let rows = self.phases.iter().flat_map(rows);
        let cells: Vec<[String; 10]> = std::iter::once(titles).chain(rows).collect();
        let widest = |index: usize| {
            let lengths = cells.iter().map(|row| row[index].chars().count());
            lengths.max().unwrap_or(0)
        };
        let mut shown: Vec<usize> = (0..COLUMNS.len())
            .filter(|index| COLUMNS[*index].narrowest <= width)
            .collect();
        let total = |shown: &[usize]| {
            shown
                .iter()
                .map(|index| widest(*index) + 2)
                .sum::<usize>()
                .saturating_sub(2)
        };
        // Columns that do not fit go from the right, but not the name and the rate.
        while total(&shown) > width && shown.len() > 2 {
            shown.pop();
        }
        let line = |row: &[String; 10]| {
            let cells = shown.iter().map(|index| {
                let (cell, width) = (&row[*index], widest(*index));
                let pad = " ".repeat(width - cell.chars().count());
                if *index == 0 {
                    format!("{cell}{pad}")
                } else {
                    format!("{pad}{cell}")
                }
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            format!("{}\n", line.trim_end())
        };
        cells.iter().map(line).collect()
    }

    /// Further details: a title and words for each.
    fn details(&self) -> Vec<(&'static str, String)> {
        let mut lines: Vec<(&'static str, String)> = Vec::new();
        for phase in self.phases.iter().filter(|phase| phase.queue.is_some()) {
            lines.push(("Queue", queue(phase)));
        }
        for phase in &self.phases {
            lines.extend(
                phase
                    .responsiveness
                    .as_ref()
                    .filter(|found| found.rpm < TIMERS)
                    .map(|found| {
                        let words = format!(
                            "{}: {:.0} RPM ({}), {}, {}, confidence {}",
                            phase.phase.word(),
                            found.rpm,
                            found.rating,
                            found.name,
                            found.revision,
                            serde_json::to_value(found.confidence)
                                .ok()
                                .and_then(|word| word.as_str().map(str::to_owned))
                                .unwrap_or_default(),
                        );
                        ("RPM", words)
                    }),
            );
        }
        for phase in self.phases.iter().filter(|phase| phase.latency.len() > 1) {
            lines.push(("Classes", classes(phase)));
        }
        lines.extend(self.codepoints().map(|words| ("DSCP", words)));
        for phase in &self.phases {
            lines.extend(phase.datagrams.as_ref().map(|udp| ("UDP", udp.words())));
        }
        for phase in self
            .phases
            .iter()
            .filter(|phase| phase.not_filled.is_some())
        {
            let reason = phase.not_filled.as_deref().unwrap_or_default();
            lines.push(("Limit", format!("{}: {reason}", phase.phase.word())));
        }
        lines.extend(
            self.degraded_reason
                .iter()
                .map(|reason| ("Degraded", reason.clone())),
        );
        lines.extend(
            self.missing
                .iter()
                .map(|missing| ("Missing", missing.clone())),
        );
        for failure in &self.failures {
            let reason = escape::line(failure.reason.lines().next().unwrap_or_default());
            lines.push(("Failed", format!("{}: {reason}", failure.run)));
        }
        for warning in &self.warnings {
            lines.push(("Warning", escape::line(&warning.message)));
        }
        if let Some(when) = self.last_unix_seconds.and_then(date) {
            let changes = self
                .changes
                .iter()
                .map(|change| format!("{} {}", change.metric, ratio_of(change.ratio)));
            let changes: Vec<String> = changes.collect();
            lines.push(("Change", format!("since {when}: {}", changes.join(", "))));
        }
        if let Some(error) = &self.error {
            lines.push(("Stopped", escape::line(&error.message)));
        }
        lines
    }

    /// Codepoints of several classes as received, in the idle phase; `None` if nothing is known.
    fn codepoints(&self) -> Option<String> {
        let first = self
            .phases
            .first()
            .filter(|_| self.settings.classes.len() > 1)?;
        let fates = first.latency.iter().flat_map(|latency| {
            let ways = [("up", &latency.up_dscp), ("down", &latency.down_dscp)];
            ways.into_iter().filter_map(|(way, fate)| {
                let fate = fate.as_ref().filter(|fate| fate.fate != "unknown")?;
                let arrived = fate.arrived.filter(|_| fate.fate == "remapped");
                let to = arrived.map_or_else(String::new, |code| format!(" to {code}"));
                let words = format!("{} {way} {}{to}", latency.class.word(), fate.fate);
                Some((fate.fate == "kept", words))
            })
        });
        let fates: Vec<(bool, String)> = fates.collect();
        let changed: Vec<String> = fates
            .iter()
            .filter(|(is_kept, _)| !is_kept)
            .map(|(_, words)| words.clone())
            .collect();
        match (fates.is_empty(), changed.is_empty()) {
            (true, _) => None,
            (false, true) => Some("every codepoint arrived as it was sent".to_owned()),
            (false, false) => Some(changed.join(", ")),
        }
    }
}

/// Place of the queue of a phase, and its effect.
fn queue(phase: &PhaseSummary) -> String {
    let side = phase.queue.unwrap_or(QueueSide::Unknown);
    let mut words = format!("{}: {}", phase.phase.word(), side.words());
    if let Some(first) = phase.latency.first() {
        for (way, increase) in [("up", first.up_increase), ("down", first.down_increase)] {
            if let Some(increase) = increase {
                let sign = if increase.p50_seconds < 0.0 { "" } else { "+" };
                words.push_str(&format!(
                    ", {way} {sign}{} (P99 {})",
                    time(increase.p50_seconds),
                    time(increase.p99_seconds)
                ));
            }
        }
    }
    match phase.flow_queueing {
        FlowQueueing::Yes => words.push_str("; flow queueing: yes"),
        FlowQueueing::No => words.push_str("; flow queueing: no"),
        FlowQueueing::Unknown => {}
    }
    words
}

/// Rates and latencies of the classes of a phase.
fn classes(phase: &PhaseSummary) -> String {
    let each = phase.latency.iter().map(|latency| {
        let rates = [&phase.down, &phase.up]
            .into_iter()
            .flatten()
            .filter_map(|load| {
                let mut classes = load.classes.iter();
                classes
                    .find(|class| class.class == latency.class)
                    .map(|class| rate(class.bits_per_second))
            });
        let rates: Vec<String> = rates.collect();
        let p50 = latency.round_trip.map(|times| time(times.p50_seconds));
        let parts = rates.into_iter().chain(p50.map(|p50| format!("P50 {p50}")));
        format!(
            "{} {}",
            latency.class.word(),
            parts.collect::<Vec<_>>().join(" ")
        )
    });
    format!(
        "{}: {}",
        phase.phase.word(),
        each.collect::<Vec<_>>().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_or_three_digits() {
        for (value, text) in [
            (87.4, "87"),
            (187.4, "187"),
            (9.97, "10"),
            (9.94, "9.9"),
            (0.123, "0.12"),
            (0.0, "0"),
            (-4.26, "-4.3"),
        ] {
            assert_eq!(digits(value), text);
        }
        assert_eq!(rate(47.87e6), "48\u{a0}Mbit/s");
        assert_eq!(time(0.0874), "87\u{a0}ms");
    }
}
