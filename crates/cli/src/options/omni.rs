//! The options behind `--` of the OMNI suite: OMNI, UUID and the migrated tests.

use netperf_model::TransportId;

use super::{SIZES, help_row, link, set_both_ends, set_host_with_bits, set_pair, shared};
use crate::args::{OutputArg, OutputLayout, PerEnd, SocketKindArg, TestArgs};
use crate::grammar::{TestDirection, cut, direction, first_half, int, size};
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, Halt, OptionSpec};

/// Characters that count of a congestion control's name.
const CONGESTION_NAME: usize = 15;
/// Characters that count of an identifier.
const UUID: usize = 37;

type Opt = OptionSpec<TestArgs>;

/// Every option.
pub(crate) static TABLE: &[OptionSpec<TestArgs>] = &[
    help_row(),
    Opt::ready(
        'm',
        "local,remote",
        "bytes per send",
        Action::Value(|a, text| {
            let (local, remote) = sizes(&mut a.send_size, text);
            imply(a, local, remote);
        }),
    )
    .long("send-size", Group::Operation, SIZES)
    .more(
        "The default is the size of the socket buffer. Without --direction, OMNI sends if the \
         first value is given, and receives if the second is.",
    ),
    Opt::ready(
        'M',
        "remote,local",
        "bytes per receive, netserver's first",
        Action::Value(|a, text| {
            let mut swapped = PerEnd {
                local: a.recv_size.remote,
                remote: a.recv_size.local,
            };
            let (remote, local) = sizes(&mut swapped, text);
            a.recv_size = PerEnd {
                local: swapped.remote,
                remote: swapped.local,
            };
            imply(a, remote, local);
        }),
    )
    .long("recv-size", Group::Operation, SIZES)
    .more("The value of the remote end comes first. The default is the size of the socket buffer."),
    Opt::ready(
        'r',
        "request,response",
        "bytes per request and response",
        Action::Value(|a, text| {
            set_pair(&mut a.request, text, size);
            imply(a, true, true);
        }),
    )
    .long("request-size", Group::Operation, SIZES)
    .more("One value is for both. Without --direction it makes OMNI a request/response test."),
    shared::burst(),
    Opt::ready(
        'd',
        "direction",
        "OMNI only: send, recv, rr, or several with | between",
        Action::Value(|a, text| a.direction = Some(direction(text))),
    )
    .long("direction", Group::Operation, ValueKind::Direction)
    .more("The default is send. The numbers 2, 4 and 6 are send, recv and both."),
    Opt::ready(
        'c',
        "",
        "open a connection for every operation",
        Action::Flag(|a| a.connect = true),
    )
    .long("connect", Group::Operation, ValueKind::Nothing)
    .more("Without a direction, connections are opened and closed without data."),
    Opt::ready(
        'T',
        "protocol",
        "transport of the data",
        Action::Value(|a, text| {
            a.transport.protocol = Some(text.to_owned());
            if names_socket_kind(text) {
                a.transport.kind = None;
            }
        }),
    )
    .long("protocol", Group::Operation, ValueKind::Protocol)
    .more(
        "Also sets the type of the socket. `netperf --list` shows the requirements of each \
         transport and whether it is available.",
    ),
    Opt::ready(
        't',
        "type",
        "socket type: stream, dgram or seqpacket",
        Action::Value(|a, text| a.transport.kind = Some(socket_kind(text))),
    )
    .long(
        "socket-type",
        Group::Operation,
        ValueKind::Word(&["stream", "dgram", "seqpacket"]),
    ),
    shared::socket_buffer(),
    shared::remote_socket_buffer(),
    shared::no_delay(),
    shared::cork(),
    Opt::ready(
        'G',
        "bytes",
        "TCP segment size",
        Action::Value(|a, text| a.segment_size = Some(int(text))),
    )
    .long("segment-size", Group::Sockets, ValueKind::Count),
    Opt::ready(
        'K',
        "local,remote",
        "TCP congestion control algorithm",
        Action::Value(|a, text| {
            set_both_ends(&mut a.congestion, text, |name| {
                cut(name, CONGESTION_NAME).to_owned()
            });
        }),
    )
    .long(
        "congestion",
        Group::Sockets,
        ValueKind::twice(&ValueKind::Text),
    )
    .more("One name is for both ends; at most 15 characters are used."),
    Opt::ready(
        'q',
        "bytes",
        "let the kernel pace the sockets at this many bytes per second",
        Action::Value(|a, text| a.pacing_rate = Some(int(text))),
    )
    .long("pacing-rate", Group::Pacing, ValueKind::Count),
    Opt::ready(
        'F',
        "",
        "TCP fast open",
        Action::Flag(|a| a.fast_open = true),
    )
    .long("fast-open", Group::Sockets, ValueKind::Nothing)
    .more(
        "Sends data with the connection request. For tests that open a connection for each \
         operation.",
    ),
    Opt::ready(
        'a',
        "",
        "let netserver accept connections only when data has arrived",
        Action::Flag(|a| a.defer_accept = true),
    )
    .long("defer-accept", Group::Sockets, ValueKind::Nothing),
    Opt::ready(
        'H',
        "host,family",
        "netserver's data address; host/bits chooses the rest at random",
        Action::Checked(|a, text, notices| {
            set_host_with_bits(&mut a.remote, text, notices);
            Ok(())
        }),
    )
    .long("data-host", Group::Addresses, ValueKind::HostWithBits)
    .more("Destination of the data, if it is not the host of the control connection."),
    Opt::ready(
        'L',
        "host,family",
        "local data address; host/bits chooses the rest at random",
        Action::Checked(|a, text, notices| {
            set_host_with_bits(&mut a.local, text, notices);
            Ok(())
        }),
    )
    .long("local-data-host", Group::Addresses, ValueKind::HostWithBits)
    .more("Source address of the data."),
    shared::data_port(),
    shared::port_range(),
    shared::data_ipv4(),
    shared::data_ipv6(),
    shared::route(),
    link::omni_device(),
    link::omni_device_unit(),
    link::omni_access_point(),
    Opt::ready(
        'e',
        "seconds",
        "UDP: stop waiting for a response after this time",
        Action::Value(|a, text| a.recv_timeout = Some(int(text))),
    )
    .long("recv-timeout", Group::Operation, ValueKind::WholeSeconds)
    .more("A transaction without a response is then given up and the burst restarted."),
    Opt::ready(
        'f',
        "",
        "never fragment packets",
        Action::Flag(|a| a.no_fragmentation = true),
    )
    .long("no-fragment", Group::Sockets, ValueKind::Nothing),
    Opt::ready(
        'l',
        "hops",
        "multicast TTL",
        Action::Value(|a, text| a.multicast_ttl = Some(int(text))),
    )
    .long("multicast-ttl", Group::Sockets, ValueKind::Within(0, 255)),
    Opt::ready(
        'n',
        "",
        "connect the local UDP socket",
        Action::Flag(|a| a.connected = true),
    )
    .long("connected", Group::Sockets, ValueKind::Nothing),
    Opt::ready(
        'N',
        "",
        "connect the remote UDP socket",
        Action::Flag(|a| a.remote_connected = true),
    )
    .long("remote-connected", Group::Sockets, ValueKind::Nothing),
    Opt::ready(
        'B',
        "",
        "UDP: respond from the address of the request",
        Action::Flag(|a| a.packet_info = true),
    )
    .long("packet-info", Group::Sockets, ValueKind::Nothing),
    Opt::ready(
        'U',
        "",
        "connection tests: continue after a failed connection",
        Action::Flag(|a| a.retry_connects = true),
    )
    .long("retry-connect", Group::Operation, ValueKind::Nothing),
    Opt::ready(
        'I',
        "",
        "use write instead of send",
        Action::Flag(|a| a.use_write = true),
    )
    .long("use-write", Group::Operation, ValueKind::Nothing),
    Opt::ready(
        'g',
        "",
        "debug flag on the data socket",
        Action::Flag(|a| a.debug = true),
    )
    .long("socket-debug", Group::Sockets, ValueKind::Nothing),
    shared::avoid_copy(),
    shared::send_ring(),
    Opt::ready(
        'k',
        "[selection]",
        "print NAME=value lines: names, all, a file, or ? for a list",
        Action::NextUnlessDash(|a, word| output(a, OutputLayout::Keyval, word)),
    )
    .long("keyval", Group::Output, ValueKind::Selection)
    .more(
        "`--keyval NAME,NAME` or `all`, or the name of a file with one list per line. Without a \
         selection, the default values of the test. The last of --keyval, --csv and --columns \
         decides. The selector reference lists the names.",
    ),
    Opt::ready(
        'o',
        "[selection]",
        "print comma-separated values",
        Action::NextUnlessDash(|a, word| output(a, OutputLayout::Csv, word)),
    )
    .long("csv", Group::Output, ValueKind::Selection)
    .more("With a line of titles. The selection is as for --keyval."),
    Opt::ready(
        'O',
        "[selection]",
        "print columns",
        Action::NextUnlessDash(|a, word| output(a, OutputLayout::Columns, word)),
    )
    .long("columns", Group::Output, ValueKind::Selection)
    .more(
        "Under titles of up to four lines. `;` in a selection begins the next block. \
         The selection is as for --keyval.",
    ),
    Opt::ready(
        'u',
        "id",
        "identifier of this run",
        Action::Value(|a, text| a.uuid = Some(cut(text, UUID).to_owned())),
    )
    .long("uuid", Group::Output, ValueKind::Text)
    .more("At most 37 characters. The default is random."),
    Opt::ready(
        'i',
        "any",
        "accepted, no effect",
        Action::Value(|a, _| a.removed_interval = true),
    )
    .long("check-interval", Group::Compatibility, ValueKind::Text),
    shared::unused('j', "unused-j"),
    shared::unused_w(),
];

