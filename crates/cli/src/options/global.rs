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
use crate::table::{Action, Halt, OptionRow};

/// Longest passphrase that fits into its message, bytes.
const PASSPHRASE: usize = 647;

/// A time, and how much work that is.
const INTERIM: ValueKind = ValueKind::Pair(&ValueKind::Interval, &ValueKind::Count);

type Opt = OptionRow<GlobalArgs>;

/// Every option.
pub(crate) fn table() -> &'static [OptionRow<GlobalArgs>] {
    static TABLE: LazyLock<Vec<OptionRow<GlobalArgs>>> = LazyLock::new(|| {
        let first = FIRST.iter().copied().chain(settings::rows());
        first.chain(LAST.iter().copied()).collect()
    });
    &TABLE
}

/// Options in front of those of the sockets.
static FIRST: &[OptionRow<GlobalArgs>] = &[
    help_row(),
    Opt::ready(
        'H',
        "host,family",
        "where netserver is",
        Action::Checked(|a, text, notices| {
            set_host(&mut a.remote, text, notices);
            Ok(())
        }),
    )
    .long("host", Group::Hosts, ValueKind::Host)
    .more(
        "Used for the control connection and, unless --data-host says otherwise, for \
         the data. localhost unless given. The family is 4 or 6 (inet, inet6, unspec); \
         `,6` alone changes only the family. vsock:3 is the host or virtual machine with \
         context id 3.",
    ),
    Opt::ready(
        'p',
        "port,local",
        "netserver's control port, and the local end's",
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
        "Numbers or names of services. The first is where netserver listens, 12865 \
         unless given; the second is the port that the control connection comes from.",
    ),
    Opt::ready(
        't',
        "test",
        "the test to run, TCP_STREAM unless given",
        Action::Value(|a, text| a.test = Some(text.to_ascii_uppercase())),
    )
    .long("test", Group::Test, ValueKind::Test)
    .more("Names match in any case."),
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
        "G, M and K are powers of 1024 bytes, g, m and k powers of 1000 bits; b and B \
         are plain bits and bytes; x is transactions, u microseconds per transaction. m \
         unless given, x for tests with RR in their name.",
    ),
    Opt::ready(
        'P',
        "0|1",
        "print banner and titles or leave them out",
        Action::Value(|a, text| a.headers = Some(size(text))),
    )
    .long("headers", Group::Output, ValueKind::Switch)
    .more("0 leaves out the line that names the test and the titles."),
    Opt::ready(
        'v',
        "level",
        "verbosity: 0 one number, 1 normal, 2 more",
        Action::Value(|a, text| a.verbosity = Some(size(text))),
    )
    .long("verbosity", Group::Output, ValueKind::Integer)
    .more("0 prints the result alone, 1 the usual lines, 2 more of them."),
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
        "where connections come from",
        Action::Checked(|a, text, notices| {
            set_host(&mut a.local, text, notices);
            Ok(())
        }),
    )
    .long("local-host", Group::Hosts, ValueKind::Host)
    .more("The address that control and data connections are made from."),
    Opt::ready(
        '4',
        "",
        "use IPv4 at both ends",
        Action::Flag(|a| set_families(&mut a.local, &mut a.remote, Family::V4)),
    )
    .long("ipv4", Group::Hosts, ValueKind::Nothing)
    .more(
        "Control and data; a family behind --host or --local-host overrides it for its \
         side.",
    ),
    Opt::ready(
        '6',
        "",
        "use IPv6 at both ends",
        Action::Flag(|a| set_families(&mut a.local, &mut a.remote, Family::V6)),
    )
    .long("ipv6", Group::Hosts, ValueKind::Nothing)
    .more(
        "Control and data; a family behind --host or --local-host overrides it for its \
         side.",
    ),
    Opt::ready(
        'N',
        "",
        "work without netserver, against a standard service",
        Action::Flag(|a| a.no_control = true),
    )
    .long("no-control", Group::Hosts, ValueKind::Nothing)
    .more(
        "The data goes to the service discard, chargen or echo, or to the port behind \
         --data-port. Nothing is known of the far end then.",
    ),
    Opt::ready(
        'Z',
        "passphrase",
        "passphrase that netserver expects",
        Action::Value(|a, text| a.passphrase = Some(cut(text, PASSPHRASE).to_owned())),
    )
    .long("passphrase", Group::Hosts, ValueKind::Text)
    .more(
        "Sent first on the control connection. A netserver that was started without one \
         ignores it.",
    ),
    Opt::without_letter(
        "file",
        "the key that netserver has",
        Action::Value(|a, text| a.key_file = Some(text.into())),
    )
    .long("key-file", Group::Hosts, ValueKind::File)
    .more(
        "A file that nobody else may read. Otherwise NETPERF_KEY_FILE or NETPERF_KEY in the \
         environment. Both ends prove that they have the key, and nobody reads what they say \
         over the control connection; data is as it always is. A netserver that has no key is \
         refused.",
    ),
    keepalive::NETPERF,
    cpu::BIND,
    Opt::ready(
        's',
        "seconds",
        "wait this long between set-up and traffic",
        Action::Value(|a, text| a.wait = Some(size(text))),
    )
    .long("wait", Group::Test, ValueKind::WholeSeconds)
    .more("Whole seconds. Only tests of the OMNI family wait."),
    Opt::ready(
        'S',
        "",
        "keep-alive on the data sockets",
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
static LAST: &[OptionRow<GlobalArgs>] = &[
    buffers::ALIGN,
    buffers::REMOTE_ALIGN,
    buffers::OFFSET,
    buffers::REMOTE_OFFSET,
    buffers::RING,
    buffers::FILL,
    Opt::ready(
        'd',
        "",
        "print debug text, more for each time given",
        Action::Flag(|a| a.debug = a.debug.saturating_add(1)),
    )
    .long("debug", Group::About, ValueKind::Nothing)
    .more("On standard output. netserver has a switch of its own."),
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
        "At least one line in each interval, while the test runs. A negative interval \
         is accepted as its absolute value. The second value is a first guess of the \
         work in an interval and is not needed. Tests with names of their own for Unix-domain \
         sockets, SCTP, XTI and links print none, as ever; --json has them all the same.",
    ),
    series::SERIES,
    series::FLOWS,
    series::TIMESTAMPS,
    show::LIVE,
    show::PROGRESS,
    Opt::without_letter(
        "",
        "print everything that is known of the run as one JSON document",
        Action::Flag(|a| a.json = Some(JsonArg::Document)),
    )
    .long("json", Group::Output, ValueKind::Nothing)
    .more(
        "Standard output holds nothing else, and selections of values have no effect. A \
         run that fails prints a document too, with the reason in it. The manual has the \
         fields and the schema. Interim results and latency statistics are in it when \
         they are asked for.",
    ),
    history::KEEP,
    Opt::without_letter(
        "",
        "print one JSON event per line while the test runs",
        Action::Flag(|a| a.json = Some(JsonArg::Stream)),
    )
    .long("json-stream", Group::Output, ValueKind::Nothing)
    .more(
        "The start, interim results, the end of each iteration, and last the document \
         of --json or an error.",
    ),
    Opt::without_letter(
        "",
        "list every test and transport, what it needs, and whether it can run",
        Action::Flag(|a| a.list = true),
    )
    .long("list", Group::About, ValueKind::Nothing)
    .more(
        "On this host and, where --host or --port name a netserver, on that one. With \
         --json as a JSON document. No test is run.",
    ),
    Opt::ready(
        'j',
        "",
        "keep latency statistics",
        Action::Flag(|a| a.latency = true),
    )
    .long("latency", Group::Output, ValueKind::Nothing)
    .more(
        "Needed for latency selectors that come from a file; those in a list switch it \
         on.",
    ),
    buffers::DIRTY,
    buffers::REMOTE_DIRTY,
    Opt::ready(
        'b',
        "local,remote",
        "operations in each pacing interval",
        Action::Value(|a, text| set_ends(&mut a.pace_burst, text, size)),
    )
    .long("pace", Group::Pacing, SIZES)
    .more(
        "By optionspec: one value is netperf's only. Without --pace-interval the \
         interval is a millisecond.",
    ),
    Opt::ready(
        'w',
        "local,remote",
        "length of the pacing interval, ms unless m, u or s follows",
        Action::Value(|a, text| set_ends(&mut a.pace_interval, text, time)),
    )
    .long("pace-interval", Group::Pacing, ValueKind::twice(&ValueKind::Tick))
    .more("Without --pace it is shown (LOCAL_INTERVAL_USECS) and has no effect. One value is netperf's only."),
    Opt::ready(
        'V',
        "",
        "show the version and exit",
        Action::Halt(Halt::Version),
    )
    .long("version", Group::About, ValueKind::Nothing)
    .more("Prints the version of the netperf that this is compatible with."),
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
