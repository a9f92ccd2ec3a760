//! The house: which room may import which. See the table in the design.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What a room may import.
enum May {
    Only(&'static [&'static str]),
    All,
}

/// The dependency table, by package.
const HOUSE: &[(&str, May)] = &[
    ("netperf-model", May::Only(&[])),
    ("netperf-wire", May::Only(&[])),
    ("netperf-os", May::Only(&[])),
    ("netperf-cli", May::Only(&["netperf-model"])),
    (
        "netperf-measure",
        May::Only(&["netperf-model", "netperf-os"]),
    ),
    (
        "netperf-transport",
        May::Only(&["netperf-model", "netperf-os"]),
    ),
    (
        "netperf-engine",
        May::Only(&[
            "netperf-model",
            "netperf-os",
            "netperf-measure",
            "netperf-transport",
        ]),
    ),
    (
        "netperf-session",
        May::Only(&["netperf-model", "netperf-wire"]),
    ),
    ("netperf-report", May::Only(&["netperf-model"])),
    ("netperf-stats", May::Only(&[])),
    (
        "netperf-web",
        May::Only(&["netperf-model", "netperf-report", "netperf-session"]),
    ),
    (
        "netperf-campaign",
        May::Only(&[
            "netperf-model",
            "netperf-report",
            "netperf-session",
            "netperf-stats",
            "netperf-web",
        ]),
    ),
    (
        "netperf-history",
        May::Only(&["netperf-campaign", "netperf-stats", "netperf-web"]),
    ),
    (
        "netperf-tui",
        May::Only(&["netperf-model", "netperf-report", "netperf-session"]),
    ),
    ("netperf", May::All),
    // Development only.
    ("netperf-testkit", May::All),
    ("xtask", May::All),
];

/// Every package is somebody's to read and trust; a new one raises this by hand.
const MOST_LOCKED_PACKAGES: usize = 200;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Workspace packages and what each imports from the workspace when shipped:
/// tests may reach further.
fn imports() -> BTreeMap<String, Vec<String>> {
    let cargo = netperf_testkit::environment("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .expect("cargo");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let shipped = package["dependencies"].as_array().expect("dependencies");
            let inside = shipped
                .iter()
                .filter(|dependency| dependency["kind"] != "dev" && dependency["path"].is_string())
                .map(|dependency| text(&dependency["name"]))
                .collect();
            (text(&package["name"]), inside)
        })
        .collect()
}

#[test]
fn every_room_imports_only_what_the_table_allows() {
    for (package, imported) in imports() {
        let row = HOUSE.iter().find(|(name, _)| *name == package);
        let Some((_, may)) = row else {
            panic!("{package} is not in the table: the design first, then this test")
        };
        if let May::Only(allowed) = may {
            for import in imported {
                assert!(
                    allowed.contains(&import.as_str()),
                    "{package} must not import {import}"
                );
            }
        }
    }
}

#[test]
fn every_row_of_the_table_is_a_room() {
    let rooms = imports();
    for (package, _) in HOUSE {
        assert!(
            rooms.contains_key(*package),
            "{package} is gone; so should its row be"
        );
    }
}

#[test]
fn every_room_keeps_the_lints_of_the_house() {
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let manifest = folder.unwrap().path().join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).unwrap();
        // `os` alone may be unsafe, and says so by a table of its own.
        let keeps =
            text.contains("[lints]\nworkspace = true") || manifest.ends_with("os/Cargo.toml");
        assert!(
            keeps,
            "{} does not take the lints of the workspace",
            manifest.display()
        );
    }
}

#[test]
fn the_number_of_locked_packages_stays_small() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let packages = lock.matches("[[package]]").count();
    assert!(
        packages <= MOST_LOCKED_PACKAGES,
        "{packages} packages are locked, more than {MOST_LOCKED_PACKAGES}"
    );
}

#[test]
fn the_two_commands_of_the_readme_are_the_ones_the_recipes_run() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let (readme, justfile) = (read("README.md"), read("justfile"));
    for command in ["cargo run --release", "cargo nextest run --workspace"] {
        let shown = readme.lines().filter(|line| line.trim() == command);
        assert_eq!(shown.count(), 1, "{command} in the README");
        assert!(
            justfile.contains(&format!("    {command}")),
            "{command} in the justfile"
        );
    }
}
