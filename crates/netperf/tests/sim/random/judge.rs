//! Requirements of every run.

use std::time::Duration;

use netperf_testkit::sim::{Carried, SimEnd, SimFinished, SimRun};
use netperf_testkit::{SimLink, Values};
use serde_json::Value;

use super::draw::{Case, Pairing, Tool};

/// A run that is interrupted ends within this time.
const PATIENCE_OF_USER: Duration = Duration::from_secs(15);
/// Measured times and rates may be off by this part.
const MARGIN: f64 = 1.03;
/// Time by which a receiver may be late, seconds.
const WAKES: f64 = 0.02;

/// Faults of a run.
pub(super) fn complaints(case: &Case, run: &SimRun) -> Vec<String> {
    let client = run.of("client");
    let mut list = Vec::new();
    if case.pairing != Pairing::OurServer {
        list.extend(end_in_time(case, client));
    }
    list.extend(panics(run));
    if case.pairing != Pairing::OurClient && case.server.signal.is_none() {
        list.extend(server_is_alive(run.of("server")));
    }
    if case.leaves_nothing() && !run.left_at("server").is_empty() {
        list.push(format!("left at the server: {:?}", run.left_at("server")));
    }
    if case.pairing == Pairing::OurServer {
        list.extend(serves(case, client));
    } else {
        list.extend(status(case, client));
    }
    let (own, other) = (run.carried("client"), run.carried("server"));
    // Counts that random bytes say are anything.
    let has_garbage = case
        .peer
        .as_ref()
        .is_some_and(|peer| peer.fault == "garbage");
    match case.tool {
        _ if has_garbage => {}
        Tool::Netperf => list.extend(netperf_figures(case, client, own, other)),
        Tool::Iperf3 => list.extend(iperf3_figures(case, client)),
        Tool::Iperf2 => list.extend(iperf2_figures(case, client, own)),
    }
    list
}

fn end_in_time(case: &Case, client: &SimFinished) -> Option<String> {
    let start = Duration::from_secs(1);
    let end = start + Duration::from_secs(case.length.into()) + case.patience();
    let end = match case.client.signal {
        Some((at, _)) => end.min(at + PATIENCE_OF_USER),
        None => end,
    };
    match client.end.at() {
        Some(at) if at <= end => None,
        Some(at) => Some(format!("it ended at {at:?}, later than {end:?}")),
        None => Some("it did not end".to_owned()),
    }
}

fn panics(run: &SimRun) -> Option<String> {
    let account = run.account();
    account
        .contains("panicked")
        .then(|| format!("a panic: {account}"))
}

fn server_is_alive(server: &SimFinished) -> Option<String> {
    let alive = server.end == SimEnd::Running;
    (!alive).then(|| format!("the server ended: {server:?}"))
}

/// The status is 0, and where it is not, a message says why, and the original has no result either.
fn status(case: &Case, client: &SimFinished) -> Option<String> {
    let failed = match client.end {
        SimEnd::Status(0, _) => return None,
        // The program had not yet caught it, or was asked again.
        SimEnd::Signal(_) if case.client.signal.is_some() => return None,
        // Its server is gone, and it says so.
        SimEnd::Status(_, _) if case.server.signal.is_some() && says_something(client) => {
            return None;
        }
        // Late output is waited for.
        SimEnd::Status(_, _) if case.breaks_a_message() && says_something(client) => return None,
        // iperf3 puts its message into the document.
        SimEnd::Status(_, _) if case.client.signal.is_some() && says_something(client) => {
            return None;
        }
        SimEnd::Status(status, _) if client.stderr.is_empty() && client.stdout.is_empty() => {
            return Some(format!("status {status} without a message"));
        }
        SimEnd::Status(status, _) => {
            let in_document = client
                .stdout
                .lines()
                .filter(|line| line.contains("\"error\":"));
            let in_document: String = in_document.collect();
            format!("status {status}: {} {in_document}", client.stderr.trim())
        }
        SimEnd::Signal(_) | SimEnd::Running => return Some(format!("{:?}", client.end)),
    };
    // A lost datagram, or an answer that arrives after netserver's end of the test, ends a test of
    // single requests; netperf 2.7 reports 0 then.
    let is_late = failed.contains("netserver's answer took");
    if (case.link.loss > 0.0 || is_late) && failed.contains("no transaction was completed") {
        return None;
    }
    // An option of ours alone has no original; a loss-free link excuses nothing.
    if case.link.loss == 0.0 || case.peer.is_some() {
        return Some(failed);
    }
    let original = case.of_originals()?.run();
    let original = original.of("client");
    (original.end.status() == Some(0)).then(|| format!("{failed} (the original has a result)"))
}

