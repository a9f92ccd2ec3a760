//! Packages that the programs consist of: a bill of materials (CycloneDX) and the texts of their
//! licences. Both depend on the source alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::options::Options;

/// Targets of `just dist`.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// A package in the programs.
#[derive(Debug)]
struct Part {
    name: String,
    version: String,
    /// SPDX expression.
    licence: String,
    repository: Option<String>,
    /// SHA-256 of the package file; `None` for packages of this workspace.
    checksum: Option<String>,
    folder: PathBuf,
    dependencies: BTreeSet<String>,
}

impl Part {
    fn identity(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }

    fn component(&self, kind: &str) -> Value {
        let mut component = json!({
            "type": kind,
            "bom-ref": self.identity(),
            "name": self.name,
            "version": self.version,
            "purl": self.identity(),
            "licenses": [{ "expression": self.licence }],
        });
        if let Some(checksum) = &self.checksum {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        if let Some(repository) = &self.repository {
            component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
        }
        component
    }
}

/// Writes `netperf-rs.cdx.json` and `third-party-licences.txt`.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let folder = &options.out;
    let parts = parts()?;
    let bill = serde_json::to_string_pretty(&bill(&parts)?).map_err(|error| error.to_string())?;
    let written = fs::create_dir_all(folder)
        .and_then(|()| fs::write(folder.join("netperf-rs.cdx.json"), bill + "\n"))
        .and_then(|()| fs::write(folder.join("third-party-licences.txt"), licences(&parts)));
    written.map_err(|error| format!("{}: {error}", folder.display()))
}

fn cargo(words: &[&str]) -> Result<String, String> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let output = Command::new("cargo")
        .args(words)
        .args(["--locked", "--manifest-path", manifest])
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

/// Name and version of each package in the programs: the dependencies of the package netperf with
/// its default features, without those of build scripts and procedural macros.
fn linked() -> Result<BTreeSet<(String, String)>, String> {
    let mut linked = BTreeSet::new();
    for target in TARGETS {
        let shape = ["-e", "normal,no-proc-macro", "--prefix", "none", "--target"];
        let mut words = vec!["tree", "-q", "-p", "netperf"];
        words.extend(shape);
        words.push(target);
        for line in cargo(&words)?.lines() {
            let mut fields = line.split(' ');
            if let (Some(name), Some(version)) = (fields.next(), fields.next()) {
                let version = version.strip_prefix('v').unwrap_or(version);
                linked.insert((name.to_owned(), version.to_owned()));
            }
        }
    }
    Ok(linked)
}

