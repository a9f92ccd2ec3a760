//! The process that serves all flows of datagrams at a port, as the listener sees it.

use std::io;
use std::os::fd::BorrowedFd;
use std::process::Child;
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_daemon::record::SessionRecord;
use netperf_daemon::session_log::SessionLog;
use netperf_measure::clock::{self, Moment};
use netperf_model::{Network, OnePort};
use netperf_os::Socket;

use crate::own_process::{OwnProcess, RecordLines};
use crate::served_protocol::ServedProtocol;
use crate::session_process::settings;

/// Time before a process that ended is started again.
const AGAIN: Duration = Duration::from_secs(1);
/// Time for a process to end its flows.
const END_TIME: Duration = Duration::from_secs(2);

/// The process, and the socket that it serves.
#[derive(Debug)]
pub(crate) struct DatagramWorker {
    socket: Socket,
    running: Option<(Child, RecordLines)>,
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
        let (records, writer) = RecordLines::pair()?;
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
        let protocol = ServedProtocol::Iperf2Datagrams;
        let mut process = OwnProcess::itself(&settings, protocol, false)?;
        process.streams(self.socket.try_clone()?.into(), writer);
        self.running = Some((process.start_itself()?, records));
        self.again = None;
        Ok(())
    }

    /// Descriptor of the records, while the process runs.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.running.as_ref().and_then(|(_, records)| records.fd())
    }

    /// Reads records, up to a limit. Returns the logs of flows that ended.
    pub(crate) fn read(&mut self) -> Vec<SessionLog> {
        let Some((_, records)) = &mut self.running else {
            return Vec::new();
        };
        let (lines, _) = records.read();
        if records.fd().is_none() {
            self.over();
        }
        lines.iter().filter_map(|line| flow_log(line)).collect()
    }

    /// The process has ended.
    fn over(&mut self) {
        let planned = self.ending.is_some();
        self.stop();
        let wait = if planned { Duration::ZERO } else { AGAIN };
        self.again = Some(clock::now().plus(wait));
    }

    /// Has the process end its flows and report them. It is started again afterwards.
    pub(crate) fn end(&mut self) {
        self.again = None;
        let Some((_, records)) = &self.running else {
            self.again = Some(clock::now());
            return;
        };
        // The end of this direction is the message.
        records.end();
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
        let record = SessionRecord::parse(part)?;
        if let SessionRecord::Ran(ran) = &record {
            // The records come when the flow is over.
            log.lasted(Duration::try_from_secs_f64(ran.elapsed).unwrap_or_default());
        }
        log.enter(record);
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
