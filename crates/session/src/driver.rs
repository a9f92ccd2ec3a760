//! Carries the effects of both state machines out over a [`Link`].

use std::time::Duration;

use netperf_model::{Abilities, CpuMethod, Denied, EndJob, EndResult, PassphraseText, TestPlan};
use netperf_wire::{Frame, RemoteErrno};

use crate::client;
use crate::dialect::Ready;
use crate::error::SessionError;
use crate::foreign::ForeignProgram;
use crate::offer::Agreement;
use crate::server;

/// Result of waiting for a message.
#[derive(Clone, Debug)]
pub enum LinkEvent {
    /// A whole message.
    Frame(Box<Frame>),
    /// The connection ended when this much of a message had arrived.
    Closed(usize),
    /// Another program than netserver is at the other end.
    Foreign(ForeignProgram),
    /// The time was over first: the time that was waited, and how much of a message had arrived.
    TimedOut(Duration, usize),
}

/// A control connection.
pub trait Link {
    /// Sends a whole message, within a deadline of the link's own.
    ///
    /// # Errors
    /// When the connection is broken or the peer takes nothing.
    fn send(&mut self, frame: &Frame) -> std::io::Result<()>;

    /// Waits for a whole message.
    ///
    /// # Errors
    /// When the connection is broken; `Interrupted` when a signal from outside ended the wait.
    fn receive(&mut self, within: Duration) -> std::io::Result<LinkEvent>;

    /// Gives all that is sent and received from now on this much time in all, whatever
    /// time each message has by itself; `None` ends that.
    fn hurry(&mut self, within: Option<Duration>);

    /// Ends our direction.
    fn half_close(&mut self);
}

/// netperf's end of a conversation.
#[derive(Debug)]
pub struct Conversation<'a, L> {
    plan: &'a TestPlan,
    link: L,
    state: client::ClientState,
    /// Time limit of an answer that is not waited for yet.
    awaited: Option<Duration>,
}

/// Result of the effects of one input.
enum FeedOutcome {
    Nothing,
    Agreed(Box<Agreement>),
    Results(Box<EndResult>),
    Calibrated(f32, i32),
    Greeted(Option<Abilities>),
    Clock(Option<u64>),
}

impl<'a, L: Link> Conversation<'a, L> {
    /// Opens the conversation over a connection that stands.
    ///
    /// # Errors
    /// When the passphrase cannot be sent.
    pub fn open(
        plan: &'a TestPlan,
        link: L,
        passphrase: Option<PassphraseText>,
    ) -> Result<Self, SessionError> {
        let mut conversation = Self {
            plan,
            link,
            state: client::ClientState::Idle,
            awaited: None,
        };
        conversation.feed(client::ClientInput::Open(passphrase))?;
        Ok(conversation)
    }

    /// The connection, to watch while the test runs.
    pub fn link(&self) -> &L {
        &self.link
    }

    /// The connection, to prepare it for waiting.
    pub fn link_mut(&mut self) -> &mut L {
        &mut self.link
    }

    /// Asks for a test and waits until netserver is ready.
    ///
    /// # Errors
    /// When netserver refuses, breaks the protocol or does not answer.
    pub fn agree(&mut self, request: Frame) -> Result<Agreement, SessionError> {
        self.offer(request)?;
        self.agreement()
    }

    /// Asks for a test. The next call must be [`Self::agreement`].
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn offer(&mut self, request: Frame) -> Result<(), SessionError> {
        self.advance(client::ClientInput::Offer(Box::new(request)), false)?;
        Ok(())
    }

    /// Waits until netserver is ready for the test that was offered.
    ///
    /// # Errors
    /// When netserver refuses, breaks the protocol or does not answer.
    pub fn agreement(&mut self) -> Result<Agreement, SessionError> {
        let no_offer = || out_of_turn("an answer to no offer");
        let within = self.awaited.take().ok_or_else(no_offer)?;
        let answer = self.expect(within)?;
        let FeedOutcome::Agreed(agreement) = self.feed(answer)? else {
            return Err(out_of_turn("an answer to the offer"));
        };
        Ok(*agreement)
    }

    /// Waits for the results of the run that just ended at our end.
    ///
    /// # Errors
    /// When netserver reports an error, breaks the protocol or does not answer in time.
    pub fn results(&mut self, within: Duration) -> Result<EndResult, SessionError> {
        let FeedOutcome::Results(result) = self.feed(client::ClientInput::RunEnded(within))? else {
            return Err(out_of_turn("the results"));
        };
        Ok(*result)
    }

