//! Connections between a coordinator and its agents.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;
use std::time::Duration;

use netperf_campaign::join_pool::{JoinPlace, JoinPool, JoinSource};
use netperf_measure::clock;
use netperf_model::{KeyRing, Secret};
use netperf_program::threads::{spawn, spawn_detached};

use super::peer::AgentLink;

/// Threads that connect to agents.
const CONNECTING: usize = 16;
/// Time between looks for a signal.
const LOOK: Duration = Duration::from_millis(100);

/// The connection to an agent, by its index, or the reason why there is none.
pub(super) type Dialled = (usize, Result<AgentLink, String>);

/// Connects to agents, each known by its index and its address; `None` once `interrupted` holds. The
/// threads then end by themselves: nothing waits for an agent that says nothing.
pub(super) fn dial(
    wanted: Vec<(usize, String)>,
    secret: &Secret,
    interrupted: impl Fn() -> bool,
) -> Option<Vec<Dialled>> {
    let count = wanted.len();
    let queue = Arc::new(Mutex::new(wanted.into_iter()));
    let (sender, dialled) = mpsc::channel();
    for _ in 0..count.min(CONNECTING) {
        let (wanted, done, secret) = (Arc::clone(&queue), sender.clone(), secret.clone());
        let started = spawn_detached(move || {
            while let Some((index, control)) = next(&wanted) {
                let link = AgentLink::connect(&control, &secret);
                if done.send((index, link)).is_err() {
                    return;
                }
            }
        });
        if let Err(error) = started {
            // The threads that run, if any, do the work of this one.
            if let Some((index, _)) = next(&queue) {
                let _taken = sender.send((index, Err(error.to_string())));
            }
        }
    }
    drop(sender);
    let mut links = Vec::with_capacity(count);
    loop {
        match dialled.recv_timeout(LOOK) {
            Ok(link) => links.push(link),
            Err(RecvTimeoutError::Disconnected) => return Some(links),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if interrupted() {
            return None;
        }
    }
}

fn next(queue: &Mutex<std::vec::IntoIter<(usize, String)>>) -> Option<(usize, String)> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).next()
}

/// An agent's connection that has a number, once it has proven the key or ended.
type Proven = (u64, Option<AgentLink>);

/// Agents that join. Handshakes take round trips, and a silent connection takes its whole time: each
/// has a thread and a place.
pub(super) struct JoiningAgents<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    listener: &'env TcpListener,
    keys: &'env KeyRing,
    pool: JoinPool,
    /// The sockets of those that have a place.
    sockets: BTreeMap<u64, TcpStream>,
    proven: (Sender<Proven>, Receiver<Proven>),
}

impl<'scope, 'env> JoiningAgents<'scope, 'env> {
    /// Takes agents at this socket.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        listener: &'env TcpListener,
        keys: &'env KeyRing,
    ) -> std::io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self {
            scope,
            listener,
            keys,
            pool: JoinPool::default(),
            sockets: BTreeMap::new(),
            proven: mpsc::channel(),
        })
    }

    /// The next agent that has proven the key.
    pub(super) fn next(&mut self) -> Option<AgentLink> {
        while let Ok((number, link)) = self.proven.1.try_recv() {
            self.pool.leave(number);
            // Without a place it was ended before.
            let had_place = self.sockets.remove(&number).is_some();
            if let Some(link) = link.filter(|_| had_place) {
                return Some(link);
            }
        }
        None
    }

    /// Lets one more agent prove the key; false if there is none.
    pub(super) fn accept(&mut self) -> std::io::Result<bool> {
        let now = clock::monotonic();
        for number in self.pool.expired(now) {
            self.end(number);
        }
        let Ok((stream, peer)) = self.listener.accept() else {
            return Ok(false);
        };
        let number = match self.pool.admit(JoinSource::of(peer.ip()), now) {
            JoinPlace::Free(number) => number,
            JoinPlace::InsteadOf(number, oldest) => {
                self.end(oldest);
                number
            }
            JoinPlace::None => return Ok(true),
        };
        stream.set_nonblocking(false)?;
        self.sockets.insert(number, stream.try_clone()?);
        let (proven, keys) = (self.proven.0.clone(), self.keys);
        let started = spawn(self.scope, move || {
            // Connections without a proof of the key are not counted, and are dropped once enough
            // agents have joined.
            let _taken = proven.send((number, AgentLink::accept(stream, keys).ok()));
        });
        if started.is_err() {
            self.pool.leave(number);
            self.sockets.remove(&number);
        }
        Ok(true)
    }

    /// Ends a connection, and with it its thread.
    fn end(&mut self, number: u64) {
        if let Some(socket) = self.sockets.remove(&number) {
            let _ended = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for JoiningAgents<'_, '_> {
    fn drop(&mut self) {
        // Nothing waits for those that say nothing.
        for socket in self.sockets.values() {
            let _ended = socket.shutdown(Shutdown::Both);
        }
    }
}
