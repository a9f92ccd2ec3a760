//! Errors in a file of settings.

use std::fmt;

use crate::long::shown;

/// Something wrong with a file of settings. `Display` is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1; 0 where the whole file is wrong.
    pub line: usize,
    /// The setting, where it is about one.
    pub key: Option<String>,
    /// Problem and remedy.
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.file))?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        match &self.key {
            Some(key) => write!(f, ": {}: {}", shown(key), self.text),
            None => write!(f, ": {}", self.text),
        }
    }
}
