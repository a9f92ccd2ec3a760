//! TCP_INFO of the connection over time.

use super::{Figure, chart, lines, missing, over_time, undrawable};
use crate::chart::{Lines, Point, Thin, X};
use crate::record::{Record, Track};
use crate::unit::Unit;

pub(super) fn figure(records: &[Record]) -> Figure {
    let mut charts = over_time(
        records,
        "tcp-window",
        "Congestion window",
        "window",
        |record| &record.windows,
    );
    charts.extend(over_time(
        records,
        "tcp-round-trip",
        "Round trip as TCP sees it",
        "smoothed round trip",
        |record| &record.round_trips,
    ));
    if records
        .iter()
        .any(|record| !record.retransmissions.is_empty())
    {
        charts.push(resent(records));
    }
    let silent = |record: &Record| {
        record.windows.is_empty()
            && record.round_trips.is_empty()
            && record.retransmissions.is_empty()
    };
    let advice = "they are asked for with --series over TCP, or with every interim result (-D) of a test \
         with one TCP connection";
    let mut missing = missing(records, silent, "values of TCP_INFO", advice);
    missing.extend(undrawable(&charts));
    Figure {
        id: "tcp",
        heading: "TCP".to_owned(),
        about:
            "What TCP knew of its connections (TCP_INFO of tcp(7)): at client and server with \
                --series, else at the client at the end of each interval. The window is in bytes: its segments times their size."
                .to_owned(),
        charts,
        missing,
    }
}

/// Segments retransmitted since the beginning, so that several points can be drawn as one.
fn resent(records: &[Record]) -> (crate::chart::Chart, crate::table::Table) {
    let lines = lines(
        records,
        |record| &record.retransmissions,
        |track: &Track| {
            let mut total = 0.0;
            let points = track.samples.iter().map(|sample| {
                total += sample.value;
                Point {
                    x: sample.at,
                    y: total,
                    joined: sample.joined,
                }
            });
            (track.name.as_str(), points.collect())
        },
    );
    let lines = Lines {
        x: X::Seconds,
        x_name: "time".to_owned(),
        unit: Unit::Count("segments"),
        y_name: "retransmitted so far".to_owned(),
        log: false,
        lines,
        thin: Thin::Shape,
        phases: Vec::new(),
    };
    chart(("tcp-retransmitted", 0), "Segments retransmitted", lines)
}
