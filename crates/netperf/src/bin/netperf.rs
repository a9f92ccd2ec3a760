//! The client. Under the name `netserver` it is the server, and under the names `iperf` and `iperf3`
//! a client of those.

use std::process::ExitCode;

#[cfg(not(feature = "results"))]
use netperf_client::unbuilt_subcommand as subcommand;
#[cfg(feature = "results")]
use netperf_commands::subcommand;

fn main() -> ExitCode {
    let argv = netperf::argv();
    if netperf::is_netserver(&argv) {
        netperf_server::main(
            &argv,
            &netperf::version(),
            netperf_client::prepare_server_end,
        )
    } else if netperf::is_iperf3(&argv) {
        netperf::iperf3_main(&argv)
    } else if netperf::is_iperf2(&argv) {
        netperf::iperf2_main(&argv)
    } else {
        netperf_client::main(&argv, &netperf::version(), subcommand)
    }
}
