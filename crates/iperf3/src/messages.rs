//! The messages of iperf3 (docs/spec/iperf3.md): cookie, state bytes, parameters and results as
//! JSON, connect words and headers of datagrams.
//!
//! Each message has a bounded size, and each number a bounded value. A message that exceeds
//! them is an [`Iperf3Error`], which names the key.

#![deny(clippy::indexing_slicing, clippy::host_endian_bytes)]

mod codes;
mod credentials;
mod datagram;
mod json;
mod parameters;
mod results;

use std::fmt;

pub use credentials::{AuthorizedUsers, Credentials, TokenPadding, UsersError, token, token_bytes};
pub use datagram::{CONNECT_WORD, ConnectWord, Counter, DatagramHeader};
pub use json::Iperf3Error;
pub use parameters::{PACING_TIMER, Parameters, Protocol, StreamDirection};
pub use results::{Results, ServerOutput, StreamResults};

/// Default port.
pub const PORT: u16 = 5201;
/// Bytes of a cookie, with its NUL.
pub const COOKIE: usize = 37;
/// Longest message of parameters that is accepted, bytes.
pub const LONGEST_PARAMETERS: usize = 64 * 1024;
/// Longest message of results that is accepted, bytes: those of 256 streams, and the output of a
/// server.
pub const LONGEST_RESULTS: usize = 1024 * 1024;
/// Largest number of streams in one direction.
pub const MOST_STREAMS: u32 = 128;
/// Characters of a cookie.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The identifier of a test, chosen by the client. Each TCP connection of the test begins with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cookie([u8; COOKIE]);

impl Cookie {
    /// A cookie of 36 random bytes.
    #[must_use]
    pub fn of(random: &[u8; COOKIE - 1]) -> Self {
        let mut cookie = [0; COOKIE];
        for (slot, byte) in cookie.iter_mut().zip(random) {
            *slot = ALPHABET
                .get(usize::from(byte % 32))
                .copied()
                .unwrap_or(b'a');
        }
        Self(cookie)
    }

    /// The first bytes of a connection; `None` if they are no cookie: text of 36 characters
    /// and a NUL.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = <[u8; COOKIE]>::try_from(bytes).ok()?;
        let (last, text) = bytes.split_last()?;
        (*last == 0 && text.iter().all(u8::is_ascii_graphic)).then_some(Self(bytes))
    }

    /// Returns true if these first bytes, at least one, may begin a cookie.
    #[must_use]
    pub fn may_begin(bytes: &[u8]) -> bool {
        let text = bytes.get(..COOKIE - 1).unwrap_or(bytes);
        let last = bytes.get(COOKIE - 1);
        text.iter().all(u8::is_ascii_graphic) && last.is_none_or(|last| *last == 0)
    }

    /// The bytes on the wire.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; COOKIE] {
        &self.0
    }

    /// The text without its NUL.
    #[must_use]
    pub fn text(&self) -> &str {
        let text = self.0.split_last().map_or(&[][..], |(_, text)| text);
        std::str::from_utf8(text).unwrap_or_default()
    }
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cookie({})", self.text())
    }
}

/// A state byte of the control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Server: all streams exist.
    TestStart,
    /// Server: the test runs.
    TestRunning,
    /// Client: the time or the amount is over.
    TestEnd,
    /// Server: send the parameters.
    ParamExchange,
    /// Server: open the streams.
    CreateStreams,
    /// Server: it is being stopped.
    ServerTerminate,
    /// Client: it is being stopped.
    ClientTerminate,
    /// Server: send the results.
    ExchangeResults,
    /// Server: both have the results.
    DisplayResults,
    /// Client: finished.
    Done,
    /// Server: busy.
    AccessDenied,
    /// Server: an error; a [`ServerError`] follows.
    ServerError,
    /// Any other value.
    Other(u8),
}

/// Values of the states.
const STATES: [(State, u8); 12] = [
    (State::TestStart, 1),
    (State::TestRunning, 2),
    (State::TestEnd, 4),
    (State::ParamExchange, 9),
    (State::CreateStreams, 10),
    (State::ServerTerminate, 11),
    (State::ClientTerminate, 12),
    (State::ExchangeResults, 13),
    (State::DisplayResults, 14),
    (State::Done, 16),
    (State::AccessDenied, 0xff),
    (State::ServerError, 0xfe),
];

impl State {
    /// The byte on the wire.
    #[must_use]
    pub fn byte(self) -> u8 {
        if let Self::Other(byte) = self {
            return byte;
        }
        let row = STATES.iter().find(|(state, _)| *state == self);
        row.map_or(0, |(_, byte)| *byte)
    }

    /// The state of a byte.
    #[must_use]
    pub fn of(byte: u8) -> Self {
        let row = STATES.iter().find(|(_, one)| *one == byte);
        row.map_or(Self::Other(byte), |(state, _)| *state)
    }
}

/// An option of a stream that a system may refuse, and the code of the refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamOption {
    /// `TCP_NODELAY`.
    NoDelay = 122,
    /// `TCP_MAXSEG`.
    SegmentSize = 123,
    /// `SO_SNDBUF` and `SO_RCVBUF`.
    Buffer = 124,
    /// The buffer is smaller than what was asked for.
    BufferInForce = 141,
    /// `IP_TOS`.
    TypeOfService = 125,
    /// `IPV6_TCLASS`.
    TrafficClass = 126,
    /// A flow label.
    FlowLabel = 127,
    /// The CPU.
    Affinity = 132,
    /// `TCP_CONGESTION`.
    Congestion = 134,
    /// `SO_MAX_PACING_RATE`.
    Pacing = 140,
    /// `IP_MTU_DISCOVER`.
    DontFragment = 145,
}

