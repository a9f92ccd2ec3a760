//! netperf's end of the control connection (control-protocol.md 2.1).

use std::time::Duration;

use netperf_model::{Abilities, EndResult, PassphraseText, TestPlan};
use netperf_wire::messages::{CpuCalibrateReply, Passphrase};
use netperf_wire::{FixedStr, Frame, Header, Message, RequestKind, Stage};

use crate::access;
use crate::appendix::{self, Fetching, HANDING_OVER, Next};
use crate::arrivals;
use crate::error::SessionError;
use crate::extension;
use crate::offer::{self, Agreement};

/// Time limit for the answer to a request.
pub const ANSWER: Duration = Duration::from_secs(60);
/// The same for a calibration, which some systems take a minute for.
pub const CALIBRATION: Duration = Duration::from_secs(160);

/// State of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientState {
    /// Nothing is outstanding.
    Idle,
    /// A calibration was asked for.
    Calibrating,
    /// The capabilities of netserver were requested.
    Greeting,
    /// A reading of netserver's clock was requested.
    ReadingClock,
    /// A test was asked for.
    Offered,
    /// The test runs.
    Running(Agreement),
    /// The run is over at our end and netserver's results are due.
    AwaitingResults(Agreement),
    /// The results are here; their appendices are in transfer.
    Fetching(Box<Fetching>),
    /// The conversation is over.
    Closed,
}

/// Input of the state machine.
#[derive(Clone, Debug)]
pub enum ClientInput {
    /// The connection stands; say the passphrase if there is one.
    Open(Option<PassphraseText>),
    /// Ask what netserver can do.
    Greet,
    /// Ask for a reading of netserver's clock.
    ReadClock,
    /// Ask for a calibration, and for a CPU to be bound to.
    Calibrate(Option<u32>),
    /// Ask for a test with this request.
    Offer(Box<Frame>),
    /// Our end of the run is over; results are due within this time.
    RunEnded(Duration),
    /// A message arrived.
    Frame(Box<Frame>),
    /// The connection ended when this much of a message had arrived.
    Closed(usize),
    /// No whole message arrived within this time, but this much of one.
    TimedOut(Duration, usize),
    /// There is nothing more to ask for.
    Finish,
}

/// Effect for the driver to carry out.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEffect {
    /// Send this message.
    Send(Box<Frame>),
    /// Wait for a message, this long.
    Expect(Duration),
    /// All that is sent and awaited from now on, until the next of this kind, has this
    /// much time; `None` gives it up again.
    Hurry(Option<Duration>),
    /// netserver is ready.
    Agreed(Box<Agreement>),
    /// netserver measured this.
    Results(Box<EndResult>),
    /// netserver's calibration rate and number of CPUs.
    Calibrated {
        /// Rate; clock ticks per second on Linux.
        rate: f32,
        /// CPUs online.
        cpus: i32,
    },
    /// The capabilities of netserver; `None` for a stock one.
    Greeted(Option<Abilities>),
    /// Reading of netserver's clock, nanoseconds; `None` if it has none.
    Clock(Option<u64>),
    /// Tell netserver that no more is coming.
    HalfClose,
    /// The conversation failed.
    Fail(SessionError),
}

/// One step of the conversation.
#[must_use]
pub fn step(
    plan: &TestPlan,
    state: ClientState,
    input: ClientInput,
) -> (ClientState, Vec<ClientEffect>) {
    next(plan, state, input)
        .unwrap_or_else(|error| (ClientState::Closed, vec![ClientEffect::Fail(error)]))
}

/// The next state and its effects.
type Transition = Result<(ClientState, Vec<ClientEffect>), SessionError>;

fn next(plan: &TestPlan, state: ClientState, input: ClientInput) -> Transition {
    if let Some(refusal) = refused(&state, &input) {
        return Err(refusal);
    }
    Ok(match (state, input) {
        (ClientState::Idle, ClientInput::Open(passphrase)) => (ClientState::Idle, open(passphrase)),
        (ClientState::Idle, ClientInput::Calibrate(cpu)) => (
            ClientState::Calibrating,
            ask(offer::calibration(plan, cpu)?, CALIBRATION),
        ),
        (ClientState::Idle, ClientInput::Greet) => {
            (ClientState::Greeting, ask(offer::greeting()?, CALIBRATION))
        }
        (ClientState::Greeting, ClientInput::Frame(frame)) => (
            ClientState::Idle,
            vec![ClientEffect::Greeted(extension::abilities(&frame))],
        ),
        (ClientState::Idle, ClientInput::ReadClock) => (
            ClientState::ReadingClock,
            ask(arrivals::clock_request()?, ANSWER),
        ),
        (ClientState::ReadingClock, ClientInput::Frame(frame)) => (
            ClientState::Idle,
            vec![ClientEffect::Clock(arrivals::clock(&frame))],
        ),
        (ClientState::Idle, ClientInput::Offer(request)) => {
            (ClientState::Offered, ask(*request, ANSWER))
        }
        (ClientState::Calibrating, ClientInput::Frame(frame)) => return calibrated(&frame),
        (ClientState::Offered, ClientInput::Frame(frame)) => return agreed(plan, &frame),
        (ClientState::Running(agreement), ClientInput::RunEnded(within)) => (
            ClientState::AwaitingResults(agreement),
            vec![ClientEffect::Expect(within)],
        ),
        (ClientState::AwaitingResults(agreement), ClientInput::Frame(frame)) => {
            return measured(plan, &agreement, &frame);
        }
        (ClientState::Fetching(fetching), ClientInput::Frame(frame)) => {
            fetched(fetching.take(&frame)?)
        }
        (ClientState::Idle | ClientState::Running(_), ClientInput::Finish) => {
            (ClientState::Closed, vec![ClientEffect::HalfClose])
        }
        (state, input) => return Err(failure(&state, &input)),
    })
}

