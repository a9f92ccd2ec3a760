//! `netperf sweep` as it is typed: every run is kept, one that was killed goes on, what failed
//! is made again, and another plan is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netperf_testkit::{Finished, Invocation, Netserver, Scratch, eventually, ours};

fn sweep(folder: &Scratch, words: &str) -> Invocation {
    Invocation::new(&ours!().netperf)
        .arg("sweep")
        .args(words.split_whitespace())
        .folder(folder.path())
}

/// A command line against a netserver.
fn command(server: &Netserver, words: &str) -> String {
    let port = server.port();
    format!("-- -H 127.0.0.1 -p {port} -l -1000 {words}")
}

/// The results in a folder, with what they hold.
fn results(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let listed = std::fs::read_dir(folder.join("runs")).expect("a folder");
    let paths = listed.map(|entry| entry.expect("an entry").path());
    let good = paths.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    good.map(|path| (path.clone(), std::fs::read(&path).expect("a file")))
        .collect()
}

/// Waits until a sweep has made so many runs.
fn wait_for_results(folder: &Path, number: usize) {
    let made = eventually(Duration::from_secs(60), || {
        folder.join("runs").exists() && results(folder).len() >= number
    });
    assert!(made, "no results");
}

fn text(folder: &Scratch, file: &str) -> String {
    std::fs::read_to_string(folder.path().join(file)).expect(file)
}

fn said(finished: &Finished, exit: i32, words: &str) {
    assert_eq!(finished.status.code(), Some(exit), "{}", finished.account());
    let stderr = &finished.stderr;
    assert!(stderr.contains(words), "{}", finished.account());
    assert!(stderr.starts_with("netperf sweep: "), "{stderr}");
}

#[test]
fn a_plan_with_a_passphrase_is_private_and_no_result_has_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Scratch::new();
    let options = ["-D", "-Z", "sesame"];
    let server = Netserver::start_with(&ours!(), &netperf_testkit::Place::Here, &options, &[]);
    // The permission to read depends on the mask of the user who runs the tests.
    let probe = folder.path().join("probe");
    std::fs::write(&probe, "").expect("a file");
    let usual = std::fs::metadata(&probe).expect("a file").permissions();
    let usual = usual.mode() & 0o777;
    for (name, secret, mode) in [("secret", "-Z sesame", 0o600), ("open", "-t TCP_RR", usual)] {
        let tail = command(&server, &format!("{secret} -- -r {{r}}"));
        let finished = sweep(&folder, &format!("-o {name} --over r=1 {tail}")).run();
        assert_eq!(
            finished.status.success(),
            name == "secret",
            "{}",
            finished.account()
        );
        let all = folder.path().join(name);
        let plan = std::fs::metadata(all.join("sweep.json")).expect("a plan");
        assert_eq!(plan.permissions().mode() & 0o777, mode, "{name}");
        for file in ["report.html", "points.md", "runs.csv"] {
            let shown = text(&folder, &format!("{name}/{file}"));
            assert!(!shown.contains("sesame"), "{file}");
        }
        for result in results(&all).into_values() {
            assert!(!String::from_utf8_lossy(&result).contains("sesame"));
        }
    }
}

#[test]
fn every_point_is_run_as_often_as_asked_and_stands_in_table_and_page() {
    let (folder, server) = (Scratch::new(), ours!().serve());
    let tail = command(&server, "-t {t} -j -- -r {r}");
    let words = format!("-o all --over r=1,1K --over t=TCP_RR,UDP_RR --repeat 2 {tail}");
    let finished = sweep(&folder, &words).run().expect_clean();
    let kept = results(&folder.path().join("all"));
    assert_eq!(kept.len(), 8);
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert_eq!(lines.len(), 2 + 4, "{}", finished.stdout);
    assert!(lines[2].starts_with("| 1 | TCP\\_RR | "), "{}", lines[2]);
    assert!(lines[0].ends_with("| runs | latency p50 | latency p99 |"));
    assert!(lines[2].contains(" | 2 | "), "{}", lines[2]);
    let csv = text(&folder, "all/runs.csv");
    assert_eq!(csv.lines().count(), 1 + 8);
    assert!(csv.contains("\"1K\",\"UDP_RR\",2,"), "{csv}");
    let page = text(&folder, "all/report.html");
    assert!(page.contains("netperf over r, t"));
    assert!(page.contains("Transaction rate over r"));
    assert!(page.contains("Latency over r"));
    // The first run of the second repetition is that of the first point again.
    let first: serde_json::Value =
        serde_json::from_slice(&kept.values().nth(1).expect("a run")[..]).expect("a document");
    assert_eq!(first["test"]["name"], "TCP_RR");
    let line = first["command_line"].as_str().expect("a command line");
    assert!(line.starts_with("netperf --json -H "), "{line}");
    // There is nothing left to do.
    sweep(&folder, "-o all").run().expect_clean();
    assert_eq!(results(&folder.path().join("all")), kept);
    // More repetitions go on from there.
    let more = words.replace("--repeat 2", "--repeat 3");
    sweep(&folder, &more).run().expect_clean();
    let now = results(&folder.path().join("all"));
    assert_eq!(now.len(), 12);
    assert!(kept.iter().all(|(path, bytes)| now[path] == *bytes));
}

