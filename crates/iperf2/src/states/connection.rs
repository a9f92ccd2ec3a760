//! The server's end of a TCP connection.

use std::time::Duration;

use crate::messages::{
    BOUNCEBACK_LEN, Bounceback, ClientHeader, Flags, HeaderAnswer, HeaderExtension, Opening,
    RateStart, UpperFlags, VERSION, WireTime,
};

use super::{BackTime, Iperf2Refusal, SendOrder, port_back, tcp_sending};

/// Time limit for the header of a client, whose first bytes have arrived.
pub const HEADER_TIME: Duration = Duration::from_secs(10);

/// Bytes of the first word.
const WORD: usize = 4;

/// State of a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectionState {
    /// These bytes have arrived; so many are needed in total.
    Opening(Vec<u8>, usize),
    /// The client sends; afterwards the server connects back to this port and sends.
    Receiving(Option<(u16, SendOrder)>),
    /// The server sends.
    Sending,
    /// The server returns messages.
    Bouncing,
    /// Both ends send on this connection.
    Both,
    /// The client sends, and the server on its own connection.
    Dual,
    /// The server sends on its own connection.
    Back,
    /// The connection is over.
    Closed,
}

/// Input of the state machine.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectionInput {
    /// Further bytes arrived at this time of day. At most as many as were expected.
    Arrived(Vec<u8>, WireTime),
    /// The request is complete: data received to its end, sent, or both.
    Done,
    /// The client closed the connection.
    Ended,
    /// The connection failed, or nothing came in time.
    Failed,
}

/// Effect for the driver to carry out.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectionEffect {
    /// Read so many further bytes, in this time.
    Expect(usize, Duration),
    /// Send this answer.
    Answer(Vec<u8>),
    /// Receive data to its end. So many bytes have been read before and belong to it.
    Receive(u64),
    /// Send data, then end the sending direction.
    Send(SendOrder),
    /// Return messages like the first, which begins with these bytes, until the client ends.
    Bounce(Vec<u8>, Bounceback),
    /// Receive and send at once.
    Exchange(u64, SendOrder),
    /// Receive, and at once connect to this port of the client and send.
    ExchangeBack(u64, u16, SendOrder),
    /// Connect to this port of the client and send.
    SendBack(u16, SendOrder),
    /// Note that the client was refused.
    Refuse(Iperf2Refusal),
    /// Close the connection.
    Close,
}

/// The first state.
#[must_use]
pub fn start() -> (ConnectionState, Vec<ConnectionEffect>) {
    (
        ConnectionState::Opening(Vec::new(), WORD),
        vec![ConnectionEffect::Expect(WORD, HEADER_TIME)],
    )
}

/// One step.
#[must_use]
pub fn step(
    state: ConnectionState,
    input: ConnectionInput,
) -> (ConnectionState, Vec<ConnectionEffect>) {
    match (state, input) {
        (ConnectionState::Opening(mut have, need), ConnectionInput::Arrived(bytes, now)) => {
            have.extend_from_slice(&bytes);
            opening(have, need, now)
        }
        // A connection without data, or with less than a header: the bytes are counted.
        (ConnectionState::Opening(have, _), ConnectionInput::Ended) => {
            let count = count(&have);
            let receive = (count > 0).then_some(ConnectionEffect::Receive(count));
            match receive {
                Some(receive) => (ConnectionState::Receiving(None), vec![receive]),
                None => closed(),
            }
        }
        (ConnectionState::Receiving(Some((port, sending))), ConnectionInput::Done) => (
            ConnectionState::Back,
            vec![ConnectionEffect::SendBack(port, sending)],
        ),
        (
            ConnectionState::Opening(..)
            | ConnectionState::Receiving(_)
            | ConnectionState::Sending
            | ConnectionState::Bouncing
            | ConnectionState::Both
            | ConnectionState::Dual
            | ConnectionState::Back
            | ConnectionState::Closed,
            _,
        ) => closed(),
    }
}

fn closed() -> (ConnectionState, Vec<ConnectionEffect>) {
    (ConnectionState::Closed, vec![ConnectionEffect::Close])
}

fn refused(refusal: Iperf2Refusal) -> (ConnectionState, Vec<ConnectionEffect>) {
    let effects = vec![ConnectionEffect::Refuse(refusal), ConnectionEffect::Close];
    (ConnectionState::Closed, effects)
}

