//! The client's end of an iperf3 test.

use crate::messages::{
    Cookie, Iperf3Error, LONGEST_RESULTS, Parameters, Results, ServerError, State, framed, unframed,
};

use super::{state, take_byte};

/// Longest input that is kept.
const MOST_INPUT: usize = LONGEST_RESULTS + 64;

/// State of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientTestState {
    /// The server has not answered the cookie.
    AwaitsAnswer,
    /// The server examines the parameters.
    AwaitsStreams,
    /// The driver opens the streams.
    OpensStreams,
    /// The streams exist.
    AwaitsStart,
    /// The server is ready.
    AwaitsRunning,
    /// Data flows.
    Runs,
    /// The server ends its streams.
    AwaitsExchange,
    /// The driver ends its own.
    Finishes,
    /// The server's results are incomplete.
    AwaitsResults,
    /// Both have the results.
    AwaitsDisplay,
    /// The numbers of an error are incomplete.
    AwaitsError,
    /// Over.
    Ended,
}

/// Input of a client.
#[derive(Clone, Debug)]
pub enum ClientTestInput<'a> {
    /// The control connection exists.
    Connected,
    /// Bytes of the control connection.
    Bytes(&'a [u8]),
    /// The control connection ended.
    Closed,
    /// The server was silent for too long.
    Silent,
    /// All streams exist.
    StreamsOpen,
    /// This end cannot go on.
    Failed,
    /// The time or the amount is over: this end sends no more.
    Over,
    /// The streams have ended with these results.
    Finished(Box<Results>),
    /// The user stops the test.
    Interrupted,
}

/// Effect of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientTestEffect {
    /// Send these bytes over the control connection.
    Send(Vec<u8>),
    /// Open the streams.
    OpenStreams,
    /// Start the streams.
    Start,
    /// End the streams, to which the server sends no more, and measure.
    Finish,
    /// The server's results.
    Report(Box<Results>),
    /// The session is over.
    End(Result<(), ClientError>),
}

/// Failure of a test.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The server is busy.
    #[error("the server is busy running a test. try again later")]
    Busy,
    /// The control connection ended.
    #[error("control socket has closed unexpectedly")]
    Closed,
    /// The server was silent for too long.
    #[error("the server does not answer")]
    Silent,
    /// The server is being stopped.
    #[error("the server has terminated")]
    Terminated,
    /// The server reported an error.
    #[error("{0}")]
    Server(ServerError),
    /// A state that means nothing here.
    #[error("received an unknown control message")]
    State(u8),
    /// The results are invalid.
    #[error("unable to receive results: {0}")]
    Results(Iperf3Error),
    /// A stream of the results is not one of the test.
    #[error("stream has an invalid id")]
    StreamId,
    /// This end could not go on; the driver knows why.
    #[error("the test failed")]
    Failed,
    /// The user stopped the test.
    #[error("the client has terminated")]
    Interrupted,
}

/// A client's end of one test.
#[derive(Debug)]
pub struct ClientTest {
    at: ClientTestState,
    input: Vec<u8>,
    cookie: Cookie,
    parameters: Parameters,
}

impl ClientTest {
    /// A test with these parameters.
    #[must_use]
    pub const fn new(cookie: Cookie, parameters: Parameters) -> Self {
        Self {
            at: ClientTestState::AwaitsAnswer,
            input: Vec::new(),
            cookie,
            parameters,
        }
    }

    /// The state.
    #[must_use]
    pub const fn at(&self) -> ClientTestState {
        self.at
    }

    /// Takes an input.
    pub fn step(&mut self, input: ClientTestInput<'_>) -> Vec<ClientTestEffect> {
        if self.at == ClientTestState::Ended {
            return Vec::new();
        }
        match input {
            ClientTestInput::Connected => {
                vec![ClientTestEffect::Send(self.cookie.bytes().to_vec())]
            }
            ClientTestInput::Bytes(bytes) => self.hear(bytes),
            ClientTestInput::Closed => self.closed(),
            ClientTestInput::Silent => self.give_up(ClientError::Silent),
            ClientTestInput::Failed => self.give_up(ClientError::Failed),
            ClientTestInput::Interrupted => {
                let mut effects = vec![ClientTestEffect::Send(state(State::ClientTerminate))];
                effects.extend(self.end(Err(ClientError::Interrupted)));
                effects
            }
            ClientTestInput::StreamsOpen if self.at == ClientTestState::OpensStreams => {
                self.at = ClientTestState::AwaitsStart;
                self.read()
            }
            ClientTestInput::Over if self.at == ClientTestState::Runs => {
                self.at = ClientTestState::AwaitsExchange;
                let mut effects = vec![ClientTestEffect::Send(state(State::TestEnd))];
                effects.extend(self.read());
                effects
            }
            ClientTestInput::Finished(results) if self.at == ClientTestState::Finishes => {
                self.at = ClientTestState::AwaitsResults;
                let mut effects = vec![ClientTestEffect::Send(framed(&results.encode()))];
                effects.extend(self.read());
                effects
            }
            // The driver reports what belongs to another state: nothing follows from it.
            ClientTestInput::StreamsOpen | ClientTestInput::Over | ClientTestInput::Finished(_) => {
                Vec::new()
            }
        }
    }

