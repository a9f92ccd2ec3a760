//! Reads of a connection by their size.

use std::sync::atomic::{AtomicU64, Ordering};

pub use netperf_model::iperf2::READ_CLASSES;

/// Counts of reads in classes of equal width, which other threads read.
#[derive(Debug)]
pub struct ReadSizes {
    /// Size of the largest read, bytes.
    largest: usize,
    classes: [AtomicU64; READ_CLASSES],
}

impl ReadSizes {
    /// Classes for reads of at most `largest` bytes.
    #[must_use]
    pub fn new(largest: usize) -> Self {
        Self {
            largest,
            classes: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Size of the largest read, bytes.
    #[must_use]
    pub const fn largest(&self) -> usize {
        self.largest
    }

    /// Counts a read of so many bytes.
    #[inline]
    pub fn count(&self, bytes: usize) {
        let width = (self.largest / READ_CLASSES).max(1);
        let class = bytes.saturating_sub(1) / width;
        if let Some(counter) = self.classes.get(class.min(READ_CLASSES - 1)) {
            // Only one thread writes.
            let count = counter.load(Ordering::Relaxed).wrapping_add(1);
            counter.store(count, Ordering::Relaxed);
        }
    }

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> [u64; READ_CLASSES] {
        self.classes
            .each_ref()
            .map(|one| one.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of iperf 2.1.8 for these reads (`-e -l 8000`).
    #[test]
    fn a_class_has_the_sizes_up_to_its_width() {
        let sizes = ReadSizes::new(8000);
        let reads = [
            (10, 1),
            (999, 1),
            (1000, 2),
            (1001, 3),
            (2000, 4),
            (2001, 5),
            (3000, 6),
            (7000, 7),
            (7001, 8),
            (8000, 9),
        ];
        for (bytes, times) in reads {
            (0..times).for_each(|_| sizes.count(bytes));
        }
        assert_eq!(sizes.counts(), [4, 7, 11, 0, 0, 0, 7, 17]);
    }

    #[test]
    fn sizes_below_the_number_of_classes_have_one_each() {
        let sizes = ReadSizes::new(4);
        (1..=4).for_each(|bytes| sizes.count(bytes));
        assert_eq!(sizes.counts(), [1, 1, 1, 1, 0, 0, 0, 0]);
    }
}
