//! netperf called as `iperf`: a client of iperf 2 with its options and its output.

mod claims;
mod counts;
mod input;
mod rows;
pub mod session;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netperf_iperf2::options::Iperf2Args;
use netperf_measure::clock;
use netperf_model::iperf2::{Iperf2Amount, Iperf2Direction, Iperf2Plan};
use netperf_os::resolve::{Want, resolve};
use netperf_os::{Type, alarm, wait};
use netperf_program::iperf2::prepare_process;
use netperf_program::output::{err, system_text};

pub use self::claims::contradiction;
pub use self::rows::ClientRows;
use self::session::{
    Iperf2Client, Iperf2Failure, Iperf2SocketOptions, Iperf2StreamResult, TestPart,
};

/// Longest wait between looks at the counters.
const LOOK: Duration = Duration::from_millis(10);

/// First address of a host.
fn address(host: &str, port: u16, is_v6: bool) -> Option<SocketAddr> {
    let want = if is_v6 { Want::V6 } else { Want::Any };
    let found = resolve(host, &port.to_string(), want, Type::STREAM).ok()?;
    found.addresses.first().copied()
}

/// Runs a client.
pub fn run(mut args: Iperf2Args) -> ExitCode {
    let Some(remote) = address(&args.host, args.plan.port, args.plan.ipv6) else {
        err(&format!("{}: Unknown host\n", args.host));
        return ExitCode::FAILURE;
    };
    args.plan.ipv6 = remote.is_ipv6();
    // The members of a group send no report.
    args.plan.no_udp_fin |= remote.ip().is_multicast();
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
        prefetch: args.prefetch,
        congestion: args.congestion.clone(),
        bind,
        device: args.device.clone(),
        ttl: args.ttl,
        local_only: args.local_only,
        connect_retries: args.connect_retries,
        enhanced: args.enhanced,
    };
    if let Err(line) = prepare_process(&args) {
        err(&line);
        return ExitCode::FAILURE;
    }
    if args.window.is_some_and(|window| window < 2048) {
        let window = args.window.unwrap_or_default();
        err(&format!(
            "WARNING: TCP window size set to {window} bytes. A small window size\nwill give poor \
             performance. See the Iperf documentation.\n"
        ));
    }
    // Before the connection, as a pipe may wait for its writer.
    let inputs = match input::open_inputs(&args) {
        Ok(inputs) => inputs,
        Err(line) => {
            err(&line);
            return ExitCode::FAILURE;
        }
    };
    // Without a handler a signal ends the program without results.
    let _default = alarm::catch_signals();
    let asked = args.plan.direction;
    let opened = open(&mut args.plan, &options, remote);
    let mut rows = ClientRows::new(&args);
    let client = match opened {
        Ok(client) => client.sending(inputs),
        Err(failure) => {
            rows.head(None, &args.host);
            complain(&failure);
            if args.plan.direction != asked {
                // Neither direction is measured.
                return ExitCode::FAILURE;
            }
            // The original continues and ends with success.
            return ExitCode::SUCCESS;
        }
    };
    rows.head(Some(&client), &args.host);
    client.refused.iter().for_each(complain);
    pause(&args);
    if let Some(connections) = args.connections {
        return connect_again(&args, &options, remote, &rows, connections);
    }
    test(&client, &mut rows)
}

/// Opens a test. Where the server cannot connect back, the client's own direction is measured alone,
/// as in the original.
fn open(
    plan: &mut Iperf2Plan,
    options: &Iperf2SocketOptions,
    remote: SocketAddr,
) -> Result<Iperf2Client, Iperf2Failure> {
    match Iperf2Client::open(plan, options, remote) {
        Err(failure) if failure.step == session::LISTENER_STEP => {
            complain(&failure);
            plan.direction = Iperf2Direction::Forward;
            Iperf2Client::open(plan, options, remote)
        }
        opened => opened,
    }
}

