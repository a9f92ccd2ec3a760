//! Figures read from a transcript, and an outcome that would print them.
//!
//! A transcript shows rounded figures; an outcome holds counts. Every count
//! that was printed is kept, the length of the run is chosen so that the
//! printed rates follow from the counts, and the counts that were not printed
//! follow from the rates.

use netperf_model::{
    Agreed, Confidence, CpuMethod, CpuShares, CpuUsage, EndResult, EndSetup, HostFacts, Iteration,
    Outcome, Span, Tally, ThroughputUnit, figures,
};
use netperf_model::{Hosts, ReportPlan, TestId, TestPlan};

use super::spread::spread;
use super::times::Times;

/// CPUs of the host the transcripts were captured on.
const CPUS: u32 = 2;

/// One end, as far as the transcript tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndFigures {
    pub(crate) setup: EndSetup,
    pub(crate) bytes_sent: Option<f64>,
    pub(crate) bytes_received: Option<f64>,
    pub(crate) send_calls: Option<f64>,
    pub(crate) recv_calls: Option<f64>,
    pub(crate) failed_sends: u64,
    /// In the data unit in force.
    pub(crate) send_rate: Option<f64>,
    pub(crate) recv_rate: Option<f64>,
    pub(crate) bytes_per_send: Option<f64>,
    pub(crate) bytes_per_recv: Option<f64>,
    pub(crate) busy: Option<f64>,
    pub(crate) demand: Option<f64>,
    pub(crate) shares: CpuShares,
    pub(crate) peak_id: i32,
    pub(crate) peak_busy: f64,
    pub(crate) send_buffer_end: Option<u32>,
    pub(crate) recv_buffer_end: Option<u32>,
    pub(crate) retransmissions: Option<u32>,
    pub(crate) congestion: Option<String>,
    pub(crate) host: HostFacts,
}

/// Everything a transcript tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) elapsed: Option<f64>,
    pub(crate) throughput: Option<f64>,
    pub(crate) transaction_rate: Option<f64>,
    pub(crate) round_trip: Option<f64>,
    pub(crate) local: EndFigures,
    pub(crate) remote: EndFigures,
    pub(crate) segment_size: Option<u32>,
    pub(crate) times: Times,
    pub(crate) widths: [Option<f64>; 3],
    pub(crate) warned: bool,
    pub(crate) iterations: usize,
    pub(crate) uuid: String,
}

/// What the transcript has to be consistent with.
pub(crate) struct Setting<'a> {
    pub(crate) plan: &'a TestPlan,
    pub(crate) report: &'a ReportPlan,
    pub(crate) hosts: &'a Hosts,
}

impl Figures {
    /// An outcome that prints these figures.
    pub(crate) fn outcome(mut self, setting: &Setting<'_>) -> Outcome {
        let plan = setting.plan;
        let unit = figures::unit_in_force(plan, setting.report.unit);
        let elapsed = self.solve_elapsed(plan, unit);
        let transactions = self.transactions(plan, unit, elapsed);
        self.solve_counts(plan, unit, elapsed);
        let work = self.solve_work(plan, unit, elapsed, transactions);
        let has_peer = plan.control.is_some();
        let local = self.local.result(elapsed, work, transactions);
        let remote = self.remote.result(elapsed, work, transactions);
        let iteration = Iteration {
            one_way: None,
            elapsed,
            paused: 0.0,
            local,
            remote: has_peer.then_some(remote),
            segment_size: self.segment_size,
            cipher: None,
            tcp: None,
            many: None,
        };
        let iterations = if transactional(plan, unit) {
            let demands = [self.local.demand, self.remote.demand];
            spread(&iteration, demands, self.iterations)
        } else {
            vec![iteration; self.iterations.max(1)]
        };
        Outcome {
            plan: plan.clone(),
            hosts: setting.hosts.clone(),
            agreed: Agreed {
                local: self.local.setup,
                remote: has_peer.then_some(self.remote.setup),
                data_port: 0,
                remote_cpu: plan.remote.cpu.is_some() && has_peer,
            },
            iterations,
            until: None,
            intervals: Vec::new(),
            latency: self.times.latency(),
            confidence: plan.confidence.map(|_| self.confidence()),
            local_host: self.local.host,
            remote_host: Some(self.remote.host),
            peer_version: None,
            uuid: self.uuid,
            span: Span::default(),
            warnings: Vec::new(),
        }
    }

    fn confidence(&self) -> Confidence {
        let [result, local_cpu, remote_cpu] = self.widths.map(|width| width.unwrap_or(0.0));
        Confidence {
            met: !self.warned,
            result,
            local_cpu,
            remote_cpu,
        }
    }

