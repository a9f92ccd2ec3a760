//! What a call can fail with (XNS 5.2, `t_errno`).

use std::fmt;
use std::io;

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
#[derive(Debug)]
pub enum XtiError {
    /// The name stands for no transport provider.
    BadName(String),
    /// The endpoint is closed.
    BadF(Call),
    /// The call is not for the state that the endpoint is in.
    OutState(Call, State),
    /// The provider does not do this.
    NotSupport(Call),
    /// Something has happened that is to be looked at first.
    Look(Indication),
    /// Nothing is there, or not yet.
    NoData,
    /// There is no release to take note of.
    NoRel,
    /// There is no disconnection to take note of.
    NoDis,
    /// As much data as this cannot be sent: none over a connection.
    BadData,
    /// The address cannot be had.
    AddrBusy,
    /// A system call failed.
    SysErr(io::Error),
}

impl XtiError {
    /// The name that the standard has for it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::BadName(_) => "TBADNAME",
            Self::BadF(_) => "TBADF",
            Self::OutState(..) => "TOUTSTATE",
            Self::NotSupport(_) => "TNOTSUPPORT",
            Self::Look(_) => "TLOOK",
            Self::NoData => "TNODATA",
            Self::NoRel => "TNOREL",
            Self::NoDis => "TNODIS",
            Self::BadData => "TBADDATA",
            Self::AddrBusy => "TADDRBUSY",
            Self::SysErr(_) => "TSYSERR",
        }
    }
}

impl fmt::Display for XtiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            Self::BadName(device) => {
                write!(f, "{name}: {device} is no transport provider for this test")
            }
            Self::BadF(call) => write!(f, "{name}: {call} on a closed endpoint"),
            Self::OutState(call, state) => write!(f, "{name}: {call} in state {state}"),
            Self::NotSupport(call) => write!(f, "{name}: {call} is not for this provider"),
            Self::Look(indication) => write!(f, "{name}: {}", indication.name()),
            Self::NoData => write!(f, "{name}: nothing is there"),
            Self::NoRel => write!(f, "{name}: the peer has not released its direction"),
            Self::NoDis => write!(f, "{name}: the connection stands"),
            Self::BadData => write!(f, "{name}: there must be data to send"),
            Self::AddrBusy => write!(f, "{name}: the address is in use"),
            Self::SysErr(error) => write!(f, "{name}: {error}"),
        }
    }
}

impl std::error::Error for XtiError {}

impl From<io::Error> for XtiError {
    fn from(error: io::Error) -> Self {
        Self::SysErr(error)
    }
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
