//! The process of an agent, which netserver starts (`netserver --agent`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use netperf_campaign::agent::{Agent, AgentAction, AgentFacts, LineId, Quota};
use netperf_campaign::protocol::{Inbox, LoadResult, Order, Reply, TokenDigits, encode};
use netperf_measure::clock;
use netperf_model::{KeyRing, KeyRole, NamedKey, Secret};
use netperf_os::Socket;
use netperf_os::pass::{self, PassWait};
use netperf_os::wait::ready_of;
use netperf_program::agent_variables::{CONTROL, DOOR};
use netperf_program::key;
use netperf_program::link::ControlLink;
use netperf_program::output::{FAILED, Failure, system_text};
use netperf_program::session_settings::{DESCRIPTOR, SessionSettings};
use netperf_transport::secure::Channel;

use super::loads::{self, RunningLoad};

/// Interval of looks at loads.
const LOOK: Duration = Duration::from_millis(10);
/// Longest wait without anything to do.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Time between attempts to reach the coordinator (`--join`).
const AGAIN: Duration = Duration::from_millis(500);
/// Time for one attempt.
const ATTEMPT: Duration = Duration::from_secs(5);
/// Longest silence of the coordinator's connection.
const SILENCE: Duration = Duration::from_secs(120);
/// Most bytes that wait for a coordinator that does not read.
const MOST_WAITING: usize = 256 << 20;
/// Connections of coordinators at the same time.
const MOST_LINES: usize = 8;

/// A connection to a coordinator.
#[derive(Debug)]
struct CoordinatorLine {
    stream: UnixStream,
    inbox: Inbox,
    outbox: Vec<u8>,
    /// Closed once everything is sent.
    closing: bool,
}

/// The agent with its connections and processes.
struct Process {
    agent: Agent,
    control: Socket,
    doors: Vec<Socket>,
    lines: BTreeMap<u64, CoordinatorLine>,
    next_line: u64,
    loads: BTreeMap<u32, RunningLoad>,
    /// Distance of the two clocks at the start, nanoseconds.
    clocks: i128,
}

/// The system clock minus the monotonic one, nanoseconds: of a few readings of both, those that lie
/// closest together.
fn clocks() -> i128 {
    let read = || {
        let before = clock::monotonic();
        let wall = i128::try_from(clock::since_epoch().as_nanos()).unwrap_or(i128::MAX);
        let after = clock::monotonic();
        (after - before, wall - i128::from(before))
    };
    let all = std::iter::repeat_with(read).take(3);
    let closest = all.min_by_key(|(gap, _)| *gap);
    closest.map_or(0, |(_, difference)| difference)
}

fn failed(line: impl std::fmt::Display) -> Failure {
    Failure::stderr(FAILED, format_args!("netperf campaign agent: {line}"))
}

fn inherited(name: &str) -> Option<Socket> {
    let number = key::variable(name)?.parse().ok()?;
    pass::take_inherited(number).map(Socket::from)
}

/// Runs the agent until netserver ends.
pub(super) fn run() -> Result<ExitCode, Failure> {
    let not_started = || failed("netserver --agent starts it");
    let settings = key::variable(DESCRIPTOR).and_then(|number| number.parse().ok());
    let settings = settings.ok_or_else(not_started)?;
    let settings =
        SessionSettings::inherited(settings).map_err(|error| failed(system_text(&error)))?;
    let control = inherited(CONTROL).ok_or_else(not_started)?;
    let door = inherited(DOOR).ok_or_else(not_started)?;
    let _marked = netperf_os::process::close_all_on_exec();
    // Its memory has keys.
    let _private = netperf_os::process::set_not_dumpable();
    let value = |name: &str| {
        let place = settings.words.iter().position(|word| *word == *name)?;
        settings.words.get(place + 1)?.to_str().map(str::to_owned)
    };
    let mut doors = vec![door];
    if let (Some(at), Some(keys)) = (value("--join"), &settings.keys) {
        let (near, far) = pass::pair().map_err(|error| failed(system_text(&error)))?;
        let key = keys.keys().iter().find(|key| key.role == KeyRole::Agent);
        let secret = key.map(|key| key.secret.clone());
        doors.push(near);
        std::thread::spawn(move || join(&at, secret.as_ref(), &far));
    }
    let facts = AgentFacts {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        host: netperf_os::system::names().node,
        port: value("--port").unwrap_or_default(),
        cpus: netperf_measure::cpu::count(),
        place: netperf_campaign::inventory::own_place(key::variable).map_err(failed)?,
    };
    let process = Process {
        agent: Agent::new(facts, Quota::default()),
        control,
        doors,
        lines: BTreeMap::new(),
        next_line: 0,
        loads: BTreeMap::new(),
        clocks: clocks(),
    };
    Ok(process.serve())
}

/// Connects to the coordinator again and again, and passes each connection to the agent.
fn join(at: &str, secret: Option<&Secret>, door: &Socket) {
    let Some(secret) = secret else { return };
    loop {
        let _ended = joined(at, secret, door);
        std::thread::sleep(AGAIN);
    }
}