/// Records an optionspec of sizes; tells which halves it had.
fn sizes(ends: &mut PerEnd<i32>, text: &str) -> (bool, bool) {
    super::set_ends(ends, text, size);
    let (first, second) = first_half(text);
    (first.is_some(), second.is_some())
}

/// Adds to the direction, unless `-d` came before. A later `-d` replaces it all.
fn imply(args: &mut TestArgs, sends: bool, receives: bool) {
    if args.direction.is_none() {
        args.implied = TestDirection {
            sends: args.implied.sends || sends,
            receives: args.implied.receives || receives,
            connects: false,
        };
    }
}

/// Returns true if a protocol's name also decides the kind of socket. The original leaves it as
/// it was for sctp, and no particular protocol says nothing about it.
fn names_socket_kind(protocol: &str) -> bool {
    !matches!(
        TransportId::from_option(protocol),
        None | Some(TransportId::Sctp | TransportId::IpDefault)
    )
}

fn socket_kind(text: &str) -> SocketKindArg {
    if text.contains("stream") {
        SocketKindArg::Stream
    } else if text.contains("dgram") {
        SocketKindArg::Datagram
    } else if text.contains("seqpacket") {
        SocketKindArg::SeqPacket
    } else {
        SocketKindArg::Unknown(text.to_owned())
    }
}

fn output(args: &mut TestArgs, layout: OutputLayout, word: Option<&str>) -> Option<Halt> {
    if word == Some("?") {
        return Some(Halt::ListSelectors {
            one_per_line: layout == OutputLayout::Columns,
        });
    }
    args.output = Some(OutputArg {
        layout,
        selection: word.map(str::to_owned),
    });
    None
}
