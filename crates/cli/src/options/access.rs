//! Access options of netserver.

use std::path::PathBuf;
use std::time::Duration;

use netperf_model::{Network, OnePort, Require};

use crate::args::{Networks, ServerArgs};
use crate::grammar;
use crate::group::Group;
use crate::kind::{ValueKind, bit_rate};
use crate::table::{Action, OptionSpec};

type Opt = OptionSpec<ServerArgs>;

pub(super) const CONFIG: Opt = Opt::without_letter(
    "file",
    "read settings from this file",
    Action::Value(|a, text| a.config = Some(PathBuf::from(text))),
)
.long("config", Group::Running, ValueKind::File)
.more(
    "TOML: a setting has the name of the corresponding option; an option on the command line \
     takes precedence. netserver does not start if the file contains an error.",
);

pub(super) const CHECK_CONFIG: Opt = Opt::without_letter(
    "file",
    "check a settings file and exit",
    Action::Value(|a, text| a.check_config = Some(PathBuf::from(text))),
)
.long("check-config", Group::Running, ValueKind::File)
.more("Prints a line for each error and exits with status 1; without errors the status is 0.");

pub(super) const KEY_FILE: Opt = Opt::without_letter(
    "file",
    "file with the key that clients must have",
    Action::Value(|a, text| a.access.key_file = Some(PathBuf::from(text))),
)
.long("key-file", Group::Access, ValueKind::File)
.more(
    "The file must not be accessible to other users and must contain at least 16 bytes, such as \
     the output of openssl rand -hex 32. Without it the key comes from NETPERF_KEY_FILE or \
     NETPERF_KEY in the environment. Client and netserver prove to each other that they have the \
     key, and the control connection is encrypted.",
);

pub(super) const REQUIRE: Opt = Opt::without_letter(
    "mode",
    "required credential of a client: none, passphrase or key",
    Action::Value(|a, text| a.access.require = Require::named(text)),
)
.long("require", Group::Access, ValueKind::Word(Require::WORDS))
.more(
    "The default is the strongest that netserver has: the key with --key-file, the passphrase \
     with -Z. With passphrase, a client that has the key does not need the passphrase.",
);

pub(super) const ALLOW: Opt = Opt::without_letter(
    "network,...",
    "admit only clients in these networks",
    Action::Value(|a, text| add(&mut a.access.allow, text)),
)
.long("allow", Group::Access, ValueKind::Networks)
.more(
    "For instance 10.0.0.0/8,2001:db8::/32. Can be given several times. The smallest network \
     that contains the address decides; if the same network is both allowed and denied, it is \
     denied.",
);

pub(super) const DENY: Opt = Opt::without_letter(
    "network,...",
    "refuse clients in these networks",
    Action::Value(|a, text| add(&mut a.access.deny, text)),
)
.long("deny", Group::Access, ValueKind::Networks)
.more("Same syntax as --allow. With --deny alone, all other clients are admitted.");

pub(super) const DATA_PEERS: Opt = Opt::without_letter(
    "peers",
    "permitted data addresses: same, any, or additional networks",
    Action::Value(|a, text| a.access.data_peers = text.parse().ok()),
)
.long("data-peers", Group::Access, ValueKind::DataPeers)
.more(
    "same (default): data is exchanged only with the address of the control connection. A client \
     whose data uses another address needs that address in one of the networks. With any, a \
     client can make netserver send to other hosts.",
);

pub(super) const ONE_PORT: Opt = Opt::without_letter(
    "mode",
    "data accepted on the control port: off, tcp or on",
    Action::Value(|a, text| a.access.one_port = OnePort::named(text)),
)
.long("one-port", Group::Access, ValueKind::Word(OnePort::WORDS))
.more(
    "For netperf --one-port. on (default): connections, and datagrams to the UDP port of the \
     same number, which is open. tcp: connections only. Connections without the token of a \
     session are closed, and such datagrams are not answered. A netserver started by inetd, or \
     with -f, accepts none.",
);

pub(super) const MAX_SESSIONS: Opt = Opt::without_letter(
    "count",
    "maximum number of concurrent sessions",
    Action::Value(|a, text| a.access.sessions = text.parse().ok()),
)
.long("max-sessions", Group::Access, ValueKind::Count);

pub(super) const MAX_PEER_SESSIONS: Opt = Opt::without_letter(
    "count",
    "maximum number of concurrent sessions per client address",
    Action::Value(|a, text| a.access.peer_sessions = text.parse().ok()),
)
.long("max-peer-sessions", Group::Access, ValueKind::Count);

pub(super) const MAX_TEST_TIME: Opt = Opt::without_letter(
    "time",
    "refuse tests that are longer, or have no time limit",
    Action::Value(|a, text| a.access.test_time = time(text)),
)
.long("max-test-time", Group::Access, ValueKind::Span);

pub(super) const MAX_SEND_RATE: Opt = Opt::without_letter(
    "rate",
    "limit netserver's send rate in one test, in bits per second",
    Action::Value(|a, text| a.access.send_rate = bit_rate(text)),
)
.long("max-send-rate", Group::Access, ValueKind::BitRate)
.more(
    "For instance 100M or 2.5G (powers of ten). Enforced by SO_MAX_PACING_RATE over TCP and TLS, \
     for all flows together, and by waiting between messages over other transports. Tests for \
     which neither is possible are refused.",
);

pub(super) const IDLE_TIME: Opt = Opt::without_letter(
    "time",
    "disconnect a client after this time without a message (default 300 s)",
    Action::Value(|a, text| a.access.idle_time = time(text)),
)
.long("idle-time", Group::Access, ValueKind::Span)
.more("At least one second. A running test is not idle.");

fn add(networks: &mut Networks, text: &str) {
    // The kind has read it before.
    networks.add(Network::list(text).unwrap_or_default());
}

fn time(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(grammar::seconds(text)).ok()
}
