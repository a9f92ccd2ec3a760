//! Alignment of buffers, and the end of a process that has no memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::TryReserveError;
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes of a page.
const PAGE: usize = 4096;

/// Alignment at which the kernel copies a buffer of `size` bytes fast: a cache line, and a page
/// from the size of a page on.
#[must_use]
pub const fn alignment(size: usize) -> usize {
    if size < PAGE { LINE } else { PAGE }
}

/// Distance between slots of `size` bytes in which messages of any length arrive: an odd number of
/// cache lines. The first lines of such slots share no set of a cache, as those of pages do.
#[must_use]
pub const fn slot_distance(size: usize) -> usize {
    size.next_multiple_of(LINE) | LINE
}

thread_local! {
    /// True while this thread handles failures of its allocations.
    static HANDLED: Cell<bool> = const { Cell::new(false) };
}

/// Last message of a process, and the descriptor that it goes to.
static LAST_MESSAGE: AtomicPtr<(RawFd, String)> = AtomicPtr::new(std::ptr::null_mut());

/// Exit status of a process without memory.
const NO_MEMORY: libc::c_int = 1;

/// Sets the message of a process that ends because it has no memory.
pub fn set_last_message(fd: RawFd, line: &str) {
    let message = Box::new((fd, line.to_owned()));
    // Not a store: LLVM 19 for arm64 fails on an atomic store to a static that has no other one.
    let _former = LAST_MESSAGE.swap(Box::into_raw(message), Ordering::AcqRel);
}

/// The allocator of the system. A process whose allocation fails writes its last message and
/// exits, where Rust would abort it with a signal.
#[derive(Clone, Copy, Debug)]
pub struct ExitingAllocator;

// SAFETY: every call is passed on to the allocator of the system.
unsafe impl GlobalAlloc for ExitingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller fulfils the conditions.
        checked(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.realloc(at, layout, size) })
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[inline]
fn checked(allocated: *mut u8) -> *mut u8 {
    if allocated.is_null() && !HANDLED.get() {
        end();
    }
    allocated
}

/// Ends the process. Allocates nothing.
#[cold]
fn end() -> ! {
    // SAFETY: the pointer is null, or that of a box that is never freed.
    if let Some((fd, line)) = unsafe { LAST_MESSAGE.load(Ordering::Acquire).as_ref() } {
        // SAFETY: the line is valid for its length.
        let _written = unsafe { libc::write(*fd, line.as_ptr().cast(), line.len()) };
    }
    // SAFETY: takes a number. Destructors might allocate and do not run.
    unsafe { libc::_exit(NO_MEMORY) }
}

/// Reserves memory with an error instead of the end of the process.
///
/// # Errors
/// `ENOMEM`.
pub fn attempt(reserve: impl FnOnce() -> Result<(), TryReserveError>) -> io::Result<()> {
    let handled = HANDLED.replace(true);
    let reserved = reserve();
    HANDLED.set(handled);
    reserved.map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))
}

/// Bytes of value 0. The kernel provides large amounts when they are first used.
///
/// # Errors
/// `ENOMEM`.
pub fn zeroed(count: usize) -> io::Result<Vec<u8>> {
    let no_memory = || io::Error::from_raw_os_error(libc::ENOMEM);
    let layout = Layout::array::<u8>(count).map_err(|_| no_memory())?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let handled = HANDLED.replace(true);
    // SAFETY: the size is not 0.
    let bytes = unsafe { std::alloc::alloc_zeroed(layout) };
    HANDLED.set(handled);
    if bytes.is_null() {
        return Err(no_memory());
    }
    // SAFETY: allocated with this layout, and every byte is initialised.
    Ok(unsafe { Vec::from_raw_parts(bytes, count, count) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_memory_is_an_error() {
        let huge = usize::MAX / 2;
        assert_eq!(zeroed(huge).unwrap_err().raw_os_error(), Some(libc::ENOMEM));
        assert!(zeroed(usize::MAX).is_err());
        let mut bytes: Vec<u8> = Vec::new();
        let error = attempt(|| bytes.try_reserve_exact(huge)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOMEM));
        assert_eq!(zeroed(3).unwrap(), [0, 0, 0]);
        assert_eq!(zeroed(0).unwrap(), []);
    }

    #[test]
    fn slots_are_aligned_and_lie_an_odd_number_of_cache_lines_apart() {
        for size in [1, 63, 64, 65, 2048, 4096, 65_507, 65_536, 1 << 20] {
            let distance = slot_distance(size);
            assert!((size..size + 2 * LINE).contains(&distance), "{size}");
            assert_eq!(distance % LINE, 0, "{size}");
            assert_eq!(distance / LINE % 2, 1, "{size}");
        }
    }
}
