//! The measurements.

use netperf_model::fields::{AsSeconds, MeasuredFigure};
use netperf_model::figures::{self, Figures, count, per_call, round_trip};
use netperf_model::{
    CpuUsage, EndResult, Interim, IoCounts, Iteration, ProcessCpu, Quality, QualityScope, Series,
    Tally, TcpFacts, TestPlan, ThroughputUnit, UnitKind, WorkerThreads,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

use super::datagram_times::DatagramTimes;
use super::flows::FlowsResult;
use super::latency::IntervalLatency;
use super::one_way::OneWayResult;
use crate::interim::interim_work;
use crate::quality::Reception;
use crate::view::View;

/// The result in several units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ThroughputFigures {
    /// The result, in throughput_unit.
    pub throughput: MeasuredFigure,
    /// 10^6bits/s, or Trans/s for transactions and connections; `-f` does not change it.
    pub throughput_unit: String,
    /// The same in bits. Null if no data is moved.
    pub throughput_bits_per_second: MeasuredFigure,
    /// The same in bytes. Null if no data is moved.
    pub throughput_bytes_per_second: MeasuredFigure,
    /// Transactions or connections. Null for bulk data.
    pub transactions_per_second: MeasuredFigure,
}

/// CPU time per unit of work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DemandFigures {
    /// CPU time at netperf's host for each 1024 bytes. Null if it was not measured or does
    /// not apply.
    pub local_demand_microseconds_per_kibibyte: MeasuredFigure,
    /// CPU time at netserver's host for each 1024 bytes. Null if it was not measured or does
    /// not apply.
    pub remote_demand_microseconds_per_kibibyte: MeasuredFigure,
    /// CPU time at netperf's host for each transaction. Null if it was not measured or does
    /// not apply.
    pub local_demand_microseconds_per_transaction: MeasuredFigure,
    /// CPU time at netserver's host for each transaction. Null if it was not measured or does
    /// not apply.
    pub remote_demand_microseconds_per_transaction: MeasuredFigure,
}

/// Means over all iterations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "result")]
pub struct MeanResult {
    /// The length of an iteration.
    pub elapsed_seconds: MeasuredFigure,
    /// The result.
    #[serde(flatten)]
    pub throughput: ThroughputFigures,
    /// The mean round trip, derived from the rate. Null unless it is a request/response test.
    pub mean_round_trip_seconds: MeasuredFigure,
    /// CPU utilisation of netperf's host.
    pub local_cpu_percent: MeasuredFigure,
    /// CPU utilisation of netserver's host.
    pub remote_cpu_percent: MeasuredFigure,
    /// CPU time per unit of work.
    #[serde(flatten)]
    pub demand: DemandFigures,
}

/// One iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "iteration")]
pub struct IterationDocument {
    /// Its number, from 1.
    pub number: usize,
    /// Its length at netperf.
    pub elapsed_seconds: MeasuredFigure,
    /// The part of it spent waiting for a pacing interval.
    pub paused_seconds: MeasuredFigure,
    /// The result.
    #[serde(flatten)]
    pub throughput: ThroughputFigures,
    /// The mean round trip, derived from the rate. Null unless it is a request/response test.
    pub mean_round_trip_seconds: MeasuredFigure,
    /// CPU time per unit of work.
    #[serde(flatten)]
    pub demand: DemandFigures,
    /// The segment size of the data connection. Null if there is none.
    pub segment_size_bytes: Option<u32>,
    /// The encryption of the data: version and cipher suite. Null if there was none.
    pub cipher: Option<String>,
    /// State of TCP at netperf's end when the data connection ended. Null if unknown.
    pub tcp: Option<TcpFacts>,
    /// The parts of transaction times. Null without --timestamps, and if no transaction was
    /// observed completely by both programs.
    pub one_way: Option<OneWayResult>,
    /// The times of each request and its response. Null without --timestamps and --rate.
    pub datagram_times: Option<DatagramTimes>,
    /// The results of many flows. Null with the plain loop.
    pub flows: Option<FlowsResult>,
    /// The measurements of netperf's end.
    pub local: MeasuredEnd,
    /// The measurements of netserver's end. Null if they did not arrive.
    pub remote: Option<MeasuredEnd>,
}

