//! Rows of the comparison, and the limit that each has to meet.

use super::peers::{Make, Side, Tool};

/// One comparison: ours, and what it is held against, run in turn.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) group: Group,
    pub(crate) ours: Side,
    pub(crate) theirs: Side,
    pub(crate) unit: Unit,
    /// The least median ratio; `None` where none is asked.
    pub(crate) least: Option<f64>,
    /// A figure of ours to show besides, and what it is called.
    pub(crate) besides: Option<(&'static str, &'static str)>,
    /// Client and server on a processor each, rather than where the scheduler likes.
    pub(crate) pinned: bool,
}

/// Rows that belong together, and can be asked for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Every default test against the original's.
    Parity,
    /// Message sizes of bulk tests against the original's; only when asked for.
    Sizes,
    /// Ours and the original's ends mixed; only when asked for.
    Mixed,
    /// Our ways to move bytes.
    Paths,
    /// Other programs.
    Peers,
    /// Many flows.
    Flows,
    /// The protocol of iperf3, spoken by our programs at one end or both.
    Iperf3,
}

impl Group {
    pub(crate) const ALL: [Self; 7] = [
        Self::Parity,
        Self::Sizes,
        Self::Paths,
        Self::Peers,
        Self::Flows,
        Self::Iperf3,
        Self::Mixed,
    ];

    /// True if its rows run only when the group or the whole name is asked for.
    pub(crate) const fn only_asked(self) -> bool {
        matches!(self, Self::Mixed | Self::Sizes)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Parity => "parity",
            Self::Sizes => "sizes",
            Self::Mixed => "mixed",
            Self::Paths => "paths",
            Self::Peers => "peers",
            Self::Flows => "flows",
            Self::Iperf3 => "iperf3",
        }
    }
}

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// 10^6 bits of payload per second, as received.
    Megabits,
    /// Transactions per second.
    Transactions,
}

impl Unit {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Megabits => "Mbit/s",
            Self::Transactions => "trans/s",
        }
    }
}

/// No test is slower than the original: what noise may take.
const PARITY: Option<f64> = Some(0.98);

/// Live output may cost a hundredth.
const LIVE: Option<f64> = Some(0.99);

/// The default tests, what they count, and whether they can be asked for a figure by name.
const TESTS: [(&str, Unit, bool); 8] = [
    ("TCP_STREAM", Unit::Megabits, true),
    ("TCP_MAERTS", Unit::Megabits, true),
    ("TCP_SENDFILE", Unit::Megabits, false),
    ("TCP_RR", Unit::Transactions, true),
    ("TCP_CRR", Unit::Transactions, true),
    ("TCP_CC", Unit::Transactions, false),
    ("UDP_STREAM", Unit::Megabits, true),
    ("UDP_RR", Unit::Transactions, true),
];

const SMALL: &[&str] = &["-m", "64"];
const FULL: &[&str] = &["-m", "1472"];
const MEDIUM: &[&str] = &["-m", "64K", "-M", "64K"];
const LARGE: &[&str] = &["-m", "128K", "-M", "128K"];
const CONNECTED: &[&str] = &["-n", "-N"];
const RR14: &[&str] = &["-r", "14"];
const NONE: &[&str] = &[];

/// Every row, in the order of the table.
pub(crate) fn all() -> Vec<Row> {
    let mut rows = parity();
    rows.extend(sizes());
    rows.extend(paths());
    rows.extend(peers());
    rows.extend(flows());
    rows.extend(iperf3());
    rows.extend(mixed());
    rows
}

fn parity() -> Vec<Row> {
    let row = |(test, unit, by_name): (&'static str, Unit, bool), words: &[&'static str]| {
        let side =
            |make| Side::netperf(make, make, &[&["-t", test], words].concat(), NONE, by_name);
        let histogram = if words.is_empty() { "" } else { "-histogram" };
        Row {
            name: format!("{}{histogram}", test.to_lowercase()),
            unit,
            least: PARITY,
            ..Row::new(Group::Parity, side(Make::Ours), side(Make::Stock))
        }
    };
    let both = |test| [row(test, NONE), row(test, &["-j"])];
    TESTS.into_iter().flat_map(both).collect()
}

/// Bytes of the messages that both ends of a bulk test move.
const SIZES: [u32; 13] = [
    1, 64, 100, 1024, 1472, 4096, 9000, 16_384, 32_768, 65_507, 131_072, 300_000, 1_048_576,
];

/// Largest payload of a UDP datagram over IPv4, bytes.
const LARGEST_DATAGRAM: u32 = 65_507;

