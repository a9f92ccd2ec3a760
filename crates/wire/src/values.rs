//! Names for the codes inside messages. A code without a name is kept as it is.

use std::net::IpAddr;

/// Gives a word of flags its methods.
#[macro_export]
macro_rules! flag_word {
    ($name:ident, $word:ident) => {
        impl $name {
            /// The flags with these bits, also those that have no name.
            #[must_use]
            pub const fn from_bits(bits: $word) -> Self {
                Self(bits)
            }

            /// The bits in the message.
            #[must_use]
            pub const fn bits(self) -> $word {
                self.0
            }

            /// True if all of `flags` are on.
            #[must_use]
            pub const fn contains(self, flags: Self) -> bool {
                self.0 & flags.0 == flags.0
            }

            /// These flags, and `flags` as well if `on`.
            #[must_use]
            pub const fn with(self, flags: Self, on: bool) -> Self {
                if on { Self(self.0 | flags.0) } else { self }
            }
        }

        impl std::ops::BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
    };
}

/// Declares an enum over the codes of one field, with `Other` for the rest.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $code:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
            /// A code that this program has no name for.
            Other(u32),
        }

        impl $name {
            /// The value with this code.
            #[must_use]
            pub const fn from_code(code: u32) -> Self {
                match code {
                    $($code => Self::$variant,)*
                    other => Self::Other(other),
                }
            }

            /// The code in the record.
            #[must_use]
            pub const fn code(self) -> u32 {
                match self {
                    $(Self::$variant => $code,)*
                    Self::Other(code) => code,
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::from_code(0)
            }
        }
    };
}

codes! {
    /// Netperf's address family code, not that of an operating system.
    WireFamily {
        /// Not said.
        Unspecified = 0,
        /// IPv4.
        Inet = 4,
        /// IPv6.
        Inet6 = 6,
        /// Reliable datagram sockets.
        Rds = 7,
    }
}

impl WireFamily {
    /// The family of an address.
    #[must_use]
    pub const fn of(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(_) => Self::Inet,
            IpAddr::V6(_) => Self::Inet6,
        }
    }
}

codes! {
    /// Netperf's socket type code, not that of an operating system.
    WireSocketType {
        /// A byte stream.
        Stream = 1,
        /// Datagrams.
        Datagram = 2,
        /// DCCP.
        Dccp = 3,
        /// A sequenced packet stream.
        SeqPacket = 4,
        /// The client does not know.
        Unknown = 0xffff_ffff,
    }
}

codes! {
    /// Transport protocol by its IANA number.
    WireProtocol {
        /// Whatever goes with family and socket type.
        Unspecified = 0,
        /// TCP.
        Tcp = 6,
        /// UDP.
        Udp = 17,
        /// DCCP.
        Dccp = 33,
        /// SCTP.
        Sctp = 132,
        /// UDP-Lite.
        UdpLite = 136,
    }
}

/// Direction of an OMNI test, as seen from the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Direction(u32);

impl Direction {
    /// Neither: connect and close.
    pub const NEITHER: Self = Self(0);
    /// The server transmits.
    pub const TRANSMIT: Self = Self(0x2);
    /// The server receives.
    pub const RECEIVE: Self = Self(0x4);
    /// Both: request and response.
    pub const BOTH: Self = Self(0x6);

    /// The direction with these bits.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The bits in the record.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// True if the server transmits.
    #[must_use]
    pub const fn transmits(self) -> bool {
        self.0 & Self::TRANSMIT.0 != 0
    }

    /// True if the server receives.
    #[must_use]
    pub const fn receives(self) -> bool {
        self.0 & Self::RECEIVE.0 != 0
    }
}

/// The switches of an OMNI request or response (control-protocol.md 2.5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OmniFlags(u32);

