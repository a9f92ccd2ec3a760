//! Landlock: which files and connections this process, and what it starts, may still have
//! (landlock(7)).

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

// Rights on files, by bit; the first thirteen came with the first version.
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_SOCK: u64 = 1 << 9;
const FIRST: u64 = (1 << 13) - 1;
/// Since version 2: links and renames between folders.
const REFER: u64 = 1 << 13;
/// Since version 3.
const TRUNCATE: u64 = 1 << 14;
/// Since version 5: ioctl(2) on devices.
const IOCTL_DEV: u64 = 1 << 15;
/// Since version 4.
const CONNECT_TCP: u64 = 1 << 1;
/// Since version 6: sockets without a file, of processes that are not restricted alike.
const ABSTRACT_SOCKETS: u64 = 1 << 0;
/// Since version 6: signals to such processes.
const SIGNALS: u64 = 1 << 1;

const ONLY_VERSION: libc::c_uint = 1;
const PATH_BENEATH: libc::c_int = 1;

/// What stays allowed. A path that does not exist needs no right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Files and folders with all that is in them, to read.
    pub read: Vec<PathBuf>,
    /// Devices to read and to command.
    pub devices: Vec<PathBuf>,
    /// Folders in which sockets are made and removed.
    pub sockets: Vec<PathBuf>,
}

/// `struct landlock_ruleset_attr`.
#[repr(C)]
struct Attributes {
    files: u64,
    network: u64,
    scopes: u64,
}

/// `struct landlock_path_beneath_attr`, which the kernel has packed.
#[repr(C, packed)]
struct Beneath {
    rights: u64,
    parent: i32,
}

/// The version of Landlock that this kernel has.
///
/// # Errors
/// `ENOSYS` where the kernel is built without it, `EOPNOTSUPP` where it was started
/// without it.
pub fn version() -> io::Result<u32> {
    // SAFETY: with this flag the pointer must be null and the size 0.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<Attributes>(),
            0_usize,
            ONLY_VERSION,
        )
    };
    u32::try_from(version).map_err(|_| io::Error::last_os_error())
}

/// What a kernel of this version can be told to forbid.
const fn handled(version: u32) -> (Attributes, usize) {
    let mut files = FIRST;
    if version >= 2 {
        files |= REFER;
    }
    if version >= 3 {
        files |= TRUNCATE;
    }
    if version >= 5 {
        files |= IOCTL_DEV;
    }
    let network = if version >= 4 { CONNECT_TCP } else { 0 };
    let scopes = if version >= 6 {
        ABSTRACT_SOCKETS | SIGNALS
    } else {
        0
    };
    let attributes = Attributes {
        files,
        network,
        scopes,
    };
    // Older kernels know fewer fields.
    let size = match version {
        0..=3 => 8,
        4 | 5 => 16,
        _ => 24,
    };
    (attributes, size)
}

/// From now on this thread, and those that it starts, may open the files that are
/// allowed, and no others; may connect to nobody over TCP; and may signal nobody outside.
/// What is open already stays open.
///
/// # Errors
/// `EPERM` unless the process has given up new privileges, whatever landlock(7) reports
/// besides.
pub fn restrict(allowed: &Allowed) -> io::Result<()> {
    let version = version()?;
    let (attributes, size) = handled(version);
    // SAFETY: the attributes outlive the call, and `size` is no more than theirs.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &raw const attributes,
            size,
            0 as libc::c_uint,
        )
    };
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just handed this descriptor out and nothing else owns it.
    let rules = unsafe { OwnedFd::from_raw_fd(fd) };
    let device = READ_FILE | WRITE_FILE | (attributes.files & IOCTL_DEV);
    for (paths, file, folder) in [
        (&allowed.read, READ_FILE, READ_DIR),
        (&allowed.devices, device, 0),
        (&allowed.sockets, 0, MAKE_SOCK | REMOVE_FILE),
    ] {
        for path in paths {
            allow(&rules, path, file, folder)?;
        }
    }
    // SAFETY: the descriptor is that of the rules; there are no flags.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_restrict_self,
            rules.as_raw_fd(),
            0 as libc::c_uint,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Gives rights on a path: these, and those more if it is a folder.
fn allow(rules: &OwnedFd, path: &std::path::Path, file: u64, folder: u64) -> io::Result<()> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH)
        .open(path);
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let is_folder = opened.metadata()?.is_dir();
    let rights = if is_folder { file | folder } else { file };
    let beneath = Beneath {
        rights,
        parent: opened.as_raw_fd(),
    };
    // SAFETY: the attributes outlive the call; both descriptors are open.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            rules.as_raw_fd(),
            PATH_BENEATH,
            &raw const beneath,
            0 as libc::c_uint,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // A rule is tied to what was opened, and /proc makes a new one of the same name when
    // memory is short: unless somebody holds on to it.
    std::mem::forget(opened);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_kernels_are_asked_for_what_they_have() {
        let of = |version| {
            let (attributes, size) = handled(version);
            (
                attributes.files,
                attributes.network,
                attributes.scopes,
                size,
            )
        };
        assert_eq!(of(1), (0x1fff, 0, 0, 8));
        assert_eq!(of(3), (0x7fff, 0, 0, 8));
        assert_eq!(of(4), (0x7fff, 2, 0, 16));
        assert_eq!(of(7), (0xffff, 2, 3, 24));
    }
}