/// Our server serves all requests that the original serves.
fn serves(case: &Case, client: &SimFinished) -> Option<String> {
    // There the end of netperf 2.7's test finds a connect(2) that cannot be interrupted.
    let excused = !case.is_undisturbed() || case.link.loss > 0.0 || case.test == "TCP_CRR";
    if excused || client.end.status() == Some(0) {
        return None;
    }
    let original = case.of_originals()?.run();
    let original = original.of("client");
    let why = format!("{:?}: {}", client.end, client.stderr.trim());
    (original.end.status() == Some(0)).then(|| format!("the original is served, and ours {why}"))
}

fn says_something(client: &SimFinished) -> bool {
    // netperf 2.7's messages about the control connection are on standard output.
    let in_output = ["\"error\":", "establish control"];
    !client.stderr.is_empty() || in_output.iter().any(|text| client.stdout.contains(text))
}

/// Rate, counts and transactions of netperf.
fn netperf_figures(case: &Case, client: &SimFinished, own: Carried, other: Carried) -> Vec<String> {
    if client.end.status() != Some(0) || !client.stdout.contains("ELAPSED_TIME=") {
        return Vec::new();
    }
    let values = Values::parse(&client.stdout);
    let mut list = Vec::new();
    // -1 is unknown.
    let counted = |key: &str| u64::try_from(values.count(key)).ok();
    let (sent, arrived) = if case.test == "TCP_MAERTS" {
        ("REMOTE_BYTES_SENT", "LOCAL_BYTES_RECVD")
    } else {
        ("LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD")
    };
    let (Some(sent), Some(arrived)) = (counted(sent), counted(arrived)) else {
        return list;
    };
    // Without netserver's result, which an interrupted run does not wait for, its counts are 0.
    if arrived > sent && (sent > 0 || case.client.signal.is_none()) {
        list.push(format!("{arrived} bytes arrived of {sent} that were sent"));
    }
    let (left, came) = match case.test {
        "TCP_MAERTS" => (other.tcp_sent, own.tcp_received),
        test if test.starts_with("UDP") => (own.udp_sent, other.udp_received),
        _ => (own.tcp_sent, other.tcp_received),
    };
    // Data of a stream may wait in a queue when its connection is given up.
    if sent > left && case.test.ends_with("RR") {
        list.push(format!("{sent} bytes sent, and {left} on the link"));
    }
    if arrived > came {
        list.push(format!(
            "{arrived} bytes received, and {came} came over the link"
        ));
    }
    list.extend(rate(case, client, &values));
    list.extend(known_figure(case, client, &values));
    list.extend(transactions(case, &values));
    list
}

/// No higher rate than that of the link.
fn rate(case: &Case, client: &SimFinished, values: &Values) -> Option<String> {
    if case.test.ends_with("RR") {
        return None;
    }
    let seconds = values.number("ELAPSED_TIME").max(0.01);
    let mut most = bits_per_second(case.link) / 1e6;
    if case.test == "UDP_STREAM" && case.pairing != Pairing::Ours {
        // As in netperf 2.7, datagrams that come after the end count, over the sender's time.
        let ran = client.end.at().map_or(0.0, |at| at.as_secs_f64() - 1.0);
        most *= ran / seconds;
    }
    let rate = values.number("THROUGHPUT");
    // Data that fills the queues at the end arrives late: some kilobytes count more in a short run.
    let is_possible = rate <= most * MARGIN + 0.4 / seconds;
    (!is_possible).then(|| format!("{rate} Mbit/s over a link of {most}"))
}

