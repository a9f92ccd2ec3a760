//! Many flows: against as many processes of the original, one of them against the plain
//! loop, and ten thousand of them.

use std::time::Duration;

use netperf_testkit::{Invocation, Netserver, Place, Programs, Running, eventually};

use crate::options::Options;
use crate::parity::{median, sorted};

/// Flows against as many processes.
const CROWD: usize = 16;
/// Least median ratio to sixteen processes of the original.
const CROWD_GAIN: f64 = 1.1;
/// Least median ratio of one flow to the plain loop.
const ALONE: f64 = 0.97;
/// The many flows, and the few that they are compared with.
const MANY: u32 = 10_000;
const FEW: u32 = 100;
/// Most user memory for each flow at each end, bytes.
const MEMORY: f64 = 4096.0;
/// Longest that opening and starting all may take, seconds.
const START: f64 = 1.0;

/// Runs all three and prints what came of them.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let ours = options.ours()?;
    let server = Netserver::start(&ours, &Place::Here);
    let mut behind = Vec::new();
    let crowd = against_processes(options, &ours, &server)?;
    if crowd < CROWD_GAIN {
        behind.push(format!("{CROWD} flows {crowd:.3}"));
    }
    let alone = against_the_plain_loop(options, &ours, &server)?;
    if alone < ALONE {
        behind.push(format!("one flow {alone:.3}"));
    }
    behind.extend(ten_thousand(options, &ours, &server)?);
    if options.check && !behind.is_empty() {
        return Err(format!("not good enough: {}", behind.join(", ")));
    }
    Ok(())
}

/// netperf against a server, for a rate of transactions.
fn netperf(programs: &Programs, server: &Netserver, options: &Options) -> Invocation {
    Invocation::new(&programs.netperf)
        .args(["-4", "-H", "127.0.0.1", "-p", &server.port().to_string()])
        .args([
            "-t",
            "TCP_RR",
            "-P",
            "0",
            "-l",
            &options.seconds.to_string(),
        ])
        .patience(Duration::from_secs(u64::from(options.seconds) + 60))
}

/// Rounds of two contenders in turn; the median of the ratios of the second to the first.
fn ratio(
    name: &str,
    rounds: usize,
    mut first: impl FnMut() -> Result<f64, String>,
    mut second: impl FnMut() -> Result<f64, String>,
) -> Result<f64, String> {
    let mut pairs = Vec::new();
    for round in 0..rounds {
        let (a, b);
        if round % 2 == 0 {
            a = first()?;
            b = second()?;
        } else {
            b = second()?;
            a = first()?;
        }
        pairs.push((a, b));
    }
    let of = |pick: fn(&(f64, f64)) -> f64| sorted(pairs.iter().map(pick));
    let ratios = of(|(a, b)| b / a);
    println!(
        "{name:<34} {:>12.0} {:>12.0} {:>7.3} {:>7.3} {:>7.3}",
        median(&of(|(a, _)| *a)),
        median(&of(|(_, b)| *b)),
        ratios.first().copied().unwrap_or_default(),
        median(&ratios),
        ratios.last().copied().unwrap_or_default(),
    );
    Ok(median(&ratios))
}

/// One rate that a run prints.
fn rate(invocation: Invocation) -> Result<f64, String> {
    let finished = invocation.args(["--", "-k", "THROUGHPUT"]).run();
    finished.clean()?;
    Ok(finished.values().number("THROUGHPUT"))
}

fn against_processes(
    options: &Options,
    ours: &Programs,
    server: &Netserver,
) -> Result<f64, String> {
    let stock = options.stock()?;
    let their_server = Netserver::start(&stock, &Place::Here);
    println!(
        "{:<34} {:>12} {:>12} {:>7} {:>7} {:>7}",
        "transactions per second", "theirs", "ours", "min", "MEDIAN", "max"
    );
    let processes = || {
        let start = |_| {
            netperf(&stock, &their_server, options)
                .args(["--", "-k", "THROUGHPUT"])
                .spawn()
        };
        let running: Vec<Running> = (0..CROWD).map(start).collect();
        let mut sum = 0.0;
        for one in running {
            let finished = one.finish();
            finished.clean()?;
            sum += finished.values().number("THROUGHPUT");
        }
        Ok(sum)
    };
    let flows = || {
        let flows = CROWD.to_string();
        rate(netperf(ours, server, options).args(["--flows", &flows, "--threads", "2"]))
    };
    ratio(
        "16 flows, 16 stock processes",
        options.pairs,
        processes,
        flows,
    )
}

fn against_the_plain_loop(
    options: &Options,
    ours: &Programs,
    server: &Netserver,
) -> Result<f64, String> {
    let (here, there) = (
        options.client_cpu.to_string(),
        options.server_cpu.to_string(),
    );
    let plain = || {
        let cpus = format!("{here},{there}");
        rate(netperf(ours, server, options).args(["-T", &cpus]))
    };
    let alone = || {
        let words = ["--flows", "1", "--cpus", &here, "--remote-cpus", &there];
        rate(netperf(ours, server, options).args(words))
    };
    ratio("one flow, the plain loop", options.pairs, plain, alone)
}

/// What a run of many flows takes.
#[derive(Clone, Copy, Debug)]
struct Taken {
    /// Most memory that netperf had, bytes.
    here: f64,
    /// Most memory that its session had, bytes.
    there: f64,
    /// Time to open all flows and to start them, seconds.
    start: f64,
}

fn ten_thousand(
    options: &Options,
    ours: &Programs,
    server: &Netserver,
) -> Result<Vec<String>, String> {
    let few = taken(options, ours, server, FEW)?;
    let many = taken(options, ours, server, MANY)?;
    let each = |few: f64, many: f64| (many - few) / f64::from(MANY - FEW);
    let (here, there) = (each(few.here, many.here), each(few.there, many.there));
    println!(
        "{MANY} flows: {here:.0} bytes of memory for each at netperf, {there:.0} at netserver"
    );
    println!("{MANY} flows: started within {:.3} s", many.start);
    let mut behind = Vec::new();
    for (end, memory) in [("netperf", here), ("netserver", there)] {
        if memory >= MEMORY {
            behind.push(format!("{memory:.0} bytes for each flow at {end}"));
        }
    }
    if many.start >= START {
        behind.push(format!("{:.3} s to start", many.start));
    }
    Ok(behind)
}

fn taken(
    options: &Options,
    ours: &Programs,
    server: &Netserver,
    flows: u32,
) -> Result<Taken, String> {
    let gone = eventually(Duration::from_secs(20), || server.sessions().is_empty());
    if !gone {
        return Err("a session is left".to_owned());
    }
    let running = netperf(ours, server, options)
        .args(["--flows", &flows.to_string()])
        .args(["--", "-k", "SETUP_USEC,START_SKEW_USEC"])
        .spawn();
    let (mut here, mut there) = (0.0_f64, 0.0_f64);
    // The kernel keeps the most that a process had, so the last look has it.
    eventually(Duration::from_secs(u64::from(options.seconds) + 60), || {
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
