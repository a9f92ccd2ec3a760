//! Requirements of a test.
//!
//! In continuous integration (the variable `CI` is set) a missing program fails the test.
//! Elsewhere the test is skipped, and a line on standard error says what it lacks.

use std::io::Write as _;

use crate::net;

/// Says whether the test can go on; see the module.
///
/// # Panics
/// In continuous integration, when `present` is false.
pub fn require(present: bool, what: &str, how_to_get_it: &str) -> bool {
    assert!(
        present || crate::environment("CI").is_none(),
        "{what} is missing, and this is CI: {how_to_get_it}"
    );
    if !present {
        skip(&format!("needs {what}: {how_to_get_it}"));
    }
    present
}

/// Says on standard error that the calling test is skipped, and why. The test runner shows
/// the line, as it captures only what macros print.
pub fn skip(why: &str) {
    let current = std::thread::current();
    let line = format!("SKIPPED {}: {why}\n", current.name().unwrap_or_default());
    std::io::stderr().write_all(line.as_bytes()).ok();
}

/// True if this process is root.
pub fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let ids = lines.find_map(|line| line.strip_prefix("Uid:"));
    ids.and_then(|ids| ids.split_whitespace().nth(1)) == Some("0")
}

/// Options of a netserver that stays the user who started it: root's would become another one, and
/// other users cannot choose.
pub fn same_user() -> &'static [&'static str] {
    if is_root() { &["--user", "root"] } else { &[] }
}

/// Needs root for what `why` says, and no private networks.
pub fn root_for(why: &str) -> bool {
    let is_root = is_root();
    if !is_root {
        skip(&format!("needs root: {why}"));
    }
    is_root
}

/// Needs the right to make network namespaces.
pub fn root() -> bool {
    require(
        is_root(),
        "root",
        "run as root, which makes private networks",
    ) && require(net::available(), "`ip netns`", "install iproute2")
}

/// True if nft(8) is there, to count and drop packets.
pub fn nft() -> bool {
    require(net::runs("nft", "-v"), "nft", "install nftables")
}
