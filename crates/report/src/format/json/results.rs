//! What was measured.

use super::datagrams::{Datagrams, sent};
use super::flows::{Flows, Threads};
use super::latency::IntervalLatency;
use super::one_way::OneWay;
use super::series::Series;
use super::{finite, measured};
use crate::view::View;
use netperf_model::figures::{self, Figures, count, per_call};
use netperf_model::{
    Confidence as Reached, CpuUsage, EndResult, Interim, IoCounts, Iteration, ReportPlan, Tally,
    TcpFacts, TestPlan, Unit, UnitKind,
};

/// The headline result, in the unit asked for and in those that never change.
#[derive(Debug)]
struct Throughput {
    throughput: Option<f64>,
    throughput_unit: String,
    throughput_bits_per_second: Option<f64>,
    throughput_bytes_per_second: Option<f64>,
    transactions_per_second: Option<f64>,
}

object!(Throughput {
    throughput,
    throughput_unit,
    throughput_bits_per_second,
    throughput_bytes_per_second,
    transactions_per_second,
});

/// Means over all iterations.
#[derive(Debug)]
pub(super) struct Mean {
    elapsed_seconds: Option<f64>,
    throughput: Throughput,
    mean_round_trip_seconds: Option<f64>,
    local_cpu_percent: Option<f64>,
    remote_cpu_percent: Option<f64>,
    demand: Demands,
}

object!(Mean {
    elapsed_seconds,
    ..throughput,
    mean_round_trip_seconds,
    local_cpu_percent,
    remote_cpu_percent,
    ..demand,
});

/// CPU time per unit of work.
#[derive(Debug)]
struct Demands {
    local_demand_microseconds_per_kibibyte: Option<f64>,
    remote_demand_microseconds_per_kibibyte: Option<f64>,
    local_demand_microseconds_per_transaction: Option<f64>,
    remote_demand_microseconds_per_transaction: Option<f64>,
}

object!(Demands {
    local_demand_microseconds_per_kibibyte,
    remote_demand_microseconds_per_kibibyte,
    local_demand_microseconds_per_transaction,
    remote_demand_microseconds_per_transaction,
});

/// One iteration.
#[derive(Debug)]
pub(super) struct Run<'a> {
    number: usize,
    elapsed_seconds: Option<f64>,
    paused_seconds: Option<f64>,
    throughput: Throughput,
    mean_round_trip_seconds: Option<f64>,
    demand: Demands,
    segment_size_bytes: Option<u32>,
    cipher: Option<&'a str>,
    tcp: Option<Tcp>,
    one_way: Option<OneWay>,
    flows: Option<Flows>,
    local: Measured<'a>,
    remote: Option<Measured<'a>>,
}

object!(Run<'_> {
    number,
    elapsed_seconds,
    paused_seconds,
    ..throughput,
    mean_round_trip_seconds,
    ..demand,
    segment_size_bytes,
    cipher,
    tcp,
    one_way,
    flows,
    local,
    remote,
});

/// What one end measured.
#[derive(Debug)]
struct Measured<'a> {
    elapsed_seconds: Option<f64>,
    counts: Counts,
    rates: Rates,
    bytes_per_send: Option<f64>,
    bytes_per_recv: Option<f64>,
    final_send_buffer_bytes: Option<u32>,
    final_recv_buffer_bytes: Option<u32>,
    retransmitted_segments: Option<u32>,
    congestion_control: Option<&'a str>,
    io: Option<Io>,
    datagrams: Option<Datagrams>,
    cpu: Option<Cpu>,
    workers: Option<Threads<'a>>,
    series: Option<Series>,
}

object!(Measured<'_> {
    elapsed_seconds,
    ..counts,
    ..rates,
    bytes_per_send,
    bytes_per_recv,
    final_send_buffer_bytes,
    final_recv_buffer_bytes,
    retransmitted_segments,
    congestion_control,
    io,
    datagrams,
    cpu,
    workers,
    series,
});

/// What went on underneath the messages.
#[derive(Debug)]
struct Io {
    send_system_calls: u64,
    recv_system_calls: u64,
    messages_per_send_call: Option<f64>,
    messages_per_recv_call: Option<f64>,
    zero_copy_sends: u64,
    zero_copy_copied: u64,
    zero_copy_share: Option<f64>,
}

object!(Io {
    send_system_calls,
    recv_system_calls,
    messages_per_send_call,
    messages_per_recv_call,
    zero_copy_sends,
    zero_copy_copied,
    zero_copy_share,
});

#[derive(Debug)]
struct Counts {
    sent_bytes: u64,
    received_bytes: u64,
    send_calls: u64,
    recv_calls: u64,
    failed_sends: u64,
    transactions: u64,
}

