//! Files of root that netserver reads again after it has changed to another user.
//!
//! A process keeps root and opens the key file and the file of settings when netserver asks for
//! them: these paths and no others. It ends with netserver.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netperf_os::Socket;
use netperf_os::pass::{self, PassWait};
use netperf_os::process::{self, Forked};

/// Longest wait for a file: a name server or a file system over the network may hang.
const PATIENCE: Duration = Duration::from_secs(5);

/// The process, as netserver sees it.
#[derive(Debug)]
pub(super) struct RootFiles {
    socket: Socket,
    paths: Vec<PathBuf>,
}

impl RootFiles {
    /// Starts the process, as root. `paths` are at most 256 files.
    ///
    /// # Errors
    /// When there are too many processes or open files.
    #[expect(
        clippy::disallowed_methods,
        reason = "the new process returns to nothing of the listener"
    )]
    pub(super) fn start(paths: Vec<PathBuf>) -> io::Result<Self> {
        let (socket, asked) = pass::pair()?;
        if process::fork_no_child()? == Forked::Child {
            drop(socket);
            let _served = serve(&asked, &paths);
            std::process::exit(0);
        }
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { socket, paths })
    }

    /// Returns true if this process, which has changed its user, cannot read a file itself.
    pub(super) fn are_needed(&self) -> bool {
        let is_closed = |path: &PathBuf| File::open(path).is_err_and(|error| is_denied(&error));
        self.paths.iter().any(is_closed)
    }

    /// Opens one of the files.
    ///
    /// # Errors
    /// Those of open(2) as root; a file that is not a regular one.
    fn open(&self, path: &Path) -> io::Result<File> {
        let number = self.paths.iter().position(|known| known == path);
        let number = number.and_then(|number| u8::try_from(number).ok());
        let number = number.ok_or(io::ErrorKind::PermissionDenied)?;
        pass::send(self.socket.as_fd(), &[number], None)?;
        let mut errno = [0; 4];
        let answer = loop {
            match pass::receive(self.socket.as_fd(), &mut errno, PassWait::AsSet) {
                // A signal, such as that of a session's end. A socket with a time limit does not
                // go on by itself (signal(7)).
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                answer => break answer?,
            }
        };
        match answer {
            (4, Some(file)) => Ok(file.into()),
            (4, None) => Err(io::Error::from_raw_os_error(i32::from_ne_bytes(errno))),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

/// Opens a regular file; one that only root can read by way of `files`.
///
/// # Errors
/// Those of open(2); a file that is not a regular one, since a pipe without a writer would block
/// all clients.
pub(super) fn open(path: &Path, files: Option<&RootFiles>) -> io::Result<File> {
    match (regular(path), files) {
        (Err(error), Some(files)) if is_denied(&error) => files.open(path),
        (opened, _) => opened,
    }
}

fn regular(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other(
            "it is not a regular file and cannot be read again",
        ));
    }
    File::open(path)
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// Answers until netserver ends.
fn serve(asked: &Socket, paths: &[PathBuf]) -> io::Result<()> {
    process::set_name(c"netserver-files");
    process::block_signals()?;
    process::new_session()?;
    process::close_standard_streams()?;
    process::set_not_dumpable()?;
    let mut number = [0];
    while pass::receive(asked.as_fd(), &mut number, PassWait::AsSet)?.0 == 1 {
        let path = paths.get(usize::from(number[0]));
        let file = path.map_or(Err(io::ErrorKind::NotFound.into()), |path| regular(path));
        let errno = match &file {
            Ok(_) => 0,
            // Not a regular file.
            Err(error) => error
                .raw_os_error()
                .unwrap_or(netperf_os::io::IS_A_DIRECTORY),
        };
        let file = file.as_ref().ok().map(|file| file.as_fd());
        pass::send(asked.as_fd(), &errno.to_ne_bytes(), file)?;
    }
    Ok(())
}
