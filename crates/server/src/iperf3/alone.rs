//! `iperf3 -s`: a server of one test at a time, with the output of the original.
//!
//! The process is confined before it accepts a client. A thread accepts connections; another one
//! serves the test.

mod intake;

use std::fs::File;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use netperf_daemon::record::NoRecords;
use netperf_daemon::{rights_helper, sandbox};
use netperf_iperf3::defaults::VERSION;
use netperf_iperf3::json::failed;
use netperf_iperf3::messages::{PORT, ServerError};
use netperf_iperf3::options::{Iperf3Common, Iperf3Server};
use netperf_iperf3::states::server::ServerEnd;
use netperf_measure::clock;
use netperf_model::{Limits, Policy, Require};
use netperf_os::process::{self, Forked};
use netperf_os::resolve::{Want, resolve};
use netperf_os::{Domain, Protocol, Socket, Type, alarm, system, without};
use netperf_program::iperf3::lines::LineWriter;
use netperf_program::output::{err, out, system_text};

use self::intake::{NewClient, TestIntake};
use super::authority::Authority;
use super::session::{SessionStart, StreamTimeouts, serve as serve_session};
use crate::iperf3::report::{Iperf3Report, ReportOptions};
use crate::listen::{detach, wildcards};
use crate::one_port::beside;

/// Line around the head.
const RULE: &str = "-----------------------------------------------------------\n";
/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 128;
/// Interval of looks whether the user stops the server.
const LOOK: Duration = Duration::from_millis(100);

/// Runs a server until it is stopped, or for one test.
pub fn serve(args: &Iperf3Server) -> ExitCode {
    let authority = args.accounts.as_ref().map(Authority::start);
    let served = authority.transpose().and_then(|authority| {
        let served = serve_or_fail(args, authority.map(Arc::new));
        served.map_err(|text| format!("error - {text}"))
    });
    served.unwrap_or_else(|text| {
        if args.common.json {
            out(&failed(&system::names().to_string(), &text));
        } else {
            err(&format!("iperf3: {text}\n"));
        }
        ExitCode::FAILURE
    })
}

fn serve_or_fail(
    args: &Iperf3Server,
    authority: Option<Arc<Authority>>,
) -> Result<ExitCode, String> {
    let common = &args.common;
    let unable = |what: &str| {
        let what = what.to_owned();
        move |error: io::Error| format!("unable to {what}: {}", system_text(&error))
    };
    let writer = LineWriter::open(common, None)?;
    // Without it, calls that take a right fail. It has no socket of this server.
    let _no_rights = rights_helper::start_for_iperf3();
    let listener = listener(common).map_err(unable("start listener for connections"))?;
    let datagrams = beside(&listener).map_err(unable("start listener for connections"))?;
    // The process leaves the folder in which it was started.
    let pid_file = common.pid_file.as_ref().map(std::path::absolute);
    let pid_file = pid_file.transpose().map_err(unable("write PID file"))?;
    let detached = args.daemon.then(detach).transpose();
    let detached = detached.map_err(unable("become a daemon"))?;
    if matches!(detached, Some(Forked::Parent(_))) {
        return Ok(ExitCode::SUCCESS);
    }
    let caught = alarm::catch_signals().and_then(|()| alarm::catch_hangup());
    caught.map_err(unable("catch signals"))?;
    if let Some(file) = &pid_file {
        write_pid(file).map_err(unable("write PID file"))?;
    }
    if let Some(cpu) = common.affinity.0 {
        process::bind_to_cpu(cpu).map_err(unable("set CPU affinity"))?;
    }
    let folder = pid_file.as_deref().and_then(Path::parent);
    sandbox::confine_server(folder, false).map_err(unable("confine the server"))?;
    let exit = serve_clients((args, authority), (listener, datagrams), &writer);
    let exit = exit.map_err(unable("start a thread"));
    if let Some(file) = pid_file {
        // The server is stopped in any case.
        let _left = std::fs::remove_file(file);
    }
    exit
}

fn write_pid(file: &PathBuf) -> io::Result<()> {
    File::create(file)?.write_all(std::process::id().to_string().as_bytes())
}

