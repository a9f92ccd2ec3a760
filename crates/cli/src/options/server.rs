//! The options of netserver.

use std::time::Duration;

use netperf_model::{CpuMethod, Family};

use super::{access, help_row, keepalive, set_host};
use crate::args::ServerArgs;
use crate::grammar::int;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::operations::{LogFormat, LogLevel, SandboxArg};
use crate::table::{Action, Halt, OptionRow};

type Opt = OptionRow<ServerArgs>;

/// Options that a file of settings has not: about the file, or about this one command.
pub(crate) const NOT_IN_A_FILE: &[&str] = &["help", "version", "config", "check-config", "health"];

/// Every option.
pub(crate) static TABLE: &[OptionRow<ServerArgs>] = &[
    OptionRow {
        kind: ValueKind::Nothing,
        ..help_row()
    },
    Opt::ready(
        'D',
        "",
        "stay in the foreground",
        Action::Flag(|a| {
            a.foreground = true;
            a.standalone = true;
        }),
    )
    .long("foreground", Group::Running, ValueKind::Nothing)
    .more("Otherwise netserver leaves the terminal and returns once it listens."),
    Opt::ready(
        'f',
        "",
        "serve one client at a time without starting a process for each",
        Action::Flag(|a| {
            a.no_fork = true;
            a.standalone = true;
        }),
    )
    .long("no-fork", Group::Running, ValueKind::Nothing)
    .more("Preloaded network stacks whose sockets do not survive a new process need this."),
    Opt::ready(
        'L',
        "host,family",
        "listen only here",
        Action::Checked(|a, text, notices| {
            set_host(&mut a.listen, text, notices);
            a.standalone = true;
            Ok(())
        }),
    )
    .long("listen", Group::Listening, ValueKind::Host)
    .more(
        "A host, a family behind a comma, or both. Every address of both families \
         unless given. vsock:any or vsock:CID listens for virtual machines, or for their host.",
    ),
    Opt::ready(
        'p',
        "port",
        "listen on this port, 12865 unless given",
        Action::Value(|a, text| {
            a.port = Some(text.to_owned());
            a.standalone = true;
        }),
    )
    .long("port", Group::Listening, ValueKind::Port)
    .more(
        "A number or the name of a service. When none of -D, -f, -L and -p is given and \
         standard input is a socket, the one connection there is served, as inetd would \
         have it.",
    ),
    Opt::ready(
        '4',
        "",
        "listen on IPv4 only",
        Action::Flag(|a| a.listen.family = Some(Family::V4)),
    )
    .long("ipv4", Group::Listening, ValueKind::Nothing),
    Opt::ready(
        '6',
        "",
        "listen on IPv6 only",
        Action::Flag(|a| a.listen.family = Some(Family::V6)),
    )
    .long("ipv6", Group::Listening, ValueKind::Nothing),
    Opt::ready(
        'Z',
        "passphrase",
        "close connections that do not begin with this passphrase",
        Action::Value(|a, text| a.passphrase = Some(text.to_owned())),
    )
    .long("passphrase", Group::Access, ValueKind::Text)
    .more("The passphrase must be the first message, within 20 seconds."),
    access::KEY_FILE,
    access::REQUIRE,
    access::ALLOW,
    access::DENY,
    access::DATA_PEERS,
    access::ONE_PORT,
    access::MAX_SESSIONS,
    access::MAX_PEER_SESSIONS,
    access::MAX_TEST_TIME,
    access::MAX_SEND_RATE,
    access::IDLE_TIME,
    keepalive::NETSERVER,
    access::CONFIG,
    access::CHECK_CONFIG,
    Opt::without_letter(
        "method",
        "how CPU utilisation is measured unless the client asks otherwise",
        Action::Value(|a, text| a.cpu_method = CpuMethod::named(text)),
    )
    .long(
        "cpu-method",
        Group::Running,
        ValueKind::Word(&["procstat", "looper"]),
    )
    .more(
        "procstat, the usual one, takes the counters of the kernel; looper counts what a \
         loop of the lowest priority on each CPU gets round to.",
    ),
    Opt::without_letter(
        "name",
        "become this user once the port is open",
        Action::Value(|a, text| a.operations.user = Some(text.to_owned())),
    )
    .long("user", Group::Operations, ValueKind::Text)
    .more(
        "NAME or NAME:GROUP, each perhaps a number. For a netserver that is started as root, \
         as a low port takes it; no other group is kept, and no way back.",
    ),
    Opt::without_letter(
        "walls",
        "whether sessions are confined to what tests need",
        Action::Value(|a, text| {
            a.operations.sandbox = SandboxArg::named(text).unwrap_or_default();
        }),
    )
    .long(
        "sandbox",
        Group::Operations,
        ValueKind::Word(SandboxArg::WORDS),
    )
    .more(
        "auto, the usual one, uses what the kernel has of Landlock and seccomp; require does \
         not start where one is missing. -V tells which are there.",
    ),
    Opt::without_letter(
        "folder",
        "where clients may have files read from",
        Action::Value(|a, text| a.operations.files = Some(text.into())),
    )
    .long("files", Group::Operations, ValueKind::File)
    .more(
        "netperf -F may name a file whose contents netserver sends. Without this option none \
         is read. / allows every file, as the original does.",
    ),
    Opt::without_letter(
        "format",
        "log each session, as text or as JSON",
        Action::Value(|a, text| a.operations.log = LogFormat::named(text)),
    )
    .long("log", Group::Operations, ValueKind::Word(LogFormat::WORDS))
    .more(
        "One line for each session, on standard error unless --log-file says otherwise: who, \
         how many tests, the last one and its result, bytes, time, and how it ended.",
    ),
    Opt::without_letter(
        "file",
        "append the log to this file",
        Action::Value(|a, text| a.operations.log_file = Some(text.into())),
    )
    .long("log-file", Group::Operations, ValueKind::File)
    .more("SIGHUP opens it anew, for those who move it away."),
    Opt::without_letter(
        "level",
        "how much is logged",
        Action::Value(|a, text| a.operations.log_level = LogLevel::named(text)),
    )
    .long(
        "log-level",
        Group::Operations,
        ValueKind::Word(LogLevel::WORDS),
    )
    .more(
        "info, with a line for each session, where --log or --log-file is given; warn, with \
         what is unusual, otherwise. debug adds connections that asked for nothing.",
    ),
    Opt::without_letter(
        "address",
        "answer GET /metrics and GET /health over HTTP here",
        Action::Value(|a, text| a.operations.metrics = Some(text.to_owned())),
    )
    .long("metrics", Group::Operations, ValueKind::Text)
    .more(
        "An IP address and a port, 127.0.0.1:9465 or [::1]:9465; a port alone is one of \
         127.0.0.1. Whoever reaches it may read: keep it local. /metrics is for Prometheus.",
    ),
    Opt::without_letter(
        "address",
        "ask the netserver whose --metrics this is whether it is well, and exit",
        Action::Value(|a, text| a.operations.health = Some(text.to_owned())),
    )
    .long("health", Group::Operations, ValueKind::Text)
    .more(
        "Exit status 0 when it serves, 1 when it is ending, not there, or slower than 5 seconds.",
    ),
    Opt::without_letter(
        "time",
        "how long sessions may go on after SIGTERM, 30 seconds unless given",
        Action::Value(|a, text| a.operations.drain = seconds(text)),
    )
    .long("drain", Group::Operations, ValueKind::Span)
    .more(
        "SIGTERM closes the port and lets sessions finish; those that have not by then are \
         ended, as they all are by a second SIGTERM.",
    ),
    Opt::ready(
        'd',
        "",
        "write debug output, more for each time given",
        Action::Flag(|a| a.debug += 1),
    )
    .long("debug", Group::Running, ValueKind::Nothing),
    Opt::ready(
        'N',
        "",
        "never write debug output",
        Action::Flag(|a| {
            a.quiet = true;
            a.debug = 0;
        }),
    )
    .long("no-debug", Group::Running, ValueKind::Nothing),
    Opt::ready(
        'n',
        "count",
        "number of CPUs; accepted, the system tells",
        Action::Value(|_, _| {}),
    )
    .long("cpu-count", Group::Compatibility, ValueKind::Count),
    Opt::ready(
        'v',
        "level",
        "verbosity; accepted, no effect",
        Action::Value(|a, text| a.verbosity = int(text)),
    )
    .long("verbosity", Group::Compatibility, ValueKind::Integer),
    Opt::ready(
        'V',
        "",
        "show the version and exit",
        Action::Halt(Halt::Version),
    )
    .long("version", Group::About, ValueKind::Nothing),
];

/// The long form gives seconds, with a fraction.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}
