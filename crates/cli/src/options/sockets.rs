//! The options behind `--` of the older sockets suite: TCP_SENDFILE, TCP_CC, TCP_MSS.

use netperf_model::Family;

use super::{
    BUFFERS, PORT_NUMBERS, PORTS, SIZES, help_row, port_name, set_both_ends, set_families,
    set_host, set_pair, set_ways,
};
use crate::args::TestArgs;
use crate::grammar::{int, size};
use crate::group::Group;
use crate::kind::Kind;
use crate::table::{Action, Row};

type Opt = Row<TestArgs>;

/// Every option.
pub(crate) static TABLE: &[Row<TestArgs>] = &[
    help_row(),
    Opt::ready(
        'm',
        "bytes",
        "bytes per send",
        Action::Value(|a, text| a.send_size.local = Some(size(text))),
    )
    .long("send-size", Group::Operation, Kind::Size)
    .more("One value, not a pair."),
    Opt::ready(
        'M',
        "bytes",
        "bytes per receive",
        Action::Value(|a, text| a.recv_size.remote = Some(size(text))),
    )
    .long("recv-size", Group::Operation, Kind::Size),
    Opt::ready(
        'r',
        "request,response",
        "sizes that the TCP_CC result repeats",
        Action::Value(|a, text| set_pair(&mut a.request, text, size)),
    )
    .long("request-size", Group::Operation, SIZES),
    Opt::ready(
        's',
        "send,recv",
        "local socket buffers",
        Action::Value(|a, text| set_ways(&mut a.buffers, text)),
    )
    .long("socket-buffer", Group::Sockets, BUFFERS)
    .more("One value is for both. -1 leaves the system's choice."),
    Opt::ready(
        'S',
        "send,recv",
        "remote socket buffers",
        Action::Value(|a, text| set_ways(&mut a.remote_buffers, text)),
    )
    .long("remote-socket-buffer", Group::Sockets, BUFFERS)
    .more("One value is for both. -1 leaves the system's choice."),
    Opt::ready(
        'D',
        "",
        "no delay: send small segments at once",
        Action::Flag(|a| a.nodelay = true),
    )
    .long("no-delay", Group::Sockets, Kind::Nothing),
    Opt::ready(
        'C',
        "",
        "cork: send only full segments",
        Action::Flag(|a| a.cork = true),
    )
    .long("cork", Group::Sockets, Kind::Nothing),
    Opt::ready(
        'H',
        "host,family",
        "netserver's data address",
        Action::Checked(|a, text, notices| {
            set_host(&mut a.remote, text, notices);
            Ok(())
        }),
    )
    .long("data-host", Group::Addresses, Kind::Host),
    Opt::ready(
        'L',
        "host,family",
        "local data address",
        Action::Checked(|a, text, notices| {
            set_host(&mut a.local, text, notices);
            Ok(())
        }),
    )
    .long("local-data-host", Group::Addresses, Kind::Host),
    Opt::ready(
        'P',
        "local,remote",
        "data ports",
        Action::Value(|a, text| set_both_ends(&mut a.port, text, port_name)),
    )
    .long("data-port", Group::Addresses, PORTS)
    .more("Numbers or names of services. One value is for both ends."),
    Opt::ready(
        'p',
        "from,to",
        "local ports of TCP_CC, 5000,65535 unless given",
        Action::Value(|a, text| set_pair(&mut a.port_range, text, int)),
    )
    .long("port-range", Group::Addresses, PORT_NUMBERS),
    Opt::ready(
        '4',
        "",
        "data over IPv4",
        Action::Flag(|a| set_families(&mut a.local, &mut a.remote, Family::V4)),
    )
    .long("data-ipv4", Group::Addresses, Kind::Nothing),
    Opt::ready(
        '6',
        "",
        "data over IPv6",
        Action::Flag(|a| set_families(&mut a.local, &mut a.remote, Family::V6)),
    )
    .long("data-ipv6", Group::Addresses, Kind::Nothing),
    Opt::ready(
        'R',
        "0|1",
        "whether data may be routed, 1 unless given",
        Action::Value(|a, text| a.routing = Some(int(text))),
    )
    .long("route", Group::Sockets, Kind::Switch),
    Opt::ready(
        'V',
        "",
        "avoid copying data where the system can",
        Action::Flag(|a| a.copy_avoidance = true),
    )
    .long("avoid-copy", Group::Operation, Kind::Nothing),
    Opt::ready(
        'W',
        "count",
        "number of send buffers to cycle through",
        Action::Value(|a, text| a.send_width = Some(size(text))),
    )
    .long("send-ring", Group::Buffers, Kind::Size),
    Opt::ready(
        'b',
        "count",
        "accepted, no effect on these tests",
        Action::Value(|a, text| a.burst = int(text)),
    )
    .long("burst", Group::Compatibility, Kind::Count),
    Opt::ready(
        'n',
        "",
        "accepted, no effect on these tests",
        Action::Flag(|_| {}),
    )
    .long("connected", Group::Compatibility, Kind::Nothing),
    Opt::ready(
        'N',
        "",
        "accepted, no effect on these tests",
        Action::Flag(|_| {}),
    )
    .long("remote-connected", Group::Compatibility, Kind::Nothing),
    Opt::ready(
        'a',
        "",
        "accepted, no effect on these tests",
        Action::Flag(|_| {}),
    )
    .long("async-send", Group::Compatibility, Kind::Nothing),
    Opt::ready(
        'A',
        "",
        "accepted, no effect on these tests",
        Action::Flag(|_| {}),
    )
    .long("async-recv", Group::Compatibility, Kind::Nothing),
    Opt::ready('z', "", "accepted, no effect", Action::Flag(|_| {})).long(
        "unused-z",
        Group::Compatibility,
        Kind::Nothing,
    ),
    Opt::ready('T', "any", "accepted, no effect", Action::Value(|_, _| {})).long(
        "unused-t",
        Group::Compatibility,
        Kind::Text,
    ),
    Opt::ready('w', "any", "accepted, no effect", Action::Value(|_, _| {})).long(
        "unused-w",
        Group::Compatibility,
        Kind::Text,
    ),
];
