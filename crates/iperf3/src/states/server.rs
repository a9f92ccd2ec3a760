//! The server's end of an iperf3 test.

use crate::messages::{
    COOKIE, Cookie, Iperf3Error, LONGEST_PARAMETERS, LONGEST_RESULTS, Parameters, Results,
    ServerError, State, framed, unframed,
};

use super::{state, take_byte};

/// Bytes that are kept beside a JSON message: the state bytes behind it.
const BESIDE: usize = 64;

/// State of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerTestState {
    /// The cookie is incomplete.
    AwaitsCookie,
    /// The parameters are incomplete.
    AwaitsParameters,
    /// The driver examines the parameters.
    Prepares,
    /// Streams are missing.
    AwaitsStreams,
    /// Data flows.
    Runs,
    /// The driver ends the streams.
    Finishes,
    /// The client's results are incomplete.
    AwaitsResults,
    /// Both have the results.
    AwaitsDone,
    /// Over.
    Ended,
}

/// Input of a server.
#[derive(Clone, Debug)]
pub enum ServerTestInput<'a> {
    /// Bytes of the control connection.
    Bytes(&'a [u8]),
    /// The control connection ended.
    Closed,
    /// The client was silent for too long.
    Silent,
    /// The parameters can be served.
    Prepared,
    /// They cannot be served, or the streams failed.
    Refused(ServerError),
    /// All streams exist.
    StreamsOpen,
    /// The streams have ended with these results.
    Finished(Box<Results>),
    /// The server is being stopped.
    Terminated,
}

/// Effect of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerTestEffect {
    /// Send these bytes over the control connection.
    Send(Vec<u8>),
    /// Examine these parameters and get ready.
    Prepare(Box<Parameters>),
    /// Start the streams.
    Start,
    /// End the streams and measure.
    Finish,
    /// The client's results.
    Report(Box<Results>),
    /// The session is over.
    End(ServerEnd),
}

/// End of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEnd {
    /// The test is complete.
    Complete,
    /// The client was stopped.
    ByClient,
    /// The client gave up.
    GaveUp,
    /// The client is gone.
    Gone,
    /// The client was silent for too long.
    Silent,
    /// The client broke the protocol.
    Broken(BrokenBy),
    /// This server refused the test, or a stream failed.
    Refused(ServerError),
    /// The server was stopped.
    Stopped,
}

/// Violation of the protocol by a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenBy {
    /// The connection does not begin with a cookie.
    #[error("the connection does not begin with a cookie")]
    NoCookie,
    /// The parameters are invalid.
    #[error("invalid parameters: {0}")]
    Parameters(Iperf3Error),
    /// The results are invalid.
    #[error("invalid results: {0}")]
    Results(Iperf3Error),
    /// The results are not those of the streams.
    #[error("invalid results: their streams are not those of the test")]
    Streams,
    /// A state byte that means nothing here.
    #[error("unexpected state {0}")]
    State(u8),
}

/// A server's end of one test.
#[derive(Debug)]
pub struct ServerTest {
    at: ServerTestState,
    input: Vec<u8>,
    cookie: Option<Cookie>,
    parameters: Parameters,
    results: Option<Box<Results>>,
}

impl Default for ServerTest {
    fn default() -> Self {
        Self {
            at: ServerTestState::AwaitsCookie,
            input: Vec::new(),
            cookie: None,
            parameters: Parameters::default(),
            results: None,
        }
    }
}

impl ServerTest {
    /// The state.
    #[must_use]
    pub const fn at(&self) -> ServerTestState {
        self.at
    }

    /// The cookie of the test, once it is known.
    #[must_use]
    pub const fn cookie(&self) -> Option<Cookie> {
        self.cookie
    }

