//! Folders that go away with the test.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

static NEXT: AtomicU32 = AtomicU32::new(0);

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

/// `<process id>-<counter>`: unique on this machine while the process lives.
pub(crate) fn unique() -> String {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", std::process::id())
}
