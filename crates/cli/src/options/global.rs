//! The options of netperf in front of `--`.

use std::sync::LazyLock;

use netperf_model::{Family, Unit};

use super::history;
use super::{
    PORTS, SIZES, buffers, cpu, flows, help_row, io, keepalive, length, port_name, quality, rate,
    repeat, series, set, set_both_ends, set_ends, set_families, set_host, settings, show, until,
};
use crate::args::{GlobalArgs, InterimArg, JsonArg};
use crate::grammar::{cut, dscp, first_half, seconds, size, time};
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, Halt, OptionSpec};

/// Longest passphrase that fits into its message, bytes.
const PASSPHRASE: usize = 647;

/// A time, and how much work that is.
const INTERIM: ValueKind = ValueKind::Pair(&ValueKind::Interval, &ValueKind::Count);

type Opt = OptionSpec<GlobalArgs>;

/// Every option.
pub(crate) fn table() -> &'static [OptionSpec<GlobalArgs>] {
    static TABLE: LazyLock<Vec<OptionSpec<GlobalArgs>>> = LazyLock::new(|| {
        let first = FIRST.iter().copied().chain(settings::rows());
        first.chain(LAST.iter().copied()).collect()
    });
    &TABLE
}

/// Options in front of those of the sockets.
static FIRST: &[OptionSpec<GlobalArgs>] = &[
    help_row(),
    Opt::ready(
        'H',
        "host,family",
        "address of netserver",
        Action::Checked(|a, text, notices| {
            set_host(&mut a.remote, text, notices);
            Ok(())
        }),
    )
    .long("host", Group::Hosts, ValueKind::Host)
    .more(
        "Used for the control connection and, unless --data-host is given, for the data (default \
         localhost). The family is 4 or 6 (inet, inet6, unspec); `,6` alone changes only the \
         family. vsock:3 is the host or virtual machine with context id 3.",
    ),
    Opt::ready(
        'p',
        "port,local",
        "control port of netserver, and the local port",
        Action::Value(|a, text| {
            set(
                &mut a.port.remote,
                &mut a.port.local,
                first_half(text),
                port_name,
            );
        }),
    )
    .long("port", Group::Hosts, PORTS)
    .more(
        "Numbers or service names. The first is netserver's port (default 12865); the second is \
         the local port of the control connection.",
    ),
    Opt::ready(
        't',
        "test",
        "the test to run (default TCP_STREAM)",
        Action::Value(|a, text| a.test = Some(text.to_ascii_uppercase())),
    )
    .long("test", Group::Test, ValueKind::Test)
    .more("Names are not case sensitive."),
    length::TIME,
    length::COUNT,
    cpu::LOCAL,
    cpu::REMOTE,
    cpu::METHOD,
    Opt::ready(
        'f',
        "letter",
        "unit of results: G M K B bytes, g m k b bits, x transactions, u microseconds",
        Action::Value(|a, text| {
            a.unit = Some(Unit::from_letter(text.chars().next().unwrap_or('\0')));
        }),
    )
    .long("unit", Group::Output, ValueKind::Unit)
    .more(
        "G, M and K are powers of 1024 bytes, g, m and k powers of 1000 bits; b and B are plain \
         bits and bytes; x is transactions, u microseconds per transaction. The default is m, or \
         x for tests with RR in their name.",
    ),
    Opt::ready(
        'P',
        "0|1",
        "print banner and titles (1) or omit them (0)",
        Action::Value(|a, text| a.headers = Some(size(text))),
    )
    .long("headers", Group::Output, ValueKind::Switch)
    .more("0 omits the line that names the test, and the titles."),
    Opt::ready(
        'v',
        "level",
        "verbosity: 0 one number, 1 normal, 2 more",
        Action::Value(|a, text| a.verbosity = Some(size(text))),
    )
    .long("verbosity", Group::Output, ValueKind::Integer)
    .more("0 prints the result alone, 1 the normal output, 2 more."),
    Opt::ready(
        'B',
        "text",
        "tag the result with this text",
        Action::Value(|a, text| a.brand = Some(text.to_owned())),
    )
    .long("brand", Group::Output, ValueKind::Text),
    repeat::ITERATIONS,
    repeat::CONFIDENCE,
    repeat::RESULT_ONLY,
    until::UNTIL,
    until::LEVEL,
    Opt::ready(
        'L',
        "host,family",
        "local address of connections",
        Action::Checked(|a, text, notices| {
            set_host(&mut a.local, text, notices);
            Ok(())
        }),
    )
    .long("local-host", Group::Hosts, ValueKind::Host)
    .more("The source address of control and data connections."),
    Opt::ready(
        '4',
        "",
        "use IPv4 at both ends",
        Action::Flag(|a| set_families(&mut a.local, &mut a.remote, Family::V4)),
    )
    .long("ipv4", Group::Hosts, ValueKind::Nothing)
    .more("Control and data; a family after --host or --local-host takes precedence for its side."),
    Opt::ready(
        '6',
        "",
        "use IPv6 at both ends",
        Action::Flag(|a| set_families(&mut a.local, &mut a.remote, Family::V6)),
    )
    .long("ipv6", Group::Hosts, ValueKind::Nothing)
    .more("Control and data; a family after --host or --local-host takes precedence for its side."),
    Opt::ready(
        'N',
        "",
        "run against a standard service, without netserver",
        Action::Flag(|a| a.no_control = true),
    )
    .long("no-control", Group::Hosts, ValueKind::Nothing)
    .more(
        "The data goes to the service discard, chargen or echo, or to the port in --data-port. \
         Nothing is known about the remote end.",
    ),
    Opt::ready(
        'Z',
        "passphrase",
        "passphrase that netserver expects",
        Action::Value(|a, text| a.passphrase = Some(cut(text, PASSPHRASE).to_owned())),
    )
    .long("passphrase", Group::Hosts, ValueKind::Text)
    .more("Sent first on the control connection. A netserver without a passphrase ignores it."),
    Opt::without_letter(
        "file",
        "file with netserver's key",
        Action::Value(|a, text| a.key_file = Some(text.into())),
    )
    .long("key-file", Group::Hosts, ValueKind::File)
    .more(
        "The file must not be accessible to other users. Without it the key comes from \
         NETPERF_KEY_FILE or NETPERF_KEY in the environment. Both ends prove that they have the \
         key, and the control connection is encrypted; data is not. A netserver without a key is \
         refused.",
    ),
    keepalive::NETPERF,
    cpu::BIND,
    Opt::ready(
        's',
        "seconds",
        "wait this long between setup and traffic",
        Action::Value(|a, text| a.wait = Some(size(text))),
    )
    .long("wait", Group::Test, ValueKind::WholeSeconds)
    .more("Whole seconds. Only tests of the OMNI family wait."),
    Opt::ready(
        'S',
        "",
        "enable keepalive on the data sockets",
        Action::Flag(|a| a.keepalive = true),
    )
    .long("keepalive", Group::Sockets, ValueKind::Nothing),
    Opt::ready(
        'y',
        "local,remote",
        "socket priority",
        Action::Value(|a, text| set_both_ends(&mut a.priority, text, size)),
    )
    .long(
        "priority",
        Group::Sockets,
        ValueKind::twice(&ValueKind::Count),
    )
    .more("One value is for both ends."),
    Opt::ready(
        'Y',
        "local,remote",
        "type of service: a name such as ef, cs1, af11, or a number",
        Action::Value(|a, text| set_both_ends(&mut a.tos, text, dscp)),
    )
    .long("tos", Group::Sockets, ValueKind::twice(&ValueKind::Tos))
    .more(
        "Names: af11 to af43, cs0 to cs7, ef, lowdelay, throughput, reliability. \
         Numbers may be hexadecimal (0x10) or octal (020). One value is for both ends. \
         Zero is not applied.",
    ),
    io::DSCP,
    io::METHOD,
    io::ZEROCOPY,
    io::DISCARD,
    io::BATCH,
    io::SEGMENTS,
    io::SPLICE,
    io::TLS_CIPHER,
];