/// The measurements of one program, netperf or netserver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "measured")]
pub struct MeasuredEnd {
    /// The length of the iteration, as this program measured it.
    pub elapsed_seconds: MeasuredFigure,
    /// The counts.
    #[serde(flatten)]
    pub counts: EndCounts,
    /// The rates.
    #[serde(flatten)]
    pub rates: TransferRates,
    /// The mean bytes of a send. Null without sends, and if unknown.
    pub bytes_per_send: MeasuredFigure,
    /// The mean bytes of a receive. Null without receives.
    pub bytes_per_recv: MeasuredFigure,
    /// The size of the send socket buffer at the end.
    pub final_send_buffer_bytes: Option<u32>,
    /// The size of the receive socket buffer at the end.
    pub final_recv_buffer_bytes: Option<u32>,
    /// TCP segments retransmitted. Null if unknown.
    pub retransmitted_segments: Option<u32>,
    /// The congestion control in force. Null if unknown.
    pub congestion_control: Option<String>,
    /// System calls. Null if each message took one call, or if unknown.
    pub io: Option<SystemCalls>,
    /// Numbered datagrams. Null if they had no numbers.
    pub datagrams: Option<DatagramCounts>,
    /// CPU utilisation. Null if it was not measured.
    pub cpu: Option<CpuUsage>,
    /// CPU time of the process. Null unless the peer is iperf, and if unknown.
    pub process_cpu: Option<ProcessCpu>,
    /// The threads of many flows. Null with the plain loop, and if unknown.
    pub workers: Option<WorkerThreads>,
    /// Samples of TCP connections. Null without --series, and if this program took none.
    pub series: Option<Series>,
}

/// Counts of one program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct EndCounts {
    /// Bytes handed to the kernel. Null if unknown: netserver's count did not arrive.
    pub sent_bytes: Option<u64>,
    /// Bytes got from the kernel.
    pub received_bytes: u64,
    /// Sends that moved data. Null if unknown, as above.
    pub send_calls: Option<u64>,
    /// Receives that returned data. Null if unknown: a peer other than netserver may not tell.
    pub recv_calls: Option<u64>,
    /// Sends dropped because a local queue was full. Null if unknown, as above, and for datagrams
    /// of a netserver that does not tell.
    pub failed_sends: Option<u64>,
    /// Transactions or connections completed.
    pub transactions: u64,
    /// Requests without a response, given up or in flight at the end. 0 at netserver.
    pub unanswered_requests: u64,
}

/// System calls that moved messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "moved")]
pub struct SystemCalls {
    /// System calls that sent data.
    pub send_system_calls: u64,
    /// System calls that received data; 0 if only sends are counted.
    pub recv_system_calls: u64,
    /// Messages per sending call. Null without such calls.
    pub messages_per_send_call: MeasuredFigure,
    /// Messages per receiving call. Null without such calls.
    pub messages_per_recv_call: MeasuredFigure,
    /// Zero-copy sends that the kernel has completed.
    pub zero_copy_sends: u64,
    /// The part of them that it copied.
    pub zero_copy_copied: u64,
    /// The share that was not copied, from 0 to 1. Null without completed sends.
    pub zero_copy_share: MeasuredFigure,
}

/// Numbered datagrams of one program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "datagrams")]
pub struct DatagramCounts {
    /// Numbered datagrams that this program sent.
    pub sent: u64,
    /// Different datagrams that arrived at this program.
    pub received: u64,
    /// Datagrams sent to this program that never arrived. Null if none were sent to it.
    pub lost: Option<u64>,
    /// Their share of those that should have arrived.
    pub lost_percent: MeasuredFigure,
    /// Datagrams that had arrived before. Null if not counted: iperf does not.
    pub duplicated: Option<u64>,
    /// Datagrams that arrived after one with a higher number; by iperf's count, repeated ones, too.
    /// Null if unknown: a server of iperf3 does not tell.
    pub reordered: Option<u64>,
    /// The largest extent of reordering, in datagrams. Null if not counted: iperf does not.
    pub reordering_extent: Option<u64>,
    /// Datagrams too late to be checked for duplication; they count as lost. Null if not counted.
    pub too_late: Option<u64>,
    /// Datagrams without a number. Null if not counted.
    pub unnumbered: Option<u64>,
    /// Datagrams that the kernel of this host dropped because the receive buffer of the socket was
    /// full; they are among the lost ones. Null if not counted.
    pub dropped_by_socket: Option<u64>,
    /// Interarrival jitter at the end (RFC 3550). Null if no datagram arrived.
    pub jitter_microseconds: MeasuredFigure,
    /// The mean delay above that of the quickest datagram. Null if no datagram arrived, and if not
    /// measured.
    pub mean_delay_variation_microseconds: MeasuredFigure,
    /// The largest delay above that of the quickest datagram. Null as above.
    pub max_delay_variation_microseconds: MeasuredFigure,
}

