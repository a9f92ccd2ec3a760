//! The results of many flows.

use netperf_model::fields::MeasuredFigure;
use netperf_model::figures::count;
use netperf_model::{Flow, Flows, Iteration, ThroughputUnit};
use serde::{Deserialize, Serialize};

/// The results of the flows of one iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "flows")]
pub struct FlowsResult {
    /// The time of opening all connections, which is not part of the run.
    pub setup_seconds: MeasuredFigure,
    /// The time from the first operation of the first flow to that of the last. Null if some
    /// flow had none.
    pub start_skew_seconds: MeasuredFigure,
    /// Begin of the part of the run that counts, by `CLOCK_MONOTONIC` of netperf's host; absent
    /// without warm-up and cool-down.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_begin_nanoseconds: Option<u64>,
    /// The length of the part of the run that counts: all of it without warm-up and
    /// cool-down.
    pub counted_seconds: MeasuredFigure,
    /// Bytes of netperf's data that arrived in the part of the run that counts: what netserver
    /// received, or what TCP has acknowledged if netserver is a stock one. Null if unknown, and
    /// if all of the run counts.
    pub arrived_bytes: Option<u64>,
    /// Bound of the error of `arrived_bytes`. Null if unknown.
    pub arrived_error_bytes: Option<u64>,
    /// Jain's fairness index of the flows, from 1/n to 1: of the bytes that arrived at netserver
    /// if they are known, otherwise of netperf's counts. Null if no work was done.
    pub fairness: MeasuredFigure,
    /// True if `fairness` is that of the bytes that arrived at netserver.
    pub fairness_is_of_arrived: bool,
    /// The same by netserver's counts, at the receiver netperf's data, in the whole
    /// run. Null if unknown.
    pub remote_fairness: MeasuredFigure,
    /// Every flow, in the order in which they were opened.
    pub each: Vec<FlowResult>,
}

/// netperf's counts of one flow, in the part of the run that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "flow")]
pub struct FlowResult {
    /// Bytes handed to the kernel.
    pub sent_bytes: u64,
    /// Bytes got from the kernel.
    pub received_bytes: u64,
    /// Transactions completed.
    pub transactions: u64,
    /// The rate of bytes sent.
    pub sent_bits_per_second: MeasuredFigure,
    /// The rate of bytes that arrived at netserver. Null if unknown, if both programs send, and if
    /// only a part of the run counts.
    pub arrived_bits_per_second: MeasuredFigure,
    /// The rate of bytes received.
    pub received_bits_per_second: MeasuredFigure,
    /// The rate of transactions. Null for bulk data.
    pub transactions_per_second: MeasuredFigure,
    /// Bytes that netserver handed to its kernel, in the whole run. Null if unknown, or if
    /// the flow cannot be identified.
    pub remote_sent_bytes: Option<u64>,
    /// Bytes that netserver got from its kernel, in the whole run. Null as above.
    pub remote_received_bytes: Option<u64>,
    /// Transactions that netserver completed, in the whole run. Null as above.
    pub remote_transactions: Option<u64>,
}

impl FlowsResult {
    pub(super) fn of(flow: Flow, run: &Iteration, flows: &Flows) -> Self {
        let seconds = run.timed();
        let rate = |amount: u64| ThroughputUnit::Bytes.rate(count(amount), seconds);
        let arrived = flows.window.and_then(|window| window.arrived);
        let sends_unknown = run.remote.as_ref().is_some_and(|end| end.sends_unknown);
        let there = flows.there.iter().map(Some).chain(std::iter::repeat(None));
        let arrived_each = flows.arrived(flow);
        let each = flows.each.iter().zip(there).enumerate();
        let each = each.map(|(index, (counts, there))| {
            let arrived = arrived_each.as_ref().and_then(|each| each.get(index));
            let transactions = flow.counts_transactions();
            FlowResult {
                sent_bytes: counts.bytes_sent,
                received_bytes: counts.bytes_received,
                transactions: counts.transactions,
                sent_bits_per_second: MeasuredFigure::of(rate(counts.bytes_sent) * 8.0),
                arrived_bits_per_second: MeasuredFigure::of(
                    arrived.map(|bytes| rate(*bytes) * 8.0),
                ),
                received_bits_per_second: MeasuredFigure::of(rate(counts.bytes_received) * 8.0),
                transactions_per_second: MeasuredFigure::of(
                    transactions.then(|| rate(counts.transactions)),
                ),
                remote_sent_bytes: there
                    .filter(|_| !sends_unknown)
                    .map(|there| there.bytes_sent),
                remote_received_bytes: there.map(|there| there.bytes_received),
                remote_transactions: there.map(|there| there.transactions),
            }
        });
        Self {
            setup_seconds: MeasuredFigure::of(flows.setup),
            start_skew_seconds: MeasuredFigure::of(flows.skew),
            window_begin_nanoseconds: flows.window.map(|window| window.begin_monotonic),
            counted_seconds: MeasuredFigure::of(seconds),
            arrived_bytes: arrived.map(|arrived| arrived.bytes),
            arrived_error_bytes: arrived.and_then(|arrived| arrived.error),
            fairness: MeasuredFigure::of(flows.fairness(flow)),
            fairness_is_of_arrived: arrived_each.is_some(),
            remote_fairness: MeasuredFigure::of(flows.fairness_there),
            each: each.collect(),
        }
    }
}