/// A figure that `--until 20%` calls known is within that of what the link carries.
fn known_figure(case: &Case, client: &SimFinished, values: &Values) -> Option<String> {
    // A connection over a long path is still getting faster, and lost packets slow it down.
    let is_plain = case.link.loss == 0.0 && case.link.delay < Duration::from_millis(50);
    if !(case.has("--until") && case.is_undisturbed() && is_plain && client.stderr.is_empty()) {
        return None;
    }
    // Headers of IP and of TCP or UDP.
    let payload = match case.test {
        "UDP_STREAM" if case.has("100") => 100.0 / 128.0,
        _ => 0.97,
    };
    let expected = bits_per_second(case.link) / 1e6 * payload;
    let rate = values.number("THROUGHPUT");
    let is_near = (rate - expected).abs() <= expected * 0.25;
    (!is_near)
        .then(|| format!("{rate} Mbit/s are known to 20 percent, and the link has {expected}"))
}

/// No more transactions than round trips.
fn transactions(case: &Case, values: &Values) -> Option<String> {
    if !case.test.ends_with("RR") || case.has("--rate") {
        return None;
    }
    let rate = values.number("THROUGHPUT");
    let round_trip = case.link.delay.as_secs_f64() * 2.0;
    let most = f64::from(case.flows) / round_trip;
    // The first transaction behind a warm-up began in it.
    let begun = if case.has("--warmup") {
        f64::from(case.flows) / values.number("ELAPSED_TIME").max(0.01)
    } else {
        0.0
    };
    let is_possible = rate <= most * MARGIN + begun;
    let lossless = case.link.loss == 0.0 && case.is_undisturbed() && !case.has("-r");
    // A response may take several packets, and the last are not over when the time is.
    let expected = most - f64::from(case.flows) * 2.0 / f64::from(case.length);
    let is_whole = case.test != "TCP_RR" && case.test != "UDP_RR" || rate > expected * 0.9;
    if !is_possible {
        return Some(format!("{rate} transactions/s where {most} are possible"));
    }
    (lossless && !is_whole).then(|| format!("{rate} transactions/s of {most}"))
}

/// Sums of intervals and of the whole in iperf3's document.
fn iperf3_figures(case: &Case, client: &SimFinished) -> Vec<String> {
    if client.end.status().is_none() {
        return Vec::new();
    }
    let Ok(document) = serde_json::from_str::<Value>(&client.stdout) else {
        return vec![format!("no document: {}", client.stdout)];
    };
    if client.end.status() != Some(0) || document.get("error").is_some() {
        return Vec::new();
    }
    let intervals = document["intervals"].as_array();
    let counts = |value: &&Value| value["sum"]["omitted"] != Value::Bool(true);
    let bytes = |value: &Value| value["sum"]["bytes"].as_u64().unwrap_or(0);
    let intervals = intervals.into_iter().flatten().filter(counts);
    let sum: u64 = intervals.map(bytes).sum();
    let end = &document["end"];
    let sent = end["sum_sent"]["bytes"].as_u64().unwrap_or(0);
    let received = end["sum_received"]["bytes"].as_u64().unwrap_or(0);
    let rate = end["sum_received"]["bits_per_second"]
        .as_f64()
        .unwrap_or(0.0);
    let mut list = Vec::new();
    let whole = if case.has("-R") { received } else { sent };
    if sum != whole {
        list.push(format!("intervals have {sum} bytes, the whole {whole}"));
    }
    // Data sent in the omitted part may arrive in the part that counts.
    if received > sent && !case.has("-O") {
        list.push(format!("{received} bytes received of {sent}"));
    }
    let most = bits_per_second(case.link) * MARGIN;
    if rate > most + 400_000.0 && !case.has("-O") {
        list.push(format!("{rate} bit/s received over a link of {most}"));
    }
    // Behind a lost packet data waits, and is read at once.
    if case.has("-R") && !case.has("-O") && case.link.loss == 0.0 {
        list.extend(iperf3_intervals(case, &document));
    }
    list.extend(iperf3_asked(case, sent, end));
    list
}

