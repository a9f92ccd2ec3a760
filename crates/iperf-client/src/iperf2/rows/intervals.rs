//! Rows of intervals, and those of directions that have ended.

use std::net::SocketAddr;

use netperf_engine::iperf2::Transfer;
use netperf_iperf2::rows::{
    CountedInterval, DatagramQuality, DirectionKind, DirectionRow, MovedCounts,
};
use netperf_measure::clock::Moment;
use netperf_model::iperf2::DelayMoments;
use netperf_program::iperf2::{DirectionPart, ShownCounts};

use super::ClientRows;
use super::ways::{ClientWay, WayOf};
use crate::iperf2::counts;
use crate::iperf2::session::{Iperf2Client, Iperf2Stream, receives};

impl ClientRows {
    /// The directions of the client's own streams begin.
    pub(super) fn begin(&mut self, client: &Iperf2Client) {
        let streams = || client.streams.iter().enumerate();
        if receives(&client.plan) {
            let received = streams();
            let received =
                received.map(|(at, one)| ClientWay::new(WayOf::Received(at), &one.received));
            self.ways.extend(received);
        }
        if client.plan.direction.client_sends() {
            let sent = streams().map(|(at, one)| ClientWay::new(WayOf::Sent(at), &one.sent));
            self.ways.extend(sent);
        }
        self.pairs
            .resize_with(client.streams.len(), Default::default);
    }

    /// When the next interval ends.
    pub fn due(&self) -> Option<Moment> {
        let every = self.args.interval?;
        let ways = self.ways.iter().filter(|way| !way.is_over(every));
        ways.filter_map(|way| way.due(every)).min()
    }

    /// Prints rows of intervals that are over, one of each direction. Returns false if there were
    /// none.
    pub fn tick(&mut self, client: &Iperf2Client) -> bool {
        let Some(every) = self.args.interval else {
            return false;
        };
        let mut ways = std::mem::take(&mut self.ways);
        let mut is_any = false;
        for way in &mut ways {
            if let Some(moved) = way.next(client, every) {
                self.way_row(client, way.of, &way.intervals.counts, &moved);
                is_any = true;
            }
        }
        if is_any {
            self.pairs_of_interval(&ways);
            self.sum_of_interval(client, &mut ways, every);
        }
        self.ways = ways;
        is_any
    }

    /// A direction has ended: the row behind its last interval, if it has one, and that of the whole.
    /// Returns what it adds to a sum.
    pub(super) fn end_way(
        &mut self,
        client: &Iperf2Client,
        of: WayOf,
        all: &Transfer,
    ) -> MovedCounts {
        let mut ways = std::mem::take(&mut self.ways);
        let mut sum = MovedCounts::default();
        if let Some(way) = ways.iter_mut().find(|way| way.of == of) {
            let amount = (all.bytes, all.elapsed);
            let (whole, rest) = way.end(client, self.args.interval, amount);
            // The original has no row of the last datagrams that are sent.
            let is_sent = matches!(of, WayOf::Sent(_));
            if let Some(rest) = rest.filter(|_| !is_sent || !self.args.plan.udp) {
                self.way_row(client, of, &way.intervals.counts, &rest);
            }
            if !is_sent {
                self.way_row(client, of, &way.intervals.counts, &whole);
                sum = MovedCounts {
                    calls: 0,
                    ..whole.interval.counts
                };
            }
        }
        self.ways = ways;
        sum
    }

    /// A row of a direction.
    fn way_row(
        &mut self,
        client: &Iperf2Client,
        of: WayOf,
        counts: &ShownCounts,
        moved: &DirectionPart,
    ) {
        match of {
            WayOf::Sent(at) => self.sent_row(client, at, moved),
            WayOf::Received(at) => {
                let stream = client.streams.get(at);
                let ends = stream.map(|stream| (stream.remote, stream.local));
                self.received_row((place(at), true, ends), counts, moved);
            }
            WayOf::Back(at) => {
                let opened = client.opened_back();
                let ends = opened.get(at).map(|stream| (stream.remote, stream.local));
                let number = place(client.streams.len() + at);
                self.received_row((number, false, ends), counts, moved);
            }
        }
    }

    /// A row of what an own stream sends in a part of the test.
    fn sent_row(&mut self, client: &Iperf2Client, at: usize, moved: &DirectionPart) {
        let Some(stream) = client.streams.get(at) else {
            return;
        };
        // The number of lost datagrams is not known before the report.
        let quality = DatagramQuality {
            jitter: 0,
            lost: 0,
            datagrams: moved.interval.counts.calls,
            late: 0,
        };
        self.stream_row(stream, &moved.interval, quality);
    }

    /// A row of what a stream sends; `quality` is that of comma-separated values.
    pub(super) fn stream_row(
        &mut self,
        stream: &Iperf2Stream,
        interval: &CountedInterval,
        quality: DatagramQuality,
    ) {
        let (udp, is_enhanced) = (self.args.plan.udp, self.args.enhanced);
        self.row(&DirectionRow {
            kind: if udp {
                DirectionKind::SendsDatagrams
            } else {
                DirectionKind::Sends
            },
            number: stream.number,
            is_marked: false,
            ends: (stream.local, stream.remote),
            is_enhanced,
            has_one_clock: false,
            interval,
            delays: &DelayMoments::default(),
            quality: udp.then_some(quality),
            state: (is_enhanced && !udp)
                .then(|| counts::state(stream))
                .flatten(),
        });
    }

    /// A row of what a stream with this number receives, between these ends, that of its sender first.
    fn received_row(
        &mut self,
        (number, is_own, ends): (u32, bool, Option<(SocketAddr, SocketAddr)>),
        shown: &ShownCounts,
        moved: &DirectionPart,
    ) {
        let (plan, counts) = (&self.args.plan, &moved.interval.counts);
        let Some(ends) = ends else { return };
        self.row(&DirectionRow {
            kind: match (plan.udp, plan.trip_times) {
                (true, _) => DirectionKind::ReceivesDatagrams,
                (false, true) => DirectionKind::ReceivesBlocks,
                (false, false) => DirectionKind::Receives,
            },
            number,
            is_marked: is_own,
            ends,
            is_enhanced: self.args.enhanced,
            has_one_clock: self.has_one_clock(ends.0, ends.1),
            interval: &moved.interval,
            delays: &moved.delays,
            quality: plan.udp.then(|| DatagramQuality {
                jitter: shown.jitter(),
                lost: counts.lost,
                datagrams: counts.datagrams,
                late: counts.late,
            }),
            state: None,
        });
    }
}

/// Number of the stream at a place.
pub(super) fn place(at: usize) -> u32 {
    u32::try_from(at + 1).unwrap_or(u32::MAX)
}
