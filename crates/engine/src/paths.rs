//! What the faster ways to move bytes mean for sizes and buffers.

use netperf_model::{EndPlan, EndSetup, Flow, IoMethod, IoPlan, TestPlan};
use netperf_transport::io::batch::Trains;

use crate::due::queue::DueQueue;

/// Bytes that are under way without a copy unless `-W` says otherwise, at most.
const UNDER_WAY: u32 = 4 << 20;
/// Buffers for that, at least and at most.
const BUFFERS: (u32, u32) = (16, 1024);

/// Whether data goes one way, on one connection or socket.
pub(crate) fn is_bulk(flow: Flow) -> bool {
    !flow.connects && !flow.is_request_response()
}

/// The queue of requests that are sent when they are due, where a plan asks for that.
pub(crate) fn due_queue(plan: &TestPlan) -> Option<DueQueue> {
    let asks = plan.flow.is_request_response() && !plan.flow.connects;
    let rate = plan.local.rate.as_ref().filter(|_| asks)?;
    Some(DueQueue::of_one(rate))
}

/// A size that preparing derived.
pub(crate) fn size(size: Option<u32>) -> usize {
    size.and_then(|size| usize::try_from(size).ok())
        .unwrap_or(0)
}

/// How many datagrams a call moves.
pub(crate) fn trains(io: &IoPlan) -> Trains {
    Trains {
        messages: io.batch.unwrap_or(1),
        segments: io.segments,
    }
}

/// Buffers that a sender without copies needs: none is used again before the kernel has
/// given it back.
pub(crate) fn zerocopy_width(size: Option<u32>) -> u32 {
    let (fewest, most) = BUFFERS;
    (UNDER_WAY / size.unwrap_or(1).max(1)).clamp(fewest, most)
}

/// Size and number of the buffers for sending and for receiving. Where a call moves many
/// messages, a buffer has room for all of them and there are as many fewer.
pub(crate) fn buffers(
    plan: &EndPlan,
    setup: &EndSetup,
    bulk: bool,
) -> ((Option<u32>, u32), (Option<u32>, u32)) {
    let send = (setup.send_size, setup.send_width);
    let recv = (setup.recv_size, setup.recv_width);
    if !bulk || !plan.io.is_batched() {
        return (send, recv);
    }
    let trains = trains(&plan.io);
    let by_ring = plan.io.method == IoMethod::Uring;
    let larger = |(size, width): (Option<u32>, u32), grown: fn(Trains, usize) -> usize| {
        let Some(size) = size else {
            return (None, width);
        };
        let buffer = grown(trains, usize::try_from(size).unwrap_or(usize::MAX));
        let buffer = u32::try_from(buffer).unwrap_or(u32::MAX);
        let fewer = width.div_ceil((buffer / size.max(1)).max(1));
        (Some(buffer), fewer.max(2))
    };
    (
        larger(send, Trains::send_buffer),
        // A ring keeps what it receives in buffers of its own.
        if by_ring {
            recv
        } else {
            larger(recv, Trains::recv_buffer)
        },
    )
}

/// Whether a ring moves many messages at a time.
pub(crate) fn by_ring(io: &IoPlan) -> bool {
    io.method == IoMethod::Uring && io.batch.is_some()
}

/// How many messages a ring has under way at the same time.
pub(crate) fn width(io: &IoPlan) -> usize {
    size(io.batch).max(1)
}

/// Whether an end that answers receives right after every send: nothing waits in between.
pub(crate) fn pairs(flow: Flow, end: &EndPlan) -> bool {
    flow.is_request_response() && end.pace.is_none_or(|pace| pace.burst == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_one_buffer_and_there_are_as_many_fewer() {
        let plan = EndPlan {
            io: IoPlan {
                batch: Some(8),
                segments: true,
                ..IoPlan::default()
            },
            ..EndPlan::default()
        };
        let setup = EndSetup {
            send_size: Some(64),
            send_width: 3329,
            ..EndSetup::default()
        };
        let (send, recv) = buffers(&plan, &setup, true);
        assert_eq!(send, (Some(64 * 64 * 8), 7));
        assert_eq!(recv, (None, 0));
        assert_eq!(buffers(&plan, &setup, false).0, (Some(64), 3329));
    }

    #[test]
    fn what_is_sent_without_a_copy_has_room_for_megabytes() {
        assert_eq!(zerocopy_width(Some(16_384)), 256);
        assert_eq!(zerocopy_width(Some(64)), 1024);
        assert_eq!(zerocopy_width(Some(1 << 30)), 16);
    }
}