/// The refusal in an answer to any request.
fn refused(state: &ClientState, input: &ClientInput) -> Option<SessionError> {
    match (state, input) {
        (
            ClientState::Calibrating
            | ClientState::Greeting
            | ClientState::Offered
            | ClientState::AwaitingResults(_),
            ClientInput::Frame(frame),
        ) => access::refusal(frame),
        _ => None,
    }
}

fn open(passphrase: Option<PassphraseText>) -> Vec<ClientEffect> {
    let Some(passphrase) = passphrase else {
        return Vec::new();
    };
    let message = Passphrase {
        passphrase: FixedStr::from_str_truncated(passphrase.as_str()),
    };
    // netserver does not answer: it closes the connection or says nothing.
    vec![ClientEffect::Send(Box::new(
        message.encode(Header::request(RequestKind::Passphrase)),
    ))]
}

fn ask(request: Frame, within: Duration) -> Vec<ClientEffect> {
    vec![
        ClientEffect::Send(Box::new(request)),
        ClientEffect::Expect(within),
    ]
}

fn calibrated(frame: &Frame) -> Transition {
    // Word 1 of this answer is residue: an error shows as a rate of 0.
    let reply = CpuCalibrateReply::decode(frame);
    let reply = reply.map_err(|error| SessionError::Malformed(error.to_string()))?;
    let effect = ClientEffect::Calibrated {
        rate: reply.cpu_rate,
        cpus: reply.num_cpus,
    };
    Ok((ClientState::Idle, vec![effect]))
}

/// Reports an error number, and an answer that is meant for a coordinator.
fn check(stage: Stage, frame: &Frame) -> Result<(), SessionError> {
    if !frame.errno().is_ok() {
        return Err(SessionError::Remote(frame.errno()));
    }
    match extension::campaigning(stage, frame) {
        Some(kind) => Err(SessionError::Coordination(kind)),
        None => Ok(()),
    }
}

fn agreed(plan: &TestPlan, frame: &Frame) -> Transition {
    check(Stage::Response, frame)?;
    let agreement = offer::agreement(plan, frame)?;
    Ok((
        ClientState::Running(agreement.clone()),
        vec![ClientEffect::Agreed(Box::new(agreement))],
    ))
}

fn measured(plan: &TestPlan, agreement: &Agreement, frame: &Frame) -> Transition {
    check(Stage::Results, frame)?;
    if *frame == *agreement.message {
        return Err(SessionError::Repeated);
    }
    let result = offer::results(plan, agreement.measures_cpu, frame)?;
    let next = appendix::begin(plan, result, frame);
    if let Ok(Next::Done(result)) = next {
        let result = ClientEffect::Results(Box::new(result));
        return Ok((ClientState::Idle, vec![result]));
    }
    let (state, mut effects) = fetched(next?);
    effects.insert(0, ClientEffect::Hurry(Some(HANDING_OVER)));
    Ok((state, effects))
}

fn fetched(next: Next) -> (ClientState, Vec<ClientEffect>) {
    match next {
        Next::Ask(request, fetching) => (
            ClientState::Fetching(Box::new(fetching)),
            vec![ClientEffect::Send(request), ClientEffect::Expect(ANSWER)],
        ),
        Next::Wait(fetching) => (
            ClientState::Fetching(Box::new(fetching)),
            vec![ClientEffect::Expect(ANSWER)],
        ),
        Next::Done(result) => (
            ClientState::Idle,
            vec![
                ClientEffect::Hurry(None),
                ClientEffect::Results(Box::new(result)),
            ],
        ),
    }
}

fn failure(state: &ClientState, input: &ClientInput) -> SessionError {
    match input {
        ClientInput::Closed(got) => SessionError::Closed { got: *got },
        ClientInput::TimedOut(waited, 0) => SessionError::NoAnswer(*waited),
        ClientInput::TimedOut(waited, got) => SessionError::Incomplete {
            got: *got,
            waited: *waited,
        },
        ClientInput::Open(_)
        | ClientInput::Greet
        | ClientInput::ReadClock
        | ClientInput::Calibrate(_)
        | ClientInput::Offer(_)
        | ClientInput::RunEnded(_)
        | ClientInput::Frame(_)
        | ClientInput::Finish => SessionError::OutOfTurn {
            state: state.name(),
            input: input.name(),
        },
    }
}

impl ClientState {
    /// Its name, for messages and the transition table.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Idle => "Idle",
            Self::Calibrating => "Calibrating",
            Self::Greeting => "Greeting",
            Self::ReadingClock => "ReadingClock",
            Self::Offered => "Offered",
            Self::Running(_) => "Running",
            Self::AwaitingResults(_) => "AwaitingResults",
            Self::Fetching(_) => "Fetching",
            Self::Closed => "Closed",
        }
    }
}

impl ClientInput {
    /// Its name, for messages and the transition table.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Open(_) => "Open",
            Self::Greet => "Greet",
            Self::ReadClock => "ReadClock",
            Self::Calibrate(_) => "Calibrate",
            Self::Offer(_) => "Offer",
            Self::RunEnded(_) => "RunEnded",
            Self::Frame(_) => "Frame",
            Self::Closed(_) => "Closed",
            Self::TimedOut(..) => "TimedOut",
            Self::Finish => "Finish",
        }
    }
}
