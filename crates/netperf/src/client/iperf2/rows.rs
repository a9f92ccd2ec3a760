//! The lines of a client, in the order and form of iperf 2.1.8.

use std::net::SocketAddr;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::atomic::Ordering;
use std::time::Duration;

use netperf_cli::Iperf2Args;
use netperf_engine::iperf2::Transfer;
use netperf_model::figures::{count, whole};
use netperf_model::iperf2::{Iperf2Direction, Iperf2Rate};
use netperf_os::sockopt::{self, IntOption};
use netperf_report::iperf2::{
    CsvRow, DATAGRAM_TITLES, Iperf2Figures, RULE, SUM_TITLES, TITLES, id, loss, rest, shown_address,
};
use netperf_wire::iperf2::ServerReport;

use super::enhanced::{self, SentCounts, day_and_time};
use crate::iperf2::{
    Iperf2Client, Iperf2Failure, Iperf2Stream, Iperf2StreamResult, figures_of, receives, stamp,
};
use crate::output::{err, out};

/// Result of a stream.
type StreamOutcome = Result<Iperf2StreamResult, Iperf2Failure>;

/// Iperf2Titles that were printed last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Iperf2Titles {
    Stream,
    Datagrams,
}

/// Prints the lines.
pub(crate) struct ClientRows {
    args: Iperf2Args,
    figures: Iperf2Figures,
    titles: Option<Iperf2Titles>,
    /// Intervals so far, and the counts of each stream at the end of the last.
    turn: u32,
    before: Vec<MovedCounts>,
}

/// Counts of a stream. What arrives has bytes alone.
#[derive(Clone, Copy, Debug, Default)]
struct MovedCounts {
    sent: SentCounts,
    received: SentCounts,
}

impl MovedCounts {
    fn of(stream: &Iperf2Stream) -> Self {
        Self {
            sent: SentCounts::of(stream),
            received: SentCounts {
                bytes: stream.received.bytes.load(Ordering::Relaxed),
                ..SentCounts::default()
            },
        }
    }

    const fn way(&self, is_received: bool) -> SentCounts {
        if is_received {
            self.received
        } else {
            self.sent
        }
    }
}

impl ClientRows {
    pub(crate) fn new(args: &Iperf2Args) -> Self {
        Self {
            args: args.clone(),
            figures: figures_of(args.unit),
            titles: None,
            turn: 0,
            before: Vec::new(),
        }
    }

    fn leaves_out(&self, letter: char) -> bool {
        self.args.csv || self.args.left_out.contains(letter)
    }

    /// An address, perhaps with its last part only.
    fn shown(&self, address: SocketAddr) -> String {
        shown_address(address.ip(), self.args.hides_addresses)
    }

    /// Head and connection lines.
    pub(crate) fn head(&mut self, client: Option<&Iperf2Client>, host: &str) {
        let plan = &self.args.plan;
        let first = client.and_then(|client| client.streams.first());
        if !self.leaves_out('S') {
            out(RULE);
            let host = if self.args.hides_addresses {
                "(**hidden**)"
            } else {
                host
            };
            let protocol = if plan.udp { "UDP" } else { "TCP" };
            out(&format!(
                "Client connecting to {host}, {protocol} port {}{}\n",
                plan.port,
                self.of_process()
            ));
            if self.args.enhanced {
                if !plan.udp {
                    out(&format!("Write buffer size: {} Byte\n", plan.block()));
                }
                let (tos, nagle) = (plan.tos.unwrap_or(0), !self.args.no_delay);
                let nagle = if nagle { "on" } else { "off" };
                out(&format!("TOS set to 0x{tos:x} (Nagle {nagle})\n"));
            }
            if plan.udp {
                let length = plan.block();
                let gap = match plan.effective_rate() {
                    Some(Iperf2Rate::Bits(bits)) => real(length) * 8e6 / count(bits),
                    Some(Iperf2Rate::Packets(rate)) => 1e6 / count(rate),
                    None => 0.0,
                };
                out(&format!(
                    "Sending {length} byte datagrams, IPG target: {gap:.2} us (kalman adjust)\n"
                ));
            }
            if self.args.connections.is_some() {
                out("TCP three-way-handshake (3WHS) only\n");
            } else if let Some(first) = first {
                self.window(first);
                self.settings(first);
            }
            out(RULE);
        }
        if let Some(client) = client {
            self.connections(client);
        }
    }