    /// The connection may end behind the first word of an error.
    fn closed(&mut self) -> Vec<ClientTestEffect> {
        let error = ServerError::read(&self.input);
        match (self.at, error) {
            (ClientTestState::AwaitsError, Some(error)) => {
                self.end(Err(ClientError::Server(error)))
            }
            (ClientTestState::AwaitsAnswer | ClientTestState::AwaitsError, _) => {
                self.end(Err(ClientError::Closed))
            }
            (_, _) => self.give_up(ClientError::Closed),
        }
    }

    fn hear(&mut self, bytes: &[u8]) -> Vec<ClientTestEffect> {
        if self.input.len() + bytes.len() > MOST_INPUT {
            let length = u32::try_from(LONGEST_RESULTS + 1).unwrap_or(u32::MAX);
            let error = Iperf3Error::TooLong(length, LONGEST_RESULTS);
            return self.give_up(ClientError::Results(error));
        }
        self.input.extend_from_slice(bytes);
        self.read()
    }

    /// Reads the input as far as it is complete.
    fn read(&mut self) -> Vec<ClientTestEffect> {
        let mut effects = Vec::new();
        loop {
            let before = (self.at, self.input.len());
            effects.extend(self.read_one());
            let over = self.at == ClientTestState::Ended;
            if over || self.input.is_empty() || (self.at, self.input.len()) == before {
                return effects;
            }
        }
    }

    fn read_one(&mut self) -> Vec<ClientTestEffect> {
        match self.at {
            ClientTestState::AwaitsResults if self.input.first().is_none_or(|byte| *byte == 0) => {
                self.read_results()
            }
            ClientTestState::AwaitsError => match self.input.get(..8).and_then(ServerError::read) {
                Some(error) => self.end(Err(ClientError::Server(error))),
                None => Vec::new(),
            },
            ClientTestState::Ended => Vec::new(),
            // Whatever the server says meanwhile waits, apart from its end.
            ClientTestState::OpensStreams | ClientTestState::Finishes if !self.tells_the_end() => {
                Vec::new()
            }
            ClientTestState::AwaitsAnswer
            | ClientTestState::AwaitsStreams
            | ClientTestState::OpensStreams
            | ClientTestState::AwaitsStart
            | ClientTestState::AwaitsRunning
            | ClientTestState::Runs
            | ClientTestState::AwaitsExchange
            | ClientTestState::Finishes
            | ClientTestState::AwaitsResults
            | ClientTestState::AwaitsDisplay => match take_byte(&mut self.input) {
                Some(byte) => self.read_state(byte),
                None => Vec::new(),
            },
        }
    }

    fn tells_the_end(&self) -> bool {
        let next = self.input.first().map(|byte| State::of(*byte));
        matches!(
            next,
            Some(State::AccessDenied | State::ServerError | State::ServerTerminate)
        )
    }

    fn read_state(&mut self, byte: u8) -> Vec<ClientTestEffect> {
        match (self.at, State::of(byte)) {
            (_, State::AccessDenied) => self.end(Err(ClientError::Busy)),
            (_, State::ServerError) => {
                self.at = ClientTestState::AwaitsError;
                Vec::new()
            }
            (_, State::ServerTerminate) => self.give_up(ClientError::Terminated),
            (ClientTestState::AwaitsAnswer, State::ParamExchange) => {
                self.at = ClientTestState::AwaitsStreams;
                vec![ClientTestEffect::Send(framed(&self.parameters.encode()))]
            }
            (ClientTestState::AwaitsStreams, State::CreateStreams) => {
                self.at = ClientTestState::OpensStreams;
                vec![ClientTestEffect::OpenStreams]
            }
            (ClientTestState::AwaitsStart, State::TestStart) => {
                self.at = ClientTestState::AwaitsRunning;
                Vec::new()
            }
            (ClientTestState::AwaitsRunning, State::TestRunning) => {
                self.at = ClientTestState::Runs;
                vec![ClientTestEffect::Start]
            }
            (ClientTestState::AwaitsExchange, State::ExchangeResults) => {
                self.at = ClientTestState::Finishes;
                vec![ClientTestEffect::Finish]
            }
            (ClientTestState::AwaitsDisplay, State::DisplayResults) => {
                let mut effects = vec![ClientTestEffect::Send(state(State::Done))];
                effects.extend(self.end(Ok(())));
                effects
            }
            _ => self.give_up(ClientError::State(byte)),
        }
    }

    fn read_results(&mut self) -> Vec<ClientTestEffect> {
        let text = match unframed(&self.input, LONGEST_RESULTS) {
            Ok(Some(text)) => text.to_vec(),
            Ok(None) => return Vec::new(),
            Err(error) => return self.give_up(ClientError::Results(error)),
        };
        self.input.drain(..4 + text.len());
        match Results::decode(&text) {
            Ok(results) if results.fits(&self.parameters) => {
                self.at = ClientTestState::AwaitsDisplay;
                vec![ClientTestEffect::Report(Box::new(results))]
            }
            Ok(_) => self.give_up(ClientError::StreamId),
            Err(error) => self.give_up(ClientError::Results(error)),
        }
    }

    fn give_up(&mut self, error: ClientError) -> Vec<ClientTestEffect> {
        let mut effects = vec![ClientTestEffect::Send(state(State::Done))];
        effects.extend(self.end(Err(error)));
        effects
    }

    fn end(&mut self, end: Result<(), ClientError>) -> Vec<ClientTestEffect> {
        self.at = ClientTestState::Ended;
        vec![ClientTestEffect::End(end)]
    }
}
