//! The test names a user can type after `-t`.

use super::transports::TransportId;
use crate::plan::Flow;

/// Names one row of [`TESTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TestId {
    /// Bulk data from netperf to netserver over TCP.
    TcpStream,
    /// Bulk data from netserver to netperf over TCP.
    TcpMaerts,
    /// Bulk data to netserver from a file, by `sendfile(2)`.
    TcpSendfile,
    /// Request/response on one TCP connection.
    TcpRr,
    /// A new TCP connection for each request/response.
    TcpCrr,
    /// Connect and close, no data.
    TcpCc,
    /// The segment size of a TCP connection.
    TcpMss,
    /// Datagrams from netperf to netserver.
    UdpStream,
    /// Request/response with datagrams.
    UdpRr,
    /// Bulk data between sockets of the Unix domain.
    StreamStream,
    /// Request/response on one connection of the Unix domain.
    StreamRr,
    /// Datagrams between sockets of the Unix domain.
    DgStream,
    /// Request/response with datagrams of the Unix domain.
    DgRr,
    /// Bulk data over one SCTP association.
    SctpStream,
    /// Request/response over one SCTP association.
    SctpRr,
    /// Bulk data over several SCTP associations.
    SctpStreamMany,
    /// Request/response over several SCTP associations.
    SctpRrMany,
    /// Bulk data to netserver over SDP.
    SdpStream,
    /// Bulk data from netserver over SDP.
    SdpMaerts,
    /// Request/response on one SDP connection.
    SdpRr,
    /// A new SDP connection for each request/response.
    SdpCrr,
    /// Connect and close over SDP, no data.
    SdpCc,
    /// Bulk data to netserver over TCP behind XTI.
    XtiTcpStream,
    /// Request/response over TCP behind XTI.
    XtiTcpRr,
    /// A new connection behind XTI for each request/response.
    XtiTcpCrr,
    /// Connect and close behind XTI, no data.
    XtiTcpCc,
    /// Datagrams to netserver over UDP behind XTI.
    XtiUdpStream,
    /// Request/response over UDP behind XTI.
    XtiUdpRr,
    /// Bulk data over a link-level connection (LLC type 2).
    DlcoStream,
    /// Request/response over a link-level connection (LLC type 2).
    DlcoRr,
    /// Frames of the link level to netserver (LLC type 1).
    DlclStream,
    /// Request/response with frames of the link level (LLC type 1).
    DlclRr,
    /// AAL5 frames to netserver over a circuit of ATM.
    ForeStream,
    /// Request/response over a circuit of ATM.
    ForeRr,
    /// Frames of a network interface to netserver.
    HippiStream,
    /// Request/response with frames of a network interface.
    HippiRr,
    /// Any combination of transport and direction, chosen by options.
    Omni,
    /// The local CPU calibration rate.
    LocCpu,
    /// The remote CPU calibration rate.
    RemCpu,
    /// A fresh identifier.
    Uuid,
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
    /// What moves in which direction unless an option says otherwise.
    pub flow: Flow,
}