    /// The printed length is coarse; a printed rate of a printed count is finer.
    fn solve_elapsed(&self, plan: &TestPlan, unit: ThroughputUnit) -> f64 {
        let data = figures::data_unit(unit);
        let per = |unit: ThroughputUnit, count: Option<f64>, rate: Option<f64>| {
            let (count, rate) = (count?, rate?);
            (count > 0.0 && rate > 0.0).then(|| (rate, unit.rate(count, 1.0) / rate))
        };
        let mut best = [
            per(
                ThroughputUnit::Transactions,
                self.local.recv_calls,
                self.count_rate(plan, unit),
            ),
            per(data, self.local.bytes_sent, self.local.send_rate),
            per(data, self.local.bytes_received, self.local.recv_rate),
            per(data, self.remote.bytes_sent, self.remote.send_rate),
            per(data, self.remote.bytes_received, self.remote.recv_rate),
        ];
        if unit != ThroughputUnit::Transactions && plan.flow.receives && !plan.flow.sends {
            best[2] = per(data, self.local.bytes_received, self.throughput).or(best[2]);
        }
        // The largest rate has the most digits.
        let finest = best
            .into_iter()
            .flatten()
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let printed = match self.elapsed {
            // Less than the last digit shown, but not nothing.
            Some(elapsed) if elapsed < 0.01 => 0.004,
            Some(elapsed) => elapsed,
            None => 1.0,
        };
        match (finest, self.count_rate(plan, unit)) {
            (Some((_, elapsed)), _) => elapsed,
            // A whole number of transactions or bytes.
            (None, Some(rate)) if rate > 0.0 => (rate * printed).round() / rate,
            (None, _) => printed,
        }
    }

    /// A printed rate that is a count per second, in all digits that are shown.
    fn count_rate(&self, plan: &TestPlan, unit: ThroughputUnit) -> Option<f64> {
        let countable = transactional(plan, unit)
            || matches!(unit, ThroughputUnit::Bytes | ThroughputUnit::LabelledBits)
                && self.transaction_rate.is_none();
        let result = self.throughput.filter(|_| countable);
        match (self.transaction_rate, result) {
            // The same rate twice: the finer one, rounded as the coarser one is.
            (Some(fine), Some(coarse)) => Some(fine.clamp(coarse - 0.004_999, coarse + 0.004_999)),
            (fine, coarse) => fine.or(coarse),
        }
    }

    fn transactions(&self, plan: &TestPlan, unit: ThroughputUnit, elapsed: f64) -> f64 {
        let by_demand = || {
            let demand = self.local.demand.or(self.remote.demand)?;
            (demand > 0.0).then(|| 50.0 * 10_000.0 * f64::from(CPUS) / demand * elapsed)
        };
        let by_result = || {
            self.count_rate(plan, unit)
                .filter(|_| counts(plan, unit, self))
        };
        let by_trip = || {
            let trip = self.round_trip.filter(|trip| *trip > 0.0)?;
            Some(1e6 * (1.0 + f64::from(plan.burst)) / trip)
        };
        let rate = by_result().or_else(by_trip);
        let count = rate.map(|rate| rate * elapsed).or_else(by_demand);
        count.unwrap_or(0.0).round()
    }

    /// The counts that were not printed but follow from those that were.
    fn solve_counts(&mut self, plan: &TestPlan, unit: ThroughputUnit, elapsed: f64) {
        let data = figures::data_unit(unit);
        for end in [&mut self.local, &mut self.remote] {
            let sent = product(end.bytes_per_send, end.send_calls);
            let received = product(end.bytes_per_recv, end.recv_calls);
            let by_rate = |rate: Option<f64>| rate.map(|rate| bytes_at(data, rate, elapsed));
            end.bytes_sent = end.bytes_sent.or(sent).or_else(|| by_rate(end.send_rate));
            end.bytes_received = end
                .bytes_received
                .or(received)
                .or_else(|| by_rate(end.recv_rate));
            end.send_calls = end
                .send_calls
                .or_else(|| quotient(end.bytes_sent, end.bytes_per_send));
            end.recv_calls = end
                .recv_calls
                .or_else(|| quotient(end.bytes_received, end.bytes_per_recv));
        }
        if transactional(plan, unit) {
            return;
        }
        let Some(throughput) = self.throughput else {
            return;
        };
        let bytes = bytes_at(unit, throughput, elapsed);
        let receive_only = plan.flow.receives && !plan.flow.sends;
        if plan.flow.is_request_response() {
            let sizes = plan.request.zip(plan.response);
            let (request, response) = sizes.map_or((1.0, 1.0), |(q, s)| (q.into(), s.into()));
            let share = request / (request + response);
            let requests = (bytes * share).round();
            let end = if plan.control.is_some() {
                &mut self.remote
            } else {
                &mut self.local
            };
            end.bytes_received.get_or_insert(requests);
            end.bytes_sent.get_or_insert(bytes - requests);
        } else if receive_only {
            self.local.bytes_received.get_or_insert(bytes);
        } else if plan.control.is_some() {
            self.remote.bytes_received.get_or_insert(bytes);
        } else {
            self.local.bytes_sent.get_or_insert(bytes);
        }
    }

