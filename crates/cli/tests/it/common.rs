//! A world without a machine, for reading command lines in.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use netperf_cli::{CliEnvironment, CliError, Command, Parsed, RunCommand};

/// Selector names that the command lines here use alone.
const SELECTORS: &[&str] = &[
    "THROUGHPUT",
    "ELAPSED_TIME",
    "DIRECTION",
    "UUID",
    "OUTPUT_END",
    "TRANSPORT_MSS",
    "CONFIDENCE_ITERATION",
    "LOCAL_INTERVAL_USECS",
];

fn is_selector(word: &str) -> bool {
    SELECTORS.iter().any(|name| name.eq_ignore_ascii_case(word))
}

/// `words` as argv.
pub(crate) fn argv(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// Reads netperf's `words` where only `file` exists.
pub(crate) fn netperf_with_file(words: &[&str], file: Option<(&str, &str)>) -> Parsed<Command> {
    let read_file = |path: &Path| match file {
        Some((name, text)) if Path::new(name) == path => Ok(text.to_owned()),
        Some(_) | None => Err(io::Error::from_raw_os_error(2)),
    };
    let around = CliEnvironment {
        read_file: &read_file,
        is_selector: &is_selector,
        selectors: SELECTORS,
        is_host: &|word| ["box", "db2"].contains(&word),
        dump_tcp_info: false,
    };
    netperf_cli::netperf(&argv(words), &around)
}

/// Reads `netperf` and the blank-separated words of `line`.
pub(crate) fn netperf(line: &str) -> Parsed<Command> {
    let mut words = vec!["netperf"];
    words.extend(line.split_whitespace());
    netperf_with_file(&words, None)
}

/// The run that `line` asks for.
#[track_caller]
pub(crate) fn run(line: &str) -> RunCommand {
    match netperf(line).command {
        Ok(Command::Run(run)) => *run,
        other => panic!("{line}: {other:?}"),
    }
}

/// The error in `line`.
#[track_caller]
pub(crate) fn error(line: &str) -> CliError {
    match netperf(line).command {
        Err(error) => error,
        Ok(command) => panic!("{line}: {command:?}"),
    }
}
