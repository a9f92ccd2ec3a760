//! Throughput over time.

use super::{Figure, missing, over_time, undrawable};
use crate::chart::Body;
use crate::record::Record;
use crate::unit::Unit;

pub(super) fn figure(records: &[Record]) -> Figure {
    let title = "Throughput over time";
    let mut charts = over_time(records, "throughput", title, "", |record| &record.rates);
    for (chart, table) in &mut charts {
        let transactions =
            matches!(&chart.body, Body::Lines(lines) if lines.unit == Unit::TransactionsPerSecond);
        if transactions {
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
        heading: title,
        about: "Each point is the mean of an interval, drawn in its middle. Where several \
                are drawn as one, a band goes from the least to the greatest of them. An interval that the end of the run cut short is taken \
                together with the one before."
            .to_owned(),
        charts,
        missing,
    }
}
