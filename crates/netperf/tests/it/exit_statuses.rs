//! Exit statuses in the code, in the man pages and in the manual.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

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

/// Statuses that the sources of the programs name: constants whose comment says so.
fn of_code(folder: &Path, found: &mut Statuses) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            of_code(&path, found);
            continue;
        }
        let text = read(&path);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for pair in lines.windows(2) {
            let is_status =
                pair[0].starts_with("///") && pair[0].to_lowercase().contains("exit status");
            let value = pair[1]
                .split_once(": u8 = ")
                .filter(|_| pair[1].contains("const "));
            if let Some((_, value)) = value.filter(|_| is_status) {
                found.insert(value.trim_end_matches(';').parse().expect("a status"));
            }
        }
    }
}

#[test]
fn man_pages_and_manual_name_the_same_statuses_and_all_of_the_code() {
    let netperf = [
        "netperf",
        "netperf compare and netperf run",
        "netperf sweep",
    ];
    let netperf: Statuses = netperf.into_iter().flat_map(of_manual).collect();
    let all = [
        ("netperf.1", netperf.clone()),
        ("netperf-report.1", of_manual("netperf report")),
        ("netperf-history.1", of_manual("netperf history")),
        ("netserver.1", of_manual("netserver")),
    ];
    for (page, manual) in all {
        assert!(manual.len() > 2, "{page}: {manual:?}");
        assert_eq!(of_page(page), manual, "{page}");
    }
    let mut code = Statuses::from([0]);
    of_code(&root().join("crates/netperf/src"), &mut code);
    assert_eq!(code, netperf);
}
