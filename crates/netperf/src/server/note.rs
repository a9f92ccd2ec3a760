//! What the operator is told: lines on standard error.

use std::os::unix::fs::MetadataExt;

use crate::output::err;

/// Notes something; `line` has no newline.
pub(super) fn note(line: &str) {
    if !error_is_control() {
        err(&format!("netserver: {line}\n"));
    }
}

/// Whether standard error is the control connection, as inetd has it: what is written there
/// would be an answer to the client.
fn error_is_control() -> bool {
    let file = |number| {
        let meta = std::fs::metadata(format!("/proc/self/fd/{number}")).ok()?;
        Some((meta.dev(), meta.ino()))
    };
    matches!((file(0), file(2)), (Some(input), Some(error)) if input == error)
        && netperf_os::process::standard_input_is_socket()
}
