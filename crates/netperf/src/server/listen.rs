//! The listener: accepts control connections and starts a process for each.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;

use netperf_cli::{SandboxArg, ServerArgs};
use netperf_model::{Family, OnePort};
use netperf_os::privileges::{self, User};
use netperf_os::process::{self, Forked};
use netperf_os::resolve::{Want, resolve};
use netperf_os::{Domain, Protocol, Socket, Type, address};

use super::accept_loop::AcceptLoop;
use super::log::ServerLog;
use super::metrics_server::{self, MetricsServer};
use super::one_port;
use super::sandbox::Means;
use super::{Environment, INVALID_VALUE};
use crate::output::{err, out, system_text};

/// Host in the start message without `-L`.
const ANY_HOST: &str = "IN(6)ADDR_ANY";
const BACKLOG: i32 = 1024;
/// Exit status for options that the kernel does not support.
const CANNOT: u8 = 3;

/// Opens the listeners and serves until a signal.
pub(super) fn run(args: &ServerArgs, environment: &Environment) -> ExitCode {
    let log = match ServerLog::open(args, environment.journal) {
        Ok(log) => log,
        Err(error) => return no_log(args, &error),
    };
    let user = match checked(args) {
        Ok(user) => user,
        Err((exit, line)) => {
            err(&format!("netserver: {line}\n"));
            return ExitCode::from(exit);
        }
    };
    let described = described(args);
    let metrics_server = match metrics_server(args) {
        Ok(metrics_server) => metrics_server,
        Err((exit, line)) => {
            err(&format!("netserver: {line}\n"));
            return ExitCode::from(exit);
        }
    };
    let supervised = environment.supervisor.listens();
    let listeners = if supervised {
        environment.supervisor.listeners()
    } else {
        listeners(args)
    };
    if listeners.is_empty() {
        let line = if supervised {
            "netserver: none of the supervisor's sockets (LISTEN_FDS) listens\n".to_owned()
        } else {
            format!("Unable to start netserver with  {described}\n")
        };
        err(&line);
        return ExitCode::FAILURE;
    }
    if let Some(Err(error)) = user.map(become_user) {
        err(&format!(
            "netserver: cannot switch to the user (--user): {error}\n"
        ));
        return ExitCode::FAILURE;
    }
    if let Some((exit, line)) = no_datagrams(args, &listeners) {
        err(&format!("netserver: {line}\n"));
        return ExitCode::from(exit);
    }
    if supervised {
        out("Starting netserver with the sockets of its supervisor (LISTEN_FDS)\n");
    } else {
        out(&format!("Starting netserver with host {described}\n"));
    }
    if !args.foreground && !supervised {
        match detach() {
            Ok(Forked::Parent) => return ExitCode::SUCCESS,
            Ok(Forked::Child) => {}
            Err(error) => {
                err(&format!(
                    "netserver: cannot go to the background: {error}; use -D\n"
                ));
                return ExitCode::FAILURE;
            }
        }
    }
    if args.debug > 0 {
        out("accept_connections: enter\n");
    }
    match AcceptLoop::open(&environment.argv, args, listeners, (log, metrics_server)) {
        Ok(accept_loop) => {
            environment.supervisor.tell("READY=1\nSTATUS=serving");
            accept_loop.serve(&environment.supervisor)
        }
        Err(error) => {
            err(&format!("netserver: cannot listen: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Start message, in the words of the original.
fn described(args: &ServerArgs) -> String {
    let host = args.listen.host.as_deref().unwrap_or(ANY_HOST);
    let family = args.family().label();
    format!("'{host}' port '{}' and family {family}", args.port())
}

/// Checks the options on this machine. Returns the user to switch to, or an exit status and a
/// line.
fn checked(args: &ServerArgs) -> Result<Option<User>, (u8, String)> {
    let operations = &args.operations;
    if operations.sandbox == SandboxArg::Require {
        if args.no_fork {
            let line = "--sandbox require takes a process for each session, and -f has none";
            return Err((1, line.to_owned()));
        }
        if let Some(missing) = Means::find().missing() {
            let line = format!("--sandbox require: this kernel has no {missing}");
            return Err((CANNOT, line));
        }
    }
    if let Some(folder) = operations
        .files
        .as_deref()
        .filter(|folder| !folder.is_dir())
    {
        let line = format!("--files: {} is not a folder", folder.display());
        return Err((1, line));
    }
    let user = operations.user.as_deref().map(privileges::user);
    user.transpose()
        .map_err(|error| (1, format!("--user: {error}")))
}

/// Opens the metrics server, if configured.
fn metrics_server(args: &ServerArgs) -> Result<Option<MetricsServer>, (u8, String)> {
    let Some(text) = &args.operations.metrics else {
        return Ok(None);
    };
    let at = metrics_server::address(text).ok_or_else(|| {
        (
            INVALID_VALUE,
            format!("--metrics {text}: {}", metrics_server::EXPECTED),
        )
    })?;
    let metrics_server = MetricsServer::open(at);
    metrics_server
        .map(Some)
        .map_err(|error| (1, format!("--metrics {text}: {}", system_text(&error))))
}

/// Checks that datagrams can arrive through the listener's port, if requested explicitly.
/// Sessions bind to the same port later, as the user that netserver has switched to.
fn no_datagrams(args: &ServerArgs, listeners: &[Socket]) -> Option<(u8, String)> {
    if args.access.one_port != Some(OnePort::On) || args.no_fork {
        return None;
    }
    let mut sockets = listeners.iter().map(one_port::beside);
    let error = sockets.find_map(Result::err)?;
    let kind = error.kind();
    let way_out = if kind == io::ErrorKind::PermissionDenied {
        " (as this user); use a port from 1024 on"
    } else if kind == io::ErrorKind::AddrInUse {
        "; use a port that is free"
    } else {
        "; use another address"
    };
    let port = args.port();
    let line = format!(
        "--one-port on: port {port} cannot receive datagrams: {}{way_out}, or --one-port tcp",
        system_text(&error)
    );
    Some((CANNOT, line))
}

fn become_user(user: User) -> io::Result<()> {
    privileges::become_user(user)?;
    privileges::no_new_privileges()
}

/// Reports that the log cannot be opened.
pub(super) fn no_log(args: &ServerArgs, error: &io::Error) -> ExitCode {
    let file = args.operations.log_file.as_deref().unwrap_or(Path::new(""));
    let file = file.display();
    err(&format!(
        "netserver: cannot write the log to {file}: {error}\n"
    ));
    ExitCode::FAILURE
}

/// All listeners that can be opened: on each address of the host, or on the IPv6 wildcard
/// (which also accepts IPv4 if the system permits) and the IPv4 wildcard.
fn listeners(args: &ServerArgs) -> Vec<Socket> {
    let wanted = match args.family() {
        Family::Unspecified => Want::Any,
        Family::V4 => Want::V4,
        Family::V6 => Want::V6,
    };
    let addresses = match args.listen.host.as_deref() {
        Some(host) if host.starts_with("vsock:") => {
            return vsock_listener(host, args.port()).into_iter().collect();
        }
        Some(host) => resolve(host, args.port(), wanted, Type::STREAM)
            .map(|found| found.addresses)
            .unwrap_or_default(),
        None => wildcards(args.port(), wanted),
    };
    addresses
        .into_iter()
        .filter_map(|address| listener(address).ok())
        .collect()
}

/// A vsock(7) listener, if `host` is `vsock:any` or `vsock:CID`.
fn vsock_listener(host: &str, port: &str) -> Option<Socket> {
    let cid = match host.strip_prefix("vsock:")? {
        "any" => address::VSOCK_ANY,
        number => number.parse().ok()?,
    };
    let port = port.parse().ok()?;
    let listen = || {
        let socket = Socket::new(Domain::VSOCK, Type::STREAM, None)?;
        socket.bind(&address::vsock(cid, port))?;
        socket.listen(BACKLOG)?;
        io::Result::Ok(socket)
    };
    listen().ok()
}

fn wildcards(port: &str, wanted: Want) -> Vec<SocketAddr> {
    // Only the port is resolved, so that service names work.
    let Ok(found) = resolve("127.0.0.1", port, Want::V4, Type::STREAM) else {
        return Vec::new();
    };
    let port = found.addresses.first().map_or(0, SocketAddr::port);
    let v6 = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port);
    let v4 = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port);
    match wanted {
        Want::Any => vec![v6, v4],
        Want::V4 => vec![v4],
        Want::V6 => vec![v6],
    }
}

fn listener(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Moves to the background. The listeners are already open, so that clients can connect as soon
/// as the command returns.
fn detach() -> io::Result<Forked> {
    let side = process::fork_single_threaded()?;
    if side == Forked::Child {
        process::new_session()?;
        // Looked up before chdir(2); sessions are started from this file.
        let _file = process::own_file();
        std::env::set_current_dir("/")?;
        process::close_standard_streams()?;
    }
    Ok(side)
}
