//! Messages of iperf 2 (`docs/spec/iperf2.md`): client header, header answer, datagram and report.
//!
//! All integers are big-endian. There is no control connection: each TCP connection and each
//! flow of datagrams describes itself. Decoding is total: any bytes give a value or an
//! [`Iperf2Error`].

#![deny(clippy::indexing_slicing, clippy::host_endian_bytes)]

mod answer;
mod block;
mod bounceback;
mod datagram;
mod error;
mod flags;
mod header;
mod report;

pub use answer::{ANSWER_LEN, HeaderAnswer, TIMED_ANSWER_LEN};
pub use block::{BLOCK_TIMES_LEN, BlockTimes};
pub use bounceback::{BOUNCEBACK_LEN, Bounceback, MOST_BOUNCEBACK, MOST_HOLD, stamp_bounceback};
pub use datagram::{CLASSIC_STAMP, Datagram, DatagramLayout, FrameNumbers, STAMP, UdpHeader};
pub use error::Iperf2Error;
pub use flags::{Flags, UpperFlags};
pub use header::{
    Amount, BASE_LEN, ClientHeader, EXTENDED_LEN, HeaderExtension, MOST_HEADER, MOST_KEY, Opening,
    RateStart, WireBurst,
};
pub(crate) use report::words_of_squares;
pub use report::{CLASSIC_REPORT, REPORT_LEN, ServerReport, Transit};

/// Default port, TCP and UDP.
pub const PORT: u16 = 5001;

/// Version words that this program sends: the protocol of iperf 2.1.8.
pub const VERSION: Version = Version {
    upper: 0x0002_0001,
    lower: 0x0008_0003,
};

/// Version of a peer: two words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// Major and minor number, 16 bits each.
    pub upper: u32,
    /// Patch level and build, 16 bits each.
    pub lower: u32,
}

impl Version {
    /// Suffix that iperf 2 prints after the version of a build that is no release.
    #[must_use]
    pub const fn stage(self) -> &'static str {
        match self.lower & 0xffff {
            0 => "-dev",
            1 => "-rc",
            2 => "-rc2",
            4 => "-private",
            _ => "",
        }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (major, minor) = (self.upper >> 16, self.upper & 0xffff);
        write!(f, "{major}.{minor}.{}", self.lower >> 16)
    }
}

/// A time or a duration on the wire: two words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WireTime {
    /// Seconds.
    pub seconds: u32,
    /// Microseconds.
    pub micros: u32,
}

impl WireTime {
    /// The time of so many microseconds; times that do not fit are cut off at the largest.
    #[must_use]
    pub fn from_micros(micros: u64) -> Self {
        let seconds = u32::try_from(micros / 1_000_000).unwrap_or(u32::MAX);
        let micros = u32::try_from(micros % 1_000_000).unwrap_or_default();
        Self { seconds, micros }
    }

    /// Microseconds. The field of microseconds may hold more than a second.
    #[must_use]
    pub fn micros(self) -> u64 {
        u64::from(self.seconds) * 1_000_000 + u64::from(self.micros)
    }
}

/// Byte of the payload at an offset of a block: the digits `0` to `9`, repeated.
#[must_use]
pub fn digit(offset: usize) -> u8 {
    b'0'.wrapping_add(u8::try_from(offset % 10).unwrap_or_default())
}

/// Fills a block with digits; its first byte is at `offset`.
pub fn fill_digits(block: &mut [u8], offset: usize) {
    for (at, byte) in (offset..).zip(block) {
        *byte = digit(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_three_numbers_and_a_stage() {
        let version = |lower| Version {
            upper: 0x0002_0001,
            lower,
        };
        assert_eq!(version(0x0009_0003).to_string(), "2.1.9");
        let stages = [0, 1, 2, 3, 4].map(|build| version(0x0009_0000 | build).stage());
        assert_eq!(stages, ["-dev", "-rc", "-rc2", "", "-private"]);
    }

    #[test]
    fn a_block_is_filled_with_digits_from_its_offset() {
        let mut block = [0; 5];
        fill_digits(&mut block, 18);
        assert_eq!(&block, b"89012");
        assert_eq!((digit(0), digit(39)), (b'0', b'9'));
    }

    #[test]
    fn a_time_is_seconds_and_microseconds() {
        let time = WireTime::from_micros(3_000_004);
        assert_eq!((time.seconds, time.micros), (3, 4));
        assert_eq!(time.micros(), 3_000_004);
        let late = WireTime {
            seconds: 1,
            micros: 2_000_000,
        };
        assert_eq!(late.micros(), 3_000_000);
    }
}
