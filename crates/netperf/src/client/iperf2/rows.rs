//! The lines of a client, in the order and form of iperf 2.1.8.

mod head;
mod results;
mod sum;

use std::net::SocketAddr;
use std::time::Duration;

use netperf_cli::Iperf2Args;
use netperf_engine::iperf2::Transfer;
use netperf_model::iperf2::Iperf2Direction;
use netperf_report::iperf2::{
    CsvRow, DATAGRAM_TITLES, Iperf2Figures, TITLES, enhanced, id, rest, shown_address,
};

use super::counts::{ClientCounts, sent_columns};
use crate::iperf2::{
    Iperf2Client, Iperf2Failure, Iperf2Stream, Iperf2StreamResult, MovedCounts, figures_of,
    is_one_host, receives, stamp,
};
use crate::output::out;

/// Result of a stream.
type StreamOutcome = Result<Iperf2StreamResult, Iperf2Failure>;

/// Prints the lines.
pub(crate) struct ClientRows {
    args: Iperf2Args,
    figures: Iperf2Figures,
    /// Titles that were printed.
    titles: Vec<&'static str>,
    /// Intervals so far, and the counts of each stream at the end of the last.
    turn: u32,
    before: Vec<ClientCounts>,
    /// Streams of the server that have a line.
    shown_back: usize,
}

impl ClientRows {
    pub(crate) fn new(args: &Iperf2Args) -> Self {
        Self {
            args: args.clone(),
            figures: figures_of(args.unit),
            titles: Vec::new(),
            turn: 0,
            before: Vec::new(),
            shown_back: 0,
        }
    }

    fn leaves_out(&self, letter: char) -> bool {
        self.args.csv || self.args.left_out.contains(letter)
    }

    /// True if streams have rows of their own, other than lines of comma-separated values.
    fn shows_rows(&self) -> bool {
        !self.args.sum_only && !self.leaves_out('D')
    }

    /// An address, perhaps with its last part only.
    fn shown(&self, address: SocketAddr) -> String {
        shown_address(address.ip(), self.args.hides_addresses)
    }

    /// True if both ends of a stream have one clock.
    fn has_one_clock(&self, local: SocketAddr, remote: SocketAddr) -> bool {
        self.args.plan.trip_times || is_one_host(local, remote)
    }

    /// True if both ends send on the same connections or flows.
    fn is_two_way(&self) -> bool {
        self.args.plan.direction == Iperf2Direction::FullDuplex
    }

    /// Prints titles, unless they were printed before.
    fn title(&mut self, titles: &'static str) {
        if !self.leaves_out('D') && !self.titles.contains(&titles) {
            self.titles.push(titles);
            out(titles);
        }
    }

    /// Titles of the rows of what is sent.
    const fn sent_titles(&self) -> &'static str {
        match (self.args.enhanced, self.args.plan.udp) {
            (false, _) => TITLES,
            (true, true) => enhanced::SENT_DATAGRAM_TITLES,
            (true, false) => enhanced::SENT_TITLES,
        }
    }

    /// Titles of the rows of what is received.
    const fn received_titles(&self) -> &'static str {
        match (self.args.enhanced, self.args.plan.udp) {
            (false, true) => DATAGRAM_TITLES,
            (false, false) => TITLES,
            (true, true) => enhanced::DELAY_TITLES,
            (true, false) => enhanced::READ_TITLES,
        }
    }

    /// Rows of an interval, the `turn`th.
    pub(crate) fn interval(&mut self, client: &Iperf2Client, turn: u32) {
        let every = self.args.interval.unwrap_or_default();
        let times = (every * (turn - 1), every * turn);
        let now: Vec<_> = client.streams.iter().map(ClientCounts::of).collect();
        let before = std::mem::replace(&mut self.before, now);
        self.turn = turn;
        let ways = [
            (true, receives(&client.plan)),
            (false, client.plan.direction.client_sends()),
        ];
        let new = |rows: &Self, at: usize, is_received: bool| {
            let of = |counts: &[ClientCounts]| counts.get(at).copied().unwrap_or_default();
            let [now, before] = [&rows.before, &before].map(|all| of(all).way(is_received));
            now.since(before)
        };
        let mut all = MovedCounts::default();
        for (is_received, _) in ways.into_iter().filter(|(_, moves)| *moves) {
            for (at, stream) in client.streams.iter().enumerate() {
                let new = new(self, at, is_received);
                all = all.plus(new);
                self.part(stream, is_received, times, new);
            }
        }
        for (at, stream) in client.streams.iter().enumerate() {
            let [received, sent] = [true, false].map(|way| new(self, at, way));
            self.both_ways(stream.number, times, &received.plus(sent));
        }
        self.sum(client, times, &all);
    }

    /// A row of a part of the test.
    fn part(
        &mut self,
        stream: &Iperf2Stream,
        is_received: bool,
        (from, to): (Duration, Duration),
        new: MovedCounts,
    ) {
        let udp = self.args.plan.udp;
        if self.args.csv {
            // How many datagrams are lost is not known before the report.
            let figures = udp.then_some([0, 0, new.calls, 0]);
            self.csv(stream, (from, to), new.bytes, figures);
            return;
        }
        if !self.shows_rows() {
            return;
        }
        self.title(if is_received {
            self.received_titles()
        } else {
            self.sent_titles()
        });
        let name = id(stream.number, is_received);
        let mut row = self.figures.row(&name, from, to, new.bytes);
        match (self.args.enhanced, is_received) {
            (true, true) => row.push_str(&enhanced::reads(&new.reads)),
            (true, false) => {
                let time = to.saturating_sub(from);
                row.push_str(&sent_columns(&new, stream, time, udp));
            }
            (false, _) => {}
        }
        out(&format!("{row}\n"));
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
        let counts = ClientCounts::of(stream).way(is_received);
        let bytes = all.bytes;
        let new = MovedCounts { bytes, ..counts }.since(before);
        self.part(stream, is_received, times, new);
    }

    /// A row of comma-separated values of a stream of the client. Figures are jitter in
    /// microseconds, lost, total and out of order.
    fn csv(
        &self,
        stream: &Iperf2Stream,
        times: (Duration, Duration),
        bytes: u64,
        figures: Option<[u64; 4]>,
    ) {
        let ends = (stream.local, stream.remote);
        self.csv_row((stream.number, ends), times, bytes, figures);
    }

    /// The same of a stream with this number between these ends, that of its sender first.
    fn csv_row(
        &self,
        (number, (near, far)): (u32, (SocketAddr, SocketAddr)),
        times: (Duration, Duration),
        bytes: u64,
        figures: Option<[u64; 4]>,
    ) {
        if self.args.left_out.contains('D') {
            return;
        }
        let row = CsvRow {
            stamp: &stamp(self.args.enhanced),
            near: (&self.shown(near), near.port()),
            far: (&self.shown(far), far.port()),
            number,
            times,
            bytes,
            quality: figures,
        };
        out(&row.text());
    }
}