/// Every test, in the order in which help lists them.
pub static TESTS: &[TestRow] = &[
    row(
        TestId::TcpStream,
        "TCP_STREAM",
        Suite::Omni,
        "MIGRATED TCP STREAM TEST",
        TransportId::Tcp,
        Flow::SEND,
    ),
    row(
        TestId::TcpMaerts,
        "TCP_MAERTS",
        Suite::Omni,
        "MIGRATED TCP MAERTS TEST",
        TransportId::Tcp,
        Flow::RECEIVE,
    ),
    row(
        TestId::TcpSendfile,
        "TCP_SENDFILE",
        Suite::Sockets,
        "TCP SENDFILE TEST",
        TransportId::Tcp,
        Flow::SEND,
    ),
    row(
        TestId::TcpRr,
        "TCP_RR",
        Suite::Omni,
        "MIGRATED TCP REQUEST/RESPONSE TEST",
        TransportId::Tcp,
        Flow::RR,
    ),
    row(
        TestId::TcpCrr,
        "TCP_CRR",
        Suite::Omni,
        "MIGRATED TCP Connect/Request/Response TEST",
        TransportId::Tcp,
        Flow::CRR,
    ),
    row(
        TestId::TcpCc,
        "TCP_CC",
        Suite::Sockets,
        "TCP Connect/Close TEST",
        TransportId::Tcp,
        Flow::CC,
    ),
    row(
        TestId::TcpMss,
        "TCP_MSS",
        Suite::Sockets,
        "TCP MSS TEST",
        TransportId::Tcp,
        Flow::SEND,
    ),
    row(
        TestId::UdpStream,
        "UDP_STREAM",
        Suite::Omni,
        "MIGRATED UDP STREAM TEST",
        TransportId::Udp,
        Flow::SEND,
    ),
    row(
        TestId::UdpRr,
        "UDP_RR",
        Suite::Omni,
        "MIGRATED UDP REQUEST/RESPONSE TEST",
        TransportId::Udp,
        Flow::RR,
    ),
    row(
        TestId::StreamStream,
        "STREAM_STREAM",
        Suite::Unix,
        "STREAM STREAM TEST",
        TransportId::UnixStream,
        Flow::SEND,
    ),
    row(
        TestId::StreamRr,
        "STREAM_RR",
        Suite::Unix,
        "STREAM REQUEST/RESPONSE TEST",
        TransportId::UnixStream,
        Flow::RR,
    ),
    row(
        TestId::DgStream,
        "DG_STREAM",
        Suite::Unix,
        "DG UNIDIRECTIONAL SEND TEST",
        TransportId::UnixDatagram,
        Flow::SEND,
    ),
    row(
        TestId::DgRr,
        "DG_RR",
        Suite::Unix,
        "DG REQUEST/RESPONSE TEST",
        TransportId::UnixDatagram,
        Flow::RR,
    ),
    row(
        TestId::SctpStream,
        "SCTP_STREAM",
        Suite::Sctp,
        "SCTP STREAM TEST",
        TransportId::Sctp,
        Flow::SEND,
    ),
    row(
        TestId::SctpRr,
        "SCTP_RR",
        Suite::Sctp,
        "SCTP REQUEST/RESPONSE TEST",
        TransportId::Sctp,
        Flow::RR,
    ),
    row(
        TestId::SctpStreamMany,
        "SCTP_STREAM_MANY",
        Suite::Sctp,
        "SCTP 1-TO-MANY STREAM TEST",
        TransportId::SctpMany,
        Flow::SEND,
    ),
    row(
        TestId::SctpRrMany,
        "SCTP_RR_MANY",
        Suite::Sctp,
        "SCTP 1-TO-MANY REQUEST/RESPONSE TEST",
        TransportId::SctpMany,
        Flow::RR,
    ),
    row(
        TestId::SdpStream,
        "SDP_STREAM",
        Suite::Sdp,
        "SDP STREAM TEST",
        TransportId::Sdp,
        Flow::SEND,
    ),
    row(
        TestId::SdpMaerts,
        "SDP_MAERTS",
        Suite::Sdp,
        "SDP MAERTS TEST",
        TransportId::Sdp,
        Flow::RECEIVE,
    ),
    row(
        TestId::SdpRr,
        "SDP_RR",
        Suite::Sdp,
        "SDP REQUEST/RESPONSE TEST",
        TransportId::Sdp,
        Flow::RR,
    ),
    row(
        TestId::SdpCrr,
        "SDP_CRR",
        Suite::Sdp,
        "SDP Connect/Request/Response TEST",
        TransportId::Sdp,
        Flow::CRR,
    ),
    row(
        TestId::SdpCc,
        "SDP_CC",
        Suite::Sdp,
        "SDP Connect/Close TEST",
        TransportId::Sdp,
        Flow::CC,
    ),
    row(
        TestId::XtiTcpStream,
        "XTI_TCP_STREAM",
        Suite::Xti,
        "XTI TCP STREAM TEST",
        TransportId::XtiTcp,
        Flow::SEND,
    ),
    row(
        TestId::XtiTcpRr,
        "XTI_TCP_RR",
        Suite::Xti,
        "XTI TCP REQUEST/RESPONSE TEST",
        TransportId::XtiTcp,
        Flow::RR,
    ),
    row(
        TestId::XtiTcpCrr,
        "XTI_TCP_CRR",
        Suite::Xti,
        "XTI TCP Connect/Request/Response TEST",
        TransportId::XtiTcp,
        Flow::CRR,
    ),
    row(
        TestId::XtiTcpCc,
        "XTI_TCP_CC",
        Suite::Xti,
        "XTI TCP Connect/Close TEST",
        TransportId::XtiTcp,
        Flow::CC,
    ),
    row(
        TestId::XtiUdpStream,
        "XTI_UDP_STREAM",
        Suite::Xti,
        "UDP UNIDIRECTIONAL SEND TEST",
        TransportId::XtiUdp,
        Flow::SEND,
    ),
    row(
        TestId::XtiUdpRr,
        "XTI_UDP_RR",
        Suite::Xti,
        "XTI UDP REQUEST/RESPONSE TEST",
        TransportId::XtiUdp,
        Flow::RR,
    ),
    row(
        TestId::DlcoStream,
        "DLCO_STREAM",
        Suite::Dlpi,
        "DLPI CO STREAM TEST",
        TransportId::Llc2,
        Flow::SEND,
    ),
    row(
        TestId::DlcoRr,
        "DLCO_RR",
        Suite::Dlpi,
        "DLPI CO REQUEST/RESPONSE TEST",
        TransportId::Llc2,
        Flow::RR,
    ),
    row(
        TestId::DlclStream,
        "DLCL_STREAM",
        Suite::Dlpi,
        "DLPI CL UNIDIRECTIONAL SEND TEST",
        TransportId::Llc1,
        Flow::SEND,
    ),
    row(
        TestId::DlclRr,
        "DLCL_RR",
        Suite::Dlpi,
        "DLPI CL REQUEST/RESPONSE TEST",
        TransportId::Llc1,
        Flow::RR,
    ),
    row(
        TestId::ForeStream,
        "FORE_STREAM",
        Suite::Fore,
        "FORE STREAM TEST",
        TransportId::Atm,
        Flow::SEND,
    ),
    row(
        TestId::ForeRr,
        "FORE_RR",
        Suite::Fore,
        "FORE REQUEST/RESPONSE TEST",
        TransportId::Atm,
        Flow::RR,
    ),
    row(
        TestId::HippiStream,
        "HIPPI_STREAM",
        Suite::Hippi,
        "HIPPI STREAM TEST",
        TransportId::Packet,
        Flow::SEND,
    ),
    row(
        TestId::HippiRr,
        "HIPPI_RR",
        Suite::Hippi,
        "HIPPI REQUEST/RESPONSE TEST",
        TransportId::Packet,
        Flow::RR,
    ),
    row(
        TestId::Omni,
        "OMNI",
        Suite::Omni,
        "OMNI",
        TransportId::Tcp,
        Flow::SEND,
    ),
    row(
        TestId::LocCpu,
        "LOC_CPU",
        Suite::Control,
        "",
        TransportId::Tcp,
        Flow::SEND,
    ),
    row(
        TestId::RemCpu,
        "REM_CPU",
        Suite::Control,
        "",
        TransportId::Tcp,
        Flow::SEND,
    ),
    row(
        TestId::Uuid,
        "UUID",
        Suite::Omni,
        "",
        TransportId::Tcp,
        Flow::SEND,
    ),
];

