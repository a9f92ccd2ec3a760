//! Options for the method of moving bytes. None has a letter, because the original always uses
//! one blocking call per message.

use netperf_model::IoMethod;

use super::set_both_ends;
use crate::args::GlobalArgs;
use crate::grammar::size;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionRow};

type Opt = OptionRow<GlobalArgs>;

/// One method or two.
const METHODS: ValueKind = ValueKind::twice(&ValueKind::Word(&[
    "blocking", "poll", "epoll", "uring", "auto",
]));
/// One number of messages or two.
const MESSAGES: ValueKind = ValueKind::twice(&ValueKind::Within(1, 1024));
/// One switch or two.
const SWITCHES: ValueKind = ValueKind::twice(&ValueKind::Switch);

pub(super) const METHOD: Opt = Opt::without_letter(
    "local,remote",
    "how an end waits: blocking, poll, epoll or uring; or auto",
    Action::Value(|a, text| {
        set_both_ends(&mut a.io.method, text, IoMethod::named);
    }),
)
.long("io", Group::Paths, METHODS)
.more(
    "blocking sleeps in the call, as netperf always did. poll never sleeps: calls return at \
     once and are made again, which takes a whole CPU at that end and shows what the \
     network takes without the waking up. epoll sleeps in epoll_wait. uring hands its calls \
     to io_uring and sleeps there, in one system call; a message of up to 1024 bytes that \
     is answered goes in the same call as the wait for the next. io_uring cannot be \
     preloaded: a library put in front of the socket calls does not see what it moves. It \
     takes Linux 6.1. auto picks one by trials of 60 milliseconds or so before the test, \
     over connections like the test's: the one that moves most, and blocking unless another \
     moves 5 percent more; -v 2, LOCAL_IO_METHOD and JSON say which. One value is for both ends; netserver must be of this program unless its end is blocking. Not for \
     tests that open a connection for every operation.",
);

pub(super) const ZEROCOPY: Opt = Opt::without_letter(
    "",
    "send without copying the data",
    Action::Flag(|a| a.io.zerocopy = true),
)
.long("zerocopy", Group::Paths, ValueKind::Nothing)
.more(
    "By MSG_ZEROCOPY, at the end that sends, in tests that send one way over TCP; takes \
     Linux 4.14 and sends of 10 kilobytes or more to be worth it. The kernel may copy all \
     the same, over loopback always: LOCAL_ZEROCOPY_SHARE and REMOTE_ZEROCOPY_SHARE tell \
     which part it really did not.",
);

pub(super) const DISCARD: Opt = Opt::without_letter(
    "",
    "count what arrives and throw it away in the kernel",
    Action::Flag(|a| a.io.discard = true),
)
.long("discard", Group::Paths, ValueKind::Nothing)
.more(
    "By MSG_TRUNC, at the end that receives, in tests that send one way over TCP or UDP: \
     the data is never copied to the program, as if it were worth nothing. Where netserver \
     receives it must be of this program.",
);

pub(super) const BATCH: Opt = Opt::without_letter(
    "local,remote",
    "messages per system call",
    Action::Value(|a, text| set_both_ends(&mut a.io.batch, text, size)),
)
.long("batch", Group::Paths, MESSAGES)
.more(
    "By sendmmsg and recvmmsg, in tests that send one way over UDP; with --io uring over TCP, \
     too: as many sends in one call, and as many buffers for what arrives. One value is for \
     both ends; 1 is as ever. Sends and receives are counted in messages all the same.",
);

pub(super) const SEGMENTS: Opt = Opt::without_letter(
    "local,remote",
    "on or off: have the kernel cut and join datagrams",
    Action::Value(|a, text| set_both_ends(&mut a.io.segments, text, is_on)),
)
.long("segment-offload", Group::Paths, SWITCHES)
.more(
    "By UDP_SEGMENT where an end sends and UDP_GRO where it receives, in tests that send \
     one way over UDP; takes Linux 5.0, and messages that fit into the path's MTU. One call \
     then carries up to 64 datagrams. One value is for both ends. Sends and receives are \
     counted in datagrams all the same.",
);

pub(super) const SPLICE: Opt = Opt::without_letter(
    "",
    "send what arrives through a pipe into the null device",
    Action::Flag(|a| a.io.splice = true),
)
.long("splice", Group::Paths, ValueKind::Nothing)
.more(
    "By splice(2), at the end that receives, in tests that send one way over TCP: pages \
     move, and bytes are not copied where the driver lets them lie in pages. Where netserver \
     receives it must be of this program. TCP_SENDFILE is its like for sending; -V asks for \
     the same, of netperf 2.7, too.",
);

pub(super) const DSCP: Opt = Opt::without_letter(
    "local,remote",
    "differentiated services code point of packets, 0 to 63",
    Action::Value(|a, text| {
        a.dscp = true;
        set_both_ends(&mut a.tos, text, code_point);
    }),
)
.long(
    "dscp",
    Group::Sockets,
    ValueKind::twice(&ValueKind::Within(0, 63)),
)
.more("The upper six bits of what --tos sets. One value is for both ends.");

pub(super) const TLS_CIPHER: Opt = Opt::without_letter(
    "suite",
    "the only cipher suite that -T tls and ktls may use",
    Action::Value(|a, text| a.tls_cipher = Some(text.to_owned())),
)
.long("tls-cipher", Group::Sockets, ValueKind::Word(CIPHERS))
.more("By IANA's name. TLS_CIPHER tells which one was used.");

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

/// The type of service that a code point is the upper part of.
fn code_point(text: &str) -> Option<u8> {
    u8::try_from(size(text)).ok()?.checked_mul(4)
}
