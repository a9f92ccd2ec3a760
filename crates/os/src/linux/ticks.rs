//! The processor's own counter of time, and the system's monotonic clock.

use std::fs;

use super::call::clock;

/// The kernel's current clock source.
const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// `CLOCK_MONOTONIC` in nanoseconds (clock_gettime(2)); 0 if it could not be read, which
/// the kernel never lets happen.
#[inline]
#[must_use]
pub fn monotonic() -> u64 {
    let now = clock(libc::CLOCK_MONOTONIC);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// Returns true if [`count`] runs at one rate on all processors at all times. This requires
/// that the kernel uses the counter as its clock source, which it verifies continuously. On
/// x86-64 the processor must also report `constant_tsc` and `nonstop_tsc`, and the counter must
/// be enabled for this process (prctl(2), `PR_SET_TSC`).
#[must_use]
pub fn is_sound() -> bool {
    let source = fs::read_to_string(SOURCE).unwrap_or_default();
    counter::KERNEL_NAME.is_some_and(|name| source.trim() == name) && counter::is_sound()
}

/// The counter, in ticks of a length that has to be found out. Not before what the program
/// did earlier is done. Where no processor's counter is known, [`monotonic`].
#[inline]
#[must_use]
pub fn count() -> u64 {
    counter::count()
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use std::arch::asm;
    use std::fs::File;
    use std::io::Read;

    /// Name of the clock source in the kernel.
    pub(super) const KERNEL_NAME: Option<&str> = Some("tsc");

    /// More than the flags of the first processor take.
    const FIRST_PROCESSOR: u64 = 8192;

    #[inline]
    pub(super) fn count() -> u64 {
        let (low, high): (u64, u64);
        // SAFETY: both instructions are part of x86-64 and change nothing but the two
        // registers named. lfence(Intel SDM 2B, RDTSC) keeps the reading behind earlier work.
        unsafe {
            asm!("lfence", "rdtsc", out("rax") low, out("rdx") high,
                options(nomem, nostack, preserves_flags));
        }
        high << 32 | low
    }

    pub(super) fn is_sound() -> bool {
        let mut text = String::new();
        let read = File::open("/proc/cpuinfo")
            .and_then(|file| file.take(FIRST_PROCESSOR).read_to_string(&mut text));
        let flags = text.lines().find(|line| line.starts_with("flags"));
        let has = |flag: &str| flags.is_some_and(|line| line.split(' ').any(|word| word == flag));
        read.is_ok() && has("constant_tsc") && has("nonstop_tsc") && is_allowed()
    }

    /// Returns true if this process may read it.
    fn is_allowed() -> bool {
        let mut state: libc::c_int = 0;
        // SAFETY: PR_GET_TSC writes an int to the address given, which outlives the call.
        let result = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut state) };
        result == 0 && state == libc::PR_TSC_ENABLE
    }
}

#[cfg(target_arch = "aarch64")]
mod counter {
    use std::arch::asm;

    /// Name of the clock source in the kernel.
    pub(super) const KERNEL_NAME: Option<&str> = Some("arch_sys_counter");

    #[inline]
    pub(super) fn count() -> u64 {
        let count: u64;
        // SAFETY: Linux lets programs read the virtual counter (Arm ARM, CNTVCT_EL0); isb
        // keeps the reading behind earlier work. Nothing but the register is changed.
        unsafe {
            asm!("isb", "mrs {count}, cntvct_el0", count = out(reg) count,
                options(nomem, nostack, preserves_flags));
        }
        count
    }

    /// The architecture says that it never changes its rate.
    pub(super) fn is_sound() -> bool {
        true
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod counter {
    pub(super) const KERNEL_NAME: Option<&str> = None;

    #[inline]
    pub(super) fn count() -> u64 {
        super::monotonic()
    }

    pub(super) fn is_sound() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_clock_goes_backwards() {
        let (mut clock, mut counter) = (monotonic(), count());
        for _ in 0..1000 {
            let (later, more) = (monotonic(), count());
            assert!(later >= clock && (more >= counter || !is_sound()));
            (clock, counter) = (later, more);
        }
        assert!(clock > 0);
    }
}
