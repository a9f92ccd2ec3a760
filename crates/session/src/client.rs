//! netperf's end of the control connection (control-protocol.md 2.1).

use std::time::Duration;

use netperf_model::{Abilities, EndResult, TestPlan};
use netperf_wire::messages::{CpuCalibrateReply, Passphrase};
use netperf_wire::{FixedStr, Frame, Header, Message, RequestKind, Stage};

use crate::access;
use crate::appendix::{self, Fetching, HANDING_OVER, Next};
use crate::error::SessionError;
use crate::extension;
use crate::offer::{self, Agreement};

/// How long netserver may take to answer a request.
pub const ANSWER: Duration = Duration::from_secs(60);
/// The same for a calibration, which some systems take a minute for.
pub const CALIBRATION: Duration = Duration::from_secs(160);

/// Where the conversation stands.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Nothing is outstanding.
    Idle,
    /// A calibration was asked for.
    Calibrating,
    /// What netserver can do was asked.
    Greeting,
    /// A test was asked for.
    Offered,
    /// The test runs.
    Running(Agreement),
    /// The run is over at our end and netserver's results are due.
    AwaitingResults(Agreement),
    /// The results are here; what they have no room for is on its way.
    Fetching(Box<Fetching>),
    /// The conversation is over.
    Closed,
}

/// What happens to the conversation.
#[derive(Clone, Debug)]
pub enum Input {
    /// The connection stands; say the passphrase if there is one.
    Open(Option<String>),
    /// Ask what netserver can do.
    Greet,
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
    /// Nothing arrived within this time.
    TimedOut(Duration),
    /// There is nothing more to ask for.
    Finish,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
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
    /// What netserver can do; `None` for a stock one.
    Greeted(Option<Abilities>),
    /// Tell netserver that no more is coming.
    HalfClose,
    /// The conversation failed.
    Fail(SessionError),
}

/// One step of the conversation.
#[must_use]
pub fn step(plan: &TestPlan, state: State, input: Input) -> (State, Vec<Effect>) {
    if let Some(refusal) = refused(&state, &input) {
        return closed(refusal);
    }
    match (state, input) {
        (State::Idle, Input::Open(passphrase)) => (State::Idle, open(passphrase)),
        (State::Idle, Input::Calibrate(cpu)) => match offer::calibration(plan, cpu) {
            Ok(request) => (State::Calibrating, ask(request, CALIBRATION)),
            Err(error) => closed(error),
        },
        (State::Idle, Input::Greet) => match offer::greeting() {
            Ok(request) => (State::Greeting, ask(request, CALIBRATION)),
            Err(error) => closed(error),
        },
        (State::Greeting, Input::Frame(frame)) => (
            State::Idle,
            vec![Effect::Greeted(extension::abilities(&frame))],
        ),
        (State::Idle, Input::Offer(request)) => (State::Offered, ask(*request, ANSWER)),
        (State::Idle, Input::Finish) => (State::Closed, vec![Effect::HalfClose]),
        (State::Calibrating, Input::Frame(frame)) => calibrated(&frame),
        (State::Offered, Input::Frame(frame)) => agreed(plan, &frame),
        (State::Running(agreement), Input::RunEnded(within)) => (
            State::AwaitingResults(agreement),
            vec![Effect::Expect(within)],
        ),
        (State::AwaitingResults(agreement), Input::Frame(frame)) => {
            measured(plan, &agreement, &frame)
        }
        (State::Fetching(fetching), Input::Frame(frame)) => fetched(fetching.take(&frame)),
        (State::Running(_), Input::Finish) => (State::Closed, vec![Effect::HalfClose]),
        (state, input) => fail(&state, &input),
    }
}

/// What netserver says where it refuses a client, whatever was asked.
fn refused(state: &State, input: &Input) -> Option<SessionError> {
    match (state, input) {
        (
            State::Calibrating | State::Greeting | State::Offered | State::AwaitingResults(_),
            Input::Frame(frame),
        ) => access::refusal(frame),
        _ => None,
    }
}

fn open(passphrase: Option<String>) -> Vec<Effect> {
    let Some(passphrase) = passphrase else {
        return Vec::new();
    };
    let message = Passphrase {
        passphrase: FixedStr::from_str_truncated(&passphrase),
    };
    // netserver does not answer: it closes the connection or says nothing.
    vec![Effect::Send(Box::new(
        message.encode(Header::request(RequestKind::Passphrase)),
    ))]
}

