//! The ways in which the other end breaks the protocol or lets us down.

use std::time::Duration;

use netperf_model::figures::whole_or_tenths;
use netperf_model::{CpuMethod, Feature, TransportId};
use netperf_wire::RemoteErrno;
use netperf_wire::messages::NoRoom;
use thiserror::Error;

use crate::foreign::ForeignProgram;

/// Why a conversation on the control connection failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SessionError {
    /// The peer reports an error number instead of an answer.
    #[error("remote error {}", .0.0)]
    Remote(RemoteErrno),
    /// The peer refuses, and says why.
    #[error("netserver refuses: {0}")]
    Denied(String),
    /// The connection ended inside or before a message.
    #[error("partial response received: {got} bytes")]
    Closed {
        /// Bytes of the message that had arrived.
        got: usize,
    },
    /// The peer is a stock netserver, which cannot do this transport.
    #[error(
        "a stock netserver cannot do {}: start one of this program there",
        .0.row().label
    )]
    Unsupported(TransportId),
    /// The peer is a stock netserver, which cannot do this.
    #[error(
        "a stock netserver cannot do {}: {}",
        .0.option(), instead(*.0)
    )]
    Unable(Feature),
    /// The peer is a stock netserver, which measures its CPUs in one way only.
    #[error(
        "a stock netserver cannot do --cpu-method {}: start one of this \
         program there, or leave out -C",
        .0.name()
    )]
    CpuMethod(CpuMethod),
    /// netserver asks for something that only a coordinator's netperf would do: the kind of
    /// the item.
    #[error(
        "netserver takes this for a run with a coordinator (item {0:#04x}), which this netperf \
         does not offer: use a netserver of the same version"
    )]
    Coordination(u8),
    /// netserver does not say that it does what it was asked for.
    #[error("netserver did not confirm the request")]
    NotConfirmed,
    /// A request is too long for its record.
    #[error("the request to netserver is too long: {0}")]
    NoRoom(#[from] NoRoom),
    /// No answer within this time.
    #[error("no answer from netserver within {}", whole_or_tenths(*.0))]
    NoAnswer(Duration),
    /// A signal from outside came first.
    #[error("interrupted before netserver answered")]
    Interrupted,
    /// A part of an answer within this time.
    #[error(
        "only {got} {} of an answer from netserver within {}",
        if *got == 1 { "byte" } else { "bytes" },
        whole_or_tenths(*.waited)
    )]
    Incomplete {
        /// Bytes of the message that had arrived.
        got: usize,
        /// The time that was waited.
        waited: Duration,
    },
    /// Another program answers.
    #[error("{0} answers, not netserver")]
    NoNetserver(ForeignProgram),
    /// The connection broke.
    #[error("the control connection broke: {0}")]
    Broken(String),
    /// A message cannot be decoded: the field and why.
    #[error("invalid response from netserver: {0}")]
    Malformed(String),
    /// The response to a request came again where its results were due.
    #[error("netserver sent its response to the request again in place of results")]
    Repeated,
    /// An input came in a state that has no place for it.
    #[error("unexpected message: {input} in {state}")]
    OutOfTurn {
        /// The state.
        state: &'static str,
        /// The input.
        input: &'static str,
    },
}

/// Advice for a function that a stock netserver does not have.
fn instead(feature: Feature) -> String {
    const START: &str = "start one of this program there";
    match feature.instead() {
        "" if feature.takes_both() => START.to_owned(),
        "" => format!("{START}, or ask for it at this end alone"),
        instead => format!("{instead}, or {START}"),
    }
}
