//! The transports that data can travel over.

/// Kind of a transport's sockets, named in the OMNI request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SocketKind {
    /// A byte stream without message boundaries (`SOCK_STREAM`).
    Stream,
    /// Messages without a connection (`SOCK_DGRAM`).
    Datagram,
    /// Messages over a connection (`SOCK_SEQPACKET`).
    SeqPacket,
    /// Unreliable messages over a connection with congestion control (`SOCK_DCCP`).
    Dccp,
}

impl SocketKind {
    /// The text of the `SOCKET_TYPE` selector.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Stream => "Stream",
            Self::Datagram => "Datagram",
            Self::SeqPacket => "Seqpacket",
            Self::Dccp => "DCCP",
        }
    }

    /// The name of the constant, for messages.
    #[must_use]
    pub const fn constant(self) -> &'static str {
        match self {
            Self::Stream => "SOCK_STREAM",
            Self::Datagram => "SOCK_DGRAM",
            Self::SeqPacket => "SOCK_SEQPACKET",
            Self::Dccp => "SOCK_DCCP",
        }
    }
}

/// Kind of address of a transport's sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// An IP address and a port (ip(7), ipv6(7)).
    Inet,
    /// A path in the file system (unix(7)).
    Unix,
    /// A context id and a port (vsock(7)).
    Vsock,
    /// A station address and a service access point (IEEE 802.2).
    Link,
    /// An interface, a virtual path and a virtual channel (RFC 2684).
    Atm,
}

/// Method by which the ends of a transport meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meeting {
    /// netserver listens, netperf connects.
    Connection,
    /// Messages go to an address.
    Addressed,
    /// Both ends attach to a circuit that is there already.
    Circuit,
}

