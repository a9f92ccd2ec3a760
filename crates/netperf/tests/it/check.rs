//! `netperf check`: one command, and a summary for a person or as JSON.

use netperf_testkit::schema::Schema;
use netperf_testkit::{Finished, Invocation, Programs, Scratch, Terminal, ours, peers};
use serde_json::Value;

fn check(folder: &Scratch, words: &[&str]) -> Invocation {
    Invocation::new(&ours!().netperf)
        .arg("check")
        .args(words)
        .folder(folder.path())
        .env("XDG_DATA_HOME", folder.path())
        // Its phases and pauses are many.
        .patience(std::time::Duration::from_secs(120))
}

/// A check of short phases.
fn short(folder: &Scratch, port: u16, words: &[&str]) -> Finished {
    let port = port.to_string();
    let words = [&["127.0.0.1", "-p", &port, "--length", "200ms"], words].concat();
    check(folder, &words).run()
}

/// The lines with this title.
fn lines<'a>(text: &'a str, title: &str) -> Vec<&'a str> {
    let of =
        |line: &&str| line.starts_with(title) && line.as_bytes().get(title.len()) == Some(&b' ');
    text.lines().filter(of).collect()
}

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{}", finished.account()))
}

/// A phase of a summary.
fn phase<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let phases = summary["phases"].as_array().expect("phases");
    let found = phases.iter().find(|phase| phase["phase"] == name);
    found.unwrap_or_else(|| panic!("{name} is not in {summary}"))
}

/// Returns true if a probe was sent while the phase had its load. On a busy host the programs of a
/// phase do not start together: a load of 0.3 s may end before the first probe or begin after the last.
fn has_probes(latency: &Value) -> bool {
    latency["round_trip"]["count"].as_u64() > Some(0)
}

/// Titles of the lines that every summary has.
const TITLES: [&str; 9] = [
    "idle",
    "down",
    "up",
    "both down",
    "both up",
    "UDP",
    "Host",
    "Client",
    "Server",
];

#[test]
fn the_summary_has_every_phase_fits_a_terminal_and_the_second_one_the_change() {
    let (folder, server) = (Scratch::new(), ours!().serve());
    let first = short(&folder, server.port(), &[]).expect_clean();
    for title in TITLES {
        assert!(
            !lines(&first.stdout, title).is_empty(),
            "{title}: {}",
            first.stdout
        );
    }
    let [client] = lines(&first.stdout, "Client")[..] else {
        panic!("{}", first.stdout)
    };
    assert!(client.contains("127.0.0.1"), "{client}");
    assert!(
        lines(&first.stdout, "Change").is_empty(),
        "{}",
        first.stdout
    );
    assert!(
        first.stdout.lines().all(|line| line.len() <= 80),
        "{}",
        first.stdout
    );
    // The tests' locale has no Unicode, and no terminal is there for colours.
    assert!(first.stdout.is_ascii(), "{}", first.stdout);
    assert!(!first.stdout.contains('\u{1b}'), "{}", first.stdout);

    let second = short(&folder, server.port(), &["--json"]).expect_clean();
    let summary = json(&second);
    assert_eq!(summary["schema"], "netperf-check-2");
    assert_eq!(summary["complete"], true, "{summary}");
    let mut sum = 0.0;
    for (name, way) in [
        ("down", "down"),
        ("up", "up"),
        ("both", "down"),
        ("both", "up"),
    ] {
        let phase = phase(&summary, name);
        let load = &phase[way];
        // Nothing moves in a phase in which a busy host does not run the programs.
        let rate = load["bits_per_second"].as_f64();
        sum += rate.unwrap_or_else(|| panic!("{name}: {load}"));
        assert!(load["senders"]["busy_share"].is_number(), "{name}: {load}");
        assert!(phase["local_cpu"]["busy_percent"].is_number(), "{phase}");
        let latency = &phase["latency"][0];
        for direction in ["up_increase", "down_increase", "path_increase"] {
            assert_eq!(
                latency[direction]["p50_seconds"].is_number(),
                has_probes(latency),
                "{latency}"
            );
        }
    }
    assert!(sum > 0.0, "{summary}");
    let idle = &phase(&summary, "idle")["latency"][0];
    assert!(has_probes(idle), "{idle}");
    for end in ["local", "remote"] {
        assert!(summary[end]["program_version"].is_string(), "{summary}");
        assert_eq!(summary[end]["address"], "127.0.0.1", "{summary}");
    }
    let datagrams = &phase(&summary, "udp")["datagrams"];
    assert!(datagrams["reordered"].is_number(), "{datagrams}");
    let changes = summary["changes"].as_array().expect("a list").iter();
    let changes: Vec<&str> = changes.filter_map(|one| one["metric"].as_str()).collect();
    let rates = ["down", "up", "both down", "both up"];
    assert!(
        rates.iter().all(|rate| changes.contains(rate)),
        "{changes:?}"
    );
    // A phase of 0.3 s on a busy host may be without an answered probe.
    let times = ["idle P50", "down P50", "up P50", "both P50", "UDP P50"];
    let is_known = |name: &&str| rates.contains(name) || times.contains(name);
    assert!(changes.iter().all(is_known), "{changes:?}");
    assert!(changes.contains(&"idle P50"), "{changes:?}");
    assert!(summary["last_unix_seconds"].is_number());
    assert_eq!(summary["failures"], Value::Array(Vec::new()));
}

