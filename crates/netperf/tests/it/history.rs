//! `netperf history`, as it is typed, and as it is killed.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netperf_history::{Filter, Location, Store};
use netperf_testkit::{Finished, Invocation, Running, Scratch, ours};
use serde_json::{Value, json};

/// netperf with a private history in a folder.
fn history(folder: &Scratch, words: &[&str]) -> Invocation {
    Invocation::new(&ours!().netperf)
        .arg("history")
        .args(words)
        .folder(folder.path())
        .env("XDG_DATA_HOME", folder.path())
}

fn file(folder: &Scratch) -> PathBuf {
    folder.path().join("netperf/history.sqlite")
}

/// A document with this rate, which began so many days after some day of 2023.
fn document(day: usize, rate: f64, kernel: &str) -> String {
    let days = u32::try_from(day).expect("few days");
    let document = json!({
        "schema": "netperf-1",
        "command_line": "netperf -t TCP_RR -H db1",
        "started_unix_seconds": 1.7e9 + 86_400.0 * f64::from(days),
        "test": {"name": "TCP_RR"},
        "remote": {"name": "db1", "host": {"release": kernel}},
        "result": {"transactions_per_second": rate},
        "filler": "x".repeat(2000),
    });
    document.to_string()
}

/// Files of results in a folder: forty of them, and the rate fell in the middle.
fn forty(scratch: &Scratch) {
    let folder = scratch.path().join("runs");
    std::fs::create_dir_all(&folder).expect("a folder");
    for day in 0..40 {
        let noise = f64::from(u32::try_from(day * 7 % 11).expect("small"));
        let (rate, kernel) = if day < 20 {
            (1000.0, "6.1")
        } else {
            (900.0, "6.12")
        };
        let text = document(day, rate + noise, kernel);
        std::fs::write(folder.join(format!("{day:02}.json")), text).expect("a result");
    }
}

fn done(folder: &Scratch, words: &[&str]) -> Finished {
    history(folder, words).run().expect_clean()
}

#[test]
fn results_are_added_listed_shown_and_forgotten() {
    let scratch = Scratch::new();
    forty(&scratch);
    let added = done(&scratch, &["add", "runs"]).stdout;
    assert_eq!(added.lines().count(), 40, "{added}");
    assert!(
        added.lines().all(|line| line.starts_with("saved ")),
        "{added}"
    );
    let again = done(&scratch, &["add", "runs/00.json"]).stdout;
    assert!(again.starts_with("known 1 "), "{again}");
    let listed = done(&scratch, &["list", "--limit", "3"]).stdout;
    assert_eq!(listed.lines().count(), 4, "{listed}");
    let shown = done(&scratch, &["show", "1"]).stdout;
    assert_eq!(shown, document(0, 1000.0, "6.1"));
    let trend = done(&scratch, &["trend", "--test", "tcp_rr"]).stdout;
    assert!(trend.contains("20 earlier ones"), "{trend}");
    let changed = done(&scratch, &["change", "--host", "db1"]).stdout;
    assert!(
        changed.contains("remote.host.release: 6.1 -> 6.12"),
        "{changed}"
    );
    assert!(changed.contains(" worse, p 0.0005"), "{changed}");
    let csv = done(&scratch, &["export", "--csv", "-"]).stdout;
    assert_eq!(csv.lines().count(), 41, "{csv}");
    let told = done(&scratch, &["forget", "--keep-last", "5", "--dry-run"]).stdout;
    assert_eq!(told, "35 results would be forgotten\n");
    assert_eq!(
        done(&scratch, &["forget", "40"]).stdout,
        "1 result forgotten\n"
    );
    let told = done(&scratch, &["forget", "--older-than", "1d"]).stdout;
    assert_eq!(told, "39 results forgotten\n");
    assert_eq!(done(&scratch, &["list"]).stdout, "No result.\n");
    assert_eq!(done(&scratch, &["trend"]).stdout, "No result.\n");
    assert_eq!(done(&scratch, &["check"]).stdout, "Nothing is damaged.\n");
}