    /// Lines of the connections.
    pub(super) fn connections(&self, client: &Iperf2Client) {
        if !self.leaves_out('C') && !self.args.sum_only {
            for stream in &client.streams {
                self.connection(stream);
            }
        }
    }

    /// Process and streams behind the first line of the head (`-e`).
    fn of_process(&self) -> String {
        if !self.args.enhanced {
            return String::new();
        }
        let streams = self.args.plan.streams;
        format!(" with pid {} ({streams} flows)", std::process::id())
    }

    /// The line of the socket buffer.
    fn window(&self, first: &Iperf2Stream) {
        let size = first.socket.send_buffer_size().unwrap_or_default();
        let size = u64::try_from(size).unwrap_or_default();
        let requested = self.args.window;
        let requested = requested.map(|window| u64::try_from(window).unwrap_or_default());
        let kind = if self.args.plan.udp {
            "UDP buffer size"
        } else {
            "TCP window size"
        };
        out(&self.figures.window(kind, size, requested));
    }

    /// Further lines of the head.
    fn settings(&self, first: &Iperf2Stream) {
        if let Some(size) = self.args.segment {
            out(&format!("MSS req size {size} bytes (per TCP_MAXSEG)\n"));
        }
        if self.args.shows_segment {
            let size = sockopt::fetch(first.socket.as_fd(), IntOption::SegmentSize);
            if let Ok(size) = size {
                out(&format!("MSS size {size} bytes\n"));
            }
        }
        if let Some(name) = &self.args.congestion {
            out(&format!("TCP congestion control set to {name}\n"));
        }
        if let Some(rate) = self.args.plan.fq_rate {
            let second = Duration::from_secs(1);
            let rate = self.figures.rate(rate / 8, second);
            let rate = rate.trim_end_matches("s/sec");
            out(&format!("fair-queue socket pacing set to {rate}/s\n"));
        }
    }

    fn connection(&self, stream: &Iperf2Stream) {
        let plan = &self.args.plan;
        let mut notes = String::new();
        match plan.direction {
            Iperf2Direction::Reverse => notes.push_str(" (reverse)"),
            Iperf2Direction::FullDuplex => notes.push_str(" (full-duplex)"),
            Iperf2Direction::Forward | Iperf2Direction::Dual | Iperf2Direction::Tradeoff => {}
        }
        let two_way = plan.direction == Iperf2Direction::FullDuplex;
        if plan.no_udp_fin || (plan.udp && two_way) {
            notes.push_str(" (no-udp-fin)");
        }
        if plan.trip_times {
            notes.push_str(" (trip-times)");
        }
        if let Some(tos) = plan.tos.filter(|tos| *tos > 0) {
            notes.push_str(&format!(" (tos rx=0x{tos:x})"));
        }
        if self.args.enhanced {
            notes.push_str(&format!(" (sock={})", stream.socket.as_raw_fd()));
        }
        if let Some(tcp) = &stream.tcp {
            let window = u64::from(tcp.snd_cwnd) * u64::from(tcp.snd_mss) / 1024;
            let (segment, time) = (tcp.snd_mss, tcp.rtt);
            notes.push_str(&format!(" (icwnd/mss/irtt={window}/{segment}/{time})"));
        }
        let connects_only = self.args.connections.is_some();
        if !plan.udp && (self.args.enhanced || connects_only) {
            let time = stream.connect_time.as_secs_f64() * 1e3;
            notes.push_str(&format!(" (ct={time:.2} ms)"));
        }
        if self.args.enhanced || connects_only {
            notes.push_str(&format!(" on {} (UTC)", day_and_time()));
        }
        out(&format!(
            "{} local {} port {} connected with {} port {}{notes}\n",
            id(stream.number, false),
            self.shown(stream.local),
            stream.local.port(),
            self.shown(stream.remote),
            stream.remote.port(),
        ));
    }