#[test]
fn a_check_without_history_leaves_nothing_and_of_a_stock_netserver_it_says_what_is_missing() {
    let Some(stock) = Programs::stock() else {
        return;
    };
    let (folder, server) = (Scratch::new(), stock.serve());
    let finished = short(&folder, server.port(), &["--json", "--no-history"]);
    let summary = json(&finished);
    let datagrams = &phase(&summary, "udp")["datagrams"];
    assert!(
        datagrams["sent_bits_per_second"].as_f64() > Some(0.0),
        "{}",
        finished.account()
    );
    assert_eq!(datagrams["reordered"], Value::Null);
    assert_eq!(summary["remote"]["program_version"], Value::Null);
    assert_eq!(summary["changes"], Value::Array(Vec::new()));
    let missing = summary["missing"][0].as_str().unwrap_or_default();
    assert!(missing.contains("does not stamp probes"), "{summary}");
    for name in ["down", "up"] {
        let latency = &phase(&summary, name)["latency"][0];
        let measured = latency["round_trip"]["p50_seconds"].is_number();
        assert_eq!(measured, has_probes(latency), "{latency}");
        assert_eq!(latency["up_increase"], Value::Null, "{latency}");
        assert_eq!(latency["up_loss"], Value::Null, "{latency}");
    }
    let idle = &phase(&summary, "idle")["latency"][0];
    assert!(has_probes(idle), "{idle}");
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 0);
}

#[test]
fn classes_have_loads_and_probes_of_their_own_whose_codepoints_arrive() {
    let (folder, server) = (Scratch::new(), ours!().serve());
    let words = [
        "--json",
        "--no-history",
        "--length",
        "1s",
        "--profile",
        "rrul",
        "--classes",
        "be,ef",
        "--up",
        "2",
        "--down",
        "3",
    ];
    let summary = json(&short(&folder, server.port(), &words).expect_clean());
    let both = phase(&summary, "both");
    for way in ["down", "up"] {
        let classes = both[way]["classes"].as_array().expect("classes");
        let names: Vec<&Value> = classes.iter().map(|class| &class["class"]).collect();
        assert_eq!(names, ["be", "ef"], "{both}");
        assert!(both[way]["class_fairness"].is_number(), "{both}");
    }
    let latency = both["latency"].as_array().expect("classes");
    for (class, code) in latency.iter().zip([0, 46]) {
        for way in ["up_dscp", "down_dscp"] {
            assert_eq!(class[way]["fate"], "kept", "{class}");
            assert_eq!(class[way]["arrived"], code, "{class}");
        }
    }
}

