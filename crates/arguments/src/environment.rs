//! Inputs of the command lines from outside, and constants of both programs.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use crate::command::CliError;

/// netserver's port unless `-p` says otherwise.
pub const DEFAULT_PORT: &str = "12865";

/// The line of `-V`. Scripts take it for that of the netperf whose options and
/// messages these are, so it does not change with our own version.
pub const VERSION: &str = "Netperf version 2.7.0\n";

/// External information that the second stage needs.
#[derive(Clone, Copy)]
pub struct CliEnvironment<'a> {
    /// Reads a selection file.
    pub read_file: &'a dyn Fn(&Path) -> io::Result<String>,
    /// Returns true if a word is the name of an output selector, ignoring case.
    pub is_selector: &'a dyn Fn(&str) -> bool,
    /// Names of output selectors to suggest in place of a wrong one.
    pub selectors: &'a [&'a str],
    /// Returns true if a word is the name of a host that this host knows.
    pub is_host: &'a dyn Fn(&str) -> bool,
    /// True if `DUMP_TCP_INFO` is in the environment.
    pub dump_tcp_info: bool,
}

impl std::fmt::Debug for CliEnvironment<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CliEnvironment")
            .field("dump_tcp_info", &self.dump_tcp_info)
            .finish_non_exhaustive()
    }
}

/// argv as text. An empty argv gets the usual name of the program.
pub fn words(argv: &[OsString], program: &str) -> Result<Vec<String>, CliError> {
    let Some(name) = argv.first() else {
        return Ok(vec![program.to_owned()]);
    };
    argv.iter()
        .enumerate()
        .map(|(position, word)| {
            let text = word.to_str().map(str::to_owned);
            text.ok_or_else(|| CliError::NotUtf8 {
                program: name.to_string_lossy().into_owned(),
                position,
            })
        })
        .collect()
}
