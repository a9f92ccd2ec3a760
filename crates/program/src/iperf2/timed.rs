//! Blocks with times over a connection.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use netperf_engine::iperf2::{
    StreamOrder, Transfer, TransferCounts, epoch_micros, receive_stream_to, send_stream_by,
};
use netperf_iperf2::states::blocks::{ReceivedBlocks, SentBlocks};
use netperf_os::io::send;

use super::{ShownCounts, now, read_buffer};

/// Sends blocks; each begins with its times.
pub fn send_timed_stream(
    fd: BorrowedFd<'_>,
    block: &mut [u8],
    order: &StreamOrder,
    counts: &TransferCounts,
    stop: &AtomicBool,
) -> io::Result<Transfer> {
    let mut blocks = SentBlocks::new(now());
    // A block of which nothing could be sent keeps its times.
    let mut is_begun = false;
    send_stream_by(fd, block.len(), order, counts, stop, |part| {
        if part.start == 0 && !is_begun {
            if let Some(whole) = block.get_mut(..part.end) {
                blocks.begin(whole, now());
            }
            is_begun = true;
        }
        let sent = send(fd, block.get(part).unwrap_or_default())?;
        is_begun = false;
        Ok(sent)
    })
}

/// Receives blocks and counts the delay of each.
pub fn receive_timed_stream(
    fd: BorrowedFd<'_>,
    mut blocks: ReceivedBlocks,
    limit: (u64, Duration),
    (counts, stop): (&ShownCounts, &AtomicBool),
) -> io::Result<Transfer> {
    let mut buf = read_buffer(&counts.moved);
    receive_stream_to(fd, &mut buf, limit, &counts.moved, stop, |bytes| {
        blocks.take(bytes, epoch_micros(), |delay| counts.add_delay(delay));
    })
}
