//! Files that another process reads for netserver: its answers, and what netserver takes of them.
//!
//! A request has a number, which its answers repeat: a late answer serves no later request.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::key::FileCopy;

/// Copies of the files of one request.
pub type FileCopies = BTreeMap<PathBuf, io::Result<FileCopy>>;

/// Head of an answer; a copy of the file in memory is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAnswer {
    /// Number of the request.
    pub number: u64,
    /// Index of the path.
    pub index: u8,
    /// Error number, or 0.
    pub errno: i32,
    /// Owner of the file.
    pub owner: u32,
    /// Mode of the file.
    pub mode: u32,
}

impl FileAnswer {
    /// Bytes of an answer.
    pub const BYTES: usize = 21;

    /// The answer as it is sent.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        [
            self.number.to_ne_bytes().as_slice(),
            &[self.index],
            &self.errno.to_ne_bytes(),
            &self.owner.to_ne_bytes(),
            &self.mode.to_ne_bytes(),
        ]
        .concat()
    }

    /// The answer in these bytes.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
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

/// Requests for files, one at a time, and the answers to the last one.
#[derive(Debug)]
pub struct FileAnswers {
    paths: Vec<PathBuf>,
    /// Number of the last request.
    number: u64,
    /// Answers to it, until all are there.
    copies: Option<FileCopies>,
}

impl FileAnswers {
    /// Requests for these files, at most 256.
    #[must_use]
    pub const fn new(paths: Vec<PathBuf>) -> Self {
        Self {
            paths,
            number: 0,
            copies: None,
        }
    }

    /// Begins a request instead of the one before. Returns its number, which is never 0.
    #[must_use]
    pub fn ask(&mut self) -> u64 {
        self.number += 1;
        self.copies = Some(FileCopies::new());
        self.number
    }

    /// Takes an answer, if it is one to the last request.
    pub fn take(&mut self, bytes: &[u8], copy: Option<OwnedFd>) {
        let answer = FileAnswer::read(bytes).filter(|answer| answer.number == self.number);
        let Some((copies, answer)) = self.copies.as_mut().zip(answer) else {
            return;
        };
        if let Some(path) = self.paths.get(usize::from(answer.index)) {
            copies.insert(path.clone(), copied(&answer, copy));
        }
    }

    /// The files, once all answers to the last request are there.
    #[must_use]
    pub fn complete(&mut self) -> Option<FileCopies> {
        let paths = self.paths.len();
        self.copies.take_if(|copies| copies.len() == paths)
    }

    /// True while answers are missing.
    #[must_use]
    pub const fn is_waiting(&self) -> bool {
        self.copies.is_some()
    }

    /// Ends the last request. Returns the files that were not read.
    pub fn end(&mut self) -> Vec<PathBuf> {
        let copies = self.copies.take().unwrap_or_default();
        let missing = self.paths.iter().filter(|path| !copies.contains_key(*path));
        missing.cloned().collect()
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

/// The error for what is no regular file.
#[must_use]
pub fn no_file() -> io::Error {
    io::Error::other("it is not a regular file and cannot be read again")
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};
    use std::path::Path;

    use super::*;

    fn answer(number: u64, index: u8, text: &str) -> (Vec<u8>, Option<OwnedFd>) {
        let mut file = File::from(netperf_os::without::file_in_memory(c"copy").unwrap());
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        let head = FileAnswer {
            number,
            index,
            errno: 0,
            owner: 0,
            mode: 0o600,
        };
        (head.to_bytes(), Some(file.into()))
    }

    #[test]
    fn file_answers_of_other_requests_are_dropped() {
        let mut asking = FileAnswers::new(["keys", "settings"].map(PathBuf::from).to_vec());
        let take = |asking: &mut FileAnswers, (bytes, copy): (Vec<u8>, _)| {
            asking.take(&bytes, copy);
            asking.complete()
        };
        let first = asking.ask();
        assert_eq!(asking.end().len(), 2);
        assert!(!asking.is_waiting());
        assert!(take(&mut asking, answer(first, 0, "late key")).is_none());
        let second = asking.ask();
        assert!(take(&mut asking, answer(first, 1, "late settings")).is_none());
        assert!(take(&mut asking, answer(second, 0, "key")).is_none());
        assert!(take(&mut asking, answer(second, 7, "of no path")).is_none());
        let (mut long, copy) = answer(second, 1, "with a byte too many");
        long.push(0);
        assert!(take(&mut asking, (long, copy)).is_none());
        let copies = take(&mut asking, answer(second, 1, "settings")).unwrap();
        let text = |path: &str| copies[Path::new(path)].as_ref().unwrap().text.to_vec();
        let read = (text("keys"), text("settings"));
        assert_eq!(read, (b"key".to_vec(), b"settings".to_vec()));
    }

    #[test]
    fn file_answer_without_its_copy_is_an_error_of_that_file() {
        let mut asking = FileAnswers::new(vec!["keys".into()]);
        let (bytes, _) = answer(asking.ask(), 0, "");
        asking.take(&bytes, None);
        let copies = asking.complete().unwrap();
        assert!(copies[Path::new("keys")].is_err());
    }
}
