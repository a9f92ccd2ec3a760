//! The options about streams that go both ways, and about single datagrams.

use netperf_model::Duplex;

use crate::args::GlobalArgs;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionRow};

type Opt = OptionRow<GlobalArgs>;

pub(super) const SEQUENCE: Opt = Opt::without_letter(
    "",
    "number datagrams: loss, duplicates, order, jitter",
    Action::Flag(|a| a.io.sequence = true),
)
.long("sequence", Group::Test, ValueKind::Nothing)
.more(
    "In stream tests over UDP, UDP-Lite, DCCP and Unix-domain datagrams. Each begins with \
     24 bytes that hold its number and when it was sent. The receiver counts what is lost, \
     comes twice or late, and follows the jitter: UDP_LOST, UDP_DUPLICATED, UDP_REORDERED, \
     UDP_JITTER_USEC and further selectors, --json, and -v 2 show it. Both ends must be of \
     this program.",
);

pub(super) const BIDIRECTIONAL: Opt = Opt::without_letter(
    "same|separate",
    "bulk data both ways at once",
    Action::Value(|a, text| a.bidirectional = Duplex::named(text)),
)
.long(
    "bidirectional",
    Group::Test,
    ValueKind::Word(&["same", "separate"]),
)
.more(
    "In stream tests, whichever way they go otherwise. same: both directions share one \
     connection, or one socket at each end, with a thread for each; netserver must be of this \
     program. separate: each direction has a connection of its own, and netserver may be any. \
     The throughput is the sum of what both receivers got; REMOTE_RECV_THROUGHPUT and \
     LOCAL_RECV_THROUGHPUT are those of each direction. With --flows each flow goes both ways, \
     served by the threads of --threads. Over TCP, Multipath TCP, UDP, UDP-Lite, \
     Unix-domain streams and vsock.",
);

pub(super) const ONE_PORT: Opt = Opt::without_letter(
    "",
    "data goes to the port of the control connection",
    Action::Flag(|a| a.io.one_port = true),
)
.long("one-port", Group::Hosts, ValueKind::Nothing)
.more(
    "For networks where nothing else is open: a firewall, address translation, a Kubernetes \
     service. Over TCP, TLS and UDP. netperf opens all connections, whichever way data goes, \
     and each begins with 32 bytes that name the test. netserver must be of this program.",
);
