//! Privileges of this process and ways to drop them: users, capabilities, limits.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;

use nix::sys::prctl;
use nix::unistd::{self, Gid, Uid};

use super::call::checked;

/// A user to switch to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// Its number.
    pub user: u32,
    /// Its group.
    pub group: u32,
}

/// `NAME[:GROUP]`, either of which may be a number; the group is the user's own unless
/// given.
///
/// # Errors
/// `NotFound` where there is no such user or group.
pub fn user(text: &str) -> io::Result<User> {
    let (name, group) = match text.split_once(':') {
        Some((name, group)) => (name, Some(group)),
        None => (text, None),
    };
    let known = passwd(name)?;
    let user = match (known, name.parse()) {
        (Some(known), _) => known.user,
        (None, Ok(number)) => number,
        (None, Err(_)) => return Err(no_such("user", name)),
    };
    let group = match group {
        Some(group) => match (group_number(group)?, group.parse()) {
            (Some(number), _) | (None, Ok(number)) => number,
            (None, Err(_)) => return Err(no_such("group", group)),
        },
        // A number without an entry has a group of the same number.
        None => known.map_or(user, |known| known.group),
    };
    Ok(User { user, group })
}

fn no_such(what: &str, name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("no {what} {name}"))
}

/// Buffer for the strings of a user or group entry.
const ENTRY: usize = 16 * 1024;

fn passwd(name: &str) -> io::Result<Option<User>> {
    lookup(name, libc::getpwnam_r, |entry: &libc::passwd| User {
        user: entry.pw_uid,
        group: entry.pw_gid,
    })
}

fn group_number(name: &str) -> io::Result<Option<u32>> {
    lookup(name, libc::getgrnam_r, |entry: &libc::group| entry.gr_gid)
}

/// getpwnam_r(3) or getgrnam_r(3).
type EntryByName<T> = unsafe extern "C" fn(
    *const libc::c_char,
    *mut T,
    *mut libc::c_char,
    libc::size_t,
    *mut *mut T,
) -> libc::c_int;

/// Reads the entry of a user or group.
fn lookup<T, R>(
    name: &str,
    find: EntryByName<T>,
    read: impl FnOnce(&T) -> R,
) -> io::Result<Option<R>> {
    let name = CString::new(name)?;
    let mut entry = MaybeUninit::uninit();
    let mut strings = [0; ENTRY];
    let (at, length) = (strings.as_mut_ptr(), strings.len());
    let mut found = std::ptr::null_mut();
    // SAFETY: every pointer is to something that outlives the call, and the length is that of
    // the strings.
    let error = unsafe {
        find(
            name.as_ptr(),
            entry.as_mut_ptr(),
            at,
            length,
            &raw mut found,
        )
    };
    // SAFETY: the pointer is null, or that of the entry, which the call has filled.
    let found = unsafe { found.as_ref() };
    match error {
        // Some libraries report what is not there as an error (getpwnam(3)).
        0 | libc::ENOENT | libc::ESRCH | libc::EBADF | libc::EPERM => Ok(found.map(read)),
        _ if found.is_some() => Ok(found.map(read)),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// A right of root (capabilities(7)) that a process of another user can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// `CAP_NET_BIND_SERVICE`: ports below 1024.
    LowPorts = 10,
    /// `CAP_NET_ADMIN`: socket options such as `SO_MARK`.
    NetAdmin = 12,
    /// `CAP_NET_RAW`: sockets below IP, `SO_BINDTODEVICE`.
    NetRaw = 13,
}

/// setgroups(2), setresgid(2), setresuid(2): this process is that user from now on, in its
/// group and no other, and cannot go back. It keeps these capabilities, as far as root has them;
/// programs that it executes do not.
///
/// # Errors
/// `EPERM` unless the process is root, `EINVAL` if its user namespace does not have the user.
pub fn become_user(to: User, keep: &[Capability]) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(to.user), Gid::from_raw(to.group));
    unistd::setgroups(&[])?;
    unistd::setresgid(group, group, group)?;
    if !keep.is_empty() {
        prctl::set_keepcaps(true)?;
    }
    unistd::setresuid(user, user, user)?;
    if !keep.is_empty() {
        keep_only(keep)?;
    }
    let root = Uid::from_raw(0);
    if unistd::setresuid(root, root, root).is_ok() && to.user != 0 {
        return Err(io::Error::other("root could be had back"));
    }
    Ok(())
}

/// Number of the user of this process (geteuid(2)).
#[must_use]
pub fn user_number() -> u32 {
    unistd::geteuid().as_raw()
}

/// Returns true if this process is root.
#[must_use]
pub fn is_root() -> bool {
    user_number() == 0
}

/// prctl(2) `PR_SET_NO_NEW_PRIVS`: no program that is executed gains anything.
///
/// # Errors
/// Where the kernel is older than Linux 3.5.
pub fn no_new_privileges() -> io::Result<()> {
    Ok(prctl::set_no_new_privs()?)
}

