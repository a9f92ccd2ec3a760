//! The options behind `--` of the SDP tests.

use netperf_arguments::args::TestArgs;
use netperf_arguments::table::OptionSpec;

use super::{help_row, shared};

/// Every option.
pub(crate) static TABLE: &[OptionSpec<TestArgs>] = &[
    help_row(),
    shared::SEND_SIZE,
    shared::RECV_SIZE,
    shared::REQUEST_SIZE,
    shared::BURST,
    shared::SOCKET_BUFFER,
    shared::REMOTE_SOCKET_BUFFER,
    shared::NO_DELAY,
    shared::DATA_HOST,
    shared::LOCAL_DATA_HOST,
    shared::DATA_PORT,
    shared::DATA_IPV4,
    shared::DATA_IPV6,
    shared::AVOID_COPY,
    shared::UNUSED_I,
];
