//! What numbers in datagrams told.

use netperf_model::figures::count;
use netperf_model::{EndResult, Quality};

use super::finite;
use crate::quality::Reception;

/// Numbered datagrams at one end.
#[derive(Debug)]
pub(super) struct Datagrams {
    sent: u64,
    received: u64,
    lost: Option<u64>,
    lost_percent: Option<f64>,
    duplicated: u64,
    reordered: u64,
    reordering_extent: u64,
    too_late: u64,
    unnumbered: u64,
    jitter_microseconds: Option<f64>,
    mean_delay_variation_microseconds: Option<f64>,
    max_delay_variation_microseconds: Option<f64>,
}

object!(Datagrams {
    sent,
    received,
    lost,
    lost_percent,
    duplicated,
    reordered,
    reordering_extent,
    too_late,
    unnumbered,
    jitter_microseconds,
    mean_delay_variation_microseconds,
    max_delay_variation_microseconds,
});

/// How many numbered datagrams an end sent.
pub(super) fn sent(end: &EndResult) -> Option<u64> {
    end.quality.map(|quality| quality.sent)
}

impl Datagrams {
    /// At an end to which so many were sent.
    pub(super) fn of(quality: Quality, sent_to: Option<u64>) -> Self {
        let got = Reception {
            quality,
            sent: sent_to,
        };
        // An end to which nothing was sent lost nothing, and saw no delay.
        let receives = quality.due(sent_to) > 0 || sent_to.is_some_and(|sent| sent > 0);
        let micros = |nanoseconds: u64| {
            let known = quality.received > 0;
            known.then(|| count(nanoseconds) / 1e3).and_then(finite)
        };
        Self {
            sent: quality.sent,
            received: quality.received,
            lost: receives.then(|| got.lost()),
            lost_percent: got.lost_percent().and_then(finite),
            duplicated: quality.duplicated,
            reordered: quality.reordered,
            reordering_extent: quality.extent,
            too_late: quality.too_late,
            unnumbered: quality.unnumbered,
            jitter_microseconds: micros(quality.jitter),
            mean_delay_variation_microseconds: micros(quality.mean_variation),
            max_delay_variation_microseconds: micros(quality.most_variation),
        }
    }
}