/// Rates each way, from the counts of one program over netperf's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TransferRates {
    /// The rate of sending in bits. Null if unknown.
    pub sent_bits_per_second: MeasuredFigure,
    /// The rate of sending in bytes. Null if unknown.
    pub sent_bytes_per_second: MeasuredFigure,
    /// The rate of receiving in bits.
    pub received_bits_per_second: MeasuredFigure,
    /// The rate of receiving in bytes.
    pub received_bytes_per_second: MeasuredFigure,
    /// Messages sent per second. Null for byte streams, and if unknown.
    pub sent_packets_per_second: MeasuredFigure,
    /// Messages received per second. Null as above.
    pub received_packets_per_second: MeasuredFigure,
}

/// One interim result: the work of netperf's end in an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "interval")]
pub struct IntervalResult {
    /// Its number over all iterations, from 1.
    pub number: usize,
    /// The number of its iteration, from 1.
    pub iteration: usize,
    /// Its end, since 1970.
    #[serde(rename = "ended_unix_seconds", with = "AsSeconds")]
    pub ended: Duration,
    /// Its length.
    pub elapsed_seconds: MeasuredFigure,
    /// The result, in throughput_unit.
    pub throughput: MeasuredFigure,
    /// 10^6bits/s, or Trans/s for transactions and connections; `-f` does not change it.
    pub throughput_unit: String,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// The stage of the run: warm-up, measured or cool-down, or the first and the last of an
    /// interval that spans several, such as `warm-up to measured`. Null if all of the run
    /// counts.
    pub stage: Option<String>,
    /// Bytes of netperf's datagrams that netserver received in the interval, or of its stream
    /// over TCP that netserver's host acknowledged in it, which is then the throughput. Null if
    /// unknown, as are datagrams in events during the run.
    pub arrived_bytes: Option<u64>,
    /// Their rate. Null if unknown.
    pub arrived_bits_per_second: MeasuredFigure,
    /// Transactions or connections completed.
    pub transactions: u64,
    /// Their rate. Null for bulk data.
    pub transactions_per_second: MeasuredFigure,
    /// The rates.
    #[serde(flatten)]
    pub rates: TransferRates,
    /// State of TCP at netperf's end at the end of the interval. Null for tests without one
    /// TCP connection throughout.
    pub tcp: Option<TcpFacts>,
    /// Times of the operations that ended in the interval. Null unless `-j` asks for it.
    pub latency: Option<IntervalLatency>,
}

/// The figures of a run in three units: that of the result, bytes, and transactions.
fn in_units(
    plan: &TestPlan,
    of: impl Fn(ThroughputUnit) -> Figures,
) -> (Figures, ThroughputFigures, DemandFigures) {
    let unit = figures::document_unit(plan);
    let result = of(unit);
    let bytes = (!plan.test.counts_connections()).then(|| of(ThroughputUnit::Bytes));
    let transactional = plan.flow.counts_transactions();
    let transactions = transactional.then(|| of(ThroughputUnit::Transactions));
    let measured = |figures: &Option<Figures>, pick: fn(&Figures) -> f64| {
        MeasuredFigure::of(figures.as_ref().map(pick))
    };
    let in_bytes = bytes.as_ref().map(|figures| figures.throughput);
    let in_bytes = in_bytes.map_or(MeasuredFigure(None), known);
    let throughput = ThroughputFigures {
        throughput: known(result.throughput),
        throughput_unit: unit.rate_label(),
        throughput_bits_per_second: in_bits(in_bytes.0),
        throughput_bytes_per_second: in_bytes,
        transactions_per_second: measured(&transactions, |figures| figures.throughput),
    };
    let (local, remote) = (
        |figures: &Figures| figures.local_demand,
        |figures: &Figures| figures.remote_demand,
    );
    let demand = DemandFigures {
        local_demand_microseconds_per_kibibyte: measured(&bytes, local),
        remote_demand_microseconds_per_kibibyte: measured(&bytes, remote),
        local_demand_microseconds_per_transaction: measured(&transactions, local),
        remote_demand_microseconds_per_transaction: measured(&transactions, remote),
    };
    (result, throughput, demand)
}

