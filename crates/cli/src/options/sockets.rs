//! The options behind `--` of the older sockets suite: TCP_SENDFILE, TCP_CC, TCP_MSS.

use super::{SIZES, help_row, set_pair, shared};
use crate::args::TestArgs;
use crate::grammar::{int, size};
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionSpec};

type Opt = OptionSpec<TestArgs>;

/// Every option.
pub(crate) static TABLE: &[OptionSpec<TestArgs>] = &[
    help_row(),
    shared::send_size(),
    shared::recv_size(),
    Opt::ready(
        'r',
        "request,response",
        "sizes that the TCP_CC result repeats",
        Action::Value(|a, text| set_pair(&mut a.request, text, size)),
    )
    .long("request-size", Group::Operation, SIZES),
    shared::socket_buffer(),
    shared::remote_socket_buffer(),
    shared::no_delay(),
    shared::cork(),
    shared::data_host(),
    shared::local_data_host(),
    shared::data_port(),
    shared::port_range(),
    shared::data_ipv4(),
    shared::data_ipv6(),
    shared::route(),
    shared::avoid_copy(),
    shared::send_ring(),
    Opt::ready(
        'b',
        "count",
        "accepted, no effect on these tests",
        Action::Value(|a, text| a.burst = int(text)),
    )
    .long("burst", Group::Compatibility, ValueKind::Count),
    shared::idle('n', "connected"),
    shared::idle('N', "remote-connected"),
    shared::idle('a', "async-send"),
    shared::idle('A', "async-recv"),
    Opt::ready('z', "", "accepted, no effect", Action::Flag(|_| {})).long(
        "unused-z",
        Group::Compatibility,
        ValueKind::Nothing,
    ),
    shared::unused('T', "unused-t"),
    shared::unused_w(),
];
