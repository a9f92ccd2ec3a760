//! Every option that the original does not have is refused where transport, peer or kernel
//! cannot do it: in one line that names it, with exit status 3. The list of options is the
//! parser's own, so that a new one without a row here fails. The table of combinations is asked
//! in this process; only what depends on a peer or a machine starts one.

use std::ffi::OsString;
use std::path::Path;

use netperf_cli::{CliEnvironment, Command, catalog};
use netperf_model::refusal;
use netperf_testkit::require::require;
use netperf_testkit::{Finished, Invocation, Netserver, Place, Programs, ours};

/// Exit status when this host, netserver's, or a test cannot do what is asked.
const UNSUPPORTED: i32 = 3;

/// The cause of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lacks {
    /// The test or its transport, by the table of combinations.
    Test,
    /// The test, when it is about to run.
    Run,
    /// The original netserver.
    Peer,
    /// The kernel, or what it knows of the machine.
    Kernel,
    /// A process without rights over the network.
    Rights,
}
use Lacks::{Kernel, Peer, Rights, Run, Test};

/// An option, who cannot do it, the words that ask for it all the same, and what is said
/// besides the option's name.
type Row = (&'static str, Lacks, &'static str, &'static str);

const NO_FLOWS: &str = "are associations";
const ANOTHER_MAKE: &str = "stock netserver";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("arrival", Test, "-t UDP_STREAM --rate 1M --arrival poisson", "for requests"),
    ("batch", Test, "-t TCP_STREAM --batch 8", "only over UDP"),
    ("batch", Test, "-t UDP_RR --batch 8", "one way"),
    ("batch", Peer, "-t UDP_STREAM --batch 8", ANOTHER_MAKE),
    ("bidirectional", Test, "-t TCP_RR --bidirectional same", "only in stream tests"),
    ("bidirectional", Peer, "-t TCP_STREAM --bidirectional same", ANOTHER_MAKE),
    ("bind-device", Test, "-t STREAM_STREAM --bind-device lo", "only IP"),
    ("bind-device", Peer, "-t TCP_RR --bind-device lo", ANOTHER_MAKE),
    ("bind-device", Kernel, "-t TCP_RR --bind-device no-such-device,", "this host cannot"),
    ("busy-poll", Test, "-t STREAM_STREAM --busy-poll 50", "only IP"),
    ("busy-poll", Peer, "-t TCP_RR --busy-poll 50", ANOTHER_MAKE),
    ("cooldown", Test, "-t OMNI --cooldown 1 -- -T sctp-many -d send", NO_FLOWS),
    ("cooldown", Test, "-t TCP_RR --count 5 --cooldown 1", "where a time ends the test"),
    ("cpu-method", Peer, "-t TCP_RR -C --cpu-method looper", ANOTHER_MAKE),
    ("cpus", Test, "-t OMNI --cpus 0 -- -T sctp-many -d send", NO_FLOWS),
    ("cpus", Kernel, "-t TCP_RR --cpus 100000", "no CPU 100000"),
    ("device", Test, "-t TCP_RR --device lo", "only LLC, ATM and XTI"),
    ("device-unit", Test, "-t TCP_RR --device-unit 3", "only LLC and ATM"),
    ("begin-at", Test, "-t OMNI --begin-at 9999999999999999 -- -T sctp-many -d send", NO_FLOWS),
    ("discard", Test, "-t TCP_RR --discard", "one way"),
    ("human", Test, "-t TCP_RR --human --json", "a test has one output"),
    ("reverse", Test, "-t TCP_RR --reverse", "another direction"),
    ("udp", Test, "-t TCP_CC --udp", "form for UDP"),
    ("discard", Test, "-t STREAM_STREAM --discard", "only over TCP and UDP"),
    ("discard", Peer, "-t TCP_STREAM --discard", ANOTHER_MAKE),
    ("flow-label", Test, "-t STREAM_STREAM --flow-label 5", "only over TCP and UDP"),
    ("flow-label", Peer, "-t TCP_RR --flow-label 5", ANOTHER_MAKE),
    ("flow-label", Kernel, "-t TCP_RR --flow-label 5,", "it takes IPv6"),
    ("flows", Test, "-t OMNI --flows 2 -- -T sctp-many -d send", NO_FLOWS),
    ("flows", Kernel, "-t TCP_RR --flows 1000000", "limit of open files"),
    ("io", Test, "-t SCTP_RR --io poll", "only over TCP"),
    ("io", Test, "-t SCTP_RR --io epoll", "only over TCP"),
    ("io", Test, "-t TCP_CRR --io uring", "for every operation"),
    ("io", Peer, "-t TCP_RR --io poll", ANOTHER_MAKE),
    ("io", Peer, "-t TCP_RR --io epoll", ANOTHER_MAKE),
    ("io", Peer, "-t TCP_RR --io uring", ANOTHER_MAKE),
    ("live", Run, "-t UUID --live", "moves no data"),
    ("live", Kernel, "-t TCP_RR --live", "is a terminal"),
    ("mark", Test, "-t STREAM_STREAM --mark 5", "only IP"),
    ("mark", Peer, "-t TCP_RR --mark 5", ANOTHER_MAKE),
    ("mark", Rights, "-t TCP_RR --mark 5,", "this host cannot"),
    ("notsent-lowat", Test, "-t UDP_STREAM --notsent-lowat 5000", "only TCP"),
    ("notsent-lowat", Peer, "-t TCP_STREAM --notsent-lowat 5000", ANOTHER_MAKE),
    ("one-port", Test, "-t STREAM_STREAM --one-port", "only over TCP, TLS and UDP"),
    ("one-port", Run, "-t TCP_RR -- -P ,5555 --one-port", "name no port"),
    ("one-port", Peer, "-t TCP_RR --one-port", ANOTHER_MAKE),
    ("place", Test, "-t OMNI --place spread -- -T sctp-many -d send", NO_FLOWS),
    ("place", Peer, "-t TCP_RR --place spread", ANOTHER_MAKE),
    ("place", Kernel, "-t TCP_RR --place node:4000", "no NUMA node 4000"),
    ("progress", Kernel, "-t TCP_RR --progress always", "is not a terminal"),
    ("quickack", Test, "-t UDP_STREAM --quickack on", "only TCP"),
    ("quickack", Peer, "-t TCP_STREAM --quickack on", ANOTHER_MAKE),
    ("rate", Test, "-t TCP_CRR --rate 5k", "for every operation"),
    ("rate", Test, "-t TCP_RR --rate 5kpps", "leave out pps"),
    ("rate", Test, "-t TCP_STREAM --rate 5kpps", "a byte stream has no packets"),
    ("rate", Peer, "-t TCP_MAERTS --rate 5M", ANOTHER_MAKE),
    ("remote-cpus", Test, "-t OMNI --remote-cpus 0 -- -T sctp-many -d send", NO_FLOWS),
    ("remote-cpus", Peer, "-t TCP_RR --remote-cpus 0", ANOTHER_MAKE),
    ("remote-cpus", Kernel, "-t TCP_RR --remote-cpus 100000", "cannot place threads"),
    ("remote-pacing-rate", Test, "-t STREAM_STREAM --remote-pacing-rate 5000", "only IP"),
    ("remote-pacing-rate", Peer, "-t TCP_STREAM --remote-pacing-rate 5000", ANOTHER_MAKE),
    ("sap", Test, "-t TCP_RR --sap 4", "only LLC"),
    ("segment-offload", Test, "-t TCP_STREAM --segment-offload on", "only over UDP"),
    ("segment-offload", Peer, "-t UDP_STREAM --segment-offload on", ANOTHER_MAKE),
    ("sequence", Test, "-t TCP_STREAM --sequence", "only in stream tests over UDP"),
    ("sequence", Peer, "-t UDP_STREAM --sequence", ANOTHER_MAKE),
    ("series", Test, "-t UDP_STREAM --series 100ms", "only TCP reports it"),
    ("series", Peer, "-t TCP_STREAM --series 100ms", ANOTHER_MAKE),
    ("splice", Test, "-t UDP_STREAM --splice", "only over TCP"),
    ("splice", Peer, "-t TCP_STREAM --splice", ANOTHER_MAKE),
    ("threads", Test, "-t OMNI --threads 2 -- -T sctp-many -d send", NO_FLOWS),
    ("timestamps", Test, "-t TCP_STREAM --timestamps software", "only in request/response"),
    ("timestamps", Test, "-t UDP_STREAM --timestamps hardware", "only in request/response"),
    ("timestamps", Kernel, "-t TCP_RR --timestamps hardware", "the interface lo has no device"),
    ("timestamps", Peer, "-t TCP_RR --timestamps software", ANOTHER_MAKE),
    ("tls-cipher", Test, "-t TCP_STREAM --tls-cipher TLS_AES_128_GCM_SHA256", "only TLS"),
    ("tos", Test, "-t STREAM_STREAM --tos 40", "only IP"),
    ("until", Test, "-t TCP_CRR --until 1%", "for every operation"),
    ("until", Test, "-t OMNI --until 1% -- -T dccp -d recv", "the kernel ends both directions"),
    ("until", Peer, "-t TCP_MAERTS --until 1%", ANOTHER_MAKE),
    ("until", Peer, "-t TCP_MAERTS --flows 2 --until 1%", "a test in which netperf sends"),
    ("until", Test, "-t DG_STREAM --until 1%", "before its time is over"),
    ("until", Test, "-t TCP_RR --count 5 --until 1%", "no amount"),
    ("warmup", Test, "-t OMNI --warmup 1 -- -T sctp-many -d send", NO_FLOWS),
    ("warmup", Test, "-t TCP_RR --count 5 --warmup 1", "where a time ends the test"),
    ("zerocopy", Test, "-t TCP_RR --zerocopy", "one way or both ways"),
    ("zerocopy", Test, "-t UDP_STREAM --zerocopy", "only over TCP"),
    ("zerocopy", Peer, "-t TCP_MAERTS --zerocopy", ANOTHER_MAKE),
];

