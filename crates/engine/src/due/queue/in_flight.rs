//! Requests of a flow in flight, and their numbers, of which responses have the lowest bytes.

/// Steps in the numbers that have to be seen where they are expected before there is no doubt.
const CONFIRMED: u32 = 4;

/// No slot.
pub(super) const NONE: u32 = u32::MAX;

/// A request in flight, its times in nanoseconds since the beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct DueRequest {
    pub(super) due: u64,
    pub(super) sent: u64,
    pub(super) number: u64,
    /// The next request of the same flow, or the next free slot.
    pub(super) next: u32,
}

/// The requests of one flow in flight, in the order in which they were sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) oldest: u32,
    pub(super) latest: u32,
    /// Number of the next request.
    pub(super) next: u64,
    /// One more than the highest number of a request with a response.
    pub(super) expected: u64,
    /// A number with the lowest bytes of the last response.
    pub(super) heard: u64,
    /// Time from the last answered request to its response.
    pub(super) service: u64,
    /// When the last response came.
    pub(super) response_at: u64,
    pub(super) mark: NumberMark,
    /// Responses until the step is made again, if it is not seen before.
    pub(super) seen_within: u64,
    /// Steps that were not seen, or not where they were expected, in this doubt.
    pub(super) failed: u32,
    /// Steps that were seen where they were expected, one after the other.
    pub(super) confirmed: u32,
}

/// Step in the numbers of a flow, which tells requests apart that have the same lowest bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberMark {
    /// No response was ambiguous.
    None,
    /// A request with this number or a later one makes the step.
    Wanted(u64),
    /// The request with this number has made the step.
    At(u64),
}

pub(super) const EMPTY: InFlight = InFlight {
    oldest: NONE,
    latest: NONE,
    next: 0,
    expected: 0,
    heard: 0,
    service: 0,
    response_at: 0,
    mark: NumberMark::None,
    seen_within: 0,
    failed: 0,
    confirmed: 0,
};

impl InFlight {
    /// The numbers of requests that responses belong to are in doubt.
    #[cold]
    pub(super) fn doubt(&mut self) {
        (self.mark, self.confirmed) = (NumberMark::Wanted(self.next), 0);
    }

    /// Looks for a step in the lowest bytes of responses. The response that makes it, or one of the
    /// next, has its number, unless responses that overtake others look like it. Further steps have
    /// to confirm it.
    #[cold]
    pub(super) fn look_for(&mut self, step: u64, lowest: &[u8]) {
        let cycle = cycle(lowest.len());
        let told = nearest(self.heard, lowest);
        let number = step + told.wrapping_sub(step) % cycle;
        let behind = number - step;
        let leap = (told.wrapping_sub(self.heard) % cycle).saturating_sub(behind);
        let near = cycle / 16;
        let makes = behind < near && leap.abs_diff(cycle / 2) < near;
        if makes && number < self.next {
            let skipped = number.wrapping_sub(self.expected).saturating_sub(behind);
            if skipped.abs_diff(cycle / 2) < near {
                self.confirmed += 1;
            } else {
                (self.confirmed, self.failed) = (0, self.failed + 1);
            }
            self.mark = if self.confirmed == CONFIRMED {
                self.failed = 0;
                NumberMark::None
            } else {
                // The response to an earlier step is not to be taken for that to this one.
                let after = 2 * cycle + (2 * cycle + cycle / 5) * u64::from(self.confirmed);
                NumberMark::Wanted(self.next + (after << self.failed.min(8)))
            };
            self.expected = number;
            return;
        }
        self.seen_within -= 1;
        if self.seen_within == 0 {
            self.failed += 1;
            self.mark = NumberMark::Wanted(self.next);
        }
    }

    /// Notes the response to a request. If the time that an `ambiguous` request took differs by
    /// half a cycle of the numbers from that of the one before, another one may have been meant.
    #[inline]
    pub(super) fn answered(
        &mut self,
        request: &DueRequest,
        (ambiguous, cycle): (bool, u64),
        now: u64,
    ) {
        let took = now.saturating_sub(request.sent);
        let change = took.abs_diff(self.service);
        let since = self.next - request.number;
        let doubtful = change.saturating_mul(since) > took.saturating_mul(cycle / 2);
        if ambiguous && doubtful && self.mark == NumberMark::None {
            self.doubt();
        }
        self.expected = self.expected.max(request.number + 1);
        self.service = took;
    }
}

/// The number nearest to another one that has these lowest bytes, the first of them lowest.
#[inline]
pub(super) fn nearest(to: u64, lowest: &[u8]) -> u64 {
    let unused = u64::BITS.saturating_sub(8 * u32::try_from(lowest.len()).unwrap_or(8));
    let told = lowest
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte));
    let ahead = told.wrapping_sub(to).checked_shl(unused).unwrap_or(0);
    to.wrapping_add_signed(i64::from_ne_bytes(ahead.to_ne_bytes()) >> unused.min(63))
}

/// The distance of numbers with the same lowest bytes.
#[inline]
pub(super) fn cycle(bytes: usize) -> u64 {
    let bits = u32::try_from(8 * bytes).unwrap_or(u64::BITS);
    1_u64.checked_shl(bits).unwrap_or(u64::MAX)
}