impl MeanResult {
    pub(super) fn of(view: &View<'_>) -> Self {
        let outcome = view.outcome;
        let plan = &outcome.plan;
        let (asked, throughput, demand) =
            in_units(plan, |unit| figures::mean(plan, unit, &outcome.iterations));
        Self {
            elapsed_seconds: MeasuredFigure::of(asked.elapsed),
            throughput,
            mean_round_trip_seconds: mean_round_trip(plan, &outcome.iterations),
            local_cpu_percent: MeasuredFigure::of(asked.local_cpu),
            remote_cpu_percent: MeasuredFigure::of(asked.remote_cpu),
            demand,
        }
    }
}

/// The mean of the iterations' mean round trips, seconds.
fn mean_round_trip(plan: &TestPlan, runs: &[Iteration]) -> MeasuredFigure {
    let each: Option<Vec<f64>> = runs.iter().map(|run| round_trip(plan, run)).collect();
    let each = each.filter(|each| !each.is_empty());
    MeasuredFigure::of(each.map(|each| each.iter().sum::<f64>() / count(each.len() as u64) / 1e6))
}

impl IterationDocument {
    pub(crate) fn of(plan: &TestPlan, number: usize, run: &Iteration) -> Self {
        let (_, throughput, demand) = in_units(plan, |unit| figures::of_iteration(plan, unit, run));
        let sent = |end: &EndResult| end.quality.map(|quality| quality.sent);
        let (local, remote) = (&run.local, run.remote.as_ref());
        let flows = run.many.as_ref();
        Self {
            number,
            elapsed_seconds: MeasuredFigure::of(run.elapsed),
            paused_seconds: MeasuredFigure::of(run.paused),
            throughput,
            mean_round_trip_seconds: mean_round_trip(plan, std::slice::from_ref(run)),
            demand,
            segment_size_bytes: run.segment_size,
            cipher: run.cipher.clone(),
            tcp: run.tcp,
            one_way: run.one_way.as_ref().map(OneWayResult::of),
            datagram_times: DatagramTimes::of(local, remote),
            flows: flows.map(|flows| FlowsResult::of(plan.flow, run, flows)),
            local: MeasuredEnd::of(
                plan,
                local,
                (run.elapsed, [run.elapsed; 2]),
                remote.and_then(sent),
            ),
            remote: remote.map(|remote| {
                let times = (
                    run.remote_time(plan, remote),
                    run.remote_times(plan, remote),
                );
                MeasuredEnd::of(plan, remote, times, sent(local))
            }),
        }
    }

    /// An iteration that failed. netserver's counts did not arrive: figures that need them
    /// are null.
    pub(super) fn partial(plan: &TestPlan, number: usize, run: &Iteration) -> Self {
        let mut result = Self::of(plan, number, run);
        if !plan.flow.sends || plan.control.is_none() {
            return result;
        }
        if figures::document_unit(plan).kind() == UnitKind::Data {
            result.throughput.throughput = MeasuredFigure(None);
        }
        result.throughput.throughput_bits_per_second = MeasuredFigure(None);
        result.throughput.throughput_bytes_per_second = MeasuredFigure(None);
        result.demand.local_demand_microseconds_per_kibibyte = MeasuredFigure(None);
        result.demand.remote_demand_microseconds_per_kibibyte = MeasuredFigure(None);
        result
    }
}