    /// Work per second behind the demands: units of 1024 bytes, or transactions.
    fn solve_work(
        &mut self,
        plan: &TestPlan,
        unit: ThroughputUnit,
        elapsed: f64,
        transactions: f64,
    ) -> f64 {
        let by_transaction = transactional(plan, unit);
        let known = self.local.bytes_sent.unwrap_or(0.0) + self.local.bytes_received.unwrap_or(0.0);
        if by_transaction {
            return transactions / elapsed;
        }
        if known > 0.0 {
            return known / elapsed / 1024.0;
        }
        let ranges = [&self.local, &self.remote].map(EndFigures::work_range);
        let low = ranges
            .iter()
            .flatten()
            .map(|range| range.0)
            .fold(0.0, f64::max);
        let high = ranges
            .iter()
            .flatten()
            .map(|range| range.1)
            .fold(f64::MAX, f64::min);
        let work = if high == f64::MAX {
            0.0
        } else {
            f64::midpoint(low, high)
        };
        let bytes = (work * 1024.0 * elapsed).round();
        self.local.bytes_sent.get_or_insert(bytes);
        bytes / elapsed / 1024.0
    }
}

impl EndFigures {
    /// The work per second that the printed busy share and demand allow.
    fn work_range(&self) -> Option<(f64, f64)> {
        let demand = self.demand.filter(|demand| *demand > 0.0)?;
        let busy = self.busy.unwrap_or(50.0);
        let scale = 10_000.0 * f64::from(CPUS);
        let low = (busy - 0.004_999) * scale / (demand + 0.000_499_9);
        let high = (busy + 0.004_999) * scale / (demand - 0.000_499_9);
        Some((low, high))
    }

    /// The CPU share, as printed or as near as the demand wants it.
    fn usage(&self, work: f64) -> Option<CpuUsage> {
        let measured = self.busy.or(self.demand).filter(|figure| *figure >= 0.0)?;
        let wanted = match self.demand {
            Some(demand) if demand > 0.0 && work > 0.0 => {
                Some(demand * work / 10_000.0 / f64::from(CPUS))
            }
            Some(_) | None => None,
        };
        let busy = match (self.busy, wanted) {
            (Some(busy), Some(wanted)) => wanted.clamp(busy - 0.004_999, busy + 0.004_999),
            (Some(busy), None) => busy,
            (None, wanted) => wanted.unwrap_or(measured),
        };
        Some(CpuUsage {
            method: CpuMethod::ProcStat,
            busy,
            shares: self.shares,
            cpus: CPUS,
            peak_id: self.peak_id,
            peak_busy: self.peak_busy,
        })
    }

    fn result(&self, elapsed: f64, work: f64, transactions: f64) -> EndResult {
        EndResult {
            tally: Tally {
                bytes_sent: whole(self.bytes_sent),
                bytes_received: whole(self.bytes_received),
                send_calls: whole(self.send_calls),
                recv_calls: whole(self.recv_calls),
                failed_sends: self.failed_sends,
                transactions: whole(Some(transactions)),
                unanswered: 0,
            },
            elapsed,
            cpu: self.usage(work),
            send_buffer_end: self.send_buffer_end,
            recv_buffer_end: self.recv_buffer_end,
            retransmissions: self.retransmissions,
            congestion: self.congestion.clone(),
            ..EndResult::default()
        }
    }
}

/// Whether a printed rate is one of transactions.
fn counts(plan: &TestPlan, unit: ThroughputUnit, figures: &Figures) -> bool {
    transactional(plan, unit) || figures.transaction_rate.is_some()
}

fn transactional(plan: &TestPlan, unit: ThroughputUnit) -> bool {
    unit == ThroughputUnit::Transactions || plan.test == TestId::TcpCc
}

/// The bytes that give this rate.
fn bytes_at(unit: ThroughputUnit, rate: f64, elapsed: f64) -> f64 {
    if unit == ThroughputUnit::Microseconds {
        // Below the last digit, any large number will do.
        let rate = if rate > 0.0 { rate } else { 1e-4 };
        return (elapsed * 1e6 / rate).round();
    }
    let one = unit.rate(1.0, elapsed);
    (rate / one).round()
}

fn product(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some((a? * b?).round())
}

fn quotient(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    let divisor = b.filter(|b| *b > 0.0)?;
    Some((a? / divisor).round())
}

fn whole(value: Option<f64>) -> u64 {
    format!("{:.0}", value.unwrap_or(0.0).max(0.0))
        .parse()
        .expect("a count")
}
