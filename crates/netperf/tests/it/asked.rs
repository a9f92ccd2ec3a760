//! Every setting of a data socket is in force as it was asked for, or a message names it.
//!
//! The rows cover all socket options of `netperf --help`, so that an option without a row fails.

mod unused;

use std::path::Path;

use netperf_testkit::require::{is_root, require};
use netperf_testkit::{Finished, Invocation, Netserver, Programs, Scratch, ours};
use serde_json::Value;

/// Status for what an end cannot do.
pub(crate) const UNSUPPORTED: i32 = 3;

/// Options of one name with values of each class.
struct Row {
    /// The option, without its dashes.
    option: &'static str,
    /// Words of the command line behind `--time`.
    cases: &'static [&'static str],
    /// Name in messages.
    message: &'static str,
    /// Place of the value in JSON, for each end that tells it.
    told: &'static [&'static str],
    /// True if the value in force is the one asked for.
    holds: fn(&Value, &Value) -> bool,
}

const fn row(
    option: &'static str,
    message: &'static str,
    told: &'static [&'static str],
    cases: &'static [&'static str],
) -> Row {
    Row {
        option,
        cases,
        message,
        told,
        holds: |asked, got| asked == got,
    }
}

/// Linux doubles the sizes of socket buffers and raises small ones to a minimum.
const fn buffer(
    option: &'static str,
    told: &'static [&'static str],
    cases: &'static [&'static str],
) -> Row {
    Row {
        holds: |asked, got| got.as_u64() >= asked.as_u64().map(|asked| 2 * asked),
        ..row(option, "socket buffer", told, cases)
    }
}

/// Cases of one row: valid, out of range, not permitted, unknown.
const ROWS: &[Row] = &[
    buffer(
        "socket-buffer",
        &["/local", "send_buffer_bytes", "recv_buffer_bytes"],
        &[
            "-- -s 64K",
            "-- -s 1G",
            "--socket-buffer 1G",
            "-- -s abc",
            "--socket-buffer abc",
        ],
    ),
    buffer(
        "remote-socket-buffer",
        &["/remote", "send_buffer_bytes", "recv_buffer_bytes"],
        &[
            "-- -S 64K",
            "-- -S 1G",
            "--remote-socket-buffer 1G",
            "-- -S abc",
        ],
    ),
    row(
        "priority",
        "priority",
        &["/local /remote", "priority"],
        &[
            "-y 3",
            "-y 7",
            "--priority 7",
            "-y 100000",
            "-y abc",
            "--priority abc",
        ],
    ),
    row(
        "tos",
        "of-service",
        &["/local /remote", "type_of_service"],
        &[
            "-Y ef",
            "-Y 0x20",
            "-Y 256",
            "-Y foo",
            "--tos foo",
            "-Y 0x23",
        ],
    ),
    row(
        "dscp",
        "dscp",
        &["/local /remote", "type_of_service"],
        &["--dscp 46", "--dscp 64", "--dscp foo"],
    ),
    row(
        "no-delay",
        "delay",
        &["/local /remote", "nodelay"],
        &[
            "-- -D",
            "--no-delay",
            "-t UDP_RR -- -D",
            "-t UDP_RR --no-delay",
        ],
    ),
    row(
        "congestion",
        "congestion",
        &[],
        &[
            "-- -K nosuch",
            "--congestion nosuch",
            "-- -K x",
            "--congestion nosuch,",
            "--congestion ,nosuch",
        ],
    ),
    row(
        "segment-size",
        "segment",
        &[],
        &[
            "-- -G 1000b",
            "-- -G 1000",
            "-- -G 40000",
            "-- -G abc",
            "--segment-size abc",
            "--segment-size 40000",
            "-t UDP_RR --segment-size 1000",
        ],
    ),
    row(
        "multicast-ttl",
        "multicast",
        &[],
        &["-- -l 300", "-- -l abc", "--multicast-ttl 300", "-- -l 5"],
    ),
    row("route", "route", &[], &["-- -R 1", "-- -R x", "--route 7"]),
    row(
        "quickack",
        "quickack",
        &["/local /remote", "socket_options/quickack"],
        &["--quickack on", "--quickack 7"],
    ),
    row(
        "notsent-lowat",
        "notsent-lowat",
        &["/local /remote", "socket_options/notsent_low_bytes"],
        &["--notsent-lowat 16000", "--notsent-lowat abc"],
    ),
    row(
        "bind-device",
        "bind-device",
        &["/local /remote", "socket_options/device"],
        &[
            "--bind-device lo",
            "--bind-device nosuch0",
            "--bind-device a-name-that-is-too-long",
        ],
    ),
    row(
        "mark",
        "mark",
        &["/local /remote", "socket_options/mark"],
        &["--mark 7", "--mark abc"],
    ),
    row(
        "flow-label",
        "flow-label",
        &["/local /remote", "socket_options/flow_label"],
        &["--flow-label 7", "--flow-label 1048576", "--flow-label abc"],
    ),
    row(
        "busy-poll",
        "busy-poll",
        &["/local /remote", "socket_options/busy_poll_microseconds"],
        &[
            "--busy-poll 50",
            "--busy-poll 5000000000",
            "--busy-poll abc",
        ],
    ),
    row(
        "remote-pacing-rate",
        "pacing",
        &["/remote", "socket_options/pacing_bytes_per_second"],
        &[
            "--remote-pacing-rate 1M",
            "--remote-pacing-rate 50G",
            "--remote-pacing-rate abc",
        ],
    ),
    row(
        "pacing-rate",
        "pacing",
        &[],
        &["-- -q abc", "--pacing-rate abc", "--pacing-rate 50G"],
    ),
    row("tls-cipher", "tls-cipher", &[], &["--tls-cipher nosuch"]),
    // Switches have no values.
    row(
        "keepalive",
        "keepalive",
        &[],
        &["-S", "-t UDP_RR -S", "-t UDP_RR --keepalive"],
    ),
    row("cork", "cork", &[], &["-- -C", "-t UDP_RR -- -C"]),
    row(
        "fast-open",
        "fast",
        &[],
        &["-t TCP_CRR -- -F", "-t UDP_RR -- -F"],
    ),
    row("defer-accept", "defer", &[], &["-- -a", "-t UDP_RR -- -a"]),
    row(
        "no-fragment",
        "fragment",
        &[],
        &["-t UDP_RR -- -f", "-- -f"],
    ),
    row("connected", "connect", &[], &["-t UDP_RR -- -n"]),
    row("remote-connected", "connect", &[], &["-t UDP_RR -- -N"]),
    row("packet-info", "packet", &[], &["-t UDP_RR -- -B"]),
    row("socket-debug", "debug", &[], &["-- -g"]),
];

