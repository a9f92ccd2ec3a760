//! Directions of data.

use crate::words::words;

/// Directions of data, as seen by netperf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    /// netperf sends.
    pub sends: bool,
    /// netperf receives.
    pub receives: bool,
    /// Every operation opens and closes a connection.
    pub connects: bool,
    /// Bulk data goes both ways at once, over this.
    pub duplex: Option<Duplex>,
}

words! {
    /// Sockets of the two directions of bulk data.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Duplex {
        /// One connection, or one socket at each end, for both.
        Same = "same",
        /// One for each.
        Separate = "separate",
    }
}

impl Flow {
    /// Bulk data to netserver.
    pub const SEND: Self = Self {
        sends: true,
        receives: false,
        connects: false,
        duplex: None,
    };
    /// Bulk data from netserver.
    pub const RECEIVE: Self = Self {
        sends: false,
        receives: true,
        connects: false,
        duplex: None,
    };
    /// Request/response.
    pub const RR: Self = Self {
        sends: true,
        receives: true,
        connects: false,
        duplex: None,
    };
    /// Connect, request, response, close.
    pub const CRR: Self = Self {
        sends: true,
        receives: true,
        connects: true,
        duplex: None,
    };
    /// Connect, close.
    pub const CC: Self = Self {
        sends: false,
        receives: false,
        connects: true,
        duplex: None,
    };

    /// Bulk data both ways at once.
    #[must_use]
    pub const fn both_ways(over: Duplex) -> Self {
        Self {
            sends: true,
            receives: true,
            connects: false,
            duplex: Some(over),
        }
    }

    /// True for requests and responses.
    #[must_use]
    pub const fn is_request_response(self) -> bool {
        self.sends && self.receives && self.duplex.is_none()
    }

    /// True if an operation is a transaction rather than a number of bytes.
    #[must_use]
    pub const fn counts_transactions(self) -> bool {
        self.connects || self.is_request_response()
    }

    /// The text of the `DIRECTION` selector.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match (self.connects, self.sends, self.receives) {
            _ if self.duplex.is_some() => "Both",
            (false, true, false) => "Send",
            (false, false, true) => "Receive",
            (false, true, true) => "Send|Recv",
            (true, false, false) => "Connection",
            (true, true, false) => "Connect|Send",
            (true, false, true) => "Connect|Recv",
            (true, true, true) => "Connect|Send|Recv",
            (false, false, false) => "None",
        }
    }
}
