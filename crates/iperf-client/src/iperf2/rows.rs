//! The lines of a client, in the order and form of iperf 2.1.8.

mod head;
mod intervals;
mod results;
mod sum;
mod ways;

use std::net::SocketAddr;

use netperf_iperf2::options::Iperf2Args;
use netperf_iperf2::rows::{DirectionRow, IntervalCounts, PrintedTitles, is_one_host};
use netperf_model::iperf2::Iperf2Direction;
use netperf_program::iperf2::row_stamp;
use netperf_program::output::out;

use self::ways::ClientWay;

/// Prints the lines.
pub struct ClientRows {
    args: Iperf2Args,
    titles: PrintedTitles,
    /// Directions of the part of the test that runs.
    ways: Vec<ClientWay>,
    /// The sum of all directions.
    sums: IntervalCounts,
    /// The sums of both directions of each own stream.
    pairs: Vec<IntervalCounts>,
    /// Streams of the server that have a line.
    shown_back: usize,
    /// The server sends, after the test of the client.
    is_second: bool,
}

impl ClientRows {
    /// Rows of a test with these options.
    pub fn new(args: &Iperf2Args) -> Self {
        Self {
            args: args.clone(),
            titles: PrintedTitles::default(),
            ways: Vec::new(),
            sums: IntervalCounts::default(),
            pairs: Vec::new(),
            shown_back: 0,
            is_second: false,
        }
    }

    /// True if both ends of a stream have one clock.
    fn has_one_clock(&self, local: SocketAddr, remote: SocketAddr) -> bool {
        self.args.plan.trip_times || is_one_host(local, remote)
    }

    /// True if both ends send on the same connections or flows.
    fn is_two_way(&self) -> bool {
        self.args.plan.direction == Iperf2Direction::FullDuplex
    }

    /// Prints a row of a direction.
    fn row(&mut self, row: &DirectionRow<'_>) {
        out(&row.text(&self.args, &mut self.titles, &row_stamp(&self.args)));
    }
}
