//! Counters for Prometheus (text format 0.0.4).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::histogram::ResultHistogram;
use super::record::ResultUnit;
use super::session_log::{ProcessEnd, SessionLog};

/// Counters since the start of netserver.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Finished sessions by kind of the last test and end.
    sessions: BTreeMap<(String, &'static str), u64>,
    /// Tests that completed, were refused, or failed.
    tests: [u64; 3],
    /// Bytes sent and received by finished sessions.
    bytes: (u64, u64),
    /// Connections that never became a session, by reason.
    unspoken: BTreeMap<String, u64>,
    /// Clients refused by the policy, by reason.
    denied: BTreeMap<String, u64>,
    /// All refusals by the policy, of clients and of tests, by reason.
    refusals: BTreeMap<&'static str, u64>,
    /// Results of completed tests, by kind and unit.
    results: BTreeMap<(String, ResultUnit), ResultHistogram>,
    /// Local failures, by operation.
    errors: BTreeMap<String, u64>,
}

/// Current state.
#[derive(Clone, Copy, Debug)]
pub struct Gauges {
    /// Running sessions.
    pub sessions: usize,
    /// Pending connections.
    pub waiting: usize,
    /// True after a termination signal.
    pub draining: bool,
    /// Dropped log lines.
    pub lines_lost: u64,
}

impl Metrics {
    /// Counts a finished session.
    pub fn enter(&mut self, session_log: &SessionLog, end: ProcessEnd) {
        let kind = session_log.kind().unwrap_or_else(|| "none".to_owned());
        let key = (kind, session_log.word(end));
        count(self.sessions.entry(key).or_default(), 1);
        let [ran, refused, failed] = &mut self.tests;
        count(ran, session_log.ran);
        count(refused, session_log.refused);
        count(failed, session_log.failed);
        count(&mut self.bytes.0, session_log.bytes.0);
        count(&mut self.bytes.1, session_log.bytes.1);
        for (word, number) in &session_log.refusals {
            count(self.refusals.entry(*word).or_default(), *number);
        }
        for (kind, results) in &session_log.results {
            self.results.entry(kind.clone()).or_default().merge(results);
        }
    }

    /// Counts a connection that ended before its first message was complete.
    pub fn unspoken(&mut self, why: &str) {
        count(self.unspoken.entry(why.to_owned()).or_default(), 1);
    }

    /// Counts a client refused by the policy.
    pub fn denied(&mut self, why: &'static str) {
        count(self.refusals.entry(why).or_default(), 1);
        count(self.denied.entry(why.to_owned()).or_default(), 1);
    }

    /// Counts a local failure.
    pub fn failed(&mut self, what: &str) {
        count(self.errors.entry(what.to_owned()).or_default(), 1);
    }

    /// All metrics in text format.
    pub fn text(&self, now: Gauges) -> String {
        let mut page = MetricsText::default();
        page.family("netperf_build_info", "gauge", "Version of this program.");
        page.sample(
            &[
                ("version", env!("CARGO_PKG_VERSION")),
                ("arch", std::env::consts::ARCH),
                ("os", std::env::consts::OS),
            ],
            1,
        );
        page.family("netserver_sessions_total", "counter", "Finished sessions.");
        for ((kind, end), number) in &self.sessions {
            page.sample(&[("kind", kind), ("end", end)], *number);
        }
        page.family("netserver_tests_total", "counter", "Tests by result.");
        for (result, number) in ["ran", "refused", "failed"].iter().zip(self.tests) {
            page.sample(&[("result", result)], number);
        }
        let help = "Test data of finished sessions.";
        page.family("netserver_bytes_total", "counter", help);
        for (way, number) in [("sent", self.bytes.0), ("received", self.bytes.1)] {
            page.sample(&[("direction", way)], number);
        }
        let help = "Connections that ended before their first message was complete.";
        page.family("netserver_connections_unspoken_total", "counter", help);
        page.samples("reason", &self.unspoken);
        let help = "Clients refused by the policy.";
        page.family("netserver_connections_denied_total", "counter", help);
        page.samples("reason", &self.denied);
        let help = "Clients and tests refused by the policy.";
        page.family("netserver_refusals_total", "counter", help);
        for (reason, number) in &self.refusals {
            page.sample(&[("by", refused_by(reason)), ("reason", reason)], *number);
        }
        self.histograms(&mut page);
        let help = "Local failures of netserver.";
        page.family("netserver_errors_total", "counter", help);
        page.samples("what", &self.errors);
        let size = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        page.family("netserver_sessions_active", "gauge", "Running sessions.");
        page.sample(&[], size(now.sessions));
        let help = "Connections that wait for their first message or for a session.";
        page.family("netserver_connections_waiting", "gauge", help);
        page.sample(&[], size(now.waiting));
        let help = "1 after a termination signal.";
        page.family("netserver_draining", "gauge", help);
        page.sample(&[], now.draining.into());
        let help = "Dropped log lines.";
        page.family("netserver_log_lines_lost_total", "counter", help);
        page.sample(&[], now.lines_lost);
        page.text
    }

