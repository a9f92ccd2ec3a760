//! User-space instructions of the client per transaction and per send.
//!
//! Two counted runs of different lengths under callgrind: what the program does
//! besides, starting, connecting and printing, is the same in both and drops out
//! of the difference. The kernel's work is not counted.

use std::path::Path;
use std::time::Duration;

use netperf_testkit::peers::Make;
use netperf_testkit::{Invocation, Netserver, Place, Programs, Scratch};

use crate::options::{Options, Profile};

/// One count: test, units of `-l` per step, further options.
struct Step {
    what: &'static str,
    test: &'static str,
    units: u64,
    /// In front of `--`, for ours.
    ours: &'static [&'static str],
    /// Behind it, for both.
    specific: &'static [&'static str],
    /// The most that ours may take, in the profiles release and dist.
    most: [f64; 2],
}

const KEPT: &[&str] = &["-j"];

// The cost of a histogram depends on how far the latencies of a run spread: up to 4 percent.
#[rustfmt::skip]
const STEPS: [Step; 6] = [
    Step { what: "TCP_RR transaction", test: "TCP_RR", units: 1, ours: &[], specific: &[], most: [123.0, 114.0] },
    Step { what: "TCP_RR, histogram", test: "TCP_RR", units: 1, ours: KEPT, specific: &[], most: [226.0, 192.0] },
    Step { what: "UDP_RR transaction", test: "UDP_RR", units: 1, ours: &[], specific: &[], most: [123.0, 112.0] },
    Step { what: "UDP_RR, histogram", test: "UDP_RR", units: 1, ours: KEPT, specific: &[], most: [231.0, 196.0] },
    Step { what: "16 KiB send", test: "TCP_STREAM", units: 16384, ours: &[], specific: &["-m", "16384"], most: [63.0, 54.0] },
    Step { what: "16 KiB, histogram", test: "TCP_STREAM", units: 16384, ours: KEPT, specific: &["-m", "16384"], most: [123.0, 121.0] },
];

impl Step {
    const fn most(&self, profile: Profile) -> f64 {
        let [release, dist] = self.most;
        match profile {
            Profile::Release => release,
            Profile::Dist => dist,
        }
    }
}

/// Steps in the shorter run; the longer has twice as many.
const SHORT: u64 = 20_000;

/// Counts and prints.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let (ours, stock) = (
        options.programs(Make::Ours)?,
        options.programs(Make::Stock)?,
    );
    // One server for both: only the client is counted.
    let server = Netserver::start(&stock, &Place::Here);
    println!(
        "{:<20} {:>9} {:>9} {:>9} {:>7}",
        "client, per", "ours", "at most", "stock", "ratio"
    );
    let mut behind = Vec::new();
    let mut theirs = f64::NAN;
    for step in &STEPS {
        let most = step.most(options.profile);
        let mine = per_step(step, &ours, step.ours, &server)?;
        // Those of the original are without a histogram: its cheapest.
        if step.ours.is_empty() {
            theirs = per_step(step, &stock, &[], &server)?;
        }
        println!(
            "{:<20} {mine:>9.1} {:>9.0} {theirs:>9.1} {:>7.3}",
            step.what,
            most,
            mine / theirs
        );
        if mine > most || mine >= theirs {
            behind.push(step.what);
        }
    }
    if options.check && !behind.is_empty() {
        return Err(format!(
            "more than is allowed, or than the original's: {}",
            behind.join(", ")
        ));
    }
    Ok(())
}

fn per_step(
    step: &Step,
    client: &Programs,
    words: &[&str],
    server: &Netserver,
) -> Result<f64, String> {
    let short = collected(step, SHORT, client, words, server)?;
    let long = collected(step, 2 * SHORT, client, words, server)?;
    let difference = long
        .checked_sub(short)
        .ok_or("the longer run took fewer instructions")?;
    let (difference, steps) = (u32::try_from(difference), u32::try_from(SHORT));
    match (difference, steps) {
        (Ok(difference), Ok(steps)) => Ok(f64::from(difference) / f64::from(steps)),
        _ => Err("too many instructions to be true".into()),
    }
}

/// Instructions of one whole run.
fn collected(
    step: &Step,
    steps: u64,
    client: &Programs,
    words: &[&str],
    server: &Netserver,
) -> Result<u64, String> {
    let folder = Scratch::new();
    let finished = Invocation::new(Path::new("valgrind"))
        .args(["--tool=callgrind", "--callgrind-out-file=callgrind.out"])
        .arg(&client.netperf)
        .args(["-4", "-H", "127.0.0.1", "-p", &server.port().to_string()])
        .args(["-t", step.test, "-l", &format!("-{}", steps * step.units)])
        .args(words)
        .arg("--")
        .args(step.specific)
        .folder(folder.path())
        .patience(Duration::from_secs(120))
        .run();
    let count = finished
        .stderr
        .lines()
        .find_map(|line| line.split_once("Collected : "))
        .and_then(|(_, count)| count.trim().parse().ok());
    match count {
        Some(count) if finished.status.success() => Ok(count),
        _ => Err(format!("callgrind failed:\n{}", finished.account())),
    }
}