fn ask(request: Frame, within: Duration) -> Vec<Effect> {
    vec![Effect::Send(Box::new(request)), Effect::Expect(within)]
}

fn calibrated(frame: &Frame) -> (State, Vec<Effect>) {
    // Word 1 of this answer is residue: an error shows as a rate of 0.
    match CpuCalibrateReply::decode(frame) {
        Ok(reply) => {
            let effect = Effect::Calibrated {
                rate: reply.cpu_rate,
                cpus: reply.num_cpus,
            };
            (State::Idle, vec![effect])
        }
        Err(error) => closed(SessionError::Malformed(error.to_string())),
    }
}

fn agreed(plan: &TestPlan, frame: &Frame) -> (State, Vec<Effect>) {
    if !frame.errno().is_ok() {
        return closed(SessionError::Remote(frame.errno()));
    }
    if let Some(kind) = extension::campaigning(Stage::Response, frame) {
        return closed(SessionError::Coordination(kind));
    }
    match offer::agreement(plan, frame) {
        Ok(agreement) => (
            State::Running(agreement.clone()),
            vec![Effect::Agreed(Box::new(agreement))],
        ),
        Err(error) => closed(error),
    }
}

fn measured(plan: &TestPlan, agreement: &Agreement, frame: &Frame) -> (State, Vec<Effect>) {
    if !frame.errno().is_ok() {
        return closed(SessionError::Remote(frame.errno()));
    }
    if let Some(kind) = extension::campaigning(Stage::Results, frame) {
        return closed(SessionError::Coordination(kind));
    }
    match offer::results(plan, agreement.measures_cpu, frame) {
        Ok(result) => match appendix::begin(plan, result, frame) {
            Ok(Next::Done(result)) => (State::Idle, vec![Effect::Results(Box::new(result))]),
            more => {
                let (state, mut effects) = fetched(more);
                effects.insert(0, Effect::Hurry(Some(HANDING_OVER)));
                (state, effects)
            }
        },
        Err(error) => closed(error),
    }
}

/// What comes of one more page.
fn fetched(next: Result<Next, SessionError>) -> (State, Vec<Effect>) {
    match next {
        Ok(Next::Ask(request, fetching)) => (
            State::Fetching(Box::new(fetching)),
            vec![Effect::Send(request), Effect::Expect(ANSWER)],
        ),
        Ok(Next::Wait(fetching)) => (
            State::Fetching(Box::new(fetching)),
            vec![Effect::Expect(ANSWER)],
        ),
        Ok(Next::Done(result)) => (
            State::Idle,
            vec![Effect::Hurry(None), Effect::Results(Box::new(result))],
        ),
        Err(error) => closed(error),
    }
}

fn closed(error: SessionError) -> (State, Vec<Effect>) {
    (State::Closed, vec![Effect::Fail(error)])
}

fn fail(state: &State, input: &Input) -> (State, Vec<Effect>) {
    let error = match input {
        Input::Closed(got) => SessionError::Closed { got: *got },
        Input::TimedOut(within) => SessionError::NoAnswer(*within),
        Input::Open(_)
        | Input::Greet
        | Input::Calibrate(_)
        | Input::Offer(_)
        | Input::RunEnded(_)
        | Input::Frame(_)
        | Input::Finish => SessionError::OutOfTurn {
            state: state.name(),
            input: input.name(),
        },
    };
    closed(error)
}

impl State {
    /// Its name, for messages and the transition table.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Idle => "Idle",
            Self::Calibrating => "Calibrating",
            Self::Greeting => "Greeting",
            Self::Offered => "Offered",
            Self::Running(_) => "Running",
            Self::AwaitingResults(_) => "AwaitingResults",
            Self::Fetching(_) => "Fetching",
            Self::Closed => "Closed",
        }
    }
}

impl Input {
    /// Its name, for messages and the transition table.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Open(_) => "Open",
            Self::Greet => "Greet",
            Self::Calibrate(_) => "Calibrate",
            Self::Offer(_) => "Offer",
            Self::RunEnded(_) => "RunEnded",
            Self::Frame(_) => "Frame",
            Self::Closed(_) => "Closed",
            Self::TimedOut(_) => "TimedOut",
            Self::Finish => "Finish",
        }
    }
}
