//! What our ways to move bytes are worth: each in pairs against the original, or against
//! one blocking call a message, on two processors.

use std::path::Path;

use netperf_testkit::Scratch;

use crate::options::Options;
use crate::parity::{Contender, median, sorted};

/// One comparison.
struct Row {
    name: &'static str,
    /// Options in front of `--` that both sides have.
    test: &'static [&'static str],
    /// Options behind it that both sides have.
    sizes: &'static [&'static str],
    /// What is measured.
    path: &'static [&'static str],
    /// What it is held against.
    against: Against,
    /// The least median ratio that `--check` accepts.
    least: f64,
}

/// What a data path is held against.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Against {
    /// netperf 2.7.0.
    Stock,
    /// Ours, one blocking call a message.
    Plain,
}

const SMALL: &[&str] = &["-m", "64"];
const FULL: &[&str] = &["-m", "1472"];
const LARGE: &[&str] = &["-m", "128K", "-M", "128K"];
const UDP: &[&str] = &["-t", "UDP_STREAM"];
const TCP: &[&str] = &["-t", "TCP_STREAM"];
/// What noise may take from something that is as fast.
const NOT_SLOWER: f64 = 0.98;

#[rustfmt::skip]
const ROWS: [Row; 10] = [
    Row { name: "tcp-rr-poll", test: &["-t", "TCP_RR"], sizes: &[], path: &["--io", "poll"], against: Against::Stock, least: 2.5 },
    Row { name: "udp-rr-poll", test: &["-t", "UDP_RR"], sizes: &[], path: &["--io", "poll"], against: Against::Stock, least: 3.5 },
    Row { name: "udp-64-offload", test: UDP, sizes: SMALL, path: &["--segment-offload", "on"], against: Against::Stock, least: 20.0 },
    Row { name: "udp-64-offload-discard", test: UDP, sizes: SMALL, path: &["--segment-offload", "on", "--discard"], against: Against::Stock, least: 20.0 },
    Row { name: "udp-1472-offload", test: UDP, sizes: FULL, path: &["--segment-offload", "on"], against: Against::Stock, least: 8.0 },
    Row { name: "udp-64-batch", test: UDP, sizes: SMALL, path: &["--batch", "32"], against: Against::Plain, least: NOT_SLOWER },
    Row { name: "udp-1472-batch", test: UDP, sizes: FULL, path: &["--batch", "32"], against: Against::Plain, least: NOT_SLOWER },
    Row { name: "tcp-stream-discard", test: TCP, sizes: LARGE, path: &["--discard"], against: Against::Stock, least: 2.0 },
    Row { name: "tcp-stream-zerocopy", test: TCP, sizes: LARGE, path: &["--zerocopy"], against: Against::Stock, least: 0.0 },
    Row { name: "tcp-rr-epoll", test: &["-t", "TCP_RR"], sizes: &[], path: &["--io", "epoll"], against: Against::Stock, least: 0.0 },
];

/// Runs the comparisons and prints them.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let (ours, stock) = (options.ours()?, options.stock()?);
    let ours = Contender::new("ours", &ours, &ours, options.server_cpu)?;
    let stock = Contender::new("stock", &stock, &stock, options.server_cpu)?;
    println!(
        "# {} rounds of {} s, client on CPU {}, server on CPU {}",
        options.pairs, options.seconds, options.client_cpu, options.server_cpu
    );
    println!(
        "{:<23} {:<7} {:>14} {:>14} {:>7} {:>7} {:>7} {:>7}",
        "path", "against", "median", "theirs", "min", "MEDIAN", "max", "asked"
    );
    let mut behind = Vec::new();
    for row in chosen(options)? {
        let base = match row.against {
            Against::Stock => &stock,
            Against::Plain => &ours,
        };
        let ratio = report(row, &rounds(row, base, &ours, options)?);
        if ratio < row.least {
            behind.push(format!("{} {ratio:.2} of {}", row.name, row.least));
        }
    }
    if options.check && !behind.is_empty() {
        return Err(format!("below what is asked: {}", behind.join(", ")));
    }
    Ok(())
}

fn chosen(options: &Options) -> Result<Vec<&'static Row>, String> {
    let Some(names) = &options.tests else {
        return Ok(ROWS.iter().collect());
    };
    let find = |name: &String| {
        let known = ROWS.iter().find(|row| row.name == name);
        known.ok_or_else(|| format!("no row {name}"))
    };
    names.iter().map(find).collect()
}

/// What the path and what it is held against measured in each round, in turning order.
fn rounds(
    row: &Row,
    base: &Contender,
    ours: &Contender,
    options: &Options,
) -> Result<Vec<(f64, f64)>, String> {
    let folder = Scratch::new();
    let path: Vec<&str> = [row.test, row.path].concat();
    let theirs = |folder: &Path| base.throughput(row.test, row.sizes, options, folder);
    let mine = |folder: &Path| ours.throughput(&path, row.sizes, options, folder);
    let round = |number: usize| {
        if number % 2 == 0 {
            let first = theirs(folder.path())?;
            Ok((mine(folder.path())?, first))
        } else {
            let first = mine(folder.path())?;
            Ok((first, theirs(folder.path())?))
        }
    };
    (0..options.pairs).map(round).collect()
}

/// Prints one line; gives the median ratio.
fn report(row: &Row, rounds: &[(f64, f64)]) -> f64 {
    let ratios = sorted(rounds.iter().map(|(ours, theirs)| ours / theirs));
    let ours = sorted(rounds.iter().map(|(ours, _)| *ours));
    let theirs = sorted(rounds.iter().map(|(_, theirs)| *theirs));
    println!(
        "{:<23} {:<7} {:>14.2} {:>14.2} {:>7.2} {:>7.2} {:>7.2} {:>7.2}",
        row.name,
        match row.against {
            Against::Stock => "stock",
            Against::Plain => "plain",
        },
        median(&ours),
        median(&theirs),
        ratios.first().copied().unwrap_or_default(),
        median(&ratios),
        ratios.last().copied().unwrap_or_default(),
        row.least,
    );
    median(&ratios)
}