/// Declares [`TransportId`] and [`TRANSPORTS`], so that a transport stands in one place.
macro_rules! transports {
    ($($(#[$doc:meta])* $id:ident {
        $option:literal, $label:literal, protocol: $protocol:literal,
        $kind:ident, $domain:ident, $meeting:ident,
        reliable: $reliable:literal, stock: $stock:literal, needs: $needs:literal
    })*) => {
        /// Names one row of [`TRANSPORTS`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TransportId {
            $($(#[$doc])* $id,)*
        }

        /// Every transport, in the order in which help lists them.
        pub static TRANSPORTS: &[TransportRow] = &[
            $(TransportRow {
                id: TransportId::$id,
                option: $option,
                label: $label,
                protocol: $protocol,
                kind: SocketKind::$kind,
                domain: Domain::$domain,
                meeting: Meeting::$meeting,
                reliable: $reliable,
                stock: $stock,
                needs: $needs,
            },)*
        ];
    };
}

/// One transport.
#[derive(Debug)]
pub struct TransportRow {
    /// Which transport the row describes.
    pub id: TransportId,
    /// The word after test-specific `-T`, lower case; also its name between our own ends.
    pub option: &'static str,
    /// The text of the `PROTOCOL` selector.
    pub label: &'static str,
    /// The protocol number; 0 leaves the choice to the kernel.
    pub protocol: u16,
    /// The kind of socket.
    pub kind: SocketKind,
    /// Kind of address.
    pub domain: Domain,
    /// Method by which the ends meet.
    pub meeting: Meeting,
    /// True if all sent data arrives while the connection is up.
    pub reliable: bool,
    /// True if the OMNI request of netperf 2.7 can name it by socket type and protocol.
    pub stock: bool,
    /// Requirements of the kernel, and how to meet them; empty where every Linux has it.
    pub needs: &'static str,
}

transports! {
    /// TCP (RFC 9293).
    Tcp {
        "tcp", "TCP", protocol: 6, Stream, Inet, Connection,
        reliable: true, stock: true, needs: ""
    }
    /// UDP (RFC 768).
    Udp {
        "udp", "UDP", protocol: 17, Datagram, Inet, Addressed,
        reliable: false, stock: true, needs: ""
    }
    /// UDP-Lite (RFC 3828).
    UdpLite {
        "udplite", "UDPLite", protocol: 136, Datagram, Inet, Addressed,
        reliable: false, stock: true,
        needs: "a kernel built with UDP-Lite (part of IPv4 and IPv6 there, no module)"
    }
    /// SCTP, one association for each socket (RFC 9260, RFC 6458 section 4).
    Sctp {
        "sctp", "SCTP", protocol: 132, Stream, Inet, Connection,
        reliable: true, stock: true,
        needs: "the kernel module sctp (modprobe sctp)"
    }
    /// SCTP, many associations on one socket (RFC 6458 section 3).
    SctpMany {
        "sctp-many", "SCTP", protocol: 132, SeqPacket, Inet, Addressed,
        reliable: true, stock: true,
        needs: "the kernel module sctp (modprobe sctp)"
    }
    /// DCCP (RFC 4340).
    Dccp {
        "dccp", "DCCP", protocol: 33, Dccp, Inet, Connection,
        reliable: false, stock: true,
        needs: "the kernel modules dccp, dccp_ipv4 and dccp_ipv6 (modprobe dccp_ipv4 dccp_ipv6; gone since Linux 6.16)"
    }
    /// The kernel's default protocol of a stream socket.
    IpDefault {
        "ip", "IP Default", protocol: 0, Stream, Inet, Connection,
        reliable: true, stock: true, needs: ""
    }
    /// Multipath TCP (RFC 8684).
    Mptcp {
        "mptcp", "MPTCP", protocol: 262, Stream, Inet, Connection,
        reliable: true, stock: false,
        needs: "Linux 5.6 or later with MPTCP, switched on (sysctl net.mptcp.enabled=1)"
    }
    /// TLS 1.3 in this program over TCP (RFC 8446).
    Tls {
        "tls", "TLS", protocol: 6, Stream, Inet, Connection,
        reliable: true, stock: false, needs: ""
    }
    /// TLS 1.3 over TCP, its records made by the kernel.
    Ktls {
        "ktls", "kTLS", protocol: 6, Stream, Inet, Connection,
        reliable: true, stock: false,
        needs: "the kernel module tls (modprobe tls)"
    }
    /// Sockets Direct Protocol, by a library preloaded in front of TCP.
    Sdp {
        "sdp", "SDP", protocol: 0, Stream, Inet, Connection,
        reliable: true, stock: false,
        needs: "a library that turns TCP into SDP, preloaded (LD_PRELOAD=libsdp.so)"
    }
    /// TCP behind an XTI endpoint (XNS 5.2).
    XtiTcp {
        "xti-tcp", "TCP (XTI over sockets)", protocol: 6, Stream, Inet, Connection,
        reliable: true, stock: false, needs: ""
    }
    /// UDP behind an XTI endpoint (XNS 5.2).
    XtiUdp {
        "xti-udp", "UDP (XTI over sockets)", protocol: 17, Datagram, Inet, Addressed,
        reliable: false, stock: false, needs: ""
    }
    /// Unix-domain byte streams (unix(7)).
    UnixStream {
        "unix", "Unix", protocol: 0, Stream, Unix, Connection,
        reliable: true, stock: false, needs: ""
    }
    /// Unix-domain datagrams (unix(7)): the sender waits, nothing is lost.
    UnixDatagram {
        "unix-dgram", "Unix", protocol: 0, Datagram, Unix, Addressed,
        reliable: true, stock: false, needs: ""
    }
    /// Unix-domain messages over a connection (unix(7)).
    UnixSeqPacket {
        "unix-seqpacket", "Unix", protocol: 0, SeqPacket, Unix, Connection,
        reliable: true, stock: false, needs: ""
    }
    /// Byte streams between a host and its virtual machines (vsock(7)).
    Vsock {
        "vsock", "vsock", protocol: 0, Stream, Vsock, Connection,
        reliable: true, stock: false,
        needs: "the kernel module vsock and a transport for it (modprobe vsock_loopback, vhost_vsock or vmw_vsock_virtio_transport)"
    }
    /// Messages between a host and its virtual machines (vsock(7)).
    VsockSeqPacket {
        "vsock-seqpacket", "vsock", protocol: 0, SeqPacket, Vsock, Connection,
        reliable: true, stock: false,
        needs: "Linux 5.14 or later, the kernel module vsock and a transport for it (modprobe vsock_loopback, vhost_vsock or vmw_vsock_virtio_transport)"
    }
    /// Logical link control type 1: unnumbered information (IEEE 802.2), by packet(7).
    Llc1 {
        "llc1", "LLC type 1", protocol: 0, Datagram, Link, Addressed,
        reliable: false, stock: false,
        needs: "packet sockets and the right to open them (CAP_NET_RAW: run as root)"
    }
    /// Logical link control type 2: a connection (IEEE 802.2), by the kernel's LLC.
    Llc2 {
        "llc2", "LLC type 2", protocol: 0, Stream, Link, Connection,
        reliable: true, stock: false,
        needs: "the kernel module llc2 and the right to use it (modprobe llc2; CAP_NET_RAW: run as root)"
    }
    /// Frames of a network interface, for what were HIPPI's tests, by packet(7).
    Packet {
        "packet", "Packet", protocol: 0, Datagram, Link, Addressed,
        reliable: false, stock: false,
        needs: "packet sockets and the right to open them (CAP_NET_RAW: run as root)"
    }
    /// AAL5 over a permanent virtual circuit of ATM (RFC 2684), for what were FORE's tests.
    Atm {
        "atm", "AAL5", protocol: 0, Datagram, Atm, Circuit,
        reliable: false, stock: false,
        needs: "the kernel module atm and an ATM interface (modprobe atm; atmtcp makes a virtual one)"
    }
}

impl TransportId {
    /// The catalogue row of this transport.
    #[must_use]
    pub fn row(self) -> &'static TransportRow {
        &TRANSPORTS[self as usize]
    }

    /// The transport that an OMNI request of netperf 2.7 names by these.
    #[must_use]
    pub fn from_wire(protocol: u32, kind: SocketKind) -> Option<Self> {
        TRANSPORTS
            .iter()
            .find(|row| row.stock && u32::from(row.protocol) == protocol && row.kind == kind)
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

    /// The same transport with another kind of socket, if there is one.
    #[must_use]
    pub fn with_kind(self, kind: SocketKind) -> Option<Self> {
        let own = self.row();
        let alike = |row: &&TransportRow| {
            row.label == own.label && row.domain == own.domain && row.kind == kind
        };
        TRANSPORTS.iter().find(alike).map(|row| row.id)
    }

    /// True if netperf connects to netserver before data moves.
    #[must_use]
    pub fn is_connected(self) -> bool {
        self.row().meeting == Meeting::Connection
    }

    /// True if the receiver can tell the only sender to stop: it ends its direction of a
    /// connection and continues to receive, or sends an empty datagram.
    #[must_use]
    pub const fn hears_of_an_end(self) -> bool {
        matches!(
            self,
            Self::Tcp
                | Self::IpDefault
                | Self::Mptcp
                | Self::Tls
                | Self::Ktls
                | Self::Sdp
                | Self::UnixStream
                | Self::UnixSeqPacket
                | Self::Vsock
                | Self::VsockSeqPacket
                | Self::Udp
                | Self::UdpLite
                | Self::UnixDatagram
        )
    }

    /// True if a receive returns the data of one send.
    #[must_use]
    pub fn keeps_boundaries(self) -> bool {
        self.row().kind != SocketKind::Stream
    }

    /// True if the kernel paces its connections (`SO_MAX_PACING_RATE`, socket(7)), which inherit
    /// the rate from the listening socket.
    #[must_use]
    pub const fn paces_itself(self) -> bool {
        matches!(
            self,
            Self::Tcp | Self::IpDefault | Self::Tls | Self::Ktls | Self::XtiTcp
        )
    }

    /// True if its sockets are those of an IP protocol.
    #[must_use]
    pub fn is_inet(self) -> bool {
        self.row().domain == Domain::Inet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_own_id_and_by_its_word() {
        for row in TRANSPORTS {
            assert_eq!(row.id.row().id, row.id);
            assert_eq!(
                TransportId::from_option(&row.option.to_uppercase()),
                Some(row.id)
            );
        }
    }

    #[test]
    fn transports_of_stock_requests_have_one_row_each() {
        for row in TRANSPORTS.iter().filter(|row| row.stock) {
            assert_eq!(
                TransportId::from_wire(row.protocol.into(), row.kind),
                Some(row.id)
            );
        }
    }
}
