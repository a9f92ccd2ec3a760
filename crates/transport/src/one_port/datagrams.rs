//! Set-up of datagram sockets through one port.
//!
//! netperf repeats a probe until it is answered. netserver answers from a socket that is
//! connected to the probe's source. The kernel prefers that socket to the listener's, so data
//! then go straight to the session. netserver answers probes until other data arrives. If
//! netserver sends first, netperf repeats a request to start until data arrives.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netperf_model::{EndJob, Token};
use netperf_os::pass::PassWait;
use netperf_os::wait::{Deadline, all_ready};
use netperf_os::{SockAddr, Socket, io as calls, rights};

use super::handoff::{HandoffInput, HandoffMessage, Probe, recv_message};
use super::preamble::{PREAMBLE, Preamble, PreambleKind};

/// Time limit for either end to find the other, and for netserver to hear of the next flow.
const WITHIN: Duration = Duration::from_secs(15);
/// First and longest interval between probes.
const REPEAT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
/// Interval of checks whether the other end is still there.
const LOOK: Duration = Duration::from_millis(100);

/// A stopwatch.
#[derive(Clone, Copy, Debug)]
struct Since(Deadline);

impl Since {
    /// Longer than any set-up.
    const LONG: Duration = Duration::from_secs(1 << 20);

    fn now() -> Self {
        Self(Deadline::after(Self::LONG))
    }

    fn elapsed(self) -> Duration {
        Self::LONG.saturating_sub(self.0.left())
    }
}

/// Called at intervals; returns true to give up.
pub type Cancelled<'a> = &'a mut dyn FnMut() -> bool;

fn check(since: Since, over: Cancelled<'_>) -> io::Result<()> {
    if over() {
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    if since.elapsed() >= WITHIN {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(())
}

/// Peeks at the next datagram. Returns its preamble if it belongs to this test.
fn waiting(socket: BorrowedFd<'_>, token: &Token) -> io::Result<Option<Preamble>> {
    let mut bytes = [0; PREAMBLE + 1];
    let count = calls::peek_at(socket, &mut bytes)?;
    let read = bytes.get(..count).and_then(Preamble::read);
    Ok(read.filter(|read| read.token == *token))
}

/// Removes the next datagram.
fn take(socket: BorrowedFd<'_>) {
    // An error means that the datagram is already gone.
    let _gone = calls::recv_now(socket, &mut [0; 1]);
}

/// Returns true for a transient error: no datagram, or a socket that does not exist yet.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionRefused
    )
}

/// Bits of the number of a probe that count the probes of a socket. Those above are the flow's
/// number, by which netserver orders its sockets.
const PROBE_BITS: u32 = 32;

/// netperf's state for one socket.
struct Prober<'a> {
    flow: u32,
    socket: &'a Socket,
    /// Time since each probe was sent.
    out: Vec<Since>,
    /// Round-trip time, once measured.
    round_trip: Option<Duration>,
    answers: usize,
}