/// Tests of sizes: name, test, other words, and whether the figure can be asked for by name.
const SIZED: [(&str, &str, &[&str], bool); 5] = [
    ("tcp_stream", "TCP_STREAM", NONE, true),
    ("tcp_maerts", "TCP_MAERTS", NONE, true),
    ("tcp_sendfile", "TCP_SENDFILE", NONE, false),
    ("udp_stream", "UDP_STREAM", NONE, true),
    ("udp_maerts", "OMNI", &["-T", "udp", "-d", "recv"], true),
];

fn sizes() -> Vec<Row> {
    let row = |(name, test, words, by_name): (&str, &'static str, &[&'static str], bool), size| {
        // Of both ends: a comma alone sets only one of them in the original.
        let both: &'static str = format!("{size},{size}").leak();
        let words = [["-m", both, "-M", both].as_slice(), words].concat();
        let side = |make| Side::netperf(make, make, &["-t", test], &words, by_name);
        Row {
            name: format!("{name}-{size}-bytes"),
            least: PARITY,
            ..Row::new(Group::Sizes, side(Make::Ours), side(Make::Stock))
        }
    };
    let fits = |name: &str, size| !name.starts_with("udp") || size <= LARGEST_DATAGRAM;
    SIZED
        .into_iter()
        .flat_map(|test| SIZES.map(|size| (test, size)))
        .filter(|(test, size)| fits(test.0, *size))
        .map(|(test, size)| row(test, size))
        .collect()
}

fn mixed() -> Vec<Row> {
    let row = |(test, unit, by_name): (&'static str, Unit, bool), client, server, name: &str| {
        let side = |client, server| Side::netperf(client, server, &["-t", test], NONE, by_name);
        Row {
            name: format!("{}-{name}", test.to_lowercase()),
            unit,
            least: PARITY,
            ..Row::new(
                Group::Mixed,
                side(client, server),
                side(Make::Stock, Make::Stock),
            )
        }
    };
    let both = |test| {
        [
            row(test, Make::Ours, Make::Stock, "to-stock"),
            row(test, Make::Stock, Make::Ours, "from-stock"),
        ]
    };
    TESTS.into_iter().flat_map(both).collect()
}

/// A way to move bytes: its name, the test, the message sizes, and what asks for it.
type Path = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    Make,
    Option<f64>,
);

#[rustfmt::skip]
const PATHS: [Path; 21] = [
    ("tcp_rr-poll", "TCP_RR", NONE, &["--io", "poll"], Make::Stock, Some(2.5)),
    ("tcp_rr-epoll", "TCP_RR", NONE, &["--io", "epoll"], Make::Stock, None),
    ("tcp_rr-uring", "TCP_RR", NONE, &["--io", "uring"], Make::Stock, None),
    ("tcp_rr-auto", "TCP_RR", NONE, &["--io", "auto"], Make::Stock, None),
    ("udp_rr-uring", "UDP_RR", NONE, &["--io", "uring"], Make::Stock, None),
    ("udp_rr-poll", "UDP_RR", NONE, &["--io", "poll"], Make::Stock, None),
    ("udp_rr-poll-connected", "UDP_RR", CONNECTED, &["--io", "poll"], Make::Stock, Some(3.5)),
    ("udp_stream-64-offload", "UDP_STREAM", SMALL, &["--segment-offload", "on"], Make::Stock, Some(20.0)),
    ("udp_stream-64-offload-discard", "UDP_STREAM", SMALL, &["--segment-offload", "on", "--discard"], Make::Stock, Some(20.0)),
    ("udp_stream-1472-offload", "UDP_STREAM", FULL, &["--segment-offload", "on"], Make::Stock, Some(8.0)),
    ("udp_stream-64-batch", "UDP_STREAM", SMALL, &["--batch", "32"], Make::Ours, PARITY),
    ("udp_stream-1472-batch", "UDP_STREAM", FULL, &["--batch", "32"], Make::Ours, PARITY),
    ("tcp_stream-discard", "TCP_STREAM", MEDIUM, &["--discard"], Make::Stock, Some(2.0)),
    ("tcp_stream-splice", "TCP_STREAM", LARGE, &["--splice"], Make::Stock, None),
    ("tcp_stream-zerocopy", "TCP_STREAM", LARGE, &["--zerocopy"], Make::Stock, None),
    ("tcp_stream-series", "TCP_STREAM", LARGE, &["--series", "100ms"], Make::Ours, None),
    ("tcp_rr-series", "TCP_RR", NONE, &["--series", "100ms"], Make::Ours, None),
    ("tcp_rr-stamps", "TCP_RR", NONE, &["--timestamps", "software"], Make::Ours, None),
    ("udp_rr-stamps", "UDP_RR", NONE, &["--timestamps", "software"], Make::Ours, None),
    ("tcp_rr-live", "TCP_RR", NONE, &["--live"], Make::Ours, LIVE),
    ("tcp_stream-live", "TCP_STREAM", NONE, &["--live"], Make::Ours, LIVE),
];

