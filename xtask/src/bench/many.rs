//! Cost of ten thousand flows: memory for each at both ends, and time to start.

use std::time::Duration;

use netperf_testkit::peers::Make;
use netperf_testkit::{Invocation, Netserver, Place, eventually};

use super::table::{Asked, Line};
use crate::options::Options;

/// The name of its rows.
pub(crate) const NAME: &str = "flows-10000";
/// The many flows, and the few that they are compared with.
const MANY: u32 = 10_000;
const FEW: u32 = 100;
/// Most user memory for each flow at each end, bytes.
const MEMORY: f64 = 4096.0;
/// Longest that opening and starting all may take, seconds.
const START: f64 = 1.0;

/// Cost of a run of many flows.
#[derive(Clone, Copy, Debug)]
struct Taken {
    /// Most memory that netperf had, bytes.
    here: f64,
    /// Most memory that its session had, bytes.
    there: f64,
    /// Time to open all flows and to start them, seconds.
    start: f64,
}

/// Measures, and says it in lines of the table.
pub(crate) fn run(options: &Options) -> Result<Vec<Line>, String> {
    let server = Netserver::start(&options.programs(Make::Ours)?, &Place::Here);
    let few = taken(options, &server, FEW)?;
    let many = taken(options, &server, MANY)?;
    let each = |few: f64, many: f64| (many - few) / f64::from(MANY - FEW);
    let figure =
        |what: &str, figure, unit, most| Line::figure(NAME, what, figure, unit, Asked::Below(most));
    Ok(vec![
        figure(
            "memory at netperf",
            each(few.here, many.here),
            "bytes/flow",
            MEMORY,
        ),
        figure(
            "memory at netserver",
            each(few.there, many.there),
            "bytes/flow",
            MEMORY,
        ),
        figure("set-up and start", many.start, "s", START),
    ])
}

fn taken(options: &Options, server: &Netserver, flows: u32) -> Result<Taken, String> {
    let gone = eventually(Duration::from_secs(20), || server.sessions().is_empty());
    if !gone {
        return Err("a session is left".to_owned());
    }
    let patience = Duration::from_secs(u64::from(options.seconds) + 60);
    let running = Invocation::new(&options.programs(Make::Ours)?.netperf)
        .args(["-4", "-H", "127.0.0.1", "-p", &server.port().to_string()])
        .args([
            "-t",
            "TCP_RR",
            "-P",
            "0",
            "-l",
            &options.seconds.to_string(),
        ])
        .args(["--flows", &flows.to_string()])
        .args(["--", "-k", "SETUP_USEC,START_SKEW_USEC"])
        .patience(patience)
        .spawn();
    let (mut here, mut there) = (0.0_f64, 0.0_f64);
    // The kernel keeps the most that a process had, so the last look has it.
    eventually(patience, || {
        let at_netperf = most_memory(running.pid());
        here = here.max(at_netperf);
        let sessions = server.sessions().into_iter();
        there = sessions.map(most_memory).fold(there, f64::max);
        at_netperf <= 0.0
    });
    let finished = running.finish();
    finished.clean()?;
    let values = finished.values();
    let micros = values.number("SETUP_USEC") + values.number("START_SKEW_USEC");
    Ok(Taken {
        here,
        there,
        start: micros / 1e6,
    })
}

/// The most memory that a process ever had resident, bytes (proc(5), `VmHWM`); 0 for one
/// that is gone.
fn most_memory(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    kibibytes.unwrap_or(0.0) * 1024.0
}
