//! Form of the output.

use super::ConfidencePlan;
use crate::peer::PeerProgram;
use crate::units::ThroughputUnit;

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
    pub unit: Option<ThroughputUnit>,
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
    /// True if CPU utilisation is measured for a history alone: classic output does not show it.
    pub hides_cpu: bool,
    /// True if a summary for a person prints interim results (`-D`).
    pub prints_interim: bool,
    /// The line with the test and its hosts is left out, for a reader of a table.
    pub hides_banner: bool,
}

impl ReportPlan {
    /// Returns true for output that a program asked for, with -P 0, -v 0, -k, -o or -O, even if it
    /// goes to a terminal, as the pty of a container or of expect: nothing is added to it.
    #[must_use]
    pub const fn is_bare(&self) -> bool {
        match self.format {
            Format::Classic => !self.headers || self.verbosity < 1,
            Format::Columns(_) | Format::Csv(_) | Format::Keyval(_) => true,
            Format::Human | Format::Json | Format::JsonStream | Format::Iperf(_) => false,
        }
    }
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
    /// `--output`: what a program of iperf prints. Its client prints it while the test runs.
    Iperf(IperfShape),
}

/// Output of a program of iperf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IperfShape {
    /// Lines of iperf3.
    Iperf3,
    /// The document of `iperf3 -J`.
    Iperf3Json,
    /// Lines of iperf 2.
    Iperf2,
    /// Lines of `iperf -y C`.
    Iperf2Csv,
}

impl IperfShape {
    /// All words that mean one.
    pub const WORDS: &[&str] = &["iperf3", "iperf3-json", "iperf2", "iperf2-csv"];

    /// The output that a word means.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Some(match word {
            "iperf3" => Self::Iperf3,
            "iperf3-json" => Self::Iperf3Json,
            "iperf2" => Self::Iperf2,
            "iperf2-csv" => Self::Iperf2Csv,
            _ => return None,
        })
    }

    /// The program whose output it is.
    #[must_use]
    pub const fn program(self) -> PeerProgram {
        match self {
            Self::Iperf3 | Self::Iperf3Json => PeerProgram::Iperf3,
            Self::Iperf2 | Self::Iperf2Csv => PeerProgram::Iperf2,
        }
    }
}

impl Format {
    /// True if standard output holds JSON alone.
    #[must_use]
    pub const fn is_json(&self) -> bool {
        matches!(self, Self::Json | Self::JsonStream)
    }

    /// True if lines of the original are printed: banner, titles, rows, histograms.
    #[must_use]
    pub const fn has_lines(&self) -> bool {
        !matches!(
            self,
            Self::Json | Self::JsonStream | Self::Human | Self::Iperf(_)
        )
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