/// Options without requirements: every test, transport, peer and kernel can do them.
const NOBODY_LACKS: &[(&str, &str)] = &[
    (
        "count",
        "the original's minus in front of a length, by a name",
    ),
    ("history", "kept by netperf alone, whatever was measured"),
    ("json", "printed by netperf alone, whatever was measured"),
    (
        "json-stream",
        "printed by netperf alone, whatever was measured",
    ),
    (
        "seed",
        "belongs to --arrival, which has rows; alone it is a wrong command line",
    ),
    (
        "until-confidence",
        "belongs to --until, which has rows; alone it is a wrong command line",
    ),
    ("series-flows", "a bound for --series, which has rows"),
    ("list", "runs no test: it tells what can be run"),
    (
        "control-keepalive",
        "a probe of TCP, which every peer's kernel answers",
    ),
];

/// Options whose refusals take more than words, and the test that has them.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "key-file",
        "access.rs: threat_model_a_netserver_that_cannot_prove_that_it_has_the_key_is_refused",
    ),
    (
        "iperf3",
        "iperf3/documents.rs: the_output_of_iperf3_is_printed_on_request",
    ),
    (
        "output",
        "iperf3/documents.rs: the_output_of_iperf3_is_printed_on_request",
    ),
    (
        "iperf2",
        "iperf2_client.rs: netperf_itself_measures_to_servers_of_iperf_2",
    ),
];

