//! The options about how bytes are moved. None has a letter: the original moves each
//! message by a blocking call of its own.

use netperf_model::IoMethod;

use super::{SIZES, set_both_ends};
use crate::args::GlobalArgs;
use crate::grammar::size;
use crate::group::Group;
use crate::kind::Kind;
use crate::table::{Action, Row};

type Opt = Row<GlobalArgs>;

/// One method or two.
const METHODS: Kind = Kind::twice(&Kind::Word(&["blocking", "poll", "epoll"]));
/// One number of messages or two.
const MESSAGES: Kind = Kind::twice(&Kind::Within(1, 1024));
/// One switch or two.
const SWITCHES: Kind = Kind::twice(&Kind::Switch);
/// One number or two.
const COUNTS: Kind = Kind::twice(&Kind::Count);

pub(super) const METHOD: Opt = Opt::without_letter(
    "local,remote",
    "what an end does while there is nothing to do: blocking, poll or epoll",
    Action::Value(|a, text| {
        set_both_ends(&mut a.io.method, text, |name| {
            IoMethod::named(name).unwrap_or_default()
        });
    }),
)
.long("io", Group::Paths, METHODS)
.more(
    "blocking sleeps in the call, as netperf always did. poll never sleeps: calls return at \
     once and are made again, which takes a whole CPU at that end and shows what the \
     network takes without the waking up. epoll sleeps in epoll_wait. One value is for \
     both ends; netserver must be of this program unless its end is blocking. Not for \
     tests that open a connection for every operation.",
);

pub(super) const ZEROCOPY: Opt = Opt::without_letter(
    "",
    "send without copying the data",
    Action::Flag(|a| a.io.zerocopy = true),
)
.long("zerocopy", Group::Paths, Kind::Nothing)
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
.long("discard", Group::Paths, Kind::Nothing)
.more(
    "By MSG_TRUNC, at the end that receives, in tests that send one way over TCP or UDP: \
     the data is never copied to the program, as if it were worth nothing. Where netserver \
     receives it must be of this program.",
);

pub(super) const BATCH: Opt = Opt::without_letter(
    "local,remote",
    "datagrams per system call",
    Action::Value(|a, text| set_both_ends(&mut a.io.batch, text, size)),
)
.long("batch", Group::Paths, MESSAGES)
.more(
    "By sendmmsg and recvmmsg, in tests that send one way over UDP. One value is for both \
     ends; 1 is as ever. Sends and receives are counted in datagrams all the same.",
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

pub(super) const BUSY_POLL: Opt = Opt::without_letter(
    "local,remote",
    "let calls look at the device for this many microseconds",
    Action::Value(|a, text| set_both_ends(&mut a.io.busy_poll, text, size)),
)
.long("busy-poll", Group::Paths, COUNTS)
.more(
    "SO_BUSY_POLL: more than the system's own setting takes CAP_NET_ADMIN, and a driver \
     that can. One value is for both ends.",
);

pub(super) const QUICKACK: Opt = Opt::without_letter(
    "local,remote",
    "on or off: acknowledge TCP segments at once",
    Action::Value(|a, text| set_both_ends(&mut a.io.quickack, text, is_on)),
)
.long("quickack", Group::Sockets, SWITCHES)
.more(
    "TCP_QUICKACK when the connection stands; the kernel may think better of it later. One \
     value is for both ends.",
);

pub(super) const NOTSENT_LOWAT: Opt = Opt::without_letter(
    "local,remote",
    "bytes that may wait to be sent",
    Action::Value(|a, text| set_both_ends(&mut a.io.notsent_lowat, text, size)),
)
.long("notsent-lowat", Group::Sockets, SIZES)
.more("TCP_NOTSENT_LOWAT. One value is for both ends.");

pub(super) const DEVICE: Opt = Opt::without_letter(
    "local,remote",
    "the interface that data must pass",
    Action::Value(|a, text| set_both_ends(&mut a.io.device, text, str::to_owned)),
)
.long("bind-device", Group::Sockets, Kind::twice(&Kind::Text))
.more(
    "SO_BINDTODEVICE. One value is for both ends: where the interfaces have other names \
     there, give two. `eth0,` is for netperf alone.",
);

pub(super) const MARK: Opt = Opt::without_letter(
    "local,remote",
    "mark packets for the rules of the firewall and of routing",
    Action::Value(|a, text| set_both_ends(&mut a.io.mark, text, size)),
)
.long("mark", Group::Sockets, COUNTS)
.more("SO_MARK, which takes CAP_NET_ADMIN. One value is for both ends.");

pub(super) const DSCP: Opt = Opt::without_letter(
    "local,remote",
    "differentiated services code point of packets, 0 to 63",
    Action::Value(|a, text| set_both_ends(&mut a.tos, text, code_point)),
)
.long("dscp", Group::Sockets, Kind::twice(&Kind::Within(0, 63)))
.more("The upper six bits of what --tos sets. One value is for both ends.");

/// A switch has become a number on its way here.
fn is_on(text: &str) -> bool {
    text == "1"
}

/// The type of service that a code point is the upper part of.
fn code_point(text: &str) -> Option<u8> {
    u8::try_from(size(text)).ok()?.checked_mul(4)
}
