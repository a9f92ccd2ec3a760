//! Words of other measuring programs, above all iperf: aliases of options, and hints.

use netperf_model::TestId;

use crate::args::{Args, GlobalArgs};
use crate::command::CliError;
use crate::grammar::direction;

/// Long options that mean the same as one here: its name, and its value where it can stand without
/// one.
const ALIASES: &[(&str, &str, Option<&str>)] = &[
    ("parallel", "flows", None),
    ("bitrate", "rate", None),
    ("bandwidth", "rate", None),
    ("client", "host", None),
    ("interval", "interim", None),
    ("omit", "warmup", None),
    ("bidir", "bidirectional", Some("separate")),
];

/// The name of the option that `name` is an alias of, and the value that it implies.
pub(crate) fn alias(name: &str) -> Option<(&'static str, Option<&'static str>)> {
    let (_, ours, value) = ALIASES.iter().find(|(theirs, _, _)| *theirs == name)?;
    Some((ours, *value))
}

/// All aliases of an option.
pub(crate) fn aliases_of(ours: &str) -> impl Iterator<Item = &'static str> + use<'_> {
    let of = ALIASES.iter().filter(move |(_, name, _)| *name == ours);
    of.map(|(theirs, _, _)| *theirs)
}

/// Names of options in other programs, and the names of options here that resemble them.
pub(crate) const NAMES: &[(&str, &str)] = &[
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
pub(crate) fn test(word: &str) -> Option<&'static str> {
    let found = TESTS
        .iter()
        .find(|(words, _)| words.eq_ignore_ascii_case(word))?;
    Some(found.1.row().name)
}

/// The remark about a number of iterations, where iperf has seconds between its lines.
pub(crate) fn interval(text: &str) -> String {
    format!("-i {text}: read as 3 iterations; did you mean --interval {text}?")
}

/// Algorithms of congestion control that `-C` of iperf names.
pub(crate) const CONGESTION: [&str; 5] = ["cubic", "reno", "bbr", "dctcp", "vegas"];

/// A hint for a letter that only iperf has, or has with another meaning.
pub(crate) const fn letter(letter: char) -> Option<&'static str> {
    Some(match letter {
        'u' => "--udp, or -t UDP_STREAM, sends datagrams",
        'R' => "--reverse, or -t TCP_MAERTS, lets netserver send",
        'J' => "--json prints the result as JSON",
        'M' => "--segment-size sets the segment size; of the receive, -M stands behind --",
        'm' => "-m is an option of the test: behind --, as in -- -m 64, or --send-size 64",
        'e' => "--human and --json print more than the classic output",
        '1' => "netserver ends at a signal, not after a test; netperf runs one test",
        'x' | 'X' => "--list lists the tests and transports, --help all the options",
        's' => "the server is another program, netserver; -s takes seconds to wait",
        'n' => "--count ends the test after an amount",
        _ => return None,
    })
}

/// The remark about a switch such as `-P` with a number, which iperf reads as that of streams.
pub(crate) fn streams(letter: char, number: i32) -> String {
    format!("-{letter} {number}: read as 1; did you mean --flows {number}?")
}

/// The form of a test that `--udp` and `--reverse` ask for.
pub(crate) fn form_of(test: TestId, global: &GlobalArgs) -> TestId {
    const UDP: &[(TestId, TestId)] = &[
        (TestId::TcpStream, TestId::UdpStream),
        (TestId::TcpRr, TestId::UdpRr),
    ];
    const REVERSE: &[(TestId, TestId)] = &[
        (TestId::TcpStream, TestId::TcpMaerts),
        (TestId::SdpStream, TestId::SdpMaerts),
        (TestId::UdpStream, TestId::Omni),
    ];
    let form = |test, asked, forms: &[(TestId, TestId)]| {
        let other = forms.iter().find(|(of, _)| asked && *of == test);
        other.map_or(test, |(_, form)| *form)
    };
    form(form(test, global.udp, UDP), global.reverse, REVERSE)
}

/// Completes the form of a test, or rejects an option that the test has no form for.
pub(crate) fn complete(args: &mut Args, named: Option<TestId>) -> Result<(), CliError> {
    let Some(named) = named else { return Ok(()) };
    let (udp, reverse) = (args.global.udp, args.global.reverse);
    let over_udp = matches!(
        form_of(named, &args.global),
        TestId::UdpStream | TestId::UdpRr
    );
    let datagrams_back = named != TestId::Omni && form_of(named, &args.global) == TestId::Omni;
    if udp && !over_udp && !datagrams_back {
        return Err(CliError::OutOfPlace {
            option: "--udp",
            why: "only TCP_STREAM and TCP_RR have a form for UDP: choose another test, or OMNI \
                  with -- -T udp",
        });
    }
    let sends_back = matches!(
        form_of(named, &args.global),
        TestId::TcpMaerts | TestId::SdpMaerts
    );
    if reverse && !sends_back && !datagrams_back {
        return Err(CliError::OutOfPlace {
            option: "--reverse",
            why: "only TCP_STREAM, UDP_STREAM and SDP_STREAM have another direction: leave it out",
        });
    }
    if datagrams_back {
        args.test.transport.protocol = Some("udp".to_owned());
        args.test.direction = Some(direction("recv"));
    }
    Ok(())
}
