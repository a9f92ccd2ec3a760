//! The end of a client's flow: final datagrams, until the report of the server arrives.

use std::time::Duration;

use crate::messages::ServerReport;

/// Final datagrams without an answer, or datagrams that are none, after which a client stops.
pub const MOST_FINALS: u32 = 201;
/// Wait after the first final datagram.
const FIRST_WAIT: Duration = Duration::from_millis(20);
/// Wait after the others.
const WAIT: Duration = Duration::from_millis(10);

/// State of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishState {
    /// A report is awaited; the last final datagram had this number, and this was so many steps
    /// from the begin.
    Awaiting(i64, u32),
    /// The end, with the report of the server if one arrived.
    Over(Option<ServerReport>),
}

/// Input of the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishInput<'a> {
    /// A datagram arrived.
    Arrived(&'a [u8]),
    /// Nothing arrived in time.
    TimedOut,
}

/// Effect for the driver to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishEffect {
    /// Send a final datagram with this number.
    SendFinal(i64),
    /// Wait for a datagram, this long.
    Expect(Duration),
}

/// The first state, after datagrams up to this number. `awaits` is false if no report is awaited.
#[must_use]
pub fn start(last: i64, awaits: bool) -> (FinishState, Vec<FinishEffect>) {
    let number = last.saturating_add(1).saturating_neg();
    let send = FinishEffect::SendFinal(number);
    if awaits {
        let effects = vec![send, FinishEffect::Expect(FIRST_WAIT)];
        (FinishState::Awaiting(number, 1), effects)
    } else {
        (FinishState::Over(None), vec![send])
    }
}

/// One step. A datagram that is no report is ignored.
#[must_use]
pub fn step(state: FinishState, input: FinishInput<'_>) -> (FinishState, Vec<FinishEffect>) {
    let FinishState::Awaiting(number, steps) = state else {
        return (state, Vec::new());
    };
    let is_last = steps >= MOST_FINALS;
    match input {
        FinishInput::Arrived(bytes) => match ServerReport::decode(bytes) {
            Ok(report) => (FinishState::Over(Some(report)), Vec::new()),
            Err(_) if is_last => (FinishState::Over(None), Vec::new()),
            Err(_) => {
                let effects = vec![FinishEffect::Expect(WAIT)];
                (FinishState::Awaiting(number, steps + 1), effects)
            }
        },
        FinishInput::TimedOut if is_last => (FinishState::Over(None), Vec::new()),
        FinishInput::TimedOut => {
            let number = number.saturating_sub(1);
            let effects = vec![FinishEffect::SendFinal(number), FinishEffect::Expect(WAIT)];
            (FinishState::Awaiting(number, steps + 1), effects)
        }
    }
}
