//! Facts about the machine (sysconf(3), uname(2)) and random numbers (getrandom(2)).

use std::ffi::{CString, OsStr};
use std::fmt;
use std::io;
use std::time::Duration;

use nix::sys::sysinfo::sysinfo;
use nix::sys::utsname::uname;
use nix::unistd::{SysconfVar, sysconf};

use super::call::zeroed;

/// CPUs online, at least 1.
#[must_use]
pub fn cpus_online() -> u32 {
    configured(SysconfVar::_NPROCESSORS_ONLN)
        .unwrap_or(1)
        .max(1)
}

/// Bytes of memory of this machine (sysinfo(2)); the largest number if unknown.
#[must_use]
pub fn memory() -> u64 {
    sysinfo().map_or(u64::MAX, |info| info.ram_total())
}

/// Clock ticks per second, the unit of `/proc/stat`.
#[must_use]
pub fn clock_ticks() -> u32 {
    configured(SysconfVar::CLK_TCK).unwrap_or(100).max(1)
}

fn configured(value: SysconfVar) -> Option<u32> {
    u32::try_from(sysconf(value).ok()??).ok()
}

/// Seconds by which the local time of day is ahead of UTC at a moment, in seconds since 1970; 0 if
/// unknown.
#[must_use]
pub fn local_time_offset(unix: u64) -> i64 {
    broken_down(unix).map_or(0, |time| time.tm_gmtoff as _)
}

/// localtime_r(3): the parts of a local time; `None` if unknown.
fn broken_down(unix: u64) -> Option<libc::tm> {
    let seconds = libc::time_t::try_from(unix).ok()?;
    let mut parts = zeroed();
    // SAFETY: both point to values that outlive the call.
    let known = unsafe { libc::localtime_r(&raw const seconds, &raw mut parts) };
    (!known.is_null()).then_some(parts)
}

/// The names of system and machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The name of the host.
    pub node: String,
    /// The operating system.
    pub sysname: String,
    /// The kernel's release.
    pub release: String,
    /// The kernel's version.
    pub version: String,
    /// The hardware.
    pub machine: String,
}

impl fmt::Display for Names {
    /// All names, as `uname -a` begins.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (system, node, release) = (&self.sysname, &self.node, &self.release);
        write!(
            f,
            "{system} {node} {release} {} {}",
            self.version, self.machine
        )
    }
}

/// uname(2). Empty names when the call fails, which it never does.
#[must_use]
pub fn names() -> Names {
    let Ok(all) = uname() else {
        return Names::default();
    };
    let text = |name: &OsStr| name.to_string_lossy().into_owned();
    Names {
        node: text(all.nodename()),
        sysname: text(all.sysname()),
        release: text(all.release()),
        version: text(all.version()),
        machine: text(all.machine()),
    }
}

/// Fills `bytes` with random numbers fit for secrets (getrandom(2)).
///
/// # Errors
/// Those of getrandom(2).
pub fn random(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        // SAFETY: pointer and length are those of one slice, which outlives the call.
        match unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) } {
            -1 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            count => filled += usize::try_from(count).unwrap_or(0),
        }
    }
    Ok(())
}

/// A number that is another one each time; not for secrets.
#[must_use]
pub fn unlike() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

/// A time as strftime(3) formats it, in the time zone of the process.
///
/// `None` for a format with a NUL, and for a text of more than 255 bytes.
#[must_use]
pub fn local_time(since_epoch: Duration, format: &str) -> Option<String> {
    let format = CString::new(format).ok()?;
    let parts = broken_down(since_epoch.as_secs())?;
    let mut text = [0_u8; 256];
    // SAFETY: strftime writes at most the length that it is given, and the format ends with NUL.
    let length = unsafe {
        libc::strftime(
            text.as_mut_ptr().cast(),
            text.len(),
            format.as_ptr(),
            &raw const parts,
        )
    };
    let text = text.get(..length)?;
    Some(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_tells_what_is_shown_of_a_time() {
        let time = Duration::from_secs(1_795_255_544);
        assert_eq!(local_time(time, "%Y %% ").as_deref(), Some("2026 % "));
        assert_eq!(local_time(time, ""), Some(String::new()));
        assert_eq!(local_time(time, "\0"), None);
    }

    #[test]
    fn there_is_a_cpu_and_the_clock_ticks() {
        assert!(cpus_online() >= 1);
        assert!(clock_ticks() >= 1);
    }

    #[test]
    fn the_system_and_the_machine_have_names() {
        let names = names();
        assert_eq!(names.sysname, "Linux");
        assert!(!names.release.is_empty());
        assert!(!names.machine.is_empty());
    }
}
