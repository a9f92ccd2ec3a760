//! Options behind `--` that several suites share.

use netperf_arguments::args::TestArgs;
use netperf_arguments::grammar::{int, size};
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::table::OptionSpec;
use netperf_model::Family;

use super::{
    BUFFERS, PORT_NUMBERS, PORTS, SIZES, port_name, set_both_ends, set_families, set_host,
    set_pair, set_ways,
};

type Opt = OptionSpec<TestArgs>;

/// Bytes per send of tests in which one end sends: one value, not a pair.
pub(super) const SEND_SIZE: Opt = Opt::lettered('m', "send-size", Group::Operation)
    .takes("bytes", ValueKind::Size)
    .set(|a, text| a.send_size.local = Some(size(text)))
    .help("bytes per send")
    .more("A single value. The default is the size of the socket buffer.");

/// Bytes per receive of tests in which one end sends.
pub(super) const RECV_SIZE: Opt = Opt::lettered('M', "recv-size", Group::Operation)
    .takes("bytes", ValueKind::Size)
    .set(|a, text| a.recv_size.remote = Some(size(text)))
    .help("bytes per receive")
    .more("The default is the size of the socket buffer.");

/// Sizes of a request and of its response.
pub(super) const REQUEST_SIZE: Opt = Opt::lettered('r', "request-size", Group::Operation)
    .takes("request,response", SIZES)
    .set(|a, text| set_pair(&mut a.request, text, size))
    .help("bytes per request and response")
    .more("One value is for both (default 1).");

/// netperf's socket buffers.
pub(super) const SOCKET_BUFFER: Opt = Opt::lettered('s', "socket-buffer", Group::Sockets)
    .takes("send,recv", BUFFERS)
    .set(|a, text| set_ways(&mut a.buffers, text))
    .help("local socket buffers")
    .more("One value is for both. -1 keeps the system's default.");

/// netserver's socket buffers.
pub(super) const REMOTE_SOCKET_BUFFER: Opt =
    Opt::lettered('S', "remote-socket-buffer", Group::Sockets)
        .takes("send,recv", BUFFERS)
        .set(|a, text| set_ways(&mut a.remote_buffers, text))
        .help("remote socket buffers")
        .more("One value is for both. -1 keeps the system's default.");

/// No delay at both ends.
pub(super) const NO_DELAY: Opt = Opt::lettered('D', "no-delay", Group::Sockets)
    .flag(|a| a.nodelay = true)
    .help("no delay: send small segments at once")
    .more("At client and server.");

/// Only full segments.
pub(super) const CORK: Opt = Opt::lettered('C', "cork", Group::Sockets)
    .flag(|a| a.cork = true)
    .help("cork: send only full segments");

/// Address of netserver's data socket.
pub(super) const DATA_HOST: Opt = Opt::lettered('H', "data-host", Group::Addresses)
    .takes("host,family", ValueKind::Host)
    .noted(|a, text, notices| set_host(&mut a.remote, text, notices))
    .help("netserver's data address")
    .more("Destination of the data, if it is not the host of the control connection.");

/// Address of netperf's data socket.
pub(super) const LOCAL_DATA_HOST: Opt = Opt::lettered('L', "local-data-host", Group::Addresses)
    .takes("host,family", ValueKind::Host)
    .noted(|a, text, notices| set_host(&mut a.local, text, notices))
    .help("local data address")
    .more("Source address of the data.");

/// Ports of the data connection.
pub(super) const DATA_PORT: Opt = Opt::lettered('P', "data-port", Group::Addresses)
    .takes("local,remote", PORTS)
    .set(|a, text| set_both_ends(&mut a.port, text, port_name))
    .help("data ports")
    .more(
        "Numbers or service names. One value is for client and server, so use `,7000` to set only \
         netserver's.",
    );

/// Ports that connection tests walk through.
pub(super) const PORT_RANGE: Opt = Opt::lettered('p', "port-range", Group::Addresses)
    .takes("from,to", PORT_NUMBERS)
    .set(|a, text| set_pair(&mut a.port_range, text, int))
    .help("local ports of connection tests (default: the kernel's choice)");

/// Data over IPv4.
pub(super) const DATA_IPV4: Opt = Opt::lettered('4', "data-ipv4", Group::Addresses)
    .flag(|a| set_families(&mut a.local, &mut a.remote, Family::V4))
    .help("use IPv4 for data");

/// Data over IPv6.
pub(super) const DATA_IPV6: Opt = Opt::lettered('6', "data-ipv6", Group::Addresses)
    .flag(|a| set_families(&mut a.local, &mut a.remote, Family::V6))
    .help("use IPv6 for data");

/// Disables routing of data.
pub(super) const ROUTE: Opt = Opt::lettered('R', "route", Group::Sockets)
    .takes("0|1", ValueKind::Switch)
    .implies("1", "[0|1]")
    .set(|a, text| a.routing = Some(int(text)))
    .help("allow routing of data: 1 (default) or 0")
    .more("0 restricts the data to directly connected networks.");

/// Requests in flight at the same time.
pub(super) const BURST: Opt = Opt::lettered('b', "burst", Group::Operation)
    .takes("count", ValueKind::Count)
    .set(|a, text| a.burst = int(text))
    .help("additional requests in flight")
    .more(
        "For request/response tests on one connection, to keep several requests in flight. All leave \
         at once, as with a negative number.",
    );

/// Copy avoidance at both ends.
pub(super) const AVOID_COPY: Opt = Opt::lettered('V', "avoid-copy", Group::Operation)
    .flag(|a| a.copy_avoidance = true)
    .help("avoid copying data if the system can");

/// Send buffers to cycle through.
pub(super) const SEND_RING: Opt = Opt::lettered('W', "send-ring", Group::Buffers)
    .takes("count", ValueKind::Size)
    .set(|a, text| a.send_width = Some(size(text)))
    .help("number of send buffers to cycle through")
    .more("A single value.");

/// Takes a word and does nothing with it.
pub(super) const fn unused(letter: char, long: &'static str) -> Opt {
    Opt::lettered(letter, long, Group::Compatibility)
        .takes("any", ValueKind::FreeText)
        .set(|_, _| {})
        .help("accepted, no effect")
        .idle()
}

/// `-w`, which is long without a meaning.
pub(super) const UNUSED_W: Opt = unused('w', "unused-w");

/// `-I` of the suites in which it never had a meaning.
pub(super) const UNUSED_I: Opt = unused('I', "unused-i");

/// A flag that old command lines have, for tests in which it does nothing.
pub(super) const fn idle(letter: char, long: &'static str) -> Opt {
    Opt::lettered(letter, long, Group::Compatibility)
        .help("accepted, no effect on these tests")
        .idle()
}