#[test]
fn one_that_was_killed_goes_on_where_it_was() {
    let (folder, server) = (Scratch::new(), ours!().serve());
    let tail = command(&server, "-t TCP_RR -- -r {r}");
    let running = sweep(&folder, &format!("-o d --over r=1..8 {tail}")).spawn();
    let there = folder.path().join("d");
    wait_for_results(&there, 2);
    running.signal("KILL");
    running.finish();
    let kept = results(&there);
    assert!((2..8).contains(&kept.len()), "{}", kept.len());
    // A damaged result is made again.
    let (spoilt, _) = kept.first_key_value().expect("a result");
    std::fs::write(spoilt, "{").expect("a file");
    let finished = sweep(&folder, "-o d").run().expect_clean();
    let now = results(&there);
    assert_eq!(now.len(), 8, "{}", finished.account());
    let mut whole = kept.iter().filter(|(path, _)| *path != spoilt);
    assert!(whole.all(|(path, bytes)| now[path] == *bytes));
    assert!(now[spoilt].len() > 1000, "{}", now[spoilt].len());
    assert_eq!(text(&folder, "d/runs.csv").lines().count(), 1 + 8);
}

#[test]
fn a_folder_takes_one_sweep_at_a_time_and_is_free_once_that_was_killed() {
    let (folder, server) = (Scratch::new(), ours!().serve());
    let tail = command(&server, "-t TCP_RR -- -r {r}");
    let words = format!("-o d --over r=1..200 {tail}");
    let running = sweep(&folder, &words).spawn();
    let there = folder.path().join("d");
    wait_for_results(&there, 1);
    let finished = sweep(&folder, &words).run();
    said(
        &finished,
        2,
        "d is in use by another netperf sweep (process ",
    );
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.account());
    assert!(!there.join("report.html").exists(), "it wrote nothing");
    // Another folder is another matter.
    let other = words.replace("-o d", "-o e").replace("1..200", "1");
    sweep(&folder, &other).run().expect_clean();
    running.signal("KILL");
    running.finish();
    let more = words.replace("1..200", "1");
    said(&sweep(&folder, &more).run(), 2, "d contains another sweep");
}

#[test]
fn a_signal_ends_it_and_says_how_it_goes_on() {
    let (folder, server) = (Scratch::new(), ours!().serve());
    let tail = command(&server, "-t TCP_RR -- -r {r}");
    let running = sweep(&folder, &format!("-o d --over r=1..200 {tail}")).spawn();
    let there = folder.path().join("d");
    wait_for_results(&there, 1);
    running.signal("TERM");
    let finished = running.finish();
    said(
        &finished,
        1,
        "interrupted: continue with netperf sweep -o d",
    );
    let rows = text(&folder, "d/runs.csv").lines().count();
    assert_eq!(rows, 1 + results(&there).len());
}

#[test]
fn warnings_of_runs_are_told_once_and_stand_in_the_result() {
    let (folder, server) = (Scratch::new(), ours!().serve());
    let tail = command(&server, "-- -m {m}");
    let words = format!("-o w --over m=abc,1K --repeat 2 {tail}");
    let finished = sweep(&folder, &words).run().expect_exit(0);
    let lines: Vec<&str> = finished.stderr.lines().collect();
    let [line] = lines[..] else {
        panic!("{}", finished.account());
    };
    assert!(
        line.starts_with("netperf sweep: m=abc, run 1: -m abc: not a size"),
        "{line}"
    );
    let warning = "**Warning:** m=abc: -m abc: not a size";
    let points = text(&folder, "w/points.md");
    for shown in [&finished.stdout, &points] {
        assert_eq!(shown.matches(warning).count(), 1, "{shown}");
    }
    let csv = text(&folder, "w/runs.csv");
    assert_eq!(csv.matches("-m abc: not a size").count(), 2, "{csv}");
}

#[test]
fn a_run_without_a_netserver_is_told_of_with_its_cause() {
    let folder = Scratch::new();
    let port = netperf_testkit::server::free_port();
    let words = format!("-o n --over m=1 -- -H 127.0.0.1 -p {port} -- -m {{m}}");
    let finished = sweep(&folder, &words).run();
    said(&finished, 1, "Connection refused: no program listens there");
    assert!(text(&folder, "n/points.md").contains("Connection refused"));
}

