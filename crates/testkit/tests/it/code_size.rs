//! Lines of code of each crate stay below a limit (decision 0039): a change that needs more
//! raises the limit in the same commit, where a reviewer sees it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Most lines of code by folder in `crates/`.
const LIMITS: &[(&str, usize)] = &[
    ("campaign", 7_800),
    ("cli", 11_600),
    ("engine", 14_150),
    ("history", 3_040),
    ("measure", 1_700),
    ("model", 7_300),
    ("netperf", 25_700),
    ("os", 5_120),
    ("report", 5_720),
    ("session", 5_250),
    ("stats", 1_450),
    ("transport", 7_560),
    ("tui", 720),
    ("web", 6_700),
    ("wire", 3_800),
];

/// Lines of a source file without empty ones, comments and what only tests are built with.
fn code_lines(text: &str) -> usize {
    let mut comment = 0_usize;
    let mut code = Vec::new();
    for line in text.lines().map(str::trim) {
        let (opens, closes) = (line.matches("/*").count(), line.matches("*/").count());
        if comment > 0 {
            comment = comment.saturating_sub(closes);
        } else if line.starts_with("/*") {
            comment = opens.saturating_sub(closes);
        } else if !line.is_empty() && !line.starts_with("//") {
            code.push(line);
        }
    }
    let mut lines = code.into_iter().peekable();
    let mut count = 0;
    while let Some(line) = lines.next() {
        if line.starts_with("#[cfg(test)]") {
            skip_item(&mut lines);
        } else {
            count += 1;
        }
    }
    count
}

/// Passes over the item behind `#[cfg(test)]`: other attributes, then a statement or a block.
fn skip_item<'t>(lines: &mut impl Iterator<Item = &'t str>) {
    let (mut opened, mut closed) = (0, 0);
    for line in lines.skip_while(|line| line.starts_with("#[")) {
        opened += line.matches('{').count();
        closed += line.matches('}').count();
        if closed >= opened && (opened > 0 || line.ends_with(';')) {
            return;
        }
    }
}

/// Source files below a folder, without those of tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of sources");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(
            |path| match path.file_name().and_then(|name| name.to_str()) {
                Some("tests" | "tests.rs") => Vec::new(),
                Some(_) if path.is_dir() => sources(&path),
                Some(name) if name.ends_with(".rs") => vec![path],
                Some(_) | None => Vec::new(),
            },
        )
        .collect()
}

#[test]
fn comments_and_tests_are_no_code() {
    let text = "//! A file.\n\nuse a::b; // why\n/* a\n comment */\nfn c() {\n    d();\n}\n\n\
        #[cfg(test)]\nmod more;\n#[cfg(test)]\n#[expect(dead_code, reason = \"e\")]\nmod tests {\n    \
        fn f() {}\n}\nfn g() {}\n";
    assert_eq!(code_lines(text), 5);
}

#[test]
fn no_crate_has_more_code_than_its_limit() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("crates");
    let limits: BTreeMap<&str, usize> = LIMITS.iter().copied().collect();
    let mut over = Vec::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(crates).expect("the folder of crates") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.expect("a name").to_owned();
        // Neither is part of a program.
        if matches!(name.as_str(), "testkit" | "xtask") || !path.join("src").is_dir() {
            continue;
        }
        let files = sources(&path.join("src"));
        let text = files.iter().map(std::fs::read_to_string);
        let count: usize = text.map(|text| code_lines(&text.expect("a source"))).sum();
        let limit = limits.get(name.as_str()).copied().unwrap_or(0);
        if count > limit {
            over.push(format!("{name}: {count} lines, the limit is {limit}"));
        }
        seen += 1;
    }
    assert_eq!(
        seen,
        LIMITS.len(),
        "a crate without a limit, or a limit without a crate"
    );
    assert!(
        over.is_empty(),
        "remove code, or raise the limit here and say in the commit what the code is for: {over:#?}"
    );
}
