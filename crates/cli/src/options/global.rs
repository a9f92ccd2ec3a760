//! The options of netperf in front of `--`.

use std::time::Duration;

use netperf_model::{CpuMethod, Family, Limit, Unit};

use super::history;
use super::{
    PORTS, SIZES, flows, help_row, io, keepalive, port_name, quality, rate, series, set,
    set_both_ends, set_ends, set_families, set_host, set_pair, set_ways, show, until,
};
use crate::args::{CpuArg, Ends, GlobalArgs, InterimArg, IterationsArg, JsonArg};
use crate::command::{CliError, Notice};
use crate::grammar::{both_halves, cut, dscp, first_half, seconds, size, time};
use crate::group::Group;
use crate::kind::{Kind, Length, length};
use crate::places::{Places, places};
use crate::table::{Action, Halt, Row};

/// Characters that count of a passphrase: the room in its message.
const PASSPHRASE: usize = 647;
/// Longest name of a remote fill file: the room in the request.
const REMOTE_FILL: usize = 31;
/// Fewest and most iterations.
const ITERATIONS: (i32, i32) = (3, 30);

/// Fewest and most iterations, for the name.
const ITERATION_COUNTS: Kind = Kind::twice(&Kind::Within(3, 30));

/// A time, and how much work that is.
const INTERIM: Kind = Kind::Pair(&Kind::Interval, &Kind::Count);

type Opt = Row<GlobalArgs>;

