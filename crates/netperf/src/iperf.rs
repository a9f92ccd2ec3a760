//! The program under the names `iperf` and `iperf3`: a client or a server of those.

use std::ffi::OsString;
use std::process::ExitCode;

use netperf_iperf_client as client;
use netperf_iperf2::options::{Iperf2Command, iperf2};
use netperf_iperf3::defaults::VERSION;
use netperf_iperf3::options::{Iperf3Command, iperf3, iperf3_help};
use netperf_program::memory::report_lack_of_memory;
use netperf_program::output::{err, out, unless_lost};
use netperf_server as server;

use crate::version;

/// Line of iperf's `-v`. Scripts take it for the version whose options and output these are.
const IPERF2_VERSION: &str = "iperf version 2.1.8 (netperf)";

/// A variable of the environment.
#[expect(clippy::disallowed_methods, reason = "the mains read the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs a process that was started under the name iperf.
#[must_use]
pub fn iperf2_main(argv: &[OsString]) -> ExitCode {
    netperf_os::process::set_name(c"iperf");
    report_lack_of_memory("iperf");
    match iperf2(argv, variable, IPERF2_VERSION) {
        Ok(Iperf2Command::Client(args)) => {
            warn("iperf", &args.warnings);
            unless_lost("iperf", client::iperf2::run(*args))
        }
        Ok(Iperf2Command::Server(args)) => {
            warn("iperf", &args.warnings);
            unless_lost("iperf", server::iperf2_alone(&args))
        }
        Ok(Iperf2Command::Text(text, exit)) => {
            err(&text);
            ExitCode::from(exit)
        }
        Err(line) => {
            err(&format!("{line}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Prints lines about options.
fn warn(program: &str, lines: &[String]) {
    for line in lines {
        err(&format!("{program}: warning - {line}\n"));
    }
}

/// Runs a process that was started under the name iperf3.
#[must_use]
pub fn iperf3_main(argv: &[OsString]) -> ExitCode {
    let words = argv.iter().skip(1);
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    match iperf3(&words) {
        Ok(Iperf3Command::Client(args)) => {
            warn("iperf3", &args.common.warnings);
            client::iperf3::run(&args)
        }
        Ok(Iperf3Command::Server(args)) => {
            warn("iperf3", &args.common.warnings);
            server::iperf3_alone(&args)
        }
        Ok(Iperf3Command::Help) => {
            out(&iperf3_help());
            ExitCode::SUCCESS
        }
        Ok(Iperf3Command::Version) => {
            let name = version();
            let name = name.lines().next().unwrap_or_default();
            out(&format!("iperf {VERSION} (protocol of; {name})\n"));
            ExitCode::SUCCESS
        }
        Err(text) => {
            err(&format!("iperf3: {text}\n"));
            ExitCode::FAILURE
        }
    }
}
