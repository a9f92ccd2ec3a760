//! netserver's end of the control connection (control-protocol.md 2 and 4).

use std::net::IpAddr;
use std::time::Duration;

use netperf_model::{Abilities, CpuMethod, Denied, EndJob, EndResult, PassphraseText, Policy};
use netperf_wire::messages::{CpuCalibrateReply, HeaderOnly, ItemKind, Passphrase, SysInfoReply};
use netperf_wire::{Frame, Header, Message, RemoteErrno, RequestKind};

use crate::access;
use crate::appendix::{Appendices, HANDING_OVER, WantedPages};
use crate::dialect::{Dialect, Ready};
use crate::{arrivals, extension};

/// Time limit for the passphrase.
pub const PASSPHRASE: Duration = Duration::from_secs(20);

/// State of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerState {
    /// Nothing counts before this passphrase.
    Locked(PassphraseText),
    /// The next request is awaited; it may be for the appendices of the last results.
    Idle(Appendices),
    /// The engine prepares what the request asks for.
    Preparing(Dialect),
    /// The calibration of a CPU method runs, or the clock is being read.
    Calibrating,
    /// The capabilities of this host are being determined.
    Greeted,
    /// The test runs.
    Running(Dialect),
    /// The conversation is over.
    Closed,
}

/// Constant facts about netserver and its peer.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The CPU method to use unless the client asks for another.
    pub cpu_method: CpuMethod,
    /// CPU calibration rate of the usual method, clock ticks per second.
    pub cpu_rate: f32,
    /// CPUs online.
    pub cpus: i32,
    /// Address of the client.
    pub peer: Option<IpAddr>,
    /// True if the client is on this host.
    pub here: bool,
    /// The client's permissions.
    pub policy: Policy,
}

impl Facts {
    /// Time limit between requests.
    const fn idle_time(&self) -> Duration {
        self.policy.limits.idle_time
    }
}

/// Input of the state machine.
#[derive(Clone, Debug)]
pub enum ServerInput {
    /// A message arrived.
    Frame(Box<Frame>),
    /// The engine is prepared.
    Prepared(Box<Ready>),
    /// The engine cannot do what was asked.
    Refused(RemoteErrno),
    /// The engine may not do what was asked.
    Denied(Denied),
    /// The test ran.
    Ran(Box<EndResult>),
    /// A method was calibrated, with this rate.
    Calibrated(f32),
    /// This host can do this.
    Abilities(Abilities),
    /// Reading of the monotonic clock, nanoseconds.
    Clock(u64),
    /// The test failed while it ran.
    Failed(RemoteErrno),
    /// The client ended or lost the connection, or took too long.
    Gone,
}

/// Effect for the driver to carry out.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerEffect {
    /// Wait for a message, this long.
    Expect(Duration),
    /// All that is sent from now on, until the next of this kind, has this much time;
    /// `None` gives it up again.
    Hurry(Option<Duration>),
    /// Run on this CPU from now on.
    BindToCpu(u32),
    /// Calibrate a CPU method.
    Calibrate(CpuMethod),
    /// Find out what this host can do.
    FindAbilities,
    /// Read the monotonic clock.
    ReadClock,
    /// Have the engine prepare this.
    Prepare(Box<EndJob>),
    /// Send this message.
    Reply(Box<Frame>),
    /// Note that a request was refused.
    Note(Denied),
    /// Have the engine run what it prepared.
    Run,
    /// End the conversation.
    Close,
}

/// The first state and what to do in it.
#[must_use]
pub fn start(
    facts: &Facts,
    passphrase: Option<PassphraseText>,
) -> (ServerState, Vec<ServerEffect>) {
    match passphrase {
        Some(phrase) => (
            ServerState::Locked(phrase),
            vec![ServerEffect::Expect(PASSPHRASE)],
        ),
        None => idle(facts, None),
    }
}

