//! Finds the commit for `--version`, and links debug builds to start quickly.
//!
//! The sources are, in this order: `NETPERF_COMMIT` in the environment, the file that `cargo package`
//! adds to a package, and git for a release build. Debug builds do not ask git, because every commit
//! would compile the programs again. Without any of them the commit is "unknown".

#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads its environment"
)]

use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=NETPERF_COMMIT");
    let given = env::var("NETPERF_COMMIT")
        .ok()
        .filter(|commit| is_plain(commit));
    let commit = given.or_else(of_package).or_else(of_repository);
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=NETPERF_COMMIT={commit}");
    if is("PROFILE", "debug")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        // The programs that tests start some ten thousand times: the dynamic linker would relocate
        // 150,000 addresses at each start, which is half of its time. Release builds can be loaded
        // at any address.
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}

/// True if cargo has set a variable to this value.
fn is(name: &str, value: &str) -> bool {
    env::var(name).is_ok_and(|found| found == value)
}

/// True for text that can be part of a line.
fn is_plain(commit: &str) -> bool {
    !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Characters of a commit's name that are shown.
const SHOWN: usize = 12;

/// The commit from which `cargo package` made this package.
fn of_package() -> Option<String> {
    let file = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, behind) = file.split_once("\"sha1\"")?;
    shown(behind.split('"').nth(1)?)
}

/// The commit that is checked out, with "+changes" if files differ from it.
fn of_repository() -> Option<String> {
    if !is("PROFILE", "release") {
        return None;
    }
    let head = git(&["rev-parse", "HEAD"])?;
    // The log of HEAD grows with each commit and checkout.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        if fs::exists(&log).unwrap_or(false) {
            println!("cargo:rerun-if-changed={log}");
        }
    }
    println!("cargo:rerun-if-changed=..");
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let commit = shown(&head)?;
    Some(if changed.is_empty() {
        commit
    } else {
        commit + "+changes"
    })
}

/// The beginning of a commit's name.
fn shown(name: &str) -> Option<String> {
    let digits = name.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.get(..SHOWN).filter(|_| digits).map(str::to_owned)
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim_end().to_owned())
}
