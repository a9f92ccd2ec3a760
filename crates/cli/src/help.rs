//! Output of `--help`: every option under its heading, in 80 columns.

pub(crate) mod layout;

use std::fmt::Write as _;

use netperf_model::catalog::tests::TESTS;
use netperf_model::catalog::transports::TRANSPORTS;
use netperf_model::{Suite, TestId, TestRow};

use self::layout::{explained, groups, paragraph};
use crate::applies;
use crate::entry::{self, OptionEntry};
use crate::group::Group;
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
Usage: netperf [-H host] [-t test] [-l time] [options] [-- test options]
       netperf command ...

Measures throughput, transaction rate, latency and loss to a netserver.

  netperf check server                       a summary of the path in 15 s
  netperf -H server --human                  throughput and retransmits of TCP
  netperf -H server --flows 8 -l 30          8 parallel connections, 30 seconds
  netperf -H server -t TCP_RR -j --human     transactions per second and latency
  netperf -H server --udp --rate 50M --human datagrams: loss
";

/// The first page after the commands.
const START_OPTIONS: &str = "
Options:
  -t, --test test      TCP_STREAM (send), TCP_MAERTS (receive), TCP_RR, TCP_CRR,
                       UDP_STREAM, UDP_RR and others: netperf --list
  -l, --time seconds   length of the test (default 10)
      --human, --json  a summary for people, or one document for programs
      --until 1%       run until the result has this precision
      --live           show the test on the whole terminal

netperf --help all     every option       netperf --help TCP_RR    of one test
netperf --help sweep   a command          man netperf              the manual
";

/// Everything about netperf.
pub(crate) fn all() -> String {
    let mut text = "Usage: netperf [options] [-- [test options]]
       netperf command [options]

Measures the network between this host and a host with netserver: throughput,
transaction rate, latency, loss and retransmitted segments.

Letters after -- are test options. Long names are valid on either side, as
`--name value` or `--name=value`; an invalid name or value is refused. Of two
comma-separated values either can be omitted. Sizes and counts accept the
suffixes K, M and G (powers of 1024) and k, m and g (powers of 1000).

  netperf --host server --time 5s
  netperf --host server --test tcp_rr --request-size 1,64K
"
    .to_owned();
    text.push_str("\nCommands, explained by `netperf --help command`:\n");
    for (word, about) in subcommand::about() {
        explained(&mut text, &format!("  {word}"), about);
    }
    groups(&mut text, &entry::global());
    tests(&mut text);
    test_options(&mut text, Suite::Omni);
    text.push_str(
        "\n`netperf --help TCP_CC` shows the options of TCP_CC; every test name works.\n",
    );
    meanings(&mut text);
    text
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
    text.push_str("\n`netperf --help all` shows the options of all tests.\n");
    text
}

/// Everything about netserver.
pub(crate) fn netserver() -> String {
    let mut text = "Usage: netserver [options]

Waits for netperf and carries out the remote end of its tests.
"
    .to_owned();
    groups(&mut text, &entry::server());
    text
}

fn test_options(text: &mut String, suite: Suite) {
    let Some(options) = options::of_suite(suite) else {
        return;
    };
    let tests = options.tests;
    _ = writeln!(text, "\nTest options of {tests}; letters only after --.");
    let own: Vec<OptionEntry> = entry::suite(options)
        .into_iter()
        .filter(|entry| entry.group != Group::About)
        .collect();
    groups(text, &own);
    if suite == Suite::Omni {
        protocols(text);
    }
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

fn tests(text: &mut String) {
    text.push_str("\nTests for -t or --test, not case sensitive:\n");
    for row in TESTS {
        explained(text, &format!("  {}", row.name), &sentence(row));
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