impl Prober<'_> {
    fn probe(&mut self, to: &SockAddr, token: &Token) -> io::Result<()> {
        let preamble = Preamble {
            kind: PreambleKind::Probe,
            token: *token,
            number: (u64::from(self.flow) << PROBE_BITS) | self.out.len() as u64,
        };
        self.out.push(Since::now());
        send(self.socket, to, &preamble)
    }

    fn recv_answer(&mut self, token: &Token) -> io::Result<()> {
        match waiting(self.socket.as_fd(), token) {
            Ok(Some(read)) if read.kind == PreambleKind::Answer => {
                let of_flow = read.number >> PROBE_BITS == u64::from(self.flow);
                let number = read.number & ((1 << PROBE_BITS) - 1);
                let number = usize::try_from(number).unwrap_or(usize::MAX);
                if let Some(out) = self.out.get(number).filter(|_| of_flow) {
                    self.answers += 1;
                    self.round_trip.get_or_insert(out.elapsed());
                }
            }
            // A datagram of another test.
            Ok(_) => {}
            Err(error) if is_passing(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
        take(self.socket.as_fd());
        Ok(())
    }

    /// Time until the next probe is due.
    fn patience(&self) -> Duration {
        let probes = u32::try_from(self.out.len()).unwrap_or(u32::MAX);
        let repeat = REPEAT.0.saturating_mul(probes).min(REPEAT.1);
        let last = self.out.last().map_or(repeat, |last| last.elapsed());
        repeat.saturating_sub(last)
    }

    /// Returns true once no more answers are expected. A late answer to a repeated probe would
    /// be taken for data.
    fn is_done(&self) -> bool {
        let Some(round_trip) = self.round_trip else {
            return false;
        };
        let last = self
            .out
            .last()
            .map_or(Duration::ZERO, |last| last.elapsed());
        self.answers >= self.out.len() || last > round_trip * 2 + LOOK
    }
}

fn send(socket: &Socket, to: &SockAddr, preamble: &Preamble) -> io::Result<()> {
    match calls::send_to(socket.as_fd(), &preamble.bytes(), to) {
        Ok(_) => Ok(()),
        // The probe will be repeated.
        Err(error) if is_passing(&error) || calls::is_queue_full(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

/// netperf's side: makes netserver open a socket for each of `sockets`, which have the numbers of
/// their flows, from 0, and send to `to`.
///
/// # Errors
/// `TimedOut` without an answer, `ConnectionAborted` if `over` returns true first.
pub fn probe<'s>(
    sockets: impl Iterator<Item = (u32, &'s Socket)>,
    to: &SockAddr,
    token: &Token,
    over: Cancelled<'_>,
) -> io::Result<()> {
    let new = |(flow, socket)| Prober {
        flow,
        socket,
        out: Vec::new(),
        round_trip: None,
        answers: 0,
    };
    let mut all: Vec<Prober<'_>> = sockets.map(new).collect();
    let since = Since::now();
    loop {
        let mut left: Vec<&mut Prober<'_>> = all.iter_mut().filter(|one| !one.is_done()).collect();
        if left.is_empty() {
            return Ok(());
        }
        for one in &mut left {
            if one.round_trip.is_none() && one.patience().is_zero() {
                one.probe(to, token)?;
            }
        }
        let next = left.iter().map(|one| one.patience()).min();
        let next = next.unwrap_or(LOOK).clamp(Duration::from_millis(1), LOOK);
        let fds: Vec<BorrowedFd<'_>> = left.iter().map(|one| one.socket.as_fd()).collect();
        let ready = all_ready(&fds, next)?;
        for (one, _) in left.into_iter().zip(ready).filter(|(_, ready)| *ready) {
            one.recv_answer(token)?;
        }
        check(since, over)?;
    }
}

/// netperf's side if netserver sends: repeats the request to start until data arrives. Does not
/// read the data.
///
/// # Errors
/// As [`probe`].
pub fn await_first(
    socket: &Socket,
    to: &SockAddr,
    token: &Token,
    over: Cancelled<'_>,
) -> io::Result<()> {
    let go = Preamble {
        kind: PreambleKind::Go,
        token: *token,
        number: 0,
    };
    let since = Since::now();
    loop {
        send(socket, to, &go)?;
        let again = Since::now();
        while again.elapsed() < REPEAT.0 {
            let ready = all_ready(&[socket.as_fd()], REPEAT.0)?;
            if ready.first() != Some(&true) {
                continue;
            }
            match waiting(socket.as_fd(), token) {
                // A late answer.
                Ok(Some(_)) => take(socket.as_fd()),
                Ok(None) => return Ok(()),
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        check(since, over)?;
    }
}

/// Result of the set-up at netserver.
#[derive(Debug)]
pub struct FoundPeer {
    /// Sockets connected to netperf's sockets, in the order of flows; at least one.
    pub sockets: Vec<Socket>,
    /// Address of netperf's first socket.
    pub peer: SocketAddr,
}

/// netserver's state during set-up.
struct Rendezvous<'a> {
    handoff: &'a Socket,
    token: Token,
    /// Sockets opened but not connected.
    spare: Vec<Socket>,
    /// Each with the number of its flow.
    sockets: Vec<(u64, Socket)>,
    places: HashMap<SocketAddr, usize>,
    first: Option<SocketAddr>,
}

/// netserver's side: opens a socket by `open` for each flow and connects it to the source of a
/// probe with the job's token. Returns when all are connected and netperf has sent data or a
/// request to start.
///
/// # Errors
/// `TimedOut` without probes, `ConnectionAborted` if `over` returns true first, or whatever
/// opening, bind(2) and connect(2) report.
pub fn meet(
    handoff: &Socket,
    job: &EndJob,
    (first, mut open): (Socket, impl FnMut() -> io::Result<Socket>),
    over: Cancelled<'_>,
) -> io::Result<FoundPeer> {
    let flows = usize::try_from(job.flow_count()).unwrap_or(usize::MAX);
    let mut rendezvous = Rendezvous {
        handoff,
        token: job.token.ok_or(io::ErrorKind::InvalidInput)?,
        spare: vec![first],
        sockets: Vec::new(),
        places: HashMap::new(),
        first: None,
    };
    let mut since = Since::now();
    loop {
        let before = rendezvous.sockets.len();
        let began = rendezvous.look()?;
        while let Some(probe) = rendezvous.heard()? {
            let strange = !job.sources.allow(probe.from.ip());
            let full = rendezvous.sockets.len() >= flows;
            if strange || (full && !rendezvous.places.contains_key(&probe.from)) {
                continue;
            }
            rendezvous.answer(&probe, &mut open)?;
        }
        if let (true, true, Some(peer)) =
            (began, rendezvous.sockets.len() == flows, rendezvous.first)
        {
            return Ok(FoundPeer {
                sockets: rendezvous.in_order(),
                peer,
            });
        }
        if rendezvous.sockets.len() > before {
            since = Since::now();
        }
        check(since, over)?;
    }
}

impl Rendezvous<'_> {
    /// The sockets in the order of flows: netperf's threads send their probes side by side.
    fn in_order(mut self) -> Vec<Socket> {
        self.sockets.sort_by_key(|(flow, _)| *flow);
        self.sockets.into_iter().map(|(_, socket)| socket).collect()
    }

    /// Waits for input. Returns true if netperf has started.
    fn look(&mut self) -> io::Result<bool> {
        let mut fds = vec![self.handoff.as_fd()];
        fds.extend(self.sockets.iter().map(|(_, socket)| socket.as_fd()));
        let ready = all_ready(&fds, LOOK)?;
        let ready = self.sockets.iter().zip(ready.into_iter().skip(1));
        let mut began = false;
        for ((_, socket), _) in ready.filter(|(_, ready)| *ready) {
            match waiting(socket.as_fd(), &self.token) {
                Ok(Some(read)) => {
                    take(socket.as_fd());
                    match read.kind {
                        PreambleKind::Probe => answer(socket, &read),
                        PreambleKind::Go => began = true,
                        PreambleKind::Answer | PreambleKind::Connection => {}
                    }
                }
                Ok(None) => began = true,
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(began)
    }

    /// The next probe from the listener.
    fn heard(&self) -> io::Result<Option<Probe>> {
        loop {
            match recv_message(self.handoff, PassWait::Never) {
                Ok(HandoffInput::Message(HandoffMessage::Probe(probe)))
                    if probe.token == self.token =>
                {
                    return Ok(Some(probe));
                }
                // A message of an earlier test.
                Ok(HandoffInput::Message(_) | HandoffInput::Invalid) => {}
                Ok(HandoffInput::End) => return Err(io::ErrorKind::BrokenPipe.into()),
                Err(error) if is_passing(&error) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn answer(
        &mut self,
        probe: &Probe,
        open: &mut impl FnMut() -> io::Result<Socket>,
    ) -> io::Result<()> {
        if !self.places.contains_key(&probe.from) {
            let socket = match self.spare.pop() {
                Some(socket) => socket,
                None => open()?,
            };
            rights::bind(&socket, probe.to)?;
            socket.connect(&probe.from.into())?;
            forget(&socket);
            self.places.insert(probe.from, self.sockets.len());
            self.sockets.push((probe.number >> PROBE_BITS, socket));
            self.first.get_or_insert(probe.from);
        }
        let place = self.places.get(&probe.from);
        if let Some((_, socket)) = place.and_then(|place| self.sockets.get(*place)) {
            answer(
                socket,
                &Preamble {
                    kind: PreambleKind::Probe,
                    token: probe.token,
                    number: probe.number,
                },
            );
        }
        Ok(())
    }
}

/// Answers a probe. If the answer is lost, netperf repeats the probe.
fn answer(socket: &Socket, probe: &Preamble) {
    let answer = Preamble {
        kind: PreambleKind::Answer,
        ..*probe
    };
    let _repeated = calls::send(socket.as_fd(), &answer.bytes());
}

/// Discards datagrams that arrived between bind(2) and connect(2). They may come from any
/// source, and netperf sends no data before it has an answer.
fn forget(socket: &Socket) {
    while calls::recv_now(socket.as_fd(), &mut [0; 1]).is_ok() {}
}

#[cfg(test)]
mod tests;
