//! Rows of what several directions moved.

use super::choice::PrintedTitles;
use super::units::figures_of;
use super::{
    CountedInterval, SUM_DATAGRAM_TITLES, SUM_TITLES, TITLES, both_ways, datagrams_of_sum,
    enhanced, late, lost_of_sum,
};
use crate::options::Iperf2Args;

/// Directions that a sum shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumKind {
    /// Bytes alone.
    Bytes,
    /// Data moved in both directions.
    BothWays,
    /// Datagrams; how many are lost is perhaps unknown.
    Datagrams {
        /// It is known.
        has_loss: bool,
    },
    /// Reads, with `-e`.
    Reads,
    /// Calls of senders, with `-e`.
    Sent,
    /// Calls of senders of datagrams, with `-e`.
    SentDatagrams,
}

/// A row of several directions.
#[derive(Clone, Copy, Debug)]
pub struct SumRow<'a> {
    /// Its contents.
    pub kind: SumKind,
    /// Counts, and their time.
    pub interval: &'a CountedInterval,
}

impl SumRow<'_> {
    /// The row of so many directions, with titles in front if they were not printed before.
    pub fn text(&self, args: &Iperf2Args, titles: &mut PrintedTitles, directions: usize) -> String {
        let name = if args.sum_only {
            format!("[SUM-{directions}]")
        } else {
            "[SUM]".to_owned()
        };
        self.named(args, titles, &name)
    }

    fn named(&self, args: &Iperf2Args, titles: &mut PrintedTitles, name: &str) -> String {
        let (heading, columns) = self.form(args);
        let (heading, (from, to)) = (titles.print(heading), self.interval.times);
        let row = figures_of(args.unit).row(name, from, to, self.interval.counts.bytes);
        let late = late(name, self.interval.times, self.interval.counts.late);
        format!("{heading}{row}{columns}\n{late}")
    }

    /// Titles and columns.
    fn form(&self, args: &Iperf2Args) -> (&'static str, String) {
        let (all, (from, to)) = (&self.interval.counts, self.interval.times);
        let time = to.saturating_sub(from);
        let either = |sum, plain| if args.sum_only { sum } else { plain };
        match (self.kind, args.enhanced) {
            (SumKind::BothWays, _) => both_ways(args.plan.udp, all.datagrams, time),
            (SumKind::Datagrams { has_loss }, is_enhanced) => {
                let lost = has_loss.then_some(all.lost);
                if args.sum_only || is_enhanced {
                    let titles = either(SUM_DATAGRAM_TITLES, enhanced::SENT_DATAGRAM_TITLES);
                    return (titles, datagrams_of_sum(lost, all.datagrams, time));
                }
                let loss = lost.map(|lost| lost_of_sum(lost, all.datagrams));
                (TITLES, loss.unwrap_or_default())
            }
            (SumKind::Reads, true) => (
                either(enhanced::SUM_READ_TITLES, enhanced::READ_TITLES),
                enhanced::reads(all),
            ),
            (SumKind::Sent, true) => (
                either(enhanced::SUM_SENT_TITLES, enhanced::SENT_TITLES),
                enhanced::sent_by_all(all),
            ),
            (SumKind::SentDatagrams, true) => (
                either(
                    enhanced::SUM_SENT_DATAGRAM_TITLES,
                    enhanced::SENT_DATAGRAM_TITLES,
                ),
                enhanced::sent_datagrams(all, all.datagrams, time),
            ),
            (SumKind::Bytes, _)
            | (SumKind::Reads | SumKind::Sent | SumKind::SentDatagrams, false) => {
                (either(SUM_TITLES, TITLES), String::new())
            }
        }
    }
}

/// The row of both directions of the stream with this number (`-e`).
pub fn pair_row(
    args: &Iperf2Args,
    titles: &mut PrintedTitles,
    number: u32,
    interval: &CountedInterval,
) -> String {
    let row = SumRow {
        kind: SumKind::BothWays,
        interval,
    };
    row.named(args, titles, &format!("[FD{number}]"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::MovedCounts;
    use super::*;

    #[test]
    fn sum_shows_what_its_kind_and_the_options_choose() {
        let counts = MovedCounts {
            bytes: 131_072,
            calls: 9,
            datagrams: 10,
            lost: 2,
            ..MovedCounts::default()
        };
        let text = |kind, udp, enhanced, sum_only| {
            let mut args = Iperf2Args {
                enhanced,
                sum_only,
                ..Iperf2Args::default()
            };
            args.plan.udp = udp;
            let row = SumRow {
                kind,
                interval: &CountedInterval {
                    times: (Duration::ZERO, Duration::from_secs(1)),
                    counts,
                },
            };
            let text = row.text(&args, &mut PrintedTitles::default(), 3);
            let row = text.lines().nth(1).unwrap_or_default();
            row.replace(" 0.0000-1.0000 sec   128 KBytes  1.05 Mbits/sec", "")
        };
        let known = SumKind::Datagrams { has_loss: true };
        let unknown = SumKind::Datagrams { has_loss: false };
        for (kind, udp, enhanced, sum_only, expected) in [
            (SumKind::Bytes, false, true, false, "[SUM]"),
            (SumKind::Bytes, false, false, true, "[SUM-3]"),
            (SumKind::BothWays, false, false, false, "[SUM]"),
            (
                SumKind::BothWays,
                true,
                false,
                false,
                "[SUM] 10      10 pps",
            ),
            (known, true, false, false, "[SUM]   2/10 (20%)"),
            (unknown, true, false, false, "[SUM]"),
            (unknown, true, true, false, "[SUM]  -/10       10 pps"),
            (known, true, false, true, "[SUM-3]  2/10       10 pps"),
            (SumKind::Reads, false, false, false, "[SUM]"),
            (
                SumKind::Reads,
                false,
                true,
                false,
                "[SUM]  0=0:0:0:0:0:0:0:0",
            ),
            (SumKind::Sent, false, true, true, "[SUM-3]  9/0         0"),
            (
                SumKind::SentDatagrams,
                true,
                true,
                false,
                "[SUM]  9/0       10 pps",
            ),
        ] {
            assert_eq!(text(kind, udp, enhanced, sum_only), expected, "{kind:?}");
        }
    }
}
