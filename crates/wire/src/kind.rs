//! Names for the numbers in words 0 and 1.

use std::fmt;

/// Declares [`RequestKind`] from the table of request numbers, so that number,
/// name and variant stand in one place.
macro_rules! request_kinds {
    ($($(#[$doc:meta])* $variant:ident = $number:literal $name:literal,)*) => {
        /// What a client asks for (control-protocol.md 1.7).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum RequestKind {
            $($(#[$doc])* $variant,)*
            /// A number that this program has no name for.
            Unknown(u32),
        }

        impl RequestKind {
            /// Every request that has a name.
            pub const NAMED: &'static [Self] = &[$(Self::$variant,)*];

            /// The request with this number.
            #[must_use]
            pub const fn from_number(number: u32) -> Self {
                match number {
                    $($number => Self::$variant,)*
                    other => Self::Unknown(other),
                }
            }

            /// The number in word 0.
            #[must_use]
            pub const fn number(self) -> u32 {
                match self {
                    $(Self::$variant => $number,)*
                    Self::Unknown(number) => number,
                }
            }

            /// The name in the wire document.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Unknown(_) => "unknown request",
                }
            }
        }
    };
}

request_kinds! {
    /// Raise the server's debug level.
    DebugOn = 1 "DEBUG_ON",
    /// Lower the server's debug level.
    DebugOff = 2 "DEBUG_OFF",
    /// Has a number, but no 2.7 server knows it.
    NodeIdentify = 4 "NODE_IDENTIFY",
    /// How fast the server's CPU is.
    CpuCalibrate = 5 "CPU_CALIBRATE",
    /// The passphrase; not answered.
    Passphrase = 6 "PASSPHRASE",
    /// Classic TCP_STREAM; also TCP_SENDFILE and TCP_MSS.
    TcpStream = 10 "TCP_STREAM",
    /// Classic TCP_RR.
    TcpRr = 13 "TCP_RR",
    /// Classic UDP_STREAM.
    UdpStream = 16 "UDP_STREAM",
    /// Classic UDP_RR.
    UdpRr = 19 "UDP_RR",
    /// Classic TCP_CRR.
    TcpCrr = 34 "TCP_CRR",
    /// Unix-domain stream.
    StreamStream = 37 "STREAM_STREAM",
    /// Unix-domain stream, request/response.
    StreamRr = 40 "STREAM_RR",
    /// Unix-domain datagrams.
    DgStream = 43 "DG_STREAM",
    /// Unix-domain datagrams, request/response.
    DgRr = 46 "DG_RR",
    /// Classic TCP_MAERTS.
    TcpMaerts = 94 "TCP_MAERTS",
    /// The request that most tests of a 2.7 client are.
    Omni = 97 "OMNI",
    /// Classic TCP_CC.
    TcpCc = 300 "TCP_CC",
    /// A line about the server's system; answered with placeholders.
    SysInfo = 600 "SYSINFO",
}

impl RequestKind {
    /// Word 0 of the first answer; 0 for a request that gets none, or that is
    /// unknown to a 2.7 server.
    #[must_use]
    pub const fn response_number(self) -> u32 {
        match self {
            Self::DebugOn | Self::DebugOff => 3,
            Self::CpuCalibrate => self.number(),
            Self::Passphrase | Self::NodeIdentify | Self::Unknown(_) => 0,
            Self::TcpStream
            | Self::TcpRr
            | Self::UdpStream
            | Self::UdpRr
            | Self::TcpCrr
            | Self::StreamStream
            | Self::StreamRr
            | Self::DgStream
            | Self::DgRr
            | Self::TcpMaerts
            | Self::Omni
            | Self::TcpCc
            | Self::SysInfo => self.number() + 1,
        }
    }

    /// Word 0 of results by the list of numbers; 0 for a request that is not a test.
    #[must_use]
    pub const fn results_number(self) -> u32 {
        match self {
            Self::DebugOn
            | Self::DebugOff
            | Self::CpuCalibrate
            | Self::Passphrase
            | Self::NodeIdentify
            | Self::SysInfo
            | Self::Unknown(_) => 0,
            Self::TcpStream
            | Self::TcpRr
            | Self::UdpStream
            | Self::UdpRr
            | Self::TcpCrr
            | Self::StreamStream
            | Self::StreamRr
            | Self::DgStream
            | Self::DgRr
            | Self::TcpMaerts
            | Self::Omni
            | Self::TcpCc => self.number() + 2,
        }
    }

    /// Word 0 of results as a stock server on a little-endian host sends it: the
    /// response number with its bytes reversed, except for two tests that set the
    /// real one (control-protocol.md 1.5).
    #[must_use]
    pub const fn stock_results_number(self) -> u32 {
        if matches!(self, Self::UdpStream | Self::DgStream) {
            self.results_number()
        } else {
            self.response_number().swap_bytes()
        }
    }

    /// Whether the request starts a test, and so is answered with a response and
    /// with results.
    #[must_use]
    pub const fn is_test(self) -> bool {
        self.results_number() != 0
    }
}

impl fmt::Display for RequestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Unknown(number) = self {
            write!(f, "request {number}")
        } else {
            f.write_str(self.name())
        }
    }
}

