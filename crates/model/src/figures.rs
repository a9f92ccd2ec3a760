//! Rates and service demand, derived from counts (control-protocol.md 3.12, output.md 9, 12, 14).

mod number;

use std::time::Duration;

use crate::catalog::tests::TestId;
use crate::cpu::CpuUsage;
use crate::outcome::Iteration;
use crate::peer::PeerProgram;
use crate::plan::TestPlan;
use crate::units::{ThroughputUnit, UnitKind};

pub use self::number::{count, four_columns, per_call, percent, prefixed, two_digits, whole};

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
    /// Local service demand, microseconds per KByte or transaction; -1 when CPU
    /// was not measured or no work was done.
    pub local_demand: f64,
    /// Remote service demand; -1 when not measured.
    pub remote_demand: f64,
}

/// The unit in force: the one asked for, or the test's default.
///
/// Transactions fall back to 10^6 bits/s where the test has none.
#[must_use]
pub fn unit_in_force(plan: &TestPlan, asked: Option<ThroughputUnit>) -> ThroughputUnit {
    let transactional = if plan.test == TestId::Omni {
        plan.flow.counts_transactions()
    } else {
        plan.test.name_has_rr()
    };
    match asked {
        Some(ThroughputUnit::Transactions) if !transactional => ThroughputUnit::MegaBits,
        Some(unit) => unit,
        None if transactional => ThroughputUnit::Transactions,
        None => ThroughputUnit::MegaBits,
    }
}

/// The unit of the result in JSON, which no option changes: transactions per second, or
/// 10^6 bits/s.
#[must_use]
pub fn document_unit(plan: &TestPlan) -> ThroughputUnit {
    if plan.test.counts_connections() {
        ThroughputUnit::Transactions
    } else {
        unit_in_force(plan, None)
    }
}

/// The unit of the per-direction throughputs: data, never transactions.
#[must_use]
pub fn data_unit(unit: ThroughputUnit) -> ThroughputUnit {
    match unit.kind() {
        UnitKind::Transactions => ThroughputUnit::MegaBits,
        UnitKind::Data => unit,
    }
}

/// The rate of an amount that is unknown.
pub const UNKNOWN: f64 = -1.0;

/// The amount of work that the headline result counts, and its time base in seconds; `None` if
/// the amount is unknown.
#[must_use]
pub fn work(plan: &TestPlan, unit: ThroughputUnit, run: &Iteration) -> Option<(f64, f64)> {
    let (local, flow, timed) = (run.counted(), plan.flow, run.timed());
    if plan.test.counts_connections() || unit.kind() == UnitKind::Transactions {
        return Some((count(local.transactions), timed));
    }
    let both = count(local.bytes_sent) + count(local.bytes_received);
    // Each direction as its receiver saw it.
    let bulk = flow.sends && !flow.connects && (!flow.receives || flow.duplex.is_some());
    if let Some(window) = run.window().filter(|_| bulk) {
        let arrived = count(window.arrived?.bytes);
        return Some((arrived + count(local.bytes_received), timed));
    }
    if lacks_result(plan, run) {
        return None;
    }
    if flow.duplex.is_some() {
        let there = run.remote.as_ref().map(|remote| &remote.tally);
        let there = there.map_or(local.bytes_sent, |tally| tally.bytes_received);
        // Each end receives in its own time.
        let longer = run.received_there_in(plan);
        let share = if longer > timed { timed / longer } else { 1.0 };
        return Some((count(there) * share + count(local.bytes_received), timed));
    }
    let receive_only = flow.receives && !flow.sends;
    if receive_only || run.window().is_some() {
        return Some((both, timed));
    }
    Some(match &run.remote {
        Some(remote) => {
            let there = count(remote.tally.bytes_received) + count(remote.tally.bytes_sent);
            (there, run.received_in())
        }
        None => (count(local.bytes_sent), timed),
    })
}

/// True if netserver's result of a run that sent data is missing: what was sent is not what arrived.
#[must_use]
pub fn lacks_result(plan: &TestPlan, run: &Iteration) -> bool {
    let (flow, sent) = (plan.flow, run.local.tally.bytes_sent > 0);
    let of_server = match plan.peer {
        None => plan.control.is_some(),
        Some(PeerProgram::Iperf3) => true,
        // A test over TCP has no result of the server's.
        Some(PeerProgram::Iperf2) => false,
    };
    run.remote.is_none() && of_server && flow.sends && !flow.counts_transactions() && sent
}

