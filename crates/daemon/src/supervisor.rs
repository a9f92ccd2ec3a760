//! systemd's protocols: inherited listening sockets (sd_listen_fds(3)) and status messages
//! (sd_notify(3)).

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use netperf_os::{Socket, pass};

/// Variables removed from a session's environment.
pub const VARIABLES: [&str; 4] = [
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "NOTIFY_SOCKET",
];

/// Parameters from the supervisor's environment variables.
#[derive(Debug, Default)]
pub struct Supervisor {
    sockets: u32,
    notify: Option<OsString>,
    /// Socket for status messages, once it is needed.
    socket: OnceCell<Option<UnixDatagram>>,
}

impl Supervisor {
    /// Reads the variables by `look`. Ignores sockets meant for another process.
    pub fn new(look: impl Fn(&str) -> Option<OsString>) -> Self {
        let number = |name: &str| look(name)?.to_str()?.parse::<u32>().ok();
        let ours = number("LISTEN_PID") == Some(std::process::id());
        Self {
            sockets: number("LISTEN_FDS").filter(|_| ours).unwrap_or(0),
            notify: look("NOTIFY_SOCKET"),
            socket: OnceCell::new(),
        }
    }

    /// Returns true if the supervisor opened the listeners.
    pub const fn listens(&self) -> bool {
        self.sockets > 0
    }

    /// The listeners that the supervisor opened.
    pub fn listeners(&self) -> Vec<Socket> {
        let inherited = pass::take_listeners(self.sockets);
        let sockets = inherited.into_iter().map(Socket::from);
        sockets
            .filter(|socket| socket.is_listener().unwrap_or(false))
            .collect()
    }

    /// Sends a status such as `READY=1`. There is no answer.
    pub fn tell(&self, state: &str) {
        if let Some(socket) = self.connect() {
            // A supervisor that does not listen needs no status.
            let _unheard = socket.send(state.as_bytes());
        }
    }

    /// Connects to the supervisor; another user may not have the right to do it later.
    pub fn connect(&self) -> Option<&UnixDatagram> {
        let connected = || self.notify.as_ref().and_then(|to| connected(to).ok());
        self.socket.get_or_init(connected).as_ref()
    }
}

/// A socket for status messages.
fn connected(to: &OsStr) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    let address = match to.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(to)?,
    };
    socket.connect_addr(&address)?;
    Ok(socket)
}
