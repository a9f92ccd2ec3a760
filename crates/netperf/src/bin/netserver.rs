//! The server.

use std::process::ExitCode;

fn main() -> ExitCode {
    netperf::server::main(&netperf::argv(), &netperf::version())
}