#[test]
fn a_page_and_a_file_of_flent_have_what_was_measured() {
    let (folder, server) = (Scratch::new(), ours!().serve());
    let (page, file) = (
        folder.path().join("c.html"),
        folder.path().join("c.flent.gz"),
    );
    let export = format!("flent:{}", file.display());
    let words = [
        "--no-history",
        "--profile",
        "rrul_be",
        "--page",
        &page.to_string_lossy(),
        "--export",
        &export,
    ];
    short(&folder, server.port(), &words).expect_clean();
    let page = std::fs::read_to_string(page).expect("a page");
    let titles = [
        "From the server",
        "To the server",
        "Round trip",
        "Round trip by percentile",
    ];
    for title in titles {
        assert!(page.contains(&format!(">{title}<")), "{title}");
    }
    assert!(page.contains("<path class=\"l s0\""), "no line");
    assert!(page.contains(">both</text>"), "no phase");
    assert!(!page.contains("://"), "an address");
    // Our own reader of flent's files knows it.
    let read = Invocation::new(&ours!().netperf)
        .args(["report", &file.to_string_lossy(), "--markdown", "-"])
        .run()
        .expect_exit(0);
    assert!(read.stdout.contains("TCP download"), "{}", read.account());
    let Some(flent) = peers::flent() else {
        return;
    };
    let of_flent = |words: &[&str]| {
        Invocation::new(&flent)
            .args(["-i", file.to_str().expect("a name")])
            .args(words)
            .folder(folder.path())
            .env("HOME", folder.path())
            .env("MPLCONFIGDIR", folder.path())
            .patience(std::time::Duration::from_secs(120))
            .run()
            .expect_exit(0)
    };
    let table = of_flent(&["-f", "csv"]);
    for name in ["TCP download BE", "TCP upload BE", "Ping (ms) UDP BE"] {
        assert!(table.stdout.contains(name), "{name}: {}", table.account());
    }
    // Debian's package only recommends what it plots with.
    let plot = folder.path().join("c.png");
    let finished = of_flent(&["-p", "all_scaled", "-o", plot.to_str().expect("a name")]);
    if !finished.stderr.contains("matplotlib is missing") {
        let drawn = plot.metadata().is_ok_and(|file| file.len() > 1000);
        assert!(drawn, "{}", finished.account());
    }
}

#[test]
fn two_checks_as_json_are_one_report() {
    let (folder, server) = (Scratch::new(), ours!().serve());
    for name in ["a.json", "b.json"] {
        let words = ["--no-history", "--profile", "rrul_be", "--json"];
        let finished = short(&folder, server.port(), &words).expect_clean();
        let document = serde_json::from_str(&finished.stdout).expect("a document");
        let schema = include_str!("../../../../docs/schema/netperf-check-2.schema.json");
        let faults = Schema::parse(schema).faults(&document);
        assert_eq!(faults, [""; 0], "{}", finished.account());
        std::fs::write(folder.path().join(name), finished.stdout).expect("a file");
    }
    let report = Invocation::new(&ours!().netperf)
        .args([
            "report",
            "a.json",
            "b.json",
            "-o",
            "page.html",
            "--markdown",
            "-",
        ])
        .folder(folder.path())
        .run()
        .expect_exit(0);
    for text in ["check rrul", "both down", "both be added delay"] {
        assert!(report.stdout.contains(text), "{text}: {}", report.account());
    }
    assert!(folder.path().join("page.html").is_file());
}

#[test]
fn a_grade_that_is_worse_or_unknown_fails_where_one_is_expected() {
    // Without a phase that loads the path over TCP there is no grade.
    let (folder, server) = (Scratch::new(), ours!().serve());
    let words = [
        "--no-history",
        "--profile",
        "rrul_be",
        "--load",
        "udp:64k",
        "--expect",
        "F",
    ];
    let finished = short(&folder, server.port(), &words);
    assert_eq!(finished.status.code(), Some(1), "{}", finished.account());
    assert!(
        finished.stderr.contains("the grade is unknown"),
        "{}",
        finished.account()
    );
}

