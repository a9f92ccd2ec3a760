//! Runs of this very program, for the commands that make many of them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::process::{Command, Output, Stdio};

use netperf_os::process;

/// Runs netperf with these words, and `--json` in front of them, to its end.
///
/// # Errors
/// When it cannot be started.
pub(super) fn run(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> io::Result<Output> {
    let mut command = Command::new(process::own_file());
    command
        .arg("--json")
        .args(words)
        .env_clear()
        .envs(std::env::vars_os())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // The name appears in the result, for a later repetition.
    process::start_itself(c"netperf", &mut command)?.wait_with_output()
}

/// The beginning of most lines of a run.
const PROGRAM: &str = "netperf: ";

/// Lines that runs print on standard error, each once.
#[derive(Debug, Default)]
pub(super) struct RunRemarks(BTreeSet<String>);

impl RunRemarks {
    /// The lines of a run that no run before it has printed, without the name of the program.
    pub(super) fn new_of(&mut self, stderr: &[u8]) -> Vec<String> {
        let said = String::from_utf8_lossy(stderr);
        let lines = said
            .lines()
            .map(|line| line.strip_prefix(PROGRAM).unwrap_or(line));
        let lines = lines.filter(|line| !line.trim().is_empty());
        lines
            .filter(|line| self.0.insert((*line).to_owned()))
            .map(netperf_web::escape::line)
            .collect()
    }
}

/// The reason of a failed run in one line: its first line, and the lines with cause and remedy.
pub(super) fn reason(said: &str) -> String {
    let mut lines = said.lines().take_while(|line| !line.starts_with('{'));
    let first = lines.next().unwrap_or("no error message");
    let causes = lines.filter_map(|line| line.strip_prefix(PROGRAM));
    let first = first.strip_prefix(PROGRAM).unwrap_or(first);
    let parts: Vec<&str> = std::iter::once(first).chain(causes).collect();
    parts.join("; ")
}

/// Warnings of a result about settings that are not in force as they were asked for.
pub(super) fn warnings(document: &[u8]) -> Vec<String> {
    let document = netperf_web::document(document);
    let all = document.into_iter().flat_map(|document| document.warnings);
    let unmet = all.filter(|warning| warning.code == "not_as_asked");
    unmet
        .map(|warning| netperf_web::escape::line(&warning.message))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_of_several_runs_is_told_once() {
        let mut remarks = RunRemarks::default();
        let first = remarks.new_of(b"netperf: -m abc: not a size\n\nnetperf: other\n");
        assert_eq!(first, ["-m abc: not a size", "other"]);
        assert_eq!(remarks.new_of(b"netperf: other\nnew\n"), ["new"]);
    }

    #[test]
    fn a_reason_has_the_cause_behind_the_first_line() {
        let said = "are you sure there is a netserver?\nestablish_control could not\n\
                    netperf: connect to 127.0.0.1 port 1: Connection refused\n{\n  \"a\": 1}\n";
        let reason = reason(said);
        assert_eq!(
            reason,
            "are you sure there is a netserver?; connect to 127.0.0.1 port 1: Connection refused"
        );
        assert_eq!(super::reason(""), "no error message");
        assert_eq!(super::reason("netperf: no such test\n"), "no such test");
    }
}
