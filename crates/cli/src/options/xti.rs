//! The options behind `--` of the XTI tests.

use netperf_arguments::args::TestArgs;
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::table::OptionSpec;

use super::{help_row, set_both_ends, shared};

type Opt = OptionSpec<TestArgs>;

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
    shared::PORT_RANGE,
    shared::DATA_IPV4,
    shared::DATA_IPV6,
    Opt::lettered('X', "provider", Group::Addresses)
        .takes("local,remote", ValueKind::twice(&ValueKind::Text))
        .set(|a, text| set_both_ends(&mut a.device, text, str::to_owned))
        .help("the transport provider (default /dev/tcp or /dev/udp)")
        .more("/dev/tcp or /dev/udp, implemented with sockets. One name is for client and server."),
    shared::AVOID_COPY,
    shared::SEND_RING,
    shared::UNUSED_W,
];
