//! Rates of each direction, and its datagrams.

use netperf_report::document::{IntervalResult, MeasuredEnd};
use netperf_stats::precision;
use netperf_text::bars;
use netperf_text::look::TextLook;
use netperf_text::unit::{NO_BREAK, Unit, figure, quantity};

use super::RunSummary;

/// The test whose result is a segment size.
const MSS: &str = "TCP_MSS";
/// Confidence level of the interval of a rate.
const LEVEL: f64 = 0.95;
/// Columns of a series of bars.
const BARS: usize = 20;

/// A rate of one direction.
pub(super) struct DirectionRate {
    pub(super) title: &'static str,
    /// The direction, behind the rate in the first line.
    direction: &'static str,
    per_second: Option<f64>,
    unit: Unit,
    /// Half the width of its confidence interval, percent.
    plus_minus: Option<f64>,
    series: Vec<f64>,
}

impl DirectionRate {
    fn shown(&self) -> Option<String> {
        let value = self.per_second?;
        Some(quantity(value, self.unit.clone()))
    }

    /// The rate with its interval and its values over time.
    pub(super) fn words(&self, look: TextLook) -> Option<String> {
        let mut words = self.shown()?;
        if let Some(percent) = self.plus_minus {
            words.push_str(&format!(" ±{NO_BREAK}{}{NO_BREAK}%", figure(percent)));
        }
        if look.unicode && self.series.len() > 1 {
            words.push_str(&format!("  {}", bars::means(&self.series, BARS, true)));
        }
        Some(words)
    }
}

impl<'a> RunSummary<'a> {
    /// The result: rates with their directions, the latency of requests, the loss of datagrams.
    pub(super) fn answer(self) -> Option<String> {
        let rates = self.rates();
        let each = rates
            .iter()
            .filter_map(|rate| Some(format!("{}{}", rate.shown()?, rate.direction)));
        let mut parts: Vec<String> = each.collect();
        if parts.is_empty() {
            return self.segment();
        }
        if self.counts_transactions() {
            parts.extend(self.median_and_tail());
        }
        parts.extend(self.loss());
        Some(parts.join(", "))
    }

    /// The result of TCP_MSS.
    fn segment(self) -> Option<String> {
        if self.document.test.name != MSS {
            return None;
        }
        let bytes = self.first()?.segment_size_bytes?;
        Some(format!("Segments of {bytes}{NO_BREAK}bytes"))
    }

    /// The share of datagrams that was lost, of a run in one direction.
    fn loss(self) -> Option<String> {
        match &self.ways()[..] {
            [(_, ends)] => Some(format!("{} lost", ends.loss()?)),
            _ => None,
        }
    }

    /// The rates of the directions that carry data, or of transactions.
    pub(super) fn rates(self) -> Vec<DirectionRate> {
        let (test, intervals) = (&self.document.test, &self.document.intervals);
        let result = self.document.result.as_ref();
        let Some(result) = result.filter(|_| test.name != MSS) else {
            return Vec::new();
        };
        let of = |pick: fn(&IntervalResult) -> Option<f64>| -> Vec<f64> {
            intervals.iter().filter_map(pick).collect()
        };
        let both = test.bidirectional.is_some();
        let rate = |title, direction, unit, per_second, series: Vec<f64>| DirectionRate {
            title,
            direction,
            per_second,
            unit,
            plus_minus: self.plus_minus(&series).filter(|_| !both),
            series,
        };
        if self.counts_transactions() {
            let unit = match (test.connects, test.sends) {
                (true, false) => Unit::Count("connections/s"),
                _ => Unit::TransactionsPerSecond,
            };
            let series = of(|interval| interval.transactions_per_second.0);
            let per_second = result.throughput.transactions_per_second.0;
            return vec![rate("Rate", "", unit, per_second, series)];
        }
        let overall = result.throughput.throughput_bits_per_second.0;
        let received_by = |remote: bool| {
            let run = self.first()?;
            let end = if remote {
                run.remote.as_ref()?
            } else {
                &run.local
            };
            end.rates.received_bits_per_second.0
        };
        let mut rates = Vec::new();
        if test.sends {
            let datagrams = self.sends_datagrams();
            let sent = |interval: &IntervalResult| {
                let arrived = interval.arrived_bits_per_second.0;
                arrived.or(interval.rates.sent_bits_per_second.0.filter(|_| !datagrams))
            };
            let series = intervals.iter().filter_map(sent).collect();
            let per_second = if both { received_by(true) } else { overall };
            let direction = " from client to server";
            rates.push(rate(
                "To server",
                direction,
                Unit::BitsPerSecond,
                per_second,
                series,
            ));
        }
        if test.receives {
            let series = of(|interval| interval.rates.received_bits_per_second.0);
            let per_second = if both { received_by(false) } else { overall };
            let direction = " from server to client";
            rates.push(rate(
                "To client",
                direction,
                Unit::BitsPerSecond,
                per_second,
                series,
            ));
        }
        rates
    }

    /// Half the width of the interval of the result in percent: of `--until`, of `-I`, or from
    /// the values over time.
    #[expect(clippy::cast_precision_loss, reason = "a number of values")]
    fn plus_minus(self, series: &[f64]) -> Option<f64> {
        let until = self.document.until.as_ref();
        let until = until.and_then(|until| until.throughput.as_ref()?.half_width_percent.0);
        let repeated = self.document.confidence;
        let width = repeated.map(|confidence| confidence.result);
        let repeated = width.filter(|width| *width >= 0.0).map(|width| width / 2.0);
        let measured = || {
            let interval = precision::of_mean(series, LEVEL)?;
            let mean = series.iter().sum::<f64>() / series.len() as f64;
            (mean > 0.0).then(|| 100.0 * interval.half_width / mean)
        };
        until.or(repeated).or_else(measured)
    }

