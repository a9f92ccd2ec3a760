//! The intervals of a run, over time.

use netperf_model::fields::MeasuredFigure;
use netperf_report::document::{Document, IntervalResult};

use super::text;
use crate::record::{Record, Sample, Track};
use crate::unit::Unit;

/// The begin of the first interval, in seconds since 1970.
pub(super) fn begin(document: &Document) -> Option<f64> {
    let first = document.intervals.first()?;
    let length = first.elapsed_seconds.0.unwrap_or(0.0);
    Some(first.ended.as_secs_f64() - length)
}

/// A rate of transactions, or of bits both ways.
pub(super) fn rate(transactions: MeasuredFigure, bits: [MeasuredFigure; 2]) -> Option<(f64, Unit)> {
    if let Some(rate) = transactions.0 {
        return Some((rate, Unit::TransactionsPerSecond));
    }
    let known = bits.into_iter().filter_map(|bits| bits.0);
    let sum = known.reduce(|sum, bits| sum + bits)?;
    Some((sum, Unit::BitsPerSecond))
}

/// The rate of an interval. If `arrived`, data that netperf sent counts where it arrived.
fn rate_of(interval: &IntervalResult, arrived: bool) -> Option<(f64, Unit)> {
    let rates = &interval.rates;
    let sent = if arrived {
        interval.arrived_bits_per_second
    } else {
        rates.sent_bits_per_second
    };
    let bits = [sent, rates.received_bits_per_second];
    rate(interval.transactions_per_second, bits).or_else(|| {
        let unit = Unit::Other(text(&interval.throughput_unit)?);
        Some((interval.throughput.0?, unit))
    })
}

/// Adds rates, and the state of TCP.
pub(super) fn add(document: &Document, record: &mut Record) {
    let Some(begin) = begin(document) else {
        return;
    };
    let sends = document.test.sends;
    let mut known = document.intervals.iter();
    let arrived = sends && known.all(|interval| interval.arrived_bits_per_second.0.is_some());
    let mut before = None;
    let mut rates = Vec::new();
    let mut tcp: [Vec<Sample>; 3] = Default::default();
    let mut resent_before = 0.0;
    let mut unit = Unit::BitsPerSecond;
    for interval in &document.intervals {
        let joined = before == Some(interval.iteration);
        before = Some(interval.iteration);
        if !joined {
            resent_before = 0.0;
        }
        let sample = |value| Sample {
            at: interval.ended.as_secs_f64() - begin,
            span: interval.elapsed_seconds.0.unwrap_or(0.0),
            value,
            joined,
        };
        if let Some((value, of)) = rate_of(interval, arrived) {
            unit = of;
            rates.push(sample(value));
        }
        let Some(info) = &interval.tcp else {
            continue;
        };
        // The state is that at the end of the interval.
        let instant = |value| Sample {
            span: 0.0,
            ..sample(value)
        };
        let window = f64::from(info.congestion_window_segments);
        tcp[0].push(instant(window * f64::from(info.send_segment_bytes)));
        tcp[1].push(instant(f64::from(info.round_trip_micros) * 1e-6));
        let resent = f64::from(info.retransmitted_segments);
        // A counter that decreased belongs to another connection.
        let since = if resent >= resent_before {
            resent_before
        } else {
            0.0
        };
        tcp[2].push(sample(resent - since));
        resent_before = resent;
    }
    let [windows, trips, resent] = tcp;
    // The result is what arrived.
    let name = match (arrived, sends, document.test.receives) {
        _ if unit == Unit::TransactionsPerSecond => "",
        (false, true, false) => "sent",
        (false, true, true) => "sent and received",
        _ => "",
    };
    record.rates.extend(Track::new(name, unit, rates));
    record.windows.extend(Track::new("", Unit::Bytes, windows));
    record
        .round_trips
        .extend(Track::new("", Unit::Seconds, trips));
    record
        .retransmissions
        .extend(Track::new("", Unit::Count("segments"), resent));
}
