//! Numbered datagrams.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use netperf_measure::clock;
use netperf_os::io::{is_no_progress, is_queue_full};
use netperf_os::wait;

use super::super::pace::{TransferPace, wait_until};
use super::{
    Credit, OwnerStop, PATIENCE, STALLED, Transfer, TransferCounts, TransferEnd, epoch_micros,
};

/// Bytes of number and time.
const STAMP: usize = 16;
/// Pause after a full queue of this host, or without credit.
const PAUSE: Duration = Duration::from_millis(1);

/// Amount, rate and lengths of a flow.
#[derive(Clone, Copy, Debug)]
pub struct DatagramOrder<'a> {
    /// Time limit.
    pub time: Option<Duration>,
    /// Bytes in total.
    pub bytes: Option<u64>,
    /// Datagrams per 10^9 seconds.
    pub per_giga_second: u64,
    /// Length of a datagram.
    pub length: usize,
    /// The first datagram is at least so long.
    pub first: usize,
    /// Bytes and datagrams from the destination: no more are sent.
    pub credit: Option<&'a Credit>,
}

/// Sends datagrams with numbers from 1 until time or bytes are complete. `datagram` is the
/// content; number and time are written to its beginning. Returns the last number, too.
///
/// # Errors
/// Whatever the call reports, except that a queue of this host is full and that nothing listens
/// at the destination.
pub fn send_datagrams(
    datagram: &mut [u8],
    order: &DatagramOrder<'_>,
    counts: &TransferCounts,
    stop: &AtomicBool,
    mut send: impl FnMut(&[u8]) -> io::Result<usize>,
) -> io::Result<(Transfer, i64)> {
    // CLOCK_REALTIME is read first, so that no stamp is in the future.
    let (epoch, start) = (epoch_micros(), clock::now());
    let mut run = Transfer::begun(0);
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no 53 bits")]
    let per_second = order.per_giga_second.max(1) as f64 / 1e9;
    let mut pace = TransferPace::begun(per_second, start);
    let mut number: i64 = 0;
    let mut last = start;
    loop {
        let due = pace.due(run.calls);
        let end = order.time.map(|time| start.plus(time));
        let due = end.map_or(due, |end| due.min(end));
        if !wait_until(due, PATIENCE, &OwnerStop(stop)) {
            run.end = TransferEnd::Stopped;
            break;
        }
        let now = clock::now();
        if end.is_some_and(|end| now >= end) {
            break;
        }
        let left = order.bytes.map(|bytes| bytes.saturating_sub(run.bytes));
        let wanted = if number == 0 {
            order.length.max(order.first)
        } else {
            order.length
        };
        let most = left.map_or(wanted, |left| {
            usize::try_from(left).map_or(wanted, |left| left.min(wanted))
        });
        if most == 0 {
            break;
        }
        // A datagram has at least the word of its number.
        let length = if number == 0 { wanted } else { most.max(4) };
        let sent = u64::try_from(length).unwrap_or_default();
        // As much is left for the end.
        if order.credit.is_some_and(|credit| !credit.take(sent, sent)) {
            if now.since(last) >= STALLED {
                run.end = TransferEnd::Stalled;
                break;
            }
            wait::sleep(PAUSE);
            continue;
        }
        let micros = u64::try_from(now.since(start).as_micros()).unwrap_or(u64::MAX);
        write_stamp(datagram, number + 1, epoch.saturating_add(micros));
        let result = send(datagram.get(..length).unwrap_or(datagram));
        if let (Err(_), Some(credit)) = (&result, order.credit) {
            credit.add(sent);
        }
        match result {
            Ok(_) => {}
            Err(error) if is_queue_full(&error) || is_no_progress(&error) => {
                wait::sleep(PAUSE);
                continue;
            }
            // The answer to an earlier datagram; this one was not sent.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                if now.since(last) >= STALLED {
                    run.end = TransferEnd::Closed;
                    break;
                }
                wait::sleep(PAUSE);
                continue;
            }
            Err(error) => return Err(error),
        }
        number += 1;
        run.count(sent, counts);
        last = now;
    }
    run.elapsed = clock::now().since(start);
    Ok((run, number))
}

/// Writes number and time of day, microseconds, as far as they fit.
fn write_stamp(datagram: &mut [u8], number: i64, micros: u64) {
    let [a, b, c, d, low @ ..] = number.to_be_bytes();
    let word = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes();
    let words = [
        low,
        word(micros / 1_000_000),
        word(micros % 1_000_000),
        [a, b, c, d],
    ];
    for (place, byte) in datagram.iter_mut().take(STAMP).zip(words.as_flattened()) {
        *place = *byte;
    }
}

/// A datagram that arrived, or the end of a wait.
#[derive(Clone, Copy, Debug)]
pub enum Arrived<'a> {
    /// A datagram, and its time of arrival: microseconds since 1970.
    Datagram(&'a [u8], u64),
    /// Nothing arrived for [`PATIENCE`].
    Nothing,
}

/// Receives datagrams until the caller breaks or stops. `recv` waits for at most [`PATIENCE`].
///
/// # Errors
/// Whatever the call reports, except that nothing listened at the destination of an earlier send.
pub fn receive_datagrams(
    buf: &mut [u8],
    stop: &AtomicBool,
    mut recv: impl FnMut(&mut [u8]) -> io::Result<usize>,
    mut take: impl FnMut(Arrived<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    loop {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let flow = match recv(buf) {
            Ok(count) => {
                let bytes = buf.get(..count).unwrap_or_default();
                take(Arrived::Datagram(bytes, epoch_micros()))
            }
            Err(error) if is_no_progress(&error) => take(Arrived::Nothing),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                wait::sleep(PATIENCE / 10);
                take(Arrived::Nothing)
            }
            Err(error) => return Err(error),
        };
        if flow.is_break() {
            return Ok(());
        }
    }
}
