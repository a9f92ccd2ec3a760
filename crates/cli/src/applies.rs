//! Options that have a place in a test, for help.

use std::ffi::OsString;
use std::io;

use netperf_arguments::command::Command;
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_model::catalog::tests::TESTS;
use netperf_model::{Flow, Suite, TestId, TestPlan, TestRow, in_force, refusal};

use crate::entry::OptionEntry;
use crate::{CliEnvironment, netperf, resolve};

/// Other options with which one may have a place: none, many flows, a rate, a precision.
const WITH: [&[&str]; 4] = [
    &[],
    &["--flows", "2", "--threads", "2"],
    &["--rate", "1M"],
    &["--until", "1%"],
];
/// The option with which a cipher has a place.
const WITH_A_CIPHER: [&[&str]; 1] = [&["--protocol", "tls"]];

/// The option with which a number of sampled connections has a place.
const WITH_A_SERIES: [&[&str]; 1] = [&["--series", "1s"]];

/// True if an option has a place in a test: the parser takes it, nothing refuses it, and it has
/// an effect.
pub(crate) fn to(row: &TestRow, entry: &OptionEntry) -> bool {
    let told = !matches!(entry.group, Group::About | Group::Compatibility);
    if row.suite == Suite::Control {
        let general = matches!(entry.group, Group::Hosts | Group::About);
        let output = [
            "headers",
            "verbosity",
            "brand",
            "json",
            "json-stream",
            "human",
        ];
        return (general && told && entry.long != "one-port") || output.contains(&entry.long);
    }
    let with = match entry.long {
        "tls-cipher" => WITH_A_CIPHER.as_slice(),
        "series-flows" => &WITH_A_SERIES,
        _ => &WITH,
    };
    if row.id == TestId::Omni {
        return told;
    }
    let (flow, connected) = (row.flow, row.transport.is_connected());
    told && matters(row.id, flow, connected, entry.long)
        && with.iter().any(|with| is_taken(row, entry, with))
}

/// False for options that are taken without an effect, as netperf 2.7 does, over a transport with
/// or without connections.
pub(crate) fn matters(test: TestId, flow: Flow, connected: bool, long: &str) -> bool {
    match long {
        "request-size" | "burst" | "arrival" | "seed" => flow.counts_transactions(),
        "send-size" | "recv-size" => !flow.counts_transactions(),
        "port-range" | "retry-connect" | "fast-open" => flow.connects,
        "connected" | "remote-connected" | "packet-info" | "recv-timeout" => !connected,
        "series-flows" => connected && test != TestId::TcpMss,
        "no-delay" | "congestion" | "tls-cipher" => connected,
        "direction" | "connect" => false,
        "iterations" | "confidence" | "result-only" => resolve::repeats(test),
        "latency" | "live" | "progress" | "series" | "until" => test != TestId::TcpMss,
        _ => true,
    }
}

fn is_taken(row: &TestRow, entry: &OptionEntry, with: &[&str]) -> bool {
    let mut words = vec!["netperf", "--test", row.name];
    words.extend(with);
    let option = format!("--{}", entry.long);
    words.push(&option);
    let value = value(entry);
    words.extend((!entry.value.is_empty()).then_some(value));
    let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
    let environment = CliEnvironment {
        read_file: &|_| Err(io::ErrorKind::NotFound.into()),
        is_selector: &|_| true,
        selectors: &[],
        is_host: &|_| false,
        dump_tcp_info: false,
    };
    let fits =
        |plan: &TestPlan| refusal::check(plan).is_ok() && in_force::without_effect(plan).is_empty();
    matches!(netperf(&argv, &environment).command, Ok(Command::Run(run)) if fits(&run.plan))
}

/// A value that the option takes.
fn value(entry: &OptionEntry) -> &'static str {
    match entry.long {
        "io" => "epoll",
        "iterations" => "3",
        _ => sample(entry.kind),
    }
}

/// A value of a kind.
#[expect(clippy::wildcard_enum_match_arm, reason = "most kinds take a number")]
fn sample(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Pair(first, _) if kind.choices().is_empty() => sample(*first),
        ValueKind::Selection => "all",
        ValueKind::Interface => "lo",
        ValueKind::Host | ValueKind::RemoteHost | ValueKind::HostWithBits => "localhost",
        ValueKind::Test => TESTS.first().map_or("", |row| row.name),
        ValueKind::Tick => "1ms",
        ValueKind::Within(from, _) if from > 2 => "64",
        ValueKind::Within(_, 1) => "1",
        ValueKind::Within(..) => "2",
        ValueKind::Confidence => "99,5",
        ValueKind::Cpus | ValueKind::CpusOfEnds => "0",
        ValueKind::Rate => "1M",
        ValueKind::Size => "1000",
        ValueKind::Ports => "40000-40010",
        ValueKind::Startups => "10:30:100",
        ValueKind::Networks | ValueKind::DataPeers => "10.0.0.0/8",
        _ => kind.choices().first().copied().unwrap_or("1"),
    }
}
