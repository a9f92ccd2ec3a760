//! Blocks with times in the data of a TCP connection (`--trip-times`): how they are sent, and their
//! delays at the receiver.

use netperf_model::figures::count;

use crate::messages::{BLOCK_TIMES_LEN, BlockTimes, Opening, WireTime};

/// Bytes that tell the length of a header.
const WORD: usize = 4;

/// Blocks that are sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct SentBlocks {
    start: WireTime,
    number: u32,
    sum: u32,
}

impl SentBlocks {
    /// The blocks of a test that starts now, time of day.
    #[must_use]
    pub fn new(start: WireTime) -> Self {
        Self {
            start,
            ..Self::default()
        }
    }

    /// Writes the times of the next block, which has this many bytes.
    pub fn begin(&mut self, block: &mut [u8], now: WireTime) {
        let size = u32::try_from(block.len()).unwrap_or(u32::MAX);
        self.number = self.number.wrapping_add(1);
        self.sum = self.sum.wrapping_add(size);
        let times = BlockTimes {
            start: self.start,
            sent: now,
            number: self.number,
            size,
            sum: self.sum,
        };
        times.write(block);
    }
}

/// Blocks that are received.
#[derive(Clone, Debug)]
pub struct ReceivedBlocks {
    /// The header of the connection is in front.
    is_opening: bool,
    /// Times of the block, or the first word of the header.
    head: [u8; BLOCK_TIMES_LEN],
    /// Bytes of the head so far.
    have: usize,
    /// Bytes behind the head that are to come.
    left: usize,
    /// The data has no blocks.
    is_broken: bool,
}

impl Default for ReceivedBlocks {
    fn default() -> Self {
        Self {
            is_opening: false,
            head: [0; BLOCK_TIMES_LEN],
            have: 0,
            left: 0,
            is_broken: false,
        }
    }
}

impl ReceivedBlocks {
    /// Blocks behind the header with which their sender begins the connection.
    #[must_use]
    pub fn behind_header() -> Self {
        Self {
            is_opening: true,
            ..Self::default()
        }
    }

    /// Length of the head.
    const fn head_length(&self) -> usize {
        if self.is_opening {
            WORD
        } else {
            BLOCK_TIMES_LEN
        }
    }

    /// Bytes behind a complete head; `None` if there are no blocks.
    fn behind_head(&self) -> Option<usize> {
        if self.is_opening {
            return match Opening::of(*self.head.first_chunk()?) {
                Ok(Opening::Header(length)) => length.checked_sub(WORD),
                Ok(Opening::Payload | Opening::Bounceback) | Err(_) => None,
            };
        }
        let size = usize::try_from(BlockTimes::read(&self.head).size).ok()?;
        size.checked_sub(BLOCK_TIMES_LEN)
    }

    /// Takes bytes that have arrived until `now`, microseconds of the time of day. `ended` gets the
    /// delay of each block that is complete, microseconds, with the offset between the clocks of
    /// both ends.
    pub fn take(&mut self, mut bytes: &[u8], now: u64, mut ended: impl FnMut(f64)) {
        while !self.is_broken && !bytes.is_empty() {
            let wanted = self.head_length();
            if self.have < wanted {
                let copied = (wanted - self.have).min(bytes.len());
                let free = self.head.iter_mut().skip(self.have);
                free.zip(bytes).for_each(|(place, byte)| *place = *byte);
                bytes = bytes.get(copied..).unwrap_or_default();
                self.have += copied;
                if self.have < wanted {
                    return;
                }
                match self.behind_head() {
                    Some(left) => self.left = left,
                    None => {
                        self.is_broken = true;
                        return;
                    }
                }
            }
            let passed = self.left.min(bytes.len());
            bytes = bytes.get(passed..).unwrap_or_default();
            self.left -= passed;
            if self.left == 0 {
                self.have = 0;
                if std::mem::take(&mut self.is_opening) {
                    continue;
                }
                ended(count(now) - count(BlockTimes::read(&self.head).sent.micros()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::messages::{ClientHeader, HeaderExtension, RateStart, UpperFlags};

    use super::super::connection::timed_header;
    use super::*;

    /// Bytes of blocks of this size, sent at these times.
    fn sent(size: usize, times: &[u64]) -> Vec<u8> {
        let mut blocks = SentBlocks::new(WireTime::from_micros(1_000_000));
        let blocks = times.iter().map(|time| {
            let mut block = vec![b'7'; size];
            blocks.begin(&mut block, WireTime::from_micros(*time));
            block
        });
        blocks.collect::<Vec<_>>().concat()
    }

    #[test]
    fn each_block_has_a_delay_however_its_bytes_arrive() {
        for size in [64, 65, 100] {
            let bytes = sent(size, &[1_000_000, 1_000_010, 1_000_020]);
            for step in [1, 3, 63, 64, 65, 1000] {
                let (mut blocks, mut delays) = (ReceivedBlocks::default(), Vec::new());
                for part in bytes.chunks(step) {
                    blocks.take(part, 1_000_025, |delay| delays.push(delay));
                }
                assert_eq!(delays, [25.0, 15.0, 5.0], "{size} by {step}");
            }
        }
    }

    #[test]
    fn blocks_begin_behind_a_header_of_the_length_that_it_announces() {
        let header = ClientHeader {
            extension: Some(HeaderExtension {
                upper: UpperFlags::TRIP_TIMES,
                ..HeaderExtension::default()
            }),
            rate_start: Some(RateStart::default()),
            ..ClientHeader::default()
        };
        let own = timed_header(&header, WireTime::default()).unwrap();
        let bytes = [own, sent(100, &[1_000_000, 1_000_010])].concat();
        for step in [1, 3, 4, 79, 80, 81, 1000] {
            let (mut blocks, mut delays) = (ReceivedBlocks::behind_header(), Vec::new());
            for part in bytes.chunks(step) {
                blocks.take(part, 1_000_025, |delay| delays.push(delay));
            }
            assert_eq!(delays, [25.0, 15.0], "by {step}");
        }
        // A server that knows no times sends digits.
        let mut blocks = ReceivedBlocks::behind_header();
        let digits: Vec<u8> = b"0123456789".repeat(100);
        blocks.take(&digits, 1_000_025, |delay| panic!("{delay}"));
    }

    #[test]
    fn an_incomplete_block_has_none_and_data_without_blocks_neither() {
        let (mut blocks, mut delays) = (ReceivedBlocks::default(), Vec::new());
        let bytes = sent(100, &[1_000_000, 1_000_010]);
        blocks.take(&bytes[..150], 1_000_025, |delay| delays.push(delay));
        assert_eq!(delays, [25.0]);
        let (mut blocks, mut delays) = (ReceivedBlocks::default(), Vec::new());
        blocks.take(&[0; 1000], 1_000_025, |delay| delays.push(delay));
        assert!(delays.is_empty());
    }
}
