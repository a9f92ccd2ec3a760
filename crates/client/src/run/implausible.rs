//! Results of netserver that cannot be: netperf's own counts contradict them.

use std::time::Duration;

use netperf_model::{CpuUsage, Iteration, Limit, TestPlan, Warning};

use netperf_measure::contradiction::WayClaims;

/// Warning about netserver's counts of data that netperf sent.
pub(super) fn doubt(plan: &TestPlan, runs: &[Iteration]) -> Option<Warning> {
    runs.iter().find_map(|run| of_run(plan, run))
}

/// Warning about responses that came before their requests: rate and latency are then not those
/// of transactions.
pub(super) fn unasked(bytes: u64) -> Option<Warning> {
    (bytes > 0).then(|| {
        Warning::Implausible(format!(
            "netserver sent {bytes} bytes that no request asked for: its responses do not wait \
             for requests, so that its result cannot be right"
        ))
    })
}

/// Warning about an amount of datagrams of which netserver had enough before all were sent.
pub(super) fn cut_short(plan: &TestPlan, run: &Iteration) -> Option<Warning> {
    let Limit::Units(wanted) = plan.limit else {
        return None;
    };
    let tally = &run.local.tally;
    let done = if plan.flow.counts_transactions() {
        tally.transactions
    } else {
        tally.bytes_sent
    };
    let is_lossy = plan.flow.sends && !plan.transport.row().reliable && plan.peer.is_none();
    (is_lossy && done < wanted).then(|| {
        Warning::Imprecise(format!(
            "netserver had the whole amount when {done} of {wanted} were done: the path \
             duplicated datagrams"
        ))
    })
}

/// Part of its time by which a run is so much shorter that its rate is doubtful.
const SHORTER: f64 = 0.1;

/// Warning about datagrams that netserver had begun to send long before its answer arrived, which took
/// so many seconds.
pub(super) fn begun_late(plan: &TestPlan, run: &Iteration, answered: f64) -> Option<Warning> {
    let Limit::Time(time) = plan.limit else {
        return None;
    };
    let flow = plan.flow;
    let only_receives = flow.receives && !flow.sends && !flow.counts_transactions();
    let datagrams = only_receives && !plan.transport.row().reliable && plan.peer.is_none();
    let (wanted, timed) = (time.as_secs_f64(), run.timed());
    let missing = wanted - timed;
    let is_late = missing > wanted * SHORTER && answered > missing;
    // A warm-up has it.
    let waited = match run.window() {
        Some(_) => "",
        None => ", in which what had waited in netperf's socket counts",
    };
    (datagrams && plan.until.is_none() && is_late).then(|| {
        Warning::Imprecise(format!(
            "netserver had sent for {missing:.1} s when its answer to the request arrived, which may \
             have been lost on the way: {timed:.2} of {wanted:.2} s are measured{waited}: run the \
             test again"
        ))
    })
}

/// Warning about what netserver reports of an iteration that took so long, its request and its
/// results included.
pub(super) fn claimed(plan: &TestPlan, run: &Iteration, took: Duration) -> Option<Warning> {
    let took = took.as_secs_f64();
    let remote = run.remote.as_ref()?;
    let is_share = |share: f64| share <= MOST_BUSY;
    // netserver 2.7 waits for further connections beyond the time that it divides by.
    let cpu = remote.cpu.as_ref().filter(|_| !plan.flow.connects);
    let cpu = cpu.filter(|cpu| {
        let is_possible =
            cpu.cpus <= MOST_CPUS && u32::try_from(cpu.peak_id).unwrap_or(0) <= MOST_CPUS;
        !(is_possible && is_share(cpu.busy) && is_share(cpu.peak_busy))
    });
    let cpu = cpu.map(|cpu| {
        let CpuUsage {
            busy,
            cpus,
            peak_id,
            ..
        } = cpu;
        let peak = cpu.peak_busy;
        format!("a CPU utilisation of {busy:.4e} % of {cpus} CPUs, {peak:.4e} % of CPU {peak_id}")
    });
    // netserver's test is a part of the iteration, but where flows wait for a time to begin. The time
    // of arrivals goes on for an interval behind the last one.
    let there = run.received_in();
    let is_of_netserver = plan.many.is_none() && remote.arrivals.is_none();
    let is_longer = is_of_netserver && there > took * (1.0 + DRIFT) + BLUR;
    let longer = is_longer.then(|| format!("a test of {there:.4e} s within {took:.1} s"));
    cpu.or(longer).map(|claim| wrong(&claim))
}

