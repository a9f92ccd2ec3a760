//! Random tests with ours at both ends, by their documents (`--json`): sums, counts and rates agree
//! with each other and with what the link can carry.
//!
//! `NETPERF_SIM_RUNS` and `NETPERF_SIM_FIRST` choose the seeds, as for the other random runs.

use std::fmt;
use std::time::Duration;

use netperf_testkit::sim::{Carried, SimRun};
use netperf_testkit::{SimLink, SimProcess, Simulation, ours, sim};
use serde_json::Value;

use super::draw::{Dice, START};
use super::judge::bits_per_second;

/// Runs at a landing.
const RUNS: u32 = 20;
/// A run ends within three times its length and this time.
const PATIENCE: Duration = Duration::from_secs(40);
/// Measured times and rates may be off by this part.
const MARGIN: f64 = 1.03;
/// Data that is counted beside the time of a run or an interval: queues at its edges, bits.
const EDGES: f64 = 0.4e6;
/// Shortest time of sending from which a rate of a link follows, seconds.
const SHORTEST: f64 = 0.01;
/// Time by which a receiver may be late, seconds.
const WAKES: f64 = 0.03;

/// A test of netperf over a link.
#[derive(Clone, Debug)]
struct DocumentCase {
    seed: u32,
    link: SimLink,
    length: u32,
    words: String,
    signal: Option<(Duration, &'static str)>,
}

impl DocumentCase {
    fn draw(seed: u32) -> Self {
        let mut dice = Dice::of(u64::from(seed) | 1 << 40);
        let test = dice.one_of(&[
            "TCP_STREAM",
            "TCP_MAERTS",
            "UDP_STREAM",
            "UDP_STREAM",
            "TCP_RR",
            "UDP_RR",
            "TCP_CRR",
        ]);
        let link = SimLink {
            bits_per_second: dice.one_of(&[1, 10, 25]) * 1_000_000,
            delay: Duration::from_millis(dice.one_of(&[1, 20, 100])),
            loss: dice.one_of(&[0.0, 0.0, 0.0, 0.005, 0.02]),
        };
        let length = dice.one_of(&[1, 2, 3]);
        let words = words(&mut dice, test, length);
        let signal = (dice.below(6) == 0).then(|| {
            let at = dice.moment_around(length);
            (at, dice.one_of(&["SIGINT", "SIGTERM"]))
        });
        Self {
            seed,
            link,
            length,
            words,
            signal,
        }
    }

    /// A test over a link without loss.
    fn of(link: SimLink, length: u32, words: &str) -> Self {
        Self {
            seed: 1,
            link,
            length,
            words: format!("-4 -H server --json {words}"),
            signal: None,
        }
    }

    fn simulation(&self) -> Simulation {
        let programs = ours!();
        // There no filter keeps datagrams of other hosts away.
        let server = SimProcess::new(&programs.netserver, "-D -4 --data-peers any");
        let mut client = SimProcess::new(&programs.netperf, &self.words);
        if let Some((at, signal)) = self.signal {
            client = client.signalled(at, signal);
        }
        let mut simulation = Simulation::of_two(self.link, server, client).seeded(self.seed);
        simulation.counts_bytes = true;
        simulation.length = START + Duration::from_secs((self.length * 3).into()) + PATIENCE;
        simulation
    }

    fn has(&self, word: &str) -> bool {
        self.words.split(' ').any(|one| one == word)
    }

    fn flows(&self) -> f64 {
        let words: Vec<&str> = self.words.split(' ').collect();
        let place = words.iter().position(|word| *word == "--flows");
        let flows = place.and_then(|place| words.get(place + 1)?.parse().ok());
        flows.unwrap_or(1.0)
    }

    fn counts_transactions(&self) -> bool {
        self.words.contains("RR")
    }
}

impl fmt::Display for DocumentCase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "document {}: netperf {} | {} Mbit/s, {:?}, loss {}",
            self.seed,
            self.words,
            self.link.bits_per_second / 1_000_000,
            self.link.delay,
            self.link.loss,
        )?;
        match self.signal {
            Some((at, signal)) => write!(out, " | {signal} at {at:?}"),
            None => Ok(()),
        }
    }
}

