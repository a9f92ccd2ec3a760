//! TLS record buffers. All memory is allocated when the connection is made.

use std::io;
use std::os::fd::BorrowedFd;

use netperf_os::io as calls;

/// Largest plaintext of a record, bytes (RFC 8446 section 5.1).
pub(super) const FRAGMENT: usize = 16_384;
/// Largest expansion of a TLS 1.3 record over its plaintext, bytes (section 5.2).
const EXPANSION: usize = 5 + 256;
/// Records per send or receive call.
const RECORDS: usize = 4;
/// Most plaintext per call, bytes.
pub(super) const BATCH: usize = RECORDS * FRAGMENT;
/// Space for records without application data: handshakes, key updates.
const CONTROL: usize = 8192;
const CAPACITY: usize = RECORDS * (FRAGMENT + EXPANSION) + CONTROL;

/// A data record in the output buffer.
#[derive(Clone, Copy, Debug, Default)]
struct SealedRecord {
    /// End offset.
    end: usize,
    /// Plaintext length, bytes.
    plain: usize,
}

/// Encrypted output.
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

    /// Returns true if the buffer holds no application data.
    #[inline]
    pub(super) fn has_no_data(&self) -> bool {
        self.count == 0
    }

    /// Free part of the buffer.
    pub(super) fn space(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..]
    }

    /// Registers `count` bytes written to the free part, with `plain` bytes of plaintext.
    pub(super) fn wrote(&mut self, count: usize, plain: usize) {
        self.filled += count;
        if plain > 0 {
            let end = self.filled;
            self.records[self.count] = SealedRecord { end, plain };
            self.count += 1;
        }
    }

    /// Sends the buffer. Returns `false` if a signal interrupts.
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

    /// Plaintext bytes of the records that the kernel has accepted completely since the last
    /// call. The peer can decrypt these and no others.
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

/// A signal, or the send time-out.
#[cold]
fn is_for_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
    )
}

/// Limit of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intake {
    /// All available data.
    Greedy,
    /// Up to the end of a record; the kernel reads the rest.
    RecordByRecord,
}

/// Received data that is not yet decrypted.
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

    /// Discards all data.
    pub(super) fn clear(&mut self) {
        self.start = self.end;
    }

    /// Removes processed bytes.
    pub(super) fn discard(&mut self, count: usize) {
        self.start += count;
    }

    /// Bytes missing from the first record, or from its header.
    #[inline]
    fn missing(&self) -> usize {
        let have = &self.bytes[self.start..self.end];
        let &[_, _, _, high, low, ..] = have else {
            return Self::HEADER - have.len();
        };
        let length = Self::HEADER + usize::from(u16::from_be_bytes([high, low]));
        // An oversized record counts as complete; rustls rejects it.
        length
            .min(FRAGMENT + EXPANSION + 1)
            .saturating_sub(have.len())
    }

    /// Returns true if there is data to decrypt.
    #[inline]
    pub(super) fn has_record(&self) -> bool {
        self.missing() == 0
    }

    /// recv(2) of available data within the limit of `intake`; 0 at the end.
    pub(super) fn fill(&mut self, fd: BorrowedFd<'_>, intake: Intake) -> io::Result<usize> {
        if self.start > 0 {
            // The remainder is shorter than a record.
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
