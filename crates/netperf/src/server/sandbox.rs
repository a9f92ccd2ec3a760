//! The walls around a session: it talks to a stranger, so it keeps only what tests need.
//!
//! What the walls are made of and why is in decision record 0019.

use std::io;
use std::path::{Path, PathBuf};

use netperf_cli::SandboxArg;
use netperf_os::landlock::{self, Allowed};
use netperf_os::privileges::{self, ResourceLimit};
use netperf_os::{process, seccomp};

/// What this kernel has to make walls of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    /// The version of Landlock.
    pub landlock: Option<u32>,
    /// Whether system calls are filtered.
    pub seccomp: bool,
}

impl Means {
    /// Asks the kernel.
    #[must_use]
    pub fn find() -> Self {
        Self {
            landlock: landlock::version().ok(),
            seccomp: seccomp::is_there(),
        }
    }

    /// What is missing, in words; `None` where nothing is.
    #[must_use]
    pub fn missing(&self) -> Option<&'static str> {
        match (self.landlock, self.seccomp) {
            (Some(_), true) => None,
            (None, true) => Some("Landlock"),
            (Some(_), false) => Some("seccomp"),
            (None, false) => Some("Landlock and seccomp"),
        }
    }

    /// What there is, in words.
    #[must_use]
    pub fn described(&self) -> String {
        let landlock = match self.landlock {
            Some(version) => format!("Landlock {version}"),
            None => "no Landlock".to_owned(),
        };
        let seccomp = if self.seccomp {
            "seccomp"
        } else {
            "no seccomp"
        };
        format!("{landlock}, {seccomp}")
    }
}

/// Files that facts about the host and CPU utilisation are read from, and what the C
/// library reads when it looks for CPUs.
const READ: [&str; 13] = [
    "/proc/stat",
    "/proc/cpuinfo",
    "/proc/self",
    "/proc/irq",
    "/proc/sys/net",
    "/proc/device-tree",
    "/sys/devices",
    "/sys/class",
    "/sys/bus",
    "/sys/module",
    "/sys/fs/selinux/enforce",
    "/sys/kernel/security/lsm",
    "/etc/selinux/config",
];
const DEVICES: [&str; 2] = ["/dev/null", "/dev/vsock"];

/// The most memory of a session: two rings of buffers of the largest size, and as much
/// again for everything else.
const MEMORY: u64 = 4 << 30;
/// Room for 10,000 flows, and no more than a descriptor table of a few megabytes.
const OPEN_FILES: u64 = 65_536;
/// What the files of a session lack: permissions to be run as programs.
const NOBODY_RUNS: u32 = 0o111;
/// A processor for a day.
const CPU_SECONDS: u64 = 24 * 3600;
/// Threads of all sessions of one user.
const PROCESSES: u64 = 4096;

/// Sets the limits of this process, which serves one session.
fn limit() -> io::Result<()> {
    privileges::limit(ResourceLimit::Core, 0)?;
    privileges::limit(ResourceLimit::Memory, MEMORY)?;
    privileges::limit(ResourceLimit::OpenFiles, OPEN_FILES)?;
    privileges::limit(ResourceLimit::CpuTime, CPU_SECONDS)?;
    privileges::limit(ResourceLimit::Processes, PROCESSES)
}

/// Puts the walls up around this process, which has one thread and serves one session.
/// Fill files are read from `files` alone.
///
/// # Errors
/// When a wall that the kernel has does not stand; or does not have, where `wanted` says
/// that all must.
pub fn confine(wanted: SandboxArg, files: Option<&Path>) -> io::Result<()> {
    limit()?;
    if wanted == SandboxArg::Off {
        return Ok(());
    }
    let means = Means::find();
    if let (SandboxArg::Require, Some(missing)) = (wanted, means.missing()) {
        return Err(io::Error::other(format!("this kernel has no {missing}")));
    }
    privileges::no_new_privileges()?;
    if privileges::is_root() {
        privileges::keep_few_capabilities()?;
    }
    if means.landlock.is_some() {
        landlock::restrict(&allowed(files))?;
    }
    // Who may use a file cannot be changed from inside: sockets are made for everybody.
    process::set_file_mask(NOBODY_RUNS);
    if means.seccomp {
        seccomp::restrict()?;
    }
    Ok(())
}

fn allowed(files: Option<&Path>) -> Allowed {
    let paths = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(PathBuf::from).collect() };
    let mut read = paths(&READ);
    read.extend(files.map(Path::to_owned));
    Allowed {
        read,
        devices: paths(&DEVICES),
        sockets: vec![std::env::temp_dir()],
    }
}

/// The file that a client names, if it may have it: a plain file in the folder that the
/// operator allows.
///
/// # Errors
/// `PermissionDenied` for every other file, whether it exists or not.
pub(super) fn fill_file(name: &Path, folder: Option<&Path>) -> io::Result<PathBuf> {
    let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
    let folder = folder.ok_or_else(denied)?.canonicalize()?;
    // All files are those that the original would read, by the names it would know.
    let asked = if folder == Path::new("/") {
        std::path::absolute(name)?
    } else {
        folder.join(name)
    };
    let file = asked.canonicalize().map_err(|_| denied())?;
    // The environment of a session has the key, and its maps tell where its memory is.
    let of_processes = file.starts_with("/proc");
    if file.starts_with(&folder) && file.is_file() && !of_processes {
        Ok(file)
    } else {
        Err(denied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_testkit::Scratch;

    #[test]
    fn only_plain_files_in_the_folder_are_given_out() {
        let scratch = Scratch::new();
        let folder = scratch.path().join("files");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("fill"), "x").unwrap();
        let secret = scratch.path().join("secret");
        std::fs::write(&secret, "x").unwrap();
        std::os::unix::fs::symlink(&secret, folder.join("link")).unwrap();
        let given = |name: &str| fill_file(Path::new(name), Some(&folder));
        let inside = folder.join("fill");
        assert_eq!(given("fill").unwrap(), inside.canonicalize().unwrap());
        assert!(given(inside.to_str().unwrap()).is_ok());
        for name in [
            "../secret",
            "link",
            secret.to_str().unwrap(),
            "absent",
            "",
            ".",
            "/dev/zero",
        ] {
            let error = given(name).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{name}");
        }
        assert!(fill_file(&inside, None).is_err());
        let anywhere = |name: &Path| fill_file(name, Some(Path::new("/")));
        assert!(anywhere(&secret).is_ok());
        for of_processes in ["/proc/self/environ", "/proc/self/maps"] {
            assert!(anywhere(Path::new(of_processes)).is_err());
            let link = folder.join("process");
            std::os::unix::fs::symlink(of_processes, &link).unwrap();
            assert!(anywhere(&link).is_err());
            std::fs::remove_file(link).unwrap();
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let none = Means {
            landlock: None,
            seccomp: false,
        };
        assert_eq!(none.missing(), Some("Landlock and seccomp"));
        assert_eq!(none.described(), "no Landlock, no seccomp");
    }
}
