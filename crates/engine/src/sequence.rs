//! Numbers in datagrams: writing them, and what the order and the times of their arrival
//! tell (docs/manual/src/udp-quality.md has the definitions).
//!
//! A datagram begins with a mark, its number from 0, and the time since its sender began,
//! in nanoseconds; all of eight bytes, the most significant first.

use netperf_measure::clock::{self, Moment};
use netperf_model::figures::whole;
use netperf_model::{EndSetup, Jitter, NUMBER_BYTES, Quality};
use netperf_transport::Endpoint;

/// Marks a numbered datagram; its last byte is the version of the layout.
const MARK: [u8; 8] = [0xb5, b'n', b'p', b's', b'e', b'q', 0, 1];
/// Bytes of all three.
const HEAD: usize = NUMBER_BYTES as usize;
/// So many numbers up to the highest are known to have arrived or not.
const WINDOW: usize = 65_536;
/// The same for a number.
const REACH: u64 = WINDOW as u64;
/// Bits of a word of the window.
const WORD: usize = 64;

/// Numbers in datagrams at one end.
#[derive(Debug)]
pub(crate) enum Sequence {
    /// It writes them.
    Writes(Numbers),
    /// It reads them.
    Reads(Box<NumberTrack>),
}

impl Sequence {
    /// Numbers for an end that sends messages of the agreed size, or receives.
    pub(crate) fn of(setup: &EndSetup, sends: bool) -> Self {
        if sends {
            Self::Writes(Numbers::of(setup))
        } else {
            Self::Reads(Box::new(NumberTrack::new()))
        }
    }
}

/// Writes numbers.
#[derive(Debug)]
pub(crate) struct Numbers {
    /// Bytes of a datagram.
    size: usize,
    began: Moment,
}

impl Numbers {
    /// For messages of the agreed size.
    pub(crate) fn of(setup: &EndSetup) -> Self {
        let size = setup.send_size.unwrap_or(NUMBER_BYTES);
        Self {
            size: usize::try_from(size).unwrap_or(HEAD).max(HEAD),
            began: clock::now(),
        }
    }

    /// Numbers the datagrams in a buffer from `next` on. Whatever of them is not sent is
    /// numbered again.
    #[inline]
    pub(crate) fn write(&self, buffer: &mut [u8], next: u64) {
        let time = clock::now().nanos_since(self.began).to_be_bytes();
        for (number, datagram) in (next..).zip(buffer.chunks_mut(self.size)) {
            if let Some(head) = datagram.first_chunk_mut::<HEAD>() {
                *head = header(number, time);
            }
        }
    }
}

fn header(number: u64, time: [u8; 8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    let (mark, rest) = head.split_at_mut(MARK.len());
    mark.copy_from_slice(&MARK);
    let (of_number, of_time) = rest.split_at_mut(time.len());
    of_number.copy_from_slice(&number.to_be_bytes());
    of_time.copy_from_slice(&time);
    head
}

/// The number of a datagram and when it was sent; `None` without a number.
fn read(datagram: &[u8]) -> Option<(u64, u64)> {
    let head = datagram.first_chunk::<HEAD>()?;
    let (mark, rest) = head.split_first_chunk::<8>()?;
    let (number, rest) = rest.split_first_chunk::<8>()?;
    let time = rest.first_chunk::<8>()?;
    (*mark == MARK).then(|| (u64::from_be_bytes(*number), u64::from_be_bytes(*time)))
}

/// Keeps account of numbers in the order of their arrival, in memory that does not grow.
#[derive(Debug)]
pub(crate) struct NumberTrack {
    /// One bit for each number of the window: whether it has arrived.
    seen: Vec<u64>,
    /// For each number of the window that was passed over: how many had arrived when the
    /// first with a higher number did. It wraps.
    passed: Vec<u32>,
    delay: Delay,
    quality: Quality,
    began: Moment,
}

/// Jitter and spread of the transit times of datagrams, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Delay {
    jitter: Jitter,
    /// Transit time of the first datagram: the others are measured from there, because clocks of two
    /// hosts have nothing in common.
    first: Option<i64>,
    least: i64,
    most: i64,
    sum: i128,
    count: u64,
}

