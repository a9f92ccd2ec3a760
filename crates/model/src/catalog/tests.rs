//! The test names a user can type after `-t`.

use super::transports::TransportId;
use crate::plan::Flow;

/// Declares [`TestId`] and [`TESTS`], so that a test stands in one place.
macro_rules! tests {
    ($($(#[$doc:meta])* $id:ident {
        $name:literal, $suite:ident, $banner:literal, $transport:ident, $flow:ident
    })*) => {
        /// Names one row of [`TESTS`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TestId {
            $($(#[$doc])* $id,)*
        }

        /// Every test, in the order in which help lists them.
        pub static TESTS: &[TestRow] = &[
            $(TestRow {
                id: TestId::$id,
                name: $name,
                suite: Suite::$suite,
                banner: $banner,
                transport: TransportId::$transport,
                flow: Flow::$flow,
            },)*
        ];
    };
}

/// Which test-specific option letters a test understands, and how it prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// The OMNI options.
    Omni,
    /// The older "sockets" options.
    Sockets,
    /// Those of the Unix-domain tests.
    Unix,
    /// Those of the SCTP tests.
    Sctp,
    /// Those of the SDP tests.
    Sdp,
    /// Those of the XTI tests.
    Xti,
    /// Those of the link-level tests.
    Dlpi,
    /// Those of the tests over a circuit of ATM.
    Fore,
    /// Those of the tests over the frames of an interface.
    Hippi,
    /// No test-specific options at all.
    Control,
}

/// One test name.
#[derive(Debug)]
pub struct TestRow {
    /// Which test the row describes.
    pub id: TestId,
    /// The name after `-t`, upper case.
    pub name: &'static str,
    /// Its option suite.
    pub suite: Suite,
    /// The words in front of ` from ...` in the banner; OMNI makes its own.
    pub banner: &'static str,
    /// The transport unless an option says otherwise.
    pub transport: TransportId,
    /// Direction of data unless an option says otherwise.
    pub flow: Flow,
}

