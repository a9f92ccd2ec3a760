//! First bytes of data through the port of the control connection.

use netperf_model::Token;

/// Length of a preamble, bytes. All four kinds have the same length, so that an answer is never
/// longer than the datagram that caused it.
pub const PREAMBLE: usize = 32;

/// First bytes of every preamble. No control message begins like this: its first byte belongs
/// to the number of a request and is 0 or 255. From a peer that does not swap bytes, it is the
/// low byte of a request number, and no request number has this low byte.
const MARK: [u8; 7] = [0xb5, 0x6e, 0x70, 0x00, 0xc7, 0x72, 0x73];

/// Kind of a preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreambleKind {
    /// The rest of this connection is data.
    Connection,
    /// netperf announces a datagram socket.
    Probe,
    /// netserver has opened the matching socket.
    Answer,
    /// netperf is ready to receive data.
    Go,
}

impl PreambleKind {
    const ALL: [Self; 4] = [Self::Connection, Self::Probe, Self::Answer, Self::Go];

    const fn byte(self) -> u8 {
        match self {
            Self::Connection => 0x55,
            Self::Probe => 0x66,
            Self::Answer => 0x77,
            Self::Go => 0x88,
        }
    }
}

/// Preamble of a data connection, or a datagram of the set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preamble {
    /// Kind.
    pub kind: PreambleKind,
    /// Token of the test.
    pub token: Token,
    /// Number of the probe, or of the probe that is answered; else 0.
    pub number: u64,
}

impl Preamble {
    /// Preamble of a connection.
    #[must_use]
    pub const fn connection(token: Token) -> Self {
        Self {
            kind: PreambleKind::Connection,
            token,
            number: 0,
        }
    }

    /// Encodes the preamble.
    #[must_use]
    pub fn bytes(&self) -> [u8; PREAMBLE] {
        let mut bytes = [0; PREAMBLE];
        let (kind, number) = ([self.kind.byte()], self.number.to_be_bytes());
        let fields = MARK.iter().chain(&kind);
        let fields = fields.chain(self.token.bytes()).chain(&number);
        bytes
            .iter_mut()
            .zip(fields)
            .for_each(|(to, from)| *to = *from);
        bytes
    }

    /// Decodes a complete preamble.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = <&[u8; PREAMBLE]>::try_from(bytes).ok()?;
        let (mark, rest) = bytes.split_first_chunk::<7>()?;
        let (kind, rest) = rest.split_first()?;
        let (token, rest) = rest.split_first_chunk::<{ Token::BYTES }>()?;
        let number = u64::from_be_bytes(*rest.first_chunk()?);
        let kind = PreambleKind::ALL
            .into_iter()
            .find(|one| one.byte() == *kind)?;
        (*mark == MARK).then_some(Self {
            kind,
            token: Token::new(*token),
            number,
        })
    }
}

/// Returns true if these first bytes, at least one, may be the beginning of a preamble.
#[must_use]
pub fn begins_preamble(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().zip(&MARK).all(|(said, mark)| said == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(byte: u8) -> Token {
        Token::new([byte; Token::BYTES])
    }

    #[test]
    fn a_preamble_is_read_as_it_was_written_and_by_no_other_length() {
        for kind in PreambleKind::ALL {
            let preamble = Preamble {
                kind,
                token: token(9),
                number: 0x0102_0304_0506_0708,
            };
            let bytes = preamble.bytes();
            assert_eq!(Preamble::read(&bytes), Some(preamble));
            assert_eq!(Preamble::read(&bytes[..PREAMBLE - 1]), None);
            assert_eq!(Preamble::read(&[bytes.as_slice(), &[0]].concat()), None);
            for at in 0..MARK.len() {
                let mut other = bytes;
                other[at] ^= 0x10;
                assert_eq!(Preamble::read(&other), None);
            }
        }
    }

    #[test]
    fn no_control_message_begins_like_a_preamble() {
        let bytes = Preamble::connection(token(1)).bytes();
        for length in 1..=PREAMBLE {
            assert!(begins_preamble(&bytes[..length]));
        }
        assert!(!begins_preamble(&[]));
        // Request numbers in both byte orders.
        for request in -2000_i32..2000 {
            assert!(!begins_preamble(&request.to_be_bytes()), "{request}");
            assert!(!begins_preamble(&request.to_le_bytes()), "{request}");
        }
    }
}
