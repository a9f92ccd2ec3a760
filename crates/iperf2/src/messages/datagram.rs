//! Datagrams: sequence number and time, and in those of a client its header.

use netperf_wire::codec::{Reader, Writer};

use super::header::ClientHeader;
use super::{Flags, Iperf2Error, RateStart, WireTime};

/// Bytes of number and time in a datagram of iperf 2.1.
pub const STAMP: usize = 16;
/// Bytes of number and time in a datagram of iperf 2.0.
pub const CLASSIC_STAMP: usize = 12;
/// Numbers of this magnitude are those of final datagrams with only the sign bit set.
const SIGN_ONLY: u64 = 1 << 30;
/// No client has so many threads, and flags of iperf 2.1 are larger.
const MOST_THREADS: u32 = 1 << 16;
/// Length of the block of frames.
const FRAMES_LEN: usize = 32;

/// Position of fields in the datagrams of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramLayout {
    /// iperf 2.0: numbers of 32 bits from 0, flags at byte 12.
    Classic,
    /// iperf 2.1: numbers of 64 bits from 1, flags at byte 16.
    Modern,
}

impl DatagramLayout {
    /// The layout of a flow by the datagram that arrives first, whichever that is. The word at byte
    /// 12 is the upper half of a number, or flags or digits of iperf 2.0; where it is 0, the next is
    /// flags, digits, or the number of threads of iperf 2.0. Of a datagram that is too short the
    /// number decides: those of iperf 2.0 begin with 0, those of 2.1 with 1.
    #[must_use]
    pub fn of_first(bytes: &[u8]) -> Self {
        let word = |at: usize| {
            let word = bytes.get(at..)?.first_chunk::<4>()?;
            Some(u32::from_be_bytes(*word))
        };
        let is_classic = match (word(12), word(16)) {
            (Some(0), Some(1..MOST_THREADS)) => true,
            // Flags, digits, or those of short datagrams with trip times.
            (Some(0), Some(MOST_THREADS..)) | (Some(u32::MAX), _) => false,
            (Some(1..), _) => true,
            _ => word(0) == Some(0),
        };
        if is_classic {
            Self::Classic
        } else {
            Self::Modern
        }
    }

    /// Bytes in front of the client header.
    #[must_use]
    pub const fn stamp(self) -> usize {
        match self {
            Self::Classic => CLASSIC_STAMP,
            Self::Modern => STAMP,
        }
    }
}

/// Number and time of a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Sequence number; negative in a final datagram.
    pub number: i64,
    /// Time of sending, time of day; `None` if the datagram is too short for it.
    pub sent: Option<WireTime>,
}

impl Datagram {
    /// Decodes the beginning of a datagram. `None` if it has less than 4 bytes.
    #[must_use]
    pub fn decode(bytes: &[u8], layout: DatagramLayout) -> Option<Self> {
        let low = bytes.first_chunk::<4>()?;
        let low = u32::from_be_bytes(*low);
        let word = |at: usize| {
            let word = bytes.get(at..)?.first_chunk::<4>()?;
            Some(u32::from_be_bytes(*word))
        };
        let sent = match (word(4), word(8)) {
            (Some(seconds), Some(micros)) => Some(WireTime { seconds, micros }),
            _ => None,
        };
        let high = match (layout, word(12)) {
            (DatagramLayout::Modern, Some(high)) => high,
            // The sign is that of the lower word.
            _ if low >= 1 << 31 => u32::MAX,
            _ => 0,
        };
        let number = u64::from(high) << 32 | u64::from(low);
        let number = i64::from_be_bytes(number.to_be_bytes());
        Some(Self {
            number: without_sign_only(number),
            sent,
        })
    }

