//! systemd, or whoever speaks like it: sockets that are open already (sd_listen_fds(3)),
//! and word of how things stand (sd_notify(3)).

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use netperf_os::{Socket, process};

/// What a session must not find in its environment.
pub(super) const VARIABLES: [&str; 4] = [
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "NOTIFY_SOCKET",
];

/// What the supervisor said when it started us.
#[derive(Clone, Debug, Default)]
pub(super) struct Supervisor {
    sockets: u32,
    notify: Option<OsString>,
}

impl Supervisor {
    /// Reads the variables by `look`. Sockets meant for another process are not ours.
    pub(super) fn new(look: impl Fn(&str) -> Option<OsString>) -> Self {
        let number = |name: &str| look(name)?.to_str()?.parse::<u32>().ok();
        let ours = number("LISTEN_PID") == Some(std::process::id());
        Self {
            sockets: number("LISTEN_FDS").filter(|_| ours).unwrap_or(0),
            notify: look("NOTIFY_SOCKET"),
        }
    }

    /// Whether it listens for us.
    pub(super) const fn listens(&self) -> bool {
        self.sockets > 0
    }

    /// The sockets that it opened and listens on.
    pub(super) fn listeners(&self) -> Vec<Socket> {
        let inherited = process::take_inherited(self.sockets);
        let sockets = inherited.into_iter().map(Socket::from);
        sockets
            .filter(|socket| socket.is_listener().unwrap_or(false))
            .collect()
    }

    /// Says how things stand, such as `READY=1`. Nobody waits for an answer.
    pub(super) fn tell(&self, state: &str) {
        if let Some(to) = &self.notify {
            // Whoever does not listen need not know.
            let _unheard = send(to, state);
        }
    }
}

fn send(to: &OsStr, state: &str) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    let address = match to.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(to)?,
    };
    socket.send_to_addr(state.as_bytes(), &address)?;
    Ok(())
}
