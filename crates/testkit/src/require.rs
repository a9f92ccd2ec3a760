//! Requirements of a test.
//!
//! In continuous integration (the variable `CI` is set) a missing program fails the test.
//! Elsewhere the test is skipped, and a line on standard error says what it lacks.

use std::io::Write as _;

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

/// Needs the right to make network namespaces.
pub fn root() -> bool {
    require(
        is_root(),
        "root",
        "run as root, which makes private networks",
    ) && require(crate::net::available(), "`ip netns`", "install iproute2")
}
