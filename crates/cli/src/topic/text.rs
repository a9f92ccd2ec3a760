//! The text of a topic.

use netperf_iperf2::options as iperf2;
use netperf_iperf3::options as iperf3;

use super::HelpTopic;
use crate::{help, subcommand};

impl HelpTopic {
    /// The help text.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Start => help::start(),
            Self::All => help::all(),
            Self::Test(test) => help::test(test),
            Self::Subcommand(word) => subcommand::help(word),
            Self::Program("netserver") => help::netserver(),
            Self::Program("iperf3") => iperf3::iperf3_help(),
            Self::Program(_) => iperf2::help(),
        }
    }
}
