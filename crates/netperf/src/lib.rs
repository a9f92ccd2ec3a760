//! netperf and netserver: what their two mains share.

mod iperf;
mod version;

use std::ffi::OsString;
use std::path::Path;

pub use iperf::{iperf2_main, iperf3_main};
pub use version::full as version;

#[global_allocator]
static ALLOCATOR: netperf_os::memory::ExitingAllocator = netperf_os::memory::ExitingAllocator;

/// Arguments of the process, including argv\[0\].
#[must_use]
pub fn argv() -> Vec<OsString> {
    std::env::args_os().collect()
}

/// Returns true if this process was started under the name netserver.
///
/// netperf contains netserver, so that a first run needs no other program.
#[must_use]
pub fn is_netserver(argv: &[OsString]) -> bool {
    is_called(argv, "netserver")
}

/// Returns true if this process was started under the name of iperf 2.
#[must_use]
pub fn is_iperf2(argv: &[OsString]) -> bool {
    is_called(argv, "iperf")
}

/// Returns true if this process was started under the name iperf3.
#[must_use]
pub fn is_iperf3(argv: &[OsString]) -> bool {
    is_called(argv, "iperf3")
}

fn is_called(argv: &[OsString], wanted: &str) -> bool {
    let name = argv.first().map(Path::new).and_then(Path::file_name);
    name.is_some_and(|name| name == wanted)
}
