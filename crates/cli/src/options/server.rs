//! The options of netserver.

use std::path::PathBuf;

use netperf_arguments::args::{Networks, ServerArgs};
use netperf_arguments::group::Group;
use netperf_arguments::kind::{ValueKind, bit_rate};
use netperf_arguments::operations::{LogFormat, LogLevel, SandboxArg};
use netperf_arguments::table::{Action, OptionSpec};
use netperf_model::{CpuMethod, Family, Network, OnePort, Require};

use super::{help_row, set_host, span};

type Opt = OptionSpec<ServerArgs>;

/// Default port of iperf3.
const IPERF3_PORT: &str = "5201";

/// Options that a file of settings has not: about the file, or about this one command.
#[cfg_attr(
    not(feature = "files"),
    expect(dead_code, reason = "files are not read")
)]
pub(crate) const NOT_IN_A_FILE: &[&str] = &["help", "version", "config", "check-config", "health"];

/// Port of iperf 2.
const IPERF2_PORT: &str = "5001";

/// A limit with which a client can be served.
const AT_LEAST_ONE: ValueKind = ValueKind::Within(1, u32::MAX);

/// Every option.
pub(crate) static TABLE: &[OptionSpec<ServerArgs>] = &[
    help_row().more(
        "The letter prints the option letters, with exit status 1 as scripts expect. The name prints \
         examples and options on standard output; with limits after it, the limits.",
    ),
    Opt::lettered('D', "foreground", Group::Running)
        .flag(|a| {
            a.foreground = true;
            a.standalone = true;
        })
        .help("stay in the foreground")
        .more("Otherwise netserver goes to the background and returns when it listens."),
    Opt::lettered('f', "no-fork", Group::Running)
        .flag(|a| {
            a.no_fork = true;
            a.standalone = true;
        })
        .help("serve one client at a time, without a process for each")
        .more("Required for preloaded network stacks whose sockets do not survive a new process."),
    Opt::lettered('L', "listen", Group::Listening)
        .takes("host,family", ValueKind::Host)
        .noted(|a, text, notices| {
            set_host(&mut a.listen, text, notices);
            a.standalone = true;
        })
        .help("listen on this address only (default every address)")
        .more(
            "A host, an address family after a comma, or both. The default is every address of \
             both families. vsock:any or vsock:CID listens for virtual machines, or for their \
             host.",
        ),
    Opt::lettered('p', "port", Group::Listening)
        .takes("port", ValueKind::Port)
        .set(|a, text| {
            a.port = Some(text.to_owned());
            a.standalone = true;
        })
        .help("listen on this port (default 12865)")
        .more(
            "A number or a service name. If none of -D, -f, -L and -p is given and standard input \
             is a socket, netserver serves that connection, as under inetd.",
        ),
    Opt::named("iperf3", Group::Listening)
        .takes("[port]", ValueKind::Port)
        .action(Action::NextIfNumber(|a, port| {
            a.iperf3 = Some(port.unwrap_or(IPERF3_PORT).to_owned());
            a.standalone = true;
        }))
        .help("serve iperf3 clients, too, on this port (default 5201)")
        .more(
            "Beside the port of netperf, with the same addresses, policy, limits, log and sandbox. \
             netserver serves many clients at the same time; with --max-sessions 1, others get the \
             answer that the server is busy. iperf3 clients have neither key nor passphrase, so \
             neither can be required.",
        ),
    Opt::named("iperf2", Group::Listening)
        .takes("[port]", ValueKind::Port)
        .action(Action::NextIfNumber(|a, port| {
            a.iperf2 = Some(port.unwrap_or(IPERF2_PORT).to_owned());
            a.standalone = true;
        }))
        .help("serve iperf 2 clients, too, on this port (default 5001)")
        .more(
            "TCP and UDP, with the same policy, limits, sandbox and log. iperf 2 clients present \
             no credential. Datagrams go to the source of a flow as long as no more bytes are \
             sent than have arrived from it; for iperf -u -R, --data-peers has to name its \
             network.",
        ),
    Opt::lettered('4', "ipv4", Group::Listening)
        .flag(|a| a.listen.family = Some(Family::V4))
        .help("listen on IPv4"),
    Opt::lettered('6', "ipv6", Group::Listening)
        .flag(|a| a.listen.family = Some(Family::V6))
        .help("listen on IPv6; IPv4 clients reach the same socket, unless net.ipv6.bindv6only is set"),
    Opt::lettered('Z', "passphrase", Group::Access)
        .takes("passphrase", ValueKind::Text)
        .set(|a, text| a.passphrase = Some(text.into()))
        .help("close connections that do not begin with this passphrase (default none)")
        .more("The first message must be the passphrase, and must arrive within 20 seconds."),
    Opt::named("key-file", Group::Access)
        .takes("file", ValueKind::File)
        .set(|a, text| a.access.key_file = Some(PathBuf::from(text)))
        .help("file with the key that clients must have (default none)")
        .more(
            "The file must not be accessible to other users and must contain a generated key, such \
             as the output of openssl rand -hex 32. Without it the key comes from NETPERF_KEY_FILE \
             or NETPERF_KEY in the environment. Client and netserver prove to each other that they \
             have the key, and the control connection is encrypted.",
        ),
    Opt::named("agent", Group::Access)
        .flag(|a| {
            a.agent.enabled = true;
            a.foreground = true;
            a.standalone = true;
        })
        .help("take part in campaigns of netperf campaign (with --key-file)")
        .more(
            "A coordinator that has a key with the role agent can make this host measure to the \
             other members of its campaign, and to no other host. Loads stop within 3 seconds after \
             the coordinator is gone. netserver stays in the foreground, and SIGHUP ends it. \
             The program netperf has to be in the same directory.",
        ),
    Opt::named("join", Group::Access)
        .takes("host:port", ValueKind::Text)
        .set(|a, text| a.agent.join = Some(text.to_owned()))
        .help("connect to the coordinator at this address, with --agent (default wait for it)")
        .more(
            "For hosts that the coordinator cannot reach, and for jobs and pods whose addresses it \
             does not know: netperf campaign run --join-listen. Repeated until the coordinator is \
             there.",
        ),
    Opt::named("exit-on-eof", Group::Access)
        .flag(|a| a.agent.exit_on_eof = true)
        .help("exit at the end of standard input (with --agent)")
        .more("For ssh without a terminal: the agent ends with the connection."),
    Opt::named("require", Group::Access)
        .takes("mode", ValueKind::Word(Require::WORDS))
        .set(|a, text| a.access.require = Require::named(text))
        .help("required credential of a client: none, passphrase or key (default the strongest that is given)")
        .more(
            "The default is the strongest that netserver has: the key with --key-file, the \
             passphrase with -Z. With passphrase, a client that has the key does not need the \
             passphrase.",
        ),
    Opt::named("allow", Group::Access)
        .takes("network,...", ValueKind::Networks)
        .set(|a, text| add(&mut a.access.allow, text))
        .help("admit only clients in these networks (default all)")
        .more(
            "For instance 10.0.0.0/8,2001:db8::/32. Can be given several times. The smallest \
             network that contains the address decides; if the same network is both allowed and \
             denied, it is denied.",
        ),
    Opt::named("deny", Group::Access)
        .takes("network,...", ValueKind::Networks)
        .set(|a, text| add(&mut a.access.deny, text))
        .help("refuse clients in these networks (default none)")
        .more("Same syntax as --allow. With --deny alone, all other clients are admitted."),
    Opt::named("data-peers", Group::Access)
        .takes("peers", ValueKind::DataPeers)
        .set(|a, text| a.access.data_peers = text.parse().ok())
        .help("permitted data addresses: same, any, or additional networks (default same)")
        .more(
            "same (default): datagrams are sent only to the address of the control connection, or \
             to an address that a client with the key names. Connections, and datagrams that are \
             only received, may use the addresses of -H and -L after --. Networks, such as \
             10.0.0.0/8, permit further addresses. With any, a client can make netserver send to \
             other hosts.",
        ),
    Opt::named("transports", Group::Access)
        .takes("transport,...", ValueKind::Transports)
        .set(|a, text| a.access.transports = text.parse().ok())
        .help("transports that tests may use (default ip,local)")
        .more(
            "Names of netperf --list, and the groups ip, local (Unix-domain sockets and vsock), \
             link (link level and ATM) and all. Tests over other transports are refused. \
             Link-level frames reach every station of a link, regardless of --data-peers: name \
             them only where all clients are trusted.",
        ),
    Opt::named("features", Group::Access)
        .takes("feature,...", ValueKind::Features)
        .set(|a, text| a.access.features = text.parse().ok())
        .help("features that strangers may use (default none)")
        .more(
            "io-uring, mark (SO_MARK), bind-device, priority (SO_PRIORITY above 6), or all. A \
             stranger is a client that has not proven the key and is on another host. With \
             --data-peers other than same, clients on this host are strangers, too. Unless \
             io-uring is named, no client can use it.",
        ),
    Opt::named("one-port", Group::Access)
        .takes("mode", ValueKind::Word(OnePort::WORDS))
        .implies("on", "[mode]")
        .set(|a, text| a.access.one_port = OnePort::named(text))
        .help("data accepted on the control port: off, tcp or on (default on)")
        .more(
            "For netperf --one-port. on (default): connections, and datagrams to the UDP port of \
             the same number, which netserver opens. tcp: connections only. Connections without \
             the token of a session are closed, and datagrams without it are not answered. A \
             netserver started by inetd, or with -f, accepts none.",
        ),
    Opt::named("data-ports", Group::Access)
        .takes("first-last", ValueKind::Ports)
        .set(|a, text| a.access.data_ports = text.parse().ok())
        .help("bind data sockets only to ports of this range (default any port)")
        .more(
            "For instance 40000-40010, for a firewall in front of netserver. Holds for all \
             clients, those of netperf 2.7 too, and for all transports over IP. A client that \
             requests a port outside the range is offered one of the range; this project's netperf \
             does not accept it and fails. Tests for which too few ports are free are refused.",
        ),
    Opt::named("max-sessions", Group::Limits)
        .takes("count", AT_LEAST_ONE)
        .set(|a, text| a.access.sessions = text.parse().ok())
        .help("maximum number of concurrent sessions (default by host, at most 2000 below 32 GB)"),
    Opt::named("max-peer-sessions", Group::Limits)
        .takes("count", AT_LEAST_ONE)
        .set(|a, text| a.access.peer_sessions = text.parse().ok())
        .help("maximum number of concurrent sessions per client address (default all)"),
    Opt::named("max-startups", Group::Limits)
        .takes("start:percent:full", ValueKind::Startups)
        .set(|a, text| a.access.startups = text.parse().ok())
        .help("limits of clients that have not proven the key (default 10:30:100)")
        .more(
            "Like MaxStartups of sshd. At most START clients prove the key at the same time, each \
             within 3 seconds; further ones wait as long. Beyond START, new clients are refused at \
             random with probability PERCENT, which rises to 100 % at FULL. Clients without proof \
             do not count as sessions. An address whose clients fail to prove the key is refused \
             for a time.",
        ),
    Opt::named("max-session-rate", Group::Limits)
        .takes("each,all", ValueKind::Budget)
        .set(|a, text| a.access.session_rate = text.parse().ok())
        .help("sessions started per second, of each client address and of all (default 100,400)")
        .more("On average over ten seconds. Further clients are refused."),
    Opt::named("max-flows", Group::Limits)
        .takes("count", AT_LEAST_ONE)
        .set(|a, text| a.access.flows = text.parse().ok())
        .help("maximum number of flows of a test (default 10000)"),
    Opt::named("max-threads", Group::Limits)
        .takes("count", AT_LEAST_ONE)
        .set(|a, text| a.access.threads = text.parse().ok())
        .help("maximum number of netserver's threads of a test (default 256)"),
    Opt::named("max-memory", Group::Limits)
        .takes("each,all", ValueKind::Budget)
        .set(|a, text| a.access.memory = text.parse().ok())
        .help("maximum memory of buffers, of each session and of all (default by host)")
        .more(
            "Bytes, with K, M or G for powers of 1024. The kernel uses further memory for sockets. \
             A netserver started by inetd, or with -f, counts only its own session.",
        ),
    Opt::named("max-ports", Group::Limits)
        .takes("each,all", ValueKind::Budget)
        .set(|a, text| a.access.ports = text.parse().ok())
        .help("maximum number of data ports, of each session and of all (default by host)")
        .more("A test has one; with many flows of datagrams it has one for each flow."),
    Opt::named("source-bits", Group::Limits)
        .takes("bits", ValueKind::Within(1, 128))
        .set(|a, text| a.access.source_bits = text.parse().ok())
        .help("leading bits of IPv6 addresses that count as one client address (default 64)")
        .more("For --max-peer-sessions, --max-session-rate and --max-startups."),
    Opt::named("max-test-time", Group::Limits)
        .takes("time", ValueKind::Lasting)
        .set(|a, text| a.access.test_time = span(text))
        .help("refuse tests that are longer, or have no time limit (default none)"),
    Opt::named("max-send-rate", Group::Limits)
        .takes("rate", ValueKind::BitRate)
        .set(|a, text| a.access.send_rate = bit_rate(text))
        .help("limit netserver's send rate in one test, in bits per second (default none)")
        .more(
            "For instance 100M or 2.5G (powers of ten). Enforced by SO_MAX_PACING_RATE over TCP \
             and TLS, for all flows together, and by waiting between messages over other \
             transports. Tests for which neither is possible are refused.",
        ),
    Opt::named("idle-time", Group::Limits)
        .takes("time", ValueKind::Lasting)
        .set(|a, text| a.access.idle_time = span(text))
        .help("disconnect a client after this time without a message (default 300 s)")
        .more("At least one second. A running test is not idle."),
    Opt::named("control-keepalive", Group::Limits)
        .takes("time", ValueKind::Span)
        .set(|a, text| a.control_keepalive = span(text))
        .help("probe an idle control connection at this interval (default 15 s)")
        .more(
            "A session ends if the client's host does not respond for nearly three intervals. \
             Whole seconds; 0 disables probes.",
        ),
    Opt::named("config", Group::Running)
        .takes("file", ValueKind::File)
        .set(|a, text| a.config = Some(PathBuf::from(text)))
        .help("read settings from this file (default none)")
        .more(
            "TOML: a setting has the name of the corresponding option; an option on the command \
             line takes precedence. netserver does not start if the file contains an error.",
        ),
    Opt::named("check-config", Group::Running)
        .takes("file", ValueKind::File)
        .set(|a, text| a.check_config = Some(PathBuf::from(text)))
        .help("check a settings file and exit (default none)")
        .more(
            "Prints a line for each error, also of addresses, user, key, folder, log and metrics, and \
             exits with status 1; without errors the status is 0.",
        ),
    Opt::named("cpu-method", Group::Running)
        .takes("method", ValueKind::Word(&["procstat", "looper"]))
        .set(|a, text| a.cpu_method = CpuMethod::named(text))
        .help("method of measuring CPU utilisation, unless the client requests another (default procstat)")
        .more(
            "procstat (default) reads the counters of the kernel; looper counts with a loop of the \
             lowest priority on each CPU.",
        ),
    Opt::named("user", Group::Operations)
        .takes("name", ValueKind::Text)
        .set(|a, text| a.operations.user = Some(text.to_owned()))
        .help("change to this user after opening the port (default of root: netserver, netperf or nobody)")
        .more(
            "NAME or NAME:GROUP, as names or numbers. Supplementary groups are dropped; the change \
             is irrevocable. Without this option, a netserver that root starts changes to the \
             first of the users netserver, netperf and nobody that exists. A separate process \
             (netserver-rights) keeps the right to ports below 1024 and the rights that \
             --transports and --features need. With --user root, netserver stays root; its \
             sessions have no capability.",
        ),
    Opt::named("sandbox", Group::Operations)
        .takes("mode", ValueKind::Word(SandboxArg::WORDS))
        .set(|a, text| {
            a.operations.sandbox = SandboxArg::named(text).unwrap_or_default();
        })
        .help("confine sessions to the needs of tests: auto, require or off (default auto)")
        .more(
            "auto (default) uses what the kernel supports of Landlock and seccomp; require does \
             not start if one is missing. -V shows what is supported.",
        ),
    Opt::named("files", Group::Operations)
        .takes("folder", ValueKind::File)
        .set(|a, text| a.operations.files = Some(text.into()))
        .help("folder with files that netserver may read for clients (default none)")
        .more(
            "netperf -F can name a file whose contents netserver sends. Without this option \
             netserver reads no such file. / allows every file, as netperf 2.7 does.",
        ),
    Opt::named("log", Group::Operations)
        .takes("format", ValueKind::Word(LogFormat::WORDS))
        .implies("text", "[format]")
        .set(|a, text| a.operations.log = LogFormat::named(text))
        .help("log each session, as text or as JSON (default text, of warnings only)")
        .more(
            "One line per session, on standard error unless --log-file is given: client, number of \
             tests, the last test and its result, bytes, time, and the reason for the end.",
        ),
    Opt::named("log-file", Group::Operations)
        .takes("file", ValueKind::File)
        .set(|a, text| a.operations.log_file = Some(text.into()))
        .help("append the log to this file (default standard error)")
        .more("SIGHUP reopens it, for log rotation."),
    Opt::named("log-level", Group::Operations)
        .takes("level", ValueKind::Word(LogLevel::WORDS))
        .set(|a, text| a.operations.log_level = LogLevel::named(text))
        .help("log level: none, error, warn, info or debug (default info with --log, else warn)")
        .more(
            "none logs nothing, error failures that affect service. warn adds unusual events and \
             is the default; info adds each session and is the default with --log or --log-file. \
             debug adds connections that requested nothing.",
        ),
    Opt::named("metrics", Group::Operations)
        .takes("address", ValueKind::Text)
        .set(|a, text| a.operations.metrics = Some(text.to_owned()))
        .help("serve GET /metrics and GET /health over HTTP at this address (default none)")
        .more(
            "An IP address and a port, 127.0.0.1:9465 or [::1]:9465; a port alone means 127.0.0.1. \
             There is no access control: use a loopback address. /metrics is in the Prometheus \
             format.",
        ),
    Opt::named("health", Group::Operations)
        .takes("address", ValueKind::Text)
        .set(|a, text| a.operations.health = Some(text.to_owned()))
        .help("query /health at this --metrics address and exit (default none)")
        .more(
            "Exit status 0 if netserver serves, 1 if it is stopping, unreachable, or takes more \
             than 5 seconds.",
        ),
    Opt::named("drain", Group::Operations)
        .takes("time", ValueKind::Span)
        .set(|a, text| a.operations.drain = span(text))
        .help("time for sessions to finish after SIGTERM (default 30 seconds)")
        .more(
            "SIGTERM closes the port and lets sessions finish. Sessions that exceed the time are \
             ended; a second SIGTERM ends all of them.",
        ),
    Opt::lettered('d', "debug", Group::Running)
        .flag(|a| a.debug += 1)
        .help("write debug output")
        .more(
            "The log at level debug, to the new file /var/log/netserver.debug_PID, or to one in \
             TMPDIR where that folder is not writable; --log-file and --log-level take precedence.",
        ),
    Opt::lettered('N', "no-debug", Group::Running)
        .flag(|a| a.debug = 0)
        .help("never write debug output"),
    Opt::lettered('n', "cpu-count", Group::Compatibility)
        .takes("count", ValueKind::Count)
        .set(|_, _| {})
        .help("number of CPUs; accepted, no effect"),
    Opt::lettered('v', "verbosity", Group::Compatibility)
        .takes("level", ValueKind::Integer)
        .set(|_, _| {})
        .help("verbosity; accepted, no effect"),
    Opt::lettered('V', "version", Group::About)
        .action(Action::Version)
        .help("print the version and exit"),
];

fn add(networks: &mut Networks, text: &str) {
    // The kind has read it before.
    networks.add(Network::list(text).unwrap_or_default());
}