    /// Prints titles, if others were printed last.
    fn title(&mut self, wanted: Iperf2Titles) {
        if self.leaves_out('D') || self.titles == Some(wanted) {
            return;
        }
        self.titles = Some(wanted);
        out(match wanted {
            Iperf2Titles::Stream if self.args.sum_only => SUM_TITLES,
            Iperf2Titles::Stream if self.shows_columns() => {
                if self.args.plan.udp {
                    enhanced::DATAGRAM_TITLES
                } else {
                    enhanced::STREAM_TITLES
                }
            }
            Iperf2Titles::Stream => TITLES,
            Iperf2Titles::Datagrams => DATAGRAM_TITLES,
        });
    }

    /// True if rows have the columns of a sender (`-e`).
    const fn shows_columns(&self) -> bool {
        self.args.enhanced
            && matches!(
                self.args.plan.direction,
                Iperf2Direction::Forward | Iperf2Direction::Dual | Iperf2Direction::Tradeoff
            )
    }

    /// Rows of an interval, the `turn`th.
    pub(crate) fn interval(&mut self, client: &Iperf2Client, turn: u32) {
        let every = self.args.interval.unwrap_or_default();
        let times = (every * (turn - 1), every * turn);
        let now: Vec<_> = client.streams.iter().map(MovedCounts::of).collect();
        let before = std::mem::replace(&mut self.before, now);
        self.turn = turn;
        self.title(Iperf2Titles::Stream);
        let direction = client.plan.direction;
        let ways = [
            (true, receives(&client.plan)),
            (false, direction.client_sends()),
        ];
        let mut sum = 0;
        for (is_received, _) in ways.into_iter().filter(|(_, moves)| *moves) {
            for (at, stream) in client.streams.iter().enumerate() {
                let of = |counts: &[MovedCounts]| counts.get(at).copied().unwrap_or_default();
                let [now, before] = [&self.before, &before].map(|all| of(all).way(is_received));
                let new = now.since(before);
                sum += new.bytes;
                self.part(stream, is_received, times, new);
            }
        }
        self.sum(client, times.0, times.1, sum);
    }

    /// A row of a part of the test.
    fn part(
        &self,
        stream: &Iperf2Stream,
        is_received: bool,
        (from, to): (Duration, Duration),
        new: SentCounts,
    ) {
        let udp = self.args.plan.udp;
        if self.args.csv {
            self.csv(stream, (from, to), new.bytes, udp.then_some([0; 4]));
        } else if !self.args.sum_only && !self.leaves_out('D') {
            let name = id(stream.number, is_received);
            let mut row = self.figures.row(&name, from, to, new.bytes);
            if self.shows_columns() {
                row.push_str(&new.columns(stream, to.saturating_sub(from), udp));
            }
            out(&format!("{row}\n"));
        }
    }

    /// The row of what a stream moved behind its last interval, if it has one.
    fn rest(&mut self, stream: &Iperf2Stream, is_received: bool, all: &Transfer) {
        let rest = rest(self.args.interval, self.turn, all.elapsed);
        let Some(times) = rest.filter(|_| !self.args.plan.udp) else {
            return;
        };
        let at = usize::try_from(stream.number)
            .unwrap_or_default()
            .checked_sub(1);
        let before = at.and_then(|at| self.before.get(at)).copied();
        let before = before.unwrap_or_default().way(is_received);
        let counts = MovedCounts::of(stream).way(is_received);
        let bytes = all.bytes;
        let new = SentCounts { bytes, ..counts }.since(before);
        self.title(Iperf2Titles::Stream);
        self.part(stream, is_received, times, new);
    }

    /// The sum of what all streams moved behind the last interval, if it has one.
    fn rest_of_all(&self, client: &Iperf2Client, end: Duration, total: u64) {
        let rest = rest(self.args.interval, self.turn, end);
        let rest = rest.filter(|_| self.turn > 0 && !self.args.plan.udp);
        if let Some((from, to)) = rest {
            let before = self.before.iter();
            let before: u64 = before.map(|one| one.sent.bytes + one.received.bytes).sum();
            self.sum(client, from, to, total.saturating_sub(before));
        }
    }

