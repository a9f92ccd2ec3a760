//! Amounts that end a run.

/// Bytes that a sender may add to its amount by whole messages, which are shorter.
pub(crate) const RECEIVED_MARGIN: u64 = 1 << 32;

/// When a run has done enough.
///
/// Every loop asks it alike, those that only time ends as well: the question is a
/// comparison with a register, and a type for each kind of amount had every loop made
/// three times (decision 0027).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimit {
    units: u64,
    /// Bytes of a message, of which a send may hold several.
    message: u32,
}

impl RunLimit {
    /// Never enough: time ends the run.
    pub const NONE: Self = Self::exactly(u64::MAX);

    /// Exactly this many units: the last send of a byte stream is cut to fit.
    #[must_use]
    pub const fn exactly(units: u64) -> Self {
        Self { units, message: 1 }
    }

    /// At least this many bytes, in whole messages, which are all of one size.
    #[must_use]
    pub const fn at_least(bytes: u64, message: u32) -> Self {
        Self {
            units: bytes,
            message,
        }
    }

    /// An amount that no correct peer exceeds: messages that round the amount up are shorter than 4
    /// GiB.
    #[must_use]
    pub const fn exceeded(self) -> Self {
        Self {
            units: self.units.saturating_add(RECEIVED_MARGIN),
            ..self
        }
    }

    /// Bytes the next send may have, given those already sent; 0 ends the run.
    #[inline]
    #[must_use]
    pub fn space(&self, sent: u64, size: usize) -> usize {
        // The sum cannot overflow in practice.
        if sent.wrapping_add(size as u64) <= self.units {
            size
        } else {
            self.rest(sent, size)
        }
    }

    /// Size of the last send.
    #[cold]
    fn rest(&self, sent: u64, size: usize) -> usize {
        let left = self.units.saturating_sub(sent);
        let whole = left.next_multiple_of(u64::from(self.message.max(1)));
        usize::try_from(whole).map_or(size, |whole| whole.min(size))
    }

    /// Returns whether this many units are enough.
    #[inline]
    #[must_use]
    pub const fn reached(&self, units: u64) -> bool {
        units >= self.units
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_send_of_many_messages_has_no_more_of_them_than_are_needed() {
        let limit = RunLimit::at_least(1000, 64);
        assert_eq!(limit.space(0, 640), 640);
        assert_eq!(limit.space(640, 640), 384);
        assert_eq!(limit.space(1024, 640), 0);
        assert!(!limit.reached(999) && limit.reached(1000));
    }

    #[test]
    fn limit_of_a_receiver_permits_whole_messages_and_no_endless_sender() {
        let limit = RunLimit::exactly(100).exceeded();
        assert!(!limit.reached(u64::from(u32::MAX)) && limit.reached((1 << 32) + 100));
        assert_eq!(RunLimit::NONE.exceeded(), RunLimit::NONE);
    }

    #[test]
    fn the_last_send_of_an_exact_amount_is_cut() {
        let limit = RunLimit::exactly(1000);
        assert_eq!(limit.space(0, 640), 640);
        assert_eq!(limit.space(640, 640), 360);
        assert_eq!(limit.space(1000, 640), 0);
    }

    #[test]
    fn without_a_limit_it_is_never_enough() {
        assert_eq!(RunLimit::NONE.space(u64::MAX - 640, 640), 640);
        assert!(!RunLimit::NONE.reached(u64::MAX - 1));
    }
}
