//! The client. Under the name `netserver` it is the server.

use std::process::ExitCode;

fn main() -> ExitCode {
    let argv = netperf::argv();
    if netperf::is_netserver(&argv) {
        netperf::server::main(&argv)
    } else if let Some(words) = netperf::iperf3_words(&argv) {
        netperf::iperf3_main(&words)
    } else {
        netperf::client::main(&argv)
    }
}
