//! Rows of what several streams moved.

use std::time::Duration;

use netperf_iperf2::rows::MovedCounts;
use netperf_iperf2::rows::{
    SUM_DATAGRAM_TITLES, SUM_TITLES, TITLES, both_ways, datagrams_of_sum, enhanced, late,
    lost_of_sum, rest,
};
use netperf_model::iperf2::Iperf2Direction;
use netperf_program::output::out;

use super::ClientRows;
use super::ways::{ClientWay, WayOf};
use crate::iperf2::session::Iperf2Client;

/// Titles and columns of a sum.
struct SumForm {
    titles: &'static str,
    columns: String,
}

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
        if self.is_two_way() && self.args.enhanced && self.shows_rows() {
            let form = self.form_of_both(times, all);
            self.sum_row(&format!("[FD{}]", at + 1), times, all, form);
        }
    }

    /// The sum of all streams, where they have one.
    pub(super) fn sum(
        &mut self,
        client: &Iperf2Client,
        times: (Duration, Duration),
        all: &MovedCounts,
    ) {
        if self.has_sum(client) {
            let form = self.form(times, all);
            self.sum_row(&self.sum_id(client), times, all, form);
        }
    }

    /// The number of datagrams that all streams moved, where they have a sum.
    pub(super) fn datagrams_of_all(&self, client: &Iperf2Client, all: &MovedCounts) {
        let plan = &self.args.plan;
        if self.has_sum(client) && plan.udp && plan.direction.client_sends() {
            let (streams, datagrams) = (self.directions(client), all.datagrams);
            out(&format!("[SUM-{streams}] Sent {datagrams} datagrams\n"));
        }
    }

    /// True if all streams have a sum. Both directions of one stream have none beside rows of
    /// intervals, and with `-e` a row of both ways.
    fn has_sum(&self, client: &Iperf2Client) -> bool {
        let is_pair = self.is_two_way() && self.args.interval.is_none() && !self.args.enhanced;
        let is_sum = client.streams.len() > 1 || self.args.sum_only || is_pair;
        is_sum && !self.leaves_out('D')
    }

    fn sum_row(
        &mut self,
        name: &str,
        (from, to): (Duration, Duration),
        all: &MovedCounts,
        form: SumForm,
    ) {
        self.title(form.titles);
        let row = self.figures.row(name, from, to, all.bytes);
        let late = late(name, (from, to), all.late);
        out(&format!("{row}{}\n{late}", form.columns));
    }

    /// The form of a sum, by the directions of its streams.
    fn form(&self, (from, to): (Duration, Duration), all: &MovedCounts) -> SumForm {
        let (time, plan) = (to.saturating_sub(from), &self.args.plan);
        let (sum_only, is_enhanced) = (self.args.sum_only, self.args.enhanced);
        let either = |sum, plain| if sum_only { sum } else { plain };
        let with = |titles, columns| SumForm { titles, columns };
        let direction = match (plan.direction, self.is_second) {
            (_, true) => Iperf2Direction::Reverse,
            (Iperf2Direction::Tradeoff, false) => Iperf2Direction::Forward,
            (direction, false) => direction,
        };
        match (direction, plan.udp) {
            (Iperf2Direction::FullDuplex, _) if !sum_only => self.form_of_both((from, to), all),
            (Iperf2Direction::Reverse, true) => {
                let columns = datagrams_of_sum(Some(all.lost), all.datagrams, time);
                match (sum_only, is_enhanced) {
                    (true, _) => with(SUM_DATAGRAM_TITLES, columns),
                    (false, true) => with(enhanced::SENT_DATAGRAM_TITLES, columns),
                    (false, false) => with(TITLES, lost_of_sum(all.lost, all.datagrams)),
                }
            }
            (Iperf2Direction::Reverse, false) if is_enhanced => {
                let titles = either(enhanced::SUM_READ_TITLES, enhanced::READ_TITLES);
                with(titles, enhanced::reads(&all.reads))
            }
            // Calls are those of the client.
            (Iperf2Direction::Forward | Iperf2Direction::Dual, true) if is_enhanced => {
                let (sum, plain) = (
                    enhanced::SUM_SENT_DATAGRAM_TITLES,
                    enhanced::SENT_DATAGRAM_TITLES,
                );
                let columns = enhanced::sent_datagrams(all.calls, all.datagrams, time);
                with(either(sum, plain), columns)
            }
            (Iperf2Direction::Forward | Iperf2Direction::Dual, false) if is_enhanced => {
                let titles = either(enhanced::SUM_SENT_TITLES, enhanced::SENT_TITLES);
                with(titles, enhanced::sent_by_all(all.calls, all.retransmits))
            }
            (
                Iperf2Direction::Forward
                | Iperf2Direction::Reverse
                | Iperf2Direction::FullDuplex
                | Iperf2Direction::Dual
                | Iperf2Direction::Tradeoff,
                _,
            ) => with(either(SUM_TITLES, TITLES), String::new()),
        }
    }

    /// The form of both directions.
    fn form_of_both(&self, (from, to): (Duration, Duration), all: &MovedCounts) -> SumForm {
        let time = to.saturating_sub(from);
        let (titles, columns) = both_ways(self.args.plan.udp, all.datagrams, time);
        SumForm { titles, columns }
    }

    fn sum_id(&self, client: &Iperf2Client) -> String {
        if self.args.sum_only {
            format!("[SUM-{}]", self.directions(client))
        } else {
            "[SUM]".to_owned()
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
