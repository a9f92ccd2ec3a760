//! The process that reads the key file and the file of settings again when SIGHUP asks for them, and
//! opens the log file again.
//!
//! It has the user that netserver had at the start, so it can read files of root. It opens these
//! files and no others, and ends with netserver. A file system may hang: each request is served by
//! a separate process, which the next request or a time-out ends; the listener does not wait.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_os::pass::{self, PassWait};
use netperf_os::process::{self, Forked};
use netperf_os::{Socket, privileges, without};
use netperf_program::file_answers::{FileAnswer, FileAnswers, FileCopies, no_file};
use netperf_program::key::FileCopy;

use super::helper_process;

/// Time for all files of a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Request that ends the process of the one before.
const END: u64 = 0;
/// Request for the log file.
const LOG: u64 = u64::MAX;
/// `EACCES`.
const DENIED: i32 = 13;
/// `S_ISVTX`.
const STICKY: u32 = 0o1000;
/// Processes that have not ended yet although they were killed, as in a file system that hangs.
const MOST_READERS: usize = 8;

/// The process, as the listener sees it.
#[derive(Debug)]
pub struct FileHelper {
    socket: Socket,
    /// False if there is only a log file.
    reads: bool,
    answers: FileAnswers,
    /// The log file, opened again.
    log: Option<io::Result<File>>,
    /// Time limit of the last request.
    until: Moment,
}

impl FileHelper {
    /// Starts the process. `paths` are at most 256 files to read; `log` is one to append to.
    ///
    /// # Errors
    /// When there are too many processes or open files.
    pub fn start(paths: Vec<PathBuf>, log: Option<&Path>) -> io::Result<Self> {
        let (socket, asked) = pass::pair()?;
        helper_process::start(c"netserver-files", &[asked.as_fd()], || {
            serve(&asked, &paths, log)
        })?;
        Ok(Self {
            socket,
            reads: !paths.is_empty(),
            log: None,
            answers: FileAnswers::new(paths),
            until: clock::now(),
        })
    }

    /// Descriptor of the answers.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// True if it reads files.
    pub const fn reads(&self) -> bool {
        self.reads
    }