/// The figures of one iteration.
#[must_use]
pub fn of_iteration(plan: &TestPlan, unit: ThroughputUnit, run: &Iteration) -> Figures {
    let rate_unit = if plan.test.counts_connections() {
        ThroughputUnit::Transactions
    } else {
        unit
    };
    let remote_cpu = run.remote.as_ref().and_then(|remote| remote.cpu);
    let demand = |cpu: Option<CpuUsage>| service_demand(plan, unit, run, cpu);
    Figures {
        elapsed: run.timed(),
        throughput: work(plan, unit, run)
            .map_or(UNKNOWN, |(work, seconds)| rate_unit.rate(work, seconds)),
        local_cpu: run.local.cpu.map_or(-1.0, |cpu| cpu.busy),
        remote_cpu: remote_cpu.map_or(-1.0, |cpu| cpu.busy),
        local_demand: demand(run.local.cpu),
        remote_demand: demand(remote_cpu),
    }
}

/// The means over all iterations; zeros when there are none.
#[must_use]
pub fn mean(plan: &TestPlan, unit: ThroughputUnit, runs: &[Iteration]) -> Figures {
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
    ThroughputUnit::Transactions.rate(count(run.counted().transactions), run.timed())
}

/// Mean round trip in microseconds; `None` without a transaction.
///
/// With a burst, as many round trips overlap (RT_LATENCY in the manual).
#[must_use]
pub fn round_trip(plan: &TestPlan, run: &Iteration) -> Option<f64> {
    let transactions = run.counted().transactions;
    // At a given rate the number of transactions says nothing of how long one took.
    let paced = plan.local.rate.is_some();
    if !plan.flow.is_request_response() || transactions == 0 || paced {
        return None;
    }
    let overlap = if plan.flow.connects {
        1.0
    } else {
        1.0 + f64::from(plan.burst)
    };
    let flows = plan.many.as_ref().map_or(1, |many| many.flows);
    let busy = run.timed() - run.paused;
    Some(busy * 1e6 / count(transactions) * overlap * f64::from(flows))
}

/// CPU time per unit of work: microseconds per transaction or per KByte.
///
/// Work is netperf's, for both ends; without any there is no demand to state.
fn service_demand(
    plan: &TestPlan,
    unit: ThroughputUnit,
    run: &Iteration,
    cpu: Option<CpuUsage>,
) -> f64 {
    let Some(cpu) = cpu else { return -1.0 };
    let by_transaction = unit.kind() == UnitKind::Transactions || plan.test.counts_connections();
    let (work, divisor) = if by_transaction {
        (count(run.counted().transactions), 1.0)
    } else {
        let local = run.counted();
        (
            count(local.bytes_sent) + count(local.bytes_received),
            1024.0,
        )
    };
    if work <= 0.0 || run.timed() <= 0.0 {
        return -1.0;
    }
    let rate = work / run.timed() / divisor;
    cpu.busy * 10_000.0 / rate * f64::from(cpu.cpus)
}

/// An end's rates by direction in the whole run, or in the part of it that counts: sent,
/// received, in the data unit of `unit`. `None` if unknown.
#[must_use]
pub fn directional(
    plan: &TestPlan,
    unit: ThroughputUnit,
    run: &Iteration,
    netperf: bool,
) -> [Option<f64>; 2] {
    let unit = data_unit(unit);
    let end = if netperf {
        Some(&run.local)
    } else {
        run.remote.as_ref()
    };
    let Some(end) = end else {
        return [Some(0.0); 2];
    };
    let tally = &end.tally;
    let Some(window) = run.window() else {
        let [sent_in, received_in] = if netperf {
            [run.elapsed; 2]
        } else {
            run.remote_columns(plan, end)
        };
        return [
            end.of_sends(|tally| unit.rate(count(tally.bytes_sent), sent_in)),
            Some(unit.rate(count(tally.bytes_received), received_in)),
        ];
    };
    let rate = |bytes: u64| unit.rate(count(bytes), window.seconds);
    if netperf {
        let tally = &window.tally;
        return [tally.bytes_sent, tally.bytes_received].map(|bytes| Some(rate(bytes)));
    }
    let arrived = window.arrived.map(|arrived| arrived.bytes);
    // The amount that netserver sent within the window is unknown, except for none.
    let none = Some(0).filter(|_| tally.bytes_sent == 0 && !end.sends_unknown);
    let got_none = Some(0).filter(|_| tally.bytes_received == 0);
    [none.map(rate), got_none.or(arrived).map(rate)]
}

