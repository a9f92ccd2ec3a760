//! Lines of code of each crate.

use std::path::{Path, PathBuf};

use crate::options::Options;

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
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
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

/// Prints the lines of each crate in the programs, and their sum.
pub(crate) fn run(_: &Options) -> Result<(), String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let entries = std::fs::read_dir(&crates).map_err(|error| error.to_string())?;
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut folders: Vec<PathBuf> = folders
        .filter(|folder| folder.join("src").is_dir() && !folder.ends_with("testkit"))
        .collect();
    folders.sort();
    let mut sum = 0;
    for folder in folders {
        let mut lines = 0;
        for file in sources(&folder.join("src")) {
            let text = std::fs::read_to_string(&file);
            lines += code_lines(&text.map_err(|error| format!("{}: {error}", file.display()))?);
        }
        sum += lines;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        println!("{lines:>7} lines of code: {name}");
    }
    println!("{sum:>7} lines of code: all");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_tests_are_no_code() {
        let text = "//! A file.\n\nuse a::b; // why\n/* a\n comment */\nfn c() {\n    d();\n}\n\n\
            #[cfg(test)]\nmod more;\n#[cfg(test)]\n#[expect(dead_code, reason = \"e\")]\nmod tests {\n    \
            fn f() {}\n}\nfn g() {}\n";
        assert_eq!(code_lines(text), 5);
    }
}