fn joined(at: &str, secret: &Secret, door: &Socket) -> io::Result<()> {
    let (host, port) = netperf_campaign::inventory::host_and_port(at);
    let found = std::net::ToSocketAddrs::to_socket_addrs(&(
        host.as_str(),
        port.parse::<u16>().map_err(io::Error::other)?,
    ))?;
    for address in found {
        let Ok(stream) = TcpStream::connect_timeout(&address, ATTEMPT) else {
            continue;
        };
        stream.set_nodelay(true)?;
        let mut link = ControlLink::new(Rc::new(Socket::from(stream)));
        let channel = link.encrypt(|fd| Channel::connect(fd, secret, ATTEMPT));
        channel.map_err(|_| io::ErrorKind::PermissionDenied)?;
        let (near, far) = UnixStream::pair()?;
        pass::send(door.as_fd(), b"line", Some(far.as_fd()))?;
        drop(far);
        return link.forward(&near, SILENCE);
    }
    Err(io::ErrorKind::NotConnected.into())
}

impl Process {
    fn serve(mut self) -> ExitCode {
        loop {
            match self.turn() {
                Ok(true) => {}
                // netserver has ended. Loads are killed when they are dropped.
                Ok(false) => return ExitCode::SUCCESS,
                Err(error) => {
                    self.log(&system_text(&error));
                    std::thread::sleep(LOOK);
                }
            }
        }
    }

    /// Time until something is due.
    fn wait(&self) -> Duration {
        if !self.loads.is_empty() {
            return LOOK;
        }
        let due = self.agent.next_tick();
        let left = due.map(|at| Duration::from_nanos(at.saturating_sub(clock::monotonic())));
        // Rounded up to the resolution of poll(2).
        left.map_or(LONGEST_WAIT, |left| {
            left.min(LONGEST_WAIT) + Duration::from_millis(1)
        })
    }

