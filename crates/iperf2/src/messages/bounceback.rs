//! Messages of a request and response test (`--bounceback`), which the server returns.

use std::time::Duration;

use netperf_wire::codec::Reader;

use super::{Iperf2Error, WireTime};

/// Bytes of a message with its fields; digits follow.
pub const BOUNCEBACK_LEN: usize = 60;
/// Largest message that is returned, bytes.
pub const MOST_BOUNCEBACK: usize = 1 << 20;

/// Longest time for which a message is held: a client may not keep a seat by one.
pub const MOST_HOLD: Duration = Duration::from_secs(10);

/// Positions of the times of the server.
const RECEIVED: usize = 28;
const SENT: usize = 36;
/// Bits of the second flags.
const QUICK_ACK: u16 = 0x8000;
const TRIP_TIMES: u16 = 0x4000;
const HAS_TOS: u16 = 0x2000;

/// The fields of a message that the server needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounceback {
    /// Size of the message, bytes.
    pub size: usize,
    /// The message is acknowledged at once.
    pub quick_ack: bool,
    /// The clocks of both ends are the same.
    pub trip_times: bool,
    /// Type of service of the answers.
    pub tos: Option<u8>,
    /// Time from the request to the answer, microseconds.
    pub hold: u32,
}

impl Bounceback {
    /// Reads the beginning of a message.
    ///
    /// # Errors
    /// [`Iperf2Error`] if it is cut, or announces a size that is not returned.
    pub fn decode(bytes: &[u8]) -> Result<Self, Iperf2Error> {
        let mut reader = Reader::new(bytes, 0);
        let _flags: [u8; 4] = reader.take("flags")?;
        let announced = u32::from_be_bytes(reader.take("size")?);
        let _number: [u8; 4] = reader.take("number")?;
        let flags = u16::from_be_bytes(reader.take("second flags")?);
        let tos = u16::from_be_bytes(reader.take("type of service")?);
        let _times: [u8; 28] = reader.take("times")?;
        let hold = u32::from_be_bytes(reader.take("hold time")?);
        let size = usize::try_from(announced).ok();
        let size = size.filter(|size| (BOUNCEBACK_LEN..=MOST_BOUNCEBACK).contains(size));
        Ok(Self {
            size: size.ok_or(Iperf2Error::Bounceback(announced))?,
            quick_ack: flags & QUICK_ACK != 0,
            trip_times: flags & TRIP_TIMES != 0,
            tos: u8::try_from(tos).ok().filter(|_| flags & HAS_TOS != 0),
            hold,
        })
    }

    /// Time for which the server holds it.
    #[must_use]
    pub fn held(&self) -> Duration {
        Duration::from_micros(self.hold.into()).min(MOST_HOLD)
    }

    /// Remarks on its connection, with a blank in front.
    #[must_use]
    pub fn remarks(&self) -> String {
        let quick = if self.quick_ack { " w/quickack" } else { "" };
        let timed = if self.trip_times { " (trip-times)" } else { "" };
        format!(" (bb{quick} len/hold={}/{}){timed}", self.size, self.hold)
    }
}

/// Writes the times at which the server has received and returns a message.
pub fn stamp_bounceback(message: &mut [u8], received: WireTime, sent: WireTime) {
    for (at, time) in [(RECEIVED, received), (SENT, sent)] {
        let words = [time.seconds, time.micros].map(u32::to_be_bytes);
        for (place, byte) in message.iter_mut().skip(at).zip(words.concat()) {
            *place = byte;
        }
    }
}
