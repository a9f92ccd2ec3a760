//! Interim results: lines printed while a test runs (output.md 10).

use netperf_model::figures::{count, unit_in_force};
use netperf_model::{Format, Interim, ReportPlan, Tally, TestPlan, ThroughputUnit, UnitKind};

use crate::fmt::{Arg, printf};
use crate::format::json;

/// For people: with the classic layouts and with columns.
const HUMAN: &str = "Interim result: %7.2f %s/s over %.3f seconds ending at %d.%s";
/// With comma separated values.
const CSV: &str = "%7.2f,%s/s,%.3f,%d.%s";

/// The work done between two looks at netperf's counts.
///
/// Transactions where the unit counts those, connections for TCP_CC whatever the
/// unit, else bytes: those of both directions of a transaction, those sent, or
/// those received.
#[must_use]
pub fn interim_work(plan: &TestPlan, unit: ThroughputUnit, before: &Tally, after: &Tally) -> f64 {
    let since = |pick: fn(&Tally) -> u64| count(pick(after).saturating_sub(pick(before)));
    let transactions = since(|tally| tally.transactions);
    if plan.test.counts_connections() || unit.kind() == UnitKind::Transactions {
        return transactions;
    }
    if plan.flow.counts_transactions() {
        let size = |size: Option<u32>| f64::from(size.unwrap_or(0));
        return transactions * (size(plan.request) + size(plan.response));
    }
    if plan.flow.duplex.is_some() {
        return since(|tally| tally.bytes_sent) + since(|tally| tally.bytes_received);
    }
    if plan.flow.receives {
        return since(|tally| tally.bytes_received);
    }
    since(|tally| tally.bytes_sent)
}

/// One interim result, the `index`-th of the run, in the format of the report.
#[must_use]
pub fn interim_line(
    plan: &TestPlan,
    report: &ReportPlan,
    index: usize,
    interim: &Interim,
) -> String {
    let unit = if plan.test.counts_connections() {
        ThroughputUnit::Transactions
    } else {
        unit_in_force(plan, report.unit)
    };
    let rate = unit.rate(interim.work, interim.seconds);
    let seconds = i64::try_from(interim.ended.as_secs()).unwrap_or(i64::MAX);
    let millis = format!("{:03}", interim.ended.subsec_millis());
    let args = [
        Arg::Float(rate),
        Arg::Text(unit.label()),
        Arg::Float(interim.seconds),
        Arg::Int(seconds),
        Arg::Text(&millis),
    ];
    match &report.format {
        Format::Classic | Format::Columns(_) => {
            let stage = interim.stage().map(|stage| format!(" ({stage})"));
            printf(HUMAN, &args) + &stage.unwrap_or_default() + "\n"
        }
        Format::Csv(_) => {
            let stage = interim.stage().map(|stage| format!(",{stage}"));
            printf(CSV, &args) + &stage.unwrap_or_default() + "\n"
        }
        Format::Keyval(_) => keyval(index, args, interim.stage()),
        Format::Json | Format::Human | Format::Iperf(_) => String::new(),
        Format::JsonStream => json::interim_event(plan, index, interim),
    }
}

/// Four lines, numbered alike, and a fifth for the stage if there is one.
fn keyval(
    index: usize,
    [rate, unit, length, seconds, millis]: [Arg<'_>; 5],
    stage: Option<String>,
) -> String {
    let line = |name: &str, template: &str, args: &[Arg<'_>]| {
        format!("NETPERF_{name}[{index}]={}\n", printf(template, args))
    };
    line("INTERIM_RESULT", "%.2f", &[rate])
        + &line("UNITS", "%s/s", &[unit])
        + &line("INTERVAL", "%.3f", &[length])
        + &line("ENDING", "%d.%s", &[seconds, millis])
        + &stage.map_or_else(String::new, |stage| {
            line("STAGE", "%s", &[Arg::Text(&stage)])
        })
}
