//! The rows of a server, in the form of iperf 2.1.8.

use std::time::Duration;

use netperf_iperf2::rows::{
    CountedInterval, DatagramQuality, DirectionKind, DirectionRow, MovedCounts, SumKind, SumRow,
    pair_row,
};
use netperf_program::iperf2::{DirectionPart, row_stamp};
use netperf_program::output::out;

use super::{BoardState, ClientGroup, Iperf2Board, RunningDirection, ShownDirection};

impl Iperf2Board {
    /// A row of a direction.
    pub(super) fn row(
        &self,
        state: &mut BoardState,
        shown: &RunningDirection,
        part: &DirectionPart,
    ) {
        let (direction, counts) = (&shown.direction, &part.interval.counts);
        let ends = (direction.client, direction.own);
        let row = DirectionRow {
            kind: direction.kind,
            number: direction.number,
            is_marked: direction.is_marked,
            ends: if direction.kind.sends() {
                (ends.1, ends.0)
            } else {
                ends
            },
            is_enhanced: direction.is_enhanced,
            has_one_clock: direction.has_one_clock,
            interval: &part.interval,
            delays: &part.delays,
            quality: quality(shown, counts),
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
        end: Option<Duration>,
        interval: CountedInterval,
    ) {
        if !direction.is_pair || !direction.is_enhanced || !self.args.shows_rows() {
            return;
        }
        let key = (direction.number, end);
        let Some(other) = state.halves.remove(&key) else {
            state.halves.insert(key, interval);
            return;
        };
        let (number, (from, to)) = (direction.number, interval.times);
        let both = CountedInterval {
            times: (from, to.max(other.times.1)),
            counts: interval.counts.plus(other.counts),
        };
        if let Some(end) = end {
            let pair = state.pairs.entry(number).or_default();
            pair.finish(end, pair.counts().plus(both.counts));
        } else {
            state.halves.retain(|(other, _), _| *other != number);
            let pair = state.pairs.remove(&number);
            let every = self.args.interval;
            let rest = pair.and_then(|pair| pair.rest(every, both.times.1, both.counts));
            if let Some(rest) = rest {
                self.pair_row(state, number, &rest);
            }
        }
        self.pair_row(state, number, &both);
    }

    /// A row of both directions of a stream.
    fn pair_row(&self, state: &mut BoardState, number: u32, interval: &CountedInterval) {
        // Late datagrams have a line behind the row of their direction.
        let interval = CountedInterval {
            times: interval.times,
            counts: MovedCounts {
                late: 0,
                ..interval.counts
            },
        };
        out(&pair_row(&self.args, &mut state.titles, number, &interval));
    }

    /// The sum of the streams of a client.
    pub(super) fn sum(
        &self,
        state: &mut BoardState,
        group: &ClientGroup,
        interval: &CountedInterval,
    ) {
        if self.args.shows_sums() {
            let kind = self.sum_kind(group);
            let row = SumRow { kind, interval };
            let directions = usize::try_from(group.directions).unwrap_or(usize::MAX);
            out(&row.text(&self.args, &mut state.titles, directions));
        }
    }

    /// Contents of a sum.
    const fn sum_kind(&self, group: &ClientGroup) -> SumKind {
        match (self.args.plan.udp, group.is_two_way, group.sends) {
            (true, true, _) if !self.args.sum_only => SumKind::BothWays,
            // Loss of datagrams of the server is not known here.
            (true, ..) => SumKind::Datagrams {
                has_loss: group.has_datagrams,
            },
            (false, _, true) => SumKind::Bytes,
            (false, _, false) => SumKind::Reads,
        }
    }
}

/// Jitter and loss of datagrams. Those of what the server sends are not known here.
fn quality(shown: &RunningDirection, counts: &MovedCounts) -> Option<DatagramQuality> {
    match shown.direction.kind {
        DirectionKind::ReceivesDatagrams => Some(DatagramQuality {
            jitter: shown.intervals.counts.jitter(),
            lost: counts.lost,
            datagrams: counts.datagrams,
            late: counts.late,
        }),
        DirectionKind::SendsDatagrams => Some(DatagramQuality {
            jitter: 0,
            lost: 0,
            // At the end the final one counts.
            datagrams: counts.calls + u64::from(counts.datagrams > counts.calls),
            late: 0,
        }),
        DirectionKind::Receives | DirectionKind::ReceivesBlocks | DirectionKind::Sends => None,
    }
}