/// A time that was waited: whole seconds, or tenths of one below a second, at least one tenth.
#[must_use]
pub fn whole_or_tenths(waited: Duration) -> String {
    match waited.as_secs() {
        0 => format!("0.{} s", (waited.as_millis() / 100).max(1)),
        seconds => format!("{seconds} s"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::catalog::transports::TransportId;
    use crate::cpu::CpuMethod;
    use crate::outcome::{EndResult, Tally};
    use crate::plan::{ControlPlan, DataAddress, EndPlan, Family, Limit};

    pub(crate) fn plan(test: TestId) -> TestPlan {
        let address = DataAddress {
            host: "host".to_owned(),
            random_bits: None,
            port: "0".to_owned(),
            family: Family::Unspecified,
            named: true,
        };
        TestPlan {
            test,
            transport: TransportId::Tcp,
            flow: test.row().flow,
            limit: Limit::UntilStopped,
            request: Some(1),
            response: Some(1),
            burst: 0,
            burst_negative: false,
            associations: 1,
            peer: None,
            control: Some(ControlPlan {
                remote: address.clone(),
                local: address.clone(),
                explicit: true,
                passphrase: None,
                key_file: None,
                secret: None,
                keepalive: ControlPlan::KEEPALIVE,
            }),
            local_data: address.clone(),
            remote_data: address,
            local: EndPlan::default(),
            remote: EndPlan::default(),
            port_range: None,
            retry_connects: false,
            use_write: false,
            recv_timeout: None,
            wait: std::time::Duration::ZERO,
            latency: false,
            retransmissions: true,
            numbers_datagrams: false,
            interim: None,
            confidence: None,
            uuid: None,
            dump_tcp_info: false,
            many: None,
            until: None,
        }
    }

    pub(crate) fn end(bytes_sent: u64, bytes_received: u64, transactions: u64) -> EndResult {
        EndResult {
            tally: Tally {
                bytes_sent,
                bytes_received,
                transactions,
                ..Tally::default()
            },
            ..EndResult::default()
        }
    }

    pub(crate) fn run(elapsed: f64, local: EndResult, remote: EndResult) -> Iteration {
        Iteration {
            one_way: None,
            elapsed,
            paused: 0.0,
            local,
            remote: Some(remote),
            segment_size: None,
            cipher: None,
            tcp: None,
            many: None,
        }
    }

    fn busy(busy: f64, cpus: u32) -> Option<CpuUsage> {
        Some(CpuUsage {
            method: CpuMethod::ProcStat,
            busy,
            shares: crate::cpu::CpuShares::default(),
            cpus,
            peak_id: 0,
            peak_busy: busy,
        })
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn the_unit_follows_the_name_or_for_omni_the_flow() {
        let asked = |test, unit| unit_in_force(&plan(test), unit);
        assert_eq!(asked(TestId::TcpRr, None), ThroughputUnit::Transactions);
        assert_eq!(asked(TestId::TcpStream, None), ThroughputUnit::MegaBits);
        assert_eq!(
            asked(TestId::TcpCc, Some(ThroughputUnit::Transactions)),
            ThroughputUnit::MegaBits
        );
        assert_eq!(
            asked(TestId::TcpRr, Some(ThroughputUnit::Bytes)),
            ThroughputUnit::Bytes
        );
        let mut omni = plan(TestId::Omni);
        omni.flow = crate::plan::Flow::CC;
        assert_eq!(unit_in_force(&omni, None), ThroughputUnit::Transactions);
    }

    #[test]
    fn a_sender_counts_what_arrived_and_a_receiver_what_it_got() {
        let run = run(2.0, end(2_000_000, 0, 0), end(0, 1_000_000, 0));
        let sent = of_iteration(&plan(TestId::TcpStream), ThroughputUnit::MegaBits, &run);
        assert!(close(sent.throughput, 4.0));
        let mut back = run.clone();
        back.local = end(0, 500_000, 0);
        let got = of_iteration(&plan(TestId::TcpMaerts), ThroughputUnit::MegaBits, &back);
        assert!(close(got.throughput, 2.0));
    }

    #[test]
    fn netserver_receives_in_its_own_time_of_both_ways() {
        let mut both = plan(TestId::TcpStream);
        both.flow = crate::plan::Flow::both_ways(crate::plan::Duplex::Same);
        let mut run = run(4.0, end(1_500_000, 500_000, 0), end(500_000, 1_500_000, 0));
        let remote = |run: &Iteration| directional(&both, ThroughputUnit::MegaBits, run, false);
        let total = |run: &Iteration| of_iteration(&both, ThroughputUnit::MegaBits, run).throughput;
        // The end of netserver that comes at once makes no difference.
        run.remote.as_mut().unwrap().elapsed = 4.05;
        assert!(close(remote(&run)[1].unwrap(), 3.0));
        assert!(close(total(&run), 4.0));
        run.remote.as_mut().unwrap().elapsed = 6.0;
        assert!(close(remote(&run)[1].unwrap(), 2.0));
        assert!(close(total(&run), 3.0));
    }

    #[test]
    fn without_a_peer_the_bytes_sent_count() {
        let mut run = run(1.0, end(125_000, 7, 0), EndResult::default());
        run.remote = None;
        let mut without_control = plan(TestId::TcpStream);
        without_control.control = None;
        let figures = of_iteration(&without_control, ThroughputUnit::MegaBits, &run);
        assert!(close(figures.throughput, 1.0));
        // The amount that netserver received is unknown.
        let figures = of_iteration(&plan(TestId::TcpStream), ThroughputUnit::MegaBits, &run);
        assert!(close(figures.throughput, UNKNOWN));
        let figures = of_iteration(&plan(TestId::TcpRr), ThroughputUnit::MegaBits, &run);
        assert!(close(figures.throughput, 1.0));
    }

    #[test]
    fn connections_are_a_rate_whatever_the_unit() {
        let run = run(2.0, end(0, 0, 500), EndResult::default());
        let figures = of_iteration(&plan(TestId::TcpCc), ThroughputUnit::MegaBits, &run);
        assert!(close(figures.throughput, 250.0));
    }

    #[test]
    fn service_demand_is_cpu_time_per_transaction_or_kbyte() {
        // 2 CPUs at 50 % for one second are a second of CPU time.
        let mut run = run(1.0, end(512_000, 512_000, 1000), end(0, 512_000, 0));
        run.local.cpu = busy(50.0, 2);
        let rr = of_iteration(&plan(TestId::TcpRr), ThroughputUnit::Transactions, &run);
        assert!(close(rr.local_demand, 1000.0));
        assert!(close(rr.remote_demand, -1.0));
        let bytes = of_iteration(&plan(TestId::TcpRr), ThroughputUnit::MegaBits, &run);
        assert!(close(bytes.local_demand, 1000.0));
    }

    #[test]
    fn no_work_has_no_service_demand() {
        let mut run = run(1.0, end(0, 0, 0), end(0, 0, 0));
        run.local.cpu = busy(50.0, 2);
        let figures = of_iteration(&plan(TestId::TcpRr), ThroughputUnit::Transactions, &run);
        assert!(close(figures.local_demand, -1.0));
    }

    #[test]
    fn a_demand_over_iterations_is_the_mean_of_the_demands() {
        let mut first = run(1.0, end(0, 0, 1000), end(0, 0, 0));
        first.local.cpu = busy(50.0, 2);
        let mut second = run(1.0, end(0, 0, 10), end(0, 0, 0));
        second.local.cpu = busy(50.0, 2);
        let means = mean(
            &plan(TestId::TcpRr),
            ThroughputUnit::Transactions,
            &[first, second],
        );
        assert!(close(means.throughput, 505.0));
        assert!(close(means.local_demand, 50_500.0));
    }

    #[test]
    fn round_trips_overlap_in_a_burst_and_pauses_do_not_count() {
        let mut plan = plan(TestId::TcpRr);
        plan.burst = 3;
        let mut run = run(3.0, end(0, 0, 1000), EndResult::default());
        run.paused = 1.0;
        assert!(round_trip(&plan, &run).is_some_and(|trip| close(trip, 8000.0)));
        run.local.tally.transactions = 0;
        assert_eq!(round_trip(&plan, &run), None);
    }
}
