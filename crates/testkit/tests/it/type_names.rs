//! Type names occur once: a struct, enum or trait at the top level of a file has a name that
//! no other file of the workspace uses, except those listed with a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Names in more than one file, and the reason.
const DUPLICATES: &[(&str, &str)] = &[
    ("Channel", "build without TLS"),
    ("Multishot", "build without io_uring"),
    ("Uring", "build without io_uring"),
];

/// Source files of all crates except this one, without test modules.
fn sources() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("crates");
    let mut folders: Vec<PathBuf> = std::fs::read_dir(crates)
        .expect("the folder of crates")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| !path.ends_with("testkit"))
        .map(|path| path.join("src"))
        .collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                if !path.ends_with("tests") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|ext| ext == "rs") && !path.ends_with("tests.rs")
            {
                files.push(path);
            }
        }
    }
    files
}

/// Name of the type that a line at the top level of a file defines.
fn defined(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => line,
    };
    let rest = ["struct ", "enum ", "trait "]
        .iter()
        .find_map(|keyword| line.strip_prefix(keyword))?;
    let end = rest
        .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .unwrap_or(rest.len());
    rest.get(..end).filter(|name| !name.is_empty())
}

#[test]
fn definitions_are_recognised() {
    assert_eq!(defined("pub(crate) struct Name<T> {"), Some("Name"));
    assert_eq!(defined("pub trait Name: Other {"), Some("Name"));
    assert_eq!(defined("enum Name {"), Some("Name"));
    assert_eq!(defined("    struct Local;"), None);
    assert_eq!(defined("pub fn name() {}"), None);
}

#[test]
fn a_type_name_occurs_in_one_file() {
    let mut files: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    let sources = sources();
    assert!(sources.len() > 100, "only {} sources", sources.len());
    for file in sources {
        let text = std::fs::read_to_string(&file).expect("a source file");
        for name in text.lines().filter_map(defined) {
            files
                .entry(name.to_owned())
                .or_default()
                .insert(file.clone());
        }
    }
    files.retain(|_, files| files.len() > 1);
    let listed: BTreeSet<&str> = DUPLICATES.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed.len(), DUPLICATES.len(), "a name is listed twice");
    let unlisted: Vec<_> = files
        .iter()
        .filter(|(name, _)| !listed.contains(name.as_str()))
        .collect();
    assert!(unlisted.is_empty(), "rename one of each: {unlisted:#?}");
    let unique: Vec<_> = listed
        .iter()
        .filter(|name| !files.contains_key(**name))
        .collect();
    assert!(unique.is_empty(), "no longer duplicate, remove: {unique:?}");
}