/// One step of the conversation.
#[must_use]
pub fn step(
    facts: &Facts,
    state: ServerState,
    input: ServerInput,
) -> (ServerState, Vec<ServerEffect>) {
    match (state, input) {
        (ServerState::Locked(phrase), ServerInput::Frame(frame)) => locked(facts, &phrase, &frame),
        (ServerState::Idle(kept), ServerInput::Frame(frame)) => match wanted(&frame) {
            Some(pages) => hand_over(facts, kept, pages),
            None => request(facts, &frame),
        },
        (ServerState::Preparing(dialect), ServerInput::Prepared(ready)) => {
            let response = dialect.response(&ready);
            (
                ServerState::Running(dialect),
                vec![ServerEffect::Reply(Box::new(response)), ServerEffect::Run],
            )
        }
        (ServerState::Preparing(dialect), ServerInput::Refused(errno)) => idle(
            facts,
            Some(HeaderOnly.encode(Header::response(dialect.kind()).with_errno(errno))),
        ),
        (ServerState::Preparing(dialect), ServerInput::Denied(denied)) => {
            deny(facts, dialect.kind(), denied)
        }
        (ServerState::Calibrating, ServerInput::Calibrated(rate)) => {
            idle(facts, Some(calibrated(facts, rate)))
        }
        (ServerState::Calibrating, ServerInput::Clock(nanos)) => {
            let mut reply = calibrated(facts, facts.cpu_rate);
            arrivals::tell_clock(nanos, &mut reply);
            idle(facts, Some(reply))
        }
        (ServerState::Greeted, ServerInput::Abilities(abilities)) => {
            let mut reply = calibrated(facts, facts.cpu_rate);
            extension::tell_abilities(&abilities, &mut reply);
            idle(facts, Some(reply))
        }
        (ServerState::Running(dialect), ServerInput::Ran(result)) => {
            let (_, effects) = idle(facts, Some(dialect.results(&result)));
            (ServerState::Idle(Appendices::of(&result)), effects)
        }
        (ServerState::Running(dialect), ServerInput::Failed(errno)) => idle(
            facts,
            Some(HeaderOnly.encode(Header::results(dialect.kind()).with_errno(errno))),
        ),
        // A client that breaks the protocol gets no answer.
        (_, _) => (ServerState::Closed, vec![ServerEffect::Close]),
    }
}

/// The first request where a passphrase is required. netperf asks for the reason over another
/// connection, without a passphrase, so that the answer tells nothing about one.
fn locked(
    facts: &Facts,
    phrase: &PassphraseText,
    frame: &Frame,
) -> (ServerState, Vec<ServerEffect>) {
    if unlocks(phrase, frame) {
        return idle(facts, None);
    }
    let (kind, denied) = (frame.request(), Denied::Passphrase);
    let mut effects = vec![ServerEffect::Close];
    if extension::wants_reason(frame) {
        let refusal = access::refuse(kind, &denied);
        effects.insert(0, ServerEffect::Reply(Box::new(refusal)));
    } else if !matches!(kind, RequestKind::Unknown(_)) {
        effects.insert(0, ServerEffect::Note(denied));
    }
    (ServerState::Closed, effects)
}

/// Returns true if a first message presents the passphrase. Compares in a time that does not tell
/// how much of a guess is right.
#[must_use]
pub fn unlocks(phrase: &PassphraseText, frame: &Frame) -> bool {
    if frame.request() != RequestKind::Passphrase {
        return false;
    }
    let Ok(message) = Passphrase::decode(frame) else {
        return false;
    };
    let said = message.passphrase.as_bytes();
    let known = phrase.as_str().as_bytes();
    let known = known
        .get(..known.len().min(PASSPHRASE_BYTES))
        .unwrap_or(known);
    let differing = said
        .iter()
        .zip(known.iter().chain(std::iter::repeat(&0)))
        .fold(0, |differing, (said, known)| differing | (said ^ known));
    said.len() == known.len() && differing == 0
}

/// The longest passphrase that a record holds, its NUL not counted.
const PASSPHRASE_BYTES: usize = 647;

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other request is a test, or unknown"
)]
fn request(facts: &Facts, frame: &Frame) -> (ServerState, Vec<ServerEffect>) {
    let mut effects: Vec<ServerEffect> = frame
        .affinity()
        .and_then(|cpu| u32::try_from(cpu).ok())
        .map(ServerEffect::BindToCpu)
        .into_iter()
        .collect();
    let coordination = extension::coordination(frame);
    let (state, then) = match frame.request() {
        // A passphrase that is not required is not answered.
        RequestKind::Passphrase => idle(facts, None),
        kind if !coordination.is_empty() => {
            let header = Header::response(kind).with_errno(RemoteErrno::EOPNOTSUPP);
            let mut reply = HeaderOnly.encode(header);
            extension::refuse_coordination(&coordination, &mut reply);
            idle(facts, Some(reply))
        }
        RequestKind::DebugOn | RequestKind::DebugOff => idle(
            facts,
            Some(HeaderOnly.encode(Header::response(frame.request()))),
        ),
        RequestKind::CpuCalibrate => calibrate(facts, frame),
        RequestKind::SysInfo => {
            let reply = SysInfoReply::placeholder();
            idle(
                facts,
                Some(reply.encode(Header::response(RequestKind::SysInfo))),
            )
        }
        kind => test(facts, kind, frame),
    };
    effects.extend(then);
    (state, effects)
}