fn words(dice: &mut Dice, test: &str, length: u32) -> String {
    let is_udp = test == "UDP_STREAM";
    let is_stream = is_udp || test == "TCP_STREAM" || test == "TCP_MAERTS";
    let both = if is_udp || test == "TCP_STREAM" {
        dice.one_of(&["", "", "--bidirectional same", "--bidirectional separate"])
    } else {
        ""
    };
    let amount = match dice.below(6) {
        0 if is_stream => format!("-l -{}", length * 100_000),
        0 => format!("-l -{}", length * 8),
        _ => format!("-l {length}"),
    };
    let is_timed = !amount.contains("-l -");
    let shape = match dice.below(8) {
        0 if is_timed => "--warmup 0.4",
        1 if is_timed => "--warmup 0.3 --cooldown 0.3",
        2 if is_stream && is_timed && both.is_empty() => "--until 20%",
        3 => "-i 3,2 -I 95,30",
        _ => "",
    };
    let is_windowed = shape.starts_with("--warmup");
    let flows = match test {
        "TCP_CRR" => "",
        // There the end of a handshake waits behind the data of other flows. netserver's time begins
        // then, and what it had not read by then has not arrived.
        "TCP_STREAM" if is_windowed => "",
        "TCP_STREAM" => dice.one_of(&["", "--flows 2"]),
        _ => dice.one_of(&["", "", "--flows 2", "--flows 4"]),
    };
    let rate = match dice.below(4) {
        0 if is_stream && both.is_empty() => "--rate 500K",
        0 if test == "TCP_RR" || test == "UDP_RR" => "--rate 30",
        _ => "",
    };
    let more = dice.one_of(&["", "-D 0.3", "-D 0.25", "-D 0.5", "-j -D 0.3", "-j"]);
    let last = match dice.one_of(&["", "", "--series 0.2", "--sequence"]) {
        "--series 0.2" if test.starts_with("TCP") && test != "TCP_CRR" => "--series 0.2",
        "--sequence" if is_udp && !both.contains("separate") && !is_windowed => "--sequence",
        _ => "",
    };
    let size = if is_udp { "-- -m 1400,1400" } else { "" };
    let words = format!(
        "-4 -H server --json {amount} -t {test} {both} {flows} {shape} {rate} {more} {last} {size}"
    );
    let words: Vec<&str> = words.split_whitespace().collect();
    words.join(" ")
}

fn figure(value: &Value, path: &str) -> Option<f64> {
    value.pointer(path)?.as_f64()
}

fn listed<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    let list = value.pointer(path).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// The sum of a figure over values; `None` if one of them lacks it.
fn sum<'a>(values: impl IntoIterator<Item = &'a Value>, path: &str) -> Option<f64> {
    values.into_iter().map(|value| figure(value, path)).sum()
}

/// Faults of a run.
fn complaints(case: &DocumentCase, run: &SimRun) -> Vec<String> {
    let client = run.of("client");
    let Some(status) = client.end.status() else {
        // A signal before the program has caught it leaves nothing.
        let is_killed = client.end.at().is_some() && case.signal.is_some();
        return if is_killed {
            Vec::new()
        } else {
            vec![format!("{:?}", client.end)]
        };
    };
    let document: Value = match serde_json::from_str(&client.stdout) {
        Ok(document) => document,
        Err(error) => return vec![format!("{error}, status {status}: {}", client.stderr)],
    };
    if status != 0 {
        let is_excused = case.signal.is_some() || case.link.loss > 0.0;
        let is_told = !document["error"].is_null();
        let failed = format!("status {status}: {}", client.stderr);
        return if is_excused && is_told {
            Vec::new()
        } else {
            vec![failed]
        };
    }
    let mut list = Vec::new();
    let has_warning = |code: &str| {
        let warnings = listed(&document, "/warnings");
        warnings.iter().any(|warning| warning["code"] == code)
    };
    let is_complete = document["complete"] == true;
    if is_complete == has_warning("ended_early") || !is_complete && case.signal.is_none() {
        list.push(format!("complete {is_complete}: {}", client.stderr));
    }
    for iteration in listed(&document, "/iterations") {
        let number = &iteration["number"];
        let intervals = listed(&document, "/intervals");
        let intervals = intervals.iter().filter(|one| one["iteration"] == *number);
        let intervals: Vec<&Value> = intervals.collect();
        list.extend(parts(case, iteration, &intervals));
        list.extend(intervals.iter().filter_map(|one| interval(case, one)));
        list.extend(rates(case, iteration));
    }
    list.extend(counts(case, &document, run));
    list.extend(latency(case, &document));
    list
}

