//! State of a run at one moment, read from its counters.

use std::time::Duration;

use netperf_cli::RunCommand;
use netperf_engine::live::Live;
use netperf_measure::clock::{self, Moment};
use netperf_measure::cpu::{self, Meter};
use netperf_model::figures::{count, data_unit, unit_in_force};
use netperf_model::intervals::Intervals;
use netperf_model::{
    CpuPlan, CpuUsage, Latency, Limit, Tally, TestPlan, ThroughputUnit, TransportId,
};
use netperf_os::tcp::TcpDetail;
use netperf_report::interim_work;
use netperf_tui::{About, Each, FlowTick, Interval, LatencyTick, LiveTick, RunEnd, TcpTick};

use crate::interim::ArrivalCounts;

/// Information known before the run.
pub(super) fn about(run: &RunCommand) -> About {
    let plan = &run.plan;
    let unit = unit(run);
    let tcp = has_tcp(run);
    let flows = plan.many.as_ref().map_or(1, |many| many.flows);
    let each = if tcp { Each::Flow } else { Each::Thread };
    About {
        test: plan.test.row().name.to_owned(),
        host: plan.remote_data.host.clone(),
        unit,
        flow_unit: match response(plan) {
            None if tcp => data_unit(unit),
            _ => unit,
        },
        end: end(run, unit),
        tcp,
        remote_cpu: plan.remote.cpu.is_some(),
        each: (flows > 1).then_some(each),
        flows,
    }
}

/// Bytes of a response, by which the transactions of a connection are counted from the bytes that
/// it received.
fn response(plan: &TestPlan) -> Option<f64> {
    let exact = plan.flow.is_request_response() && plan.transport == TransportId::Tcp;
    let bytes = plan.response.filter(|bytes| exact && *bytes > 0)?;
    Some(f64::from(bytes))
}

/// Returns true if the run has connections with TCP information.
fn has_tcp(run: &RunCommand) -> bool {
    let plan = &run.plan;
    !plan.flow.connects && netperf_model::tells_of_tcp(plan.transport)
}

fn unit(run: &RunCommand) -> ThroughputUnit {
    if run.plan.test.counts_connections() {
        ThroughputUnit::Transactions
    } else {
        unit_in_force(&run.plan, run.report.unit)
    }
}

fn end(run: &RunCommand, unit: ThroughputUnit) -> RunEnd {
    let plan = &run.plan;
    match plan.limit {
        Limit::Time(time) => {
            let margins = plan.many.as_ref().map(|many| many.warmup + many.cooldown);
            let whole = time + margins.unwrap_or_default();
            if plan.until.is_some() {
                RunEnd::Within(whole)
            } else {
                RunEnd::After(whole)
            }
        }
        Limit::Units(units) => {
            let all = Tally {
                bytes_sent: units,
                bytes_received: units,
                transactions: units,
                ..Tally::default()
            };
            RunEnd::Amount(interim_work(plan, unit, &Tally::default(), &all))
        }
        // The length of messages is not known in advance.
        Limit::Messages(_) => RunEnd::Amount(0.0),
        Limit::UntilStopped => RunEnd::Open,
    }
}

/// State between ticks.
pub(super) struct LiveTicker<'a> {
    run: &'a RunCommand,
    live: &'a Live,
    unit: ThroughputUnit,
    begun: Moment,
    intervals: Intervals<Moment, Tally>,
    arrivals: ArrivalCounts,
    times: Latency,
    meter: Option<Meter>,
}

impl<'a> LiveTicker<'a> {
    /// The run begins now.
    pub(super) fn begin(run: &'a RunCommand, live: &'a Live) -> Self {
        let begun = clock::now();
        Self {
            run,
            live,
            unit: unit(run),
            begun,
            intervals: Intervals::begin(begun, Tally::default()),
            arrivals: ArrivalCounts::of(&run.plan),
            times: Latency::default(),
            meter: meter(run),
        }
    }

