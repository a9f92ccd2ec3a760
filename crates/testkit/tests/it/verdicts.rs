//! A verdict is not tried again: a test may wait for a condition, never for a better result.
//!
//! Judged by the text of the tests: names that mean another try, and loops that a success ends.

use std::path::{Path, PathBuf};

/// Names that mean another try, and ends of names behind an underscore.
const NAMES: &[&str] = &["attempt", "attempts", "retries", "retry", "tries"];

/// Places that may: the file, a part of the line, and the reason.
const ALLOWED: &[(&str, &str, &str)] = &[
    (
        "stats/tests/it/percentiles.rs",
        "for _ in 0..RUNS {",
        "each run has an end, and all of them count",
    ),
    (
        "client/src/until/feed/tests.rs",
        "for _ in 0..longest {",
        "a simulated run ends when enough is known",
    ),
    (
        "netperf/tests/sim/random.rs",
        "for _ in 0..TOGETHER {",
        "workers, which share the seeds",
    ),
    (
        "netperf/tests/sim/random/simpler.rs",
        "for _ in 0..ROUNDS {",
        "a failure is made simpler, and stays one",
    ),
];

/// One suspicious line.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    file: String,
    number: usize,
    line: String,
}

/// The code of a line: no comment, and strings are empty.
fn code(line: &str) -> String {
    let mut text = String::new();
    let mut in_string = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if in_string => drop(letters.next()),
            '"' => in_string = !in_string,
            '/' if !in_string && letters.peek() == Some(&'/') => break,
            _ if !in_string => text.push(letter),
            _ => (),
        }
    }
    text
}

/// True if a line names another try.
fn names_a_try(code: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.split(|letter| !is_part(letter))
        .map(str::to_lowercase)
        .any(|name| NAMES.contains(&name.rsplit('_').next().unwrap_or_default()))
}

/// True if a line begins a loop of a fixed number of rounds.
fn repeats(code: &str) -> bool {
    let code = code.trim();
    let is_loop = code.starts_with("for _") && code.ends_with('{');
    is_loop && code.contains(" in ") && code.contains("..")
}

/// Depth of a line in blanks.
fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The suspicious lines of a test source.
fn suspicious(file: &str, text: &str) -> Vec<Place> {
    let lines: Vec<&str> = text.lines().collect();
    let place = |number: usize| Place {
        file: file.to_owned(),
        number: number + 1,
        line: lines[number].trim().to_owned(),
    };
    let ends_early = |number: usize| {
        let body = lines[number + 1..]
            .iter()
            .take_while(|line| line.trim().is_empty() || depth(line) > depth(lines[number]));
        let mut body = body.map(|line| code(line));
        body.any(|line| {
            let line = line.trim();
            line.starts_with("return") || line.starts_with("break") || line.contains("=> return")
        })
    };
    let again = |number: &usize| {
        let code = code(lines[*number]);
        let is_choice = code.contains("..") && code.contains(").any(|_|");
        names_a_try(&code) || is_choice || repeats(&code) && ends_early(*number)
    };
    (0..lines.len()).filter(again).map(place).collect()
}

/// Sources of tests in a folder: all files of folders named `tests`, of `testkit`, and files named
/// `tests.rs`.
fn sources(folder: &Path, all: bool, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("a folder");
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let name = path.file_name().and_then(|name| name.to_str());
        let all = all || matches!(name, Some("tests" | "tests.rs" | "testkit"));
        if path.is_dir() {
            sources(&path, all, found);
        } else if all && path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn verdicts_are_not_tried_again() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("crates");
    let mut files = Vec::new();
    sources(crates, false, &mut files);
    assert!(files.len() > 100, "{files:?}");
    let own = file!().rsplit('/').next().expect("a name");
    let mut places = Vec::new();
    for path in files.iter().filter(|path| !path.ends_with(own)) {
        let file = path.strip_prefix(crates).expect("below it");
        let text = std::fs::read_to_string(path).expect("a source");
        places.extend(suspicious(&file.to_string_lossy(), &text));
    }
    let is_allowed = |place: &Place| {
        let mut allowed = ALLOWED.iter();
        allowed.any(|(file, line, _)| place.file == *file && place.line.contains(line))
    };
    let is_used = |(file, line, _): &&(&str, &str, &str)| {
        let mut places = places.iter();
        places.any(|place| place.file == *file && place.line.contains(line))
    };
    let unused: Vec<_> = ALLOWED.iter().filter(|one| !is_used(one)).collect();
    assert!(unused.is_empty(), "exceptions of nothing: {unused:?}");
    places.retain(|place| !is_allowed(place));
    assert!(
        places.is_empty(),
        "wait for a condition and judge once, or say here why this is no second try: {places:#?}"
    );
}

#[test]
fn verdicts_second_tries_are_found() {
    let found = |text: &str| suspicious("a.rs", text).len();
    assert_eq!(found("let verdict = attempt(server);"), 1);
    assert_eq!(found("const TRIES: usize = 3;"), 1);
    assert_eq!(found("let done = with_retry(run, |_| true);"), 1);
    assert_eq!(found("retry_connects: false,"), 0);
    assert_eq!(found("assert!((0..10).any(|_| reads_low()));"), 1);
    assert_eq!(
        found("for _ in 0..3 {\n    if ok() {\n        return;\n    }\n}"),
        1
    );
    assert_eq!(
        found("for _ in 0..=MOST {\n    if ok() {\n        break;\n    }\n}"),
        1
    );
    assert_eq!(found("for _ in 0..3 {\n    send();\n}\nreturn;"), 0);
    assert_eq!(found("// another attempt\nsay(\"retry (0..2)\");"), 0);
}