/// Intervals, flows and datagrams of an iteration add up.
fn parts(case: &DocumentCase, iteration: &Value, intervals: &[&Value]) -> Vec<String> {
    let mut list = Vec::new();
    if case.has("--warmup") {
        return list;
    }
    let flows: Vec<&Value> = listed(iteration, "/flows/each").iter().collect();
    let unanswered = figure(iteration, "/local/unanswered_requests").unwrap_or(0.0);
    for field in ["sent_bytes", "received_bytes", "transactions"] {
        let whole = figure(iteration, &format!("/local/{field}")).unwrap_or(f64::NAN);
        for (name, parts) in [("intervals", intervals), ("flows", &flows)] {
            let parts_sum = sum(parts.iter().copied(), &format!("/{field}"));
            // A request without a response is in no interval.
            let lacking = whole - parts_sum.unwrap_or(f64::NAN);
            let is_right = (0.0..=unanswered).contains(&lacking);
            if !parts.is_empty() && !is_right {
                list.push(format!("{name}: {parts_sum:?} {field} of {whole}"));
            }
        }
    }
    for (from, to) in [("local", "remote"), ("remote", "local")] {
        let datagrams = |end: &str, what: &str| {
            figure(iteration, &format!("/{end}/datagrams/{what}")).unwrap_or(0.0)
        };
        let sent = datagrams(from, "sent");
        let known = datagrams(to, "received") + datagrams(to, "lost");
        if known > sent && case.signal.is_none() {
            list.push(format!(
                "{to} knows of {known} datagrams, and {sent} were sent"
            ));
        }
    }
    list
}

/// No more arrives in an interval than the link carries in its time.
fn interval(case: &DocumentCase, interval: &Value) -> Option<String> {
    let seconds = figure(interval, "/elapsed_seconds").unwrap_or(0.0);
    let most = bits_per_second(case.link) / 8.0 * (seconds + WAKES) * MARGIN;
    let arrived = figure(interval, "/arrived_bytes").unwrap_or(0.0);
    // Behind a lost packet a stream waits, and is read at once. Of both directions of streams netperf
    // may have waited for the other one.
    let datagrams = case.words.contains("-t UDP_");
    let received = figure(interval, "/received_bytes");
    let received = received.filter(|_| datagrams || case.has("TCP_MAERTS"));
    let is_possible = arrived.max(received.unwrap_or(0.0)) <= most;
    let waits_for_lost = case.link.loss > 0.0 && !datagrams;
    (!waits_for_lost && !is_possible).then(|| format!("{most} bytes at most: {interval}"))
}

/// No rate is above that of the link, and no test faster than its round trips.
fn rates(case: &DocumentCase, iteration: &Value) -> Vec<String> {
    let mut list = Vec::new();
    let seconds = figure(iteration, "/elapsed_seconds").unwrap_or(0.0);
    if seconds < SHORTEST {
        return list;
    }
    let edges = EDGES / seconds.max(0.01);
    let both = if case.has("--bidirectional") {
        2.0
    } else {
        1.0
    };
    if !case.counts_transactions() {
        for (path, ways) in [
            ("/throughput_bits_per_second", both),
            ("/local/received_bits_per_second", 1.0),
            ("/remote/received_bits_per_second", 1.0),
        ] {
            let rate = figure(iteration, path).unwrap_or(0.0);
            let most = bits_per_second(case.link) * ways * MARGIN + edges;
            if rate > most {
                list.push(format!("{path}: {rate} bit/s, where {most} are possible"));
            }
        }
    }
    let round_trips = if case.has("TCP_CRR") { 2.0 } else { 1.0 };
    let least = case.link.delay.as_secs_f64() * 2.0 * round_trips;
    let rate = figure(iteration, "/transactions_per_second").unwrap_or(0.0);
    let most = case.flows() * (MARGIN / least + 3.0 / seconds.max(0.01));
    if !case.has("--rate") && rate > most {
        list.push(format!("{rate} transactions/s, where {most} are possible"));
    }
    list
}

