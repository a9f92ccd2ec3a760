//! Output of `--help`: every option under its heading, in 80 columns.

pub(crate) mod layout;
pub(crate) mod today;

use std::fmt::Write as _;

use netperf_arguments::group::Group;
use netperf_model::catalog::tests::TESTS;
use netperf_model::catalog::transports::TRANSPORTS;
use netperf_model::{Suite, TestId, TestRow};

use self::layout::{explained, groups, paragraph};
use self::today::is_of_today;
use crate::applies;
use crate::entry::{self, OptionEntry};
use crate::options;
use crate::subcommand;

/// The first page.
pub(crate) fn start() -> String {
    let mut text = START.to_owned();
    text.push_str("\nCommands:\n");
    for (word, about) in subcommand::about() {
        _ = writeln!(text, "  {word:9}{about}");
    }
    text.push_str(START_OPTIONS);
    text
}

/// The first page up to the commands. Columns 1 to 80.
const START: &str = "\
Usage: netperf -H host [options]        the host runs netserver
       netperf command ...

  netperf check server                        the path at a glance, in 15 s
  netperf -H server --human                   throughput and retransmits of TCP
  netperf -H server --human --reverse --flows 8 -l 30
                                              download, 8 parallel connections
  netperf -H server --human -t TCP_RR         transactions per second, latency
  netperf -H server --human --udp --rate 50M  loss and jitter of datagrams
";

/// The first page after the commands.
const START_OPTIONS: &str = "
Options:
  -H, --host host      the host to measure to    -p, --port port   (12865)
  -t, --test test      TCP_STREAM, TCP_RR, TCP_CRR, UDP_RR ... (netperf --list)
  -l, --time time      length, such as 30 or 2m (default 10 s)
      --udp            datagrams; with --rate bits per second, such as 50M
      --reverse        receive from the host     --bidirectional  both at once
      --flows number   parallel connections      -D, --interim 1  interim lines
      --human, --json  a summary for people, or a document for programs
      --until 1%       run until the result is this precise    --live  a screen

netperf --help all | classic | check | TCP_RR ...; netserver --help; man netperf
";

/// The options that most people need.
pub(crate) fn all() -> String {
    let mut text = "Usage: netperf -H host [options]
       netperf command [options]

  netperf --host server --time 5s --human
  netperf --host server --test tcp_rr --request-size 1,64K --human
  netperf --host server --flows 8 --bidirectional --json

Measures throughput, transaction rate, latency, loss and retransmitted segments
between this host and a host with netserver.

Names are valid everywhere, as `--name value` or `--name=value`; letters of the
test options only after --. Of two values with a comma either can be omitted.
Sizes accept the suffixes K, M and G (powers of 1024) and k, m and g (powers of
1000); rates are in bits per second, with K, M and G for powers of 1000.

Commands, explained by `netperf --help command`:
"
    .to_owned();
    for (word, about) in subcommand::about() {
        explained(&mut text, &format!("  {word}"), about);
    }
    groups(&mut text, &chosen(entry::global(), is_of_today));
    let Some(omni) = options::of_suite(Suite::Omni) else {
        return text;
    };
    text.push_str("\nTest options; letters only after --.\n");
    groups(&mut text, &chosen(entry::suite(omni), is_of_today));
    text.push_str("\nTests for -t or --test, not case sensitive:\n");
    for row in TESTS.iter().filter(|row| !is_rare(row)) {
        explained(&mut text, &format!("  {}", row.name), &sentence(row));
    }
    text.push_str(
        "
`netperf --help TCP_CC` shows all options of TCP_CC; every test name works.
`netperf --help classic` shows the other options and tests: buffer rings, the
looper, options of old scripts, XTI, SDP and the link level.
",
    );
    text
}

/// Options and tests that few need, and letters with two meanings.
pub(crate) fn classic() -> String {
    let mut text =
        "Options of old scripts and of rare networks; the others are in `netperf --help all`.
Letters after -- are test options.
"
        .to_owned();
    let rare = |entry: &OptionEntry| !is_of_today(entry);
    groups(&mut text, &chosen(entry::global(), rare));
    if let Some(omni) = options::of_suite(Suite::Omni) {
        _ = writeln!(
            text,
            "\nTest options of {}; letters only after --.",
            omni.tests
        );
        groups(&mut text, &chosen(entry::suite(omni), rare));
    }
    protocols(&mut text);
    text.push_str("\nTests:\n");
    for row in TESTS.iter().filter(|row| is_rare(row)) {
        explained(&mut text, &format!("  {}", row.name), &sentence(row));
    }
    meanings(&mut text);
    text
}

/// Returns true for tests over transports that few hosts have, and for what is no test of a network.
const fn is_rare(row: &TestRow) -> bool {
    matches!(
        row.suite,
        Suite::Sdp | Suite::Xti | Suite::Dlpi | Suite::Fore | Suite::Hippi
    ) || matches!(row.id, TestId::LocCpu | TestId::RemCpu | TestId::Uuid)
}

fn chosen(entries: Vec<OptionEntry>, keep: impl Fn(&OptionEntry) -> bool) -> Vec<OptionEntry> {
    entries.into_iter().filter(|entry| keep(entry)).collect()
}

