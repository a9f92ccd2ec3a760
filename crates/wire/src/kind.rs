//! Names for the numbers in words 0 and 1.

use std::fmt;

/// Declares [`RequestKind`] from the table of request numbers, so that numbers,
/// name and variant stand in one place: word 0 of the request, of the response and of
/// the results, 0 where there is none.
macro_rules! request_kinds {
    ($($(#[$doc:meta])*
        $variant:ident = $number:literal, $response:literal, $results:literal, $name:literal;)*
    ) => {
        /// Number of a request (control-protocol.md 1.7).
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

            /// Word 0 of the first answer; 0 for a request that gets none, or
            /// whose answer has no number.
            #[must_use]
            pub const fn response_number(self) -> u32 {
                match self {
                    $(Self::$variant => $response,)*
                    Self::Unknown(_) => 0,
                }
            }

            /// Word 0 of results by the list of numbers; 0 for a request that is not
            /// a test.
            #[must_use]
            pub const fn results_number(self) -> u32 {
                match self {
                    $(Self::$variant => $results,)*
                    Self::Unknown(_) => 0,
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
    DebugOn = 1, 3, 0, "DEBUG_ON";
    /// Lower the server's debug level.
    DebugOff = 2, 3, 0, "DEBUG_OFF";
    /// Has a number, but no 2.7 server knows it.
    NodeIdentify = 4, 0, 0, "NODE_IDENTIFY";
    /// Calibration rate of the server's CPU.
    CpuCalibrate = 5, 5, 0, "CPU_CALIBRATE";
    /// The passphrase; not answered.
    Passphrase = 6, 0, 0, "PASSPHRASE";
    /// Classic TCP_STREAM; also TCP_SENDFILE and TCP_MSS.
    TcpStream = 10, 11, 12, "TCP_STREAM";
    /// Classic TCP_RR.
    TcpRr = 13, 14, 15, "TCP_RR";
    /// Classic UDP_STREAM.
    UdpStream = 16, 17, 18, "UDP_STREAM";
    /// Classic UDP_RR.
    UdpRr = 19, 20, 21, "UDP_RR";
    /// DLPI, connection-oriented.
    DlpiCoStream = 22, 23, 24, "DLPI_CO_STREAM";
    /// DLPI, connection-oriented, request/response.
    DlpiCoRr = 25, 26, 27, "DLPI_CO_RR";
    /// DLPI, connectionless.
    DlpiClStream = 28, 29, 30, "DLPI_CL_STREAM";
    /// DLPI, connectionless, request/response.
    DlpiClRr = 31, 32, 33, "DLPI_CL_RR";
    /// Classic TCP_CRR.
    TcpCrr = 34, 35, 36, "TCP_CRR";
    /// Unix-domain stream.
    StreamStream = 37, 38, 39, "STREAM_STREAM";
    /// Unix-domain stream, request/response.
    StreamRr = 40, 41, 42, "STREAM_RR";
    /// Unix-domain datagrams.
    DgStream = 43, 44, 45, "DG_STREAM";
    /// Unix-domain datagrams, request/response.
    DgRr = 46, 47, 48, "DG_RR";
    /// TCP through XTI. FORE and HIPPI tests that no program has share some of the
    /// numbers of XTI.
    XtiTcpStream = 55, 56, 57, "XTI_TCP_STREAM";
    /// TCP through XTI, request/response.
    XtiTcpRr = 58, 59, 60, "XTI_TCP_RR";
    /// UDP through XTI.
    XtiUdpStream = 61, 62, 63, "XTI_UDP_STREAM";
    /// UDP through XTI, request/response.
    XtiUdpRr = 64, 65, 66, "XTI_UDP_RR";
    /// Has numbers, but no 2.7 client asks for it, and no 2.7 server knows it.
    XtiTcpCrr = 67, 68, 69, "XTI_TCP_CRR";
    /// Classic TCP_MAERTS.
    TcpMaerts = 94, 95, 96, "TCP_MAERTS";
    /// The request that most tests of a 2.7 client are.
    Omni = 97, 98, 99, "OMNI";
    /// Classic TCP_CC.
    TcpCc = 300, 301, 302, "TCP_CC";
    /// SCTP, one association.
    SctpStream = 500, 501, 502, "SCTP_STREAM";
    /// SCTP, many associations to one socket.
    SctpStreamMany = 510, 511, 512, "SCTP_STREAM_MANY";
    /// SCTP, request/response. Its results have the number of another test's.
    SctpRr = 520, 521, 502, "SCTP_RR";
    /// SCTP, request/response, many associations to one socket.
    SctpRrMany = 530, 531, 532, "SCTP_RR_MANY";
    /// SDP, towards the server.
    SdpStream = 540, 541, 542, "SDP_STREAM";
    /// SDP, request/response.
    SdpRr = 543, 544, 545, "SDP_RR";
    /// SDP, from the server.
    SdpMaerts = 546, 547, 548, "SDP_MAERTS";
    /// Has numbers, but no 2.7 client asks for it, and no 2.7 server knows it.
    SdpCrr = 549, 550, 551, "SDP_CRR";
    /// Has numbers, but no 2.7 client asks for it, and no 2.7 server knows it.
    SdpCc = 552, 553, 554, "SDP_CC";
    /// A line about the server's system; answered with placeholders.
    SysInfo = 600, 601, 0, "SYSINFO";
}

impl RequestKind {
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

    /// True if the request starts a test: the answers are a response and results.
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
    /// The request of the client.
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

    // Linux's numbers: they mean something only between like systems.
    /// Not permitted to this user.
    pub const EPERM: Self = Self(1);
    /// A failure without a specific number.
    pub const EIO: Self = Self(5);
    /// Not permitted.
    pub const EACCES: Self = Self(13);
    /// No such device, CPU or node.
    pub const ENODEV: Self = Self(19);
    /// A value that makes no sense.
    pub const EINVAL: Self = Self(22);
    /// No such page of an appendix.
    pub const ENODATA: Self = Self(61);
    /// An answer that does not fit into its record.
    pub const EMSGSIZE: Self = Self(90);
    /// A socket option that the protocol lacks.
    pub const ENOPROTOOPT: Self = Self(92);
    /// A transport that netserver's host lacks.
    pub const EPROTONOSUPPORT: Self = Self(93);
    /// A kind of socket that netserver's host lacks.
    pub const ESOCKTNOSUPPORT: Self = Self(94);
    /// A function that netserver lacks.
    pub const EOPNOTSUPP: Self = Self(95);
    /// A family of addresses that netserver's host lacks.
    pub const EAFNOSUPPORT: Self = Self(97);

    /// The server does not know the request. The connection stays usable.
    pub const UNKNOWN_REQUEST: Self = Self(998);
    /// The passphrase is wrong; only specially built servers say so.
    pub const WRONG_PASSPHRASE: Self = Self(403);
    /// A send failed in classic TCP_CRR. Also an ordinary `errno` on many systems.
    pub const CRR_SEND_FAILED: Self = Self(99);
    /// A send failed in classic TCP_RR, SCTP_RR_MANY or SDP_RR.
    pub const RR_SEND_FAILED: Self = Self(992);
    /// A send failed in SCTP_RR.
    pub const SCTP_RR_SEND_FAILED: Self = Self(982);
    /// A send failed in STREAM_RR.
    pub const STREAM_RR_SEND_FAILED: Self = Self(997);

    /// True if the request succeeded.
    #[must_use]
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// Meaning of a private number; nothing for success or for an `errno`.
    ///
    /// 99 has no text here because on Linux it is `EADDRNOTAVAIL` as well.
    #[must_use]
    pub const fn private_meaning(self) -> Option<&'static str> {
        match self {
            Self::UNKNOWN_REQUEST => Some("the server does not know this request"),
            Self::WRONG_PASSPHRASE => Some("the server did not accept the passphrase"),
            Self::RR_SEND_FAILED | Self::SCTP_RR_SEND_FAILED | Self::STREAM_RR_SEND_FAILED => {
                Some("the server could not send its answer")
            }
            Self(993..=996) => Some("the server's DLPI test failed"),
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
        assert!(RemoteErrno::SCTP_RR_SEND_FAILED.private_meaning().is_some());
        assert!(RemoteErrno(993).private_meaning().is_some());
        assert!(RemoteErrno(111).private_meaning().is_none());
        assert!(RemoteErrno::CRR_SEND_FAILED.private_meaning().is_none());
    }
}
