//! Any text is read as a file of selectors, and any word as a list of them, without panic;
//! what is selected are known names, in no more blocks than are printed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netperf_report::selection::{Entry, Selection};
use netperf_report::selectors;

/// As many lines of a file count.
const MOST_BLOCKS: usize = 4;

fuzz_target!(|text: &str| {
    check(&Selection::from_list(text));
    match Selection::from_file(text) {
        Ok(selection) => check(&selection),
        Err(error) => {
            let line = error.to_string();
            assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
});

fn check(selection: &Selection) {
    assert!(selection.blocks.len() <= MOST_BLOCKS);
    for entry in selection.blocks.iter().flatten() {
        let known = match entry {
            Entry::Known(row) => selectors::by_name(row.name).is_some(),
            Entry::Latency(column) => Entry::named(column.name()).is_some(),
            Entry::Unknown => entry.name().is_none(),
        };
        assert!(known, "{entry:?}");
        assert!(!entry.heading().contains('\n'), "{entry:?}");
    }
}
