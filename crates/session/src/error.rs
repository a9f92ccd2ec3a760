//! The ways in which the other end breaks the protocol or lets us down.

use std::fmt;
use std::time::Duration;

use netperf_model::{CpuMethod, Feature, TransportId};
use netperf_wire::RemoteErrno;

/// What went wrong on the control connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionError {
    /// The peer reports an error number instead of an answer.
    Remote(RemoteErrno),
    /// The peer refuses, and says why.
    Denied(String),
    /// The connection ended inside or before a message.
    Closed {
        /// Bytes of the message that had arrived.
        got: usize,
    },
    /// The peer is a stock netserver, which cannot do this transport.
    Unsupported(TransportId),
    /// The peer is a stock netserver, which cannot do this.
    Unable(Feature),
    /// The peer is a stock netserver, which measures its CPUs in one way only.
    CpuMethod(CpuMethod),
    /// netserver asks for something that only a coordinator's netperf would do: the kind of
    /// the item.
    Coordination(u8),
    /// netserver does not say that it does what it was asked for.
    NotConfirmed,
    /// No answer within this time.
    NoAnswer(Duration),
    /// The connection broke.
    Broken(String),
    /// A message cannot be decoded: the field and why.
    Malformed(String),
    /// An input came in a state that has no place for it.
    OutOfTurn {
        /// The state.
        state: &'static str,
        /// The input.
        input: &'static str,
    },
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remote(errno) => write!(f, "remote error {}", errno.0),
            Self::Denied(why) => write!(f, "netserver refuses: {why}"),
            Self::Closed { got } => write!(f, "partial response received: {got} bytes"),
            Self::NoAnswer(time) => {
                write!(f, "no answer from netserver within {} s", time.as_secs())
            }
            Self::Unsupported(transport) => write!(
                f,
                "that netserver is of another make and cannot do {}: start one of this program there",
                transport.row().label
            ),
            Self::Unable(feature) if !feature.instead().is_empty() => write!(
                f,
                "that netserver is of another make and cannot do {}: {}, or start one of this \
                 program there",
                feature.option(),
                feature.instead()
            ),
            Self::Unable(feature) if feature.takes_both() => write!(
                f,
                "that netserver is of another make and cannot do {}: start one of this program there",
                feature.option()
            ),
            Self::Unable(feature) => write!(
                f,
                "that netserver is of another make and cannot do {}: start one of this program \
                 there, or ask for it at this end alone",
                feature.option()
            ),
            Self::Coordination(kind) => write!(
                f,
                "netserver takes this for a run with a coordinator (item {kind:#04x}), which \
                 this netperf does not offer: use a netserver of the same version"
            ),
            Self::CpuMethod(method) => write!(
                f,
                "that netserver is of another make and cannot do --cpu-method {}: start one of \
                 this program there, or leave out -C",
                method.name()
            ),
            Self::NotConfirmed => f.write_str("netserver does not do what it was asked for"),
            Self::Broken(why) => write!(f, "the control connection broke: {why}"),
            Self::Malformed(why) => write!(f, "netserver's answer makes no sense: {why}"),
            Self::OutOfTurn { state, input } => write!(f, "{input} is out of turn in {state}"),
        }
    }
}

impl std::error::Error for SessionError {}
