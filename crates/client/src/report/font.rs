//! A font of the system, for the letters of PNG pictures.

use std::path::{Path, PathBuf};

/// Message when no font is installed.
pub(super) const MISSING: &str = "no font is installed to write letters of PNG pictures with \
    (looked for .ttf and .otf in /usr/share/fonts and /usr/local/share/fonts); --svg needs none";

/// Font directories.
const FOLDERS: [&str; 2] = ["/usr/share/fonts", "/usr/local/share/fonts"];

/// Fonts without serifs that have every letter of a chart, the first that is there.
const LIKED: [&str; 6] = [
    "DejaVuSans.ttf",
    "NotoSans-Regular.ttf",
    "LiberationSans-Regular.ttf",
    "Roboto-Regular.ttf",
    "Arial.ttf",
    "FreeSans.ttf",
];

/// Folders within folders at most.
const DEEPEST: usize = 5;

/// A font's file and its bytes; one of the liked ones if there is any of them.
pub(super) fn any() -> Option<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        collect(Path::new(folder), DEEPEST, &mut found);
    }
    found.sort_by_key(|path| {
        let name = path.file_name().unwrap_or_default();
        (
            LIKED
                .iter()
                .position(|liked| name == *liked)
                .unwrap_or(LIKED.len()),
            path.clone(),
        )
    });
    found.into_iter().find_map(|path| {
        let bytes = std::fs::read(&path).ok()?;
        Some((path, bytes))
    })
}

fn collect(folder: &Path, deep: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let ending = path.extension().unwrap_or_default();
        if path.is_dir() && deep > 0 {
            collect(&path, deep - 1, found);
        } else if ending == "ttf" || ending == "otf" {
            found.push(path);
        }
    }
}