fn paths() -> Vec<Row> {
    let row = |(name, test, sizes, path, against, least): Path| {
        let words = ["-t", test];
        let ours = Side::netperf(
            Make::Ours,
            Make::Ours,
            &[&words, path].concat(),
            sizes,
            true,
        );
        let zerocopy = path.contains(&"--zerocopy");
        Row {
            name: name.to_owned(),
            unit: if test.ends_with("RR") {
                Unit::Transactions
            } else {
                Unit::Megabits
            },
            least,
            besides: zerocopy.then_some(("LOCAL_ZEROCOPY_SHARE", "share without a copy, %")),
            ..Row::new(
                Group::Paths,
                ours,
                Side::netperf(against, against, &words, sizes, true),
            )
        }
    };
    PATHS.into_iter().map(row).collect()
}

/// Ours against other programs, with messages of the same size.
fn peers() -> Vec<Row> {
    let row = |name: &str, test, sizes: &[&'static str], theirs, unit| Row {
        name: name.to_owned(),
        unit,
        ..Row::new(
            Group::Peers,
            Side::netperf(Make::Ours, Make::Ours, &["-t", test], sizes, true),
            theirs,
        )
    };
    let stock = |test, sizes| Side::netperf(Make::Stock, Make::Stock, &["-t", test], sizes, true);
    let peer = |tool, udp, size| Side::peer(tool, udp, size, 1);
    let (tcp, udp, megabits) = ("TCP_STREAM", "UDP_STREAM", Unit::Megabits);
    let (iperf3, iperf, sockperf) = (Tool::Iperf3, Tool::Iperf, Tool::Sockperf);
    vec![
        row(
            "tcp_stream-iperf3",
            tcp,
            LARGE,
            peer(iperf3, false, 131_072),
            megabits,
        ),
        row(
            "tcp_stream-iperf",
            tcp,
            LARGE,
            peer(iperf, false, 131_072),
            megabits,
        ),
        row("tcp_stream-128k", tcp, LARGE, stock(tcp, LARGE), megabits),
        row(
            "udp_stream-64-iperf3",
            udp,
            SMALL,
            peer(iperf3, true, 64),
            megabits,
        ),
        row(
            "udp_stream-64-iperf",
            udp,
            SMALL,
            peer(iperf, true, 64),
            megabits,
        ),
        row("udp_stream-64", udp, SMALL, stock(udp, SMALL), megabits),
        row(
            "tcp_rr-sockperf",
            "TCP_RR",
            RR14,
            peer(sockperf, false, 14),
            Unit::Transactions,
        ),
        row(
            "udp_rr-sockperf",
            "UDP_RR",
            RR14,
            peer(sockperf, true, 14),
            Unit::Transactions,
        ),
    ]
}

/// Number of flows and of threads.
const CROWD: u32 = 16;

