//! What stands in for a part of a program on an architecture, or in a build, without it has the same
//! functions: only such a build compiles it.

use std::collections::BTreeMap;
use std::path::Path;

/// A module, and what stands in for it.
struct StandIn {
    real: &'static [&'static str],
    absent: &'static str,
    /// Functions that only tests call, which run where the module is.
    of_tests: &'static [&'static str],
}

const STAND_INS: &[StandIn] = &[
    StandIn {
        real: &[
            "os/src/linux/uring.rs",
            "os/src/linux/uring/delayed.rs",
            "os/src/linux/uring/multishot.rs",
            "os/src/linux/uring/entries.rs",
        ],
        absent: "os/src/linux/absent/uring.rs",
        of_tests: &["make"],
    },
    StandIn {
        real: &["os/src/linux/seccomp.rs"],
        absent: "os/src/linux/absent/seccomp.rs",
        of_tests: &[],
    },
];

/// Public functions of a source file, and the numbers of their parameters: methods of the same
/// name have one number each.
fn functions(text: &str) -> BTreeMap<String, Vec<usize>> {
    let mut found: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for marker in ["pub fn ", "pub const fn "] {
        for (at, _) in text.match_indices(marker) {
            let rest = &text[at + marker.len()..];
            let Some((name, rest)) = rest.split_once('(') else {
                continue;
            };
            let numbers = found.entry(name.to_owned()).or_default();
            numbers.push(parameters(rest));
            numbers.sort_unstable();
        }
    }
    found
}

/// Number of parameters in text that begins behind their parenthesis.
fn parameters(text: &str) -> usize {
    let (mut depth, mut parts, mut is_empty) = (0, 0, true);
    for letter in text.chars() {
        match letter {
            ')' if depth == 0 => break,
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts += 1;
                is_empty = true;
                continue;
            }
            _ => {}
        }
        is_empty &= letter.is_whitespace();
    }
    parts + usize::from(!is_empty)
}

fn source(path: &str) -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::read_to_string(crates.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn parameters_are_counted() {
    let text = "pub fn none() {}\npub const fn one(\n    one: Option<(u8, u8)>,\n) {}\npub fn two(a: [u8; 2], b: &str) {}";
    let wanted = [("none", vec![0]), ("one", vec![1]), ("two", vec![2])];
    let wanted = wanted.map(|(name, numbers)| (name.to_owned(), numbers));
    assert_eq!(functions(text), BTreeMap::from(wanted));
}

#[test]
fn stand_ins_have_the_functions_of_what_is_absent() {
    for stand_in in STAND_INS {
        let real: String = stand_in.real.iter().map(|path| source(path)).collect();
        let mut wanted = functions(&real);
        wanted.retain(|name, _| !stand_in.of_tests.contains(&name.as_str()));
        assert!(wanted.len() >= 3, "{wanted:?}");
        let absent = functions(&source(stand_in.absent));
        assert_eq!(absent, wanted, "{}", stand_in.absent);
    }
}

/// A path of a module is relative to the folder of the file that names it.
#[test]
fn paths_of_modules_exist() {
    for (file, folder) in [
        ("os/src/linux.rs", "os/src"),
        ("transport/src/secure.rs", "transport/src"),
    ] {
        let text = source(file);
        let mut paths = text.split("path = \"").skip(1).peekable();
        assert!(paths.peek().is_some(), "{file}");
        for path in paths {
            let path = path.split('"').next().unwrap_or_default();
            source(&format!("{folder}/{path}"));
        }
    }
}
