//! The process that serves all flows of datagrams at a port, as the listener sees it.

use std::io::{self, Read as _};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_daemon::record::SessionRecord;
use netperf_daemon::session_log::SessionLog;
use netperf_measure::clock::{self, Moment};
use netperf_model::{Network, OnePort};
use netperf_os::{Socket, pass, process};
use netperf_program::session_settings::DESCRIPTOR;

use crate::served_protocol::ServedProtocol;
use crate::session_process::{PROTOCOL, RECORDS, inherited_rights, inherited_variables, settings};

/// Most bytes of a record.
const LONGEST: usize = 512;
/// Most bytes that are read in a round.
const AT_ONCE: usize = 64 * LONGEST;
/// Time before a process that ended is started again.
const AGAIN: Duration = Duration::from_secs(1);
/// Time for a process to end its flows.
const END_TIME: Duration = Duration::from_secs(2);

/// The process, and the socket that it serves.
#[derive(Debug)]
pub(crate) struct DatagramWorker {
    socket: Socket,
    running: Option<(Child, UnixStream)>,
    text: Vec<u8>,
    /// When it is started again.
    again: Option<Moment>,
    /// Time limit of a process that ends its flows.
    ending: Option<Moment>,
}

impl DatagramWorker {
    /// A worker for this socket, which is not running yet.
    pub(crate) fn new(socket: Socket) -> Self {
        Self {
            socket,
            running: None,
            text: Vec::new(),
            again: Some(clock::now()),
            ending: None,
        }
    }

    /// When something has to be done about it.
    pub(crate) fn next(&self) -> Option<Moment> {
        self.again.into_iter().chain(self.ending).min()
    }

    /// True if the process has to be started.
    pub(crate) fn is_due(&self, now: Moment) -> bool {
        self.again.is_some_and(|again| again <= now)
    }

    /// True while the process runs.
    pub(crate) const fn runs(&self) -> bool {
        self.running.is_some()
    }

    /// Starts the process.
    ///
    /// # Errors
    /// When there are too many processes or open files. It is then started later.
    pub(crate) fn start(&mut self, args: &ServerArgs) -> io::Result<()> {
        self.again = Some(clock::now().plus(AGAIN));
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        let mut settings = settings(args, OnePort::Off);
        let list = |networks: &[Network]| {
            let words: Vec<String> = networks.iter().map(Network::to_string).collect();
            words.join(",")
        };
        let access = &args.access;
        for (name, networks) in [("allow", &access.allow), ("deny", &access.deny)] {
            if !networks.networks.is_empty() {
                let word = format!("--{name}={}", list(&networks.networks));
                settings.words.push(word.into());
            }
        }
        let limits = args.policy().limits;
        settings.words.extend([
            format!("--source-bits={}", limits.source_bits).into(),
            format!("--max-session-rate={}", limits.session_rate).into(),
        ]);
        let settings = settings.to_file()?;
        pass::keep_on_exec(settings.as_fd())?;
        let mut command = Command::new(process::own_file());
        command
            .env_clear()
            .envs(inherited_variables())
            .env(RECORDS, "1")
            .env(PROTOCOL, ServedProtocol::Iperf2Datagrams.label())
            .env(DESCRIPTOR, settings.as_raw_fd().to_string())
            .envs(inherited_rights(false)?)
            .stdin(Stdio::from(OwnedFd::from(self.socket.try_clone()?)))
            .stdout(Stdio::from(OwnedFd::from(writer)))
            .stderr(Stdio::null());
        let child = process::start_itself(process::own_name(), &mut command)?;
        self.running = Some((child, reader));
        self.text.clear();
        self.again = None;
        Ok(())
    }

    /// Descriptor of the records, while the process runs.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.running.as_ref().map(|(_, records)| records.as_fd())
    }

    /// Reads records, up to a limit. Returns the logs of flows that ended.
    pub(crate) fn read(&mut self) -> Vec<SessionLog> {
        let mut logs = Vec::new();
        let mut chunk = [0; LONGEST];
        let mut total = 0;
        while total < AT_ONCE {
            let Some((_, records)) = &mut self.running else {
                return logs;
            };
            match records.read(&mut chunk) {
                Ok(0) => self.over(),
                Ok(count) => {
                    total += count;
                    logs.extend(self.take(chunk.get(..count).unwrap_or_default()));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return logs,
                Err(_) => self.over(),
            }
        }
        logs
    }

    /// The process has ended.
    fn over(&mut self) {
        let planned = self.ending.is_some();
        self.stop();
        let wait = if planned { Duration::ZERO } else { AGAIN };
        self.again = Some(clock::now().plus(wait));
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<SessionLog> {
        let mut logs = Vec::new();
        for &byte in bytes {
            if byte != b'\n' {
                if self.text.len() < LONGEST {
                    self.text.push(byte);
                }
                continue;
            }
            let line = String::from_utf8(std::mem::take(&mut self.text)).ok();
            logs.extend(line.as_deref().and_then(flow_log));
        }
        logs
    }

    /// Has the process end its flows and report them. It is started again afterwards.
    pub(crate) fn end(&mut self) {
        self.again = None;
        let Some((_, records)) = &self.running else {
            self.again = Some(clock::now());
            return;
        };
        // The end of this direction is the message. An error means that the process is gone.
        let _gone = records.shutdown(Shutdown::Write);
        self.ending = Some(clock::now().plus(END_TIME));
    }

    /// Ends a process that has had its time.
    pub(crate) fn expire(&mut self, now: Moment) {
        if self.ending.is_some_and(|until| until <= now) {
            self.over();
        }
    }

    /// Ends the process at once.
    pub(crate) fn stop(&mut self) {
        if let Some((mut child, _)) = self.running.take() {
            // An error means that it has already ended.
            let _gone = child.kill();
            let _status = child.wait();
        }
        self.again = None;
        self.ending = None;
    }
}

/// Log of a flow: its client and its records, separated by `;`.
fn flow_log(line: &str) -> Option<SessionLog> {
    let mut parts = line.split(';');
    let peer: std::net::SocketAddr = parts.next()?.parse().ok()?;
    let mut log = SessionLog::new(peer.to_string(), None);
    for part in parts {
        log.enter(SessionRecord::parse(part)?);
    }
    Some(log)
}

/// The line of [`flow_log`].
pub(super) fn flow_line(peer: std::net::SocketAddr, records: &[SessionRecord]) -> String {
    let mut line = peer.to_string();
    for record in records {
        line.push(';');
        line.push_str(record.line().trim_end());
    }
    line.push('\n');
    line
}