/// Every option.
pub(crate) static TABLE: &[Row<GlobalArgs>] = &[
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
    .long("host", Group::Hosts, Kind::Host)
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
    .long("test", Group::Test, Kind::Test)
    .more("Names match in any case."),
    Opt::ready(
        'l',
        "length",
        "run this many seconds, or -length bytes or transactions",
        Action::Twofold(
            |a, text, notices| {
                a.length = Some(limit(size(text)));
                length_hint(text, notices);
            },
            |a, text| a.length = length(text).map(long_limit).or(a.length),
        ),
    )
    .long("time", Group::Test, Kind::Length)
    .more(
        "The name takes a time with units, such as 500ms, 10s or 1m30s; where only \
         netserver sends, it lasts whole seconds, rounded up. The letter takes a number in \
         the size grammar and ignores what it does not know: `10s` is 10 seconds and `1m` \
         a million of them. Either takes a minus and an amount: bytes for streams, \
         transactions for the rest. 0 runs until SIGINT or SIGALRM, which end every timed \
         test early and normally. 10 seconds unless given.",
    ),
    Opt::without_letter(
        "amount",
        "end after this many bytes or transactions",
        Action::Value(|a, text| {
            a.length = Some(limit(size(text).wrapping_neg()));
            a.count = true;
        }),
    )
    .long("count", Group::Test, Kind::Size)
    .more(
        "The same as --time with a minus in front of the amount. DG_STREAM and DLCL_STREAM are \
         ended by a time alone.",
    ),
    Opt::ready(
        'c',
        "[rate]",
        "measure CPU utilisation here",
        Action::NextIfNumber(|a, rate| cpu(&mut a.cpu, rate)),
    )
    .long("local-cpu", Group::Cpu, Kind::Number)
    .more(
        "A rate is accepted for old scripts and has no influence where the system \
         counts its idle time.",
    ),
    Opt::ready(
        'C',
        "[rate]",
        "measure CPU utilisation at netserver",
        Action::NextIfNumber(|a, rate| cpu(&mut a.remote_cpu, rate)),
    )
    .long("remote-cpu", Group::Cpu, Kind::Number)
    .more("As --local-cpu, at the other end."),
    Opt::without_letter(
        "method",
        "how CPU utilisation is measured, at both ends",
        Action::Value(|a, text| a.cpu_method = CpuMethod::named(text)),
    )
    .long(
        "cpu-method",
        Group::Cpu,
        Kind::Word(&["procstat", "looper"]),
    )
    .more(
        "procstat, the usual one, takes the counters of the kernel. looper runs a loop of \
         the lowest priority on each CPU and counts what is left to it, after a second of \
         calibration in which the machine should be idle, or with the rate that \
         --local-cpu or --remote-cpu give. It disturbs a netperf or netserver that shares \
         its machine with another one that does the same. A netserver of another make \
         has procstat only.",
    ),
    Opt::ready(
        'f',
        "letter",
        "unit of results: G M K B bytes, g m k b bits, x transactions, u microseconds",
        Action::Value(|a, text| {
            a.unit = Some(Unit::from_letter(text.chars().next().unwrap_or('\0')));
        }),
    )
    .long("unit", Group::Output, Kind::Unit)
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
    .long("headers", Group::Output, Kind::Switch)
    .more("0 leaves out the line that names the test and the titles."),
    Opt::ready(
        'v',
        "level",
        "verbosity: 0 one number, 1 normal, 2 more",
        Action::Value(|a, text| a.verbosity = Some(size(text))),
    )
    .long("verbosity", Group::Output, Kind::Integer)
    .more("0 prints the result alone, 1 the usual lines, 2 more of them."),
    Opt::ready(
        'B',
        "text",
        "tag the result with this text",
        Action::Value(|a, text| a.brand = Some(text.to_owned())),
    )
    .long("brand", Group::Output, Kind::Text),
    Opt::ready(
        'i',
        "max,min",
        "repeat the test until the confidence asked for is reached",
        Action::Value(iterations),
    )
    .long("iterations", Group::Statistics, ITERATION_COUNTS)
    .more(
        "Both are forced into 3 to 30, and max is at least min. Sets 99 % and 5 % where \
         --confidence is not given. One number alone is both. TCP_CC and the tests of Unix-domain \
         sockets and links are run once, as ever.",
    ),
    Opt::ready(
        'I',
        "level,width",
        "confidence level 95 or 99, and full width of the interval in percent",
        Action::Checked(|a, text, _| confidence(a, text)),
    )
    .long("confidence", Group::Statistics, Kind::Confidence)
    .more(
        "The test is repeated until the interval is narrow enough or the most \
         iterations are done. By letter a level without a comma is also the width; the \
         name insists on both, or on a comma.",
    ),
    Opt::ready(
        'r',
        "",
        "confidence in the result only, not in CPU utilisation",
        Action::Flag(|a| a.result_only = true),
    )
    .long("result-only", Group::Statistics, Kind::Nothing),
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
    .long("local-host", Group::Hosts, Kind::Host)
    .more("The address that control and data connections are made from."),
    Opt::ready(
        '4',
        "",
        "use IPv4 at both ends",
        Action::Flag(|a| set_families(&mut a.local, &mut a.remote, Family::V4)),
    )
    .long("ipv4", Group::Hosts, Kind::Nothing)
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
    .long("ipv6", Group::Hosts, Kind::Nothing)
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
    .long("no-control", Group::Hosts, Kind::Nothing)
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
    .long("passphrase", Group::Hosts, Kind::Text)
    .more(
        "Sent first on the control connection. A netserver that was started without one \
         ignores it.",
    ),
    Opt::without_letter(
        "file",
        "the key that netserver has",
        Action::Value(|a, text| a.key_file = Some(text.into())),
    )
    .long("key-file", Group::Hosts, Kind::File)
    .more(
        "A file that nobody else may read. Otherwise NETPERF_KEY_FILE or NETPERF_KEY in the \
         environment. Both ends prove that they have the key, and nobody reads what they say \
         over the control connection; data is as it always is. A netserver that has no key is \
         refused.",
    ),
    keepalive::NETPERF,
    Opt::ready(
        'T',
        "cpu,cpu",
        "run netperf, netserver on these CPUs",
        Action::Checked(|a, text, _| bind(a, text)),
    )
    .long("bind-cpu", Group::Cpu, Kind::CpusOfEnds)
    .more(
        "One number is for both ends; `0,` binds only netperf, `,1` only netserver. A \
         failure to bind is silent. Ranges and lists are for the threads of many flows, as \
         with --cpus and --remote-cpus: 0-3 for both ends, or a colon between the ends, as \
         in 0-3:4-7, 0,2: or :4-7.",
    ),
    Opt::ready(
        's',
        "seconds",
        "wait this long between set-up and traffic",
        Action::Value(|a, text| a.wait = Some(size(text))),
    )
    .long("wait", Group::Test, Kind::WholeSeconds)
    .more("Whole seconds. Only tests of the OMNI family wait."),
    Opt::ready(
        'S',
        "",
        "keep-alive on the data sockets",
        Action::Flag(|a| a.keepalive = true),
    )
    .long("keepalive", Group::Sockets, Kind::Nothing),
    Opt::ready(
        'y',
        "local,remote",
        "socket priority",
        Action::Value(|a, text| set_both_ends(&mut a.priority, text, size)),
    )
    .long("priority", Group::Sockets, Kind::twice(&Kind::Count))
    .more("One value is for both ends."),
    Opt::ready(
        'Y',
        "local,remote",
        "type of service: a name such as ef, cs1, af11, or a number",
        Action::Value(|a, text| set_both_ends(&mut a.tos, text, dscp)),
    )
    .long("tos", Group::Sockets, Kind::twice(&Kind::Tos))
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
    io::BUSY_POLL,
    io::TLS_CIPHER,
    io::QUICKACK,
    io::NOTSENT_LOWAT,
    io::DEVICE,
    io::MARK,
    io::FLOW_LABEL,
    io::REMOTE_PACING,
    Opt::ready(
        'a',
        "send,recv",
        "alignment of local buffers",
        Action::Value(|a, text| set_ways(&mut a.align, text)),
    )
    .long("align", Group::Buffers, SIZES)
    .more("A power of two; 8 unless given."),
    Opt::ready(
        'A',
        "send,recv",
        "alignment of remote buffers",
        Action::Value(|a, text| set_ways(&mut a.remote_align, text)),
    )
    .long("remote-align", Group::Buffers, SIZES),
    Opt::ready(
        'o',
        "send,recv",
        "offset of local buffers from their alignment",
        Action::Value(|a, text| set_ways(&mut a.offset, text)),
    )
    .long("offset", Group::Buffers, SIZES),
    Opt::ready(
        'O',
        "send,recv",
        "offset of remote buffers from their alignment",
        Action::Value(|a, text| set_ways(&mut a.remote_offset, text)),
    )
    .long("remote-offset", Group::Buffers, SIZES),
    Opt::ready(
        'W',
        "send,recv",
        "number of buffers to cycle through",
        Action::Value(|a, text| set_ways(&mut a.width, text)),
    )
    .long("ring", Group::Buffers, SIZES)
    .more("As many as fit into the socket buffer, and one more, unless given."),
    Opt::ready(
        'F',
        "local,remote",
        "fill buffers from these files",
        Action::Checked(|a, text, _| fill(a, text)),
    )
    .long("fill-file", Group::Buffers, Kind::twice(&Kind::File))
    .more("The second is a file at netserver's host; its name has at most 31 characters."),
    Opt::ready(
        'd',
        "",
        "print debug text, more for each time given",
        Action::Flag(|a| a.debug = a.debug.saturating_add(1)),
    )
    .long("debug", Group::About, Kind::Nothing)
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
    Opt::ready(
        'n',
        "count",
        "number of CPUs; accepted, the system tells",
        Action::Value(|_, _| {}),
    )
    .long("cpu-count", Group::Compatibility, Kind::Count),
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
    .long("json", Group::Output, Kind::Nothing)
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
    .long("json-stream", Group::Output, Kind::Nothing)
    .more(
        "The start, interim results, the end of each iteration, and last the document \
         of --json or an error.",
    ),
    Opt::without_letter(
        "",
        "list every test and transport, what it needs, and whether it can run",
        Action::Flag(|a| a.list = true),
    )
    .long("list", Group::About, Kind::Nothing)
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
    .long("latency", Group::Output, Kind::Nothing)
    .more(
        "Needed for latency selectors that come from a file; those in a list switch it \
         on.",
    ),
    Opt::ready(
        'k',
        "dirty,clean",
        "bytes of local buffers to write and to read around calls",
        Action::Value(|a, text| set_pair(&mut a.touch, text, size)),
    )
    .long("dirty", Group::Buffers, SIZES)
    .more("Around each send and receive, to have the data in or out of the cache."),
    Opt::ready(
        'K',
        "dirty,clean",
        "bytes of remote buffers to write and to read around calls",
        Action::Value(|a, text| set_pair(&mut a.remote_touch, text, size)),
    )
    .long("remote-dirty", Group::Buffers, SIZES)
    .more("Around each send and receive, to have the data in or out of the cache."),
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
    .long("pace-interval", Group::Pacing, Kind::twice(&Kind::Tick))
    .more("Without --pace it is shown (LOCAL_INTERVAL_USECS) and has no effect. One value is netperf's only."),
    Opt::ready(
        'V',
        "",
        "show the version and exit",
        Action::Halt(Halt::Version),
    )
    .long("version", Group::About, Kind::Nothing)
    .more("Prints the version of the netperf that this is compatible with."),
];

