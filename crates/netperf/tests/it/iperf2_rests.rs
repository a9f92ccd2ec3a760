//! The rows of a test that ends within an interval of `-i`: ours and those of iperf 2.1.8.

use std::collections::BTreeMap;
use std::path::Path;

use netperf_testkit::{
    Invocation, Scratch, SimLink, SimProcess, Simulation, server::free_port, sim,
};

use super::iperf2_served::{PATIENCE, Served, link, stock, with_part_of};

/// Pace of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RestPace {
    /// A test ends half an interval from the next one, so that a busy machine changes no number of
    /// rows.
    Real,
    /// Ten times as fast, for the same amounts in a tenth of the time.
    Simulated,
}

impl RestPace {
    /// The interval of which the times and amounts of the cases are a part or a multiple, seconds.
    const fn every(self) -> f64 {
        match self {
            Self::Real => 4.0,
            Self::Simulated => 0.4,
        }
    }

    const fn rate(self) -> &'static str {
        match self {
            Self::Real => "1m",
            Self::Simulated => "10m",
        }
    }

    /// Options of a case with its time at this pace.
    fn timed(self, options: &str) -> String {
        let words = options.split(' ').map(str::to_owned).collect();
        with_part_of(words, &["-t"], Self::Real.every() / self.every()).join(" ")
    }
}

