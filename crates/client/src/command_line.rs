//! The command line of a test, with what the environment adds to it.

use std::ffi::OsString;
use std::path::Path;

use netperf_cli::{CliEnvironment, Command, HumanArg, Parsed};
use netperf_os::Type;
use netperf_os::resolve::{Want, resolve};
use netperf_program::key::variable;
use netperf_report::selectors::{is_selector, names};

/// Parses a command line.
#[must_use]
pub fn parsed(argv: &[OsString]) -> Parsed<Command> {
    let selectors = names();
    let around = CliEnvironment {
        read_file: &|path: &Path| std::fs::read_to_string(path),
        is_selector: &is_selector,
        selectors: &selectors,
        is_host: &is_host,
        dump_tcp_info: environment_has("DUMP_TCP_INFO"),
    };
    netperf_cli::netperf_with(argv, &around, human_arg())
}

/// Returns true if a name has an address.
fn is_host(name: &str) -> bool {
    resolve(name, "0", Want::Any, Type::STREAM).is_ok()
}

/// The output that the environment asks for. Only one value means anything.
pub(crate) fn human_arg() -> HumanArg {
    let asked = variable("NETPERF_OUTPUT").is_some_and(|output| output == "human");
    if asked && cfg!(feature = "results") {
        HumanArg::ByDefault
    } else {
        HumanArg::No
    }
}

#[expect(clippy::disallowed_methods, reason = "the mains read the environment")]
fn environment_has(name: &str) -> bool {
    std::env::var_os(name).is_some()
}
