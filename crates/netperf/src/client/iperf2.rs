//! netperf called as `iperf`: a client of iperf 2 with its options and its output.

mod counts;
mod rows;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netperf_cli::{Iperf2Args, Iperf2Command};
use netperf_measure::clock;
use netperf_model::iperf2::{Iperf2Amount, Iperf2Direction};
use netperf_os::resolve::{Want, resolve};
use netperf_os::{Type, alarm, wait};

pub(crate) use self::rows::ClientRows;
use crate::iperf2::{Iperf2Client, Iperf2Failure, Iperf2SocketOptions};
use crate::output::{err, system_text};

/// Line of `-v`. Scripts take it for the version whose options and output these are.
const VERSION: &str = "iperf version 2.1.8 (netperf)";
/// Longest wait between looks at the counters.
const LOOK: Duration = Duration::from_millis(10);

/// Runs the program.
#[must_use]
pub fn main(argv: &[OsString]) -> ExitCode {
    netperf_os::process::set_name(c"iperf");
    crate::report_lack_of_memory("iperf");
    match netperf_cli::iperf2(argv, VERSION) {
        Ok(Iperf2Command::Client(args)) => crate::output::unless_lost(client(*args)),
        Ok(Iperf2Command::Server(args)) => {
            crate::output::unless_lost(crate::server::iperf2_alone(&args))
        }
        Ok(Iperf2Command::Text(text, exit)) => {
            err(&text);
            ExitCode::from(exit)
        }
        Err(line) => {
            err(&format!("{line}\n"));
            ExitCode::FAILURE
        }
    }
}

/// First address of a host.
fn address(host: &str, port: u16, is_v6: bool) -> Option<SocketAddr> {
    let want = if is_v6 { Want::V6 } else { Want::Any };
    let found = resolve(host, &port.to_string(), want, Type::STREAM).ok()?;
    found.addresses.first().copied()
}

fn client(mut args: Iperf2Args) -> ExitCode {
    let Some(remote) = address(&args.host, args.plan.port, args.plan.ipv6) else {
        err(&format!("{}: Unknown host\n", args.host));
        return ExitCode::FAILURE;
    };
    args.plan.ipv6 = remote.is_ipv6();
    let bind = match args.bind.as_deref().map(|text| bind(text, remote)) {
        Some(None) => {
            let text = args.bind.unwrap_or_default();
            err(&format!("{text}: Unknown host\n"));
            return ExitCode::FAILURE;
        }
        Some(bind) => bind,
        None => None,
    };
    let options = Iperf2SocketOptions {
        window: args.window,
        no_delay: args.no_delay,
        segment: args.segment,
        congestion: args.congestion.clone(),
        bind,
        enhanced: args.enhanced,
    };
    if args.window.is_some_and(|window| window < 2048) {
        let window = args.window.unwrap_or_default();
        err(&format!(
            "WARNING: TCP window size set to {window} bytes. A small window size\nwill give poor \
             performance. See the Iperf documentation.\n"
        ));
    }
    // Without a handler a signal ends the program without results.
    let _default = alarm::catch_signals();
    let mut rows = ClientRows::new(&args);
    let client = match Iperf2Client::open(&args.plan, &options, remote) {
        Ok(client) => client,
        Err(failure) => {
            rows.head(None, &args.host);
            // The original continues and ends with success.
            complain(&failure);
            return ExitCode::SUCCESS;
        }
    };
    rows.head(Some(&client), &args.host);
    if let Some(connections) = args.connections {
        return connect_again(&args, &options, remote, &rows, connections - 1);
    }
    run(&client, &args, &mut rows);
    ExitCode::SUCCESS
}

/// Opens and closes further connections (`--connect-only`).
fn connect_again(
    args: &Iperf2Args,
    options: &Iperf2SocketOptions,
    remote: SocketAddr,
    rows: &ClientRows,
    connections: u32,
) -> ExitCode {
    for _ in 0..connections {
        if alarm::stopped_by_user() {
            break;
        }
        match Iperf2Client::open(&args.plan, options, remote) {
            Ok(client) => rows.connections(&client),
            Err(failure) => complain(&failure),
        }
    }
    ExitCode::SUCCESS
}

/// Follows a test while it runs.
pub(crate) struct Follow<'a> {
    pub(crate) client: &'a Iperf2Client,
    /// Time from one row to the next.
    pub(crate) interval: Option<Duration>,
    /// Ends the test.
    pub(crate) stop: &'a AtomicBool,
    /// Returns true if the test is to end before its time.
    pub(crate) enough: &'a dyn Fn() -> bool,
}

impl Follow<'_> {
    /// Prints rows of intervals until the test is over. A signal ends it early.
    pub(crate) fn until(&self, is_over: &dyn Fn() -> bool, mut rows: Option<&mut ClientRows>) {
        let start = clock::now();
        let mut turn = 1_u32;
        while !is_over() {
            if alarm::stopped_by_user() || (self.enough)() {
                self.stop.store(true, Ordering::Relaxed);
            }
            // With -r, the streams of the server follow the results of the client's own.
            let is_dual = self.client.plan.direction == Iperf2Direction::Dual;
            if let Some(rows) = rows.as_mut().filter(|_| is_dual) {
                rows.opened_back(self.client);
            }
            // Only whole intervals of the test have rows.
            let end = match self.client.plan.amount {
                Iperf2Amount::Time(time) => time + LOOK,
                Iperf2Amount::Bytes(_) => Duration::MAX,
            };
            let interval = self.interval.filter(|one| *one * turn <= end);
            let due = interval.map(|interval| start.plus(interval * turn));
            if due.is_some_and(|due| due.left().is_zero()) {
                if let Some(rows) = &mut rows {
                    rows.interval(self.client, turn);
                }
                turn += 1;
            }
            wait::sleep(due.map_or(LOOK, |due| due.left().min(LOOK)));
        }
        // The last interval of a test that lasted as long as it should.
        let whole = match self.client.plan.amount {
            Iperf2Amount::Time(time) => self.interval.filter(|one| *one * turn <= time),
            Iperf2Amount::Bytes(_) => None,
        };
        let is_whole = whole.is_some_and(|one| start.plus(one * turn).left().is_zero());
        if let Some(rows) = rows.filter(|_| is_whole) {
            rows.interval(self.client, turn);
        }
    }
}

/// Runs a test and prints its rows.
fn run(client: &Iperf2Client, args: &Iperf2Args, rows: &mut ClientRows) {
    let stop = AtomicBool::new(false);
    let results = client.run(&stop, |client, is_over| {
        let follow = Follow {
            client,
            interval: args.interval,
            stop: &stop,
            enough: &|| false,
        };
        follow.until(is_over, Some(rows));
    });
    rows.results(client, &results);
    for failure in results.iter().filter_map(|result| result.as_ref().err()) {
        complain(failure);
    }
}

fn complain(failure: &Iperf2Failure) {
    let text = system_text(&failure.error);
    err(&format!("{} failed: {text}\n", failure.step));
}

/// A local address and port.
fn bind(text: &str, remote: SocketAddr) -> Option<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => (host, port.parse().ok()?),
        _ => (text, 0),
    };
    address(host, port, remote.is_ipv6())
}