    /// One round: waits for input, and does what is due. Returns false at the end of netserver.
    fn turn(&mut self) -> io::Result<bool> {
        let wait = self.wait();
        let mut fds: Vec<(BorrowedFd<'_>, bool)> = vec![(self.control.as_fd(), false)];
        fds.extend(self.doors.iter().map(|door| (door.as_fd(), false)));
        let lines = self.lines.values();
        fds.extend(lines.map(|line| (line.stream.as_fd(), !line.outbox.is_empty())));
        let ready = ready_of(&fds, wait)?;
        let first_line = 1 + self.doors.len();
        let numbers: Vec<u64> = self.lines.keys().copied().collect();
        if ready.first() == Some(&true) {
            let mut none = [0; 16];
            let read = pass::receive(self.control.as_fd(), &mut none, PassWait::Never);
            if matches!(read, Ok((0, _))) {
                return Ok(false);
            }
        }
        for index in 0..self.doors.len() {
            if ready.get(1 + index) == Some(&true) {
                self.open(index)?;
            }
        }
        for (index, number) in numbers.into_iter().enumerate() {
            if ready.get(first_line + index) == Some(&true) {
                self.hear(number);
            }
        }
        let due = self.agent.tick(clock::monotonic());
        self.act(due);
        self.look_at_loads();
        Ok(true)
    }

    /// Takes a connection.
    fn open(&mut self, door: usize) -> io::Result<()> {
        let Some(door) = self.doors.get(door) else {
            return Ok(());
        };
        let mut word = [0; 16];
        let (count, fd) = pass::receive(door.as_fd(), &mut word, PassWait::Never)?;
        let Some(fd) = fd.filter(|_| count > 0) else {
            return Ok(());
        };
        if self.lines.len() >= MOST_LINES {
            self.close_oldest();
        }
        let stream = UnixStream::from(fd);
        stream.set_nonblocking(true)?;
        let line = CoordinatorLine {
            stream,
            inbox: Inbox::default(),
            outbox: Vec::new(),
            closing: false,
        };
        self.lines.insert(self.next_line, line);
        self.next_line += 1;
        Ok(())
    }

    /// Frees a place: closes the oldest connection that is not that of the coordinator.
    fn close_oldest(&mut self) {
        let mut others = self.lines.keys();
        let oldest = others.find(|number| !self.agent.is_led_by(LineId(**number)));
        if let Some(oldest) = oldest.copied() {
            self.close(oldest);
        }
    }

    /// Reads what a coordinator sent, and sends what waits for it.
    fn hear(&mut self, number: u64) {
        let Some(line) = self.lines.get_mut(&number) else {
            return;
        };
        let mut buf = vec![0; 65_536];
        let mut open = !line.closing || !line.outbox.is_empty();
        let read = line.stream.read(&mut buf);
        // Not before: a question that came between would seem older than it is.
        let received = clock::monotonic();
        match read {
            Ok(0) => open = false,
            Ok(count) => line.inbox.add(buf.get(..count).unwrap_or_default()),
            Err(error) => {
                let kind = error.kind();
                open &= kind == io::ErrorKind::WouldBlock || kind == io::ErrorKind::Interrupted;
            }
        }
        if open {
            self.take_orders(number, received);
            self.send(number);
        } else {
            self.close(number);
        }
    }

    /// Carries out the orders that have come.
    fn take_orders(&mut self, number: u64, received: u64) {
        loop {
            let line = self.lines.get_mut(&number).filter(|line| !line.closing);
            match line.map(|line| line.inbox.take()) {
                Some(Ok(Some(order))) => self.obey(number, order, received),
                Some(Ok(None)) | None => return,
                Some(Err(bad)) => {
                    let actions = self.agent.refuse(LineId(number), bad.to_string());
                    self.act(actions);
                }
            }
        }
    }

    fn obey(&mut self, number: u64, order: Order, received: u64) {
        let stepped = i64::try_from(clocks() - self.clocks).unwrap_or(i64::MAX);
        let actions = self
            .agent
            .order(LineId(number), order, (received, stepped), &loads::check);
        self.act(actions);
    }

    fn close(&mut self, number: u64) {
        self.lines.remove(&number);
        self.agent.lost(LineId(number));
    }

    fn act(&mut self, actions: Vec<AgentAction>) {
        for action in actions {
            match action {
                AgentAction::Reply(LineId(number), reply) => self.reply(number, reply),
                AgentAction::Close(LineId(number)) => {
                    self.agent.lost(LineId(number));
                    if let Some(line) = self.lines.get_mut(&number) {
                        line.closing = true;
                    }
                    self.send(number);
                }
                AgentAction::Start(started) => match RunningLoad::start(&started) {
                    Ok(load) => {
                        self.loads.insert(started.load.id, load);
                    }
                    Err(error) => self.ended(LoadResult {
                        id: started.load.id,
                        document: None,
                        error: Some(format!("it cannot be started: {}", system_text(&error))),
                    }),
                },
                AgentAction::Kill(id) => {
                    if let Some(load) = self.loads.get_mut(&id) {
                        load.kill();
                    }
                }
                AgentAction::Admit(tokens) => {
                    if let Err(error) = self.admit(&tokens) {
                        self.log(&format!("keys: {}", system_text(&error)));
                    }
                }
                AgentAction::Log(line) => self.log(&line),
            }
        }
    }

    fn reply(&mut self, number: u64, reply: Reply) {
        let Some(line) = self.lines.get_mut(&number) else {
            return;
        };
        let reply = if let Reply::Clock { received, .. } = reply {
            Reply::Clock {
                received,
                sent: clock::monotonic(),
            }
        } else {
            reply
        };
        match encode(&reply) {
            Ok(bytes) if line.outbox.len() + bytes.len() <= MOST_WAITING => {
                line.outbox.extend_from_slice(&bytes);
                self.send(number);
            }
            Ok(_) | Err(_) => self.close(number),
        }
    }

    /// Sends what fits into the socket.
    fn send(&mut self, number: u64) {
        let Some(line) = self.lines.get_mut(&number) else {
            return;
        };
        while !line.outbox.is_empty() {
            match line.stream.write(&line.outbox) {
                Ok(count) => drop(line.outbox.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => return self.close(number),
            }
        }
        if line.closing {
            self.close(number);
        }
    }

    fn look_at_loads(&mut self) {
        let look = |load: &mut RunningLoad| load.look();
        let over: Vec<LoadResult> = self.loads.values_mut().filter_map(look).collect();
        for result in over {
            self.ended(result);
        }
    }

    fn ended(&mut self, result: LoadResult) {
        self.loads.remove(&result.id);
        let actions = self.agent.load_ended(result);
        self.act(actions);
    }

    /// Tells netserver which clients it serves.
    fn admit(&self, tokens: &[(String, TokenDigits)]) -> io::Result<()> {
        let key = |(name, token): &(String, TokenDigits)| {
            let plain = |letter: char| {
                if letter.is_ascii_alphanumeric() || "-_.@".contains(letter) {
                    letter
                } else {
                    '_'
                }
            };
            Some(NamedKey {
                name: format!("campaign-{}", name.chars().map(plain).collect::<String>()),
                role: KeyRole::Measure,
                secret: Secret::new(token.0.as_bytes()).ok()?,
                max_sessions: None,
            })
        };
        let keys = KeyRing::of(tokens.iter().filter_map(key).collect());
        let settings = SessionSettings {
            words: Vec::new(),
            passphrase: None,
            keys: keys.map(std::sync::Arc::new),
        };
        let file = File::from(settings.to_file()?);
        pass::send(self.control.as_fd(), b"keys", Some(file.as_fd()))
    }

    /// A line in netserver's log.
    fn log(&self, line: &str) {
        let line: String = line.chars().take(200).collect();
        let line = netperf_web::escape::line(&line);
        // A listener with too much to read loses the line.
        let _lost = pass::send(self.control.as_fd(), line.as_bytes(), None);
    }
}

#[cfg(test)]
mod tests {
    use netperf_campaign::inventory;

    #[test]
    fn netserver_passes_on_the_variables_of_places() {
        assert_eq!(
            netperf_program::agent_variables::PLACE_VARIABLES,
            inventory::PLACE_VARIABLES
        );
    }
}
