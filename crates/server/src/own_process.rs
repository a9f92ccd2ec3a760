//! Processes that the listener starts as programs: a session, the process of datagrams of iperf 2, and
//! the agent. Each has what it is given here and nothing else of the listener; the first two report
//! by records.

use std::ffi::{CStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use netperf_daemon::supervisor;
use netperf_os::{pass, process, rights, without};
use netperf_program::key;
use netperf_program::session_settings::{DESCRIPTOR, SessionSettings};

use super::served_protocol::ServedProtocol;

/// Set for a process that writes records to its standard output.
pub(super) const RECORDS: &str = "NETSERVER_RECORDS";
/// Descriptor number of the session's hand-off socket for data from the listener's port.
pub(super) const HANDOFF: &str = "NETSERVER_HANDOFF";
/// Descriptor number of the socket for calls that take a right of root.
pub(super) const RIGHTS: &str = "NETSERVER_RIGHTS";
/// The protocol that the process serves: a word of [`ServedProtocol`].
pub(super) const PROTOCOL: &str = "NETSERVER_PROTOCOL";
/// Limit of a record's length, bytes.
const LONGEST: usize = 512;
/// Reads per round, so that a process that floods does not block the clients.
const AT_ONCE: usize = 64;

/// A process that is to be started, with what it inherits.
#[derive(Debug)]
pub(crate) struct OwnProcess {
    command: Command,
    /// Copies of descriptors, which no other process inherits.
    kept: Vec<OwnedFd>,
}

impl OwnProcess {
    /// A process of this program with settings, and with the variables that a preloaded library may
    /// need.
    ///
    /// # Errors
    /// When there are too many open files.
    pub(crate) fn new(program: &Path, settings: &SessionSettings) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.env_clear().envs(inherited_variables());
        let kept = Vec::new();
        let mut process = Self { command, kept };
        // A limit of file sizes may leave no space for the settings.
        process.keep(DESCRIPTOR, settings.to_file()?)?;
        Ok(process)
    }

    /// A process of this program itself that reports by records, and asks for calls that take a
    /// right of root; `here` if it serves a client on this host.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn itself(
        settings: &SessionSettings,
        protocol: ServedProtocol,
        here: bool,
    ) -> io::Result<Self> {
        let mut process = Self::new(process::own_file(), settings)?;
        process.set(RECORDS, "1");
        process.set(PROTOCOL, protocol.label());
        if let Some(door) = rights::door(here) {
            process.give(RIGHTS, door)?;
        }
        Ok(process)
    }

    /// Gives it a variable.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.command.env(name, value.into());
    }

    /// Gives it a descriptor of the listener; a variable has the number.
    ///
    /// # Errors
    /// When there are too many open files.
    pub(crate) fn give(&mut self, name: &str, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.keep(name, fd.try_clone_to_owned()?)
    }

    fn keep(&mut self, name: &str, fd: OwnedFd) -> io::Result<()> {
        pass::keep_on_exec(fd.as_fd())?;
        self.set(name, fd.as_raw_fd().to_string());
        self.kept.push(fd);
        Ok(())
    }

    /// Its standard input and output. Errors go nowhere.
    pub(crate) fn streams(&mut self, input: OwnedFd, output: OwnedFd) {
        self.command
            .stdin(input)
            .stdout(output)
            .stderr(Stdio::null());
    }

    /// Further arguments of the command.
    pub(crate) const fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    /// Starts this program again.
    ///
    /// # Errors
    /// When there are too many processes or open files, or the program is gone.
    pub(crate) fn start_itself(mut self) -> io::Result<Child> {
        process::start_itself(process::own_name(), &mut self.command)
    }

    /// Starts the first of these files that can be executed, under this name.
    ///
    /// # Errors
    /// When there are too many processes or open files, or there is no such file.
    pub(crate) fn start_first(mut self, files: &[PathBuf], name: &CStr) -> io::Result<Child> {
        let (child, _) = without::start_first(files, name, &mut self.command)?;
        Ok(child)
    }
}