impl MeasuredEnd {
    /// `bases` are the time bases of what was sent and received, `sent_to` is the number of numbered
    /// datagrams that the other program sent.
    fn of(
        plan: &TestPlan,
        result: &EndResult,
        (elapsed, bases): (f64, [f64; 2]),
        sent_to: Option<u64>,
    ) -> Self {
        let tally = &result.tally;
        let quality = result.quality;
        let counts = EndCounts::of(result);
        Self {
            elapsed_seconds: MeasuredFigure::of(elapsed),
            counts,
            rates: TransferRates::of(
                result.of_sends(|tally| tally.bytes_sent),
                tally.bytes_received,
                bases,
            )
            .with_packets(packets(plan, [counts.send_calls, counts.recv_calls]), bases),
            bytes_per_send: ratio(tally.bytes_sent, tally.send_calls),
            bytes_per_recv: ratio(tally.bytes_received, tally.recv_calls),
            final_send_buffer_bytes: result.send_buffer_end,
            final_recv_buffer_bytes: result.recv_buffer_end,
            retransmitted_segments: result.retransmissions,
            congestion_control: result.congestion.clone(),
            io: result.io.map(|counts| SystemCalls::of(counts, tally)),
            datagrams: quality.map(|quality| DatagramCounts::of(quality, sent_to)),
            cpu: result.cpu,
            process_cpu: result.process_cpu,
            workers: result.worker_threads.clone(),
            series: result.series.clone(),
        }
    }
}

impl EndCounts {
    fn of(result: &EndResult) -> Self {
        let tally = &result.tally;
        Self {
            sent_bytes: result.of_sends(|tally| tally.bytes_sent),
            received_bytes: tally.bytes_received,
            send_calls: result
                .of_sends(|tally| tally.send_calls)
                .filter(|_| !result.calls_unknown),
            recv_calls: (!result.calls_unknown).then_some(tally.recv_calls),
            failed_sends: result
                .of_sends(|tally| tally.failed_sends)
                .filter(|_| !result.failed_sends_unknown),
            transactions: tally.transactions,
            unanswered_requests: result
                .paced
                .as_ref()
                .map_or(tally.unanswered, |paced| paced.unanswered),
        }
    }
}

impl SystemCalls {
    fn of(counts: IoCounts, tally: &Tally) -> Self {
        Self {
            send_system_calls: counts.send_calls,
            recv_system_calls: counts.recv_calls,
            messages_per_send_call: ratio(tally.send_calls, counts.send_calls),
            messages_per_recv_call: ratio(tally.recv_calls, counts.recv_calls),
            zero_copy_sends: counts.zerocopy_done,
            zero_copy_copied: counts.zerocopy_copied,
            zero_copy_share: MeasuredFigure::of(counts.zerocopy_share()),
        }
    }
}

impl DatagramCounts {
    /// `sent_to` is the number of datagrams that were sent to this program.
    fn of(quality: Quality, sent_to: Option<u64>) -> Self {
        let got = Reception {
            quality,
            sent: sent_to,
        };
        // An end to which nothing was sent lost nothing, and measured no delay.
        let receives = quality.due(sent_to) > 0 || sent_to.is_some_and(|sent| sent > 0);
        let micros = |scope, nanoseconds: u64| {
            let known = quality.within(scope, count(nanoseconds) / 1e3);
            MeasuredFigure::of(known.filter(|_| quality.received > 0))
        };
        Self {
            sent: quality.sent,
            received: quality.received,
            lost: receives.then(|| got.lost()),
            lost_percent: MeasuredFigure::of(got.lost_percent()),
            duplicated: quality.within(QualityScope::Full, quality.duplicated),
            reordered: quality.within(QualityScope::Order, quality.reordered),
            reordering_extent: quality.within(QualityScope::Full, quality.extent),
            too_late: quality.within(QualityScope::Full, quality.too_late),
            unnumbered: quality.within(QualityScope::Full, quality.unnumbered),
            dropped_by_socket: quality.overflowed.filter(|_| receives),
            jitter_microseconds: micros(QualityScope::Loss, quality.jitter),
            mean_delay_variation_microseconds: micros(QualityScope::Full, quality.mean_variation),
            max_delay_variation_microseconds: micros(QualityScope::Full, quality.most_variation),
        }
    }
}

