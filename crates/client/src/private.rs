//! A private netserver for one run, started when none listens.
//!
//! It makes a first run possible without set-up. The server is this program, started as inetd
//! would start it, on a loopback connection.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use netperf_os::wait::{Interest, ready};
use netperf_os::{Domain, Protocol, Socket, Type, process};
use netperf_program::key;
use netperf_program::output::err;
use std::os::fd::AsFd;

use super::control::ControlConnection;

/// Time limit of the loopback connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Starts one on the first of these addresses that works.
pub(super) fn start(addresses: &[SocketAddr]) -> Option<ControlConnection> {
    let loopback = addresses
        .iter()
        .filter(|address| address.ip().is_loopback());
    let control = loopback
        .filter_map(|address| start_on(*address).ok())
        .next()?;
    err("netperf: no netserver is listening here, so a private one serves this run\n");
    Some(control)
}

fn start_on(address: SocketAddr) -> io::Result<ControlConnection> {
    let kind = (
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    );
    let listener = Socket::new(kind.0, kind.1, kind.2)?;
    listener.bind(&SocketAddr::new(address.ip(), 0).into())?;
    listener.listen(1)?;
    let at = listener.local_addr()?;
    let socket = Socket::new(kind.0, kind.1, kind.2)?;
    socket.connect_timeout(&at, CONNECT)?;
    if !ready(listener.as_fd(), Interest::Read, CONNECT)? {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let (served, _) = listener.accept()?;
    // It is ours: nothing has to be proven, whatever key is for others.
    let variables = std::env::vars_os().filter(|(name, _)| name != key::FILE && name != key::KEY);
    let mut command = Command::new(process::own_file());
    command
        // It is the same user's: whatever they may read and open.
        .args(["--files", "/", "--transports", "all"])
        .env_clear()
        .envs(variables)
        // A signal of the terminal ends the run, which needs its results.
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(served)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = process::start_itself(c"netserver", &mut command)?;
    // It ends with the control connection, and so with this process.
    drop(child);
    let local = socket.local_addr()?.as_socket().unwrap_or(address);
    let peer = at.as_socket().unwrap_or(address);
    Ok(ControlConnection {
        socket,
        peer: Some(peer),
        local: Some(local),
        private: true,
    })
}