tests! {
    /// Bulk data from netperf to netserver over TCP.
    TcpStream { "TCP_STREAM", Omni, "MIGRATED TCP STREAM TEST", Tcp, SEND }
    /// Bulk data from netserver to netperf over TCP.
    TcpMaerts { "TCP_MAERTS", Omni, "MIGRATED TCP MAERTS TEST", Tcp, RECEIVE }
    /// Bulk data to netserver from a file, by `sendfile(2)`.
    TcpSendfile { "TCP_SENDFILE", Sockets, "TCP SENDFILE TEST", Tcp, SEND }
    /// Request/response on one TCP connection.
    TcpRr { "TCP_RR", Omni, "MIGRATED TCP REQUEST/RESPONSE TEST", Tcp, RR }
    /// A new TCP connection for each request/response.
    TcpCrr { "TCP_CRR", Omni, "MIGRATED TCP Connect/Request/Response TEST", Tcp, CRR }
    /// Connect and close, no data.
    TcpCc { "TCP_CC", Sockets, "TCP Connect/Close TEST", Tcp, CC }
    /// The segment size of a TCP connection.
    TcpMss { "TCP_MSS", Sockets, "TCP MSS TEST", Tcp, SEND }
    /// Datagrams from netperf to netserver.
    UdpStream { "UDP_STREAM", Omni, "MIGRATED UDP STREAM TEST", Udp, SEND }
    /// Request/response with datagrams.
    UdpRr { "UDP_RR", Omni, "MIGRATED UDP REQUEST/RESPONSE TEST", Udp, RR }
    /// Bulk data between sockets of the Unix domain.
    StreamStream { "STREAM_STREAM", Unix, "STREAM STREAM TEST", UnixStream, SEND }
    /// Request/response on one connection of the Unix domain.
    StreamRr { "STREAM_RR", Unix, "STREAM REQUEST/RESPONSE TEST", UnixStream, RR }
    /// Datagrams between sockets of the Unix domain.
    DgStream { "DG_STREAM", Unix, "DG UNIDIRECTIONAL SEND TEST", UnixDatagram, SEND }
    /// Request/response with datagrams of the Unix domain.
    DgRr { "DG_RR", Unix, "DG REQUEST/RESPONSE TEST", UnixDatagram, RR }
    /// Bulk data over one SCTP association.
    SctpStream { "SCTP_STREAM", Sctp, "SCTP STREAM TEST", Sctp, SEND }
    /// Request/response over one SCTP association.
    SctpRr { "SCTP_RR", Sctp, "SCTP REQUEST/RESPONSE TEST", Sctp, RR }
    /// Bulk data over several SCTP associations.
    SctpStreamMany { "SCTP_STREAM_MANY", Sctp, "SCTP 1-TO-MANY STREAM TEST", SctpMany, SEND }
    /// Request/response over several SCTP associations.
    SctpRrMany { "SCTP_RR_MANY", Sctp, "SCTP 1-TO-MANY REQUEST/RESPONSE TEST", SctpMany, RR }
    /// Bulk data to netserver over SDP.
    SdpStream { "SDP_STREAM", Sdp, "SDP STREAM TEST", Sdp, SEND }
    /// Bulk data from netserver over SDP.
    SdpMaerts { "SDP_MAERTS", Sdp, "SDP MAERTS TEST", Sdp, RECEIVE }
    /// Request/response on one SDP connection.
    SdpRr { "SDP_RR", Sdp, "SDP REQUEST/RESPONSE TEST", Sdp, RR }
    /// A new SDP connection for each request/response.
    SdpCrr { "SDP_CRR", Sdp, "SDP Connect/Request/Response TEST", Sdp, CRR }
    /// Connect and close over SDP, no data.
    SdpCc { "SDP_CC", Sdp, "SDP Connect/Close TEST", Sdp, CC }
    /// Bulk data to netserver over TCP behind XTI.
    XtiTcpStream { "XTI_TCP_STREAM", Xti, "XTI TCP STREAM TEST", XtiTcp, SEND }
    /// Request/response over TCP behind XTI.
    XtiTcpRr { "XTI_TCP_RR", Xti, "XTI TCP REQUEST/RESPONSE TEST", XtiTcp, RR }
    /// A new connection behind XTI for each request/response.
    XtiTcpCrr { "XTI_TCP_CRR", Xti, "XTI TCP Connect/Request/Response TEST", XtiTcp, CRR }
    /// Connect and close behind XTI, no data.
    XtiTcpCc { "XTI_TCP_CC", Xti, "XTI TCP Connect/Close TEST", XtiTcp, CC }
    /// Datagrams to netserver over UDP behind XTI.
    XtiUdpStream { "XTI_UDP_STREAM", Xti, "UDP UNIDIRECTIONAL SEND TEST", XtiUdp, SEND }
    /// Request/response over UDP behind XTI.
    XtiUdpRr { "XTI_UDP_RR", Xti, "XTI UDP REQUEST/RESPONSE TEST", XtiUdp, RR }
    /// Bulk data over a link-level connection (LLC type 2).
    DlcoStream { "DLCO_STREAM", Dlpi, "DLPI CO STREAM TEST", Llc2, SEND }
    /// Request/response over a link-level connection (LLC type 2).
    DlcoRr { "DLCO_RR", Dlpi, "DLPI CO REQUEST/RESPONSE TEST", Llc2, RR }
    /// Frames of the link level to netserver (LLC type 1).
    DlclStream { "DLCL_STREAM", Dlpi, "DLPI CL UNIDIRECTIONAL SEND TEST", Llc1, SEND }
    /// Request/response with frames of the link level (LLC type 1).
    DlclRr { "DLCL_RR", Dlpi, "DLPI CL REQUEST/RESPONSE TEST", Llc1, RR }
    /// AAL5 frames to netserver over a circuit of ATM.
    ForeStream { "FORE_STREAM", Fore, "FORE STREAM TEST", Atm, SEND }
    /// Request/response over a circuit of ATM.
    ForeRr { "FORE_RR", Fore, "FORE REQUEST/RESPONSE TEST", Atm, RR }
    /// Frames of a network interface to netserver.
    HippiStream { "HIPPI_STREAM", Hippi, "HIPPI STREAM TEST", Packet, SEND }
    /// Request/response with frames of a network interface.
    HippiRr { "HIPPI_RR", Hippi, "HIPPI REQUEST/RESPONSE TEST", Packet, RR }
    /// Any combination of transport and direction, chosen by options.
    Omni { "OMNI", Omni, "OMNI", Tcp, SEND }
    /// The local CPU calibration rate.
    LocCpu { "LOC_CPU", Control, "", Tcp, SEND }
    /// The remote CPU calibration rate.
    RemCpu { "REM_CPU", Control, "", Tcp, SEND }
    /// A fresh identifier.
    Uuid { "UUID", Omni, "", Tcp, SEND }
}

impl TestId {
    /// The catalogue row of this test.
    #[must_use]
    pub fn row(self) -> &'static TestRow {
        &TESTS[self as usize]
    }

    /// The test called `name`, in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        TESTS
            .iter()
            .find(|row| row.name.eq_ignore_ascii_case(name))
            .map(|row| row.id)
    }

    /// True if the test moves data.
    #[must_use]
    pub const fn moves_data(self) -> bool {
        !matches!(self, Self::LocCpu | Self::RemCpu | Self::Uuid)
    }

    /// True if the result of the test is the rate of opened and closed connections.
    #[must_use]
    pub const fn counts_connections(self) -> bool {
        matches!(self, Self::TcpCc | Self::SdpCc | Self::XtiTcpCc)
    }

    /// True if results are transactions per second unless `-f` says otherwise.
    ///
    /// The original decides by the letters `RR` in the name.
    #[must_use]
    pub fn name_has_rr(self) -> bool {
        self.row().name.contains("RR")
    }
}

#[cfg(test)]
mod lookup {
    use super::*;

    #[test]
    fn every_test_is_found_by_name_in_any_case() {
        for row in TESTS {
            assert_eq!(TestId::from_name(&row.name.to_lowercase()), Some(row.id));
            assert_eq!(row.id.row().name, row.name);
        }
    }
}