    /// The current state.
    pub(super) fn tick(&mut self) -> LiveTick {
        let before = *self.intervals.counts();
        let tally = self.arrivals.next(self.live).over(before, self.live.read());
        let now = self.live.over().unwrap_or_else(clock::now);
        let (then, before) = self.intervals.finish(now, tally);
        let since = now.since(then);
        let elapsed = now.since(self.begun);
        let work = |before: &Tally| interim_work(&self.run.plan, self.unit, before, &tally);
        let (done, all) = (work(&before), work(&Tally::default()));
        let details = self.live.flows();
        LiveTick {
            elapsed,
            now: Interval {
                work: done,
                seconds: since.as_secs_f64(),
            },
            all: Interval {
                work: all,
                seconds: elapsed.as_secs_f64(),
            },
            packets: packets(&self.run.plan, &before, &tally),
            latency: self.latency(),
            tcp: together(&details),
            cpu: self.cpu(since),
            flows: self.flows(&details),
        }
    }

    fn latency(&mut self) -> Option<LatencyTick> {
        let all = Latency::of_loops(self.live.latencies())?;
        let before = std::mem::replace(&mut self.times, all.clone());
        Some(LatencyTick {
            now: all.since(&before),
            all,
        })
    }

    /// CPU utilisation since the last tick.
    fn cpu(&mut self, since: Duration) -> Option<CpuUsage> {
        let before = self.meter.take()?;
        let usage = before.usage(since, since).ok();
        self.meter = meter(self.run);
        usage
    }

    fn flows(&self, details: &[(u32, TcpDetail)]) -> Vec<FlowTick> {
        if self.run.plan.many.is_none() {
            return Vec::new();
        }
        if has_tcp(self.run) {
            let response = response(&self.run.plan);
            let work = |detail: &TcpDetail| match response {
                Some(bytes) => detail.bytes_received.map_or(0.0, count) / bytes,
                None => {
                    let both = [detail.bytes_acked, detail.bytes_received];
                    both.into_iter().flatten().map(count).sum()
                }
            };
            let flow = |(number, detail): &(u32, TcpDetail)| FlowTick {
                number: *number,
                work: work(detail),
                tcp: Some(of_one(detail)),
            };
            return details.iter().map(flow).collect();
        }
        let workers = self.live.of_each_worker();
        let thread = |(number, tally): (u32, Tally)| FlowTick {
            number,
            work: interim_work(&self.run.plan, self.unit, &Tally::default(), &tally),
            tcp: None,
        };
        (1..).zip(workers).map(thread).collect()
    }
}

/// Datagrams of one direction between two counts, which have only bytes: those that are sent, or
/// those that are received.
fn packets(plan: &TestPlan, before: &Tally, after: &Tally) -> Option<f64> {
    let has_messages = plan.transport.keeps_boundaries() && !plan.flow.counts_transactions();
    let since = after.since(before);
    let (bytes, size) = if plan.flow.sends {
        (since.bytes_sent, plan.local.send.size)
    } else {
        (since.bytes_received, plan.remote.send.size)
    };
    let size = size.filter(|size| has_messages && *size > 0)?;
    Some(count(bytes) / f64::from(size))
}

/// A meter of this host's CPUs; the line of progress shows none.
fn meter(run: &RunCommand) -> Option<Meter> {
    let shown = run.show.live;
    shown
        .then(|| cpu::start(&CpuPlan::default()).ok())
        .flatten()
}

fn of_one(detail: &TcpDetail) -> TcpTick {
    TcpTick {
        retransmitted: detail.total_retrans.unwrap_or(0).into(),
        round_trip: detail.rtt,
        window: detail.snd_cwnd,
        of: 1,
    }
}

/// TCP information of all connections combined; `None` without connections.
fn together(details: &[(u32, TcpDetail)]) -> Option<TcpTick> {
    if let [(_, only)] = details {
        return Some(of_one(only));
    }
    let each = details.iter().map(|(_, detail)| of_one(detail));
    each.reduce(|sum, one| TcpTick {
        retransmitted: sum.retransmitted + one.retransmitted,
        round_trip: None,
        window: None,
        of: sum.of + 1,
    })
}