#[test]
fn the_damage_of_a_file_is_named_with_a_way_out() {
    let scratch = Scratch::new();
    forty(&scratch);
    done(&scratch, &["add", "runs"]);
    let path = file(&scratch);
    let mut bytes = std::fs::read(&path).expect("a file");
    // All pages but the first, which names the tables.
    bytes.iter_mut().skip(4096).for_each(|byte| *byte = 0xa5);
    std::fs::write(&path, bytes).expect("written");
    for command in ["check", "list"] {
        let finished = history(&scratch, &[command]).run();
        let said = &finished.stderr;
        assert!(!finished.status.success(), "{}", finished.account());
        assert!(said.contains("page"), "{}", finished.account());
        assert!(said.contains(".recover"), "{}", finished.account());
        assert!(!said.contains("history check`"), "{}", finished.account());
        assert_eq!(said.lines().count(), 1, "{}", finished.account());
    }
}

#[test]
fn documents_for_programs_say_the_same() {
    let scratch = Scratch::new();
    forty(&scratch);
    let lines = done(&scratch, &["add", "runs", "--json", "--label", "nightly"]).stdout;
    let first: Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (&first["event"], &first["id"]),
        (&json!("saved"), &json!(1))
    );
    let read = |words: &[&str]| -> Value {
        serde_json::from_str(&done(&scratch, words).stdout).expect("a document")
    };
    let list = read(&["list", "--json", "--label", "nightly", "--limit", "100"]);
    assert_eq!(list["schema"], "netperf-history-1");
    assert_eq!(list["results"].as_array().map(Vec::len), Some(40));
    let trend = read(&["trend", "--json"]);
    assert_eq!(trend["trends"][0]["points"][0]["value"], 1000.0);
    let changes = read(&["change", "--json"]);
    assert_eq!(changes["changes"][0]["changes"][0]["outcome"], "worse");
    let forgotten = read(&["forget", "1", "2", "--json"]);
    assert_eq!(forgotten["forgotten"], json!([1, 2]));
}

#[test]
fn one_bad_file_keeps_no_other_from_being_saved() {
    let scratch = Scratch::new();
    forty(&scratch);
    let bad = scratch.path().join("bad.json");
    std::fs::write(&bad, "{}").expect("a file");
    let words = [
        "add",
        "runs/00.json",
        "bad.json",
        "missing.json",
        "runs/01.json",
    ];
    let added = history(&scratch, &words).run().expect_exit(2);
    assert_eq!(added.stdout.lines().count(), 2, "{}", added.account());
    assert_eq!(added.stderr.lines().count(), 2, "{}", added.account());
}

#[test]
fn history_names_invalid_input_in_one_line() {
    let scratch = Scratch::new();
    let said = |words: &[&str], line: &str| {
        let finished = history(&scratch, words).run().expect_exit(2);
        assert!(finished.stderr.contains(line), "{}", finished.account());
        assert_eq!(finished.stdout, "");
    };
    said(&["list"], "there is no history at");
    forty(&scratch);
    done(&scratch, &["add", "runs"]);
    said(&["list", "--since", "yesterday"], "expected a date such as");
    said(&["forget", "--older-than", "2026-01-01"], "expected an age");
    said(&["trend", "--metric", "speed"], "there is transaction rate");
    said(&["show", "77"], "there is no result 77");
    // A name of any length is listed, cut.
    let long = document(1, 1000.0, "6.1").replace("db1", &"d".repeat(100_000));
    std::fs::write(scratch.path().join("long.json"), long).expect("a result");
    done(&scratch, &["add", "long.json"]);
    let listed = done(&scratch, &["list", "--limit", "100"]).stdout;
    let longest = listed.lines().map(str::len).max();
    assert!(longest.is_some_and(|length| length < 300), "{longest:?}");
    said(&["list", "--db", "runs/00.json"], "is not a history");
    said(&["list", "--limit", "0"], "from 1 to 1000000");
}

