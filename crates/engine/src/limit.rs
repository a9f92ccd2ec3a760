//! What ends a run besides time.

/// When a run has done enough.
pub trait Limit {
    /// Bytes the next send may have, given those already sent; 0 ends the run.
    fn room(&self, sent: u64, size: usize) -> usize;
    /// Whether this many units are enough.
    fn reached(&self, units: u64) -> bool;
}

/// Never enough: time ends the run.
#[derive(Clone, Copy, Debug)]
pub struct Unlimited;

impl Limit for Unlimited {
    #[inline]
    fn room(&self, _sent: u64, size: usize) -> usize {
        size
    }

    #[inline]
    fn reached(&self, _units: u64) -> bool {
        false
    }
}

/// Exactly this many units: the last send of a byte stream is cut to fit.
#[derive(Clone, Copy, Debug)]
pub struct Exactly(pub u64);

impl Limit for Exactly {
    #[inline]
    fn room(&self, sent: u64, size: usize) -> usize {
        usize::try_from(self.0.saturating_sub(sent)).map_or(size, |left| left.min(size))
    }

    #[inline]
    fn reached(&self, units: u64) -> bool {
        units >= self.0
    }
}

/// At least this many bytes, in whole messages, which are all of one size.
#[derive(Clone, Copy, Debug)]
pub struct AtLeast {
    /// The bytes.
    pub bytes: u64,
    /// Bytes of a message, of which a send may hold several.
    pub message: u32,
}

impl Limit for AtLeast {
    #[inline]
    fn room(&self, sent: u64, size: usize) -> usize {
        let left = self.bytes.saturating_sub(sent);
        let whole = left.next_multiple_of(u64::from(self.message.max(1)));
        usize::try_from(whole).map_or(size, |whole| whole.min(size))
    }

    #[inline]
    fn reached(&self, units: u64) -> bool {
        units >= self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_send_of_many_messages_has_no_more_of_them_than_are_needed() {
        let limit = AtLeast {
            bytes: 1000,
            message: 64,
        };
        assert_eq!(limit.room(0, 640), 640);
        assert_eq!(limit.room(640, 640), 384);
        assert_eq!(limit.room(1024, 640), 0);
    }
}
