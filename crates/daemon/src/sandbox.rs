//! The sandbox of a session. A session serves an untrusted client, so it keeps only the rights
//! that tests need.
//!
//! Decision record 0019 describes the mechanisms and the reasons.

use std::io;
use std::path::{Path, PathBuf};

use netperf_cli::SandboxArg;
use netperf_os::landlock::{self, Allowed};
use netperf_os::privileges::{self, ResourceLimit};
use netperf_os::{process, seccomp};

/// Sandbox mechanisms of this kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    /// Landlock ABI version.
    pub landlock: Option<u32>,
    /// True if system calls can be filtered.
    pub seccomp: bool,
}

impl Means {
    /// Queries the kernel.
    #[must_use]
    pub fn find() -> Self {
        Self {
            landlock: landlock::version().ok(),
            seccomp: seccomp::is_there(),
        }
    }

    /// Missing mechanisms, for messages; `None` if all are available.
    #[must_use]
    pub fn missing(&self) -> Option<&'static str> {
        match (self.landlock, self.seccomp) {
            (Some(_), true) => None,
            (None, true) => Some("Landlock"),
            (Some(_), false) => Some("seccomp"),
            (None, false) => Some("Landlock and seccomp"),
        }
    }

    /// Available mechanisms, for messages.
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

/// Files read for host facts and CPU utilisation, and by the C library when it counts CPUs.
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
/// Devices that every user may read, with which buffers may be filled.
const FILLS: [&str; 3] = ["/dev/zero", "/dev/urandom", "/dev/random"];

/// Memory limit of a session, at least.
const MEMORY: u64 = 4 << 30;
/// Memory of a session besides twice that of its buffers.
const BESIDES: u64 = 1 << 30;
/// Limit of open files: enough for 10,000 flows, with a descriptor table of a few megabytes.
const OPEN_FILES: u64 = 65_536;
/// Permission bits removed from files of a session: execution.
const EXECUTE_BITS: u32 = 0o111;
/// The kernel, short of memory, ends a session before any other process (proc_pid_oom_score_adj(5)).
const OUT_OF_MEMORY_SCORE: &str = "1000";
/// Limit of threads of all sessions of one user.
pub const PROCESSES: u64 = 4096;

/// Keeps the memory of this process, which has keys, from other processes of its user and from core
/// files, and has the kernel end it before others when memory is short.
///
/// # Errors
/// Whatever prctl(2) or setrlimit(2) reports.
pub fn shield() -> io::Result<()> {
    // Without /proc the score stays. The file belongs to root once the process is not dumpable.
    let _set = std::fs::write("/proc/self/oom_score_adj", OUT_OF_MEMORY_SCORE);
    process::set_not_dumpable()?;
    privileges::limit(ResourceLimit::Core, 0)
}

/// Sets the resource limits of this session process, whose buffers have at most so many bytes.
fn limit(buffers: u64) -> io::Result<()> {
    shield()?;
    let memory = buffers
        .saturating_mul(2)
        .saturating_add(BESIDES)
        .max(MEMORY);
    privileges::limit(ResourceLimit::Memory, memory)?;
    privileges::limit(ResourceLimit::OpenFiles, OPEN_FILES)?;
    privileges::limit(ResourceLimit::Processes, PROCESSES)
}

/// Resources that the tests of a session may use.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionNeeds<'a> {
    /// Folder of files to fill buffers from.
    pub files: Option<&'a Path>,
    /// Port to which TCP connections are made.
    pub connects: Option<u16>,
    /// Memory of buffers, bytes.
    pub memory: u64,
    /// io_uring(7).
    pub rings: bool,
}

/// Sandboxes this single-threaded session process.
///
/// # Errors
/// When an available mechanism fails; or when one is missing and `wanted` requires all.
pub fn confine(wanted: SandboxArg, needs: SessionNeeds<'_>) -> io::Result<()> {
    limit(needs.memory)?;
    if wanted == SandboxArg::Off {
        return Ok(());
    }
    let rights = allowed(needs.files, needs.connects);
    restrict(wanted, rights, needs.rings)
}

/// Sandboxes this single-threaded process, which serves one test after the other, as far as the
/// kernel can. Files are removed from `folder` only, and are not read for clients. `connects`
/// permits connections, to which clients of iperf 2 ask for any port.
///
/// # Errors
/// When an available mechanism fails.
pub fn confine_server(folder: Option<&Path>, connects: bool) -> io::Result<()> {
    process::set_not_dumpable()?;
    privileges::limit(ResourceLimit::Core, 0)?;
    let mut rights = allowed(None, None);
    rights.sockets = folder.map(Path::to_owned).into_iter().collect();
    rights.connects_anywhere = connects;
    restrict(SandboxArg::Auto, rights, false)
}

fn restrict(wanted: SandboxArg, rights: Allowed, rings: bool) -> io::Result<()> {
    let means = Means::find();
    if let (SandboxArg::Require, Some(missing)) = (wanted, means.missing()) {
        return Err(io::Error::other(format!("this kernel has no {missing}")));
    }
    privileges::no_new_privileges()?;
    privileges::keep_only(&[])?;
    if means.landlock.is_some() {
        landlock::restrict(&rights)?;
    }
    // The sandbox forbids chmod(2), so socket files must be created with their final mode.
    process::set_file_mask(EXECUTE_BITS);
    if means.seccomp {
        seccomp::restrict(rings)?;
    }
    Ok(())
}

fn allowed(files: Option<&Path>, connects: Option<u16>) -> Allowed {
    let paths = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(PathBuf::from).collect() };
    let mut read = paths(&READ);
    read.extend(files.map(Path::to_owned));
    Allowed {
        read,
        devices: paths(&[&DEVICES[..], &FILLS].concat()),
        sockets: vec![std::env::temp_dir()],
        connects,
        connects_anywhere: false,
    }
}

/// Resolves a fill file named by a client: a device that every user may read, or a plain file in
/// the permitted folder.
///
/// # Errors
/// `PermissionDenied` for every other file, whether it exists or not.
pub fn fill_file(name: &Path, folder: Option<&Path>) -> io::Result<PathBuf> {
    let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
    if let Some(device) = FILLS.iter().find(|device| name == Path::new(device)) {
        return Ok(device.into());
    }
    let folder = folder.ok_or_else(denied)?.canonicalize()?;
    // With the folder `/` all files are permitted, by their full names as in the original.
    let asked = if folder == Path::new("/") {
        std::path::absolute(name)?
    } else {
        folder.join(name)
    };
    let file = asked.canonicalize().map_err(|_| denied())?;
    // /proc exposes the memory layout of the session (maps).
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
            "/dev/null",
            "/dev/mem",
        ] {
            let error = given(name).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{name}");
        }
        assert!(fill_file(&inside, None).is_err());
        let zeros = Path::new("/dev/zero");
        assert_eq!(fill_file(zeros, None).unwrap(), zeros);
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
    fn sandbox_names_missing_parts() {
        let none = Means {
            landlock: None,
            seccomp: false,
        };
        assert_eq!(none.missing(), Some("Landlock and seccomp"));
        assert_eq!(none.described(), "no Landlock, no seccomp");
    }
}
