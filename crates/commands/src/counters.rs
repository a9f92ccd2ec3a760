//! `netperf counters`: what the counters of a host counted between two snapshots.

use std::process::ExitCode;

use netperf_cli::CountersArgs;
use netperf_measure::host_counters::{
    CounterChange, CounterDifference, CounterSnapshot, CounterState, parsed, snapshot,
};
use netperf_program::output::{FAILED, Failure, INVALID, err, out};
use netperf_text::columns::aligned;
use netperf_text::escape::line;
use serde_json::{Value, json};

use super::files;

/// Name of the document.
const SCHEMA: &str = "netperf-counters-1";

fn failure(problem: impl std::fmt::Display) -> Failure {
    Failure::stderr(INVALID, format_args!("netperf counters: {problem}"))
}

/// Runs `netperf counters`.
pub(super) fn run(args: &CountersArgs) -> Result<ExitCode, Failure> {
    let before = args.before.as_deref().map(read).transpose()?;
    let after = match &args.after {
        Some(name) => read(name)?,
        None => snapshot().map_err(|error| {
            Failure::stderr(
                FAILED,
                format_args!("netperf counters: cannot read /proc/net: {error}"),
            )
        })?,
    };
    let Some(before) = before else {
        out(&shown(&after, args.json));
        return Ok(ExitCode::SUCCESS);
    };
    let name = line(args.before.as_deref().unwrap_or_default());
    let found = CounterDifference::between(&before, &after)
        .map_err(|why| failure(format_args!("{name} {why}")))?;
    for note in notes(&found) {
        err(&format!("netperf counters: {note}\n"));
    }
    let changes = found.changes.iter();
    let printed: Vec<&CounterChange> = changes
        .filter(|change| args.all || change.difference != Some(0))
        .collect();
    if args.json {
        out(&format!("{:#}\n", document(&found, &printed)));
    } else {
        out(&table(&found, &printed));
    }
    Ok(ExitCode::SUCCESS)
}

fn read(name: &str) -> Result<CounterSnapshot, Failure> {
    let bytes = files::read(name).map_err(failure)?;
    let text = String::from_utf8_lossy(&bytes);
    parsed(&text).map_err(|error| failure(format_args!("{}: {error}", line(name))))
}

/// One snapshot.
fn shown(taken: &CounterSnapshot, as_json: bool) -> String {
    if !as_json {
        return taken.text();
    }
    let counters = taken.counters.iter();
    let counters = counters.map(|one| json!([one.section, one.name, one.value]));
    let origin = taken.origin.as_ref();
    let document = json!({
        "schema": SCHEMA,
        "time_unix_seconds": origin.map(|origin| origin.time),
        "counters": counters.collect::<Vec<Value>>(),
    });
    format!("{document:#}\n")
}

/// Lines about counters without a difference.
fn notes(found: &CounterDifference) -> Vec<String> {
    let kinds = [
        (
            CounterState::Less,
            "less than before, because they were reset or are no counters",
        ),
        (CounterState::OnlyBefore, "only in the earlier snapshot"),
        (CounterState::OnlyAfter, "only in the later snapshot"),
    ];
    let note = |(state, what)| {
        let mut those = found.changes.iter().filter(|change| change.state == state);
        let first = those.next()?;
        let name = line(&format!("{} {}", first.section, first.name));
        Some(match those.count() {
            0 => format!("no difference of {name}: {what}"),
            more => format!("no difference of {name} and {more} more: {what}"),
        })
    };
    kinds.into_iter().filter_map(note).collect()
}

/// The counters with their differences, below the names of their sections.
fn table(found: &CounterDifference, printed: &[&CounterChange]) -> String {
    let seconds = found.seconds.filter(|seconds| *seconds > 0.0);
    let mut text = match seconds {
        Some(seconds) => format!("{seconds:.3} s between the snapshots\n"),
        None => String::new(),
    };
    if printed.is_empty() {
        return text + "No counter changed.\n";
    }
    let mut head = vec!["Counter".to_owned(), "Difference".to_owned()];
    head.extend(seconds.map(|_| "Per second".to_owned()));
    let mut rows = vec![head];
    let mut section = None;
    for change in printed {
        if section != Some(&change.section) {
            rows.push(vec![line(&change.section)]);
            section = Some(&change.section);
        }
        let mut row = vec![format!("  {}", line(&change.name)), difference(change)];
        row.extend(
            seconds
                .and_then(|seconds| rate(change, seconds))
                .map(|rate| format!("{rate:.1}")),
        );
        rows.push(row);
    }
    text.push_str(&aligned(&rows, &[1, 2]));
    text
}

fn difference(change: &CounterChange) -> String {
    match (change.difference, change.state) {
        (Some(counted), CounterState::Wrapped) => format!("{counted} (wrapped)"),
        (Some(counted), _) => counted.to_string(),
        (None, CounterState::OnlyBefore) => "gone".to_owned(),
        (None, CounterState::OnlyAfter) => "new".to_owned(),
        (None, _) => "less".to_owned(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate")]
fn rate(change: &CounterChange, seconds: f64) -> Option<f64> {
    Some(change.difference? as f64 / seconds)
}

fn document(found: &CounterDifference, printed: &[&CounterChange]) -> Value {
    let seconds = found.seconds.filter(|seconds| *seconds > 0.0);
    let counters = printed.iter().map(|change| {
        json!({
            "section": change.section,
            "name": change.name,
            "before": change.before,
            "after": change.after,
            "state": state(change.state),
            "difference": change.difference,
            "per_second": seconds.and_then(|seconds| rate(change, seconds)),
        })
    });
    json!({
        "schema": SCHEMA,
        "elapsed_seconds": found.seconds,
        "counters": counters.collect::<Vec<Value>>(),
    })
}

const fn state(state: CounterState) -> &'static str {
    match state {
        CounterState::Counted => "counted",
        CounterState::Wrapped => "wrapped",
        CounterState::Less => "less",
        CounterState::OnlyAfter => "new",
        CounterState::OnlyBefore => "gone",
    }
}