const fn row(
    id: TestId,
    name: &'static str,
    suite: Suite,
    banner: &'static str,
    transport: TransportId,
    flow: Flow,
) -> TestRow {
    TestRow {
        id,
        name,
        suite,
        banner,
        transport,
        flow,
    }
}

impl TestId {
    /// The catalogue row of this test.
    ///
    /// # Panics
    /// Never: a test holds that every id has a row.
    #[must_use]
    pub fn row(self) -> &'static TestRow {
        match TESTS.iter().find(|row| row.id == self) {
            Some(row) => row,
            None => unreachable!("every TestId has a row"),
        }
    }

    /// The test called `name`, in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        TESTS
            .iter()
            .find(|row| row.name.eq_ignore_ascii_case(name))
            .map(|row| row.id)
    }

    /// Whether the test moves data at all.
    #[must_use]
    pub const fn moves_data(self) -> bool {
        !matches!(self, Self::LocCpu | Self::RemCpu | Self::Uuid)
    }

    /// Whether the test opens and closes connections and its result is their rate, in
    /// whatever unit.
    #[must_use]
    pub const fn counts_connections(self) -> bool {
        matches!(self, Self::TcpCc | Self::SdpCc | Self::XtiTcpCc)
    }

    /// Whether results are printed as transactions per second unless `-f` says otherwise.
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