    /// Asks for the log file.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn ask_log(&self) -> io::Result<()> {
        pass::send(self.socket.as_fd(), &LOG.to_ne_bytes(), None)
    }

    /// Takes the log file, if [`Self::hear`] has read that answer.
    pub fn take_log(&mut self) -> Option<io::Result<File>> {
        self.log.take()
    }

    /// Asks for all files, instead of the request before.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn ask(&mut self) -> io::Result<()> {
        let number = self.answers.ask();
        self.until = clock::now().plus(PATIENCE);
        pass::send(self.socket.as_fd(), &number.to_ne_bytes(), None)
    }

    /// Reads answers. Returns the files once all answers to the last request are there; answers
    /// to other requests are dropped.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn hear(&mut self) -> io::Result<Option<FileCopies>> {
        loop {
            // With more bytes, what is longer than an answer is none.
            let mut bytes = [0; 2 * FileAnswer::BYTES];
            match pass::receive(self.socket.as_fd(), &mut bytes, PassWait::Never) {
                Ok((0, _)) => return Err(io::ErrorKind::BrokenPipe.into()),
                Ok((count, copy)) => {
                    let answer = bytes.get(..count).unwrap_or_default();
                    match FileAnswer::read(answer).filter(|answer| answer.number == LOG) {
                        Some(answer) => self.log = Some(opened(&answer, copy)),
                        None => self.answers.take(answer, copy),
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(self.answers.complete())
    }

    /// Time limit of the last request, if answers are missing.
    pub fn until(&self) -> Option<Moment> {
        self.answers.is_waiting().then_some(self.until)
    }

    /// Ends the last request and its process. Returns the files that were not read.
    pub fn end(&mut self) -> Vec<PathBuf> {
        // A process that is gone needs no end.
        let _gone = pass::send(self.socket.as_fd(), &END.to_ne_bytes(), None);
        self.answers.end()
    }
}

/// Reads a regular file.
///
/// # Errors
/// Those of open(2) and read(2); a file that is not a regular one, or too large.
pub fn read(path: &Path) -> io::Result<FileCopy> {
    // A pipe without a writer does not block.
    let file = process::open_at_once(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(no_file());
    }
    FileCopy::read((meta.uid(), meta.mode()), file)
}

/// The log file of an answer.
fn opened(answer: &FileAnswer, file: Option<OwnedFd>) -> io::Result<File> {
    match (answer.errno, file) {
        (0, Some(file)) => Ok(file.into()),
        (0, None) => Err(io::ErrorKind::InvalidData.into()),
        (errno, _) => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Opens the log file. Others may not have put another one in its place: this process may have
/// more rights than they.
fn append(path: &Path) -> io::Result<File> {
    let denied = || io::Error::from_raw_os_error(DENIED);
    let folder = path.parent().ok_or_else(denied)?.canonicalize()?;
    let own = [0, privileges::user_number()];
    for (distance, folder) in folder.ancestors().enumerate() {
        let meta = folder.metadata()?;
        // In a sticky folder others cannot rename what is not theirs, but can make files.
        let is_sticky = distance > 0 && meta.mode() & STICKY != 0;
        let is_closed = is_sticky || meta.mode() & 0o022 == 0;
        if !own.contains(&meta.uid()) || !is_closed {
            return Err(denied());
        }
    }
    let file = process::append_at_once(path)?;
    let meta = file.metadata()?;
    if meta.is_file() && meta.nlink() == 1 {
        return Ok(file);
    }
    Err(denied())
}

/// Answers until netserver ends.
fn serve(asked: &Socket, paths: &[PathBuf], log: Option<&Path>) -> io::Result<()> {
    let mut readers: Vec<i32> = Vec::new();
    let mut number = [0; 8];
    while pass::receive(asked.as_fd(), &mut number, PassWait::AsSet)?.0 == number.len() {
        readers.retain(|reader| !process::end_child(*reader));
        let number = u64::from_ne_bytes(number);
        // Without an answer the request has its time-out.
        if number == END || readers.len() >= MOST_READERS {
            continue;
        }
        match process::fork() {
            Ok(Forked::Child) if number == LOG => return answer_log(asked, log),
            Ok(Forked::Child) => return answer(asked, number, paths),
            Ok(Forked::Parent(reader)) => readers.push(reader),
            Err(_) => {}
        }
    }
    Ok(())
}

/// Answers a request for the log file.
fn answer_log(asked: &Socket, log: Option<&Path>) -> io::Result<()> {
    let file = log.ok_or_else(no_file).and_then(append);
    let head = FileAnswer {
        number: LOG,
        index: 0,
        errno: file
            .as_ref()
            .err()
            .map_or(0, |error| error.raw_os_error().unwrap_or(DENIED)),
        owner: 0,
        mode: 0,
    };
    pass::send(
        asked.as_fd(),
        &head.to_bytes(),
        file.as_ref().ok().map(File::as_fd),
    )
}

/// Answers one request.
fn answer(asked: &Socket, number: u64, paths: &[PathBuf]) -> io::Result<()> {
    for (index, path) in (0..).zip(paths) {
        let copy = read(path).and_then(|copy| {
            let mut file = File::from(without::file_in_memory(c"copy")?);
            file.write_all(&copy.text)?;
            io::Seek::rewind(&mut file)?;
            Ok((copy.owner, copy.mode, file))
        });
        let errno = copy.as_ref().err().map_or(0, |error| {
            let other = if error.kind() == io::ErrorKind::FileTooLarge {
                netperf_os::io::TOO_LARGE
            } else {
                netperf_os::io::IS_A_DIRECTORY
            };
            error.raw_os_error().unwrap_or(other)
        });
        let (owner, mode) = copy.as_ref().map_or((0, 0), |copy| (copy.0, copy.1));
        let head = FileAnswer {
            number,
            index,
            errno,
            owner,
            mode,
        };
        let file = copy.as_ref().ok().map(|copy| copy.2.as_fd());
        pass::send(asked.as_fd(), &head.to_bytes(), file)?;
    }
    Ok(())
}