#[repr(C)]
struct CapHeader {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CapSets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Those of these capabilities that this process may use.
///
/// # Errors
/// Whatever capget(2) reports.
pub fn permitted(wanted: &[Capability]) -> io::Result<Vec<Capability>> {
    let permitted = capabilities()?[0].permitted;
    let has = |one: &Capability| permitted & 1 << *one as u32 != 0;
    Ok(wanted.iter().copied().filter(has).collect())
}

/// Gives up every capability but these (capset(2)), also for programs that this process executes.
///
/// # Errors
/// Whatever capget(2) and capset(2) report.
pub fn keep_only(keep: &[Capability]) -> io::Result<()> {
    let wanted = keep.iter().fold(0_u32, |bits, one| bits | 1 << *one as u32);
    // Ambient capabilities are a part of the inheritable ones.
    let now = match capabilities() {
        // A supervisor that forbids to ask has left a user none.
        Err(_) if !is_root() => return Ok(()),
        now => now?,
    };
    let permitted = now[0].permitted & wanted;
    let kept = [
        CapSets {
            effective: permitted,
            permitted,
            inheritable: 0,
        },
        CapSets::default(),
    ];
    // A supervisor may forbid to set what is in force already.
    if now == kept {
        return Ok(());
    }
    set_capabilities(kept)
}

/// Version 3 of capget(2) has two sets.
const VERSION_3: u32 = 0x2008_0522;

/// capget(2): the capabilities of this process.
fn capabilities() -> io::Result<[CapSets; 2]> {
    let mut header = CapHeader {
        version: VERSION_3,
        pid: 0,
    };
    let mut sets = [CapSets::default(); 2];
    // SAFETY: version 3 has two sets; both arguments outlive the call.
    checked(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) })?;
    Ok(sets)
}

/// capset(2).
fn set_capabilities(sets: [CapSets; 2]) -> io::Result<()> {
    let header = CapHeader {
        version: VERSION_3,
        pid: 0,
    };
    // SAFETY: version 3 has two sets; both arguments outlive the call.
    checked(unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) })
}

/// A limit on what a process uses (getrlimit(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceLimit {
    /// `RLIMIT_CORE`, bytes.
    Core,
    /// `RLIMIT_FSIZE`, bytes.
    FileSize,
    /// `RLIMIT_STACK`, bytes.
    Stack,
    /// `RLIMIT_DATA`, bytes.
    Memory,
    /// `RLIMIT_NOFILE`.
    OpenFiles,
    /// `RLIMIT_NPROC`, of the user as a whole.
    Processes,
}

#[cfg(target_env = "gnu")]
type ResourceNumber = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
type ResourceNumber = libc::c_int;

impl ResourceLimit {
    fn number(self) -> ResourceNumber {
        match self {
            Self::Core => libc::RLIMIT_CORE,
            Self::FileSize => libc::RLIMIT_FSIZE,
            Self::Stack => libc::RLIMIT_STACK,
            Self::Memory => libc::RLIMIT_DATA,
            Self::OpenFiles => libc::RLIMIT_NOFILE,
            Self::Processes => libc::RLIMIT_NPROC,
        }
    }
}

/// A limit, and the most to which this process may raise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LimitPair {
    pub(super) now: u64,
    pub(super) most: u64,
}

/// getrlimit(2). On 32-bit systems, too, in 64 bits.
pub(super) fn limits(limit: ResourceLimit) -> io::Result<LimitPair> {
    let mut raw = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `raw` is valid for writing.
    checked(unsafe { libc::getrlimit64(limit.number(), &raw mut raw) })?;
    Ok(LimitPair {
        now: raw.rlim_cur,
        most: raw.rlim_max,
    })
}

/// setrlimit(2). Only root raises what is the most.
pub(super) fn set_limits(limit: ResourceLimit, limits: LimitPair) -> io::Result<()> {
    let raw = libc::rlimit64 {
        rlim_cur: limits.now,
        rlim_max: limits.most,
    };
    // SAFETY: `raw` outlives the call.
    checked(unsafe { libc::setrlimit64(limit.number(), &raw const raw) })
}

/// getrlimit(2): the limit in force; the largest number if there is none.
#[must_use]
pub fn limit_now(limit: ResourceLimit) -> u64 {
    limits(limit).map_or(u64::MAX, |limits| limits.now)
}

/// setrlimit(2): at least this, as far as this process may raise a limit.
pub fn raise_limit(limit: ResourceLimit, least: u64) {
    let Ok(limits) = limits(limit) else {
        return;
    };
    if limits.now >= least {
        return;
    }
    for most in [limits.most.max(least), limits.most] {
        let now = least.min(most);
        if set_limits(limit, LimitPair { now, most }).is_ok() {
            return;
        }
    }
}

/// setrlimit(2): no more than this, for good. A limit that is lower already stays.
///
/// # Errors
/// Whatever getrlimit(2) and setrlimit(2) report.
pub fn limit(limit: ResourceLimit, most: u64) -> io::Result<()> {
    let before = limits(limit)?;
    let lowered = LimitPair {
        now: before.now.min(most),
        most: before.most.min(most),
    };
    set_limits(limit, lowered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_known_by_name_and_by_number() {
        let root = User { user: 0, group: 0 };
        assert_eq!(user("root").unwrap(), root);
        assert_eq!(user("0").unwrap(), root);
        assert_eq!(user("root:0").unwrap(), root);
        let odd = user("4000000:root").unwrap();
        assert_eq!((odd.user, odd.group), (4_000_000, 0));
        assert_eq!(user("4000000").unwrap().group, 4_000_000);
        assert!(user("nobody-of-this-name").is_err());
        assert!(user("root:nobody-of-this-name").is_err());
    }
}
