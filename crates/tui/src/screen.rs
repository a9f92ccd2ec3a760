//! The live view on the whole screen.

use console::Style;
use netperf_text::bars::{bars, gauge};
use netperf_text::columns::{self, width};
use netperf_text::duration::duration as length;
use netperf_text::escape::line as harmless;

use crate::tick::{Each, RunEnd, TcpTick};
use crate::trail::Trail;
use crate::view::{FlowHistory, LiveView};
use crate::words::{self, in_letters, micros, nanos, plural};

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenSize {
    /// Characters of a line.
    pub columns: u16,
    /// Lines.
    pub rows: u16,
}

/// Capabilities of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Colours and bold text; without it the text has no escape sequences.
    pub colour: bool,
    /// Block characters; without it the text is ASCII.
    pub unicode: bool,
}

/// Width of the label of a row.
const LABEL: usize = 16;
/// Screens with at least this many rows have bars of several rows.
const TALL: usize = 34;
const QUANTILES: [(&str, f64); 4] = [("P50", 0.5), ("P90", 0.9), ("P99", 0.99), ("P99.9", 0.999)];

/// Priority of a row on a screen too small for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// An empty row.
    Blank,
    /// A figure over time.
    Bars,
    /// One of several flows.
    Flow,
    /// Figures.
    Figures,
}

/// A row of the screen.
struct ScreenRow {
    worth: Worth,
    text: String,
    style: Style,
}

impl LiveView {
    /// The rows of the screen: at most its height, each at most its width.
    #[must_use]
    pub fn screen(&self, size: ScreenSize, look: Capabilities) -> Vec<String> {
        let drawing = ScreenLayout {
            view: self,
            width: usize::from(size.columns),
            unicode: look.unicode,
            tall: if usize::from(size.rows) >= TALL { 3 } else { 1 },
        };
        let space = usize::from(size.rows);
        let mut rows = drawing.run();
        let below = drawing.below();
        let flows = space.saturating_sub(rows.len() + below.len());
        rows.extend(drawing.flows(flows));
        let mut rows = fitted(rows, space.saturating_sub(below.len()));
        if rows.len() + below.len() <= space {
            rows.extend(below);
        }
        let shown = |row: ScreenRow| {
            let text = in_letters(&row.text, look.unicode);
            let text = columns::cut(&text, drawing.width);
            let style = row.style.force_styling(look.colour);
            style.apply_to(text.trim_end()).to_string()
        };
        rows.into_iter().map(shown).collect()
    }
}

/// As many rows as fit, those with the highest priority first.
fn fitted(mut rows: Vec<ScreenRow>, space: usize) -> Vec<ScreenRow> {
    for worth in [Worth::Blank, Worth::Flow, Worth::Bars] {
        while rows.len() > space {
            let Some(last) = rows.iter().rposition(|row| row.worth == worth) else {
                break;
            };
            rows.remove(last);
        }
    }
    rows.truncate(space);
    rows
}

struct ScreenLayout<'a> {
    view: &'a LiveView,
    width: usize,
    unicode: bool,
    /// Height of the bars of rate and latency, in rows.
    tall: usize,
}

