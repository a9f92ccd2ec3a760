//! The options of netperf in front of `--`.

use std::sync::LazyLock;

use netperf_arguments::args::{GlobalArgs, HumanArg, JsonArg, OnePortArg, Progress};
use netperf_arguments::grammar::{cut, first_half, rate, seconds, size, time};
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::table::{Action, OptionSpec};
use netperf_model::{
    Arrival, Duplex, Family, IperfShape, PeerProgram, SeriesPlan, Stamper, ThroughputUnit,
};

use super::{
    PORTS, SIZES, buffers, cpu, flows, help_row, io, length, port_name, repeat, set, set_both_ends,
    set_ends, set_families, set_host, settings, span, until,
};

/// Longest passphrase that fits into its message, bytes.
const PASSPHRASE: usize = 647;

/// A time, and how much work that is.
const INTERIM: ValueKind = ValueKind::Pair(&ValueKind::Interval, &ValueKind::Size);

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
    Opt::lettered('H', "host", Group::Hosts)
        .takes("host,family", ValueKind::RemoteHost)
        .noted(|a, text, notices| set_host(&mut a.remote, text, notices))
        .help("address of netserver")
        .more(
            "Used for the control connection and, unless --data-host is given, for the data \
             (default localhost). The family is 4 or 6 (inet, inet6, unspec); `,6` alone changes \
             only the family. vsock:3 is the host or virtual machine with context id 3.",
        ),
    Opt::lettered('p', "port", Group::Hosts)
        .takes("port,local", PORTS)
        .set(|a, text| {
            set(
                &mut a.port.remote,
                &mut a.port.local,
                first_half(text),
                port_name,
            );
        })
        .help("control port of netserver, and the local port")
        .more(
            "Numbers or service names. The first is netserver's port (default 12865); the second \
             is the local port of the control connection.",
        ),
    Opt::lettered('t', "test", Group::Test)
        .takes("test", ValueKind::Test)
        .set(|a, text| a.test = Some(text.to_ascii_uppercase()))
        .help("the test to run (default TCP_STREAM)")
        .more("Names are not case sensitive."),
    Opt::named("udp", Group::Test)
        .flag(|a| a.udp = true)
        .help("use UDP: TCP_STREAM becomes UDP_STREAM, TCP_RR UDP_RR")
        .more("The data goes over UDP, as with the option of iperf of this name."),
    Opt::named("reverse", Group::Test)
        .flag(|a| a.reverse = true)
        .help("let netserver send: TCP_STREAM becomes TCP_MAERTS")
        .more(
            "UDP_STREAM becomes OMNI with -- -T udp -d recv. As with the option of iperf of this \
             name.",
        ),
    length::TIME,
    length::COUNT,
    cpu::LOCAL,
    cpu::REMOTE,
    cpu::METHOD,
    Opt::lettered('f', "unit", Group::Output)
        .takes("letter", ValueKind::Unit)
        .set(|a, text| {
            a.unit = Some(ThroughputUnit::from_letter(text.chars().next().unwrap_or('\0')));
        })
        .help("unit of results: G M K B bytes, g m k b bits, x transactions, u microseconds")
        .more(
            "G, M and K are powers of 1024 bytes, g, m and k powers of 1000 bits; B is bytes, and \
             so is b, whose label is 10^0bits as in netperf 2.7; x is transactions, u \
             microseconds per byte. The default is m, or x for tests with RR in their name. A test \
             without transactions has no x: -f warns and uses m, --unit fails with status 3. JSON \
             always has the default.",
        ),
    Opt::lettered('P', "headers", Group::Output)
        .takes("0|1", ValueKind::Switch)
        .set(|a, text| a.headers = Some(size(text)))
        .help("print banner and titles (1) or omit them (0)")
        .more("0 omits the line that names the test, and the titles."),
    Opt::lettered('v', "verbosity", Group::Output)
        .takes("level", ValueKind::Integer)
        .set(|a, text| a.verbosity = Some(size(text)))
        .help("verbosity: 0 one number, 1 normal, 2 more")
        .more("0 prints the result alone, 1 the normal output, 2 more."),
    Opt::lettered('B', "brand", Group::Output)
        .takes("text", ValueKind::FreeText)
        .set(|a, text| a.brand = Some(text.to_owned()))
        .help("tag the result with this text"),
    repeat::ITERATIONS,
    repeat::CONFIDENCE,
    repeat::RESULT_ONLY,
    until::UNTIL,
    until::LEVEL,
    Opt::lettered('L', "local-host", Group::Hosts)
        .takes("host,family", ValueKind::Host)
        .noted(|a, text, notices| set_host(&mut a.local, text, notices))
        .help("local address of connections")
        .more("The source address of control and data connections."),
    Opt::lettered('4', "ipv4", Group::Hosts)
        .flag(|a| set_families(&mut a.local, &mut a.remote, Family::V4))
        .help("use IPv4 at client and server")
        .more(
            "Control and data; a family after --host or --local-host takes precedence for that \
             address.",
        ),
    Opt::lettered('6', "ipv6", Group::Hosts)
        .flag(|a| set_families(&mut a.local, &mut a.remote, Family::V6))
        .help("use IPv6 at client and server")
        .more(
            "Control and data; a family after --host or --local-host takes precedence for that \
             address.",
        ),
    Opt::lettered('N', "no-control", Group::Hosts)
        .flag(|a| a.no_control = true)
        .help("run against a standard service, without netserver")
        .more(
            "The data goes to the service discard, chargen or echo, or to the port in --data-port. \
             The settings and counts of the server are unknown.",
        ),
    Opt::named("iperf2", Group::Hosts)
        .flag(|a| set_peer(a, PeerProgram::Iperf2))
        .help("run against a server of iperf 2")
        .more(
            "Streams over TCP or UDP to `iperf -s` or `netserver --iperf2`, at port 5001 unless -p \
             is given. Options that a server of iperf 2 does not support are refused. Without \
             --rate, each flow of datagrams has the rate of iperf, 1048576 bit/s. The program \
             called as `iperf` takes the options of iperf 2 instead.",
        ),
    Opt::named("iperf3", Group::Hosts)
        .flag(|a| set_peer(a, PeerProgram::Iperf3))
        .help("run against a server of iperf3")
        .more(
            "Streams over TCP or UDP to `iperf3 -s` or `netserver --iperf3`, at port 5201 unless \
             -p is given. Options that a server of iperf3 does not support are refused. Without \
             --rate, each flow of datagrams has the rate of iperf3, 1048576 bit/s. The program \
             called as `iperf3` takes the options of iperf3 instead.",
        ),
    Opt::named("output", Group::Output)
        .takes("shape", ValueKind::Word(IperfShape::WORDS))
        .set(|a, text| a.output = IperfShape::named(text))
        .help("print the result in the form of iperf3 or iperf 2")
        .more(
            "iperf3, iperf3-json (as -J), iperf2 or iperf2-csv (as -y C), with --iperf3 or --iperf2. \
             The result is stored with --history as usual. The test runs once.",
        ),
    Opt::lettered('Z', "passphrase", Group::Hosts)
        .takes("passphrase", ValueKind::Text)
        .set(|a, text| a.passphrase = Some(cut(text, PASSPHRASE).into()))
        .help("passphrase that netserver expects")
        .more("Sent first on the control connection. A netserver without a passphrase ignores it."),
    Opt::named("key-file", Group::Hosts)
        .takes("file", ValueKind::File)
        .set(|a, text| a.key_file = Some(text.into()))
        .help("file with netserver's key")
        .more(
            "The file must not be accessible to other users. Without it the key comes from \
             NETPERF_KEY_FILE or NETPERF_KEY in the environment. netperf and netserver prove that \
             they have the key, and the control connection is encrypted; data is not. A netserver \
             without a key is refused.",
        ),
    Opt::named("control-keepalive", Group::Hosts)
        .takes("time", ValueKind::Span)
        .set(|a, text| a.control_keepalive = span(text))
        .help("probe an idle control connection at this interval (default 15 s)")
        .more(
            "The control connection is otherwise idle during a test. The TCP keepalive probes keep \
             the connection in the tables of a NAT, and end a run if netserver's host does not \
             respond for nearly three intervals. Whole seconds; 0 disables probes.",
        ),
    cpu::BIND,
    Opt::lettered('s', "wait", Group::Test)
        .takes("seconds", ValueKind::WholeSeconds)
        .set(|a, text| a.wait = Some(size(text)))
        .help("wait this long between setup and traffic")
        .more("Whole seconds, in every test."),
    Opt::lettered('S', "keepalive", Group::Sockets)
        .flag(|a| a.keepalive = true)
        .help("enable keepalive on the data sockets"),
    Opt::lettered('y', "priority", Group::Sockets)
        .takes("local,remote", ValueKind::twice(&ValueKind::Count))
        .set(|a, text| set_both_ends(&mut a.priority, text, size))
        .help("socket priority")
        .more("One value is for client and server."),
    io::DSCP,
    io::TOS,
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
    Opt::lettered('d', "debug", Group::About)
        .flag(|a| a.debug = a.debug.saturating_add(1))
        .help("print debug text; repeat for more")
        .more("On standard output. netserver has a separate option."),
    Opt::named("bidirectional", Group::Test)
        .takes("same|separate", ValueKind::Word(Duplex::WORDS))
        .implies("separate", "[same|separate]")
        .set(|a, text| a.bidirectional = Duplex::named(text))
        .help("send bulk data in both directions at once: over the same connection, or over a separate one for each")
        .more(
            "For stream tests of either direction. same: both directions share one connection, or \
             one socket on each host, with a thread for each direction; needs this project's \
             netserver. separate: each direction has a separate connection, and any netserver \
             works. The throughput is the sum of both receivers' rates; REMOTE_RECV_THROUGHPUT and \
             LOCAL_RECV_THROUGHPUT show each direction. With --flows each flow carries both \
             directions, served by the threads of --threads. Each direction has the same data path \
             as in a test of that direction alone (--zerocopy, --batch and others). Over TCP, \
             Multipath TCP, UDP, UDP-Lite, Unix-domain streams and vsock.",
        ),
    Opt::named("rate", Group::Pacing)
        .takes("number", ValueKind::Rate)
        .set(|a, text| a.rate.rate = rate(text))
        .help("send at this rate: requests per second, or bits per second")
        .more(
            "A number, optionally with a fraction, and k, M or G for 10^3, 10^6 or 10^9, in either \
             case. In request/response tests it counts requests: they are sent when they are due, \
             independent of earlier responses, and the latency counts from the due time. In \
             one-way tests it counts bits (50m, 50Mbit and 50Mbps are the same), or, with the \
             suffix pps, messages of transports that preserve them (20kpps): the sender spaces \
             them evenly. Many flows (--flows) share the rate; tests that open a connection for \
             each transaction need --flows. netperf warns if it could not keep the rate.",
        ),
    Opt::named("arrival", Group::Pacing)
        .takes("pattern", ValueKind::Word(Arrival::WORDS))
        .implies("poisson", "[pattern]")
        .set(|a, text| a.rate.arrival = Arrival::named(text))
        .help("distribution of requests at a rate: constant or poisson")
        .more(
            "constant has equal intervals, poisson exponentially distributed ones, as for requests \
             from many clients.",
        ),
    Opt::named("seed", Group::Pacing)
        .takes("number", ValueKind::Seed)
        .set(|a, text| a.rate.seed = text.parse().ok())
        .help("seed of the random times of --arrival poisson")
        .more(
            "The same number gives the same times. RATE_SEED and JSON show the seed that was used.",
        ),
    Opt::named("sequence", Group::Test)
        .flag(|a| a.io.sequence = true)
        .help("number datagrams to detect loss, duplicates and reordering")
        .more(
            "In stream tests over UDP, UDP-Lite, DCCP and Unix-domain datagrams. Each datagram \
             begins with 24 bytes that contain its number and the time of the send. The receiver \
             counts lost, duplicated and late datagrams and computes the jitter: see UDP_LOST, \
             UDP_DUPLICATED, UDP_REORDERED, UDP_JITTER_USEC and further selectors, --json, and -v \
             2. Needs this project's netserver. With --human, --json and --history it is the default \
             over UDP and UDP-Lite at a rate, where it is possible.",
        ),
    Opt::named("one-port", Group::Hosts)
        .takes("[when]", ValueKind::Word(OnePortArg::WORDS))
        .action(Action::NextUnlessDash(|a, text| {
            a.io.one_port = Some(text.and_then(OnePortArg::named).unwrap_or_default());
            None
        }))
        .help("send data to the port of the control connection: on (default) or auto")
        .more(
            "auto uses it only if data does not arrive over a separate port in a trial, which \
             takes up to 15 seconds if a firewall drops packets; a line on standard error then \
             gives the reason. For networks in which only this port is reachable, such as behind a \
             firewall, NAT or a Kubernetes service. Over TCP, TLS and UDP. netperf opens all \
             connections, also for data from netserver, and each begins with 32 bytes that \
             identify the test. Needs this project's netserver.",
        ),
    flows::FLOWS,
    flows::THREADS,
    flows::BEGIN_AT,
    flows::WARMUP,
    flows::COOLDOWN,
    flows::CPUS,
    flows::REMOTE_CPUS,
    flows::PLACE,
    cpu::COUNT,
    Opt::lettered('D', "interim", Group::Output)
        .takes("interval,units", INTERIM)
        .implies("1", "[interval,units]")
        .set(interim)
        .help("print interim results")
        .more(
            "At least one line per interval, while the test runs. A negative interval is accepted \
             as its absolute value. The second value has no effect. The Unix-domain, SCTP, XTI and \
             link-level tests print none, as in netperf 2.7; --json contains them.",
        ),
    Opt::named("series", Group::Output)
        .takes("local,remote", ValueKind::twice(&ValueKind::Period))
        .implies("100ms", "[local,remote]")
        .set(|a, text| {
            set_both_ends(&mut a.series.every, text, |text| {
                span(text).unwrap_or_default()
            })
        })
        .help("record the TCP state of connections at this interval")
        .more(
            "Round trip, congestion window, retransmissions, pacing and delivery rate and more \
             (TCP_INFO), from the beginning to the end of the connection, by a separate thread. \
             JSON contains all samples, `netperf report` draws them, and selectors such as \
             LOCAL_TCP_RTT_MAX summarise them. One value is for client and server, 0 for neither: \
             `--series 100ms,0` excludes netserver, which otherwise must be this project's. From \
             1ms to 1h; beyond 16384 samples every second one is dropped.",
        ),
    Opt::named("series-flows", Group::Output)
        .takes("number", ValueKind::Within(1, SeriesPlan::MOST_FLOWS))
        .set(|a, text| a.series.flows = text.parse().ok())
        .help("with many flows, record this many")
        .more(
            "The default is 8. Client and server record the same connections: those with the \
             smallest netperf ports.",
        ),
    Opt::named("timestamps", Group::Output)
        .takes("clock", ValueKind::Word(Stamper::WORDS))
        .implies("software", "[clock]")
        .set(|a, text| a.series.stamps = Stamper::named(text))
        .help("split transaction times into stack and wire by timestamps: software or hardware")
        .more(
            "In TCP_RR and UDP_RR with one transaction at a time. The kernels of both hosts \
             timestamp sent and received packets (SO_TIMESTAMPING); the offset of their clocks is \
             estimated from the fastest round trips, and shown with its error. --json, -v 2 and \
             selectors such as WIRE_THERE_USEC show the parts. Needs this project's netserver. \
             With --rate, UDP_RR has the times of each request and response in --json. With \
             hardware the network devices make the timestamps, if they can (ethtool -T): netperf \
             enables them on the local device for the run; on netserver's device they must be \
             enabled beforehand.",
        ),
    Opt::named("live", Group::Output)
        .flag(|a| a.show.live = true)
        .help("show the test on the whole terminal while it runs")
        .more(
            "Shows rate, latency (with --latency), retransmissions, local CPU utilisation, the \
             remaining time and each of many flows, as numbers and over time. Drawn on standard \
             error, or on standard output if only that is a terminal; afterwards the terminal is \
             restored and the result printed. q or Ctrl-C ends the test early, with its result. \
             NO_COLOR disables colours.",
        ),
    Opt::named("progress", Group::Output)
        .takes("when", ValueKind::Word(Progress::WORDS))
        .implies("always", "[when]")
        .set(|a, text| a.show.progress = Progress::named(text).unwrap_or_default())
        .help("show a progress line on the terminal: auto, never or always")
        .more(
            "On standard error, erased after the test. auto (default) shows it if standard input \
             and error are a terminal and no lines are printed there during the test. always shows it whenever standard error is a terminal.",
        ),
    Opt::named("json", Group::Output)
        .flag(|a| a.json = Some(JsonArg::Document))
        .help("print the whole result as one JSON document")
        .more(
            "Standard output then contains nothing else, and the selections of -k, -o and -O have \
             no effect. A failed run prints a document with the reason. The manual describes the \
             fields and the schema. The run also measures the CPU utilisation of both hosts, the \
             latency of requests, and intervals of a second; --latency adds the times of sends and \
             receives.",
        ),
    Opt::named("human", Group::Output)
        .flag(|a| a.human = HumanArg::Yes)
        .help("print a summary for people instead of the tables of netperf 2.7")
        .more(
            "Throughput or rate with its interval and time series, retransmitted segments, \
             latency, loss, CPU utilisation of both hosts and warnings, in 80 columns. It records \
             latency, CPU utilisation and interim results as far as the test has them. \
             NETPERF_OUTPUT=human in the environment does the same unless -D, -P, -v, -d, -k, -o, \
             -O, --json or --json-stream is given.",
        ),
    Opt::named("history", Group::Output)
