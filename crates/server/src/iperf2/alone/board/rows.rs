//! The rows of a server, in the form of iperf 2.1.8.

use std::time::Duration;

use netperf_iperf2::rows::{
    DatagramQuality, DirectionKind, DirectionRow, MovedCounts, SumKind, SumRow, pair_row, rest,
};
use netperf_model::iperf2::DelayMoments;
use netperf_program::iperf2::row_stamp;
use netperf_program::output::out;

use super::{BoardState, ClientGroup, Iperf2Board, LAST_TURN, RunningDirection, ShownDirection};

impl Iperf2Board {
    /// A row of a direction.
    pub(super) fn row(
        &self,
        state: &mut BoardState,
        shown: &RunningDirection,
        times: (Duration, Duration),
        (counts, delays): (&MovedCounts, &DelayMoments),
    ) {
        let direction = &shown.direction;
        let is_received = direction.kind == DirectionKind::ReceivesDatagrams;
        let row = DirectionRow {
            kind: direction.kind,
            number: direction.number,
            is_marked: direction.is_marked,
            ends: (direction.client, direction.own),
            is_enhanced: direction.is_enhanced,
            has_one_clock: direction.has_one_clock,
            times,
            counts,
            delays,
            quality: is_received.then(|| DatagramQuality {
                jitter: shown.counts.jitter(),
                lost: counts.lost,
                datagrams: counts.datagrams,
                late: counts.late,
            }),
            state: shown.sender_state().map(|(state, _)| state),
        };
        out(&row.text(&self.args, &mut state.titles, &row_stamp(&self.args)));
    }

    /// The sum of both directions of a stream (`-e`), once the other one has its row of the same
    /// interval, too.
    pub(super) fn both_ways(
        &self,
        state: &mut BoardState,
        direction: &ShownDirection,
        turn: u32,
        (from, to): (Duration, Duration),
        moved: MovedCounts,
    ) {
        if !direction.is_pair || !direction.is_enhanced || !self.args.shows_rows() {
            return;
        }
        let key = (direction.number, turn);
        let Some((end, other)) = state.halves.remove(&key) else {
            state.halves.insert(key, (to, moved));
            return;
        };
        let (number, to, total) = (direction.number, to.max(end), moved.plus(other));
        if turn == LAST_TURN {
            state.halves.retain(|(other, _), _| *other != number);
            let so_far = state.pairs.remove(&number);
            let rest = so_far.and_then(|(turns, summed)| {
                Some((rest(self.args.interval, turns, to)?, total.since(summed)))
            });
            if let Some((times, last)) = rest {
                self.pair_row(state, number, times, &last);
            }
        } else {
            let (turns, summed) = state.pairs.entry(number).or_default();
            (*turns, *summed) = (turn, summed.plus(total));
        }
        self.pair_row(state, number, (from, to), &total);
    }

    /// A row of both directions of a stream.
    fn pair_row(
        &self,
        state: &mut BoardState,
        number: u32,
        times: (Duration, Duration),
        total: &MovedCounts,
    ) {
        // Late datagrams have a line behind the row of their direction.
        let total = MovedCounts { late: 0, ..*total };
        let titles = &mut state.titles;
        out(&pair_row(&self.args, titles, number, times, &total));
    }

    /// The sum of the streams of a client.
    pub(super) fn sum(
        &self,
        state: &mut BoardState,
        group: &ClientGroup,
        times: (Duration, Duration),
        counts: &MovedCounts,
    ) {
        if !self.args.shows_sums() {
            return;
        }
        let kind = self.sum_kind(group);
        let row = SumRow {
            kind,
            times,
            counts,
        };
        let directions = usize::try_from(group.directions).unwrap_or(usize::MAX);
        out(&row.text(&self.args, &mut state.titles, directions));
    }

    /// What a sum shows.
    const fn sum_kind(&self, group: &ClientGroup) -> SumKind {
        match (self.args.plan.udp, group.is_two_way, group.sends) {
            (true, true, _) if !self.args.sum_only => SumKind::BothWays,
            // What the server sends is not known to be lost.
            (true, ..) => SumKind::Datagrams {
                has_loss: group.has_datagrams,
            },
            (false, _, true) => SumKind::Bytes,
            (false, _, false) => SumKind::Reads,
        }
    }
}