impl ScreenLayout<'_> {
    /// The rows of the run as a whole.
    fn run(&self) -> Vec<ScreenRow> {
        let mut rows = vec![self.title(), self.time(), blank()];
        rows.extend(self.rate());
        rows.push(blank());
        let latency = self.latency();
        if !latency.is_empty() {
            rows.extend(latency);
            rows.push(blank());
        }
        rows.extend(self.retransmissions());
        rows.extend(self.cpu());
        rows
    }

    fn title(&self) -> ScreenRow {
        let about = &self.view.about;
        let mut text = format!(
            "netperf {} to {}",
            harmless(&about.test),
            harmless(&about.host)
        );
        if about.flows > 1 {
            text += &format!(", {} flows", about.flows);
        }
        if self.view.iteration > 1 {
            text += &format!(", iteration {}", self.view.iteration);
        }
        ScreenRow {
            style: Style::new().bold(),
            ..figures(text)
        }
    }

    fn time(&self) -> ScreenRow {
        let view = self.view;
        let elapsed = view.tick.elapsed;
        let mut parts = match view.about.end {
            RunEnd::After(whole) => vec![
                format!("{} of {}", length(elapsed.min(whole)), length(whole)),
                format!("{} left", length(whole.saturating_sub(elapsed))),
            ],
            RunEnd::Within(most) => {
                vec![format!("{} of at most {}", length(elapsed), length(most))]
            }
            RunEnd::Amount(_) => vec![length(elapsed)],
            RunEnd::Open => vec![length(elapsed), "until Ctrl-C".to_owned()],
        };
        if view.over {
            parts.truncate(1);
            parts.push("over; waiting for the server's result".to_owned());
        }
        let mut row = self.row("Time", &parts);
        if let Some(share) = view.share().filter(|_| !view.over) {
            let percent = format!("{:3.0} %", share * 100.0);
            let used = width(&row.text) + percent.len() + 5;
            let space = self.width.saturating_sub(used).min(60);
            if space >= 5 {
                row.text += &format!("   {} {percent}", gauge(share, space, self.unicode));
            }
        }
        row
    }

    fn rate(&self) -> Vec<ScreenRow> {
        let view = self.view;
        let shown = |interval| view.rate(interval).unwrap_or_else(|| "-".to_owned());
        let mut parts = vec![
            format!("{} now", shown(view.tick.now)),
            format!("{} mean", shown(view.tick.all)),
        ];
        let packets = view.tick.packets.filter(|_| view.tick.now.seconds > 0.0);
        parts.extend(packets.map(|packets| words::packets(packets / view.tick.now.seconds)));
        if let Some((least, most)) = view.extremes {
            let of_second = |work| words::rate(view.about.unit, work);
            parts.push(format!("{} to {}", of_second(least), of_second(most)));
        }
        let mut rows = vec![self.row("Rate", &parts)];
        rows.extend(self.bars("", &view.rates, self.tall, Style::new().cyan()));
        rows
    }

    fn latency(&self) -> Vec<ScreenRow> {
        let view = self.view;
        let Some(latency) = &view.tick.latency else {
            return Vec::new();
        };
        let heads = QUANTILES.iter().map(|(name, _)| (*name).to_owned());
        let heads = heads.chain(["max".to_owned()]);
        let line = |label: &str, of: &netperf_model::Latency| {
            let quantiles = QUANTILES.iter().map(|(_, share)| of.quantile(*share));
            let max = (of.count > 0).then(|| of.quantile(1.0)).flatten();
            let cells = quantiles.chain([max]);
            self.table(label, cells.map(|cell| cell.map_or("-".to_owned(), nanos)))
        };
        let mut rows = vec![
            self.table("Latency", heads),
            line("  now", &latency.now),
            line("  so far", &latency.all),
        ];
        rows.extend(self.bars("P99", &view.p99, self.tall, Style::new().yellow()));
        rows
    }

    /// A label and figures in columns, which fit 60 columns.
    fn table(&self, label: &str, cells: impl Iterator<Item = String>) -> ScreenRow {
        let width = if self.width < 65 { 10 } else { 11 };
        let cells: String = cells.map(|cell| columns::right(&cell, width)).collect();
        figures(format!("{label:10}{cells}"))
    }

    fn retransmissions(&self) -> Vec<ScreenRow> {
        let view = self.view;
        if !view.about.tcp {
            return Vec::new();
        }
        let Some(tcp) = view.tick.tcp else {
            return vec![self.row("Retransmitted", &["-".to_owned()])];
        };
        let all = plural(tcp.retransmitted, "segment");
        let mut parts = vec![all, format!("{} now", view.retransmitted_now)];
        parts.extend(of_connection(&tcp));
        if view.about.flows > tcp.of.max(1) {
            parts.push(format!("in {} of {} flows", tcp.of, view.about.flows));
        }
        let mut rows = vec![self.row("Retransmitted", &parts)];
        rows.extend(self.bars("", &view.retransmissions, 1, Style::new().red()));
        rows
    }

    fn cpu(&self) -> Vec<ScreenRow> {
        let view = self.view;
        let parts = match &view.tick.cpu {
            Some(cpu) => vec![
                format!("{:.1} % of {}", cpu.busy, plural(cpu.cpus.into(), "CPU")),
                format!("the busiest {:.1} %", cpu.peak_busy),
            ],
            None => vec!["-".to_owned()],
        };
        let mut rows = vec![self.row("CPU client", &parts)];
        rows.extend(self.bars("", &view.cpu, 1, Style::new().green()));
        if view.about.remote_cpu {
            rows.push(self.row("CPU server", &["measured, known at the end".to_owned()]));
        }
        rows
    }

    /// Flows or threads, in at most `space` rows.
    fn flows(&self, space: usize) -> Vec<ScreenRow> {
        let view = self.view;
        let Some(each) = view
            .about
            .each
            .filter(|_| space > 2 && !view.flows.is_empty())
        else {
            return Vec::new();
        };
        let (name, heads): (_, &[&str]) = match each {
            Each::Flow => ("Flow", &["round trip", "window", "retransmitted"]),
            Each::Thread => ("Thread", &[]),
        };
        let heads = std::iter::once("rate").chain(heads.iter().copied());
        let mut rows = vec![blank(), cells(name, heads.map(str::to_owned))];
        let all = view.flows.len();
        // One row has the number of flows that do not fit.
        let shown = if all > space - 2 { space - 3 } else { all };
        rows.extend(view.flows.values().take(shown).map(|seen| self.flow(seen)));
        let others = usize::try_from(view.about.flows)
            .unwrap_or(all)
            .max(all)
            .saturating_sub(shown);
        if others > 0 && rows.len() < space && each == Each::Flow {
            rows.push(figures(format!("  and {others} more")));
        }
        for row in rows.iter_mut().skip(1) {
            row.worth = Worth::Flow;
        }
        rows
    }

    fn flow(&self, seen: &FlowHistory) -> ScreenRow {
        let rate = seen.now.map_or("-".to_owned(), |now| {
            words::rate(self.view.about.flow_unit, now)
        });
        let tcp = seen.tick.tcp.iter().flat_map(|tcp| {
            [
                tcp.round_trip.map(micros),
                tcp.window.map(|window| window.to_string()),
                Some(tcp.retransmitted.to_string()),
            ]
        });
        let tcp = tcp.map(|cell| cell.unwrap_or("-".to_owned()));
        let mut row = cells(
            &format!("{:>4}", seen.tick.number),
            std::iter::once(rate).chain(tcp),
        );
        let space = self.width.saturating_sub(width(&row.text) + 3);
        if space >= 4 {
            let bars = bars(&seen.rates.within(space), None, 1, self.unicode);
            row.text += &format!("  {}", bars.concat());
        }
        row
    }

    /// The last rows of the screen.
    fn below(&self) -> Vec<ScreenRow> {
        let text = "q or Ctrl-C ends the test now, with its result";
        let style = Style::new().dim();
        let row = ScreenRow {
            style,
            ..figures(text.to_owned())
        };
        vec![blank(), row]
    }

    /// A label and as many parts as fit.
    fn row(&self, label: &str, parts: &[String]) -> ScreenRow {
        let mut text = format!("{label:LABEL$}");
        for (index, part) in parts.iter().enumerate() {
            let gap = if index == 0 { "" } else { "   " };
            let used = width(&text) + gap.len() + width(part);
            if index > 0 && used > self.width {
                break;
            }
            text += gap;
            text += part;
        }
        figures(text)
    }

    /// A figure over time, as wide as the screen.
    fn bars(&self, label: &str, trail: &Trail, rows: usize, style: Style) -> Vec<ScreenRow> {
        let indent = if label.is_empty() { 2 } else { label.len() + 4 };
        let values = trail.within(self.width.saturating_sub(indent + 1));
        let bars = bars(&values, trail.full, rows, self.unicode);
        let bars = bars.into_iter().enumerate();
        let row = |(index, bars): (usize, String)| ScreenRow {
            worth: Worth::Bars,
            text: match index {
                0 if !label.is_empty() => format!("  {label}  {bars}"),
                _ => " ".repeat(indent) + &bars,
            },
            style: style.clone(),
        };
        bars.map(row).collect()
    }
}

fn blank() -> ScreenRow {
    ScreenRow {
        worth: Worth::Blank,
        ..figures(String::new())
    }
}

fn figures(text: String) -> ScreenRow {
    ScreenRow {
        worth: Worth::Figures,
        text,
        style: Style::new(),
    }
}

fn cells(label: &str, cells: impl Iterator<Item = String>) -> ScreenRow {
    let cells: String = cells.map(|cell| columns::right(&cell, 14)).collect();
    figures(format!("{label:6}{cells}"))
}

/// Figures of a single connection.
fn of_connection(tcp: &TcpTick) -> Vec<String> {
    let round_trip = tcp
        .round_trip
        .map(|time| format!("round trip {}", micros(time)));
    let window = tcp.window.map(|segments| format!("window {}", segments));
    round_trip.into_iter().chain(window).collect()
}

#[cfg(test)]
mod tests;