    fn sum(&self, client: &Iperf2Client, from: Duration, to: Duration, bytes: u64) {
        // Both directions of one stream have no sum beside rows of intervals.
        let two_way = client.plan.direction == Iperf2Direction::FullDuplex;
        let both = two_way && self.args.interval.is_none();
        let is_sum = client.streams.len() > 1 || self.args.sum_only || both;
        if is_sum && !self.args.csv && !self.leaves_out('D') {
            let row = self.figures.row(&self.sum_id(client), from, to, bytes);
            out(&format!("{row}\n"));
        }
    }

    fn sum_id(&self, client: &Iperf2Client) -> String {
        if self.args.sum_only {
            let two_way = client.plan.direction == Iperf2Direction::FullDuplex;
            let ways = if two_way { 2 } else { 1 };
            format!("[SUM-{}]", client.streams.len() * ways)
        } else {
            "[SUM]".to_owned()
        }
    }

    /// Final rows, sums and reports.
    pub(crate) fn results(&mut self, client: &Iperf2Client, results: &[StreamOutcome]) {
        let own = client.streams.iter().zip(results);
        let own: Vec<_> = own
            .filter_map(|(stream, result)| Some((stream, result.as_ref().ok()?)))
            .collect();
        let (mut total, mut longest, mut datagrams) = (0, Duration::ZERO, 0);
        let back = results.get(client.streams.len()..).unwrap_or_default();
        for (stream, result) in &own {
            if let Some(received) = result.received {
                self.rest(stream, true, &received);
                self.received(stream, result, &received);
                total += received.bytes;
                longest = longest.max(received.elapsed);
            }
            if let Some(sent) = result.sent {
                self.rest(stream, false, &sent);
                let (bytes, count) = self.sent(stream, result, &sent);
                total += bytes;
                datagrams += count;
                longest = longest.max(sent.elapsed);
            }
        }
        let (bytes, time) = self.backward(client, back);
        if self.args.plan.direction == Iperf2Direction::Tradeoff {
            // The directions follow each other.
            self.sum(client, Duration::ZERO, longest, total);
            self.sum(client, Duration::ZERO, time, bytes);
        } else {
            let (end, all) = (longest.max(time), total + bytes);
            self.rest_of_all(client, end, all);
            self.sum(client, Duration::ZERO, end, all);
        }
        if client.streams.len() > 1 && self.args.plan.udp && datagrams > 0 && !self.args.csv {
            out(&format!(
                "[SUM-{}] Sent {datagrams} datagrams\n",
                client.streams.len()
            ));
        }
        for (stream, result) in &own {
            if let Some(report) = &result.report {
                self.report(stream, report);
            }
            if result.unreported {
                let [tries, number] = [201, stream.number + 2];
                err(&format!(
                    "[{number:3}] WARNING: did not receive ack of last datagram after {tries} \
                     tries.\n"
                ));
            }
        }
    }

    /// The final row of what a stream sent. Returns bytes and datagrams.
    fn sent(
        &mut self,
        stream: &Iperf2Stream,
        result: &Iperf2StreamResult,
        sent: &Transfer,
    ) -> (u64, u64) {
        let plan = &self.args.plan;
        // The final datagram counts.
        let last = if plan.udp { plan.block().max(16) } else { 0 };
        let bytes = sent.bytes + u64::try_from(last).unwrap_or_default();
        // The original counts one more than it sends.
        let datagrams = sent.calls + 2;
        if self.args.csv {
            let report = result.report.as_ref().filter(|_| plan.udp);
            let figures = report.map_or([0, 0, datagrams - 1, 0], |report| {
                [
                    report.jitter.micros(),
                    report.lost,
                    report.datagrams,
                    report.out_of_order,
                ]
            });
            let whole = (Duration::ZERO, sent.elapsed);
            self.csv(stream, whole, bytes, plan.udp.then_some(figures));
            return (bytes, datagrams);
        }
        self.title(Iperf2Titles::Stream);
        if !self.args.sum_only && !self.leaves_out('D') {
            let name = id(stream.number, false);
            let mut row = self.figures.row(&name, Duration::ZERO, sent.elapsed, bytes);
            if self.shows_columns() {
                let all = SentCounts::of(stream);
                row.push_str(&all.columns(stream, sent.elapsed, self.args.plan.udp));
            }
            out(&format!("{row}\n"));
            if self.args.plan.udp {
                out(&format!("{name} Sent {datagrams} datagrams\n"));
            }
        }
        (bytes, datagrams)
    }

