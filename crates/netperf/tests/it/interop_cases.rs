//! The runs of the interop tests, as data, and how each is judged.

use std::path::PathBuf;

use netperf_testkit::peers::Make;
use netperf_testkit::{Finished, Invocation, Place, Programs, Values, procfs};

/// Selectors of every omni-engine run.
const SELECTION: &str = "DIRECTION,PROTOCOL,ELAPSED_TIME,THROUGHPUT,TRANSACTION_RATE,\
    LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD,LOCAL_BYTES_RECVD,REMOTE_BYTES_SENT,\
    LOCAL_SEND_CALLS,REMOTE_RECV_CALLS,LOCAL_RECV_CALLS,REMOTE_SEND_CALLS,\
    LOCAL_SEND_SIZE,REMOTE_SEND_SIZE,REQUEST_SIZE,RESPONSE_SIZE";

/// Bytes that a stock client may leave unread in the buffers of a download it ends.
const IN_FLIGHT: i64 = 32 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pairing {
    OursOurs,
    OursStock,
    StockOurs,
}

/// Length of the runs of a configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Amounts, and times where a test knows none.
    Landing,
    /// A second.
    Night,
}

/// Condition on the counts of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The client sends on a connection.
    Upload,
    /// The server sends on a connection.
    Download,
    /// Requests and responses, so many more in flight.
    Exchange { burst: i64 },
    /// Connections without data.
    Connections,
    /// The client sends datagrams.
    Datagrams,
    /// The server sends datagrams.
    DatagramsBack,
    /// Classic table only: its seventh line ends in a rate.
    Row,
    /// One line that begins with a number greater than zero.
    Number,
    /// One identifier.
    Uuid,
}

/// Length of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// A second.
    Timed,
    /// A third of a second, for a client that has `--time`.
    Brief,
    /// Bytes, or transactions.
    Counted(i64),
}

impl Length {
    fn words(self) -> [String; 2] {
        match self {
            Self::Timed => ["-l".to_owned(), "1".to_owned()],
            Self::Brief => ["--time".to_owned(), "300ms".to_owned()],
            Self::Counted(units) => ["-l".to_owned(), format!("-{units}")],
        }
    }

    /// Seconds, of a length that is a time.
    fn seconds(self) -> Option<f64> {
        match self {
            Self::Timed => Some(1.0),
            Self::Brief => Some(0.3),
            Self::Counted(_) => None,
        }
    }
}

/// One run.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    test: &'static str,
    kind: Kind,
    length: Length,
    global: &'static [&'static str],
    specific: &'static [&'static str],
}

impl Case {
    pub(crate) fn name(&self) -> String {
        let length = self.length.words().join(" ");
        let (global, specific) = (self.global.join(" "), self.specific.join(" "));
        format!("{} {length} {global} -- {specific}", self.test)
    }

    fn is_udp(&self) -> bool {
        self.test.starts_with("UDP") || self.specific.contains(&"udp")
    }

    /// The case with an amount that says as much as a second does. `None` if it has to take a
    /// second: the original knows no amounts of datagrams, waits for a lost one forever if it
    /// counts transactions, and may be reset for the requests of a burst that it does not count.
    fn with_an_amount(mut self) -> Option<Self> {
        if self.is_udp() {
            return None;
        }
        let connects = self.test.starts_with("TCP_C") || self.specific.contains(&"-c");
        let units = match self.kind {
            Kind::Exchange { burst: 1.. } | Kind::Datagrams | Kind::DatagramsBack => return None,
            Kind::Exchange { .. } | Kind::Connections | Kind::Row if connects => 50,
            Kind::Exchange { .. } => 200,
            Kind::Upload | Kind::Download | Kind::Row => 1 << 20,
            Kind::Number | Kind::Uuid | Kind::Connections => return Some(self),
        };
        if self.length == Length::Timed {
            self.length = Length::Counted(units);
        }
        Some(self)
    }

    /// A third of a second for what floods a path with datagrams. Others get an answer in a second,
    /// also on a busy machine.
    fn brief(mut self) -> Self {
        if self.length == Length::Timed && self.kind == Kind::Datagrams {
            self.length = Length::Brief;
        }
        self
    }

    fn is_as(&self, other: &Self) -> bool {
        (self.test, self.global, self.specific) == (other.test, other.global, other.specific)
    }

    fn only_receives(&self) -> bool {
        self.test == "TCP_MAERTS" || self.specific.contains(&"recv")
    }

    fn selects(&self) -> bool {
        !matches!(self.kind, Kind::Row | Kind::Number | Kind::Uuid)
    }
}

