//! The row of what the receiver of datagrams reports to their sender.

use std::time::Duration;

use netperf_model::figures::count;
use netperf_model::iperf2::DelayMoments;

use crate::messages::{ServerReport, Transit, WireTime};
use crate::rows::{DATAGRAM_TITLES, Iperf2Figures, enhanced, late, loss};

/// A report.
pub struct ReportRow<'a> {
    /// Units of the row.
    pub figures: Iperf2Figures,
    /// Report of the receiver.
    pub report: &'a ServerReport,
    /// Both ends have one clock.
    pub is_known: bool,
}

impl ReportRow<'_> {
    /// The delays, if the receiver wants them shown.
    fn transit(&self) -> Option<Transit> {
        self.report.transit.filter(|_| self.report.enhanced)
    }

    /// Titles of the row.
    pub fn titles(&self) -> &'static str {
        if self.transit().is_some() {
            enhanced::DELAY_TITLES
        } else {
            DATAGRAM_TITLES
        }
    }

    /// The row with this name, and a line of late datagrams.
    pub fn text(&self, name: &str) -> String {
        let report = self.report;
        let time = Duration::from_micros(report.duration.micros());
        let mut row = self.figures.row(name, Duration::ZERO, time, report.bytes);
        let jitter = Duration::from_micros(report.jitter.micros());
        row.push_str(&loss(jitter, report.lost, report.datagrams));
        if let Some(transit) = self.transit() {
            let moments = moments(&transit);
            // A receiver whose clock is behind has nothing to report.
            let is_known = self.is_known && moments.mean > 0.0;
            let amount = (report.bytes, time);
            row.push_str(&enhanced::delays(&moments, is_known, moments.count, amount));
        }
        let late = late(name, (Duration::ZERO, time), report.out_of_order);
        format!("{row}\n{late}")
    }
}

/// The delays of a report.
fn moments(transit: &Transit) -> DelayMoments {
    let micros = |time: WireTime| count(time.micros());
    DelayMoments {
        count: transit.count.into(),
        min: micros(transit.min),
        max: micros(transit.max),
        mean: micros(transit.mean),
        squares: transit.sum_of_squares(),
    }
}
