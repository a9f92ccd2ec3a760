//! Words of other measuring programs, above all iperf: aliases of options, and hints.

pub mod form;

use netperf_model::TestId;

/// Long options that mean the same as one here, and its name.
const ALIASES: &[(&str, &str)] = &[
    ("parallel", "flows"),
    ("bitrate", "rate"),
    ("bandwidth", "rate"),
    ("client", "host"),
    ("interval", "interim"),
    ("omit", "warmup"),
    ("bidir", "bidirectional"),
];

/// The name of the option that `name` is an alias of.
pub fn alias(name: &str) -> Option<&'static str> {
    let (_, ours) = ALIASES.iter().find(|(theirs, _)| *theirs == name)?;
    Some(ours)
}

/// All aliases of an option.
pub fn aliases_of(ours: &str) -> impl Iterator<Item = &'static str> + use<'_> {
    let aliases = ALIASES.iter().filter(move |(_, name)| *name == ours);
    aliases.map(|(theirs, _)| *theirs)
}

/// Names of options in other programs, and the names of options here that resemble them.
pub const NAMES: &[(&str, &str)] = &[
    ("duration", "time"),
    ("length", "time"),
    ("length", "send-size"),
    ("len", "send-size"),
    ("num", "count"),
    ("dualtest", "bidirectional"),
    ("full-duplex", "bidirectional"),
    ("seconds", "time"),
    ("server", "host"),
    ("hostname", "host"),
    ("units", "unit"),
    ("format", "unit"),
    ("verbose", "verbosity"),
    ("mss", "segment-size"),
    ("window", "socket-buffer"),
    ("affinity", "bind-cpu"),
    ("zero-copy", "zerocopy"),
    ("gso", "segment-offload"),
    ("gro", "segment-offload"),
    ("set-mss", "segment-size"),
    ("daemon", "foreground"),
    ("password", "passphrase"),
    ("bytes", "count"),
    ("blockcount", "count"),
    ("file", "fill-file"),
    ("title", "brand"),
    ("version4", "ipv4"),
    ("version6", "ipv6"),
    ("cport", "data-port"),
    ("linux-congestion", "congestion"),
    ("streams", "flows"),
    ("connections", "flows"),
    ("packet-rate", "rate"),
    ("qps", "rate"),
    ("usage", "help"),
    ("runs", "iterations"),
    ("repeat", "iterations"),
    ("json-file", "json"),
    ("logfile", "json"),
    ("until-max", "time"),
];

/// Words for a kind of test, and its name.
const TESTS: &[(&str, TestId)] = &[
    ("throughput", TestId::TcpStream),
    ("bandwidth", TestId::TcpStream),
    ("upload", TestId::TcpStream),
    ("tcp", TestId::TcpStream),
    ("stream", TestId::TcpStream),
    ("download", TestId::TcpMaerts),
    ("reverse", TestId::TcpMaerts),
    ("maerts", TestId::TcpMaerts),
    ("latency", TestId::TcpRr),
    ("ping", TestId::TcpRr),
    ("rr", TestId::TcpRr),
    ("crr", TestId::TcpCrr),
    ("connections", TestId::TcpCrr),
    ("udp", TestId::UdpStream),
    ("loss", TestId::UdpStream),
    ("jitter", TestId::UdpStream),
    ("packets", TestId::UdpStream),
];

/// The name of the test that a word describes.
pub fn test(word: &str) -> Option<&'static str> {
    let found = TESTS
        .iter()
        .find(|(words, _)| words.eq_ignore_ascii_case(word))?;
    Some(found.1.row().name)
}

/// The remark about a number of iterations, where iperf has seconds between its lines.
pub fn interval(text: &str) -> String {
    format!("-i {text}: read as 3 iterations; did you mean --interval {text}?")
}

/// Algorithms of congestion control that `-C` of iperf names.
pub const CONGESTION: [&str; 5] = ["cubic", "reno", "bbr", "dctcp", "vegas"];

/// A hint for a letter that only iperf has, or has with another meaning.
pub const fn letter(letter: char) -> Option<&'static str> {
    Some(match letter {
        'u' => "--udp, or -t UDP_STREAM, sends datagrams",
        'R' => "--reverse, or -t TCP_MAERTS, lets netserver send",
        'J' => "--json prints the result as JSON",
        'M' => "--segment-size sets the segment size; of the receive, -M goes after --",
        'm' => "-m is an option of the test: give it after --, as in -- -m 64, or --send-size 64",
        'e' => "--human and --json print more than the classic output",
        '1' => "netserver ends at a signal, not after a test; netperf runs one test",
        'x' | 'X' => "--list lists the tests and transports, --help all the options",
        's' => "the server is another program, netserver; -s takes seconds to wait",
        'n' => "--count ends the test after an amount",
        _ => return None,
    })
}

/// The remark about a switch such as `-P` with a number, which iperf reads as that of streams.
pub fn streams(letter: char, number: i32) -> String {
    format!("-{letter} {number}: read as 1; did you mean --flows {number}?")
}
