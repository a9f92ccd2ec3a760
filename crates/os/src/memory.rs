//! Alignment of buffers.

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

#[cfg(test)]
mod tests {
    use super::*;

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
