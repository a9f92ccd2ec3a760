//! Loss, reordering and delay of numbered datagrams.

/// Bytes that a numbered datagram begins with: what marks it, its number, and when it
/// was sent.
pub const NUMBER_BYTES: u32 = 24;

/// Extent of the counts of a receiver of numbered datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum QualityScope {
    /// Loss and jitter: the results of a server of iperf3.
    Loss,
    /// Order, too, with repeated datagrams among those out of order: iperf.
    Order,
    /// Everything.
    #[default]
    Full,
}

/// Counts of the receiver of numbered datagrams, or of their sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quality {
    /// Numbered datagrams that this end sent.
    pub sent: u64,
    /// Different datagrams that arrived.
    pub received: u64,
    /// One more than the highest number that arrived.
    pub expected: u64,
    /// Datagrams that had arrived before (RFC 5560).
    pub duplicated: u64,
    /// Datagrams that arrived behind one with a higher number (RFC 4737 section 3.3).
    pub reordered: u64,
    /// The largest extent of reordering: so many datagrams arrived from the first with a
    /// higher number to the one that was late (RFC 4737 section 4.2.1).
    pub extent: u64,
    /// Datagrams too late to be checked for duplication. They count nowhere else.
    pub too_late: u64,
    /// Datagrams that had no number.
    pub unnumbered: u64,
    /// Interarrival jitter at the end (RFC 3550 section 6.4.1), nanoseconds.
    pub jitter: u64,
    /// Mean delay above that of the quickest datagram, nanoseconds.
    pub mean_variation: u64,
    /// Largest delay above that of the quickest datagram, nanoseconds.
    pub most_variation: u64,
    /// Datagrams that the kernel of this end dropped because the socket's receive buffer was full;
    /// `None` if unknown.
    pub overflowed: Option<u64>,
    /// True if the end of the data arrived.
    pub ended: bool,
    /// Extent of the counts. All else is 0.
    pub scope: QualityScope,
}

impl Quality {
    /// The account of two flows: sums of counts, the larger of extents and largest delays, and
    /// the means of jitter and mean delay, weighted by what arrived.
    #[must_use]
    pub fn beside(&self, other: &Self) -> Self {
        let received = self.received.saturating_add(other.received);
        let mean = |of: fn(&Self) -> u64| {
            let [own, more] =
                [self, other].map(|one| u128::from(of(one)) * u128::from(one.received));
            let mean = (own + more).checked_div(u128::from(received));
            mean.and_then(|mean| u64::try_from(mean).ok()).unwrap_or(0)
        };
        Self {
            sent: self.sent.saturating_add(other.sent),
            received,
            expected: self.expected.saturating_add(other.expected),
            duplicated: self.duplicated.saturating_add(other.duplicated),
            reordered: self.reordered.saturating_add(other.reordered),
            extent: self.extent.max(other.extent),
            too_late: self.too_late.saturating_add(other.too_late),
            unnumbered: self.unnumbered.saturating_add(other.unnumbered),
            jitter: mean(|one| one.jitter),
            mean_variation: mean(|one| one.mean_variation),
            most_variation: self.most_variation.max(other.most_variation),
            overflowed: match (self.overflowed, other.overflowed) {
                (Some(own), Some(more)) => Some(own.saturating_add(more)),
                (own, more) => own.or(more),
            },
            ended: self.ended && other.ended,
            scope: self.scope.min(other.scope),
        }
    }

    /// The count of numbers that an end reports.
    pub const NUMBERS: usize = 13;

    /// The counts, in the order in which ends tell them to each other.
    fn counts(&mut self) -> [&mut u64; Self::NUMBERS - 2] {
        [
            &mut self.sent,
            &mut self.received,
            &mut self.expected,
            &mut self.duplicated,
            &mut self.reordered,
            &mut self.extent,
            &mut self.too_late,
            &mut self.unnumbered,
            &mut self.jitter,
            &mut self.mean_variation,
            &mut self.most_variation,
        ]
    }

    /// Every number in this order, and one more than the messages that overflowed, 0 if unknown; the
    /// last one is 1 if the end was reached, or 0.
    #[must_use]
    pub fn numbers(mut self) -> [u64; Self::NUMBERS] {
        let mut numbers = [u64::from(self.ended); Self::NUMBERS];
        let overflowed = self.overflowed.map_or(0, |count| count.saturating_add(1));
        numbers[Self::NUMBERS - 2] = overflowed;
        for (number, count) in numbers.iter_mut().zip(self.counts()) {
            *number = *count;
        }
        numbers
    }

    /// From the numbers in this order.
    #[must_use]
    pub fn from_numbers(numbers: [u64; Self::NUMBERS]) -> Self {
        let mut quality = Self {
            ended: numbers[Self::NUMBERS - 1] != 0,
            overflowed: numbers[Self::NUMBERS - 2].checked_sub(1),
            ..Self::default()
        };
        for (count, number) in quality.counts().into_iter().zip(numbers) {
            *count = number;
        }
        quality
    }

    /// A count that needs this scope; `None` if it was not counted.
    #[must_use]
    pub fn within<T>(&self, scope: QualityScope, count: T) -> Option<T> {
        (self.scope >= scope).then_some(count)
    }

    /// The number of datagrams that should have arrived of those that the sender counted.
    ///
    /// A receiver that did not wait for the end cannot know of those behind the last
    /// that it got.
    #[must_use]
    pub fn due(&self, sent: Option<u64>) -> u64 {
        sent.filter(|_| self.ended).unwrap_or(0).max(self.expected)
    }

    /// The number of these that never arrived.
    #[must_use]
    pub fn lost(&self, sent: Option<u64>) -> u64 {
        self.due(sent).saturating_sub(self.received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_what_they_are_of() {
        let numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1];
        assert_eq!(Quality::from_numbers(numbers).numbers(), numbers);
    }

    #[test]
    fn datagrams_behind_the_last_are_lost_only_if_the_end_was_seen() {
        let mut quality = Quality {
            received: 7,
            expected: 8,
            ..Quality::default()
        };
        assert_eq!(quality.lost(Some(10)), 1);
        assert_eq!(quality.lost(None), 1);
        quality.ended = true;
        assert_eq!(quality.lost(Some(10)), 3);
    }
}