impl NumberTrack {
    pub(crate) fn new() -> Self {
        Self {
            seen: vec![0; WINDOW / WORD],
            passed: vec![0; WINDOW],
            delay: Delay::default(),
            quality: Quality::default(),
            began: clock::now(),
        }
    }

    /// Takes account of what a receive left in a buffer. Datagrams that came in one call
    /// have one time of arrival.
    #[inline]
    pub(crate) fn arrived<E: Endpoint>(&mut self, endpoint: &E, buffer: &[u8], bytes: usize) {
        let now = clock::now().nanos_since(self.began);
        endpoint.each_received(buffer, bytes, |datagram| match read(datagram) {
            Some((number, sent)) => self.take(number, sent, now),
            None => self.quality.unnumbered += 1,
        });
    }

    /// Takes account of one datagram, with its times by the clock of each end.
    #[inline]
    fn take(&mut self, number: u64, sent: u64, now: u64) {
        let expected = self.quality.expected;
        if number >= expected {
            self.advance(expected, number);
        } else if !self.late(expected, number) {
            return;
        }
        self.quality.received += 1;
        let transit = now.wrapping_sub(sent);
        self.delay.take(i64::from_ne_bytes(transit.to_ne_bytes()));
    }

    /// A number higher than all before it: those between were passed over.
    #[inline]
    fn advance(&mut self, expected: u64, number: u64) {
        let arrivals = wrapped(self.quality.received);
        for between in expected.max(number.saturating_sub(REACH - 1))..number {
            self.set(between, false);
            if let Some(slot) = self.passed.get_mut(slot(between)) {
                *slot = arrivals;
            }
        }
        self.set(number, true);
        self.quality.expected = number.saturating_add(1);
    }

    /// A number that is not higher than all before it: whether it is here for the first time.
    #[cold]
    fn late(&mut self, expected: u64, number: u64) -> bool {
        if expected - number > REACH {
            self.quality.too_late += 1;
            return false;
        }
        if self.is_set(number) {
            self.quality.duplicated += 1;
            return false;
        }
        self.set(number, true);
        let passed = self.passed.get(slot(number)).copied().unwrap_or(0);
        let extent = wrapped(self.quality.received).wrapping_sub(passed);
        self.quality.reordered += 1;
        self.quality.extent = self.quality.extent.max(u64::from(extent));
        true
    }

    #[inline]
    fn set(&mut self, number: u64, here: bool) {
        let slot = slot(number);
        if let Some(word) = self.seen.get_mut(slot / WORD) {
            let bit = 1 << (slot % WORD);
            *word = if here { *word | bit } else { *word & !bit };
        }
    }

    fn is_set(&self, number: u64) -> bool {
        let slot = slot(number);
        let word = self.seen.get(slot / WORD).copied().unwrap_or(0);
        word & (1 << (slot % WORD)) != 0
    }

    /// Numbers received so far.
    pub(crate) fn quality(&self) -> Quality {
        let delay = &self.delay;
        let spread = |most: i64| u64::try_from(most.saturating_sub(delay.least)).unwrap_or(0);
        let mean = delay.sum.checked_div(i128::from(delay.count)).unwrap_or(0);
        Quality {
            jitter: whole(delay.jitter.mean()),
            mean_variation: spread(i64::try_from(mean).unwrap_or(i64::MAX)),
            most_variation: spread(delay.most),
            ..self.quality
        }
    }
}

impl Delay {
    #[inline]
    fn take(&mut self, transit: i64) {
        self.jitter.take(transit);
        let transit = transit.wrapping_sub(*self.first.get_or_insert(transit));
        self.least = self.least.min(transit);
        self.most = self.most.max(transit);
        self.sum += i128::from(transit);
        self.count += 1;
    }
}

/// Position of a number in the window.
#[inline]
fn slot(number: u64) -> usize {
    usize::try_from(number % REACH).unwrap_or(0)
}

/// A count that only differences are taken of.
#[expect(
    clippy::cast_possible_truncation,
    reason = "differences of counts that wrapped are right as long as they are below 2^32"
)]
#[inline]
const fn wrapped(count: u64) -> u32 {
    count as u32
}

#[cfg(test)]
mod tests;
