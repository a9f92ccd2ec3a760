//! netperf and netserver: the two mains and the wiring between the rooms.

pub mod client;
mod key;
mod link;
mod output;
pub mod server;

use std::ffi::OsString;
use std::path::Path;

/// The process's arguments, argv\[0\] included.
#[must_use]
pub fn argv() -> Vec<OsString> {
    std::env::args_os().collect()
}

/// Whether this process was started under netserver's name.
///
/// netperf carries its own netserver, so that a first run needs nothing else.
#[must_use]
pub fn is_netserver(argv: &[OsString]) -> bool {
    let name = argv.first().map(Path::new).and_then(Path::file_name);
    name.is_some_and(|name| name == "netserver")
}
