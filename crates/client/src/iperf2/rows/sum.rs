//! Rows of what several streams moved.

use std::time::Duration;

use netperf_iperf2::rows::{MovedCounts, SumKind, SumRow, pair_row, rest, sent_line};
use netperf_model::iperf2::Iperf2Direction;
use netperf_program::output::out;

use super::ClientRows;
use super::intervals::place;
use super::ways::{ClientWay, WayOf};
use crate::iperf2::session::Iperf2Client;

/// A sum of several directions up to the last interval that it has a row of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SumSoFar {
    /// Number of that interval.
    turn: u32,
    moved: MovedCounts,
}

impl ClientRows {
    /// The sum of an interval that is over for all directions that run.
    pub(super) fn sum_of_interval(
        &mut self,
        client: &Iperf2Client,
        ways: &mut [ClientWay],
        every: Duration,
    ) {
        let is_complete = |way: &ClientWay| way.is_new || way.is_over(every);
        let last = ways.iter().map(|way| way.turn).max();
        let Some(turn) = last.filter(|_| ways.iter().all(is_complete)) else {
            return;
        };
        let all = ways.iter().map(ClientWay::summed);
        let moved = all.fold(MovedCounts::default(), MovedCounts::plus);
        for way in ways {
            way.is_new = false;
        }
        let before = std::mem::replace(&mut self.sums, SumSoFar { turn, moved });
        let times = (every * before.turn, every * turn);
        self.sum(client, times, &moved.since(before.moved));
    }

    /// The sums of both directions of streams of which an interval is over.
    pub(super) fn pairs_of_interval(&mut self, ways: &[ClientWay], every: Duration) {
        for at in 0..self.pairs.len() {
            let of = [WayOf::Received(at), WayOf::Sent(at)];
            let both = of.map(|of| ways.iter().find(|way| way.of == of));
            let (Some(before), [Some(received), Some(sent)]) = (self.pairs.get_mut(at), both)
            else {
                continue;
            };
            let turn = received.turn.min(sent.turn);
            if turn <= before.turn {
                continue;
            }
            let moved = received.summed().plus(sent.summed());
            let before = std::mem::replace(before, SumSoFar { turn, moved });
            let times = (every * before.turn, every * turn);
            self.both_ways(at, times, &moved.since(before.moved));
        }
    }

    /// The sums of both directions of a stream that has ended: that behind the last interval, if it
    /// has one, and that of the whole.
    pub(super) fn end_pair(&mut self, at: usize, end: Duration, all: &MovedCounts) {
        let before = self.pairs.get(at).copied().unwrap_or_default();
        let rest = rest(self.args.interval, before.turn, end);
        if let Some(times) = rest.filter(|_| before.turn > 0) {
            self.both_ways(at, times, &all.since(before.moved));
        }
        self.both_ways(at, (Duration::ZERO, end), all);
    }

    /// The sum of what all streams moved behind the last interval, if it has one.
    pub(super) fn rest_of_all(&mut self, client: &Iperf2Client, end: Duration, all: &MovedCounts) {
        let before = self.sums;
        let rest = rest(self.args.interval, before.turn, end);
        let rest = rest.filter(|_| before.turn > 0 && !self.args.plan.udp);
        if let Some(times) = rest {
            self.sum(client, times, &all.since(before.moved));
        }
    }

    /// The row of both directions of a stream (`-e`).
    fn both_ways(&mut self, at: usize, times: (Duration, Duration), all: &MovedCounts) {
        if self.is_two_way() && self.args.enhanced && self.args.shows_rows() {
            out(&pair_row(
                &self.args,
                &mut self.titles,
                place(at),
                times,
                all,
            ));
        }
    }

    /// The sum of all streams, where they have one.
    pub(super) fn sum(
        &mut self,
        client: &Iperf2Client,
        times: (Duration, Duration),
        counts: &MovedCounts,
    ) {
        if self.has_sum(client) {
            let kind = self.sum_kind();
            let row = SumRow {
                kind,
                times,
                counts,
            };
            let directions = self.directions(client);
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

    /// What the sum shows, by the directions of its streams.
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
