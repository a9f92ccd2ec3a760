//! The server.

use std::process::ExitCode;

fn main() -> ExitCode {
    netperf_server::main(
        &netperf::argv(),
        &netperf::version(),
        netperf_server::prepare_end,
    )
}
