//! Options for the method of moving bytes. None has a letter, because the original always uses
//! one blocking call per message.

use netperf_arguments::args::GlobalArgs;
use netperf_arguments::grammar::{self, size, tos};
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::table::{Action, OptionSpec};
use netperf_model::IoMethod;

use super::set_both_ends;

type Opt = OptionSpec<GlobalArgs>;

/// One method or two.
const METHODS: ValueKind = ValueKind::twice(&ValueKind::Word(&[
    "blocking", "poll", "epoll", "uring", "auto",
]));
/// One number of messages or two.
const MESSAGES: ValueKind = ValueKind::twice(&ValueKind::Within(1, 1024));
/// One switch or two.
const SWITCHES: ValueKind = ValueKind::twice(&ValueKind::Switch);

pub(super) const METHOD: Opt = Opt::named("io", Group::Paths)
    .takes("local,remote", METHODS)
    .set(|a, text| {
        set_both_ends(&mut a.io.method, text, IoMethod::named);
    })
    .help("waiting method: blocking, poll, epoll, uring or auto")
    .more(
        "blocking (default) sleeps in the call. poll never sleeps: calls return at once and are \
         repeated, which occupies a whole CPU of that host and avoids the cost of wake-ups. epoll \
         sleeps in epoll_wait. uring submits calls to io_uring and sleeps there, in one system \
         call; a message of up to 1024 bytes that is answered is submitted together with the wait \
         for the next message. io_uring cannot be preloaded: a library that replaces the socket \
         calls does not see the data that io_uring moves. It needs Linux 6.1. auto selects a \
         method with trials of about 60 milliseconds before the test, over similar connections: \
         the method that moves the most data, and blocking unless another one moves 5 percent \
         more; -v 2, LOCAL_IO_METHOD and JSON show the selection. One value is for client and \
         server; this project's netserver is needed unless its value is blocking. uring is not for \
         tests that open a connection for every operation, and auto keeps blocking there.",
    );

pub(super) const ZEROCOPY: Opt = Opt::named("zerocopy", Group::Paths)
    .flag(|a| a.io.zerocopy = true)
    .help("send without copying the data")
    .more(
        "With MSG_ZEROCOPY, at the sender, in stream tests over TCP; needs Linux 4.14, and pays \
         off for sends of 10 kilobytes or more. The kernel may copy nevertheless, and always does \
         on loopback: LOCAL_ZEROCOPY_SHARE and REMOTE_ZEROCOPY_SHARE show the share that was not \
         copied.",
    );

pub(super) const DISCARD: Opt = Opt::named("discard", Group::Paths)
    .flag(|a| a.io.discard = true)
    .help("count received data and discard it in the kernel")
    .more(
        "With MSG_TRUNC, at the receiver, in stream tests over TCP or UDP: the data is never \
         copied to the program. To receive at netserver, this project's netserver is needed.",
    );

pub(super) const BATCH: Opt = Opt::named("batch", Group::Paths)
    .takes("local,remote", MESSAGES)
    .set(|a, text| set_both_ends(&mut a.io.batch, text, size))
    .help("messages per system call")
    .more(
        "With sendmmsg and recvmmsg, in stream tests over UDP; with --io uring also over TCP: the \
         number of sends per call, and of receive buffers. One value is for client and server; the \
         default is 1. Sends and receives are counted in messages.",
    );

pub(super) const SEGMENTS: Opt = Opt::named("segment-offload", Group::Paths)
    .takes("local,remote", SWITCHES)
    .implies("on", "[local,remote]")
    .set(|a, text| set_both_ends(&mut a.io.segments, text, is_on))
    .help("on or off: let the kernel split and join datagrams")
    .more(
        "With UDP_SEGMENT for sending and UDP_GRO for receiving, in stream tests over UDP; needs \
         Linux 5.0, and messages that fit into the path's MTU. One call then carries up to 64 \
         datagrams. One value is for client and server. Sends and receives are counted in \
         datagrams.",
    );

pub(super) const SPLICE: Opt = Opt::named("splice", Group::Paths)
    .flag(|a| a.io.splice = true)
    .help("move received data through a pipe to the null device")
    .more(
        "With splice(2), at the receiver, in stream tests over TCP: pages are moved, and bytes are \
         not copied if the driver places them in pages. To receive at netserver, this project's \
         netserver is needed. TCP_SENDFILE is the equivalent for sending; -V requests the same, \
         also from netperf 2.7.",
    );

pub(super) const DSCP: Opt = Opt::lettered('Y', "dscp", Group::Sockets)
    .takes("local,remote", ValueKind::twice(&ValueKind::CodePoint))
    .letter_takes(BYTES_OF_SERVICE)
    .action(Action::LetterAndName(
        |a, text, _| set_both_ends(&mut a.tos, text, tos),
        |a, text| {
            a.service_option = Some("--dscp");
            set_both_ends(&mut a.tos, text, service);
        },
    ))
    .help("differentiated services code point of packets: ef, cs1, af11, or 0 to 63 (-Y: the whole byte)")
    .more(
        "Names: af11 to af43, cs0 to cs7, ef, le, va. One value is for client and server. A number \
         after the letter is the whole type-of-service byte, as in netperf 2.7, and four times the \
         code point; it may be hexadecimal (0x10) or octal (020), and 0 is not applied.",
    );

/// The old name of [`DSCP`], with the values of the letter.
pub(super) const TOS: Opt = Opt::named("tos", Group::Compatibility)
    .takes("local,remote", BYTES_OF_SERVICE)
    .set(|a, text| {
        a.service_option = Some("--tos");
        set_both_ends(&mut a.tos, text, tos);
    })
    .help("old name of --dscp: the whole type-of-service byte, or a name")
    .more("Names: those of --dscp, and lowdelay, throughput and reliability.");

/// One type-of-service byte or two.
const BYTES_OF_SERVICE: ValueKind = ValueKind::twice(&ValueKind::Tos);

pub(super) const TLS_CIPHER: Opt = Opt::named("tls-cipher", Group::Sockets)
    .takes("suite", ValueKind::Word(CIPHERS))
    .set(|a, text| a.tls_cipher = Some(text.to_owned()))
    .help("the only cipher suite for -T tls and ktls")
    .more("By its IANA name. TLS_CIPHER shows the suite that was used.");

/// The cipher suites of TLS 1.3 that both ends have (RFC 8446, appendix B.4).
const CIPHERS: &[&str] = &[
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
];

/// A switch has become a number on its way here.
fn is_on(text: &str) -> bool {
    text == "1"
}

/// The type of service of a code point.
fn service(text: &str) -> Option<u8> {
    grammar::code_point(text).map(|value| value << 2)
}
