//! Lines below a classic table about options whose figures the table does not have: at
//! verbosity 1 what verbosity 2 has in tables, and encryption and series at both.

use netperf_model::figures::count;
use netperf_model::{Part, QualityScope, TestId, ThroughputUnit};

use crate::quality::{Receiver, Reception, reception};
use crate::view::{EndView, View};

/// All lines, behind an empty one; nothing without these options, without headers and for
/// programs that read one figure (verbosity 0).
pub(crate) fn print(view: &View<'_>) -> String {
    let verbosity = view.report.verbosity;
    if verbosity < 1 || !view.report.headers {
        return String::new();
    }
    let mut lines = Vec::new();
    if verbosity == 1 {
        for (receiver, way) in [
            (Receiver::Remote, "to netserver"),
            (Receiver::Local, "to netperf"),
        ] {
            lines.extend(reception(view, receiver).map(|got| datagrams(way, &got)));
        }
        lines.extend(parts(view));
        lines.extend(flows(view));
    }
    lines.extend(series("netperf", view.local()));
    lines.extend(series("netserver", view.remote()));
    let cipher = view.last.cipher.as_ref();
    lines.extend(cipher.map(|cipher| format!("Encrypted: {cipher}")));
    let lines: Vec<String> = lines.into_iter().map(|line| format!("{line}\n")).collect();
    if lines.is_empty() {
        return String::new();
    }
    let runs = view.outcome.iterations.len();
    let heading = if runs > 1 {
        format!("In the last of {runs} runs:\n")
    } else {
        String::new()
    };
    format!("\n{heading}{}", lines.concat())
}

fn datagrams(way: &str, got: &Reception) -> String {
    let quality = &got.quality;
    let lost = got
        .lost_percent()
        .map_or_else(String::new, |share| format!(" ({share:.4} %)"));
    let counted = |scope, count: u64, what| {
        let count = quality.within(scope, count);
        count.map_or_else(String::new, |count| format!(", {count} {what}"))
    };
    format!(
        "Datagrams {way}: {} received, {} lost{lost}{}{}, jitter {:.3} usec",
        quality.received,
        got.lost(),
        counted(QualityScope::Full, quality.duplicated, "duplicated"),
        counted(QualityScope::Order, quality.reordered, "reordered"),
        count(quality.jitter) / 1e3
    )
}

/// The medians of the parts of transactions.
fn parts(view: &View<'_>) -> Option<String> {
    let all = view.last.one_way.as_ref()?;
    let medians = Part::ALL.map(|part| {
        let median = all.part(part).median / 1e3;
        format!("{} {median:.3}", part.label())
    });
    Some(format!("Median times, usec: {}", medians.join("; ")))
}

fn flows(view: &View<'_>) -> Option<String> {
    let flows = view.last.many.as_ref()?;
    let flow = view.plan().flow;
    if view.plan().test == TestId::TcpMss {
        return None;
    }
    let sent = match flows.counts_sent(flow, view.plan().transport.row().reliable) {
        true => ", of sent data",
        false => "",
    };
    let work = flows.work(flow);
    let length = view.last.timed();
    // The unit of `-f`, if it is one of amounts; 10^0bits of the classic table are bytes.
    let unit = if flow.counts_transactions() {
        ThroughputUnit::Transactions
    } else if view.unit == ThroughputUnit::LabelledBits {
        ThroughputUnit::Bytes
    } else if matches!(
        view.unit,
        ThroughputUnit::Transactions | ThroughputUnit::Microseconds
    ) {
        ThroughputUnit::MegaBits
    } else {
        view.unit
    };
    let label = if unit == ThroughputUnit::Transactions {
        "trans/s".to_owned()
    } else {
        unit.rate_label()
    };
    let rate = |work: u64| unit.rate(count(work), length);
    let (slowest, fastest) = (*work.iter().min()?, *work.iter().max()?);
    let fairness = flows
        .fairness(flow)
        .map_or_else(String::new, |index| format!(", fairness {index:.4}"));
    (length > 0.0).then(|| {
        format!(
            "Flows: {}, the slowest {:.2}, the fastest {:.2} {label}{fairness}{sent}",
            flows.each.len(),
            rate(slowest),
            rate(fastest)
        )
    })
}

fn series(name: &str, end: EndView<'_>) -> Option<String> {
    let series = end.result?.series.as_ref()?;
    let shown =
        |value: Option<u32>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
    let least = series.smallest(|sample| sample.round_trip_micros);
    let largest = series.largest(|sample| sample.round_trip_micros);
    let window = series.largest(|sample| sample.congestion_window_segments);
    Some(format!(
        "TCP at {name}: {} samples, round trip {} to {} usec, largest window {} segments",
        series.samples().count(),
        shown(least),
        shown(largest),
        shown(window)
    ))
}