/// Waits before the first write, if that is asked for.
fn pause(args: &Iperf2Args) {
    if let Some(delay) = args.delay {
        wait::sleep(delay);
    }
    let Some(start) = args.start else {
        return;
    };
    match start.checked_sub(clock::since_epoch()) {
        Some(left) => wait::sleep(left),
        None => err(&format!(
            "iperf: warning - --txstart-time {} is over: the test starts at once\n",
            start.as_secs_f64()
        )),
    }
}

/// Opens and closes further connections (`--connect-only`): so many, or with `-i` one after each
/// interval until the time is over.
fn connect_again(
    args: &Iperf2Args,
    options: &Iperf2SocketOptions,
    remote: SocketAddr,
    rows: &ClientRows,
    connections: u32,
) -> ExitCode {
    let begin = clock::now();
    for number in 1.. {
        let is_due = match (args.interval, args.plan.amount) {
            (Some(every), Iperf2Amount::Time(limit)) => {
                let at = every.saturating_mul(number);
                at < limit && clock::sleep_until(begin.plus(at))
            }
            _ => number < connections,
        };
        if !is_due || alarm::stopped_by_user() {
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
pub struct Follow<'a> {
    /// The test.
    pub client: &'a Iperf2Client,
    /// Ends the test.
    pub stop: &'a AtomicBool,
    /// Returns true if the test is to end before its time.
    pub enough: &'a dyn Fn() -> bool,
}

impl Follow<'_> {
    /// Prints rows of intervals until a part of the test is over. A signal ends it early.
    pub fn until(&self, part: &TestPart<'_>, mut rows: Option<&mut ClientRows>) {
        let is_second = part.first.is_some();
        if let (Some(rows), Some(first)) = (&mut rows, part.first) {
            rows.first_part(self.client, first);
        }
        // With -r, the streams of the server follow the results of the client's own.
        let has_back = is_second || self.client.plan.direction == Iperf2Direction::Dual;
        while !(part.is_over)() {
            if alarm::stopped_by_user() || (self.enough)() {
                self.stop.store(true, Ordering::Relaxed);
            }
            let mut wait = LOOK;
            if let Some(rows) = &mut rows {
                if has_back {
                    rows.opened_back(self.client);
                }
                let _printed = rows.tick(self.client);
                wait = rows.due().map_or(LOOK, |due| due.left().min(LOOK));
            }
            wait::sleep(wait);
        }
        if let Some(rows) = rows {
            if has_back {
                rows.opened_back(self.client);
            }
            // Intervals that were over before the part was.
            while rows.tick(self.client) {}
        }
    }
}

/// Why no datagram of a server may have arrived. Its refusal would be a datagram, too.
const UNHEARD: &str = "no datagram of the server arrived: it does not run, or may not send \
    datagrams to this host (netserver --data-peers names the networks), or the path loses them";

/// Runs a test and prints its rows. What cannot be is a failure.
fn test(client: &Iperf2Client, rows: &mut ClientRows) -> ExitCode {
    let stop = AtomicBool::new(false);
    let results = client.run(&stop, |client, part| {
        let follow = Follow {
            client,
            stop: &stop,
            enough: &|| false,
        };
        follow.until(part, Some(rows));
    });
    rows.results(client, &results);
    let mut is_whole = true;
    for failure in results.iter().filter_map(|result| result.as_ref().err()) {
        complain(failure);
        is_whole &= failure.step != session::INPUT_STEP;
    }
    let results: Vec<_> = results
        .iter()
        .filter_map(|result| result.as_ref().ok())
        .collect();
    let awaits = client.plan.udp && session::receives(&client.plan) && !results.is_empty();
    let is_silent = |one: &&Iperf2StreamResult| one.received.is_none_or(|all| all.bytes == 0);
    // A user may stop a test before anything can have come.
    let heard_nothing = awaits && !alarm::stopped_by_user() && results.iter().all(is_silent);
    match results.into_iter().find_map(contradiction) {
        Some(text) => {
            err(&format!("iperf: {text}\n"));
            ExitCode::FAILURE
        }
        None if heard_nothing => {
            err(&format!("iperf: {UNHEARD}\n"));
            ExitCode::FAILURE
        }
        None if is_whole => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
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