fn flows() -> Vec<Row> {
    let ours =
        |words: &[&'static str], sizes| Side::netperf(Make::Ours, Make::Ours, words, sizes, true);
    let crowd = ["--flows", "16", "--threads", "2"];
    let stream = [&["-t", "TCP_STREAM"], crowd.as_slice()].concat();
    let row = |name: &str, ours, theirs, unit, least| Row {
        name: name.to_owned(),
        unit,
        least,
        pinned: false,
        ..Row::new(Group::Flows, ours, theirs)
    };
    let many = |tool| Side::peer(tool, false, 131_072, CROWD);
    vec![
        row(
            "flows-16-processes",
            ours(&[&["-t", "TCP_RR"], crowd.as_slice()].concat(), NONE),
            Side::Crowd(
                CROWD,
                Box::new(Side::netperf(
                    Make::Stock,
                    Make::Stock,
                    &["-t", "TCP_RR"],
                    NONE,
                    true,
                )),
            ),
            Unit::Transactions,
            Some(1.1),
        ),
        Row {
            pinned: true,
            ..row(
                "flows-1-plain",
                ours(&["-t", "TCP_RR", "--flows", "1"], NONE),
                ours(&["-t", "TCP_RR"], NONE),
                Unit::Transactions,
                Some(0.97),
            )
        },
        row(
            "flows-16-iperf3",
            ours(&stream, LARGE),
            many(Tool::Iperf3),
            Unit::Megabits,
            None,
        ),
        row(
            "flows-16-iperf",
            ours(&stream, LARGE),
            many(Tool::Iperf),
            Unit::Megabits,
            None,
        ),
    ]
}

/// Name; UDP or TCP; bytes of a message; streams; our ends; the least ratio to iperf3's own ends.
type Iperf3Row = (&'static str, bool, u32, u32, (Make, Make), Option<f64>);

const BOTH: (Make, Make) = (Make::Ours, Make::Ours);
const CLIENT: (Make, Make) = (Make::Ours, Make::Stock);
const SERVER: (Make, Make) = (Make::Stock, Make::Ours);

#[rustfmt::skip]
const IPERF3: [Iperf3Row; 9] = [
    ("iperf3_tcp-1", false, 131_072, 1, BOTH, Some(1.0)),
    ("iperf3_tcp-8", false, 131_072, 8, BOTH, Some(1.0)),
    ("iperf3_udp-1460", true, 1460, 1, BOTH, Some(3.0)),
    ("iperf3_tcp-1-to-stock", false, 131_072, 1, CLIENT, PARITY),
    ("iperf3_tcp-8-to-stock", false, 131_072, 8, CLIENT, PARITY),
    ("iperf3_udp-1460-to-stock", true, 1460, 1, CLIENT, PARITY),
    ("iperf3_tcp-1-from-stock", false, 131_072, 1, SERVER, PARITY),
    ("iperf3_tcp-8-from-stock", false, 131_072, 8, SERVER, PARITY),
    ("iperf3_udp-1460-from-stock", true, 1460, 1, SERVER, PARITY),
];

/// Our ends of the protocol of iperf3 against iperf3's, and against our own protocol.
fn iperf3() -> Vec<Row> {
    let side = |(client, server), udp, size, flows| Side::Peer {
        tool: Tool::Iperf3,
        client,
        server,
        udp,
        size,
        flows,
    };
    let against_iperf3 = |(name, udp, size, flows, ends, least): Iperf3Row| Row {
        name: name.to_owned(),
        least,
        ..Row::new(
            Group::Iperf3,
            side(ends, udp, size, flows),
            Side::peer(Tool::Iperf3, udp, size, flows),
        )
    };
    let against_netperf = |name: &str, flows, words: &[&'static str]| Row {
        name: name.to_owned(),
        least: Some(0.97),
        ..Row::new(
            Group::Iperf3,
            side(BOTH, false, 131_072, flows),
            Side::netperf(Make::Ours, Make::Ours, words, LARGE, true),
        )
    };
    let mut rows: Vec<Row> = IPERF3.into_iter().map(against_iperf3).collect();
    rows.push(against_netperf(
        "iperf3_tcp-1-netperf",
        1,
        &["-t", "TCP_STREAM"],
    ));
    rows.push(against_netperf(
        "iperf3_tcp-8-netperf",
        8,
        &["-t", "TCP_STREAM", "--flows", "8"],
    ));
    rows
}

impl Row {
    fn new(group: Group, ours: Side, theirs: Side) -> Self {
        Self {
            name: String::new(),
            group,
            ours,
            theirs,
            unit: Unit::Megabits,
            least: None,
            besides: None,
            pinned: true,
        }
    }

    /// True if a word on the command line selects the row: its group, its name, or the beginning of
    /// the name up to a dash. Some groups accept no beginning.
    pub(crate) fn is_meant(&self, word: &str) -> bool {
        let rest = self.name.strip_prefix(word);
        let begins = rest.is_some_and(|rest| rest.starts_with('-'));
        self.group.name() == word || rest == Some("") || (begins && !self.group.only_asked())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_name_of_its_own_and_words_mean_what_they_begin() {
        let mut names: Vec<String> = all().into_iter().map(|row| row.name).collect();
        let rows = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), rows);
        let meant = |word: &str| all().into_iter().filter(|row| row.is_meant(word)).count();
        assert_eq!(meant("parity"), 16);
        assert_eq!(meant("tcp_cc"), 2);
        assert_eq!(meant("tcp_cc-to-stock"), 1);
        assert_eq!(meant("tcp"), 0);
        assert_eq!(
            (meant("tcp_maerts-1472-bytes"), meant("tcp_maerts")),
            (1, 2)
        );
        assert_eq!(meant("sizes"), 3 * 13 + 2 * 10);
    }
}