#[test]
fn an_option_that_the_kernel_refuses_ends_a_check_before_it_begins() {
    let folder = Scratch::new();
    let server = ours!().serve();
    let words = ["--congestion", "no-such", "--json"];
    let finished = short(&folder, server.port(), &words);
    assert_eq!(finished.status.code(), Some(3), "{}", finished.account());
    let refused = "asked for no-such, in force is ";
    assert!(finished.stderr.contains(refused), "{}", finished.account());
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.account());
    let summary = json(&finished);
    let message = summary["error"]["message"].as_str().expect("a message");
    assert!(message.contains(refused), "{summary}");
    assert_eq!(summary["phases"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_host_without_netserver_fails_as_netperf_does_and_wrong_words_are_named() {
    let folder = Scratch::new();
    let nothing = short(&folder, 1, &[]);
    assert_eq!(nothing.status.code(), Some(255), "{}", nothing.account());
    assert!(
        nothing.stderr.contains("127.0.0.1") && nothing.stdout.is_empty(),
        "{}",
        nothing.account()
    );
    for (words, named) in [
        (&[][..], "the host is required"),
        (&["127.0.0.1", "--lengt", "1"], "--length"),
        (&["127.0.0.1", "--length", "0"], "--length"),
        (&["127.0.0.1", "--interval", "2s"], "--interval"),
        (&["127.0.0.1", "--profile", "fast"], "--profile"),
        (&["127.0.0.1", "--classes", "be,af9"], "'af9'"),
        (&["127.0.0.1", "--load", "tcp:5M"], "udp:50M"),
        (&["127.0.0.1", "--export", "csv:x"], "--export"),
        (&["127.0.0.1", "--", "--time", "5"], "--time"),
        (&["127.0.0.1", "--", "--udp"], "-- --udp: "),
        // Errors that would otherwise appear after the measurement.
        (&["127.0.0.1", "--page", "."], ".: is a folder"),
        (
            &["127.0.0.1", "--page", "none/x.html"],
            "its folder does not exist",
        ),
        (
            &["127.0.0.1", "--export", "flent:none/x"],
            "its folder does not exist",
        ),
        (&["127.0.0.1", "--db", "."], ". is a folder"),
    ] {
        let wrong = check(&folder, words).run();
        assert_eq!(wrong.status.code(), Some(2), "{}", wrong.account());
        assert!(wrong.stderr.contains(named), "{}", wrong.account());
    }
}

/// A check of a short phase on the full screen of a terminal, once its load has a rate.
fn on_a_screen(length: &str) -> Option<(Terminal, netperf_testkit::Netserver, String)> {
    let server = ours!().serve();
    let (program, port) = (ours!().netperf.display().to_string(), server.port());
    let command = format!(
        "'{program}' check 127.0.0.1 -p {port} --profile phases --length {length} --no-history --live"
    );
    let terminal = Terminal::start((60, 20), &[("LC_ALL", "C.UTF-8")], &command)?;
    let screen = terminal.until("a rate", |screen| {
        let down = screen.lines().find(|line| line.starts_with("> down"));
        down.is_some_and(|line| line.contains("bit/s"))
    });
    Some((terminal, server, screen))
}

#[test]
fn a_check_on_a_full_screen_has_a_row_for_each_direction_and_ends_at_a_key() {
    let Some((terminal, _server, screen)) = on_a_screen("1s") else {
        return;
    };
    let lines: Vec<&str> = screen.lines().collect();
    assert_eq!(lines[0], "netperf check 127.0.0.1", "{screen}");
    for name in ["  idle", "> down", "  up", "  both down", "  both up"] {
        let is_row = |line: &&&str| line.starts_with(name);
        assert_eq!(lines.iter().filter(is_row).count(), 1, "{name}: {screen}");
    }
    let fits = |line: &&str| line.chars().count() <= 60;
    assert!(lines.len() <= 20 && lines.iter().all(fits), "{screen}");
    terminal.press("q");
    let all = terminal.end();
    assert!(all.contains("ended with 1"), "{all}");
    assert!(
        all.contains("interrupted: what was measured before is shown"),
        "{all}"
    );
    // The summary of the phases so far stays, the screen goes.
    assert!(all.contains("idle") && all.contains("Host"), "{all}");
    assert!(!all.contains("q or Ctrl-C ends"), "{all}");
    assert!(!terminal.is("alternate_on") && terminal.is("cursor_flag"));
}

#[test]
fn a_check_with_live_but_no_terminal_is_refused() {
    let folder = Scratch::new();
    let finished = check(&folder, &["127.0.0.1", "-p", "1", "--live"]).run();
    assert_eq!(finished.status.code(), Some(3), "{}", finished.account());
    let why = "netperf check: --live: neither standard error nor standard output is a terminal: \
               leave it out\n";
    assert_eq!(finished.stderr, why);
}