    /// Takes an input.
    pub fn step(&mut self, input: ServerTestInput<'_>) -> Vec<ServerTestEffect> {
        if self.at == ServerTestState::Ended {
            return Vec::new();
        }
        match input {
            ServerTestInput::Bytes(bytes) => self.hear(bytes),
            ServerTestInput::Closed if self.at == ServerTestState::AwaitsDone => {
                self.end(ServerEnd::Complete)
            }
            ServerTestInput::Closed => self.end(ServerEnd::Gone),
            ServerTestInput::Silent => self.end(ServerEnd::Silent),
            ServerTestInput::Terminated => {
                self.end_after(state(State::ServerTerminate), ServerEnd::Stopped)
            }
            ServerTestInput::Refused(error) => {
                self.end_after(error.bytes().to_vec(), ServerEnd::Refused(error))
            }
            ServerTestInput::Prepared if self.at == ServerTestState::Prepares => {
                self.say(ServerTestState::AwaitsStreams, state(State::CreateStreams))
            }
            ServerTestInput::StreamsOpen if self.at == ServerTestState::AwaitsStreams => {
                let both = [State::TestStart.byte(), State::TestRunning.byte()];
                let mut effects = vec![ServerTestEffect::Start];
                effects.extend(self.say(ServerTestState::Runs, both.to_vec()));
                effects
            }
            ServerTestInput::Finished(results) if self.at == ServerTestState::Finishes => {
                self.results = Some(results);
                let asked = state(State::ExchangeResults);
                let mut effects = self.say(ServerTestState::AwaitsResults, asked);
                effects.extend(self.read());
                effects
            }
            // The driver reports what belongs to another state: nothing follows from it.
            ServerTestInput::Prepared
            | ServerTestInput::StreamsOpen
            | ServerTestInput::Finished(_) => Vec::new(),
        }
    }

    fn hear(&mut self, bytes: &[u8]) -> Vec<ServerTestEffect> {
        if self.input.len() + bytes.len() > self.longest() + BESIDE {
            return self.broken_by_length();
        }
        self.input.extend_from_slice(bytes);
        self.read()
    }

    /// Longest message in this state. Parameters come from clients of which nothing is known.
    const fn longest(&self) -> usize {
        match self.at {
            ServerTestState::AwaitsResults | ServerTestState::Finishes => LONGEST_RESULTS,
            ServerTestState::AwaitsCookie
            | ServerTestState::AwaitsParameters
            | ServerTestState::Prepares
            | ServerTestState::AwaitsStreams
            | ServerTestState::Runs
            | ServerTestState::AwaitsDone
            | ServerTestState::Ended => LONGEST_PARAMETERS,
        }
    }

    /// More than any message: state bytes that were not awaited, or a message that is too long.
    fn broken_by_length(&mut self) -> Vec<ServerTestEffect> {
        let most = self.longest();
        let length = u32::try_from(most + 1).unwrap_or(u32::MAX);
        let error = Iperf3Error::TooLong(length, most);
        self.end_after(
            ServerError::PARAMETERS.bytes().to_vec(),
            ServerEnd::Broken(BrokenBy::Parameters(error)),
        )
    }

    /// Reads the input as far as it is complete.
    fn read(&mut self) -> Vec<ServerTestEffect> {
        let mut effects = Vec::new();
        loop {
            let before = (self.at, self.input.len());
            effects.extend(self.read_one());
            let waits = matches!(self.at, ServerTestState::Ended | ServerTestState::Finishes);
            if waits || self.input.is_empty() || (self.at, self.input.len()) == before {
                return effects;
            }
        }
    }

    fn read_one(&mut self) -> Vec<ServerTestEffect> {
        match self.at {
            ServerTestState::AwaitsCookie => self.read_cookie(),
            ServerTestState::AwaitsParameters | ServerTestState::AwaitsResults
                if self.input.first().is_none_or(|byte| *byte == 0) =>
            {
                self.read_message()
            }
            ServerTestState::AwaitsParameters
            | ServerTestState::Prepares
            | ServerTestState::AwaitsStreams
            | ServerTestState::Runs
            | ServerTestState::AwaitsResults
            | ServerTestState::AwaitsDone => match take_byte(&mut self.input) {
                Some(byte) => self.read_state(byte),
                None => Vec::new(),
            },
            ServerTestState::Finishes | ServerTestState::Ended => Vec::new(),
        }
    }

