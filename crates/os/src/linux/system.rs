//! Facts about the machine (sysconf(3)).

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_cpu_and_the_clock_ticks() {
        assert!(cpus_online() >= 1);
        assert!(clock_ticks() >= 1);
    }
}