const fn timed(test: &'static str, kind: Kind, specific: &'static [&'static str]) -> Case {
    Case {
        test,
        kind,
        length: Length::Timed,
        global: &[],
        specific,
    }
}

const fn cpu(test: &'static str, kind: Kind) -> Case {
    Case {
        test,
        kind,
        length: Length::Timed,
        global: &["-c", "-C"],
        specific: &[],
    }
}

const fn counted(
    test: &'static str,
    kind: Kind,
    units: i64,
    specific: &'static [&'static str],
) -> Case {
    Case {
        test,
        kind,
        length: Length::Counted(units),
        global: &[],
        specific,
    }
}

const SINGLE: Kind = Kind::Exchange { burst: 0 };

/// Longest first, so that the end is not one case alone.
const CASES: &[Case] = &[
    timed("TCP_CRR", SINGLE, &[]),
    timed("TCP_CC", Kind::Row, &[]),
    timed("OMNI", Kind::Connections, &["-c"]),
    timed("OMNI", SINGLE, &["-d", "rr", "-c", "-T", "tcp"]),
    cpu("TCP_CRR", SINGLE),
    cpu("TCP_CC", Kind::Row),
    timed("TCP_STREAM", Kind::Upload, &[]),
    timed(
        "TCP_STREAM",
        Kind::Upload,
        &["-m", "1000", "-s", "64K", "-S", "64K"],
    ),
    cpu("TCP_STREAM", Kind::Upload),
    timed("TCP_MAERTS", Kind::Download, &[]),
    timed("TCP_MAERTS", Kind::Download, &["-m", ",4K", "-D"]),
    cpu("TCP_MAERTS", Kind::Download),
    timed("TCP_SENDFILE", Kind::Row, &[]),
    cpu("TCP_SENDFILE", Kind::Row),
    timed("TCP_RR", SINGLE, &[]),
    timed("TCP_RR", SINGLE, &["-r", "100,20000"]),
    timed("TCP_RR", Kind::Exchange { burst: 8 }, &["-b", "8", "-D"]),
    cpu("TCP_RR", SINGLE),
    timed("UDP_RR", SINGLE, &[]),
    timed("UDP_RR", SINGLE, &["-r", "1000,64"]),
    timed("UDP_RR", Kind::Exchange { burst: 4 }, &["-b", "4"]),
    cpu("UDP_RR", SINGLE),
    timed("UDP_STREAM", Kind::Datagrams, &[]),
    timed("UDP_STREAM", Kind::Datagrams, &["-m", "1024", "-R", "1"]),
    cpu("UDP_STREAM", Kind::Datagrams),
    timed("OMNI", Kind::Upload, &["-d", "send"]),
    timed("OMNI", Kind::Download, &["-d", "recv", "-T", "tcp"]),
    timed("OMNI", SINGLE, &["-d", "rr"]),
    timed(
        "OMNI",
        Kind::Datagrams,
        &["-T", "udp", "-d", "send", "-m", "1400"],
    ),
    timed("OMNI", SINGLE, &["-T", "udp", "-d", "rr"]),
    // The server sends to the address the client says it is at.
    timed(
        "OMNI",
        Kind::DatagramsBack,
        &["-T", "udp", "-d", "recv", "-m", ",1400", "-L", "@"],
    ),
    counted("TCP_STREAM", Kind::Upload, 1 << 20, &[]),
    counted("TCP_STREAM", Kind::Upload, 1 << 20, &["-m", "1K"]),
    counted("TCP_MAERTS", Kind::Download, 1 << 20, &[]),
    counted("TCP_SENDFILE", Kind::Row, 1 << 20, &[]),
    counted("TCP_RR", SINGLE, 1000, &[]),
    counted("TCP_RR", SINGLE, 1000, &["-r", "3000,1"]),
    counted("TCP_CRR", SINGLE, 200, &[]),
    counted("TCP_CC", Kind::Row, 200, &[]),
    counted("UDP_RR", SINGLE, 1000, &[]),
    counted("OMNI", SINGLE, 1000, &["-d", "rr"]),
    counted("OMNI", SINGLE, 200, &["-d", "rr", "-c"]),
    counted("OMNI", Kind::Connections, 200, &["-c"]),
    counted("OMNI", Kind::Upload, 1 << 20, &["-d", "send"]),
    timed("TCP_MSS", Kind::Number, &[]),
    timed("LOC_CPU", Kind::Number, &[]),
    timed("REM_CPU", Kind::Number, &[]),
    timed("UUID", Kind::Uuid, &[]),
];

/// A stock client sends more requests than it counts and may be reset for it.
const OUR_CLIENT: &[Case] = &[counted(
    "TCP_RR",
    Kind::Exchange { burst: 8 },
    1000,
    &["-b", "8"],
)];