/// Variables that a process inherits. A preloaded library may need any, so only those of the key
/// and of the supervisor are left out then.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment of another process"
)]
fn inherited_variables() -> impl Iterator<Item = (OsString, OsString)> {
    let preloaded = std::env::var_os("LD_PRELOAD").is_some();
    std::env::vars_os().filter(move |(name, _)| {
        let is_one_of = |names: &[&str]| names.iter().any(|one| name == *one);
        if preloaded {
            !is_one_of(&[key::FILE, key::KEY, HANDOFF, RIGHTS])
                && !is_one_of(&supervisor::VARIABLES)
        } else {
            is_one_of(&["LD_LIBRARY_PATH", "TMPDIR"])
        }
    })
}

/// Records of a process, line by line; the listener answers on the same socket.
#[derive(Debug)]
pub(crate) struct RecordLines {
    /// `None` once the process closed it.
    stream: Option<UnixStream>,
    text: Vec<u8>,
}

impl RecordLines {
    /// Two sockets: the second is for the process.
    ///
    /// # Errors
    /// When there are too many open files.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (stream, inside) = UnixStream::pair()?;
        stream.set_nonblocking(true)?;
        let lines = Self {
            stream: Some(stream),
            text: Vec::new(),
        };
        Ok((lines, inside.into()))
    }

    /// Descriptor of the records, while open.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.stream.as_ref().map(|stream| stream.as_fd())
    }

    /// Reads records, up to a limit. Returns them, and true if there may be more.
    pub(crate) fn read(&mut self) -> (Vec<String>, bool) {
        let (mut lines, mut chunk) = (Vec::new(), [0; LONGEST]);
        for _ in 0..AT_ONCE {
            let Some(stream) = &mut self.stream else {
                return (lines, false);
            };
            match stream.read(&mut chunk) {
                Ok(0) => self.stream = None,
                Ok(count) => self.take(chunk.get(..count).unwrap_or_default(), &mut lines),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return (lines, false),
                Err(_) => self.stream = None,
            }
        }
        (lines, true)
    }

    fn take(&mut self, bytes: &[u8], lines: &mut Vec<String>) {
        for &byte in bytes {
            if byte == b'\n' {
                lines.extend(String::from_utf8(std::mem::take(&mut self.text)).ok());
            } else if self.text.len() < LONGEST {
                self.text.push(byte);
            }
        }
    }

    /// Sends an answer. A process that is gone needs none.
    pub(crate) fn answer(&mut self, bytes: &[u8]) {
        if let Some(stream) = &mut self.stream {
            let _gone = stream.write(bytes);
        }
    }

    /// Sends the end of this direction. A process that is gone needs none.
    pub(crate) fn end(&self) {
        if let Some(stream) = &self.stream {
            let _gone = stream.shutdown(Shutdown::Write);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_process_inherits_what_it_is_given_and_no_other_does() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let listed = |give: bool| {
            let shell = Path::new("/bin/sh");
            let mut process = OwnProcess::new(shell, &SessionSettings::default()).unwrap();
            if give {
                process.give("GIVEN", theirs.as_fd()).unwrap();
            }
            let (mut lines, output) = RecordLines::pair().unwrap();
            process.streams(output.try_clone().unwrap(), output);
            process
                .command()
                .args(["-c", "echo $GIVEN; ls -l /proc/self/fd | grep -c socket"]);
            let mut child = process.start_first(&[shell.to_owned()], c"sh").unwrap();
            child.wait().unwrap();
            lines.read().0
        };
        let given = listed(true);
        assert!(given[0].parse::<i32>().is_ok(), "{given:?}");
        // Standard input, and what is given; the output of ls is a pipe.
        assert_eq!(given[1], "2");
        assert_eq!(listed(false), ["", "1"]);
        drop(ours);
    }

    #[test]
    fn records_of_a_process_that_never_stops_are_read_a_piece_at_a_time() {
        let (mut lines, output) = RecordLines::pair().unwrap();
        let talker = Command::new("yes")
            .arg("ran tcp rr 1 2 3 1.0")
            .stdout(output)
            .spawn();
        let mut talker = talker.unwrap();
        // The scheduler determines which read finds the socket full.
        let mut some = 0;
        let more = netperf_testkit::eventually(std::time::Duration::from_secs(20), || {
            let (read, more) = lines.read();
            some += read.len();
            more
        });
        assert!(more && some > 0);
        talker.kill().unwrap();
        talker.wait().unwrap();
        while lines.read().1 {}
        assert!(lines.fd().is_none(), "all has been read");
    }
}