impl TransferRates {
    fn of(sent: Option<u64>, received: u64, seconds: [f64; 2]) -> Self {
        let [sent_in, received_in] = seconds;
        let sent = sent.map_or(MeasuredFigure(None), |sent| rate(sent, sent_in));
        let received = rate(received, received_in);
        Self {
            sent_bits_per_second: in_bits(sent.0),
            sent_bytes_per_second: sent,
            received_bits_per_second: in_bits(received.0),
            received_bytes_per_second: received,
            ..Self::default()
        }
    }

    /// The same with the rates of these messages.
    fn with_packets(self, counts: [Option<u64>; 2], seconds: [f64; 2]) -> Self {
        let [sent, received] = counts;
        let [sent_in, received_in] = seconds;
        let each = |count: Option<u64>, seconds| {
            count.map_or(MeasuredFigure(None), |count| rate(count, seconds))
        };
        Self {
            sent_packets_per_second: each(sent, sent_in),
            received_packets_per_second: each(received, received_in),
            ..self
        }
    }
}

impl IntervalResult {
    pub(crate) fn of(plan: &TestPlan, number: usize, interim: &Interim) -> Self {
        let unit = figures::document_unit(plan);
        let work = interim_work(plan, unit, &Tally::default(), &interim.counts);
        let counts = &interim.counts;
        let transactional = plan.flow.counts_transactions();
        let transactions = transactional.then(|| rate(counts.transactions, interim.seconds));
        Self {
            number,
            iteration: interim.iteration,
            ended: interim.ended,
            elapsed_seconds: MeasuredFigure::of(interim.seconds),
            throughput: MeasuredFigure::of(unit.rate(work, interim.seconds)),
            throughput_unit: unit.rate_label(),
            sent_bytes: counts.bytes_sent,
            received_bytes: counts.bytes_received,
            transactions: counts.transactions,
            transactions_per_second: transactions.unwrap_or_default(),
            rates: TransferRates::of(
                Some(counts.bytes_sent),
                counts.bytes_received,
                [interim.seconds; 2],
            )
            .with_packets(interim_packets(plan, interim), [interim.seconds; 2]),
            stage: interim.stage(),
            arrived_bytes: interim.arrived,
            arrived_bits_per_second: in_bits(
                interim
                    .arrived
                    .map(|bytes| ThroughputUnit::Bytes.rate(count(bytes), interim.seconds)),
            ),
            tcp: interim.tcp,
            latency: interim.times.as_ref().map(IntervalLatency::of),
        }
    }
}

/// Messages sent and received by netperf's end in an interval, of a transport that keeps their
/// boundaries and where their size is known.
#[must_use]
pub fn interim_packets(plan: &TestPlan, interim: &Interim) -> [Option<u64>; 2] {
    packets(plan, messages(plan, &interim.counts))
}

/// Numbers of messages, of a transport that keeps their boundaries.
fn packets(plan: &TestPlan, counts: [Option<u64>; 2]) -> [Option<u64>; 2] {
    let has_messages = plan.transport.keeps_boundaries() && !plan.flow.connects;
    counts.map(|count| count.filter(|_| has_messages))
}

/// Messages in these bytes, where their size is known: counts during a run are of bytes alone.
fn messages(plan: &TestPlan, counts: &Tally) -> [Option<u64>; 2] {
    let in_bytes = |bytes: u64, size: Option<u32>| bytes.checked_div(size?.into());
    [
        in_bytes(counts.bytes_sent, plan.local.send.size),
        in_bytes(counts.bytes_received, plan.remote.send.size),
    ]
}

/// A rate that may be unknown.
fn known(rate: f64) -> MeasuredFigure {
    MeasuredFigure::of(Some(rate).filter(|rate| *rate >= 0.0))
}

fn ratio(amount: u64, calls: u64) -> MeasuredFigure {
    MeasuredFigure::of((calls > 0).then(|| per_call(amount, calls)))
}

fn rate(amount: u64, elapsed: f64) -> MeasuredFigure {
    MeasuredFigure::of(ThroughputUnit::Bytes.rate(count(amount), elapsed))
}

fn in_bits(bytes: Option<f64>) -> MeasuredFigure {
    MeasuredFigure::of(bytes.map(|bytes| bytes * 8.0))
}
