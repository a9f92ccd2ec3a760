//! The client header, which begins a TCP connection and is in the datagrams of a client.

use netperf_wire::codec::{Reader, Writer};

use super::{Flags, Iperf2Error, UpperFlags, Version, WireTime};

/// Length of the header of iperf 2.0, bytes; iperf 2.1 extends it.
pub const BASE_LEN: usize = 24;
/// Length of the header with the extension, bytes.
pub const EXTENDED_LEN: usize = 60;
/// Longest header that is accepted, without the permit key, bytes.
pub const MOST_HEADER: usize = 512;
/// Longest permit key that is accepted, bytes.
pub const MOST_KEY: usize = 256;

/// Offset of the start time and fair-queue rate.
const RATE_START_LEN: usize = 20;
/// Length of the block of bursts.
const BURST_LEN: usize = 12;

/// First bytes of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Payload without a header.
    Payload,
    /// A header of this length, without the permit key.
    Header(usize),
    /// A message of request and response.
    Bounceback,
}

impl Opening {
    /// Tells what begins with this word.
    ///
    /// # Errors
    /// [`Iperf2Error::HeaderLength`] if the announced length is impossible.
    pub fn of(first: [u8; 4]) -> Result<Self, Iperf2Error> {
        let flags = Flags::from_bits(u32::from_be_bytes(first));
        if flags.is_payload() {
            return Ok(Self::Payload);
        }
        match flags.length() {
            Some(length @ BASE_LEN..=MOST_HEADER) => Ok(Self::Header(length)),
            Some(length) => Err(Iperf2Error::HeaderLength(length)),
            None if flags.contains(Flags::BOUNCEBACK) => Ok(Self::Bounceback),
            None if flags.contains(Flags::EXTEND) => Ok(Self::Header(EXTENDED_LEN)),
            None => Ok(Self::Header(BASE_LEN)),
        }
    }
}

/// Amount of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many bytes.
    Bytes(u32),
    /// So many units of 10 ms.
    Centiseconds(u32),
}

impl Amount {
    /// The amount of a word: positive for bytes, negative for time.
    #[must_use]
    pub const fn from_word(word: i32) -> Self {
        if word >= 0 {
            Self::Bytes(word.unsigned_abs())
        } else {
            Self::Centiseconds(word.unsigned_abs())
        }
    }

    /// The word. Amounts that do not fit are cut off at the largest.
    #[must_use]
    pub fn word(self) -> i32 {
        match self {
            Self::Bytes(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
            Self::Centiseconds(time) => i32::try_from(time).map_or(i32::MIN, |time| -time),
        }
    }
}

impl Default for Amount {
    fn default() -> Self {
        Self::Centiseconds(1000)
    }
}

/// A client header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHeader {
    /// Flags.
    pub flags: Flags,
    /// Number of parallel connections or flows.
    pub threads: u32,
    /// Port of the client for a connection back.
    pub port: u32,
    /// Size of a block or datagram; 0 for the default.
    pub buffer_len: u32,
    /// TCP of iperf 2.0: socket buffer in bytes. UDP of iperf 2.0: rate in bit/s.
    pub window_or_rate: u32,
    /// Time or bytes.
    pub amount: Amount,
    /// Fields of iperf 2.1.
    pub extension: Option<HeaderExtension>,
    /// Start time and fair-queue rate.
    pub rate_start: Option<RateStart>,
    /// Bursts.
    pub burst: Option<WireBurst>,
    /// Permit key.
    pub key: Option<Vec<u8>>,
}

/// Fields that iperf 2.1 adds to the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderExtension {
    /// Type; 0.
    pub kind: u32,
    /// Length; 0.
    pub length: u32,
    /// Upper flags.
    pub upper: UpperFlags,
    /// Lower flags; 0.
    pub lower: u16,
    /// Version of the client.
    pub version: Version,
    /// Reserved; 0.
    pub reserved: u16,
    /// Type of service.
    pub tos: u16,
    /// Rate in bit/s, or datagrams/s; 0 without a limit.
    pub rate: u32,
    /// Upper word of the rate.
    pub rate_upper: u32,
    /// Limit of unsent bytes in the sender's socket.
    pub write_prefetch: u32,
}

