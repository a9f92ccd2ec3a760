//! Answers of the process that reads files for netserver, to any request and in any order: no input
//! panics, netserver takes answers to its last request alone, and a key is a generated one.

#![no_main]

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use libfuzzer_sys::fuzz_target;
use netperf_program::file_answers::{FileAnswer, FileAnswers, FileCopies};
use netperf_program::key;

/// Files of the requests: that of keys, and one of settings.
const FILES: [&str; 2] = ["keys", "settings"];
/// Longest file.
const LONGEST: usize = 4096;

fuzz_target!(|bytes: &[u8]| {
    let mut asking = FileAnswers::new(FILES.map(PathBuf::from).to_vec());
    let (mut number, mut taken) = (0, [false; FILES.len()]);
    let mut rest = bytes;
    while let Some((&step, after)) = rest.split_first() {
        rest = after;
        match step {
            b'a' => (number, taken) = (asking.ask(), [false; FILES.len()]),
            b'e' => {
                let missing = FILES.iter().zip(taken).filter(|(_, taken)| !taken);
                assert!(!asking.is_waiting() || asking.end().len() == missing.count());
                taken = [false; FILES.len()];
            }
            // An answer: how far its request is back, its file, and the text up to a zero.
            _ => {
                let end = rest.iter().take(LONGEST).position(|byte| *byte == 0);
                let (text, after) = rest.split_at(end.unwrap_or(rest.len().min(LONGEST)));
                rest = after.get(1..).unwrap_or_default();
                let answer = FileAnswer {
                    number: number.saturating_sub(u64::from(step >> 6)),
                    index: step & 3,
                    errno: i32::from(step & 4 != 0) * i32::from(step >> 3),
                    owner: 0,
                    mode: 0o600,
                };
                let mut head = answer.to_bytes();
                head.truncate(head.len() - usize::from(step & 32 != 0));
                let is_whole = head.len() == FileAnswer::BYTES;
                if is_whole && answer.number == number && asking.is_waiting() {
                    if let Some(one) = taken.get_mut(usize::from(answer.index)) {
                        *one = true;
                    }
                }
                asking.take(&head, copy(text).filter(|_| step & 16 == 0));
            }
        }
        if let Some(copies) = asking.complete() {
            assert_eq!(taken, [true; FILES.len()], "answers of another request");
            taken = [false; FILES.len()];
            look_at(copies);
        }
    }
});

/// A file in memory.
fn copy(text: &[u8]) -> Option<OwnedFd> {
    let mut file = File::from(netperf_os::without::file_in_memory(c"copy").ok()?);
    file.write_all(text).ok()?;
    file.rewind().ok()?;
    Some(file.into())
}

/// Reads the keys, as a reload does.
fn look_at(mut copies: FileCopies) {
    let path = Path::new(FILES[0]);
    let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let read = |path: &Path| copies.remove(path).unwrap_or_else(|| Err(missing()));
    if let Ok(Some(keys)) = key::load_again(Some(path), read) {
        assert!(keys.keys().iter().all(|key| key.secret.is_generated()));
    }
}
