//! flent, the program most people see netperf through, runs its tests with our
//! programs and with mixed pairs over a cable of 20 Mbit/s: without a warning, and
//! with every series of data there.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use netperf_testkit::process::output;
use netperf_testkit::{
    Finished, Invocation, Netserver, Programs, Scratch, TwoHosts, machine, note, ours, peers,
    require,
};
use serde_json::Value;

/// Points that each series must have at least: a second's worth.
const FEWEST: usize = 5;

/// One test of flent's, or one in its language.
pub(crate) struct Case {
    name: &'static str,
    /// Text of a test that flent does not have.
    text: Option<&'static str>,
    options: &'static [&'static str],
    series: &'static [&'static str],
}

/// Eight streams over TCP and four pings, at the same time.
pub(crate) const RRUL_BE: Case = Case {
    name: "rrul_be",
    text: None,
    options: &[],
    series: &[
        "TCP upload BE",
        "TCP upload BE2",
        "TCP upload BE3",
        "TCP upload BE4",
        "TCP upload avg",
        "TCP upload sum",
        "TCP download BE",
        "TCP download BE2",
        "TCP download BE3",
        "TCP download BE4",
        "TCP download avg",
        "TCP download sum",
        "TCP totals",
        "Ping (ms) UDP BE1",
        "Ping (ms) UDP BE2",
        "Ping (ms) UDP BE3",
        "Ping (ms) ICMP",
        "Ping (ms) avg",
    ],
};

const CASES: [Case; 6] = [
    Case {
        name: "tcp_download",
        text: None,
        options: &[],
        series: &["TCP download", "Ping (ms) ICMP"],
    },
    Case {
        name: "tcp_upload",
        text: None,
        options: &[],
        series: &["TCP upload", "Ping (ms) ICMP"],
    },
    RRUL_BE,
    Case {
        name: "tcp_nup",
        text: None,
        options: &["--test-parameter", "upload_streams=3"],
        series: &[
            "TCP upload::1",
            "TCP upload::2",
            "TCP upload::3",
            "TCP upload avg",
            "TCP upload sum",
            "Ping (ms) ICMP",
        ],
    },
    Case {
        name: "udp_flood_netperf",
        text: Some(include_str!("../flent_tests/udp_flood_netperf.conf")),
        options: &[],
        series: &["UDP upload", "Ping (ms) ICMP"],
    },
    Case {
        name: "tcp_rr_netperf",
        text: Some(include_str!("../flent_tests/tcp_rr_netperf.conf")),
        options: &[],
        series: &["TCP RR", "Ping (ms) UDP", "Ping (ms) ICMP"],
    },
];

