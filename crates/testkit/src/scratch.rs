//! Folders that go away with the test.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;

/// An empty folder, removed with all it holds when dropped.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// Makes the folder. A netserver that has given up its rights can read it, too.
    pub fn new() -> Self {
        crate::watchdog::watch();
        let mut builder = tempfile::Builder::new();
        let builder = builder
            .prefix("netperf-test-")
            .permissions(Permissions::from_mode(0o755));
        Self(builder.tempdir().expect("a scratch folder"))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}
