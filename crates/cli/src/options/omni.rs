//! The options behind `--` of the OMNI suite: OMNI, UUID and the migrated tests.

use std::time::Duration;

use netperf_arguments::args::{OutputArg, OutputLayout, PerEnd, SocketKindArg, TestArgs};
use netperf_arguments::grammar::{TestDirection, cut, direction, first_half, int, size};
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::table::{Action, Halt, OptionSpec};
use netperf_model::TransportId;

use super::{SIZES, help_row, link, set_both_ends, set_host_with_bits, set_pair, shared, span};

/// Characters that count of a congestion control's name.
const CONGESTION_NAME: usize = 15;
/// Characters that count of an identifier.
const UUID: usize = 37;

type Opt = OptionSpec<TestArgs>;

/// Every option.
pub(crate) static TABLE: &[OptionSpec<TestArgs>] = &[
    help_row(),
    Opt::lettered('m', "send-size", Group::Operation)
        .takes("local,remote", SIZES)
        .set(|a, text| {
            let (local, remote) = sizes(&mut a.send_size, text);
            imply(a, local, remote);
        })
        .help("bytes per send")
        .more(
            "The default is the size of the socket buffer. Without --direction, OMNI sends if the \
             first value is given, and receives if the second is.",
        ),
    Opt::lettered('M', "recv-size", Group::Operation)
        .takes("remote,local", SIZES)
        .set(|a, text| {
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
        })
        .help("bytes per receive, netserver's first")
        .more("The default is the size of the socket buffer."),
    Opt::lettered('r', "request-size", Group::Operation)
        .takes("request,response", SIZES)
        .set(|a, text| {
            set_pair(&mut a.request, text, size);
            imply(a, true, true);
        })
        .help("bytes per request and response")
        .more("One value is for both. Without --direction it makes OMNI a request/response test."),
    shared::BURST,
    Opt::lettered('d', "direction", Group::Operation)
        .takes("direction", ValueKind::Direction)
        .set(|a, text| a.direction = Some(direction(text)))
        .help("OMNI only: send, recv, rr, or several joined by |")
        .more("The default is send. The numbers 2, 4 and 6 are send, recv and both."),
    Opt::lettered('c', "connect", Group::Operation)
        .flag(|a| a.connect = true)
        .help("open a connection for every operation")
        .more("Without a direction, connections are opened and closed without data."),
    Opt::lettered('T', "protocol", Group::Operation)
        .takes("protocol", ValueKind::Protocol)
        .set(|a, text| {
            a.transport.protocol = Some(text.to_owned());
            if names_socket_kind(text) {
                a.transport.kind = None;
            }
        })
        .help("transport of the data")
        .more(
            "Also sets the type of the socket. `netperf --list` shows the requirements of each \
             transport and whether it is available.",
        ),
    Opt::lettered('t', "socket-type", Group::Operation)
        .takes("type", ValueKind::Word(&["stream", "dgram", "seqpacket"]))
        .set(|a, text| a.transport.kind = Some(socket_kind(text)))
        .help("socket type: stream, dgram or seqpacket"),
    shared::SOCKET_BUFFER,
    shared::REMOTE_SOCKET_BUFFER,
    shared::NO_DELAY,
    shared::CORK,
    Opt::lettered('G', "segment-size", Group::Sockets)
        .takes("bytes", ValueKind::Count)
        .set(|a, text| a.segment_size = Some(int(text)))
        .help("TCP segment size"),
    Opt::lettered('K', "congestion", Group::Sockets)
        .takes("local,remote", ValueKind::twice(&ValueKind::Text))
        .set(|a, text| {
            set_both_ends(&mut a.congestion, text, |name| {
                cut(name, CONGESTION_NAME).to_owned()
            });
        })
        .help("TCP congestion control algorithm")
        .more("One name is for client and server; at most 15 characters are used."),
    Opt::lettered('q', "pacing-rate", Group::Pacing)
        .takes("rate", ValueKind::PacingRate)
        .letter_takes(ValueKind::PacingBytes)
        .set(|a, text| a.pacing_rate = Some(int(text)))
        .help("let the kernel pace the sockets: bits per second (-q: bytes per second)")
        .more(
            "For instance 50M or 2.5G (powers of ten). The letter takes a whole number of bytes per \
             second without a unit, as in netperf 2.7: -q 12500000 is --pacing-rate 100M.",
        ),
    Opt::lettered('F', "fast-open", Group::Sockets)
        .flag(|a| a.fast_open = true)
        .help("TCP fast open")
        .more(
            "Sends data with the connection request. For tests that open a connection for each \
             operation.",
        ),
    Opt::lettered('a', "defer-accept", Group::Sockets)
        .flag(|a| a.defer_accept = true)
        .help("let netserver accept connections only when data has arrived"),
    Opt::lettered('H', "data-host", Group::Addresses)
        .takes("host,family", ValueKind::HostWithBits)
        .noted(|a, text, notices| set_host_with_bits(&mut a.remote, text, notices))
        .help("netserver's data address; with host/bits the other bits are random")
        .more("Destination of the data, if it is not the host of the control connection."),
    Opt::lettered('L', "local-data-host", Group::Addresses)
        .takes("host,family", ValueKind::HostWithBits)
        .noted(|a, text, notices| set_host_with_bits(&mut a.local, text, notices))
        .help("local data address; with host/bits the other bits are random")
        .more("Source address of the data."),
    shared::DATA_PORT,
    shared::PORT_RANGE,
    shared::DATA_IPV4,
    shared::DATA_IPV6,
    shared::ROUTE,
    link::OMNI_DEVICE,
    link::OMNI_DEVICE_UNIT,
    link::OMNI_ACCESS_POINT,
    Opt::lettered('e', "recv-timeout", Group::Operation)
        .takes("time", ValueKind::Span)
        .set(|a, text| a.recv_timeout = response_time(text))
        .help("UDP: stop waiting for a response after this time")
        .more(
            "A transaction without a response is then given up and the burst restarted. Requests \
             without a response are counted.",
        ),
    Opt::lettered('f', "no-fragment", Group::Sockets)
        .flag(|a| a.no_fragmentation = true)
        .help("never fragment packets"),
    Opt::lettered('l', "multicast-ttl", Group::Sockets)
        .takes("hops", ValueKind::Within(0, 255))
        .set(|a, text| a.multicast_ttl = Some(int(text)))
        .help("multicast TTL"),
    Opt::lettered('n', "connected", Group::Sockets)
        .flag(|a| a.connected = true)
        .help("connect the local UDP socket"),
    Opt::lettered('N', "remote-connected", Group::Sockets)
        .flag(|a| a.remote_connected = true)
        .help("connect the remote UDP socket"),
    Opt::lettered('B', "packet-info", Group::Sockets)
        .flag(|a| a.packet_info = true)
        .help("UDP: respond from the address of the request"),
    Opt::lettered('U', "retry-connect", Group::Operation)
        .flag(|a| a.retry_connects = true)
        .help("connection tests: continue after a failed connection"),
    Opt::lettered('I', "use-write", Group::Operation)
        .flag(|a| a.use_write = true)
        .help("use write instead of send"),
    Opt::lettered('g', "socket-debug", Group::Sockets)
        .flag(|a| a.debug = true)
        .help("debug flag on the data socket"),
    shared::AVOID_COPY,
    shared::SEND_RING,
    Opt::lettered('k', "keyval", Group::Output)
        .takes("[selection]", ValueKind::Selection)
        .action(Action::NextUnlessDash(|a, word| {
            output(a, OutputLayout::Keyval, word)
        }))
        .help("print NAME=value lines: names, all, a file, or ? for a list")
        .more(
            "`--keyval NAME,NAME` or `all`, or the name of a file with one list per line. Without \
             a selection, the default values of the test. If several of --keyval, --csv and \
             --columns are given, the last one applies. The selector reference lists the names.",
        ),
    Opt::lettered('o', "csv", Group::Output)
        .takes("[selection]", ValueKind::Selection)
        .action(Action::NextUnlessDash(|a, word| {
            output(a, OutputLayout::Csv, word)
        }))
        .help("print comma-separated values")
        .more(
            "With a line of titles, which -o prints behind one with the test and its hosts. The \
             selection is as for --keyval.",
        ),
    Opt::lettered('O', "columns", Group::Output)
        .takes("[selection]", ValueKind::Selection)
        .action(Action::NextUnlessDash(|a, word| {
            output(a, OutputLayout::Columns, word)
        }))
        .help("print columns")
        .more(
            "Under titles of up to four lines. `;` in a selection begins the next block. The \
             selection is as for --keyval.",
        ),
    Opt::lettered('u', "uuid", Group::Output)
        .takes("id", ValueKind::Text)
        .set(|a, text| a.uuid = Some(cut(text, UUID).to_owned()))
        .help("identifier of this run")
        .more("At most 37 characters. The default is random."),
    Opt::lettered('i', "check-interval", Group::Compatibility)
        .takes("any", ValueKind::FreeText)
        .set(|a, _| a.removed_interval = true)
        .help("accepted, no effect"),
    shared::unused('j', "unused-j"),
    shared::UNUSED_W,
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

/// Time with or without a fraction. The letter also takes a number of seconds before other text.
fn response_time(text: &str) -> Option<Duration> {
    let whole = || u64::try_from(int(text)).ok().map(Duration::from_secs);
    span(text).or_else(whole).filter(|time| !time.is_zero())
}
