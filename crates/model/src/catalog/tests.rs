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
