//! A TCP connection of an iperf 2 client.

mod bounce;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_daemon::record::{Ran, Records, SessionEnd, SessionQuestion, SessionRecord};
use netperf_engine::iperf2::{
    PATIENCE, StreamOrder, Transfer, TransferCounts, TransferEnd, receive_stream, send_stream,
};
use netperf_iperf2::messages::{ClientHeader, fill_digits};
use netperf_iperf2::states::SendOrder;
use netperf_iperf2::states::blocks::ReceivedBlocks;
use netperf_iperf2::states::connection::{
    self, ConnectionEffect, ConnectionInput, ConnectionState, PORT_BYTES, asks_for_port,
};
use netperf_measure::clock::{self, Moment};
use netperf_model::iperf2::Iperf2Rate;
use netperf_model::{Denied, Duplex, EndNeeds, Flow, Policy, Tally, TransportId};
use netperf_os::io::{half_close, peek_at, recv};
use netperf_os::net::addresses;
use netperf_os::sockopt::{self, IntOption};
use netperf_os::wait::{Deadline, Interest, ready, sleep};
use netperf_os::without::set_patience;
use netperf_os::{Domain, Protocol, Socket, Type};
use netperf_program::iperf2::{
    READ_BUFFER, ShownCounts, acknowledged, now, read_buffer, receive_timed_stream, send_all,
    send_timed_stream,
};
use netperf_program::output::{err, system_text};
use netperf_program::threads::join;

use super::alone::ShownConnection;
use super::limits::{longest, permitted, time_and_bytes};
use crate::admission;

/// Time in which a client listens after it has asked for a connection.
const LISTENS: Duration = Duration::from_millis(50);
/// Time limit for a connection back to the client.
const CONNECT_TIME: Duration = Duration::from_secs(2);
/// Time for the client to close a connection on which it has received everything.
const CLOSE_TIME: Duration = Duration::from_secs(2);
/// Longest time in which the last data reaches the client.
const DRAIN_TIME: Duration = Duration::from_secs(30);
/// Time without a packet after which a vanished client is given up, in seconds and probes.
const KEEP_ALIVE: [(IntOption, i32); 4] = [
    (IntOption::KeepAlive, 1),
    (IntOption::KeepIdle, 2),
    (IntOption::KeepInterval, 1),
    (IntOption::KeepCount, 3),
];

/// Time for the first bytes of a client to arrive.
const FIRST_BYTES: Duration = Duration::from_secs(3);
/// Pause before the next look at a part of them, where the kernel reports it at once.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Port to which a client asks to be connected back, if its first bytes do so. A client on a busy host
/// may send them later than this process begins, which is then confined to what they ask for.
pub(crate) fn port_back(control: &Socket) -> Option<u16> {
    let mut first = [0; PORT_BYTES];
    let until = Deadline::after(FIRST_BYTES);
    let waits = sockopt::set_wake_threshold(control.as_fd(), PORT_BYTES);
    let count = loop {
        let arrived = until.ready(control.as_fd(), Interest::Read);
        let count = arrived.and_then(|_| peek_at(control.as_fd(), &mut first));
        let is_part = matches!(count, Ok(1..PORT_BYTES));
        if waits || !is_part || until.left().is_zero() {
            break count;
        }
        sleep(LOOK_AGAIN);
    };
    sockopt::set_wake_threshold(control.as_fd(), 1);
    let count = count.ok()?;
    asks_for_port(first).filter(|_| count == PORT_BYTES)
}

/// Serves a connection and reports the test and the end.
pub(crate) fn serve(control: Socket, args: &ServerArgs, records: &mut dyn Records) {
    serve_shown(control, args.policy(), records, None);
}

