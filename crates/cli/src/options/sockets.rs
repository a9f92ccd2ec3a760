//! The options behind `--` of the older sockets suite: TCP_SENDFILE, TCP_CC, TCP_MSS.

use netperf_arguments::args::TestArgs;
use netperf_arguments::grammar::{int, size};
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::table::OptionSpec;

use super::{SIZES, help_row, set_pair, shared};

type Opt = OptionSpec<TestArgs>;

/// Every option.
pub(crate) static TABLE: &[OptionSpec<TestArgs>] = &[
    help_row(),
    shared::SEND_SIZE,
    shared::RECV_SIZE,
    Opt::lettered('r', "request-size", Group::Operation)
        .takes("request,response", SIZES)
        .set(|a, text| set_pair(&mut a.request, text, size))
        .help("sizes that the TCP_CC result repeats"),
    shared::SOCKET_BUFFER,
    shared::REMOTE_SOCKET_BUFFER,
    shared::NO_DELAY,
    shared::CORK,
    shared::DATA_HOST,
    shared::LOCAL_DATA_HOST,
    shared::DATA_PORT,
    shared::PORT_RANGE,
    shared::DATA_IPV4,
    shared::DATA_IPV6,
    shared::ROUTE,
    shared::AVOID_COPY,
    shared::SEND_RING,
    Opt::lettered('b', "burst", Group::Compatibility)
        .takes("count", ValueKind::Count)
        .set(|a, text| a.burst = int(text))
        .help("accepted, no effect on these tests"),
    shared::idle('n', "connected"),
    shared::idle('N', "remote-connected"),
    shared::idle('a', "async-send"),
    shared::idle('A', "async-recv"),
    Opt::lettered('z', "unused-z", Group::Compatibility)
        .help("accepted, no effect")
        .idle(),
    Opt::lettered('T', "unused-t", Group::Compatibility)
        .takes("any", ValueKind::FreeText)
        .set(|a, text| a.unused_transport = Some(text.to_owned()))
        .help("accepted, no effect: these tests run over TCP"),
    shared::UNUSED_W,
];