/// `-l`: seconds, or minus how much.
fn limit(length: i32) -> Limit {
    let amount = u64::from(length.unsigned_abs());
    match length.signum() {
        1 => Limit::Time(Duration::from_secs(amount)),
        -1 => Limit::Units(amount),
        _ => Limit::UntilStopped,
    }
}

/// Tells a person that `-l 1m` is no minute. Scripts have always had it so.
fn length_hint(text: &str, notices: &mut Vec<Notice>) {
    let read = limit(size(text));
    let meant = match length(text) {
        Some(Length::Time(time)) => long_limit(Length::Time(time)),
        Some(Length::Amount(_)) | None => return,
    };
    if let (Limit::Time(seconds), false) = (read, read == meant) {
        let seconds = seconds.as_secs();
        notices.push(Notice::hint(&format!(
            "-l {text} is {seconds} seconds; for a time with units use --time {text}"
        )));
    }
}

/// `--time`.
fn long_limit(length: Length) -> Limit {
    match length {
        Length::Time(Duration::ZERO) => Limit::UntilStopped,
        Length::Time(time) => Limit::Time(time),
        Length::Amount(amount) => Limit::Units(amount.into()),
    }
}

fn cpu(arg: &mut CpuArg, rate: Option<&str>) {
    arg.wanted = true;
    if let Some(rate) = rate {
        arg.rate = Some(seconds(rate));
    }
}