/// Serves a connection and reports the test and the end, also to the board of a server that prints.
pub(crate) fn serve_shown(
    control: Socket,
    policy: Policy,
    records: &mut dyn Records,
    shown: Option<ShownConnection<'_>>,
) {
    let Some(peer) = admission::peer_of(&control) else {
        return;
    };
    let denied = if policy.admits(Some(peer)) {
        policy.permit_transport(TransportId::Tcp).err()
    } else {
        Some(Denied::Network)
    };
    if let Some(denied) = denied {
        records.tell(SessionRecord::denied(&denied));
        records.tell(SessionRecord::Ended(SessionEnd::Broken));
        return;
    }
    for (option, value) in KEEP_ALIVE {
        // Without probes the limit on stalled transfers holds.
        let _later = sockopt::set(control.as_fd(), option, value);
    }
    let mut served = ServedConnection {
        control,
        peer,
        policy,
        records,
        ending: SessionEnd::Finished,
        header_until: None,
        header: Vec::new(),
        shown,
    };
    let (mut state, mut effects) = connection::start();
    while state != ConnectionState::Closed {
        let input = served.carry_out(effects);
        (state, effects) = connection::step(state, input);
    }
    served.note_refusals(effects);
    let ending = served.ending;
    served.records.tell(SessionRecord::Ended(ending));
}

/// A connection that is being served.
struct ServedConnection<'a> {
    control: Socket,
    peer: IpAddr,
    policy: Policy,
    records: &'a mut dyn Records,
    ending: SessionEnd,
    /// Time limit of the whole header, once it is awaited.
    header_until: Option<Moment>,
    /// The header so far.
    header: Vec<u8>,
    shown: Option<ShownConnection<'a>>,
}

