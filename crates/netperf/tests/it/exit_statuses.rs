//! Exit statuses in the code, in the man pages and in the manual.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use netperf_testkit::{Invocation, ours};

type Statuses = BTreeSet<u8>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Statuses of a section of the manual: the first cells of its table.
fn of_manual(heading: &str) -> Statuses {
    let text = read(&root().join("docs/manual/src/exit-status.md"));
    let section = text
        .split("\n## ")
        .find(|part| part.starts_with(&format!("{heading}\n")));
    let section = section.unwrap_or_else(|| panic!("no section {heading}"));
    let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|row| row.split(" |").next());
    cells
        .flat_map(|cell| cell.split(", ").filter_map(|status| status.parse().ok()))
        .collect()
}

/// Statuses of a man page.
fn of_page(name: &str) -> Statuses {
    let text = read(&root().join("docs/man").join(name));
    let section = text
        .split("\n.SH ")
        .find(|part| part.starts_with("EXIT STATUS\n"));
    let section = section.unwrap_or_else(|| panic!("no exit status in {name}"));
    let tags = section.lines().filter_map(|line| line.strip_prefix(".B "));
    tags.filter_map(|tag| tag.parse().ok()).collect()
}

/// Files of a folder, also of its subfolders; a file itself.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_path_buf()];
    }
    let entries =
        std::fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let entries = entries.map(|entry| entry.expect("a file").path());
    entries.flat_map(|path| files(&path)).collect()
}

fn source(name: &str) -> PathBuf {
    root().join("crates").join(name)
}

/// Names and values of the constants of a source whose comment says that they are exit statuses.
fn constants(text: &str) -> Vec<(String, u8)> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let constant = |pair: &[&str]| {
        let says_so = pair[0].starts_with("///") && pair[0].to_lowercase().contains("exit status");
        let (name, value) = pair[1].split_once(": u8 = ").filter(|_| says_so)?;
        let value = value.trim_end_matches(';').parse().expect("a status");
        Some((name.rsplit(' ').next()?.to_owned(), value))
    };
    lines.windows(2).filter_map(constant).collect()
}

/// Statuses with which sources can end a program: constants that they define or take from
/// `output.rs`, and those of `ExitCode`.
fn of_code(names: &[&str]) -> Statuses {
    let common = constants(&read(&source("program/src/output.rs")));
    let mut found = Statuses::new();
    for file in names.iter().flat_map(|name| files(&source(name))) {
        let text = read(&file);
        found.extend(constants(&text).iter().map(|(_, value)| *value));
        let imports = text
            .split("use netperf_program::output::")
            .nth(1)
            .unwrap_or_default();
        let imports = imports.split(';').next().unwrap_or_default();
        for (name, value) in &common {
            let mut words = imports.split(|letter: char| !letter.is_alphanumeric());
            if words.any(|word| word == name) || text.contains(&format!("output::{name}")) {
                found.insert(*value);
            }
        }
        for (name, value) in [("SUCCESS", 0), ("FAILURE", 1)] {
            found.extend(text.contains(&format!("ExitCode::{name}")).then_some(value));
        }
    }
    found
}

const RUN: &str = "netperf compare and netperf run";

#[test]
fn man_pages_and_manual_name_the_same_statuses() {
    let netperf = ["netperf", RUN, "netperf sweep", "netperf campaign"];
    let netperf: Statuses = netperf.into_iter().flat_map(of_manual).collect();
    let all = [
        ("netperf.1", netperf),
        ("netperf-report.1", of_manual("netperf report")),
        ("netperf-history.1", of_manual("netperf history")),
        ("netserver.1", of_manual("netserver")),
    ];
    for (page, manual) in all {
        assert!(manual.len() > 2, "{page}: {manual:?}");
        assert_eq!(of_page(page), manual, "{page}");
    }
}

#[test]
fn the_manual_names_the_statuses_of_the_code_of_each_program() {
    for (heading, sources) in [
        (
            "netperf",
            &["program/src/output.rs", "client/src/lib.rs"][..],
        ),
        ("netperf report", &["commands/src/report.rs"]),
        ("netperf sweep", &["commands/src/sweep.rs"]),
        (
            "netperf campaign",
            &[
                "commands/src/campaign.rs",
                "commands/src/campaign",
                "commands/src/compare.rs",
                "commands/src/verdict.rs",
            ],
        ),
        (
            "netperf history",
            &["commands/src/history.rs", "client/src/store.rs"],
        ),
        ("netserver", &["server/src", "daemon/src"]),
    ] {
        assert_eq!(of_code(sources), of_manual(heading), "{heading}");
    }
    // A run that fails has a status of netperf.
    let mut code = of_code(&[
        "commands/src/compare.rs",
        "commands/src/verdict.rs",
        "commands/src/versus.rs",
    ]);
    assert!(code.is_subset(&of_manual(RUN)), "{code:?}");
    code.append(&mut of_manual("netperf"));
    assert_eq!(code, of_manual(RUN));
}

#[test]
fn an_unknown_name_ends_every_program_with_the_status_of_the_manual() {
    let programs = ours!();
    let words = [
        "", "report", "compare", "run", "counters", "sweep", "campaign", "history",
    ];
    let netperf = words.map(|word| (&programs.netperf, word));
    for (program, word) in netperf.into_iter().chain([(&programs.netserver, "")]) {
        let words = word.split_whitespace().chain(["--nosuch"]);
        let finished = Invocation::new(program).args(words).run().expect_exit(2);
        assert!(
            finished.stderr.contains("--nosuch"),
            "{word}: {}",
            finished.account()
        );
    }
}