/// Results of one writer, each in a separate file.
fn of_writer(scratch: &Scratch, name: &str, results: usize) -> PathBuf {
    let folder = scratch.path().join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    for at in 0..results {
        let text = document(at, 1000.0, name);
        std::fs::write(folder.join(format!("{at:04}.json")), text).expect("a result");
    }
    folder
}

/// Results that a writer reported as saved or known: number, and first digits of the digest.
/// A partial line does not count.
fn reported(stdout: &str) -> Vec<(i64, String)> {
    let whole = stdout.rsplit_once('\n').map_or("", |(lines, _)| lines);
    let lines = whole.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        assert!(["saved", "known"].contains(&words[0]), "{line}");
        (words[1].parse().expect("a number"), words[2].to_owned())
    });
    lines.collect()
}

/// Holds a store against what was reported of it.
fn holds(file: &Path, reports: &[(i64, String)]) {
    let mut store = Store::open(&Location::File(file.to_owned()), false).expect("the store");
    assert_eq!(store.check(), Ok(Vec::new()));
    let list = store.list(&Filter::default(), None).expect("a list");
    let kept: BTreeMap<i64, &str> = list.iter().map(|l| (l.id, l.digest.as_str())).collect();
    for (id, digest) in reports {
        let found = kept
            .get(id)
            .unwrap_or_else(|| panic!("result {id} is lost"));
        assert!(found.starts_with(digest), "result {id}");
    }
}

fn kill(mut writer: Running) -> String {
    writer.signal("KILL");
    netperf_testkit::eventually(Duration::from_secs(10), || writer.ended());
    writer.finish().stdout
}

#[test]
fn a_writer_that_is_killed_loses_nothing_that_it_reported() {
    killed_writers_lose_nothing(4);
}

#[test]
#[ignore = "nightly: twelve moments"]
fn a_writer_that_is_killed_at_any_moment_loses_nothing_that_it_reported() {
    killed_writers_lose_nothing(12);
}

fn killed_writers_lose_nothing(rounds: u64) {
    let scratch = Scratch::new();
    let mut reports = Vec::new();
    for round in 0..rounds {
        let folder = of_writer(&scratch, &format!("round-{round}"), 250);
        let name = folder.to_string_lossy();
        let mut writer = history(&scratch, &["add", &name]).spawn();
        // In the middle of the second or third transaction, or of making the file.
        match round % 4 {
            // A different moment in every round.
            0 => std::thread::sleep(Duration::from_millis(round)),
            _ => assert!(writer.prints("saved ", Duration::from_secs(20))),
        }
        reports.extend(reported(&kill(writer)));
    }
    // Each writer but every fourth had reported something.
    let least = usize::try_from(rounds - rounds / 4).expect("few");
    assert!(reports.len() >= least, "only {}", reports.len());
    holds(&file(&scratch), &reports);
}

#[test]
fn two_writers_at_once_lose_nothing_either() {
    let scratch = Scratch::new();
    let folders = ["one", "other"].map(|name| of_writer(&scratch, name, 150));
    let both = of_writer(&scratch, "both", 60);
    let writers = folders.map(|folder| {
        let (own, shared) = (folder.to_string_lossy(), both.to_string_lossy());
        history(&scratch, &["add", &own, &shared]).spawn()
    });
    let mut reports = Vec::new();
    for writer in writers {
        reports.extend(reported(&writer.finish().expect_clean().stdout));
    }
    assert_eq!(reports.len(), 2 * 210);
    holds(&file(&scratch), &reports);
    let mut ids: Vec<i64> = reports.into_iter().map(|(id, _)| id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 360);
}

/// A short run with a private netserver.
fn measured(folder: &Scratch, words: &[&str]) -> Finished {
    Invocation::new(&ours!().netperf)
        .args(["-t", "TCP_RR", "-l", "-200"])
        .args(words)
        .folder(folder.path())
        .env("XDG_DATA_HOME", folder.path())
        .run()
}

