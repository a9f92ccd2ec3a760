//! Limit of what is sent to an unproven address.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes and datagrams that have arrived from an address: no more are sent to it. Datagrams are
/// counted because the headers of many short ones exceed those of a long one.
#[derive(Debug, Default)]
pub struct Credit {
    bytes: AtomicU64,
    datagrams: AtomicU64,
}

impl Credit {
    /// Adds a datagram that arrived, or one that was taken and not sent.
    pub fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.datagrams.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes a datagram, unless fewer than `kept` bytes, or no other datagram for them, are left
    /// then. Everything that goes to the address is taken here.
    #[must_use]
    pub fn take(&self, bytes: u64, kept: u64) -> bool {
        let taken = |counter: &AtomicU64, count: u64, kept: u64| {
            let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
            let take = |left: u64| left.checked_sub(count).filter(|left| *left >= kept);
            counter.fetch_update(set, fetch, take).is_ok()
        };
        if !taken(&self.datagrams, 1, u64::from(kept > 0)) {
            return false;
        }
        let is_taken = taken(&self.bytes, bytes, kept);
        if !is_taken {
            self.datagrams.fetch_add(1, Ordering::Relaxed);
        }
        is_taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_more_bytes_nor_more_datagrams_are_taken_than_arrived() {
        let credit = Credit::default();
        assert!(!credit.take(1, 0));
        credit.add(1000);
        assert!(!credit.take(1001, 0), "more bytes");
        assert!(!credit.take(16, 16), "nothing is left for the end");
        assert!(credit.take(16, 0));
        assert!(!credit.take(16, 0), "more datagrams");
        credit.add(16);
        credit.add(16);
        assert!(credit.take(500, 500));
        assert!(credit.take(516, 0));
        assert!(!credit.take(0, 0));
    }
}
