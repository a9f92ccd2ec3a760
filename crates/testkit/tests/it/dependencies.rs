//! Which package may depend on which: the table of crates in the architecture, and the packages
//! from outside that may not carry the bytes of a test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::import_cycles::sources;

/// The table of crates in `docs/architecture.md`: each package with those that it imports; `None`
/// for any.
fn table() -> Vec<(String, Option<BTreeSet<String>>)> {
    let text = std::fs::read_to_string(root().join("docs/architecture.md")).expect("a document");
    let section = text.split("\n## Crates\n").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut table: Vec<(String, Option<BTreeSet<String>>)> = Vec::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [names, _, imports] = cells[..] else {
            panic!("a row of the table has three cells: {row}")
        };
        let imports = match imports {
            "any" => None,
            "all above" => Some(table.iter().map(|(name, _)| name.clone()).collect()),
            "–" => Some(BTreeSet::new()),
            list => Some(list.split(", ").map(package).collect()),
        };
        // A folder is outside of the workspace.
        for name in names.split(", ").filter(|name| !name.contains('/')) {
            table.push((package(name.trim_matches('`')), imports.clone()));
        }
    }
    table
}

/// The package of a crate.
fn package(name: &str) -> String {
    match name {
        "netperf" | "xtask" => name.to_owned(),
        _ => format!("netperf-{name}"),
    }
}

/// Packages that carry the control and data bytes of a test.
const SOCKET_CALLERS: &[&str] = &[
    "netperf-wire",
    "netperf-os",
    "netperf-transport",
    "netperf-engine",
    "netperf-session",
    "netperf-iperf2",
    "netperf-iperf3",
    "netperf-program",
    "netperf-iperf-client",
    "netperf-daemon",
    "netperf-server",
];

/// Packages that issue system calls themselves, which a preloaded socket library would
/// miss, and async runtimes.
const FORBIDDEN: &[&str] = &[
    "rustix",
    "linux-raw-sys",
    "syscalls",
    "tokio",
    "async-std",
    "async-io",
    "smol",
    "glommio",
    "monoio",
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Workspace packages, as cargo describes them.
fn packages() -> Vec<Value> {
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
    metadata["packages"].as_array().expect("packages").clone()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Workspace packages, and the names of what each depends on outside tests.
fn dependencies(wanted: fn(&Value) -> bool) -> BTreeMap<String, Vec<String>> {
    packages()
        .iter()
        .map(|package| {
            let all = package["dependencies"].as_array().expect("dependencies");
            let names = all
                .iter()
                .filter(|dependency| wanted(dependency))
                .map(|dependency| text(&dependency["name"]))
                .collect();
            (text(&package["name"]), names)
        })
        .collect()
}

/// Workspace packages, and what each imports from the workspace outside tests.
fn imports() -> BTreeMap<String, Vec<String>> {
    dependencies(|dependency| dependency["kind"] != "dev" && dependency["path"].is_string())
}

/// Every package of Cargo.lock with its dependencies: those of all features and of all
/// operating systems, so that nothing has to be downloaded.
fn locked() -> BTreeMap<String, BTreeSet<String>> {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).expect("Cargo.lock");
    let mut packages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let name = package.split('"').nth(1).expect("a name").to_owned();
        let list = package.split_once("dependencies = [");
        let list = list.map_or("", |(_, list)| list);
        // Each is "name" or "name version"; versions of one name count as one package.
        let names = list.split('"').skip(1).step_by(2);
        let names = names.filter_map(|one| one.split(' ').next().map(str::to_owned));
        packages.entry(name).or_default().extend(names);
    }
    packages
}

/// A package, its dependencies, and theirs.
fn tree(package: &str, packages: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![package.to_owned()];
    while let Some(name) = waiting.pop() {
        let next = packages
            .get(&name)
            .unwrap_or_else(|| panic!("{name} is not in Cargo.lock"));
        if found.insert(name) {
            waiting.extend(next.iter().cloned());
        }
    }
    found
}

