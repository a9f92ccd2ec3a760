//! Environment of the process.

use std::ffi::OsString;

use netperf_daemon::supervisor::Supervisor;

use super::served_protocol::ServedProtocol;
use super::{agent, own_process, session_starter};

/// Environment of the process.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    /// Command line of this process.
    pub(crate) argv: Vec<OsString>,
    /// True if standard error is connected to the systemd journal.
    pub(crate) journal: bool,
    /// True if session records go to standard output.
    pub(crate) records: bool,
    /// Protocol of the session.
    pub(crate) protocol: ServedProtocol,
    /// Descriptor of the hand-off socket for data that arrives at the listener's port.
    pub(crate) handoff: Option<i32>,
    /// Descriptor at which a session asks for calls that take a right of root.
    pub(crate) rights: Option<i32>,
    /// Descriptor at which a session passes the connection of a coordinator.
    pub(crate) door: Option<i32>,
    /// Descriptor of the channel to the listener, in a process that starts sessions.
    pub(crate) starter: Option<i32>,
    /// True if a library is preloaded, which may need system calls or files that the sandbox
    /// forbids.
    pub(crate) preloaded: bool,
    /// Supervisor that started the process, and the sockets that it passed.
    pub(crate) supervisor: Supervisor,
}

impl Environment {
    #[expect(clippy::disallowed_methods, reason = "the mains read the environment")]
    pub(crate) fn look(argv: &[OsString]) -> Self {
        let has = |name: &str| std::env::var_os(name).is_some();
        let number = |name: &str| std::env::var(name).ok()?.parse().ok();
        Self {
            argv: argv.to_vec(),
            journal: has("JOURNAL_STREAM"),
            records: has(own_process::RECORDS),
            protocol: std::env::var(own_process::PROTOCOL)
                .ok()
                .and_then(|word| ServedProtocol::named(&word))
                .unwrap_or_default(),
            handoff: number(own_process::HANDOFF),
            rights: number(own_process::RIGHTS),
            door: number(agent::SESSION_DOOR),
            starter: number(session_starter::STARTER),
            preloaded: has("LD_PRELOAD"),
            supervisor: Supervisor::new(|name| std::env::var_os(name)),
        }
    }
}
