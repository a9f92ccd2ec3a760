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
    let (length, flow) = (view.last.timed(), view.plan().flow);
    let transactions = flow.counts_transactions();
    let arrived = flows.arrived(flow);
    let unit = if transactions {
        "trans/s"
    } else {
        "10^6bits/s"
    };
    // The amount received by netserver stands beside the amount sent.
    let received = match arrived {
        Some(_) => "Bytes arrived",
        None => "Bytes received",
    };
    let mut out = format!(
        "\n{:<12} {:>16} {received:>16} {:>14} {unit:>12}\n",
        "Flow", "Bytes sent", "Transactions"
    );
    let mut each = flows.each.clone();
    for (counts, bytes) in each.iter_mut().zip(arrived.iter().flatten()) {
        counts.bytes_received = *bytes;
    }
    let moved = |counts: &FlowCounts| match arrived {
        Some(_) => counts.bytes_received,
        None => counts.bytes_sent + counts.bytes_received,
    };
    let work = |counts: &FlowCounts| match transactions {
        true => counts.transactions,
        false => moved(counts),
    };
    for (name, counts) in shown(&each, work) {
        let rate = match transactions {
            true => count(counts.transactions),
            false => count(moved(&counts)) * 8e-6,
        };
        let rate = if length > 0.0 { rate / length } else { 0.0 };
        // Writing to a string cannot fail.
        let _written = writeln!(
            out,
            "{name:<12} {:>16} {:>16} {:>14} {rate:>12.2}",
            counts.bytes_sent, counts.bytes_received, counts.transactions
        );
    }
    if flows.counts_sent(flow, view.plan().transport.row().reliable) {
        out.push_str("The rates are of sent data.\n");
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