/// Neither end received more than came over the link.
fn counts(case: &DocumentCase, document: &Value, run: &SimRun) -> Vec<String> {
    let came = |end: &Carried| {
        if case.words.contains("-t UDP") {
            end.udp_received
        } else {
            end.tcp_received
        }
    };
    let mut list = Vec::new();
    for (end, host) in [("local", "client"), ("remote", "server")] {
        let iterations = listed(document, "/iterations");
        let counted = sum(iterations, &format!("/{end}/received_bytes")).unwrap_or(0.0);
        let came = came(&run.carried(host));
        #[expect(clippy::cast_precision_loss, reason = "a simulation sends little")]
        if counted > came as f64 {
            list.push(format!("{end} received {counted} bytes, and {came} came"));
        }
    }
    list
}

/// No time is below that of the path, and the histogram has all operations.
fn latency(case: &DocumentCase, document: &Value) -> Vec<String> {
    let mut list = Vec::new();
    if !case.counts_transactions() {
        return list;
    }
    let round_trip = case.link.delay.as_secs_f64() * 2e9;
    for name in ["latency", "service_time"] {
        let of = |field: &str| figure(document, &format!("/{name}/{field}"));
        let Some(count) = of("count") else {
            continue;
        };
        if of("min_nanoseconds").is_some_and(|least| least < round_trip) {
            list.push(format!("{name} below {round_trip} ns: {}", document[name]));
        }
        let buckets = sum(listed(document, &format!("/{name}/buckets")), "/count");
        if buckets != Some(count) {
            list.push(format!("{name}: {count} in buckets {buckets:?}"));
        }
    }
    list
}

/// The complaints about a run, with the case in front.
fn account(case: &DocumentCase) -> Vec<String> {
    let run = case.simulation().run();
    let found = complaints(case, &run);
    let case = (!found.is_empty()).then(|| case.to_string());
    let found = found.iter().map(|complaint| format!("  {complaint}"));
    let mut account: Vec<String> = case.into_iter().chain(found).collect();
    if !account.is_empty() && super::number("NETPERF_SIM_RUNS", RUNS) == 1 {
        account.push(run.account());
    }
    account
}

#[test]
fn random_documents_add_up() {
    if sim::available() {
        super::judge_seeds(RUNS, |seed| {
            let mut account = account(&DocumentCase::draw(seed));
            if !account.is_empty() {
                account.push(format!("  repeat it: just lab-shadow document {seed}"));
            }
            account
        });
    }
}

/// Tests whose documents had impossible figures.
#[test]
fn documents_of_former_defects_add_up() {
    if !sim::available() {
        return;
    }
    let slow = SimLink::lossless(1, 20);
    let slower = SimLink {
        bits_per_second: 400_000,
        ..slow
    };
    for (link, length, words) in [
        // The last interval had what came after the time.
        (slow, 2, "-t TCP_MAERTS --flows 4 -D 0.5 -l 2"),
        // netserver gave up a stream that still came, and left the time of that out.
        (slower, 1, "-t TCP_STREAM --flows 2 -l 1"),
        // netserver's time began with the last connection, behind data of the first.
        (
            SimLink::lossless(1, 1),
            3,
            "-t TCP_STREAM --flows 2 -l -300000",
        ),
        // The first interval began when the flows were met, behind data of netserver.
        (
            SimLink::lossless(25, 100),
            3,
            "-t UDP_STREAM --bidirectional separate --flows 4 -D 0.25 -l 3 -- -m 1400,1400",
        ),
        // Data in flight at the end arrived within the length of the run.
        (
            SimLink::lossless(10, 100),
            2,
            "-t UDP_STREAM --until 20% -D 0.5 -l 2 -- -m 1400",
        ),
        // Each end received for longer than netperf sent.
        (
            slow,
            2,
            "-t UDP_STREAM --bidirectional same -l 2 -- -m 1400,1400",
        ),
        // Each session had a separate clock.
        (
            SimLink::lossless(10, 20),
            1,
            "-t UDP_STREAM --bidirectional separate --flows 2 -l -300000 -- -m 1400,1400",
        ),
        // Data of one session kept the other's answer waiting, and came before the time.
        (
            SimLink::lossless(10, 1),
            1,
            "-t UDP_STREAM --bidirectional separate -i 3,2 -I 95,30 -l -200000 -- -m 1400,1400",
        ),
        // A signal kept the end from waiting for space in a full queue.
        (
            slow,
            3,
            "-t UDP_STREAM --bidirectional same -l -300000 -- -m 1400,1400",
        ),
    ] {
        let account = account(&DocumentCase::of(link, length, words));
        assert!(account.is_empty(), "{}", account.join("\n"));
    }
}
