//! iperf 2 between all pairs: the counts of both ends agree.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use netperf_testkit::server::free_port;
use netperf_testkit::{Invocation, Scratch, eventually};

use crate::iperf2_served::{Served, link, stock};
use crate::live_cells::LiveCell;

const DIRECTIONS: [&str; 5] = ["", "-R", "--full-duplex", "-d", "-r"];
/// Longest time of a client. The original may wait for a stream that it has lost.
const CLIENT_TIME: Duration = Duration::from_secs(15);
/// Longest time until a server has printed its rows.
const ROWS_TIME: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug)]
enum End {
    Client,
    Server,
}

impl End {
    const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// Rows of an end about whole tests, without sums.
#[derive(Debug, Default, PartialEq, Eq)]
struct EndRows {
    /// Bytes that the end counted in all streams and directions.
    bytes: u64,
    /// Datagrams that the end received, with those lost.
    datagrams: u64,
    /// Datagrams that the peer received, as it reported.
    reported: u64,
    /// Lost ones of both.
    lost: u64,
}

impl EndRows {
    fn of(text: &str) -> Self {
        let mut rows = Self::default();
        let mut is_report = false;
        for line in text.lines() {
            is_report |= line.ends_with("Server Report:");
            let Some((_, row)) = line.split_once("] 0.0000-") else {
                continue;
            };
            if line.starts_with("[SUM") {
                continue;
            }
            let words: Vec<&str> = row.split_whitespace().collect();
            // Time, its unit, and the bytes; none are printed as 0.000. Others are late datagrams.
            let [_, "sec", bytes, "Bytes", ..] = words.as_slice() else {
                continue;
            };
            let is_report = std::mem::take(&mut is_report);
            let number = |word: &str| word.parse::<u64>().ok();
            if !is_report {
                rows.bytes += number(bytes).unwrap_or(0);
            }
            let pair = |word: &&str| {
                let (lost, all) = word.split_once('/')?;
                number(lost).zip(number(all))
            };
            let Some((lost, all)) = words.iter().find_map(pair) else {
                continue;
            };
            rows.lost += lost;
            if is_report {
                rows.reported += all;
            } else {
                rows.datagrams += all;
            }
        }
        rows
    }
}

impl LiveCell {
    /// Options of the client: an amount that fits into the buffers of the sockets.
    fn iperf2_options(&self, back: &str) -> Vec<String> {
        let mut options = if self.udp {
            vec!["-u", "-n", "2000", "-l", "200", "-b", "160k"]
        } else {
            vec!["-n", "80K", "-l", "8K"]
        };
        options.extend(["-f", "B"]);
        if self.host == "::1" {
            options.push("-V");
        }
        if !self.direction.is_empty() {
            options.push(self.direction);
        }
        if self.opens_back() {
            options.extend(["-L", back]);
        }
        let mut options: Vec<String> = options.into_iter().map(str::to_owned).collect();
        options.extend(["-P".to_owned(), self.streams.to_string()]);
        options
    }

    fn opens_back(&self) -> bool {
        ["-d", "-r"].contains(&self.direction)
    }

    /// A server of the original often does not send back after several streams: its own client then
    /// waits in vain, as ours does.
    fn is_incomplete(&self) -> bool {
        self.streams > 1 && self.direction == "-r" && !self.our_server
    }

    /// The original mixes up the first datagrams of flows that begin together. Ours begin apart, but
    /// a busy host holds them up: what such an end of the original counts is not certain.
    fn is_mixed(&self, end: End) -> bool {
        let many = self.udp && self.streams > 1;
        many && match end {
            End::Server => !self.our_server,
            End::Client => !self.our_client && self.opens_back(),
        }
    }

    /// Rows of an end where nothing is mixed up.
    fn expected(&self, end: End) -> EndRows {
        // Ten datagrams and the final one. The header of a connection counts.
        let (bytes, datagrams) = if self.udp { (2200, 11) } else { (81_920, 0) };
        let [bytes, datagrams] = [bytes, datagrams].map(|of_one| of_one * self.streams);
        let forward = self.direction != "-R";
        let backward = !self.direction.is_empty();
        let (receives, has_report) = match end {
            End::Client => (backward, self.direction.is_empty() || self.opens_back()),
            End::Server => (forward, self.opens_back()),
        };
        EndRows {
            bytes: bytes * (u64::from(forward) + u64::from(backward)),
            datagrams: datagrams * u64::from(receives),
            reported: datagrams * u64::from(has_report),
            lost: 0,
        }
    }

