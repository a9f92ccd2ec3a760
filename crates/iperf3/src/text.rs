//! iperf3's lines for people (docs/spec/iperf3.md, Text).

use std::fmt::Write as _;

use netperf_model::figures::{count, four_columns, percent, prefixed, two_digits};

use crate::messages::{Parameters, Protocol, Results, StreamDirection, StreamResults};

use super::figures::{DataFile, StreamFigures, StreamInfo, StreamInterval, Totals};
use super::verbose::utilisation;

/// Line between parts.
pub const RULE: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -\n";

/// Facts that do not change during a test.
#[derive(Clone, Debug)]
pub struct TextView {
    /// The client's end.
    pub client: bool,
    /// Parameters of the test.
    pub parameters: Parameters,
    /// The streams.
    pub infos: Vec<StreamInfo>,
    /// Unit of rates (`-f`).
    pub letter: Option<char>,
    /// More lines (`-V`).
    pub verbose: bool,
}

/// A quantity in four columns and its unit.
fn quantity(value: f64, factor: f64, power: Option<u32>, unit: &str) -> String {
    let (value, prefix) = prefixed(value, factor, power);
    format!("{} {prefix}{unit}", four_columns(value))
}

/// A number of bytes.
pub fn transfer(bytes: u64) -> String {
    quantity(count(bytes), 1024.0, None, "Bytes")
}

/// The row about the file with the data of a stream.
fn of_file(file: &DataFile, bytes: u64) -> String {
    let amount = |bytes: u64| quantity(count(bytes), 1024.0, None, "Byte");
    let (moved, size, percent) = (amount(bytes), amount(file.size), file.percent(bytes));
    format!(
        "        Sent {moved} / {size} ({percent}%) of {}\n",
        file.name
    )
}

/// A rate of bits per second in the unit of a letter (`-f`).
pub fn rate(bits: f64, letter: Option<char>) -> String {
    let of = |letters: &str| {
        let place = letter.and_then(|letter| letters.find(letter));
        place.and_then(|place| u32::try_from(place + 1).ok())
    };
    match of("KMGT") {
        Some(power) => quantity(bits / 8.0, 1024.0, Some(power), "Bytes"),
        None => quantity(bits, 1000.0, of("kmgt"), "bits"),
    }
}

/// Bits per second.
pub fn bits(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count(bytes) * 8.0 / seconds
    } else {
        0.0
    }
}

/// A group of streams in one direction.
struct StreamGroup {
    positions: std::ops::Range<usize>,
    /// Mark of the direction, in a test of both.
    role: &'static str,
    sends: bool,
}

impl TextView {
    fn udp(&self) -> bool {
        self.parameters.protocol == Protocol::Udp
    }

    fn both(&self) -> bool {
        self.parameters.direction == StreamDirection::Both
    }

    /// Number of a stream in the first column: what iperf3's descriptors are in the usual case.
    pub fn number(&self, position: usize) -> usize {
        match (self.client, self.udp(), position) {
            (true, _, _) => 5 + 2 * position,
            (false, true, _) => 5 + position,
            (false, false, 0) => 5,
            (false, false, _) => 6 + 2 * position,
        }
    }

    fn groups(&self) -> Vec<StreamGroup> {
        let count = self.infos.len();
        let middle = if self.both() { count / 2 } else { count };
        [0..middle, middle..count]
            .into_iter()
            .filter(|range| !range.is_empty())
            .map(|positions| {
                let first = self.infos.get(positions.start);
                let sends = first.is_some_and(|info| info.sends);
                let role = match (self.both(), self.client, sends) {
                    (false, _, _) => "",
                    (true, true, true) => "[TX-C]",
                    (true, true, false) => "[RX-C]",
                    (true, false, true) => "[TX-S]",
                    (true, false, false) => "[RX-S]",
                };
                StreamGroup {
                    positions,
                    role,
                    sends,
                }
            })
            .collect()
    }

