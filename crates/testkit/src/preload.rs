//! Libraries that a test preloads.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{require, start};

/// Compiles a C source to the library `NAME.so` in a folder. `None`, after saying so, without a
/// compiler.
pub fn library(folder: &Path, name: &str, source: &str, options: &[&str]) -> Option<PathBuf> {
    let [source_file, library] = ["c", "so"].map(|end| folder.join(format!("{name}.{end}")));
    std::fs::write(&source_file, source).expect("a source");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-w", "-O1"])
        .args(options)
        .arg("-o")
        .args([&library, &source_file])
        .args(["-ldl", "-pthread"]);
    let built = start::output(&mut compiler);
    if let Ok(built) = &built {
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "cannot compile {name}: {said}");
    }
    require::require(built.is_ok(), "cc", "install gcc").then_some(library)
}