    /// True if this is a final datagram.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        self.number < 0
    }

    /// The 16 bytes of iperf 2.1, or the first 12 of them for iperf 2.0.
    #[must_use]
    pub fn stamp(&self) -> [u8; STAMP] {
        let mut bytes = [0; STAMP];
        let mut writer = Writer::new(&mut bytes);
        let [a, b, c, d, low @ ..] = self.number.to_be_bytes();
        let sent = self.sent.unwrap_or_default();
        writer.put(low);
        writer.put(sent.seconds.to_be_bytes());
        writer.put(sent.micros.to_be_bytes());
        writer.put([a, b, c, d]);
        bytes
    }
}

/// iperf 2.0.13 sets only the sign bit of the last number; other versions negate it.
fn without_sign_only(number: i64) -> i64 {
    let magnitude = number.unsigned_abs();
    if number < 0 && magnitude > SIGN_ONLY && magnitude < 1 << 31 {
        let low = number & 0x7fff_ffff;
        return low.wrapping_neg();
    }
    number
}

/// FrameNumbers of an isochronous test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameNumbers {
    /// Period, microseconds.
    pub period: u32,
    /// Start of the test, time of day.
    pub start: WireTime,
    /// Number of the frame before.
    pub previous: u32,
    /// Number of the frame, from 1.
    pub number: u32,
    /// Size of the frame, bytes.
    pub size: u32,
    /// Bytes of the frame that are left, with this datagram.
    pub left: u32,
    /// Reserved; 0.
    pub reserved: u32,
}

/// Client header in a datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UdpHeader {
    /// Base, and the extension in iperf 2.1.
    pub header: ClientHeader,
    /// With trip times and isochronous tests: frames, and start time.
    pub timed: Option<(FrameNumbers, RateStart)>,
}

impl UdpHeader {
    /// Decodes the client header of a datagram; `None` if the datagram has none.
    #[must_use]
    pub fn decode(bytes: &[u8], layout: DatagramLayout) -> Option<Self> {
        let rest = bytes.get(layout.stamp()..)?;
        let mut reader = Reader::new(rest, layout.stamp());
        let first = rest.first_chunk::<4>()?;
        let flags = Flags::from_bits(u32::from_be_bytes(*first));
        let modern = layout == DatagramLayout::Modern;
        if flags.is_payload() || (modern && !flags.contains(Flags::EXTEND)) {
            return None;
        }
        let header = ClientHeader::take_fixed(&mut reader).ok()?;
        let announced = header.flags.length().unwrap_or_default();
        let is_timed = modern && announced >= STAMP + super::EXTENDED_LEN + FRAMES_LEN;
        let timed = is_timed.then(|| Self::take_timed(&mut reader).ok());
        Some(Self {
            header,
            timed: timed.flatten(),
        })
    }

    fn take_timed(reader: &mut Reader<'_>) -> Result<(FrameNumbers, RateStart), Iperf2Error> {
        let mut word = |field| reader.take(field).map(u32::from_be_bytes);
        let frames = FrameNumbers {
            period: word("burst period")?,
            start: WireTime {
                seconds: word("start seconds")?,
                micros: word("start microseconds")?,
            },
            previous: word("previous frame")?,
            number: word("frame")?,
            size: word("burst size")?,
            left: word("bytes left")?,
            reserved: word("reserved")?,
        };
        Ok((frames, RateStart::take(reader)?))
    }

    /// Bytes of the header behind number and time.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let fixed = if self.header.extension.is_some() {
            super::EXTENDED_LEN
        } else {
            super::BASE_LEN
        };
        let timed = self.timed.map_or(0, |_| FRAMES_LEN + 20);
        let mut bytes = vec![0; fixed + timed];
        let mut writer = Writer::new(&mut bytes);
        self.header.put_fixed(&mut writer);
        if let Some((frames, start)) = &self.timed {
            for word in [
                frames.period,
                frames.start.seconds,
                frames.start.micros,
                frames.previous,
                frames.number,
                frames.size,
                frames.left,
                frames.reserved,
            ] {
                writer.put(word.to_be_bytes());
            }
            start.put(&mut writer);
        }
        bytes
    }
}
