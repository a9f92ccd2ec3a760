//! Blocks over a connection.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netperf_measure::send_queue::SendQueue;
use netperf_measure::{clock, overtime};
use netperf_os::io::{recv, send};

use super::super::pace::{TransferPace, wait_until};
use super::{OwnerStop, PATIENCE, STALLED, Transfer, TransferCounts, TransferEnd, ended_by};

/// Amount and rate of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamOrder {
    /// Time limit.
    pub time: Option<Duration>,
    /// Bytes in total.
    pub bytes: Option<u64>,
    /// Bytes that were sent before and count: those of the header.
    pub before: u64,
    /// Rate, bit/s.
    pub rate: Option<u64>,
    /// The data may end anywhere. Otherwise a block that is begun is completed: the receiver counts
    /// blocks.
    pub ends_anywhere: bool,
}

/// Sends blocks until the time or the bytes are complete. The last block is cut.
///
/// # Errors
/// Whatever send(2) reports, except that the peer has closed the connection.
pub fn send_stream(
    fd: BorrowedFd<'_>,
    block: &[u8],
    order: &StreamOrder,
    counts: &TransferCounts,
    stop: &AtomicBool,
) -> io::Result<Transfer> {
    let all = |part: Range<usize>| send(fd, block.get(part).unwrap_or(block));
    send_stream_by(fd, block.len(), order, counts, stop, all)
}