    /// The lines of the streams.
    pub fn connected(&self) -> String {
        let mut text = String::new();
        for (position, info) in self.infos.iter().enumerate() {
            let Some((local, remote)) = info.local.zip(info.remote) else {
                continue;
            };
            let _written = writeln!(
                text,
                "[{:3}] local {} port {} connected to {} port {}",
                self.number(position),
                local.ip(),
                local.port(),
                remote.ip(),
                remote.port()
            );
        }
        text
    }

    fn titles(&self, last: bool) -> String {
        let sends = self.client || self.infos.iter().any(|info| info.sends);
        let only_sends = self.infos.iter().all(|info| info.sends);
        let columns = match (self.udp(), last) {
            (false, _) if !sends => "",
            (false, false) => "         Retr  Cwnd",
            (false, true) => "         Retr",
            (true, false) if only_sends => "         Total Datagrams",
            (true, _) => "         Jitter    Lost/Total Datagrams",
        };
        let role = if self.both() { "[Role]" } else { "" };
        format!("[ ID]{role} Interval           Transfer     Bitrate{columns}\n")
    }

    fn start(&self, id: &str, role: &str, (from, to): (f64, f64), bytes: u64) -> String {
        let rate = rate(bits(bytes, to - from), self.letter);
        let bytes = transfer(bytes);
        format!("[{id:>3}]{role} {from:6.2}-{to:<6.2} sec  {bytes}  {rate}/sec")
    }

    /// A row of an interval.
    fn row(
        &self,
        id: &str,
        group: &StreamGroup,
        interval: &StreamInterval,
        figures: &StreamFigures,
    ) -> String {
        let times = (interval.start, interval.end);
        let mut row = self.start(id, group.role, times, figures.bytes);
        let _written = match (self.udp(), group.sends) {
            (false, true) => {
                let retransmits = figures.retransmits.unwrap_or(0);
                if id == "SUM" {
                    write!(row, "  {retransmits:3}             ")
                } else {
                    let cwnd = transfer(figures.cwnd);
                    write!(row, "  {retransmits:3}   {cwnd}       ")
                }
            }
            (false, false) => write!(row, "{:18}", ""),
            (true, true) => {
                let blanks = if self.both() { 12 } else { 2 };
                write!(row, "{:blanks$}{}  ", "", figures.packets)
            }
            (true, false) => write!(row, "{}  ", quality(figures)),
        };
        if interval.omitted {
            row.push_str("(omitted)");
        }
        row.push('\n');
        row
    }

    /// The rows of an interval, and before the first one their titles.
    pub fn interval(&self, interval: &StreamInterval, first: bool) -> String {
        let mut text = String::new();
        let several = self.parameters.parallel > 1;
        if first {
            text.push_str(&self.titles(false));
        } else if several {
            text.push_str(RULE);
        }
        for group in self.groups() {
            let positions = group.positions.clone();
            let figures = interval.streams.get(positions.clone()).unwrap_or_default();
            for (position, figures) in positions.zip(figures) {
                let id = self.number(position).to_string();
                text.push_str(&self.row(&id, &group, interval, figures));
            }
            if several {
                text.push_str(&self.row("SUM", &group, interval, &sum(figures)));
            }
        }
        text
    }