fn calibrate(facts: &Facts, frame: &Frame) -> (ServerState, Vec<ServerEffect>) {
    let asked = extension::of_request(frame).unwrap_or_default();
    if extension::is_greeting(&asked) {
        return (ServerState::Greeted, vec![ServerEffect::FindAbilities]);
    }
    if asked.value(ItemKind::Clock).is_some() {
        return (ServerState::Calibrating, vec![ServerEffect::ReadClock]);
    }
    match extension::cpu_method(&asked).unwrap_or(facts.cpu_method) {
        CpuMethod::ProcStat => idle(facts, Some(calibrated(facts, facts.cpu_rate))),
        other @ (CpuMethod::Looper | CpuMethod::None | CpuMethod::Other(_)) => (
            ServerState::Calibrating,
            vec![ServerEffect::Calibrate(other)],
        ),
    }
}

fn calibrated(facts: &Facts, rate: f32) -> Frame {
    let reply = CpuCalibrateReply {
        cpu_rate: rate,
        num_cpus: facts.cpus,
    };
    reply.encode(Header::response(RequestKind::CpuCalibrate))
}

fn test(facts: &Facts, kind: RequestKind, frame: &Frame) -> (ServerState, Vec<ServerEffect>) {
    match Dialect::understand(frame, facts.peer) {
        Ok((dialect, job)) => match permitted(facts, job) {
            Ok(job) => (
                ServerState::Preparing(dialect),
                vec![ServerEffect::Prepare(Box::new(job))],
            ),
            Err(denied) => deny(facts, kind, denied),
        },
        Err(RemoteErrno::UNKNOWN_REQUEST) => {
            idle(facts, Some(HeaderOnly.encode(Header::unknown_request())))
        }
        Err(errno) => idle(
            facts,
            Some(HeaderOnly.encode(Header::response(kind).with_errno(errno))),
        ),
    }
}

fn permitted(facts: &Facts, job: EndJob) -> Result<EndJob, Denied> {
    let job = facts.policy.permit(facts.peer, job)?;
    facts.policy.keep_from_files(facts.here, job)
}

/// Says what was refused, at both ends, and awaits the next request.
fn deny(facts: &Facts, kind: RequestKind, denied: Denied) -> (ServerState, Vec<ServerEffect>) {
    let (state, mut effects) = idle(facts, Some(access::refuse(kind, &denied)));
    effects.insert(0, ServerEffect::Note(denied));
    (state, effects)
}

/// Answers, if there is something to answer, and awaits the next request.
fn idle(facts: &Facts, reply: Option<Frame>) -> (ServerState, Vec<ServerEffect>) {
    let mut effects: Vec<ServerEffect> = reply
        .map(|frame| ServerEffect::Reply(Box::new(frame)))
        .into_iter()
        .collect();
    effects.push(ServerEffect::Expect(facts.idle_time()));
    (ServerState::Idle(Appendices::default()), effects)
}

/// The pages that a request asks for, if it asks for some.
fn wanted(frame: &Frame) -> Option<WantedPages> {
    if frame.request() != RequestKind::CpuCalibrate {
        return None;
    }
    WantedPages::read(&extension::of_request(frame)?)
}

/// Sends pages of the appendices and keeps these: netperf requests the rest.
fn hand_over(
    facts: &Facts,
    kept: Appendices,
    wanted: WantedPages,
) -> (ServerState, Vec<ServerEffect>) {
    let replies = kept.answer(wanted).into_iter().map(Box::new);
    let mut effects = vec![ServerEffect::Hurry(Some(HANDING_OVER))];
    effects.extend(replies.map(ServerEffect::Reply));
    effects.extend([
        ServerEffect::Hurry(None),
        ServerEffect::Expect(facts.idle_time()),
    ]);
    (ServerState::Idle(kept), effects)
}

impl ServerState {
    /// Its name, for the transition table.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Locked(_) => "Locked",
            Self::Idle(_) => "Idle",
            Self::Calibrating => "Calibrating",
            Self::Greeted => "Greeted",
            Self::Preparing(_) => "Preparing",
            Self::Running(_) => "Running",
            Self::Closed => "Closed",
        }
    }
}

impl ServerEffect {
    /// Its name, for the transition table.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Expect(_) => "Expect",
            Self::Hurry(_) => "Hurry",
            Self::BindToCpu(_) => "BindToCpu",
            Self::Calibrate(_) => "Calibrate",
            Self::FindAbilities => "FindAbilities",
            Self::ReadClock => "ReadClock",
            Self::Prepare(_) => "Prepare",
            Self::Reply(_) => "Reply",
            Self::Note(_) => "Note",
            Self::Run => "Run",
            Self::Close => "Close",
        }
    }
}
