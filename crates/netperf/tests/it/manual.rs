//! The manual is true: its commands run, its chapters and links exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use netperf_testkit::{Finished, Invocation, Netserver, Place, Scratch, ours};

/// The mark of a block whose commands are run, alone behind the fence.
pub(crate) const RUN: &str = "```console run";

/// Times added to the words of the manual, as the last of the global options.
const SHORT: &str = "50ms";
const LONG: &str = "500ms";
/// A test of `SHORT` fails so where a busy machine lets it move nothing. Its words were understood.
const MOVED_NOTHING: [&str; 3] = [
    "no transaction was completed",
    "no data arrived from netserver",
    "bytes arrived at netserver",
];

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/src")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The chapters, by their paths in the folder of sources.
fn chapters() -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["", "reference/"] {
        let entries = std::fs::read_dir(sources().join(folder)).expect("a folder of chapters");
        for entry in entries {
            let name = entry.expect("an entry").file_name();
            let name = name.to_string_lossy();
            if name.ends_with(".md") {
                found.push(format!("{folder}{name}"));
            }
        }
    }
    found.sort();
    found
}

/// The commands of the blocks that are to be run, joined where a line ends in `\`.
fn commands(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut inside = false;
    let mut goes_on = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == RUN;
        } else if let Some(begun) = commands.last_mut().filter(|_| goes_on) {
            begun.push_str(line.trim_start_matches('>'));
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            commands.push(command.to_owned());
        } else {
            continue;
        }
        goes_on = false;
        if let Some(begun) = commands.last_mut().filter(|last| last.ends_with('\\')) {
            begun.pop();
            goes_on = inside;
        }
    }
    commands
}

/// The words of a command; quotes keep blanks, nothing else is special.
pub(crate) fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in command.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// True if the run ends by an amount, not by time.
fn is_counted(words: &[String]) -> bool {
    let minus = words
        .windows(2)
        .any(|pair| matches!(pair, [letter, value] if letter == "-l" && value.starts_with('-')));
    minus || words.iter().any(|word| word == "--count")
}

fn run(command: &str, time: &str, (port, folder): (u16, &Path)) -> Finished {
    let programs = ours!();
    let words = words(command);
    let (program, words) = words.split_first().expect("a program");
    assert_eq!(program, "netperf", "only netperf is run: {command}");
    let split = words.iter().position(|word| word == "--");
    let (global, rest) = words.split_at(split.unwrap_or(words.len()));
    let mut netperf = Invocation::new(&programs.netperf)
        .args(global)
        .args(["-p", &port.to_string()]);
    let is_check = words.first().is_some_and(|word| word == "check");
    if !is_counted(words) {
        let length = if is_check { "--length" } else { "--time" };
        netperf = netperf.args([length, time]);
    }
    netperf.args(rest).folder(folder).run()
}

#[test]
fn every_command_of_the_manual_that_is_marked_so_runs() {
    run_all(SHORT, |finished| {
        let nothing = |line: &&str| finished.stderr.contains(line);
        finished.status.success()
            || finished.status.code() == Some(1) && MOVED_NOTHING.iter().any(nothing)
    });
}

#[test]
#[ignore = "nightly: half a minute at full speed"]
fn every_command_of_the_manual_that_is_marked_so_moves_data() {
    run_all(LONG, |finished| finished.status.success());
}

fn run_all(time: &str, is_right: impl Fn(&Finished) -> bool) {
    let server = Netserver::start(&ours!(), &Place::Here);
    let scratch = Scratch::new();
    let mut ran = 0;
    for chapter in chapters() {
        for command in commands(&read(&sources().join(&chapter))) {
            let finished = run(&command, time, (server.port(), scratch.path()));
            assert!(
                is_right(&finished),
                "{chapter}: {command}\n{}",
                finished.account()
            );
            ran += 1;
        }
    }
    assert!(
        ran >= 25,
        "only {ran} commands found: has the mark changed?"
    );
}

/// The README and its folder.
fn readme() -> (String, PathBuf) {
    let root = sources().join("../../..");
    (read(&root.join("README.md")), root)
}

#[test]
fn the_four_commands_of_the_readme_run() {
    let server = Netserver::start(&ours!(), &Place::Here);
    let scratch = Scratch::new();
    let commands = commands(&readme().0);
    assert_eq!(commands.len(), 4, "{commands:?}");
    for command in commands {
        // No name server knows the host of the examples, and no history is left behind.
        let here = command.replace(" server", " 127.0.0.1");
        let here = here.replace("check 127.0.0.1", "check 127.0.0.1 --no-history");
        let finished = run(&here, LONG, (server.port(), scratch.path()));
        assert!(
            finished.status.success(),
            "{command}\n{}",
            finished.account()
        );
    }
}

#[test]
fn the_readme_begins_with_a_picture_and_its_links_lead_somewhere() {
    let (text, root) = readme();
    let links = links(&text);
    assert_eq!(links.first(), Some(&"docs/pictures/check.svg"));
    for target in links {
        let (file, part) = target.split_once('#').unwrap_or((target, ""));
        let path = root.join(file);
        assert!(path.is_file(), "{target}");
        let known = part.is_empty() || anchors(&read(&path)).contains(part);
        assert!(known, "{target}");
    }
}

#[test]
fn a_command_may_go_on_in_the_next_line() {
    let text = "```console run\n$ netperf -l 1 \\\n>   -- -k A\nA=1\n$ netperf\n```\n$ no\n";
    assert_eq!(commands(text), ["netperf -l 1    -- -k A", "netperf"]);
    assert_eq!(words("a 'b c' d"), ["a", "b c", "d"]);
}

#[test]
fn every_chapter_stands_in_the_summary_once() {
    let summary = read(&sources().join("SUMMARY.md"));
    for chapter in chapters() {
        if chapter != "SUMMARY.md" {
            let times = summary.matches(&format!("]({chapter})")).count();
            assert_eq!(times, 1, "{chapter}");
        }
    }
}

#[test]
fn fences_are_closed_and_links_lead_somewhere() {
    for chapter in chapters() {
        let text = read(&sources().join(&chapter));
        let fences = text.lines().filter(|line| line.starts_with("```")).count();
        assert_eq!(fences % 2, 0, "{chapter}: a fence is open");
        let folder = sources().join(&chapter);
        let folder = folder.parent().expect("a folder");
        for target in links(&text) {
            let (file, part) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() {
                sources().join(&chapter)
            } else {
                folder.join(file)
            };
            assert!(path.is_file(), "{chapter}: {target}");
            let parts = anchors(&read(&path));
            assert!(
                part.is_empty() || parts.contains(part),
                "{chapter}: {target}"
            );
        }
    }
}

/// Targets of the links of a chapter, without those to the web.
fn links(text: &str) -> Vec<&str> {
    let ends = text.split("](").skip(1);
    ends.filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .collect()
}

/// Names of headings in addresses.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(anchor).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().chars();
    kept.filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .flat_map(char::to_lowercase)
        .collect()
}
