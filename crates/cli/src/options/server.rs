//! The options of netserver.

use netperf_model::{CpuMethod, Family};

use super::{access, help_row, set_host, span};
use crate::args::ServerArgs;
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
    help_row().takes("", ValueKind::Nothing),
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
        .help("listen on this address only")
        .more(
            "A host, a comma and an address family, or both. The default is every address of both \
             families. vsock:any or vsock:CID listens for virtual machines, or for their host.",
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
    Opt::lettered('4', "ipv4", Group::Listening)
        .flag(|a| a.listen.family = Some(Family::V4))
        .help("listen on IPv4 only"),
    Opt::lettered('6', "ipv6", Group::Listening)
        .flag(|a| a.listen.family = Some(Family::V6))
        .help("listen on IPv6 only"),
    Opt::lettered('Z', "passphrase", Group::Access)
        .takes("passphrase", ValueKind::Text)
        .set(|a, text| a.passphrase = Some(text.to_owned()))
        .help("close connections that do not begin with this passphrase")
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
    Opt::named("control-keepalive", Group::Access)
        .takes("time", ValueKind::Span)
        .set(|a, text| a.control_keepalive = span(text))
        .help("probe an idle control connection at this interval (default 15 s)")
        .more(
            "A session ends if its client's host has shown no sign of life for nearly three \
             intervals. Whole seconds; 0 disables probes.",
        ),
    access::CONFIG,
    access::CHECK_CONFIG,
    Opt::named("cpu-method", Group::Running)
        .takes("method", ValueKind::Word(&["procstat", "looper"]))
        .set(|a, text| a.cpu_method = CpuMethod::named(text))
        .help("method of measuring CPU utilisation, unless the client requests another")
        .more(
            "procstat (default) reads the counters of the kernel; looper counts with a loop of the \
             lowest priority on each CPU.",
        ),
    Opt::named("user", Group::Operations)
        .takes("name", ValueKind::Text)
        .set(|a, text| a.operations.user = Some(text.to_owned()))
        .help("change to this user after opening the port")
        .more(
            "NAME or NAME:GROUP, as names or numbers. For a netserver started as root, for \
             instance for a low port. Supplementary groups are dropped; the change is irrevocable.",
        ),
    Opt::named("sandbox", Group::Operations)
        .takes("mode", ValueKind::Word(SandboxArg::WORDS))
        .set(|a, text| {
            a.operations.sandbox = SandboxArg::named(text).unwrap_or_default();
        })
        .help("confine sessions to the needs of tests: auto, require or off")
        .more(
            "auto (default) uses what the kernel supports of Landlock and seccomp; require does \
             not start if one is missing. -V shows what is supported.",
        ),
    Opt::named("files", Group::Operations)
        .takes("folder", ValueKind::File)
        .set(|a, text| a.operations.files = Some(text.into()))
        .help("folder from which clients can have files read")
        .more(
            "netperf -F can name a file whose contents netserver sends. Without this option no \
             file is read. / allows every file, as netperf 2.7 does.",
        ),
    Opt::named("log", Group::Operations)
        .takes("format", ValueKind::Word(LogFormat::WORDS))
        .set(|a, text| a.operations.log = LogFormat::named(text))
        .help("log each session, as text or as JSON")
        .more(
            "One line per session, on standard error unless --log-file is given: client, number of \
             tests, the last test and its result, bytes, time, and the reason for the end.",
        ),
    Opt::named("log-file", Group::Operations)
        .takes("file", ValueKind::File)
        .set(|a, text| a.operations.log_file = Some(text.into()))
        .help("append the log to this file")
        .more("SIGHUP reopens it, for log rotation."),
    Opt::named("log-level", Group::Operations)
        .takes("level", ValueKind::Word(LogLevel::WORDS))
        .set(|a, text| a.operations.log_level = LogLevel::named(text))
        .help("log level")
        .more(
            "info logs each session, and is the default with --log or --log-file; otherwise the \
             default is warn, unusual events only. debug adds connections that requested nothing.",
        ),
    Opt::named("metrics", Group::Operations)
        .takes("address", ValueKind::Text)
        .set(|a, text| a.operations.metrics = Some(text.to_owned()))
        .help("serve GET /metrics and GET /health over HTTP at this address")
        .more(
            "An IP address and a port, 127.0.0.1:9465 or [::1]:9465; a port alone means 127.0.0.1. \
             There is no access control: keep it local. /metrics is in the Prometheus format.",
        ),
    Opt::named("health", Group::Operations)
        .takes("address", ValueKind::Text)
        .set(|a, text| a.operations.health = Some(text.to_owned()))
        .help("query /health at this --metrics address and exit")
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
        .help("write debug output; repeat for more"),
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
        .action(Action::Halt(Halt::Version))
        .help("print the version and exit"),
];
