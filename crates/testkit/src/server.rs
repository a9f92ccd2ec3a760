//! A netserver in the foreground, on a free port.

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use netperf_os::{Domain, Socket, Type};

use crate::start::{signal, without_starts};
use crate::{Invocation, Place, Programs, Running, procfs};

/// The line that says it listens.
const READY: &str = "Starting netserver with host";

/// A netserver of ours, ended with its sessions when dropped.
#[derive(Debug)]
pub struct Netserver {
    running: Running,
    port: u16,
}

impl Netserver {
    /// Starts `netserver -D` and waits until it listens.
    pub fn start(programs: &Programs, place: &Place) -> Self {
        Self::start_with(programs, place, &["-D"], &[])
    }

    /// The same with other options and variables. Another process may take the
    /// free port first, so a few are tried.
    pub fn start_with(
        programs: &Programs,
        place: &Place,
        options: &[&str],
        env: &[(String, OsString)],
    ) -> Self {
        let mut said = String::new();
        let started = on_free_port(|port| {
            let mut running = Invocation::new(&programs.netserver)
                .args(options)
                .args(["-p", &port.to_string()])
                .envs(env)
                .within(place)
                .spawn();
            if running.prints(READY, Duration::from_secs(10)) {
                return Some(Self { running, port });
            }
            said = format!("stdout: {}\nstderr: {}", running.stdout(), running.stderr());
            None
        });
        started.unwrap_or_else(|| panic!("netserver did not start: {said}"))
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Its sessions.
    pub fn sessions(&self) -> Vec<u32> {
        let mut children = procfs::children(self.pid());
        children.retain(|pid| !is_starter(*pid));
        children
    }

    /// The process that starts sessions while there are many.
    pub fn starter(&self) -> Option<u32> {
        let mut children = procfs::children(self.pid()).into_iter();
        children.find(|pid| is_starter(*pid))
    }

    /// Sends a signal to its sessions.
    pub fn signal_sessions(&self, name: &str) {
        for session in self.sessions() {
            signal(session, name);
        }
    }

    /// True if it still runs.
    pub fn alive(&self) -> bool {
        procfs::alive(self.pid())
    }

    /// Its standard output and standard error so far.
    pub fn said(&self) -> (String, String) {
        (self.running.stdout(), self.running.stderr())
    }
}

impl Drop for Netserver {
    fn drop(&mut self) {
        for session in procfs::descendants(self.pid()) {
            signal(session, "KILL");
        }
    }
}

/// Ports that the kernel gives to no connection by itself (`net.ipv4.ip_local_port_range`).
const PORTS: Range<u16> = 13_000..32_000;
/// Ports that this process has tried.
static TRIED: AtomicU32 = AtomicU32::new(0);

/// Starts something on a free port. `None` from `start` means that another process took the port
/// first: a few ports are used before this gives up.
pub fn on_free_port<T>(start: impl FnMut(u16) -> Option<T>) -> Option<T> {
    let mut ports = std::iter::repeat_with(free_port).take(4);
    ports.find_map(start)
}

/// A listener and a socket for datagrams at the same port of 127.0.0.1.
///
/// # Panics
/// When no port is free.
pub fn both_at_one_port() -> (TcpListener, UdpSocket) {
    let both = on_free_port(|port| {
        let at = (Ipv4Addr::LOCALHOST, port);
        Some((TcpListener::bind(at).ok()?, UdpSocket::bind(at).ok()?))
    });
    both.expect("a free port")
}

/// A port that is free for TCP and UDP, in both families, even without `SO_REUSEADDR`: no program had
/// a connection at it a minute ago. Only this process is given it, until it has been given all of
/// them.
///
/// # Panics
/// When no port is free.
pub fn free_port() -> u16 {
    free_ports(1)
}

/// The first of so many such ports in a row.
///
/// # Panics
/// When there are none.
pub fn free_ports(count: u16) -> u16 {
    // Processes that run at the same time begin at different ports.
    let first = std::process::id().wrapping_mul(101);
    let is_free = |port: &u16| {
        let bound = |kind, any: IpAddr| {
            let socket = Socket::new(Domain::for_address((any, *port).into()), kind, None)?;
            socket.bind(&SocketAddr::from((any, *port)).into())?;
            Ok::<_, io::Error>(socket)
        };
        [Type::STREAM, Type::DGRAM].into_iter().all(|kind| {
            let socket = bound(kind, Ipv6Addr::UNSPECIFIED.into());
            let socket = socket.or_else(|_| bound(kind, Ipv4Addr::UNSPECIFIED.into()));
            socket.is_ok()
        })
    };
    let next = || {
        let number = first.wrapping_add(TRIED.fetch_add(u32::from(count), Ordering::Relaxed));
        let above = number % u32::from(PORTS.end - PORTS.start);
        PORTS.start + u16::try_from(above).expect("below the end of the ports")
    };
    let mut ports = std::iter::repeat_with(next).take(PORTS.len());
    let are_free = |first: &u16| {
        let mut row = *first..first + count;
        row.end <= PORTS.end && without_starts(|| row.all(|port| is_free(&port)))
    };
    ports
        .find(are_free)
        .expect("a port that is free for TCP and UDP")
}

fn is_starter(pid: u32) -> bool {
    procfs::name(pid).as_deref() == Some("netserver-start")
}
