//! Form of the output.

use super::ConfidencePlan;
use crate::units::Unit;

/// Form of the output.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportPlan {
    /// The shape of the output.
    pub format: Format,
    /// Global `-v`.
    pub verbosity: i32,
    /// Global `-P`: banner and titles.
    pub headers: bool,
    /// Global `-f`; `None` is the test's default.
    pub unit: Option<Unit>,
    /// Global `-B`.
    pub brand: Option<String>,
    /// argv joined by blanks, with the passphrase masked.
    pub command_line: String,
    /// True if `-T` was given and this host can bind to the CPU: the banner says so.
    pub cpu_bind_shown: bool,
    /// True if test-specific `-V` was given: the banner says so.
    pub copy_avoidance_shown: bool,
    /// Confidence as asked for: the banner shows it even for the tests that never
    /// repeat, whose [`TestPlan::confidence`](super::TestPlan::confidence) is `None`.
    pub confidence_shown: Option<ConfidencePlan>,
    /// Number of `-d` options: with any, unknown selectors are left out.
    pub debug: u32,
}

/// The shape of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// Titles and rows of the original.
    Classic,
    /// `-O`: columns.
    Columns(SelectionSource),
    /// `-o`: comma separated values.
    Csv(SelectionSource),
    /// `-k`: `NAME=value` lines.
    Keyval(SelectionSource),
    /// `--json`: one document with everything.
    Json,
    /// `--json-stream`: one event per line while it runs.
    JsonStream,
    /// `--human`: a summary for a person, made of the document.
    Human,
}

impl Format {
    /// True if standard output holds JSON alone.
    #[must_use]
    pub const fn is_json(&self) -> bool {
        matches!(self, Self::Json | Self::JsonStream)
    }
}

/// Source of the selection of output values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectionSource {
    /// The default for the test's direction.
    Default,
    /// `all`.
    All,
    /// A list with commas, blanks and semicolons.
    List(String),
    /// A file of up to four lines, its text already read.
    File(String),
}