/// No interval of a receiver is faster than the link.
fn iperf3_intervals(case: &Case, document: &Value) -> Vec<String> {
    let link = bits_per_second(case.link);
    let impossible = |interval: &Value| {
        let sum = &interval["sum"];
        let (bytes, seconds) = (sum["bytes"].as_f64()?, sum["seconds"].as_f64()?);
        // A receiver wakes up a few milliseconds after its data.
        let most = link * MARGIN * (seconds + WAKES);
        (bytes * 8.0 > most).then(|| format!("{bytes} bytes in an interval of {seconds} s"))
    };
    let intervals = document["intervals"].as_array();
    intervals
        .into_iter()
        .flatten()
        .filter_map(impossible)
        .collect()
}

/// No more than the rate that was asked for, and two blocks.
fn iperf3_asked(case: &Case, sent: u64, end: &Value) -> Option<String> {
    let asked = match case.after("-b")? {
        "300K" => 3e5,
        "2M" => 2e6,
        other => panic!("a rate of {other}"),
    };
    let block = if case.has("-l") { 8192.0 } else { 131_072.0 };
    let seconds = end["sum_sent"]["seconds"].as_f64()?;
    let both = if case.has("--bidir") { 2.0 } else { 1.0 };
    let most = f64::from(case.flows) * both * (asked / 8.0 * seconds * MARGIN + 2.0 * block);
    #[expect(clippy::cast_precision_loss, reason = "a simulation sends little")]
    let is_more = sent as f64 > most;
    is_more.then(|| format!("{sent} bytes sent in {seconds} s, where {most} were asked for"))
}

/// Rows of iperf 2 in CSV: rates and bytes that are possible.
fn iperf2_figures(case: &Case, client: &SimFinished, own: Carried) -> Vec<String> {
    let ended_well = client.end.status() == Some(0) && case.is_undisturbed();
    if case.pairing == Pairing::OurServer || !ended_well {
        return Vec::new();
    }
    let rows: Vec<Iperf2Row> = client.stdout.lines().filter_map(Iperf2Row::of).collect();
    let mut list = Vec::new();
    if rows.is_empty() {
        list.push(format!("no rows: {}", client.stdout));
    }
    let is_udp = case.test == "UDP_STREAM";
    let left = if is_udp { own.udp_sent } else { own.tcp_sent };
    for Iperf2Row {
        seconds,
        bytes,
        rate,
    } in rows
    {
        if bytes > left {
            list.push(format!("{bytes} bytes sent, and {left} on the link"));
        }
        let most = bits_per_second(case.link) * MARGIN + 100_000.0 / seconds.max(0.1);
        if rate > most {
            list.push(format!("{rate} bit/s over a link of {most}"));
        }
        let asked = 500e3 * f64::from(case.flows) * 1.1 + 2.0 * 1470.0 * 8.0;
        if is_udp && rate > asked {
            list.push(format!("{rate} bit/s where {asked} were asked for"));
        }
    }
    list
}

/// A row of iperf 2 in CSV.
struct Iperf2Row {
    seconds: f64,
    bytes: u64,
    rate: f64,
}

impl Iperf2Row {
    fn of(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let (begin, end) = fields.get(6)?.split_once('-')?;
        Some(Self {
            seconds: end.parse::<f64>().ok()? - begin.parse::<f64>().ok()?,
            bytes: fields.get(7)?.parse().ok()?,
            rate: fields.get(8)?.parse().ok()?,
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "rates of a simulation are small"
)]
pub(super) fn bits_per_second(link: SimLink) -> f64 {
    link.bits_per_second as f64
}
