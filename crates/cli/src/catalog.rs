//! Options and subcommands as data, for what makes man pages, completions and the manual of them.

pub use crate::entry::{
    CommandEntry, Operands, OptionEntry, Twice, by_group, global, server, twice,
};
pub use crate::help::sentence as test_description;
pub use crate::help::today::is_of_today;
pub use crate::subcommand::{about, commands};
pub use crate::topic::words as topics;
pub use netperf_arguments::foreign::aliases_of;
pub use netperf_arguments::getopt::Argument;
pub use netperf_arguments::group::Group;
pub use netperf_arguments::kind::ValueKind;
pub use netperf_text::columns::wrapped;

use crate::entry;
use crate::options::SUITES;

/// The options of a suite, behind `--`.
#[derive(Clone, Debug)]
pub struct SuiteEntry {
    /// Its tests, as they are called in a sentence.
    pub tests: &'static str,
    /// Its options.
    pub entries: Vec<OptionEntry>,
}

/// Every suite that has options, the one that most tests belong to first.
#[must_use]
pub fn suites() -> Vec<SuiteEntry> {
    let suites = SUITES.iter().map(|suite| SuiteEntry {
        tests: suite.tests,
        entries: entry::suite(suite),
    });
    suites.collect()
}
