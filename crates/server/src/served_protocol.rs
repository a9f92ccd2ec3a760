//! Protocol of a session process.

netperf_model::words! {
    /// Protocol of a session process.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) enum ServedProtocol {
        /// Tests of netperf.
        #[default]
        Netperf = "netperf",
        /// A test of iperf3.
        Iperf3 = "iperf3",
        /// A TCP connection of iperf 2.
        Iperf2 = "iperf2",
        /// Datagrams of iperf 2.
        Iperf2Datagrams = "iperf2-datagrams",
    }
}
