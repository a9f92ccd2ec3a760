//! Landlock: the files and connections that this process and its children may still use
//! (landlock(7)).

use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, NetPort, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope,
};

/// The newest version of Landlock whose rights on files are all taken away.
const FILES: ABI = ABI::V5;
/// Flag of landlock_create_ruleset(2): return the version instead of a rule set.
const ONLY_VERSION: libc::c_uint = 1;

/// The rights that remain. A path that does not exist needs none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Files to read, and folders to read with all files in them.
    pub read: Vec<PathBuf>,
    /// Devices to read, to write and to control by ioctl(2).
    pub devices: Vec<PathBuf>,
    /// Folders in which sockets are made and removed.
    pub sockets: Vec<PathBuf>,
    /// Port to which TCP connections are made; `None` for no connections.
    pub connects: Option<u16>,
    /// TCP connections are made to any port.
    pub connects_anywhere: bool,
}

/// The version of Landlock that this kernel has. The crate `landlock` knows it and does not
/// tell.
///
/// # Errors
/// `ENOSYS` for a kernel built without Landlock, `EOPNOTSUPP` for one started without it.
pub fn version() -> io::Result<u32> {
    // SAFETY: with this flag the pointer must be null and the size 0.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            ONLY_VERSION,
        )
    };
    u32::try_from(version).map_err(|_| io::Error::last_os_error())
}

/// Restricts this thread and the threads and processes that it starts: no files but the
/// allowed ones, no TCP connections but to the allowed port, no signals to processes outside. Open files stay open.
/// An older kernel enforces what it knows.
///
/// # Errors
/// The failed step, as landlock(7) reports it.
pub fn restrict(allowed: &Allowed) -> io::Result<()> {
    apply(allowed).map_err(io::Error::other)
}

fn apply(allowed: &Allowed) -> Result<(), RulesetError> {
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(FILES))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    if !allowed.connects_anywhere {
        rules = rules.handle_access(AccessNet::ConnectTcp)?;
    }
    let mut rules = rules.create()?;
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let rights: [(&[PathBuf], BitFlags<AccessFs>); 3] = [
        (&allowed.read, AccessFs::ReadFile | AccessFs::ReadDir),
        (&allowed.devices, device),
        (&allowed.sockets, AccessFs::MakeSock | AccessFs::RemoveFile),
    ];
    for (paths, rights) in rights {
        for path in paths {
            let Ok(opened) = PathFd::new(path) else {
                continue;
            };
            // Rights that only folders have are left out for a file.
            rules = rules.add_rule(PathBeneath::new(&opened, rights))?;
            // A rule belongs to the inode that was opened, and holds it. /proc alone drops unused
            // names under memory pressure, and would give the path a new inode without rights.
            if path.starts_with("/proc") {
                std::mem::forget(opened);
            }
        }
    }
    if let Some(port) = allowed.connects {
        rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    rules.restrict_self()?;
    Ok(())
}