/// The options that have a place in a test.
pub(crate) fn test(test: TestId) -> String {
    let row = test.row();
    let mut text = format!(
        "Usage: netperf -t {} [options] [-- [test options]]\n\n",
        row.name
    );
    let mut about = sentence(row);
    if let Some(first) = about.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    paragraph(&mut text, 0, &format!("{about}."));
    let placed = |entry: &OptionEntry| applies::to(row, entry);
    match options::of_suite(row.suite) {
        None => text.push_str("\nThis test has no test options.\n"),
        Some(options) => {
            text.push_str("\nTest options; letters only after --.\n");
            let own: Vec<OptionEntry> = entry::suite(options).into_iter().filter(placed).collect();
            groups(&mut text, &own);
            if row.suite == Suite::Omni {
                protocols(&mut text);
                percentiles(&mut text, row);
            }
        }
    }
    text.push_str("\nOther options; letters only before --.\n");
    let global: Vec<OptionEntry> = entry::global().into_iter().filter(placed).collect();
    groups(&mut text, &global);
    text.push_str("\n`netperf --help all` shows the options that most tests have.\n");
    text
}

/// The options of netserver but for the limits.
pub(crate) fn netserver() -> String {
    let mut text = "Usage: netserver [options]

Waits for netperf, with --iperf3 and --iperf2 also for iperf, and carries out
the remote end of their tests.

  netserver -D                               in the foreground, on port 12865
  netserver -D --iperf3 --iperf2             for clients of iperf, too
  netserver -D --key-file netserver.key      for clients with the key only
  netserver --config /etc/netserver.toml     as a service
"
    .to_owned();
    let limit = |entry: &OptionEntry| entry.group == Group::Limits;
    groups(&mut text, &chosen(entry::server(), |entry| !limit(entry)));
    text.push_str("\n`netserver --help limits` shows the limits of sessions and their defaults.\n");
    text
}

/// The limits of netserver.
pub(crate) fn netserver_limits() -> String {
    let mut text = "Limits of netserver. They hold for clients of netperf, iperf3 and iperf.

  netserver -D --max-sessions 4 --max-test-time 60 --max-send-rate 1G
"
    .to_owned();
    let limit = |entry: &OptionEntry| entry.group == Group::Limits;
    groups(&mut text, &chosen(entry::server(), limit));
    text
}

fn protocols(text: &mut String) {
    let names: Vec<&str> = TRANSPORTS.iter().map(|row| row.option).collect();
    paragraph(text, 0, &format!("\nProtocols: {}.", names.join(", ")));
}

/// The selectors of percentiles, for tests with operations that have a latency.
fn percentiles(text: &mut String, row: &TestRow) {
    if row.flow.receives && row.flow.sends || row.id == TestId::Omni {
        text.push_str(
            "\nPercentiles of the latency: any P<number>_LATENCY, as in -k P99.9_LATENCY.\n",
        );
    }
}

/// Description of a test that transport and direction do not explain.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "transport and direction explain most tests"
)]
const fn special(test: TestId) -> Option<&'static str> {
    Some(match test {
        TestId::Omni => "anything: protocol and direction come from options",
        TestId::LocCpu => "the CPU calibration rate of this host",
        TestId::RemCpu => "the CPU calibration rate of netserver's host",
        TestId::Uuid => "a unique identifier",
        TestId::TcpMss => "the segment size of a TCP connection",
        TestId::TcpSendfile => "data from a file to netserver over TCP",
        TestId::StreamStream => "data to netserver over a Unix-domain stream",
        TestId::StreamRr => "request/response over a Unix-domain stream",
        TestId::DgStream => "Unix-domain datagrams to netserver",
        TestId::DgRr => "request/response in Unix-domain datagrams",
        TestId::SctpStreamMany => "data to netserver over several SCTP associations",
        TestId::SctpRrMany => "request/response over several SCTP associations",
        TestId::ForeStream => "AAL5 frames to netserver over an ATM circuit",
        TestId::ForeRr => "request/response over an ATM circuit",
        TestId::HippiStream => "frames of a network interface to netserver",
        TestId::HippiRr => "request/response in frames of a network interface",
        _ => return None,
    })
}

/// Description of a test.
#[must_use]
pub fn sentence(row: &TestRow) -> String {
    let transport = row.transport.row().label;
    let flow = row.flow;
    if let Some(sentence) = special(row.id) {
        return sentence.to_owned();
    }
    match (flow.sends, flow.receives, flow.connects) {
        (true, true, true) => {
            format!("request/response, each transaction over a new {transport} connection")
        }
        (true, true, false) => format!("request/response over {transport}"),
        (false, false, _) => format!("{transport} connections, opened and closed"),
        (true, false, _) => format!("data to netserver over {transport}"),
        (false, true, _) => format!("data from netserver over {transport}"),
    }
}

fn meanings(text: &mut String) {
    text.push_str("\nLetters with different meanings before and after --:\n");
    _ = writeln!(text, "  {:8}{:24}after --", "", "before --");
    for twice in entry::twice() {
        let (front, behind) = (twice.front.long, twice.behind.long);
        _ = writeln!(text, "  -{:7}--{front:22}--{behind}", twice.letter);
    }
}
