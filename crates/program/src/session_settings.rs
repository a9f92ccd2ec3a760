//! Settings of a session process: a file in memory that it inherits from the listener.
//!
//! Arguments and environment of a process can be read in /proc; the settings include the
//! passphrase and the key.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use netperf_model::{KeyRing, KeyRole, NamedKey, PassphraseText, Secret};
use netperf_os::{pass, without};
use zeroize::Zeroizing;

/// Environment variable with the descriptor number of the file.
pub const DESCRIPTOR: &str = "NETSERVER_SETTINGS";
/// Separates words; no argument contains it.
const END: u8 = 0;

/// Words of the command line, the passphrase and the keys of a session.
#[derive(Debug, Default)]
pub struct SessionSettings {
    /// Words of the command line.
    pub words: Vec<OsString>,
    /// Passphrase of the control connection.
    pub passphrase: Option<PassphraseText>,
    /// Keys of the clients.
    pub keys: Option<Arc<KeyRing>>,
}

impl SessionSettings {
    /// Writes the file.
    ///
    /// # Errors
    /// When there are too many open files, or no memory.
    pub fn to_file(&self) -> io::Result<OwnedFd> {
        let mut file = File::from(without::file_in_memory(c"settings")?);
        for key in self.keys.iter().flat_map(|keys| keys.keys()) {
            let most = key.max_sessions.unwrap_or_default();
            write!(file, "{} {} {most} ", key.name, key.role.label())?;
            file.write_all(key.secret.to_hex().as_bytes())?;
            file.write_all(b"\n")?;
        }
        // Settings without secrets are written at once.
        let mut rest = vec![END];
        if let Some(phrase) = &self.passphrase {
            file.write_all(&[END, b'='])?;
            file.write_all(phrase.as_str().as_bytes())?;
        } else {
            rest.push(END);
        }
        for word in &self.words {
            rest.extend_from_slice(word.as_bytes());
            rest.push(END);
        }
        file.write_all(&rest)?;
        file.rewind()?;
        Ok(file.into())
    }

    /// Reads the inherited file with this number.
    pub fn inherited(number: i32) -> io::Result<Self> {
        let file = pass::take_inherited(number).ok_or(io::ErrorKind::NotFound)?;
        Self::read(file.into())
    }

    /// Reads such a file from its begin.
    pub fn read(mut file: File) -> io::Result<Self> {
        file.rewind()?;
        // A buffer that grows would leave copies behind.
        let size = usize::try_from(file.metadata()?.len()).unwrap_or_default();
        let mut text = Zeroizing::new(Vec::with_capacity(size + 1));
        file.read_to_end(&mut text)?;
        let mut parts = text.split(|byte| *byte == END);
        let keys = parts.next().unwrap_or_default();
        let keys = std::str::from_utf8(keys).map_err(io::Error::other)?;
        let keys: Option<_> = keys.lines().map(inherited_key).collect();
        let keys = KeyRing::of(keys.ok_or(io::ErrorKind::InvalidData)?);
        let phrase = std::str::from_utf8(parts.next().unwrap_or_default());
        let phrase = phrase.map_err(io::Error::other)?;
        let mut words: Vec<_> = parts.map(|word| OsStr::from_bytes(word).into()).collect();
        // The text after the last separator.
        let _nothing: Option<OsString> = words.pop();
        Ok(Self {
            words,
            passphrase: phrase.strip_prefix('=').map(PassphraseText::from),
            keys: keys.map(Arc::new),
        })
    }
}

/// A key as the listener writes it; a limit of 0 stands for none.
fn inherited_key(line: &str) -> Option<NamedKey> {
    let mut words = line.split(' ');
    Some(NamedKey {
        name: words.next()?.to_owned(),
        role: KeyRole::named(words.next()?)?,
        max_sessions: Some(words.next()?.parse().ok()?).filter(|most| *most > 0),
        secret: Secret::from_hex(words.next()?)?,
    })
}
