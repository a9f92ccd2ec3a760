//! Options behind `--` that several suites share.

use netperf_model::Family;

use super::{
    BUFFERS, PORT_NUMBERS, PORTS, SIZES, port_name, set_both_ends, set_families, set_host,
    set_pair, set_ways,
};
use crate::args::TestArgs;
use crate::grammar::{int, size};
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionSpec};

type Opt = OptionSpec<TestArgs>;

/// Bytes per send of tests in which one end sends: one value, not a pair.
pub(super) const fn send_size() -> Opt {
    Opt::ready(
        'm',
        "bytes",
        "bytes per send",
        Action::Value(|a, text| a.send_size.local = Some(size(text))),
    )
    .long("send-size", Group::Operation, ValueKind::Size)
    .more("A single value. The default is the size of the socket buffer.")
}

/// Bytes per receive of tests in which one end sends.
pub(super) const fn recv_size() -> Opt {
    Opt::ready(
        'M',
        "bytes",
        "bytes per receive",
        Action::Value(|a, text| a.recv_size.remote = Some(size(text))),
    )
    .long("recv-size", Group::Operation, ValueKind::Size)
    .more("The default is the size of the socket buffer.")
}

/// Sizes of a request and of its response.
pub(super) const fn request_size() -> Opt {
    Opt::ready(
        'r',
        "request,response",
        "bytes per request and response",
        Action::Value(|a, text| set_pair(&mut a.request, text, size)),
    )
    .long("request-size", Group::Operation, SIZES)
    .more("One value is for both (default 1).")
}

/// netperf's socket buffers.
pub(super) const fn socket_buffer() -> Opt {
    Opt::ready(
        's',
        "send,recv",
        "local socket buffers",
        Action::Value(|a, text| set_ways(&mut a.buffers, text)),
    )
    .long("socket-buffer", Group::Sockets, BUFFERS)
    .more("One value is for both. -1 keeps the system's default.")
}

/// netserver's socket buffers.
pub(super) const fn remote_socket_buffer() -> Opt {
    Opt::ready(
        'S',
        "send,recv",
        "remote socket buffers",
        Action::Value(|a, text| set_ways(&mut a.remote_buffers, text)),
    )
    .long("remote-socket-buffer", Group::Sockets, BUFFERS)
    .more("One value is for both. -1 keeps the system's default.")
}

/// No delay at both ends.
pub(super) const fn no_delay() -> Opt {
    Opt::ready(
        'D',
        "",
        "no delay: send small segments at once",
        Action::Flag(|a| a.nodelay = true),
    )
    .long("no-delay", Group::Sockets, ValueKind::Nothing)
    .more("At both ends.")
}

/// Only full segments.
pub(super) const fn cork() -> Opt {
    Opt::ready(
        'C',
        "",
        "cork: send only full segments",
        Action::Flag(|a| a.cork = true),
    )
    .long("cork", Group::Sockets, ValueKind::Nothing)
}

/// Address of netserver's data socket.
pub(super) const fn data_host() -> Opt {
    Opt::ready(
        'H',
        "host,family",
        "netserver's data address",
        Action::Checked(|a, text, notices| {
            set_host(&mut a.remote, text, notices);
            Ok(())
        }),
    )
    .long("data-host", Group::Addresses, ValueKind::Host)
    .more("Destination of the data, if it is not the host of the control connection.")
}

/// Address of netperf's data socket.
pub(super) const fn local_data_host() -> Opt {
    Opt::ready(
        'L',
        "host,family",
        "local data address",
        Action::Checked(|a, text, notices| {
            set_host(&mut a.local, text, notices);
            Ok(())
        }),
    )
    .long("local-data-host", Group::Addresses, ValueKind::Host)
    .more("Source address of the data.")
}

/// Ports of the data connection.
pub(super) const fn data_port() -> Opt {
    Opt::ready(
        'P',
        "local,remote",
        "data ports",
        Action::Value(|a, text| set_both_ends(&mut a.port, text, port_name)),
    )
    .long("data-port", Group::Addresses, PORTS)
    .more(
        "Numbers or service names. One value is for both ends, so use `,7000` to set only \
         netserver's.",
    )
}

/// Ports that connection tests walk through.
pub(super) const fn port_range() -> Opt {
    Opt::ready(
        'p',
        "from,to",
        "local ports of connection tests (default 5000,65535)",
        Action::Value(|a, text| set_pair(&mut a.port_range, text, int)),
    )
    .long("port-range", Group::Addresses, PORT_NUMBERS)
}

/// Data over IPv4.
pub(super) const fn data_ipv4() -> Opt {
    Opt::ready(
        '4',
        "",
        "use IPv4 for data",
        Action::Flag(|a| set_families(&mut a.local, &mut a.remote, Family::V4)),
    )
    .long("data-ipv4", Group::Addresses, ValueKind::Nothing)
}

/// Data over IPv6.
pub(super) const fn data_ipv6() -> Opt {
    Opt::ready(
        '6',
        "",
        "use IPv6 for data",
        Action::Flag(|a| set_families(&mut a.local, &mut a.remote, Family::V6)),
    )
    .long("data-ipv6", Group::Addresses, ValueKind::Nothing)
}

/// Disables routing of data.
pub(super) const fn route() -> Opt {
    Opt::ready(
        'R',
        "0|1",
        "allow routing of data: 1 (default) or 0",
        Action::Value(|a, text| a.routing = Some(int(text))),
    )
    .long("route", Group::Sockets, ValueKind::Switch)
    .more("0 restricts the data to directly connected networks.")
}

/// Requests in flight at the same time.
pub(super) const fn burst() -> Opt {
    Opt::ready(
        'b',
        "count",
        "additional requests in flight",
        Action::Value(|a, text| a.burst = int(text)),
    )
    .long("burst", Group::Operation, ValueKind::Count)
    .more("For request/response tests on one connection, to keep several requests in flight.")
}

/// Copy avoidance at both ends.
pub(super) const fn avoid_copy() -> Opt {
    Opt::ready(
        'V',
        "",
        "avoid copying data if the system can",
        Action::Flag(|a| a.copy_avoidance = true),
    )
    .long("avoid-copy", Group::Operation, ValueKind::Nothing)
}

/// Send buffers to cycle through.
pub(super) const fn send_ring() -> Opt {
    Opt::ready(
        'W',
        "count",
        "number of send buffers to cycle through",
        Action::Value(|a, text| a.send_width = Some(size(text))),
    )
    .long("send-ring", Group::Buffers, ValueKind::Size)
    .more("A single value.")
}

/// Takes a word and does nothing with it.
pub(super) const fn unused(letter: char, long: &'static str) -> Opt {
    Opt::ready(
        letter,
        "any",
        "accepted, no effect",
        Action::Value(|_, _| {}),
    )
    .long(long, Group::Compatibility, ValueKind::Text)
}

/// `-w`, which is long without a meaning.
pub(super) const fn unused_w() -> Opt {
    unused('w', "unused-w")
}

/// `-I` of the suites in which it never had a meaning.
pub(super) const fn unused_i() -> Opt {
    unused('I', "unused-i")
}

/// A flag that old command lines have, for tests in which it does nothing.
pub(super) const fn idle(letter: char, long: &'static str) -> Opt {
    Opt::ready(
        letter,
        "",
        "accepted, no effect on these tests",
        Action::Flag(|_| {}),
    )
    .long(long, Group::Compatibility, ValueKind::Nothing)
}
