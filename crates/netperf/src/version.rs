//! Output of `--version`.

use netperf_cli::VERSION;

/// Cargo features of this build, in the order of `Cargo.toml`.
const FEATURES: &[(&str, bool)] = &[
    ("classic", cfg!(feature = "classic")),
    ("tls", cfg!(feature = "tls")),
    ("suites", cfg!(feature = "suites")),
    ("flows", cfg!(feature = "flows")),
    ("paths", cfg!(feature = "paths")),
    ("files", cfg!(feature = "files")),
    ("results", cfg!(feature = "results")),
    ("live", cfg!(feature = "live")),
    ("postgres", cfg!(feature = "postgres")),
];

/// The line of netperf 2.7, and lines with the version of this program, its commit and its
/// features. The build script finds the commit.
#[must_use]
pub fn full() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let commit = env!("NETPERF_COMMIT");
    let features = FEATURES.iter().filter(|(_, has)| *has);
    let features: Vec<&str> = features.map(|(name, _)| *name).collect();
    let features = features.join(" ");
    format!("{VERSION}netperf in Rust {version}, commit {commit}\nfeatures: {features}\n")
}
