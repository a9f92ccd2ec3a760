//! `netperf compare` and `netperf run`, as they are typed.

use std::time::Duration;

use netperf_testkit::{Finished, Invocation, Scratch, ours};
use serde_json::{Value, json};

fn netperf(folder: &Scratch, words: &[&str]) -> Finished {
    let command = Invocation::new(&ours!().netperf).args(words);
    command.folder(folder.path()).run()
}

/// A set of results in a folder, with these rates.
fn results(scratch: &Scratch, folder: &str, rates: &[f64]) {
    let folder = scratch.path().join(folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    for (at, rate) in rates.iter().enumerate() {
        let document = json!({
            "schema": "netperf-1",
            "test": {"name": "TCP_RR"},
            "result": {"transactions_per_second": rate},
        });
        let file = folder.join(format!("{at:03}.json"));
        std::fs::write(file, document.to_string()).expect("a result");
    }
}

/// Twelve rates around one, a little apart.
fn around(rate: f64) -> Vec<f64> {
    (0..12).map(|at| rate + f64::from(at * 7 % 12)).collect()
}

#[test]
fn a_rate_that_fell_is_worse_and_the_status_says_so() {
    let scratch = Scratch::new();
    results(&scratch, "before", &around(1000.0));
    results(&scratch, "after", &around(900.0));
    let found = netperf(&scratch, &["compare", "before", "after"]);
    assert_eq!(found.status.code(), Some(4), "{}", found.stdout);
    assert!(
        found.stdout.contains("B is worse: transaction rate -"),
        "{}",
        found.stdout
    );
    let found = netperf(&scratch, &["compare", "after", "before"]);
    assert_eq!(found.status.code(), Some(0), "{}", found.stdout);
    assert!(
        found.stdout.contains("B is better: transaction rate +"),
        "{}",
        found.stdout
    );
}

#[test]
fn sets_of_one_kind_are_equivalent() {
    let scratch = Scratch::new();
    results(&scratch, "a", &around(10_000.0));
    results(&scratch, "b", &around(10_005.0));
    for words in [
        &["compare", "a", "b"][..],
        &["compare", "--paired", "a", "b"],
    ] {
        let found = netperf(&scratch, words);
        assert_eq!(found.status.code(), Some(0), "{}", found.stdout);
        assert!(found.stdout.contains("Equivalent:"), "{}", found.stdout);
    }
}

#[test]
fn results_are_read_from_pipes_which_give_them_once() {
    let scratch = Scratch::new();
    results(&scratch, "a", &[1000.0]);
    results(&scratch, "b", &[2000.0]);
    let line = r#""$0" compare <(cat a/000.json) <(cat b/000.json)"#;
    let found = Invocation::new(std::path::Path::new("/bin/bash"))
        .args(["-c", line])
        .arg(&ours!().netperf)
        .folder(scratch.path())
        .run();
    assert_eq!(found.status.code(), Some(5), "{}", found.account());
    for said in ["1 and 1 runs", "+100.00"] {
        assert!(found.stdout.contains(said), "{}", found.stdout);
    }
}

#[test]
fn the_document_has_what_the_table_shows() {
    let scratch = Scratch::new();
    results(&scratch, "a", &around(1000.0));
    results(&scratch, "b", &around(1100.0));
    let found = netperf(&scratch, &["compare", "a", "b", "--json"]);
    let document: Value = serde_json::from_str(&found.stdout).expect("a document");
    assert_eq!(document["schema"], "netperf-compare-1");
    assert_eq!(document["outcome"], "better");
    let figure = &document["metrics"][0];
    assert_eq!(figure["name"], "transaction rate");
    assert_eq!(figure["ratio_is_infinite"], false);
    let (low, high) = (&figure["ratio_low"], &figure["ratio_high"]);
    assert!(low.as_f64().expect("a ratio") > 1.08, "{figure}");
    assert!(high.as_f64().expect("a ratio") < 1.12, "{figure}");
    let found = netperf(&scratch, &["compare", "a", "b", "--markdown"]);
    assert!(
        found.stdout.starts_with("B is better: ")
            && found.stdout.contains("\n\n| TCP\\_RR | a | b |"),
        "{}",
        found.stdout
    );
}

#[test]
fn compare_names_results_that_cannot_be_compared() {
    let scratch = Scratch::new();
    results(&scratch, "a", &around(1000.0));
    results(&scratch, "few", &[1000.0, 1001.0]);
    std::fs::create_dir(scratch.path().join("none")).expect("a folder");
    std::fs::write(scratch.path().join("text.json"), "hello").expect("a file");
    let failed = json!({"schema": "netperf-1", "test": {"name": "TCP_RR"},
        "error": {"message": "no netserver\nat all", "exit_status": 255}});
    std::fs::write(scratch.path().join("failed.json"), failed.to_string()).expect("a file");
    for (words, exit, said) in [
        (&["compare", "a", "none"][..], 2, "none has no run"),
        (&["compare", "a", "missing.json"], 2, "missing.json"),
        (&["compare", "a", "text.json"], 2, "text.json"),
        (
            &["compare", "a", "failed.json"],
            2,
            "failed has no result: no netserver\n",
        ),
        (
            &["compare", "a", "few", "--paired"],
            2,
            "as many runs on both sides",
        ),
        (&["compare", "a"], 2, "two files or folders"),
    ] {
        let found = netperf(&scratch, words);
        assert_eq!(
            found.status.code(),
            Some(exit),
            "{words:?}: {}",
            found.stderr
        );
        assert!(found.stderr.contains(said), "{words:?}: {}", found.stderr);
        assert_eq!(found.stdout, "", "{words:?}");
    }
    let run = json!({"schema": "netperf-1", "test": {"name": "TCP_RR"},
        "started_unix_seconds": 1e9, "result": {"transactions_per_second": 5.0}});
    for name in ["one.json", "again.json"] {
        std::fs::write(scratch.path().join(name), run.to_string()).expect("a file");
    }
    let twice = ["compare", "few", "vs", "one.json", "again.json"];
    let found = netperf(&scratch, &twice).expect_exit(2);
    let said = "netperf compare: one and again are the same run: name each once\n";
    assert_eq!(found.stderr, said);
    results(&scratch, "others", &[1000.0, 1001.0]);
    let found = netperf(&scratch, &["compare", "few", "others"]);
    assert_eq!(found.status.code(), Some(5), "{}", found.stdout);
    // The answer stands first.
    let said = "Inconclusive: transaction rate; about 5 runs of each would decide.\n\n";
    assert!(found.stdout.starts_with(said), "{}", found.stdout);
}

#[test]
fn an_interval_wider_than_the_margin_is_inconclusive() {
    let scratch = Scratch::new();
    let wild: Vec<f64> = (1..=12).map(|at| 100.0 * f64::from(at)).collect();
    let other: Vec<f64> = wild.iter().rev().map(|rate| rate + 50.0).collect();
    results(&scratch, "a", &wild);
    results(&scratch, "b", &other);
    let found = netperf(&scratch, &["compare", "a", "b", "--json"]).expect_exit(5);
    let document: Value = serde_json::from_str(&found.stdout).expect("JSON");
    assert_eq!(document["outcome"], "inconclusive");
    assert!(document["needed_runs"].as_u64().expect("a number") > 12);
    let figure = &document["metrics"][0];
    let value = |name: &str| figure[name].as_f64().expect("a number");
    assert!((value("ratio") - value("second_median") / value("first_median")).abs() < 1e-12);
    assert!(
        value("ratio_low") < 0.99 && 1.01 < value("ratio_high"),
        "{figure}"
    );
    results(&scratch, "like a", &wild);
    netperf(&scratch, &["compare", "a", "like a", "--margin", "10%"]).expect_exit(5);
    netperf(
        &scratch,
        &["compare", "a", "like a", "--paired", "--margin", "10%"],
    )
    .expect_exit(0);
}

#[test]
fn a_run_on_both_sides_is_refused() {
    let scratch = Scratch::new();
    results(&scratch, "a", &[1000.0, 1001.0]);
    let link = scratch.path().join("link.json");
    std::os::unix::fs::symlink("a/001.json", link).expect("a link");
    let run = json!({"schema": "netperf-1", "test": {"name": "TCP_RR"},
        "started_unix_seconds": 1e9, "result": {"transactions_per_second": 5.0}});
    for name in ["one.json", "copy.json"] {
        std::fs::write(scratch.path().join(name), run.to_string()).expect("a file");
    }
    for (sides, said) in [
        (["a", "a"], "a/000.json is on both sides: name it once"),
        (
            ["a", "link.json"],
            "link.json is on both sides: name it once",
        ),
        (
            ["one.json", "copy.json"],
            "one and copy are the same run: name each once",
        ),
    ] {
        let found = netperf(&scratch, &["compare", sides[0], sides[1]]).expect_exit(2);
        assert_eq!(found.stderr, format!("netperf compare: {said}\n"));
    }
}

#[test]
fn a_report_of_single_runs_has_the_verdict_of_their_comparison() {
    let scratch = Scratch::new();
    results(&scratch, "a", &[1000.0]);
    results(&scratch, "b", &[1100.0]);
    let files = ["a/000.json", "b/000.json"];
    let compared = netperf(&scratch, &["compare", files[0], files[1], "--json"]).expect_exit(5);
    let document: Value = serde_json::from_str(&compared.stdout).expect("a document");
    let verdict = document["outcome"].as_str().expect("a verdict");
    let report = [
        "report",
        files[0],
        files[1],
        "--markdown",
        "-",
        "-o",
        "page.html",
    ];
    let said = netperf(&scratch, &report).expect_exit(0).stdout;
    assert!(said.contains(&format!("leaves them {verdict}")), "{said}");
    let advice = "; one run of each shows no deviation, at least 5 runs of each are needed.";
    assert!(said.contains(advice), "{said}");
    assert!(compared.stdout.contains("inconclusive"));
    let page = std::fs::read_to_string(scratch.path().join("page.html")).expect("a page");
    assert!(page.contains(&format!("leaves them {verdict}")));
    assert!(page.contains(advice));
}

#[test]
fn a_report_of_sets_has_the_verdict_of_their_comparison() {
    let scratch = Scratch::new();
    results(&scratch, "before", &around(1000.0));
    results(&scratch, "after", &around(900.0));
    let compared = netperf(&scratch, &["compare", "before", "after"]).expect_exit(4);
    let verdict = compared.stdout.strip_prefix("B is worse: ");
    let (verdict, _) = verdict
        .and_then(|rest| rest.split_once("\n\n"))
        .expect("a verdict");
    let verdict = format!("after is worse: {verdict}");
    // Folders are sets, and so are files on either side of vs.
    let files = |folder| (0..12).map(move |at| format!("{folder}/{at:03}.json"));
    let mut sets = vec!["report".to_owned()];
    sets.extend(files("before"));
    sets.push("vs".to_owned());
    sets.extend(files("after"));
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    let of_files = verdict.replace("after is", "after/000.json ... after/011.json is");
    for (words, verdict) in [
        (&["report", "before", "after"][..], verdict.as_str()),
        (&sets, &of_files),
    ] {
        let outputs = ["--markdown", "-", "-o", "page.html"];
        let said = netperf(&scratch, &[words, &outputs].concat()).expect_exit(0);
        assert!(said.stdout.contains(verdict), "{}", said.stdout);
        assert!(!said.stdout.contains("Changes are from"), "{}", said.stdout);
        let page = std::fs::read_to_string(scratch.path().join("page.html")).expect("a page");
        assert!(page.contains(verdict));
    }
    std::fs::create_dir(scratch.path().join("empty")).expect("a folder");
    let refused = netperf(&scratch, &["report", "empty"]).expect_exit(2);
    assert_eq!(
        refused.stderr,
        "netperf report: the folders have no result\n"
    );
}

#[test]
fn figures_that_differ_are_refused_or_named() {
    let scratch = Scratch::new();
    let write = |name: &str, result: Value| {
        let document = json!({"schema": "netperf-1", "test": {"name": "TCP_RR"}, "result": result});
        std::fs::write(scratch.path().join(name), document.to_string()).expect("a file");
    };
    write("rate.json", json!({"transactions_per_second": 1000.0}));
    write(
        "bits.json",
        json!({"throughput": 5.0, "throughput_unit": "10^6bits/s"}),
    );
    let found = netperf(&scratch, &["compare", "rate.json", "bits.json"]).expect_exit(2);
    let said = "different metrics cannot be compared: transaction rate and throughput";
    assert!(found.stderr.contains(said), "{}", found.stderr);
}

#[test]
fn two_configurations_whose_figures_differ_in_meaning_are_refused_before_the_first_run() {
    let scratch = Scratch::new();
    // No netserver is there: a run would fail with another status.
    let here = ["-H", "127.0.0.1", "-p", "1"];
    let run = ["run", "--keep", "runs", "--"];
    let (first, second) = (["-t", "TCP_STREAM"], ["-t", "TCP_RR"]);
    let words = [&run[..], &here, &first, &["--vs"], &here, &second].concat();
    let found = netperf(&scratch, &words).expect_exit(2);
    assert_eq!(
        found.stderr,
        "netperf run: the metrics of the two sides cannot be compared: test TCP_STREAM and \
         test TCP_RR\n"
    );
    assert!(!scratch.path().join("runs").exists());
}

#[test]
fn values_of_an_option_run_in_turn_and_are_compared_with_the_first() {
    let scratch = Scratch::new();
    let words =
        "run --json --pairs 2 --keep runs --vary request-size=1,100,1000 -- -t TCP_RR -l -50";
    let words: Vec<&str> = words.split(' ').collect();
    let found = netperf(&scratch, &words).expect_exit(5);
    let document: Value = serde_json::from_str(&found.stdout).expect("a document");
    assert_eq!(document["schema"], "netperf-comparisons-1");
    assert_eq!(document["false_alarm_chance"], 0.01);
    for (at, second) in ["request-size=100", "request-size=1000"].iter().enumerate() {
        let one = &document["comparisons"][at];
        assert_eq!(
            (&one["first"], &one["second"]),
            (&json!("request-size=1"), &json!(second))
        );
        assert_eq!(one["false_alarm_chance"], 0.005);
    }
    for (name, size) in [("a-001", 1), ("b-001", 100), ("c-002", 1000)] {
        let file = scratch.path().join("runs").join(format!("{name}.json"));
        let run = std::fs::read_to_string(file).expect("a result");
        let run: Value = serde_json::from_str(&run).expect("a document");
        assert_eq!(run["test"]["request_bytes"], size, "{name}");
    }
}

#[test]
fn values_that_make_no_comparison_are_refused_before_the_first_run() {
    let scratch = Scratch::new();
    for (vary, command, said) in [
        ("congestion=bbr", "-l 1", "give 2 to 26 different values"),
        ("congestion", "-l 1", "--vary congestion: there is no name"),
        ("s=1,2", "-l 1", "-s is an option before and after `--`"),
        (
            "test=TCP_RR,TCP_STREAM",
            "-l 1",
            "test TCP_RR and test TCP_STREAM",
        ),
        (
            "congestion=reno,cubic",
            "-- -K cubic",
            "congestion=reno and congestion=cubic make the same test",
        ),
        ("m=1K,1024", "-l 1", "m=1K and m=1024 make the same test"),
        ("congestoin=reno,cubic", "-l 1", "congestoin"),
        ("m=1K,2K", "--tiem 1", "--tiem"),
    ] {
        let words = ["run", "--vary", vary, "--"];
        let words: Vec<&str> = words.into_iter().chain(command.split(' ')).collect();
        let found = netperf(&scratch, &words).expect_exit(2);
        assert!(found.stderr.contains(said), "{vary}: {}", found.stderr);
        assert_eq!(found.stdout, "", "{vary}");
    }
}

/// What inconclusive comparisons say about the runs that would decide.
fn needs(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.contains("Inconclusive: "));
    lines
        .map(|line| line.rsplit("; ").next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn two_configurations_run_in_turn_and_are_kept() {
    let scratch = Scratch::new();
    let found = netperf(
        &scratch,
        &[
            "run", "--pairs", "2", "--keep", "runs", "--", "-t", "TCP_RR", "-l", "-50", "--vs",
            "-t", "TCP_RR", "-l", "-50", "--", "-r", "2,2",
        ],
    );
    assert_eq!(
        found.status.code(),
        Some(5),
        "{}{}",
        found.stdout,
        found.stderr
    );
    assert!(found.stdout.contains("2 pairs of runs"), "{}", found.stdout);
    // The number that a verdict needs is told before the first run, and again with the result; a
    // report on the runs agrees.
    let first = found.stderr.lines().next().unwrap_or_default();
    let said = "netperf run: 2 pairs can show no difference: at least 11 are needed";
    assert!(first.starts_with(said), "{}", found.account());
    let report = netperf(
        &scratch,
        &[
            "report",
            "--markdown",
            "-",
            "runs/a-001.json",
            "runs/a-002.json",
            "vs",
            "runs/b-001.json",
            "runs/b-002.json",
        ],
    )
    .expect_exit(0);
    assert_eq!(
        needs(&found.stdout),
        needs(&report.stdout),
        "{}",
        report.account()
    );
    assert!(
        needs(&found.stdout)[0].contains("pairs"),
        "{}",
        found.account()
    );
    // So does a comparison of them, which were made in turn.
    let [a, b] =
        ["a", "b"].map(|side| ["001", "002"].map(|number| format!("runs/{side}-{number}.json")));
    let compared = netperf(&scratch, &["compare", &a[0], &a[1], "vs", &b[0], &b[1]]);
    assert_eq!(
        needs(&found.stdout),
        needs(&compared.stdout),
        "{}",
        compared.account()
    );
    let runs = scratch.path().join("runs");
    for name in ["a-001.json", "b-001.json", "a-002.json", "b-002.json"] {
        assert!(runs.join(name).is_file(), "{name}");
    }
    let words = ["run", "--keep", "runs", "--", "-l", "1", "--vs", "-l", "1"];
    let refused = netperf(&scratch, &words);
    assert_eq!(refused.status.code(), Some(2), "{}", refused.account());
    assert!(
        refused.stderr.contains("runs has results already"),
        "{}",
        refused.account()
    );
    // The other side would measure this host.
    let sides = ["-H", "192.0.2.1", "-l", "1", "--vs", "-l", "2"];
    let refused = netperf(&scratch, &[&["run", "--"], &sides[..]].concat());
    assert_eq!(refused.status.code(), Some(2), "{}", refused.account());
    assert!(
        refused.stderr.contains("-l 2: names no host"),
        "{}",
        refused.account()
    );
    let found = netperf(&scratch, &["run", "--", "-l", "1", "--vs", "-t", "NO_TEST"]);
    assert_eq!(found.status.code(), Some(1), "{}", found.stderr);
    assert!(
        found.stderr.contains(", run 1 failed: "),
        "{}",
        found.stderr
    );
}

#[test]
fn an_interrupted_pair_is_not_gone_on_with() {
    let scratch = Scratch::new();
    // A run of the other side would fail, and say so.
    let words = "run --keep runs -- -t TCP_RR --time 300ms --vs -t NO_TEST";
    let running = Invocation::new(&ours!().netperf)
        .args(words.split(' '))
        .folder(scratch.path())
        .spawn();
    let children = format!("/proc/{0}/task/{0}/children", running.pid());
    let begun = || std::fs::read_to_string(&children).is_ok_and(|list| !list.is_empty());
    assert!(netperf_testkit::eventually(Duration::from_secs(20), begun));
    running.signal("INT");
    let finished = running.finish();
    let said = "netperf run: interrupted in the first pair: there is nothing to compare\n";
    assert_eq!(finished.stderr, said, "{}", finished.account());
    assert_eq!(finished.status.code(), Some(1), "{}", finished.account());
    // A run that was cut short is not kept.
    let mut kept = std::fs::read_dir(scratch.path().join("runs")).expect("a folder");
    assert!(kept.next().is_none());
}

#[test]
fn a_comparison_that_a_signal_ended_is_not_complete() {
    let scratch = Scratch::new();
    let server = ours!().serve();
    let side = format!("-H 127.0.0.1 -p {} -t TCP_RR --count 5", server.port());
    let words = format!("run --json --pairs 5 --keep runs -- {side} --vs {side} -- -r 2");
    let whole = netperf(&scratch, &words.split(' ').collect::<Vec<_>>());
    let document: Value = serde_json::from_str(&whole.stdout).expect("a document");
    assert_eq!(document["complete"], true, "{}", whole.account());
    let words = words
        .replace("--pairs 5", "--pairs 2000")
        .replace("runs", "more");
    let running = Invocation::new(&ours!().netperf)
        .args(words.split(' '))
        .folder(scratch.path())
        .spawn();
    // Results of the fifth pair are written once the fourth is whole.
    let fifth = scratch.path().join("more/b-005.json");
    assert!(netperf_testkit::eventually(Duration::from_secs(60), || {
        fifth.exists()
    }));
    running.signal("INT");
    let finished = running.finish();
    let document: Value =
        serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{}", finished.account()));
    assert_eq!(document["complete"], false, "{}", finished.account());
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("of 2000 pairs"), "{}", finished.account());
}

#[test]
fn a_rate_that_fell_to_nothing_is_worse_and_a_name_stays_in_its_cell() {
    let scratch = Scratch::new();
    results(&scratch, "a|b", &around(1000.0));
    results(&scratch, "dead", &[0.0; 12]);
    let found = netperf(&scratch, &["compare", "a|b", "dead", "--markdown"]);
    assert_eq!(found.status.code(), Some(4), "{}", found.account());
    let lines: Vec<&str> = found.stdout.lines().collect();
    assert!(
        lines[2].starts_with("| TCP\\_RR | a\\|b | dead |"),
        "{}",
        lines[2]
    );
    assert!(lines[4].contains("| -100.00 % |"), "{}", lines[4]);
    let found = netperf(&scratch, &["compare", "dead", "a|b", "--json"]);
    assert_eq!(found.status.code(), Some(0), "{}", found.account());
    let document: Value = serde_json::from_str(&found.stdout).expect("JSON");
    let figure = &document["metrics"][0];
    assert_eq!(figure["ratio"], Value::Null);
    assert_eq!(figure["ratio_is_infinite"], true);
    assert_eq!(document["outcome"], "better");
}

#[test]
fn no_text_of_a_result_steers_the_terminal() {
    let scratch = Scratch::new();
    let of = |test: &str, more: Value| {
        let mut document = json!({"schema": "netperf-1", "test": {"name": test}});
        document
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("one").clone());
        document.to_string()
    };
    let rate = || json!({"result": {"transactions_per_second": 1.0}});
    let failed = json!({"error": {"message": "\u{1b}[2J", "exit_status": 1}});
    for (name, text) in [
        ("plain.json", of("TCP_RR", rate())),
        ("bold.json", of("\u{1b}[1mRR\u{202e}", rate())),
        ("failed.json", of("TCP_RR", failed)),
    ] {
        std::fs::write(scratch.path().join(name), text).expect("a file");
    }
    for other in ["plain.json", "bold.json", "failed.json"] {
        let found = netperf(&scratch, &["compare", "bold.json", other]);
        let said = format!("{}{}", found.stdout, found.stderr);
        let steers = |letter: char| letter == '\u{202e}' || letter.is_control() && letter != '\n';
        assert!(
            !said.is_empty() && !said.contains(steers),
            "{other}: {said:?}"
        );
    }
}
