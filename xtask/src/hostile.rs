//! Throughput that an honest client loses while others attack netserver.

use std::collections::VecDeque;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netperf_testkit::peers::Make;
use netperf_testkit::{Invocation, Netserver, Place, Programs};

use crate::bench::stats::Spread;
use crate::options::Options;

/// Clients that connect and say nothing.
const SILENT: usize = 2000;
/// Messages that are begun and not ended, at a time.
const BEGUN: usize = 1000;
/// Interval between two attacks of one kind.
const EVERY: Duration = Duration::from_millis(20);
/// Least median ratio of the rate under attack to that beside silent clients alone.
const KEPT: f64 = 0.95;

/// Runs an honest TCP_RR beside silent clients, with and without others who send noise,
/// connect and go, let bytes drip, and begin a message that they never end.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let ours = options.programs(Make::Ours)?;
    netperf_os::process::raise_open_files().map_err(|error| error.to_string())?;
    let server = Netserver::start(&ours, &Place::Here);
    let silent: Vec<TcpStream> = (0..SILENT)
        .map(|_| connect(&server))
        .collect::<Result<_, _>>()?;
    let mut pairs = Vec::new();
    for round in 0..options.pairs {
        // In turn, so that neither is always the first.
        let (calm, attacked);
        if round % 2 == 0 {
            calm = rate(&ours, &server, options)?;
            attacked = under_attack(&ours, &server, options, &silent)?;
        } else {
            attacked = under_attack(&ours, &server, options, &silent)?;
            calm = rate(&ours, &server, options)?;
        }
        pairs.push((calm, attacked));
    }
    let of = |pick: fn(&(f64, f64)) -> f64| Spread::of(pairs.iter().map(pick).collect()).median();
    let ratio = of(|(calm, attacked)| attacked / calm);
    println!(
        "{SILENT} silent clients: {:.0} transactions/s",
        of(|pair| pair.0)
    );
    println!(
        "and an attack:       {:.0} transactions/s, {ratio:.3} of it",
        of(|pair| pair.1)
    );
    if options.check && ratio < KEPT {
        return Err(format!("not good enough: {ratio:.3}, and {KEPT} is asked"));
    }
    Ok(())
}

fn connect(server: &Netserver) -> Result<TcpStream, String> {
    TcpStream::connect(("127.0.0.1", server.port())).map_err(|error| error.to_string())
}

/// Transactions per second of an honest client.
fn rate(programs: &Programs, server: &Netserver, options: &Options) -> Result<f64, String> {
    let finished = Invocation::new(&programs.netperf)
        .args(["-4", "-H", "127.0.0.1", "-p", &server.port().to_string()])
        .args(["-t", "TCP_RR", "-P", "0", "-v", "0"])
        .args(["-l", &options.seconds.to_string()])
        .args([
            "-T",
            &format!("{},{}", options.client_cpu, options.server_cpu),
        ])
        .patience(Duration::from_secs(u64::from(options.seconds) + 60))
        .run();
    finished.clean()?;
    let text = finished.stdout.trim();
    text.parse().map_err(|_| format!("no number: {text}"))
}

fn under_attack(
    programs: &Programs,
    server: &Netserver,
    options: &Options,
    silent: &[TcpStream],
) -> Result<f64, String> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| attack(server, silent, &over));
        let rate = rate(programs, server, options);
        over.store(true, Ordering::Relaxed);
        rate
    })
}

/// Does harm until it is over.
fn attack(server: &Netserver, silent: &[TcpStream], over: &AtomicBool) {
    let noise = [0xa5; 2 * 656];
    // The beginning of a message: it is not known from its first byte for what it is.
    let message = [0; 655];
    let mut dripping = silent.iter().cycle();
    let mut begun = VecDeque::new();
    while !over.load(Ordering::Relaxed) {
        if let Ok(mut stream) = connect(server) {
            // netserver may have had enough already.
            let _refused = stream.write_all(&noise);
        }
        drop(connect(server));
        if let Some(mut stream) = dripping.next() {
            let _refused = stream.write_all(&message[..1]);
        }
        if let Ok(mut stream) = connect(server) {
            let _refused = stream.write_all(&message);
            begun.push_back(stream);
        }
        if begun.len() > BEGUN {
            begun.pop_front();
        }
        std::thread::sleep(EVERY);
    }
}
