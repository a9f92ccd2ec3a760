//! The rows of a server, in the form of iperf 2.1.8.

use std::time::Duration;

use netperf_iperf2::rows::MovedCounts;
use netperf_iperf2::rows::{
    CsvRow, DATAGRAM_TITLES, SUM_DATAGRAM_TITLES, SUM_TITLES, TITLES, both_ways, datagrams_of_sum,
    enhanced, id, late, loss, lost_of_sum, rest,
};
use netperf_model::iperf2::DelayMoments;
use netperf_program::iperf2::stamp;
use netperf_program::output::out;

use super::{
    BoardState, Carries, ClientGroup, Iperf2Board, LAST_TURN, RunningDirection, ShownDirection,
};

/// Titles of the rows of a direction.
const fn titles(direction: &ShownDirection) -> &'static str {
    match (direction.carries, direction.is_enhanced) {
        (Carries::Datagrams, false) => DATAGRAM_TITLES,
        (_, false) => TITLES,
        (Carries::Bytes, true) => enhanced::READ_TITLES,
        (Carries::Blocks, true) => enhanced::BURST_TITLES,
        (Carries::OwnBytes, true) => enhanced::SENT_TITLES,
        (Carries::Datagrams, true) => enhanced::DELAY_TITLES,
        (Carries::OwnDatagrams, true) => enhanced::SENT_DATAGRAM_TITLES,
    }
}

/// Further columns of a row.
fn columns(
    shown: &RunningDirection,
    time: Duration,
    (counted, delays): &(MovedCounts, DelayMoments),
) -> String {
    let (direction, amount) = (&shown.direction, (counted.bytes, time));
    if !direction.is_enhanced {
        return String::new();
    }
    match direction.carries {
        Carries::Bytes => enhanced::reads(&counted.reads),
        Carries::Blocks => {
            let bursts = enhanced::bursts(delays, direction.has_one_clock, amount);
            bursts + &enhanced::reads(&counted.reads)
        }
        Carries::OwnBytes => {
            let state = shown.sender_state().map(|(state, _)| state);
            enhanced::sent(counted.calls, counted.retransmits, state, amount)
        }
        Carries::Datagrams => {
            enhanced::delays(delays, direction.has_one_clock, counted.calls, amount)
        }
        Carries::OwnDatagrams => enhanced::sent_datagrams(counted.calls, counted.calls, time),
    }
}

impl Iperf2Board {
    /// Prints titles, unless they were printed since no stream ran.
    fn title(&self, state: &mut BoardState, titles: &'static str) {
        if self.leaves_out('D') || state.titles.contains(&titles) {
            return;
        }
        state.titles.push(titles);
        out(titles);
    }

    /// A row of a direction.
    pub(super) fn row(
        &self,
        state: &mut BoardState,
        shown: &RunningDirection,
        (from, to): (Duration, Duration),
        moved: (MovedCounts, DelayMoments),
    ) {
        let (direction, counted) = (&shown.direction, &moved.0);
        let jitter = shown.counts.jitter();
        let quality = (direction.carries == Carries::Datagrams).then_some([
            jitter,
            counted.lost,
            counted.datagrams,
            counted.late,
        ]);
        if self.args.csv {
            let row = CsvRow {
                stamp: &stamp(self.args.enhanced),
                near: (&self.address(direction.client), direction.client.port()),
                far: (&self.address(direction.own), direction.own.port()),
                number: direction.number,
                times: (from, to),
                bytes: counted.bytes,
                quality,
            };
            if !self.args.left_out.contains('D') {
                out(&row.text());
            }
            return;
        }
        if !self.shows_rows() {
            return;
        }
        self.title(state, titles(direction));
        let name = id(direction.number, direction.is_marked);
        let mut row = self.figures.row(&name, from, to, counted.bytes);
        let mut behind = String::new();
        if quality.is_some() {
            let jitter = Duration::from_micros(jitter);
            row.push_str(&loss(jitter, counted.lost, counted.datagrams));
            behind = late(&name, (from, to), counted.late);
        }
        row.push_str(&columns(shown, to.saturating_sub(from), &moved));
        out(&format!("{row}\n{behind}"));
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
        if !direction.is_pair || !direction.is_enhanced || !self.shows_rows() {
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
        (from, to): (Duration, Duration),
        total: &MovedCounts,
    ) {
        let time = to.saturating_sub(from);
        let (titles, columns) = both_ways(self.args.plan.udp, total.datagrams, time);
        self.title(state, titles);
        let name = format!("[FD{number}]");
        let row = self.figures.row(&name, from, to, total.bytes);
        out(&format!("{row}{columns}\n"));
    }

    /// The sum of the streams of a client.
    pub(super) fn sum(
        &self,
        state: &mut BoardState,
        group: &ClientGroup,
        (from, to): (Duration, Duration),
        total: MovedCounts,
    ) {
        if self.leaves_out('D') {
            return;
        }
        let name = if self.args.sum_only {
            format!("[SUM-{}]", group.directions)
        } else {
            "[SUM]".to_owned()
        };
        let (titles, columns) = self.sum_form(group, to.saturating_sub(from), &total);
        self.title(state, titles);
        let row = self.figures.row(&name, from, to, total.bytes);
        let late = if group.has_datagrams {
            late(&name, (from, to), total.late)
        } else {
            String::new()
        };
        out(&format!("{row}{columns}\n{late}"));
    }

    /// Titles and columns of a sum.
    fn sum_form(
        &self,
        group: &ClientGroup,
        time: Duration,
        total: &MovedCounts,
    ) -> (&'static str, String) {
        let (sum_only, is_enhanced) = (self.args.sum_only, self.args.enhanced);
        // What the server sends is not known to be lost.
        let lost = group.has_datagrams.then_some(total.lost);
        if self.args.plan.udp {
            let of_sum = || datagrams_of_sum(lost, total.datagrams, time);
            return if sum_only {
                (SUM_DATAGRAM_TITLES, of_sum())
            } else if group.is_two_way {
                both_ways(true, total.datagrams, time)
            } else if is_enhanced {
                (enhanced::SENT_DATAGRAM_TITLES, of_sum())
            } else {
                let loss = lost.map(|lost| lost_of_sum(lost, total.datagrams));
                (TITLES, loss.unwrap_or_default())
            };
        }
        match (is_enhanced && !group.sends, sum_only) {
            (true, true) => (enhanced::SUM_READ_TITLES, enhanced::reads(&total.reads)),
            (true, false) => (enhanced::READ_TITLES, enhanced::reads(&total.reads)),
            (false, true) => (SUM_TITLES, String::new()),
            (false, false) => (TITLES, String::new()),
        }
    }
}