object!(Counts {
    sent_bytes,
    received_bytes,
    send_calls,
    recv_calls,
    failed_sends,
    transactions,
});

/// Rates each way, from one end's counts over netperf's time.
#[derive(Debug)]
struct Rates {
    sent_bits_per_second: Option<f64>,
    sent_bytes_per_second: Option<f64>,
    received_bits_per_second: Option<f64>,
    received_bytes_per_second: Option<f64>,
}

object!(Rates {
    sent_bits_per_second,
    sent_bytes_per_second,
    received_bits_per_second,
    received_bytes_per_second,
});

#[derive(Debug)]
struct Cpu {
    method: char,
    cpus: u32,
    busy_percent: Option<f64>,
    user_percent: Option<f64>,
    system_percent: Option<f64>,
    iowait_percent: Option<f64>,
    irq_percent: Option<f64>,
    softirq_percent: Option<f64>,
    peak_cpu: Option<i32>,
    peak_busy_percent: Option<f64>,
}

object!(Cpu {
    method,
    cpus,
    busy_percent,
    user_percent,
    system_percent,
    iowait_percent,
    irq_percent,
    softirq_percent,
    peak_cpu,
    peak_busy_percent,
});

#[derive(Debug)]
struct Tcp {
    round_trip_microseconds: u32,
    round_trip_variation_microseconds: u32,
    retransmission_timeout_microseconds: u32,
    ack_timeout_microseconds: u32,
    path_mtu_bytes: u32,
    send_segment_bytes: u32,
    congestion_window_segments: u32,
    send_slow_start_threshold_segments: u32,
    recv_slow_start_threshold_bytes: u32,
    reordering_segments: u32,
    retransmitted_segments: u32,
}

object!(Tcp {
    round_trip_microseconds,
    round_trip_variation_microseconds,
    retransmission_timeout_microseconds,
    ack_timeout_microseconds,
    path_mtu_bytes,
    send_segment_bytes,
    congestion_window_segments,
    send_slow_start_threshold_segments,
    recv_slow_start_threshold_bytes,
    reordering_segments,
    retransmitted_segments,
});

/// One interval: what netperf counts while it runs.
#[derive(Debug)]
pub(super) struct Interval {
    number: usize,
    iteration: usize,
    ended_unix_seconds: f64,
    elapsed_seconds: Option<f64>,
    throughput: Option<f64>,
    throughput_unit: String,
    sent_bytes: u64,
    received_bytes: u64,
    transactions: u64,
    transactions_per_second: Option<f64>,
    rates: Rates,
    tcp: Option<Tcp>,
    latency: Option<IntervalLatency>,
}

object!(Interval {
    number,
    iteration,
    ended_unix_seconds,
    elapsed_seconds,
    throughput,
    throughput_unit,
    sent_bytes,
    received_bytes,
    transactions,
    transactions_per_second,
    ..rates,
    tcp,
    latency,
});

/// How far confidence got.
#[derive(Debug)]
pub(super) struct Confidence {
    met: bool,
    result_width_percent: Option<f64>,
    local_cpu_width_percent: Option<f64>,
    remote_cpu_width_percent: Option<f64>,
}

object!(Confidence {
    met,
    result_width_percent,
    local_cpu_width_percent,
    remote_cpu_width_percent,
});

/// The figures of a run in three units: the one asked for, bytes, transactions.
struct InUnits {
    unit: Unit,
    asked: Figures,
    bytes: Option<Figures>,
    transactions: Option<Figures>,
}

impl InUnits {
    fn new(plan: &TestPlan, report: &ReportPlan, of: impl Fn(Unit) -> Figures) -> Self {
        let unit = figures::unit_in_force(plan, report.unit);
        // TCP_CC moves no data and counts connections whatever the unit.
        let only_connects = plan.test.counts_connections();
        Self {
            unit: if only_connects {
                Unit::Transactions
            } else {
                unit
            },
            asked: of(unit),
            bytes: (!only_connects).then(|| of(Unit::Bytes)),
            transactions: plan
                .flow
                .counts_transactions()
                .then(|| of(Unit::Transactions)),
        }
    }

    fn throughput(&self) -> Throughput {
        let rate = |figures: Option<Figures>| figures.and_then(|f| measured(f.throughput));
        let bytes = rate(self.bytes);
        Throughput {
            throughput: measured(self.asked.throughput),
            throughput_unit: unit_label(self.unit),
            throughput_bits_per_second: bytes.and_then(in_bits),
            throughput_bytes_per_second: bytes,
            transactions_per_second: rate(self.transactions),
        }
    }