/// Options behind those of the sockets.
static LAST: &[OptionSpec<GlobalArgs>] = &[
    buffers::ALIGN,
    buffers::REMOTE_ALIGN,
    buffers::OFFSET,
    buffers::REMOTE_OFFSET,
    buffers::RING,
    buffers::FILL,
    Opt::ready(
        'd',
        "",
        "print debug text; repeat for more",
        Action::Flag(|a| a.debug = a.debug.saturating_add(1)),
    )
    .long("debug", Group::About, ValueKind::Nothing)
    .more("On standard output. netserver has a separate option."),
    quality::BIDIRECTIONAL,
    rate::RATE,
    rate::ARRIVAL,
    rate::SEED,
    quality::SEQUENCE,
    quality::ONE_PORT,
    flows::FLOWS,
    flows::THREADS,
    flows::WARMUP,
    flows::COOLDOWN,
    flows::CPUS,
    flows::REMOTE_CPUS,
    flows::PLACE,
    cpu::COUNT,
    Opt::ready(
        'D',
        "interval,units",
        "print interim results",
        Action::Value(interim),
    )
    .long("interim", Group::Output, INTERIM)
    .more(
        "At least one line per interval, while the test runs. A negative interval is accepted as \
         its absolute value. The second value is an initial guess of the work in an interval and \
         is not needed. The Unix-domain, SCTP, XTI and link-level tests print none, as in \
         netperf 2.7; --json contains them.",
    ),
    series::SERIES,
    series::FLOWS,
    series::TIMESTAMPS,
    show::LIVE,
    show::PROGRESS,
    Opt::without_letter(
        "",
        "print the whole result as one JSON document",
        Action::Flag(|a| a.json = Some(JsonArg::Document)),
    )
    .long("json", Group::Output, ValueKind::Nothing)
    .more(
        "Standard output then contains nothing else, and selections of values have no effect. A \
         failed run prints a document with the reason. The manual describes the fields and the \
         schema. Interim results and latency statistics are included only if they are requested.",
    ),
    history::KEEP,
    Opt::without_letter(
        "",
        "print one JSON event per line while the test runs",
        Action::Flag(|a| a.json = Some(JsonArg::Stream)),
    )
    .long("json-stream", Group::Output, ValueKind::Nothing)
    .more(
        "Events: start, interim results, the end of each iteration, and last the document of \
         --json or an error.",
    ),
    Opt::without_letter(
        "",
        "list tests and transports, their requirements, and whether they can run",
        Action::Flag(|a| a.list = true),
    )
    .long("list", Group::About, ValueKind::Nothing)
    .more(
        "On this host and, if --host or --port names a netserver, on that host. With --json as a \
         JSON document. No test is run.",
    ),
    Opt::ready(
        'j',
        "",
        "record latency statistics",
        Action::Flag(|a| a.latency = true),
    )
    .long("latency", Group::Output, ValueKind::Nothing)
    .more("Required for latency selectors in a file; those in a list enable it."),
    buffers::DIRTY,
    buffers::REMOTE_DIRTY,
    Opt::ready(
        'b',
        "local,remote",
        "operations in each pacing interval",
        Action::Value(|a, text| set_ends(&mut a.pace_burst, text, size)),
    )
    .long("pace", Group::Pacing, SIZES)
    .more("One value is for netperf only. Without --pace-interval the interval is a millisecond."),
    Opt::ready(
        'w',
        "local,remote",
        "length of the pacing interval, in ms unless m, u or s follows",
        Action::Value(|a, text| set_ends(&mut a.pace_interval, text, time)),
    )
    .long(
        "pace-interval",
        Group::Pacing,
        ValueKind::twice(&ValueKind::Tick),
    )
    .more(
        "Without --pace it is reported (LOCAL_INTERVAL_USECS) but has no effect. One value is \
         for netperf only.",
    ),
    Opt::ready(
        'V',
        "",
        "print the version and exit",
        Action::Halt(Halt::Version),
    )
    .long("version", Group::About, ValueKind::Nothing)
    .more("Prints the version of netperf with which this program is compatible."),
];

/// `-D seconds,units`; `-D ,units` keeps one second.
fn interim(args: &mut GlobalArgs, text: &str) {
    let arg = args.interim.get_or_insert(InterimArg {
        seconds: 1.0,
        units: None,
    });
    let (interval, units) = first_half(text);
    if let Some(interval) = interval {
        arg.seconds = seconds(interval);
    }
    if let Some(units) = units {
        arg.units = Some(size(units));
    }
}
