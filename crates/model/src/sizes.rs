//! Sizes and ring widths that were not asked for (control-protocol.md 3.3).

use crate::RingPlan;

/// Size where the kernel does not report its buffer.
const UNKNOWN_BUFFER: u32 = 4096;

/// Bytes per send when data goes one way, of a transport whose messages are at most
/// `largest` bytes.
#[must_use]
pub fn send_size(plan: &RingPlan, send_buffer: Option<u32>, largest: Option<u32>) -> u32 {
    if let Some(size) = asked(plan) {
        return size;
    }
    known(send_buffer).min(largest.unwrap_or(u32::MAX))
}

/// Bytes per receive when data goes one way.
#[must_use]
pub fn recv_size(plan: &RingPlan, recv_buffer: Option<u32>) -> u32 {
    asked(plan).unwrap_or_else(|| known(recv_buffer))
}

/// Ring width when data goes one way: enough that a buffer is not used again
/// while the kernel may still hold it.
#[must_use]
pub fn stream_width(plan: &RingPlan, socket_buffer: Option<u32>, size: u32) -> u32 {
    let asked = plan.width.filter(|width| *width > 0);
    let width = asked.unwrap_or_else(|| socket_buffer.unwrap_or(0) / size.max(1) + 1);
    if asked.is_some() {
        return width.max(2);
    }
    width.max(2).min((MOST_UNASKED / size.max(1)).max(1))
}

/// Bytes of a ring whose width is not asked for. One of larger buffers has a single one.
const MOST_UNASKED: u32 = 1 << 30;

/// Ring width for requests and responses.
#[must_use]
pub fn rr_width(plan: &RingPlan) -> u32 {
    plan.width.filter(|width| *width > 0).unwrap_or(1)
}

/// A size of 0 is no size: the default is taken.
fn asked(plan: &RingPlan) -> Option<u32> {
    plan.size.filter(|size| *size > 0)
}

/// A number of bytes or elements as a length in memory.
#[must_use]
pub fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn known(buffer: Option<u32>) -> u32 {
    buffer.filter(|size| *size > 0).unwrap_or(UNKNOWN_BUFFER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_send_is_as_large_as_the_socket_buffer_unless_messages_are_smaller() {
        let plan = RingPlan::default();
        assert_eq!(send_size(&plan, Some(16_384), None), 16_384);
        assert_eq!(send_size(&plan, Some(212_992), Some(65_507)), 65_507);
        assert_eq!(send_size(&plan, None, None), 4096);
        assert_eq!(recv_size(&plan, Some(131_072)), 131_072);
    }

    #[test]
    fn a_size_of_zero_means_the_default() {
        let plan = RingPlan {
            size: Some(0),
            ..RingPlan::default()
        };
        assert_eq!(send_size(&plan, Some(16_384), None), 16_384);
    }

    #[test]
    fn a_stream_ring_has_one_buffer_more_than_the_socket_holds_and_at_least_two() {
        let plan = RingPlan::default();
        assert_eq!(stream_width(&plan, Some(16_384), 16_384), 2);
        assert_eq!(stream_width(&plan, Some(16_384), 4096), 5);
        assert_eq!(stream_width(&plan, Some(16_384), 20_000), 2);
        let one = RingPlan {
            width: Some(1),
            ..plan
        };
        assert_eq!(stream_width(&one, Some(16_384), 4096), 2);
        assert_eq!(rr_width(&one), 1);
        // Large buffers are few.
        let width = |size| stream_width(&plan, Some(1 << 30), size);
        assert_eq!([1 << 29, 1 << 30, u32::MAX].map(width), [2, 1, 1]);
    }
}
