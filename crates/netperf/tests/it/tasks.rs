//! The commands of docs/tasks.md end and print as the document shows.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use netperf_testkit::{Invocation, Netserver, Place, Programs, Scratch, congestion, ours, require};

use crate::manual::{RUN, words};

/// Tasks that run at the same time.
const WORKERS: usize = 6;

/// Beginnings of lines that depend on speed or go on from the line above.
const VARY: [&str; 10] = [
    "Doubt",
    "Warning",
    // Continuations of an answer that is wider than a line.
    "[",
    "flows)",
    "to server",
    "Inconclusive",
    "B is",
    "netperf: --until",
    "...",
    "  ",
];

/// Address of the metrics in the document.
const METRICS: &str = "127.65.94.1:9465";

/// Congestion controls that the document compares; each host has its own.
const CONGESTION: &str = "congestion=cubic,reno";

/// An address of loopback that only this process uses.
fn metrics() -> String {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    format!("127.{}.{middle}.{low}:9465", 64 + high % 64)
}

/// A command and what the document shows of it.
#[derive(Debug, Default, PartialEq)]
struct Step {
    command: String,
    lines: Vec<String>,
    /// Exit status that `echo $?` shows.
    status: Option<i32>,
}

/// The steps of the tasks, each with its heading.
fn tasks(text: &str) -> Vec<(&str, Vec<Step>)> {
    let sections = text.split("\n## ").skip(1);
    sections
        .map(|section| (section.lines().next().unwrap_or_default(), steps(section)))
        .collect()
}

fn steps(section: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut inside, mut asked) = (false, false);
    for line in section.lines() {
        if line.starts_with("```") {
            inside = line == RUN;
        } else if !inside {
            continue;
        } else if line == "$ echo $?" {
            asked = true;
        } else if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                ..Step::default()
            });
        } else if let Some(step) = steps.last_mut() {
            if std::mem::take(&mut asked) {
                step.status = line.parse().ok();
            } else if !VARY.iter().any(|v| line.starts_with(v)) {
                step.lines.extend(shape(line));
            }
        }
    }
    steps
}

/// A line without its figures: the text in front of the first figure, or the number of columns.
fn shape(line: &str) -> Option<String> {
    let line = line.trim();
    let first = line.chars().next()?;
    if first.is_ascii_digit() {
        let columns = line.split_whitespace();
        let figures = columns.clone().all(|word| word.parse::<f64>().is_ok());
        return Some(if figures {
            format!("{} figures", columns.count())
        } else {
            "a figure".to_owned()
        });
    }
    let figure = line.find(|letter: char| letter.is_ascii_digit() || letter == '=');
    let gap = line.find("  ");
    let end = figure.into_iter().chain(gap).min().unwrap_or(line.len());
    line.get(..end).map(|label| label.trim().to_owned())
}

/// The words of a command against a netserver on this host, with a short time.
fn here(command: &str, port: u16, folder: &Path) -> Vec<String> {
    let interim = command.contains(" -D 0.5");
    let mut here: Vec<String> = Vec::new();
    for word in words(command) {
        let timed = here.last().is_some_and(|last| last == "-l");
        match word.as_str() {
            "server" | "localhost" => {
                here.extend(["127.0.0.1", "-p"].map(str::to_owned));
                here.push(port.to_string());
            }
            "1" | "2" | "10" if timed && !interim => here.push("0.4".to_owned()),
            METRICS => here.push(metrics()),
            CONGESTION => here.push(format!(
                "congestion={}",
                congestion::permitted()[..2].join(",")
            )),
            "netperf.key" => here.push(folder.join(word).to_string_lossy().into_owned()),
            _ => here.push(word),
        }
    }
    if here.get(1).is_some_and(|word| word == "check") {
        here.extend(["--length", "500ms"].map(str::to_owned));
    }
    here
}

/// True if a step starts a netserver for those behind it.
fn serves(step: &Step) -> bool {
    step.command.starts_with("netserver ") && !step.command.contains("--health")
}

