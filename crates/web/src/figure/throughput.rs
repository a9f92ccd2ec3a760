//! Throughput over time.

use super::{Figure, missing, over_time, undrawable};
use crate::chart::{Body, LineNotes, Lines};
use crate::record::Record;
use crate::unit::Unit;

pub(super) fn figure(records: &[Record]) -> Figure {
    let title = "Throughput over time";
    let mut charts = over_time(records, "throughput", title, "", |record| &record.rates);
    for (chart, table) in &mut charts {
        let Body::Lines(lines) = &mut chart.body else {
            continue;
        };
        annotate(records, lines);
        if lines.unit == Unit::TransactionsPerSecond {
            let text = "Transactions over time";
            table.caption = table.caption.replacen(title, text, 1);
            chart.title = text.to_owned();
        }
    }
    let advice = "interim results are measured with -D";
    let mut missing = missing(
        records,
        |record| record.rates.is_empty(),
        "throughput over time",
        advice,
    );
    missing.extend(undrawable(&charts));
    Figure {
        id: "throughput",
        heading: "Rates over time".to_owned(),
        about: "Each point is the mean of an interval, drawn in its middle. Where several \
                are drawn as one, a band goes from the least to the greatest of them. An interval that the end of the run cut short is taken \
                together with the one before. The dotted line is the mean of the run, with its \
                confidence interval if one was asked for; triangles on the axis are intervals \
                with retransmissions."
            .to_owned(),
        charts,
        missing,
    }
}

/// Lines whose means and retransmissions fit into one chart.
const ANNOTATED: usize = 3;

/// Adds means and retransmissions to the lines of records that have one line each.
fn annotate(records: &[Record], lines: &mut Lines) {
    let own = |record: &&Record| {
        let mut tracks = record.rates.iter();
        tracks.any(|track| track.unit == lines.unit)
    };
    let owners: Vec<&Record> = records.iter().filter(own).collect();
    let has_one = owners.iter().all(|record| record.rates.len() == 1);
    if !has_one || owners.len() != lines.lines.len() || owners.len() > ANNOTATED {
        return;
    }
    for (line, record) in lines.lines.iter_mut().zip(owners) {
        let result = record
            .headline
            .as_ref()
            .filter(|result| result.unit == lines.unit);
        let resent = record
            .retransmissions
            .iter()
            .flat_map(|track| &track.samples);
        let resent = resent.filter(|sample| sample.value > 0.0 && sample.span > 0.0);
        line.notes = LineNotes {
            mean: result.map(|result| result.value),
            half_width: result.and(record.half_width),
            events: resent
                .map(|sample| (sample.at - sample.span, sample.at, sample.value))
                .collect(),
            event: "retransmitted segments",
        };
    }
}
