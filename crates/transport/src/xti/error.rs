//! What a call can fail with (XNS 5.2, `t_errno`).

use std::io;

use thiserror::Error;

use super::state::{Call, State};

/// What `t_look` tells, and `TLOOK` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indication {
    /// Somebody asks for a connection.
    Listen,
    /// The connection is confirmed.
    Connect,
    /// Data is there.
    Data,
    /// There is no connection, or none any more.
    Disconnect,
    /// The peer has released its direction.
    OrdRel,
}

impl Indication {
    /// The name that the standard has for it.
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

/// Why a call failed.
#[derive(Debug, Error)]
pub enum XtiError {
    /// The name stands for no transport provider.
    #[error("TBADNAME: {0} is no transport provider for this test")]
    BadName(String),
    /// The endpoint is closed.
    #[error("TBADF: {0} on a closed endpoint")]
    BadF(Call),
    /// The call is not for the state that the endpoint is in.
    #[error("TOUTSTATE: {0} in state {1}")]
    OutState(Call, State),
    /// The provider does not do this.
    #[error("TNOTSUPPORT: {0} is not for this provider")]
    NotSupport(Call),
    /// Something has happened that is to be looked at first.
    #[error("TLOOK: {}", .0.name())]
    Look(Indication),
    /// Nothing is there, or not yet.
    #[error("TNODATA: nothing is there")]
    NoData,
    /// There is no release to take note of.
    #[error("TNOREL: the peer has not released its direction")]
    NoRel,
    /// There is no disconnection to take note of.
    #[error("TNODIS: the connection stands")]
    NoDis,
    /// As much data as this cannot be sent: none over a connection.
    #[error("TBADDATA: there must be data to send")]
    BadData,
    /// The address cannot be had.
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