fn run(title: &str, steps: &[Step], programs: &Programs, shared: &Netserver) {
    let scratch = Scratch::new();
    let folder = scratch.path();
    let key = folder.join("netperf.key");
    fs::write(&key, "0123456789abcdef0123456789abcdef").expect("a key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("a private key");
    let private = steps.iter().find(|step| serves(step)).map(|step| {
        let words = here(&step.command, 0, folder);
        let mut options = vec!["-D"];
        options.extend(words.iter().skip(1).map(String::as_str));
        Netserver::start_with(programs, &Place::Here, &options, &[])
    });
    let port = private.as_ref().unwrap_or(shared).port();
    for step in steps.iter().filter(|step| !serves(step)) {
        if step.command.contains(CONGESTION) && congestion::permitted().len() < 2 {
            require::skip(&format!("{title}: two permitted congestion controls"));
            continue;
        }
        perform(
            title,
            step,
            &here(&step.command, port, folder),
            (programs, folder),
        );
    }
}

fn perform(title: &str, step: &Step, words: &[String], (programs, folder): (&Programs, &Path)) {
    let (program, words) = words.split_first().expect("a program");
    let program = match program.as_str() {
        "netperf" => &programs.netperf,
        "netserver" => &programs.netserver,
        other => panic!("{title}: {other} is neither netperf nor netserver"),
    };
    let redirection = words.iter().position(|word| word == ">");
    let (words, target) = words.split_at(redirection.unwrap_or(words.len()));
    let finished = Invocation::new(program)
        .args(words)
        .env("NETPERF_HISTORY", folder.join("history.sqlite"))
        .folder(folder)
        .patience(Duration::from_secs(120))
        .run();
    let status = finished.status.code();
    let expected = match step.status {
        None if words.first().is_some_and(|word| word == "run") => &[0, 4, 5][..],
        None => &[0],
        Some(ref status) => std::slice::from_ref(status),
    };
    let ended = status.is_some_and(|status| expected.contains(&status));
    assert!(ended, "{title}: not {expected:?}\n{}", finished.account());
    if let Some(file) = target.get(1) {
        fs::write(folder.join(file), &finished.stdout).expect("a result");
    }
    let printed = [finished.stdout.as_str(), finished.stderr.as_str()].join("\n");
    let printed: Vec<String> = printed.lines().filter_map(shape).collect();
    for line in &step.lines {
        assert!(
            printed.contains(line),
            "{title}: no '{line}'\n{}",
            finished.account()
        );
    }
}

#[test]
fn every_command_of_the_tasks_ends_and_prints_as_shown() {
    let programs = ours!();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tasks.md");
    let text = fs::read_to_string(path).expect("the tasks");
    let tasks = tasks(&text);
    assert_eq!(tasks.len(), 25);
    let shared = Netserver::start(&programs, &Place::Here);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((title, steps)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    assert!(!steps.is_empty(), "{title}: no command");
                    run(title, steps, &programs, &shared);
                }
            });
        }
    });
}

#[test]
fn a_line_is_compared_without_its_figures() {
    for (line, expected) in [
        ("Send      951.1 Mbit/s", "Send"),
        ("THROUGHPUT=1", "THROUGHPUT"),
        ("131072  16384  10.00", "3 figures"),
        ("netperf: kept as result 1", "netperf: kept as result"),
        ("  12 values of 10 ms", "a figure"),
    ] {
        assert_eq!(shape(line).as_deref(), Some(expected));
    }
    let text = "\n## 1. T\n```console run\n$ a\n12\n...\n$ b\n$ echo $?\n3\n```\n$ c\n";
    let step = |command: &str, lines: &[&str], status| Step {
        command: command.to_owned(),
        lines: lines.iter().map(|&line| line.to_owned()).collect(),
        status,
    };
    let expected = vec![step("a", &["1 figures"], None), step("b", &[], Some(3))];
    assert_eq!(tasks(text), [("1. T", expected)]);
}
