//! The listener: accepts control connections and gives each a process of its own.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_model::Family;
use netperf_os::process::{self, Forked};
use netperf_os::resolve::{Want, resolve};
use netperf_os::wait::{Interest, any_ready};
use netperf_os::{Domain, Protocol, Socket, Type, address};

use super::door::{self, Door};
use super::session;
use crate::output::{err, out};

/// What the starting line says when no address was given.
const ANY_HOST: &str = "IN(6)ADDR_ANY";
const BACKLOG: i32 = 1024;
/// How long to leave accept(2) alone when it fails for want of descriptors or memory.
const BREATHER: Duration = Duration::from_millis(100);
/// poll(2) returns at least this often; nothing depends on it.
const LOOK: Duration = Duration::from_secs(3600);

pub(super) fn run(args: &ServerArgs) -> ExitCode {
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
    accept_for_ever(&listeners, args)
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

fn accept_for_ever(listeners: &[Socket], args: &ServerArgs) -> ExitCode {
    let mut door = Door::new(args.policy());
    for listener in listeners {
        // A connection that goes away between poll and accept must not block the rest.
        if let Err(error) = listener.set_nonblocking(true) {
            err(&format!("netserver: cannot listen: {error}\n"));
            return ExitCode::FAILURE;
        }
    }
    loop {
        let fds: Vec<BorrowedFd<'_>> = listeners.iter().map(AsFd::as_fd).collect();
        let fds: Vec<BorrowedFd<'_>> = fds.into_iter().chain(door.leaving()).collect();
        let ready = match any_ready(&fds, Interest::Read, door.patience(LOOK)) {
            Ok(ready) => ready,
            Err(error) => {
                err(&format!(
                    "netserver: cannot wait for connections: {error}\n"
                ));
                return ExitCode::FAILURE;
            }
        };
        let Some(listener) = ready.and_then(|index| listeners.get(index)) else {
            door.look();
            continue;
        };
        match listener.accept() {
            Ok((control, _)) => serve(control, args, &mut door),
            Err(error) => survive(&error),
        }
    }
}

/// No failure of accept(2) ends the server.
fn survive(error: &io::Error) {
    let kind = error.kind();
    let passing = kind == io::ErrorKind::WouldBlock
        || kind == io::ErrorKind::Interrupted
        || kind == io::ErrorKind::ConnectionAborted;
    if !passing {
        err(&format!("netserver: cannot accept a connection: {error}\n"));
        std::thread::sleep(BREATHER);
    }
}

fn serve(control: Socket, args: &ServerArgs, door: &mut Door) {
    let Some(control) = door.knock(control) else {
        return;
    };
    if control.set_nonblocking(false).is_err() {
        return;
    }
    if args.no_fork {
        // One broken session must not end the server that serves all of them.
        let served = std::panic::AssertUnwindSafe(|| session::serve(control, args));
        let _panicked = std::panic::catch_unwind(served);
        return;
    }
    let peer = door::peer_of(&control);
    match start_session(control, args) {
        Ok(process) => door.enters(process, peer),
        Err(error) => err(&format!("netserver: cannot start a session: {error}\n")),
    }
}

/// Starts this program again with the connection as its standard input, as inetd would.
/// Gives its number.
fn start_session(control: Socket, args: &ServerArgs) -> io::Result<u32> {
    let child = Command::new("/proc/self/exe")
        .arg0("netserver")
        .args(args.session_words())
        .stdin(Stdio::from(OwnedFd::from(control)))
        .stdout(Stdio::null())
        // For what it notes; it is the null device unless netserver stays in the foreground.
        .stderr(Stdio::inherit())
        .spawn()?;
    // The door sees when it has ended.
    Ok(child.id())
}