/// Long options under the heading "Sockets" of a help text.
fn socket_options(topic: &str) -> Vec<String> {
    let help = Invocation::new(&ours!().netperf)
        .arg("--help")
        .args(topic.split_whitespace())
        .run();
    let lines = help
        .stdout
        .lines()
        .skip_while(|line| *line != "Sockets:")
        .skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.get(6..)?.strip_prefix("--"));
    names
        .map(|text| text.split(' ').next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn every_socket_option_of_the_help_has_a_row() {
    let mut options = socket_options("all");
    options.extend(socket_options("classic"));
    options.extend(socket_options("OMNI"));
    assert!(options.len() >= 20, "{options:?}");
    for option in options {
        assert!(
            ROWS.iter().any(|row| row.option == option),
            "{option} has no row in asked.rs"
        );
    }
}

/// Runs a case as root or without any privilege.
pub(crate) fn run(server: &Netserver, case: &str, privileged: bool) -> Finished {
    let port = server.port().to_string();
    let test = if case.contains("-t ") {
        ""
    } else {
        "-t TCP_RR"
    };
    // A busy machine may answer nothing in a short time.
    let transactions = ["RR", "TCP_CC"].iter().any(|name| case.contains(name));
    let length = if transactions || !test.is_empty() {
        "-l -50"
    } else {
        "-l -10000000"
    };
    let words = format!("--json -H 127.0.0.1 -p {port} {length} {test} {case}");
    invocation(privileged).args(words.split_whitespace()).run()
}

/// netperf as root or without any privilege, as which a user runs it in any case.
pub(crate) fn invocation(privileged: bool) -> Invocation {
    let netperf = &ours!().netperf;
    if privileged || !is_root() {
        Invocation::new(netperf)
    } else {
        Invocation::new(Path::new("/usr/bin/setpriv"))
            .args([
                "--reuid=65534",
                "--regid=65534",
                "--clear-groups",
                "--inh-caps=-all",
            ])
            .args(["--bounding-set=-all", "--"])
            .arg(netperf)
    }
}

/// Needs what `invocation` takes to drop the rights of root.
fn can_drop_rights() -> bool {
    let setpriv = Path::new("/usr/bin/setpriv").exists();
    !is_root() || require(setpriv, "setpriv", "install util-linux")
}

/// Checks that what a case asked for is in force at the ends that tell it, or that a message
/// names it.
fn judge(row: &Row, case: &str, finished: &Finished) {
    let account = || format!("{case}\n{}", finished.account());
    let option = case
        .split_whitespace()
        .find(|word| word.starts_with('-') && *word != "--" && *word != "-t");
    let named = |text: &str| {
        text.contains(row.message) || option.is_some_and(|option| text.contains(option))
    };
    if !finished.status.success() {
        assert!(named(&finished.stderr), "{}", account());
        return;
    }
    let document = finished.document();
    let warnings = document["warnings"].as_array().expect("warnings");
    if !finished.stderr.is_empty() {
        assert!(named(&finished.stderr), "{}", account());
        assert!(
            warnings
                .iter()
                .any(|warning| named(&warning["message"].to_string())),
            "{}",
            account()
        );
        return;
    }
    // Doubts about the hosts are no answer to what was asked.
    let of_hosts = |warning: &&Value| {
        ["one_host", "cpu_bound"]
            .map(Value::from)
            .contains(&warning["code"])
    };
    let others = warnings.iter().filter(|warning| !of_hosts(warning));
    assert_eq!(others.count(), 0, "{}", account());
    let Some((ends, keys)) = row.told.split_first() else {
        return;
    };
    for end in ends.split(' ') {
        for key in keys {
            let name = key.rsplit('/').next().unwrap_or(key);
            let asked = document.pointer(&format!("{end}/requested/socket/{name}"));
            let got = document.pointer(&format!("{end}/agreed/{key}"));
            let pair = asked.zip(got);
            let holds = pair.is_some_and(|(asked, got)| (row.holds)(asked, got));
            assert!(holds, "{end} {key}: {pair:?}\n{}", account());
        }
    }
}

#[test]
fn every_setting_is_in_force_as_asked_or_a_message_names_it() {
    if !can_drop_rights() {
        return;
    }
    let server = ours!().serve();
    let cases: Vec<_> = ROWS
        .iter()
        .flat_map(|row| row.cases.iter().map(move |case| (row, *case)))
        .flat_map(|(row, case)| {
            let rights = if is_root() {
                &[true, false][..]
            } else {
                &[false]
            };
            rights
                .iter()
                .map(move |privileged| (row, case, *privileged))
        })
        .collect();
    std::thread::scope(|scope| {
        for share in cases.chunks(cases.len().div_ceil(6)) {
            let server = &server;
            scope.spawn(move || {
                for (row, case, privileged) in share {
                    judge(row, case, &run(server, case, *privileged));
                }
            });
        }
    });
}

/// A congestion control that users without privileges do not get.
fn restricted_congestion() -> Option<String> {
    let list = |name| {
        let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}"));
        text.unwrap_or_default()
    };
    let (available, allowed) = (
        list("tcp_available_congestion_control"),
        list("tcp_allowed_congestion_control"),
    );
    let allowed: Vec<&str> = allowed.split_whitespace().collect();
    let restricted = available
        .split_whitespace()
        .find(|name| !allowed.contains(name))
        .map(str::to_owned);
    let present = can_drop_rights()
        && require(
            restricted.is_some(),
            "a restricted congestion control",
            "load tcp_cubic",
        );
    restricted.filter(|_| present)
}