/// Tests of flent's with this client and this server, each on a separate cable.
fn measures_with(client: &Programs, server: &Programs, cases: &[Case]) {
    let Some(flent) = peers::flent() else { return };
    if !require::root() {
        return;
    }
    let _slot = machine::slot();
    let failures: Vec<String> = std::thread::scope(|scope| {
        let flent = &flent;
        let one = |case| scope.spawn(move || measures(flent, case, client, server));
        let runs: Vec<_> = cases.iter().map(one).collect();
        let ended = runs.into_iter().map(|run| run.join().expect("a verdict"));
        ended.filter_map(Result::err).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn measures(flent: &Path, case: &Case, client: &Programs, server: &Programs) -> Result<(), String> {
    let hosts = TwoHosts::new();
    hosts.limit("20mbit");
    let netserver = Netserver::start(server, &hosts.server());
    let folder = Scratch::new();
    let to = ["-H", TwoHosts::SERVER_V4, "-l", "3"];
    let finished = command(flent, case, client, &folder, netserver.port())
        .args(to)
        .within(&hosts.client())
        .run();
    note(&finished.account());
    quiet(&finished)?;
    complete(case, folder.path(), FEWEST).map_err(|why| format!("{why}\n{}", finished.account()))
}

/// flent, which finds netperf by the search path; without the server and the length.
pub(crate) fn command(
    flent: &Path,
    case: &Case,
    client: &Programs,
    folder: &Scratch,
    port: u16,
) -> Invocation {
    let folder = folder.path();
    symlink(&client.netperf, folder.join("netperf")).expect("a link");
    let mut test = PathBuf::from(case.name);
    if let Some(text) = case.text {
        // flent adds the ending itself.
        test = folder.join(case.name);
        std::fs::write(test.with_extension("conf"), text).expect("a test of flent's");
    }
    let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", folder.display());
    Invocation::new(flent)
        .args(["-4", "-d", "1", "-s", "0.2"])
        .args(["--netperf-control-port", &port.to_string()])
        .args(case.options)
        .arg("-D")
        .arg(folder)
        .arg(test)
        .env("PATH", path)
        .env("HOME", folder)
        .patience(Duration::from_secs(90))
}

/// No warning, no error, no failure.
pub(crate) fn quiet(finished: &Finished) -> Result<(), String> {
    let said = format!("{}{}", finished.stdout, finished.stderr).to_lowercase();
    let loud = ["warning", "error", "exception", "traceback"];
    if finished.status.success() && !loud.iter().any(|word| said.contains(word)) {
        Ok(())
    } else {
        Err(format!("flent is not content:\n{}", finished.account()))
    }
}

/// Every series has at least so many points.
pub(crate) fn complete(case: &Case, folder: &Path, fewest: usize) -> Result<(), String> {
    let points = points(folder);
    let short = |series: &&&str| points.get(**series).is_none_or(|count| *count < fewest);
    let missing: Vec<_> = case.series.iter().filter(short).collect();
    let whole = missing.is_empty() && points.len() == case.series.len();
    whole
        .then_some(())
        .ok_or_else(|| format!("{}: {missing:?} of {points:?}", case.name))
}

/// Number of points of each series in the file of flent.
fn points(folder: &Path) -> BTreeMap<String, usize> {
    let data = data_file(folder);
    let series = data["results"].as_object().expect("series");
    let count = |values: &Value| {
        let values = values.as_array().expect("points");
        values.iter().filter(|value| !value.is_null()).count()
    };
    series
        .iter()
        .map(|(name, values)| (name.clone(), count(values)))
        .collect()
}

fn data_file(folder: &Path) -> Value {
    let files = std::fs::read_dir(folder).expect("a folder");
    let mut paths = files.map(|file| file.expect("a file").path());
    let packed = paths
        .find(|path| path.extension().is_some_and(|ending| ending == "gz"))
        .expect("a data file of flent's");
    let unpacked = output(Command::new("gzip").arg("-dc").arg(packed)).expect("gzip");
    assert!(unpacked.status.success(), "{unpacked:?}");
    let text = String::from_utf8(unpacked.stdout).expect("text");
    serde_json::from_str(&text).expect("JSON")
}

/// Eight streams at the same time.
#[test]
#[ignore = "nightly: a run of flent of 4 s of processor time"]
fn flent_is_content_with_our_pair_netns() {
    measures_with(&ours!(), &ours!(), &[RRUL_BE]);
}

#[test]
fn flent_is_content_with_our_client_and_a_stock_server_netns() {
    if let Some(stock) = Programs::stock() {
        measures_with(&ours!(), &stock, &CASES[..1]);
    }
}

#[test]
#[ignore = "nightly: six tests of flent with each of three pairs, of some 6 s of processor time each"]
fn flent_is_content_with_all_pairs_in_all_its_tests_netns() {
    measures_with(&ours!(), &ours!(), &CASES);
    if let Some(stock) = Programs::stock() {
        measures_with(&ours!(), &stock, &CASES);
        measures_with(&stock, &ours!(), &CASES);
    }
}

/// The test of flent that runs iperf. Its others pass lists of Python to iperf, which no version
/// takes.
const RRUL_BE_IPERF: Case = Case {
    name: "rrul_be_iperf",
    ..RRUL_BE
};

/// A server of iperf 2 at its usual port: ours, or the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IperfServer {
    Ours,
    Stock,
}

const IPERF: &str = "/usr/bin/iperf";

/// flent with the link `iperf` against a server of iperf 2 on a separate cable.
fn measures_with_iperf(flent: &Path, server: IperfServer) -> Result<(), String> {
    let case = &RRUL_BE_IPERF;
    let hosts = TwoHosts::new();
    hosts.limit("20mbit");
    let options: &[&str] = match server {
        IperfServer::Ours => &["-D", "--iperf2"],
        IperfServer::Stock => &["-D"],
    };
    let netserver = Netserver::start_with(&ours!(), &hosts.server(), options, &[]);
    let _running = (server == IperfServer::Stock).then(|| {
        let mut running = Invocation::new(Path::new("/usr/bin/stdbuf"))
            .args(["-oL", IPERF, "-s"])
            .within(&hosts.server())
            .patience(Duration::from_secs(90))
            .spawn();
        assert!(running.prints("listening", Duration::from_secs(10)));
        running
    });
    let folder = Scratch::new();
    symlink(&ours!().netperf, folder.path().join("iperf")).expect("a link");
    let finished = command(flent, case, &ours!(), &folder, netserver.port())
        .args(["-H", TwoHosts::SERVER_V4, "-l", "3"])
        .within(&hosts.client())
        .run();
    note(&finished.account());
    quiet(&finished)?;
    complete(case, folder.path(), FEWEST)
        .map_err(|why| format!("{server:?} {why}\n{}", finished.account()))
}

#[test]
#[ignore = "nightly: a run of flent of 4 s of processor time"]
fn flent_runs_iperf_with_the_link_and_our_server_netns() {
    let Some(flent) = peers::flent() else { return };
    if !require::root() {
        return;
    }
    let _slot = machine::slot();
    measures_with_iperf(&flent, IperfServer::Ours).expect("all series of data");
}

/// The original has its own race with streams that begin at the same time.
#[test]
#[ignore = "nightly: the server of iperf 2, which hangs at times on a busy machine"]
fn flent_runs_iperf_with_the_link_and_servers_of_both_kinds_netns() {
    let Some(flent) = peers::flent() else { return };
    if !require::root() {
        return;
    }
    let stock = require::require(Path::new(IPERF).exists(), IPERF, "install Debian's iperf");
    let _machine = machine::whole();
    let mut failures = Vec::new();
    for server in [IperfServer::Ours, IperfServer::Stock] {
        if server == IperfServer::Ours || stock {
            failures.extend(measures_with_iperf(&flent, server).err());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