    fn demand(&self) -> Demands {
        let demand = |figures: Option<Figures>, pick: fn(&Figures) -> f64| {
            figures.and_then(|figures| measured(pick(&figures)))
        };
        Demands {
            local_demand_microseconds_per_kibibyte: demand(self.bytes, |f| f.local_demand),
            remote_demand_microseconds_per_kibibyte: demand(self.bytes, |f| f.remote_demand),
            local_demand_microseconds_per_transaction: demand(self.transactions, |f| {
                f.local_demand
            }),
            remote_demand_microseconds_per_transaction: demand(self.transactions, |f| {
                f.remote_demand
            }),
        }
    }
}

impl Mean {
    pub(super) fn of(view: &View<'_>) -> Self {
        let outcome = view.outcome;
        let plan = &outcome.plan;
        let figures = InUnits::new(plan, view.report, |unit| {
            figures::mean(plan, unit, &outcome.iterations)
        });
        Self {
            elapsed_seconds: measured(figures.asked.elapsed),
            throughput: figures.throughput(),
            mean_round_trip_seconds: round_trip(plan, &outcome.iterations),
            local_cpu_percent: measured(figures.asked.local_cpu),
            remote_cpu_percent: measured(figures.asked.remote_cpu),
            demand: figures.demand(),
        }
    }
}

/// The mean of the iterations' mean round trips, seconds.
fn round_trip(plan: &TestPlan, runs: &[Iteration]) -> Option<f64> {
    let each: Option<Vec<f64>> = runs
        .iter()
        .map(|run| figures::round_trip(plan, run))
        .collect();
    let each = each.filter(|each| !each.is_empty())?;
    measured(each.iter().sum::<f64>() / count(each.len() as u64) / 1e6)
}

impl<'a> Run<'a> {
    pub(super) fn of(
        plan: &TestPlan,
        report: &ReportPlan,
        number: usize,
        run: &'a Iteration,
    ) -> Self {
        let figures = InUnits::new(plan, report, |unit| figures::of_iteration(plan, unit, run));
        Self {
            number,
            elapsed_seconds: measured(run.elapsed),
            paused_seconds: measured(run.paused),
            throughput: figures.throughput(),
            mean_round_trip_seconds: round_trip(plan, std::slice::from_ref(run)),
            demand: figures.demand(),
            segment_size_bytes: run.segment_size,
            cipher: run.cipher.as_deref(),
            tcp: run.tcp.map(tcp),
            one_way: run.one_way.as_ref().map(OneWay::of),
            flows: run
                .many
                .as_ref()
                .map(|flows| Flows::of(plan.flow, run, flows)),
            local: end(&run.local, run.elapsed, run.remote.as_ref().and_then(sent)),
            remote: run
                .remote
                .as_ref()
                .map(|remote| end(remote, run.elapsed, sent(&run.local))),
        }
    }

    /// One that was broken off. netserver's counts never came: what takes them is not known.
    pub(super) fn partial(
        plan: &TestPlan,
        report: &ReportPlan,
        number: usize,
        run: &'a Iteration,
    ) -> Self {
        let run = Self::of(plan, report, number, run);
        if !plan.flow.sends || plan.control.is_none() {
            return run;
        }
        let unit = figures::unit_in_force(plan, report.unit);
        let in_data = unit.kind() == UnitKind::Data && !plan.test.counts_connections();
        let throughput = Throughput {
            throughput: run.throughput.throughput.filter(|_| !in_data),
            throughput_bits_per_second: None,
            throughput_bytes_per_second: None,
            ..run.throughput
        };
        let demand = Demands {
            local_demand_microseconds_per_kibibyte: None,
            remote_demand_microseconds_per_kibibyte: None,
            ..run.demand
        };
        Self {
            throughput,
            demand,
            ..run
        }
    }
}

/// What one end measured; `sent_to` is how many numbered datagrams the other one sent.
fn end(result: &EndResult, elapsed: f64, sent_to: Option<u64>) -> Measured<'_> {
    let tally = &result.tally;
    Measured {
        elapsed_seconds: measured(result.elapsed),
        counts: counts(tally),
        rates: rates(tally, elapsed),
        bytes_per_send: calls(tally.bytes_sent, tally.send_calls),
        bytes_per_recv: calls(tally.bytes_received, tally.recv_calls),
        final_send_buffer_bytes: result.send_buffer_end,
        final_recv_buffer_bytes: result.recv_buffer_end,
        retransmitted_segments: result.retransmissions,
        congestion_control: result.congestion.as_deref(),
        io: result.io.as_ref().map(|counts| io(counts, tally)),
        datagrams: result
            .quality
            .map(|quality| Datagrams::of(quality, sent_to)),
        cpu: result.cpu.map(cpu),
        workers: result.crew.as_ref().map(Threads::of),
        series: result.series.as_ref().map(Series::of),
    }
}