/// Which of a request's records a frame is. Only the order on the connection tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// What the client asked.
    Request,
    /// The first answer.
    Response,
    /// The second answer, when the test is over.
    Results,
}

/// Word 1 of an answer: 0, an `errno` of the server's system, or a number that is
/// private to the protocol (control-protocol.md 1.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RemoteErrno(pub i32);

impl RemoteErrno {
    /// The request succeeded.
    pub const OK: Self = Self(0);
    /// The server does not know the request. The connection stays usable.
    pub const UNKNOWN_REQUEST: Self = Self(998);
    /// The passphrase is wrong; only specially built servers say so.
    pub const WRONG_PASSPHRASE: Self = Self(403);
    /// A send failed in classic TCP_CRR. Also an ordinary `errno` on many systems.
    pub const CRR_SEND_FAILED: Self = Self(99);
    /// A send failed in classic TCP_RR, SCTP_RR_MANY or SDP_RR.
    pub const RR_SEND_FAILED: Self = Self(992);
    /// A send failed in STREAM_RR.
    pub const STREAM_RR_SEND_FAILED: Self = Self(997);

    /// Whether the request succeeded.
    #[must_use]
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// What a private number means; nothing for success or for an `errno`.
    ///
    /// 99 has no text here because on Linux it is `EADDRNOTAVAIL` as well.
    #[must_use]
    pub const fn private_meaning(self) -> Option<&'static str> {
        match self {
            Self::UNKNOWN_REQUEST => Some("the server does not know this request"),
            Self::WRONG_PASSPHRASE => Some("the server did not accept the passphrase"),
            Self::RR_SEND_FAILED | Self::STREAM_RR_SEND_FAILED => {
                Some("the server could not send its answer")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_request_keeps_its_number() {
        for kind in RequestKind::NAMED {
            assert_eq!(RequestKind::from_number(kind.number()), *kind);
        }
    }

    #[test]
    fn a_number_without_a_name_is_kept() {
        assert_eq!(RequestKind::from_number(9999), RequestKind::Unknown(9999));
        assert_eq!(RequestKind::Unknown(9999).number(), 9999);
    }

    #[test]
    fn debug_ok_is_an_answer_and_not_a_request() {
        assert_eq!(RequestKind::from_number(3), RequestKind::Unknown(3));
    }

    #[test]
    fn the_answer_to_a_private_error_number_has_words() {
        assert!(RemoteErrno::UNKNOWN_REQUEST.private_meaning().is_some());
        assert!(RemoteErrno(111).private_meaning().is_none());
        assert!(RemoteErrno::CRR_SEND_FAILED.private_meaning().is_none());
    }
}
