//! Facts about the machine (sysconf(3), uname(2)).

use std::ffi::{CStr, c_char};

/// CPUs online, at least 1.
#[must_use]
pub fn cpus_online() -> u32 {
    // SAFETY: sysconf takes no pointers.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(count).unwrap_or(1).max(1)
}

/// Clock ticks per second, the unit of `/proc/stat`.
#[must_use]
pub fn clock_ticks() -> u32 {
    // SAFETY: sysconf takes no pointers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u32::try_from(ticks).unwrap_or(100).max(1)
}

/// The names of system and machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The operating system.
    pub sysname: String,
    /// The kernel's release.
    pub release: String,
    /// The kernel's version.
    pub version: String,
    /// The hardware.
    pub machine: String,
}

/// uname(2). Empty names when the call fails, which it never does.
#[must_use]
pub fn names() -> Names {
    // SAFETY: utsname is plain bytes for which all zeros are empty texts.
    let mut raw: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: `raw` is a utsname that outlives the call.
    unsafe { libc::uname(&raw mut raw) };
    Names {
        sysname: text(&raw.sysname),
        release: text(&raw.release),
        version: text(&raw.version),
        machine: text(&raw.machine),
    }
}

/// The text in an array that uname(2) filled.
fn text(array: &[c_char]) -> String {
    // SAFETY: the kernel ends each text with a NUL inside its array.
    let text = unsafe { CStr::from_ptr(array.as_ptr()) };
    text.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

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
