//! Counters for Prometheus (text format 0.0.4).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::session_log::{ProcessEnd, SessionLog};

/// Counters since the start of netserver.
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics {
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
    /// Local failures, by operation.
    errors: BTreeMap<String, u64>,
}

/// Current state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gauges {
    /// Running sessions.
    pub(super) sessions: usize,
    /// Pending connections.
    pub(super) waiting: usize,
    /// True after a termination signal.
    pub(super) draining: bool,
    /// Dropped log lines.
    pub(super) lines_lost: u64,
}

impl Metrics {
    /// Counts a finished session.
    pub(super) fn enter(&mut self, session_log: &SessionLog, end: ProcessEnd) {
        let kind = session_log.kind().unwrap_or_else(|| "none".to_owned());
        let key = (kind, session_log.word(end));
        count(self.sessions.entry(key).or_default(), 1);
        let [ran, refused, failed] = &mut self.tests;
        count(ran, session_log.ran);
        count(refused, session_log.refused);
        count(failed, session_log.failed);
        count(&mut self.bytes.0, session_log.bytes.0);
        count(&mut self.bytes.1, session_log.bytes.1);
    }

    /// Counts a connection that ended before its first message was complete.
    pub(super) fn unspoken(&mut self, why: &str) {
        count(self.unspoken.entry(why.to_owned()).or_default(), 1);
    }

    /// Counts a client refused by the policy.
    pub(super) fn denied(&mut self, why: &str) {
        count(self.denied.entry(why.to_owned()).or_default(), 1);
    }

    /// Counts a local failure.
    pub(super) fn failed(&mut self, what: &str) {
        count(self.errors.entry(what.to_owned()).or_default(), 1);
    }

    /// All metrics in text format.
    pub(super) fn text(&self, now: Gauges) -> String {
        let mut page = MetricsText::default();
        page.family("netserver_sessions_total", "counter", "Finished sessions.");
        for ((kind, end), number) in &self.sessions {
            page.line(
                "netserver_sessions_total",
                &[("kind", kind), ("end", end)],
                *number,
            );
        }
        page.family("netserver_tests_total", "counter", "Tests by result.");
        for (result, number) in ["ran", "refused", "failed"].iter().zip(self.tests) {
            page.line("netserver_tests_total", &[("result", result)], number);
        }
        page.family(
            "netserver_bytes_total",
            "counter",
            "Test data of finished sessions.",
        );
        for (way, number) in [("sent", self.bytes.0), ("received", self.bytes.1)] {
            page.line("netserver_bytes_total", &[("direction", way)], number);
        }
        page.counters(
            "netserver_connections_unspoken_total",
            "Connections that ended before their first message was complete.",
            ("reason", &self.unspoken),
        );
        page.counters(
            "netserver_connections_denied_total",
            "Clients refused by the policy.",
            ("reason", &self.denied),
        );
        page.counters(
            "netserver_errors_total",
            "Local failures of netserver.",
            ("what", &self.errors),
        );
        let size = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        for (name, kind, help, number) in [
            (
                "netserver_sessions_active",
                "gauge",
                "Running sessions.",
                size(now.sessions),
            ),
            (
                "netserver_connections_waiting",
                "gauge",
                "Connections that wait for their first message or for a session.",
                size(now.waiting),
            ),
            (
                "netserver_draining",
                "gauge",
                "1 after a termination signal.",
                u64::from(now.draining),
            ),
            (
                "netserver_log_lines_lost_total",
                "counter",
                "Dropped log lines.",
                now.lines_lost,
            ),
        ] {
            page.family(name, kind, help);
            page.line(name, &[], number);
        }
        page.0
    }
}

fn count(counter: &mut u64, more: u64) {
    *counter = counter.saturating_add(more);
}

#[derive(Default)]
struct MetricsText(String);

impl MetricsText {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    /// Writes the counters of one family, distinguished by a label.
    fn counters(&mut self, name: &str, help: &str, (label, of): (&str, &BTreeMap<String, u64>)) {
        self.family(name, "counter", help);
        for (value, number) in of {
            self.line(name, &[(label, value)], *number);
        }
    }

    /// Writes one sample. Label values are fixed words and need no escapes.
    fn line(&mut self, name: &str, labels: &[(&str, &str)], number: u64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{value}\""))
            .collect();
        if labels.is_empty() {
            self.write(format_args!("{name} {number}\n"));
        } else {
            self.write(format_args!("{name}{{{}}} {number}\n", labels.join(",")));
        }
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        let written = self.0.write_fmt(text);
        // Writing to a string cannot fail.
        debug_assert!(written.is_ok());
    }
}