#[test]
fn a_congestion_control_that_is_not_permitted_fails_by_name_and_warns_by_letter() {
    let Some(restricted) = restricted_congestion() else {
        return;
    };
    let server = ours!().serve();
    let named =
        run(&server, &format!("--congestion {restricted},"), false).expect_exit(UNSUPPORTED);
    let asked = format!("congestion control at netperf: asked for {restricted}");
    assert!(named.stderr.contains(&asked), "{}", named.account());
    let letter = run(&server, &format!("-- -K {restricted},"), false).expect_exit(0);
    assert!(letter.stderr.contains(&asked), "{}", letter.account());
    let warning = &letter.document()["warnings"][0];
    assert_eq!(warning["code"], "not_as_asked");
}

#[test]
fn a_comparison_with_a_congestion_control_that_is_not_permitted_fails() {
    let Some(restricted) = restricted_congestion() else {
        return;
    };
    let server = ours!().serve();
    let port = server.port();
    let test = format!("-H 127.0.0.1 -p {port} -t TCP_RR -l -50");
    for asked in ["--congestion", "-- -K"] {
        let words =
            format!("run --pairs 1 -- {test} {asked} {restricted}, --vs {test} {asked} reno,");
        let finished = invocation(false).args(words.split_whitespace()).run();
        let finished = finished.expect_exit(UNSUPPORTED);
        let lacking = format!("congestion control at netperf: asked for {restricted}");
        assert!(finished.stderr.contains(&lacking), "{}", finished.account());
        assert_eq!(finished.stdout, "", "{}", finished.account());
    }
}

