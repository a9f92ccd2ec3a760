//! Rows of what several streams moved.

use std::time::Duration;

use netperf_iperf2::rows::{CountedInterval, MovedCounts, SumKind, SumRow, pair_row, sent_line};
use netperf_model::iperf2::Iperf2Direction;
use netperf_program::output::out;

use super::ClientRows;
use super::intervals::place;
use super::ways::{ClientWay, WayOf};
use crate::iperf2::session::Iperf2Client;

impl ClientRows {
    /// The sum of an interval that is over for all directions that run.
    pub(super) fn sum_of_interval(
        &mut self,
        client: &Iperf2Client,
        ways: &mut [ClientWay],
        every: Duration,
    ) {
        let is_complete = |way: &ClientWay| way.is_new || way.is_over(every);
        let last = ways.iter().map(|way| way.intervals.ended().end()).max();
        let Some(end) = last.filter(|_| ways.iter().all(is_complete)) else {
            return;
        };
        let all = ways.iter().map(ClientWay::summed);
        let all = all.fold(MovedCounts::default(), MovedCounts::plus);
        for way in ways {
            way.is_new = false;
        }
        let interval = self.sums.finish(end, all);
        self.sum(client, &interval);
    }

    /// The sums of both directions of streams of which an interval is over.
    pub(super) fn pairs_of_interval(&mut self, ways: &[ClientWay]) {
        for at in 0..self.pairs.len() {
            let of = [WayOf::Received(at), WayOf::Sent(at)];
            let both = of.map(|of| ways.iter().find(|way| way.of == of));
            let (Some(pair), [Some(received), Some(sent)]) = (self.pairs.get_mut(at), both) else {
                continue;
            };
            let end = received
                .intervals
                .ended()
                .end()
                .min(sent.intervals.ended().end());
            if end <= pair.end() {
                continue;
            }
            let interval = pair.finish(end, received.summed().plus(sent.summed()));
            self.both_ways(at, &interval);
        }
    }

    /// The sums of both directions of a stream that has ended: that behind the last interval, if it
    /// has one, and that of the whole.
    pub(super) fn end_pair(&mut self, at: usize, end: Duration, all: &MovedCounts) {
        let pair = self.pairs.get(at).copied().unwrap_or_default();
        let rest = pair.rest(self.args.interval, end, *all);
        if let Some(rest) = rest.filter(|_| !pair.end().is_zero()) {
            self.both_ways(at, &rest);
        }
        self.both_ways(at, &whole(end, all));
    }

    /// The sum of what all streams moved behind the last interval, if it has one, and that of the
    /// whole.
    pub(super) fn end_sum(&mut self, client: &Iperf2Client, end: Duration, all: &MovedCounts) {
        let rest = self.sums.rest(self.args.interval, end, *all);
        let has_rest = !self.sums.end().is_zero() && !self.args.plan.udp;
        if let Some(rest) = rest.filter(|_| has_rest) {
            self.sum(client, &rest);
        }
        self.sum(client, &whole(end, all));
    }

    /// The row of both directions of a stream (`-e`).
    fn both_ways(&mut self, at: usize, interval: &CountedInterval) {
        if self.is_two_way() && self.args.enhanced && self.args.shows_rows() {
            out(&pair_row(&self.args, &mut self.titles, place(at), interval));
        }
    }

    /// The sum of all streams, where they have one.
    fn sum(&mut self, client: &Iperf2Client, interval: &CountedInterval) {
        if self.has_sum(client) {
            let kind = self.sum_kind();
            let directions = self.directions(client);
            let row = SumRow { kind, interval };
            out(&row.text(&self.args, &mut self.titles, directions));
        }
    }

    /// The number of datagrams that all streams moved, where they have a sum.
    pub(super) fn datagrams_of_all(&self, client: &Iperf2Client, all: &MovedCounts) {
        let plan = &self.args.plan;
        if self.has_sum(client) && plan.udp && plan.direction.client_sends() {
            let name = format!("[SUM-{}]", self.directions(client));
            out(&sent_line(&name, all.datagrams));
        }
    }

    /// True if all streams have a sum. Both directions of one stream have none beside rows of
    /// intervals, and with `-e` a row of both ways.
    fn has_sum(&self, client: &Iperf2Client) -> bool {
        let is_pair = self.is_two_way() && self.args.interval.is_none() && !self.args.enhanced;
        let is_sum = client.streams.len() > 1 || self.args.sum_only || is_pair;
        is_sum && self.args.shows_sums()
    }

    /// Contents of the sum, by the directions of its streams.
    fn sum_kind(&self) -> SumKind {
        let udp = self.args.plan.udp;
        let direction = if self.is_second {
            Iperf2Direction::Reverse
        } else {
            self.args.plan.direction
        };
        match direction {
            Iperf2Direction::FullDuplex if self.args.sum_only => SumKind::Bytes,
            Iperf2Direction::FullDuplex => SumKind::BothWays,
            Iperf2Direction::Reverse if udp => SumKind::Datagrams { has_loss: true },
            Iperf2Direction::Reverse => SumKind::Reads,
            // Calls are those of the client.
            Iperf2Direction::Forward | Iperf2Direction::Dual | Iperf2Direction::Tradeoff => {
                if udp {
                    SumKind::SentDatagrams
                } else {
                    SumKind::Sent
                }
            }
        }
    }

    /// Number of directions of all streams that run at once.
    fn directions(&self, client: &Iperf2Client) -> usize {
        let ways = match self.args.plan.direction {
            Iperf2Direction::FullDuplex | Iperf2Direction::Dual => 2,
            Iperf2Direction::Forward | Iperf2Direction::Reverse | Iperf2Direction::Tradeoff => 1,
        };
        client.streams.len() * ways
    }
}

/// Data moved until the end.
const fn whole(end: Duration, all: &MovedCounts) -> CountedInterval {
    CountedInterval {
        times: (Duration::ZERO, end),
        counts: *all,
    }
}
