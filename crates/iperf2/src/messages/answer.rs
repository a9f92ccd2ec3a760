//! The server's answer to the client header of a TCP connection.

use netperf_wire::codec::{Reader, Writer};

use super::{Iperf2Error, Version, WireTime};

/// Length of an answer without times, bytes.
pub const ANSWER_LEN: usize = 28;
/// Length of an answer with times, bytes.
pub const TIMED_ANSWER_LEN: usize = 52;
/// Type of the answer.
const KIND: u32 = 2;

/// Answer to a client header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderAnswer {
    /// Version of the server.
    pub version: Version,
    /// With trip times: start time in the client header, time when the header arrived, and time
    /// of this answer.
    pub times: Option<[WireTime; 3]>,
}

impl HeaderAnswer {
    /// Bytes of the answer: [`ANSWER_LEN`] or [`TIMED_ANSWER_LEN`].
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let length = self.times.map_or(ANSWER_LEN, |_| TIMED_ANSWER_LEN);
        let mut bytes = vec![0; length];
        let mut writer = Writer::new(&mut bytes);
        let length = u32::try_from(length).unwrap_or_default();
        for word in [
            KIND,
            length,
            0,
            self.version.upper,
            self.version.lower,
            0,
            0,
        ] {
            writer.put(word.to_be_bytes());
        }
        for time in self.times.into_iter().flatten() {
            writer.put(time.seconds.to_be_bytes());
            writer.put(time.micros.to_be_bytes());
        }
        bytes
    }

    /// Decodes an answer. More bytes than the answer has are ignored.
    ///
    /// # Errors
    /// [`Iperf2Error::Answer`] for another type or length, [`Iperf2Error::Cut`] for too few bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, Iperf2Error> {
        let mut reader = Reader::new(bytes, 0);
        let mut word = |field| reader.take(field).map(u32::from_be_bytes);
        let (kind, length) = (word("type")?, word("length")?);
        let timed = match usize::try_from(length) {
            Ok(ANSWER_LEN) => false,
            Ok(TIMED_ANSWER_LEN) => true,
            _ => return Err(Iperf2Error::Answer { kind, length }),
        };
        if kind != KIND {
            return Err(Iperf2Error::Answer { kind, length });
        }
        let _flags = word("flags")?;
        let (upper, lower) = (word("version_u")?, word("version_l")?);
        let (_first, _second) = (word("reserved")?, word("reserved")?);
        let mut time = |field| {
            Ok::<_, Iperf2Error>(WireTime {
                seconds: word(field)?,
                micros: word(field)?,
            })
        };
        let times = if timed {
            Some([time("sent")?, time("sent_rx")?, time("ack")?])
        } else {
            None
        };
        Ok(Self {
            version: Version { upper, lower },
            times,
        })
    }
}