    /// The rows of the whole test. A client has the results of the server.
    pub fn last(&self, totals: &Totals, peer: Option<&Results>) -> String {
        let summary = if self.verbose {
            "Test Complete. Summary Results:\n"
        } else {
            ""
        };
        let mut text = format!("{RULE}{summary}{}", self.titles(true));
        for group in self.groups() {
            let (mut own, mut others) = (Vec::new(), Vec::new());
            for position in group.positions.clone() {
                let Some(info) = self.infos.get(position) else {
                    continue;
                };
                let id = self.number(position).to_string();
                let figures = totals.streams.get(position).copied().unwrap_or_default();
                let end = totals.ends.get(position).copied().unwrap_or_default();
                let other = peer.and_then(|peer| peer.of(info.id)).copied();
                let known = other.map(|other| of_peer(Some(other)));
                let mut rows = self.last_rows(&id, &group, (figures, end), known);
                if let Some(file) = &totals.file {
                    let at = rows.find('\n').map_or(rows.len(), |at| at + 1);
                    rows.insert_str(at, &of_file(file, figures.bytes));
                }
                text.push_str(&rows);
                own.push(figures);
                others.extend(known);
            }
            if self.parameters.parallel > 1 {
                let ends = group.positions.clone().filter_map(|at| totals.ends.get(at));
                let end = ends.copied().fold(0.0, f64::max);
                let figures: Vec<StreamFigures> = others.iter().map(|(one, _)| *one).collect();
                let last = others.iter().map(|(_, end)| *end).reduce(f64::max);
                let other = last.map(|end| (sum(&figures), end));
                text.push_str(&self.last_rows("SUM", &group, (sum(&own), end), other));
            }
            if self.verbose {
                text.push_str(&utilisation(self, group.sends, totals, peer));
            }
        }
        text
    }

    /// The rows of a stream: own figures, and those of the peer at a client.
    fn last_rows(
        &self,
        id: &str,
        group: &StreamGroup,
        own: (StreamFigures, f64),
        other: Option<(StreamFigures, f64)>,
    ) -> String {
        let mut text = String::new();
        for sender in [true, false] {
            if sender == group.sends {
                text.push_str(&self.last_row(id, group, &own, sender));
            } else if let Some(other) = other.filter(|_| self.client) {
                text.push_str(&self.last_row(id, group, &other, sender));
            } else if (self.client || self.verbose) && (id != "SUM" || self.misses_sum()) {
                let word = if sender { "sender" } else { "receiver" };
                let _written = writeln!(text, "[{id:>3}] ({word} statistics not available)");
            }
        }
        if !group.sends && own.0.out_of_order > 0 {
            let (figures, end) = own;
            let count = figures.out_of_order;
            let _written = writeln!(
                text,
                "[{id:>3}]  0.0-{end:4.1} sec  {count} datagrams received out-of-order"
            );
        }
        text
    }

    /// True if a line says that a sum of the peer is not known, as the original does for TCP.
    fn misses_sum(&self) -> bool {
        !self.client && !self.udp()
    }

    fn last_row(
        &self,
        id: &str,
        group: &StreamGroup,
        end: &(StreamFigures, f64),
        sender: bool,
    ) -> String {
        let (figures, seconds) = end;
        let mut row = self.start(id, group.role, (0.0, *seconds), figures.bytes);
        let word = if sender { "sender" } else { "receiver" };
        let _written = match (self.udp(), sender) {
            (false, true) => {
                let retransmits = figures.retransmits.unwrap_or(0);
                write!(row, "  {retransmits:3}             ")
            }
            (false, false) => write!(row, "{:18}", ""),
            (true, true) => {
                let plain = StreamFigures {
                    packets: figures.packets,
                    ..StreamFigures::default()
                };
                write!(row, "{}  ", quality(&plain))
            }
            (true, false) => write!(row, "{}  ", quality(figures)),
        };
        row.push_str(word);
        row.push('\n');
        row
    }
}

fn quality(figures: &StreamFigures) -> String {
    let percent = two_digits(percent(figures.lost, figures.packets));
    format!(
        "  {:5.3} ms  {}/{} ({percent}%)",
        figures.jitter * 1e3,
        figures.lost,
        figures.packets
    )
}

/// The figures of a stream at the peer, and its seconds.
pub fn of_peer(results: Option<StreamResults>) -> (StreamFigures, f64) {
    let results = results.unwrap_or_default();
    let figures = StreamFigures {
        bytes: results.bytes,
        packets: results.packets,
        lost: results.errors,
        jitter: results.jitter,
        retransmits: results.retransmits,
        ..StreamFigures::default()
    };
    (figures, results.end_time.unwrap_or_default())
}

