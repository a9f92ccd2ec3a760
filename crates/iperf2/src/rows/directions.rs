//! Rows of the directions of streams.

use std::net::SocketAddr;
use std::time::Duration;

use netperf_model::iperf2::DelayMoments;

use super::choice::PrintedTitles;
use super::enhanced::{self, SenderState};
use super::units::figures_of;
use super::{CountedInterval, CsvRow, DATAGRAM_TITLES, DatagramQuality, TITLES, id, late, loss};
use crate::options::Iperf2Args;

/// Role of this end in a direction of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectionKind {
    /// It receives bytes.
    Receives,
    /// It receives blocks with times.
    ReceivesBlocks,
    /// It receives datagrams.
    ReceivesDatagrams,
    /// It sends bytes.
    Sends,
    /// It sends datagrams.
    SendsDatagrams,
}

impl DirectionKind {
    /// True if this end sends.
    pub const fn sends(self) -> bool {
        matches!(self, Self::Sends | Self::SendsDatagrams)
    }

    /// Titles of its rows.
    const fn titles(self, is_enhanced: bool) -> &'static str {
        match (self, is_enhanced) {
            (Self::ReceivesDatagrams, false) => DATAGRAM_TITLES,
            (_, false) => TITLES,
            (Self::Receives, true) => enhanced::READ_TITLES,
            (Self::ReceivesBlocks, true) => enhanced::BURST_TITLES,
            (Self::ReceivesDatagrams, true) => enhanced::DELAY_TITLES,
            (Self::Sends, true) => enhanced::SENT_TITLES,
            (Self::SendsDatagrams, true) => enhanced::SENT_DATAGRAM_TITLES,
        }
    }
}

/// A row of a direction of a stream.
#[derive(Clone, Copy, Debug)]
pub struct DirectionRow<'a> {
    /// Role of this end.
    pub kind: DirectionKind,
    /// Number of the stream.
    pub number: u32,
    /// The number is marked as that of data of the server on a connection of the client.
    pub is_marked: bool,
    /// Addresses of comma-separated values: the sender, and the receiver.
    pub ends: (SocketAddr, SocketAddr),
    /// It has further columns (`-e`, `--trip-times`).
    pub is_enhanced: bool,
    /// Both ends have one clock.
    pub has_one_clock: bool,
    /// Counts, and their time.
    pub interval: &'a CountedInterval,
    /// Delays in this time.
    pub delays: &'a DelayMoments,
    /// Jitter and loss of datagrams, where they are known.
    pub quality: Option<DatagramQuality>,
    /// State of the connection over which this end sends.
    pub state: Option<SenderState>,
}

impl DirectionRow<'_> {
    /// Its text, with titles in front if they were not printed before; empty if the options leave
    /// it out. `stamp` is the time of day of comma-separated values.
    pub fn text(&self, args: &Iperf2Args, titles: &mut PrintedTitles, stamp: &str) -> String {
        if args.csv {
            return self.csv(args, stamp);
        }
        if !args.shows_rows() {
            return String::new();
        }
        let (name, (from, to)) = (id(self.number, self.is_marked), self.interval.times);
        let figures = figures_of(args.unit);
        let titles = titles.print(self.kind.titles(self.is_enhanced));
        let row = figures.row(&name, from, to, self.interval.counts.bytes);
        let received = self.quality.filter(|_| !self.kind.sends());
        let (mut quality, mut behind) = (String::new(), String::new());
        if let Some(received) = received {
            let jitter = Duration::from_micros(received.jitter);
            quality = loss(jitter, received.lost, received.datagrams);
            behind = late(&name, self.interval.times, received.late);
        }
        let columns = self.columns();
        format!("{titles}{row}{quality}{columns}\n{behind}")
    }

    /// Further columns.
    fn columns(&self) -> String {
        if !self.is_enhanced {
            return String::new();
        }
        let (from, to) = self.interval.times;
        let (counts, time) = (&self.interval.counts, to.saturating_sub(from));
        let amount = (counts.bytes, time);
        match self.kind {
            DirectionKind::Receives => enhanced::reads(counts),
            DirectionKind::ReceivesBlocks => {
                let bursts = enhanced::bursts(self.delays, self.has_one_clock, amount);
                bursts + &enhanced::reads(counts)
            }
            DirectionKind::ReceivesDatagrams => {
                enhanced::delays(self.delays, self.has_one_clock, counts.calls, amount)
            }
            DirectionKind::Sends => enhanced::sent(counts, time, self.state),
            DirectionKind::SendsDatagrams => enhanced::sent_datagrams(counts, counts.calls, time),
        }
    }

    /// A row of comma-separated values.
    fn csv(&self, args: &Iperf2Args, stamp: &str) -> String {
        if args.left_out.contains('D') {
            return String::new();
        }
        let (near, far) = self.ends;
        let row = CsvRow {
            stamp,
            near: (&args.shown(near), near.port()),
            far: (&args.shown(far), far.port()),
            number: self.number,
            times: self.interval.times,
            bytes: self.interval.counts.bytes,
            quality: self.quality,
        };
        row.text()
    }
}

/// The line of the number of datagrams that were sent; `name` is that of the row.
#[must_use]
pub fn sent_line(name: &str, datagrams: u64) -> String {
    format!("{name} Sent {datagrams} datagrams\n")
}

#[cfg(test)]
mod tests {
    use super::super::MovedCounts;
    use super::*;

    #[test]
    fn direction_row_has_titles_once_and_late_datagrams_behind_it() {
        let counts = MovedCounts {
            bytes: 131_072,
            calls: 10,
            ..MovedCounts::default()
        };
        let end = SocketAddr::from(([192, 0, 2, 1], 5001));
        let row = DirectionRow {
            kind: DirectionKind::ReceivesDatagrams,
            number: 1,
            is_marked: false,
            ends: (end, end),
            is_enhanced: false,
            has_one_clock: true,
            interval: &CountedInterval {
                times: (Duration::ZERO, Duration::from_secs(1)),
                counts,
            },
            delays: &DelayMoments::default(),
            quality: Some(DatagramQuality {
                jitter: 14,
                lost: 2,
                datagrams: 10,
                late: 1,
            }),
            state: None,
        };
        let (mut args, mut titles) = (Iperf2Args::default(), PrintedTitles::default());
        let text = "[  1] 0.0000-1.0000 sec   128 KBytes  1.05 Mbits/sec   0.014 ms 2/10 (20%)\n\
                    [  1] 0.0000-1.0000 sec  1 datagrams received out-of-order\n";
        let first = row.text(&args, &mut titles, "");
        assert_eq!(first, format!("{DATAGRAM_TITLES}{text}"));
        assert_eq!(row.text(&args, &mut titles, ""), text);
        args.sum_only = true;
        assert_eq!(row.text(&args, &mut titles, ""), "");
        args.csv = true;
        assert_eq!(
            row.text(&args, &mut titles, "20261128105754"),
            "20261128105754,192.0.2.1,5001,192.0.2.1,5001,1,0.0-1.0,131072,1048576,\
             0.014,2,10,20.000,1\n"
        );
    }
}
