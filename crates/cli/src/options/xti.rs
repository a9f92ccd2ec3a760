//! The options behind `--` of the XTI tests.

use super::{help_row, set_both_ends, shared};
use crate::args::TestArgs;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionSpec};

type Opt = OptionSpec<TestArgs>;

/// Every option.
pub(crate) static TABLE: &[OptionSpec<TestArgs>] = &[
    help_row(),
    shared::send_size(),
    shared::recv_size(),
    shared::request_size(),
    shared::socket_buffer(),
    shared::remote_socket_buffer(),
    shared::no_delay(),
    Opt::ready(
        'X',
        "local,remote",
        "the transport provider (default /dev/tcp or /dev/udp)",
        Action::Value(|a, text| set_both_ends(&mut a.device, text, str::to_owned)),
    )
    .long(
        "provider",
        Group::Addresses,
        ValueKind::twice(&ValueKind::Text),
    )
    .more("/dev/tcp or /dev/udp, implemented with sockets. One name is for both ends."),
    shared::avoid_copy(),
    shared::send_ring(),
    shared::unused_w(),
];