/// Bytes of a send that a signal ends, which netperf 2.7 does not count.
const UNCOUNTED: u64 = 1 << 20;
/// Percent of a CPU's time, with what counters of time may be off by.
const MOST_BUSY: f64 = 101.0;
/// CPUs of the largest hosts, with much space.
const MOST_CPUS: u32 = 1 << 20;
/// Part by which clocks differ at most, and their resolution in seconds.
const DRIFT: f64 = 0.01;
const BLUR: f64 = 0.1;

fn wrong(claim: &str) -> Warning {
    Warning::Implausible(format!(
        "netserver reports {claim}: its result cannot be right"
    ))
}

fn of_run(plan: &TestPlan, run: &Iteration) -> Option<Warning> {
    let (many, flow) = (plan.many.as_ref(), plan.flow);
    // Counts of a part of the run do not begin with the same byte at both ends.
    let is_whole = many.is_none_or(|many| !many.has_margins());
    let remote = run.remote.as_ref().filter(|_| is_whole && !flow.connects)?;
    let flows = many.map_or(1, |many| u64::from(many.flows));
    let is_stream = plan.transport.row().reliable && plan.transport.is_connected();
    let way = |sent, received, retransmitted: Option<u32>| WayClaims {
        sent,
        received,
        connections: if is_stream { flows } else { 0 },
        is_whole: true,
        retransmitted: retransmitted.unwrap_or(0).into(),
        seconds: [run.elapsed; 2],
        ..WayClaims::default()
    };
    let (here, there) = (&run.local.tally, &remote.tally);
    let forth = flow
        .sends
        .then(|| way(here.bytes_sent, there.bytes_received, None));
    let back = flow.receives && !remote.sends_unknown;
    let (sent, received) = (there.bytes_sent, here.bytes_received);
    let back = back.then(|| WayClaims {
        uncounted: UNCOUNTED.saturating_mul(flows),
        // A signal ends netperf's test at once, and netserver's when it has learnt of it.
        went_on: remote.elapsed > run.elapsed * (1.0 + DRIFT) + BLUR,
        ..way(sent, received, remote.retransmissions)
    });
    let ways = forth.into_iter().chain(back);
    let contradiction = ways.into_iter().find_map(|way| way.contradiction());
    contradiction.map(|claim| wrong(&claim))
}

#[cfg(test)]
mod tests {
    use netperf_model::{ArrivalSample, Arrivals, EndResult, Tally};

    use super::*;
    use crate::planned::{plan, ran};
    use netperf_measure::contradiction::HELD;

    fn is_doubted(words: &str, sent: u64, received: u64) -> bool {
        let end = |bytes_sent, bytes_received| EndResult {
            tally: Tally {
                bytes_sent,
                bytes_received,
                ..Tally::default()
            },
            ..EndResult::default()
        };
        let run = ran(1.0, end(sent, 0), Some(end(0, received)));
        doubt(&plan(&format!("netperf -H a {words}")), &[run]).is_some()
    }

