//! Datagrams: the words by which a UDP stream begins, and the header of its data.

/// Bytes of a connect word.
pub const CONNECT_WORD: usize = 4;

/// A word of the beginning of a UDP stream. Programs send it in the byte order of their host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectWord {
    /// Client: a new stream.
    Connect,
    /// Client of an old version.
    OldConnect,
    /// Server: the stream exists.
    Reply,
    /// Server of an old version.
    OldReply,
}

const WORDS: [(ConnectWord, u32); 4] = [
    (ConnectWord::Connect, 0x3637_3839),
    (ConnectWord::OldConnect, 123_456_789),
    (ConnectWord::Reply, 0x3938_3736),
    (ConnectWord::OldReply, 987_654_321),
];

impl ConnectWord {
    /// The bytes that a little-endian host sends.
    #[must_use]
    pub fn bytes(self) -> [u8; CONNECT_WORD] {
        let row = WORDS.iter().find(|(word, _)| *word == self);
        row.map_or([0; 4], |(_, value)| value.to_le_bytes())
    }

    /// Reads a word from a client, in either byte order.
    #[must_use]
    pub fn from_client(bytes: &[u8]) -> Option<Self> {
        // In the other byte order the new word is the reply.
        match Self::any(bytes)? {
            Self::Connect | Self::Reply => Some(Self::Connect),
            Self::OldConnect => Some(Self::OldConnect),
            Self::OldReply => None,
        }
    }

    /// Reads a word from a server, in either byte order.
    #[must_use]
    pub fn from_server(bytes: &[u8]) -> Option<Self> {
        match Self::any(bytes)? {
            Self::Reply | Self::Connect => Some(Self::Reply),
            Self::OldReply => Some(Self::OldReply),
            Self::OldConnect => None,
        }
    }

    fn any(bytes: &[u8]) -> Option<Self> {
        let bytes = <[u8; CONNECT_WORD]>::try_from(bytes).ok()?;
        let values = [u32::from_le_bytes(bytes), u32::from_be_bytes(bytes)];
        let row = WORDS.iter().find(|(_, value)| values.contains(value));
        row.map(|(word, _)| *word)
    }
}

/// Width of the counter in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// 32 bits.
    Narrow,
    /// 64 bits.
    Wide,
}

impl Counter {
    /// Bytes of a header with such a counter.
    #[must_use]
    pub const fn header(self) -> usize {
        match self {
            Self::Narrow => 12,
            Self::Wide => 16,
        }
    }
}

/// The header of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramHeader {
    /// When it was sent, by a clock of the sender: seconds.
    pub seconds: u32,
    /// Microseconds.
    pub micros: u32,
    /// Its number, from 1.
    pub number: u64,
}

impl DatagramHeader {
    /// Writes the header over the first bytes of a datagram that has space for it.
    #[inline]
    pub fn write(&self, datagram: &mut [u8], counter: Counter) {
        let mut header = [0; 16];
        let number = self.number.to_be_bytes();
        let (_, low) = number.split_at(4);
        let number = match counter {
            Counter::Narrow => low,
            Counter::Wide => &number,
        };
        let seconds = self.seconds.to_be_bytes().into_iter();
        let fields = seconds.chain(self.micros.to_be_bytes());
        for (slot, byte) in header.iter_mut().zip(fields.chain(number.iter().copied())) {
            *slot = byte;
        }
        for (slot, byte) in datagram.iter_mut().take(counter.header()).zip(header) {
            *slot = byte;
        }
    }

    /// Reads the header; `None` if the datagram is shorter.
    #[inline]
    #[must_use]
    pub fn read(datagram: &[u8], counter: Counter) -> Option<Self> {
        let (seconds, rest) = datagram.split_first_chunk::<4>()?;
        let (micros, rest) = rest.split_first_chunk::<4>()?;
        let number = match counter {
            Counter::Narrow => u64::from(u32::from_be_bytes(*rest.first_chunk()?)),
            Counter::Wide => u64::from_be_bytes(*rest.first_chunk()?),
        };
        Some(Self {
            seconds: u32::from_be_bytes(*seconds),
            micros: u32::from_be_bytes(*micros),
            number,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_both_versions_and_byte_orders_are_read() {
        assert_eq!(ConnectWord::Connect.bytes(), *b"9876");
        assert_eq!(ConnectWord::Reply.bytes(), *b"6789");
        for (bytes, client, server) in [
            (
                *b"9876",
                Some(ConnectWord::Connect),
                Some(ConnectWord::Reply),
            ),
            (
                *b"6789",
                Some(ConnectWord::Connect),
                Some(ConnectWord::Reply),
            ),
            ([0x15, 0xcd, 0x5b, 7], Some(ConnectWord::OldConnect), None),
            ([7, 0x5b, 0xcd, 0x15], Some(ConnectWord::OldConnect), None),
            ([0xb1, 0x68, 0xde, 0x3a], None, Some(ConnectWord::OldReply)),
            (*b"none", None, None),
        ] {
            assert_eq!(ConnectWord::from_client(&bytes), client, "{bytes:?}");
            assert_eq!(ConnectWord::from_server(&bytes), server, "{bytes:?}");
        }
        assert_eq!(ConnectWord::from_client(b"98765"), None);
    }

    #[test]
    fn a_header_is_read_as_it_was_written_and_leaves_the_payload() {
        for (counter, number) in [(Counter::Narrow, 7), (Counter::Wide, 1 << 40)] {
            let header = DatagramHeader {
                seconds: 8482,
                micros: 546_427,
                number,
            };
            let mut datagram = [0xaa; 20];
            header.write(&mut datagram, counter);
            assert_eq!(DatagramHeader::read(&datagram, counter), Some(header));
            assert!(
                datagram[counter.header()..]
                    .iter()
                    .all(|byte| *byte == 0xaa)
            );
            let short = &datagram[..counter.header() - 1];
            assert_eq!(DatagramHeader::read(short, counter), None);
        }
    }
}