    fn sends_datagrams(self) -> bool {
        let test = &self.document.test;
        test.sends && !test.receives && test.socket_type == "Datagram"
    }

    /// The ends of each direction of datagrams.
    fn ways(self) -> Vec<(&'static str, DatagramPair<'a>)> {
        let test = &self.document.test;
        if test.socket_type != "Datagram" || self.counts_transactions() {
            return Vec::new();
        }
        let Some((run, remote)) = self
            .first()
            .and_then(|run| Some((run, run.remote.as_ref()?)))
        else {
            return Vec::new();
        };
        let asked = self.document.rate.as_ref();
        let asked = asked.filter(|rate| rate.unit == "bits");
        let ends = |sender, receiver| DatagramPair {
            sender,
            receiver,
            asked: asked.map(|rate| rate.asked_per_second),
        };
        let titles = match test.bidirectional {
            Some(_) => ["UDP out", "UDP in"],
            None => ["UDP"; 2],
        };
        let each = [
            (titles[0], test.sends, ends(&run.local, remote)),
            (titles[1], test.receives, ends(remote, &run.local)),
        ];
        let used = each.into_iter().filter(|(_, used, _)| *used);
        used.map(|(title, _, ends)| (title, ends)).collect()
    }

    /// The datagrams of each direction.
    pub(super) fn datagrams(self) -> Vec<(&'static str, String)> {
        let ways = self.ways().into_iter();
        ways.map(|(title, ends)| (title, ends.words())).collect()
    }
}

/// The sender and the receiver of datagrams.
struct DatagramPair<'a> {
    sender: &'a MeasuredEnd,
    receiver: &'a MeasuredEnd,
    /// Bits per second.
    asked: Option<f64>,
}

impl DatagramPair<'_> {
    fn words(&self) -> String {
        let (sender, receiver) = (self.sender, self.receiver);
        let counted = receiver.datagrams.as_ref();
        let bits = |value: Option<f64>| value.map(|value| quantity(value, Unit::BitsPerSecond));
        let packets = |value: Option<f64>| {
            let value = value?;
            Some(quantity(value, Unit::Count("packets/s")))
        };
        let both = |bits: Option<String>, packets: Option<String>, what: &str| {
            let known: Vec<String> = bits.into_iter().chain(packets).collect();
            (!known.is_empty()).then(|| format!("{what} {}", known.join(", ")))
        };
        let sent = bits(sender.rates.sent_bits_per_second.0);
        let asked = bits(self.asked).filter(|asked| Some(asked) != sent.as_ref());
        let sent = both(
            sent,
            packets(sender.rates.sent_packets_per_second.0),
            "sent",
        );
        let size = sender.bytes_per_send.0.or(receiver.bytes_per_recv.0);
        let jitter = counted.and_then(|counted| counted.jitter_microseconds.0);
        let parts = [
            sent.map(|sent| match asked {
                Some(asked) => format!("{sent} (asked for: {asked})"),
                None => sent,
            }),
            both(
                bits(receiver.rates.received_bits_per_second.0),
                packets(receiver.rates.received_packets_per_second.0),
                "arrived",
            ),
            self.loss()
                .map(|loss| format!("lost {loss}{}", self.lost_of())),
            self.places_of_loss(),
            self.refused(),
            counted
                .and_then(|counted| counted.reordered)
                .map(|count| format!("reordered {count}")),
            counted
                .and_then(|counted| counted.duplicated)
                .filter(|count| *count > 0)
                .map(|count| format!("duplicated {count}")),
            jitter.map(|jitter| format!("jitter {}", quantity(jitter / 1e6, Unit::Seconds))),
            size.map(|size| format!("datagrams of {size:.0}{NO_BREAK}bytes")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// The share that was lost: of numbered datagrams, else of bytes.
    #[expect(clippy::cast_precision_loss, reason = "a share of bytes")]
    fn loss(&self) -> Option<String> {
        let share = match &self.receiver.datagrams {
            Some(counted) => counted.lost_percent.0?,
            None => {
                let sent = self.sender.counts.sent_bytes.filter(|sent| *sent > 0)?;
                let received = self.receiver.counts.received_bytes;
                100.0 * (1.0 - received as f64 / sent as f64).max(0.0)
            }
        };
        Some(format!("{}{NO_BREAK}%", figure(share)))
    }

    /// The number of lost datagrams, of how many.
    fn lost_of(&self) -> String {
        let (lost, sent) = (self.lost(), self.sender.counts.send_calls);
        lost.zip(sent)
            .map_or_else(String::new, |(lost, sent)| format!(" ({lost} of {sent})"))
    }

    fn lost(&self) -> Option<u64> {
        match &self.receiver.datagrams {
            Some(counted) => counted.lost,
            None => {
                let received = self.receiver.counts.recv_calls?;
                Some(self.sender.counts.send_calls?.saturating_sub(received))
            }
        }
    }

    /// Places at which datagrams were lost, if some were and the receiver knows.
    fn places_of_loss(&self) -> Option<String> {
        let lost = self.lost().filter(|lost| *lost > 0)?;
        let counted = self.receiver.datagrams.as_ref()?;
        let by_socket = counted.dropped_by_socket?.min(lost);
        let on_path = lost - by_socket;
        Some(format!(
            "of these {by_socket} in the receiver's socket buffer, {on_path} on the path"
        ))
    }

    /// Datagrams that the sending host refused.
    fn refused(&self) -> Option<String> {
        let count = self.sender.counts.failed_sends.filter(|count| *count > 0)?;
        Some(format!(
            "{count} more not sent, because the queue of the sending host was full"
        ))
    }
}