.takes("[place]", ValueKind::Text)
.action(Action::NextUnlessDash(|a, word| {
    a.history = Some(word.unwrap_or_default().to_owned());
    None
}))
.help("store the result in a history after the run")
.more(
    "Equivalent to `netperf history add` with the document of --json, for every output format. \
         The value is a file, or postgres://user@host/database; without it the default location is \
         used. netperf reports a history that cannot be opened before the run; a failed run is not \
         stored.",
),
    Opt::named("json-stream", Group::Output)
        .flag(|a| a.json = Some(JsonArg::Stream))
        .help("print one JSON event per line while the test runs")
        .more(
            "Events: start, interim results, the end of each iteration, and last the document of \
             --json or an error.",
        ),
    Opt::named("list", Group::About)
        .flag(|a| a.list = true)
        .help("list tests and transports, their requirements, and whether they can run")
        .more(
            "On this host and, if --host or --port names a netserver, on that host. With --json as \
             a JSON document. No test is run. `-t help` does the same.",
        ),
    Opt::lettered('j', "latency", Group::Output)
        .flag(|a| a.latency = true)
        .help("record latency statistics")
        .more(
            "A list of selectors that contains latency enables it; a file of selectors does not.",
        ),
    buffers::DIRTY,
    buffers::REMOTE_DIRTY,
    Opt::lettered('b', "pace", Group::Pacing)
        .takes("local,remote", SIZES)
        .set(|a, text| set_ends(&mut a.pace_burst, text, size))
        .help("operations in each pacing interval")
        .more(
            "One value is for netperf only. Without --pace-interval the interval is a millisecond.",
        ),
    Opt::lettered('w', "pace-interval", Group::Pacing)
        .takes("local,remote", ValueKind::twice(&ValueKind::Tick))
        .set(|a, text| set_ends(&mut a.pace_interval, text, time))
        .help("length of the pacing interval, in ms unless m, u or s follows")
        .more(
            "Without --pace it is reported (LOCAL_INTERVAL_USECS) but has no effect. One value is \
             for netperf only.",
        ),
    Opt::lettered('V', "version", Group::About)
        .action(Action::Version)
        .help("print the version and exit")
        .more(
            "The version of netperf with which this program is compatible, alone for the letter. \
             The name adds the version of this program, its commit and its features.",
        ),
];

/// A server that is not netserver has no control connection of netperf.
fn set_peer(args: &mut GlobalArgs, peer: PeerProgram) {
    args.peer = Some(peer);
    args.no_control = true;
}

/// `-D seconds,units`; `-D ,units` keeps one second. The units have no effect.
fn interim(args: &mut GlobalArgs, text: &str) {
    let interval = args.interim.get_or_insert(1.0);
    if let (Some(typed), _) = first_half(text) {
        *interval = seconds(typed);
    }
}
