//! The options about streams that go both ways, and about single datagrams.

use netperf_model::Duplex;

use crate::args::GlobalArgs;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::OptionSpec;

type Opt = OptionSpec<GlobalArgs>;

pub(super) const SEQUENCE: Opt = Opt::named("sequence", Group::Test)
    .flag(|a| a.io.sequence = true)
    .help("number datagrams to detect loss, duplicates and reordering")
    .more(
        "In stream tests over UDP, UDP-Lite, DCCP and Unix-domain datagrams. Each datagram begins \
         with 24 bytes that contain its number and the time of the send. The receiver counts lost, \
         duplicated and late datagrams and computes the jitter: see UDP_LOST, UDP_DUPLICATED, \
         UDP_REORDERED, UDP_JITTER_USEC and further selectors, --json, and -v 2. Both ends must be \
         this program.",
    );

pub(super) const BIDIRECTIONAL: Opt = Opt::named("bidirectional", Group::Test)
    .takes("same|separate", ValueKind::Word(Duplex::WORDS))
    .set(|a, text| a.bidirectional = Duplex::named(text))
    .help("send bulk data in both directions at once")
    .more(
        "In stream tests, whatever their direction. same: both directions share one connection, or \
         one socket at each end, with a thread for each; netserver must be this program. separate: \
         each direction has its own connection, and any netserver works. The throughput is the sum \
         of what both receivers got; REMOTE_RECV_THROUGHPUT and LOCAL_RECV_THROUGHPUT are those of \
         each direction. With --flows each flow carries both directions, served by the threads of \
         --threads. Over TCP, Multipath TCP, UDP, UDP-Lite, Unix-domain streams and vsock.",
    );

pub(super) const ONE_PORT: Opt = Opt::named("one-port", Group::Hosts)
    .flag(|a| a.io.one_port = true)
    .help("send data to the port of the control connection")
    .more(
        "For networks that pass only this port: a firewall, NAT, a Kubernetes service. Over TCP, \
         TLS and UDP. netperf opens all connections, whichever way data flows, and each begins \
         with 32 bytes that identify the test. netserver must be this program.",
    );