/// `-i max,min`: max is raised to min, and both are forced into their range.
fn iterations(args: &mut GlobalArgs, text: &str) {
    let (mut max, mut min) = match args.iterations {
        Some(earlier) => (i64::from(earlier.max), i64::from(earlier.min)),
        None => (1, 1),
    };
    let (first, second) = both_halves(text);
    if let Some(first) = first {
        max = size(first).into();
    }
    if let Some(second) = second {
        min = size(second).into();
    }
    let clamp = |count: i64| {
        let count = count.clamp(ITERATIONS.0.into(), ITERATIONS.1.into());
        u32::try_from(count).unwrap_or_default()
    };
    args.iterations = Some(IterationsArg {
        min: clamp(min),
        max: clamp(max.max(min)),
    });
    args.confidence.level.get_or_insert(99);
    args.confidence.width.get_or_insert(5.0);
}

/// `-T`: a CPU for each process, or lists of CPUs for the threads of many flows.
fn bind(args: &mut GlobalArgs, text: &str) -> Result<(), CliError> {
    match places(text) {
        Places::Processes => set_both_ends(args.bind.get_or_insert_default(), text, size),
        Places::Threads(Ends { local, remote }) => {
            let cpus = &mut args.flows.cpus;
            cpus.local = local.or(cpus.local.take());
            cpus.remote = remote.or(cpus.remote.take());
        }
        Places::Unclear => return Err(CliError::UnclearCpus(text.to_owned())),
    }
    Ok(())
}

/// `-I level,width`; a level alone is also the width.
fn confidence(args: &mut GlobalArgs, text: &str) -> Result<(), CliError> {
    let (level, width) = both_halves(text);
    if let Some(level) = level {
        args.confidence.level = u32::try_from(size(level)).ok();
    }
    if let Some(width) = width {
        args.confidence.width = Some(seconds(width));
    }
    match args.confidence.level {
        Some(95 | 99) => Ok(()),
        Some(_) | None => Err(CliError::ConfidenceLevel),
    }
}

fn fill(args: &mut GlobalArgs, text: &str) -> Result<(), CliError> {
    set_ends(&mut args.fill, text, str::to_owned);
    match &args.fill.remote {
        Some(name) if name.len() > REMOTE_FILL => Err(CliError::RemoteFillName),
        Some(_) | None => Ok(()),
    }
}

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
