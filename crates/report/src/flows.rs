//! Selectors of many flows, which the original does not have: `all` and `?` omit them.

use netperf_model::{Flows, WorkerThreads};

use crate::selectors::SelectorValue::{End, Run};
use crate::selectors::{Need, SelectorRow, row};
use crate::values::Value;
use crate::view::View;

/// Every one, in order.
#[rustfmt::skip]
pub(crate) static FLOWS: &[&[SelectorRow]] = &[
    &[row("FLOWS", ["Flows", "", "", ""], "count", "%d", Need::Nothing,
        Run(|v| Value::Count(v.last.many.as_ref().map_or(1, |many| many.each.len() as u64))),
        "data connections at the same time")],
    &[row("{END}_THREADS", ["{End}", "Threads", "", ""], "count", "%d", Need::Nothing,
        End(|_, end| end.workers().map(|worker_threads| worker_threads.threads).into()),
        "threads that served them at {end}")],
    &[row("{END}_THREAD_CPUS", ["{End}", "Thread", "CPUs", ""], "", "%s", Need::Nothing,
        End(|_, end| thread_cpus(end.workers())),
        "CPUs that {end}'s threads were put on, with blanks between them")],
    &[
        row("FAIRNESS", ["Fairness", "Index", "", ""], "1/n to 1", "%.4f", Need::Nothing,
            Run(|v| many(v, |flows| flows.fairness(v.plan().flow))),
            "fairness of the flows, of what arrived if known: Jain's index, 1 if all did the same amount"),
        row("REMOTE_FAIRNESS", ["Remote", "Fairness", "Index", ""], "1/n to 1", "%.4f", Need::Nothing,
            Run(|v| many(v, |flows| flows.fairness_there)),
            "the same by netserver's counts: in a test that sends, of the data that arrived"),
        row("START_SKEW_USEC", ["Start", "Skew", "Microseconds", ""], "microseconds", "%.0f", Need::Nothing,
            Run(|v| many(v, |flows| flows.skew.map(|seconds| seconds * 1e6))),
            "time from the first operation of the first flow to the first one of the last"),
        row("SETUP_USEC", ["Set-up", "Time", "Microseconds", ""], "microseconds", "%.0f", Need::Nothing,
            Run(|v| many(v, |flows| Some(flows.setup * 1e6))),
            "time in which all data connections were opened"),
    ],
];

/// A figure of many flows.
fn many(v: &View<'_>, pick: impl Fn(&Flows) -> Option<f64>) -> Value {
    let figure = v.last.many.as_ref().and_then(pick);
    figure.into()
}

/// The CPUs of an end's threads; empty if the scheduler chose.
fn thread_cpus(workers: Option<&WorkerThreads>) -> Value {
    let cpus = workers.iter().flat_map(|workers| &workers.cpus);
    let words: Vec<String> = cpus.map(u32::to_string).collect();
    Value::Text(words.join(" "))
}