#[test]
fn a_run_is_kept_as_the_document_that_it_prints_or_would_print() {
    let scratch = Scratch::new();
    let server = netperf_testkit::Netserver::start(&ours!(), &netperf_testkit::Place::Here);
    let port = server.port().to_string();
    let run = |words: &[&str]| measured(&scratch, &[&["-p", &port], words].concat());
    let plain = run(&["--history"]).expect_exit(0);
    assert!(
        plain.stdout.contains("TCP REQUEST/RESPONSE"),
        "{}",
        plain.account()
    );
    assert_eq!(plain.stderr_beyond_hosts(), "netperf: kept as result 1\n");
    let document = run(&["--json", "--history"]).expect_exit(0);
    assert_eq!(done(&scratch, &["show", "2"]).stdout, document.stdout);
    let first: Value = serde_json::from_str(&done(&scratch, &["show", "1"]).stdout).expect("JSON");
    assert!(
        first["local"]["host"]["settings"].is_object(),
        "facts about the host"
    );
    let of_both = ["local", "remote"].map(|end| first[end]["host"]["settings"].clone());
    assert_eq!(
        of_both[0]["net.core.rmem_max"],
        of_both[1]["net.core.rmem_max"]
    );
    assert!(of_both[1]["net.ipv4.tcp_congestion_control"].is_string());
    assert!(of_both[1]["interface_mtu"].is_string(), "{}", of_both[1]);
    // Both asked for the same, and are one configuration.
    let trend = done(&scratch, &["trend"]).stdout;
    assert!(trend.contains("2 results"), "{trend}");
    let elsewhere = run(&["--history=other.sqlite"]).expect_exit(0);
    assert_eq!(
        elsewhere.stderr_beyond_hosts(),
        "netperf: kept as result 1\n"
    );
    assert!(scratch.path().join("other.sqlite").exists());
}

#[test]
fn a_history_that_cannot_be_opened_is_told_about_before_the_run() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path().join("text"), "x".repeat(200)).expect("a file");
    let refused = measured(&scratch, &["--history", "text"]).expect_exit(2);
    assert!(
        refused.stderr.contains("is not a history"),
        "{}",
        refused.account()
    );
    let empty = Invocation::new(&ours!().netperf).args(["-t", "LOC_CPU", "--history", "h"]);
    let refused = empty.folder(scratch.path()).run().expect_exit(2);
    assert!(
        refused.stderr.contains("no result to keep"),
        "{}",
        refused.account()
    );
}

#[test]
fn a_table_is_not_written_over_the_history() {
    let scratch = Scratch::new();
    forty(&scratch);
    done(&scratch, &["add", "runs"]);
    let link = scratch.path().join("link.csv");
    std::os::unix::fs::symlink(file(&scratch), &link).expect("a link");
    for name in [
        "netperf/history.sqlite",
        "netperf/history.sqlite-wal",
        "link.csv",
    ] {
        let refused = history(&scratch, &["export", "--csv", name])
            .run()
            .expect_exit(2);
        assert!(
            refused.stderr.contains("is an input"),
            "{}",
            refused.account()
        );
    }
    assert_eq!(done(&scratch, &["check"]).stdout, "Nothing is damaged.\n");
}

#[test]
fn a_history_that_may_only_be_read_is_read() {
    let scratch = Scratch::new();
    forty(&scratch);
    done(&scratch, &["add", "runs"]);
    let (file, folder) = (file(&scratch), scratch.path().join("netperf"));
    let may = |file_may: u32, folder_may: u32| {
        let set = |path: &Path, mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path, mode).expect("permissions");
        };
        set(&file, file_may);
        set(&folder, folder_may);
    };
    // root may write all the same, and nothing differs then.
    for file_may in [0o400, 0o600] {
        may(file_may, 0o500);
        assert_eq!(done(&scratch, &["list"]).stdout.lines().count(), 21);
        assert_eq!(done(&scratch, &["check"]).stdout, "Nothing is damaged.\n");
        may(0o600, 0o700);
    }
}