/// Long names of netperf's options without a letter, which the original lacks.
fn extensions() -> Vec<&'static str> {
    let suites = catalog::suites().into_iter();
    let mut names: Vec<&str> = catalog::global()
        .into_iter()
        .chain(suites.flat_map(|suite| suite.entries))
        .filter(|entry| entry.letter.is_none())
        .map(|entry| entry.long)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn every_option_of_our_own_has_a_row_that_says_who_lacks_it() {
    let known = extensions();
    let rows = ROWS.iter().map(|(option, ..)| *option);
    let others = NOBODY_LACKS.iter().chain(ELSEWHERE);
    let described: Vec<&str> = rows.chain(others.map(|(option, _)| *option)).collect();
    for option in &known {
        assert!(
            described.contains(option),
            "who lacks --{option}? It has no row"
        );
    }
    for option in described {
        assert!(known.contains(&option), "there is no --{option} any more");
    }
}

/// netperf without the rights that a socket's options take.
fn without_rights(words: &[String]) -> Finished {
    Invocation::new(Path::new("setpriv"))
        .args([
            "--inh-caps=-net_admin,-net_raw",
            "--bounding-set=-net_admin,-net_raw",
            "--",
        ])
        .arg(ours!().netperf)
        .args(words)
        .run()
}

/// Refused with status 3, in one line that names the option and what would do.
fn is_refused((option, lacks, words, says): Row, port: u16) -> Result<(), String> {
    let port = port.to_string();
    let all: Vec<String> = ["-4", "-H", "127.0.0.1", "-p", &port, "-l", "1", "-P", "0"]
        .into_iter()
        .chain(words.split_whitespace())
        .map(str::to_owned)
        .collect();
    let finished = match lacks {
        Rights => without_rights(&all),
        Test => return is_refused_by_the_table((option, lacks, words, says)),
        Run | Peer | Kernel => Invocation::new(&ours!().netperf).args(&all).run(),
    };
    let name = format!("--{option}");
    let right = finished.status.code() == Some(UNSUPPORTED)
        && finished.stdout.is_empty()
        && finished.stderr.lines().count() == 1
        && finished.stderr.starts_with("netperf: ")
        && finished.stderr.contains(says)
        && finished.stderr.contains(&name);
    if right {
        Ok(())
    } else {
        Err(finished.account())
    }
}