/// The figures of several streams together; the jitter is the mean.
pub fn sum(all: &[StreamFigures]) -> StreamFigures {
    let total = |of: fn(&StreamFigures) -> u64| all.iter().map(of).sum();
    let jitter: f64 = all.iter().map(|one| one.jitter).sum();
    let known = all.iter().filter_map(|one| one.retransmits);
    StreamFigures {
        bytes: total(|one| one.bytes),
        packets: total(|one| one.packets),
        lost: total(|one| one.lost),
        out_of_order: total(|one| one.out_of_order),
        jitter: jitter / count(all.len() as u64).max(1.0),
        retransmits: known.reduce(|sum, one| sum + one),
        ..StreamFigures::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits_in_four_columns() {
        for (bytes, text) in [
            (0, "0.00 Bytes"),
            (1000, "1000 Bytes"),
            (1024, "1.00 KBytes"),
            (19_760, "19.3 KBytes"),
            (131_072, " 128 KBytes"),
            (1_048_576, "1.00 MBytes"),
            (1 << 50, "1024 TBytes"),
        ] {
            assert_eq!(transfer(bytes), text);
        }
        for (bits, letter, text) in [
            (4.19e6, None, "4.19 Mbits"),
            (9.15e6, Some('k'), "9150 Kbits"),
            (400e3, None, " 400 Kbits"),
            (8_388_608.0, Some('M'), "1.00 MBytes"),
            (1e18, None, "1000000 Tbits"),
            (f64::NAN, None, "0.00 bits"),
        ] {
            assert_eq!(rate(bits, letter), text);
        }
    }

    #[test]
    fn lines_behind_the_rows_of_a_server_are_those_of_each_direction() {
        let info = |id, sends| StreamInfo {
            id,
            sends,
            local: None,
            remote: None,
        };
        let mut view = TextView {
            client: false,
            parameters: Parameters {
                direction: StreamDirection::Both,
                parallel: 2,
                ..Parameters::default()
            },
            infos: vec![info(1, false), info(3, false), info(5, true), info(7, true)],
            letter: None,
            verbose: true,
        };
        let totals = Totals {
            streams: Vec::new(),
            ends: Vec::new(),
            omitted: Vec::new(),
            extremes: Vec::new(),
            seconds: 1.0,
            cpu: [3.0, 1.0, 2.0],
            congestion: Some("cubic".to_owned()),
            tcp: None,
            file: None,
        };
        let lines = |view: &TextView| {
            let text = view.last(&totals, None);
            let others = text.lines().filter(|line| !line.contains(" sec "));
            others.skip(3).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(lines(&view), @r"
        [  5] (sender statistics not available)
        [  8] (sender statistics not available)
        [SUM] (sender statistics not available)
        rcv_tcp_congestion cubic
        [ 10] (receiver statistics not available)
        [ 12] (receiver statistics not available)
        [SUM] (receiver statistics not available)
        CPU Utilization: local/sender 3.0% (1.0%u/2.0%s), remote/receiver 0.0% (0.0%u/0.0%s)
        CPU Utilization: local/receiver 3.0% (1.0%u/2.0%s), remote/sender 0.0% (0.0%u/0.0%s)
        snd_tcp_congestion cubic
        ");
        view.parameters.protocol = Protocol::Udp;
        view.parameters.direction = StreamDirection::Reverse;
        view.infos = vec![info(1, true), info(3, true)];
        insta::assert_snapshot!(lines(&view), @r"
        [  5] (receiver statistics not available)
        [  6] (receiver statistics not available)
        CPU Utilization: local/sender 3.0% (1.0%u/2.0%s), remote/receiver 0.0% (0.0%u/0.0%s)
        ");
    }
}