    /// Asks what netserver can do; `None` when it is a stock one.
    ///
    /// # Errors
    /// When netserver breaks the protocol or does not answer.
    pub fn greet(&mut self) -> Result<Option<Abilities>, SessionError> {
        let FeedOutcome::Greeted(abilities) = self.feed(client::ClientInput::Greet)? else {
            return Err(out_of_turn("an answer to the greeting"));
        };
        Ok(abilities)
    }

    /// Asks for a reading of netserver's monotonic clock, in nanoseconds; `None` from a
    /// netserver that has none.
    ///
    /// # Errors
    /// When netserver breaks the protocol or does not answer.
    pub fn clock(&mut self) -> Result<Option<u64>, SessionError> {
        let FeedOutcome::Clock(reading) = self.feed(client::ClientInput::ReadClock)? else {
            return Err(out_of_turn("a reading of the clock"));
        };
        Ok(reading)
    }

    /// Asks for netserver's calibration rate and number of CPUs.
    ///
    /// # Errors
    /// When netserver breaks the protocol or does not answer.
    pub fn calibrate(&mut self) -> Result<(f32, i32), SessionError> {
        let FeedOutcome::Calibrated(rate, cpus) =
            self.feed(client::ClientInput::Calibrate(self.plan.remote.bind))?
        else {
            return Err(out_of_turn("the calibration"));
        };
        Ok((rate, cpus))
    }

    /// Ends the conversation and waits for netserver to do the same.
    pub fn finish(mut self, within: Duration) {
        // Everything that matters has been said: how netserver takes its leave is its own affair.
        if self.feed(client::ClientInput::Finish).is_ok() {
            let _goodbye = self.link.receive(within);
        }
    }

    fn feed(&mut self, input: client::ClientInput) -> Result<FeedOutcome, SessionError> {
        self.advance(input, true)
    }

    /// Carries the effects of an input out; without `waits`, up to the wait for an answer.
    fn advance(
        &mut self,
        input: client::ClientInput,
        waits: bool,
    ) -> Result<FeedOutcome, SessionError> {
        let mut outcome = FeedOutcome::Nothing;
        let mut input = Some(input);
        while let Some(next) = input.take() {
            let state = std::mem::replace(&mut self.state, client::ClientState::Closed);
            let (state, effects) = client::step(self.plan, state, next);
            self.state = state;
            for effect in effects {
                match effect {
                    client::ClientEffect::Send(frame) => self.link.send(&frame).map_err(broken)?,
                    client::ClientEffect::Hurry(within) => self.link.hurry(within),
                    client::ClientEffect::Expect(within) if waits => {
                        input = Some(self.expect(within)?);
                    }
                    client::ClientEffect::Expect(within) => self.awaited = Some(within),
                    client::ClientEffect::Agreed(agreement) => {
                        outcome = FeedOutcome::Agreed(agreement)
                    }
                    client::ClientEffect::Results(result) => outcome = FeedOutcome::Results(result),
                    client::ClientEffect::Calibrated { rate, cpus } => {
                        outcome = FeedOutcome::Calibrated(rate, cpus);
                    }
                    client::ClientEffect::Greeted(abilities) => {
                        outcome = FeedOutcome::Greeted(abilities)
                    }
                    client::ClientEffect::Clock(reading) => outcome = FeedOutcome::Clock(reading),
                    client::ClientEffect::HalfClose => self.link.half_close(),
                    client::ClientEffect::Fail(error) => return Err(error),
                }
            }
        }
        Ok(outcome)
    }

    fn expect(&mut self, within: Duration) -> Result<client::ClientInput, SessionError> {
        Ok(match self.link.receive(within).map_err(broken)? {
            LinkEvent::Frame(frame) => client::ClientInput::Frame(frame),
            LinkEvent::Closed(got) => client::ClientInput::Closed(got),
            LinkEvent::Foreign(program) => return Err(SessionError::NoNetserver(program)),
            LinkEvent::TimedOut(waited, got) => client::ClientInput::TimedOut(waited, got),
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "meant for map_err")]
fn broken(error: std::io::Error) -> SessionError {
    if error.kind() == std::io::ErrorKind::Interrupted {
        return SessionError::Interrupted;
    }
    SessionError::Broken(netperf_model::system_text(&error))
}

fn out_of_turn(input: &'static str) -> SessionError {
    SessionError::OutOfTurn {
        state: "the conversation",
        input,
    }
}

/// Reason why netserver's end of a test cannot be prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotPrepared {
    /// Failure with this error number.
    Failed(RemoteErrno),
    /// Refusal by the policy.
    Denied(Denied),
}

impl From<RemoteErrno> for NotPrepared {
    fn from(errno: RemoteErrno) -> Self {
        Self::Failed(errno)
    }
}

/// The functions that a session needs of netserver's engine.
pub trait SessionHost {
    /// An end that is prepared.
    type Prepared;