#[test]
fn each_package_imports_only_what_the_table_allows() {
    let table = table();
    for (package, imported) in imports() {
        let row = table.iter().find(|(name, _)| *name == package);
        let Some((_, allowed)) = row else {
            panic!("{package} is not in docs/architecture.md: change the design first")
        };
        if let Some(allowed) = allowed {
            let imported: BTreeSet<String> = imported.into_iter().collect();
            assert_eq!(
                imported, *allowed,
                "{package} does not import what its row says"
            );
        }
    }
}

#[test]
fn each_row_of_the_table_is_a_package() {
    let packages = imports();
    for (package, _) in table() {
        assert!(
            packages.contains_key(&package),
            "{package} does not exist: remove its row"
        );
    }
}

#[test]
fn netperf_and_netserver_do_not_import_each_other() {
    let packages = imports().into_iter();
    let packages = packages.map(|(name, imported)| (name, imported.into_iter().collect()));
    let packages: BTreeMap<String, BTreeSet<String>> = packages.collect();
    let of_netperf = ["netperf-client", "netperf-commands", "netperf-iperf-client"];
    let of_netserver = ["netperf-server", "netperf-daemon"];
    for (one, other) in [
        (of_netperf.as_slice(), of_netserver.as_slice()),
        (&of_netserver, &of_netperf),
    ] {
        for package in one {
            let tree = tree(package, &packages);
            for name in other {
                assert!(!tree.contains(*name), "{package} imports {name}");
            }
        }
    }
}

#[test]
fn no_raw_system_calls_and_no_async_runtime_below_the_engine_and_the_session() {
    // Cargo.lock lists what tests need together with the rest: for packages of the
    // workspace the list of normal dependencies replaces it.
    let mut packages = locked();
    for (package, normal) in dependencies(|dependency| dependency["kind"].is_null()) {
        packages.insert(package, normal.into_iter().collect());
    }
    for package in SOCKET_CALLERS {
        let tree = tree(package, &packages);
        for name in FORBIDDEN {
            assert!(!tree.contains(*name), "{package} depends on {name}");
        }
    }
    // The search finds what is there.
    assert!(tree("netperf-transport", &packages).contains("getrandom"));
}

#[test]
fn schemars_is_built_for_xtask_alone() {
    let always =
        |dependency: &Value| dependency["kind"] != "dev" && dependency["optional"] == false;
    for (package, names) in dependencies(always) {
        assert!(
            !names.contains(&"schemars".to_owned()),
            "{package} has schemars in every build"
        );
    }
    let asking = dependencies(|dependency| {
        let features = dependency["features"].as_array();
        dependency["kind"] != "dev"
            && features.is_some_and(|names| names.contains(&"schema".into()))
    });
    let asking = asking.into_iter().filter(|(_, names)| !names.is_empty());
    let asking: Vec<String> = asking.map(|(package, _)| package).collect();
    assert_eq!(asking, ["xtask"]);
}

#[test]
fn each_package_uses_the_lints_of_the_workspace() {
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let manifest = folder.unwrap().path().join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).unwrap();
        // `os` alone may contain unsafe code and has a lint table for that.
        let uses =
            text.contains("[lints]\nworkspace = true") || manifest.ends_with("os/Cargo.toml");
        assert!(
            uses,
            "{} does not use the lints of the workspace",
            manifest.display()
        );
    }
}

#[test]
fn examples_in_documentation_run_and_packages_without_any_start_no_rustdoc() {
    let mut seen = 0;
    for package in packages() {
        for target in package["targets"].as_array().expect("targets") {
            if !target["kind"]
                .as_array()
                .is_some_and(|kinds| kinds.contains(&"lib".into()))
            {
                continue;
            }
            let library = text(&target["src_path"]);
            let folder = Path::new(&library).parent().expect("a folder");
            let has_examples = sources(folder).iter().any(|file| {
                let text = std::fs::read_to_string(file).expect("a source");
                text.lines().any(|line| is_fence(line.trim_start()))
            });
            assert_eq!(
                target["doctest"], has_examples,
                "doctest of {}",
                package["name"]
            );
            seen += usize::from(has_examples);
        }
    }
    assert_eq!(seen, 1, "packages with examples");
}

/// The begin or end of an example in a comment.
fn is_fence(line: &str) -> bool {
    let comment = line
        .strip_prefix("//!")
        .or_else(|| line.strip_prefix("///"));
    comment.is_some_and(|text| text.trim_start().starts_with("```"))
}