    /// Histograms of results.
    fn histograms(&self, page: &mut MetricsText) {
        for (unit, name, help) in [
            (
                ResultUnit::Megabits,
                "netserver_throughput_bits_per_second",
                "Throughput of completed bulk tests.",
            ),
            (
                ResultUnit::Transactions,
                "netserver_transactions_per_second",
                "Transaction rate of completed tests.",
            ),
        ] {
            page.family(name, "histogram", help);
            let results = self.results.iter().filter(|((_, of), _)| *of == unit);
            for ((kind, _), results) in results {
                page.histogram(kind, unit.bounds(), results);
            }
        }
    }
}

/// Kind of the rule that refuses for this reason.
fn refused_by(reason: &str) -> &'static str {
    match reason {
        "passphrase" | "key-required" | "wrong-key" | "key-role" | "startups" | "penalty" => "key",
        "key-sessions" | "session-rate" | "flows" | "threads" | "memory" | "ports" => "limit",
        "sessions" | "peer-sessions" | "busy" | "test-time" | "send-rate" | "data-ports" => "limit",
        _ => "policy",
    }
}

fn count(counter: &mut u64, more: u64) {
    *counter = counter.saturating_add(more);
}

#[derive(Default)]
struct MetricsText {
    text: String,
    /// Name of the current family.
    name: &'static str,
}

impl MetricsText {
    /// Begins a family of samples.
    fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// Writes a sample for each value of a label.
    fn samples(&mut self, label: &str, of: &BTreeMap<String, u64>) {
        for (value, number) in of {
            self.sample(&[(label, value)], *number);
        }
    }

    /// Writes the samples of a histogram.
    fn histogram(&mut self, kind: &str, bounds: &[f64], results: &ResultHistogram) {
        let name = self.name;
        let bounds = bounds.iter().map(ToString::to_string);
        let last = ("+Inf".to_owned(), results.count);
        for (bound, number) in bounds.zip(results.cumulative()).chain([last]) {
            _ = writeln!(
                self.text,
                "{name}_bucket{{test=\"{kind}\",le=\"{bound}\"}} {number}"
            );
        }
        _ = writeln!(self.text, "{name}_sum{{test=\"{kind}\"}} {}", results.sum);
        _ = writeln!(
            self.text,
            "{name}_count{{test=\"{kind}\"}} {}",
            results.count
        );
    }

    /// Writes one sample. Label values are fixed words and need no escapes.
    fn sample(&mut self, labels: &[(&str, &str)], number: u64) {
        let labels = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{value}\""));
        let labels = labels.collect::<Vec<_>>().join(",");
        let name = self.name;
        _ = if labels.is_empty() {
            writeln!(self.text, "{name} {number}")
        } else {
            writeln!(self.text, "{name}{{{labels}}} {number}")
        };
    }
}
