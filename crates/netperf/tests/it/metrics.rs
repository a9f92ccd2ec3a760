//! Metrics of netserver after refusals and results, and the dashboard that shows them.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use netperf_testkit::server::free_port;
use netperf_testkit::{Finished, Invocation, Netserver, Place, Scratch, eventually, ours};

const PATIENCE: Duration = Duration::from_secs(60);

/// A netserver with metrics.
struct Target {
    server: Netserver,
    metrics: u16,
}

impl Target {
    fn new(options: &[&str]) -> Self {
        let metrics = free_port();
        let at = metrics.to_string();
        let options = [&["-D", "--metrics", &at], options].concat();
        let server = Netserver::start_with(&ours!(), &Place::Here, &options, &[]);
        Self { server, metrics }
    }

    fn client(&self, options: &str) -> Finished {
        let port = self.server.port().to_string();
        Invocation::new(&ours!().netperf)
            .args(["-H", "127.0.0.1", "-p", &port])
            .args(options.split_whitespace())
            .run()
    }

    fn page(&self) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.metrics)).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        let request = b"GET /metrics HTTP/1.1\r\n\r\n";
        stream.write_all(request).expect("space for a request");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("an answer");
        page
    }

    /// Waits until the page has this line.
    #[track_caller]
    fn counts(&self, line: &str) -> String {
        let mut page = String::new();
        let counted = eventually(PATIENCE, || {
            page = self.page();
            page.contains(&format!("{line}\n"))
        });
        assert!(counted, "{line}: {page}");
        page
    }

    /// Runs a test that is refused, and waits for the counter.
    #[track_caller]
    fn refuses(&self, options: &str, by: &str, reason: &str) {
        let run = self.client(options);
        assert!(!run.status.success(), "{}", run.account());
        let labels = format!("by=\"{by}\",reason=\"{reason}\"");
        self.counts(&format!("netserver_refusals_total{{{labels}}} 1"));
    }
}

/// A private file with a key.
fn key_file(folder: &Scratch, name: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.path().join(name);
    let key = format!("0123456789abcdef0123456789abcde{:x}", name.len());
    std::fs::write(&path, key).expect("a key");
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&path, private).expect("a private file");
    path.to_str().expect("a name").to_owned()
}

#[test]
fn refusals_by_key_are_counted() {
    let folder = Scratch::new();
    let (key, other) = (key_file(&folder, "key"), key_file(&folder, "other"));
    let target = Target::new(&["--key-file", &key]);
    target.refuses("-l 1", "key", "key-required");
    target.refuses(&format!("-l 1 --key-file {other}"), "key", "wrong-key");
    let target = Target::new(&["-Z", "sesame"]);
    target.refuses("-t TCP_RR -l 1 -Z mustard", "key", "passphrase");
}

#[test]
fn refusals_by_policy_are_counted() {
    let denied = Target::new(&["--deny", "127.0.0.0/8"]);
    denied.refuses("-l 1", "policy", "network");
    let target = Target::new(&["--one-port", "tcp"]);
    target.refuses("-t UDP_RR -l 1 --one-port", "policy", "one-port");
}

#[test]
fn refusals_by_limit_are_counted() {
    let target = Target::new(&["--max-test-time", "1"]);
    target.refuses("-l 2", "limit", "test-time");
    let full = Target::new(&["--max-sessions", "1"]);
    let port = full.server.port().to_string();
    let running = Invocation::new(&ours!().netperf)
        .args(["-H", "127.0.0.1", "-p", &port, "-t", "TCP_RR", "-l", "60"])
        .spawn();
    full.counts("netserver_sessions_active 1");
    full.refuses("-l 1", "limit", "sessions");
    drop(running);
    let one = Target::new(&["--max-peer-sessions", "1"]);
    let port = one.server.port().to_string();
    let running = Invocation::new(&ours!().netperf)
        .args(["-H", "127.0.0.1", "-p", &port, "-t", "TCP_RR", "-l", "60"])
        .spawn();
    one.counts("netserver_sessions_active 1");
    one.refuses("-l 1", "limit", "peer-sessions");
    drop(running);
    let slow = Target::new(&["--max-send-rate", "1M"]);
    slow.refuses("-t TCP_CRR -l 1", "limit", "send-rate");
}

#[test]
fn results_are_counted_in_histograms() {
    let target = Target::new(&[]);
    for test in ["TCP_RR -l -50", "TCP_RR -l -50", "TCP_STREAM -l -1M"] {
        target.client(&format!("-t {test}")).expect_clean();
    }
    target.counts("netserver_transactions_per_second_count{test=\"tcp_rr\"} 2");
    let page = target.counts("netserver_throughput_bits_per_second_count{test=\"tcp_stream\"} 1");
    let all = "netserver_transactions_per_second_bucket{test=\"tcp_rr\",le=\"+Inf\"} 2\n";
    assert!(page.contains(all), "{page}");
    let none = "netserver_transactions_per_second_bucket{test=\"tcp_rr\",le=\"1\"} 0\n";
    assert!(page.contains(none), "{page}");
    let version = format!(
        "netperf_build_info{{version=\"{}\",",
        env!("CARGO_PKG_VERSION")
    );
    assert!(page.contains(&version), "{page}");
}

/// Names of metrics in an expression.
fn metrics_in(expression: &str) -> impl Iterator<Item = &str> {
    expression
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with("netserver_") || word.starts_with("netperf_"))
}

/// All expressions in a document.
fn expressions_in(value: &serde_json::Value, found: &mut Vec<String>) {
    if let Some(fields) = value.as_object() {
        let expression = fields.get("expr").and_then(serde_json::Value::as_str);
        found.extend(expression.map(str::to_owned));
        fields
            .values()
            .for_each(|field| expressions_in(field, found));
    }
    let items = value.as_array().into_iter().flatten();
    items.for_each(|item| expressions_in(item, found));
}

#[test]
fn the_dashboard_shows_all_metrics_and_no_others() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../dist/grafana/netserver.json"
    );
    let board = std::fs::read_to_string(path).expect("the dashboard");
    let board: serde_json::Value = serde_json::from_str(&board).expect("JSON");
    let (mut expressions, page) = (Vec::new(), Target::new(&[]).page());
    expressions_in(&board, &mut expressions);
    let shown: BTreeSet<&str> = expressions
        .iter()
        .flat_map(|expression| metrics_in(expression))
        .map(|name| name.strip_suffix("_bucket").unwrap_or(name))
        .collect();
    let served: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    assert_eq!(shown, served);
    for name in served {
        let documented = include_str!("../../../../docs/manual/src/operations.md");
        assert!(documented.contains(name), "{name} is not in the manual");
    }
}
