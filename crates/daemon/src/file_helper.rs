//! The process that reads the key file and the file of settings again when SIGHUP asks for them.
//!
//! It has the user that netserver had at the start, so it can read files of root. It reads these
//! files and no others, and ends with netserver. A file system may hang: each request is served by
//! a process of its own, which the next request or a time-out ends; the listener does not wait.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netperf_measure::clock::{self, Moment};
use netperf_os::pass::{self, PassWait};
use netperf_os::process::{self, Forked};
use netperf_os::{Socket, without};
use netperf_program::key::FileCopy;

use super::helper_process;

/// Time for all files of a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Request that ends the process of the one before.
const END: u64 = 0;
/// Processes that have not ended yet although they were killed, as in a file system that hangs.
const MOST_READERS: usize = 8;

/// Copies of the files of one request.
pub type FileCopies = BTreeMap<PathBuf, io::Result<FileCopy>>;

/// The process, as the listener sees it.
#[derive(Debug)]
pub struct FileHelper {
    socket: Socket,
    paths: Vec<PathBuf>,
    /// Number of the last request.
    number: u64,
    asked: Option<FileRequest>,
}

/// A request whose answers have not all arrived.
#[derive(Debug)]
struct FileRequest {
    until: Moment,
    copies: FileCopies,
}

/// Head of an answer; a copy of the file in memory is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileAnswer {
    /// Number of the request.
    number: u64,
    /// Index of the path.
    index: u8,
    /// Error number, or 0.
    errno: i32,
    owner: u32,
    mode: u32,
}

impl FileAnswer {
    const BYTES: usize = 21;

    fn to_bytes(self) -> Vec<u8> {
        [
            self.number.to_ne_bytes().as_slice(),
            &[self.index],
            &self.errno.to_ne_bytes(),
            &self.owner.to_ne_bytes(),
            &self.mode.to_ne_bytes(),
        ]
        .concat()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (number, rest) = bytes.split_first_chunk()?;
        let (index, rest) = rest.split_first()?;
        let (errno, rest) = rest.split_first_chunk()?;
        let (owner, rest) = rest.split_first_chunk()?;
        let (mode, rest) = rest.split_first_chunk()?;
        rest.is_empty().then_some(Self {
            number: u64::from_ne_bytes(*number),
            index: *index,
            errno: i32::from_ne_bytes(*errno),
            owner: u32::from_ne_bytes(*owner),
            mode: u32::from_ne_bytes(*mode),
        })
    }
}

impl FileHelper {
    /// Starts the process. `paths` are at most 256 files.
    ///
    /// # Errors
    /// When there are too many processes or open files.
    pub fn start(paths: Vec<PathBuf>) -> io::Result<Self> {
        let (socket, asked) = pass::pair()?;
        helper_process::start(c"netserver-files", &[asked.as_fd()], || {
            serve(&asked, &paths)
        })?;
        Ok(Self {
            socket,
            paths,
            number: END,
            asked: None,
        })
    }

    /// Descriptor of the answers.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Asks for all files, instead of the request before.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn ask(&mut self) -> io::Result<()> {
        self.number += 1;
        self.asked = None;
        pass::send(self.socket.as_fd(), &self.number.to_ne_bytes(), None)?;
        self.asked = Some(FileRequest {
            until: clock::now().plus(PATIENCE),
            copies: FileCopies::new(),
        });
        Ok(())
    }

    /// Reads answers. Returns the files once all answers to the last request are there; answers
    /// to other requests are dropped.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn hear(&mut self) -> io::Result<Option<FileCopies>> {
        loop {
            let mut bytes = [0; 2 * FileAnswer::BYTES];
            match pass::receive(self.socket.as_fd(), &mut bytes, PassWait::Never) {
                Ok((0, _)) => return Err(io::ErrorKind::BrokenPipe.into()),
                Ok((count, copy)) => self.take(bytes.get(..count).unwrap_or_default(), copy),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let complete = |asked: &mut FileRequest| asked.copies.len() == self.paths.len();
        Ok(self.asked.take_if(complete).map(|asked| asked.copies))
    }

    fn take(&mut self, bytes: &[u8], copy: Option<OwnedFd>) {
        let answer = FileAnswer::read(bytes).filter(|answer| answer.number == self.number);
        let Some((asked, answer)) = self.asked.as_mut().zip(answer) else {
            return;
        };
        if let Some(path) = self.paths.get(usize::from(answer.index)) {
            let copied = copied(&answer, copy);
            asked.copies.insert(path.clone(), copied);
        }
    }

    /// Time limit of the last request, if answers are missing.
    pub fn until(&self) -> Option<Moment> {
        self.asked.as_ref().map(|asked| asked.until)
    }

    /// Ends the last request and its process. Returns the files that were not read.
    pub fn end(&mut self) -> Vec<PathBuf> {
        // A process that is gone needs no end.
        let _gone = pass::send(self.socket.as_fd(), &END.to_ne_bytes(), None);
        let copies = self.asked.take().map(|asked| asked.copies);
        let has = |path: &PathBuf| copies.as_ref().is_some_and(|all| all.contains_key(path));
        self.paths
            .iter()
            .filter(|path| !has(path))
            .cloned()
            .collect()
    }
}

fn copied(answer: &FileAnswer, copy: Option<OwnedFd>) -> io::Result<FileCopy> {
    match answer.errno {
        0 => {}
        netperf_os::io::IS_A_DIRECTORY => return Err(no_file()),
        errno => return Err(io::Error::from_raw_os_error(errno)),
    }
    let copy = File::from(copy.ok_or(io::ErrorKind::InvalidData)?);
    FileCopy::read((answer.owner, answer.mode), copy)
}

fn no_file() -> io::Error {
    io::Error::other("it is not a regular file and cannot be read again")
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

/// Answers until netserver ends.
fn serve(asked: &Socket, paths: &[PathBuf]) -> io::Result<()> {
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
            Ok(Forked::Child) => return answer(asked, number, paths),
            Ok(Forked::Parent(reader)) => readers.push(reader),
            Err(_) => {}
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_helper_drops_answers_to_other_requests() {
        let (socket, helper) = pass::pair().unwrap();
        let paths: Vec<PathBuf> = ["keys", "settings"].map(PathBuf::from).to_vec();
        let mut asking = FileHelper {
            socket,
            paths,
            number: END,
            asked: None,
        };
        let answers = |number, index, text: &str| {
            let mut file = File::from(without::file_in_memory(c"copy").unwrap());
            file.write_all(text.as_bytes()).unwrap();
            io::Seek::rewind(&mut file).unwrap();
            let head = FileAnswer {
                number,
                index,
                errno: 0,
                owner: 0,
                mode: 0o600,
            };
            pass::send(helper.as_fd(), &head.to_bytes(), Some(file.as_fd())).unwrap();
        };
        asking.ask().unwrap();
        assert_eq!(asking.end().len(), 2);
        assert!(asking.until().is_none());
        answers(1, 0, "late key");
        assert!(asking.hear().unwrap().is_none());
        asking.ask().unwrap();
        answers(1, 1, "late settings");
        answers(2, 0, "key");
        answers(2, 7, "of no path");
        assert!(asking.hear().unwrap().is_none());
        answers(2, 1, "settings");
        let copies = asking.hear().unwrap().unwrap();
        let text = |path: &str| copies[Path::new(path)].as_ref().unwrap().text.to_vec();
        assert_eq!(
            (text("keys"), text("settings")),
            (b"key".to_vec(), b"settings".to_vec())
        );
    }
}