    /// Prepares what was asked for.
    ///
    /// # Errors
    /// The reason for the client.
    fn prepare(&mut self, job: EndJob) -> Result<(Self::Prepared, Ready), NotPrepared>;

    /// Runs it; the response has just been sent.
    ///
    /// # Errors
    /// The error number for the client.
    fn run(&mut self, prepared: Self::Prepared) -> Result<EndResult, RemoteErrno>;

    /// The calibration rate of a CPU method; 0 when it cannot be told.
    fn calibrate(&mut self, method: CpuMethod) -> f32;

    /// The capabilities of this host.
    fn abilities(&mut self) -> Abilities;

    /// Reading of the monotonic clock, nanoseconds.
    fn clock(&mut self) -> u64;

    /// Moves to a CPU; a CPU that does not exist is ignored.
    fn bind_to_cpu(&mut self, cpu: u32);

    /// Notes that a request was refused.
    fn note(&mut self, denied: &Denied);
}

/// Serves one control connection to its end.
pub fn serve<L: Link, H: SessionHost>(
    link: &mut L,
    host: &mut H,
    facts: &server::Facts,
    passphrase: Option<PassphraseText>,
) {
    let (mut state, effects) = server::start(facts, passphrase);
    let mut prepared = None;
    let mut input = carry_out(link, host, &mut prepared, effects);
    while let Some(next) = input.take() {
        let effects;
        (state, effects) = server::step(facts, state, next);
        input = carry_out(link, host, &mut prepared, effects);
    }
}

/// Carries effects out; the last of them brings the next input, or the end.
fn carry_out<L: Link, H: SessionHost>(
    link: &mut L,
    host: &mut H,
    prepared: &mut Option<H::Prepared>,
    effects: Vec<server::ServerEffect>,
) -> Option<server::ServerInput> {
    use server::{ServerEffect, ServerInput};
    let mut next = None;
    for effect in effects {
        match effect {
            ServerEffect::Expect(within) => next = Some(awaited(link, within)),
            ServerEffect::Hurry(within) => link.hurry(within),
            ServerEffect::BindToCpu(cpu) => host.bind_to_cpu(cpu),
            ServerEffect::Note(denied) => host.note(&denied),
            ServerEffect::FindAbilities => next = Some(ServerInput::Abilities(host.abilities())),
            ServerEffect::ReadClock => next = Some(ServerInput::Clock(host.clock())),
            ServerEffect::Calibrate(method) => {
                next = Some(ServerInput::Calibrated(host.calibrate(method)))
            }
            ServerEffect::Prepare(job) => {
                next = Some(match host.prepare(*job) {
                    Ok((end, ready)) => {
                        *prepared = Some(end);
                        ServerInput::Prepared(Box::new(ready))
                    }
                    Err(NotPrepared::Failed(errno)) => ServerInput::Refused(errno),
                    Err(NotPrepared::Denied(denied)) => ServerInput::Denied(denied),
                });
            }
            // A client that is gone cannot be told so; the next receive notices.
            ServerEffect::Reply(frame) => {
                if link.send(&frame).is_err() {
                    return Some(ServerInput::Gone);
                }
            }
            ServerEffect::Run => {
                next = prepared.take().map(|end| match host.run(end) {
                    Ok(result) => ServerInput::Ran(Box::new(result)),
                    Err(errno) => ServerInput::Failed(errno),
                });
            }
            ServerEffect::Close => return None,
        }
    }
    next
}

fn awaited<L: Link>(link: &mut L, within: Duration) -> server::ServerInput {
    match link.receive(within) {
        Ok(LinkEvent::Frame(frame)) => server::ServerInput::Frame(frame),
        Ok(LinkEvent::Closed(_) | LinkEvent::TimedOut(..) | LinkEvent::Foreign(_)) | Err(_) => {
            server::ServerInput::Gone
        }
    }
}
