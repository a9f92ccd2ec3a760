//! How a coordinator and its agents meet.

use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::Scope;

use netperf_model::{KeyRing, Secret};
use netperf_program::threads::spawn;

use super::peer::AgentLink;

/// Threads that connect to agents.
const CONNECTING: usize = 16;
/// Agents that prove the key at the same time.
const JOINING: usize = 64;

/// Connects to agents, each known by its index and its address.
pub(super) fn dial(
    wanted: &[(usize, String)],
    secret: &Secret,
) -> Vec<(usize, Result<AgentLink, String>)> {
    let share = wanted.len().div_ceil(CONNECTING).max(1);
    std::thread::scope(|scope| {
        let connect = |part: &[(usize, String)]| -> Vec<_> {
            let one =
                |(index, control): &(usize, String)| (*index, AgentLink::connect(control, secret));
            part.iter().map(one).collect()
        };
        let threads: Vec<_> = wanted
            .chunks(share)
            .map(|part| (part, spawn(scope, move || connect(part))))
            .collect();
        let joined = threads.into_iter().map(|(part, thread)| match thread {
            Ok(thread) => thread.join().unwrap_or_default(),
            Err(error) => {
                let refused = part.iter();
                let refused = refused.map(|(index, _)| (*index, Err(error.to_string())));
                refused.collect()
            }
        });
        joined.flatten().collect()
    })
}

/// Agents that join. Handshakes take round trips, and whoever says nothing takes its time: each
/// has a thread.
pub(super) struct JoiningAgents<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    listener: &'env TcpListener,
    keys: &'env KeyRing,
    under_way: &'env AtomicUsize,
    proven: (Sender<AgentLink>, Receiver<AgentLink>),
}

impl<'scope, 'env> JoiningAgents<'scope, 'env> {
    /// Takes agents at this socket.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        listener: &'env TcpListener,
        (keys, under_way): (&'env KeyRing, &'env AtomicUsize),
    ) -> std::io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self {
            scope,
            listener,
            keys,
            under_way,
            proven: mpsc::channel(),
        })
    }

    /// The next agent that has proven the key.
    pub(super) fn next(&self) -> Option<AgentLink> {
        self.proven.1.try_recv().ok()
    }

    /// Lets one more agent prove the key; false if there is none, or no room.
    pub(super) fn accept(&self) -> std::io::Result<bool> {
        let room = self.under_way.load(Ordering::Relaxed) < JOINING;
        let Some((stream, _)) = room.then(|| self.listener.accept().ok()).flatten() else {
            return Ok(false);
        };
        stream.set_nonblocking(false)?;
        let (proven, under_way, keys) = (self.proven.0.clone(), self.under_way, self.keys);
        under_way.fetch_add(1, Ordering::Relaxed);
        let started = spawn(self.scope, move || {
            // Whoever does not prove the key is not counted.
            if let Ok(link) = AgentLink::accept(stream, keys) {
                // Enough have joined where nobody takes it.
                let _taken = proven.send(link);
            }
            under_way.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            under_way.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(true)
    }
}
