//! The states of an XTI endpoint, as data (XNS 5.2, "States and events in XTI").

use std::fmt;

/// Declares an enum whose values are called what the standard calls them.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $value:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$vdoc])* $value,)*
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$value,)*];

            /// The name that the standard has for it.
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
    /// What `t_getstate` returns.
    State {
        /// Not opened, or closed.
        Uninit = "T_UNINIT",
        /// Opened, not bound.
        Unbound = "T_UNBND",
        /// Bound, no connection.
        Idle = "T_IDLE",
        /// A connection was asked for.
        OutCon = "T_OUTCON",
        /// Somebody asks for a connection.
        InCon = "T_INCON",
        /// The connection stands.
        DataXfer = "T_DATAXFER",
        /// We have released our direction.
        OutRel = "T_OUTREL",
        /// The peer has released its direction.
        InRel = "T_INREL",
    }
}

named! {
    /// The functions of the interface that are there.
    Call {
        /// Makes an endpoint.
        Open = "t_open",
        /// Gives it an address.
        Bind = "t_bind",
        /// Takes the address away.
        Unbind = "t_unbind",
        /// Ends the endpoint.
        Close = "t_close",
        /// Asks what has happened.
        Look = "t_look",
        /// Asks for the state.
        GetState = "t_getstate",
        /// Asks for a connection.
        Connect = "t_connect",
        /// Confirms the connection.
        RcvConnect = "t_rcvconnect",
        /// Waits for somebody who asks for a connection.
        Listen = "t_listen",
        /// Grants it.
        Accept = "t_accept",
        /// Sends.
        Snd = "t_snd",
        /// Receives.
        Rcv = "t_rcv",
        /// Releases our direction.
        SndRel = "t_sndrel",
        /// Takes note that the peer has released its direction.
        RcvRel = "t_rcvrel",
        /// Takes note that there is no connection, and why.
        RcvDis = "t_rcvdis",
        /// Sends a datagram.
        SndUData = "t_sndudata",
        /// Receives a datagram.
        RcvUData = "t_rcvudata",
    }
}

named! {
    /// What changes a state: a call that came to something.
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
        /// `t_connect` was begun and is not finished.
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

/// What each event makes of which state. What is not here does not happen: the call whose
/// event it would be fails with `TOUTSTATE`.
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

/// What an event makes of a state; `None` when it cannot happen there.
#[must_use]
pub fn next(state: State, event: Event) -> Option<State> {
    let row = TABLE
        .iter()
        .find(|(its, from, _)| (*its, *from) == (event, state));
    row.map(|(_, _, to)| *to)
}

/// States as bits, so that asking for one costs nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct States(u8);

impl States {
    /// Those in which one of these events can happen.
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
    /// What the call can come to; nothing for those that change no state.
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

    /// The states in which it is allowed.
    pub(super) const fn allowed(self) -> States {
        if matches!(self, Self::Look | Self::GetState) {
            // Anything that is open can be asked about.
            States(!1)
        } else {
            States::that_take(self.events())
        }
    }
}
