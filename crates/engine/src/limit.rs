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

/// At least this many bytes, in whole messages: datagrams are all of one size.
#[derive(Clone, Copy, Debug)]
pub struct AtLeast(pub u64);

impl Limit for AtLeast {
    #[inline]
    fn room(&self, sent: u64, size: usize) -> usize {
        if sent >= self.0 { 0 } else { size }
    }

    #[inline]
    fn reached(&self, units: u64) -> bool {
        units >= self.0
    }
}
