//! Results of each of many flows, at verbosity 2.

use std::fmt::Write;

use netperf_model::FlowCounts;
use netperf_model::figures::count;

use crate::view::View;

/// More flows than this are told of by the slowest, the median and the fastest.
const EACH: usize = 64;

/// A line for each flow of the last iteration; empty with one flow.
pub(super) fn print(view: &View<'_>) -> String {
    let Some(flows) = &view.last.many else {
        return String::new();
    };
    let length = view.last.timed();
    let transactions = view.plan().flow.counts_transactions();
    let unit = if transactions {
        "trans/s"
    } else {
        "10^6bits/s"
    };
    let mut out = format!(
        "\n{:<12} {:>16} {:>16} {:>14} {unit:>12}\n",
        "Flow", "Bytes sent", "Bytes received", "Transactions"
    );
    for (name, counts) in shown(&flows.each, |counts| counts.work(view.plan().flow)) {
        let rate = if transactions {
            count(counts.transactions)
        } else {
            count(counts.bytes_sent + counts.bytes_received) * 8e-6
        };
        let rate = if length > 0.0 { rate / length } else { 0.0 };
        // Writing to a string cannot fail.
        let _written = writeln!(
            out,
            "{name:<12} {:>16} {:>16} {:>14} {rate:>12.2}",
            counts.bytes_sent, counts.bytes_received, counts.transactions
        );
    }
    out
}

/// The flows that are shown, with their names: all of them in their order, or those that
/// stand for the others.
fn shown(each: &[FlowCounts], work: impl Fn(&FlowCounts) -> u64) -> Vec<(String, FlowCounts)> {
    if each.len() <= EACH {
        let named = |(index, counts): (usize, &FlowCounts)| ((index + 1).to_string(), *counts);
        return each.iter().enumerate().map(named).collect();
    }
    let mut sorted = each.to_vec();
    sorted.sort_by_key(work);
    let last = sorted.len() - 1;
    let places = [("slowest", 0), ("median", last / 2), ("fastest", last)];
    let named =
        |(name, place): (&str, usize)| sorted.get(place).map(|counts| (name.to_owned(), *counts));
    places.into_iter().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows(number: u64) -> Vec<FlowCounts> {
        let flow = |transactions| FlowCounts {
            transactions,
            ..FlowCounts::default()
        };
        (0..number).rev().map(flow).collect()
    }

    #[test]
    fn a_few_flows_have_a_line_each_and_a_thousand_have_three() {
        let names = |number| -> Vec<String> {
            let shown = shown(&flows(number), |counts| counts.transactions);
            shown
                .into_iter()
                .map(|(name, counts)| format!("{name} {}", counts.transactions))
                .collect()
        };
        assert_eq!(names(3), ["1 2", "2 1", "3 0"]);
        assert_eq!(names(1001), ["slowest 0", "median 500", "fastest 1000"]);
    }
}
