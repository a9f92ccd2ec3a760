//! The flags of the client header and of the report.

use netperf_wire::flag_word;

/// First word of the client header and of the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u32);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// Header: connect back to the client. Report: this is a report.
    pub const VERSION1: Self = Self(0x8000_0000);
    /// Header: the extension follows. Report: the client prints the enhanced row.
    pub const EXTEND: Self = Self(0x4000_0000);
    /// UDP: the upper flags ask for something.
    pub const UDP_TESTS: Self = Self(0x2000_0000);
    /// TCP: a permit key follows the header.
    pub const KEY_CHECK: Self = Self(0x1000_0000);
    /// UDP: sequence numbers have 64 bits.
    pub const SEQUENCE64: Self = Self(0x0800_0000);
    /// Reverse, full duplex or detection of the peer.
    pub const VERSION2: Self = Self(0x0400_0000);
    /// The client waits for the answer to its header.
    pub const PEER_DETECT: Self = Self(0x0200_0000);
    /// Request and response.
    pub const BOUNCEBACK: Self = Self(0x0080_0000);
    /// Bits 1 to 15 are the length of the header.
    pub const LENGTH: Self = Self(0x0001_0000);
    /// With [`Self::VERSION1`]: connect back at once, not after the test.
    pub const RUN_NOW: Self = Self(0x0000_0001);

    /// Bits of the length.
    const LENGTH_BITS: u32 = 0x0000_fffe;

    /// True if the word consists of digits: it is payload of a sender without header.
    #[must_use]
    pub fn is_payload(self) -> bool {
        self.0.to_be_bytes().iter().all(u8::is_ascii_digit)
    }

    /// Length of the header in bytes, if announced.
    #[must_use]
    pub const fn length(self) -> Option<usize> {
        if self.contains(Self::LENGTH) {
            // At most 32767.
            Some(((self.0 & Self::LENGTH_BITS) >> 1) as usize)
        } else {
            None
        }
    }

    /// These flags with an announced length of less than 32768 bytes.
    #[must_use]
    pub fn with_length(self, length: usize) -> Self {
        let length = u32::try_from(length).unwrap_or_default();
        let kept = self.0 & !Self::LENGTH_BITS | self.0 & Self::RUN_NOW.0;
        Self(kept | Self::LENGTH.0 | (length << 1 & Self::LENGTH_BITS))
    }
}

flag_word!(Flags, u32);

/// Flags of the extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UpperFlags(u16);

impl UpperFlags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// Bursts at a frame rate.
    pub const ISOCHRONOUS: Self = Self(0x0001);
    /// UDP: the client waits for no report.
    pub const NO_UDP_FIN: Self = Self(0x0008);
    /// Times of sending are compared with times of arrival.
    pub const TRIP_TIMES: Self = Self(0x0010);
    /// The rate is enforced by the client's kernel.
    pub const FQ_RATE: Self = Self(0x0200);
    /// The server sends.
    pub const REVERSE: Self = Self(0x0400);
    /// Both ends send on the same connection or flow.
    pub const FULL_DUPLEX: Self = Self(0x0800);
    /// Bursts at a period.
    pub const PERIODIC_BURST: Self = Self(0x2000);
    /// The sender limits what its socket holds unsent.
    pub const WRITE_PREFETCH: Self = Self(0x4000);
}

flag_word!(UpperFlags, u16);
