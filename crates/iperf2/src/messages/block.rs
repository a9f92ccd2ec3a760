//! Times at the beginning of a block of a TCP connection (`--trip-times`).

use super::WireTime;

/// Bytes of a block that hold its times.
pub const BLOCK_TIMES_LEN: usize = 64;
/// Positions of the fields.
const START: usize = 12;
const SENT: usize = 20;
const NUMBER: usize = 44;
const SIZE: usize = 48;
const SUM: usize = 52;
const END: usize = 56;
/// Bytes that iperf 2.1.8 adds to the sum of the sizes.
const SUM_BEGINS: u32 = 2;

/// Times of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockTimes {
    /// Start of the test, time of day.
    pub start: WireTime,
    /// Time of sending, time of day.
    pub sent: WireTime,
    /// Number of the block, from 1.
    pub number: u32,
    /// Size of the block, with its times, bytes.
    pub size: u32,
    /// Size of all blocks so far, with this one; wraps.
    pub sum: u32,
}

impl BlockTimes {
    /// Writes the times over the beginning of a block; one that is shorter holds as much as fits.
    pub fn write(&self, block: &mut [u8]) {
        let mut put = |at: usize, word: u32| {
            let places = block.iter_mut().skip(at);
            for (place, byte) in places.zip(word.to_be_bytes()) {
                *place = byte;
            }
        };
        let (start, sent) = (self.start, self.sent);
        for (at, word) in [
            (START, start.seconds),
            (START + 4, start.micros),
            (SENT, sent.seconds),
            (SENT + 4, sent.micros),
            (NUMBER, self.number),
            (SIZE, self.size),
            (SUM, self.sum.wrapping_add(SUM_BEGINS)),
            (END, 0),
            (END + 4, 0),
        ] {
            put(at, word);
        }
    }

    /// Reads the times of a block.
    #[must_use]
    pub fn read(block: &[u8; BLOCK_TIMES_LEN]) -> Self {
        let word = |at: usize| {
            let word = block.get(at..).and_then(|rest| rest.first_chunk::<4>());
            word.map_or(0, |word| u32::from_be_bytes(*word))
        };
        let time = |at: usize| WireTime {
            seconds: word(at),
            micros: word(at + 4),
        };
        Self {
            start: time(START),
            sent: time(SENT),
            number: word(NUMBER),
            size: word(SIZE),
            sum: word(SUM).wrapping_sub(SUM_BEGINS),
        }
    }
}
