//! Results of netserver that cannot be: netperf's own counts contradict them.

use netperf_model::{Iteration, Limit, TestPlan, Warning};

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

fn of_run(plan: &TestPlan, run: &Iteration) -> Option<Warning> {
    let many = plan.many.as_ref();
    // Counts of a part of the run do not begin with the same byte at both ends.
    let is_whole = many.is_none_or(|many| !many.has_margins());
    let is_bulk = plan.flow.sends && !plan.flow.counts_transactions();
    let remote = run.remote.as_ref().filter(|_| is_bulk && is_whole)?;
    let flows = many.map_or(1, |many| u64::from(many.flows));
    let is_stream = plan.transport.row().reliable && plan.transport.is_connected();
    let way = WayClaims {
        sent: run.local.tally.bytes_sent,
        received: remote.tally.bytes_received,
        connections: if is_stream { flows } else { 0 },
        is_whole: true,
        seconds: [run.elapsed; 2],
        ..WayClaims::default()
    };
    let contradiction = way.contradiction()?;
    Some(Warning::Implausible(format!(
        "netserver reports {contradiction}: its result cannot be right"
    )))
}

#[cfg(test)]
mod tests {
    use netperf_model::{EndResult, Tally};

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
        // Parts of a run, and requests, begin at different times.
        for words in [
            "-t TCP_STREAM --flows 2 --warmup 1",
            "-t TCP_RR",
            "-t TCP_MAERTS",
        ] {
            assert!(!is_doubted(words, 1000, 1_000_000), "{words}");
        }
    }
}
