//! Files in the repository that are made from tables and messages in the code.

use std::path::Path;

use crate::docs::{DocPage, pages};
use crate::messages;
use crate::options::Options;

/// Writes them, or only looks whether they are as they should be.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut stale = Vec::new();
    let messages = DocPage {
        path: messages::PATH.to_owned(),
        text: messages::page(&root)?,
    };
    for page in pages().into_iter().chain([messages]) {
        let path = root.join(&page.path);
        if std::fs::read_to_string(&path).is_ok_and(|kept| kept == page.text) {
            continue;
        }
        if options.check {
            stale.push(page.path);
            continue;
        }
        write(&path, &page.text)?;
        println!("wrote {}", page.path);
    }
    if stale.is_empty() {
        Ok(())
    } else {
        Err(format!("stale, run xtask gen: {}", stale.join(" ")))
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}
