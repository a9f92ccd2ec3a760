//! Settings of a session process: a file in memory that it inherits from the listener.
//!
//! Arguments and environment of a process can be read in /proc; the settings include the
//! passphrase and the key.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use netperf_model::Secret;
use netperf_os::{pass, process};

/// Environment variable with the descriptor number of the file.
pub(super) const DESCRIPTOR: &str = "NETSERVER_SETTINGS";
/// Separates words; no argument contains it.
const END: u8 = 0;

/// Words of the command line and the key of a session.
#[derive(Debug, Default)]
pub(super) struct SessionSettings {
    pub(super) words: Vec<OsString>,
    pub(super) secret: Option<Secret>,
}

impl SessionSettings {
    /// Writes the file.
    ///
    /// # Errors
    /// When there are too many open files, or no memory.
    pub(super) fn to_file(&self) -> io::Result<OwnedFd> {
        let mut file = File::from(process::memory_file(c"settings")?);
        let key = self.secret.as_ref().map(Secret::to_hex);
        file.write_all(key.as_deref().unwrap_or_default().as_bytes())?;
        file.write_all(&[END])?;
        for word in &self.words {
            file.write_all(word.as_bytes())?;
            file.write_all(&[END])?;
        }
        file.rewind()?;
        Ok(file.into())
    }

    /// Reads the inherited file with this number.
    pub(super) fn inherited(number: i32) -> io::Result<Self> {
        let file = pass::take_inherited(number).ok_or(io::ErrorKind::NotFound)?;
        let mut text = Vec::new();
        File::from(file).read_to_end(&mut text)?;
        let mut parts = text.split(|byte| *byte == END);
        let key = parts.next().and_then(|key| std::str::from_utf8(key).ok());
        let mut words: Vec<_> = parts.map(|word| OsStr::from_bytes(word).into()).collect();
        // What follows the last separator.
        let _nothing: Option<OsString> = words.pop();
        Ok(Self {
            words,
            secret: key.and_then(Secret::from_hex),
        })
    }
}