/// Start time and rate of fair queueing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateStart {
    /// Reserved; 0.
    pub reserved: u32,
    /// Start of the test, time of day.
    pub start: WireTime,
    /// Rate of fair queueing in byte/s, lower and upper word.
    pub rate: [u32; 2],
}

/// Bursts at a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireBurst {
    /// Bursts per second.
    pub per_second: u32,
    /// Not known; 0.
    pub unknown: u32,
    /// Size of a burst, bytes.
    pub size: u32,
}

impl ClientHeader {
    /// Length of the header without the permit key, bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        let Some(_) = self.extension else {
            return BASE_LEN;
        };
        let rate = self.rate_start.map_or(0, |_| RATE_START_LEN);
        let burst = self.burst.map_or(0, |_| BURST_LEN);
        let key = self.key.as_ref().map_or(0, |_| 2);
        EXTENDED_LEN + rate + burst + key
    }

    /// Flags of the extension; none without it.
    #[must_use]
    pub fn upper(&self) -> UpperFlags {
        self.extension.map(|one| one.upper).unwrap_or_default()
    }

    /// Bytes of the header on a TCP connection, with the permit key.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let key = self.key.as_deref().unwrap_or_default();
        let mut bytes = vec![0; self.length() + key.len()];
        let mut writer = Writer::new(&mut bytes);
        self.put_fixed(&mut writer);
        if self.extension.is_none() {
            return bytes;
        }
        if let Some(rate) = &self.rate_start {
            rate.put(&mut writer);
        }
        if let Some(burst) = &self.burst {
            for word in [burst.per_second, burst.unknown, burst.size] {
                writer.put(word.to_be_bytes());
            }
        }
        if self.key.is_some() {
            let length = u16::try_from(key.len()).unwrap_or(u16::MAX);
            writer.put(length.to_be_bytes());
            writer.put_all(key);
        }
        bytes
    }

    /// Writes the base and the extension.
    pub(super) fn put_fixed(&self, writer: &mut Writer<'_>) {
        for word in [
            self.flags.bits(),
            self.threads,
            self.port,
            self.buffer_len,
            self.window_or_rate,
            u32::from_be_bytes(self.amount.word().to_be_bytes()),
        ] {
            writer.put(word.to_be_bytes());
        }
        let Some(extension) = &self.extension else {
            return;
        };
        writer.put(extension.kind.to_be_bytes());
        writer.put(extension.length.to_be_bytes());
        writer.put(extension.upper.bits().to_be_bytes());
        writer.put(extension.lower.to_be_bytes());
        writer.put(extension.version.upper.to_be_bytes());
        writer.put(extension.version.lower.to_be_bytes());
        writer.put(extension.reserved.to_be_bytes());
        writer.put(extension.tos.to_be_bytes());
        writer.put(extension.rate.to_be_bytes());
        writer.put(extension.rate_upper.to_be_bytes());
        writer.put(extension.write_prefetch.to_be_bytes());
    }

    /// Reads the base, and the extension if the flags announce one.
    pub(super) fn take_fixed(reader: &mut Reader<'_>) -> Result<Self, Iperf2Error> {
        let mut word = |field| reader.take(field).map(u32::from_be_bytes);
        let mut header = Self {
            flags: Flags::from_bits(word("flags")?),
            threads: word("num_threads")?,
            port: word("port")?,
            buffer_len: word("buffer_len")?,
            window_or_rate: word("win_band")?,
            amount: Amount::from_word(i32::from_be_bytes(word("amount")?.to_be_bytes())),
            ..Self::default()
        };
        if header.flags.contains(Flags::EXTEND) {
            header.extension = Some(HeaderExtension {
                kind: u32::from_be_bytes(reader.take("type")?),
                length: u32::from_be_bytes(reader.take("length")?),
                upper: UpperFlags::from_bits(u16::from_be_bytes(reader.take("upperflags")?)),
                lower: u16::from_be_bytes(reader.take("lowerflags")?),
                version: Version {
                    upper: u32::from_be_bytes(reader.take("version_u")?),
                    lower: u32::from_be_bytes(reader.take("version_l")?),
                },
                reserved: u16::from_be_bytes(reader.take("reserved")?),
                tos: u16::from_be_bytes(reader.take("tos")?),
                rate: u32::from_be_bytes(reader.take("rate_lower")?),
                rate_upper: u32::from_be_bytes(reader.take("rate_upper")?),
                write_prefetch: u32::from_be_bytes(reader.take("write_prefetch")?),
            });
        }
        Ok(header)
    }

    /// Number of bytes from the start of a connection to the end of the permit key. `bytes` are
    /// those of the header without the key.
    ///
    /// # Errors
    /// [`Iperf2Error::KeyLength`] if the key is longer than [`MOST_KEY`].
    pub fn length_with_key(bytes: &[u8]) -> Result<usize, Iperf2Error> {
        let first = Reader::new(bytes, 0).take("flags")?;
        let flags = Flags::from_bits(u32::from_be_bytes(first));
        if !flags.contains(Flags::KEY_CHECK) || !flags.contains(Flags::LENGTH) {
            return Ok(bytes.len());
        }
        let Some(length) = bytes.last_chunk::<2>() else {
            return Ok(bytes.len());
        };
        match usize::from(u16::from_be_bytes(*length)) {
            key @ 0..=MOST_KEY => Ok(bytes.len() + key),
            key => Err(Iperf2Error::KeyLength(key)),
        }
    }

    /// Decodes the header of a TCP connection: all bytes that it announces, and the permit key.
    /// Parts of later versions are ignored.
    ///
    /// # Errors
    /// [`Iperf2Error`] when a field is missing or a length is impossible.
    pub fn decode(bytes: &[u8]) -> Result<Self, Iperf2Error> {
        let mut reader = Reader::new(bytes, 0);
        let mut header = Self::take_fixed(&mut reader)?;
        let announced = header.flags.length();
        if let Some(length) = announced.filter(|one| !(BASE_LEN..=MOST_HEADER).contains(one)) {
            return Err(Iperf2Error::HeaderLength(length));
        }
        let with_key = header.flags.contains(Flags::KEY_CHECK);
        let parts = announced.unwrap_or(EXTENDED_LEN) - if with_key { 2 } else { 0 };
        if header.extension.is_some() && parts >= EXTENDED_LEN + RATE_START_LEN {
            header.rate_start = Some(RateStart::take(&mut reader)?);
            if parts >= EXTENDED_LEN + RATE_START_LEN + BURST_LEN {
                let mut word = |field| reader.take(field).map(u32::from_be_bytes);
                header.burst = Some(WireBurst {
                    per_second: word("bursts per second")?,
                    unknown: word("burst reserved")?,
                    size: word("burst size")?,
                });
            }
        }
        if let Some(length) = announced.filter(|_| with_key) {
            let Some((fixed, key)) = bytes.split_at_checked(length) else {
                return Err(Iperf2Error::HeaderLength(length));
            };
            let with_key = Self::length_with_key(fixed)?;
            let mut key = Reader::new(key, length);
            let key = key.part(with_key - length, "permit key")?;
            header.key = Some(key.rest().to_vec());
        }
        Ok(header)
    }
}

impl RateStart {
    pub(super) fn put(&self, writer: &mut Writer<'_>) {
        let [low, high] = self.rate;
        let start = self.start;
        for word in [self.reserved, start.seconds, start.micros, low, high] {
            writer.put(word.to_be_bytes());
        }
    }

    pub(super) fn take(reader: &mut Reader<'_>) -> Result<Self, Iperf2Error> {
        let mut word = |field| reader.take(field).map(u32::from_be_bytes);
        Ok(Self {
            reserved: word("start reserved")?,
            start: WireTime {
                seconds: word("start seconds")?,
                micros: word("start microseconds")?,
            },
            rate: [word("fq rate")?, word("fq rate, upper")?],
        })
    }
}
