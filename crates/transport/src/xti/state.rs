//! State table of an XTI endpoint (XNS 5.2, "States and events in XTI").

use std::fmt;

/// Declares an enum whose values have the names of the standard.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $value:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$vdoc])* $value,)*
        }

        impl $name {
            /// All values, in order.
            pub const ALL: &[Self] = &[$(Self::$value,)*];

            /// Name in the standard.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

named! {
    /// State returned by `t_getstate`.
    State {
        /// Not opened, or closed.
        Uninit = "T_UNINIT",
        /// Opened, not bound.
        Unbound = "T_UNBND",
        /// Bound, no connection.
        Idle = "T_IDLE",
        /// A connection was requested.
        OutCon = "T_OUTCON",
        /// A connection request has arrived.
        InCon = "T_INCON",
        /// Connected.
        DataXfer = "T_DATAXFER",
        /// The local direction is released.
        OutRel = "T_OUTREL",
        /// The peer's direction is released.
        InRel = "T_INREL",
    }
}

named! {
    /// Implemented calls.
    Call {
        /// Creates an endpoint.
        Open = "t_open",
        /// Binds an address.
        Bind = "t_bind",
        /// Releases the address.
        Unbind = "t_unbind",
        /// Closes the endpoint.
        Close = "t_close",
        /// Returns the pending event.
        Look = "t_look",
        /// Returns the state.
        GetState = "t_getstate",
        /// Requests a connection.
        Connect = "t_connect",
        /// Confirms the connection.
        RcvConnect = "t_rcvconnect",
        /// Waits for a connection request.
        Listen = "t_listen",
        /// Accepts a connection request.
        Accept = "t_accept",
        /// Sends.
        Snd = "t_snd",
        /// Receives.
        Rcv = "t_rcv",
        /// Releases the local direction.
        SndRel = "t_sndrel",
        /// Acknowledges the peer's release.
        RcvRel = "t_rcvrel",
        /// Acknowledges a disconnection and returns the reason.
        RcvDis = "t_rcvdis",
        /// Sends a datagram.
        SndUData = "t_sndudata",
        /// Receives a datagram.
        RcvUData = "t_rcvudata",
    }
}

named! {
    /// Event of the state table: a completed call.
    Event {
        /// `t_open` made an endpoint.
        Opened = "opened",
        /// `t_bind` succeeded.
        Bound = "bind",
        /// `t_unbind` succeeded.
        Unbound = "unbind",
        /// `t_close` succeeded.
        Closed = "closed",
        /// `t_connect` succeeded.
        Connect1 = "connect1",
        /// `t_connect` has started and is not finished.
        Connect2 = "connect2",
        /// `t_rcvconnect` succeeded.
        RcvConnect = "rcvconnect",
        /// `t_listen` succeeded.
        Listen = "listen",
        /// `t_accept` took the last indication for another endpoint.
        Accept2 = "accept2",
        /// `t_accept` took one of several indications for another endpoint.
        Accept3 = "accept3",
        /// Another endpoint's `t_accept` passed the connection on to this one.
        PassCon = "pass_conn",
        /// `t_snd` succeeded.
        Snd = "snd",
        /// `t_rcv` succeeded.
        Rcv = "rcv",
        /// `t_sndrel` succeeded.
        SndRel = "sndrel",
        /// `t_rcvrel` succeeded.
        RcvRel = "rcvrel",
        /// `t_rcvdis` succeeded.
        RcvDis = "rcvdis1",
        /// `t_sndudata` succeeded.
        SndUData = "sndudata",
        /// `t_rcvudata` succeeded.
        RcvUData = "rcvudata",
    }
}

/// Transitions: event, old state, new state. A call without a transition fails with
/// `TOUTSTATE`.
pub static TABLE: &[(Event, State, State)] = {
    use Event as E;
    use State as S;
    &[
        (E::Opened, S::Uninit, S::Unbound),
        (E::Bound, S::Unbound, S::Idle),
        (E::Unbound, S::Idle, S::Unbound),
        (E::Closed, S::Unbound, S::Uninit),
        (E::Closed, S::Idle, S::Uninit),
        (E::Closed, S::OutCon, S::Uninit),
        (E::Closed, S::InCon, S::Uninit),
        (E::Closed, S::DataXfer, S::Uninit),
        (E::Closed, S::OutRel, S::Uninit),
        (E::Closed, S::InRel, S::Uninit),
        (E::Connect1, S::Idle, S::DataXfer),
        (E::Connect2, S::Idle, S::OutCon),
        (E::RcvConnect, S::OutCon, S::DataXfer),
        (E::Listen, S::Idle, S::InCon),
        (E::Listen, S::InCon, S::InCon),
        (E::Accept2, S::InCon, S::Idle),
        (E::Accept3, S::InCon, S::InCon),
        (E::PassCon, S::Unbound, S::DataXfer),
        (E::PassCon, S::Idle, S::DataXfer),
        (E::Snd, S::DataXfer, S::DataXfer),
        (E::Snd, S::InRel, S::InRel),
        (E::Rcv, S::DataXfer, S::DataXfer),
        (E::Rcv, S::OutRel, S::OutRel),
        (E::SndRel, S::DataXfer, S::OutRel),
        (E::SndRel, S::InRel, S::Idle),
        (E::RcvRel, S::DataXfer, S::InRel),
        (E::RcvRel, S::OutRel, S::Idle),
        (E::RcvDis, S::OutCon, S::Idle),
        (E::RcvDis, S::DataXfer, S::Idle),
        (E::RcvDis, S::OutRel, S::Idle),
        (E::RcvDis, S::InRel, S::Idle),
        (E::SndUData, S::Idle, S::Idle),
        (E::RcvUData, S::Idle, S::Idle),
    ]
};

/// New state after an event; `None` if the event is not permitted.
#[must_use]
pub fn next(state: State, event: Event) -> Option<State> {
    let row = TABLE
        .iter()
        .find(|(its, from, _)| (*its, *from) == (event, state));
    row.map(|(_, _, to)| *to)
}

/// Set of states as bits, so that a check is one instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct States(u8);

impl States {
    /// States in which one of these events is permitted.
    pub(super) const fn that_take(events: &[Event]) -> Self {
        let (mut bits, mut row) = (0, 0);
        while row < TABLE.len() {
            let (event, from, _) = TABLE[row];
            let mut index = 0;
            while index < events.len() {
                if events[index] as u8 == event as u8 {
                    bits |= 1 << from as u8;
                }
                index += 1;
            }
            row += 1;
        }
        Self(bits)
    }

    #[inline]
    pub(super) const fn have(self, state: State) -> bool {
        self.0 & (1 << state as u8) != 0
    }
}

impl Call {
    /// Possible events of the call; empty for calls that do not change the state.
    #[must_use]
    pub const fn events(self) -> &'static [Event] {
        match self {
            Self::Open => &[Event::Opened],
            Self::Bind => &[Event::Bound],
            Self::Unbind => &[Event::Unbound],
            Self::Close => &[Event::Closed],
            Self::Look | Self::GetState => &[],
            Self::Connect => &[Event::Connect1, Event::Connect2],
            Self::RcvConnect => &[Event::RcvConnect],
            Self::Listen => &[Event::Listen],
            Self::Accept => &[Event::Accept2, Event::Accept3],
            Self::Snd => &[Event::Snd],
            Self::Rcv => &[Event::Rcv],
            Self::SndRel => &[Event::SndRel],
            Self::RcvRel => &[Event::RcvRel],
            Self::RcvDis => &[Event::RcvDis],
            Self::SndUData => &[Event::SndUData],
            Self::RcvUData => &[Event::RcvUData],
        }
    }

    /// States in which the call is permitted.
    pub(super) const fn allowed(self) -> States {
        if matches!(self, Self::Look | Self::GetState) {
            // All states of an open endpoint.
            States(!1)
        } else {
            States::that_take(self.events())
        }
    }
}