    fn read_cookie(&mut self) -> Vec<ServerTestEffect> {
        let first = self.input.get(..COOKIE.min(self.input.len()));
        let first = first.unwrap_or_default();
        if !Cookie::may_begin(first) {
            return self.end(ServerEnd::Broken(BrokenBy::NoCookie));
        }
        let Some(cookie) = Cookie::read(first) else {
            return Vec::new();
        };
        self.input.drain(..COOKIE);
        self.cookie = Some(cookie);
        self.say(
            ServerTestState::AwaitsParameters,
            state(State::ParamExchange),
        )
    }

    /// Reads a JSON message. Its length is below 2^24, so it begins with a 0, which no state is.
    fn read_message(&mut self) -> Vec<ServerTestEffect> {
        let text = match unframed(&self.input, self.longest()) {
            Ok(Some(text)) => text.to_vec(),
            Ok(None) => return Vec::new(),
            Err(error) => return self.broken_message(error),
        };
        self.input.drain(..4 + text.len());
        if self.at == ServerTestState::AwaitsParameters {
            return match Parameters::decode(&text) {
                Ok(parameters) => {
                    self.parameters = parameters.clone();
                    self.at = ServerTestState::Prepares;
                    vec![ServerTestEffect::Prepare(Box::new(parameters))]
                }
                Err(error) => self.broken_message(error),
            };
        }
        match Results::decode(&text) {
            Ok(results) if results.fits(&self.parameters) => self.exchange(results),
            Ok(_) => {
                let broken = ServerEnd::Broken(BrokenBy::Streams);
                self.end_after(ServerError::RESULTS.bytes().to_vec(), broken)
            }
            Err(error) => self.broken_message(error),
        }
    }

    fn exchange(&mut self, of_client: Results) -> Vec<ServerTestEffect> {
        let own = self.results.take().unwrap_or_default();
        let mut said = framed(&own.encode());
        said.push(State::DisplayResults.byte());
        let mut effects = vec![ServerTestEffect::Report(Box::new(of_client))];
        effects.extend(self.say(ServerTestState::AwaitsDone, said));
        effects
    }

    fn broken_message(&mut self, error: Iperf3Error) -> Vec<ServerTestEffect> {
        let (answer, broken) = if self.at == ServerTestState::AwaitsParameters {
            (ServerError::PARAMETERS, BrokenBy::Parameters(error))
        } else {
            (ServerError::RESULTS, BrokenBy::Results(error))
        };
        self.end_after(answer.bytes().to_vec(), ServerEnd::Broken(broken))
    }

    fn read_state(&mut self, byte: u8) -> Vec<ServerTestEffect> {
        match State::of(byte) {
            State::TestEnd if self.at == ServerTestState::Runs => {
                self.at = ServerTestState::Finishes;
                vec![ServerTestEffect::Finish]
            }
            State::Done if self.at == ServerTestState::AwaitsDone => self.end(ServerEnd::Complete),
            State::Done => self.end(ServerEnd::GaveUp),
            State::ClientTerminate => self.end(ServerEnd::ByClient),
            State::TestStart
            | State::TestRunning
            | State::TestEnd
            | State::ParamExchange
            | State::CreateStreams
            | State::ServerTerminate
            | State::ExchangeResults
            | State::DisplayResults
            | State::AccessDenied
            | State::ServerError
            | State::Other(_) => self.end(ServerEnd::Broken(BrokenBy::State(byte))),
        }
    }

    fn say(&mut self, next: ServerTestState, bytes: Vec<u8>) -> Vec<ServerTestEffect> {
        self.at = next;
        vec![ServerTestEffect::Send(bytes)]
    }

    fn end(&mut self, end: ServerEnd) -> Vec<ServerTestEffect> {
        self.at = ServerTestState::Ended;
        vec![ServerTestEffect::End(end)]
    }

    fn end_after(&mut self, bytes: Vec<u8>, end: ServerEnd) -> Vec<ServerTestEffect> {
        let mut effects = vec![ServerTestEffect::Send(bytes)];
        effects.extend(self.end(end));
        effects
    }
}