/// As [`send_stream`]; `transmit` sends a part of a block of `length` bytes. A block begins with
/// each part from 0. It returns 0 while its source has no data, and `UnexpectedEof` at the end of
/// the source, which completes the transfer.
///
/// # Errors
/// Whatever `transmit` reports, except that the peer has closed the connection.
pub fn send_stream_by(
    fd: BorrowedFd<'_>,
    length: usize,
    order: &StreamOrder,
    counts: &TransferCounts,
    stop: &AtomicBool,
    mut transmit: impl FnMut(Range<usize>) -> io::Result<usize>,
) -> io::Result<Transfer> {
    let start = clock::now();
    let mut run = Transfer::begun(order.before);
    counts.bytes.store(order.before, Ordering::Relaxed);
    #[expect(clippy::cast_precision_loss, reason = "2^53 bit/s are fast enough")]
    let paced = |rate: u64| TransferPace::begun(rate.max(1) as f64, start);
    let mut pace = order.rate.map(paced);
    let (mut progress, mut queue) = (start, SendQueue::new(fd));
    let mut within = 0;
    loop {
        if stop.load(Ordering::Relaxed) {
            run.end = TransferEnd::Stopped;
            break;
        }
        if let Some(pace) = pace.as_mut().filter(|_| within == 0) {
            let mut next = pace.due(run.bytes.saturating_mul(8));
            if let Some(time) = order.time {
                next = next.min(start.plus(time));
            }
            if !wait_until(next, PATIENCE, &OwnerStop(stop)) {
                continue;
            }
            progress = progress.max(next);
        }
        let now = clock::now();
        let over = order
            .time
            .and_then(|time| now.since(start).checked_sub(time));
        if within == 0 && over.is_some() {
            break;
        }
        if over.is_some_and(|over| over >= overtime::OF_OWN_DATA) {
            run.end = TransferEnd::Stalled;
            break;
        }
        let rest = length.saturating_sub(within);
        let left = order.bytes.map(|bytes| bytes.saturating_sub(run.bytes));
        let most = left.map_or(rest, |left| {
            usize::try_from(left).map_or(rest, |left| left.min(rest))
        });
        if most == 0 {
            break;
        }
        match transmit(within..within + most) {
            // The wait for a source is no outage of the connection.
            Ok(0) => progress = now,
            Ok(count) => {
                run.count(count as u64, counts);
                if !order.ends_anywhere {
                    within = (within + count) % length.max(1);
                }
                progress = now;
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => {
                if queue.look().is_some() {
                    progress = progress.max(queue.moved());
                }
                let longest = order.time.map_or(STALLED, |time| {
                    (start.plus(time).since(progress))
                        .min(STALLED)
                        .max(STALLED / 4)
                });
                if let Some(end) = ended_by(error, now.since(progress), longest)? {
                    run.end = end;
                    break;
                }
            }
        }
    }
    run.elapsed = clock::now().since(start);
    Ok(run)
}

/// Receives to the end of the data. `before` bytes were read before and count. `longest` limits
/// the whole time, and an outage within it.
///
/// # Errors
/// Whatever recv(2) reports, except that the peer has reset the connection.
pub fn receive_stream(
    fd: BorrowedFd<'_>,
    buf: &mut [u8],
    limit: (u64, Duration),
    counts: &TransferCounts,
    stop: &AtomicBool,
) -> io::Result<Transfer> {
    receive_stream_to(fd, buf, limit, counts, stop, |_| {})
}

/// As [`receive_stream`]; `take` gets the bytes of each read.
///
/// # Errors
/// Whatever recv(2) reports, except that the peer has reset the connection.
pub fn receive_stream_to(
    fd: BorrowedFd<'_>,
    buf: &mut [u8],
    (before, longest): (u64, Duration),
    counts: &TransferCounts,
    stop: &AtomicBool,
    mut take: impl FnMut(&[u8]),
) -> io::Result<Transfer> {
    let start = clock::now();
    let mut run = Transfer::begun(before);
    counts.bytes.store(before, Ordering::Relaxed);
    let outage = longest.clamp(STALLED, overtime::OF_OWN_DATA);
    let mut last = start;
    loop {
        if stop.load(Ordering::Relaxed) {
            run.end = TransferEnd::Stopped;
            break;
        }
        if last.since(start) >= longest {
            run.end = TransferEnd::Overrun;
            break;
        }
        let received = recv(fd, buf);
        let now = clock::now();
        match received {
            Ok(0) => {
                last = now;
                break;
            }
            Ok(count) => {
                if let Some(reads) = &counts.reads {
                    reads.count(count);
                }
                take(buf.get(..count).unwrap_or_default());
                run.count(count as u64, counts);
                last = now;
            }
            Err(error) => {
                if let Some(end) = ended_by(error, now.since(last), outage)? {
                    run.end = end;
                    break;
                }
            }
        }
    }
    run.elapsed = last.since(start);
    Ok(run)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_sender_that_never_ends_is_received_for_a_limited_time() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let sender = std::thread::spawn(move || while far.write_all(&[7]).is_ok() {});
        let (counts, stop) = (TransferCounts::default(), AtomicBool::new(false));
        let limit = (0, Duration::from_millis(20));
        let received = receive_stream(near.as_fd(), &mut [0; 64], limit, &counts, &stop).unwrap();
        assert_eq!(received.end, TransferEnd::Overrun);
        assert!(received.bytes > 0);
        drop(near);
        sender.join().unwrap();
    }

    #[test]
    fn blocks_that_are_sent_in_parts_stay_whole_and_the_last_is_cut() {
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            far.read_to_end(&mut all).unwrap();
            all
        });
        const LENGTH: usize = 300_000;
        let block: Vec<u8> = (0..=250).cycle().take(LENGTH).collect();
        let (counts, stop) = (TransferCounts::default(), AtomicBool::new(false));
        let order = StreamOrder {
            bytes: Some(1_000_000),
            before: 7,
            ..StreamOrder::default()
        };
        let sent = send_stream(near.as_fd(), &block, &order, &counts, &stop);
        let sent = sent.unwrap();
        assert_eq!((sent.bytes, sent.end), (1_000_000, TransferEnd::Complete));
        assert!(sent.calls > 4, "none was sent in parts");
        assert_eq!(counts.bytes.load(Ordering::Relaxed), sent.bytes);
        drop(near);
        let all = reader.join().unwrap();
        assert_eq!(all.len(), 999_993);
        for (number, got) in all.chunks(LENGTH).enumerate() {
            assert_eq!(got, &block[..got.len()], "block {number}");
        }
    }

    #[test]
    fn source_ends_a_transfer_and_its_silence_is_neither_a_call_nor_the_middle_of_a_block() {
        let (near, _far) = UnixStream::pair().unwrap();
        let (counts, stop) = (TransferCounts::default(), AtomicBool::new(false));
        let order = StreamOrder {
            before: 7,
            ends_anywhere: true,
            ..StreamOrder::default()
        };
        let mut reads = [30, 0, 100].into_iter();
        let sent = send_stream_by(near.as_fd(), 100, &order, &counts, &stop, |part| {
            assert_eq!(part, 0..100);
            reads
                .next()
                .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        });
        let sent = sent.unwrap();
        assert_eq!((sent.bytes, sent.calls), (137, 2));
        assert_eq!(sent.end, TransferEnd::Complete);
        let order = StreamOrder {
            time: Some(Duration::from_millis(5)),
            ..order
        };
        let mut read = Some(30);
        let sent = send_stream_by(near.as_fd(), 100, &order, &counts, &stop, |_| {
            Ok(read.take().unwrap_or(0))
        });
        assert_eq!(sent.unwrap().end, TransferEnd::Complete);
    }

    #[test]
    fn the_time_of_an_amount_at_a_rate_is_that_of_all_its_blocks() {
        let (near, _far) = UnixStream::pair().unwrap();
        let (counts, stop) = (TransferCounts::default(), AtomicBool::new(false));
        let order = StreamOrder {
            bytes: Some(300),
            rate: Some(80_000),
            ..StreamOrder::default()
        };
        let sent = send_stream(near.as_fd(), &[7; 100], &order, &counts, &stop).unwrap();
        assert_eq!((sent.bytes, sent.calls), (300, 3));
        assert!(sent.elapsed >= Duration::from_millis(30));
        let order = StreamOrder {
            time: Some(Duration::from_millis(25)),
            bytes: None,
            ..order
        };
        let sent = send_stream(near.as_fd(), &[7; 100], &order, &counts, &stop).unwrap();
        // As many as were due when this thread ran.
        let is_whole = sent.bytes % 100 == 0 && (100..=300).contains(&sent.bytes);
        assert!(is_whole && sent.end == TransferEnd::Complete, "{sent:?}");
        stop.store(true, Ordering::Relaxed);
        let sent = send_stream(near.as_fd(), &[7; 100], &order, &counts, &stop).unwrap();
        assert_eq!((sent.bytes, sent.end), (0, TransferEnd::Stopped));
    }
}