    /// The fault in the output of an end.
    fn wrong(&self, end: End, text: &str) -> Option<String> {
        let (rows, expected) = (EndRows::of(text), self.expected(end));
        let other_is_mixed = self.is_mixed(end.other());
        let fits = match end {
            _ if self.is_mixed(end) => true,
            // Figures of the way back, and reports, are those of the other end.
            End::Client if other_is_mixed => {
                let sends = self.direction != "-R";
                rows.bytes >= u64::from(sends) * 2200 * self.streams
            }
            End::Server if other_is_mixed => {
                (rows.bytes, rows.datagrams) == (expected.bytes, expected.datagrams)
            }
            End::Client | End::Server => rows == expected,
        };
        (!fits).then(|| format!("{end:?}: {rows:?}, expected {expected:?}\n{text}"))
    }

    /// Runs it once; what is wrong.
    fn fault(&self, [own, stock]: [&Path; 2]) -> Option<String> {
        let program = |ours| if ours { own } else { stock };
        let mut options = vec!["-f", "B"];
        options.extend(self.udp.then_some("-u"));
        options.extend((self.host == "::1").then_some("-V"));
        let served = Served::start(program(self.our_server), &options);
        let mut running = Invocation::new(program(self.our_client))
            .args(["-c", self.host, "-p", &served.port.to_string()])
            .args(self.iperf2_options(&free_port().to_string()))
            .spawn();
        if !eventually(CLIENT_TIME, || running.ended()) {
            return Some(format!("the client does not end:\n{}", running.stdout()));
        }
        let done = running.finish();
        if !done.status.success() {
            return Some(done.account());
        }
        let at_server = || self.wrong(End::Server, &served.running.stdout());
        let at_client = self.wrong(End::Client, &done.stdout);
        let at_client = at_client.map(|wrong| format!("{wrong}\n{}", served.running.stdout()));
        at_client.or_else(|| {
            // Its rows may come later than those of the client.
            eventually(ROWS_TIME, || at_server().is_none());
            at_server()
        })
    }
}

/// Runs these cells; what is wrong with which.
fn faults(cells: Vec<LiveCell>, stock: &Path) -> Vec<(LiveCell, String)> {
    let scratch = Scratch::new();
    let own = link(&scratch);
    let wrong = Mutex::new(Vec::new());
    LiveCell::run_all(cells, |cell| {
        if let Some(why) = cell.fault([&own, stock]) {
            let why = format!("{cell:?}: {why}");
            wrong.lock().expect("no panic").push((cell.clone(), why));
        }
    });
    wrong.into_inner().expect("no panic")
}

/// Fails with these faults, if any.
fn expect_none(wrong: &[(LiveCell, String)]) {
    let all: Vec<&str> = wrong.iter().map(|(_, why)| why.as_str()).collect();
    assert!(all.is_empty(), "{}", all.join("\n\n"));
}

#[test]
fn counts_agree_for_each_protocol_family_direction_and_number_of_streams() {
    let cells = LiveCell::all(&DIRECTIONS).into_iter();
    let ours = cells.filter(|cell| !cell.with_stock()).collect();
    // No cell runs the original.
    expect_none(&faults(LiveCell::pairwise(ours), Path::new("")));
}

// Tolerance: of the cells in which the original has several streams or both directions, one in
// four may fail. It sometimes loses streams that begin together, also between its client and its
// server, and sometimes does not end.
#[test]
#[ignore = "nightly: 112 cells, most of them with the original, which loses parallel streams"]
fn counts_agree_for_all_combinations_of_protocol_family_direction_and_streams() {
    let Some(stock) = stock() else { return };
    let cells = LiveCell::all(&DIRECTIONS).into_iter();
    let complete: Vec<LiveCell> = cells.filter(|cell| !cell.is_incomplete()).collect();
    let is_single = |cell: &LiveCell| cell.streams == 1 && ["", "-R"].contains(&cell.direction);
    let may_lose = |cell: &LiveCell| cell.with_stock() && !is_single(cell);
    let most = complete.iter().filter(|cell| may_lose(cell)).count() / 4;
    let wrong = faults(complete, &stock);
    let (lost, wrong): (Vec<_>, Vec<_>) = wrong.into_iter().partition(|(cell, _)| may_lose(cell));
    expect_none(&wrong);
    if lost.len() > most {
        expect_none(&lost);
    }
}