impl ServedConnection<'_> {
    /// Carries out effects, until one of them gives the next input.
    fn carry_out(&mut self, effects: Vec<ConnectionEffect>) -> ConnectionInput {
        for effect in effects {
            let done = match effect {
                ConnectionEffect::Expect(count, within) => return self.read(count, within),
                ConnectionEffect::Answer(bytes) => self.answer(&bytes),
                ConnectionEffect::Receive(before) => return self.transfer(Some(before), None),
                ConnectionEffect::Send(order) => return self.transfer(None, Some((None, order))),
                ConnectionEffect::Bounce(first, message) => return self.bounce(&first, &message),
                ConnectionEffect::Exchange(before, order) => {
                    return self.transfer(Some(before), Some((None, order)));
                }
                ConnectionEffect::ExchangeBack(before, port, order) => {
                    return self.transfer(Some(before), Some((Some(port), order)));
                }
                ConnectionEffect::SendBack(port, order) => {
                    return self.transfer(None, Some((Some(port), order)));
                }
                ConnectionEffect::Refuse(_) | ConnectionEffect::Close => Ok(()),
            };
            if done.is_err() {
                self.ending = SessionEnd::Cut;
                return ConnectionInput::Failed;
            }
        }
        ConnectionInput::Failed
    }

    /// Reports refusals among the last effects.
    fn note_refusals(&mut self, effects: Vec<ConnectionEffect>) {
        /// `EPROTO`.
        const PROTOCOL: i32 = 71;
        for effect in effects {
            if matches!(effect, ConnectionEffect::Refuse(_)) {
                self.records.tell(SessionRecord::Refused(PROTOCOL));
                self.ending = SessionEnd::Broken;
            }
        }
    }

    /// Reads at most so many bytes of the header.
    fn read(&mut self, count: usize, within: Duration) -> ConnectionInput {
        let mut buf = vec![0; count];
        let until = clock::now().plus(within);
        let until = until.min(*self.header_until.get_or_insert(until));
        loop {
            let stopped = self.shown.as_ref().map(|shown| shown.stop);
            if stopped.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return ConnectionInput::Failed;
            }
            let wait = until.left().min(PATIENCE);
            match ready(self.control.as_fd(), Interest::Read, wait) {
                Ok(true) => {}
                Ok(false) if !until.left().is_zero() => continue,
                Ok(false) => {
                    self.ending = SessionEnd::Silent;
                    return ConnectionInput::Failed;
                }
                Err(_) => return ConnectionInput::Failed,
            }
            match recv(self.control.as_fd(), &mut buf) {
                Ok(0) => return ConnectionInput::Ended,
                Ok(count) => {
                    buf.truncate(count);
                    self.header.extend_from_slice(&buf);
                    return ConnectionInput::Arrived(buf, now());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.ending = SessionEnd::Cut;
                    return ConnectionInput::Failed;
                }
            }
        }
    }

    /// Sends the answer to the header. It is the first data in this direction, so it fits.
    fn answer(&self, bytes: &[u8]) -> io::Result<()> {
        netperf_os::io::send(self.control.as_fd(), bytes).map(drop)
    }

    /// Receives, sends, or both. `before` counts bytes of the header; a port is that of the client
    /// to connect to for sending.
    fn transfer(
        &mut self,
        before: Option<u64>,
        sends: Option<(Option<u16>, SendOrder)>,
    ) -> ConnectionInput {
        let done = self.run(before, sends);
        self.outcome(done)
    }

    /// Reports a transfer that did not run.
    fn outcome(&mut self, done: Result<(), TransferFailure>) -> ConnectionInput {
        match done {
            Ok(()) => ConnectionInput::Done,
            Err(TransferFailure::Denied(denied)) => {
                self.records.tell(SessionRecord::denied(&denied));
                self.ending = SessionEnd::Broken;
                ConnectionInput::Failed
            }
            Err(TransferFailure::System(error)) => {
                let errno = error.raw_os_error().unwrap_or(-1);
                self.records.tell(SessionRecord::Failed(errno));
                self.ending = SessionEnd::Cut;
                ConnectionInput::Failed
            }
        }
    }

    /// Claims so many bytes of memory.
    fn claim(&mut self, memory: usize) -> Result<(), TransferFailure> {
        let needs = EndNeeds {
            memory: memory as u64,
            ports: 0,
        };
        self.policy.limits.bear(needs)?;
        let asked = SessionQuestion::Needs(needs);
        self.records.ask(asked, &self.policy.limits)?;
        Ok(())
    }

    fn run(
        &mut self,
        before: Option<u64>,
        sends: Option<(Option<u16>, SendOrder)>,
    ) -> Result<(), TransferFailure> {
        let sends = sends.map(|(port, order)| Ok((port, permitted(&self.policy, order)?)));
        let mut sends = sends.transpose().map_err(|denied: Denied| denied)?;
        let memory = before.map_or(0, |_| READ_BUFFER) + sends.map_or(0, |(_, order)| order.block);
        self.claim(memory)?;
        let planned = sends.map(|(_, order)| time_and_bytes(&self.policy, &order));
        let runs = planned.map_or(0.0, |(time, _)| time.as_secs_f64());
        self.records.tell(SessionRecord::Runs(runs));
        let back = match sends {
            Some((Some(port), _)) => self.connect_back(port, before.is_some())?,
            Some((None, _)) | None => None,
        };
        if back.is_none() {
            sends = sends.filter(|(port, _)| port.is_none());
        }
        if sends.is_some() {
            self.apply_header(back.as_ref().unwrap_or(&self.control));
        }
        let longest = longest(&self.policy);
        let never = AtomicBool::new(false);
        let stop = self.shown.as_ref().map_or(&never, |shown| shown.stop);
        let control = &self.control;
        let ways = (before.is_some(), sends.is_some());
        let mut shown = self.shown.as_mut();
        let counts = shown
            .as_mut()
            .map(|shown| shown.begin(control, &self.header, ways, back.as_ref()));
        let counts = counts.unwrap_or_default();
        let (into, from) = (&counts.received, &counts.sent.moved);
        let header = ClientHeader::decode(&self.header).ok();
        let timed = header.and_then(|header| connection::timed_header(&header, now()));
        if before.is_none() && back.is_some() {
            // The client's own test is over once this end is.
            let _gone = half_close(control.as_fd());
        }
        set_patience(control.as_fd(), Some(PATIENCE))?;
        let send = |order: &SendOrder| {
            let to = back.as_ref().unwrap_or(control);
            let limits = time_and_bytes(&self.policy, order);
            send(to, order, limits, (from, stop), timed.as_deref())
        };
        let (sent, received) = match (before, sends) {
            (Some(before), Some((_, order))) => std::thread::scope(|scope| {
                // Without a thread the test fails with the number of this error.
                let send = move || {
                    netperf_os::without::join_patience();
                    send(&order)
                };
                let sender = match Builder::new().spawn_scoped(scope, send) {
                    Ok(sender) => sender,
                    Err(error) => return (Err(error), Ok(None)),
                };
                let received = receive(control, (before, longest), into, stop);
                if back.is_some() {
                    let _gone = half_close(control.as_fd());
                }
                (join(sender).map(Some), received.map(Some))
            }),
            (Some(before), None) => {
                let received = receive(control, (before, longest), into, stop);
                (Ok(None), received.map(Some))
            }
            (None, Some((_, order))) => (send(&order).map(Some), Ok(None)),
            (None, None) => (Ok(None), Ok(None)),
        };
        if let Some(shown) = shown {
            // The number of the stream stays for what is sent back afterwards.
            let ended = [sent.as_ref().ok(), received.as_ref().ok()];
            shown.end(&counts, ended.map(|one| one.copied().flatten()));
        }
        let (sent, received) = (sent?, received?);
        if sent.is_some() && received.is_none() {
            // The client has the data once it closes the connection.
            let other = back.as_ref().unwrap_or(control);
            let unread = ShownCounts::default();
            let _unread = receive(other, (0, CLOSE_TIME), &unread, stop);
        }
        self.tell(sent, received);
        Ok(())
    }

    /// Connects to the client. A client that cannot be reached is measured alone, if it `sends`.
    fn connect_back(&mut self, port: u16, sends: bool) -> io::Result<Option<Socket>> {
        let error = match connect(SocketAddr::new(self.peer, port)) {
            Ok(back) => return Ok(Some(back)),
            Err(error) if !sends => return Err(error),
            Err(error) => error,
        };
        let errno = error.raw_os_error().unwrap_or(-1);
        self.records.tell(SessionRecord::Failed(errno));
        if self.shown.is_some() {
            err(&format!("tcp connect failed: {}\n", system_text(&error)));
        }
        Ok(None)
    }

    /// Sets the type of service and the rate of the header at the socket over which the server
    /// sends. Best effort, as in the original: the header has no answer for a failure.
    fn apply_header(&self, socket: &Socket) {
        let Ok(header) = ClientHeader::decode(&self.header) else {
            return;
        };
        let tos = header.extension.map_or(0, |extension| extension.tos);
        if let Some(tos) = u8::try_from(tos).ok().filter(|tos| *tos > 0) {
            set_type_of_service(socket, tos);
        }
        let rate = header.rate_start.map_or([0, 0], |start| start.rate);
        let [low, high] = rate.map(u64::from);
        let bytes = (high << 32) | low;
        if bytes > 0 {
            let _without = sockopt::set_pacing_rate(socket.as_fd(), bytes);
        }
    }

    fn tell(&mut self, sent: Option<Transfer>, received: Option<Transfer>) {
        let flow = match (&sent, &received) {
            (Some(_), Some(_)) => Flow::both_ways(Duplex::Same),
            (Some(_), None) => Flow::RECEIVE,
            (None, _) => Flow::SEND,
        };
        let ends = [&sent, &received].into_iter().flatten();
        for end in ends.map(|one| one.end) {
            match end {
                TransferEnd::Complete | TransferEnd::Stopped | TransferEnd::Overrun => {}
                TransferEnd::Stalled => self.ending = SessionEnd::Silent,
                TransferEnd::Closed => self.ending = SessionEnd::Cut,
            }
        }
        let elapsed = [&sent, &received].into_iter().flatten();
        let elapsed = elapsed.map(|one| one.elapsed).max().unwrap_or_default();
        self.records.tell(SessionRecord::Ran(Ran {
            transport: TransportId::Tcp,
            flow,
            tally: Tally {
                bytes_sent: sent.map_or(0, |one| one.bytes),
                bytes_received: received.map_or(0, |one| one.bytes),
                ..Tally::default()
            },
            elapsed: elapsed.as_secs_f64(),
        }));
    }
}

