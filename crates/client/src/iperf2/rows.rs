//! The lines of a client, in the order and form of iperf 2.1.8.

mod head;
mod intervals;
mod results;
mod sum;
mod ways;

use std::net::SocketAddr;
use std::time::Duration;

use netperf_iperf2::options::Iperf2Args;
use netperf_iperf2::rows::{
    CsvRow, DATAGRAM_TITLES, Iperf2Figures, TITLES, enhanced, shown_address,
};
use netperf_iperf2::rows::{figures_of, is_one_host};
use netperf_model::iperf2::Iperf2Direction;
use netperf_program::iperf2::stamp;
use netperf_program::output::out;

use self::sum::SumSoFar;
use self::ways::ClientWay;

/// Prints the lines.
pub(crate) struct ClientRows {
    args: Iperf2Args,
    figures: Iperf2Figures,
    /// Titles that were printed.
    titles: Vec<&'static str>,
    /// Directions of the part of the test that runs.
    ways: Vec<ClientWay>,
    /// The sum of all directions.
    sums: SumSoFar,
    /// The sums of both directions of each own stream.
    pairs: Vec<SumSoFar>,
    /// Streams of the server that have a line.
    shown_back: usize,
    /// The server sends, after the test of the client.
    is_second: bool,
}

impl ClientRows {
    pub(crate) fn new(args: &Iperf2Args) -> Self {
        Self {
            args: args.clone(),
            figures: figures_of(args.unit),
            titles: Vec::new(),
            ways: Vec::new(),
            sums: SumSoFar::default(),
            pairs: Vec::new(),
            shown_back: 0,
            is_second: false,
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
            (true, false) if self.args.plan.trip_times => enhanced::BURST_TITLES,
            (true, false) => enhanced::READ_TITLES,
        }
    }

    /// A row of comma-separated values of a stream with this number between these ends, that of its
    /// sender first. Figures are jitter in microseconds, lost, total and out of order.
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
