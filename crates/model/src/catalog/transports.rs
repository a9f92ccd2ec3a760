//! The transports that data can travel over.

/// How a transport's sockets behave; the code is the one of the OMNI request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SocketKind {
    /// A byte stream without message boundaries (`SOCK_STREAM`).
    Stream,
    /// Unreliable messages (`SOCK_DGRAM`).
    Datagram,
}

impl SocketKind {
    /// The text of the `SOCKET_TYPE` selector.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Stream => "Stream",
            Self::Datagram => "Datagram",
        }
    }
}

/// Names one row of [`TRANSPORTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransportId {
    /// TCP (RFC 9293).
    Tcp,
    /// UDP (RFC 768).
    Udp,
    /// UDP-Lite (RFC 3828).
    UdpLite,
    /// Whatever the kernel picks for a stream socket when no protocol is named.
    IpDefault,
}

/// One transport.
#[derive(Debug)]
pub struct TransportRow {
    /// Which transport the row describes.
    pub id: TransportId,
    /// The word after test-specific `-T`, lower case.
    pub option: &'static str,
    /// The text of the `PROTOCOL` selector.
    pub label: &'static str,
    /// The IANA protocol number; 0 leaves the choice to the kernel.
    pub protocol: u8,
    /// The kind of socket.
    pub kind: SocketKind,
}

/// Every transport, in the order in which help lists them.
pub static TRANSPORTS: &[TransportRow] = &[
    TransportRow {
        id: TransportId::Tcp,
        option: "tcp",
        label: "TCP",
        protocol: 6,
        kind: SocketKind::Stream,
    },
    TransportRow {
        id: TransportId::Udp,
        option: "udp",
        label: "UDP",
        protocol: 17,
        kind: SocketKind::Datagram,
    },
    TransportRow {
        id: TransportId::UdpLite,
        option: "udplite",
        label: "UDPLite",
        protocol: 136,
        kind: SocketKind::Datagram,
    },
    TransportRow {
        id: TransportId::IpDefault,
        option: "ip",
        label: "IP Default",
        protocol: 0,
        kind: SocketKind::Stream,
    },
];

impl TransportId {
    /// The catalogue row of this transport.
    #[must_use]
    pub fn row(self) -> &'static TransportRow {
        match self {
            Self::Tcp => &TRANSPORTS[0],
            Self::Udp => &TRANSPORTS[1],
            Self::UdpLite => &TRANSPORTS[2],
            Self::IpDefault => &TRANSPORTS[3],
        }
    }

    /// The transport with this IANA protocol number and socket kind, if we have it.
    #[must_use]
    pub fn from_wire(protocol: u32, kind: SocketKind) -> Option<Self> {
        TRANSPORTS
            .iter()
            .find(|row| u32::from(row.protocol) == protocol && row.kind == kind)
            .map(|row| row.id)
    }

    /// The transport that test-specific `-T` names, in any case.
    #[must_use]
    pub fn from_option(word: &str) -> Option<Self> {
        TRANSPORTS
            .iter()
            .find(|row| row.option.eq_ignore_ascii_case(word))
            .map(|row| row.id)
    }

    /// Whether the data socket is connected before data moves.
    #[must_use]
    pub fn is_stream(self) -> bool {
        self.row().kind == SocketKind::Stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_own_id() {
        for row in TRANSPORTS {
            assert_eq!(row.id.row().label, row.label);
        }
    }
}
