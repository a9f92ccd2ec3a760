//! The options behind `--` of the older sockets suite: TCP_SENDFILE, TCP_CC, TCP_MSS.

use netperf_model::Family;

use super::{
    help_row, port_name, ready, set_both_ends, set_families, set_host, set_pair, set_ways,
};
use crate::args::TestArgs;
use crate::grammar::{int, size};
use crate::table::{Action, Row};

/// Every letter.
pub(crate) static TABLE: &[Row<TestArgs>] = &[
    help_row(),
    ready(
        'm',
        "bytes",
        "bytes per send",
        Action::Value(|a, text| a.send_size.local = Some(size(text))),
    ),
    ready(
        'M',
        "bytes",
        "bytes per receive",
        Action::Value(|a, text| a.recv_size.remote = Some(size(text))),
    ),
    ready(
        'r',
        "request,response",
        "sizes that the TCP_CC result repeats",
        Action::Value(|a, text| set_pair(&mut a.request, text, size)),
    ),
    ready(
        's',
        "send,recv",
        "local socket buffers",
        Action::Value(|a, text| set_ways(&mut a.buffers, text)),
    ),
    ready(
        'S',
        "send,recv",
        "remote socket buffers",
        Action::Value(|a, text| set_ways(&mut a.remote_buffers, text)),
    ),
    ready(
        'D',
        "",
        "no delay: send small segments at once",
        Action::Flag(|a| a.nodelay = true),
    ),
    ready(
        'C',
        "",
        "cork: send only full segments",
        Action::Flag(|a| a.cork = true),
    ),
    ready(
        'H',
        "host,family",
        "netserver's data address",
        Action::Checked(|a, text, notices| {
            set_host(&mut a.remote, text, notices);
            Ok(())
        }),
    ),
    ready(
        'L',
        "host,family",
        "local data address",
        Action::Checked(|a, text, notices| {
            set_host(&mut a.local, text, notices);
            Ok(())
        }),
    ),
    ready(
        'P',
        "local,remote",
        "data ports",
        Action::Value(|a, text| set_both_ends(&mut a.port, text, port_name)),
    ),
    ready(
        'p',
        "from,to",
        "local ports of TCP_CC, 5000,65535 unless given",
        Action::Value(|a, text| set_pair(&mut a.port_range, text, int)),
    ),
    ready(
        '4',
        "",
        "data over IPv4",
        Action::Flag(|a| set_families(&mut a.local, &mut a.remote, Family::V4)),
    ),
    ready(
        '6',
        "",
        "data over IPv6",
        Action::Flag(|a| set_families(&mut a.local, &mut a.remote, Family::V6)),
    ),
    ready(
        'R',
        "0|1",
        "whether data may be routed, 1 unless given",
        Action::Value(|a, text| a.routing = Some(int(text))),
    ),
    ready(
        'V',
        "",
        "avoid copying data where the system can",
        Action::Flag(|a| a.copy_avoidance = true),
    ),
    ready(
        'W',
        "count",
        "number of send buffers to cycle through",
        Action::Value(|a, text| a.send_width = Some(size(text))),
    ),
    ready(
        'b',
        "count",
        "accepted, no effect on these tests",
        Action::Value(|a, text| a.burst = int(text)),
    ),
    ready(
        'n',
        "",
        "accepted, no effect on these tests",
        Action::Flag(|_| {}),
    ),
    ready(
        'N',
        "",
        "accepted, no effect on these tests",
        Action::Flag(|_| {}),
    ),
    ready(
        'a',
        "",
        "accepted, no effect on these tests",
        Action::Flag(|_| {}),
    ),
    ready(
        'A',
        "",
        "accepted, no effect on these tests",
        Action::Flag(|_| {}),
    ),
    ready('z', "", "accepted, no effect", Action::Flag(|_| {})),
    ready('T', "any", "accepted, no effect", Action::Value(|_, _| {})),
    ready('w', "any", "accepted, no effect", Action::Value(|_, _| {})),
];