#[test]
fn sweep_ends_at_the_first_run_that_finds_no_netserver() {
    let folder = Scratch::new();
    let port = netperf_testkit::server::free_port();
    let words = format!("-o n --over m=1,2,3 -- -H 127.0.0.1 -p {port} -l -1000 -- -m {{m}}");
    let finished = sweep(&folder, &words).run();
    said(&finished, 1, "m=1, run 1 failed: ");
    let ended = "netperf sweep: no netserver was found, and 2 runs were not begun: continue with \
                 netperf sweep -o n\n";
    assert!(finished.stderr.ends_with(ended), "{}", finished.account());
    let runs = std::fs::read_dir(folder.path().join("n/runs")).expect("a folder");
    assert_eq!(runs.count(), 1, "{}", finished.account());
}

#[test]
fn sweep_names_failed_points_and_measures_them_again() {
    let (folder, server) = (Scratch::new(), ours!().serve());
    std::fs::write(folder.path().join("one"), vec![7; 1 << 20]).expect("a file");
    let tail = command(&server, "-t TCP_SENDFILE -F {f} -- -m 1K -W 4,4");
    let finished = sweep(&folder, &format!("-o d --over f=one,two {tail}")).run();
    said(&finished, 1, "f=two, run 1 failed: ");
    assert_eq!(results(&folder.path().join("d")).len(), 1);
    assert!(folder.path().join("d/runs/00002-0001.failed").exists());
    assert!(text(&folder, "d/points.md").contains("**Failed:** f=two, run 1: "));
    assert!(text(&folder, "d/report.html").contains("Runs that failed"));
    std::fs::write(folder.path().join("two"), vec![7; 1 << 20]).expect("a file");
    sweep(&folder, "-o d").run().expect_clean();
    assert_eq!(results(&folder.path().join("d")).len(), 2);
    assert!(!folder.path().join("d/runs/00002-0001.failed").exists());
    // Words on the axis make bars.
    assert!(text(&folder, "d/report.html").contains("Throughput over f"));
}

#[test]
fn another_plan_and_one_that_does_not_fit_are_refused() {
    let (folder, server) = (Scratch::new(), ours!().serve());
    let tail = command(&server, "-t TCP_RR -- -r {r}");
    let good = format!("-o d --over r=1 {tail}");
    sweep(&folder, &good).run().expect_clean();
    let kept = results(&folder.path().join("d"));
    for (words, why) in [
        (
            good.replace("r=1", "r=1,2"),
            "d contains another sweep: its options are --over r=1;",
        ),
        (
            good.replace("TCP_RR", "UDP_RR"),
            "d contains another sweep: its command is: ",
        ),
        ("-o none".to_owned(), "none contains no sweep"),
        (
            good.replace("{r}", "{s}"),
            "--over r: the command has no {r}",
        ),
        (good.replace("r=1", "r=4..1"), "4..1 is not a range"),
        ("-o d --plan missing.toml".to_owned(), "missing.toml: "),
    ] {
        said(&sweep(&folder, &words).run(), 2, why);
    }
    assert_eq!(results(&folder.path().join("d")), kept);
    assert!(!folder.path().join("none").exists());
}

#[test]
fn a_file_has_the_plan() {
    let (folder, server) = (Scratch::new(), ours!().serve());
    let port = server.port();
    let plan = format!(
        "# Two sizes.\nover = [\"r=1..64*64\"]\nrepeat = 1\ncommand = [\"-H\", \"127.0.0.1\", \
         \"-p\", \"{port}\", \"--time\", \"100ms\", \"-t\", \"TCP_RR\", \"--\", \"-r\", \"{{r}}\"]\n"
    );
    std::fs::write(folder.path().join("plan.toml"), plan).expect("a file");
    sweep(&folder, "-o d --plan plan.toml").run().expect_clean();
    assert_eq!(results(&folder.path().join("d")).len(), 2);
    std::fs::write(folder.path().join("bad.toml"), "repeat = 0").expect("a file");
    let finished = sweep(&folder, "-o e --plan bad.toml").run();
    said(&finished, 2, "bad.toml: repeat is a whole number");
}

#[test]
fn a_wrong_option_is_reported_before_the_first_run() {
    let (folder, server) = (Scratch::new(), ours!().serve());
    let tail = command(&server, "-t TCP_RR {o}");
    let words = format!("-o d --over o=-j,--nosuch {tail}");
    let finished = sweep(&folder, &words).run();
    said(&finished, 2, "o=--nosuch: ");
    assert!(finished.stderr.contains("nosuch"), "{}", finished.account());
    assert_eq!(results(&folder.path().join("d")).len(), 0);
    // The folder has no plan, so that the mended command can use it.
    let mended = words.replace(",--nosuch", "");
    sweep(&folder, &mended).run().expect_clean();
}
