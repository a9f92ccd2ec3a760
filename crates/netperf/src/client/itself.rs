//! Runs of this very program, for the commands that make many of them.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};

/// Runs netperf with these words, and `--json` in front of them, to its end.
///
/// # Errors
/// When it cannot be started.
pub(super) fn run(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> io::Result<Output> {
    // The name appears in the result, for a later repetition.
    Command::new(netperf_os::process::own_file())
        .arg0("netperf")
        .arg("--json")
        .args(words)
        .stdin(Stdio::null())
        .output()
}
