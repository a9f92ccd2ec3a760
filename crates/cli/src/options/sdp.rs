//! The options behind `--` of the SDP tests.

use super::{help_row, shared};
use crate::args::TestArgs;
use crate::table::OptionSpec;

/// Every option.
pub(crate) static TABLE: &[OptionSpec<TestArgs>] = &[
    help_row(),
    shared::send_size(),
    shared::recv_size(),
    shared::request_size(),
    shared::burst(),
    shared::socket_buffer(),
    shared::remote_socket_buffer(),
    shared::no_delay(),
    shared::data_host(),
    shared::local_data_host(),
    shared::data_port(),
    shared::data_ipv4(),
    shared::data_ipv6(),
    shared::avoid_copy(),
    shared::unused_i(),
];