    #[test]
    fn datagrams_that_came_before_netperf_knew_of_them_are_told() {
        let is_told = |words: &str, elapsed, answered| {
            let run = ran(elapsed, EndResult::default(), None);
            begun_late(&plan(&format!("netperf -H a -l 2 {words}")), &run, answered).is_some()
        };
        let test = "-t OMNI -- -T udp -d recv";
        assert!(is_told(test, 0.2, 1.9));
        assert!(!is_told(test, 1.9, 1.9) && !is_told(test, 2.0, 0.0));
        // The path lost what is missing.
        assert!(!is_told(test, 0.2, 0.1));
        for words in [
            "-t TCP_MAERTS",
            "-t UDP_STREAM",
            "--until 5% -t OMNI -- -T udp -d recv",
        ] {
            assert!(!is_told(words, 0.2, 1.9), "{words}");
        }
    }

    #[test]
    fn netserver_that_was_busier_or_ran_longer_than_can_be_is_doubted() {
        let claims = |change: &dyn Fn(&mut EndResult, &mut CpuUsage)| {
            let mut cpu = CpuUsage {
                cpus: 2,
                busy: 100.0,
                peak_busy: 100.0,
                ..CpuUsage::default()
            };
            let mut remote = EndResult {
                elapsed: 2.0,
                ..EndResult::default()
            };
            change(&mut remote, &mut cpu);
            remote.cpu = Some(cpu);
            let run = ran(1.0, EndResult::default(), Some(remote));
            claimed(&plan("netperf -H a"), &run, Duration::from_secs(2)).is_some()
        };
        assert!(!claims(&|_, _| ()) && !claims(&|end, _| end.elapsed = f64::NAN));
        assert!(!claims(
            &|_, cpu| (cpu.busy, cpu.peak_busy, cpu.peak_id) = (-1.0, -1.0, -1)
        ));
        // Two datagrams, a second apart, take two seconds at their rate.
        let samples = [(0, 0), (1, 64), (1001, 128)].map(|(millis, bytes)| ArrivalSample {
            nanos: millis * 1_000_000,
            bytes,
        });
        let arrivals = Some(Arrivals {
            samples: samples.to_vec(),
        });
        assert!(!claims(
            &|end, _| (end.elapsed, end.arrivals) = (5.0, arrivals.clone())
        ));
        for seconds in [2.2, 5.0, 3e38, f64::INFINITY] {
            assert!(claims(&|end, _| end.elapsed = seconds), "{seconds}");
        }
        for busy in [102.0, 900.0, f64::NAN] {
            assert!(claims(&|_, cpu| cpu.busy = busy) && claims(&|_, cpu| cpu.peak_busy = busy));
        }
        assert!(claims(&|_, cpu| cpu.cpus = u32::MAX - 6));
        assert!(claims(&|_, cpu| cpu.peak_id = i32::MAX));
    }

    #[test]
    fn more_than_was_sent_and_less_than_buffers_hold_is_doubted() {
        let udp = "-t UDP_STREAM";
        assert!(!is_doubted(udp, 1000, 0) && !is_doubted(udp, 1000, 2000));
        assert!(is_doubted(udp, 1000, 2001));
        assert!(!is_doubted(udp, 10 * HELD, 0));
        let tcp = "-t TCP_STREAM";
        assert!(!is_doubted(tcp, HELD, 0) && is_doubted(tcp, HELD + 1, 0));
        assert!(is_doubted(tcp, 1000, 1_000_000));
        let flows = "-t TCP_STREAM --flows 2";
        assert!(!is_doubted(flows, 2 * HELD, 0) && is_doubted(flows, 2 * HELD + 1, 0));
        // A connection repeats nothing.
        for words in [tcp, flows, "-t TCP_RR"] {
            assert!(
                !is_doubted(words, 1000, 1000) && is_doubted(words, 1000, 1001),
                "{words}"
            );
        }
        // Parts of a run begin at different times; netserver counts whole connections.
        for words in ["-t TCP_STREAM --flows 2 --warmup 1", "-t TCP_CRR"] {
            assert!(!is_doubted(words, 1000, 1_000_000), "{words}");
        }
    }
}