/// Opens the listener: at the address, or at all of the wanted family.
fn listener(common: &Iperf3Common) -> io::Result<Socket> {
    let text = common.port.clone().unwrap_or(PORT.to_string());
    let wanted = match common.family {
        Some('4') => Want::V4,
        Some('6') => Want::V6,
        Some(_) | None => Want::Any,
    };
    let addresses = match &common.bind {
        Some(host) => {
            let found = resolve(host, &text, wanted, Type::STREAM);
            found
                .map_err(|error| io::Error::other(error.to_string()))?
                .addresses
        }
        None => wildcards(text.parse().unwrap_or(PORT), wanted),
    };
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        let only_v6 = common.family == Some('6');
        match listener_at(address, only_v6, common.device.as_deref()) {
            Ok(listener) => return Ok(listener),
            // Another program has the port.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn listener_at(address: SocketAddr, only_v6: bool, device: Option<&str>) -> io::Result<Socket> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(only_v6)?;
    }
    without::share_port(&socket, true);
    if let Some(device) = device {
        socket.bind_device(Some(device.as_bytes()))?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn serve_clients(
    (args, authority): (&Iperf3Server, Option<Arc<Authority>>),
    (listener, datagrams): (Socket, Socket),
    writer: &LineWriter,
) -> io::Result<ExitCode> {
    let (clients, arrived) = channel();
    let intake = TestIntake::new(listener, datagrams, clients);
    let builder = std::thread::Builder::new().name("listener".to_owned());
    // It ends with the process, or with the receiver.
    let _detached = builder.spawn(move || {
        // Signals are for the thread that waits for clients; without this the next look finds
        // them.
        let _later = process::block_signals();
        intake.run();
    })?;
    let port = args.common.port.clone().unwrap_or(PORT.to_string());
    let name = system::names();
    for number in 1_u64.. {
        if !args.common.json {
            let head = if args.common.verbose {
                format!("iperf {VERSION}\n{name}\n")
            } else {
                String::new()
            };
            let line = format!("Server listening on {port} (test #{number})");
            writer.lines(&format!("{head}{RULE}{line}\n{RULE}"));
        }
        // A server of several tests begins anew, which changes nothing here.
        let most = args.idle_timeout.filter(|_| args.one_off);
        let client = match next_client(&arrived, most) {
            ClientWait::Client(client) => client,
            ClientWait::InVain => return Ok(ExitCode::SUCCESS),
            ClientWait::Stopped => {
                let text = "interrupt - the server has terminated";
                if args.common.json {
                    writer.document(&failed(&name.to_string(), text));
                } else {
                    writer.complaint(text);
                }
                return Ok(ExitCode::FAILURE);
            }
        };
        let end = run_test((args, authority.clone()), client, writer)?;
        if end == ServerEnd::Stopped {
            return Ok(ExitCode::FAILURE);
        }
        // A client that is refused as a user does not end a server of one test.
        let counts = end != ServerEnd::Refused(ServerError::AUTHORIZATION);
        if args.one_off && counts {
            return Ok(ExitCode::SUCCESS);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Result of waiting for a client.
enum ClientWait {
    Client(NewClient),
    /// No client came in time.
    InVain,
    /// The user stops the server, or its listener is gone.
    Stopped,
}

/// Waits for a client.
fn next_client(arrived: &Receiver<NewClient>, most: Option<Duration>) -> ClientWait {
    let until = most.map(|most| clock::now().plus(most));
    loop {
        match arrived.recv_timeout(LOOK) {
            Ok(client) => return ClientWait::Client(client),
            Err(RecvTimeoutError::Disconnected) => return ClientWait::Stopped,
            Err(RecvTimeoutError::Timeout) if alarm::stopped_by_user() => {
                return ClientWait::Stopped;
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if until.is_some_and(|until| until.left().is_zero()) {
            return ClientWait::InVain;
        }
    }
}

/// Serves a client, on a separate thread: a test may bind it to a CPU.
fn run_test(
    (args, authority): (&Iperf3Server, Option<Arc<Authority>>),
    client: NewClient,
    writer: &LineWriter,
) -> io::Result<ServerEnd> {
    let common = &args.common;
    let seconds = common.interval.unwrap_or(1.0);
    let interval = Duration::try_from_secs_f64(seconds).ok();
    let options = ReportOptions {
        interval: interval.filter(|interval| !interval.is_zero()),
        letter: common.format,
        json: common.json,
        stream: common.json_stream,
        debug: common.debug,
        verbose: common.verbose,
    };
    let limits = Limits {
        test_time: args.longest,
        ..Limits::default()
    };
    let start = SessionStart {
        control: client.control,
        read: client.cookie.bytes().to_vec(),
        handoff: client.handoff,
        policy: Policy {
            limits,
            require: Some(Require::None),
            ..Policy::default()
        },
        rate_limit: args.rate_limit,
        authority,
        timeouts: StreamTimeouts {
            receive: common.receive_timeout,
            send: common.send_timeout,
        },
        report: Iperf3Report::printed(options, writer.clone()),
    };
    start.control.set_nonblocking(false)?;
    let builder = std::thread::Builder::new().name("test".to_owned());
    std::thread::scope(|scope| {
        let test = builder.spawn_scoped(scope, || serve_session(start, &mut NoRecords))?;
        // A test that failed is over.
        Ok(test.join().unwrap_or(ServerEnd::Gone))
    })
}