/// Sets the type of service of what the server sends, where that is possible.
fn set_type_of_service(socket: &Socket, tos: u8) {
    let option = if matches!(addresses(socket).1, Some(SocketAddr::V6(_))) {
        IntOption::TrafficClassV6
    } else {
        IntOption::TosV4
    };
    let _without = sockopt::set(socket.as_fd(), option, tos.into());
}

/// Reason why a transfer did not run.
enum TransferFailure {
    /// The policy does not permit it.
    Denied(Denied),
    /// A call failed.
    System(io::Error),
}

impl From<Denied> for TransferFailure {
    fn from(denied: Denied) -> Self {
        Self::Denied(denied)
    }
}

impl From<io::Error> for TransferFailure {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// Connects to a client, which has asked for it on a connection from the same address. The original
/// asks before it listens.
fn connect(to: SocketAddr) -> io::Result<Socket> {
    let until = clock::now().plus(LISTENS);
    loop {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
        match socket.connect_timeout(&to.into(), CONNECT_TIME) {
            Ok(()) => {
                set_patience(socket.as_fd(), Some(PATIENCE))?;
                return Ok(socket);
            }
            Err(error) if !is_refused(&error) || until.left().is_zero() => return Err(error),
            Err(_) => sleep(LISTENS / 10),
        }
    }
}

fn is_refused(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
}

fn receive(
    from: &Socket,
    limit: (u64, Duration),
    counts: &ShownCounts,
    stop: &AtomicBool,
) -> io::Result<Transfer> {
    let (fd, moved) = (from.as_fd(), &counts.moved);
    if counts.shows_delays() {
        let blocks = ReceivedBlocks::default();
        return receive_timed_stream(fd, blocks, limit, (counts, stop));
    }
    let mut buf = read_buffer(moved);
    receive_stream(fd, &mut buf, limit, moved, stop)
}

/// Sends and ends this direction. With `timed`, these bytes are first, and blocks have times.
fn send(
    to: &Socket,
    order: &SendOrder,
    (time, bytes): (Duration, Option<u64>),
    (counts, stop): (&TransferCounts, &AtomicBool),
    timed: Option<&[u8]>,
) -> io::Result<Transfer> {
    let mut block = vec![0; order.block];
    fill_digits(&mut block, 0);
    let rate = match order.rate {
        Some(Iperf2Rate::Bits(rate)) => Some(rate),
        Some(Iperf2Rate::Packets(_)) | None => None,
    };
    let before = timed.map_or(0, <[u8]>::len);
    let before = u64::try_from(before).unwrap_or_default();
    let stream = StreamOrder {
        time: Some(time),
        // They come on top of the blocks.
        bytes: bytes.map(|bytes| bytes.saturating_add(before)),
        before,
        rate,
        ends_anywhere: false,
    };
    let mut sent = match timed {
        Some(header) => {
            send_all(to, header)?;
            send_timed_stream(to.as_fd(), &mut block, &stream, counts, stop)?
        }
        None => send_stream(to.as_fd(), &block, &stream, counts, stop)?,
    };
    // The client may have closed it already.
    let _gone = half_close(to.as_fd());
    if sent.end == TransferEnd::Complete {
        // Data in the send buffer at the end of the time counts, and so does its time.
        sent.elapsed += acknowledged(to.as_fd(), DRAIN_TIME, stop);
    }
    Ok(sent)
}
