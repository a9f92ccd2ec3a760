//! Records on their way out and in: everything that is needed is allocated when connecting.

use std::io;
use std::os::fd::BorrowedFd;

use netperf_os::io as calls;

/// The most plaintext of a record, bytes (RFC 8446 section 5.1).
pub(super) const FRAGMENT: usize = 16_384;
/// The most that a record of TLS 1.3 is longer than its plaintext, bytes (section 5.2).
const EXPANSION: usize = 5 + 256;
/// Records that go out in one call, and that one call takes in.
const RECORDS: usize = 4;
/// The most bytes that one call hands on.
pub(super) const BATCH: usize = RECORDS * FRAGMENT;
/// Room for records that carry none of our data: handshakes, keys that change.
const CONTROL: usize = 8192;
const CAPACITY: usize = RECORDS * (FRAGMENT + EXPANSION) + CONTROL;

/// One record of data among what goes out.
#[derive(Clone, Copy, Debug, Default)]
struct SealedRecord {
    /// Where it ends.
    end: usize,
    /// Bytes of plaintext in it.
    plain: usize,
}

/// What is to be sent, as the peer will see it.
#[derive(Debug)]
pub(super) struct CipherOutput {
    bytes: Box<[u8]>,
    sent: usize,
    filled: usize,
    records: [SealedRecord; RECORDS],
    settled: usize,
    count: usize,
}

impl CipherOutput {
    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0; CAPACITY].into(),
            sent: 0,
            filled: 0,
            records: [SealedRecord::default(); RECORDS],
            settled: 0,
            count: 0,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Whether there is none of our data in it.
    #[inline]
    pub(super) fn has_no_data(&self) -> bool {
        self.count == 0
    }

    /// Where the next bytes are to be written.
    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..]
    }

    /// That many bytes were written there, `plain` bytes of data in them.
    pub(super) fn wrote(&mut self, count: usize, plain: usize) {
        self.filled += count;
        if plain > 0 {
            let end = self.filled;
            self.records[self.count] = SealedRecord { end, plain };
            self.count += 1;
        }
    }

    /// Sends what is there; `false` when a signal came first.
    pub(super) fn flush(&mut self, fd: BorrowedFd<'_>) -> io::Result<bool> {
        while self.sent < self.filled {
            match calls::send(fd, &self.bytes[self.sent..self.filled]) {
                Ok(count) => self.sent += count,
                Err(error) if is_for_later(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Bytes of data whose record the kernel has taken whole since the last time: these, and
    /// no others, the peer can read.
    #[inline]
    pub(super) fn settle(&mut self) -> usize {
        let mut plain = 0;
        while self.settled < self.count && self.records[self.settled].end <= self.sent {
            plain += self.records[self.settled].plain;
            self.settled += 1;
        }
        if self.sent == self.filled {
            (self.sent, self.filled, self.settled, self.count) = (0, 0, 0, 0);
        }
        plain
    }
}

/// A signal came, or the socket has no room within its time.
#[cold]
fn is_for_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
    )
}

/// How much may be read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intake {
    /// As much as there is.
    Greedy,
    /// Not beyond the end of a record: the rest is for somebody else.
    RecordByRecord,
}

/// What has been received and not been decrypted.
#[derive(Debug)]
pub(super) struct CipherInput {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl CipherInput {
    pub(super) const CAPACITY: usize = CAPACITY;
    const HEADER: usize = 5;

    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0; CAPACITY].into(),
            start: 0,
            end: 0,
        }
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.end]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Nothing of it is wanted any more.
    pub(super) fn clear(&mut self) {
        self.start = self.end;
    }

    /// That many bytes have been dealt with.
    pub(super) fn discard(&mut self, count: usize) {
        self.start += count;
    }

    /// Bytes until the first record is whole, or its header as long as that is not.
    #[inline]
    fn missing(&self) -> usize {
        let have = &self.bytes[self.start..self.end];
        let &[_, _, _, high, low, ..] = have else {
            return Self::HEADER - have.len();
        };
        let length = Self::HEADER + usize::from(u16::from_be_bytes([high, low]));
        // A record longer than any may be is as whole as it gets: it will be refused.
        length
            .min(FRAGMENT + EXPANSION + 1)
            .saturating_sub(have.len())
    }

    /// Whether there is something to decrypt.
    #[inline]
    pub(super) fn has_record(&self) -> bool {
        self.missing() == 0
    }

    /// recv(2) of what there is, at most what `intake` allows; 0 at the end.
    pub(super) fn fill(&mut self, fd: BorrowedFd<'_>, intake: Intake) -> io::Result<usize> {
        if self.start > 0 {
            // Less than a record is left, or nothing.
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let limit = match intake {
            Intake::Greedy => self.bytes.len(),
            Intake::RecordByRecord => self.end + self.missing(),
        };
        let count = calls::recv(fd, &mut self.bytes[self.end..limit])?;
        self.end += count;
        Ok(count)
    }
}
