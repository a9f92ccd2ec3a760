//! The listener: accepts control connections and gives each a process of its own.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;

use netperf_cli::ServerArgs;
use netperf_model::Family;
use netperf_os::process::{self, Forked};
use netperf_os::resolve::{Want, resolve};
use netperf_os::{Domain, Protocol, Socket, Type, address};

use super::Around;
use super::hall::Hall;
use super::log::Log;
use crate::output::{err, out};

/// What the starting line says when no address was given.
const ANY_HOST: &str = "IN(6)ADDR_ANY";
const BACKLOG: i32 = 1024;

/// Listens as asked, and serves until a signal ends it.
pub(super) fn run(args: &ServerArgs, around: &Around) -> ExitCode {
    let log = match Log::open(args, around.journal) {
        Ok(log) => log,
        Err(error) => return no_log(args, &error),
    };
    let host = args.listen.host.as_deref();
    let described = format!(
        "'{}' port '{}' and family {}",
        host.unwrap_or(ANY_HOST),
        args.port(),
        args.family().label()
    );
    let listeners = listeners(args);
    if listeners.is_empty() {
        err(&format!("Unable to start netserver with  {described}\n"));
        return ExitCode::FAILURE;
    }
    out(&format!("Starting netserver with host {described}\n"));
    if !args.foreground {
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
    match Hall::open(args, listeners, log) {
        Ok(hall) => hall.serve(),
        Err(error) => {
            err(&format!("netserver: cannot listen: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

/// The log cannot be written where it should be.
pub(super) fn no_log(args: &ServerArgs, error: &io::Error) -> ExitCode {
    let file = args.operations.log_file.as_deref().unwrap_or(Path::new(""));
    let file = file.display();
    err(&format!(
        "netserver: cannot write the log to {file}: {error}\n"
    ));
    ExitCode::FAILURE
}

/// Every listener that could be made: on each address of the host, or on the
/// wildcard of IPv6 (which takes IPv4 too where it can) and of IPv4.
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

/// A listener on vsock(7), where `host` is `vsock:any` or `vsock:CID`.
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
    // Only the port is looked up, so that a service name works.
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

/// Goes to the background. The listeners stand already, so that whoever started
/// netserver can connect as soon as the command is over.
fn detach() -> io::Result<Forked> {
    let side = process::fork_single_threaded()?;
    if side == Forked::Child {
        process::new_session()?;
        std::env::set_current_dir("/")?;
        process::close_standard_streams()?;
    }
    Ok(side)
}