/// UDP-Lite: a stock server refuses it.
const OUR_ENDS: &[Case] = &[
    timed(
        "OMNI",
        Kind::Datagrams,
        &["-T", "udplite", "-d", "send", "-m", "1400"],
    ),
    timed("OMNI", SINGLE, &["-T", "udplite", "-d", "rr"]),
];

/// The runs for a pairing.
pub(crate) fn cases(client: Make, server: Make, extent: Extent) -> Vec<Case> {
    let mut cases = CASES.to_vec();
    if client == Make::Ours {
        cases.extend(OUR_CLIENT);
        if server == Make::Ours {
            cases.extend(OUR_ENDS);
        }
    }
    match (extent, client) {
        (Extent::Night, _) => cases,
        (Extent::Landing, Make::Ours) => with_amounts(cases).into_iter().map(Case::brief).collect(),
        (Extent::Landing, Make::Stock) => with_amounts(cases),
    }
}

/// Each case once with an amount, and one with a time of each kind that has cases without.
pub(crate) fn with_amounts(cases: Vec<Case>) -> Vec<Case> {
    let mut kept: Vec<Case> = Vec::new();
    for case in cases {
        let counted = case.with_an_amount();
        let is_there = |other: &Case| match counted {
            Some(counted) => other.is_as(&counted),
            None => other.kind == case.kind && other.length == Length::Timed,
        };
        let is_left = counted.is_some() || case.length == Length::Timed;
        if is_left && !kept.iter().any(is_there) {
            kept.push(counted.unwrap_or(case));
        }
    }
    kept
}

/// Two ends, ready.
pub(crate) struct Bench {
    pub(crate) client: Programs,
    pub(crate) server: Programs,
    pub(crate) client_place: Place,
    pub(crate) client_address: &'static str,
    pub(crate) server_address: &'static str,
    pub(crate) port: u16,
    pub(crate) folder: PathBuf,
}

impl Bench {
    /// Runs a case and says what is wrong with it.
    ///
    /// Other programs share the queue of a processor (`net.core.netdev_max_backlog`), which may
    /// drop a datagram of an exchange. The test then ends early and says so, which is right if the
    /// kernel has counted a drop meanwhile.
    pub(crate) fn judge(&self, case: &Case) -> Result<(), String> {
        let dropped = procfs::dropped_by_processors();
        let finished = self.run(case);
        let lost = finished.stderr.contains("; a lost datagram stops the test");
        if lost && procfs::dropped_by_processors() > dropped {
            return Ok(());
        }
        finished.clean()?;
        self.verdict(case, &finished)
            .map_err(|why| format!("{why}\n{}", finished.account()))
    }

    fn run(&self, case: &Case) -> Finished {
        let mut run = Invocation::new(&self.client.netperf)
            .within(&self.client_place)
            .folder(&self.folder)
            .args(["-H", self.server_address, "-p", &self.port.to_string()])
            .args(["-t", case.test])
            .args(case.length.words())
            .args(case.global);
        run = run.arg("--");
        for &word in case.specific {
            run = run.arg(if word == "@" {
                self.client_address
            } else {
                word
            });
        }
        if case.selects() {
            run = run.args(["-k", SELECTION]);
        }
        run.run()
    }

    fn verdict(&self, case: &Case, finished: &Finished) -> Result<(), String> {
        if !case.selects() {
            return table(case, &finished.stdout);
        }
        let values = finished.values();
        // The time of a stock server that sends begins with its response: we may be late.
        let least = if case.only_receives() { 0.5 } else { 0.95 };
        let seconds = case.length.seconds().unwrap_or_default();
        if values.number("ELAPSED_TIME") < least * seconds {
            return Err("shorter than asked".into());
        }
        match case.kind {
            Kind::Upload => self.upload(case, &values),
            Kind::Download => self.download(case, &values),
            Kind::Exchange { burst } => self.exchange(case, burst, &values),
            Kind::Datagrams => lossy(&values, "LOCAL_SEND_CALLS", "REMOTE_RECV_CALLS")
                .and_then(|()| lossy(&values, "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD")),
            Kind::DatagramsBack => lossy(&values, "REMOTE_SEND_CALLS", "LOCAL_RECV_CALLS")
                .and_then(|()| lossy(&values, "REMOTE_BYTES_SENT", "LOCAL_BYTES_RECVD")),
            Kind::Connections => positive("TRANSACTION_RATE", values.number("TRANSACTION_RATE")),
            Kind::Row | Kind::Number | Kind::Uuid => Ok(()),
        }
    }