/// Refused by the parser or the table of combinations, without a process.
fn is_refused_by_the_table((option, _, words, says): Row) -> Result<(), String> {
    let argv: Vec<OsString> = std::iter::once("netperf")
        .chain(words.split_whitespace())
        .map(OsString::from)
        .collect();
    let around = CliEnvironment {
        read_file: &|_| Err(std::io::ErrorKind::NotFound.into()),
        is_selector: &|_| false,
        selectors: &[],
        is_host: &|_| false,
        dump_tcp_info: false,
    };
    let said = match netperf_cli::netperf(&argv, &around).command {
        Ok(Command::Run(run)) => match refusal::check(&run.plan) {
            Ok(()) => return Err(format!("{words}: it is not refused")),
            Err(refusal) => refusal.to_string(),
        },
        Ok(other) => return Err(format!("{words}: {other:?}")),
        Err(error) if i32::from(error.exit()) == UNSUPPORTED => error.to_string(),
        Err(error) => return Err(format!("{words}: {error}")),
    };
    let right = said.contains(says) && said.contains(&format!("--{option}"));
    right
        .then_some(())
        .ok_or_else(|| format!("{words}: {said}"))
}

fn all_refused(who: &[Lacks], port: u16) {
    let rows = ROWS.iter().filter(|(_, lacks, ..)| who.contains(lacks));
    let wrong: Vec<String> = rows
        .filter_map(|row| is_refused(*row, port).err())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn options_that_a_test_or_kernel_cannot_do_are_refused_by_name() {
    let server = ours!().serve();
    all_refused(&[Test, Run, Kernel], server.port());
    let tool = Path::new("/usr/bin/setpriv").exists();
    if require(tool, "setpriv", "install util-linux") {
        all_refused(&[Rights], server.port());
    }
}

#[test]
fn options_that_a_stock_netserver_cannot_do_are_refused_by_name() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let server = Netserver::start(&stock, &Place::Here);
    all_refused(&[Peer], server.port());
}