/// Rows of a test: `i` of an interval, `r` of the rest, `w` of the whole.
struct RestCase {
    /// Options of the server and of the client beside `-i`.
    options: [&'static str; 2],
    /// Which programs run it.
    by: RestPrograms,
    /// Rows of the server and of the client; empty for an end that is not checked.
    rows: [&'static str; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RestPrograms {
    /// Both ends are ours, or both are the original.
    Alike,
    /// Each program with itself and with the other.
    Mixed,
    /// Each with our server: that of the original may lose a stream, and then does not end.
    OurServer,
    /// The original does not end this test.
    Ours,
}

const fn case(options: [&'static str; 2], rows: [&'static str; 2]) -> RestCase {
    RestCase {
        options,
        by: RestPrograms::Alike,
        rows,
    }
}

/// A test in both directions, or of datagrams of the server.
const fn mixed(options: [&'static str; 2], rows: [&'static str; 2]) -> RestCase {
    RestCase {
        by: RestPrograms::Mixed,
        ..case(options, rows)
    }
}

const fn our_server(options: [&'static str; 2], rows: [&'static str; 2]) -> RestCase {
    RestCase {
        by: RestPrograms::OurServer,
        ..case(options, rows)
    }
}

const fn ours(options: [&'static str; 2], rows: [&'static str; 2]) -> RestCase {
    RestCase {
        by: RestPrograms::Ours,
        ..case(options, rows)
    }
}

const TWO: &str = "[  1]irw [  2]irw [SUM]irw";
const BOTH: &str = "[  1]irw [ *1]irw";
const ALL: &str = "[  1]irw [  2]irw [ *1]irw [ *2]irw [SUM]irw";

const CASES: [RestCase; 27] = [
    case(["-P 1", "-t 6 -e"], ["[  1]irw", "[  1]irw"]),
    case(["-P 1", "-n 750K"], ["[  1]irw", "[  1]irw"]),
    case(["-P 2", "-t 6 -P 2"], [TWO, TWO]),
    case(["-P 1", "-t 6 -R"], ["[  1]irw", "[ *1]irw"]),
    case(["-P 1", "-t 6 --full-duplex"], [BOTH, BOTH]),
    case(["-P 2", "-t 6 --full-duplex -P 2"], [ALL, ALL]),
    case(
        ["-P 1 --sum-only", "-t 6 --full-duplex --sum-only"],
        ["[SUM-2]irw", "[SUM-2]irw"],
    ),
    case(
        ["-P 2 --sum-only", "-t 6 -P 2 --sum-only"],
        ["[SUM-2]irw", "[SUM-2]irw"],
    ),
    case(
        ["-P 1 --sum-only", "-t 6 --sum-only"],
        ["[SUM-1]irw", "[SUM-1]irw"],
    ),
    case(
        ["-P 2 -y C", "-t 6 -P 2 -y C"],
        ["[  1]irw [  2]irw", "[  1]irw [  2]irw"],
    ),
    // No interval is over.
    case(
        ["-P 2", "-t 2 -P 2"],
        ["[  1]rw [  2]rw [SUM]w", "[  1]rw [  2]rw [SUM]w"],
    ),
    // The rest is too short.
    case(["-P 1", "-t 4.5"], ["[  1]iw", "[  1]iw"]),
    case(
        ["-P 1 -e", "-t 6 --full-duplex -e"],
        ["[  1]irw [ *1]irw [FD1]irw", "[  1]irw [ *1]irw [FD1]irw"],
    ),
    mixed(
        ["-P 1", "-t 6 -d -L BACK"],
        ["[  1]irw [ *2]irw [SUM]irw", "[  1]irw [  2]irw"],
    ),
    our_server(
        ["-P 2", "-t 6 -d -P 2 -L BACK"],
        ["", "[  1]irw [  2]irw [  3]irw [  4]irw [SUM]irw"],
    ),
    mixed(
        ["-P 1 -y C", "-t 6 -d -y C -L BACK"],
        ["[  1]irw [  2]irw", "[  1]irw [  2]irw"],
    ),
    mixed(
        ["-P 1", "-t 6 -r -L BACK"],
        ["[  1]irw [ *2]irw", "[  1]irw [  2]irw"],
    ),
    ours(
        ["-P 2", "-t 6 -r -P 2 -L BACK"],
        ["", "[  1]irw [  2]irw [  3]irw [  4]irw [SUM]irwirw"],
    ),
    case(["-u -P 1", "-u -t 6"], ["[  1]irw", "[  1]iw"]),
    case(["-u -P 1 -y C", "-u -t 6 -y C"], ["[  1]irw", "[  1]iw"]),
    case(
        ["-u -P 2", "-u -t 6 -P 2"],
        ["[  1]irw [  2]irw [SUM]iw", "[  1]iw [  2]iw [SUM]iw"],
    ),
    mixed(["-u -P 1", "-u -t 6 -R"], ["[  1]iw", "[ *1]irw"]),
    our_server(
        ["-u -P 2", "-u -t 6 -R -P 2"],
        ["[  1]iw [  2]iw [SUM]iw", "[ *1]irw [ *2]irw [SUM]iw"],
    ),
    mixed(
        ["-u -P 1", "-u -t 6 --full-duplex"],
        ["[  1]irw [ *1]iw", "[  1]iw [ *1]irw"],
    ),
    mixed(
        ["-u -P 1 -e", "-u -t 6 --full-duplex -e"],
        ["[  1]irw [ *1]iw [FD1]irw", "[  1]iw [ *1]irw [FD1]irw"],
    ),
    mixed(
        ["-u -P 1", "-u -t 6 -d -L BACK"],
        ["[  1]irw [ *2]iw [SUM]iw", "[  1]iw [  2]irw"],
    ),
    mixed(
        ["-u -P 1", "-u -t 6 -r -L BACK"],
        ["[  1]irw [ *2]iw", "[  1]iw [  2]irw"],
    ),
];

/// A row: its stream or sum, begin and end, bytes, and calls of a sender (`-e`).
struct TimedRow {
    id: String,
    times: [f64; 2],
    bytes: u64,
    calls: Option<u64>,
}

impl TimedRow {
    fn of(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let (id, times, bytes, calls) = if let [_, _, _, _, _, id, times, bytes, ..] = fields[..] {
            (format!("[{id:>3}]"), times, bytes, None)
        } else {
            let (id, rest) = line.split_once(']')?;
            let words: Vec<&str> = rest.split_whitespace().collect();
            let [times, "sec", bytes, "Bytes", ..] = words[..] else {
                return None;
            };
            let calls = words.iter().find_map(|word| word.strip_suffix("/0"));
            (format!("{id}]"), times, bytes, calls)
        };
        let (from, to) = times.split_once('-')?;
        Some(Self {
            id,
            times: [from.parse().ok()?, to.parse().ok()?],
            bytes: bytes.parse().ok()?,
            calls: calls.and_then(|calls| calls.parse().ok()),
        })
    }

    fn is_interval(&self, every: f64) -> bool {
        let [from, to] = self.times;
        (to - from - every).abs() < 1e-9
    }
}

/// The kind of each row.
fn kinds(rows: &[TimedRow], every: f64) -> Vec<char> {
    let kind = |(at, row): (usize, &TimedRow)| {
        // A sum may follow that of another part of the test.
        let mut later = rows[at + 1..].iter().filter(|later| later.id == row.id);
        let is_last = later.next().is_none_or(|next| {
            let both_begin = [row.times[0], next.times[0]] == [0.0, 0.0];
            both_begin && next.is_interval(every) && !row.is_interval(every)
        });
        match (is_last, row.is_interval(every)) {
            (true, _) => 'w',
            (false, true) => 'i',
            (false, false) => 'r',
        }
    };
    rows.iter().enumerate().map(kind).collect()
}

/// The rows of an end, without those that its peer reports.
fn own_rows(text: &str) -> Vec<TimedRow> {
    let mut is_report = false;
    let lines = text.lines().filter_map(|line| {
        is_report |= line.ends_with("Server Report:");
        let row = TimedRow::of(line)?;
        (!std::mem::take(&mut is_report)).then_some(row)
    });
    lines.collect()
}

/// Finds the faults in the output of an end.
fn fault(text: &str, expected: &str, every: f64) -> Option<String> {
    if expected.is_empty() {
        return None;
    }
    let rows = own_rows(text);
    let kinds = kinds(&rows, every);
    let mut all: BTreeMap<&str, String> = BTreeMap::new();
    for (row, kind) in rows.iter().zip(&kinds) {
        all.entry(&row.id).or_default().push(*kind);
    }
    let found: Vec<String> = all
        .iter()
        .map(|(id, kinds)| format!("{id}{kinds}"))
        .collect();
    let found = found.join(" ");
    if found != expected {
        return Some(format!("{found} instead of {expected}"));
    }
    let rests = (0..rows.len()).filter(|at| kinds[*at] == 'r');
    let mut faults = rests.filter_map(|at| {
        let (rest, whole) = (&rows[at], &rows[at + 1]);
        let id = &rest.id;
        if whole.id != *id || whole.times != [0.0, rest.times[1]] {
            return Some(format!("{id}: the row of the whole does not follow"));
        }
        let mut wholes = (0..at).filter(|at| kinds[*at] == 'w' && rows[*at].id == *id);
        let begin = wholes.next_back().map_or(0, |last| last + 1);
        let parts = || rows[begin..=at].iter().filter(|row| row.id == *id);
        let bytes: u64 = parts().map(|row| row.bytes).sum();
        let calls: Option<u64> = parts().map(|row| row.calls).sum();
        let fits = (bytes, calls) == (whole.bytes, whole.calls);
        (!fits).then(|| format!("{id}: {bytes} of {} bytes, {calls:?} calls", whole.bytes))
    });
    faults.next()
}

impl RestCase {
    /// Options of the server and of the client, which serves at the port `back` if it is asked to.
    fn words(&self, back: u16, pace: RestPace) -> [String; 2] {
        let [of_server, of_client] = self.options;
        let block = if of_client.contains("-u") {
            "1000"
        } else {
            "8K"
        };
        let of_client = pace.timed(of_client).replace("BACK", &back.to_string());
        let all = format!("-i {} -f B", pace.every());
        [
            format!("{all} {of_server}"),
            format!("{all} -b {} -l {block} {of_client}", pace.rate()),
        ]
    }

    /// Faults of the output of both ends.
    fn fault_of(&self, ends: [(&str, String); 2], pace: RestPace) -> Option<String> {
        let mut faults =
            ends.into_iter()
                .zip(self.rows)
                .filter_map(|((stdout, account), expected)| {
                    let why = fault(stdout, expected, pace.every())?;
                    Some(format!("{why}\n{account}"))
                });
        faults.next()
    }

    /// Runs it with these programs, the server and the client; what is wrong.
    fn fault(&self, [of_server, of_client]: [&Path; 2]) -> Option<String> {
        let [server_words, client_words] = self.words(free_port(), RestPace::Real);
        let served = Served::start(of_server, &server_words.split(' ').collect::<Vec<_>>());
        let client = Invocation::new(of_client)
            .args(["-c", "127.0.0.1", "-p", &served.port.to_string()])
            .args(client_words.split(' '))
            .patience(PATIENCE)
            .run();
        let server = served.running.finish();
        let ends = [
            (server.stdout.as_str(), server.account()),
            (&client.stdout, client.account()),
        ];
        self.fault_of(ends, RestPace::Real)
    }

    /// Our programs that run it in simulated time, the server and the client.
    fn simulated(&self, own: &Path) -> (SimProcess, SimProcess) {
        let [server_words, client_words] = self.words(5002, RestPace::Simulated);
        (
            SimProcess::new(own, &format!("-s {server_words}")),
            SimProcess::new(own, &format!("-c server {client_words}")),
        )
    }
}

/// Runs these cases, each with some pairs of a server and a client; what is wrong with which pair.
fn faults<'a>(
    pairs: impl Fn(&RestCase) -> Vec<[&'a Path; 2]> + Sync,
) -> Vec<([&'a Path; 2], String)> {
    let run = |case: &RestCase| {
        let of_pair = |pair: [&'a Path; 2]| {
            let why = case.fault(pair)?;
            Some((pair, format!("{pair:?} {:?}: {why}", case.options)))
        };
        pairs(case)
            .into_iter()
            .filter_map(of_pair)
            .collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = CASES.iter().map(|case| scope.spawn(|| run(case))).collect();
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().expect("a thread"));
        ended.flatten().collect()
    })
}

/// Fails with these faults, if any.
fn expect_none(wrong: &[([&Path; 2], String)]) {
    let all: Vec<&str> = wrong.iter().map(|(_, why)| why.as_str()).collect();
    assert!(all.is_empty(), "{}", all.join("\n\n"));
}

#[test]
fn the_rest_of_an_interval_has_the_rows_of_the_original_in_simulated_time() {
    if !sim::available() {
        return;
    }
    let scratch = Scratch::new();
    let own = link(&scratch);
    // Datagrams in reverse go only to this host, unless the server has --data-peers.
    let is_local =
        |case: &&RestCase| case.options[1].contains("-u") && case.options[1].contains("-R");
    let cases = || CASES.iter().filter(|case| !is_local(case));
    let pairs = cases().map(|case| case.simulated(&own)).collect();
    let run = Simulation::of_pairs(SimLink::lossless(200, 1), pairs).run();
    let all: Vec<String> = cases()
        .enumerate()
        .filter_map(|(index, case)| {
            let both = run.pair(index);
            let [client, server] = both.map(|finished| finished.stdout.as_str());
            let account = format!("{both:#?}");
            let ends = [(server, account), (client, String::new())];
            let why = case.fault_of(ends, RestPace::Simulated)?;
            Some(format!("{:?}: {why}", case.options))
        })
        .collect();
    assert!(all.is_empty(), "{}", all.join("\n\n"));
}

// Tolerance: one in ten of the runs with an end of the original may fail. It loses parallel streams
// now and then.
#[test]
#[ignore = "nightly: tests of 6 seconds, most of them with the original, which loses parallel streams"]
fn the_rest_of_an_interval_has_the_rows_of_the_original_with_each_pair_of_programs() {
    let Some(stock) = stock() else { return };
    let scratch = Scratch::new();
    let own = link(&scratch);
    let (own, stock) = (own.as_path(), stock.as_path());
    let pairs = |case: &RestCase| match case.by {
        RestPrograms::Alike => vec![[own, own], [stock, stock]],
        RestPrograms::Mixed => vec![[own, own], [stock, stock], [own, stock], [stock, own]],
        RestPrograms::OurServer => vec![[own, own], [own, stock]],
        RestPrograms::Ours => vec![[own, own]],
    };
    let with_stock = CASES
        .iter()
        .flat_map(pairs)
        .filter(|pair| pair.contains(&stock));
    let most = with_stock.count() / 10;
    let wrong = faults(pairs);
    let (lost, wrong): (Vec<_>, Vec<_>) = wrong
        .into_iter()
        .partition(|(pair, _)| pair.contains(&stock));
    expect_none(&wrong);
    if lost.len() > most {
        expect_none(&lost);
    }
}
