//! Access options of netserver.

use std::path::PathBuf;

use netperf_model::{Network, OnePort, Require};

use super::span;
use crate::args::{Networks, ServerArgs};
use crate::group::Group;
use crate::kind::{ValueKind, bit_rate};
use crate::table::OptionSpec;

type Opt = OptionSpec<ServerArgs>;

pub(super) const CONFIG: Opt = Opt::named("config", Group::Running)
    .takes("file", ValueKind::File)
    .set(|a, text| a.config = Some(PathBuf::from(text)))
    .help("read settings from this file")
    .more(
        "TOML: a setting has the name of the corresponding option; an option on the command line \
         takes precedence. netserver does not start if the file contains an error.",
    );

pub(super) const CHECK_CONFIG: Opt = Opt::named("check-config", Group::Running)
    .takes("file", ValueKind::File)
    .set(|a, text| a.check_config = Some(PathBuf::from(text)))
    .help("check a settings file and exit")
    .more("Prints a line for each error and exits with status 1; without errors the status is 0.");

pub(super) const KEY_FILE: Opt = Opt::named("key-file", Group::Access)
    .takes("file", ValueKind::File)
    .set(|a, text| a.access.key_file = Some(PathBuf::from(text)))
    .help("file with the key that clients must have")
    .more(
        "The file must not be accessible to other users and must contain at least 16 bytes, such \
         as the output of openssl rand -hex 32. Without it the key comes from NETPERF_KEY_FILE or \
         NETPERF_KEY in the environment. Client and netserver prove to each other that they have \
         the key, and the control connection is encrypted.",
    );

pub(super) const REQUIRE: Opt = Opt::named("require", Group::Access)
    .takes("mode", ValueKind::Word(Require::WORDS))
    .set(|a, text| a.access.require = Require::named(text))
    .help("required credential of a client: none, passphrase or key")
    .more(
        "The default is the strongest that netserver has: the key with --key-file, the passphrase \
         with -Z. With passphrase, a client that has the key does not need the passphrase.",
    );

pub(super) const ALLOW: Opt = Opt::named("allow", Group::Access)
    .takes("network,...", ValueKind::Networks)
    .set(|a, text| add(&mut a.access.allow, text))
    .help("admit only clients in these networks")
    .more(
        "For instance 10.0.0.0/8,2001:db8::/32. Can be given several times. The smallest network \
         that contains the address decides; if the same network is both allowed and denied, it is \
         denied.",
    );

pub(super) const DENY: Opt = Opt::named("deny", Group::Access)
    .takes("network,...", ValueKind::Networks)
    .set(|a, text| add(&mut a.access.deny, text))
    .help("refuse clients in these networks")
    .more("Same syntax as --allow. With --deny alone, all other clients are admitted.");

pub(super) const DATA_PEERS: Opt = Opt::named("data-peers", Group::Access)
    .takes("peers", ValueKind::DataPeers)
    .set(|a, text| a.access.data_peers = text.parse().ok())
    .help("permitted data addresses: same, any, or additional networks")
    .more(
        "same (default): data is exchanged only with the address of the control connection. A \
         client whose data uses another address needs that address in one of the networks. With \
         any, a client can make netserver send to other hosts.",
    );

pub(super) const ONE_PORT: Opt = Opt::named("one-port", Group::Access)
    .takes("mode", ValueKind::Word(OnePort::WORDS))
    .set(|a, text| a.access.one_port = OnePort::named(text))
    .help("data accepted on the control port: off, tcp or on")
    .more(
        "For netperf --one-port. on (default): connections, and datagrams to the UDP port of the \
         same number, which is open. tcp: connections only. Connections without the token of a \
         session are closed, and such datagrams are not answered. A netserver started by inetd, or \
         with -f, accepts none.",
    );

pub(super) const MAX_SESSIONS: Opt = Opt::named("max-sessions", Group::Access)
    .takes("count", ValueKind::Count)
    .set(|a, text| a.access.sessions = text.parse().ok())
    .help("maximum number of concurrent sessions");

pub(super) const MAX_PEER_SESSIONS: Opt = Opt::named("max-peer-sessions", Group::Access)
    .takes("count", ValueKind::Count)
    .set(|a, text| a.access.peer_sessions = text.parse().ok())
    .help("maximum number of concurrent sessions per client address");

pub(super) const MAX_TEST_TIME: Opt = Opt::named("max-test-time", Group::Access)
    .takes("time", ValueKind::Span)
    .set(|a, text| a.access.test_time = span(text))
    .help("refuse tests that are longer, or have no time limit");

pub(super) const MAX_SEND_RATE: Opt = Opt::named("max-send-rate", Group::Access)
    .takes("rate", ValueKind::BitRate)
    .set(|a, text| a.access.send_rate = bit_rate(text))
    .help("limit netserver's send rate in one test, in bits per second")
    .more(
        "For instance 100M or 2.5G (powers of ten). Enforced by SO_MAX_PACING_RATE over TCP and \
         TLS, for all flows together, and by waiting between messages over other transports. Tests \
         for which neither is possible are refused.",
    );

pub(super) const IDLE_TIME: Opt = Opt::named("idle-time", Group::Access)
    .takes("time", ValueKind::Span)
    .set(|a, text| a.access.idle_time = span(text))
    .help("disconnect a client after this time without a message (default 300 s)")
    .more("At least one second. A running test is not idle.");

fn add(networks: &mut Networks, text: &str) {
    // The kind has read it before.
    networks.add(Network::list(text).unwrap_or_default());
}
