//! Any text is parsed as a selection file, and any word as a list of selectors, without a
//! panic. The selection contains known names only, in no more blocks than are printed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netperf_report::selection::{Entry, Selection};
use netperf_report::selectors;

/// Number of lines of a selection file that are used.
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
            Entry::Known(row) => selectors::by_name(&row.name).is_some(),
            Entry::Latency(column) => Entry::named(column.name()).is_some(),
            Entry::Unknown => entry.name().is_none(),
        };
        assert!(known, "{entry:?}");
        assert!(!entry.heading().contains('\n'), "{entry:?}");
    }
}
