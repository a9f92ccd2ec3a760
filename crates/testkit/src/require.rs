//! What a test needs from the machine.
//!
//! In continuous integration (the variable `CI` is set) a missing piece fails
//! the test; on somebody's desk it skips it, loudly.

/// Says whether the test can go on; see the module.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
pub fn require(present: bool, what: &str, how_to_get_it: &str) -> bool {
    assert!(
        present || crate::environment("CI").is_none(),
        "{what} is missing, and this is CI: {how_to_get_it}"
    );
    if !present {
        eprintln!("SKIPPED: needs {what}: {how_to_get_it}");
    }
    present
}

/// Needs the right to make network namespaces.
pub fn root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let root = status
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))
        .and_then(|ids| ids.split_whitespace().nth(1).map(|id| id == "0"))
        .unwrap_or(false);
    require(root, "root", "run as root, which makes private networks")
        && require(crate::net::available(), "`ip netns`", "install iproute2")
}
