//! Result of a client's test.

use std::time::Duration;

use netperf_iperf3::figures::{StreamInfo, Totals};
use netperf_iperf3::messages::Results;

/// Result of a test.
pub struct Tested {
    /// The streams, in the order in which they were opened.
    pub infos: Vec<StreamInfo>,
    /// Time from the first connect of a stream to the last, and until the server was ready.
    pub setup: Duration,
    /// Counts and CPU times of this end.
    pub totals: Option<Totals>,
    /// Results of the server.
    pub peer: Option<Box<Results>>,
    /// Warning about values that are left out of these results.
    pub warning: Option<String>,
    /// Text of a failure.
    pub error: Option<String>,
    /// The user stopped the test.
    pub interrupted: bool,
}

impl Tested {
    /// A test that could not begin.
    pub fn failed(error: String) -> Self {
        Self {
            infos: Vec::new(),
            setup: Duration::ZERO,
            totals: None,
            peer: None,
            warning: None,
            error: Some(error),
            interrupted: false,
        }
    }
}
