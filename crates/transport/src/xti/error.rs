//! Errors of XTI calls (XNS 5.2, `t_errno`).

use std::io;

use thiserror::Error;

use super::state::{Call, State};

/// Event returned by `t_look` and behind `TLOOK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indication {
    /// A connection request.
    Listen,
    /// A connection confirmation.
    Connect,
    /// Data has arrived.
    Data,
    /// The connection failed or ended.
    Disconnect,
    /// The peer has released its direction.
    OrdRel,
}

impl Indication {
    /// Name in the standard.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Listen => "T_LISTEN",
            Self::Connect => "T_CONNECT",
            Self::Data => "T_DATA",
            Self::Disconnect => "T_DISCONNECT",
            Self::OrdRel => "T_ORDREL",
        }
    }
}

/// Error of an XTI call.
#[derive(Debug, Error)]
pub enum XtiError {
    /// Unknown transport provider.
    #[error("TBADNAME: {0} is not a transport provider for this test")]
    BadName(String),
    /// The endpoint is closed.
    #[error("TBADF: {0} on a closed endpoint")]
    BadF(Call),
    /// The call is not permitted in this state.
    #[error("TOUTSTATE: {0} in state {1}")]
    OutState(Call, State),
    /// The provider does not support the call.
    #[error("TNOTSUPPORT: {0} is not for this provider")]
    NotSupport(Call),
    /// An event must be handled first.
    #[error("TLOOK: {}", .0.name())]
    Look(Indication),
    /// No data available.
    #[error("TNODATA: no data has arrived")]
    NoData,
    /// No orderly release pending.
    #[error("TNOREL: the peer has not released its direction")]
    NoRel,
    /// No disconnection pending.
    #[error("TNODIS: the connection stands")]
    NoDis,
    /// Invalid amount of data; a connection cannot send 0 bytes.
    #[error("TBADDATA: there must be data to send")]
    BadData,
    /// The address is in use.
    #[error("TADDRBUSY: the address is in use")]
    AddrBusy,
    /// A system call failed.
    #[error("TSYSERR: {0}")]
    SysErr(#[from] io::Error),
}

impl From<XtiError> for io::Error {
    fn from(error: XtiError) -> Self {
        match error {
            XtiError::SysErr(error) => error,
            XtiError::AddrBusy => io::ErrorKind::AddrInUse.into(),
            XtiError::BadName(_) => Self::new(io::ErrorKind::InvalidInput, error),
            other @ (XtiError::BadF(_)
            | XtiError::OutState(..)
            | XtiError::NotSupport(_)
            | XtiError::Look(_)
            | XtiError::NoData
            | XtiError::NoRel
            | XtiError::NoDis
            | XtiError::BadData) => Self::other(other),
        }
    }
}