/// Message after [`State::ServerError`]: a code of iperf3 and an error number of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// Code of iperf3.
    pub code: i32,
    /// Error number of the server's system; 0 for none.
    pub errno: i32,
}

impl ServerError {
    /// The requested duration is too long.
    pub const DURATION: Self = Self { code: 37, errno: 0 };
    /// The parameters are invalid.
    pub const PARAMETERS: Self = Self {
        code: 114,
        errno: 0,
    };
    /// The results are invalid.
    pub const RESULTS: Self = Self {
        code: 117,
        errno: 0,
    };
    /// The client is not authorised.
    pub const AUTHORIZATION: Self = Self {
        code: 142,
        errno: 0,
    };

    /// No data arrived for too long.
    pub const IDLE: Self = Self {
        code: 144,
        errno: 0,
    };

    /// A stream could not be opened.
    #[must_use]
    pub const fn stream(errno: i32) -> Self {
        Self { code: 204, errno }
    }

    /// An option of a stream could not be set.
    #[must_use]
    pub const fn option(option: StreamOption, errno: i32) -> Self {
        let code = option as i32;
        Self { code, errno }
    }

    /// The bytes on the wire, with the state before them.
    #[must_use]
    pub fn bytes(self) -> [u8; 9] {
        let mut bytes = [State::ServerError.byte(); 9];
        let words = self.code.to_be_bytes().into_iter();
        let words = words.chain(self.errno.to_be_bytes());
        bytes
            .iter_mut()
            .skip(1)
            .zip(words)
            .for_each(|(slot, byte)| *slot = byte);
        bytes
    }

    /// Reads the words behind the state. The connection may end behind the first.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (code, rest) = bytes.split_first_chunk::<4>()?;
        let errno = rest
            .first_chunk::<4>()
            .map(|word| i32::from_be_bytes(*word));
        Some(Self {
            code: i32::from_be_bytes(*code),
            errno: errno.unwrap_or(0),
        })
    }

    /// The text of the code, without that of the error number; `None` for an unknown code.
    #[must_use]
    pub fn text(self) -> Option<&'static str> {
        codes::text(self.code)
    }
}

impl fmt::Display for ServerError {
    /// The text that iperf3 prints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.text() {
            Some(text) => text.to_owned(),
            None => format!("server error {}: ", self.code),
        };
        let Some(text) = text.strip_suffix(": ") else {
            return f.write_str(&text);
        };
        f.write_str(text)?;
        if self.errno == 0 {
            return Ok(());
        }
        write!(f, ": {}", netperf_model::text_of_errno(self.errno))
    }
}

/// A JSON message as it goes over the wire: its length and its text.
#[must_use]
pub fn framed(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), text.as_bytes()].concat()
}

/// The length of a JSON message, and the message once it is complete.
///
/// # Errors
/// A length above `most`.
pub fn unframed(bytes: &[u8], most: usize) -> Result<Option<&[u8]>, Iperf3Error> {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length);
    match usize::try_from(length) {
        Ok(length) if length <= most => Ok(rest.get(..length)),
        _ => Err(Iperf3Error::TooLong(length, most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_36_characters_and_a_nul() {
        let cookie = Cookie::of(&[33; 36]);
        assert_eq!(cookie.text(), "b".repeat(36));
        assert_eq!(Cookie::read(cookie.bytes()), Some(cookie));
        assert!(Cookie::may_begin(&cookie.bytes()[..5]) && Cookie::may_begin(cookie.bytes()));
        let mut other = *cookie.bytes();
        other[36] = 1;
        assert!(Cookie::read(&other).is_none() && !Cookie::may_begin(&other));
        assert!(!Cookie::may_begin(&[0]) && Cookie::read(b"short").is_none());
    }

    #[test]
    fn every_byte_is_a_state_and_every_state_its_byte() {
        for byte in 0..=u8::MAX {
            assert_eq!(State::of(byte).byte(), byte);
        }
        assert_eq!(State::of(99), State::Other(99));
    }

    #[test]
    fn an_error_may_lack_its_second_word() {
        let error = ServerError::stream(13);
        assert_eq!(error.bytes(), [0xfe, 0, 0, 0, 204, 0, 0, 0, 13]);
        assert_eq!(ServerError::read(&error.bytes()[1..]), Some(error));
        let short = ServerError::read(&[0, 0, 0, 142]).unwrap();
        assert_eq!(short, ServerError::AUTHORIZATION);
        assert_eq!(short.text(), Some("test authorization failed"));
        assert_eq!(ServerError::read(&[0, 0]), None);
    }

    #[test]
    fn a_length_is_not_believed() {
        assert_eq!(unframed(&framed("{}"), 2), Ok(Some(&b"{}"[..])));
        let long = Err(Iperf3Error::TooLong(2, 1));
        assert_eq!(unframed(&framed("{}"), 1), long);
        assert_eq!(unframed(&[0, 0, 0], 9), Ok(None));
        assert_eq!(unframed(&[0, 0, 0, 9, b'{'], 9), Ok(None));
        let long = Err(Iperf3Error::TooLong(u32::MAX, LONGEST_RESULTS));
        assert_eq!(unframed(&[0xff; 4], LONGEST_RESULTS), long);
    }
}
