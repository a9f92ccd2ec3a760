//! Folders that go away with the test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// An empty folder, removed with all it holds when dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes the folder; the name is this process's alone.
    pub fn new() -> Self {
        crate::watchdog::watch();
        let path = std::env::temp_dir().join(format!("netperf-test-{}", unique()));
        std::fs::create_dir_all(&path).expect("a scratch folder");
        Self(path)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing can be done about a folder that will not go.
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// `<process id>-<counter>`: unique on this machine while the process lives.
pub(crate) fn unique() -> String {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", std::process::id())
}