fn count(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// More bytes of the header have arrived.
fn opening(have: Vec<u8>, need: usize, now: WireTime) -> (ConnectionState, Vec<ConnectionEffect>) {
    if have.len() < need {
        return more(have, need);
    }
    let Some(first) = have.first_chunk::<WORD>() else {
        return more(have, WORD);
    };
    let fixed = match Opening::of(*first) {
        Ok(Opening::Header(length)) => length,
        Ok(Opening::Bounceback) if have.len() < BOUNCEBACK_LEN => {
            return more(have, BOUNCEBACK_LEN);
        }
        Ok(Opening::Bounceback) => match Bounceback::decode(&have) {
            Ok(message) => {
                let effects = vec![ConnectionEffect::Bounce(have, message)];
                return (ConnectionState::Bouncing, effects);
            }
            Err(error) => return refused(error.into()),
        },
        Ok(Opening::Payload) => {
            let effects = vec![ConnectionEffect::Receive(count(&have))];
            return (ConnectionState::Receiving(None), effects);
        }
        Err(error) => return refused(error.into()),
    };
    let Some(header) = have.get(..fixed) else {
        return more(have, fixed);
    };
    match ClientHeader::length_with_key(header) {
        Ok(length) if have.len() < length => more(have, length),
        Ok(length) => match ClientHeader::decode(have.get(..length).unwrap_or_default()) {
            Ok(header) => begin(&header, count(&have), now),
            Err(error) => refused(error.into()),
        },
        Err(error) => refused(error.into()),
    }
}

fn more(have: Vec<u8>, need: usize) -> (ConnectionState, Vec<ConnectionEffect>) {
    let expect = ConnectionEffect::Expect(need - have.len().min(need), HEADER_TIME);
    (ConnectionState::Opening(have, need), vec![expect])
}

/// The header is complete. Its `read` bytes count as data, except those of iperf 2.0.
fn begin(
    header: &ClientHeader,
    read: u64,
    now: WireTime,
) -> (ConnectionState, Vec<ConnectionEffect>) {
    match planned(header, read, now) {
        Ok(next) => next,
        Err(refusal) => refused(refusal),
    }
}

fn planned(
    header: &ClientHeader,
    read: u64,
    now: WireTime,
) -> Result<(ConnectionState, Vec<ConnectionEffect>), Iperf2Refusal> {
    if header.key.is_some() {
        return Err(Iperf2Refusal::Key);
    }
    let read = if header.extension.is_some() { read } else { 0 };
    let upper = header.upper();
    if upper.contains(UpperFlags::REVERSE) {
        let effects = vec![ConnectionEffect::Send(tcp_sending(header)?)];
        return Ok((ConnectionState::Sending, effects));
    }
    if upper.contains(UpperFlags::FULL_DUPLEX) {
        let effects = vec![ConnectionEffect::Exchange(read, tcp_sending(header)?)];
        return Ok((ConnectionState::Both, effects));
    }
    let back = match back_time(header.flags) {
        Some(when) => Some((when, port_back(header)?, tcp_sending(header)?)),
        None => None,
    };
    let mut effects = Vec::new();
    if header.extension.is_some() {
        effects.push(ConnectionEffect::Answer(answer(header, now).encode()));
    }
    let (state, effect) = match back {
        Some((BackTime::Now, port, sending)) => (
            ConnectionState::Dual,
            ConnectionEffect::ExchangeBack(read, port, sending),
        ),
        Some((BackTime::After, port, sending)) => (
            ConnectionState::Receiving(Some((port, sending))),
            ConnectionEffect::Receive(read),
        ),
        None => (
            ConnectionState::Receiving(None),
            ConnectionEffect::Receive(read),
        ),
    };
    effects.push(effect);
    Ok((state, effects))
}

/// Bytes in front of blocks with times that the server sends to a client with this header, from
/// `start`, time of day; `None` if it asks for none.
#[must_use]
pub fn timed_header(header: &ClientHeader, start: WireTime) -> Option<Vec<u8>> {
    if !header.upper().contains(UpperFlags::TRIP_TIMES) {
        return None;
    }
    let is_two_way = header.upper().contains(UpperFlags::FULL_DUPLEX);
    let mut own = ClientHeader {
        threads: 1,
        port: header.port,
        buffer_len: header.buffer_len,
        amount: header.amount,
        extension: Some(HeaderExtension {
            upper: UpperFlags::TRIP_TIMES.with(UpperFlags::FULL_DUPLEX, is_two_way),
            version: VERSION,
            ..HeaderExtension::default()
        }),
        rate_start: Some(RateStart {
            start,
            ..RateStart::default()
        }),
        ..ClientHeader::default()
    };
    let flags = Flags::EXTEND.with(Flags::VERSION2, is_two_way);
    own.flags = flags.with_length(own.length());
    Some(own.encode())
}

/// Bytes of a header that tell the port for a connection back.
pub const PORT_BYTES: usize = 12;

/// Port for a connection back, if the first bytes of a connection ask for one.
#[must_use]
pub fn asks_for_port(first: [u8; PORT_BYTES]) -> Option<u16> {
    let [a, b, c, d, .., p, q, r, s] = first;
    let flags = Flags::from_bits(u32::from_be_bytes([a, b, c, d]));
    back_time(flags).filter(|_| !flags.is_payload())?;
    let port = u32::from_be_bytes([p, q, r, s]);
    u16::try_from(port).ok().filter(|port| *port > 0)
}

/// When the client asks to be connected back to.
pub(super) const fn back_time(flags: Flags) -> Option<BackTime> {
    if !flags.contains(Flags::VERSION1) {
        None
    } else if flags.contains(Flags::RUN_NOW) {
        Some(BackTime::Now)
    } else {
        Some(BackTime::After)
    }
}

fn answer(header: &ClientHeader, now: WireTime) -> HeaderAnswer {
    let timed = header.upper().contains(UpperFlags::TRIP_TIMES);
    let start = header.rate_start.map(|one| one.start);
    HeaderAnswer {
        version: VERSION,
        times: timed.then(|| [start.unwrap_or_default(), now, now]),
    }
}
