//! The per-CPU counters of `/proc/stat` (proc(5)).

use std::io;

use netperf_model::{CpuMethod, CpuShares, CpuUsage};

/// Ten counters per CPU: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest nice.
const FIELDS: usize = 10;
const USER: usize = 0;
const SYSTEM: usize = 2;
const IDLE: usize = 3;
const IOWAIT: usize = 4;
const IRQ: usize = 5;
const SOFTIRQ: usize = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
struct CpuTicks {
    id: i32,
    ticks: [u64; FIELDS],
}

/// The counters of every CPU online.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counters(Vec<CpuTicks>);

impl Counters {
    /// The CPUs' ids.
    pub(super) fn ids(&self) -> impl Iterator<Item = i32> + '_ {
        self.0.iter().map(|cpu| cpu.id)
    }
}

pub(super) fn read() -> io::Result<Counters> {
    parse(&std::fs::read_to_string("/proc/stat")?)
}

pub(super) fn parse(text: &str) -> io::Result<Counters> {
    let cpus: Vec<CpuTicks> = text.lines().filter_map(parse_line).collect();
    if cpus.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "/proc/stat names no CPU",
        ));
    }
    Ok(Counters(cpus))
}

/// A line such as `cpu3 10 0 5 100 ...`; the aggregate `cpu` line has no number.
fn parse_line(line: &str) -> Option<CpuTicks> {
    let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
    if line.starts_with("cpu ") {
        return None;
    }
    let id = words.next()?.parse().ok()?;
    let mut ticks = [0; FIELDS];
    for (slot, word) in ticks.iter_mut().zip(words) {
        *slot = word.parse().ok()?;
    }
    Some(CpuTicks { id, ticks })
}

pub(super) fn usage(before: &Counters, after: &Counters) -> CpuUsage {
    let mut sum = CpuUsage {
        method: CpuMethod::ProcStat,
        busy: 0.0,
        shares: CpuShares::default(),
        cpus: u32::try_from(after.0.len()).unwrap_or(u32::MAX),
        peak_id: 0,
        peak_busy: 0.0,
    };
    for cpu in &after.0 {
        // A CPU that came online during the run has nothing to compare with.
        if let Some(earlier) = before.0.iter().find(|earlier| earlier.id == cpu.id) {
            add(&mut sum, cpu, earlier);
        }
    }
    let scale = 1.0 / f64::from(sum.cpus.max(1));
    sum.busy *= scale;
    let shares = &mut sum.shares;
    for share in [
        &mut shares.user,
        &mut shares.system,
        &mut shares.iowait,
        &mut shares.irq,
        &mut shares.softirq,
    ] {
        *share *= scale;
    }
    sum
}

fn add(sum: &mut CpuUsage, cpu: &CpuTicks, earlier: &CpuTicks) {
    let spent: Vec<f64> = cpu
        .ticks
        .iter()
        .zip(&earlier.ticks)
        .map(|(now, then)| ticks_between(*then, *now))
        .collect();
    let total: f64 = spent.iter().sum();
    if total <= 0.0 {
        return;
    }
    let percent = |field: usize| 100.0 * spent[field] / total;
    let busy = 100.0 - percent(IDLE);
    sum.busy += busy;
    sum.shares.user += percent(USER);
    sum.shares.system += percent(SYSTEM);
    sum.shares.iowait += percent(IOWAIT);
    sum.shares.irq += percent(IRQ);
    sum.shares.softirq += percent(SOFTIRQ);
    if busy > sum.peak_busy {
        sum.peak_busy = busy;
        sum.peak_id = cpu.id;
    }
}