fn io(counts: &IoCounts, tally: &Tally) -> Io {
    Io {
        send_system_calls: counts.send_calls,
        recv_system_calls: counts.recv_calls,
        messages_per_send_call: calls(tally.send_calls, counts.send_calls),
        messages_per_recv_call: calls(tally.recv_calls, counts.recv_calls),
        zero_copy_sends: counts.zerocopy_done,
        zero_copy_copied: counts.zerocopy_copied,
        zero_copy_share: counts.zerocopy_share(),
    }
}

fn calls(bytes: u64, calls: u64) -> Option<f64> {
    (calls > 0).then(|| per_call(bytes, calls))
}

const fn counts(tally: &Tally) -> Counts {
    Counts {
        sent_bytes: tally.bytes_sent,
        received_bytes: tally.bytes_received,
        send_calls: tally.send_calls,
        recv_calls: tally.recv_calls,
        failed_sends: tally.failed_sends,
        transactions: tally.transactions,
    }
}

fn rates(tally: &Tally, elapsed: f64) -> Rates {
    let sent = rate(tally.bytes_sent, elapsed);
    let received = rate(tally.bytes_received, elapsed);
    Rates {
        sent_bits_per_second: sent.and_then(in_bits),
        sent_bytes_per_second: sent,
        received_bits_per_second: received.and_then(in_bits),
        received_bytes_per_second: received,
    }
}

fn rate(amount: u64, elapsed: f64) -> Option<f64> {
    measured(Unit::Bytes.rate(count(amount), elapsed))
}

fn in_bits(bytes: f64) -> Option<f64> {
    finite(bytes * 8.0)
}

/// A unit as it stands behind a rate; microseconds stand alone.
fn unit_label(unit: Unit) -> String {
    format!("{}/s", unit.label())
}

fn cpu(usage: CpuUsage) -> Cpu {
    Cpu {
        method: usage.method.letter(),
        cpus: usage.cpus,
        busy_percent: measured(usage.busy),
        user_percent: measured(usage.shares.user),
        system_percent: measured(usage.shares.system),
        iowait_percent: measured(usage.shares.iowait),
        irq_percent: measured(usage.shares.irq),
        softirq_percent: measured(usage.shares.softirq),
        peak_cpu: Some(usage.peak_id).filter(|id| *id >= 0),
        peak_busy_percent: measured(usage.peak_busy),
    }
}

const fn tcp(facts: TcpFacts) -> Tcp {
    Tcp {
        round_trip_microseconds: facts.round_trip_micros,
        round_trip_variation_microseconds: facts.round_trip_variation_micros,
        retransmission_timeout_microseconds: facts.retransmission_timeout_micros,
        ack_timeout_microseconds: facts.ack_timeout_micros,
        path_mtu_bytes: facts.path_mtu_bytes,
        send_segment_bytes: facts.send_segment_bytes,
        congestion_window_segments: facts.congestion_window_segments,
        send_slow_start_threshold_segments: facts.send_threshold_segments,
        recv_slow_start_threshold_bytes: facts.recv_threshold_bytes,
        reordering_segments: facts.reordering_segments,
        retransmitted_segments: facts.retransmitted_segments,
    }
}

impl Interval {
    pub(super) fn of(
        plan: &TestPlan,
        report: &ReportPlan,
        number: usize,
        interim: &Interim,
    ) -> Self {
        let unit = figures::unit_in_force(plan, report.unit);
        let unit = if plan.test.counts_connections() {
            Unit::Transactions
        } else {
            unit
        };
        let transactions = rate(interim.counts.transactions, interim.seconds);
        Self {
            number,
            iteration: interim.iteration,
            ended_unix_seconds: interim.ended.as_secs_f64(),
            elapsed_seconds: measured(interim.seconds),
            throughput: measured(unit.rate(interim.work, interim.seconds)),
            throughput_unit: unit_label(unit),
            sent_bytes: interim.counts.bytes_sent,
            received_bytes: interim.counts.bytes_received,
            transactions: interim.counts.transactions,
            transactions_per_second: transactions.filter(|_| plan.flow.counts_transactions()),
            rates: rates(&interim.counts, interim.seconds),
            tcp: interim.tcp.map(tcp),
            latency: interim.times.as_ref().map(IntervalLatency::of),
        }
    }
}

impl Confidence {
    pub(super) fn of(reached: Reached) -> Self {
        Self {
            met: reached.met,
            result_width_percent: measured(reached.result),
            local_cpu_width_percent: measured(reached.local_cpu),
            remote_cpu_width_percent: measured(reached.remote_cpu),
        }
    }
}