#[test]
fn transactions_of_a_test_without_any_fail_by_name_and_warn_by_letter() {
    let server = ours!().serve();
    let said = "unit x: TCP_STREAM counts no transactions; in force is 10^6bits/s";
    let named = run(&server, "-t TCP_STREAM --unit x", true).expect_exit(UNSUPPORTED);
    assert!(named.stderr.contains(said), "{}", named.account());
    let letter = run(&server, "-t TCP_STREAM -f x", true).expect_exit(0);
    assert!(letter.stderr.contains(said), "{}", letter.account());
    assert_eq!(letter.document()["warnings"][0]["message"], said);
    for test in ["TCP_RR", "TCP_CC"] {
        let finished = run(&server, &format!("-t {test} --unit x"), true).expect_exit(0);
        assert!(!finished.stderr.contains("unit"), "{}", finished.account());
    }
}

#[test]
fn unusable_marks_of_sockets_tests_are_named() {
    let server = ours!().serve();
    for test in ["TCP_SENDFILE", "TCP_CC"] {
        for value in ["-y abc", "-Y foo"] {
            let finished = run(&server, &format!("-t {test} {value}"), true).expect_exit(0);
            let named = format!("netperf: {value}: ");
            assert!(finished.stderr.contains(&named), "{}", finished.account());
            let warnings = finished.document()["warnings"].to_string();
            assert!(warnings.contains("not_as_asked"), "{}", finished.account());
        }
    }
}

#[test]
fn a_setting_that_is_not_in_force_is_in_the_page_and_in_the_history() {
    let (server, folder) = (ours!().serve(), Scratch::new());
    let finished = run(&server, "-T 99999,", true).expect_exit(0);
    std::fs::write(folder.path().join("run.json"), &finished.stdout).expect("a result");
    let netperf = |words: &str| {
        Invocation::new(&ours!().netperf)
            .args(words.split_whitespace())
            .folder(folder.path())
            .env("XDG_DATA_HOME", folder.path())
            .run()
            .expect_clean()
    };
    let lacking = "this host has no CPU 99999 to run on";
    netperf("report run.json -o page.html");
    let page = std::fs::read_to_string(folder.path().join("page.html")).expect("a page");
    assert!(page.contains(lacking), "{page}");
    netperf("history add run.json");
    let kept = netperf("history show 1").stdout;
    assert!(kept.contains(lacking), "{kept}");
}

#[test]
fn a_burst_that_does_not_fit_the_buffers_is_read_while_it_is_sent() {
    let server = ours!().serve();
    let finished = run(&server, "-- -b 200 -r 64K,64K", true).expect_exit(0);
    let rate = finished.document()["result"]["transactions_per_second"].as_f64();
    // More than the burst: requests that merely lie in buffers have no responses.
    assert!(rate > Some(0.0), "{}", finished.account());
}

#[test]
fn a_burst_is_read_while_it_is_sent_by_every_method_and_on_many_flows() {
    let server = ours!().serve_with_rings();
    let port = server.port().to_string();
    let netperf = |words: &str| {
        let words = format!(
            "--json -H 127.0.0.1 -p {port} -t TCP_RR --count 60 {words} \
             -- -b 20 -r 64K,64K -s 32K -S 32K"
        );
        Invocation::new(&ours!().netperf)
            .args(words.split_whitespace())
            .run()
    };
    let mut options = vec!["--io poll", "--io epoll", "--flows 2 --threads 2"];
    if netperf_os::uring::Uring::new(1, None).is_ok() {
        options.push("--io uring");
    }
    for options in options {
        let finished = netperf(options).expect_exit(0);
        let transactions = finished.document()["iterations"][0]["local"]["transactions"].as_u64();
        assert_eq!(transactions, Some(60), "{}", finished.account());
    }
}
