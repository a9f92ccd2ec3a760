//! The options of netserver.

use std::time::Duration;

use netperf_model::{CpuMethod, Family};

use super::{access, help_row, keepalive, set_host};
use crate::args::ServerArgs;
use crate::grammar::int;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::operations::{LogFormat, LogLevel, SandboxArg};
use crate::table::{Action, Halt, OptionSpec};

type Opt = OptionSpec<ServerArgs>;

/// Options that a file of settings has not: about the file, or about this one command.
#[cfg_attr(
    not(feature = "files"),
    expect(dead_code, reason = "files are not read")
)]
pub(crate) const NOT_IN_A_FILE: &[&str] = &["help", "version", "config", "check-config", "health"];

/// Every option.
pub(crate) static TABLE: &[OptionSpec<ServerArgs>] = &[
    OptionSpec {
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
    .more("Otherwise netserver goes to the background and returns when it listens."),
    Opt::ready(
        'f',
        "",
        "serve one client at a time, without a process for each",
        Action::Flag(|a| {
            a.no_fork = true;
            a.standalone = true;
        }),
    )
    .long("no-fork", Group::Running, ValueKind::Nothing)
    .more("Required for preloaded network stacks whose sockets do not survive a new process."),
    Opt::ready(
        'L',
        "host,family",
        "listen on this address only",
        Action::Checked(|a, text, notices| {
            set_host(&mut a.listen, text, notices);
            a.standalone = true;
            Ok(())
        }),
    )
    .long("listen", Group::Listening, ValueKind::Host)
    .more(
        "A host, a comma and an address family, or both. The default is every address of both \
         families. vsock:any or vsock:CID listens for virtual machines, or for their host.",
    ),
    Opt::ready(
        'p',
        "port",
        "listen on this port (default 12865)",
        Action::Value(|a, text| {
            a.port = Some(text.to_owned());
            a.standalone = true;
        }),
    )
    .long("port", Group::Listening, ValueKind::Port)
    .more(
        "A number or a service name. If none of -D, -f, -L and -p is given and standard input is \
         a socket, netserver serves that connection, as under inetd.",
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
        "method of measuring CPU utilisation, unless the client requests another",
        Action::Value(|a, text| a.cpu_method = CpuMethod::named(text)),
    )
    .long(
        "cpu-method",
        Group::Running,
        ValueKind::Word(&["procstat", "looper"]),
    )
    .more(
        "procstat (default) reads the counters of the kernel; looper counts with a loop of the \
         lowest priority on each CPU.",
    ),
    Opt::without_letter(
        "name",
        "change to this user after opening the port",
        Action::Value(|a, text| a.operations.user = Some(text.to_owned())),
    )
    .long("user", Group::Operations, ValueKind::Text)
    .more(
        "NAME or NAME:GROUP, as names or numbers. For a netserver started as root, for instance \
         for a low port. Supplementary groups are dropped; the change is irrevocable.",
    ),
    Opt::without_letter(
        "mode",
        "confine sessions to the needs of tests: auto, require or off",
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
        "auto (default) uses what the kernel supports of Landlock and seccomp; require does not \
         start if one is missing. -V shows what is supported.",
    ),
    Opt::without_letter(
        "folder",
        "folder from which clients can have files read",
        Action::Value(|a, text| a.operations.files = Some(text.into())),
    )
    .long("files", Group::Operations, ValueKind::File)
    .more(
        "netperf -F can name a file whose contents netserver sends. Without this option no file \
         is read. / allows every file, as netperf 2.7 does.",
    ),
    Opt::without_letter(
        "format",
        "log each session, as text or as JSON",
        Action::Value(|a, text| a.operations.log = LogFormat::named(text)),
    )
    .long("log", Group::Operations, ValueKind::Word(LogFormat::WORDS))
    .more(
        "One line per session, on standard error unless --log-file is given: client, number of \
         tests, the last test and its result, bytes, time, and the reason for the end.",
    ),
    Opt::without_letter(
        "file",
        "append the log to this file",
        Action::Value(|a, text| a.operations.log_file = Some(text.into())),
    )
    .long("log-file", Group::Operations, ValueKind::File)
    .more("SIGHUP reopens it, for log rotation."),
    Opt::without_letter(
        "level",
        "log level",
        Action::Value(|a, text| a.operations.log_level = LogLevel::named(text)),
    )
    .long(
        "log-level",
        Group::Operations,
        ValueKind::Word(LogLevel::WORDS),
    )
    .more(
        "info logs each session, and is the default with --log or --log-file; otherwise the \
         default is warn, unusual events only. debug adds connections that requested nothing.",
    ),
    Opt::without_letter(
        "address",
        "serve GET /metrics and GET /health over HTTP at this address",
        Action::Value(|a, text| a.operations.metrics = Some(text.to_owned())),
    )
    .long("metrics", Group::Operations, ValueKind::Text)
    .more(
        "An IP address and a port, 127.0.0.1:9465 or [::1]:9465; a port alone means 127.0.0.1. \
         There is no access control: keep it local. /metrics is in the Prometheus format.",
    ),
    Opt::without_letter(
        "address",
        "query /health at this --metrics address and exit",
        Action::Value(|a, text| a.operations.health = Some(text.to_owned())),
    )
    .long("health", Group::Operations, ValueKind::Text)
    .more(
        "Exit status 0 if netserver serves, 1 if it is stopping, unreachable, or takes more than \
         5 seconds.",
    ),
    Opt::without_letter(
        "time",
        "time for sessions to finish after SIGTERM (default 30 seconds)",
        Action::Value(|a, text| a.operations.drain = seconds(text)),
    )
    .long("drain", Group::Operations, ValueKind::Span)
    .more(
        "SIGTERM closes the port and lets sessions finish. Sessions that exceed the time are \
         ended; a second SIGTERM ends all of them.",
    ),
    Opt::ready(
        'd',
        "",
        "write debug output; repeat for more",
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
        "number of CPUs; accepted, no effect",
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
        "print the version and exit",
        Action::Halt(Halt::Version),
    )
    .long("version", Group::About, ValueKind::Nothing),
];

/// The long form gives seconds, with a fraction.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}
