//! Access options of netserver.

use std::path::PathBuf;
use std::time::Duration;

use netperf_model::{Network, OnePort, Require};

use crate::args::{Networks, ServerArgs};
use crate::grammar;
use crate::group::Group;
use crate::kind::{ValueKind, bit_rate};
use crate::table::{Action, OptionRow};

type Opt = OptionRow<ServerArgs>;

pub(super) const CONFIG: Opt = Opt::without_letter(
    "file",
    "read settings from this file",
    Action::Value(|a, text| a.config = Some(PathBuf::from(text))),
)
.long("config", Group::Running, ValueKind::File)
.more(
    "TOML: a setting has the name of the option that says the same, and what is given as an \
     option wins. netserver does not start with a file that has an error.",
);

pub(super) const CHECK_CONFIG: Opt = Opt::without_letter(
    "file",
    "say what is wrong with a file of settings, and exit",
    Action::Value(|a, text| a.check_config = Some(PathBuf::from(text))),
)
.long("check-config", Group::Running, ValueKind::File)
.more("A line for each error, and exit status 1; without any, 0.");

pub(super) const KEY_FILE: Opt = Opt::without_letter(
    "file",
    "the key that clients must have",
    Action::Value(|a, text| a.access.key_file = Some(PathBuf::from(text))),
)
.long("key-file", Group::Access, ValueKind::File)
.more(
    "A file that nobody else may read, with 16 bytes or more, such as those of openssl rand \
     -hex 32. Otherwise NETPERF_KEY_FILE or NETPERF_KEY in the environment. A client proves \
     that it has the key, netserver does too, and nobody reads what they say.",
);

pub(super) const REQUIRE: Opt = Opt::without_letter(
    "what",
    "what a client must have: none, passphrase or key",
    Action::Value(|a, text| a.access.require = Require::named(text)),
)
.long("require", Group::Access, ValueKind::Word(Require::WORDS))
.more(
    "Otherwise the strongest that netserver was given: the key with --key-file, the \
     passphrase with -Z. With passphrase, whoever has \
     the key need not say it.",
);

pub(super) const ALLOW: Opt = Opt::without_letter(
    "network,...",
    "networks that may connect, and no others",
    Action::Value(|a, text| add(&mut a.access.allow, text)),
)
.long("allow", Group::Access, ValueKind::Networks)
.more(
    "Such as 10.0.0.0/8,2001:db8::/32; given again, it adds to them. The smallest network that \
     an address is in decides; one that is allowed and denied is denied.",
);

pub(super) const DENY: Opt = Opt::without_letter(
    "network,...",
    "networks that may not connect",
    Action::Value(|a, text| add(&mut a.access.deny, text)),
)
.long("deny", Group::Access, ValueKind::Networks)
.more("As --allow. With --deny alone, everybody else may.");

pub(super) const DATA_PEERS: Opt = Opt::without_letter(
    "peers",
    "where data may go: same, any, or networks besides",
    Action::Value(|a, text| a.access.data_peers = text.parse().ok()),
)
.long("data-peers", Group::Access, ValueKind::DataPeers)
.more(
    "same, the usual: only where the control connection comes from, and data is taken only \
     from there. A client that sends data by another way than its control connection needs \
     its address in one of the networks. With any, a client can have netserver send to others.",
);

pub(super) const ONE_PORT: Opt = Opt::without_letter(
    "what",
    "data that may come to this port: off, tcp or on",
    Action::Value(|a, text| a.access.one_port = OnePort::named(text)),
)
.long("one-port", Group::Access, ValueKind::Word(OnePort::WORDS))
.more(
    "For netperf --one-port. on, the usual: connections, and datagrams to the same port of \
     UDP, which is open for them. tcp: connections. What does not begin with the token that a \
     session gave out is closed, or not answered. A netserver that inetd starts, or with -f, \
     takes none.",
);

pub(super) const MAX_SESSIONS: Opt = Opt::without_letter(
    "count",
    "sessions at the same time",
    Action::Value(|a, text| a.access.sessions = text.parse().ok()),
)
.long("max-sessions", Group::Access, ValueKind::Count);

pub(super) const MAX_PEER_SESSIONS: Opt = Opt::without_letter(
    "count",
    "sessions of one address at the same time",
    Action::Value(|a, text| a.access.peer_sessions = text.parse().ok()),
)
.long("max-peer-sessions", Group::Access, ValueKind::Count);

pub(super) const MAX_TEST_TIME: Opt = Opt::without_letter(
    "time",
    "refuse tests that take longer, or have no time",
    Action::Value(|a, text| a.access.test_time = time(text)),
)
.long("max-test-time", Group::Access, ValueKind::Span);

pub(super) const MAX_SEND_RATE: Opt = Opt::without_letter(
    "rate",
    "bits per second that netserver sends in one test",
    Action::Value(|a, text| a.access.send_rate = bit_rate(text)),
)
.long("max-send-rate", Group::Access, ValueKind::BitRate)
.more(
    "Such as 100M or 2.5G, in powers of ten. By SO_MAX_PACING_RATE over TCP and TLS, all flows \
     together, and by waiting between messages over other transports; what can be held to it \
     in neither way is refused.",
);

pub(super) const IDLE_TIME: Opt = Opt::without_letter(
    "time",
    "how long a client may say nothing, 300 s unless given",
    Action::Value(|a, text| a.access.idle_time = time(text)),
)
.long("idle-time", Group::Access, ValueKind::Span)
.more("At least a second. A test that runs is not idle.");

fn add(networks: &mut Networks, text: &str) {
    // The kind has read it before.
    networks.add(Network::list(text).unwrap_or_default());
}

fn time(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(grammar::seconds(text)).ok()
}