    /// A stock client does not count the send its timer interrupts.
    fn upload(&self, case: &Case, values: &Values) -> Result<(), String> {
        let timed = case.length.seconds().is_some();
        let size = values.count("LOCAL_SEND_SIZE");
        let uncounted = if timed && self.client.is_stock() {
            size
        } else {
            0
        };
        let sent = values.count("LOCAL_BYTES_SENT");
        within(
            "received - sent",
            values.count("REMOTE_BYTES_RECVD") - sent,
            0,
            uncounted,
        )?;
        as_long_as_asked(case, sent, size)
    }

    /// Neither does a stock server; and a stock client whose timer fires first
    /// leaves what is on its way unread.
    fn download(&self, case: &Case, values: &Values) -> Result<(), String> {
        let timed = case.length.seconds().is_some();
        let size = values.count("REMOTE_SEND_SIZE");
        let uncounted = if timed && self.server.is_stock() {
            size
        } else {
            0
        };
        let unread = if timed && self.client.is_stock() {
            IN_FLIGHT
        } else {
            0
        };
        let received = values.count("LOCAL_BYTES_RECVD");
        let surplus = received - values.count("REMOTE_BYTES_SENT");
        within("received - sent", surplus, -unread, uncounted)?;
        as_long_as_asked(case, received, size)
    }

    /// The end of a timed run may find a request or a response on its way; a
    /// stock client counts neither its last request nor those of its burst.
    fn exchange(&self, case: &Case, burst: i64, values: &Values) -> Result<(), String> {
        let timed = case.length.seconds().is_some();
        let afoot = burst + i64::from(timed);
        let requests = if burst > 0 || self.client.is_stock() {
            afoot
        } else {
            0
        };
        let (request, response) = (values.count("REQUEST_SIZE"), values.count("RESPONSE_SIZE"));
        let sent = values.count("LOCAL_BYTES_SENT");
        let unasked = values.count("REMOTE_BYTES_RECVD") - sent;
        within(
            "requests received - sent",
            unasked,
            -requests * request,
            requests * request,
        )?;
        let answered = values.count("LOCAL_BYTES_RECVD");
        let unseen = values.count("REMOTE_BYTES_SENT") - answered;
        within("responses sent - received", unseen, 0, afoot * response)?;
        match case.length {
            Length::Timed | Length::Brief => {
                positive("responses", values.number("LOCAL_BYTES_RECVD"))
            }
            Length::Counted(units) => {
                within("responses", answered, units * response, units * response)
            }
        }
    }
}

fn as_long_as_asked(case: &Case, bytes: i64, size: i64) -> Result<(), String> {
    match case.length {
        Length::Timed | Length::Brief => within("bytes", bytes, 1, i64::MAX),
        Length::Counted(asked) => within("bytes", bytes, asked, asked + size - 1),
    }
}

/// Datagrams: nothing arrives that was not sent.
fn lossy(values: &Values, sent: &str, received: &str) -> Result<(), String> {
    within(received, values.count(received), 1, values.count(sent))
}

fn within(what: &str, value: i64, least: i64, most: i64) -> Result<(), String> {
    if (least..=most).contains(&value) {
        Ok(())
    } else {
        Err(format!("{what} is {value}, not in {least}..={most}"))
    }
}

fn positive(what: &str, value: f64) -> Result<(), String> {
    if value > 0.0 {
        Ok(())
    } else {
        Err(format!("{what} is {value}"))
    }
}

/// Output without selectors: a number where it belongs.
fn table(case: &Case, stdout: &str) -> Result<(), String> {
    let line = |number: usize| stdout.lines().nth(number).unwrap_or_default();
    let number = |word: Option<&str>| {
        word.and_then(|word| word.parse::<f64>().ok())
            .unwrap_or(-1.0)
    };
    match case.kind {
        Kind::Row => {
            let words: Vec<&str> = line(6).split_whitespace().collect();
            // Utilisation and demand of both ends are behind it.
            let behind = if case.global.is_empty() { 1 } else { 5 };
            let rate = words.len().checked_sub(behind).and_then(|at| words.get(at));
            positive("the rate", number(rate.copied()))
        }
        Kind::Number => {
            let last = stdout
                .lines()
                .rfind(|line| !line.trim().is_empty())
                .unwrap_or_default();
            positive("the figure", number(last.split_whitespace().next()))
        }
        Kind::Uuid if stdout.trim().len() == 36 => Ok(()),
        Kind::Uuid => Err("not an identifier".into()),
        Kind::Upload
        | Kind::Download
        | Kind::Exchange { .. }
        | Kind::Connections
        | Kind::Datagrams
        | Kind::DatagramsBack => Err("asked for selectors".into()),
    }
}
