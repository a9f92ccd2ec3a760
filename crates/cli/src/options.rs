//! The option tables: one row per letter, one table per parser.

mod buffers;
mod cpu;
pub(crate) mod flows;
pub(crate) mod global;
mod io;
mod length;
pub(crate) mod link;
pub(crate) mod omni;
mod repeat;
pub(crate) mod sctp;
pub(crate) mod sdp;
pub(crate) mod server;
mod settings;
mod shared;
pub(crate) mod sockets;
pub(crate) mod unix;
pub(crate) mod until;
pub(crate) mod xti;

use netperf_arguments::args::TestArgs;
use netperf_arguments::row::{
    BUFFERS, PORT_NUMBERS, PORTS, SIZES, help_row, port_name, set, set_both_ends, set_ends,
    set_families, set_host, set_host_with_bits, set_pair, set_ways, span,
};
use netperf_arguments::table::{OnComplaint, OptionSpec};
use netperf_model::Suite;

/// The options behind `--` of one suite.
#[derive(Debug)]
pub(crate) struct SuiteOptions {
    /// The suite.
    pub(crate) suite: Suite,
    /// Its tests, as they are called in a sentence.
    pub(crate) tests: &'static str,
    /// Every option.
    pub(crate) table: &'static [OptionSpec<TestArgs>],
    /// Reaction to an unknown letter.
    pub(crate) on_complaint: OnComplaint,
}

/// Every suite that has options, the one that most tests belong to first.
pub(crate) static SUITES: &[SuiteOptions] = &[
    SuiteOptions {
        suite: Suite::Omni,
        tests: "the OMNI, TCP and UDP tests",
        table: omni::TABLE,
        on_complaint: OnComplaint::GoOn,
    },
    SuiteOptions {
        suite: Suite::Sockets,
        tests: "TCP_SENDFILE, TCP_CC and TCP_MSS",
        table: sockets::TABLE,
        on_complaint: OnComplaint::GoOn,
    },
    SuiteOptions {
        suite: Suite::Unix,
        tests: "the Unix-domain tests",
        table: unix::TABLE,
        on_complaint: OnComplaint::Stop,
    },
    SuiteOptions {
        suite: Suite::Sctp,
        tests: "the SCTP tests",
        table: sctp::TABLE,
        on_complaint: OnComplaint::GoOn,
    },
    SuiteOptions {
        suite: Suite::Sdp,
        tests: "the SDP tests",
        table: sdp::TABLE,
        on_complaint: OnComplaint::GoOn,
    },
    SuiteOptions {
        suite: Suite::Xti,
        tests: "the XTI tests",
        table: xti::TABLE,
        on_complaint: OnComplaint::Stop,
    },
    SuiteOptions {
        suite: Suite::Dlpi,
        tests: "the DLPI tests",
        table: link::DLPI,
        on_complaint: OnComplaint::Stop,
    },
    SuiteOptions {
        suite: Suite::Fore,
        tests: "the FORE tests",
        table: link::FORE,
        on_complaint: OnComplaint::Stop,
    },
    SuiteOptions {
        suite: Suite::Hippi,
        tests: "the HIPPI tests",
        table: link::HIPPI,
        on_complaint: OnComplaint::Stop,
    },
];

/// The options of a suite; `None` for tests that have none.
pub(crate) fn of_suite(suite: Suite) -> Option<&'static SuiteOptions> {
    SUITES.iter().find(|options| options.suite == suite)
}

#[cfg(test)]
mod tests;