impl OmniFlags {
    /// Nothing is switched on.
    pub const NONE: Self = Self(0);
    /// Disable Nagle's algorithm.
    pub const NO_DELAY: Self = Self(0x1);
    /// Use sendfile; ignored by a server.
    pub const USE_SENDFILE: Self = Self(0x2);
    /// A new connection for each transaction.
    pub const CONNECTION_TEST: Self = Self(0x4);
    /// Measure CPU, or: CPU is being measured.
    pub const MEASURE_CPU: Self = Self(0x8);
    /// No checksums; never sent, ignored.
    pub const CHECKSUM_OFF: Self = Self(0x10);
    /// Routing is allowed. The same bit asks for [`Self::REPORT_CONG_CONTROL`].
    pub const ROUTING_ALLOWED: Self = Self(0x20);
    /// Report the congestion control in the results. The same bit as
    /// [`Self::ROUTING_ALLOWED`], by an accident of 2.7 (control-protocol.md 2.5.1).
    pub const REPORT_CONG_CONTROL: Self = Self::ROUTING_ALLOWED;
    /// The interface's name is wanted; ignored.
    pub const WANT_IFNAME: Self = Self(0x40);
    /// The interface's slot is wanted; ignored.
    pub const WANT_IFSLOT: Self = Self(0x80);
    /// The interface's ids are wanted; ignored.
    pub const WANT_IFIDS: Self = Self(0x100);
    /// The interface's driver is wanted; ignored.
    pub const WANT_DRIVER: Self = Self(0x200);
    /// TCP fast open.
    pub const FAST_OPEN: Self = Self(0x800);
    /// Manage the firewall; never sent, ignored.
    pub const MANAGE_FIREWALL: Self = Self(0x1000);
    /// Learn the own address from the first datagram, and send from it.
    pub const PACKET_INFO: Self = Self(0x2000);
    /// Connect the server's UDP socket to the sender of the first datagram; 2.7.1.
    pub const CONNECT_UDP: Self = Self(0x4000);
    /// TCP defer accept.
    pub const DEFER_ACCEPT: Self = Self(0x8000);
    /// Do path MTU discovery; 2.7.1.
    pub const PATH_MTU_DISCOVERY: Self = Self(0x1_0000);
    /// Keep-alive on the data socket.
    pub const KEEP_ALIVE: Self = Self(0x8000_0000);

    /// The two flags that a server sets in a response. The other bits are residue of
    /// an earlier record (control-protocol.md 1.6).
    #[must_use]
    pub const fn defined_in_response(self) -> Self {
        Self(self.0 & (Self::NO_DELAY.0 | Self::MEASURE_CPU.0))
    }
}

flag_word!(OmniFlags, u32);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_code_is_kept(code: u32) {
            prop_assert_eq!(WireFamily::from_code(code).code(), code);
            prop_assert_eq!(WireSocketType::from_code(code).code(), code);
            prop_assert_eq!(WireProtocol::from_code(code).code(), code);
            prop_assert_eq!(Direction::from_bits(code).bits(), code);
            prop_assert_eq!(OmniFlags::from_bits(code).bits(), code);
        }
    }

    #[test]
    fn an_unknown_socket_type_has_a_name() {
        assert_eq!(WireSocketType::from_code(u32::MAX), WireSocketType::Unknown);
    }

    #[test]
    fn directions_are_those_of_the_server() {
        assert!(Direction::TRANSMIT.transmits() && !Direction::TRANSMIT.receives());
        assert!(Direction::BOTH.transmits() && Direction::BOTH.receives());
        assert!(!Direction::NEITHER.transmits() && !Direction::NEITHER.receives());
    }

    #[test]
    fn flags_are_switched_on_one_by_one() {
        let flags = OmniFlags::NONE
            .with(OmniFlags::NO_DELAY, true)
            .with(OmniFlags::MEASURE_CPU, false);
        assert!(flags.contains(OmniFlags::NO_DELAY));
        assert!(!flags.contains(OmniFlags::NO_DELAY | OmniFlags::MEASURE_CPU));
    }
}
