//! Stream tests both ways at once: the original has none, so the layout is our own.

use netperf_model::Duplex;

use super::layout::{Layout, Titles, line, nothing};
use super::rows;
use crate::fmt::Arg;
use crate::view::{EndView, View};

/// Any of them.
pub(super) const BOTH: Layout = Layout {
    titles: Titles::Behind(headings),
    rows_up_to: 2,
    rows: lines,
    figure: |view| line(rows::V0, &[Arg::Float(view.mean.throughput)]),
    extra: nothing,
    histogram: None,
};

fn headings(view: &View<'_>) -> String {
    let over = match view.plan().flow.duplex {
        Some(Duplex::Separate) => "two connections, one each way",
        Some(Duplex::Same) | None if view.plan().transport.is_connected() => "one connection",
        Some(Duplex::Same) | None => "one socket at each end",
    };
    let flows = view.plan().many.as_ref().map_or(1, |many| many.flows);
    let each = match flows {
        1 => String::new(),
        flows => format!(" for each of {flows} flows"),
    };
    let unit = format!("{}/sec", view.unit.label());
    format!(
        "Both ways at once over {over}{each}; the sum is what client and server received\n\
         Direction       Message  Elapsed  Sent         Received\n\
         {:<15} bytes    secs.    {unit:<12} {unit}\n\n",
        "",
    )
}

fn lines(view: &View<'_>) -> String {
    let (local, remote) = (view.local(), view.remote());
    let way = |name: &str, from: EndView<'_>, rates: [Option<f64>; 2]| {
        let size = from.setup.and_then(|setup| setup.send_size).unwrap_or(0);
        let elapsed = view.last.timed();
        let text = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.2}"));
        let [sent, received] = rates.map(text);
        format!("{name:<15} {size:<8} {elapsed:<8.2} {sent:<12} {received}\n")
    };
    // A result of netserver's that did not come has no rates.
    let known = |end: EndView<'_>| end.result.map_or([None; 2], |_| view.directional(end));
    let (ours, theirs) = (known(local), known(remote));
    let there = way("to netserver", local, [ours[0], theirs[1]]);
    let back = way("from netserver", remote, [theirs[0], ours[1]]);
    let mean = view.mean;
    let sum = format!(
        "{:<15} {:<8} {:<8.2} {:<12} {:.2}\n",
        "sum", "", mean.elapsed, "", mean.throughput
    );
    there + &back + &sum + &cpu(view)
}

/// Utilisation of each end, for both directions together.
fn cpu(view: &View<'_>) -> String {
    if !view.shows_cpu() {
        return String::new();
    }
    let line = |name: &str, end: EndView<'_>, busy: f64, demand: f64| {
        let letter = end.cpu_letter();
        format!("CPU {name:<11} {busy:.2} % {letter}, {demand:.3} us/KB of both directions\n")
    };
    let mean = view.mean;
    line("local", view.local(), mean.local_cpu, mean.local_demand)
        + &line("remote", view.remote(), mean.remote_cpu, mean.remote_demand)
}