/// The parts by their identifier in cargo's metadata.
fn parts() -> Result<BTreeMap<String, Part>, String> {
    let linked = linked()?;
    let metadata = cargo(&["metadata", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let sums = checksums()?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut parts = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let (Some(id), Some(name), Some(version), Some(manifest)) = (
            text(&package["id"]),
            text(&package["name"]),
            text(&package["version"]),
            package["manifest_path"].as_str(),
        ) else {
            return Err("cargo metadata: a package without a name".to_owned());
        };
        let key = (name, version);
        if !linked.contains(&key) {
            continue;
        }
        let checksum = sums.get(&key).cloned();
        let licence = text(&package["license"]).ok_or(format!("{}: no licence", key.0))?;
        let part = Part {
            name: key.0,
            version: key.1,
            // The form before SPDX expressions.
            licence: licence.replace('/', " OR "),
            repository: text(&package["repository"]),
            checksum,
            folder: Path::new(manifest)
                .parent()
                .map(Path::to_owned)
                .unwrap_or_default(),
            dependencies: BTreeSet::new(),
        };
        parts.insert(id, part);
    }
    let known: BTreeSet<String> = parts.keys().cloned().collect();
    for node in metadata["resolve"]["nodes"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let Some(part) = node["id"].as_str().and_then(|id| parts.get_mut(id)) else {
            continue;
        };
        let dependencies = node["dependencies"].as_array().into_iter().flatten();
        part.dependencies = dependencies
            .filter_map(text)
            .filter(|id| known.contains(id))
            .collect();
    }
    Ok(parts)
}

/// Checksums in `Cargo.lock` by name and version.
fn checksums() -> Result<BTreeMap<(String, String), String>, String> {
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock");
    let lock = fs::read_to_string(lock).map_err(|error| format!("{lock}: {error}"))?;
    let field = |entry: &str, name: &str| {
        let value = entry
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
        value
            .and_then(|value| value.strip_suffix('"'))
            .map(str::to_owned)
    };
    let entries = lock.split("[[package]]").filter_map(|entry| {
        let key = (field(entry, "name")?, field(entry, "version")?);
        Some((key, field(entry, "checksum")?))
    });
    Ok(entries.collect())
}

/// The bill of materials, in CycloneDX 1.5.
fn bill(parts: &BTreeMap<String, Part>) -> Result<Value, String> {
    let program = parts.values().find(|part| part.name == "netperf");
    let program = program.ok_or("no package netperf")?;
    let reference = |id: &String| parts.get(id).map(Part::identity);
    let components = parts.values().filter(|part| part.name != "netperf");
    let mut components: Vec<Value> = components.map(|part| part.component("library")).collect();
    components.sort_by_key(|component| component["bom-ref"].to_string());
    let dependencies = parts.values().map(|part| {
        let on: BTreeSet<String> = part.dependencies.iter().filter_map(reference).collect();
        (
            part.identity(),
            json!({ "ref": part.identity(), "dependsOn": on }),
        )
    });
    let dependencies: BTreeMap<String, Value> = dependencies.collect();
    let dependencies: Vec<Value> = dependencies.into_values().collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": program.component("application") },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// The licence of the letters in pictures.
const LETTERS: &str = include_str!("../../crates/web/letters/LICENSE");

/// The licence files of all parts that are not of this workspace; equal texts once.
fn licences(parts: &BTreeMap<String, Part>) -> String {
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut page = String::from(
        "Packages in netperf and netserver, with their licences. The texts follow.\n\n",
    );
    for part in parts.values().filter(|part| part.checksum.is_some()) {
        let label = format!("{} {}", part.name, part.version);
        _ = writeln!(page, "{label}: {}", part.licence);
        for text in licence_texts(&part.folder) {
            texts.entry(text).or_default().insert(label.clone());
        }
    }
    let letters = "letters of PNG pictures, of DejaVu Sans 2.37".to_owned();
    texts.insert(LETTERS.trim().to_owned(), BTreeSet::from([letters]));
    for (text, users) in texts {
        let users: Vec<String> = users.into_iter().collect();
        _ = write!(
            page,
            "\n{}\n{}\n\n{text}\n",
            "=".repeat(80),
            users.join(", ")
        );
    }
    page
}

fn licence_texts(folder: &Path) -> Vec<String> {
    const NAMES: [&str; 4] = ["LICENSE", "LICENCE", "COPYING", "NOTICE"];
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_uppercase();
        file.is_file() && NAMES.iter().any(|prefix| name.starts_with(prefix))
    });
    files.sort();
    let texts = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    texts.map(|text| text.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_lists_what_is_in_the_programs() {
        let parts = parts().expect("cargo's metadata");
        let bill = bill(&parts).expect("a bill");
        let components = bill["components"].as_array().expect("components");
        let find = |name: &str| components.iter().find(|part| part["name"] == name);
        let rustls = find("rustls").expect("TLS is a default feature");
        assert_eq!(
            rustls["hashes"][0]["content"].as_str().map(str::len),
            Some(64)
        );
        // Development, build scripts, procedural macros and other systems.
        for absent in [
            "proptest",
            "cc",
            "serde_derive",
            "windows-sys",
            "netperf-testkit",
        ] {
            assert!(find(absent).is_none(), "{absent}");
        }
        let names: BTreeSet<String> = components
            .iter()
            .map(|part| part["bom-ref"].to_string())
            .collect();
        assert_eq!(names.len(), components.len(), "each once");
        for dependency in bill["dependencies"].as_array().into_iter().flatten() {
            for on in dependency["dependsOn"].as_array().into_iter().flatten() {
                assert!(names.contains(&on.to_string()), "{dependency}");
            }
        }
    }

    #[test]
    fn each_package_of_others_is_listed_with_its_licence() {
        let parts = parts().expect("cargo's metadata");
        let page = licences(&parts);
        for part in parts.values().filter(|part| part.checksum.is_some()) {
            assert!(page.contains(&format!("{} {}: {}", part.name, part.version, part.licence)));
        }
        assert!(page.contains("Permission is hereby granted, free of charge"));
    }
}
