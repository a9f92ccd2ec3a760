//! The agent of campaigns beside the listener (`--agent`).
//!
//! The agent is the program netperf, in a separate process that lives as long as the listener.
//! A session whose client has proven a key with the role agent passes it a socket and forwards
//! between this socket and the encrypted connection. The agent gives the listener the keys of the
//! current campaign's members (docs/decisions/0040-agents.md).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use netperf_cli::ServerArgs;
use netperf_model::KeyRing;
use netperf_os::pass::{self, PassWait};
use netperf_os::{Socket, process};
use netperf_program::agent_variables::{CONTROL, DOOR, PLACE_VARIABLES};
use netperf_program::key;
use netperf_program::link::ControlLink;
use netperf_program::session_settings::SessionSettings;

use super::own_process::OwnProcess;

/// Variable of a session process with the descriptor of the agent's door.
pub(super) const SESSION_DOOR: &str = "NETSERVER_AGENT";
/// Time for the agent to take a connection.
const TAKEN: Duration = Duration::from_secs(3);
/// Longest silence of both ends of an agent's connection; heartbeats come every 500 ms, and a plan
/// may permit silences of a minute.
const SILENCE: Duration = Duration::from_secs(120);

/// The program that an agent consists of, opened while the user is still root.
#[derive(Debug)]
pub(super) struct AgentProgram {
    file: File,
    path: PathBuf,
}

impl AgentProgram {
    /// Opens the program netperf beside this one.
    ///
    /// # Errors
    /// One line with the file that is missing.
    pub(super) fn find() -> Result<Self, String> {
        if !cfg!(all(feature = "results", feature = "tls")) {
            return Err(
                "--agent: this build has no campaigns (features results and tls)".to_owned(),
            );
        }
        let own = process::own_file();
        let own = std::fs::read_link(own).unwrap_or_else(|_| own.to_owned());
        let name = own.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or_default();
        // A link with the name netserver leads to netperf, which contains both.
        let is_netperf = name.contains("netperf");
        let path = own.with_file_name(name.replacen("netserver", "netperf", 1));
        match File::open(&path) {
            Ok(file) if path != own || is_netperf => Ok(Self { file, path }),
            Ok(_) => Err("--agent needs the program netperf beside netserver".to_owned()),
            Err(error) => Err(format!(
                "--agent needs the program netperf beside netserver: {}: {}",
                path.display(),
                netperf_program::output::system_text(&error)
            )),
        }
    }

    /// Starts the agent with the keys and the port of this netserver.
    ///
    /// # Errors
    /// When there are too many processes or open files.
    pub(super) fn start(self, args: &ServerArgs, port: &str) -> io::Result<AgentProcess> {
        let (control, inside) = pass::pair()?;
        let (door, inner_door) = pass::pair()?;
        let mut words = vec!["--port".into(), port.into()];
        if let Some(join) = &args.agent.join {
            words.extend(["--join".into(), join.into()]);
        }
        let settings = SessionSettings {
            words,
            passphrase: None,
            keys: args.access.keys.clone(),
        };
        // The process finds the file under its own number of the descriptor.
        pass::keep_on_exec(self.file.as_fd())?;
        let held = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        let mut process = OwnProcess::new(&held, &settings)?;
        process.give(CONTROL, inside.as_fd())?;
        process.give(DOOR, inner_door.as_fd())?;
        let command = process.command();
        command
            .args(["campaign", "agent"])
            .envs(place_variables())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0);
        let child = process.start_first(&[held, self.path], c"netperf")?;
        control.set_nonblocking(true)?;
        Ok(AgentProcess {
            child,
            control,
            door,
            own: args.access.keys.clone(),
        })
    }
}

/// The variables of the environment that say where this host is.
fn place_variables() -> impl Iterator<Item = (&'static str, String)> {
    let all = PLACE_VARIABLES.into_iter();
    all.filter_map(|name| Some((name, key::variable(name)?)))
}

/// The agent, as the listener sees it.
#[derive(Debug)]
pub(super) struct AgentProcess {
    child: Child,
    control: Socket,
    /// Sessions pass their connections here.
    door: Socket,
    /// Keys of the file.
    own: Option<Arc<KeyRing>>,
}

/// A message of the agent.
#[derive(Debug)]
pub(super) enum AgentMessage {
    /// All keys that clients may have now.
    Keys(Option<Arc<KeyRing>>),
    /// A line for the log.
    Log(String),
    /// The agent has ended.
    Ended,
}

impl AgentProcess {
    /// Descriptor of the messages.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Socket that sessions inherit.
    pub(super) fn door(&self) -> BorrowedFd<'_> {
        self.door.as_fd()
    }

    /// The next message, if there is one.
    pub(super) fn next(&mut self) -> Option<AgentMessage> {
        let mut text = [0; 1024];
        match pass::receive(self.control.as_fd(), &mut text, PassWait::Never) {
            Ok((0, _)) => Some(AgentMessage::Ended),
            Ok((_, Some(keys))) => self.keys(keys).ok(),
            Ok((length, None)) => {
                let text = text.get(..length).unwrap_or_default();
                Some(AgentMessage::Log(
                    String::from_utf8_lossy(text).into_owned(),
                ))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
            Err(_) => Some(AgentMessage::Ended),
        }
    }

    /// End of the process, which has closed its messages.
    pub(super) fn ending(&mut self) -> String {
        const SOON: u32 = 100;
        let status = (0..SOON).find_map(|_| {
            let status = self.child.try_wait().ok().flatten();
            if status.is_none() {
                std::thread::sleep(Duration::from_millis(10));
            }
            status
        });
        match status {
            Some(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("killed by signal {signal}"),
                (None, Some(code)) => format!("exit status {code}"),
                (None, None) => "unknown".to_owned(),
            },
            None => "it has closed its connection to netserver".to_owned(),
        }
    }

    /// The keys of the file and those of the campaign.
    fn keys(&self, file: OwnedFd) -> io::Result<AgentMessage> {
        let tokens = SessionSettings::read(file.into())?.keys;
        let own = self.own.iter().flat_map(|keys| keys.keys());
        let tokens = tokens.iter().flat_map(|keys| keys.keys());
        let all = own.chain(tokens).cloned().collect();
        Ok(AgentMessage::Keys(KeyRing::of(all).map(Arc::new)))
    }
}

impl Drop for AgentProcess {
    /// Ends the agent and its loads, which are in its process group.
    fn drop(&mut self) {
        // It ends its loads when this socket is closed; what is left is killed.
        let _closed = self.control.shutdown(std::net::Shutdown::Both);
        let ended = std::iter::repeat_with(|| {
            std::thread::sleep(Duration::from_millis(10));
            self.child.try_wait()
        });
        let in_time = ended.take(200).any(|status| !matches!(status, Ok(None)));
        let _none_left = process::kill_group(self.child.id());
        if !in_time {
            let _reaped = self.child.wait();
        }
    }
}

/// Serves a client that has proven a key with the role agent: forwards between it and the agent.
pub(super) fn forward(link: &mut ControlLink, door: BorrowedFd<'_>) -> io::Result<()> {
    let (inside, given) = UnixStream::pair()?;
    pass::send(door, b"line", Some(given.as_fd()))?;
    drop(given);
    inside.set_write_timeout(Some(TAKEN))?;
    link.forward(&inside, SILENCE)
}
