//! Rates and service demand, derived from counts (control-protocol.md 3.12, output.md 9, 12, 14).

use crate::catalog::tests::TestId;
use crate::catalog::transports::SocketKind;
use crate::cpu::CpuUsage;
use crate::outcome::{EndResult, Iteration};
use crate::plan::{Flow, TestPlan};
use crate::units::{Unit, UnitKind};

/// The figures of one iteration, or their means over several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Seconds.
    pub elapsed: f64,
    /// The headline result in the unit in force.
    pub throughput: f64,
    /// Local CPU busy share, percent; -1 when not measured.
    pub local_cpu: f64,
    /// Remote CPU busy share, percent; -1 when not measured.
    pub remote_cpu: f64,
    /// Local service demand, microseconds per KByte or transaction; -1 when not measured.
    pub local_demand: f64,
    /// Remote service demand; -1 when not measured.
    pub remote_demand: f64,
}

/// The unit in force: the one asked for, or the test's default.
///
/// Transactions fall back to 10^6 bits/s where the test has none.
#[must_use]
pub fn unit_in_force(plan: &TestPlan, asked: Option<Unit>) -> Unit {
    let transactional = if plan.test == TestId::Omni {
        plan.flow.counts_transactions()
    } else {
        plan.test.name_has_rr()
    };
    match asked {
        Some(Unit::Transactions) if !transactional => Unit::MegaBits,
        Some(unit) => unit,
        None if transactional => Unit::Transactions,
        None => Unit::MegaBits,
    }
}

/// The unit of the per-direction throughputs: data, never transactions.
#[must_use]
pub fn data_unit(unit: Unit) -> Unit {
    match unit.kind() {
        UnitKind::Transactions => Unit::MegaBits,
        UnitKind::Data => unit,
    }
}

/// The amount of work that the headline result counts.
#[must_use]
pub fn work(plan: &TestPlan, unit: Unit, run: &Iteration) -> f64 {
    let local = &run.local.tally;
    if plan.test == TestId::TcpCc || unit.kind() == UnitKind::Transactions {
        return count(local.transactions);
    }
    let receive_only = plan.flow.receives && !plan.flow.sends;
    if receive_only {
        return count(local.bytes_sent) + count(local.bytes_received);
    }
    match &run.remote {
        Some(remote) => count(remote.tally.bytes_received) + count(remote.tally.bytes_sent),
        None => count(local.bytes_sent),
    }
}

/// The figures of one iteration.
#[must_use]
pub fn of_iteration(plan: &TestPlan, unit: Unit, run: &Iteration) -> Figures {
    let rate_unit = if plan.test == TestId::TcpCc {
        Unit::Transactions
    } else {
        unit
    };
    let remote_cpu = run.remote.as_ref().and_then(|remote| remote.cpu);
    let demand = |cpu: Option<CpuUsage>| service_demand(plan, unit, run, cpu);
    Figures {
        elapsed: run.elapsed,
        throughput: rate_unit.rate(work(plan, unit, run), run.elapsed),
        local_cpu: run.local.cpu.map_or(-1.0, |cpu| cpu.busy),
        remote_cpu: remote_cpu.map_or(-1.0, |cpu| cpu.busy),
        local_demand: demand(run.local.cpu),
        remote_demand: demand(remote_cpu),
    }
}

/// The means over all iterations; zeros when there are none.
#[must_use]
pub fn mean(plan: &TestPlan, unit: Unit, runs: &[Iteration]) -> Figures {
    if runs.is_empty() {
        return Figures::default();
    }
    let all: Vec<Figures> = runs
        .iter()
        .map(|run| of_iteration(plan, unit, run))
        .collect();
    let average =
        |pick: fn(&Figures) -> f64| all.iter().map(pick).sum::<f64>() / count(all.len() as u64);
    Figures {
        elapsed: average(|f| f.elapsed),
        throughput: average(|f| f.throughput),
        local_cpu: average(|f| f.local_cpu),
        remote_cpu: average(|f| f.remote_cpu),
        local_demand: average(|f| f.local_demand),
        remote_demand: average(|f| f.remote_demand),
    }
}

/// Transactions per second of one iteration.
#[must_use]
pub fn transaction_rate(run: &Iteration) -> f64 {
    Unit::Transactions.rate(count(run.local.tally.transactions), run.elapsed)
}

/// Mean round trip in microseconds; `None` without a transaction.
///
/// With a burst, as many round trips overlap (RT_LATENCY in the manual).
#[must_use]
pub fn round_trip(plan: &TestPlan, run: &Iteration) -> Option<f64> {
    if !plan.flow.is_request_response() || run.local.tally.transactions == 0 {
        return None;
    }
    let overlap = if plan.flow.connects {
        1.0
    } else {
        1.0 + f64::from(plan.burst)
    };
    let busy = run.elapsed - run.paused;
    Some(busy * 1e6 / count(run.local.tally.transactions) * overlap)
}

/// CPU time per unit of work: microseconds per transaction or per KByte.
fn service_demand(plan: &TestPlan, unit: Unit, run: &Iteration, cpu: Option<CpuUsage>) -> f64 {
    let Some(cpu) = cpu else { return -1.0 };
    let by_transaction = unit.kind() == UnitKind::Transactions || plan.test == TestId::TcpCc;
    let (work, divisor) = if by_transaction {
        (count(run.local.tally.transactions), 1.0)
    } else {
        (
            count(run.local.tally.bytes_sent) + count(run.local.tally.bytes_received),
            1024.0,
        )
    };
    if work <= 0.0 || run.elapsed <= 0.0 {
        return 0.0;
    }
    let rate = work / run.elapsed / divisor;
    cpu.busy * 10_000.0 / rate * f64::from(cpu.cpus)
}

/// A count as a figure. Exact up to 2^53, which no run reaches in bytes.
#[must_use]
pub fn count(value: u64) -> f64 {
    value as f64
}

/// Whether the end that results describe is a datagram sender whose peer may have lost some.
#[must_use]
pub fn may_lose(plan: &TestPlan) -> bool {
    plan.transport.row().kind == SocketKind::Datagram && plan.flow != Flow::RR
}

/// Bytes per send or receive: 0 when there was none.
#[must_use]
pub fn per_call(bytes: u64, calls: u64) -> f64 {
    if calls == 0 {
        0.0
    } else {
        count(bytes) / count(calls)
    }
}

/// An end's rates by direction: sent, received, in the data unit of `unit`.
#[must_use]
pub fn directional(unit: Unit, end: &EndResult, elapsed: f64) -> (f64, f64) {
    let unit = data_unit(unit);
    (
        unit.rate(count(end.tally.bytes_sent), elapsed),
        unit.rate(count(end.tally.bytes_received), elapsed),
    )
}
