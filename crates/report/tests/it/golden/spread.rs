//! Iterations that differ, for transcripts that show the mean of their demands.

use netperf_model::{CpuUsage, EndResult, Iteration};

/// Demands that are printed as one and the same figure.
const ALIKE: f64 = 0.0006;

/// Iterations with the means of `one` and with these mean service demands, local
/// and remote, in microseconds per transaction.
///
/// The demand of the means is less than the mean of the demands as soon as rates
/// differ. Two iterations with rates of `1 + s` and `1 - s` times the mean, and
/// busy shares of `1 + t` and `1 - t` times the mean, have a mean demand of
/// `(1 - t s) / (1 - s s)` times that of the means.
pub(crate) fn spread(one: &Iteration, demands: [Option<f64>; 2], count: usize) -> Vec<Iteration> {
    let same = vec![one.clone(); count.max(1)];
    let transactions = one.local.tally.transactions;
    let (Some(cpu), Some(wanted)) = (one.local.cpu, demands[0]) else {
        return same;
    };
    let demand = of_means(cpu, one);
    if transactions == 0 || (demand - wanted).abs() < ALIKE {
        return same;
    }
    let s = (1.0 - demand / wanted).max(0.01).sqrt();
    let more = format!("{:.0}", number(transactions) * s);
    let more: u64 = more.parse().expect("a count");
    // As far as whole transactions allow.
    let s = number(more) / number(transactions);
    let (mut fast, mut slow) = (one.clone(), one.clone());
    fast.local.tally.transactions = transactions + more;
    slow.local.tally.transactions = transactions - more;
    lean(&mut fast.local, &mut slow.local, s, demand, demands[0]);
    if let (Some(fast), Some(slow)) = (&mut fast.remote, &mut slow.remote) {
        let demand = fast.cpu.map_or(0.0, |cpu| of_means(cpu, one));
        lean(fast, slow, s, demand, demands[1]);
    }
    vec![fast, slow]
}

/// Shares the busy time of an end out between the fast and the slow iteration.
fn lean(fast: &mut EndResult, slow: &mut EndResult, s: f64, demand: f64, wanted: Option<f64>) {
    let (Some(fast), Some(slow), Some(wanted)) = (&mut fast.cpu, &mut slow.cpu, wanted) else {
        return;
    };
    let t = (1.0 - wanted * (1.0 - s * s) / demand) / s;
    fast.busy *= 1.0 + t;
    slow.busy *= 1.0 - t;
}

fn of_means(cpu: CpuUsage, one: &Iteration) -> f64 {
    let rate = number(one.local.tally.transactions) / one.elapsed;
    cpu.busy * 10_000.0 * f64::from(cpu.cpus) / rate
}

fn number(count: u64) -> f64 {
    f64::from(u32::try_from(count).expect("a moderate count"))
}