/// The ticks from one reading to the next. Old kernels count in 32 bits and wrap;
/// iowait may go back a little on any kernel, which is no time at all.
#[expect(
    clippy::cast_precision_loss,
    reason = "ticks of one run are far below 2^53"
)]
fn ticks_between(then: u64, now: u64) -> f64 {
    const WRAP: u64 = 1 << 32;
    let wrapped = then < WRAP && now < then && then - now > WRAP / 2;
    let spent = if wrapped {
        now + WRAP - then
    } else {
        now.saturating_sub(then)
    };
    spent as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(text: &str) -> Counters {
        parse(text).unwrap()
    }

    #[test]
    fn the_aggregate_line_and_other_lines_are_left_out() {
        let all = counters("cpu  3 0 0 9\ncpu0 1 0 0 4\ncpu1 2 0 0 5\nintr 7\n");
        assert_eq!(all.0.len(), 2);
        assert_eq!(all.0[1].ticks[USER], 2);
        assert_eq!(all.ids().collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn busy_is_the_mean_over_cpus_and_the_peak_is_the_busiest() {
        let before = counters("cpu0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0\n");
        let after = counters("cpu0 50 0 0 50 0 0 0\ncpu1 0 0 80 10 0 0 10\n");
        let usage = usage(&before, &after);
        assert!((usage.busy - 70.0).abs() < 1e-9, "{usage:?}");
        assert!((usage.shares.user - 25.0).abs() < 1e-9);
        assert!((usage.shares.softirq - 5.0).abs() < 1e-9);
        assert_eq!(usage.peak_id, 1);
        assert!((usage.peak_busy - 90.0).abs() < 1e-9);
        assert_eq!(usage.cpus, 2);
    }

    #[test]
    fn a_thousand_cpus_are_all_counted() {
        let text: String = (0..1000).map(|id| format!("cpu{id} 1 0 0 1\n")).collect();
        assert_eq!(counters(&text).0.len(), 1000);
    }

    #[test]
    fn a_counter_that_wraps_at_32_bits_is_understood() {
        assert!((ticks_between(u64::from(u32::MAX) - 4, 5) - 10.0).abs() < 1e-9);
        assert!(ticks_between(10, 8).abs() < 1e-9);
        assert_eq!(ticks_between(7, 7), 0.0);
        // Half of all values back is no wrap, and a counter beyond 32 bits does not wrap there.
        assert_eq!(ticks_between(1 << 31, 0), 0.0);
        assert_eq!(
            ticks_between((1 << 31) + 1, 0),
            f64::from((1_u32 << 31) - 1)
        );
        assert_eq!(ticks_between(1 << 32, 5), 0.0);
    }

    #[test]
    fn each_kind_of_time_is_counted_by_itself() {
        let before = counters("cpu0 1 2 3 4 5 6 7 8 9 10\n");
        let after = counters("cpu0 11 22 33 44 15 26 17 8 9 10\n");
        let usage = usage(&before, &after);
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
        // 10, 20, 30, 40, 10, 20, 10 of 140 ticks.
        let shares = usage.shares;
        for (found, ticks) in [
            (usage.busy, 100.0),
            (shares.user, 10.0),
            (shares.system, 30.0),
            (shares.iowait, 10.0),
            (shares.irq, 20.0),
            (shares.softirq, 10.0),
        ] {
            assert!(near(found, 100.0 * ticks / 140.0), "{usage:?}");
        }
    }

    #[test]
    fn a_cpu_without_ticks_or_without_an_earlier_reading_adds_nothing() {
        let before = counters("cpu0 0 0 0 0\ncpu1 5 0 0 5\n");
        let after = counters("cpu0 30 0 0 10\ncpu1 5 0 0 5\ncpu2 9 0 0 0\n");
        let usage = usage(&before, &after);
        assert_eq!((usage.cpus, usage.peak_id), (3, 0));
        assert!((usage.busy - 25.0).abs() < 1e-9, "{usage:?}");
        assert!((usage.peak_busy - 75.0).abs() < 1e-9, "{usage:?}");
    }

    #[test]
    fn the_first_of_equally_busy_cpus_is_the_peak() {
        let before = counters("cpu4 0 0 0 0\ncpu5 0 0 0 0\n");
        let after = counters("cpu4 1 0 0 1\ncpu5 1 0 0 1\n");
        assert_eq!(usage(&before, &after).peak_id, 4);
    }

    #[test]
    fn a_file_without_cpus_is_an_error() {
        assert!(parse("intr 1\n").is_err());
    }
}