    /// The final row of what a stream received on its own connection or flow.
    fn received(&mut self, stream: &Iperf2Stream, result: &Iperf2StreamResult, got: &Transfer) {
        if self.args.csv {
            let figures = result.account.map(|(account, total)| {
                [
                    whole(account.jitter()),
                    account.order.lost,
                    total,
                    account.order.out_of_order,
                ]
            });
            self.csv(stream, (Duration::ZERO, got.elapsed), got.bytes, figures);
            return;
        }
        self.receiver_row(&id(stream.number, true), result, got);
    }

    fn receiver_row(&mut self, name: &str, result: &Iperf2StreamResult, got: &Transfer) {
        let titles = if result.account.is_some() {
            Iperf2Titles::Datagrams
        } else {
            Iperf2Titles::Stream
        };
        self.title(titles);
        if self.args.sum_only || self.leaves_out('D') {
            return;
        }
        let mut row = self
            .figures
            .row(name, Duration::ZERO, got.elapsed, got.bytes);
        if let Some((account, total)) = &result.account {
            let jitter = Duration::from_micros(whole(account.jitter()));
            row.push_str(&loss(jitter, account.order.lost, *total));
            if account.order.out_of_order > 0 {
                let (end, late) = (got.elapsed.as_secs_f64(), account.order.out_of_order);
                row.push_str(&format!(
                    "\n{name} 0.0000-{end:.4} sec  {late} datagrams received out-of-order"
                ));
            }
        }
        out(&format!("{row}\n"));
    }

    /// Rows of what the server sent on connections or flows of its own. Returns the bytes of all, and
    /// the longest time.
    fn backward(&mut self, client: &Iperf2Client, results: &[StreamOutcome]) -> (u64, Duration) {
        let first = u32::try_from(client.streams.len()).unwrap_or_default() + 1;
        let (mut bytes, mut longest) = (0, Duration::ZERO);
        let results = results.iter().filter_map(|result| result.as_ref().ok());
        for (number, result) in (first..).zip(results) {
            let Some(got) = result.received else { continue };
            bytes += got.bytes;
            longest = longest.max(got.elapsed);
            match client.streams.first().filter(|_| self.args.csv) {
                Some(stream) => self.csv(stream, (Duration::ZERO, got.elapsed), got.bytes, None),
                None => self.receiver_row(&id(number, false), result, &got),
            }
        }
        (bytes, longest)
    }

    /// The report of the server.
    fn report(&mut self, stream: &Iperf2Stream, report: &ServerReport) {
        if self.leaves_out('V') || self.args.sum_only {
            return;
        }
        let name = id(stream.number, false);
        out(&format!("{name} Server Report:\n{DATAGRAM_TITLES}"));
        self.titles = Some(Iperf2Titles::Datagrams);
        let time = Duration::from_micros(report.duration.micros());
        let mut row = self.figures.row(&name, Duration::ZERO, time, report.bytes);
        let jitter = Duration::from_micros(report.jitter.micros());
        row.push_str(&loss(jitter, report.lost, report.datagrams));
        out(&format!("{row}\n"));
        if report.out_of_order > 0 {
            let (end, late) = (time.as_secs_f64(), report.out_of_order);
            out(&format!(
                "{name} 0.0000-{end:.4} sec  {late} datagrams received out-of-order\n"
            ));
        }
    }

    /// A row of comma-separated values. Figures are jitter in microseconds, lost, total and out of
    /// order.
    fn csv(
        &self,
        stream: &Iperf2Stream,
        times: (Duration, Duration),
        bytes: u64,
        figures: Option<[u64; 4]>,
    ) {
        if self.args.left_out.contains('D') {
            return;
        }
        let row = CsvRow {
            stamp: &stamp(self.args.enhanced),
            near: (&self.shown(stream.local), stream.local.port()),
            far: (&self.shown(stream.remote), stream.remote.port()),
            number: stream.number,
            times,
            bytes,
            quality: figures,
        };
        out(&row.text());
    }
}

fn real(length: usize) -> f64 {
    count(u64::try_from(length).unwrap_or_default())
}
